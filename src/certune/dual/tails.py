"""Aggregates of the worst of several piecewise polynomials: minimum, quantile and tail mean.

On a cell where the order of the functions does not change as far as it matters, the aggregate is
one of them, or a fixed average of some. Such cells are found by cutting: with f_b the function that
completes the share at the middle of the cell, and d_i = f_i - f_b,

- a quantile is f_b + Q(d), and Q(d) lies between the quantiles of the bounds of d, because it is
  non-decreasing in every function;
- a tail mean is at most sum v_i f_i for the weights v of the middle, which are admissible, and at
  least f_b - sum w_i max(0, f_b - f_i) / L, because it is the largest value over c of
  c - sum w_i max(0, c - f_i) / L, for weights w and their limit L (Rockafellar and Uryasev). The
  difference of the two is at most sum w_i max(0, d_i) / L over functions that count fully, and
  sum w_i max(0, -d_i) / L over those that do not count.

Both vanish where the order is settled. Cells with a crossing are cut beside it, or halved, until
both are much less than what the functions are known, and then are part of the stated error.

All this is about the polynomials p_i. The functions f_i differ from them by at most e_i, and so do
the aggregates: a change of functions that never complete the share does not change a quantile, and
a change of the others changes it by at most the largest e_i among these *contenders*; for a tail
mean, functions that count fully in any case add their part of e_i, and contenders share the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from certune.aggregates import Criterion
from certune.dual.chebyshev import ROUNDED_UP, UNIT, Expander, Expansion, PolynomialPieces
from certune.dual.integers import INT64_LIMIT, FloatArray, IntArray
from certune.dual.refinement import CellValues, assembled, common_cells, flattened

# A cell is cut at most this often, and not if what the order leaves open is this share of the
# largest error of a function, or so many times what is rounded, below which nothing is gained.
MOST_CUTS = 48
ENOUGH, ROUNDED = 0.125, 8.0
# Cells for each common one that may be open at once; more are left as they are, with their errors.
MOST_CELLS, FEWEST_CELLS = 50, 2000
# Coefficients that are expanded at once.
MOST_NUMBERS = 2**21


def tail(summands: Sequence[PolynomialPieces], criterion: Criterion) -> PolynomialPieces:
    """Return the aggregate of the worst of at least one function over the same domain and scale.

    O((C + X log(1 / e)) N n^2) for C cells and X crossings of N functions, which are polynomials
    of degree n on the cells and known up to e.
    """
    rule = _Rule.of(criterion, len(summands))
    cells = _cut(summands, rule)
    known = _on_cells(summands, rule, cells)
    return assembled(known, partial(_at_points, summands, rule), summands[0])


@dataclass(frozen=True)
class _Rule:
    """Whole weights of the functions, up to which limit they count, and whether to average."""

    weights: IntArray
    limit: int
    averages: bool

    @classmethod
    def of(cls, criterion: Criterion, n_functions: int) -> _Rule:
        weights, limit = criterion.units(n_functions)
        dtype: Any = np.int64 if sum(weights) < INT64_LIMIT else object
        return cls(np.array(weights, dtype=dtype), limit, criterion.aggregate.averages)

    def taken(self, values: FloatArray) -> tuple[IntArray, npt.NDArray[np.intp]]:
        """Return how much of each function counts (rows) for columns of values, and the last one.

        The amounts of a column add up to the limit.
        """
        order = np.argsort(values, axis=0, kind="stable")
        weights = self.weights[order]
        before = np.cumsum(weights, axis=0) - weights
        counted = np.minimum(np.maximum(self.limit - before, 0), weights)
        place = np.argmax(before + weights >= self.limit, axis=0)
        last = np.take_along_axis(order, place[None], axis=0)[0]
        amounts = np.zeros_like(weights)
        if self.averages:
            np.put_along_axis(amounts, order, counted, axis=0)
        else:
            amounts[last, np.arange(last.size)] = self.limit
        return amounts, last

    def shares(self, amounts: IntArray) -> FloatArray:
        """Return amounts as shares of the limit, with a relative error of at most 3 u."""
        return (amounts / self.limit).astype(np.float64)

    def bounds(self, lower: FloatArray, upper: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Bound the aggregates of columns of utilities with these bounds."""
        ends = []
        for values, sign in ((lower, -1.0), (upper, 1.0)):
            shares = self.shares(self.taken(values)[0])
            found = (shares * values).sum(axis=0)
            rounding = (len(values) + 4) * UNIT * (shares * np.abs(values)).sum(axis=0)
            ends.append(found + sign * rounding * ROUNDED_UP)
        return ends[0], ends[1]


