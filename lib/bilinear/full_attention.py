"""The full one-layer attention, whose scores depend on the input: forward pass, gradient by hand, online descent.

With Z = [X; P] of shape (d + D, D) the model is sigma(W_V Z S), S = softmax of each column of Z^T W_KQ Z / sqrt(D).
Its value matrix has two blocks and its key-query matrix four, named as the book names them:

    value = [W_V  U]            key_query = [W_11  W_12]    content keys
                                            [W_21  W_KQ]    position keys

Rows of the key-query matrix belong to keys, columns to queries. The student `Student` keeps W_V and W_KQ alone.
"""

from dataclasses import dataclass

import numpy as np

from . import _checks
from .activations import leaky_relu, leaky_relu_derivative
from .model import Teacher
from .training import recorded_steps

BLOCKS = ("W_V", "U", "W_11", "W_12", "W_21", "W_KQ")


def _positions(positions, D):
    """The encoding P (D, D), the identity for None; raises ValueError where it is not orthogonal."""
    if positions is None:
        return np.eye(D)
    positions = _checks.shaped("positions", positions, (D, D))
    error = np.abs(positions.T @ positions - np.eye(D)).max()
    if error > 1e-9:
        raise ValueError(f"positions must be orthogonal, P^T P differs from the identity by {error:.3g}")
    return positions


def _stack(inputs, positions):
    """Z = [X; P], array (..., d + D, D)."""
    codes = np.broadcast_to(positions, (*inputs.shape[:-2], *positions.shape))
    return np.concatenate([inputs, codes], axis=-2)


def _check_attention(inputs, key_query, positions):
    """Inputs, key-query matrix and encoding, checked against each other."""
    inputs = _checks.real_array("inputs", inputs)
    if inputs.ndim < 2:
        raise ValueError(f"inputs must have shape (..., d, D), had {inputs.shape}")
    d, D = inputs.shape[-2:]
    return inputs, _checks.shaped("key_query", key_query, (d + D, d + D)), _positions(positions, D)


def _check_value(value, inputs):
    """The value matrix, checked against the inputs."""
    value = _checks.real_array("value", value, ndim=2)
    return _checks.shaped("value", value, (len(value), sum(inputs.shape[-2:])))


def _softmax(logits):
    """Softmax of each column of a stack (..., D, D) of small matrices, one matrix an input; overwrites `logits`."""
    logits -= logits.max(axis=-2, keepdims=True)
    np.exp(logits, out=logits)
    logits /= logits.sum(axis=-2, keepdims=True)
    return logits


def scores(inputs, key_query, positions=None):
    """S, the softmax of each column of Z^T W_KQ Z / sqrt(D).

    Parameters
    ----------
    inputs : array (..., d, D)
    key_query : array (d + D, d + D)
    positions : array (D, D) or None
        The positional encoding P, orthogonal. None is the identity.

    Returns
    -------
    array (..., D, D), one matrix an input

    Raises
    ------
    ValueError
        If a shape does not fit, an entry is not finite or `positions` is not orthogonal.

    Source: the paper's definition of the one-layer transformer.
    """
    inputs, key_query, positions = _check_attention(inputs, key_query, positions)
    stacked = _stack(inputs, positions)
    return _softmax(stacked.swapaxes(-1, -2) @ (key_query @ stacked) / np.sqrt(inputs.shape[-1]))


def forward(inputs, value, key_query, positions=None, slope=1.0):
    """sigma(W_V Z S): what the full attention makes of the inputs.

    Parameters
    ----------
    inputs : array (..., d, D)
    value : array (M, d + D)
    key_query : array (d + D, d + D)
    positions : array (D, D) or None
        The positional encoding P, orthogonal. None is the identity.
    slope : float in [0, 1]

    Returns
    -------
    array (..., M, D)

    Raises
    ------
    ValueError
        As for `scores`, or if the slope is out of range.

    Source: the paper's definition of the one-layer transformer.
    """
    inputs, key_query, positions = _check_attention(inputs, key_query, positions)
    value = _check_value(value, inputs)
    return leaky_relu(value @ _stack(inputs, positions) @ scores(inputs, key_query, positions), slope)


