"""Global maximum and level sets of piecewise polynomials, by bounding and halving cells.

A polynomial on a cell stays within ``sum_{k >= 1} |c_k|`` of its constant coefficient. Cells whose
bound is below a value that is attained elsewhere are dropped, and the others are halved until
the polynomial varies less on them than it is known. Close to a maximum the bound overestimates
by the square of the width, so that a handful of cells survives each round.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from certune.dual.chebyshev import UNIT, PolynomialPieces, RowArray, expand
from certune.dual.integers import FloatArray

# A cell of this share of its piece is not halved again.
NARROWEST = 2.0**-44


@dataclass(frozen=True)
class Cells:
    """Parts ``[left, right]`` of pieces, in their coordinates, with bounds of the function."""

    rows: RowArray
    left: FloatArray
    right: FloatArray
    lower: FloatArray
    upper: FloatArray
    spreads: FloatArray

    def chosen(self, mask: npt.NDArray[np.bool_]) -> Cells:
        """Return the cells for which the mask holds."""
        return Cells(
            self.rows[mask],
            self.left[mask],
            self.right[mask],
            self.lower[mask],
            self.upper[mask],
            self.spreads[mask],
        )


@dataclass(frozen=True)
class Maximum:
    """Bounds of the maximum, a point that reaches the lower one, and where maximisers can be."""

    lower: float
    upper: float
    point: float
    intervals: list[tuple[float, float]]


def _cells(pieces: PolynomialPieces, rows: RowArray, left: FloatArray, right: FloatArray) -> Cells:
    expansion = expand(pieces, rows, left, right)
    lower, upper = expansion.bounds
    return Cells(rows, left, right, lower, upper, expansion.spreads)


def whole(pieces: PolynomialPieces) -> Cells:
    """Return the pieces as cells."""
    ends = np.ones(pieces.starts.size)
    return _cells(pieces, np.arange(pieces.starts.size), -ends, ends)


def halves(pieces: PolynomialPieces, cells: Cells) -> Cells:
    """Return the halves of all cells, the left ones first in each pair."""
    middle = 0.5 * cells.left + 0.5 * cells.right
    left = np.column_stack((cells.left, middle)).ravel()
    right = np.column_stack((middle, cells.right)).ravel()
    return _cells(pieces, np.repeat(cells.rows, 2), left, right)


def resolved(pieces: PolynomialPieces, cells: Cells) -> npt.NDArray[np.bool_]:
    """Tell on which cells the polynomial varies less than it is known, or which are too narrow."""
    narrow = cells.right - cells.left <= 2.0 * NARROWEST
    # Rounding errors of the coefficients can add up to one resolution by themselves.
    return (cells.spreads <= 2.0 * pieces.resolutions[cells.rows]) | narrow


def maximum(pieces: PolynomialPieces) -> Maximum:
    """Bound the maximum and enclose the maximisers.

    Both claims leave a margin of what is known about the function anyway, so that a checker with
    other rounding errors can prove them too: of the piece with the best value, and of each piece
    that contends with it. A piece that is known less well and lies far below spoils nothing.
    """
    point, lower, known = math.nan, -math.inf, 0.0
    finished: list[Cells] = []
    cells = whole(pieces)

    def contending(cells: Cells) -> Cells:
        margins = np.maximum(pieces.resolutions[cells.rows], known)
        return cells.chosen(cells.upper >= lower - margins)

    while cells.rows.size:
        row, candidate, value = _best_sample(pieces, cells)
        if value > lower:
            point, lower, known = candidate, value, float(pieces.resolutions[row])
        cells = contending(cells)
        done = resolved(pieces, cells)
        finished.append(cells.chosen(done))
        cells = halves(pieces, cells.chosen(~done))
    alive = [contending(cells) for cells in finished]
    rows = np.concatenate([cells.rows for cells in alive])
    margin = max(known, float(pieces.resolutions[rows].max(initial=0.0)))
    upper = max(float(cells.upper.max(initial=-np.inf)) for cells in alive)
    upper = max(upper, float(pieces.gap_upper.max(initial=-np.inf)))
    intervals = [interval for cells in alive for interval in _enclosures(pieces, cells)]
    open_ = pieces.gap_upper >= lower - margin
    ends = zip(pieces.stops[:-1][open_].tolist(), pieces.starts[1:][open_].tolist(), strict=True)
    intervals += ends
    return Maximum(lower, upper + margin, point, joined(intervals))


def _best_sample(pieces: PolynomialPieces, cells: Cells) -> tuple[int, float, float]:
    """Return the middle or the end of a cell with the largest proved value: piece, place, value."""
    middle = 0.5 * cells.left + 0.5 * cells.right
    rows = np.repeat(cells.rows, 3)
    points = pieces.places(rows, np.column_stack((cells.left, middle, cells.right)).ravel())
    known = pieces.errors[rows] + pieces.slacks[rows]
    values = pieces.values(rows, points)
    proved = values - known - 4 * UNIT * (np.abs(values) + known)
    best = int(np.argmax(proved))
    return int(rows[best]), float(points[best]), float(proved[best])


def _enclosures(pieces: PolynomialPieces, cells: Cells) -> list[tuple[float, float]]:
    """Return intervals of t that contain the cells."""
    low, high = pieces.places(cells.rows, cells.left), pieces.places(cells.rows, cells.right)
    start, stop = pieces.starts[cells.rows], pieces.stops[cells.rows]
    low = np.maximum(low - _margin(low, start), start)
    high = np.minimum(high + _margin(high, start), stop)
    return list(zip(low.tolist(), high.tolist(), strict=True))


def _margin(t: Any, start: Any) -> Any:
    """Bound the rounding error of a computed place.

    Its distance from the start is ``start * expm1(share * log(stop / start))``, in which the
    argument is at most 750 and has a relative error of 4 u.
    """
    return 4096 * UNIT * np.abs(t - start) + 4 * UNIT * np.abs(t)


def joined(
    intervals: list[tuple[float, float]], bridges: Mapping[float, float] | None = None
) -> list[tuple[float, float]]:
    """Return the union of closed intervals as disjoint ones, in order.

    Intervals that end and start at the two sides of a bridge are joined across it.
    """
    union: list[tuple[float, float]] = []
    for low, high in sorted(intervals):
        if union and (low <= union[-1][1] or (bridges or {}).get(union[-1][1]) == low):
            union[-1] = (union[-1][0], max(high, union[-1][1]))
        else:
            union.append((low, high))
    return union


def superlevel(pieces: PolynomialPieces, level: float) -> list[tuple[float, float]]:
    """Return disjoint intervals on which the function is proved to be at least `level`."""
    inside: list[Cells] = []
    cells = whole(pieces)
    while cells.rows.size:
        inside.append(cells.chosen(cells.lower >= level))
        open_ = cells.chosen((cells.lower < level) & (cells.upper >= level))
        cells = halves(pieces, open_.chosen(~resolved(pieces, open_)))
    gaps = pieces.gap_lower >= level
    bridges = dict(
        zip(pieces.stops[:-1][gaps].tolist(), pieces.starts[1:][gaps].tolist(), strict=True)
    )
    intervals = [(low, high) for _, low, high in inner_intervals(pieces, inside)]
    return joined(intervals, bridges)


def inner_intervals(
    pieces: PolynomialPieces, found: list[Cells]
) -> Iterator[tuple[int, float, float]]:
    """Yield (row, low, high) for intervals of t inside of cells, neighbours joined beforehand.

    Ends of cells are dyadic, so that neighbours in one piece share an end exactly.
    """
    parts = sorted(
        (row, left, right)
        for cells in found
        for row, left, right in zip(
            cells.rows.tolist(), cells.left.tolist(), cells.right.tolist(), strict=True
        )
    )
    runs: list[tuple[int, float, float]] = []
    for row, left, right in parts:
        if runs and runs[-1][0] == row and runs[-1][2] == left:
            runs[-1] = (row, runs[-1][1], right)
        else:
            runs.append((row, left, right))
    if not runs:
        return
    rows, left_ends, right_ends = (np.array(column) for column in zip(*runs, strict=True))
    start, stop = pieces.starts[rows], pieces.stops[rows]
    low, high = pieces.places(rows, left_ends), pieces.places(rows, right_ends)
    low = np.where(left_ends > -1.0, low + _margin(low, start), low)
    high = np.where(right_ends < 1.0, high - _margin(high, start), high)
    inside = (start <= low) & (low <= high) & (high <= stop)
    yield from zip(rows[inside].tolist(), low[inside].tolist(), high[inside].tolist(), strict=True)
