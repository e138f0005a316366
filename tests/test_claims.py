"""The claims page, claims.yml and the chapters agree; and each rule that keeps them together can fail."""

import copy
import re

import pytest
from claim_graph import draw, layers
from claims import (
    BOOK,
    cell_anchors,
    dependency_graph,
    load,
    problems,
    read_chapters,
    render,
    statements,
    verify_calls,
)

GOOD_CLAIMS = [
    {
        "label": "lem-half",
        "title": "A half",
        "source": "here",
        "statement": "proofs/halves",
        "proved": ["proofs/halves"],
        "measured": [],
        "verdict": "proved",
        "uses": [],
    },
    {
        "label": "thm-whole",
        "title": "Two halves make a whole",
        "source": "paper, Theorem 1",
        "statement": "proofs/halves",
        "proved": ["proofs/halves"],
        "measured": ["experiments/apples"],
        "verdict": "proved",
        "uses": ["lem-half"],
    },
    {
        "label": "fig-1",
        "title": "Apples cut in two",
        "source": "paper, Figure 1",
        "statement": "experiments/apples",
        "proved": [],
        "measured": ["experiments/apples"],
        "verdict": "measured",
        "uses": [],
        "alone": "it shows what no statement says",
    },
]
GOOD_CHAPTERS = {
    "proofs/halves": {
        "statements": [("lemma", "lem-half"), ("theorem", "thm-whole")],
        "calls": {("proves", "lem-half"), ("proves", "thm-whole")},
    },
    "experiments/apples": {"statements": [], "calls": {("agrees", "thm-whole"), ("holds", "fig-1")}},
}


def test_the_claims_and_the_chapters_agree():
    assert problems(load(), read_chapters()) == []


def test_the_page_is_what_the_file_renders():
    assert (BOOK / "claims.md").read_text(encoding="utf-8") == render(load()), "run make claims"


def test_a_good_set_of_claims_has_no_problem():
    assert problems(GOOD_CLAIMS, GOOD_CHAPTERS) == []


def set_key(index, key, value):
    return lambda claims, chapters: claims[index].update({key: value})


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (set_key(0, "verdict", "obvious"), "verdict 'obvious' is not one of"),
        (set_key(0, "verdict", None), "'verdict' is missing"),
        (set_key(0, "colour", "red"), "'colour' is not a key"),
        (set_key(0, "title", "|x| is small"), "holds a '|'"),
        (set_key(2, "label", "img-1"), "a label starts with"),
        (set_key(0, "proved", []), "no page is named under 'proved'"),
        (set_key(2, "measured", []), "no page asserts it"),
        (set_key(0, "statement", "experiments/apples"), "is not stated on experiments/apples"),
        (set_key(2, "statement", "experiments/pears"), "'experiments/pears' does not exist"),
        (set_key(1, "measured", ["proofs/halves"]), "no cell that calls verify.agrees or verify.holds"),
        (set_key(0, "proved", ["experiments/apples"]), "no cell that calls verify.proves or verify.holds"),
        (set_key(1, "uses", ["lem-third"]), "uses 'lem-third', which is not in claims.yml"),
        (set_key(0, "uses", ["thm-whole"]), "in a circle"),
        (set_key(2, "alone", None), "fig-1: neither uses a claim nor is used by one"),
        (set_key(1, "alone", "it is grand"), "thm-whole: 'alone' says that nothing is connected"),
        (set_key(0, "verdict", "proved for the listed sizes"), "uses 'lem-half', which has a weaker verdict"),
        (set_key(1, "uses", ["lem-half", "fig-1"]), "uses 'fig-1', which has a weaker verdict"),
        (lambda claims, chapters: claims.append(claims[0]), "has 2 entries"),
        (lambda claims, chapters: claims.pop(1), "has no entry in claims.yml"),
        (lambda claims, chapters: claims.pop(2), "which is not in claims.yml"),
        (lambda _, chapters: chapters["proofs/halves"]["statements"].pop(), "is not stated on"),
        (lambda _, chapters: chapters["proofs/halves"]["statements"].append(("lemma", None)), "has no label"),
        (lambda _, chapters: chapters["proofs/halves"]["calls"].remove(("proves", "lem-half")), "has no cell that"),
        (lambda _, chapters: chapters["experiments/apples"]["statements"].append(("lemma", "lem-half")), "and again"),
        (lambda _, chapters: chapters["proofs/halves"]["statements"].append(("lemma", "thm-a")), "start with lem-"),
    ],
)
def test_a_broken_rule_is_found(spoil, message):
    claims, chapters = copy.deepcopy(GOOD_CLAIMS), copy.deepcopy(GOOD_CHAPTERS)
    spoil(claims, chapters)
    assert any(message in problem for problem in problems(claims, chapters))


