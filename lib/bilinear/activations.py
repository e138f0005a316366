"""The activation: identity, leaky ReLU and ReLU as one family."""

import numpy as np

from . import _checks


def leaky_relu(x, slope):
    """sigma(x) = max(x, 0) + slope * min(x, 0), elementwise.

    Parameters
    ----------
    x : array of any shape, finite
    slope : float in [0, 1]
        kappa in the book: 1 is the identity, 0 is ReLU.

    Returns
    -------
    array of the shape of `x`

    Raises
    ------
    ValueError
        If `slope` is outside [0, 1] or `x` is not finite.

    Source: the paper's assumption on the activation.
    """
    slope = _checks.one_slope(slope)
    x = _checks.real_array("x", x)
    return np.maximum(x, slope * x)  # the larger one, as slope <= 1; faster than np.where


def leaky_relu_derivative(x, slope):
    """sigma'(x), elementwise, with sigma'(0) = 1.

    The value at 0 decides whether a student that starts at zero moves at all: with sigma'(0) = slope,
    the convention of automatic differentiation, a ReLU student stays there for ever.

    Parameters
    ----------
    x : array of any shape, finite
    slope : float in [0, 1]

    Returns
    -------
    array of the shape of `x`, of entries 1 and `slope`

    Raises
    ------
    ValueError
        If `slope` is outside [0, 1] or `x` is not finite.

    Source: derived here.
    """
    slope = _checks.one_slope(slope)
    return np.where(_checks.real_array("x", x) >= 0, 1.0, slope)
