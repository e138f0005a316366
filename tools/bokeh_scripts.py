"""Sphinx extension: the site serves the scripts of the installed Bokeh itself, for the page with sliders."""

from __future__ import annotations

import shutil
from pathlib import Path

SCRIPTS = ("bokeh.min.js", "bokeh-api.min.js")


def copy(app, exception):
    """Copy Bokeh's scripts beside those of the page."""
    if exception is None and app.builder.format == "html":
        import bokeh

        source = Path(bokeh.__file__).parent / "server" / "static" / "js"
        target = Path(app.outdir) / "_static" / "explore"
        target.mkdir(parents=True, exist_ok=True)
        for name in SCRIPTS:
            shutil.copyfile(source / name, target / name)


def setup(app):
    app.connect("build-finished", copy)
    return {"parallel_read_safe": True}
