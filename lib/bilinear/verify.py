"""The checks of the book: assert, then print one line of verdict.

The first argument of each is the label of the claim that the check supports, so that the claims page can tell which
cell stands behind which statement.
"""

import numpy as np

from . import _checks


def _title(label, note):
    if not isinstance(label, str) or not label:
        raise ValueError(f"label must be the label of a claim, was {label!r:.80}")
    return f"{label}: {note}" if note else label


def _fail(label, note, why):
    raise AssertionError(f"{_title(label, note)}: {why}")


def _report(verdict, label, note, figure):
    print(f"{verdict:<9} {_title(label, note)} ({figure})")


def _numbers(name, value):
    """`value` as an array of floats, NaN and infinity included; SymPy's numbers are numbers too."""
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "iufO":
            raise TypeError
        return array.astype(float)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be a number or an array of numbers, was {value!r:.80}") from None


def _symbolic(label, residual, note):
    """The entries of a residual as SymPy expressions without floating-point numbers."""
    import sympy

    def entries(item):
        if isinstance(item, (list, tuple)):
            for part in item:
                yield from entries(part)
        elif isinstance(item, sympy.MatrixBase):
            yield from item
        else:
            yield item

    found = list(entries(residual))
    if not found:
        _fail(label, note, "no residual was given")
    for entry in found:
        if isinstance(entry, bool) or not isinstance(entry, (int, sympy.Expr)):
            _fail(label, note, f"not a symbolic residual: {entry!r:.80}")
        if sympy.sympify(entry).has(sympy.Float):
            _fail(label, note, f"the residual has a floating-point number in it: {entry!s:.80}")
    return [sympy.sympify(entry) for entry in found]


def proves(label, residual, note=""):
    """Assert that a symbolic residual is exactly zero.

    Parameters
    ----------
    label : str
        Label of the claim.
    residual : SymPy expression, matrix, or a (nested) list or tuple of them
        Left side minus right side. Floating-point numbers are refused: they prove nothing.
    note : str
        What was shown.

    Raises
    ------
    AssertionError
        If a residual does not simplify to zero or is not symbolic.
    """
    import sympy

    found = _symbolic(label, residual, note)
    for entry in found:
        rest = entry if entry == 0 else sympy.simplify(entry)
        if rest != 0:
            _fail(label, note, f"residual {rest!s:.200} is not zero")
    _report("proved", label, note, "residual 0" if len(found) == 1 else f"{len(found)} residuals 0")


def agrees(label, measured, predicted, rtol=1e-9, note=""):
    """Assert that numbers agree to a relative tolerance.

    Parameters
    ----------
    label : str
        Label of the claim.
    measured, predicted : numbers or arrays that broadcast
    rtol : float in [0, 1)
        The largest |measured - predicted| allowed, relative to |predicted|. There is no absolute tolerance: a predicted
        zero must be met exactly, or be compared by `holds` against an explained bound.
    note : str
        What was compared.

    Raises
    ------
    AssertionError
        If they differ by more, if one is not finite, or if there is nothing to compare.
    ValueError
        If they are not numbers, or `rtol` is not in [0, 1).
    """
    measured, predicted = _numbers("measured", measured), _numbers("predicted", predicted)
    if not 0 <= _checks.number("rtol", rtol) < 1:
        raise ValueError(f"rtol must lie in [0, 1), was {rtol!r}")
    try:
        measured, predicted = np.broadcast_arrays(measured, predicted)
    except ValueError:
        _fail(label, note, f"shapes {measured.shape} and {predicted.shape} do not match")
    if measured.size == 0:
        _fail(label, note, "nothing to compare")
    if not (np.isfinite(measured).all() and np.isfinite(predicted).all()):
        _fail(label, note, "a number is not finite")
    error = np.abs(measured - predicted)
    worst = np.unravel_index(np.argmax(error - rtol * np.abs(predicted)), error.shape)
    if not (error <= rtol * np.abs(predicted)).all():
        _fail(label, note, f"measured {measured[worst]:.6g}, predicted {predicted[worst]:.6g}, rtol {rtol:g}")
    _report("measured", label, note, f"relative error <= {rtol:g}")


def holds(label, condition, note=""):
    """Assert a fact that is true or false: an inequality, an error that was raised, an exact equality.

    Parameters
    ----------
    label : str
        Label of the claim.
    condition : bool, NumPy bool or array of them, or SymPy true
    note : str
        What was checked.

    Raises
    ------
    AssertionError
        If the condition is false in any entry, is empty, or is not a truth value.
    """
    try:
        values = np.asarray(condition)
    except ValueError:  # rows of different lengths
        _fail(label, note, f"not a truth value: {condition!r:.80}")
    if values.dtype == object and values.size == 1:  # SymPy's own true and false
        import sympy

        if condition in (sympy.true, sympy.false):
            values = np.asarray(bool(condition))
    if values.dtype != bool or values.size == 0:
        _fail(label, note, f"not a truth value: {condition!r:.80}")
    if not values.all():
        _fail(label, note, "does not hold" + (f" in {(~values).sum()} of {values.size} cases" if values.ndim else ""))
    _report("holds", label, note, f"{values.size} cases" if values.ndim else "true")


def _vanishes(entry):
    """Whether an expression is zero at two trial points: SymPy can fail to simplify what is zero all the same."""
    import sympy

    symbols = sorted((part for part in entry.free_symbols if isinstance(part, sympy.Symbol)), key=str)
    for first in (3, 4):
        values = {symbol: sympy.Rational(sympy.prime(first + 2 * n), 7) for n, symbol in enumerate(symbols)}
        value = entry.subs(values).evalf(30)
        if not (value.is_number and abs(value) < 1e-20):
            return False
    return True


def rejects(label, residual, note=""):
    """Assert that `proves` refuses a wrong variant: the check beside it can fail.

    Parameters
    ----------
    label : str
        Label of the claim whose wrong variant this is.
    residual : as for `proves`
        A symbolic residual that is not zero.
    note : str
        What is wrong in the variant.

    Raises
    ------
    AssertionError
        If every residual is zero, or one is not symbolic.
    """
    import sympy

    found = _symbolic(label, residual, note)
    if all(sympy.simplify(entry) == 0 or _vanishes(entry) for entry in found):
        _fail(label, note, "the variant that should be wrong has residual 0")
    _report("rejected", label, note, "residual not 0")
