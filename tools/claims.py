"""Write the claims page from book/claims.yml, and check the claims against the chapters.

``python tools/claims.py`` writes book/claims.md and prints what is wrong, if anything is.
``python tools/claims.py --check`` writes nothing.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import sys
from collections import Counter
from pathlib import Path

import networkx as nx
import yaml

ROOT = Path(__file__).resolve().parents[1]
BOOK = ROOT / "book"

VERDICTS = ("proved", "proved for the listed sizes", "measured", "differs from the paper")
PARTS = {"model": "The model", "proofs": "The proofs", "experiments": "The experiments"}
PREFIXES = {"theorem": "thm-", "proposition": "prop-", "lemma": "lem-", "corollary": "cor-"}
REQUIRED = ("label", "title", "source", "statement", "verdict")
OPTIONAL = ("proved", "measured", "uses", "note", "alone")

BLOCK = re.compile(r"^\s*(?::{3,}|`{3,})\{prf:(theorem|proposition|lemma|corollary)\}.*\n((?:\s*:[\w-]+:.*\n)*)", re.M)
LABEL = re.compile(r"^\s*:label:\s*(\S+)\s*$", re.M)
# The checks that can carry a proof, and those that can carry a measurement; the first of each pair is the plain case.
PROVING = ("proves", "holds")
MEASURING = ("agrees", "holds")

INTRO = """\
# Claims

Every labelled statement of the book and every figure of the paper, with the page that proves it, the pages that
measure it, and the verdict. *Proved* means that a cell of the named page closes the proof with SymPy, or with a check
that holds for every case. *Proved for the listed sizes* means that a cell does so for the sizes named in the note.
*Measured* means that a cell compares numbers. *Differs from the paper* means that the cells named here contradict what
the paper prints or reports.

A page named in the column of evidence leads to the very cell that runs. Below each statement of the book stands a line
of links to its row here and to its cells, so that the way works in both directions.

This page is written by `make claims` from `book/claims.yml`. A test fails when the two disagree, when a statement has
no row, or when a row has no cell that asserts it.
"""


GRAPH = """\
## What uses what

An arrow leads from a claim to each claim that it uses, so the foundations stand on the left. Colour, border and shape
say the verdict. Each box leads to its statement; the same arrows stand in words in the tables below, under *uses*.

