"""bilinear.verify: what holds is reported in one line, and everything else fails."""

import numpy as np
import pytest
import sympy as sp
from bilinear import verify

X = sp.symbols("x", positive=True)
Y = sp.symbols("y")


@pytest.mark.parametrize(
    ("residual", "figure"),
    [
        (sp.sin(Y) ** 2 + sp.cos(Y) ** 2 - 1, "residual 0"),
        (sp.Matrix([[X - X, (X + 1) ** 2 - X**2 - 2 * X - 1]]), "2 residuals 0"),
        ([sp.sqrt(X**2) - X, (sp.log(X**2) - 2 * sp.log(X),), sp.zeros(2, 2)], "6 residuals 0"),
        (sp.Integer(0), "residual 0"),
    ],
)
def test_proves_reports_what_is_zero(capsys, residual, figure):
    verify.proves("thm-x", residual, note="an identity")
    assert capsys.readouterr().out == f"proved    thm-x: an identity ({figure})\n"


@pytest.mark.parametrize(
    "residual",
    [
        X - 1,
        sp.sqrt(Y**2) - Y,  # wrong for negative y
        sp.Integer(1),
        sp.Rational(1, 10**30),
        sp.Float(0),
        sp.Float(1e-20) * X,
        0.0,
        0j,
        np.float64(0),
        np.zeros(3),
        True,
        False,
        None,
        "0",
        [],
        [[]],
        [sp.Integer(0), X],
        sp.Matrix(0, 0, []),
        sp.Matrix([[0, X]]),
        sp.nan,
        sp.oo,
        sp.zoo,
        sp.Eq(X, X),
        sp.true,
        sp.S.EmptySet,
        iter([sp.Integer(0)]),
        {sp.Integer(0)},
        sp.Piecewise((0, Y > 0), (1, True)),
    ],
    ids=lambda residual: type(residual).__name__,
)
def test_proves_refuses(capsys, residual):
    with pytest.raises(AssertionError, match="^thm-x"):
        verify.proves("thm-x", residual)
    assert capsys.readouterr().out == ""


def test_a_wrong_constant_is_refused_by_proves():
    """The derivative of the kernel, with gamma right and wrong."""
    theta, kappa = sp.symbols("theta kappa", positive=True)
    alpha = (1 + kappa**2) / 2
    for constant, good in ((2 * sp.pi, True), (4 * sp.pi, False)):
        gamma = (1 - kappa) ** 2 / constant
        kernel = alpha * sp.cos(theta) + gamma * (sp.sin(theta) - theta * sp.cos(theta))
        claim = -sp.sin(theta) * (alpha - (1 - kappa) ** 2 * theta / (2 * sp.pi))
        if good:
            verify.proves("lem-kernel", sp.diff(kernel, theta) - claim)
            with pytest.raises(AssertionError, match="residual 0"):
                verify.rejects("lem-kernel", sp.diff(kernel, theta) - claim)
        else:
            verify.rejects("lem-kernel", sp.diff(kernel, theta) - claim)
            with pytest.raises(AssertionError, match="is not zero"):
                verify.proves("lem-kernel", sp.diff(kernel, theta) - claim)


def test_rejects_refuses_what_is_not_symbolic(capsys):
    verify.rejects("thm-x", [sp.Integer(0), X], note="a wrong sign")
    assert capsys.readouterr().out == "rejected  thm-x: a wrong sign (residual not 0)\n"
    for bad in (0.5, True, [], sp.Float(0.5), None, "x"):
        with pytest.raises(AssertionError):
            verify.rejects("thm-x", bad)


@pytest.mark.parametrize(
    ("measured", "predicted", "rtol"),
    [
        (1.0, 1.0, 0),
        (1.009, 1.0, 0.01),
        (-99.5, -100, 0.01),
        ([1.0, 2.0], [1.0, 2.0 + 1e-12], 1e-9),
        (np.ones((2, 3)), 1, 1e-9),
        (0, 0, 1e-9),
        (sp.Rational(1, 4), 0.25, 1e-12),
        (sp.pi, np.pi, 1e-12),
    ],
)
def test_agrees_reports(capsys, measured, predicted, rtol):
    verify.agrees("prop-x", measured, predicted, rtol)
    assert capsys.readouterr().out == f"measured  prop-x (relative error <= {rtol:g})\n"


