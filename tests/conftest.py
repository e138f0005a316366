"""Fixtures shared by the tests, and the order in which they run."""

import fcntl
import subprocess
import sys
from pathlib import Path

import hypothesis
import pytest

ROOT = Path(__file__).resolve().parents[1]
JUPYTER_BOOK = str(Path(sys.executable).with_name("jupyter-book"))
STRICT = ["-n", "-W", "--keep-going", "--all"]

# The same examples in every run, and no limit on their time: the machine may be busy with the chapters.
hypothesis.settings.register_profile("book", deadline=None, derandomize=True)
hypothesis.settings.load_profile("book")


def pytest_collection_modifyitems(items):
    """Run the site build first and the chapters next: they take longest, and the short tests fill the gaps."""

    def rank(item):
        path = item.path
        return 0 if path.name == "test_site.py" else 1 if path.suffix == ".ipynb" else 2

    items.sort(key=rank)


def build(source, output):
    """Build the book at `source` strictly; the finished process, and the folder of the pages."""
    command = [JUPYTER_BOOK, "build", str(source), "--path-output", str(output)]
    result = subprocess.run([*command, *STRICT], capture_output=True, text=True, timeout=1200)
    return result, Path(output) / "_build" / "html"


@pytest.fixture(scope="session")
def site(tmp_path_factory, worker_id):
    """The folder of the built site: one build in each run, shared by all worker processes."""
    folder = tmp_path_factory.getbasetemp()
    if worker_id != "master":
        folder = folder.parent
    with open(folder / "site.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        html, failure = folder / "site" / "_build" / "html", folder / "site-failed.txt"
        if not html.exists() and not failure.exists():
            result, html = build(ROOT, folder / "site")
            if result.returncode:
                failure.write_text(result.stdout[-6000:] + result.stderr[-6000:])
    if failure.exists():
        pytest.fail(f"the site does not build:\n{failure.read_text()}", pytrace=False)
    return html


@pytest.fixture(scope="session")
def browser():
    """Debian's chromium, headless. It is never skipped: a machine without it fails these tests."""
    from playwright.sync_api import sync_playwright

    quiet = ["--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run"]
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--no-sandbox", "--disable-gpu", *quiet]
        )
        yield chromium
        chromium.close()
