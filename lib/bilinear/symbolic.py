"""The closed forms of `moments` as SymPy expressions, for the chapters that prove with them.

Not imported by the package itself: `from bilinear import symbolic` loads SymPy.
"""

import sympy as sp


def alpha(kappa):
    """alpha = (1 + kappa^2)/2. Source: derived here."""
    return (1 + kappa**2) / 2


def gamma(kappa):
    """gamma = (1 - kappa)^2/(2 pi). Source: derived here."""
    return (1 - kappa) ** 2 / (2 * sp.pi)


def kernel(theta, kappa):
    """k(theta) = alpha cos(theta) + gamma (sin(theta) - theta cos(theta)).

    Parameters
    ----------
    theta, kappa : SymPy expressions or exact numbers

    Returns
    -------
    SymPy expression

    Source: derived here.
    """
    return alpha(kappa) * sp.cos(theta) + gamma(kappa) * (sp.sin(theta) - theta * sp.cos(theta))


def derivative_moment(theta, kappa):
    """E[sigma'(u) sigma'(w)] = alpha - gamma theta. Arguments as for `kernel`."""
    return alpha(kappa) - gamma(kappa) * theta
