"""The built site: every page is there, it needs no network, and its links lead somewhere."""

import re
import shutil
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
import yaml
from conftest import ROOT, build
from fontTools.ttLib import TTFont

BOOK = ROOT / "book"
# The attributes through which a page loads something by itself; the href of an ordinary link loads nothing.
LOADS = {
    "script": "src",
    "img": "src",
    "iframe": "src",
    "source": "src",
    "video": "src",
    "audio": "src",
    "link": "href",
}


class Page(HTMLParser):
    """What a page loads, links to and offers as an anchor."""

    def __init__(self, path):
        super().__init__()
        self.loads, self.links, self.anchors, self.classes, self.language = [], [], set(), [], None
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if tag == "html":
            self.language = attributes.get("lang")
        if attributes.get(LOADS.get(tag)):
            self.loads.append(attributes[LOADS[tag]])
        if tag == "a" and attributes.get("href"):
            self.links.append(attributes["href"])
        self.anchors |= {attributes[key] for key in ("id", "name") if attributes.get(key)}
        self.classes.append((tag, (attributes.get("class") or "").split()))


@cache
def read(path):
    return Page(path)


def pages(site):
    return sorted(path for path in site.rglob("*.html") if "_static" not in path.parts)


def toc_files():
    """Every file named in _toc.yml, without suffix."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    found = [toc["root"]]

    def walk(node):
        if isinstance(node, dict):
            found.extend([node["file"]] if "file" in node else [])
            for value in node.values():
                walk(value)
        elif isinstance(node, list):
            for value in node:
                walk(value)

    walk(toc)
    return found


# --- the sources ------------------------------------------------------------------------------------------------------


def test_every_page_of_the_book_is_in_the_table_of_contents_once():
    sources = [path for suffix in ("md", "ipynb") for path in BOOK.rglob(f"*.{suffix}")]
    names = {
        path.relative_to(ROOT).with_suffix("").as_posix()
        for path in sources
        if not {"_static", "data", ".ipynb_checkpoints"} & set(path.parts)
    }
    assert sorted(toc_files()) == sorted(names)


# --- the pages --------------------------------------------------------------------------------------------------------


def test_the_first_page_and_every_page_of_the_table_of_contents_are_built(site):
    assert (site / "index.html").is_file()
    assert "book/index.html" in (site / "index.html").read_text()
    assert [name for name in toc_files() if not (site / f"{name}.html").is_file()] == []


def test_no_page_loads_anything_from_elsewhere(site):
    loads = {(path.name, address) for path in pages(site) for address in read(path).loads}
    assert {(name, address) for name, address in loads if urlsplit(address).netloc} == set()


def test_no_style_sheet_loads_anything_from_elsewhere(site):
    addresses = re.compile(r"""(?:@import\s+|url\(\s*)["']?((?:https?:)?//[^"')\s]+)""")
    outside = {f"{path.name}: {a}" for path in site.rglob("*.css") for a in addresses.findall(path.read_text())}
    assert outside == set()


def test_everything_that_a_page_loads_is_there(site):
    missing = set()
    for path in pages(site):
        for address in read(path).loads:
            parts = urlsplit(address)
            if not parts.scheme and parts.path and not (path.parent / unquote(parts.path)).exists():
                missing.add(f"{path.name}: {address}")
    assert missing == set()


def test_every_internal_link_and_anchor_resolves(site):
    broken = set()
    for path in pages(site):
        for address in read(path).links:
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            anchors = {"", *read(target).anchors} if target.suffix == ".html" and target.exists() else {""}
            if not target.exists() or unquote(parts.fragment) not in anchors:
                broken.add(f"{path.name}: {address}")
    assert broken == set()


def test_a_page_names_its_language_and_shows_one_search_box(site):
    for name in toc_files():
        page = read(site / f"{name}.html")
        boxes = [classes for tag, classes in page.classes if tag == "button" and "search-button-field" in classes]
        assert page.language == "en" and len(boxes) == 1, name


@pytest.mark.parametrize("name", [name for name in toc_files() if (ROOT / f"{name}.ipynb").exists()])
def test_a_chapter_offers_its_notebook(site, name):
    (address,) = {link for link in read(site / f"{name}.html").links if link.endswith(".ipynb")}
    assert (site / f"{name}.html").parent.joinpath(address).read_bytes() == (ROOT / f"{name}.ipynb").read_bytes()


def test_the_pages_have_a_favicon_and_a_picture_for_links_to_them(site):
    for name in toc_files():
        text = (site / f"{name}.html").read_text(encoding="utf-8")
        assert 'rel="icon"' in text and 'property="og:title"' in text, name
        (picture,) = re.findall(r'property="og:image" content="([^"]+)"', text)
        assert (site / f"{name}.html").parent.joinpath(picture).is_file(), picture


def test_mathjax_is_served_by_the_site(site):
    scripts = {address.split("?")[0] for path in pages(site) for address in read(path).loads if "mathjax" in address}
    assert {script.lstrip("./") for script in scripts} == {"_static/mathjax/startup.js"}
    assert (site / "_static" / "mathjax" / "output" / "chtml" / "fonts" / "woff-v2").is_dir()


def test_no_script_names_another_site(site):
    """Text of the pages may; a script that does would ask for something one day."""
    named = {path.name for path in pages(site) if re.search(r"<script[^>]*>[^<]*https?://", path.read_text())}
    assert named == set()


def test_what_no_page_needs_is_left_out(site):
    assert list(site.rglob("*.map")) == []
    assert not (site / "_static" / "mathjax" / "sre").exists()
    assert sum(path.stat().st_size for path in (site / "_static").rglob("*") if path.is_file()) < 8_000_000


def test_every_icon_in_use_is_in_the_font(site):
    names = {
        name for path in pages(site) for name in re.findall(r'<i class="fa(?:s|-solid) (fa-[\w-]+)', path.read_text())
    }
    style = (site / "_static" / "styles" / "pydata-sphinx-theme.css").read_text(encoding="utf-8")
    letters = TTFont(site / "_static" / "vendor" / "fontawesome" / "webfonts" / "fa-solid-900.ttf").getBestCmap()
    assert names
    for name in names:
        code = re.search(rf'\.{name}:+before[^{{]*\{{content:"\\([0-9a-f]+)"', style)
        assert code and int(code[1], 16) in letters, name


# --- the build can fail -----------------------------------------------------------------------------------------------


def small_book(folder, page, repository=""):
    """A book of one page with the settings and extensions of this one: its folder."""
    source = folder / "source"
    (source / "book").mkdir(parents=True)
    settings = (ROOT / "_config.yml").read_text(encoding="utf-8")
    (source / "_config.yml").write_text(re.sub(r'(?m)^  url: ".*"', f'  url: "{repository}"', settings))
    for name in ("_static", "_extra"):
        shutil.copytree(BOOK / name, source / "book" / name)
    shutil.copytree(ROOT / "tools", source / "tools")
    shutil.copy(BOOK / "references.bib", source / "book")
    texts = {
        "missing_reference.md": "# A reference to nothing\n\n{prf:ref}`no-such-statement`\n",
        "missing_citation.md": "# A citation of nothing\n\n{cite}`no-such-paper`\n",
    }
    if page in texts:
        (source / "book" / page).write_text(texts[page])
    else:
        shutil.copy(ROOT / "tests" / page, source / "book")
    (source / "_toc.yml").write_text(f"format: jb-book\nroot: book/{Path(page).stem}\n")
    return source


@pytest.mark.parametrize(
    ("page", "message"),
    [
        ("bad/failing_assertion.ipynb", "AssertionError"),
        ("bad/warning.ipynb", "stderr"),
        ("missing_reference.md", "no-such-statement"),
        ("missing_citation.md", "no-such-paper"),
    ],
)
def test_the_build_rejects(page, message, tmp_path):
    result, _ = build(small_book(tmp_path, page), tmp_path)
    assert result.returncode != 0
    assert message in result.stdout + result.stderr


@pytest.mark.parametrize("repository", ["", "https://github.com/somebody/attention"])
def test_launch_buttons_appear_once_the_repository_has_an_address(repository, tmp_path):
    result, html = build(small_book(tmp_path, "good.ipynb", repository), tmp_path)
    assert result.returncode == 0, result.stdout + result.stderr
    links = read(html / "book" / "good.html").links
    launch = [address for address in links if "mybinder.org" in address or "colab.research" in address]
    assert launch == (
        [
            "https://mybinder.org/v2/gh/somebody/attention/main?urlpath=lab/tree/book/good.ipynb",
            "https://colab.research.google.com/github/somebody/attention/blob/main/book/good.ipynb",
        ]
        if repository
        else []
    )
