"""Draw which claim uses which, as SVG: foundations on the left, a column further right what uses them.

The layers come from the graph (networkx); within a layer the boxes are ordered so that few arrows cross. An arrow that
skips layers runs through a thin place in each of them, and arrows to the same claim share these places.
"""

from __future__ import annotations

from html import escape
from statistics import fmean

import networkx as nx
from claims import PREFIXES, VERDICTS, dependency_graph

WIDTH, HEIGHT, GAP, LANE, CHANNEL, MARGIN = 158, 38, 10, 8, 64, 8
NAMES = {prefix: kind.capitalize() for kind, prefix in PREFIXES.items()} | {"fig-": "Figure"}
# One shape and one colour for each verdict; the colours differ in lightness too. The style sheet holds the colours.
STYLES = {verdict: verdict.split()[-1] for verdict in VERDICTS}


def draw(claims, address, numbers=None):
    """The figure as HTML: legend, and the graph in a box of its own that scrolls.

    Parameters
    ----------
    claims : list of dict
        The entries of claims.yml, as `claims.load` returns them.
    address : callable
        Maps an entry to the link of its box.
    numbers : dict, optional
        The printed number of each labelled statement.
    """
    entries = {entry["label"]: entry for entry in claims}
    graph = dependency_graph(claims).subgraph(entries)
    alone = [label for label in entries if graph.degree(label) == 0]
    columns, segments = arrange(graph.subgraph(label for label in entries if label not in alone))
    places, width, height = _places(columns)
    boxes, tall = _grid(alone, width, height + 3 * GAP)
    places |= boxes
    parts = []
    for (left, right), users in segments.items():
        x1, y1 = places[right][0], places[right][1]
        x2, y2 = places[left][0] + places[left][2], places[left][1]
        bend = (x1 - x2) / 2
        end = ' marker-end="url(#uses)"' if isinstance(left, str) else ""
        straight = f" H {places[left][0]}" if not isinstance(left, str) else ""
        used = left if isinstance(left, str) else left[0]
        parts.append(
            f'<path class="uses" data-used="{used}" data-by="{" ".join(sorted(users))}" '
            f'd="M {x1} {y1} C {x1 - bend} {y1} {x2 + bend} {y2} {x2} {y2}{straight}"{end}/>'
        )
    edges = "".join(parts)
    nodes = "".join(_box(entries[label], places[label], address, graph, numbers or {}) for label in entries)
    note = f'<text class="apart" x="{MARGIN}" y="{height + 2 * GAP}">On their own:</text>' if alone else ""
    width = max([width] + [place[0] + WIDTH + MARGIN for place in boxes.values()])
    return (
        f'<figure class="claim-graph">{_legend()}'
        '<div class="claim-graph-box" role="region" tabindex="0" aria-label="Graph of the claims, scrolls sideways">'
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{tall}" viewBox="0 0 {width} {tall}" '
        f'role="group" aria-label="{len(entries)} claims and {graph.number_of_edges()} arrows, each from a claim to '
        'one that it uses. The tables below say the same in words.">'
        '<defs><marker id="uses" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M 0 0 L 8 4 L 0 8 z"/></marker></defs>'
        f'<g aria-hidden="true">{edges}{note}</g>{nodes}</svg></div></figure>'
    )


# --- layout -----------------------------------------------------------------------------------------------------------


def layers(graph):
    """The column of each claim: right of all it uses. A claim that uses nothing stands just left of its first user."""
    column = {}
    for number, generation in enumerate(nx.topological_generations(graph.reverse(copy=False))):
        column |= dict.fromkeys(generation, number)
    for label in graph:
        if graph.out_degree(label) == 0 and graph.in_degree(label):
            column[label] = min(column[user] for user in graph.predecessors(label)) - 1
    return column


