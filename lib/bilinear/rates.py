"""The predicted laws of training with their constants, and slopes fitted to what was measured.

T counts steps, eta is the step size; only eta T enters. Every law holds for each teacher with uniform scores.
"""

from typing import NamedTuple

import numpy as np

from . import _checks, moments


def _sizes(D, K, **others):
    """D and K, checked with the other arguments, which have been checked one by one."""
    D, K = _checks.positive("D", D), _checks.positive("K", K)
    _checks.broadcast(D=D, K=K, **others)
    if np.any(np.greater_equal(K, D)):
        raise ValueError(f"K must be below D, was K = {K!s:.40} with D = {D!s:.40}")
    return D, K


def excess_loss(D, K, time):
    """The excess loss at late times, K D (D-K)/(4 eta T), for every slope and V*.

    Parameters
    ----------
    D, K : numbers or arrays, K < D
    time : number or array > 0
        eta T.

    Raises
    ------
    ValueError
        If an argument is out of its range or they do not broadcast.

    Source: derived here (the paper's Theorem 3.1 prints Theta(K D^4/(eta T))).
    """
    time = _checks.positive("time", time)
    D, K = _sizes(D, K, time=time)
    return K * D * (D - K) / (4 * time)


def score_error(D, K, value_norm, slope, time):
    """||S - S*||_F at late times, D sqrt((D-K)/(2 alpha eta T))/||V*||_F.

    Parameters
    ----------
    D, K : numbers or arrays, K < D
    value_norm : number or array > 0
        ||V*||_F.
    slope : number or array in [0, 1]
    time : number or array > 0
        eta T.

    Raises
    ------
    ValueError
        If an argument is out of its range or they do not broadcast.

    Source: derived here (the paper's Theorem 3.1 prints Theta(D^(5/2)/(||V*||_F sqrt(eta T)))).
    """
    value_norm, slope = _checks.positive("value_norm", value_norm), _checks.slope(slope)
    time = _checks.positive("time", time)
    D, K = _sizes(D, K, value_norm=value_norm, slope=slope, time=time)
    return D * np.sqrt((D - K) / (2 * moments.alpha(slope) * time)) / value_norm


def value_error(D, K, slope, time):
    """||W_V - V*||_F at late times, (D-K) sqrt(K/(2 alpha eta T)).

    Parameters
    ----------
    D, K : numbers or arrays, K < D
    slope : number or array in [0, 1]
    time : number or array > 0
        eta T.

    Raises
    ------
    ValueError
        If an argument is out of its range or they do not broadcast.

    Source: derived here (the paper's Theorem 3.1 prints Theta(D^2 sqrt(K/(eta T)))).
    """
    slope, time = _checks.slope(slope), _checks.positive("time", time)
    D, K = _sizes(D, K, slope=slope, time=time)
    return (D - K) * np.sqrt(K / (2 * moments.alpha(slope) * time))


def growth(D, K, value_norm, slope=1.0):
    """a/eta = 2 alpha ||V*||^2/(K^2 (D-K)), the rate at which y = cot^2(theta) grows at late times, per eta T.

    Parameters
    ----------
    D, K : numbers or arrays, K < D
    value_norm : number or array > 0
        ||V*||_F.
    slope : number or array in [0, 1]

    Raises
    ------
    ValueError
        If an argument is out of its range or they do not broadcast.

    Source: derived here; for slope 1 it is exact for all times in the form of `identity_y`.
    """
    value_norm, slope = _checks.positive("value_norm", value_norm), _checks.slope(slope)
    D, K = _sizes(D, K, value_norm=value_norm, slope=slope)
    return 2 * moments.alpha(slope) * value_norm**2 / (K**2 * (D - K))


def plateau_end(D, K, value_norm):
    """eta T at the end of the plateau for the identity, (D-K)^2 K/(2 ||V*||^2) = (D-K)/(K a) times eta.

    Parameters
    ----------
    D, K : numbers or arrays, K < D
    value_norm : number or array > 0
        ||V*||_F.

    Raises
    ------
    ValueError
        If an argument is out of its range or they do not broadcast.

    Source: derived here; it is the T* of the paper's Theorem 3.1 with its constant.
    """
    rate = growth(D, K, value_norm)
    D, K = _sizes(D, K)
    return (D - K) / (K * rate)


