"""The picture of a tuning run: the exact mean landscape above one row for each instance.

matplotlib is imported on use, and figures are made without pyplot, so that nothing depends on a
display or changes global state.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from certune.aggregates import Criterion
from certune.dual import DualFunction, PiecewiseFunction
from certune.figures import (
    OUT_OF_VIEW,
    fit_headline,
    fit_label,
    fit_legend,
    fitting_figure,
    is_dark,
    legend_below,
    mark_decades,
    save_figure,
)
from certune.scores import Score

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FloatArray = npt.NDArray[np.float64]

# Colours of Okabe and Ito, which colour-blind readers can tell apart; so can they with cividis.
LINE_COLOUR, OPTIMUM_COLOUR = "#0072B2", "#E69F00"
LINE_COLOUR_ON_DARK, ROBUST_COLOUR = "#56B4E9", "#009E73"
BASELINE_COLOURS = ("#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#666666")
BASELINE_DASHES = ("--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)))
HEAT_COLOURS = "cividis"
# A narrow optimal interval is still drawn this wide, as a share of the domain.
NARROWEST_SHARE = 0.004
ROWS_WITH_NAMES, ROWS_WITH_GAPS = 30, 60
CURVE_POINTS = 600
# Letters of a label beside an axis, which a low picture must have room for.
LABEL_WIDTH = 20
NAME_SIZE, LINE_HEIGHT = "x-small", 1.15
# Heights in inches: of the landscape, of the texts around the axes, and of ticks and margins; and
# the share of the axes that the landscape keeps where a figure is low.
TOP_HEIGHT, TEXT_HEIGHT, TICKS_HEIGHT, TOP_SHARE = 3.4, 0.9, 0.35, 0.65
# Inches below which a figure has small numbers.
SMALL_FIGURE = 5.0
UTILITY, MEAN = Score(), Criterion()


def landscape_figure(
    landscape: DualFunction,
    duals: Sequence[DualFunction],
    best_region: Sequence[tuple[float, float]],
    baselines: Mapping[str, float],
    name: str,
    *,
    log_scale: bool = False,
    title: str = "",
    instance_names: Sequence[str] | None = None,
    path: str | PathLike[str] | None = None,
    score: Score = UTILITY,
    robust: float | None = None,
    criterion: Criterion = MEAN,
) -> Figure:
    """Draw a mean landscape, its optimal set and defaults, and a heat strip of all instances.

    Parameters
    ----------
    landscape : PiecewiseFunction or PiecewisePolynomial
        The mean.
    duals : sequence of PiecewiseFunction or PiecewisePolynomial
        One function for each instance, on the same domain.
    best_region : sequence of (float, float)
        Optimal intervals, to be shaded.
    baselines : mapping of str to float
        Values of default settings, drawn as horizontal lines.
    name : str
        Name of the parameter.
    log_scale : bool, default=False
        Whether the parameter has a logarithmic axis.
    title : str, optional
        Headline.
    instance_names : sequence of str, optional
        Names for the rows of the heat strip.
    path : path, optional
        Also write the figure to this file; the suffix decides on the format.
    score : Score, optional
        What is drawn instead of utilities.
    robust : float, optional
        The robust choice, to be marked.
    criterion : Criterion, optional
        What the landscape is of the instances.

    Returns
    -------
    matplotlib.figure.Figure
        A figure that is not known to pyplot.
    """
    strip_height = min(max(0.9, 0.18 * len(duals)), 5.0)

    def fit(figure: Any) -> None:
        fit_headline(figure._suptitle, 0.97 * figure.bbox.width)
        fit_legend(figure, handles, labels)
        around = [figure._suptitle, strip.xaxis.label, *figure.legends]
        taken = sum(item.get_window_extent().height for item in around) / figure.dpi
        height = float(figure.get_size_inches()[1])
        room = max(height - taken - TICKS_HEIGHT, 0.3 * height)
        kept = room * TOP_HEIGHT / (TOP_HEIGHT + strip_height)
        landscape_height = max(kept, min(TOP_HEIGHT, TOP_SHARE * room))
        grid.set_height_ratios((landscape_height, room - landscape_height))
        small = min(figure.get_size_inches()) < SMALL_FIGURE
        for axis in (top.yaxis, strip.xaxis):
            axis.set_tick_params(which="both", labelsize="small" if small else "medium")
        # Some of the room is taken by what lies between the axes.
        per_inch, size = 0.85 * figure.dpi, "small" if small else "medium"
        fit_label(top.yaxis.label, per_inch * landscape_height, size)
        # Beside a strip that is too low for them: the name of the scale is that above, too.
        for label, largest in ((strip.yaxis.label, size), (bar.yaxis.label, "small")):
            label.set_visible(fit_label(label, per_inch * (room - landscape_height), largest))

    figure = fitting_figure((9.0, TEXT_HEIGHT + TOP_HEIGHT + strip_height), fit)
    grid = figure.add_gridspec(
        2, 2, height_ratios=(TOP_HEIGHT, strip_height), width_ratios=(1.0, 0.018), hspace=0.02,
        wspace=0.01,
    )  # fmt: skip
    top = figure.add_subplot(grid[0, 0])
    strip = figure.add_subplot(grid[1, 0], sharex=top)
    draw_landscape(
        top, landscape, best_region, baselines, log_scale=log_scale, score=score, robust=robust,
        criterion=criterion,
    )  # fmt: skip
    handles, labels = top.get_legend_handles_labels()
    inner = top.get_legend()
    if inner is not None:
        inner.remove()
    legend_below(figure, handles, labels, "small", 2)
    top.tick_params(which="both", labelbottom=False)
    figure.suptitle(title, fontsize="large", fontweight="bold")
    mesh = _draw_strip(strip, duals, best_region, instance_names, score)
    bar = figure.add_subplot(grid[1, 1])
    _draw_scale(bar, mesh, score)
    strip.set_xlabel(name)
    return cast("Figure", save_figure(figure, path))


def draw_landscape(
    ax: Axes,
    landscape: DualFunction,
    best_region: Sequence[tuple[float, float]],
    baselines: Mapping[str, float],
    *,
    log_scale: bool = False,
    score: Score = UTILITY,
    robust: float | None = None,
    criterion: Criterion = MEAN,
) -> None:
    """Draw a landscape into axes, with its optimal set and the values of default settings.

    Parameters
    ----------
    ax : matplotlib Axes
        Where to draw.
    landscape : PiecewiseFunction or PiecewisePolynomial
        The mean.
    best_region : sequence of (float, float)
        Optimal intervals, to be shaded.
    baselines : mapping of str to float
        Values of default settings, drawn as horizontal lines.
    log_scale : bool, default=False
        Whether the parameter has a logarithmic axis.
    score : Score, optional
        What is drawn instead of utilities.
    robust : float, optional
        The robust choice, to be marked.
    criterion : Criterion, optional
        What the landscape is of the instances.
    """
    if log_scale:
        ax.set_xscale("log")
        mark_decades(ax.xaxis, landscape.low, landscape.high)
    defaults = {label: score.of(value) for label, value in baselines.items()}
    low, high = _visible_range(score.of(_values(landscape)), list(defaults.values()))
    _shade(ax, landscape, best_region, f"optimal set ({score.of(landscape.max()):.4g})")
    line: dict[str, Any] = {
        "color": LINE_COLOUR_ON_DARK if is_dark(ax) else LINE_COLOUR, "linewidth": 1.8, "zorder": 3,
        "label": f"exact {criterion.words(score.name)}",
    }  # fmt: skip
    if isinstance(landscape, PiecewiseFunction):
        ax.stairs(score.of(landscape.values), _edges(landscape), baseline=None, **line)
    else:
        places = _places(landscape, log_scale)
        ax.plot(places, score.of(landscape(places)), **line)
    for number, (label, value) in enumerate(sorted(defaults.items(), key=lambda item: -item[1])):
        hidden = "" if low <= value <= high else OUT_OF_VIEW
        ax.axhline(
            value, color=BASELINE_COLOURS[number % len(BASELINE_COLOURS)],
            linestyle=BASELINE_DASHES[number % len(BASELINE_DASHES)], linewidth=1.5, zorder=2,
            label=f"{label} ({value:.4g}{hidden})",
        )  # fmt: skip
    if robust is not None:
        ax.axvline(
            robust,
            color=ROBUST_COLOUR,
            linewidth=1.5,
            zorder=2,
            label=f"robust choice ({robust:.4g})",
        )
    ax.set_xlim(landscape.low, landscape.high)
    ax.set_ylim(low, high)
    ax.set_ylabel(textwrap.fill(criterion.words(str(score)), LABEL_WIDTH))
    _tidy(ax)
    ax.grid(axis="y", alpha=0.35, linewidth=0.7)
    ax.set_axisbelow(True)
    ax.legend(loc="best", fontsize="small")


def _visible_range(values: FloatArray, defaults: Sequence[float]) -> tuple[float, float]:
    """Return limits that show a landscape well; defaults that are far away stay outside."""
    lowest, highest = float(values.min()), float(values.max())
    reach = (highest - lowest) or 0.05
    near = [value for value in defaults if lowest - reach <= value <= highest + reach]
    low, high = min(lowest, *near, highest), max(highest, *near, lowest)
    margin = 0.08 * (high - low) or 0.05
    return low - margin, high + margin


def _values(function: DualFunction) -> FloatArray:
    """Return the values of the steps, or those of a curve at many points."""
    if isinstance(function, PiecewiseFunction):
        return function.values
    values = function(
        np.concatenate((_places(function, False), _places(function, function.low > 0)))
    )
    return values[~np.isnan(values)]


def _places(function: DualFunction, log_scale: bool) -> FloatArray:
    """Return points at which to draw a curve: evenly many on the axis, and all ends of pieces."""
    spread = np.geomspace if log_scale else np.linspace
    even = np.clip(spread(function.low, function.high, CURVE_POINTS), function.low, function.high)
    return np.unique(np.concatenate((even, function.starts, function.stops)))


def _edges(function: DualFunction) -> FloatArray:
    """Return where to draw the steps: the middles of the gaps, and the ends of the domain."""
    middles = function.breakpoints.mean(axis=1)
    return np.concatenate(([function.low], middles, [function.high]))


def _shade(
    ax: Axes, landscape: DualFunction, region: Sequence[tuple[float, float]], label: str | None
) -> None:
    for number, (low, high) in enumerate(region):
        low, high = _visible(ax, landscape, low, high)
        ax.axvspan(
            low, high, color=OPTIMUM_COLOUR, alpha=0.45, linewidth=0, zorder=1,
            label=label if number == 0 else None,
        )  # fmt: skip


def _visible(ax: Axes, landscape: DualFunction, low: float, high: float) -> tuple[float, float]:
    """Return an interval that is wide enough to be seen."""
    if ax.get_xscale() == "log":
        narrowest = (landscape.high / landscape.low) ** NARROWEST_SHARE
        factor = max(1.0, narrowest / (high / low)) ** 0.5
        return low / factor, high * factor
    missing = max(0.0, NARROWEST_SHARE * (landscape.high - landscape.low) - (high - low)) / 2
    return low - missing, high + missing


def _draw_strip(
    ax: Axes,
    duals: Sequence[DualFunction],
    region: Sequence[tuple[float, float]],
    names: Sequence[str] | None,
    score: Score,
) -> Any:
    scores = [score.of(_values(dual)) for dual in duals]
    lowest = min(float(values.min()) for values in scores)
    highest = max(float(values.max()) for values in scores)
    half = 0.44 if len(duals) <= ROWS_WITH_GAPS else 0.5
    for row, dual in enumerate(duals):
        edges, values = _steps(dual, ax.get_xscale() == "log")
        mesh = ax.pcolormesh(
            edges, [row - half, row + half], score.of(values)[None],
            cmap=HEAT_COLOURS if score.greater_is_better else f"{HEAT_COLOURS}_r",
            vmin=lowest, vmax=highest, rasterized=True,
        )  # fmt: skip
    for end in {end for interval in region for end in interval}:
        ax.axvline(end, color=OPTIMUM_COLOUR, linewidth=1.2)
    ax.set_ylim(len(duals) - 0.5, -0.5)
    if names is not None and len(duals) <= ROWS_WITH_NAMES:
        _name_rows(ax, names)
    else:
        ax.set_yticks([])
        ax.set_ylabel(f"{len(duals)} instances")
    _tidy(ax)
    ax.tick_params(axis="y", length=0, labelsize=NAME_SIZE)
    return mesh


def _name_rows(ax: Axes, names: Sequence[str]) -> None:
    """Name the rows, or as many of them as have room, whatever size the figure gets."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.ticker import FixedFormatter, FixedLocator

    class Rows(FixedLocator):
        def __call__(self) -> Any:
            height = ax.get_window_extent().height * 72 / ax.figure.dpi
            line = LINE_HEIGHT * FontProperties(size=NAME_SIZE).get_size_in_points()
            step = max(1, math.ceil(len(names) * line / max(height, 1.0)))
            shown = range(0, len(names), step)
            ax.yaxis.set_major_formatter(FixedFormatter([names[row] for row in shown]))
            return np.array(shown)

    ax.yaxis.set_major_locator(Rows(range(len(names))))


def _steps(function: DualFunction, log_scale: bool) -> tuple[FloatArray, FloatArray]:
    """Return a function as edges and values of steps, a curve with its values in between."""
    if isinstance(function, PiecewiseFunction):
        return _edges(function), function.values
    edges = _places(function, log_scale)
    return edges, function(0.5 * edges[:-1] + 0.5 * edges[1:])


def _draw_scale(ax: Axes, mesh: Any, score: Score) -> None:
    bar = ax.figure.colorbar(mesh, cax=ax)
    bar.set_label(score.name, fontsize="small")
    bar.ax.tick_params(labelsize="small")
    bar.outline.set_visible(False)


def _tidy(ax: Any) -> None:
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
