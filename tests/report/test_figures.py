"""Pictures and pages: what is drawn is the exact function, and files are what they claim to be."""

import subprocess
import sys
from fractions import Fraction

import matplotlib
import numpy as np
import pytest
from matplotlib.figure import Figure

import certune as ct
from certune.aggregates import Criterion
from certune.report import draw_landscape, landscape_figure
from certune.scores import Score
from certune.testing import StepFamily, StepInstance

DUALS = [
    ct.PiecewiseFunction([0, 0.5], [0.5 - 1e-9, 1], [1, 3], [1], [3], 4, name="x"),
    ct.PiecewiseFunction([0, 0.75], [0.75 - 1e-9, 1], [2, 1], [1], [2], 4, name="x"),
]
LANDSCAPE = ct.mean(DUALS)


def figure(**options):
    baselines = {"low": 0.375, "far": -5.0}
    return landscape_figure(LANDSCAPE, DUALS, LANDSCAPE.argmax(), baselines, "x", **options)


def test_landscape_is_drawn_as_the_exact_steps():
    top = figure().axes[0]
    steps = next(patch for patch in top.patches if type(patch).__name__ == "StepPatch")
    values, edges, _ = steps.get_data()
    np.testing.assert_array_equal(values, LANDSCAPE.values)
    np.testing.assert_allclose(edges, [0, 0.5, 0.75, 1], atol=1e-8)


def test_optimal_set_is_shaded():
    top = figure().axes[0]
    spans = [patch for patch in top.patches if type(patch).__name__ == "Rectangle"]
    [(low, high)] = LANDSCAPE.argmax()
    assert [(span.get_x(), span.get_x() + span.get_width()) for span in spans] == [
        (pytest.approx(low), pytest.approx(high))
    ]


def test_an_optimal_point_can_be_seen():
    ax = Figure().add_subplot()
    draw_landscape(ax, LANDSCAPE, [(0.25, 0.25)], {})
    span = next(patch for patch in ax.patches if type(patch).__name__ == "Rectangle")
    assert span.get_x() < 0.25 < span.get_x() + span.get_width()


def test_a_style_sheet_sets_the_size():
    assert tuple(figure().get_size_inches()) != (4, 3)
    with matplotlib.rc_context({"figure.figsize": (4, 3)}):
        assert tuple(figure().get_size_inches()) == (4, 3)


def test_baselines_are_named_and_far_ones_do_not_flatten_the_picture():
    drawn = figure()
    top = drawn.axes[0]
    texts = [text.get_text() for text in drawn.legends[0].get_texts()]
    assert "low (0.375)" in texts and "far (-5, out of view)" in texts
    low, high = top.get_ylim()
    assert -0.5 < low < 0.375 and LANDSCAPE.max() < high


def test_long_labels_are_wrapped_beside_low_axes():
    label = figure(criterion=Criterion(), score=Score("clustering accuracy"))
    assert label.axes[0].get_ylabel() == "mean clustering\naccuracy"


NAMES = ("energy distance", "ward", "k-means", "average (cut)", "complete (cut)", "single (cut)")
SIZES = [(9, 5.2), (9, 9.3), (5, 3), (4, 3), (3, 5), (12, 3)]


