"""Good settings of several parameters by exact searches along lines.

What is maximised over the instances is along a line an exact function of one
coordinate, so that its best point on the whole line is found, not sampled.  Lines run through the
best setting, along the parameters and in random directions, and along the parameters beside it,
near and far.  Alone this is an anytime method without a bound; in branch and bound it provides the
incumbent.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import chain, count, cycle, repeat
from typing import Any

import numpy as np

from certune.dual import DualFunction, aggregated
from certune.errors import UndecidedError
from certune.space import ParameterSpace, ParameterValue, Real, Segment
from certune.tuning.instances import blaming
from certune.tuning.schema import segment_data
from certune.tuning.space.problem import Problem
from certune.tuning.work.executors import Crew
from certune.tuning.work.search_steps import (
    Steps,
    exactly,
    number_data,
    number_from,
    setting_from,
)

# How far beside the best setting parallel lines run, as a share of the way to a random setting.
SHARES = (0.25, 1.0, 0.0625, 0.25)
# Parallel lines run beside the best settings of this many lines, in turn.
ELITE = 4
# Parallel lines through random settings at the start, for every free coordinate.
START_LINES = 4
# Lines in other directions take longer; they run this share of their length to either side of the
# best setting, and their whole length every so many turns.
REACH, LONG_LINES = 0.0625, 8


@dataclass(frozen=True)
class Incumbent:
    """A setting with its utility on every instance from plain runs, and what is maximised."""

    params: dict[str, Any]
    utilities: tuple[Fraction, ...] = field(repr=False)
    value: Fraction


class LineSearch:
    """Exact searches along lines through the best setting so far.

    Parameters
    ----------
    problem : Problem
        Family and instances.
    crew : Crew
        Who does the work.
    rng : numpy Generator
        Source of the random directions and shifts.
    steps : Steps, optional
        Where what comes of settings and lines is kept, or taken from.

    Attributes
    ----------
    best : Incumbent or None
        The best setting; None before the first was offered.
    n_lines : int
        Lines searched so far.
    """

    def __init__(
        self, problem: Problem, crew: Crew, rng: np.random.Generator, steps: Steps | None = None
    ) -> None:
        self._problem = problem
        self._family = family = problem.family
        self._n_instances = len(problem.instances)
        self._crew = crew
        self._steps = Steps() if steps is None else steps
        self._rng = rng
        names = family.line_names
        self._plan = self._lines() if names is None else self._parallel_lines(names)
        self._elite: list[tuple[Fraction, int, dict[str, Any]]] = []
        self._largest = Fraction(family.utility_range[1])
        self.best: Incumbent | None = None
        self.n_lines = 0

    def offer(self, params: Mapping[str, Any]) -> Incumbent:
        """Run a setting, and keep it if it is the best so far; returns what the runs gave."""
        setting = dict(params)
        utilities = self._steps.take(
            "setting",
            setting,
            lambda: self._decided(_utility, setting),
            encode=lambda found: found if isinstance(found, str) else [*map(number_data, found)],
            decode=self._utilities_from,
        )
        if isinstance(utilities, str):
            raise UndecidedError(utilities)
        value = self._problem.criterion.value(utilities)
        found = Incumbent(setting, tuple(utilities), value)
        if self.best is None or value > self.best.value:
            self.best = found
        return found

    def _utilities_from(self, stored: Any) -> list[Any] | str:
        if isinstance(stored, str):
            return stored
        return [*map(number_from, exactly(self._n_instances, stored))]

    def _decided(self, function: Callable[..., Any], argument: Any) -> list[Any] | str:
        """Return what a function gives on every instance, or what stays undecided, in words."""
        items = [(number, argument) for number in range(self._n_instances)]
        try:
            found: list[Any] = self._problem.map(self._crew, function, items)
        except UndecidedError as error:
            return str(error)
        return found

    def try_setting(self, params: Mapping[str, Any]) -> Fraction:
        """Offer a setting; returns its value, the largest of all if that is undecided."""
        try:
            return self.offer(params).value
        except UndecidedError:
            return self._largest

    def step(self) -> None:
        """Search the next line, if there is one."""
        segment = next(self._plan)
        if segment is not None:
            self.search(segment)

    def _lines(self) -> Iterator[Segment]:
        """Yield lines through the best setting and parallel ones beside it."""
        space = self._family.space
        reals = [item.name for item in space.parameters if isinstance(item, Real)]
        corners = cycle(
            {item.name: tuple(float(i == corner) for i in range(item.size))}
            for item in space.parameters
            if not isinstance(item, Real) and item.size > 1
            for corner in range(item.size)
        )
        for turn in count():
            for name in reals:
                yield from self._line({name: _high(space, name)}, 0.0)
            shares = SHARES if turn else (1.0,) * (START_LINES * space.n_free)
            for number, share in enumerate(shares if reals else ()):
                name = reals[(turn + number) % len(reals)]
                elite = self._elite if share < 1.0 else []
                start = elite[number % len(elite)][2] if elite else None
                yield from self._line({name: _high(space, name)}, share, start=start)
            reach = 1.0 if turn % LONG_LINES == LONG_LINES - 1 else REACH
            yield from self._line(next(corners, {}), 0.0, reach)
            yield from self._line(space.sample(self._rng), 0.0, reach)

    def _parallel_lines(self, names: tuple[str, ...]) -> Iterator[Segment | None]:
        """Yield lines along some parameters only.

        First at both ends of the others, then at random, then through every best setting that no
        line has met; None while there is no such setting.
        """
        assert self.best is not None
        space = self._family.space
        starts: list[dict[str, Any]] = [
            {item.name: getattr(item, end) for item in space.parameters if isinstance(item, Real)}
            for end in ("low", "high")
        ]
        starts += [dict(space.sample(self._rng)) for _ in range(START_LINES)]
        met: list[dict[str, Any]] = []
        for start in chain(starts, repeat({})):
            setting = {**self.best.params, **start}
            if start or setting not in met:
                for name in names:
                    fixed = {key: value for key, value in setting.items() if key != name}
                    yield Segment.coordinate(name, *_range(space, name), fixed)
                    met.append(self.best.params)
            else:
                yield None

    def _line(
        self,
        target: Mapping[str, Any],
        share: float,
        reach: float = 1.0,
        start: Mapping[str, Any] | None = None,
    ) -> Iterator[Segment]:
        """Yield the line to a target through the best or another setting, moved at random."""
        assert self.best is not None
        space = self._family.space
        params = self.best.params if start is None else start
        if share:
            params = _between(params, space.sample(self._rng), share)
        segment = line_through(space, params, target, reach)
        if segment is not None:
            yield segment

    def search(self, segment: Segment) -> Fraction:
        """Find the best setting on a line, and keep it if it is the best so far.

        Returns
        -------
        Fraction
            No setting on the line has a larger value. If a function on it cannot be decided, that
            is the largest of all.
        """
        self.n_lines += 1
        found = self._steps.take(
            "line",
            segment_data(segment),
            lambda: self._searched(segment),
            encode=lambda found: found and [found[0], *map(number_data, found[1:])],
            decode=lambda stored: (
                stored and (setting_from(stored[0]), *map(number_from, stored[1:3]))
            ),
        )
        if found is None:
            return self._largest
        upper: Fraction
        params, best, upper = found
        self._elite = sorted([*self._elite, (-best, self.n_lines, params)], key=lambda e: e[:2])
        del self._elite[ELITE:]
        if self.best is None or best > self.best.value:
            self.try_setting(params)
        return upper

    def _searched(self, segment: Segment) -> tuple[dict[str, Any], Fraction, Fraction] | None:
        """Return the best setting on a line, its value and a bound of all values on the line."""
        outlined = self._family.has_outline
        landscape = self._landscape(_outline if outlined else _function, segment)
        if landscape is None:
            return None
        best, upper = _best_on(segment, landscape), landscape.upper_bound_exact
        if outlined:
            enough = best[1] if self.best is None else max(best[1], self.best.value)
            gaps = _gaps_above(landscape, enough)
            upper = min(upper, enough) if gaps else upper
            for low, high, bound in gaps:
                part = self._landscape(_function, segment.restrict(low, high))
                if part is None:
                    upper = max(upper, bound)
                    continue
                upper = max(upper, part.upper_bound_exact)
                best = max(best, _best_on(segment, part), key=lambda found: found[1])
        return *best, upper

    def _landscape(self, function: Callable[..., Any], segment: Segment) -> DualFunction | None:
        """Return what is maximised as a function on a segment, None if that stays undecided."""
        functions = self._decided(function, segment)
        return (
            None if isinstance(functions, str) else aggregated(functions, self._problem.criterion)
        )


def _best_on(segment: Segment, landscape: DualFunction) -> tuple[dict[str, Any], Fraction]:
    """Return a setting in the middle of the widest best piece, and its value."""
    low, high = landscape.widest_plateau(0)
    return segment.at(min(max(0.5 * low + 0.5 * high, low), high)), landscape.max_exact


def _gaps_above(landscape: DualFunction, level: Fraction) -> list[tuple[float, float, Fraction]]:
    """Return the gaps in which more than a level may be reached, with their bounds."""
    if landscape.upper_bound_exact <= level:
        return []
    gaps = [
        (low, high, landscape.restrict(low, high).upper_bound_exact)
        for low, high in landscape.breakpoints.tolist()
    ]
    return [gap for gap in gaps if gap[2] > level]


def _utility(problem: Problem, item: tuple[int, Mapping[str, Any]]) -> Fraction:
    number, setting = item
    instance = problem.instances[number]
    with blaming(instance, number):
        return problem.family.run_exact(instance, setting)


def _function(problem: Problem, item: tuple[int, Segment]) -> DualFunction:
    number, segment = item
    instance = problem.instances[number]
    with blaming(instance, number):
        return problem.family.dual(instance, segment)


def _outline(problem: Problem, item: tuple[int, Segment]) -> DualFunction:
    number, segment = item
    instance = problem.instances[number]
    with blaming(instance, number):
        return problem.family.outline(instance, segment)


def middle_of(space: ParameterSpace) -> dict[str, ParameterValue]:
    """Return the setting in the middle of a space."""
    return {
        item.name: 0.5 * item.low + 0.5 * item.high
        if isinstance(item, Real)
        else (1.0 / item.size,) * item.size
        for item in space.parameters
    }


def _range(space: ParameterSpace, name: str) -> tuple[float, float]:
    item = next(item for item in space.parameters if item.name == name)
    assert isinstance(item, Real)
    return item.low, item.high


def _high(space: ParameterSpace, name: str) -> float:
    return _range(space, name)[1]


def _between(params: Mapping[str, Any], target: Mapping[str, Any], share: float) -> dict[str, Any]:
    """Return the setting that lies a share of the way to a target."""
    moved: dict[str, Any] = {}
    for name, value in params.items():
        other = target[name]
        if isinstance(value, tuple):
            pairs = zip(value, other, strict=True)
            moved[name] = tuple((1.0 - share) * a + share * b for a, b in pairs)
        else:
            moved[name] = (1.0 - share) * value + share * other
    return moved


def line_through(
    space: ParameterSpace,
    params: Mapping[str, Any],
    target: Mapping[str, Any],
    reach: float = 1.0,
) -> Segment | None:
    """Return the longest segment of the space through a setting and a target.

    Parameters that the target does not name stay as they are. With ``reach`` below 1, the segment
    is only that share of its length long to either side of the setting, unless one real parameter
    moves alone. None if setting and target agree.
    """
    start = {name: np.atleast_1d(np.asarray(value, float)) for name, value in params.items()}
    steps = {
        name: np.atleast_1d(np.asarray(target.get(name, value), float)) - start[name]
        for name, value in params.items()
    }
    moving = [item for item in space.parameters if steps[item.name].any()]
    if not moving:
        return None
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
    length = ahead - back
    back, ahead = max(back, -reach * length), min(ahead, reach * length)
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
