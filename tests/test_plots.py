"""bilinear.plots: the figures show the numbers they were given; bad input."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from bilinear import dynamics, plots
from cases import NOT_NUMBERS
from matplotlib.colors import to_rgb

portrait = plots.phase_portrait
mpl.use("Agg")


@pytest.fixture(autouse=True)
def style():
    with mpl.rc_context():
        plots.use_style()
        yield
    plt.close("all")


def luminance(colour):
    """Relative luminance of WCAG."""
    channels = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
    return np.dot(channels, [0.2126, 0.7152, 0.0722])


def test_style_can_be_read_in_dark_mode_and_colours_differ():
    assert mpl.rcParams["figure.facecolor"] == mpl.rcParams["savefig.facecolor"] == "white"
    assert len({luminance(colour) for colour in plots.COLOURS}) == len(plots.COLOURS) == 7
    assert all(1.05 / (luminance(colour) + 0.05) > 2 for colour in plots.COLOURS)


def test_score_maps_show_their_matrices_on_one_scale():
    rng = np.random.default_rng(0)
    panels = {"a": rng.random((4, 4)), "b": -rng.random((3, 5)), "c": np.eye(2), "d": np.zeros((2, 2))}
    figure, axes = plots.score_maps(panels, columns=3)
    assert [axis.get_title() for axis in axes] == list(panels)
    for axis, panel in zip(axes, panels.values(), strict=True):
        image = axis.images[0]
        np.testing.assert_array_equal(image.get_array(), panel)
        assert image.get_clim() == (panels["b"].min(), 1.0)
        assert "position" in axis.get_xlabel() and "position" in axis.get_ylabel()
    assert len([axis for axis in figure.axes if axis.get_visible()]) == 5  # four panels and the colour bar
    assert plots.score_maps({"a": np.eye(3)}, vmax=0.5)[1][0].images[0].get_clim() == (0, 0.5)


def test_loglog_draws_what_is_positive():
    _, axis = plt.subplots()
    plots.loglog(axis, {"run": ([0, 1, 10, 100], [3.0, 2.0, -1.0, 0.5]), "law": ([1, 10], [1.0, 0.1])}, ylabel="loss")
    first, second = axis.lines
    assert first.get_xdata().tolist() == [1, 100] and first.get_ydata().tolist() == [2, 0.5]
    assert (axis.get_xscale(), axis.get_yscale()) == ("log", "log")
    assert (axis.get_xlabel(), axis.get_ylabel()) == ("step", "loss")
    assert [text.get_text() for text in axis.get_legend().get_texts()] == ["run", "law"]
    assert first.get_color() != second.get_color()


def test_slope_guide_has_its_slope():
    _, axis = plt.subplots()
    axis.loglog([1, 1000], [1, 1])
    plots.slope_guide(axis, 10, 1000, 2.0, -0.5)
    (x0, x1), (y0, y1) = axis.lines[1].get_data()
    assert (x0, x1, y0) == (10, 1000, 2.0)
    assert np.log(y1 / y0) / np.log(x1 / x0) == pytest.approx(-0.5)
    assert axis.texts[0].get_text() == "slope -0.5"
    plots.slope_guide(axis, 10, 1000, 2.0, -1, label="1/T")
    assert axis.texts[1].get_text() == "1/T"


def test_phase_portrait_draws_the_path_over_the_levels():
    _, axis = plt.subplots()
    reduced = dynamics.Reduced(20, 4, 2.0, 0.1)
    path = reduced.run(0.1, 200, record=range(201))
    portrait(axis, reduced, (0, 2), (0, 4), path, points=30)
    line = axis.lines[-1]
    np.testing.assert_array_equal(line.get_xdata(), path[1])
    np.testing.assert_array_equal(line.get_ydata(), path[0])
    assert axis.get_xlim() == (0, 4) and axis.get_ylim() == (0, 2)
    portrait(plt.subplots()[1], reduced, (0, 2), (0, 4), points=10)
    axis.figure.canvas.draw()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda axis: plots.score_maps({}), "panels must be a dict .* with one entry at least, was {}"),
        (lambda axis: plots.score_maps([np.eye(2)]), "panels must be a dict"),
        (lambda axis: plots.score_maps({"a": np.ones(3)}), r"panel 'a' must have 2 dimensions, had shape \(3,\)"),
        (lambda axis: plots.score_maps({"a": [[np.nan]]}), "panel 'a' must be finite"),
        (lambda axis: plots.score_maps({"a": np.eye(2)}, columns=0), "columns must be at least 1, was 0"),
        (lambda axis: plots.score_maps({"a": np.eye(2)}, vmax="x"), "vmax must be an array of real numbers, was 'x'"),
        (lambda axis: plots.loglog(axis, {}), "curves must be a dict"),
        (lambda axis: plots.loglog(axis, [([1], [1])]), "curves must be a dict"),
        (lambda axis: plots.loglog(axis, {"a": 3}), "curve 'a' must be a pair, was 3"),
        (lambda axis: plots.loglog(axis, {"a": ([1, 2], [1])}), r"values of 'a' must have shape \(2,\), had \(1,\)"),
        (lambda axis: plots.loglog(axis, {"a": ([1], [np.nan])}), "values of 'a' must be finite"),
        (lambda axis: plots.slope_guide(axis, 0, 1, 1, 1), "start must be positive, was 0"),
        (lambda axis: plots.slope_guide(axis, 1, -1, 1, 1), "stop must be positive, was -1"),
        (lambda axis: plots.slope_guide(axis, 1, 2, 0, 1), "value must be positive, was 0"),
        (
            lambda axis: portrait(axis, "reduced", (0, 1), (0, 1)),
            "reduced must be a Reduced, was 'reduced'",
        ),
        (
            lambda axis: portrait(axis, SWEEP, (0, 1), (0, 1)),
            r"reduced must be one setting, was a sweep of",
        ),
        (lambda axis: portrait(axis, ONE, (1, 0), (0, 1)), "c1_range must rise, was 1 to 0"),
        (lambda axis: portrait(axis, ONE, 3, (0, 1)), "c1_range must be a pair, was 3"),
        (
            lambda axis: portrait(axis, ONE, (0, 1), (0, 1, 2)),
            r"delta_range must be a pair, was \(0, 1, 2\)",
        ),
        (lambda axis: portrait(axis, ONE, (0, 1), (0, 1), points=1), "points must be at least 2, was 1"),
        (lambda axis: portrait(axis, ONE, (0, 1), (0, 1), path=3), "path must be a pair, was 3"),
        (lambda axis: portrait(axis, ONE, (0, 1), (0, 1), ([1, 2], [1])), r"path must have shape \(2,\)"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call(plt.subplots()[1])


ONE, SWEEP = dynamics.Reduced(4, 2), dynamics.Reduced([4, 5], 2)


def test_what_is_no_number_is_named():
    axis = plt.subplots()[1]
    for bad in NOT_NUMBERS:
        with pytest.raises(ValueError, match="^slope must"):
            plots.slope_guide(axis, 1, 2, 1, bad)
        with pytest.raises(ValueError, match="^c1_range must"):
            portrait(axis, ONE, (0, bad), (0, 1))
