"""Sphinx extension: launch buttons once there is an address, previews of statements, a picture for shared links."""

from __future__ import annotations

import json
import re
from html import escape
from pathlib import Path

from bs4 import BeautifulSoup
from docutils import nodes
from sphinx.util.fileutil import copy_asset

PICTURE = "book/images/result.png"


def set_launch_buttons(app, config):
    """Without the address of the repository there is nothing to launch; the theme would stop at an empty address."""
    options = config.html_theme_options
    if not options.get("repository_url"):
        options["launch_buttons"] = {}


def mend_citations(app, pagename, templatename, context, doctree):
    """The list of references is marked as a list, but its entries are not marked as items of one."""
    if "body" in context:
        context["body"] = context["body"].replace(
            '<div role="list" class="citation-list">', '<div class="citation-list">'
        )


def add_card(app, pagename, templatename, context, doctree):
    """Title, words and picture that other sites show for a link to the page."""
    base = app.config.html_baseurl.rstrip("/")
    picture = f"{base}/_static/{Path(PICTURE).name}" if base else context["pathto"](f"_static/{Path(PICTURE).name}", 1)
    title = re.sub(r"<[^>]+>", "", context.get("title") or app.config.html_title)
    words = _first_words(doctree) if doctree else ""
    card = {"og:title": title, "og:type": "article", "og:site_name": app.config.html_title, "og:image": picture}
    if words:
        card["og:description"] = words
    context["metatags"] = context.get("metatags", "") + "".join(
        f'\n<meta property="{name}" content="{escape(value, quote=True)}" />' for name, value in card.items()
    )
    if words and 'name="description"' not in context["metatags"]:
        context["metatags"] += f'\n<meta name="description" content="{escape(words, quote=True)}" />'


def _first_words(doctree, length=180):
    """The beginning of the first paragraph, in plain words."""
    for paragraph in doctree.findall(nodes.paragraph):
        text = " ".join(re.sub(r"\\[a-zA-Z]+|[{}$\\]", "", paragraph.astext()).split())
        if len(text) > 40:
            return text if len(text) <= length else text[:length].rsplit(" ", 1)[0] + " …"
    return ""


def collect_previews(app, pagename, templatename, context, doctree):
    """Keep the statements and the words of the glossary of each page as written, for the previews at links to them."""
    if not hasattr(app, "previews"):
        app.previews = {}
    if doctree and ('class="proof' in context["body"] or 'class="glossary' in context["body"]):
        soup = BeautifulSoup(context["body"], "html.parser")
        for node in soup.select("div.proof[id], dl.glossary dt[id]"):
            preview = BeautifulSoup(str(node), "html.parser")
            if node.name == "dt":
                preview = BeautifulSoup(f"<p><b>{node.get_text()}</b></p>{node.find_next_sibling('dd')}", "html.parser")
            for part in preview.select(".claim-links, .headerlink"):
                part.decompose()
            for part in preview.find_all(True):
                # A copy has neither names nor links of its own.
                part.attrs = {"class": part["class"]} if part.get("class") and part.name != "a" else {}
                part.name = {"a": "span", "section": "div", "dd": "div"}.get(part.name, part.name)
            app.previews[node["id"]] = str(preview)


def write_previews(app, error):
    """Write them as one script, which a page loads when the reader first rests on a link."""
    if error is None and app.builder.format == "html":
        script = f"window.previews = {json.dumps(app.previews, ensure_ascii=False, sort_keys=True)};\n"
        (Path(app.outdir) / "_static" / "preview-texts.js").write_text(script, encoding="utf-8")
        copy_asset(str(Path(app.srcdir) / PICTURE), str(Path(app.outdir) / "_static"))


def setup(app):
    app.connect("config-inited", set_launch_buttons, priority=900)
    app.connect("html-page-context", add_card, priority=900)
    app.connect("html-page-context", mend_citations)
    app.connect("html-page-context", collect_previews)
    app.connect("build-finished", write_previews, priority=800)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
