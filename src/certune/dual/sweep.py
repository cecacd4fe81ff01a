"""Exact sum of piecewise constant functions by one sweep over all their gaps.

A sum over instances is what tuning maximises. Its pieces are the closed sets on which every
summand is decided; from left to right the summands only change where some gap opens or closes,
so that sorting these events and two cumulative sums give the whole function.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from certune.dual.integers import INT64_LIMIT, FloatArray, IntArray, magnitude
from certune.dual.pieces import Pieces


class _Gaps(NamedTuple):
    """All gaps of all summands, with the values left and right of each."""

    opens: FloatArray
    closes: FloatArray
    left: IntArray
    right: IntArray
    lower: IntArray
    upper: IntArray


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
    gaps, first_value = _all_gaps(summands, denominator)
    low, high = summands[0].starts[0], summands[0].stops[-1]
    return _as_pieces(_states(gaps, low, first_value), high, denominator)


def _all_gaps(summands: Sequence[Pieces], denominator: int) -> tuple[_Gaps, int]:
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
    gaps = _Gaps(opens, closes, numerators[~is_last], numerators[~is_first], lower, upper)
    return gaps, numerators[is_first].sum()


def _states(gaps: _Gaps, low: float, first_value: int) -> _States:
    positions = np.concatenate((gaps.closes, gaps.opens))
    # Gaps are open intervals: at one position closing comes before opening, which the stable
    # sort keeps from the order of concatenation, and the state between the two is that point.
    order = np.argsort(positions, kind="stable")
    positions, is_open = positions[order], order >= gaps.closes.size
    complete = np.ones(order.size, dtype=bool)
    complete[:-1] = (positions[1:] != positions[:-1]) | (is_open[1:] != is_open[:-1])

    def after(steps_at_close: IntArray, steps_at_open: IntArray, initial: int) -> IntArray:
        steps = np.concatenate((steps_at_close, steps_at_open))[order]
        return np.append(steps.dtype.type(initial), initial + np.cumsum(steps)[complete])

    ones = np.ones(gaps.closes.size, dtype=np.intp)
    return _States(
        np.append(low, positions[complete]),
        after(-ones, ones, 0),
        after(gaps.right - gaps.lower, gaps.lower - gaps.left, first_value),
        after(gaps.right - gaps.upper, gaps.upper - gaps.left, first_value),
    )


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
