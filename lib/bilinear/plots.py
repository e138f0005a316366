"""One look for all figures of the book: colour-blind safe, white background, labelled axes."""

import numpy as np

from . import _checks
from .dynamics import Reduced

# Okabe and Ito's palette, which readers with any common colour blindness can tell apart; black comes last.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")


def use_style():
    """Set Matplotlib's defaults for the book; call it once at the top of a notebook."""
    import matplotlib as mpl

    mpl.rcParams.update(
        {
            "axes.grid": True,
            "axes.prop_cycle": mpl.cycler(color=COLOURS),
            "axes.spines.right": False,
            "axes.spines.top": False,
            "figure.constrained_layout.use": True,
            "figure.dpi": 110,
            "figure.facecolor": "white",
            "figure.figsize": (7.0, 4.2),
            "font.size": 11,
            "grid.alpha": 0.3,
            "image.cmap": "cividis",
            "lines.linewidth": 1.8,
            "savefig.facecolor": "white",
        }
    )


def score_maps(panels, columns=3, vmax=None):
    """Heat maps of matrices of scores side by side on one colour scale.

    Parameters
    ----------
    panels : dict of title -> array (D, D) or any matrix
    columns : int
        Panels a row.
    vmax : float or None
        The top of the colour scale; None is the largest entry.

    Returns
    -------
    figure, axes (flat array, one a panel)

    Raises
    ------
    ValueError
        If there are no panels, one is not a finite matrix, or `columns` < 1.
    """
    import matplotlib.pyplot as plt

    if not isinstance(panels, dict) or not panels:
        raise ValueError(f"panels must be a dict of title -> matrix with one entry at least, was {panels!r:.80}")
    panels = {title: _checks.real_array(f"panel {title!r}", panel, ndim=2) for title, panel in panels.items()}
    count = len(panels)
    columns = min(_checks.whole("columns", columns), count)
    rows = -(-count // columns)
    figure, axes = plt.subplots(rows, columns, figsize=(2.6 * columns + 0.8, 2.7 * rows), squeeze=False)
    top = max(np.max(panel) for panel in panels.values()) if vmax is None else _checks.number("vmax", vmax)
    low = min(0.0, min(np.min(panel) for panel in panels.values()))
    axes = axes.ravel()
    for axis, (title, panel) in zip(axes, panels.items(), strict=False):
        image = axis.imshow(panel, vmin=low, vmax=top, interpolation="nearest")
        axis.set_title(title, fontsize=10)
        axis.grid(False)
        axis.set_xlabel("output position $i$")
        axis.set_ylabel("input position $j$")
    for axis in axes[count:]:
        axis.set_visible(False)
    figure.colorbar(image, ax=axes[:count].tolist(), shrink=0.8)
    return figure, axes[:count]


def _pair(name, value):
    try:
        first, second = value
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be a pair, was {value!r:.80}") from None
    return first, second


def loglog(axis, curves, xlabel="step", ylabel="excess loss"):
    """Draw curves on logarithmic axes.

    Parameters
    ----------
    axis : Matplotlib axes
    curves : dict of label -> (steps, values)
        Points where either is not positive are left out.
    xlabel, ylabel : str

    Raises
    ------
    ValueError
        If a curve is not two finite rows of one length.
    """
    if not isinstance(curves, dict) or not curves:
        raise ValueError(f"curves must be a dict of label -> (steps, values), was {curves!r:.80}")
    for label, curve in curves.items():
        steps, values = _pair(f"curve {label!r}", curve)
        steps = _checks.real_array(f"steps of {label!r}", steps, ndim=1)
        values = _checks.shaped(f"values of {label!r}", values, steps.shape)
        shown = (steps > 0) & (values > 0)
        axis.loglog(steps[shown], values[shown], label=label)
    axis.set_xlabel(xlabel)
    axis.set_ylabel(ylabel)
    axis.legend(frameon=False)


def slope_guide(axis, start, stop, value, slope, label=None):
    """A dashed line of the given log-log slope from (start, value) to `stop`, with its slope written beside it.

    Parameters
    ----------
    axis : Matplotlib axes
    start, stop, value : numbers > 0
    slope : number
    label : str or None
        What to write beside it; None is the slope.

    Raises
    ------
    ValueError
        If a number is not positive or the slope not finite.
    """
    ends = np.array([_checks.positive_number("start", start), _checks.positive_number("stop", stop)])
    value, slope = _checks.positive_number("value", value), _checks.number("slope", slope)
    line = value * (ends / start) ** slope
    axis.plot(ends, line, linestyle="--", color="0.35", linewidth=1.2)
    middle = np.sqrt(ends[0] * ends[1]), np.sqrt(line[0] * line[1])
    text = f"slope {slope:g}" if label is None else label
    axis.annotate(text, middle, xytext=(6, 6), textcoords="offset points", color="0.25", fontsize=9)


def phase_portrait(axis, reduced, c1_range, delta_range, path=None, points=220):
    """Levels of the reduced loss over (delta, C1), arrows of steepest descent as the matrices see it, and a path.

    Parameters
    ----------
    axis : Matplotlib axes
    reduced : dynamics.Reduced of one setting
    c1_range, delta_range : (low, high)
    path : (c1, delta) arrays or None
    points : int
        Grid points a side.

    Raises
    ------
    ValueError
        If `reduced` is not one setting, a range does not rise, the path is not two rows of one length, or there are
        fewer than 2 points.
    """
    if _checks.instance("reduced", reduced, Reduced).shape:
        raise ValueError(f"reduced must be one setting, was a sweep of shape {reduced.shape}")
    sides = []
    for name, ends in (("c1_range", c1_range), ("delta_range", delta_range)):
        low, high = (_checks.number(name, end) for end in _pair(name, ends))
        if low >= high:
            raise ValueError(f"{name} must rise, was {low:g} to {high:g}")
        sides.append(np.linspace(low, high, _checks.whole("points", points, least=2)))
    if path is not None:
        path = _pair("path", path)
        path = [_checks.real_array("path", path[0], ndim=1), _checks.shaped("path", path[1], np.shape(path[0]))]
    delta, c1 = np.meshgrid(sides[1], sides[0])
    loss = reduced.loss(c1, delta)
    levels = np.geomspace(loss.max() * 1e-4, loss.max(), 16)
    axis.contour(delta, c1, loss, levels=levels, cmap="cividis", linewidths=0.8)
    first, second = reduced.velocity(c1, delta)
    axis.streamplot(delta, c1, second, first, color="0.75", density=0.9, linewidth=0.6, arrowsize=0.8)
    axis.axhline(1, color="0.5", linewidth=0.8, linestyle=":")
    if path is not None:
        axis.plot(path[1], path[0], color=COLOURS[1], linewidth=2.2, label="gradient descent from zero")
        axis.legend(frameon=False, loc="upper right")
    axis.set_xlim(*delta_range)
    axis.set_ylim(*c1_range)
    axis.set_xlabel(r"$\delta$")
    axis.set_ylabel("$C_1$")
