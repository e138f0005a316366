"""bilinear.teachers: each against its ordinary definition, coded the ordinary way; bad input."""

import networkx as nx
import numpy as np
import pytest
from bilinear.activations import leaky_relu
from bilinear.teachers import convolution_with_pooling as pool
from bilinear.teachers import (
    graph_convolution,
    group_sparse_linear,
    one_layer,
    sparse_token_selection,
    square_pooling_groups,
)
from cases import NOT_NUMBERS, SLOPES

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("slope", SLOPES)
def test_one_layer_network(slope):
    weight, x = RNG.standard_normal((3, 4)), RNG.standard_normal((6, 4, 5))
    teacher = one_layer(weight, 5, slope)
    for sample in range(6):
        for i in range(5):
            np.testing.assert_allclose(teacher(x)[sample, :, i], leaky_relu(weight @ x[sample, :, i], slope))
    assert teacher.K == 1


@pytest.mark.parametrize("slope", SLOPES)
def test_convolution_sliding_over_an_image_then_average_pooling(slope):
    kernels, images = RNG.standard_normal((2, 3, 3)), RNG.standard_normal((5, 12, 12))
    responses = np.zeros((5, 2, 4, 4))  # stride 3: patches that do not overlap
    for row in range(4):
        for column in range(4):
            patch = images[:, 3 * row : 3 * row + 3, 3 * column : 3 * column + 3]
            responses[:, :, row, column] = np.einsum("nab,mab->nm", patch, kernels)
    pooled = responses.reshape(5, 2, 2, 2, 2, 2).mean(axis=(3, 5))

    patches = images.reshape(5, 4, 3, 4, 3).transpose(0, 2, 4, 1, 3).reshape(5, 9, 16)
    groups = square_pooling_groups(4, 2)
    teacher = pool(kernels.reshape(2, 9), groups, slope)
    # every position of a group gives the pooled response of its group
    spread = pooled.repeat(2, axis=2).repeat(2, axis=3).reshape(5, 2, 16)
    np.testing.assert_allclose(teacher(patches), leaky_relu(spread, slope), atol=1e-13)
    assert teacher.K == 4


def test_square_pooling_groups():
    assert square_pooling_groups(4, 2).tolist() == [
        [0, 1, 4, 5],
        [2, 3, 6, 7],
        [8, 9, 12, 13],
        [10, 11, 14, 15],
    ]
    assert square_pooling_groups(3, 1).tolist() == [[i] for i in range(9)]
    assert square_pooling_groups(2, 2).tolist() == [[0, 1, 2, 3]]


@pytest.mark.parametrize(
    ("graph", "degree"),
    [
        (nx.cycle_graph(7), 2),
        (nx.random_regular_graph(3, 8, seed=2), 3),
        (nx.complete_graph(4), 3),
        (nx.empty_graph(3), 0),
    ],
)
def test_graph_convolution_of_kipf_and_welling(graph, degree):
    weight, x = RNG.standard_normal((2, 3)), RNG.standard_normal((4, 3, len(graph)))
    teacher = graph_convolution(weight, graph, 0.1)
    extended = nx.to_numpy_array(graph, nodelist=sorted(graph)) + np.eye(len(graph))
    root = np.diag(extended.sum(axis=1) ** -0.5)
    np.testing.assert_allclose(teacher(x), leaky_relu(weight @ x @ (root @ extended @ root), 0.1), atol=1e-13)
    assert degree + 1 == teacher.K
    assert [set(row) for row in teacher.neighbours] == [{i, *graph[i]} for i in sorted(graph)]


def test_graph_with_nodes_out_of_order():
    graph = nx.relabel_nodes(nx.cycle_graph(5), {0: 3, 1: 0, 2: 4, 3: 1, 4: 2})
    teacher = graph_convolution(np.eye(2), graph)
    assert [set(row) for row in teacher.neighbours] == [{i, *graph[i]} for i in range(5)]


def test_sparse_token_selection():
    x = RNG.standard_normal((6, 3, 8))
    teacher = sparse_token_selection(3, 8, [6, 1, 4])
    average = x[:, :, [1, 4, 6]].mean(axis=2)
    np.testing.assert_allclose(teacher(x), np.repeat(average[:, :, None], 8, axis=2), atol=1e-14)
    assert teacher.K == 3 and teacher.slope == 1 and teacher.M == 3


def test_group_sparse_linear_predictor():
    weight, x = RNG.standard_normal(3), RNG.standard_normal((6, 3, 8))
    for form in (weight, weight[None]):
        teacher = group_sparse_linear(form, 8, 5)
        np.testing.assert_allclose(teacher(x), np.repeat((x[:, :, 5] @ weight)[:, None, None], 8, axis=2), atol=1e-14)
        assert (teacher.M, teacher.K, teacher.slope) == (1, 1, 1)


def weighted_cycle():
    graph = nx.cycle_graph(5)
    graph.edges[0, 1]["weight"] = 2.0
    return graph