def test_the_page_counts_by_verdict_and_links_every_claim():
    page = render(GOOD_CLAIMS)
    assert "| proved | 2 |" in page and "| measured | 1 |" in page and "| all | 3 |" in page
    assert "{prf:ref}`thm-whole`" in page and "[proofs/halves](proofs/halves.ipynb#check-thm-whole)" in page
    assert page.index("## The proofs") < page.index("## The experiments")


def test_the_paper_s_statements_lead_to_their_cells():
    page = render(GOOD_CLAIMS)
    theorem = "| Theorem 1 | [Two halves make a whole](#claim-thm-whole) | proved in [proofs/halves]("
    assert f"{theorem}proofs/halves.ipynb#check-thm-whole)" in page
    assert "measured in [experiments/apples](experiments/apples.ipynb#measure-thm-whole)" in page
    assert page.index(theorem) < page.index("| Figure 1 |") < page.index("## The proofs")


def test_a_weaker_claim_may_be_used_if_the_note_says_so_and_the_page_then_links_it():
    claims = copy.deepcopy(GOOD_CLAIMS)
    claims[0]["verdict"] = "proved for the listed sizes"
    claims[1]["note"] = "rests on lem-half"
    assert problems(claims, GOOD_CHAPTERS) == []
    assert "rests on {prf:ref}`lem-half`" in render(claims)


def test_anchors_stand_at_the_first_cell_that_proves_and_the_first_that_measures():
    sources = [
        'agrees("thm-a", 1, 1)',
        "import numpy",
        'proves("thm-a", 0)\nholds("fig-1", True)',
        'proves("thm-a", 0)\nagrees("fig-1", 1, 1)',
    ]
    anchors = {0: ["measure-thm-a"], 2: ["check-fig-1", "check-thm-a"], 3: ["measure-fig-1"]}
    assert {cell: sorted(names) for cell, names in cell_anchors(sources).items()} == anchors
    assert cell_anchors(['agrees("thm-a", 1, 1)']) == {0: ["check-thm-a", "measure-thm-a"]}


# --- the graph --------------------------------------------------------------------------------------------------------


def test_a_claim_stands_to_the_right_of_all_it_uses():
    graph = dependency_graph(load())
    column = layers(graph)
    assert all(column[user] > column[used] for user, used in graph.edges)


def test_the_graph_draws_every_claim_as_a_link_and_every_arrow():
    claims = load()
    svg = draw(claims, lambda entry: f"#{entry['label']}")
    assert svg == draw(claims, lambda entry: f"#{entry['label']}")
    assert all(f'href="#{entry["label"]}"' in svg for entry in claims)
    for user, used in dependency_graph(claims).subgraph(entry["label"] for entry in claims).edges:
        assert re.search(rf'data-used="{used}" data-by="[^"]*\b{user}\b', svg)


def test_boxes_of_the_graph_do_not_overlap():
    svg = draw(load(), lambda entry: "#")
    boxes = [tuple(map(int, m)) for m in re.findall(r'<rect x="(\d+)" y="(\d+)" width="158" height="(\d+)"', svg)]
    assert not any(a < b and a[0] == b[0] and b[1] < a[1] + a[2] for a in boxes for b in boxes)


def test_no_claims_make_an_empty_graph():
    assert "0 claims and 0 arrows" in draw([], lambda entry: "#")


def test_statements_are_read_with_their_labels():
    text = """\
Words.

:::{prf:theorem} Two halves
:label: thm-whole
$1/2 + 1/2 = 1$
:::

````{prf:lemma}
:nonumber:
:label: lem-half
````

:::{prf:definition} Half
:label: def-half
:::

:::{prf:corollary} Without a label
Text with :label: in the middle.
:::
"""
    assert statements(text) == [("theorem", "thm-whole"), ("lemma", "lem-half"), ("corollary", None)]


def test_calls_are_read_from_the_code_not_from_comments_or_strings():
    source = """
# verify.proves("thm-comment", 0)
verify.proves("thm-a", residual, note="x")
agrees("prop-b", 1, 1)
text = 'verify.holds("thm-string", True)'
verify.holds(label, True)
"""
    assert verify_calls(source) == {("proves", "thm-a"), ("agrees", "prop-b")}
