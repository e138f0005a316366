"""What each page of the built site weighs with all that it loads, uncompressed, heaviest first: `make weigh`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit

from make_pdf import ROOT, launch, settle
from playwright.sync_api import sync_playwright


def weigh(browser, path):
    """The sizes in bytes of a page's files, by path."""
    page, loaded = browser.new_page(), {path}
    page.on("request", lambda request: loaded.add(Path(unquote(urlsplit(request.url).path))))
    page.goto(path.as_uri())
    settle(page)
    page.close()
    return {file: file.stat().st_size for file in loaded if file.is_file()}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--site", type=Path, default=ROOT / "_build" / "html")
    site = parser.parse_args().site.resolve()
    with sync_playwright() as playwright:
        browser = launch(playwright)
        pages = {path: weigh(browser, path) for path in sorted((site / "book").rglob("*.html"))}
        browser.close()
    print("     kB  page, and its heaviest files in kB")
    for path, sizes in sorted(pages.items(), key=lambda item: -sum(item[1].values())):
        heaviest = sorted(sizes.items(), key=lambda item: -item[1])[:4]
        files = ", ".join(f"{file.name[-24:]} {size // 1000}" for file, size in heaviest)
        print(f"{sum(sizes.values()) // 1000:7d}  {path.relative_to(site)}: {files}")


if __name__ == "__main__":
    sys.exit(main())
