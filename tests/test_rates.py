"""bilinear.rates: the laws' constants against the flow, the exact solution, fitted slopes, mutants, bad input."""

import numpy as np
import pytest
from bilinear import Teacher, moments, rates, training
from bilinear.dynamics import Reduced
from bilinear.rates import fit_slope, fit_tail
from cases import NOT_NUMBERS, SLOPES, mutant, pooling
from hypothesis import given
from hypothesis import strategies as st


def check_laws(rates):
    """Each law against the flow at eta T = 10^10, for sizes that tell D, K and D - K apart."""
    end = 1e10
    for slope in SLOPES:
        for D, K, norm in ((36, 4, 1.0), (20, 17, 2.5), (100, 1, 0.5)):
            reduced = Reduced(D, K, norm, slope)
            c1, delta = (part[0] for part in reduced.flow([end]))
            _, q = reduced.scores(delta)
            assert reduced.loss(c1, delta) == pytest.approx(rates.excess_loss(D, K, end), rel=0.01)
            score_error = q * np.sqrt(D * (D - K) * D / K)
            assert score_error == pytest.approx(rates.score_error(D, K, norm, slope, end), rel=0.01)
            assert norm * abs(c1 - 1) == pytest.approx(rates.value_error(D, K, slope, end), rel=0.02)
            y = K * np.exp(2 * delta) / (D - K)
            assert y == pytest.approx(rates.growth(D, K, norm, slope) * end, rel=0.01)


def check_identity_solution(rates):
    """d/dt (y + 2 ln y - 1/y) = a, y(0) = K/(D-K), and y obeys the flow of delta with C1 at its optimum."""
    for D, K, norm in ((20, 4, 1.3), (9, 6, 0.7), (1000, 1, 2.0)):
        start, rate = K / (D - K), rates.growth(D, K, norm)
        assert rates.identity_y(D, K, norm, 0.0) == pytest.approx(start, rel=1e-12)
        times = np.geomspace(1e-3, 1e9, 40)
        y = rates.identity_y(D, K, norm, times)
        gained = (y - start) + 2 * np.log(y / start) - (1 / y - 1 / start)
        np.testing.assert_allclose(gained, rate * times, rtol=1e-8, atol=1e-14 / start)
        reduced = Reduced(D, K, norm)
        delta = np.log(y * (D - K) / K) / 2
        p, q = reduced.scores(delta)
        best = p / (K * p**2 + (D - K) * q**2)  # C1 where dL/dC1 = 0
        first, second = reduced.velocity(best, delta)
        np.testing.assert_allclose(first, 0, atol=1e-12)
        np.testing.assert_allclose(2 * y * second, rate / (1 + 2 / y + 1 / y**2), rtol=1e-6)


def check_step_size(rates):
    """Just below the limit W_V settles at the teacher, just above it leaves."""
    for slope in SLOPES:
        for D, K in ((12, 3), (6, 5)):
            reduced, limit = Reduced(D, K, 1.0, slope), rates.largest_step_size(D, K, slope)
            near = (1.0 + 1e-6, 20.0)
            inside = reduced.run(0.98 * limit, 2000, near)[0]
            assert abs(inside - 1) < 1e-6
            outside = reduced.run(1.02 * limit, 200, near)[0]
            assert not abs(outside - 1) < 1e-5


CHECKS = (check_laws, check_identity_solution, check_step_size)


@pytest.mark.parametrize("check", CHECKS)
def test_laws(check):
    check(rates)


@pytest.mark.parametrize(
    ("old", "new", "check"),
    [
        ("/ (4 * time)", "/ (2 * time)", check_laws),
        ("K * D * (D - K) / (4", "K * D**4 / (4", check_laws),
        ("D * np.sqrt((D - K)", "D * np.sqrt(K", check_laws),
        ("D * np.sqrt((D - K)", "D**2.5 * np.sqrt(1", check_laws),
        ("(2 * moments.alpha(slope) * time)) / value_norm", "time) / value_norm", check_laws),
        ("(D - K) * np.sqrt(K / (2", "K * np.sqrt((D - K) / (2", check_laws),
        ("value_norm**2 / (K**2 * (D - K))", "value_norm**2 / (K * (D - K) ** 2)", check_laws),
        ("2 * moments.alpha(slope) * value_norm**2", "moments.alpha(slope) * value_norm**2", check_identity_solution),
        ("start = K / (D - K)", "start = (D - K) / K", check_identity_solution),
        ("start + 2 * np.log(start) - 1 / start", "start + np.log(start)", check_identity_solution),
        ("2 * K / (moments.alpha(slope) * D)", "2.1 * K / (moments.alpha(slope) * D)", check_step_size),
        ("2 * K / (moments.alpha(slope) * D)", "K / (moments.alpha(slope) * D)", check_step_size),
    ],
)
def test_the_checks_refuse_a_wrong_formula(old, new, check):
    with pytest.raises(AssertionError):
        check(mutant(rates, old, new))