```{claim-graph}
```
"""


def load(path=BOOK / "claims.yml"):
    """The entries of claims.yml, with `proved`, `measured` and `uses` as lists."""
    entries = yaml.safe_load(Path(path).read_text(encoding="utf-8")) or []
    for entry in entries:
        for key in ("proved", "measured", "uses"):
            value = entry.get(key) or []
            entry[key] = [value] if isinstance(value, str) else list(value)
    return entries


# --- what the chapters hold -------------------------------------------------------------------------------------------


def read_chapters(book=BOOK):
    """Map each notebook's page name (no suffix) to its labelled statements and its calls of `verify`.

    Returns ``{page: {"statements": [(kind, label or None)], "calls": {(function, label)}}}``.
    """
    chapters = {}
    for path in sorted(Path(book).rglob("*.ipynb")):
        if ".ipynb_checkpoints" not in path.parts:
            cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
            sources = [(cell["cell_type"], "".join(cell["source"])) for cell in cells]
            chapters[path.relative_to(book).with_suffix("").as_posix()] = {
                "statements": [s for kind, text in sources if kind == "markdown" for s in statements(text)],
                "calls": {call for kind, text in sources if kind == "code" for call in verify_calls(text)},
            }
    return chapters


def statements(markdown):
    """The (kind, label) of each theorem, proposition, lemma and corollary block; the label is None if it has none."""
    found = []
    for kind, options in BLOCK.findall(markdown + "\n"):
        label = LABEL.search(options)
        found.append((kind, label.group(1) if label else None))
    return found


def cell_anchors(sources):
    """The anchors of one page's code cells, by the number of the cell.

    ``check-<label>`` stands at the first cell that proves the claim, or else at the first that checks it at all;
    ``measure-<label>`` at the first cell that measures it.
    """
    calls = [verify_calls(source) for source in sources]
    anchors = {}
    for label in sorted({label for found in calls for _, label in found}):
        for prefix, order in (("check", (*PROVING, *MEASURING)), ("measure", MEASURING)):
            at = next((n for function in order for n, found in enumerate(calls) if (function, label) in found), None)
            if at is not None:
                anchors.setdefault(at, []).append(f"{prefix}-{label}")
    return anchors


def verify_calls(source):
    """The (function, label) of each call of proves, agrees or holds whose first argument is a literal string."""
    calls = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            name = getattr(node.func, "attr", getattr(node.func, "id", None))
            if name in {*PROVING, *MEASURING}:
                calls.add((name, node.args[0].value))
    return calls


# --- checks -----------------------------------------------------------------------------------------------------------


def problems(claims, chapters):
    """Everything that is wrong, as sentences. An empty list means that claims and chapters agree."""
    malformed = list(_form(claims))
    return malformed or [*_statements(claims, chapters), *_evidence(claims, chapters), *_uses(claims)]


def _form(claims):
    for entry in claims:
        name = entry.get("label", "an entry without a label")
        for key in REQUIRED:
            if not entry.get(key):
                yield f"{name}: '{key}' is missing"
        for key in entry.keys() - {*REQUIRED, *OPTIONAL}:
            yield f"{name}: '{key}' is not a key of a claim"
        if entry.get("verdict") not in VERDICTS:
            yield f"{name}: verdict '{entry.get('verdict')}' is not one of {', '.join(VERDICTS)}"
        if not str(name).startswith((*PREFIXES.values(), "fig-")):
            yield f"{name}: a label starts with thm-, prop-, lem-, cor- or fig-"
        for key in ("title", "source", "note"):
            if "|" in str(entry.get(key, "")):
                yield f"{name}: '{key}' holds a '|', which would end its table cell; write \\lvert or \\lVert"
    for label, count in Counter(entry.get("label") for entry in claims).items():
        if count > 1:
            yield f"{label}: has {count} entries"


def _statements(claims, chapters):
    entries = {entry["label"]: entry for entry in claims}
    stated = {}
    for page, chapter in chapters.items():
        for kind, label in chapter["statements"]:
            if label is None:
                yield f"{page}: a {kind} has no label"
            elif not label.startswith(PREFIXES[kind]):
                yield f"{page}: the {kind} '{label}' does not start with {PREFIXES[kind]}"
            elif label not in entries:
                yield f"{page}: the statement '{label}' has no entry in claims.yml"
            if label in stated:
                yield f"{label}: is stated on {stated[label]} and again on {page}"
            stated[label] = page
        for label in sorted({label for _, label in chapter["calls"]}):
            if label not in entries:
                yield f"{page}: a cell checks '{label}', which is not in claims.yml"
    for label, entry in entries.items():
        if entry["statement"] not in chapters:
            yield f"{label}: the page '{entry['statement']}' does not exist"
        elif not label.startswith("fig-") and stated.get(label) != entry["statement"]:
            yield f"{label}: is not stated on {entry['statement']}"


def _evidence(claims, chapters):
    for entry in claims:
        label, verdict = entry["label"], entry["verdict"]
        for key, functions in (("proved", PROVING), ("measured", MEASURING)):
            for page in entry[key]:
                calls = chapters.get(page, {"calls": set()})["calls"]
                if not any((function, label) in calls for function in functions):
                    yield f"{label}: '{page}' has no cell that calls verify.{' or verify.'.join(functions)} with it"
        if verdict.startswith("proved") and not entry["proved"]:
            yield f"{label}: the verdict is '{verdict}', but no page is named under 'proved'"
        if not entry["proved"] and not entry["measured"]:
            yield f"{label}: no page asserts it"


def _uses(claims):
    strengths = {entry["label"]: _strength(entry) for entry in claims}
    for entry in claims:
        for other in entry["uses"]:
            if other not in strengths:
                yield f"{entry['label']}: uses '{other}', which is not in claims.yml"
    graph = dependency_graph(claims)
    if not nx.is_directed_acyclic_graph(graph):
        circle = " -> ".join(edge[0] for edge in nx.find_cycle(graph))
        yield f"these claims use each other in a circle: {circle}"
    for entry in claims:
        label = entry["label"]
        lonely = graph.degree(label) == 0
        if lonely and not entry.get("alone"):
            yield f"{label}: neither uses a claim nor is used by one; name what it uses, or say why under 'alone'"
        if entry.get("alone") and not lonely:
            yield f"{label}: 'alone' says that nothing is connected with it, but something is"
        for other in graph.successors(label):
            weaker = other in strengths and strengths[other] > strengths[label]
            if weaker and other not in str(entry.get("note", "")):
                yield f"{label}: uses '{other}', which has a weaker verdict; the note must name it"


def _strength(entry):
    """How firm the evidence is: 0 for a proof, 1 for a proof at listed sizes, 2 for a measurement."""
    if entry["verdict"] == "proved for the listed sizes":
        return 1
    return 0 if entry["proved"] else 2


def dependency_graph(claims):
    """A networkx DiGraph: an arrow from each claim to every claim that it uses."""
    graph = nx.DiGraph()
    graph.add_nodes_from(entry["label"] for entry in claims)
    graph.add_edges_from((entry["label"], other) for entry in claims for other in entry["uses"])
    return graph


# --- the page ---------------------------------------------------------------------------------------------------------


def render(claims):
    """The text of book/claims.md."""
    counts = Counter(entry["verdict"] for entry in claims)
    lines = [INTRO, "| Verdict | Claims |", "|:--|--:|"]
    lines += [f"| {verdict} | {counts[verdict]} |" for verdict in VERDICTS]
    lines += [f"| all | {len(claims)} |", "", GRAPH]
    lines += _table(
        "The paper's statements",
        "| In the paper | Claim of the book | Evidence |",
        [_paper_row(entry) for entry in sorted(claims, key=_paper_order) if _in_paper(entry)],
    )
    known = {entry["label"]: entry for entry in claims}
    for part, title in PARTS.items():
        rows = [_row(entry, known) for entry in claims if entry["statement"].split("/")[0] == part]
        lines += _table(title, "| Claim and source | Evidence | Verdict | Note |", rows)
    return "\n".join(lines)


def _table(title, head, rows):
    if not rows:
        return []
    rule = "|:--" * head.count(" | ") + "|:--|"
    return [f"## {title}", "", ":::{table}", ":class: claims-table", "", head, rule, *rows, ":::", ""]


def _in_paper(entry):
    return entry["source"].startswith("paper, ")


def _paper_order(entry):
    """Theorems first, then lemmas, sections and figures, by number."""
    place = entry["source"].removeprefix("paper, ")
    order = ("Theorem", "Lemma", "Section", "Figure")
    kind = next((number for number, word in enumerate(order) if word in place), len(order))
    return kind, [int(text) if text.isdigit() else text for text in re.split(r"(\d+)", place)]


def _paper_row(entry):
    place = entry["source"].removeprefix("paper, ")
    return f"| {place} | [{entry['title']}](#claim-{entry['label']}) | {_evidence_links(entry)} |"


def _row(entry, known):
    # The span's id is the address of the row, so that a statement can link back to it.
    source = {"here": "this book"}.get(entry["source"], entry["source"])
    claim = f"{_reference(entry)}. [{entry['title']}]{{#claim-{entry['label']}}} ({source})"
    evidence = _evidence_links(entry)
    if entry["uses"]:
        evidence += "; uses " + ", ".join(
            _mention(known[other]) if other in known else other for other in entry["uses"]
        )
    note = " ".join(str(entry.get("note") or "").split())
    # A label in a note becomes a link.
    note = re.sub(
        r"\b(?:thm|prop|lem|cor|fig)-[\w-]*\w", lambda m: _mention(known[m[0]]) if m[0] in known else m[0], note
    )
    return f"| {claim} | {evidence} | {entry['verdict']} | {note} |"


def _evidence_links(entry):
    """Links to the very cells."""
    proofs = [f"[{page}]({page}.ipynb#check-{entry['label']})" for page in entry["proved"]]
    measurements = [f"[{page}]({page}.ipynb#measure-{entry['label']})" for page in entry["measured"]]
    parts = [("proved in", proofs), ("measured in", measurements)]
    return "; ".join(f"{words} {', '.join(links)}" for words, links in parts if links)


def _mention(entry):
    """A claim named in passing: a statement by its number, a figure of the paper by its title."""
    label = entry["label"]
    return f"[{entry['title']}](#claim-{label})" if label.startswith("fig-") else f"{{prf:ref}}`{label}`"


def _reference(entry):
    """A link to the statement: by its number, or for a figure of the paper by its page."""
    page = entry["statement"]
    return f"[{page}]({page}.ipynb)" if entry["label"].startswith("fig-") else f"{{prf:ref}}`{entry['label']}`"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="only check, write nothing")
    arguments = parser.parse_args()
    claims = load()
    if not arguments.check:
        (BOOK / "claims.md").write_text(render(claims), encoding="utf-8")
    found = problems(claims, read_chapters())
    print("\n".join(found) if found else f"{len(claims)} claims, all with the cells that assert them")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
