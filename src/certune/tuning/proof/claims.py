"""Maximum, maximisers and upper bound of an aggregate, by a second and simpler algorithm.

The checker of a certificate must not trust the code that made it. This sweep walks over the domain
from cell to cell, where no function changes, keeps the sums of the lower and of the upper bounds
as Python integers, and shares nothing with the arithmetic of :mod:`certune.dual`. For aggregates
that depend on the order of utilities it keeps the bounds themselves, and sorts them on each cell.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
from typing import NamedTuple

from certune.aggregates import Criterion, Mean
from certune.dual import PiecewiseFunction


class Cell(NamedTuple):
    """A part of the domain in which no function changes; bounds of an aggregate.

    `lower` is about the functions, `upper` about these and instances without one.
    """

    low: float
    high: float
    lower: Fraction
    upper: Fraction
    n_open: int


@dataclass(frozen=True)
class Claims:
    """What follows from exact functions about their aggregate.

    Best value and maximisers are those of the functions, the upper bound holds for all instances.
    """

    best_value: Fraction
    best_region: tuple[tuple[float, float], ...]
    upper_bound: Fraction


def claims_from(
    duals: Sequence[PiecewiseFunction],
    criterion: Criterion,
    n_instances: int,
    largest: Fraction,
) -> Claims:
    """Derive maximum, maximisers and upper bound of the aggregate.

    O(B log B) for the mean of functions with B breakpoints, O(B N log N) for other aggregates of N
    functions. Instances without a function have the largest utility in the bound.
    """
    walk = _summed if isinstance(criterion.aggregate, Mean) else _sorted
    cells = list(walk(duals, criterion, n_instances, largest))
    best = max(cell.lower for cell in cells if not cell.n_open)
    return Claims(
        best_value=best,
        best_region=tuple(_maximisers(cells, best)),
        upper_bound=max(cell.upper for cell in cells),
    )


class _Change(NamedTuple):
    """A function has other bounds from a place on: (t, 0) is the point t, (t, 1) what follows."""

    place: tuple[float, int]
    number: int
    lower: int
    upper: int


def _changes(number: int, dual: PiecewiseFunction, scale: int) -> Iterator[_Change]:
    factor = scale // dual.denominator
    values = [factor * int(value) for value in dual.numerators]
    lower = [factor * int(bound) for bound in dual.gap_lower]
    upper = [factor * int(bound) for bound in dual.gap_upper]
    yield _Change((dual.low, 0), number, values[0], values[0])
    for gap, (low, high) in enumerate(dual.breakpoints.tolist()):
        yield _Change((low, 1), number, lower[gap], upper[gap])
        yield _Change((high, 0), number, values[gap + 1], values[gap + 1])


def _walk(
    duals: Sequence[PiecewiseFunction], scale: int
) -> Iterator[tuple[float, float, list[_Change]]]:
    """Walk over the domain: ends of each cell, and what has changed at its beginning."""
    changes = sorted(
        change for number, dual in enumerate(duals) for change in _changes(number, dual, scale)
    )
    groups = [(place[0], list(group)) for place, group in groupby(changes, lambda item: item.place)]
    ends = [t for t, _ in groups[1:]] + [duals[0].high]
    for (t, group), end in zip(groups, ends, strict=True):
        yield t, end, group


def _summed(
    duals: Sequence[PiecewiseFunction], criterion: Criterion, n_instances: int, largest: Fraction
) -> Iterator[Cell]:
    """Yield cells with bounds of the weighted mean, from sums that change step by step."""
    scale = math.lcm(*(dual.denominator for dual in duals))
    weights = criterion.weights or (1,) * n_instances
    known, others = sum(weights[: len(duals)]), sum(weights[len(duals) :])
    current = [(0, 0)] * len(duals)
    lower = upper = n_open = 0
    is_open = [False] * len(duals)
    for low, high, group in _walk(duals, scale):
        for (_, side), number, below, above in group:
            weight, (old_lower, old_upper) = weights[number], current[number]
            lower += weight * (below - old_lower)
            upper += weight * (above - old_upper)
            n_open += side - is_open[number]
            current[number], is_open[number] = (below, above), bool(side)
        bound = (Fraction(upper, scale) + largest * others) / (known + others)
        yield Cell(low, high, Fraction(lower, scale * known), bound, n_open)


def _sorted(
    duals: Sequence[PiecewiseFunction], criterion: Criterion, n_instances: int, largest: Fraction
) -> Iterator[Cell]:
    """Yield cells with bounds of an aggregate, from the bounds of all functions."""
    scale = math.lcm(*(dual.denominator for dual in duals), largest.denominator)
    covered = criterion.of(range(len(duals)))
    perfect = [int(largest * scale)] * (n_instances - len(duals))
    lower, upper, is_open = [0] * len(duals), [0] * len(duals), [False] * len(duals)
    for low, high, group in _walk(duals, scale):
        for (_, side), number, below, above in group:
            lower[number], upper[number], is_open[number] = below, above, bool(side)
        yield Cell(
            low,
            high,
            covered.value(lower) / scale,
            criterion.value([*upper, *perfect]) / scale,
            sum(is_open),
        )


def _maximisers(cells: Sequence[Cell], best: Fraction) -> Iterator[tuple[float, float]]:
    """Yield the maximal intervals that reach `best`, from a known point to a known point."""
    for reached, group in groupby(cells, key=lambda cell: cell.lower >= best):
        known = [cell for cell in group if not cell.n_open] if reached else []
        if known:
            yield known[0].low, known[-1].high
