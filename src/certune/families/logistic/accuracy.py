"""The accuracy on validation data as an exact function of lam.

It changes where the margin of a validation point changes its sign. Margins are polynomials with
an error on each piece of the path; a sign is certain where the polynomial is further from zero
than its error, and what lies between two certain parts is a gap of the result.

With the l1 penalty all margins may vanish together, at the lam from which on all coefficients are
zero. Just below it they are too small for any polynomial, but their signs are known: see
:func:`~certune.families.logistic.utility.signs_of_one_feature`.
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
from certune.families.logistic.training import TrainingData
from certune.families.logistic.utility import UNIT, followed, signs_of_one_feature, stated_errors

FloatArray = npt.NDArray[np.float64]

Intervals = list[tuple[float, float]]
Parts = list[tuple[float, float, int]]


def accuracy_dual(
    path: CoefficientPath,
    data: TrainingData,
    hits: Callable[[float], npt.NDArray[np.int64]],
    name: str,
) -> PiecewiseFunction:
    """Return the share of rows classified rightly, along a path on which margins were followed.

    Parameters
    ----------
    path : CoefficientPath
        The path.
    data : TrainingData
        The data.
    hits : callable
        Plain answers for all rows at a value of lam; asked at an end of the range if the margin
        of a row is too close to zero there.
    name : str
        Name of the parameter.
    """
    signs = data.instance.y_val
    margins = _margins(path, data.validation)
    certain = [
        sorted([(*part, 1) for part in right] + [(*part, 0) for part in wrong])
        for right, wrong in _certain_parts(margins, signs)
    ]
    low, high = float(path.starts[0]), float(path.stops[-1])
    top = _vanishing(path, data)
    if top is None or not low < top[0] < top[1] < high:
        return _share(_counted(certain, low, high, hits, name), len(signs))
    below = [_until(parts, top[0]) for parts in certain]
    if not _keeps_its_signs(path, data, below):
        return _share(_counted(certain, low, high, hits, name), len(signs))
    extended = [[*parts[:-1], (parts[-1][0], top[0], parts[-1][2])] for parts in below]
    counted = _counted(extended, low, top[0], hits, name)
    # Margins of zero count for the first class, that is, for the sign -1.
    return _share(_with_end(counted, top[1], high, int((signs < 0.0).sum())), len(signs))


def _share(counted: PiecewiseFunction, n_rows: int) -> PiecewiseFunction:
    return counted * Fraction(1, n_rows)


def _counted(
    certain: list[Parts],
    low: float,
    high: float,
    hits: Callable[[float], npt.NDArray[np.int64]],
    name: str,
) -> PiecewiseFunction:
    """Return the number of rows classified rightly, from what is certain of each."""
    steps = []
    for row, known in enumerate(certain):
        parts = list(known)
        if not parts or parts[0][0] > low:
            parts.insert(0, (low, low, int(hits(low)[row])))
        if parts[-1][1] < high:
            parts.append((high, high, int(hits(high)[row])))
        starts, stops, values = zip(*parts, strict=True)
        n_gaps = len(parts) - 1
        steps.append(PiecewiseFunction(starts, stops, values, [0] * n_gaps, [1] * n_gaps, 1, name))
    total = sum_of(steps)
    assert isinstance(total, PiecewiseFunction)
    return total


def _with_end(counted: PiecewiseFunction, low: float, high: float, value: int) -> PiecewiseFunction:
    """Append a piece, after a gap in which nothing but the values on its two sides occur."""
    last = int(counted.numerators[-1])
    assert counted.denominator == 1
    return PiecewiseFunction(
        np.append(counted.starts, low),
        np.append(counted.stops, high),
        [*counted.numerators, value],
        [*counted.gap_lower, min(last, value)],
        [*counted.gap_upper, max(last, value)],
        1,
        counted.name,
    )


def _vanishing(path: CoefficientPath, data: TrainingData) -> tuple[float, float] | None:
    """Enclose the lam from which on all margins are zero, if one coefficient is active below it."""
    if len(path.pieces) < 2 or path.pieces[-1].points.any() or path.pieces[-1].node_error > 0.0:
        return None
    features = [column for column in path.columns[-2].tolist() if column < data.kept.size]
    if len(features) != 1 or path.pieces[-2].high != path.pieces[-1].low:
        return None
    [column] = features
    place = path.pieces[-1].low
    # The gradient at zero is half the mean of a column, summed in floats.
    size = 0.5 * float(np.abs(data.design[:, column]).mean() / data.penalties[column])
    error = (len(data.design) + 8) * UNIT * max(size, place)
    return place - 2.0 * error, place + 2.0 * error


def _until(parts: Parts, end: float) -> Parts:
    """Return the parts that begin before an end, cut off there."""
    return [(start, min(stop, end), value) for start, stop, value in parts if start < end]


def _keeps_its_signs(path: CoefficientPath, data: TrainingData, below: list[Parts]) -> bool:
    """Tell whether no margin changes its sign after its last certain part."""
    if any(not parts or parts[-1][1] <= path.pieces[-2].low for parts in below):
        return False
    first = min(parts[-1][1] for parts in below)
    columns = path.columns[-2]
    known = signs_of_one_feature(data, columns, path.at(first), path.pieces[-2].error)
    if known is None:
        return False
    zero = (data.validation[:, columns] == 0.0).all(axis=1)
    return bool(((known != 0.0) | zero).all())


def _margins(path: CoefficientPath, rows: FloatArray) -> PolynomialPieces:
    """Return the polynomials of all rows: those of the first row come first."""
    polynomials = followed(path).transpose(2, 0, 1)
    n_rows, n_pieces, width = polynomials.shape
    # The margin of a row that is zero where coefficients are not is zero.
    matters = [(rows[:, columns] != 0.0).any(axis=1) for columns in path.columns]
    errors = np.column_stack(matters) * stated_errors(path, rows)
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
