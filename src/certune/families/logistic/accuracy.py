"""The accuracy on validation data as an exact function of lam.

It changes where the margin of a validation point changes its sign. Margins are polynomials with
an error on each piece of the path; a sign is certain where the polynomial is further from zero
than its error, and what lies between two certain parts is a gap of the result.

With the l1 penalty all margins may vanish together, at the lam from which on all coefficients are
zero. Just below it they are too small for any polynomial, but their signs are known: see
:func:`~certune.families.logistic.utility.signs_of_one_feature`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

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

# Error of the lam of an event: ten times what `certune.families.logistic.events` tells apart.
EVENT_REACH = 1e-10


def right_share(
    path: CoefficientPath,
    data: TrainingData,
    shares: Sequence[Fraction],
    hits: Callable[[float], npt.NDArray[np.int64]],
) -> PiecewiseFunction:
    """Return how much of the validation data is classified rightly, as a function of lam.

    Parameters
    ----------
    path : CoefficientPath
        The path, on which margins were followed.
    data : TrainingData
        The data.
    shares : sequence of Fraction
        How much each row counts.
    hits : callable
        Plain answers for all rows at a value of lam; asked at an end of the range if the margin
        of a row is too close to zero there.
    """
    signs = data.instance.y_val
    margins = margin_polynomials(path, data.validation)
    certain = certain_signs(margins, signs < 0.0)
    low, high = float(path.starts[0]), float(path.stops[-1])
    top = _vanishing(path, data)
    if top is None or not low < top[0] < top[1] < high:
        return weighted_count(certain, shares, low, high, hits)
    below = [_until(parts, top[0]) for parts in certain]
    if not _keeps_its_signs(path, data, below):
        return weighted_count(certain, shares, low, high, hits)
    extended = [[*parts[:-1], (parts[-1][0], top[0], parts[-1][2])] for parts in below]
    counted = weighted_count(extended, shares, low, top[0], hits)
    # Margins of zero count for the first class, that is, for the sign -1.
    first = [share for share, sign in zip(shares, signs.tolist(), strict=True) if sign < 0.0]
    return _with_end(counted, top[1], high, sum(first, Fraction(0)))


def weighted_count(
    certain: list[Parts],
    shares: Sequence[Fraction | int],
    low: float,
    high: float,
    answers: Callable[[float], npt.NDArray[np.int64]],
) -> PiecewiseFunction:
    """Return the sum of the shares of rows whose answer is 1, from what is certain of each.

    Parameters
    ----------
    certain : list of list of (float, float, int)
        For each row, intervals of lam in order with its answer there, 0 or 1.
    shares : sequence of Fraction or int
        How much each row counts.
    low, high : float
        The range.
    answers : callable
        Plain answers for all rows at an end of the range that is not certain.
    """
    constant = Fraction(0)
    groups: defaultdict[Fraction | int, list[PiecewiseFunction]] = defaultdict(list)
    for row, (known, share) in enumerate(zip(certain, shares, strict=True)):
        if len(known) == 1 and known[0][:2] == (low, high):
            constant += known[0][2] * share
            continue
        parts = list(known)
        if not parts or parts[0][0] > low:
            parts.insert(0, (low, low, int(answers(low)[row])))
        if parts[-1][1] < high:
            parts.append((high, high, int(answers(high)[row])))
        starts, stops, values = zip(*parts, strict=True)
        n_gaps = len(parts) - 1
        step = PiecewiseFunction(starts, stops, values, [0] * n_gaps, [1] * n_gaps, 1, "lam")
        groups[share].append(step)
    start = PiecewiseFunction.constant(low, high, constant, "lam")
    return sum_of([start, *(sum_of(steps) * share for share, steps in groups.items())])


def class_shares(
    weights: Sequence[Fraction], labels: Sequence[Any], balanced: bool
) -> list[Fraction]:
    """Return how much each point counts; the sum is 1.

    Parameters
    ----------
    weights : sequence of Fraction
        Weights of the points.
    labels : sequence
        Their classes.
    balanced : bool
        Whether all classes count alike, as far as they occur.
    """
    if not balanced:
        total = sum(weights, Fraction(0))
        return [weight / total for weight in weights]
    totals = {label: Fraction(0) for label in labels}
    for label, weight in zip(labels, weights, strict=True):
        totals[label] += weight
    present = sum(total > 0 for total in totals.values())
    return [
        weight / (present * totals[label]) if weight else Fraction(0)
        for label, weight in zip(labels, weights, strict=True)
    ]


def _with_end(
    counted: PiecewiseFunction, low: float, high: float, value: Fraction
) -> PiecewiseFunction:
    """Append a piece, after a gap in which nothing but the values on its two sides occur."""
    bottom = counted.denominator
    values, lower, upper = (
        [Fraction(int(top), bottom) for top in tops]
        for tops in (counted.numerators, counted.gap_lower, counted.gap_upper)
    )
    return PiecewiseFunction.from_values(
        np.append(counted.starts, low),
        np.append(counted.stops, high),
        [*values, value],
        [*lower, min(values[-1], value)],
        [*upper, max(values[-1], value)],
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
    entries = np.abs(data.design[:, column])
    if data.row_weights is not None:
        entries = entries * data.row_weights
    size = 0.5 * float(entries.mean() / data.penalties[column])
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


def margin_polynomials(path: CoefficientPath, rows: FloatArray) -> PolynomialPieces:
    """Return the polynomials of all rows: those of the first row come first.

    Parameters
    ----------
    path : CoefficientPath
        A path on which the margins of the rows were followed.
    rows : ndarray
        The rows.
    """
    # The margin of a row that is zero where coefficients are not is zero.
    matters = [(rows[:, columns] != 0.0).any(axis=1) for columns in path.columns]
    errors = np.column_stack(matters) * stated_errors(path, rows)
    return stacked(path, followed(path).transpose(2, 0, 1), errors)


def stacked(path: CoefficientPath, polynomials: FloatArray, errors: FloatArray) -> PolynomialPieces:
    """Return polynomials of several rows over the pieces of a path, one row after the other.

    Parameters
    ----------
    path : CoefficientPath
        The path.
    polynomials : ndarray of shape (n_rows, n_pieces, n_coefficients)
        Chebyshev coefficients.
    errors : ndarray of shape (n_rows, n_pieces)
        Their errors.
    """
    n_rows, n_pieces, width = polynomials.shape
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


def certain_signs(margins: PolynomialPieces, zero_is_right: npt.NDArray[np.bool_]) -> list[Parts]:
    """Return for each row where its answer is certain: 1 where it is positive, else 0.

    Pieces end at events of the path, whose lam is known up to `EVENT_REACH`, relatively. An answer
    that begins or ends there, as that of an exact tie, is certain only beyond it.

    Parameters
    ----------
    margins : PolynomialPieces
        Polynomials of the rows, as of :func:`stacked`.
    zero_is_right : ndarray of bool
        For each row, whether the answer is 1 where it is exactly zero.
    """
    n_rows = zero_is_right.size
    n_pieces = margins.starts.size // n_rows
    if_zero = np.repeat(zero_is_right, n_pieces)
    found: dict[bool, list[Cells]] = {True: [], False: []}
    cells = whole(margins)
    while cells.rows.size:
        zero = (cells.lower == 0.0) & (cells.upper == 0.0)
        right = (cells.lower > 0.0) | (zero & if_zero[cells.rows])
        wrong = (cells.upper < 0.0) | (zero & ~if_zero[cells.rows])
        found[True].append(cells.chosen(right))
        found[False].append(cells.chosen(wrong))
        open_ = cells.chosen(~(right | wrong))
        cells = halves(margins, open_.chosen(~resolved(margins, open_)))
    right_parts, wrong_parts = (_by_row(margins, found[key], n_pieces) for key in (True, False))
    starts, high = margins.starts[:n_pieces].tolist(), float(margins.stops[n_pieces - 1])
    return [
        _apart_at_events(
            sorted(
                [(*part, 1) for part in right_parts[row]]
                + [(*part, 0) for part in wrong_parts[row]]
            ),
            starts,
            high,
        )
        for row in range(n_rows)
    ]


def _apart_at_events(parts: Parts, starts: list[float], high: float) -> Parts:
    """Return parts without what is closer to an event than it is known, where they end there."""
    separated = []
    for start, stop, answer in parts:
        for event in _events_near(start, starts) if start > starts[0] else []:
            start = max(start, event * (1.0 + EVENT_REACH))
        for event in _events_near(stop, starts) if stop < high else []:
            stop = min(stop, event * (1.0 - EVENT_REACH))
        if start <= stop:
            separated.append((start, stop, answer))
    return separated


def _events_near(place: float, starts: list[float]) -> list[float]:
    """Return the ends of pieces inside the range that are as good as at a place."""
    first = bisect_left(starts, place * (1.0 - EVENT_REACH), lo=1)
    last = bisect_left(starts, place * (1.0 + EVENT_REACH), lo=first)
    return starts[first:last]


def _by_row(
    margins: PolynomialPieces, found: list[Cells], n_pieces: int
) -> defaultdict[int, Intervals]:
    intervals: defaultdict[int, Intervals] = defaultdict(list)
    for index, low, high in inner_intervals(margins, found):
        intervals[index // n_pieces].append((low, high))
    for row, parts in intervals.items():
        intervals[row] = joined(parts)
    return intervals
