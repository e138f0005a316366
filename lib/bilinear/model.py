"""The teacher sigma(V* X S*) and the student, a one-layer transformer with position-only attention."""

import math
from functools import cache, cached_property
from typing import NamedTuple

import numpy as np

from . import _checks
from .activations import leaky_relu


def softmax(logits):
    """Softmax of each column.

    Parameters
    ----------
    logits : array (..., D, D), finite

    Returns
    -------
    array (..., D, D), columns non-negative with sum 1

    Raises
    ------
    ValueError
        If an entry is not finite or there are no columns.

    Source: the paper's definition of the attention.
    """
    logits = _checks.real_array("logits", logits)
    if logits.ndim < 2:
        raise ValueError(f"logits must have at least 2 dimensions, had shape {logits.shape}")
    return _softmax(logits)


def _softmax(logits):
    """`softmax` without its checks."""
    if logits.ndim == 2:
        scores, sums = exponentials(logits)
    else:
        scores = np.exp(logits - logits.max(axis=-2, keepdims=True))
        sums = scores.sum(axis=-2, keepdims=True)
    scores /= sums
    return scores


@cache
def row_blocks(D):
    """Slices of rows of a D x D array, each small enough to stay in the processor's cache.

    Parameters
    ----------
    D : int

    Returns
    -------
    list of slice

    Source: none needed.
    """
    size = max(1, 32768 // D)
    return [slice(start, min(start + size, D)) for start in range(0, D, size)]


@cache
def _ones(count):
    return np.ones(count)


def exponentials(logits, factor=1.0, out=None):
    """The exponentials of a softmax before they are divided by their sums. No argument is checked.

    Parameters
    ----------
    logits : array (D, D)
    factor : float > 0
        Multiplies the logits.
    out : array (D, D) or None
        Where to write; it may not be `logits`.

    Returns
    -------
    exps : array (D, D), e^(factor logits) up to a factor a column
    sums : array (D,), their sums down the columns

    Source: none needed. The maximum of each column is subtracted only where an exponential might overflow or vanish:
    the norm of the logits bounds them all, and takes less time to find than the maxima.
    """
    exps = np.empty(logits.shape) if out is None else out
    sums = np.zeros(logits.shape[1])
    shift = None if factor**2 * np.vdot(logits, logits) < 200**2 else logits.max(axis=0)
    for block in row_blocks(len(logits)):
        part = exps[block]
        if shift is None:
            np.multiply(logits[block], factor, out=part)
        else:
            np.subtract(logits[block], shift, out=part)
            part *= factor
        np.exp(part, out=part)
        sums += _ones(len(part)) @ part
    return exps, sums


def times(batch, matrix):
    """batch @ matrix as one product of two matrices, which is faster than one product a sample.

    Parameters
    ----------
    batch : array (..., M, D)
    matrix : array (D, D)

    Source: none needed.
    """
    return (batch.reshape(-1, batch.shape[-1]) @ matrix).reshape(batch.shape)


def _apply(value, scores, slope, inputs):
    inputs = _checks.real_array("X", inputs)
    expected = (value.shape[1], scores.shape[0])
    if inputs.ndim < 2 or inputs.shape[-2:] != expected:
        raise ValueError(f"X must have shape (..., {expected[0]}, {expected[1]}), had {inputs.shape}")
    return leaky_relu(times(value @ inputs, scores), slope)


class Support(NamedTuple):
    """The non-zero entries of a matrix of scores, column after column.

    flat : their indices in the matrix read along its rows
    column : their columns
    starts : where each column begins among them
    weight : their values
    """

    flat: np.ndarray
    column: np.ndarray
    starts: np.ndarray
    weight: np.ndarray


class Teacher:
    """The teacher f*(X) = sigma(V* X S*).

    Parameters
    ----------
    value : array (M, d)
        V*, rows are the M output directions.
    scores : array (D, D)
        S*, non-negative, each column sums to 1. Column i weighs the positions that output i looks at.
    slope : float in [0, 1]
        kappa of the activation, 1 for the identity.

    Raises
    ------
    ValueError
        If a shape does not fit, an entry is not finite, a score is negative or a column does not sum to 1.

    Source: the paper's class of teacher models, for scores that need not be uniform.
    """

    def __init__(self, value, scores, slope=1.0):
        self.value = _checks.real_array("value", value, ndim=2).copy()
        self.scores = _checks.real_array("scores", scores, ndim=2).copy()
        for block in (self.value, self.scores):  # what is derived from them is kept, so they may not change
            block.flags.writeable = False
        if self.scores.shape[0] != self.scores.shape[1]:
            raise ValueError(f"scores must be square, had shape {self.scores.shape}")
        if self.scores.min() < 0:
            raise ValueError(f"scores must not be negative, the least was {self.scores.min():.3g}")
        sums = self.scores.sum(axis=0)
        worst = np.argmax(np.abs(sums - 1))
        if abs(sums[worst] - 1) > 1e-9:
            raise ValueError(f"scores must have columns that sum to 1, column {worst} sums to {sums[worst]:.6g}")
        self.slope = _checks.one_slope(slope)

    def __call__(self, inputs):
        """f*(X): array (..., d, D) to array (..., M, D)."""
        return _apply(self.value, self.scores, self.slope, inputs)

    def __repr__(self):
        return f"Teacher(M={self.M}, d={self.d}, D={self.D}, slope={self.slope:g})"

    @property
    def M(self):
        """Outputs a position."""
        return self.value.shape[0]

    @property
    def d(self):
        """Features a position."""
        return self.value.shape[1]

    @property
    def D(self):
        """Positions."""
        return self.scores.shape[0]

    @cached_property
    def neighbours(self):
        """array (D, K): row i holds the set G^i, the positions that output i averages, in rising order.

        Raises ValueError where the scores are not 1/K on K entries of every column.
        """
        support = self.scores > 0
        sizes = support.sum(axis=0)
        if sizes.min() != sizes.max():
            raise ValueError(
                f"K is defined for columns with equally many entries, these have {sizes.min()} to {sizes.max()}"
            )
        K = int(sizes[0])
        if np.abs(self.scores[support] * K - 1).max() > 1e-9:
            raise ValueError(f"K is defined for uniform scores 1/K with K = {K}, these are not uniform")
        return np.nonzero(support.T)[1].reshape(self.D, K)

    @cached_property
    def lengths(self):
        """Lengths of the rows of V*, array (M,), and of the columns of S*, array (D,)."""
        return np.linalg.norm(self.value, axis=1), np.linalg.norm(self.scores, axis=0)

    @cached_property
    def directions(self):
        """The rows of V* divided by their lengths, array (M, d); a row that is zero stays zero."""
        lengths = self.lengths[0]
        return self.value / np.where(lengths == 0, 1, lengths)[:, None]

    @cached_property
    def support(self):
        """The non-zero entries of S* as a `Support`, or None where they are so many that whole arrays are faster."""
        if np.count_nonzero(self.scores) * 16 > self.scores.size:
            return None
        column, row = np.nonzero(self.scores.T)
        starts = np.searchsorted(column, np.arange(self.D))
        return Support(row * self.D + column, column, starts, self.scores[row, column])

    @property
    def K(self):
        """Neighbours a column: every column of S* has K entries 1/K. Raises ValueError where it has not."""
        return self.neighbours.shape[1]


class Student:
    """The student TF(X) = sigma(W_V X S), S = softmax of each column of A = P^T W_KQ P / sqrt(D).

    Parameters
    ----------
    value : array (M, d)
        W_V.
    key_query : array (D, D)
        W_KQ.
    positions : array (D, D) or None
        The positional encoding P, orthogonal, columns are the positions' codes. None is the identity.
    slope : float in [0, 1]
        kappa of the activation.

    Raises
    ------
    ValueError
        If a shape does not fit, an entry is not finite or `positions` is not orthogonal.

    Source: the paper's equation of the simplified transformer.
    """

    def __init__(self, value, key_query, positions=None, slope=1.0):
        self.value = _checks.real_array("value", value, ndim=2)
        self.key_query = _checks.real_array("key_query", key_query, ndim=2)
        D = self.key_query.shape[0]
        if self.key_query.shape != (D, D):
            raise ValueError(f"key_query must be square, had shape {self.key_query.shape}")
        self.positions = positions
        if positions is not None:
            self.positions = _checks.shaped("positions", positions, (D, D))
            error = np.abs(self.positions.T @ self.positions - np.eye(D)).max()
            if error > 1e-9:
                raise ValueError(f"positions must be orthogonal, P^T P differs from the identity by {error:.3g}")
        self.slope = _checks.one_slope(slope)

    @classmethod
    def initial(cls, teacher, positions=None):
        """The student of this teacher at the start of training: both blocks are zero.

        Parameters
        ----------
        teacher : Teacher
        positions : array (D, D) or None
            The positional encoding, orthogonal.

        Source: the paper's training algorithm.
        """
        _checks.instance("teacher", teacher, Teacher)
        return cls(np.zeros_like(teacher.value), np.zeros_like(teacher.scores), positions, teacher.slope)

    @classmethod
    def from_logits(cls, value, logits, positions=None, slope=1.0):
        """The student with these logits A: W_KQ = sqrt(D) P A P^T.

        Parameters
        ----------
        value : array (M, d)
        logits : array (D, D)
        positions : array (D, D) or None
            The positional encoding P, orthogonal.
        slope : float in [0, 1]

        Source: the definition of A, solved for W_KQ.
        """
        logits = _checks.real_array("logits", logits, ndim=2)
        if logits.shape[0] != logits.shape[1]:
            raise ValueError(f"logits must be square, had shape {logits.shape}")
        key_query = np.sqrt(logits.shape[0]) * logits
        if positions is not None:
            positions = _checks.shaped("positions", positions, logits.shape)
            key_query = positions @ key_query @ positions.T
        return cls(value, key_query, positions, slope)

    def __call__(self, inputs):
        """TF(X): array (..., d, D) to array (..., M, D)."""
        return _apply(self.value, self.scores, self.slope, inputs)

    def __repr__(self):
        M, d = self.value.shape
        return f"Student(M={M}, d={d}, D={self.key_query.shape[0]}, slope={self.slope:g})"

    @property
    def logits(self):
        """A = P^T W_KQ P / sqrt(D), array (D, D)."""
        logits = self.key_query / math.sqrt(self.key_query.shape[0])
        if self.positions is None:
            return logits
        return self.positions.T @ logits @ self.positions

    @property
    def scores(self):
        """S, the softmax of each column of the logits, array (D, D)."""
        scores, sums = self.exponentials()
        scores /= sums
        return scores

    def exponentials(self):
        """The exponentials of the logits, up to a factor a column, array (D, D), and their sums, array (D,).

        Source: none needed, see `exponentials`.
        """
        if self.positions is None:
            return exponentials(self.key_query, 1 / math.sqrt(self.key_query.shape[0]))
        return exponentials(self.logits)
