"""Landmarks of training along the gradient flow, for the powers in which they grow with D, K and ||V*||."""

from typing import NamedTuple

import numpy as np

from . import _checks, dynamics, rates


class Landmarks(NamedTuple):
    """Where a run from zero has got to; times are eta T.

    plateau : time at which y = cot^2(theta) = 1, the end of the plateau; 0 if D <= 2K, where y >= 1 from the start
    half : time at which K p = 1/2; 0 if D <= 2K
    peak : largest C1 on the way
    late : the late time, a multiple of the plateau of the identity
    excess_loss, score_error, value_error : there, in squared units of the labels and in Frobenius norms
    """

    plateau: float
    half: float
    peak: float
    late: float
    excess_loss: float
    score_error: float
    value_error: float


def landmarks(D, K, slope=1.0, value_norm=1.0, multiple=1e6):
    """Follow the flow of (C1, delta) from zero and read its landmarks off.

    Parameters
    ----------
    D, K : int, 1 <= K < D
    slope : float in [0, 1]
    value_norm : float > 0
        ||V*||_F.
    multiple : float >= 10
        The late time, in units of the plateau of the identity.

    Returns
    -------
    Landmarks

    Raises
    ------
    ValueError
        If an argument is out of its range.

    Source: derived here.
    """
    if _checks.positive_number("multiple", multiple) < 10:
        raise ValueError(f"multiple must be at least 10, was {multiple!r}")
    reduced = dynamics.Reduced(D, K, value_norm, slope)
    late = multiple * rates.plateau_end(D, K, value_norm)
    # The integrator's own steps are dense where delta leaves 0, which for large D happens in a moment.
    times, c1, delta = reduced.flow([late], own_steps=True)
    half = np.log((D - K) / K)  # delta where K p = 1/2; y = 1 lies at half of it
    reached = np.exp(np.interp([half / 2, half], delta, np.log(times))) if half > 0 else np.zeros(2)
    _, q = reduced.scores(delta[-1])
    return Landmarks(
        float(reached[0]),
        float(reached[1]),
        float(c1.max()),
        float(late),
        float(reduced.loss(c1[-1], delta[-1])),
        float(D * q * np.sqrt((D - K) / K)),
        float(abs(c1[-1] - 1) * value_norm),
    )
