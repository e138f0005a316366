"""The symbolic closed forms are the numerical ones."""

import numpy as np
import pytest
import sympy as sp
from bilinear import moments, symbolic

KAPPA, THETA = sp.symbols("kappa theta", real=True)


@pytest.mark.parametrize("name", ["kernel", "derivative_moment"])
@pytest.mark.parametrize("slope", [0, 0.1, 0.5, 1])
def test_symbolic_and_numerical_forms_agree(name, slope):
    theta = np.linspace(0, np.pi, 181)
    expression = getattr(symbolic, name)(THETA, KAPPA)
    values = sp.lambdify((THETA, KAPPA), expression)(theta, slope) * np.ones_like(theta)
    np.testing.assert_allclose(values, getattr(moments, name)(theta, slope), rtol=0, atol=1e-14)


def test_constants_agree():
    for slope in (0, 0.1, 0.5, 1):
        assert float(symbolic.alpha(slope)) == pytest.approx(moments.alpha(slope), rel=1e-15)
        assert float(symbolic.gamma(slope)) == pytest.approx(moments.gamma(slope), rel=1e-15)