def arrange(graph, sweeps=24):
    """Columns of boxes and lanes from top to bottom, and the segments of the arrows with the claims that use them.

    A box is a label, a lane is a pair (label of the used claim, column).
    """
    column = layers(graph)
    columns = [[] for _ in range(max(column.values(), default=-1) + 1)]
    for label in graph:
        columns[column[label]].append(label)
    segments = {}
    for user, used in graph.edges:
        right = user
        for number in range(column[user] - 1, column[used] - 1, -1):
            left = used if number == column[used] else (used, number)
            if left not in columns[number]:
                columns[number].append(left)
            segments.setdefault((left, right), set()).add(user)
            right = left
    lefts, rights = {}, {}
    for left, right in segments:
        lefts.setdefault(right, []).append(left)
        rights.setdefault(left, []).append(right)
    for sweep in range(sweeps):
        # To and fro: order each column by the mean height of what it is connected with on one side.
        neighbours, order = (lefts, columns) if sweep % 2 == 0 else (rights, columns[::-1])
        heights = {item: y for items in columns for item, y in _heights(items).items()}
        for items in order:
            mean = {item: fmean(heights[n] for n in neighbours.get(item, [item])) for item in items}
            items.sort(key=mean.get)
            heights |= _heights(items)
    return columns, segments


def _heights(items):
    """The middle of each item of a column, measured from the column's middle."""
    found, y = {}, 0.0
    for item in items:
        size = HEIGHT if isinstance(item, str) else LANE
        found[item] = y + size / 2
        y += size + GAP
    return {item: middle - y / 2 for item, middle in found.items()}


def _places(columns):
    """Left edge, middle and width of every box and lane, and the size of the whole."""
    heights = [_heights(items) for items in columns]
    top = min((y for found in heights for y in found.values()), default=0) - HEIGHT / 2 - MARGIN
    places = {}
    for number, found in enumerate(heights):
        for item, y in found.items():
            places[item] = (MARGIN + number * (WIDTH + CHANNEL), round(y - top), WIDTH)
    width = 2 * MARGIN + len(columns) * (WIDTH + CHANNEL) - CHANNEL if columns else 0
    return places, width, max((place[1] for place in places.values()), default=0) + HEIGHT // 2 + MARGIN


def _grid(labels, width, top):
    """Places of the claims that stand alone, in rows below the others, and the height of the whole."""
    many = max(1, (width - MARGIN) // (WIDTH + GAP)) if width else 4
    places = {
        label: (MARGIN + n % many * (WIDTH + GAP), top + HEIGHT // 2 + n // many * (HEIGHT + GAP), WIDTH)
        for n, label in enumerate(labels)
    }
    return places, max([top - 3 * GAP] + [place[1] + HEIGHT // 2 + MARGIN for place in places.values()])


# --- drawing ----------------------------------------------------------------------------------------------------------


def _box(entry, place, address, graph, numbers):
    label, (x, middle, _) = entry["label"], place
    prefix, _, name = label.partition("-")
    kind = NAMES[f"{prefix}-"]
    number = numbers.get(label, name if prefix == "fig" else "")
    name = entry["title"] if prefix == "fig" else name.replace("-", " ")
    name = name if len(name) <= 23 else name[:21].rstrip() + "…"
    head = f"{kind} {number}".strip()
    words = f"{head}, {entry['title']}. Verdict: {entry['verdict']}."
    shape = _shape(entry["verdict"], x, middle - HEIGHT // 2)
    return (
        f'<a class="claim {STYLES[entry["verdict"]]}" data-label="{label}" href="{escape(address(entry))}" '
        f'aria-label="{escape(words)}"><title>{escape(words)}</title>{shape}'
        f'<text class="head" x="{x + WIDTH // 2}" y="{middle - 4}">{escape(head)}</text>'
        f'<text x="{x + WIDTH // 2}" y="{middle + 11}">{escape(name)}</text></a>'
    )


def _shape(verdict, x, y, width=WIDTH, height=HEIGHT):
    if verdict == "differs from the paper":
        cut = height // 3
        points = [
            (cut, 0),
            (width - cut, 0),
            (width, height // 2),
            (width - cut, height),
            (cut, height),
            (0, height // 2),
        ]
        return f'<polygon points="{" ".join(f"{x + a},{y + b}" for a, b in points)}"/>'
    radius = height // 2 if verdict == "measured" else 4
    return f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="{radius}"/>'


def _legend():
    items = "".join(
        f'<li><svg width="36" height="20" aria-hidden="true"><g class="claim {STYLES[verdict]}">'
        f"{_shape(verdict, 1, 1, 34, 18)}</g></svg> {verdict}</li>"
        for verdict in VERDICTS
    )
    return (
        f'<ul class="claim-legend" aria-label="Verdicts">{items}<li><b aria-hidden="true">A → B</b> A uses B</li></ul>'
    )
