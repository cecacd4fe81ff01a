"""Pictures of an online run: regret under its bound, the density through time, dispersion.

Like all pictures here they are made of plain numbers, without pyplot.
"""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from certune.figures import (
    LABEL_SHARE,
    count_rounds,
    fit_headline,
    fit_label,
    fit_legend,
    fitting_figure,
    is_dark,
    legend_below,
    mark_decades,
    save_figure,
)
from certune.report.landscape import HEAT_COLOURS, LINE_COLOUR, LINE_COLOUR_ON_DARK

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FloatArray = npt.NDArray[np.float64]
Path = str | PathLike[str] | None

EXPECTED_COLOUR, BOUND_COLOUR = "#009E73", "#D55E00"
# Densities are shown from this share of the evenly spread one on.
FAINTEST = 1e-3


# What is smaller is zero, which has no place on a logarithmic scale.
ROUNDING = 1e-12


def regret_figure(
    rounds: Sequence[int],
    regrets: Sequence[float],
    expected: Sequence[float] | None,
    bounds: Sequence[float] | None,
    *,
    title: str = "",
    path: Path = None,
) -> Figure:
    """Draw the average regret against the number of rounds, on logarithmic scales.

    Parameters
    ----------
    rounds : sequence of int
        Numbers of rounds.
    regrets : sequence of float
        Regret after so many rounds.
    expected : sequence of float, optional
        Regret of the expected utilities.
    bounds : sequence of float, optional
        Bounds of the expected regret.
    title : str, optional
        Headline.
    path : path, optional
        Also write the figure to this file.
    """
    figure, ax = _new_figure(title)
    line = LINE_COLOUR_ON_DARK if is_dark(ax) else LINE_COLOUR
    counts = np.asarray(rounds, dtype=np.float64)
    curves: list[tuple[Sequence[float] | None, dict[str, Any]]] = [
        (bounds, {"color": BOUND_COLOUR, "linestyle": "--", "label": "bound with its constants"}),
        (expected, {"color": EXPECTED_COLOUR, "linestyle": "-.", "label": "expected"}),
        (regrets, {"color": line, "linewidth": 2.0, "label": "regret, exact"}),
    ]
    lowest = np.inf
    for values, style in curves:
        if values is None:
            continue
        averages = np.asarray(values, dtype=np.float64) / counts
        shown = np.where(averages > ROUNDING, averages, np.nan)
        ax.plot(counts, shown, **style)
        lowest = min(lowest, np.nanmin(shown, initial=np.inf))
    _guide(ax, counts)
    ax.set_xscale("log")
    ax.set_yscale("log")
    if np.isfinite(lowest):
        ax.set_ylim(bottom=0.5 * lowest)
    if len(rounds) > 1:
        ax.set_xlim(rounds[0], rounds[-1])
    count_rounds(ax.xaxis)
    ax.set_xlabel("rounds")
    ax.set_ylabel("regret per round")
    # Falling curves leave no corner that is free in every run.
    handles, labels = ax.get_legend_handles_labels()
    legend_below(figure, handles, labels, "small", len(labels))
    return save_figure(figure, path)


def _guide(ax: Any, counts: FloatArray) -> None:
    """Draw the slope -1/2 through the top left corner."""
    ax.plot(
        counts, np.sqrt(counts[0] / counts), color="#999999", linestyle=":", linewidth=1.2,
        label="slope −1/2",
    )  # fmt: skip


