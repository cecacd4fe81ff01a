"""What all pictures of matplotlib share: saving, ticks of logarithmic axes, light and dark.

matplotlib is imported on use. Sizes of fonts are relative and colours fit the background, so that
style sheets are obeyed.
"""

from __future__ import annotations

import math
import os
from os import PathLike
from typing import Any, TypeVar

from certune.errors import InputError

# Below this many decades a logarithmic axis needs labels between the powers of ten.
FEW_DECADES = 2.5
# And below this many it is as good as linear.
HARDLY_A_DECADE = 0.5


AnyFigure = TypeVar("AnyFigure", bound=Any)


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
