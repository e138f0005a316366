"""The built site as a reader meets it, in a real browser: from a folder and from a server, light, dark and on a phone.

Each page is opened once from its folder; the tests of a page read what was found then.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from claims import PARTS, load
from make_pdf import join, print_page, settle
from PIL import Image
from pypdf import PdfReader
from test_site import toc_files

NAMES = [*toc_files(), "genindex", "search"]
PHONE, DESK = {"width": 390, "height": 844}, {"width": 1280, "height": 900}
LIMIT = 2_000_000  # bytes of a page with all it loads, uncompressed

# Formulas that are not typeset: MathJax's error boxes, sources it left alone, and bare TeX in the text.
RAW_FORMULAS = r"""() => {
  const errors = [...document.querySelectorAll("mjx-merror")].map((e) => e.closest("mjx-container").textContent);
  const left = [...document.querySelectorAll("article .math")].filter((e) => !e.querySelector("mjx-container"));
  const texts = document.createTreeWalker(document.querySelector("article") ?? document.body, NodeFilter.SHOW_TEXT);
  const raw = [];
  while (texts.nextNode()) {
    const e = texts.currentNode.parentElement;
    if (e.closest("pre, code, script, style, mjx-container, .math")) continue;
    if (/\$|\\[([]|\\[a-zA-Z]{2,}/.test(texts.currentNode.data)) raw.push(texts.currentNode.data.trim());
  }
  return [...errors, ...left.map((e) => e.textContent), ...raw];
}"""

# What sticks out of the window to the right and cannot be scrolled to inside a box of its own.
STICKS_OUT = """() => {
  const wide = document.documentElement.clientWidth;
  const scrolls = (e) => {
    for (let p = e.parentElement; p && p !== document.body; p = p.parentElement)
      if (/auto|scroll/.test(getComputedStyle(p).overflowX)) return true;
    return false;
  };
  const found = [...document.querySelectorAll("article *:not(mjx-container *)")].filter((e) => {
    const box = e.getBoundingClientRect();
    return box.width > 1 && box.right > wide + 1 && !e.closest(".visually-hidden") && !scrolls(e);
  });
  const name = (e) => `${e.tagName} ${e.className.baseVal ?? e.className}: ${e.textContent.trim().slice(0, 60)}`;
  const page = document.documentElement.scrollWidth > wide ? ["the whole page scrolls sideways"] : [];
  return [...page, ...found.map(name)];
}"""

# Boxes that scroll sideways and hold nothing that takes the focus, themselves included.
OUT_OF_REACH = """() => [...document.querySelectorAll("article *:not(mjx-container *)")].filter((e) =>
  e.scrollWidth > e.clientWidth + 1 && e.clientWidth && /auto|scroll/.test(getComputedStyle(e).overflowX) &&
  e.tabIndex < 0 && !e.querySelector("a[href], button, input, [tabindex='0']")
).map((e) => `${e.tagName} ${e.className}: ${e.textContent.trim().slice(0, 60)}`)"""

# A formula is a hundred boxes in the colour of its paragraph, and code has ten thousand words in a dozen colours: axe
# takes a minute over them. One word of each colour, and a letter for each formula, show it the same.
THIN_OUT = """() => {
  for (const formula of document.querySelectorAll("mjx-container")) formula.replaceWith("x");
  const seen = new Set();
  for (const word of document.querySelectorAll("pre span:not(:has(*))")) {
    if (seen.has(word.className)) word.remove();
    seen.add(word.className);
  }
}"""

# Whether each folded box shows something that it did not show before, once its head is clicked.
OPEN_SOLUTIONS = """() => [...document.querySelectorAll("details.sd-dropdown")].map((e) => {
  const before = e.offsetHeight;
  e.querySelector("summary").click();
  return e.open && e.offsetHeight > before;
})"""

SKIPPED_HEADINGS = """() => {
  const levels = [...document.querySelectorAll("main h1, main h2, main h3, main h4, main h5, main h6")]
    .filter((e) => e.offsetParent).map((e) => Number(e.tagName[1]));
  const jumps = levels.filter((level, n) => n && level > levels[n - 1] + 1);
  return { first: levels[0], ones: levels.filter((level) => level === 1).length, jumps };
}"""

AXE = """async (rules) => {
  const options = { resultTypes: ["violations"], preload: false, ...(rules && { runOnly: rules }) };
  const found = await axe.run(document, options);
  return found.violations
    .filter((v) => v.impact === "serious" || v.impact === "critical")
    .map((v) => `${v.id}: ${v.help}: ${v.nodes.slice(0, 3).map((n) => n.html.slice(0, 150)).join(" AND ")}`);
}"""


@dataclass
class Visit:
    """What one opening of a page showed."""

    console: list = field(default_factory=list)
    outside: list = field(default_factory=list)
    failed: list = field(default_factory=list)
    loaded: set = field(default_factory=set)
    facts: dict = field(default_factory=dict)


def listen(page, start):
    """Record errors, failed requests and requests to anywhere but `start` into a new Visit."""
    visit = Visit()
    page.on("pageerror", lambda error: visit.console.append(str(error)))
    page.on("console", lambda m: visit.console.append(m.text) if m.type in ("error", "warning") else None)
    page.on("requestfailed", lambda request: visit.failed.append(request.url))
    page.on("response", lambda r: visit.failed.append(r.url) if r.status >= 400 else None)

    def asked(request):
        if not request.url.startswith(("data:", "blob:")):
            (visit.loaded.add if request.url.startswith(start) else visit.outside.append)(request.url)

    page.on("request", asked)
    return visit


def look(browser, site, name):
    page = browser.new_page(viewport=PHONE, color_scheme="light")
    visit = listen(page, site.as_uri())
    page.goto((site / f"{name}.html").as_uri())
    settle(page)
    page.wait_for_timeout(100)  # reading.js looks at the width of the formulas
    facts = visit.facts
    facts["language"] = page.evaluate("document.documentElement.lang")
    facts["raw formulas"] = page.evaluate(RAW_FORMULAS)
    facts["headings"] = page.evaluate(SKIPPED_HEADINGS)
    facts["sticks out"] = {"phone": page.evaluate(STICKS_OUT)}
    facts["out of reach"] = page.evaluate(OUT_OF_REACH)
    page.set_viewport_size(DESK)
    page.wait_for_timeout(200)
    facts["sticks out"]["desk"] = page.evaluate(STICKS_OUT)
    page.evaluate(AXE_SCRIPT)
    page.evaluate(THIN_OUT)
    facts["axe"] = {"light": page.evaluate(AXE)}
    page.add_style_tag(content="* { transition: none !important; }")
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    facts["axe"]["dark"] = page.evaluate(AXE, ["color-contrast", "link-in-text-block"])
    facts["solutions"] = page.evaluate(OPEN_SOLUTIONS)
    page.close()
    return visit


@pytest.fixture(scope="module")
def visits(browser, site):
    """A function: the visit of a page, made when it is first asked for."""
    made = {}

    def visit(name):
        if name not in made:
            made[name] = look(browser, site, name)
        return made[name]

    return visit


@pytest.fixture
def page(browser):
    page = browser.new_page(viewport=DESK, color_scheme="light")
    yield page
    page.close()


# --- every page -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_a_page_opens_from_its_folder_without_errors_or_outside_requests(visits, name):
    visit = visits(name)
    assert (visit.console, visit.failed, visit.outside) == ([], [], [])


# One page of each kind: from a server, pages differ from those in the folder in nothing but their address.
KINDS = [
    "book/index",
    "book/notation",
    "book/claims",
    "book/explore",
    "book/proofs/shift",
    "book/experiments/mnist",
    "search",
]


@pytest.mark.parametrize("name", KINDS)
def test_a_page_opens_from_a_server_without_errors_or_outside_requests(page, served, name):
    visit = listen(page, served)
    page.goto(f"{served}/{name}.html")
    settle(page)
    assert (visit.console, visit.failed, visit.outside) == ([], [], [])


@pytest.mark.parametrize("name", NAMES)
def test_every_formula_is_typeset(visits, name):
    assert visits(name).facts["raw formulas"] == []


@pytest.mark.parametrize("width", ["desk", "phone"])
@pytest.mark.parametrize("name", NAMES)
def test_nothing_sticks_out_of_the_page(visits, name, width):
    assert visits(name).facts["sticks out"][width] == []


@pytest.mark.parametrize("name", NAMES)
def test_axe_finds_nothing_serious(visits, name):
    assert visits(name).facts["axe"] == {"light": [], "dark": []}


@pytest.mark.parametrize("name", NAMES)
def test_the_keyboard_reaches_every_box_that_scrolls(visits, name):
    assert visits(name).facts["out of reach"] == []


@pytest.mark.parametrize("name", NAMES)
def test_language_and_headings(visits, name):
    facts = visits(name).facts
    assert facts["language"] == "en"
    assert facts["headings"] == {"first": 1, "ones": 1, "jumps": []}


@pytest.mark.parametrize("name", NAMES)
def test_a_page_weighs_less_than_two_megabytes(visits, name):
    paths = {Path(unquote(urlsplit(address).path)) for address in visits(name).loaded}
    heaviest = sorted(((path.stat().st_size, path.name) for path in paths if path.is_file()), reverse=True)
    assert sum(size for size, _ in heaviest) < LIMIT, heaviest[:8]


# --- the checks can fail ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "script"),
    [
        (r"<p>an open \(x</p>", RAW_FORMULAS),
        ("<p>costs $x$</p>", RAW_FORMULAS),
        ('<div style="overflow: auto"><p style="width: 3000px">wide</p></div>', OUT_OF_REACH),
        (r'<span class="math">\(x\)</span>', RAW_FORMULAS),
        ("<mjx-container><mjx-merror>bad</mjx-merror></mjx-container>", RAW_FORMULAS),
        ('<div style="width: 3000px">wide</div>', STICKS_OUT),
        ('<div style="overflow: hidden"><p style="width: 3000px">cut off</p></div>', STICKS_OUT),
        ('<p style="color: #999; background: #fff">pale</p>', AXE),
        ('<img src="data:,">', AXE),
    ],
)
def test_a_bad_page_is_found(page, body, script):
    page.set_content(f'<html lang="en"><title>t</title><main><article><h1>t</h1>{body}</article></main></html>')
    page.evaluate(AXE_SCRIPT)
    assert page.evaluate(script) != []


def test_skipped_headings_are_found(page):
    page.set_content("<main><h1>one</h1><h3>three</h3></main>")
    assert page.evaluate(SKIPPED_HEADINGS)["jumps"] == [3]


# --- looking ----------------------------------------------------------------------------------------------------------


def test_every_figure_has_a_white_ground(site):
    pictures = sorted((site / "_images").glob("*.png"))
    assert pictures
    for path in pictures:
        with Image.open(path) as picture:
            corners = [(0, 0), (picture.width - 1, 0), (0, picture.height - 1), (picture.width - 1, picture.height - 1)]
            colours = picture.convert("RGBA")
            assert {colours.getpixel(corner) for corner in corners} == {(255, 255, 255, 255)}, path.name


def test_the_button_for_dark_mode_works_and_is_remembered(page, site):
    page.goto((site / "book" / "notation.html").as_uri())
    ground = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ground)
    button = page.locator(".theme-switch-button:visible")
    for _ in range(3):
        if page.evaluate("document.documentElement.dataset.theme") != "dark":
            button.click()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert page.evaluate(ground) != light
    page.goto((site / "book" / "claims.html").as_uri())
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"


def test_a_reader_s_dark_mode_is_followed(browser, site):
    page = browser.new_page(color_scheme="dark")
    page.goto((site / "book" / "index.html").as_uri())
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    page.close()


def test_print_shows_the_solutions_on_a_light_ground_without_the_bars_around(browser, site):
    page = browser.new_page(viewport=DESK, color_scheme="dark")
    page.goto((site / "book" / "proofs" / "moments.html").as_uri())
    page.emulate_media(media="print", color_scheme="dark")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate("document.documentElement.dataset.theme") == "light"
    assert page.locator("details:not([open])").count() == 0
    for bar in (".bd-sidebar-primary", ".bd-sidebar-secondary", ".bd-header-article", ".prev-next-area"):
        assert page.locator(f"{bar}:visible").count() == 0, bar
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    page.close()


def test_the_pdf_has_bookmarks_and_links_between_its_pages(browser, site, tmp_path):
    names = [("Start", "book/references"), ("Start", "book/claims")]
    paths = [(part, site / f"{name}.html") for part, name in names]
    join([(part, path, *print_page(browser, path)) for part, path in paths]).write(tmp_path / "book.pdf")
    book = PdfReader(tmp_path / "book.pdf")
    part, chapters = book.outline
    assert part.title == "Start" and [chapter.title for chapter in chapters] == ["References", "Claims"]
    assert "What uses what" in "".join(page.extract_text() for page in book.pages)
    links = [link.get_object() for page in book.pages for link in page.get("/Annots") or []]
    assert not [link for link in links if link.get("/A", {}).get("/URI", "").startswith("file:")]


# --- finding the way --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "target"),
    [
        ("universal constant", "book/proofs/rate.html"),
        ("stein identity", "book/proofs/moments.html"),
        ("kappa", "book/notation.html"),
        ("leaky_relu", "book/notation.html"),
        ("positional encoding", "book/notation.html"),
    ],
)
@pytest.mark.parametrize("start", ["folder", "server"])
def test_search_finds(page, site, served, start, words, target):
    page.goto(f"{site.as_uri() if start == 'folder' else served}/search.html?q={words.replace(' ', '+')}")
    page.wait_for_selector("#search-results ul.search li a")
    page.wait_for_function("document.querySelector('#search-results .search-summary')?.textContent.match(/found/)")
    found = page.locator("#search-results ul.search li a").evaluate_all("links => links.map((a) => a.href)")
    assert any(f"/{target}" in address for address in found), found


def test_the_search_box_opens_with_a_key_and_leads_to_the_results(page, served):
    page.goto(f"{served}/book/index.html")
    page.keyboard.press("Control+k")
    box = page.locator("dialog input[type=search]:visible, .search-button__search-container input:visible").first
    box.fill("invariant")
    box.press("Enter")
    page.wait_for_selector("#search-results ul.search li a")


def test_two_clicks_lead_from_the_first_page_to_the_cell(page, site):
    """From the claims page, one click; and back from the cell's statement to the row, one click."""
    page.goto((site / "book" / "index.html").as_uri())
    page.locator("nav a[href$='claims.html']").first.click()
    entry = next(e for e in load() if e["source"].startswith("paper, Theorem 3.1") and e["proved"])
    page.locator(f"a[href$='#check-{entry['label']}']").first.click()
    page.wait_for_load_state()
    settle(page)
    cell = page.locator(f"[id='check-{entry['label']}']")
    assert entry["label"] in cell.evaluate("e => e.closest('.cell').innerText")
    page.locator(f"[id='{entry['label']}'] .claim-links a[href*='#claim-{entry['label']}']").click()
    assert page.url.endswith(f"claims.html#claim-{entry['label']}")


def test_every_claim_leads_to_cells_that_name_it_and_back(page, site):
    """Follow no link, but read both ends of each."""
    page.goto((site / "book" / "claims.html").as_uri())
    rows = page.evaluate("[...document.querySelectorAll(\"td a[href*='.html#']\")].map((a) => a.getAttribute('href'))")
    graph = page.evaluate("[...document.querySelectorAll('a.claim')].map((a) => a.dataset.label)")
    claims = load()
    assert sorted(graph) == sorted(entry["label"] for entry in claims)
    for entry in claims:
        label = entry["label"]
        for pages, anchor in ((entry["proved"], "check"), (entry["measured"], "measure")):
            assert all(f"{where}.html#{anchor}-{label}" in rows for where in pages), label
    for name in sorted({where for entry in claims for where in (*entry["proved"], *entry["measured"])}):
        text = (site / "book" / f"{name}.html").read_text(encoding="utf-8")
        for entry in claims:
            if name in (*entry["proved"], *entry["measured"]):
                assert re.search(rf'id="(check|measure)-{entry["label"]}"', text), (name, entry["label"])
                assert f"claims.html#claim-{entry['label']}" in text, (name, entry["label"])


def test_a_link_to_a_statement_shows_it(page, site):
    page.goto((site / "book" / "proofs" / "rate.html").as_uri())
    settle(page)
    link = page.locator("article p a[href*='#prop-']:not(.claim-links a)").first
    link.scroll_into_view_if_needed()
    link.hover()
    preview = page.locator(".preview")
    preview.wait_for()
    assert "Proposition" in preview.inner_text()
    preview.locator("mjx-container").first.wait_for()
    page.keyboard.press("Escape")
    assert preview.count() == 0


@pytest.mark.parametrize("name", [name for name in toc_files() if name.split("/")[1] in PARTS])
def test_the_solutions_of_a_chapter_open(visits, name):
    solutions = visits(name).facts["solutions"]
    assert len(solutions) >= 2 and all(solutions)


def test_the_keyboard_reaches_the_text_and_the_graph(page, site):
    page.goto((site / "book" / "claims.html").as_uri())
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent").strip() == "Skip to main content"
    page.keyboard.press("Enter")
    assert page.evaluate("location.hash") == "#main-content"
    reached = set()
    for _ in range(40):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.className.baseVal ?? document.activeElement.className"))
    assert "claim-graph-box" in reached and any("claim " in name for name in reached)


def test_on_a_phone_the_way_from_the_first_page_to_the_proof_is_open(browser, site):
    page = browser.new_page(viewport=PHONE, has_touch=True, is_mobile=True)
    page.goto((site / "book" / "index.html").as_uri())
    page.locator("button.primary-toggle, label.primary-toggle").first.click()
    link = page.locator("a[href$='proofs/rate.html']:visible").first
    link.click()
    page.wait_for_url("**/proofs/rate.html")
    settle(page)
    assert page.locator("#thm-universal-constant").is_visible()
    page.locator("#thm-universal-constant .claim-links a").first.click()
    assert page.evaluate("document.querySelector(':target').closest('.cell') !== null")
    page.close()


def test_the_graph_shows_the_arrows_of_a_chosen_box(page, site):
    page.goto((site / "book" / "claims.html").as_uri())
    arrow = page.locator(".uses").first
    used = arrow.get_attribute("data-used")
    page.locator(f"a.claim[data-label='{used}']").focus()
    assert "near" in arrow.get_attribute("class")
    assert page.locator(".claim-graph.chosen").count() == 1