@dataclass(frozen=True)
class _Expanded:
    """All functions on the same cells, in their coordinates: tensors (function, cell, ...)."""

    coefficients: FloatArray
    errors: FloatArray
    stated: FloatArray
    in_gap: npt.NDArray[np.bool_]
    gap_lower: FloatArray
    gap_upper: FloatArray

    @property
    def sizes(self) -> FloatArray:
        """Bounds of the polynomials."""
        sizes: FloatArray = np.abs(self.coefficients).sum(axis=2) * ROUNDED_UP
        return sizes

    @property
    def middles(self) -> FloatArray:
        """Values of the polynomials at the middles of the cells."""
        even = self.coefficients[:, :, ::2]
        signs = (-1.0) ** np.arange(even.shape[2])
        values: FloatArray = even @ signs
        return values

    def bounds(self) -> tuple[FloatArray, FloatArray]:
        """Return bounds of all functions on the cells, also in gaps."""
        shape = self.errors.shape
        rows = self.coefficients.reshape(-1, self.coefficients.shape[2])
        below, above = Expansion(rows, self.errors.ravel()).bounds
        return (
            np.where(self.in_gap, self.gap_lower, below.reshape(shape)),
            np.where(self.in_gap, self.gap_upper, above.reshape(shape)),
        )


def _expanded(summands: Sequence[PolynomialPieces], low: FloatArray, high: FloatArray) -> _Expanded:
    parts, stated, in_gap, lower, upper = [], [], [], [], []
    for pieces in summands:
        rows = np.searchsorted(pieces.starts, low, side="right") - 1
        gap = high > pieces.stops[rows]
        expander = Expander(low.size)
        left, right = pieces.local(rows, low), pieces.local(rows, high)
        expander.add(pieces, np.where(gap, -1, rows), left, right)
        parts.append(flattened(expander.expand(), low == high))
        stated.append(np.where(gap, 0.0, pieces.errors[rows]))
        in_gap.append(gap)
        # Right of the last piece there is no gap.
        lower.append(np.append(pieces.gap_lower, 0.0)[rows])
        upper.append(np.append(pieces.gap_upper, 0.0)[rows])
    width = max(part.coefficients.shape[1] for part in parts)
    tensor = np.zeros((len(parts), low.size, width))
    for number, part in enumerate(parts):
        tensor[number, :, : part.coefficients.shape[1]] = part.coefficients
    errors = np.array([part.errors for part in parts])
    known = (np.array(part) for part in (stated, in_gap, lower, upper))
    return _Expanded(tensor, errors, *known)


@dataclass(frozen=True)
class _Settled:
    """Cells on which the order is settled: how much of each function counts.

    The combination of polynomials by these amounts differs from their aggregate by at most the
    excess, and from that of the functions by at most the error. In the cells of gaps nothing is
    settled, and the amounts are zero.
    """

    low: FloatArray
    high: FloatArray
    amounts: IntArray
    excess: FloatArray
    errors: FloatArray

    def chosen(self, index: Any) -> _Settled:
        return _Settled(
            self.low[index],
            self.high[index],
            self.amounts[:, index],
            self.excess[index],
            self.errors[index],
        )


class _Differences(NamedTuple):
    """Bounds of polynomials minus the one that completes the share, and of their functions."""

    lower: FloatArray
    upper: FloatArray
    slack: FloatArray
    coefficients: FloatArray


def _differences(known: _Expanded, last: npt.NDArray[np.intp]) -> _Differences:
    columns = np.arange(last.size)
    sizes = known.sizes
    coefficients = known.coefficients - known.coefficients[last, columns][None]
    rounding = known.errors - known.stated + 4 * UNIT * sizes
    spreads = np.abs(coefficients[:, :, 1:]).sum(axis=2)
    # Close to 1, so that a cell that ends at a crossing is settled: a sum of K terms that are not
    # negative has a relative error of at most (K + 2) u.
    rounded_up = 1.0 + 4 * (coefficients.shape[2] + 4) * UNIT
    reach = (spreads + rounding + rounding[last, columns]) * rounded_up
    lower, upper = coefficients[:, :, 0] - reach, coefficients[:, :, 0] + reach
    slack = (known.errors + known.errors[last, columns]) * ROUNDED_UP
    lower[last, columns] = upper[last, columns] = slack[last, columns] = 0.0
    return _Differences(lower, upper, slack, coefficients)


def _excess(rule: _Rule, differences: _Differences, amounts: IntArray) -> FloatArray:
    """Bound how far the aggregate of polynomials is from their combination, on each cell."""
    lower, upper = differences.lower, differences.upper
    if not rule.averages:
        below, above = rule.bounds(lower, upper)
        found: FloatArray = np.maximum(np.maximum(-below, above), 0.0)
        return found
    crossing = np.where(amounts > 0, np.maximum(upper, 0.0), np.maximum(-lower, 0.0))
    shares = rule.shares(rule.weights)[:, None]
    excess: FloatArray = (shares * crossing).sum(axis=0) * ROUNDED_UP
    return excess


