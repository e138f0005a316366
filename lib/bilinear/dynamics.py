"""The two numbers that gradient descent moves, C1 and delta, and how to read them off a student.

From zero, gradient descent keeps W_V = C1 V* and two values of the scores, p on the sets G^i and q = e^(-delta) p off
them. So the matrices follow a map of two scalars exactly.
"""

import math
from typing import NamedTuple

import numpy as np

from . import _checks, moments
from .model import Student, Teacher
from .population import _check_pair
from .training import recorded_steps


class Constants(NamedTuple):
    """C1, C2, C3 of the invariant form that is nearest to a student, and how far the student is from it.

    c1, c2, c3 : floats; W_V = c1 V*, W_KQ = c2 sum_i sum_{j in G^i} p_j p_i^T - c3 sum_i sum_{j not in G^i} p_j p_i^T
    delta : float, (c2 + c3)/sqrt(D), the gap of the two logits
    value_residual, key_query_residual : Frobenius distance of W_V and W_KQ from that form, relative to their norm
        (0 for a zero block)
    """

    c1: float
    c2: float
    c3: float
    delta: float
    value_residual: float
    key_query_residual: float


def read_constants(teacher, student):
    """Read C1, C2, C3 off a student by least squares.

    Parameters
    ----------
    teacher : Teacher with uniform scores
    student : Student of the teacher's shapes

    Returns
    -------
    Constants

    Raises
    ------
    ValueError
        If the teacher's scores are not uniform or shapes differ.

    Source: the paper's Lemma D.2.
    """
    _check_pair(teacher, student)
    K, D = teacher.K, teacher.D
    on = teacher.scores > 0
    square = np.sum(teacher.value**2)
    c1 = float(np.sum(student.value * teacher.value) / square) if square else 0.0
    logits = np.sqrt(D) * student.logits
    c2 = float(logits[on].mean())
    c3 = -float(logits[~on].mean()) if K < D else 0.0
    form = np.where(on, c2, -c3)

    def relative(difference, block):
        size = np.linalg.norm(block)
        return float(np.linalg.norm(difference) / size) if size else 0.0

    return Constants(
        c1,
        c2,
        c3,
        (c2 + c3) / math.sqrt(D),
        relative(student.value - c1 * teacher.value, student.value),
        relative(logits - form, logits),
    )


def student_at(teacher, c1, delta, positions=None):
    """The student of the invariant form with these two numbers.

    W_V = c1 V*, and logits whose gap is delta between G^i and its complement, with sum 0 in each column, as gradient
    descent from zero keeps them.

    Parameters
    ----------
    teacher : Teacher with uniform scores
    c1, delta : floats
    positions : array (D, D) or None

    Returns
    -------
    Student

    Raises
    ------
    ValueError
        If the teacher's scores are not uniform or a number is not finite.

    Source: the paper's Lemma D.2, with C3/C2 = K/(D-K).
    """
    _checks.instance("teacher", teacher, Teacher)
    c1, delta = _checks.number("c1", c1), _checks.number("delta", delta)
    logits = delta * ((teacher.scores > 0) - teacher.K / teacher.D)
    return Student.from_logits(c1 * teacher.value, logits, positions, teacher.slope)


def _start(start):
    try:
        c1, delta = start
    except (TypeError, ValueError):
        raise ValueError(f"start must be the pair (c1, delta), was {start!r:.80}") from None
    return c1, delta


