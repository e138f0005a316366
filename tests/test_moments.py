"""bilinear.moments: closed forms against quadrature, sampling and more digits; mutants; bad input."""

import mpmath
import numpy as np
import pytest
from bilinear import moments
from bilinear.activations import leaky_relu, leaky_relu_derivative
from cases import NOT_NUMBERS, SLOPES, assert_mean, mutant
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad

THETAS = (0.0, 1e-6, 0.29, 0.31, 1.0, np.pi / 2, 2.5, np.pi)
ANGLES = st.floats(0, np.pi)


def density(x):
    return np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi)


def polar_mean(function, theta):
    """E[f(u) f(w)] for f with f(c x) = c^n f(x), n = 0 or 1, as an integral over the angle of (u, w)'s plane, and n = 1
    times the mean square of the radius, 2."""

    def along(phi):
        return function(np.cos(phi)) * function(np.cos(phi - theta))

    kinks = sorted({(kink + shift) % (2 * np.pi) for kink in (np.pi / 2, 3 * np.pi / 2) for shift in (0.0, theta)})
    return quad(along, 0, 2 * np.pi, points=kinks, limit=200)[0] / (2 * np.pi)


def check_kernel(moments):
    for slope in SLOPES:
        for theta in THETAS:
            by_quadrature = 2 * polar_mean(lambda x, slope=slope: leaky_relu(x, slope), theta)
            assert moments.kernel(theta, slope) == pytest.approx(by_quadrature, abs=1e-10)


def check_derivatives(moments):
    """E[sigma'(u) sigma'(w)] by quadrature, and k' as a difference quotient of k."""
    for slope in SLOPES:
        for theta in THETAS:
            by_quadrature = polar_mean(lambda x, slope=slope: leaky_relu_derivative(x, slope), theta)
            assert moments.derivative_moment(theta, slope) == pytest.approx(by_quadrature, abs=1e-7)
        theta, h = np.linspace(0.1, 3, 15), 1e-5
        quotient = (moments.kernel(theta + h, slope) - moments.kernel(theta - h, slope)) / (2 * h)
        np.testing.assert_allclose(moments.kernel_derivative(theta, slope), quotient, atol=1e-9)


CHECKS = (check_kernel, check_derivatives)


@pytest.mark.parametrize("check", CHECKS)
def test_closed_forms_against_quadrature(check):
    check(moments)


@pytest.mark.parametrize(
    ("old", "new", "check"),
    [
        ("(2 * np.pi)", "(4 * np.pi)", check_kernel),
        ("even * np.cos(theta) + odd * sine_gap(theta)", "even * np.cos(theta)", check_kernel),
        ("(1 + slope**2) / 2", "(1 + slope) / 2", check_kernel),
        ("series = theta * square / 3", "series = theta * square / 2", check_kernel),
        ("return even - odd * theta", "return even", check_derivatives),
        ("return even - odd * theta", "return even + odd * theta", check_derivatives),
        ("-np.sin(_angle(theta))", "-np.cos(_angle(theta))", check_derivatives),
    ],
)
def test_the_checks_refuse_a_wrong_formula(old, new, check):
    with pytest.raises(AssertionError):
        check(mutant(moments, old, new))


@pytest.mark.parametrize("slope", SLOPES)
def test_kernel_by_quadrature_in_the_plane(slope):
    """The same moment without polar coordinates: w = cos(theta) u + sin(theta) z, split at its kink."""
    theta = 1.1

    def inner(u):
        def integrand(z):
            return leaky_relu(np.cos(theta) * u + np.sin(theta) * z, slope) * density(z)

        kink = -u / np.tan(theta)
        return quad(integrand, -9, kink)[0] + quad(integrand, kink, 9)[0]

    def outer(u):
        return leaky_relu(u, slope) * inner(u) * density(u)

    assert quad(outer, -6, 0, epsabs=1e-7)[0] + quad(outer, 0, 6, epsabs=1e-7)[0] == pytest.approx(
        moments.kernel(theta, slope), abs=1e-6
    )


