"""The accuracy on validation data as an exact function of lam.

It changes where the margin of a validation point changes its sign. Margins are polynomials with
an error on each piece of the path; a sign is certain where the polynomial is further from zero
than its error, and what lies between two certain parts is a gap of the result.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from certune.dual import PiecewiseFunction, sum_of
from certune.dual.chebyshev import PolynomialPieces
from certune.dual.maximum import Cells, halves, inner_intervals, joined, resolved, whole
from certune.families.logistic.path import CoefficientPath
from certune.families.logistic.utility import followed, stated_errors

FloatArray = npt.NDArray[np.float64]

Intervals = list[tuple[float, float]]


def accuracy_dual(
    path: CoefficientPath,
    rows: FloatArray,
    signs: FloatArray,
    hits: Callable[[float], npt.NDArray[np.int64]],
    name: str,
) -> PiecewiseFunction:
    """Return the share of rows classified rightly, along a path on which margins were followed.

    Parameters
    ----------
    path : CoefficientPath
        The path.
    rows, signs : ndarray
        Validation rows, multiplied by their labels, and the labels.
    hits : callable
        Plain answers for all rows at a value of lam; asked at an end of the range if the margin
        of a row is too close to zero there.
    name : str
        Name of the parameter.
    """
    margins = _margins(path, rows)
    low, high = float(path.starts[0]), float(path.stops[-1])
    steps = []
    for row, (right, wrong) in enumerate(_certain_parts(margins, signs)):
        parts = sorted([(*part, 1) for part in right] + [(*part, 0) for part in wrong])
        if not parts or parts[0][0] > low:
            parts.insert(0, (low, low, int(hits(low)[row])))
        if parts[-1][1] < high:
            parts.append((high, high, int(hits(high)[row])))
        starts, stops, values = zip(*parts, strict=True)
        n_gaps = len(parts) - 1
        steps.append(PiecewiseFunction(starts, stops, values, [0] * n_gaps, [1] * n_gaps, 1, name))
    total = sum_of(steps)
    assert isinstance(total, PiecewiseFunction)
    return total * Fraction(1, len(steps))


def _margins(path: CoefficientPath, rows: FloatArray) -> PolynomialPieces:
    """Return the polynomials of all rows: those of the first row come first."""
    polynomials = followed(path).transpose(2, 0, 1)
    n_rows, n_pieces, width = polynomials.shape
    # The margin of a row of zeros is zero, whatever the coefficients.
    errors = np.outer((rows != 0.0).any(axis=1), stated_errors(path, rows))
    nothing = np.zeros(n_rows * n_pieces - 1)
    return PolynomialPieces(
        np.tile(path.starts, n_rows),
        np.tile(path.stops, n_rows),
        np.ascontiguousarray(polynomials.reshape(-1, width)),
        errors.ravel(),
        nothing,
        nothing,
        "log",
    )


def _certain_parts(
    margins: PolynomialPieces, signs: FloatArray
) -> list[tuple[Intervals, Intervals]]:
    """Return for each row where it is certainly classified rightly, and where wrongly."""
    n_pieces = margins.starts.size // signs.size
    zero_is_right = np.repeat(signs < 0.0, n_pieces)
    found: dict[bool, list[Cells]] = {True: [], False: []}
    cells = whole(margins)
    while cells.rows.size:
        zero = (cells.lower == 0.0) & (cells.upper == 0.0)
        right = (cells.lower > 0.0) | (zero & zero_is_right[cells.rows])
        wrong = (cells.upper < 0.0) | (zero & ~zero_is_right[cells.rows])
        found[True].append(cells.chosen(right))
        found[False].append(cells.chosen(wrong))
        open_ = cells.chosen(~(right | wrong))
        cells = halves(margins, open_.chosen(~resolved(margins, open_)))
    parts = {answer: _by_row(margins, found[answer], n_pieces) for answer in (True, False)}
    return [(parts[True][row], parts[False][row]) for row in range(signs.size)]


def _by_row(
    margins: PolynomialPieces, found: list[Cells], n_pieces: int
) -> defaultdict[int, Intervals]:
    intervals: defaultdict[int, Intervals] = defaultdict(list)
    for index, low, high in inner_intervals(margins, found):
        intervals[index // n_pieces].append((low, high))
    for row, parts in intervals.items():
        intervals[row] = joined(parts)
    return intervals
