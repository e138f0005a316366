"""Out of distribution: what a trained student loses against its teacher on other inputs and labels.

For any inputs X~ and labels Y~, the loss of the student exceeds that of the teacher by
E<Y~ - f*(X~), f*(X~) - TF(X~)> + 1/2 E||f*(X~) - TF(X~)||^2: a cross term that depends on the labels, and half the
mean square of the mismatch, which does not.
"""

import numpy as np

from . import _checks
from .population import _check_pair


def linear_excess(teacher, student, mean, covariance):
    """1/2 E||f*(X~) - TF(X~)||_F^2 for the identity activation and inputs of any mean and covariance.

    This is the whole excess when the labels are f*(X~) plus independent noise of mean zero.

    Parameters
    ----------
    teacher, student : Teacher, Student with slope 1
    mean : array (d, D) or (d,)
        E[X~]; one column stands for all positions.
    covariance : array (d, d) or (D d, D d)
        Of one column, where the columns are independent and alike; or of all entries, position after position
        (entry k of position j has index j d + k).

    Returns
    -------
    float, squared units of the labels

    Raises
    ------
    ValueError
        If the slope is not 1, shapes differ, or `covariance` is not symmetric and positive semi-definite.

    Source: derived here.
    """
    _check_pair(teacher, student)
    if teacher.slope != 1:
        raise ValueError(f"teacher must have slope 1 for the exact excess, had {teacher.slope:g}")
    d, D = teacher.d, teacher.D
    mean = _checks.real_array("mean", mean)
    mean = np.tile(mean[:, None], D) if mean.shape == (d,) else _checks.shaped("mean", mean, (d, D))
    covariance = _checks.real_array("covariance", covariance)
    if covariance.shape not in ((d, d), (D * d, D * d)):
        raise ValueError(f"covariance must have shape ({d}, {d}) or ({D * d}, {D * d}), had {covariance.shape}")
    if not np.allclose(covariance, covariance.T, rtol=1e-10, atol=0):
        raise ValueError("covariance must be symmetric, it is not")
    values = np.linalg.eigvalsh(covariance)
    if values[0] < -1e-10 * max(values[-1], 0):
        raise ValueError(f"covariance must be positive semi-definite, its least eigenvalue is {values[0]:.3g}")

    target, scores = teacher.scores, student.scores
    bias = teacher.value @ mean @ target - student.value @ mean @ scores
    if covariance.shape == (d, d):
        # sum over i, j of tr (s*_ji V* - s_ji W) Sigma (s*_ji V* - s_ji W)^T
        gram = [np.sum((left @ covariance) * right) for left, right in _pairs(teacher.value, student.value)]
        weight = [np.sum(left * right) for left, right in _pairs(target, scores)]
        spread = gram[0] * weight[0] - 2 * gram[1] * weight[1] + gram[2] * weight[2]
    else:
        blocks = covariance.reshape(D, d, D, d)
        spread = 0.0
        for i in range(D):
            # The map from all entries of X~ to output i, array (M, D, d).
            out = teacher.value[:, None, :] * target[:, i, None] - student.value[:, None, :] * scores[:, i, None]
            spread += np.einsum("mjk,jkln,mln->", out, blocks, out, optimize=True)
    return float((spread + np.sum(bias**2)) / 2)


def _pairs(a, b):
    return (a, a), (a, b), (b, b)


def mismatch_weights(teacher, student):
    """m_i = sum_j ||s*_ji V* - s_ji W_V||_2, so that E||f*_i - TF_i||^2 <= m_i^2 xi for every X~.

    Here each column of X~ has second moment at most xi, whatever its distribution and however the columns depend on
    each other. For W_V = C1 V* it is ||V*||_2 (|1 - C1 K p| + C1 (D-K) q).

    Parameters
    ----------
    teacher, student : Teacher, Student of the same shapes and slope

    Returns
    -------
    array (D,)

    Source: derived here (sigma is 1-Lipschitz, and Minkowski's inequality).
    """
    _check_pair(teacher, student)
    on = np.nonzero(teacher.scores)
    scores = student.scores
    weight, entries = teacher.scores[on], scores[on]
    scores[on] = 0
    off = scores.sum(axis=0)  # without the cancellation of 1 - (the sum on the support)
    maps = weight[:, None, None] * teacher.value - entries[:, None, None] * student.value
    near = np.bincount(on[1], np.linalg.norm(maps, ord=2, axis=(1, 2)), teacher.D)
    return near + np.linalg.norm(student.value, 2) * off


def worst_case_bound(teacher, student, xi):
    """The most that the student can lose against the teacher when columns of X~ and Y~ have second moment at most xi.

    Delta R + Delta^2/2 with Delta = sqrt(xi sum_i m_i^2), R = sqrt(D xi) (1 + ||V*||_2).

    Parameters
    ----------
    teacher, student : Teacher, Student of the same shapes and slope
    xi : float > 0

    Returns
    -------
    float, squared units of the labels

    Source: derived here; the paper's Theorem 3.2 is its order in T.
    """
    xi = _checks.positive_number("xi", xi)
    delta = np.sqrt(xi * np.sum(mismatch_weights(teacher, student) ** 2))
    reach = np.sqrt(teacher.D * xi) * (1 + np.linalg.norm(teacher.value, 2))
    return float(delta * reach + delta**2 / 2)


def worst_case_pair(teacher, student, xi):
    """Inputs and labels whose columns have norm sqrt(xi) and that come close to the bound when W_V = C1 V*, C1 > 1.

    Every column of X~ is the same multiple of V*'s leading right singular vector, with the sign that makes the output
    larger; the labels point from the student's output to the teacher's and beyond.

    Parameters
    ----------
    teacher, student : Teacher, Student of the same shapes and slope
    xi : float > 0

    Returns
    -------
    inputs : array (d, D)
    labels : array (M, D)

    Source: derived here.
    """
    _check_pair(teacher, student)
    xi = _checks.positive_number("xi", xi)
    direction = np.linalg.svd(teacher.value)[2][0]
    ones = np.sqrt(xi) * np.ones(teacher.D)
    inputs = max((np.outer(sign * direction, ones) for sign in (1, -1)), key=lambda x: np.linalg.norm(teacher(x)))
    gap = teacher(inputs) - student(inputs)
    lengths = np.linalg.norm(gap, axis=0)
    return inputs, np.sqrt(xi) * gap / np.where(lengths == 0, 1, lengths)


def excess(teacher, student, inputs, labels):
    """Mean over samples of 1/2||Y~ - TF(X~)||_F^2 - 1/2||Y~ - f*(X~)||_F^2.

    Parameters
    ----------
    teacher, student : Teacher, Student of the same shapes and slope
    inputs : array (..., d, D)
    labels : array (..., M, D)

    Returns
    -------
    float
        May be negative: labels can happen to lie on the student's side.

    Source: derived here; written as cross term plus half the mean square, which does not cancel.
    """
    _check_pair(teacher, student)
    target = teacher(inputs)
    labels = _checks.shaped("labels", labels, target.shape)
    gap = target - student(inputs)
    return float(np.mean(np.sum((labels - target) * gap + gap**2 / 2, axis=(-2, -1))))