@pytest.mark.parametrize(
    ("measured", "predicted", "why"),
    [
        (1.02, 1.0, "measured 1.02, predicted 1, rtol 0.01"),
        (1.0, -1.0, "measured 1, predicted -1"),
        (1e-300, 0.0, "measured 1e-300, predicted 0"),
        ([1.0, 2.0, 3.5], [1.0, 2.0, 3.0], "measured 3.5, predicted 3"),
        ([1.0, 2.0], [1.0, 2.0, 3.0], r"shapes \(2,\) and \(3,\) do not match"),
        ([], [], "nothing to compare"),
        ([], 1.0, "nothing to compare"),
        (np.nan, np.nan, "not finite"),
        (np.inf, np.inf, "not finite"),
        ([1.0, np.nan], 1.0, "not finite"),
        (None, 1.0, "not finite"),
        (1.0, np.inf, "not finite"),
    ],
)
def test_agrees_refuses(capsys, measured, predicted, why):
    with pytest.raises(AssertionError, match=f"^prop-x: a law: .*{why}"):
        verify.agrees("prop-x", measured, predicted, rtol=0.01, note="a law")
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("bad", ["1", 1j, np.array([1j]), True, [[1.0], [1.0, 2.0]], {}, object()])
def test_agrees_names_what_is_no_number(bad):
    with pytest.raises(ValueError, match="^measured must be a number or an array of numbers, was"):
        verify.agrees("prop-x", bad, 1.0)
    with pytest.raises(ValueError, match="^predicted must be a number or an array of numbers, was"):
        verify.agrees("prop-x", 1.0, bad)


@pytest.mark.parametrize("bad", [1.0, 10, -1e-9, np.inf, np.nan, None, "1e-9", True, [0.1]])
def test_agrees_refuses_a_tolerance_that_lets_everything_pass(bad):
    with pytest.raises(ValueError, match="^rtol must"):
        verify.agrees("prop-x", 1.0, 2.0, rtol=bad)


@pytest.mark.parametrize(
    ("condition", "figure"),
    [
        (True, "true"),
        (np.True_, "true"),
        (sp.true, "true"),
        (sp.Integer(2) > 1, "true"),
        ([True, np.True_], "2 cases"),
        (np.ones((2, 3)) > 0, "6 cases"),
    ],
)
def test_holds_reports(capsys, condition, figure):
    verify.holds("cor-x", condition, note="a fact")
    assert capsys.readouterr().out == f"holds     cor-x: a fact ({figure})\n"


@pytest.mark.parametrize(
    ("condition", "why"),
    [
        (False, "does not hold$"),
        (np.False_, "does not hold$"),
        (sp.false, "does not hold$"),
        ([True, False, False], "does not hold in 2 of 3 cases"),
        (1, "not a truth value"),
        (1.0, "not a truth value"),
        ("true", "not a truth value"),
        (None, "not a truth value"),
        ([], "not a truth value"),
        ({}, "not a truth value"),
        (np.array([1, 1]), "not a truth value"),
        ([[True], [True, True]], "not a truth value"),
        (X > 1, "not a truth value"),
        ([sp.true, X > 1], "not a truth value"),
        (lambda: True, "not a truth value"),
    ],
)
def test_holds_refuses(capsys, condition, why):
    with pytest.raises(AssertionError, match=f"^cor-x: a fact: {why}"):
        verify.holds("cor-x", condition, note="a fact")
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("bad", [None, "", 3, True, ["thm-x"]])
def test_a_label_is_needed(bad):
    for call in (
        lambda: verify.proves(bad, sp.Integer(0)),
        lambda: verify.agrees(bad, 1.0, 1.0),
        lambda: verify.holds(bad, True),
        lambda: verify.holds(bad, False),
        lambda: verify.rejects(bad, X),
    ):
        with pytest.raises(ValueError, match="label must be the label of a claim, was"):
            call()


def test_rejects_sees_a_zero_that_sympy_does_not_simplify(monkeypatch):
    hidden = X * (sp.sin(Y) ** 2 + sp.cos(Y) ** 2 - 1)
    monkeypatch.setattr(sp, "simplify", lambda expression: expression)
    with pytest.raises(AssertionError, match="residual 0"):
        verify.rejects("thm-x", hidden)
    verify.rejects("thm-x", hidden + X)
    verify.rejects("thm-x", sp.MatrixSymbol("A", 2, 2)[0, 1])
    verify.rejects("thm-x", sp.Function("f")(X))
