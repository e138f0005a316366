"""The five teachers of the paper, each as sigma(V* X S*)."""

import numpy as np

from . import _checks
from .model import Teacher


def one_layer(value, D, slope=1.0):
    """A one-layer network applied to each position: K = 1, S* = I.

    Parameters
    ----------
    value : array (M, d)
        The layer's weights.
    D : int
        Positions.
    slope : float in [0, 1]

    Raises
    ------
    ValueError
        If `value` is not a matrix, D < 1 or the slope is out of range.

    Source: the paper's first example, identity attention.
    """
    return Teacher(value, np.eye(_checks.whole("D", D)), slope)


def convolution_with_pooling(kernels, groups, slope=1.0):
    """A convolution over patches, then average pooling over groups of K patches.

    Column i of S* is 1/K on the group that holds position i.

    Parameters
    ----------
    kernels : array (M, d)
        Vectorised kernels, one a row; d is the number of entries of a patch.
    groups : sequence of sequences of int, shape (D/K, K)
        The pooling groups: a partition of the positions 0..D-1 in sets of equal size K.
    slope : float in [0, 1]

    Raises
    ------
    ValueError
        If the groups differ in size or are not a partition of 0..D-1.

    Source: the paper's second example.
    """
    try:
        groups = list(groups)
        sizes = {len(group) for group in groups}
    except TypeError:
        raise ValueError(f"groups must be a sequence of sequences of positions, was {groups!r:.80}") from None
    if len(sizes) != 1:
        raise ValueError(f"groups must all have the same size, had sizes {sorted(sizes)}")
    groups = _positions("groups", groups)
    K, D = groups.shape[1], groups.size
    if not np.array_equal(np.sort(groups, axis=None), np.arange(D)):
        raise ValueError(f"groups must be a partition of the positions 0 to {D - 1}, each in one group")
    scores = np.zeros((D, D))
    for group in groups:
        scores[np.ix_(group, group)] = 1 / K
    return Teacher(kernels, scores, slope)


def square_pooling_groups(side, window):
    """Groups of window x window neighbouring patches on a side x side grid, positions numbered along the rows.

    Parameters
    ----------
    side, window : int
        `window` divides `side`.

    Returns
    -------
    array ((side/window)^2, window^2) of int

    Raises
    ------
    ValueError
        If `window` does not divide `side`.

    Source: ordinary average pooling with stride `window`.
    """
    side, window = _checks.whole("side", side), _checks.whole("window", window)
    if side % window:
        raise ValueError(f"window must divide side, {window} does not divide {side}")
    blocks = side // window
    grid = np.arange(side * side).reshape(blocks, window, blocks, window)
    return grid.swapaxes(1, 2).reshape(blocks * blocks, window * window)


def graph_convolution(weight, graph, slope=1.0):
    """A graph convolution on a (K-1)-regular graph: S* = D~^(-1/2) (A + I) D~^(-1/2) = (A + I)/K.

    Parameters
    ----------
    weight : array (M, d)
        The layer's weights.
    graph : networkx.Graph
        Undirected, regular, without self-loops; position i is the i-th node in sorted order.
    slope : float in [0, 1]

    Raises
    ------
    ValueError
        If the graph is empty, directed, irregular, weighted or has self-loops, or its nodes cannot be sorted.

    Source: the paper's third example; Kipf and Welling (2017).
    """
    import networkx as nx

    if not isinstance(graph, nx.Graph) or graph.is_directed() or graph.is_multigraph():
        raise ValueError(f"graph must be an undirected networkx.Graph, was {graph!r:.80}")
    if graph.number_of_nodes() == 0:
        raise ValueError("graph must have at least one node, had none")
    if nx.number_of_selfloops(graph):
        raise ValueError(f"graph must have no self-loops, had {nx.number_of_selfloops(graph)}")
    degrees = sorted({degree for _, degree in graph.degree()})
    if len(degrees) > 1:
        raise ValueError(f"graph must be regular, had degrees {degrees}")
    if any(weight != 1 for _, _, weight in graph.edges(data="weight", default=1)):
        raise ValueError("graph must have no weights other than 1, had some")
    try:
        nodes = sorted(graph)
    except TypeError:
        raise ValueError("graph must have nodes that can be sorted, such as whole numbers") from None
    adjacency = nx.to_numpy_array(graph, nodelist=nodes, weight=None)
    return Teacher(weight, (adjacency + np.eye(len(adjacency))) / (degrees[0] + 1), slope)


def sparse_token_selection(d, D, targets):
    """The average of K fixed tokens at every position: V* = I_d, S* = 1_g 1_D^T / K, identity activation.

    Parameters
    ----------
    d, D : int
        Features and positions.
    targets : sequence of int, length K
        The fixed set g of positions, distinct, each in 0..D-1.

    Raises
    ------
    ValueError
        If `targets` is empty, repeats a position or leaves 0..D-1.

    Source: the paper's fourth example.
    """
    d, D = _checks.whole("d", d), _checks.whole("D", D)
    targets = _positions("targets", targets, ndim=1)
    if len(set(targets.tolist())) != targets.size:
        raise ValueError(f"targets must be distinct, were {targets.tolist()}")
    if targets.min() < 0 or targets.max() >= D:
        raise ValueError(f"targets must lie in 0 to {D - 1}, were {targets.tolist()}")
    scores = np.zeros((D, D))
    scores[targets] = 1 / targets.size
    return Teacher(np.eye(d), scores, 1.0)


def group_sparse_linear(weight, D, group):
    """A linear predictor that looks at one group of features: M = 1, K = 1, S* = e_group 1_D^T, identity activation.

    Parameters
    ----------
    weight : array (d,) or (1, d)
        The predictor on the group's features.
    D : int
        Number of groups (positions).
    group : int
        Which group matters, in 0..D-1.

    Raises
    ------
    ValueError
        If `weight` is not one row or `group` leaves 0..D-1.

    Source: the paper's fifth example.
    """
    weight = np.atleast_2d(_checks.real_array("weight", weight))
    if weight.ndim != 2 or weight.shape[0] != 1:
        raise ValueError(f"weight must be one row of d entries, had shape {np.shape(weight)}")
    D, group = _checks.whole("D", D), _checks.whole("group", group, least=0)
    if group >= D:
        raise ValueError(f"group must lie in 0 to {D - 1}, was {group}")
    scores = np.zeros((D, D))
    scores[group] = 1
    return Teacher(weight, scores, 1.0)


def _positions(name, value, ndim=2):
    array = _checks.real_array(name, value, ndim=ndim)
    if not np.array_equal(array, np.round(array)) or np.abs(array).max() > 2**53:
        raise ValueError(f"{name} must hold whole numbers, was {value!r:.80}")
    return array.astype(int)