def test_plateau_ends_where_the_growth_has_paid_the_starting_debt():
    """-1/y0 of the exact solution is used up at a t = (D-K)/K: by then y has left its start, before it has hardly."""
    D, K, norm = 400, 2, 1.5
    end = rates.plateau_end(D, K, norm)
    assert end == pytest.approx((D - K) ** 2 * K / (2 * norm**2))
    start = K / (D - K)
    early, late = rates.identity_y(D, K, norm, [0.5 * end, end])
    assert early < 2.1 * start and late > 10 * start


@given(st.integers(1, 10**6), st.integers(1, 10**6), st.floats(0.01, 100), st.floats(0, 1e15))
def test_exact_solution_at_any_size(K, rest, norm, time):
    y = rates.identity_y(K + rest, K, norm, time)
    start = K / rest
    assert y >= start * (1 - 1e-12)
    goal = start + 2 * np.log(start) - 1 / start + rates.growth(K + rest, K, norm) * time
    scale = 1 + abs(start) + 1 / start + abs(goal)
    assert y + 2 * np.log(y) - 1 / y == pytest.approx(goal, abs=1e-11 * scale)


def test_laws_broadcast():
    D, slopes = np.array([[10], [20]]), np.array([0.0, 0.5, 1.0])
    assert rates.score_error(D, 3, 1.0, slopes, 100.0).shape == (2, 3)
    assert rates.excess_loss(D, 3, [1.0, 10.0, 100.0]).shape == (2, 3)
    assert rates.identity_y(D, 3, 1.0, [1.0, 2.0]).shape == (2, 2)
    assert isinstance(rates.excess_loss(10, 3, 5.0), float)


@given(st.floats(-3, 3), st.floats(-5, 5))
def test_fit_of_an_exact_power_law(slope, exponent):
    steps = np.geomspace(10, 1e5, 30)
    fit = fit_slope(steps, 10**exponent * steps**slope)
    assert fit.slope == pytest.approx(slope, abs=1e-9)
    assert fit.constant == pytest.approx(10**exponent, rel=1e-7)
    assert fit.low <= fit.slope <= fit.high and fit.high - fit.low < 1e-6


def test_interval_covers_the_slope_as_often_as_it_says():
    rng = np.random.default_rng(0)
    steps = np.geomspace(1, 1e4, 12)
    inside = 0
    for _ in range(1000):
        fit = fit_slope(steps, 3 * steps**-0.5 * np.exp(0.3 * rng.standard_normal(12)))
        inside += fit.low <= -0.5 <= fit.high
    assert abs(inside - 950) < 5 * np.sqrt(1000 * 0.95 * 0.05)


def test_window_of_a_fit():
    steps = np.arange(0, 101)
    values = np.where(steps < 50, 7.0, 1e4 / np.maximum(steps, 1) ** 2)
    assert fit_slope(steps, values, start=50).slope == pytest.approx(-2)
    assert fit_slope(steps, values, start=1, stop=49).slope == pytest.approx(0, abs=1e-12)
    assert fit_slope(steps, values, start=50, stop=np.float64("inf")).slope == pytest.approx(-2)


