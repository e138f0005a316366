"""bilinear.activations: values, the derivative at 0, bad input."""

import numpy as np
import pytest
from bilinear.activations import leaky_relu, leaky_relu_derivative
from cases import NOT_NUMBERS, SLOPES
from hypothesis import given
from hypothesis import strategies as st

NUMBERS = st.floats(-1e100, 1e100)


@pytest.mark.parametrize("slope", SLOPES)
def test_values(slope):
    x = np.array([[-2.0, -0.5, 0.0], [0.5, 2.0, 1e300]])
    np.testing.assert_array_equal(leaky_relu(x, slope), np.maximum(x, 0) + slope * np.minimum(x, 0))


def test_ends_of_the_family():
    x = np.linspace(-3, 3, 13)
    np.testing.assert_array_equal(leaky_relu(x, 1), x)
    np.testing.assert_array_equal(leaky_relu(x, 0), np.maximum(x, 0))


@pytest.mark.parametrize("slope", SLOPES)
def test_derivative_is_one_at_zero_and_a_difference_quotient_elsewhere(slope):
    np.testing.assert_array_equal(leaky_relu_derivative([-3.0, -0.0, 0.0, 3.0], slope), [slope, 1, 1, 1])
    x, h = np.array([-2.0, -0.1, 0.1, 2.0]), 1e-3
    quotient = (leaky_relu(x + h, slope) - leaky_relu(x - h, slope)) / (2 * h)
    np.testing.assert_allclose(leaky_relu_derivative(x, slope), quotient, rtol=1e-10)


@given(NUMBERS, st.floats(0, 1e100), st.floats(0, 1))
def test_scales_and_recovers_x(x, factor, slope):
    """sigma(c x) = c sigma(x) for c >= 0, and sigma(x) - sigma(-x) = (1 + kappa) x."""
    assert leaky_relu(factor * x, slope) == pytest.approx(factor * leaky_relu(x, slope), rel=1e-14)
    assert leaky_relu(x, slope) - leaky_relu(-x, slope) == pytest.approx((1 + slope) * x, rel=1e-14)


@given(NUMBERS, NUMBERS, st.floats(0, 1))
def test_is_rising_and_1_lipschitz(x, y, slope):
    rise = leaky_relu(max(x, y), slope) - leaky_relu(min(x, y), slope)
    assert 0 <= rise <= (max(x, y) - min(x, y)) * (1 + 1e-14)


def test_input_is_left_alone_and_integers_become_floats():
    x = np.array([-2, 3])
    assert leaky_relu(x, 0.5).tolist() == [-1.0, 3.0]
    assert x.tolist() == [-2, 3]


@pytest.mark.parametrize("function", [leaky_relu, leaky_relu_derivative])
def test_bad_input(function):
    for bad in (*NOT_NUMBERS, -0.1, 1.1, [0.1, 0.2]):
        with pytest.raises(ValueError, match="^slope must"):
            function([1.0], bad)
    for bad in NOT_NUMBERS:
        with pytest.raises(ValueError, match="^x must"):
            function(bad, 0.5)
    with pytest.raises(ValueError, match=r"^slope must lie in \[0, 1\], was -0.1"):
        function(1.0, -0.1)
    with pytest.raises(ValueError, match="^x must be finite, had NaN or infinity in it"):
        function([1.0, np.nan], 0.1)
