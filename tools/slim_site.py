"""Sphinx extension: serve formulas and icons with what the pages need, and leave the rest out of the site.

MathJax comes with every input, output and spoken language; the theme brings all icons three times (as a script, a
font, and a rule for each in its style sheet) and source maps. Untouched, they make each page 2 MB heavier and the
site 24 MB.
"""

from __future__ import annotations

import logging
import re
from io import BytesIO
from pathlib import Path

from fontTools import subset
from PIL import Image

# What MathJax loads, as named in _config.yml, and the folders of what it may load on demand.
MATHJAX = ("core.js", "startup.js", "loader.js", "a11y/assistive-mml.js", "input/tex.js", "input/tex-base.js")
MATHJAX_FOLDERS = ("input/tex/extensions/", "output/chtml")
# A rule whose selectors are single classes, such as an icon's or a utility's.
CLASS_RULE = re.compile(r"(?<=[{};/])((?:\.[\w-]+(?:::?(?:before|after))?,?)+)\{[^{}]*\}")
ICON_FONT = re.compile(r"src:url\(([^)]*/fa-\w+-\d+)\.woff2\)[^;}]*")


logging.getLogger("fontTools").setLevel(logging.WARNING)


def set_mathjax(app, config):
    config.mathjax_path = "mathjax/startup.js"


# The search's scripts, which only the page of results and a search while typing need.
SEARCH = re.compile(r'\s*<script src="[^"]*(?:searchtools|language_data|searchindex)\.js[^"]*"></script>')


def slim(app, error):
    if error is None and app.builder.format == "html":
        static = Path(app.outdir) / "_static"
        slim_mathjax(static / "mathjax")
        slim_styles(static, [*Path(app.outdir).rglob("*.html"), *static.rglob("*.js")])
        slim_pictures(Path(app.outdir) / "_images")
        for path in Path(app.outdir).rglob("*.html"):
            if path.name != "search.html":
                path.write_text(SEARCH.sub("", path.read_text(encoding="utf-8")), encoding="utf-8")
        for path in static.rglob("*.map"):
            path.unlink()


def slim_mathjax(folder):
    for path in sorted(folder.rglob("*"), reverse=True):
        name = path.relative_to(folder).as_posix()
        if path.is_dir():
            if not any(path.iterdir()):
                path.rmdir()
        elif name not in MATHJAX and not name.startswith(MATHJAX_FOLDERS):
            path.unlink()


def slim_styles(static, pages):
    """Drop the rules and the icons for classes that no page and no script names."""
    # The script draws the icons anew that the style sheet already shows from a font.
    (static / "scripts" / "fontawesome.js").write_text("// The style sheet shows the icons from a font.\n")
    used = {word for page in pages for word in re.findall(r"[\w-]+", page.read_text(encoding="utf-8"))}

    def keep(rule):
        return rule[0] if used & set(re.findall(r"\.([\w-]+)", rule[1])) else ""

    sheets = []
    for path in static.rglob("*.css"):
        text = CLASS_RULE.sub(keep, path.read_text(encoding="utf-8"))
        # The fonts keep the letters in use, in a format that needs no further package to write.
        text = ICON_FONT.sub(r'src:url(\1.ttf) format("truetype")', text)
        text = re.sub(r"/\*# sourceMappingURL=.*?\*/", "", text)
        path.write_text(text, encoding="utf-8")
        sheets.append(text)
    everything = " ".join(sheets)
    letters = {int(code, 16) for code in re.findall(r"""["']\\([0-9a-f]{2,4})["']""", everything)}
    letters |= {ord(letter) for letter in everything if ord(letter) >= 0xE000}
    for path in (static / "vendor" / "fontawesome" / "webfonts").glob("*"):
        if path.suffix == ".ttf":
            options = subset.Options(notdef_outline=True, layout_features=[])
            font = subset.load_font(path, options)
            subsetter = subset.Subsetter(options)
            subsetter.populate(unicodes=letters)
            subsetter.subset(font)
            subset.save_font(font, path, options)
        else:
            path.unlink()


def slim_pictures(folder):
    """Store each figure with at most 256 colours, where that is smaller."""
    for path in folder.glob("*.png"):
        with Image.open(path) as picture:
            if picture.mode == "P":
                continue
            few = picture.convert("RGB").quantize(256, dither=Image.Dither.NONE)
        slimmed = BytesIO()
        few.save(slimmed, "PNG", optimize=True)
        if slimmed.tell() < path.stat().st_size:
            path.write_bytes(slimmed.getvalue())


def setup(app):
    app.connect("config-inited", set_mathjax, priority=900)
    app.connect("build-finished", slim, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