def test_tail_of_a_run():
    teacher = pooling(np.random.default_rng(1), 0.1, D=6, K=2)
    history = training.descend(Teacher(5 * teacher.value, teacher.scores, 0.1), 0.3, 3000)
    assert fit_tail(history, 1000).slope == pytest.approx(-1, abs=0.05)
    for quantity in ("score_error", "value_error"):
        assert fit_tail(history, 1000, quantity).slope == pytest.approx(-0.5, abs=0.05)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: rates.excess_loss(4, 4, 1), "K must be below D, was K = 4.0 with D = 4.0"),
        (lambda: rates.excess_loss(4, 2, 0), "time must be positive, was 0"),
        (lambda: rates.excess_loss(-4, 2, 1), "D must be positive, was -4"),
        (lambda: rates.excess_loss([4, 5], [1, 2, 3], 1), r"broadcast against each other, were D \(2,\), K \(3,\)"),
        (lambda: rates.excess_loss([4, 5], 1, [1, 2, 3]), r"time \(3,\)"),
        (lambda: rates.score_error(4, 2, -1, 0.1, 1), "value_norm must be positive, was -1"),
        (lambda: rates.score_error(4, 2, 1, 2, 1), r"slope must lie in \[0, 1\], was 2"),
        (lambda: rates.score_error([4, 5], 2, [1, 2, 3], 0.1, 1), r"value_norm \(3,\)"),
        (lambda: rates.value_error(4, 5, 0.1, 1), "K must be below D"),
        (lambda: rates.value_error(4, 2, [0, 0.1], [1, 2, 3]), r"slope \(2,\), time \(3,\)"),
        (lambda: rates.growth(4, 2, 0), "value_norm must be positive, was 0"),
        (lambda: rates.growth([4, 5], 2, 1.0, [0, 0.5, 1]), r"slope \(3,\)"),
        (lambda: rates.plateau_end(4, 4, 1), "K must be below D"),
        (lambda: rates.identity_y(4, 2, 1, -1), "time must not be negative, the least was -1"),
        (lambda: rates.identity_y([4, 5], 2, 1, [1, 2, 3]), r"time \(3,\)"),
        (lambda: rates.largest_step_size(4, 2, -1), r"slope must lie in \[0, 1\], was -1"),
        (lambda: rates.largest_step_size([4, 5], 2, [0, 0.5, 1]), r"slope \(3,\)"),
        (lambda: fit_slope([1, 2], [1, 2]), r"at least 3 steps must lie in \[0, inf\], 2 do"),
        (lambda: fit_slope([1, 2, 3, 4], [1, 2, 3, 4], start=3), r"at least 3 steps must lie in \[3, inf\], 2 do"),
        (lambda: fit_slope([1, 2, 3], [1, 2]), r"values must have the shape of steps \(3,\), had \(2,\)"),
        (lambda: fit_slope([[1, 2, 3]], [1, 2, 3]), r"steps must have 1 dimensions, had shape \(1, 3\)"),
        (lambda: fit_slope([0, 1, 2], [1, 1, 1]), "steps and values must be positive in the window"),
        (lambda: fit_slope([1, 2, 3], [1, 0, 1]), "steps and values must be positive in the window"),
        (lambda: fit_slope([2, 2, 2], [1, 2, 3]), "steps must not all be the same"),
        (lambda: fit_slope([1, 2, 3], [1, 2, 3], start="a"), "start must be an array of real numbers, was 'a'"),
        (lambda: fit_slope([1, 2, 3], [1, 2, 3], stop=np.nan), "stop must be finite"),
        (lambda: fit_slope([1, 2, 3], [1, 2, 3], stop=[3, 4]), r"stop must be one number, had shape \(2,\)"),
        (lambda: fit_tail([1, 2, 3], 1), r"history must be a History, was \[1, 2, 3\]"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_bad_quantity_is_named():
    history = training.descend(pooling(np.random.default_rng(1), 0.1), 0.1, 5)
    for bad in ("loss", None, ["excess_loss"], 3):
        with pytest.raises(ValueError, match="quantity must be excess_loss, score_error or value_error, was"):
            fit_tail(history, 1, bad)


def test_what_is_no_number_is_named():
    calls = {
        "D": lambda bad: rates.excess_loss(bad, 2, 1.0),
        "K": lambda bad: rates.excess_loss(4, bad, 1.0),
        "time": lambda bad: rates.excess_loss(4, 2, bad),
        "value_norm": lambda bad: rates.score_error(4, 2, bad, 0.1, 1.0),
        "slope": lambda bad: rates.value_error(4, 2, bad, 1.0),
        "D ": lambda bad: rates.growth(bad, 2, 1.0),
        "slope ": lambda bad: rates.growth(4, 2, 1.0, bad),
        "K ": lambda bad: rates.plateau_end(4, bad, 1.0),
        "time ": lambda bad: rates.identity_y(4, 2, 1.0, bad),
        "slope  ": lambda bad: rates.largest_step_size(4, 2, bad),
        "steps": lambda bad: fit_slope(bad, [1, 2, 3]),
        "values": lambda bad: fit_slope([1, 2, 3], bad),
    }
    for name, call in calls.items():
        for bad in NOT_NUMBERS:
            with pytest.raises(ValueError, match=f"^{name.strip()} must"):
                call(bad)


def test_alpha_is_the_one_of_the_moments():
    assert rates.largest_step_size(6, 2, 0.5) == pytest.approx(4 / (6 * moments.alpha(0.5)))
