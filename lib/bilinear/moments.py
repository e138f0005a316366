"""Closed forms of the Gaussian moments of the activation.

Write alpha = (1 + kappa^2)/2 and gamma = (1 - kappa)^2/(2 pi) for the slope kappa. Two centred, jointly Gaussian
numbers u and w have deviations a and b and correlation cos(theta), theta in [0, pi].
"""

import numpy as np

from . import _checks


def alpha(slope):
    """alpha = (1 + kappa^2)/2, so that E[sigma(u)^2] = alpha a^2.

    Parameters
    ----------
    slope : float or array in [0, 1]
        kappa.

    Raises
    ------
    ValueError
        If the slope is out of its range.

    Source: derived here.
    """
    slope = _checks.slope(slope)
    return (1 + slope**2) / 2


def gamma(slope):
    """gamma = (1 - kappa)^2/(2 pi), the weight of the part of the kernel that is not linear.

    Parameters
    ----------
    slope : float or array in [0, 1]
        kappa.

    Raises
    ------
    ValueError
        If the slope is out of its range.

    Source: derived here.
    """
    slope = _checks.slope(slope)
    return (1 - slope) ** 2 / (2 * np.pi)


def _angle(theta):
    theta = _checks.real_array("theta", theta)
    if theta.min() < 0 or theta.max() > np.pi:
        raise ValueError(f"theta must lie in [0, pi], its range was [{theta.min():.6g}, {theta.max():.6g}]")
    return theta


def _weights(theta, slope):
    """theta, alpha and gamma, checked together."""
    theta, slope = _angle(theta), _checks.slope(slope)
    _checks.broadcast(theta=theta, slope=slope)
    return theta, alpha(slope), gamma(slope)


def _deviation(name, value):
    value = _checks.real_array(name, value)
    if value.min() < 0:
        raise ValueError(f"{name} must not be negative, the least was {value.min():.3g}")
    return value


def sine_gap(theta):
    """sin(theta) - theta cos(theta), without cancellation for small angles.

    Parameters
    ----------
    theta : array, radians in [0, pi]

    Raises
    ------
    ValueError
        If an angle is out of its range.

    Source: derived here (Taylor series below 0.3, where the difference would lose digits).
    """
    theta = _angle(theta)
    # The terms are theta^(2j+1) (-1)^(j+1) 2j/(2j+1)!; at 0.3 the first one left out is 2e-17 of the sum.
    square = theta * theta
    tail = 1 - square / 54 * (1 - square / 88 * (1 - square / 130))
    series = theta * square / 3 * (1 - square / 10 * (1 - square / 28 * tail))
    return np.where(theta < 0.3, series, np.sin(theta) - theta * np.cos(theta))


def kernel(theta, slope):
    """k(theta) = alpha cos(theta) + gamma (sin(theta) - theta cos(theta)), so E[sigma(u) sigma(w)] = a b k(theta).

    Parameters
    ----------
    theta : array, radians in [0, pi]
    slope : float or array in [0, 1]

    Raises
    ------
    ValueError
        If an angle or a slope is out of its range.

    Source: derived here; slope 0 is half the arc-cosine kernel of order 1 (Cho and Saul 2009), slope 1 the cosine.
    """
    theta, even, odd = _weights(theta, slope)
    return even * np.cos(theta) + odd * sine_gap(theta)


def kernel_gap(theta, slope):
    """alpha - k(theta), without cancellation for small angles. Arguments and errors as for `kernel`.

    Source: derived here.
    """
    theta, even, odd = _weights(theta, slope)
    return 2 * even * np.sin(theta / 2) ** 2 - odd * sine_gap(theta)


def kernel_derivative(theta, slope):
    """k'(theta) = -sin(theta) (alpha - gamma theta). Arguments and errors as for `kernel`.

    Source: derived here.
    """
    return -np.sin(_angle(theta)) * derivative_moment(theta, slope)


def derivative_moment(theta, slope):
    """E[sigma'(u) sigma'(w)] = alpha - gamma theta = -k'(theta)/sin(theta). Arguments and errors as for `kernel`.

    At theta = 0 and pi this is the continuous value.

    Source: derived here.
    """
    theta, even, odd = _weights(theta, slope)
    return even - odd * theta


def second_moment(deviation, slope):
    """E[sigma(u)^2] = alpha a^2.

    Parameters
    ----------
    deviation : array, not negative
        a, the standard deviation of u.
    slope : float or array in [0, 1]

    Source: derived here.
    """
    deviation, slope = _deviation("deviation", deviation), _checks.slope(slope)
    _checks.broadcast(deviation=deviation, slope=slope)
    return alpha(slope) * deviation**2


def cross_moment(a, b, theta, slope):
    """E[sigma(u) sigma(w)] = a b k(theta).

    Parameters
    ----------
    a, b : arrays, not negative
        The standard deviations of u and w.
    theta : array, radians in [0, pi]
        Their correlation is cos(theta).
    slope : float or array in [0, 1]

    Source: derived here.
    """
    a, b, pair = _deviation("a", a), _deviation("b", b), kernel(theta, slope)
    _checks.broadcast(a=a, b=b, kernel=pair)
    return a * b * pair


def stein_moment(vector, slope):
    """E[sigma(v^T x) x] = (1 + kappa)/2 v for x ~ N(0, I).

    Parameters
    ----------
    vector : array (..., d)
        v, along the last axis.
    slope : float in [0, 1]

    Returns
    -------
    array (..., d)

    Source: Stein's identity, E[g(x) x] = E[grad g(x)].
    """
    vector = _checks.real_array("vector", vector)
    if vector.ndim == 0:
        raise ValueError("vector must have at least 1 dimension, was one number")
    return (1 + _checks.one_slope(slope)) / 2 * vector


def angle_between(u, w, axis=-1):
    """The angle between vectors, accurate near 0 and pi where arccos of the cosine is not.

    Parameters
    ----------
    u, w : arrays that broadcast, vectors along `axis`

    Returns
    -------
    array of radians in [0, pi]; 0 where one of the vectors is zero

    Raises
    ------
    ValueError
        If an entry is not finite or the shapes do not fit.

    Source: the half-angle formula 2 arctan2(|u/|u| - w/|w||, |u/|u| + w/|w||).
    """
    u, w = _checks.real_array("u", u), _checks.real_array("w", w)
    if len(_checks.broadcast(u=u, w=w)) == 0 or u.ndim == 0 or w.ndim == 0:
        raise ValueError("u and w must be arrays of vectors, one was one number")
    if u.shape[axis] != w.shape[axis]:
        raise ValueError(f"u and w must have vectors of one length, had {u.shape[axis]} and {w.shape[axis]}")
    length_u = np.linalg.norm(u, axis=axis, keepdims=True)
    length_w = np.linalg.norm(w, axis=axis, keepdims=True)
    zero = (length_u == 0) | (length_w == 0)
    u = u / np.where(length_u == 0, 1, length_u)
    w = w / np.where(length_w == 0, 1, length_w)
    angle = 2 * np.arctan2(np.linalg.norm(u - w, axis=axis), np.linalg.norm(u + w, axis=axis))
    return np.where(np.squeeze(zero, axis=axis), 0.0, angle)