@pytest.mark.parametrize("slope", SLOPES)
def test_moments_of_one_variable_by_quadrature(slope):
    def mean(function):
        return quad(lambda x: function(x) * density(x), -12, 0)[0] + quad(lambda x: function(x) * density(x), 0, 12)[0]

    assert moments.second_moment(1.7, slope) == pytest.approx(mean(lambda x: leaky_relu(1.7 * x, slope) ** 2), rel=1e-9)
    slope_of_one = mean(lambda x: leaky_relu(1.7 * x, slope) * x)
    assert moments.stein_moment([1.7], slope) == pytest.approx([slope_of_one], rel=1e-9)


@pytest.mark.parametrize("slope", SLOPES)
def test_moments_by_sampling(slope):
    rng = np.random.default_rng(1)
    a, b, theta = 0.7, 2.0, 2.2
    u, z = rng.standard_normal((2, 200_000))
    first = leaky_relu(a * u, slope)
    second = leaky_relu(b * (np.cos(theta) * u + np.sin(theta) * z), slope)
    assert_mean(first**2, moments.second_moment(a, slope))
    assert_mean(first * second, moments.cross_moment(a, b, theta, slope))
    v, x = rng.standard_normal(3), rng.standard_normal((200_000, 3))
    assert_mean(leaky_relu(x @ v, slope)[:, None] * x, moments.stein_moment(v, slope))


def test_known_values():
    """Slope 0 is half of Cho and Saul's kernel of order 1, slope 1 is the cosine."""
    theta = np.linspace(0, np.pi, 50)
    cho_saul = (np.sin(theta) + (np.pi - theta) * np.cos(theta)) / np.pi
    np.testing.assert_allclose(moments.kernel(theta, 0), cho_saul / 2, atol=1e-15)
    np.testing.assert_array_equal(moments.kernel(theta, 1), np.cos(theta))
    assert moments.alpha(0.5) == 0.625 and moments.gamma(1) == 0


@given(ANGLES, ANGLES, st.floats(0, 1))
def test_kernel_falls_from_alpha_to_minus_kappa(first, second, slope):
    low, high = sorted([first, second])
    ends = moments.kernel([0, high, low, np.pi], slope)
    assert ends[0] == moments.alpha(slope)
    assert ends[3] == pytest.approx(-slope, abs=1e-15)
    assert ends[1] <= ends[2] + 1e-15 and ends[3] - 1e-15 <= ends[1] and ends[2] <= ends[0]


@given(st.floats(1e-9, np.pi), st.floats(0, 1))
def test_gaps_keep_their_digits(theta, slope):
    with mpmath.workdps(60):
        angle, kappa = mpmath.mpf(theta), mpmath.mpf(slope)
        alpha, gamma = (1 + kappa**2) / 2, (1 - kappa) ** 2 / (2 * mpmath.pi)
        bend = mpmath.sin(angle) - angle * mpmath.cos(angle)
        gap = alpha * (1 - mpmath.cos(angle)) - gamma * bend
    assert moments.sine_gap(theta) == pytest.approx(float(bend), rel=2e-14)
    assert moments.kernel_gap(theta, slope) == pytest.approx(float(gap), rel=2e-14)
    assert moments.kernel(theta, slope) + moments.kernel_gap(theta, slope) == pytest.approx(moments.alpha(slope))


def test_angle_between_keeps_small_angles_and_never_leaves_its_range():
    rng = np.random.default_rng(2)
    u = rng.standard_normal((2000, 64))
    cosine = np.sum(u * u, axis=1) / np.linalg.norm(u, axis=1) ** 2
    assert (cosine != 1).any()  # the trap: arccos of these is not 0, or is NaN
    np.testing.assert_array_equal(moments.angle_between(u, u), 0)
    np.testing.assert_allclose(moments.angle_between(u, -u), np.pi, rtol=1e-15)
    for angle in (1e-12, 1e-5, 1.0, np.pi - 1e-6):
        w = [5 * np.cos(angle), 5 * np.sin(angle)]
        assert moments.angle_between([3.0, 0.0], w) == pytest.approx(angle, rel=1e-10)