@pytest.mark.parametrize("style", ["default", "ggplot"])
@pytest.mark.parametrize(("width", "height"), SIZES)
@pytest.mark.parametrize("n", [2, 40])
def test_a_figure_of_any_size_has_its_texts_within_and_its_landscape_large(style, width, height, n):
    from matplotlib import style as styles

    functions = DUALS * (n // 2)
    values = dict(zip(NAMES, (0.4, 0.5, 0.3, -5.0, -6.0, -7.0), strict=True))
    with styles.context(style):
        drawn = landscape_figure(
            ct.mean(functions), functions, LANDSCAPE.argmax(), values, "x",
            title="OPTIMAL: best mean clustering accuracy 0.84125",
            score=Score("clustering accuracy"), robust=0.3,
        )  # fmt: skip
        drawn.set_size_inches(width, height)
        drawn.draw_without_rendering()
    top, strip, _ = drawn.axes
    labels = [axis.yaxis.label for axis in drawn.axes]
    texts = [drawn._suptitle, strip.xaxis.label, *labels]
    boxes = [item.get_window_extent() for item in (*texts, *drawn.legends) if item.get_visible()]
    for box in boxes:
        assert box.x0 >= -1 and box.x1 <= drawn.bbox.x1 + 1
        assert box.y0 >= -1 and box.y1 <= drawn.bbox.y1 + 1
    # Labels stay beside their own axes, and the legend takes a quarter at most.
    for label, ax in zip(labels, drawn.axes, strict=True):
        allowed = 1.15 * ax.get_window_extent().height
        assert not label.get_visible() or label.get_window_extent().height <= allowed
    assert top.yaxis.label.get_visible()
    assert drawn.legends[0].get_window_extent().height <= 0.26 * drawn.bbox.height
    assert top.get_window_extent().height >= 0.22 * drawn.bbox.height
    assert top.get_window_extent().width >= 0.45 * drawn.bbox.width


def test_the_picture_of_a_choice_fits_a_small_figure():
    instances = ct.datasets.random_clustering(2, n_clusters=2, n_per_cluster=4)
    names = ("power means from single to complete linkage", "min-max", "a third one")
    kinds = ("power-mean", "min-max", "power-mean")
    families = [ct.Linkage(kind, alpha=(-k, k)) for k, kind in zip((4, 5, 6), kinds, strict=True)]
    result = ct.tune(ct.Choice(dict(zip(names, families, strict=True))), instances)
    drawn = result.plot_landscape()
    drawn.set_size_inches(4, 3)
    drawn.draw_without_rendering()
    for box in (drawn._suptitle.get_window_extent(), drawn.legends[0].get_window_extent()):
        assert box.x0 >= -1 and box.x1 <= drawn.bbox.x1 + 1
    assert drawn.axes[0].get_window_extent().height > 0.35 * drawn.bbox.height


def test_a_legend_that_was_taken_away_is_not_brought_back():
    drawn = figure()
    drawn.legends[0].remove()
    drawn.set_size_inches(5, 3)
    drawn.draw_without_rendering()
    assert drawn.legends == []


def test_strip_has_one_row_for_each_instance():
    drawn = figure(instance_names=["one", "two"], title="headline")
    strip = drawn.axes[1]
    assert [label.get_text() for label in strip.get_yticklabels()] == ["one", "two"]
    rows = [mesh.get_array().ravel().tolist() for mesh in strip.collections[:2]]
    assert rows == [dual.values.tolist() for dual in DUALS]
    assert strip.get_xlabel() == "x" and drawn.get_suptitle() == "headline"
    assert drawn.axes[0].get_xlim() == strip.get_xlim() == (0.0, 1.0)


def test_rows_have_no_names_if_there_are_too_many():
    drawn = landscape_figure(LANDSCAPE, DUALS * 20, [], {}, "x", instance_names=["i"] * 40)
    assert drawn.axes[1].get_ylabel() == "40 instances"
    assert not drawn.axes[1].get_yticklabels()


def test_a_constant_landscape_can_be_drawn(tmp_path):
    flat = ct.PiecewiseFunction.constant(0, 1, Fraction(1, 2), name="x")
    drawn = landscape_figure(flat, [flat], flat.argmax(), {"a": 0.5}, "x", path=tmp_path / "f.png")
    low, high = drawn.axes[0].get_ylim()
    assert low < 0.5 < high and (tmp_path / "f.png").stat().st_size > 10_000


@pytest.mark.parametrize(("suffix", "magic"), [("png", b"\x89PNG"), ("svg", b"<?xml")])
def test_suffix_decides_on_the_format(tmp_path, suffix, magic):
    figure(path=tmp_path / f"landscape.{suffix}")
    assert (tmp_path / f"landscape.{suffix}").read_bytes().startswith(magic)


def test_figures_leave_pyplot_alone(tmp_path):
    statement = (
        "import sys, certune as ct\n"
        "from certune.testing import StepFamily, StepInstance\n"
        "result = ct.tune(StepFamily(), [StepInstance((0.5,), (0, 1))])\n"
        f"result.plot_landscape({str(tmp_path / 'f.png')!r})\n"
        "print('matplotlib' in sys.modules, 'matplotlib.pyplot' in sys.modules)"
    )
    command = [sys.executable, "-c", statement]
    finished = subprocess.run(command, capture_output=True, text=True, check=True)
    assert finished.stdout.split() == ["True", "False"]


def test_result_draws_itself(tmp_path):
    instances = [StepInstance((0.5,), (Fraction(0), Fraction(1)), name="a step")]
    result = ct.tune(StepFamily(), instances)
    drawn = result.plot_landscape(tmp_path / "landscape.png")
    assert (tmp_path / "landscape.png").exists()
    assert drawn.get_suptitle() == "OPTIMAL: best mean utility 1"
    assert drawn.axes[1].get_yticklabels()[0].get_text() == "a step"


def test_result_draws_into_given_axes(tmp_path):
    result = ct.tune(StepFamily(), [StepInstance((0.5,), (Fraction(0), Fraction(1)))])
    ax = Figure().add_subplot()
    assert result.plot_landscape(ax=ax) is ax.figure
    assert ax.get_xlabel() == "x" and ax.get_legend() is not None
    with pytest.raises(ct.ParameterError, match="either path or ax"):
        result.plot_landscape(tmp_path / "f.png", ax=ax)


def test_style_sheets_are_obeyed():
    from matplotlib import colors, style

    with style.context("dark_background"):
        drawn = figure()
    texts = [ax.xaxis.label for ax in drawn.axes] + [ax.yaxis.label for ax in drawn.axes]
    assert {colors.to_hex(text.get_color()) for text in texts} == {"#ffffff"}


def test_a_small_figure_keeps_its_axes(recwarn):
    drawn = figure(instance_names=["one", "two"], title="headline")
    drawn.set_size_inches(5, 3.2)
    drawn.draw_without_rendering()
    top = drawn.axes[0].get_window_extent()
    assert top.width > 0.6 * drawn.bbox.width and top.height > 0.25 * drawn.bbox.height
    assert not [item for item in recwarn if "constrained_layout" in str(item.message)]


@pytest.mark.parametrize("size", [(8, 9), (12, 3), (4, 4)])
def test_names_of_instances_do_not_collide_at_any_size(size):
    functions = [ct.PiecewiseFunction.constant(0, 1, Fraction(1, 2), name="a")] * 28
    names = [f"instance {number}" for number in range(28)]
    drawn = landscape_figure(functions[0], functions, [], {}, "a", instance_names=names)
    drawn.set_size_inches(*size)
    drawn.draw_without_rendering()
    strip = drawn.axes[1]
    labels = strip.get_yticklabels()
    assert len(labels) >= 2 and len(labels) == len(strip.get_yticks())
    for place, label in zip(strip.get_yticks(), labels, strict=True):
        assert label.get_text() == names[int(place)]
    boxes = sorted((label.get_window_extent() for label in labels), key=lambda box: box.y0)
    assert all(a.y1 <= b.y0 + 1 for a, b in zip(boxes, boxes[1:], strict=False))
    assert (size == (8, 9)) == (len(labels) == 28)


@pytest.mark.parametrize(("low", "high"), [(0.5, 3), (0.9, 1.2), (0.02, 4), (1e-4, 1e4)])
def test_ticks_of_a_logarithmic_axis_do_not_collide(low, high):
    function = ct.PiecewiseFunction.constant(low, high, Fraction(1, 2), name="lam")
    drawn = landscape_figure(function, [function], [], {}, "lam", log_scale=True)
    drawn.draw_without_rendering()
    strip = drawn.axes[1]
    shown = [
        label
        for place, label in zip(strip.get_xticks(), strip.get_xticklabels(), strict=True)
        if low <= place <= high and label.get_text()
    ]
    assert len(shown) >= 2
    boxes = sorted((label.get_window_extent() for label in shown), key=lambda box: box.x0)
    assert all(a.x1 < b.x0 for a, b in zip(boxes, boxes[1:], strict=False))
    assert not [label for label in strip.get_xticklabels(minor=True) if label.get_text()]


def test_the_robust_choice_is_drawn():
    result = ct.tune(StepFamily(), [StepInstance((0.5,), (Fraction(0), Fraction(1)))])
    labels = result.plot_landscape().axes[0].get_legend_handles_labels()[1]
    assert f"robust choice ({result.robust_params['x']:.4g})" in labels


def test_a_file_that_cannot_be_written(tmp_path):
    for path in (tmp_path / "nowhere" / "a.png", tmp_path / "a.xyz"):
        with pytest.raises(ct.InputError, match=r"cannot write the figure.*\.png, \.svg"):
            figure(path=path)