def identity_y(D, K, value_norm, time):
    """y = cot^2(theta) for slope 1 along the flow with C1 at its optimum: y + 2 ln y - 1/y = y0 + 2 ln y0 - 1/y0 + a t.

    Parameters
    ----------
    D, K : numbers or arrays, K < D
    value_norm : number or array > 0
    time : number or array >= 0
        eta T.

    Returns
    -------
    float or array, y >= y0 = K/(D-K)

    Raises
    ------
    ValueError
        If an argument is out of its range or they do not broadcast.

    Source: derived here.
    """
    time, rate = _checks.real_array("time", time), growth(D, K, value_norm)
    if time.min() < 0:
        raise ValueError(f"time must not be negative, the least was {time.min():.3g}")
    D, K = _sizes(D, K, value_norm=value_norm, time=time)
    start = K / (D - K)
    goal = start + 2 * np.log(start) - 1 / start + rate * time
    # The left side F is increasing in u = ln y, F = e^u + 2u - e^-u = 2 sinh(u) + 2u: Newton from arcsinh(goal/2),
    # where F >= goal in size, stays on one side and converges for every goal.
    u = np.arcsinh(goal / 2)
    for _ in range(60):
        change = (2 * np.sinh(u) + 2 * u - goal) / (2 * np.cosh(u) + 2)
        u = u - change
        if np.all(np.abs(change) <= 1e-15 * (1 + np.abs(u))):
            break
    y = np.exp(u)
    return y if np.ndim(y) else float(y)


def largest_step_size(D, K, slope=1.0):
    """2 K/(alpha D): above it W_V is unstable at the teacher.

    Parameters
    ----------
    D, K : numbers or arrays, K < D
    slope : number or array in [0, 1]

    Raises
    ------
    ValueError
        If an argument is out of its range or they do not broadcast.

    Source: derived here; the curvature along W_V never exceeds alpha D/K on the trajectory from zero.
    """
    slope = _checks.slope(slope)
    D, K = _sizes(D, K, slope=slope)
    return 2 * K / (moments.alpha(slope) * D)


def _bound(name, value):
    """An end of the window of a fit: a number, infinity allowed."""
    if isinstance(value, (float, np.floating)) and np.isinf(value):
        return float(value)
    return _checks.number(name, value)


class Fit(NamedTuple):
    """A fitted power law value = constant * step^slope; low and high bound the slope's 95 % interval."""

    slope: float
    low: float
    high: float
    constant: float


def fit_slope(steps, values, start=0.0, stop=np.inf):
    """Fit a power law to a curve by least squares in both logarithms.

    Parameters
    ----------
    steps, values : arrays (n,)
        Positive where they are used.
    start, stop : numbers
        Only steps in [start, stop] are used.

    Returns
    -------
    Fit
        The interval is that of ordinary least squares (Student t). For a deterministic curve it tells how far the curve
        is from a straight line over the window, not a sampling error.

    Raises
    ------
    ValueError
        If fewer than three points are left, one of them is not positive, or all have the same step.

    Source: ordinary linear regression.
    """
    from scipy import stats

    steps, values = _checks.real_array("steps", steps, ndim=1), _checks.real_array("values", values, ndim=1)
    if steps.shape != values.shape:
        raise ValueError(f"values must have the shape of steps {steps.shape}, had {values.shape}")
    start, stop = (_bound(*pair) for pair in (("start", start), ("stop", stop)))
    used = (steps >= start) & (steps <= stop)
    if used.sum() < 3:
        raise ValueError(f"at least 3 steps must lie in [{start:g}, {stop:g}], {used.sum()} do")
    steps, values = steps[used], values[used]
    if steps.min() <= 0 or values.min() <= 0:
        raise ValueError("steps and values must be positive in the window of the fit")
    if steps.min() == steps.max():
        raise ValueError(f"steps must not all be the same in the window of the fit, were {steps[0]:g}")
    x, y = np.log(steps), np.log(values)
    offset = x - x.mean()
    slope = offset @ y / (offset @ offset)
    intercept = y.mean() - slope * x.mean()
    rest = y - intercept - slope * x
    reach = stats.t.ppf(0.975, len(x) - 2) * np.sqrt(rest @ rest / (len(x) - 2) / (offset @ offset))
    return Fit(float(slope), float(slope - reach), float(slope + reach), float(np.exp(intercept)))


def fit_tail(history, start, quantity="excess_loss"):
    """`fit_slope` of one quantity of a History from step `start` on.

    Parameters
    ----------
    history : History
    start : number
        First step of the tail.
    quantity : {"excess_loss", "score_error", "value_error"}

    Returns
    -------
    Fit

    Raises
    ------
    ValueError
        If `history` is no History, the quantity is another one, or the tail has fewer than three points.

    Source: ordinary linear regression.
    """
    from .training import History

    _checks.instance("history", history, History)
    if quantity not in ("excess_loss", "score_error", "value_error"):
        raise ValueError(f"quantity must be excess_loss, score_error or value_error, was {quantity!r}")
    return fit_slope(history.steps, getattr(history, quantity), start=start)
