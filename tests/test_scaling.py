"""bilinear.scaling: landmarks against what is known exactly of them; bad input."""

import math

import pytest
from bilinear import dynamics, rates, scaling


@pytest.mark.parametrize(("D", "K"), [(20, 1), (1000, 4), (10**6, 4)])
def test_the_identity_peaks_at_the_overshoot_law_and_ends_on_the_late_laws(D, K):
    found = scaling.landmarks(D, K, 1.0, 1.3)
    assert found.peak == pytest.approx((1 + math.sqrt(D / K)) / 2, rel=1e-3)
    assert found.excess_loss == pytest.approx(rates.excess_loss(D, K, found.late), rel=1e-3)
    assert found.score_error == pytest.approx(rates.score_error(D, K, 1.3, 1.0, found.late), rel=5e-3)
    assert found.value_error == pytest.approx(rates.value_error(D, K, 1.0, found.late), rel=5e-3)


def test_times_of_the_identity_lie_on_the_exact_solution():
    D, K = 4096, 4
    found = scaling.landmarks(D, K, 1.0, 0.7)
    assert rates.identity_y(D, K, 0.7, found.plateau) == pytest.approx(1, rel=5e-3)
    assert rates.identity_y(D, K, 0.7, found.half) == pytest.approx((D - K) / K, rel=5e-3)


def test_times_of_relu_agree_with_descent_in_small_steps():
    found = scaling.landmarks(16, 2, 0.0)
    reduced = dynamics.Reduced(16, 2, 1.0, 0.0)
    step_size = 0.02
    assert reduced.run(step_size, round(found.plateau / step_size))[1] == pytest.approx(math.log(7) / 2, rel=0.01)
    assert reduced.run(step_size, round(found.half / step_size))[1] == pytest.approx(math.log(7), rel=0.01)


@pytest.mark.parametrize(("D", "K"), [(8, 4), (5, 4)])
def test_without_a_plateau_both_times_are_zero(D, K):
    found = scaling.landmarks(D, K)
    assert found.plateau == found.half == 0


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ((4, 4), "K"),
        ((4.5, 2), "D"),
        ((8, 2, 1.5), "slope"),
        ((8, 2, 1.0, 0.0), "value_norm"),
        ((8, 2, 1, 1, 5), "multiple"),
    ],
)
def test_bad_input_is_named(arguments, name):
    with pytest.raises(ValueError, match=name):
        scaling.landmarks(*arguments)
