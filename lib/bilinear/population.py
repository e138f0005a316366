"""The exact population loss and its exact gradient, for any student, without sampling.

The columns of X are i.i.d. N(0, I_d), so the outputs v*_m^T X s*_i of the teacher and w_m^T X s_i of the student are
jointly Gaussian with deviations ||v*_m|| ||s*_i|| and ||w_m|| ||s_i|| and correlation cos(v*_m, w_m) cos(s*_i, s_i).
The loss and the gradient are sums over m and i of the moments of such a pair: a step costs a few passes over D x D
arrays.
"""

import math
from typing import NamedTuple

import numpy as np

from . import _checks, moments
from .model import Student, Teacher, exponentials, row_blocks


class _Geometry(NamedTuple):
    """How the student's vectors (rows of W_V, columns of S) lie to the teacher's, one entry a pair.

    A student's vector is a part along the teacher's plus a rest orthogonal to it. From the rest a small angle keeps its
    digits, which 1 - cosine^2 would lose.
    """

    target: np.ndarray  # length of the teacher's vector
    along: np.ndarray  # signed length of the part along it
    rest: np.ndarray  # squared length of the rest
    square: np.ndarray  # squared length of the student's vector


def _row_geometry(teacher, value):
    along = np.vecdot(teacher.directions, value)
    rest = value - along[:, None] * teacher.directions
    rest = np.vecdot(rest, rest)
    return _Geometry(teacher.lengths[0], along, rest, along**2 + rest)


def _column_geometry(teacher, exps):
    """The columns of S are those of `exps` but for a factor that does not change an angle."""
    target, support = teacher.lengths[1], teacher.support
    if support is None:
        along = _column_products(teacher.scores, exps) / target
        slope, rest = along / target, 0.0
        for block in row_blocks(teacher.D):
            part = teacher.scores[block] * slope
            part -= exps[block]
            rest += _column_products(part, part)
    else:
        flat = exps.reshape(-1)
        entries = flat[support.flat]
        flat[support.flat] = 0  # what lies off the support is summed apart, as it may be much smaller
        rest = _column_products(exps, exps)
        flat[support.flat] = entries
        along = np.add.reduceat(entries * support.weight, support.starts) / target
        entries -= (along / target)[support.column] * support.weight
        rest += np.add.reduceat(entries**2, support.starts)
    return _Geometry(target, along, rest, along**2 + rest)


def _column_products(a, b):
    """Scalar products of the columns of two matrices; the faster of two ways for matrices of this size."""
    return np.vecdot(a, b, axis=0) if a.size < 10_000 else np.einsum("ji,ji->i", a, b)


def _angles(rows, columns):
    """theta_mi, array (M, D), and its sine times the lengths of both vectors of the student.

    cos(theta_mi) is the product of the two cosines, so sin^2 = sin_m^2 + cos_m^2 sin_i^2.
    """
    sine = np.sqrt(rows.rest[:, None] * columns.square + (rows.along**2)[:, None] * columns.rest)
    return np.arctan2(sine, rows.along[:, None] * columns.along), sine


def _check_pair(teacher, student):
    _checks.instance("teacher", teacher, Teacher)
    _checks.instance("student", student, Student)
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
    return _excess(teacher, student.value, *student.exponentials())


def excess_of_blocks(teacher, value, logits):
    """`excess_loss` of the student with these blocks, without its checks.

    Parameters
    ----------
    teacher : Teacher
    value : array (M, d)
        W_V.
    logits : array (D, D)
        A.

    Source: as for `excess_loss`.
    """
    return _excess(teacher, value, *exponentials(logits))


def _excess(teacher, value, exps, sums):
    rows, columns = _row_geometry(teacher, value), _column_geometry(teacher, exps)
    theta, _ = _angles(rows, columns)
    a, b = np.outer(rows.target, columns.target), np.outer(np.sqrt(rows.square), np.sqrt(columns.square) / sums)
    # alpha a^2 - 2 a b k + alpha b^2, in a form that does not cancel near the teacher
    gap = moments.kernel_gap(theta, teacher.slope)
    return float(np.sum(moments.alpha(teacher.slope) * (a - b) ** 2 + 2 * a * b * gap) / 2)


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
    d_value, d_key_query = _gradient(teacher, student.value, *student.exponentials(), 1 / math.sqrt(teacher.D))
    if student.positions is not None:
        d_key_query = student.positions @ d_key_query @ student.positions.T
    return d_value, d_key_query


def gradient_of_blocks(teacher, value, logits, scale=1.0, out=None):
    """The exact gradient in W_V and in the logits, without checks.

    Parameters
    ----------
    teacher : Teacher
    value : array (M, d)
        W_V.
    logits : array (D, D)
        A.
    scale : float
        Multiplies the gradient in the logits: a step size, or 1/sqrt(D) for W_KQ.
    out : array (D, D) or None
        Where to write that one; it may not be `logits` itself.

    Returns
    -------
    d_value : array (M, d)
    d_logits : array (D, D)

    Source: as for `gradient`.
    """
    return _gradient(teacher, value, *exponentials(logits, out=out), scale)


def _gradient(teacher, value, exps, sums, scale):
    """`gradient_of_blocks` from the exponentials of the logits, which are overwritten."""
    slope = teacher.slope
    alpha, gamma = (1 + slope**2) / 2, (1 - slope) ** 2 / (2 * math.pi)
    rows, columns = _row_geometry(teacher, value), _column_geometry(teacher, exps)
    theta, sine = _angles(rows, columns)

    # E[sigma'(u) sigma'(w)] for each pair; where w = 0 its derivative is sigma'(0) = 1 and this is E[sigma'(u)].
    both = alpha - gamma * theta
    row_square = rows.square
    if np.count_nonzero(row_square) < len(row_square):
        both[row_square == 0] = (1 + slope) / 2
        row_square = np.where(row_square == 0, 1, row_square)

    share = 1 / sums  # S = exps * share
    target = columns.target * share
    square, product = columns.square * share * share, columns.along * target  # of the columns of S
    bend = gamma * rows.target
    own = alpha * np.add.reduce(square) - bend / row_square * (sine @ target)
    d_value = own[:, None] * value - (both @ product)[:, None] * teacher.value

    # dL/ds_i = own_i s_i - others_i s*_i; the softmax takes away its mean under s_i and multiplies by s_i.
    own = scale * (alpha * np.vdot(value, value) - bend @ sine * target / square)
    others = scale * ((rows.target * rows.along) @ both)
    mean = share * (own * square - others * product)
    own, others = own * share * share, others * share  # for exps in the place of S
    support = teacher.support
    if support is not None:
        flat, column = exps.reshape(-1), support.column
        entries = flat[support.flat]
        entries *= own[column] * entries - others[column] * support.weight - mean[column]
    for block in row_blocks(teacher.D):
        part = exps[block]
        factor = part * own
        if support is None:
            factor -= teacher.scores[block] * others
        factor -= mean
        part *= factor
    if support is not None:
        flat[support.flat] = entries
    return d_value, exps
