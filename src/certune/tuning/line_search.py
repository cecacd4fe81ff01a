"""Good settings of several parameters by exact searches along lines.

The mean utility along a line through the best setting so far is an exact function of one
coordinate, so that its best point on the whole line is found, not sampled.  Lines run along the
parameters first, then in random directions.  Alone this is an anytime method without a bound; in
branch and bound it provides the incumbent.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from certune.dual import mean
from certune.families.base import Family
from certune.space import ParameterSpace, ParameterValue, Real, Segment
from certune.tuning.workers import Workers

# Random settings that are run before the first line, for every free coordinate and one more.
START_POINTS = 4


@dataclass(frozen=True)
class Incumbent:
    """The best setting so far, with its utility on every instance from plain runs."""

    params: dict[str, Any]
    utilities: tuple[Fraction, ...] = field(repr=False)

    @property
    def total(self) -> Fraction:
        """Sum of the utilities."""
        return sum(self.utilities, Fraction(0))


class LineSearch:
    """Exact searches along lines through the best setting so far.

    Parameters
    ----------
    family : Family
        The algorithm.
    instances : sequence
        Checked instances.
    workers : Workers
        Who does the work, and until when.
    rng : numpy Generator
        Source of the random directions.

    Attributes
    ----------
    best : Incumbent or None
        The best setting; None before the first was offered.
    n_lines : int
        Lines searched so far.
    """

    def __init__(
        self, family: Family, instances: Sequence[Any], workers: Workers, rng: np.random.Generator
    ) -> None:
        self._family = family
        self._instances = instances
        self._workers = workers
        self._rng = rng
        self._directions = _directions(family.space, rng)
        self.best: Incumbent | None = None
        self.n_lines = 0

    def begin(self) -> None:
        """Run some random settings."""
        space = self._family.space
        for _ in range(START_POINTS * (space.n_free + 1)):
            self.offer(space.sample(self._rng))

    def offer(self, params: Mapping[str, Any]) -> Incumbent:
        """Run a setting, and keep it if it is the best so far; returns what the runs gave."""
        run = self._family.run_exact
        setting = dict(params)
        utilities = self._workers.map(lambda instance: run(instance, setting), self._instances)
        found = Incumbent(setting, tuple(utilities))
        if self.best is None or found.total > self.best.total:
            self.best = found
        return found

    def step(self) -> None:
        """Search the next line through the best setting."""
        assert self.best is not None
        segment = line_through(self._family.space, self.best.params, next(self._directions))
        if segment is not None:
            self.search(segment)

    def search(self, segment: Segment) -> Fraction:
        """Find the best setting on a line, and keep it if it is the best so far.

        Returns
        -------
        Fraction
            No setting on the line has a larger sum of utilities.
        """
        dual = self._family.dual
        self.n_lines += 1
        duals = self._workers.map(lambda instance: dual(instance, segment), self._instances)
        landscape = mean(duals)
        if self.best is None or landscape.max_exact * len(duals) > self.best.total:
            low, high = landscape.widest_plateau(0)
            self.offer(segment.at(min(max(0.5 * low + 0.5 * high, low), high)))
        return landscape.upper_bound_exact * len(duals)


def middle_of(space: ParameterSpace) -> dict[str, ParameterValue]:
    """Return the setting in the middle of a space."""
    return {
        item.name: 0.5 * item.low + 0.5 * item.high
        if isinstance(item, Real)
        else (1.0 / item.size,) * item.size
        for item in space.parameters
    }


def _directions(space: ParameterSpace, rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    """Yield targets to draw a line to: every parameter alone, then as many random settings."""
    while True:
        for item in space.parameters:
            if isinstance(item, Real):
                yield {item.name: item.high}
            elif item.size > 1:
                for corner in range(item.size):
                    yield {item.name: tuple(float(corner == i) for i in range(item.size))}
        for _ in range(max(1, space.n_free)):
            yield space.sample(rng)


def line_through(
    space: ParameterSpace, params: Mapping[str, Any], target: Mapping[str, Any]
) -> Segment | None:
    """Return the longest segment of the space through a setting and a target.

    Parameters that the target does not name stay as they are. None if setting and target agree.
    """
    start = {name: np.atleast_1d(np.asarray(value, float)) for name, value in params.items()}
    steps = {
        name: np.atleast_1d(np.asarray(target.get(name, value), float)) - start[name]
        for name, value in params.items()
    }
    if not any(step.any() for step in steps.values()):
        return None
    moving = [item for item in space.parameters if steps[item.name].any()]
    if len(moving) == 1 and isinstance(moving[0], Real):
        fixed = {name: value for name, value in params.items() if name != moving[0].name}
        return Segment.coordinate(moving[0].name, moving[0].low, moving[0].high, fixed)
    back, ahead = -math.inf, math.inf
    for item in moving:
        low, high = (item.low, item.high) if isinstance(item, Real) else (0.0, 1.0)
        for value, step in zip(start[item.name], steps[item.name], strict=True):
            if step != 0.0:
                ends = sorted(((low - value) / step, (high - value) / step))
                back, ahead = max(back, ends[0]), min(ahead, ends[1])
    if not back < ahead:
        return None
    ends = [
        {
            item.name: _inside(item, start[item.name] + t * steps[item.name], params[item.name])
            for item in space.parameters
        }
        for t in (back, ahead)
    ]
    return None if ends[0] == ends[1] else Segment(*ends)


def _inside(item: Any, point: Any, value: Any) -> Any:
    """Bring a rounded point back into the range of its parameter."""
    if isinstance(item, Real):
        return min(max(float(point[0]), item.low), item.high)
    if item.size == 1:
        return value
    weights = np.clip(point, 0.0, 1.0)
    return tuple(float(weight) for weight in weights / weights.sum())