def density_figure(
    rounds: Sequence[int],
    positions: FloatArray,
    densities: FloatArray,
    name: str,
    *,
    logarithmic: bool = False,
    best: tuple[float, float] | None = None,
    title: str = "",
    path: Path = None,
) -> Figure:
    """Draw how the density of the parameter concentrates through time.

    Parameters
    ----------
    rounds : sequence of int
        Numbers of rounds, increasing.
    positions : float array (m,)
        Values of the parameter, equally spaced on its scale.
    densities : float array (rounds, m)
        Density after so many rounds, relative to an evenly spread one.
    name : str
        Name of the parameter.
    logarithmic : bool
        Whether the parameter has a logarithmic scale.
    best : tuple of float, optional
        Interval of the best fixed parameter, to be marked.
    title : str, optional
        Headline.
    path : path, optional
        Also write the figure to this file.
    """
    from matplotlib.colors import LogNorm

    figure, ax = _new_figure(title)
    shown = np.maximum(np.asarray(densities, dtype=np.float64), FAINTEST)
    mesh = ax.pcolormesh(
        positions, np.asarray(rounds, dtype=np.float64), shown, cmap=HEAT_COLOURS,
        norm=LogNorm(FAINTEST, max(float(shown.max()), 10.0)), shading="nearest", rasterized=True,
    )  # fmt: skip
    if best is not None:
        for end in best:
            ax.axvline(end, color=BOUND_COLOUR, linewidth=1.2, linestyle="--")
        ax.plot([], [], color=BOUND_COLOUR, linestyle="--", label="best fixed parameter")
        ax.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), frameon=False, fontsize="small")
    ax.set_yscale("log")
    # Half a round before the first and after the last there is nothing.
    if len(rounds) > 1:
        ax.set_ylim(rounds[0], rounds[-1])
    count_rounds(ax.yaxis)
    if logarithmic:
        ax.set_xscale("log")
        mark_decades(ax.xaxis, float(positions[0]), float(positions[-1]))
    ax.set_xlabel(name)
    ax.set_ylabel("rounds")
    bar = figure.colorbar(mesh, ax=ax)
    bar.set_label("density, relative to evenly spread", fontsize="small")
    return save_figure(figure, path)


def dispersion_figure(
    sizes: npt.NDArray[np.int64],
    widths: FloatArray,
    counts: npt.NDArray[np.int64],
    fitted: FloatArray,
    *,
    title: str = "",
    path: Path = None,
) -> Figure:
    """Draw D(T, width) against T for all widths, over its fitted form.

    Parameters
    ----------
    sizes : int array
        Numbers of functions T.
    widths : float array
        Widths of the windows.
    counts : int array (sizes, widths)
        D(T, width).
    fitted : float array (sizes, widths)
        The fitted form.
    title : str, optional
        Headline.
    path : path, optional
        Also write the figure to this file.
    """
    from matplotlib import colormaps

    figure, ax = _new_figure(title)
    colours = colormaps[HEAT_COLOURS](np.linspace(0.0, 0.9, widths.size))
    for number, (width, colour) in enumerate(zip(widths.tolist(), colours, strict=True)):
        shown = np.where(counts[:, number] > 0, counts[:, number], np.nan)
        ax.plot(sizes, shown, color=colour, marker=".", label=f"{width:.2g}")
        ax.plot(sizes, fitted[:, number], color=colour, linestyle=":", linewidth=1.0)
    ax.plot(sizes, sizes, color="#999999", linewidth=1.2, linestyle="--")
    ax.annotate("all functions", (sizes[-1], sizes[-1]), ha="right", va="bottom", color="#777777")
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_ylim(bottom=0.8, top=1.6 * float(sizes[-1]))
    count_rounds(ax.xaxis)
    ax.set_xlabel("functions T")
    ax.set_ylabel("D(T, width)")
    ax.legend(
        title="width of window\n(dotted: fit)", frameon=False, fontsize="x-small",
        loc="center left", bbox_to_anchor=(1.0, 0.5),
    )  # fmt: skip
    return save_figure(figure, path)


def _new_figure(title: str) -> tuple[Figure, Any]:
    def fit(figure: Any) -> None:
        fit_headline(figure._suptitle, 0.97 * figure.bbox.width)
        fit_legend(figure, *ax.get_legend_handles_labels())
        fit_label(ax.yaxis.label, LABEL_SHARE * figure.bbox.height)

    figure = fitting_figure((8.0, 4.8), fit)
    ax = figure.add_subplot()
    figure.suptitle(title, fontsize="large", fontweight="bold")
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    return figure, ax
