"""Print the whole built site as one PDF, _build/book.pdf: `make pdf`.

A browser without a window prints each page in the order of the table of contents; the pieces become one file with a
bookmark for each page, and links between pages become links inside the file.
"""

from __future__ import annotations

import argparse
import io
import shutil
from pathlib import Path
from urllib.parse import unquote, urlsplit

import yaml
from playwright.sync_api import sync_playwright
from pypdf import PdfReader, PdfWriter
from pypdf.annotations import Link
from pypdf.generic import Fit, NameObject

ROOT = Path(__file__).resolve().parents[1]
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]


def chapters(toc):
    """The pages of a table of contents as (part or None, page), in order."""
    found = [(None, toc["root"])]
    for part in toc["parts"]:
        found += [(part["caption"], chapter["file"]) for chapter in part["chapters"]]
    return found


def launch(playwright):
    """Chromium without a window."""
    path = shutil.which("chromium") or shutil.which("google-chrome")
    if path is None:
        raise SystemExit("This needs chromium; on Debian: apt-get install chromium")
    return playwright.chromium.launch(executable_path=path, args=FLAGS)


def settle(page):
    """Wait until the formulas are typeset."""
    page.evaluate("async () => { if (window.MathJax) await MathJax.startup.promise; }")


def print_page(browser, path):
    """One page of the site: its title and its PDF."""
    page = browser.new_page(color_scheme="light")
    page.goto(path.as_uri())
    settle(page)
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    title = page.locator("h1").first.inner_text().rstrip("#").strip()
    data = page.pdf(format="A4", prefer_css_page_size=True, print_background=True)
    page.close()
    return title, data


def join(pieces):
    """One PDF from (part, path, title, data), with bookmarks, and with links between the paths turned inwards."""
    writer, firsts, parts = PdfWriter(), {}, {}
    for part, path, title, data in pieces:
        first = len(writer.pages)
        firsts[path.resolve()] = first
        writer.append(PdfReader(io.BytesIO(data)), import_outline=False)
        if part and part not in parts:
            parts[part] = writer.add_outline_item(title=part, page_number=first)
        writer.add_outline_item(title=title, page_number=first, parent=parts.get(part))
    for number, page in enumerate(writer.pages):
        links = page.get("/Annots") or []
        for at in reversed(range(len(links))):
            link = links[at].get_object()
            address = link.get("/A", {}).get("/URI", "")
            first = firsts.get(Path(unquote(urlsplit(address).path))) if address.startswith("file:") else None
            if first is not None:
                inward = Link(rect=link["/Rect"], target_page_index=first, fit=Fit.fit_horizontally(top=842))
                del links[at]
                writer.add_annotation(number, inward)
            elif address.startswith("file:"):
                del link[NameObject("/A")]  # a page that is not part of the file
    return writer


def make(site, output, toc):
    with sync_playwright() as playwright:
        browser = launch(playwright)
        pieces = []
        for part, name in chapters(toc):
            print(f"{name} ...", flush=True)
            path = site / f"{name}.html"
            if not path.exists():
                raise SystemExit(f"The site has no page {name}: run 'make book' first.")
            pieces.append((part, path, *print_page(browser, path)))
        browser.close()
    writer = join(pieces)
    writer.compress_identical_objects()
    writer.write(output)
    print(f"{output}: {len(writer.pages)} pages, {output.stat().st_size / 1e6:.1f} MB")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--site", type=Path, default=ROOT / "_build" / "html")
    parser.add_argument("--output", type=Path, default=ROOT / "_build" / "book.pdf")
    arguments = parser.parse_args()
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    make(arguments.site.resolve(), arguments.output, toc)


if __name__ == "__main__":
    main()