def gradient(inputs, labels, value, key_query, positions=None, slope=1.0):
    """Loss and gradients of one batch: 1/2 mean ||Y - sigma(W_V Z S)||_F^2 with sigma'(0) = 1.

    Parameters
    ----------
    inputs : array (N, d, D)
    labels : array (N, M, D)
    value, key_query, positions, slope
        As for `forward`.

    Returns
    -------
    loss : float
    d_value : array (M, d + D)
    d_key_query : array (d + D, d + D)

    Raises
    ------
    ValueError
        If a shape does not fit, an entry is not finite, or an argument is out of range.

    Source: derived here by the chain rule.
    """
    inputs, key_query, positions = _check_attention(inputs, key_query, positions)
    value = _check_value(value, inputs)
    if inputs.ndim != 3:
        raise ValueError(f"inputs must have shape (N, d, D), had {inputs.shape}")
    labels = _checks.shaped("labels", labels, (len(inputs), len(value), inputs.shape[2]))
    return _gradient(_stack(inputs, positions), labels, value, key_query, _checks.one_slope(slope))


def _gradient(stacked, labels, value, key_query, slope):
    """`gradient` without its checks, from Z."""
    count, size, D = stacked.shape
    tokens = np.ascontiguousarray(stacked.swapaxes(1, 2))  # one token a row, so that sums over a batch are one product
    flat = tokens.reshape(-1, size)
    attention = _softmax((flat @ key_query).reshape(tokens.shape) @ stacked / np.sqrt(D))
    projected = value @ stacked
    hidden = projected @ attention
    residual = labels - leaky_relu(hidden, slope)
    loss = float(np.sum(residual**2) / (2 * count))
    residual *= leaky_relu_derivative(hidden, slope)
    residual /= -count  # dL/dH
    d_value = (attention @ residual.swapaxes(1, 2)).reshape(-1, len(value)).T @ flat
    d_logits = projected.swapaxes(1, 2) @ residual  # dL/dS
    d_logits -= np.einsum("nji,nji->ni", attention, d_logits)[:, None]
    d_logits *= attention
    d_key_query = flat.T @ (d_logits @ tokens).reshape(-1, size) / np.sqrt(D)
    return loss, d_value, d_key_query


def blocks(value, key_query, d):
    """The six blocks as a dict of views, in the order of `BLOCKS`.

    Parameters
    ----------
    value : array (M, d + D)
    key_query : array (d + D, d + D)
    d : int
        Features a position: where the matrices are cut.

    Raises
    ------
    ValueError
        If a shape does not fit or d is not in 1 .. d + D - 1.

    Source: the book's names of the blocks.
    """
    value, key_query = _checks.real_array("value", value, ndim=2), _checks.real_array("key_query", key_query, ndim=2)
    size, d = value.shape[1], _checks.whole("d", d)
    _checks.shaped("key_query", key_query, (size, size))
    if d >= size:
        raise ValueError(f"d must be less than the {size} columns of value, was {d}")
    parts = (value[:, :d], value[:, d:], key_query[:d, :d], key_query[:d, d:], key_query[d:, :d], key_query[d:, d:])
    return dict(zip(BLOCKS, parts, strict=True))


def squared_norms(value, key_query, d):
    """Squared Frobenius norm of each of the six blocks, array (6,) in the order of `BLOCKS`; arguments of `blocks`."""
    return np.array([np.sum(part**2) for part in blocks(value, key_query, d).values()])


def shares(squared):
    """Squared norms of blocks as shares of their matrix.

    Parameters
    ----------
    squared : array (..., 6), not negative
        In the order of `BLOCKS`: two blocks of the value matrix, four of the key-query matrix.

    Returns
    -------
    array (..., 6): entries 0 and 1 sum to 1, entries 2 to 5 sum to 1; a matrix that is zero has shares 0.

    Raises
    ------
    ValueError
        If there are not six numbers, or one is negative or not finite.

    Source: derived here.
    """
    squared = _checks.real_array("squared", squared)
    if squared.ndim < 1 or squared.shape[-1] != len(BLOCKS) or squared.min() < 0:
        raise ValueError(f"squared must hold {len(BLOCKS)} squared norms a row, had shape {squared.shape}")
    result = np.zeros_like(squared)
    for part in (slice(0, 2), slice(2, 6)):
        total = squared[..., part].sum(axis=-1, keepdims=True)
        result[..., part] = squared[..., part] / np.where(total > 0, total, 1)
    return result