def test_angle_between_of_zero_and_along_another_axis():
    assert moments.angle_between([0.0, 0.0], [1.0, 0.0]) == 0
    u = np.array([[1.0, 0.0], [0.0, 1.0]])
    w = np.array([[1.0, 1.0], [0.0, -1.0]])
    np.testing.assert_allclose(moments.angle_between(u, w, axis=0), [0, 3 * np.pi / 4])
    np.testing.assert_allclose(moments.angle_between(u[:, None], u[None]), np.pi / 2 * (1 - np.eye(2)))


def test_arrays_broadcast():
    theta, slopes = np.linspace(0, np.pi, 4)[:, None], np.array([0.0, 0.5, 1.0])
    assert moments.kernel(theta, slopes).shape == (4, 3)
    assert moments.cross_moment([[1.0], [2.0], [3.0], [4.0]], 2.0, theta, slopes).shape == (4, 3)
    assert moments.stein_moment(np.ones((2, 5)), 0.5).shape == (2, 5)


BAD = [
    (lambda bad: moments.alpha(bad), "slope"),
    (lambda bad: moments.gamma(bad), "slope"),
    (lambda bad: moments.sine_gap(bad), "theta"),
    (lambda bad: moments.kernel(bad, 0.5), "theta"),
    (lambda bad: moments.kernel(1.0, bad), "slope"),
    (lambda bad: moments.kernel_gap(bad, 0.5), "theta"),
    (lambda bad: moments.kernel_derivative(bad, 0.5), "theta"),
    (lambda bad: moments.derivative_moment(1.0, bad), "slope"),
    (lambda bad: moments.second_moment(bad, 0.5), "deviation"),
    (lambda bad: moments.second_moment(1.0, bad), "slope"),
    (lambda bad: moments.cross_moment(bad, 1.0, 1.0, 0.5), "a"),
    (lambda bad: moments.cross_moment(1.0, bad, 1.0, 0.5), "b"),
    (lambda bad: moments.stein_moment(bad, 0.5), "vector"),
    (lambda bad: moments.stein_moment([1.0], bad), "slope"),
    (lambda bad: moments.angle_between(bad, [1.0]), "u"),
    (lambda bad: moments.angle_between([1.0], bad), "w"),
]


@pytest.mark.parametrize(("call", "name"), BAD)
def test_what_is_no_number_is_named(call, name):
    for bad in NOT_NUMBERS:
        with pytest.raises(ValueError, match=f"^{name} must"):
            call(bad)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: moments.kernel(-0.1, 0.5), r"theta must lie in \[0, pi\], its range was \[-0.1, -0.1\]"),
        (lambda: moments.kernel([1.0, 3.2], 0.5), r"theta must lie in \[0, pi\], its range was \[1, 3.2\]"),
        (lambda: moments.kernel(1.0, 1.5), r"slope must lie in \[0, 1\], was 1.5"),
        (lambda: moments.kernel([1.0, 2.0], [0.1, 0.2, 0.3]), r"broadcast.*theta \(2,\), slope \(3,\)"),
        (lambda: moments.second_moment(-1.0, 0.5), "deviation must not be negative, the least was -1"),
        (lambda: moments.second_moment([1.0, 2.0], [0.1, 0.2, 0.3]), r"broadcast.*deviation \(2,\), slope \(3,\)"),
        (lambda: moments.cross_moment([1.0, 2.0], [1.0, 2.0, 3.0], 1.0, 0.5), r"broadcast.*a \(2,\), b \(3,\)"),
        (lambda: moments.cross_moment(1.0, -2.0, 1.0, 0.5), "b must not be negative, the least was -2"),
        (lambda: moments.stein_moment(1.0, 0.5), "vector must have at least 1 dimension"),
        (lambda: moments.stein_moment([1.0], [0.5, 0.6]), r"slope must be one number, had shape \(2,\)"),
        (lambda: moments.angle_between(1.0, 2.0), "u and w must be arrays of vectors"),
        (lambda: moments.angle_between([1.0, 2.0], [1.0, 2.0, 3.0]), r"broadcast.*u \(2,\), w \(3,\)"),
        (lambda: moments.angle_between([1.0, 2.0], [[1.0], [2.0]]), "vectors of one length, had 2 and 1"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
