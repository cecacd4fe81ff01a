"""Maximum, maximisers and upper bound of a mean, by a second and simpler algorithm.

The checker of a certificate must not trust the code that made it. This sweep walks over the domain
from cell to cell, where no function changes, keeps the sums of the lower and of the upper bounds
as Python integers, and shares nothing with the arithmetic of :mod:`certune.dual`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
from typing import NamedTuple

from certune.dual import PiecewiseFunction


class Cell(NamedTuple):
    """A part of the domain in which no function changes; sums of bounds over all functions."""

    low: float
    high: float
    lower: int
    upper: int
    n_open: int


@dataclass(frozen=True)
class Claims:
    """What follows from exact functions about their mean."""

    best_value: Fraction
    best_region: tuple[tuple[float, float], ...]
    upper_bound: Fraction


def claims_from(duals: Sequence[PiecewiseFunction]) -> Claims:
    """Derive maximum, maximisers and upper bound of the mean. O(B log B) for B breakpoints."""
    scale = math.lcm(*(dual.denominator for dual in duals))
    cells = list(_cells(duals, scale))
    best = max(cell.lower for cell in cells if not cell.n_open)
    denominator = scale * len(duals)
    return Claims(
        best_value=Fraction(best, denominator),
        best_region=tuple(_maximisers(cells, best)),
        upper_bound=Fraction(max(cell.upper for cell in cells), denominator),
    )


def _cells(duals: Sequence[PiecewiseFunction], scale: int) -> Iterator[Cell]:
    """Walk over the domain. A place (t, 0) is the point t itself, (t, 1) what follows it."""
    changes = sorted(change for dual in duals for change in _changes(dual, scale))
    lower = upper = n_open = 0
    start: float | None = None
    for (t, _), group in groupby(changes, key=lambda change: change[0]):
        if start is not None:
            yield Cell(start, t, lower, upper, n_open)
        for _, lower_step, upper_step, open_step in group:
            lower, upper, n_open = lower + lower_step, upper + upper_step, n_open + open_step
        start = t
    assert start is not None
    yield Cell(start, duals[0].high, lower, upper, n_open)


def _changes(
    dual: PiecewiseFunction, scale: int
) -> Iterator[tuple[tuple[float, int], int, int, int]]:
    """Yield the places at which a function changes, with the steps of both bounds and openness."""
    factor = scale // dual.denominator
    values = [factor * int(value) for value in dual.numerators]
    lower = [factor * int(bound) for bound in dual.gap_lower]
    upper = [factor * int(bound) for bound in dual.gap_upper]
    yield (dual.low, 0), values[0], values[0], 0
    for gap, (low, high) in enumerate(dual.breakpoints.tolist()):
        before, after = values[gap], values[gap + 1]
        yield (low, 1), lower[gap] - before, upper[gap] - before, 1
        yield (high, 0), after - lower[gap], after - upper[gap], -1


def _maximisers(cells: Sequence[Cell], best: int) -> Iterator[tuple[float, float]]:
    """Yield the maximal intervals that reach `best`, from a known point to a known point."""
    for reached, group in groupby(cells, key=lambda cell: cell.lower >= best):
        known = [cell for cell in group if not cell.n_open] if reached else []
        if known:
            yield known[0].low, known[-1].high