@dataclass(frozen=True)
class FullHistory:
    """What was recorded along a run of the full attention; one row a recorded step.

    steps : number of steps taken before the record
    batch_loss : 1/2 mean ||Y - TF~(X)||_F^2 of the batch that the next step uses
    change : squared norms (rows, 6) of the blocks of W(t) - W(0), in the order of `BLOCKS`
    matrix : squared norms (rows, 6) of the blocks of W(t) itself
    update : squared norms (rows, 6) of the blocks of the gradient on the next step's batch
    value, key_query : the matrices after the last step
    positions : the encoding P
    """

    steps: np.ndarray
    batch_loss: np.ndarray
    change: np.ndarray
    matrix: np.ndarray
    update: np.ndarray
    value: np.ndarray
    key_query: np.ndarray
    positions: np.ndarray


def descend_online(
    teacher,
    step_size,
    steps,
    rng,
    batch=100,
    noise=0.0,
    sample=None,
    value=None,
    key_query=None,
    positions=None,
    two_blocks=False,
    record=None,
):
    """Online gradient descent of the full attention: a fresh batch each step, one step size for all blocks.

    Parameters
    ----------
    teacher : Teacher
    step_size : float > 0
        eta.
    steps : int, at least 0
    rng : numpy.random.Generator
    batch : int
        N, samples a step.
    noise : float, at least 0
        Standard deviation of the independent Gaussian label noise.
    sample : callable (rng, batch) -> array (batch, d, D), or None
        Draws the inputs; None draws i.i.d. standard Gaussian ones.
    value : array (M, d + D) or None
    key_query : array (d + D, d + D) or None
        Where to start; None is zero.
    positions : array (D, D) or None
        The positional encoding P, orthogonal. None is the identity.
    two_blocks : bool
        Train W_V and W_KQ alone and leave the other four blocks where they are. From zero that is the student.
    record : rising whole numbers or None
        The steps to record; None records about 200, evenly spaced in their logarithm.

    Returns
    -------
    FullHistory

    Raises
    ------
    ValueError
        If an argument is out of its range, a shape does not fit, or the run diverges.

    Source: the paper's experiment with the full attention (its Figure 1).
    """
    _checks.instance("teacher", teacher, Teacher)
    step_size, steps = _checks.positive_number("step_size", step_size), _checks.whole("steps", steps, least=0)
    rng, batch, noise = _checks.generator(rng), _checks.whole("batch", batch), _checks.number("noise", noise)
    if noise < 0:
        raise ValueError(f"noise must not be negative, was {noise:g}")
    if sample is not None and not callable(sample):
        raise ValueError(f"sample must be a function (rng, batch) -> array (batch, d, D), was {sample!r:.80}")
    M, d, D = teacher.M, teacher.d, teacher.D
    value = np.zeros((M, d + D)) if value is None else _checks.shaped("value", value, (M, d + D)).copy()
    square = (d + D, d + D)
    key_query = np.zeros(square) if key_query is None else _checks.shaped("key_query", key_query, square).copy()
    positions = _positions(positions, D)
    record = recorded_steps(steps, record)
    first_value, first_key_query = value.copy(), key_query.copy()
    shape, wanted, rows = (batch, d, D), set(record.tolist()), []

    for step in range(steps + 1):
        if step == steps and step not in wanted:
            break
        inputs = rng.standard_normal(shape) if sample is None else _checks.shaped("sample", sample(rng, batch), shape)
        labels = teacher(inputs)
        if noise:
            labels += noise * rng.standard_normal(labels.shape)
        loss, d_value, d_key_query = _gradient(_stack(inputs, positions), labels, value, key_query, teacher.slope)
        if not loss < 1e100:
            raise ValueError(f"step_size must be smaller, with {step_size:g} the run diverged at step {step}")
        if two_blocks:
            d_value[:, d:] = 0
            d_key_query[:d] = 0
            d_key_query[d:, :d] = 0
        if step in wanted:
            change = squared_norms(value - first_value, key_query - first_key_query, d)
            norms = [change, squared_norms(value, key_query, d), squared_norms(d_value, d_key_query, d)]
            rows.append([loss, *norms])
        if step < steps:
            value -= step_size * d_value
            key_query -= step_size * d_key_query
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    return FullHistory(record, *columns, value, key_query, positions)
