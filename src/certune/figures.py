"""What all pictures of matplotlib share: saving, ticks of logarithmic axes, light and dark.

matplotlib is imported on use. Sizes of fonts are relative and colours fit the background, so that
style sheets are obeyed.
"""

from __future__ import annotations

import math
import os
import textwrap
from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any, TypeVar

from certune.errors import InputError

# Below this many decades a logarithmic axis needs labels between the powers of ten.
FEW_DECADES = 2.5
# And below this many it is as good as linear.
HARDLY_A_DECADE = 0.5
# How a legend says that something lies beyond the limits of the axes: it is the first to go.
OUT_OF_VIEW = ", out of view"
# A legend of a figure has so many columns, and at most this share of the height.
MOST_COLUMNS, LEGEND_SHARE = 4, 0.25
# Of the height of a figure, what a label beside its only axes may take.
LABEL_SHARE = 0.6
# Letters at which the name in a legend that is too wide is wrapped at the least.
SHORTEST_LINE = 12
LEGEND_SIZES = ("small", "x-small", "xx-small")
# Letters, in points, are not made smaller.
SMALLEST_LETTERS, SMALLEST_HEADLINE = 6.0, 8.0


AnyFigure = TypeVar("AnyFigure", bound=Any)


def figure_size(ours: tuple[float, float]) -> tuple[float, float]:
    """Return the size of a new figure: that of a style sheet, or `ours` where nobody chose one."""
    from matplotlib import rcParams, rcParamsDefault

    width, height = rcParams["figure.figsize"]
    nobody_chose = [width, height] == list(rcParamsDefault["figure.figsize"])
    return ours if nobody_chose else (width, height)


def fitting_figure(size: tuple[float, float], fit: Callable[[Any], None]) -> Any:
    """Return a figure that fits its texts to whatever size it is given later.

    Parameters
    ----------
    size : (float, float)
        Width and height in inches where no style sheet says otherwise.
    fit : callable
        Called with the figure before it is drawn in a new size.
    """
    from matplotlib.figure import Figure

    class FittingFigure(Figure):
        fitted_size: tuple[float, ...] = ()

        def draw(self, renderer: Any) -> None:
            now = tuple(self.get_size_inches())
            if now != self.fitted_size:
                self.fitted_size = now
                fit(self)
            super().draw(renderer)

    return FittingFigure(figsize=figure_size(size), layout="constrained")


def fit_letters(text: Any, room: float, size: str, *, upwards: bool = False) -> bool:
    """Make the letters of a text as large as its room in pixels admits; tell whether it fits."""
    text.set_fontsize(size)
    extent = text.get_window_extent()
    length = extent.height if upwards else extent.width
    if length <= room:
        return True
    smaller = 0.98 * text.get_fontsize() * room / length
    text.set_fontsize(max(SMALLEST_LETTERS, smaller))
    return bool(smaller >= SMALLEST_LETTERS)


def fit_headline(text: Any, room: float) -> None:
    """Write a headline on one line if its letters need not be small for that, otherwise on two."""
    words = " ".join(text.get_text().split())
    text.set_text(words)
    fit_letters(text, room, "large")
    if text.get_fontsize() < SMALLEST_HEADLINE:
        text.set_text(_on_two_lines(words))
        fit_letters(text, room, "large")