EYE = np.eye(3)
NOT_WHOLE = (0, -1, 2.5, True, None, "3", [3], float("nan"))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: one_layer(np.ones(3), 4), r"value must have 2 dimensions, had shape \(3,\)"),
        (lambda: pool(EYE, [[0, 1], [2]]), r"groups must all have the same size, had sizes \[1, 2\]"),
        (lambda: pool(EYE, [[0, 1], [1, 2]]), "groups must be a partition of the positions 0 to 3"),
        (lambda: pool(EYE, [[0, 1], [2, 4]]), "groups must be a partition"),
        (lambda: pool(EYE, [[1, 2], [3, 4]]), "groups must be a partition"),
        (lambda: pool(EYE, [[0.5, 1], [2, 3]]), "groups must hold whole numbers"),
        (lambda: pool(EYE, [[0, 1e300]]), "groups must hold whole numbers"),
        (lambda: pool(EYE, []), r"groups must all have the same size, had sizes \[\]"),
        (lambda: pool(EYE, [[], []]), "groups must not be empty"),
        (lambda: pool(EYE, [0, 1]), r"groups must be a sequence of sequences .*, was \[0, 1\]"),
        (lambda: pool(EYE, 4), "groups must be a sequence of sequences of positions, was 4"),
        (lambda: pool(EYE, None), "groups must be a sequence of sequences of positions, was None"),
        (lambda: pool(EYE, ["ab", "cd"]), "groups must be an array of real numbers"),
        (lambda: pool(EYE, np.zeros((1, 1, 1))), "groups must have 2 dimensions"),
        (lambda: pool(np.ones(3), [[0], [1]]), "value must have 2 dimensions"),
        (lambda: pool(EYE, [[0], [1]], 2), r"slope must lie in \[0, 1\], was 2"),
        (lambda: square_pooling_groups(9, 2), "window must divide side, 2 does not divide 9"),
        (lambda: graph_convolution(EYE, "graph"), "graph must be an undirected networkx.Graph, was 'graph'"),
        (lambda: graph_convolution(EYE, np.eye(3)), "graph must be an undirected networkx.Graph"),
        (lambda: graph_convolution(EYE, nx.DiGraph([(0, 1)])), "graph must be an undirected networkx.Graph"),
        (lambda: graph_convolution(EYE, nx.MultiGraph([(0, 1)])), "graph must be an undirected networkx.Graph"),
        (lambda: graph_convolution(EYE, nx.Graph()), "graph must have at least one node, had none"),
        (lambda: graph_convolution(EYE, nx.Graph([(0, 0)])), "graph must have no self-loops, had 1"),
        (lambda: graph_convolution(EYE, nx.path_graph(4)), r"graph must be regular, had degrees \[1, 2\]"),
        (lambda: graph_convolution(EYE, weighted_cycle()), "graph must have no weights other than 1"),
        (lambda: graph_convolution(EYE, nx.Graph([(0, "a")])), "graph must have nodes that can be sorted"),
        (lambda: graph_convolution(np.ones(3), nx.cycle_graph(4)), "value must have 2 dimensions"),
        (lambda: sparse_token_selection(2, 5, [1, 1]), r"targets must be distinct, were \[1, 1\]"),
        (lambda: sparse_token_selection(2, 5, [1, 5]), r"targets must lie in 0 to 4, were \[1, 5\]"),
        (lambda: sparse_token_selection(2, 5, [-1]), r"targets must lie in 0 to 4, were \[-1\]"),
        (lambda: sparse_token_selection(2, 5, []), "targets must not be empty"),
        (lambda: sparse_token_selection(2, 5, 3), r"targets must have 1 dimensions, had shape \(\)"),
        (lambda: sparse_token_selection(2, 5, [0.5]), "targets must hold whole numbers"),
        (lambda: sparse_token_selection(2, 5, {1, 2}), "targets must be an array of real numbers"),
        (lambda: group_sparse_linear(EYE, 5, 1), r"weight must be one row of d entries, had shape \(3, 3\)"),
        (lambda: group_sparse_linear(np.ones((1, 1, 3)), 5, 1), "weight must be one row of d entries"),
        (lambda: group_sparse_linear(np.ones(3), 5, 5), "group must lie in 0 to 4, was 5"),
        (lambda: group_sparse_linear(np.ones(3), 5, -1), "group must be at least 0, was -1"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda bad: one_layer(EYE, bad), "D"),
        (lambda bad: square_pooling_groups(bad, 1), "side"),
        (lambda bad: square_pooling_groups(2, bad), "window"),
        (lambda bad: sparse_token_selection(bad, 5, [1]), "d"),
        (lambda bad: sparse_token_selection(2, bad, [1]), "D"),
        (lambda bad: group_sparse_linear([1.0], bad, 0), "D"),
    ],
)
def test_what_is_no_whole_number_above_zero_is_named(call, name):
    for bad in NOT_WHOLE:
        with pytest.raises(ValueError, match=f"^{name} must be (a whole number|at least 1), was"):
            call(bad)


def test_what_is_no_number_is_named():
    calls = {
        "value": lambda bad: one_layer(bad, 3),
        "slope": lambda bad: one_layer(EYE, 3, bad),
        "targets": lambda bad: sparse_token_selection(2, 3, bad),
        "weight": lambda bad: group_sparse_linear(bad, 3, 1),
        "group": lambda bad: group_sparse_linear([1.0], 3, bad),
    }
    for name, call in calls.items():
        for bad in NOT_NUMBERS:
            with pytest.raises(ValueError, match=f"^{name} must"):
                call(bad)