class Reduced:
    """The exact dynamics of (C1, delta) for every teacher with uniform scores, for one or a whole sweep of settings.

    Parameters
    ----------
    D, K : int or arrays of int
        Positions and neighbours a column, 1 <= K < D.
    value_norm : float > 0 or array
        ||V*||_F.
    slope : float in [0, 1] or array
        kappa.

    The four broadcast against each other and against C1, delta and the step size: a sweep is one array, and `shape` is
    the settings' shape together, () for one setting.

    Raises
    ------
    ValueError
        If a parameter is out of its range.

    Source: derived here, from the paper's Lemma D.2.
    """

    def __init__(self, D, K, value_norm=1.0, slope=1.0):
        D, K = _checks.positive("D", D), _checks.positive("K", K)
        for name, value in (("D", D), ("K", K)):
            if np.any(value != np.round(value)):
                raise ValueError(f"{name} must be a whole number, was {value!r:.80}")
        self.value_norm, self.slope = _checks.positive("value_norm", value_norm), _checks.slope(slope)
        self.shape = _checks.broadcast(D=D, K=K, value_norm=self.value_norm, slope=self.slope)
        if np.any(np.greater_equal(K, D)):
            raise ValueError(f"K must be below D, was K = {K!s:.40} with D = {D!s:.40}")
        self.D, self.K = D, K
        self._alpha, self._gamma = moments.alpha(self.slope), moments.gamma(self.slope)

    def _state(self, c1, delta, **others):
        """C1 and delta as arrays that broadcast with the settings."""
        c1, delta = _checks.real_array("c1", c1), _checks.real_array("delta", delta)
        _checks.broadcast(c1=c1, delta=delta, settings=np.empty(self.shape), **others)
        return c1, delta

    def scores(self, delta):
        """p and q, the two values of the scores: p = 1/(K + (D-K) e^-delta), q = e^-delta p.

        Parameters
        ----------
        delta : float or array that broadcasts with the settings

        Source: the paper's Lemma D.2.
        """
        return self._scores(self._state(0.0, delta)[1])

    def _scores(self, delta):
        small = np.exp(-np.abs(delta))  # never overflows
        high, low = np.where(delta < 0, small, 1.0), np.where(delta < 0, 1.0, small)
        p = high / (self.K * high + (self.D - self.K) * low)
        return p, low / (self.K * high + (self.D - self.K) * low)

    def angle(self, delta):
        """theta, the angle of a column of S to its column of S*: tan(theta) = sqrt((D-K)/K) e^-delta.

        Parameters
        ----------
        delta : float or array that broadcasts with the settings

        Source: derived here.
        """
        return self._angle(*self.scores(delta))

    def _angle(self, p, q):
        return np.arctan2(np.sqrt(self.D - self.K) * q, np.sqrt(self.K) * p)

    def loss(self, c1, delta):
        """The excess loss, (D ||V*||^2/2) (alpha/K - 2 C1 n k(theta)/sqrt(K) + alpha C1^2 n^2).

        Parameters
        ----------
        c1, delta : floats or arrays that broadcast with the settings

        Returns
        -------
        float or array, squared units of the labels

        Source: derived here.
        """
        c1, delta = self._state(c1, delta)
        p, q = self._scores(delta)
        length, theta = np.sqrt(self.K * p**2 + (self.D - self.K) * q**2), self._angle(p, q)
        theta = np.where(c1 < 0, np.pi - theta, theta)  # of the outputs: a negative C1 turns them round
        target, size = 1 / np.sqrt(self.K), np.abs(c1) * length
        pair = self._alpha * (target - size) ** 2 + 2 * target * size * moments.kernel_gap(theta, self.slope)
        loss = self.D * self.value_norm**2 / 2 * pair
        return loss if np.ndim(loss) else float(loss)

    def velocity(self, c1, delta):
        """Change of (C1, delta) in one step, divided by the step size.

        (-dL/dC1/||V*||^2, -dL/ddelta/(D K (D-K))), with sigma'(0) = 1 at C1 = 0.

        Parameters
        ----------
        c1, delta : floats or arrays that broadcast with the settings

        Returns
        -------
        two arrays

        Source: derived here.
        """
        return self._velocity(*self._state(c1, delta))

    def _velocity(self, c1, delta):
        p, q = self._scores(delta)
        square = self.K * p**2 + (self.D - self.K) * q**2  # n^2
        slant = np.sqrt((self.D - self.K) / self.K) * q  # n sin(theta)/sqrt(K), where p = n cos(theta)/sqrt(K)
        sign, theta = np.sign(c1), np.arctan2(slant, p)
        # A negative C1 makes the angle of the outputs pi - theta.
        theta = np.where(c1 < 0, np.pi - theta, theta)
        both = self._alpha - self._gamma * theta
        # n k(theta)/sqrt(K), with the sign of C1. At C1 = 0 the slope holds E[sigma'] = (1+kappa)/2 with sigma'(0) = 1.
        pull = np.where(c1 == 0, (1 + self.slope) / 2, both) * p + sign * self._gamma * slant
        first = self.D * (pull - self._alpha * c1 * square)
        bent = self._gamma * np.abs(c1) * slant / square
        second = p * q * self.value_norm**2 * (c1 * both / self.K - (self._alpha * c1**2 - bent) * (p - q))
        return first, second

    def step(self, c1, delta, step_size):
        """(C1, delta) after one step of gradient descent on the matrices.

        Parameters
        ----------
        c1, delta : floats or arrays that broadcast with the settings
        step_size : float > 0 or array

        Returns
        -------
        c1, delta

        Source: derived here.
        """
        step_size = _checks.positive("step_size", step_size)
        c1, delta = self._state(c1, delta, step_size=step_size)
        first, second = self._velocity(c1, delta)
        return c1 + step_size * first, delta + step_size * second

    def run(self, step_size, steps, start=(0.0, 0.0), record=None):
        """(C1, delta) after `steps` steps from `start`, or at the steps of `record`.

        Parameters
        ----------
        step_size : float > 0 or array
        steps : int, at least 0
        start : (c1, delta)
        record : rising whole numbers or None

        Returns
        -------
        c1, delta : floats, or arrays of the sweep's shape; with `record` a first axis of its length
            NaN where the step size was so large that the run diverged.

        Raises
        ------
        ValueError
            If an argument is out of its range.

        Source: derived here.
        """
        step_size, steps = _checks.positive("step_size", step_size), _checks.whole("steps", steps, least=0)
        wanted = np.array([steps]) if record is None else recorded_steps(steps, record)
        c1, delta = self._state(*_start(start), step_size=step_size)
        shape = np.broadcast_shapes(self.shape, np.shape(step_size), c1.shape, delta.shape)
        path = np.empty((2, len(wanted), *shape))
        c1, delta = np.broadcast_to(c1, shape), np.broadcast_to(delta, shape)
        advance = self._advance if shape else self._advance_one
        done = 0
        for row, step in enumerate(wanted.tolist()):
            c1, delta = advance(c1, delta, step_size, step - done)
            path[0, row], path[1, row] = c1, delta
            done = step
        if record is None:
            path = path[:, 0]
        return (path[0], path[1]) if path[0].ndim else (float(path[0]), float(path[1]))

    def _advance(self, c1, delta, step_size, steps):
        with np.errstate(over="ignore", invalid="ignore"):
            for _ in range(steps):
                first, second = self._velocity(c1, delta)
                c1, delta = c1 + step_size * first, delta + step_size * second
        finite = np.isfinite(c1) & np.isfinite(delta)
        return np.where(finite, c1, np.nan), np.where(finite, delta, np.nan)

    def _advance_one(self, c1, delta, step_size, steps):
        """`_advance` for one setting, in Python's floats: ten times as fast as arrays of one entry."""
        exp, sqrt, atan = math.exp, math.sqrt, math.atan
        D, K = float(self.D), float(self.K)
        alpha, gamma, c1, delta = float(self._alpha), float(self._gamma), float(c1), float(delta)
        rest, steep = D - K, sqrt((D - K) / K)
        first_scale, second_scale = step_size * D, step_size * float(self.value_norm) ** 2
        for _ in range(steps):
            if c1 <= 0 or delta < -300:  # the start, or what only too large a step or another start leads to
                c1, delta = (float(part) for part in self._advance(np.float64(c1), delta, step_size, 1))
                continue
            ratio = exp(-delta)
            p = 1 / (K + rest * ratio)
            q = ratio * p
            tangent = steep * ratio
            square = K * p * p * (1 + tangent * tangent)  # n^2
            if gamma:
                # n k(theta)/sqrt(K) = p k(theta)/cos(theta), and sin(theta) = tan(theta) cos(theta)
                theta = atan(tangent)
                pull = p * (alpha + gamma * (tangent - theta))
                both = alpha - gamma * theta
                bent = gamma * c1 * tangent / (K * p * (1 + tangent * tangent))
            else:
                pull, both, bent = p * alpha, alpha, 0.0
            bracket = c1 * both / K - (alpha * c1 * c1 - bent) * (p - q)
            c1 += first_scale * (pull - alpha * c1 * square)
            delta += second_scale * p * q * bracket
        return (c1, delta) if math.isfinite(c1) and math.isfinite(delta) else (math.nan, math.nan)

    def flow(self, times, start=None, rtol=1e-9, own_steps=False):
        """(C1, delta) along the gradient flow, the limit of small steps, at times eta T.

        The flow is stiff (C1 is fast, delta slow), so an implicit method follows it in the logarithm of time: 10^12 and
        10^2 cost about the same. It follows C1/C1* - 1, which is tiny at late times, where C1* - C1 would be noise.

        Parameters
        ----------
        times : rising array of floats > 0, shape (n,)
            eta T, step size times number of steps.
        start : (c1, delta) or None
            None is zero, with the first move of sigma'(0) = 1.
        rtol : float
            Tolerance of the integration.
        own_steps : bool
            Return the integrator's own steps up to the last of the times, which are dense where the path turns, and
            seven points in each of them.

        Returns
        -------
        c1, delta : arrays (n,)
            With own_steps: times, c1, delta, arrays of one length.

        Raises
        ------
        ValueError
            If the settings are a sweep, the times are not rising and positive, or `start` is not two numbers.

        Source: derived here.
        """
        from scipy.integrate import solve_ivp

        times = np.atleast_1d(_checks.positive("times", times))
        if times.ndim != 1 or (np.diff(times) <= 0).any():
            raise ValueError(f"times must be one rising row of numbers, was {times!r:.80}")
        rtol = _checks.positive_number("rtol", rtol)
        if self.shape:
            raise ValueError("flow follows one setting, the settings are a sweep")
        # Early times are a straight line: from zero C1 moves with its first velocity, delta by a second order.
        begin = min(times[0], 1e-9 / float(self.D))
        if start is None:
            first, _ = self._velocity(0.0, 0.0)
            start = (begin * float(first), 0.0)
        else:
            start = tuple(_checks.number("start", part) for part in _start(start))
        if times[-1] == begin:
            here = np.array([start[0]]), np.array([start[1]])
            return (np.array([begin]), *here) if own_steps else here

        D, K, square = float(self.D), float(self.K), float(self.value_norm) ** 2
        alpha, gamma, steep = float(self._alpha), float(self._gamma), math.sqrt((D - K) / K)

        def best(delta):
            """C1*, the best C1 for this delta, and what it is made of."""
            ratio = math.exp(min(-delta, 300.0))  # a trial step may reach for a delta far below zero
            p = 1 / (K + (D - K) * ratio)
            tangent = steep * ratio
            lift = alpha + gamma * (tangent - math.atan(tangent))  # k(theta)/cos(theta)
            cosine2 = 1 / (1 + tangent * tangent)
            return lift * cosine2 / (alpha * K * p), ratio, p, tangent, lift, cosine2

        def field(log_time, state):
            lag, delta = state  # lag = C1/C1* - 1
            optimum, ratio, p, tangent, lift, cosine2 = best(delta)
            c1, q, both = optimum * (1 + lag), ratio * p, alpha - gamma * math.atan(tangent)
            bent = gamma * c1 * tangent * cosine2 / (K * p)
            moved = p * q * square * (c1 * both / K - (alpha * c1 * c1 - bent) * p * (1 - ratio))
            sine2 = tangent * tangent * cosine2
            drift = sine2 * both / lift + sine2 - (D - K) * q  # d ln(C1*)/d delta
            pull = alpha * D * K * p * p / cosine2  # alpha D n^2
            time = math.exp(log_time)
            if c1 < 0:  # the other side of the cone, where the outputs are at pi - theta
                first, moved = map(float, self._velocity(c1, delta))
                return [time * (first / optimum - (1 + lag) * drift * moved), time * moved]
            return [-time * (pull * lag + (1 + lag) * drift * moved), time * moved]

        answer = solve_ivp(
            field,
            (math.log(begin), math.log(times[-1])),
            (start[0] / best(start[1])[0] - 1, start[1]),
            method="Radau",
            t_eval=None if own_steps else np.clip(np.log(times), math.log(begin), math.log(times[-1])),
            dense_output=own_steps,
            rtol=rtol,
            atol=1e-14,
        )
        if not answer.success:
            raise RuntimeError(f"the flow could not be followed: {answer.message}")
        log_times, (lag, delta) = answer.t, answer.y
        if own_steps:
            log_times = np.unique(np.linspace(answer.t[:-1], answer.t[1:], 8))
            lag, delta = answer.sol(log_times)
        c1 = np.array([best(number)[0] for number in delta]) * (1 + lag)
        return (np.exp(log_times), c1, delta) if own_steps else (c1, delta)
