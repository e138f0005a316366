"""Sphinx extension: each claim leads to its row and to its cells, and back; and the graph of the claims.

Every code cell that checks a claim gets an anchor: ``check-<label>`` for the first cell of a page that proves it, or
that checks it at all if none proves it, and ``measure-<label>`` for the first one that measures it. Below every
labelled statement, and below every cell that checks a figure or a statement of another page, stands a line of links.
The directive ``claim-graph`` draws what uses what.
"""

from __future__ import annotations

from pathlib import Path

from claim_graph import draw
from claims import cell_anchors, load
from docutils import nodes
from sphinx.util.docutils import SphinxDirective
from sphinx_proof.nodes import NODE_TYPES

BOOK = "book"
STATEMENTS = tuple(NODE_TYPES.values())


class claim_graph(nodes.General, nodes.Element):
    """The place of the graph, until the addresses of all pages are known."""


class ClaimGraph(SphinxDirective):
    """``{claim-graph}``: the drawing of which claim uses which."""

    def run(self):
        return [claim_graph()]


def read_claims(app):
    path = Path(app.srcdir) / BOOK / "claims.yml"
    app.claims = {entry["label"]: entry for entry in load(path)} if path.exists() else {}


def set_anchors(app, doctree):
    """Name the cells that check a claim, and let Markdown links find them."""
    app.env.note_dependency(str(Path(app.srcdir) / BOOK / "claims.yml"))
    slugs = app.env.metadata[app.env.docname].setdefault("myst_slugs", {})
    cells = [node for node in doctree.findall(nodes.container) if node.get("nb_element") == "cell_code"]
    sources = [next(cell.findall(nodes.literal_block)).astext() for cell in cells]
    for number, anchors in cell_anchors(sources).items():
        cells[number]["ids"] += anchors
        for anchor in anchors:
            slugs[anchor] = (0, anchor, anchor)
    # sphinx-proof gives the body of every statement, and every proof, the same id: a page may use an id once.
    for number, node in enumerate(doctree.findall(lambda node: isinstance(node, nodes.Element))):
        node["ids"] = [f"{name}-{number}" if name in ("proof-content", "proof") else name for name in node["ids"]]


def add_links(app, doctree, docname):
    """Write the lines of links, and draw the graph."""

    def address(page, anchor):
        if f"{BOOK}/{page}" == docname:
            return f"#{anchor}"
        return f"{app.builder.get_relative_uri(docname, f'{BOOK}/{page}')}#{anchor}"

    page = docname.removeprefix(f"{BOOK}/")
    for node in list(doctree.findall(lambda node: isinstance(node, STATEMENTS))):
        if node["label"] in app.claims:
            node += _line(app.claims[node["label"]], page, address)
    for cell in list(doctree.findall(nodes.container)):
        labels = {name.partition("-")[2] for name in cell.get("ids", []) if name.startswith(("check-", "measure-"))}
        entries = [app.claims[label] for label in sorted(labels) if label in app.claims]
        elsewhere = [entry for entry in entries if entry["label"].startswith("fig-") or entry["statement"] != page]
        if elsewhere:
            cell.parent.insert(cell.parent.index(cell) + 1, _checked(elsewhere, address))
    for node in list(doctree.findall(claim_graph)):
        numbers = _numbers(app)
        svg = draw(list(app.claims.values()), lambda entry: _target(entry, address), numbers)
        node.replace_self(nodes.raw("", svg, format="html"))


def _numbers(app):
    """The printed number of each statement, such as 7.2."""
    found = {}
    for figures in app.env.toc_fignumbers.values():
        for by_label in figures.values():
            found |= {label: ".".join(map(str, number)) for label, number in by_label.items()}
    return found


def _target(entry, address):
    """Where a node of the graph leads: to the statement; a figure of the paper has none, so to its cell."""
    if not entry["label"].startswith("fig-"):
        return address(entry["statement"], entry["label"])
    page = (entry["proved"] + entry["measured"])[0]
    return address(page, f"check-{entry['label']}")


def _line(entry, page, address):
    """The links of one statement: its verdict, its cells, its row."""
    links = []
    for pages, verb, anchor in ((entry["proved"], "proves", "check"), (entry["measured"], "measures", "measure")):
        for where in pages:
            place = "" if where == page else f" in {where}"
            links.append(_link(f"the cell that {verb} it{place}", address(where, f"{anchor}-{entry['label']}")))
    links.append(_link("its row among the claims", address("claims", f"claim-{entry['label']}")))
    return nodes.paragraph(
        "", "", nodes.Text(f"{entry['verdict'].capitalize()}: "), *_join(links), classes=["claim-links"]
    )


def _checked(entries, address):
    links = [_link(entry["title"], address("claims", f"claim-{entry['label']}")) for entry in entries]
    return nodes.paragraph("", "", nodes.Text("This cell checks: "), *_join(links), classes=["claim-links"])


def _link(text, uri):
    return nodes.reference("", text, refuri=uri, internal=True)


def _join(links):
    return [piece for link in links for piece in (nodes.Text(" · "), link)][1:]


def setup(app):
    app.add_node(claim_graph)
    app.add_directive("claim-graph", ClaimGraph)
    app.connect("builder-inited", read_claims)
    app.connect("doctree-read", set_anchors)
    app.connect("doctree-resolved", add_links)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
