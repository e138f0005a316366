"""Checks of arguments: each names the argument, what it was, and what was expected."""

import numpy as np


def real_array(name, value, ndim=None):
    """Return `value` as a finite float array; raise ValueError where it is not one. Truth values are no numbers."""
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "iuf":
            raise TypeError
        array = array.astype(float, copy=False)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be an array of real numbers, was {value!r:.80}") from None
    if ndim is not None and array.ndim != ndim:
        raise ValueError(f"{name} must have {ndim} dimensions, had shape {array.shape}")
    if array.size == 0:
        raise ValueError(f"{name} must not be empty, had shape {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite, had NaN or infinity in it")
    return array


def shaped(name, value, shape):
    """Return `value` as a finite float array of exactly this shape."""
    array = real_array(name, value)
    if array.shape != tuple(shape):
        raise ValueError(f"{name} must have shape {tuple(shape)}, had {array.shape}")
    return array


def whole(name, value, least=1):
    """Return `value` as an int that is at least `least`."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
        raise ValueError(f"{name} must be a whole number, was {value!r:.80}")
    if value < least:
        raise ValueError(f"{name} must be at least {least}, was {value}")
    return int(value)


def positive(name, value):
    """Return `value`, a number or array of numbers, all finite and above 0."""
    array = real_array(name, value)
    if not (array > 0).all():
        raise ValueError(f"{name} must be positive, was {value!r:.80}")
    return array if array.ndim else float(array)


def number(name, value):
    """Return `value` as one float."""
    array = real_array(name, value)
    if array.ndim:
        raise ValueError(f"{name} must be one number, had shape {array.shape}")
    return float(array)


def positive_number(name, value):
    """Return `value` as one float above 0."""
    return positive(name, number(name, value))


def slope(value, name="slope"):
    """Return the slope (a number or an array of them), all in [0, 1]."""
    array = real_array(name, value)
    if not ((array >= 0) & (array <= 1)).all():
        raise ValueError(f"{name} must lie in [0, 1], was {value!r:.80}")
    return array if array.ndim else float(array)


def one_slope(value):
    """Return the slope as one float in [0, 1]."""
    return slope(number("slope", value))


def broadcast(**arrays):
    """Return the shape that these arrays have together."""
    try:
        return np.broadcast_shapes(*map(np.shape, arrays.values()))
    except ValueError:
        shapes = ", ".join(f"{name} {np.shape(array)}" for name, array in arrays.items())
        raise ValueError(f"shapes must broadcast against each other, were {shapes}") from None


def instance(name, value, kind):
    """Return `value` if it is of this class."""
    if not isinstance(value, kind):
        raise ValueError(f"{name} must be a {kind.__name__}, was {value!r:.80}")
    return value


def generator(rng):
    """Return `rng` if it is a NumPy Generator: the book never draws from a global one."""
    if not isinstance(rng, np.random.Generator):
        raise ValueError(f"rng must be a numpy.random.Generator such as default_rng(0), was {rng!r:.80}")
    return rng
