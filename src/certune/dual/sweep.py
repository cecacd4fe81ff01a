"""Exact sums and tails of piecewise constant functions by one sweep over all their gaps.

An aggregate over instances is what tuning maximises. Its pieces are the closed sets on which every
summand is decided; from left to right the summands only change where some gap opens or closes.
Sorting these events and two cumulative sums give the whole sum; for an aggregate of the worst
functions, a ranking of the current values is kept up to date instead.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from certune.aggregates import Criterion
from certune.dual.integers import (
    INT64_LIMIT,
    FloatArray,
    IntArray,
    compact,
    integer_array,
    magnitude,
)
from certune.dual.pieces import Pieces
from certune.dual.ranking import Ranking


class _Gaps(NamedTuple):
    """All gaps of all summands, with the values left and right of each."""

    opens: FloatArray
    closes: FloatArray
    left: IntArray
    right: IntArray
    lower: IntArray
    upper: IntArray
    owners: npt.NDArray[np.intp]


class _Events(NamedTuple):
    """Where gaps close and open: their order, and after which of them a state begins.

    Numbers in `order` below the number of gaps are closings, the others openings.
    """

    begins: FloatArray
    order: npt.NDArray[np.intp]
    complete: npt.NDArray[np.bool_]


class _States(NamedTuple):
    """What is known between consecutive events: open gaps, bounds, and where it begins."""

    begins: FloatArray
    n_open: npt.NDArray[np.intp]
    lower: IntArray
    upper: IntArray


def total(summands: Sequence[Pieces]) -> Pieces:
    """Return the sum of at least one function over the same domain.

    O(B log B) for B gaps in all.
    """
    denominator = math.lcm(*{pieces.denominator for pieces in summands})
    gaps, first_values = _all_gaps(summands, denominator)
    low, high = summands[0].starts[0], summands[0].stops[-1]
    return _as_pieces(_sums(gaps, low, first_values.sum()), high, denominator)


def tail(summands: Sequence[Pieces], criterion: Criterion) -> Pieces:
    """Return the aggregate of the worst of at least one function over the same domain.

    O(B log B) for B gaps in all.
    """
    denominator = math.lcm(*{pieces.denominator for pieces in summands})
    gaps, first_values = _all_gaps(summands, denominator)
    low, high = summands[0].starts[0], summands[0].stops[-1]
    weights, limit = criterion.units(len(summands))
    averages = criterion.aggregate.averages
    states = _tails(gaps, low, first_values.tolist(), weights, limit, averages)
    return _as_pieces(states, high, denominator * (limit if averages else 1))


def _all_gaps(summands: Sequence[Pieces], denominator: int) -> tuple[_Gaps, IntArray]:
    counts = np.array([pieces.starts.size for pieces in summands])
    factors = [denominator // pieces.denominator for pieces in summands]
    numerators = np.concatenate([pieces.numerators for pieces in summands])
    lower = np.concatenate([pieces.gap_lower for pieces in summands])
    upper = np.concatenate([pieces.gap_upper for pieces in summands])
    largest = max(magnitude(numerators), magnitude(lower), magnitude(upper))
    # Every partial sum of the sweep adds one number from each summand.
    fits = max(largest, 1) * max(factors) * len(summands) < INT64_LIMIT
    dtype = np.int64 if fits else object
    numerators, lower, upper = (
        array.astype(dtype, copy=False) * np.repeat(np.array(factors, dtype=dtype), repeats)
        for array, repeats in ((numerators, counts), (lower, counts - 1), (upper, counts - 1))
    )
    ends = np.cumsum(counts)
    is_first, is_last = np.zeros(ends[-1], dtype=bool), np.zeros(ends[-1], dtype=bool)
    is_first[ends - counts] = is_last[ends - 1] = True
    opens = np.concatenate([pieces.stops[:-1] for pieces in summands])
    closes = np.concatenate([pieces.starts[1:] for pieces in summands])
    owners = np.repeat(np.arange(len(summands)), counts - 1)
    gaps = _Gaps(opens, closes, numerators[~is_last], numerators[~is_first], lower, upper, owners)
    return gaps, numerators[is_first]


def _events(gaps: _Gaps, low: float) -> _Events:
    positions = np.concatenate((gaps.closes, gaps.opens))
    # Gaps are open intervals: at one position closing comes before opening, which the stable
    # sort keeps from the order of concatenation, and the state between the two is that point.
    order = np.argsort(positions, kind="stable")
    positions, is_open = positions[order], order >= gaps.closes.size
    complete = np.ones(order.size, dtype=bool)
    complete[:-1] = (positions[1:] != positions[:-1]) | (is_open[1:] != is_open[:-1])
    return _Events(np.append(low, positions[complete]), order, complete)


def _n_open(gaps: _Gaps, events: _Events) -> npt.NDArray[np.intp]:
    steps = np.where(events.order >= gaps.closes.size, 1, -1)
    return np.append(0, np.cumsum(steps)[events.complete])


def _sums(gaps: _Gaps, low: float, first_value: int) -> _States:
    events = _events(gaps, low)

    def after(steps_at_close: IntArray, steps_at_open: IntArray, initial: int) -> IntArray:
        steps = np.concatenate((steps_at_close, steps_at_open))[events.order]
        return np.append(steps.dtype.type(initial), initial + np.cumsum(steps)[events.complete])

    return _States(
        events.begins,
        _n_open(gaps, events),
        after(gaps.right - gaps.lower, gaps.lower - gaps.left, first_value),
        after(gaps.right - gaps.upper, gaps.upper - gaps.left, first_value),
    )


def _tails(
    gaps: _Gaps,
    low: float,
    first_values: list[int],
    weights: list[int],
    limit: int,
    averages: bool,
) -> _States:
    """Return the states of an aggregate of the worst, whose bounds are those of the bounds."""
    events = _events(gaps, low)
    left, right = gaps.left.tolist(), gaps.right.tolist()
    owners, n_gaps = gaps.owners.tolist(), len(left)
    columns = []
    for bounds in (gaps.lower.tolist(), gaps.upper.tolist()):
        ranking = Ranking([*first_values, *left, *right, *bounds])
        for value, weight in zip(first_values, weights, strict=True):
            ranking.add(value, weight)
        column = [ranking.tail(limit, averages)]
        for event, is_complete in zip(events.order.tolist(), events.complete.tolist(), strict=True):
            gap = event % n_gaps
            before, after = (
                (bounds[gap], right[gap]) if event < n_gaps else (left[gap], bounds[gap])
            )
            ranking.add(before, -weights[owners[gap]])
            ranking.add(after, weights[owners[gap]])
            if is_complete:
                column.append(ranking.tail(limit, averages))
        columns.append(compact(integer_array(column)))
    return _States(events.begins, _n_open(gaps, events), *columns)


def _as_pieces(states: _States, high: float, denominator: int) -> Pieces:
    decided = states.n_open == 0
    (index,) = np.nonzero(decided)
    # Between two decided states lies at least one undecided state, because a decided state ends
    # where a gap opens; the undecided states before index[j] are index[j] - j in number.
    firsts = (index - np.arange(index.size))[:-1]
    return Pieces(
        starts=states.begins[index],
        stops=np.append(states.begins[index[:-1] + 1], high),
        numerators=states.lower[index],
        gap_lower=np.minimum.reduceat(states.lower[~decided], firsts),
        gap_upper=np.maximum.reduceat(states.upper[~decided], firsts),
        denominator=denominator,
    )
