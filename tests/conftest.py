"""Fixtures shared by the tests, and the order in which they run."""

import fcntl
import os
import shutil
import subprocess
import sys
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

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
    """The folder of the built site: one build in each run, shared by all worker processes.

    The variable SITE names a site that is built already, for work on these tests.
    """
    if os.environ.get("SITE"):
        return Path(os.environ["SITE"]).resolve()
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
    """Debian's chromium without a window. Where continuous integration runs (CI is set), it has to be there."""
    path = shutil.which("chromium") or shutil.which("google-chrome")
    if path is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)("there is no chromium; .ci/run installs it")
    from playwright.sync_api import sync_playwright

    quiet = ["--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run"]
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu", *quiet])
        yield chromium
        chromium.close()


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        pass


@pytest.fixture(scope="session")
def served(site):
    """The address at which a plain static server shows the built site."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(QuietHandler, directory=str(site)))
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()
