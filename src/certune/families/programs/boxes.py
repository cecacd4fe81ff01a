"""Bounds of the utility of a program on a box of parameters.

The program is followed on the whole box at once, with every outcome of the comparisons that balls
leave open (``docs/theory/branch-and-bound.md``); its utility there is one of the values found.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

from certune.box import Box
from certune.families.base import BoxBound
from certune.pfaffian.expressions.expression import Expression, constant, parameter
from certune.pfaffian.programs.outcomes import Knowledge, Outcomes, outcomes_on_box
from certune.pfaffian.programs.program import Parameters, Program
from certune.pfaffian.signs.ranges import Range, ends_given
from certune.space import Simplex

MOST_PATHS = 32  # a box with more paths is better cut


class _Coordinates(NamedTuple):
    """The parameters of a program on a box, and the ranges of the coordinates they are made of."""

    parameters: dict[str, Any]
    ranges: dict[str, tuple[float, float]]


@dataclass(frozen=True)
class Reuse:
    """What is known about a program on a box, for parts of the box."""

    problem: BoxProblem
    knowledge: Knowledge


@dataclass(frozen=True, eq=False)
class BoxProblem:
    """One instance of a program, for many boxes.

    Parameters
    ----------
    program : callable
        The program.
    instance : object
        The instance.
    low, high : Fraction
        Range of the utility.
    exact : callable
        Turns a constant value into a utility, or raises an error that says why it is none; None
        if utilities are only enclosed.
    """

    program: Program
    instance: Any
    low: Fraction
    high: Fraction
    exact: Callable[[Expression], Fraction] | None

    @property
    def start(self) -> Reuse:
        """What is known without looking at any box: nothing."""
        return Reuse(self, Knowledge())

    def bound(self, box: Box, reuse: Reuse) -> BoxBound:
        """Bounds on a box, from what is known on a box around it."""
        coordinates = _coordinates(box)
        found = outcomes_on_box(
            lambda: self.program(self.instance, Parameters(coordinates.parameters)),
            coordinates.ranges,
            reuse.knowledge,
            MOST_PATHS,
        )
        bounds, ranges = self._values(found, coordinates)
        return BoxBound(
            bounds[0],
            bounds[1],
            _importance(box, [*found.open_ranges, *ranges]),
            None if found.paths is None else len(found.paths),
            Reuse(self, found.knowledge),
        )

    def _values(
        self, found: Outcomes, coordinates: _Coordinates
    ) -> tuple[tuple[Fraction, Fraction], list[Range]]:
        """Bounds of all values, and the ranges of those that vary."""
        ranges: list[Range] = []
        if found.paths is None:
            return (self.low, self.high), ranges
        lows, highs = [], []
        for path in found.paths:
            if self.exact is not None:
                known = self.exact(path.value)
                ends: tuple[Fraction, Fraction] | None = (known, known)
            else:
                ends, whole = ends_given(path.value, path.negative, coordinates.ranges)
                ranges.append(whole)
            if ends is None:
                return (self.low, self.high), ranges
            lows.append(min(max(ends[0], self.low), self.high))
            highs.append(max(min(ends[1], self.high), self.low))
        return (min(lows), max(highs)), ranges


def _coordinates(box: Box) -> _Coordinates:
    """Return the parameters as expressions; weights are coordinates of their own."""
    parameters: dict[str, Any] = {}
    ranges: dict[str, tuple[float, float]] = {}

    def coordinate(name: str, ends: tuple[float, ...]) -> Expression:
        low, high = min(ends), max(ends)
        if low == high:
            return constant(Fraction(low))
        ranges[name] = (low, high)
        return parameter(name)

    for item, part in zip(box.space.parameters, box.parts, strict=True):
        columns = list(zip(*part, strict=True))
        if isinstance(item, Simplex):
            entries = enumerate(columns)
            parameters[item.name] = tuple(coordinate(f"{item.name}[{i}]", c) for i, c in entries)
        else:
            parameters[item.name] = coordinate(item.name, columns[0])
    return _Coordinates(parameters, ranges)


def _importance(box: Box, ranges: list[Range]) -> tuple[float, ...]:
    """How much of what is open changes along every edge, summed over all that is open."""
    widths = [_steps(box, number) for number in range(len(box.edges))]
    totals = [0.0] * len(widths)
    for found in ranges:
        changes = [
            sum(found.slopes.get(name, 0.0) * step for name, step in steps.items())
            for steps in widths
        ]
        whole = sum(changes)
        if whole > 0.0:
            totals = [total + change / whole for total, change in zip(totals, changes, strict=True)]
    if not any(totals):  # nothing is known: the longest edge, relatively
        return tuple(_share(box, number) for number in range(len(widths)))
    return tuple(totals)


def _steps(box: Box, number: int) -> dict[str, float]:
    """How far every coordinate moves along an edge."""
    edge = box.edges[number]
    item, part = box.space.parameters[edge.parameter], box.parts[edge.parameter]
    first, second = part[edge.first], part[edge.second]
    if not isinstance(item, Simplex):
        return {item.name: abs(second[0] - first[0])}
    pairs = enumerate(zip(first, second, strict=True))
    return {f"{item.name}[{i}]": abs(b - a) for i, (a, b) in pairs}


def _share(box: Box, number: int) -> float:
    """Length of an edge relative to the range of its parameter."""
    item = box.space.parameters[box.edges[number].parameter]
    longest = max(_steps(box, number).values())
    return longest if isinstance(item, Simplex) else longest / (item.high - item.low)