def _on_two_lines(words: str) -> str:
    widths = range(len(words) // 2, len(words) + 1)
    halves = (textwrap.wrap(words, width, break_long_words=False) for width in widths)
    return "\n".join(next((lines for lines in halves if len(lines) <= 2), [words]))


def fit_label(text: Any, room: float, size: str = "medium") -> bool:
    """Write a label that runs upwards on one line if that fits, otherwise on two."""
    words = " ".join(text.get_text().split())
    text.set_text(words)
    text.set_fontsize(size)
    if text.get_window_extent().height > room:
        text.set_text(_on_two_lines(words))
    return fit_letters(text, room, size, upwards=True)


def fit_legend(figure: Any, handles: Sequence[Any], labels: Sequence[str]) -> None:
    """Lay out the legend below a figure: columns as many as fit, smaller letters where it must.

    Where that is not enough, names of what is out of view are left out. A legend that was taken
    away is not brought back.
    """
    if not figure.legends:
        return
    entries = list(zip(handles, labels, strict=True))
    in_view = [entry for entry in entries if OUT_OF_VIEW not in entry[1]]
    room = LEGEND_SHARE * figure.bbox.height
    for chosen, size in ((entries, LEGEND_SIZES[0]), *((in_view, size) for size in LEGEND_SIZES)):
        for n_columns in range(MOST_COLUMNS, 0, -1):
            figure.legends[0].remove()
            artists, names = [entry[0] for entry in chosen], [entry[1] for entry in chosen]
            legend = legend_below(figure, artists, names, size, n_columns)
            if (excess := legend.get_window_extent().width / figure.bbox.width) <= 1:
                break
        if excess > 1:
            width = max(SHORTEST_LINE, int(0.9 * max(map(len, names)) / excess))
            figure.legends[0].remove()
            names = [textwrap.fill(name, width) for name in names]
            legend = legend_below(figure, artists, names, size, 1)
        if legend.get_window_extent().height <= room:
            break


def legend_below(
    figure: Any, handles: Sequence[Any], labels: Sequence[str], size: str, n_columns: int
) -> Any:
    """Put a legend below a figure, which takes height only, so that the axes keep their width."""
    return figure.legend(
        handles, labels, loc="outside lower center", ncols=n_columns,
        frameon=False, fontsize=size, handlelength=2.0, columnspacing=1.2,
    )  # fmt: skip


def save_figure(figure: AnyFigure, path: str | PathLike[str] | None, dpi: int = 160) -> AnyFigure:
    """Write a figure to a file, if there is one, and return the figure.

    Raises
    ------
    InputError
        If the file cannot be written, or its suffix names no format.
    """
    if path is not None:
        try:
            figure.savefig(os.fspath(path), dpi=dpi)
        except (OSError, TypeError, ValueError) as error:
            raise InputError(
                f"cannot write the figure to {path!r}: {error}; name a file in a folder that "
                "exists, with a suffix such as .png, .svg or .pdf"
            ) from error
    return figure


def is_dark(ax: Any) -> bool:
    """Tell whether axes have a dark background."""
    from matplotlib.colors import to_rgb

    background = ax.get_facecolor()
    if background[3] == 0.0:
        background = ax.figure.get_facecolor()
    red, green, blue = to_rgb(background)
    return bool(0.299 * red + 0.587 * green + 0.114 * blue < 0.5)


def mark_decades(axis: Any, low: float, high: float) -> None:
    """Give a logarithmic axis ticks that can be read: 1, 2, 5 on short ranges, powers on long ones.

    Parameters
    ----------
    axis : matplotlib Axis
        ``ax.xaxis`` or ``ax.yaxis``, whose scale is logarithmic.
    low, high : float
        Its range, positive.
    """
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

    decades = math.log10(high / low)
    if decades <= FEW_DECADES:
        subs = (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0) if decades <= 1.0 else (1.0, 2.0, 5.0)
        even = decades <= HARDLY_A_DECADE
        axis.set_major_locator(MaxNLocator(6) if even else LogLocator(subs=subs, numticks=12))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.4g}"))
    axis.set_minor_formatter(NullFormatter())


def count_rounds(axis: Any) -> None:
    """Give an axis of rounds, logarithmic or not, whole numbers."""
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

    if axis.get_scale() == "log":
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0), numticks=12))
        axis.set_minor_formatter(NullFormatter())
        axis.set_major_formatter(
            FuncFormatter(lambda value, _: f"{value:,.0f}" if value >= 1 else "")
        )
    else:
        axis.set_major_locator(MaxNLocator(integer=True))
