"""A utility function as a learner sees it: cells with bounds, on the scale of its line.

The exact function has pieces and, between them, gaps in which only bounds are known.  Both become
cells.  Densities take the middle of the bounds in a gap; expectations carry both bounds.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from certune.dual import PiecewiseFunction
from certune.errors import ParameterError
from certune.online.lines import Line

FloatArray = npt.NDArray[np.float64]


class Steps(NamedTuple):
    """A step function between bounds; cell i lies between edges i - 1 and i."""

    edges: FloatArray
    lower: FloatArray
    upper: FloatArray

    @property
    def middle(self) -> FloatArray:
        """The middles of the bounds: the value on pieces."""
        return 0.5 * (self.lower + self.upper)


def steps_on(line: Line, dual: PiecewiseFunction) -> Steps:
    """Return a function on the scale of a line. O(m) for m pieces."""
    n_gaps = dual.n_pieces - 1
    ends, lower, upper = np.empty(2 * n_gaps), np.empty(2 * n_gaps + 1), np.empty(2 * n_gaps + 1)
    ends[::2], ends[1::2] = dual.stops[:-1], dual.starts[1:]
    lower[::2] = upper[::2] = dual.values
    if n_gaps:
        lower[1::2] = dual.gap_lower / dual.denominator
        upper[1::2] = dual.gap_upper / dual.denominator
    return Steps(line.positions(ends), lower, upper)


def coarsened(dual: PiecewiseFunction, resolution: float) -> PiecewiseFunction:
    """Widen every gap outwards to multiples of a resolution, counted from the left end.

    What is stated stays true: the bounds of a widened gap cover the values of the pieces that it
    reaches into, and gaps that meet become one. Sums of any number of such functions have at most
    one gap for each multiple, so that a stream of any length stays small.

    Parameters
    ----------
    dual : PiecewiseFunction
        The function.
    resolution : float
        Positive.

    Examples
    --------
    >>> step = PiecewiseFunction([0, 0.5], [0.4, 1], [0, 1], [0], [1], 1)
    >>> coarsened(step, 0.25).breakpoints
    array([[0.25, 0.5 ]])
    """
    if not resolution > 0:
        raise ParameterError(f"resolution must be positive, got {resolution!r}")
    if dual.n_pieces == 1:
        return dual
    low, high = dual.low, dual.high
    opens = low + np.floor((dual.stops[:-1] - low) / resolution) * resolution
    closes = low + np.ceil((dual.starts[1:] - low) / resolution) * resolution
    # Rounding must not narrow a gap, nor the domain's ends leave it.
    opens = np.clip(np.minimum(opens, dual.stops[:-1]), low, None)
    closes = np.clip(np.maximum(closes, dual.starts[1:]), None, high)
    first = np.append(True, opens[1:] > closes[:-1])
    (groups,) = np.nonzero(first)
    lasts = np.append(groups[1:], opens.size) - 1
    values = dual.numerators
    lower = np.minimum(dual.gap_lower, np.minimum(values[:-1], values[1:]))
    upper = np.maximum(dual.gap_upper, np.maximum(values[:-1], values[1:]))
    kept = np.append(groups, opens.size)
    return PiecewiseFunction(
        np.append(low, closes[lasts]),
        np.append(opens[groups], high),
        values[kept],
        np.minimum.reduceat(lower, groups),
        np.maximum.reduceat(upper, groups),
        dual.denominator,
        dual.name,
    )
