"""Piecewise polynomials cut off at a lower and an upper bound.

Cells are halved until the function is proved to be inside the bounds on them, or beyond one of
them, or varies less than it is known. What is left around a crossing is a tiny piece with a
constant and an error that covers both sides.
"""

from __future__ import annotations

from itertools import groupby
from typing import NamedTuple

import numpy as np

from certune.dual.chebyshev import PolynomialPieces
from certune.dual.maximum import halves, resolved, whole
from certune.dual.refinement import parts

# Ends of cells are rounded to floats; a constant is then wrong by a multiple of the slack.
END_SLACKS = 128.0


class _Part(NamedTuple):
    """A part of a piece; `constant` replaces the polynomial unless it is None."""

    row: int
    left: float
    right: float
    constant: float | None
    error: float


def clipped(pieces: PolynomialPieces, lower: float, upper: float) -> PolynomialPieces:
    """Return ``min(max(f, lower), upper)``."""
    found: list[_Part] = []
    cells = whole(pieces)
    if (cells.lower >= lower).all() and (cells.upper <= upper).all():
        return pieces
    while cells.rows.size:
        low, high = np.clip(cells.lower, lower, upper), np.clip(cells.upper, lower, upper)
        inside = (cells.lower >= lower) & (cells.upper <= upper)
        flat = (low == high) | resolved(pieces, cells)
        for cell in np.nonzero(inside | flat)[0].tolist():
            constant, error = None, 0.0
            if not inside[cell]:
                constant = 0.5 * (low[cell] + high[cell])
                error = 0.5 * (high[cell] - low[cell]) * (1 + 2.0**-30)
            row, left, right = cells.rows[cell], cells.left[cell], cells.right[cell]
            found.append(_Part(int(row), float(left), float(right), constant, error))
        cells = halves(pieces, cells.chosen(~(inside | flat)))
    return _assembled(pieces, [_merged(group) for group in _runs(found)], lower, upper)


def _runs(found: list[_Part]) -> list[list[_Part]]:
    """Return neighbours of one piece that are treated alike, from left to right."""
    ordered = sorted(found, key=lambda part: (part.row, part.left))
    return [list(group) for _, group in groupby(ordered, lambda part: (part.row, part.constant))]


def _merged(group: list[_Part]) -> _Part:
    return group[0]._replace(right=group[-1].right, error=max(part.error for part in group))


def _assembled(
    pieces: PolynomialPieces, found: list[_Part], lower: float, upper: float
) -> PolynomialPieces:
    rows = np.array([part.row for part in found])
    starts = pieces.places(rows, np.array([part.left for part in found]))
    stops = pieces.places(rows, np.array([part.right for part in found]))
    # Parts that rounding has made empty are dropped; a piece that is a point has just one part.
    kept = (starts < stops) | (pieces.starts[rows] == pieces.stops[rows])
    rows, starts, stops = rows[kept], starts[kept], stops[kept]
    expansion = parts(pieces, rows, starts, stops)
    coefficients, errors = expansion.coefficients.copy(), expansion.errors.copy()
    for index, number in enumerate(np.nonzero(kept)[0].tolist()):
        part = found[number]
        if part.constant is not None:
            coefficients[index] = 0.0
            coefficients[index, 0] = part.constant
            errors[index] = part.error + END_SLACKS * pieces.slacks[part.row]
    between = rows[1:] != rows[:-1]
    gap_lower = np.full(rows.size - 1, np.inf)
    gap_upper = -gap_lower
    gap_lower[between] = np.clip(pieces.gap_lower, lower, upper)
    gap_upper[between] = np.clip(pieces.gap_upper, lower, upper)
    return PolynomialPieces(starts, stops, coefficients, errors, gap_lower, gap_upper, pieces.scale)
