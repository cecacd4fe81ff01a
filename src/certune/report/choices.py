"""The picture of a choice: one line for each alternative."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from certune.aggregates import Criterion
from certune.dual import DualFunction, PiecewiseFunction
from certune.figures import (
    LABEL_SHARE,
    fit_headline,
    fit_label,
    fit_legend,
    fitting_figure,
    legend_below,
    save_figure,
)
from certune.report.landscape import BASELINE_COLOURS, LINE_COLOUR, OPTIMUM_COLOUR
from certune.scores import Score

if TYPE_CHECKING:
    from matplotlib.figure import Figure

N_PLACES = 800


@dataclass(frozen=True)
class ChoiceLine:
    """One alternative: its aggregate over the settings, or a bound of that.

    Attributes
    ----------
    name : str
        The alternative.
    function : DualFunction
        What is drawn.
    is_bound : bool
        Whether instances are missing, which count as perfect.
    is_logarithmic : bool
        Whether the parameter has a logarithmic scale.
    """

    name: str
    function: DualFunction
    is_bound: bool
    is_logarithmic: bool

    @property
    def axis(self) -> tuple[str, float, float, bool]:
        """Parameter, range and scale."""
        return self.function.name, self.function.low, self.function.high, self.is_logarithmic

    def shares(self, places: Any) -> Any:
        """Return places as shares of the range, on its scale."""
        low, high = self.function.low, self.function.high
        if self.is_logarithmic:
            return np.log(np.asarray(places) / low) / np.log(high / low)
        return (np.asarray(places) - low) / (high - low)

    def places(self) -> Any:
        """Return where to draw: evenly, and at all ends of pieces."""
        function = self.function
        spread = np.geomspace if self.is_logarithmic else np.linspace
        even = np.clip(spread(function.low, function.high, N_PLACES), function.low, function.high)
        if not isinstance(function, PiecewiseFunction):
            return even
        return np.unique(np.concatenate((even, function.starts, function.stops)))


def choice_figure(
    lines: Sequence[ChoiceLine],
    best: str,
    *,
    score: Score,
    criterion: Criterion,
    title: str = "",
    path: str | PathLike[str] | None = None,
) -> Figure:
    """Draw all alternatives, with the optimal set of the best one.

    Parameters
    ----------
    lines : sequence of ChoiceLine
        The alternatives.
    best : str
        The winner, drawn in front.
    score : Score
        What is drawn instead of utilities.
    criterion : Criterion
        What was maximised.
    title : str, optional
        Headline.
    path : path, optional
        Also write the figure to this file; the suffix decides on the format.

    Returns
    -------
    matplotlib.figure.Figure
        A figure that is not known to pyplot.
    """

    def fit(figure: Any) -> None:
        fit_headline(figure._suptitle, 0.97 * figure.bbox.width)
        fit_legend(figure, *ax.get_legend_handles_labels())
        fit_label(ax.yaxis.label, LABEL_SHARE * figure.bbox.height)

    figure = fitting_figure((9.0, 5.0), fit)
    ax = figure.add_subplot()
    same = len({line.axis for line in lines}) == 1
    if same and lines[0].is_logarithmic:
        ax.set_xscale("log")
    others = iter(BASELINE_COLOURS * (1 + len(lines) // len(BASELINE_COLOURS)))
    for line in lines:
        is_best = line.name == best
        places = line.places()
        x = places if same else line.shares(places)
        label = f"{line.name} (bound, not all instances computed)" if line.is_bound else line.name
        if not same:
            name, low, high, _ = line.axis
            label += f": {name} from {low:g} to {high:g}"
        ax.plot(
            x, score.of(line.function(places)), label=label,
            color=LINE_COLOUR if is_best else next(others), linewidth=2.0 if is_best else 1.3,
            linestyle="--" if line.is_bound else "-", zorder=3 if is_best else 2,
        )  # fmt: skip
        for low, high in line.function.argmax() if is_best else ():
            ends = (low, high) if same else line.shares([low, high])
            ax.axvspan(*ends, color=OPTIMUM_COLOUR, alpha=0.45, linewidth=1.0, zorder=1)
    ax.set_xlabel(lines[0].function.name if same else "each parameter over its range")
    ax.set_ylabel(criterion.words(str(score)))
    ax.grid(axis="y", alpha=0.35, linewidth=0.7)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    figure.suptitle(title, fontsize="large", fontweight="bold")
    handles, labels = ax.get_legend_handles_labels()
    legend_below(figure, handles, labels, "small", 1)
    return cast("Figure", save_figure(figure, path))