def _carried(
    rule: _Rule, differences: _Differences, amounts: IntArray, known: _Expanded
) -> FloatArray:
    """Bound how far the aggregate of functions is from that of the polynomials, on each cell."""
    lower, upper = differences.lower - differences.slack, differences.upper + differences.slack
    below, above = lower, upper
    if not rule.averages:
        # A contender can have the value at which the share is reached.
        least, most = rule.bounds(lower, upper)
        below, above = lower - most, upper - least
    contends = (below <= 0.0) & (above >= 0.0)
    largest: FloatArray = np.where(contends, known.errors, 0.0).max(axis=0) * ROUNDED_UP
    counted = np.where(contends | (amounts == 0), 0.0, rule.shares(amounts))
    if not rule.averages:
        return largest
    rest = np.clip(1.0 - counted.sum(axis=0), 0.0, 1.0) + (len(lower) + 4) * UNIT
    carried: FloatArray = (counted * known.errors).sum(axis=0) + rest * largest
    return carried * ROUNDED_UP


def _crossings(differences: _Differences, worth: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return two places in each cell, in its coordinates, between which the main crossing lies.

    It is that of the function whose difference is deepest on both sides of zero. Where this is
    nearly a line, places are so close beside its root that the difference between them is `worth`,
    or what the line leaves out; elsewhere both places are the middle.
    """
    depths = np.minimum(differences.upper, -differences.lower)
    columns = np.arange(depths.shape[1])
    rows = differences.coefficients[np.argmax(depths, axis=0), columns]
    if rows.shape[1] < 2:
        return np.zeros(columns.size), np.zeros(columns.size)
    slopes, bends = rows[:, 1], np.abs(rows[:, 2:]).sum(axis=1)
    straight = np.abs(slopes) > 8.0 * (bends + worth)
    safe = np.where(straight, slopes, 1.0)
    root = np.where(straight, -rows[:, 0] / safe, 0.0)
    reach = np.where(straight, 2.0 * (bends + worth) / np.abs(safe), 0.0)
    return root - reach, root + reach


class _Verdict(NamedTuple):
    """How cells would be settled as they are, whether that is enough, and where to cut them."""

    cells: _Settled
    enough: npt.NDArray[np.bool_]
    cuts: tuple[FloatArray, FloatArray]


def _judged(
    summands: Sequence[PolynomialPieces], rule: _Rule, low: FloatArray, high: FloatArray
) -> _Verdict:
    known = _expanded(summands, low, high)
    amounts, last = rule.taken(known.middles)
    differences = _differences(known, last)
    excess = _excess(rule, differences, amounts)
    errors = excess + _carried(rule, differences, amounts, known)
    is_open = known.in_gap.any(axis=0)
    excess[is_open], errors[is_open], amounts[:, is_open] = 0.0, 0.0, 0
    total = float(rule.weights.sum() / rule.limit) if rule.averages else 1.0
    rounding = known.errors - known.stated + 4 * UNIT * known.sizes
    allowed = (ENOUGH * known.errors + ROUNDED * total * rounding).max(axis=0)
    cuts = _crossings(differences, 0.25 * allowed)
    return _Verdict(_Settled(low, high, amounts, excess, errors), excess <= allowed, cuts)


def _cut(summands: Sequence[PolynomialPieces], rule: _Rule) -> _Settled:
    """Cut the common cells until the order is settled on each, and join what is alike."""
    low, high = common_cells(summands)
    base, most = np.arange(low.size), FEWEST_CELLS + MOST_CELLS * low.size
    found: list[_Settled] = []
    origins: list[npt.NDArray[np.intp]] = []
    for n_cuts in range(MOST_CUTS + 1):
        last = n_cuts == MOST_CUTS or low.size > most
        parts = []
        for part in _blocks(summands, low.size):
            verdict = _judged(summands, rule, low[part], high[part])
            places = _parts(low[part], high[part], verdict.cuts, summands[0].scale)
            inner = (places[1:3] > places[0]) & (places[1:3] < places[3])
            done = verdict.enough | ~inner.any(axis=0) | last
            found.append(verdict.cells.chosen(done))
            origins.append(base[part][done])
            parts.append((base[part][~done], places[:, ~done]))
        base = np.concatenate([np.repeat(owners, 3) for owners, _ in parts] or [base[:0]])
        low = np.concatenate([places[:3].T.ravel() for _, places in parts] or [low[:0]])
        high = np.concatenate([places[1:].T.ravel() for _, places in parts] or [high[:0]])
        wide = low < high
        low, high, base = low[wide], high[wide], base[wide]
        if low.size == 0:
            break
    return _joined(found, np.concatenate([*origins, np.empty(0, dtype=np.intp)]), rule)


def _parts(
    low: FloatArray, high: FloatArray, cuts: tuple[FloatArray, FloatArray], scale: str
) -> FloatArray:
    """Return the ends of up to three parts of each cell, in rows; halves where no cut is inside."""
    first, second = (_place(low, high, np.clip(cut, -1.0, 1.0), scale) for cut in cuts)
    outside = ~((low < first) & (first < high)) & ~((low < second) & (second < high))
    middle = _place(low, high, np.zeros(low.size), scale)
    return np.array(
        [low, np.where(outside, middle, first), np.where(outside, middle, second), high]
    )


def _place(low: FloatArray, high: FloatArray, local: FloatArray, scale: str) -> FloatArray:
    share = 0.5 * local + 0.5
    if scale == "log":
        inner = low * np.exp(share * np.log(high / low))
    else:
        inner = low + share * (high - low)
    exact = np.where(local <= -1.0, low, np.where(local >= 1.0, high, inner))
    return np.clip(exact, low, high)


def _blocks(summands: Sequence[PolynomialPieces], n_cells: int) -> list[slice]:
    width = max(pieces.coefficients.shape[1] for pieces in summands)
    size = max(1, MOST_NUMBERS // (width * len(summands)))
    return [slice(start, start + size) for start in range(0, n_cells, size)]


def _joined(found: Sequence[_Settled], base: npt.NDArray[np.intp], rule: _Rule) -> _Settled:
    """Return all cells in order; neighbours of one common cell with the same amounts are one."""
    amounts = [np.empty((rule.weights.size, 0), rule.weights.dtype), *(c.amounts for c in found)]
    cells = _Settled(
        np.concatenate([np.empty(0), *(c.low for c in found)]),
        np.concatenate([np.empty(0), *(c.high for c in found)]),
        np.concatenate(amounts, axis=1),
        np.concatenate([np.empty(0), *(c.excess for c in found)]),
        np.concatenate([np.empty(0), *(c.errors for c in found)]),
    )
    order = np.argsort(cells.low, kind="stable")
    cells, base = cells.chosen(order), base[order]
    # An excess is not spread over neighbours that have none.
    alike = (base[1:] == base[:-1]) & ((cells.excess[1:] > 0) == (cells.excess[:-1] > 0))
    alike &= (cells.amounts[:, 1:] == cells.amounts[:, :-1]).all(axis=0)
    (first,) = np.nonzero(np.append(True, ~alike)[: cells.low.size])
    if first.size == cells.low.size:
        return cells
    return _Settled(
        cells.low[first],
        cells.high[np.append(first[1:], cells.low.size) - 1],
        cells.amounts[:, first],
        np.maximum.reduceat(cells.excess, first),
        np.maximum.reduceat(cells.errors, first),
    )


def _on_cells(summands: Sequence[PolynomialPieces], rule: _Rule, cells: _Settled) -> CellValues:
    """Return the aggregate on settled cells, and its bounds in the cells of gaps."""
    parts = [
        _combined(summands, rule, cells.chosen(part)) for part in _blocks(summands, cells.low.size)
    ]
    if not parts:
        return _combined(summands, rule, cells)
    width = max(part.expansion.coefficients.shape[1] for part in parts)
    rows = [
        np.pad(c, ((0, 0), (0, width - c.shape[1])))
        for c in (part.expansion.coefficients for part in parts)
    ]
    errors = np.concatenate([part.expansion.errors for part in parts])
    return CellValues(
        cells.low,
        cells.high,
        Expansion(np.concatenate(rows), errors),
        np.concatenate([part.is_open for part in parts]),
        np.concatenate([part.lower for part in parts]),
        np.concatenate([part.upper for part in parts]),
    )


def _combined(summands: Sequence[PolynomialPieces], rule: _Rule, cells: _Settled) -> CellValues:
    known = _expanded(summands, cells.low, cells.high)
    shares = rule.shares(cells.amounts)
    coefficients = np.einsum("ij,ijk->jk", shares, known.coefficients)
    # Shares have three rounding errors, products one, and the sum one for each function; what was
    # rounded on these cells comes on top of what was rounded where they were settled.
    rounding = (len(summands) + 8) * UNIT * known.sizes + (known.errors - known.stated)
    errors = ((shares * rounding).sum(axis=0) + cells.errors) * ROUNDED_UP
    lower, upper = rule.bounds(*known.bounds())
    is_open = np.asarray(known.in_gap.any(axis=0))
    return CellValues(cells.low, cells.high, Expansion(coefficients, errors), is_open, lower, upper)


def _at_points(
    summands: Sequence[PolynomialPieces], rule: _Rule, low: FloatArray, high: FloatArray
) -> CellValues:
    return _combined(summands, rule, _judged(summands, rule, low, high).cells)
