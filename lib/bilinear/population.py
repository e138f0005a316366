"""The exact population loss and its exact gradient, for any student, without sampling.

The columns of X are i.i.d. N(0, I_d), so the outputs v*_m^T X s*_i of the teacher and w_m^T X s_i of the student are
jointly Gaussian with deviations ||v*_m|| ||s*_i|| and ||w_m|| ||s_i|| and correlation cos(v*_m, w_m) cos(s*_i, s_i).
The loss and the gradient are sums over m and i of the moments of such a pair, and S* enters only on its support: a
step costs a few passes over one D x D array.
"""

from typing import NamedTuple

import numpy as np

from . import moments
from .model import softmax


class _Geometry(NamedTuple):
    """Lengths and angles of pairs of vectors, one entry a pair (a row of V*, W_V, or a column of S*, S)."""

    target: np.ndarray  # length of the teacher's vector
    length: np.ndarray  # length of the student's vector
    product: np.ndarray  # scalar product of the two
    cosine: np.ndarray
    sine: np.ndarray

    @classmethod
    def of(cls, target_square, length_square, product, rest_square):
        """`rest_square` belongs to the part of the student's vector that is orthogonal to the teacher's: from it a
        small angle keeps its digits, which 1 - cosine^2 would lose. A zero vector gets the angle 0."""
        target, length = np.sqrt(target_square), np.sqrt(length_square)
        scale = np.where(length == 0, 1, length)
        both = np.where(target == 0, 1, target) * scale
        defined = (length > 0) & (target > 0)
        cosine = np.where(defined, product / both, 1.0)
        sine = np.where(defined, np.sqrt(rest_square) / scale, 0.0)
        return cls(target, length, product, cosine, sine)


def _row_geometry(target, value):
    target_square = np.einsum("mk,mk->m", target, target)
    product = np.einsum("mk,mk->m", target, value)
    along = product / np.where(target_square == 0, 1, target_square)
    rest = value - along[:, None] * target
    return _Geometry.of(target_square, np.einsum("mk,mk->m", value, value), product, np.einsum("mk,mk->m", rest, rest))


def _column_geometry(teacher, scores):
    flat, column, weight = teacher.support
    D = teacher.D

    def total(entries):
        return np.bincount(column, entries, D)

    entries = scores.reshape(-1)[flat]
    scores.reshape(-1)[flat] = 0  # so that what lies off the support is summed without cancellation
    off = np.einsum("ji,ji->i", scores, scores)
    scores.reshape(-1)[flat] = entries
    target_square, product = total(weight**2), total(weight * entries)
    rest = entries - (product / target_square)[column] * weight
    return _Geometry.of(target_square, off + total(entries**2), product, off + total(rest**2))


def _angles(rows, columns):
    """theta_mi, array (M, D), and its sine: cos(theta_mi) is the product of the two cosines."""
    sine = np.hypot(rows.sine[:, None], rows.cosine[:, None] * columns.sine)
    theta = np.arctan2(sine, rows.cosine[:, None] * columns.cosine)
    return np.minimum(theta, np.pi), sine


def _check_pair(teacher, student):
    if student.value.shape != teacher.value.shape or student.key_query.shape != teacher.scores.shape:
        raise ValueError(
            f"student must have the teacher's shapes {teacher.value.shape} and {teacher.scores.shape}, "
            f"had {student.value.shape} and {student.key_query.shape}"
        )
    if student.slope != teacher.slope:
        raise ValueError(f"student must have the teacher's slope {teacher.slope:g}, had {student.slope:g}")


def excess_loss(teacher, student):
    """1/2 E||f*(X) - TF(X)||_F^2 over X with i.i.d. N(0, I_d) columns: the population loss minus L_opt.

    Parameters
    ----------
    teacher : Teacher
    student : Student
        Any student of the teacher's shapes and slope, near the teacher or not.

    Returns
    -------
    float, in squared units of the labels

    Raises
    ------
    ValueError
        If shapes or slopes differ.

    Source: derived here; for slope 1 it is 1/2 ||V* kron S* - W_V kron S||_F^2.
    """
    _check_pair(teacher, student)
    return excess_of_blocks(teacher, student.value, student.logits)


def excess_of_blocks(teacher, value, logits):
    """`excess_loss` of the student with these blocks, W_V (M, d) and A (D, D), without its checks."""
    rows, columns = _row_geometry(teacher.value, value), _column_geometry(teacher, softmax(logits))
    theta, _ = _angles(rows, columns)
    a, b = np.outer(rows.target, columns.target), np.outer(rows.length, columns.length)
    # alpha a^2 - 2 a b k + alpha b^2, in a form that does not cancel near the teacher
    pairs = moments.alpha(teacher.slope) * (a - b) ** 2 + 2 * a * b * moments.kernel_gap(theta, teacher.slope)
    return float(pairs.sum() / 2)


def gradient(teacher, student):
    """The exact gradient of the population loss.

    Parameters
    ----------
    teacher : Teacher
    student : Student
        Any student of the teacher's shapes and slope. Rows of W_V that are zero take sigma'(0) = 1.

    Returns
    -------
    d_value : array (M, d)
        dL/dW_V.
    d_key_query : array (D, D)
        dL/dW_KQ.

    Raises
    ------
    ValueError
        If shapes or slopes differ.

    Source: derived here; equal to the expectations that the paper states as its gradients.
    """
    _check_pair(teacher, student)
    logits = student.logits  # a fresh array, so the gradient may be written over it
    d_value, d_key_query = gradient_of_blocks(teacher, student.value, logits, 1 / np.sqrt(teacher.D), out=logits)
    if student.positions is not None:
        d_key_query = student.positions @ d_key_query @ student.positions.T
    return d_value, d_key_query


def gradient_of_blocks(teacher, value, logits, scale=1.0, out=None):
    """dL/dW_V (M, d) and `scale` times dL/dA (D, D) at W_V = `value`, A = `logits`, without checks of the shapes.

    The second one is written to `out` if that is given; it may be `logits` itself.
    """
    alpha, gamma = moments.alpha(teacher.slope), moments.gamma(teacher.slope)
    scores = softmax(logits)
    rows, columns = _row_geometry(teacher.value, value), _column_geometry(teacher, scores)
    theta, sine = _angles(rows, columns)

    # E[sigma'(u) sigma'(w)] for each pair; where w = 0 its derivative is sigma'(0) = 1 and this is E[sigma'(u)].
    both = moments.derivative_moment(theta, teacher.slope)
    both[rows.length == 0] = (1 + teacher.slope) / 2

    safe = np.where(rows.length == 0, 1, rows.length)
    row_weight = alpha * np.sum(columns.length**2) - gamma * (rows.target / safe) * (
        sine @ (columns.target * columns.length)
    )
    d_value = row_weight[:, None] * value - (both @ columns.product)[:, None] * teacher.value

    # dL/ds_i = student_i s_i - teacher_i s*_i; the softmax takes away its mean under s_i and multiplies by s_i.
    student_i = alpha * np.sum(rows.length**2) - gamma * ((rows.target * rows.length) @ sine) * (
        columns.target / columns.length
    )
    teacher_i = rows.product @ both
    mean = student_i * columns.length**2 - teacher_i * columns.product
    d_logits = np.multiply(scores, scale * student_i, out=out)
    flat, column, weight = teacher.support
    d_logits.reshape(-1)[flat] -= scale * teacher_i[column] * weight
    d_logits -= scale * mean
    d_logits *= scores
    return d_value, d_logits
