"""Sums and parts of piecewise polynomials: expansion on the cells of a common refinement.

Between neighbouring ends of pieces, of whichever summand, every summand is one polynomial or one
gap. Cells of polynomials become pieces of the sum. Cells in which some summand is only bounded
become gaps, with the sums of all bounds; neighbours among them are joined.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from certune.dual.chebyshev import (
    ROUNDED_UP,
    UNIT,
    Expander,
    Expansion,
    PolynomialPieces,
    RowArray,
)
from certune.dual.integers import FloatArray
from certune.errors import UndecidedError


@dataclass(frozen=True)
class CellValues:
    """Neighbouring cells of a domain; in open ones only the bounds are known."""

    low: FloatArray
    high: FloatArray
    expansion: Expansion
    is_open: npt.NDArray[np.bool_]
    lower: FloatArray
    upper: FloatArray


def total(summands: Sequence[PolynomialPieces]) -> PolynomialPieces:
    """Return the sum of at least one function over the same domain and scale.

    O(C N n^2) for C cells, N functions and polynomials of degree n on the cells.
    """
    low, high = common_cells(summands)
    return assembled(_cells(summands, low, high), partial(_cells, summands), summands[0])


def common_cells(summands: Sequence[PolynomialPieces]) -> tuple[FloatArray, FloatArray]:
    """Return the ends of cells, each within one piece or gap of every function."""
    ends = np.unique(np.concatenate([(p.starts, p.stops) for p in summands], axis=None))
    return ends[:-1], ends[1:]


def assembled(
    cells: CellValues,
    at_points: Callable[[FloatArray, FloatArray], CellValues],
    example: PolynomialPieces,
) -> PolynomialPieces:
    """Return the function of cells that together are its domain.

    Parameters
    ----------
    cells : CellValues
        What is known on the cells; none for a domain that is a single point.
    at_points : callable
        Returns what is known at single points, given as cells.
    example : PolynomialPieces
        A function with this domain and scale.
    """
    cells = _with_ends(cells, at_points, example)
    lower, upper = _with_joints(cells, at_points)
    (index,) = np.nonzero(~cells.is_open)
    gap_lower = np.full(index.size - 1, np.inf)
    gap_upper = -gap_lower
    for place in np.nonzero(np.diff(index) > 1)[0].tolist():
        between = slice(index[place] + 1, index[place + 1])
        gap_lower[place], gap_upper[place] = lower[between].min(), upper[between].max()
    return PolynomialPieces(
        cells.low[index],
        cells.high[index],
        cells.expansion.coefficients[index],
        cells.expansion.errors[index],
        gap_lower,
        gap_upper,
        example.scale,
    )


def _cells(summands: Sequence[PolynomialPieces], low: FloatArray, high: FloatArray) -> CellValues:
    """Return the sum on cells, each within one piece or gap of every summand, or single points."""
    expander, is_open = Expander(low.size), np.zeros(low.size, dtype=bool)
    lower, upper = np.zeros(low.size), np.zeros(low.size)
    for pieces in summands:
        rows = np.searchsorted(pieces.starts, low, side="right") - 1
        in_gap = high > pieces.stops[rows]
        is_open |= in_gap
        lower[in_gap] += pieces.gap_lower[rows[in_gap]]
        upper[in_gap] += pieces.gap_upper[rows[in_gap]]
        left, right = pieces.local(rows, low), pieces.local(rows, high)
        expander.add(pieces, np.where(in_gap, -1, rows), left, right)
    expansion = flattened(expander.expand(), low == high)
    below, above = expansion.bounds
    sizes = np.abs(below) + np.abs(above) + np.abs(lower) + np.abs(upper)
    rounding = (len(summands) + 2) * UNIT * sizes * ROUNDED_UP
    return CellValues(
        low, high, expansion, is_open, lower + below - rounding, upper + above + rounding
    )


def _with_joints(
    cells: CellValues, at_points: Callable[[FloatArray, FloatArray], CellValues]
) -> tuple[FloatArray, FloatArray]:
    """Return bounds on open cells that also hold at the point between two of them."""
    (joints,) = np.nonzero(cells.is_open[:-1] & cells.is_open[1:])
    points = at_points(cells.high[joints], cells.high[joints])
    lower, upper = cells.lower.copy(), cells.upper.copy()
    lower[joints] = np.minimum(lower[joints], points.lower)
    upper[joints] = np.maximum(upper[joints], points.upper)
    return lower, upper


def _with_ends(
    cells: CellValues,
    at_points: Callable[[FloatArray, FloatArray], CellValues],
    example: PolynomialPieces,
) -> CellValues:
    """Add an end of the domain as a piece of its own where an open cell, or nothing, touches it."""
    low, high = example.starts[:1], example.stops[-1:]
    if cells.is_open.size == 0 or cells.is_open[0]:
        cells = _chained(at_points(low, low), cells)
    if cells.is_open[-1]:
        cells = _chained(cells, at_points(high, high))
    return cells


def flattened(expansion: Expansion, is_point: npt.NDArray[np.bool_]) -> Expansion:
    """Return the expansion with constants on cells that are single points."""
    coefficients = expansion.coefficients.copy()
    coefficients[is_point, 1:] = 0.0
    errors = expansion.errors + np.where(is_point, expansion.spreads, 0.0)
    return Expansion(coefficients, errors * ROUNDED_UP)


def _chained(first: CellValues, second: CellValues) -> CellValues:
    width = max(c.expansion.coefficients.shape[1] for c in (first, second))
    matrices = [
        np.pad(c.expansion.coefficients, ((0, 0), (0, width - c.expansion.coefficients.shape[1])))
        for c in (first, second)
    ]
    return CellValues(
        np.append(first.low, second.low),
        np.append(first.high, second.high),
        Expansion(
            np.concatenate(matrices), np.append(first.expansion.errors, second.expansion.errors)
        ),
        np.append(first.is_open, second.is_open),
        np.append(first.lower, second.lower),
        np.append(first.upper, second.upper),
    )


def parts(pieces: PolynomialPieces, rows: RowArray, low: FloatArray, high: FloatArray) -> Expansion:
    """Expand polynomials on intervals ``[low, high]`` of t inside their pieces."""
    expander = Expander(rows.size)
    expander.add(pieces, rows, pieces.local(rows, low), pieces.local(rows, high))
    return flattened(expander.expand(), low == high)


def restricted(pieces: PolynomialPieces, low: float, high: float) -> PolynomialPieces:
    """Return the function on ``[low, high]``, within its domain.

    Raises :class:`UndecidedError` if an end lies in a gap.
    """
    first = int(np.searchsorted(pieces.starts, low, side="right")) - 1
    last = max(int(np.searchsorted(pieces.stops, high, side="left")), first)
    for t, row in ((low, first), (high, last)):
        if not pieces.starts[row] <= t <= pieces.stops[row]:
            raise UndecidedError(
                f"The function cannot be cut at {t!r}, where its value is not known; choose a "
                "point outside the gaps."
            )
    rows = np.arange(first, last + 1)
    starts, stops = pieces.starts[rows].copy(), pieces.stops[rows].copy()
    starts[0], stops[-1] = low, high
    expansion = parts(pieces, rows, starts, stops)
    return PolynomialPieces(
        starts,
        stops,
        expansion.coefficients,
        expansion.errors,
        pieces.gap_lower[first:last],
        pieces.gap_upper[first:last],
        pieces.scale,
    )
