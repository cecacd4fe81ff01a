"""Boxes of a parameter space: what branch and bound cuts into pieces.

A box is an interval for every real parameter and a simplex for the weights.  Weights need care at
their boundary, where a metric stops to count and ties that were broken by it appear: therefore a
box of weights stands for the points at which *exactly* the weights that are positive at one of its
vertices are positive, and the faces of the space are boxes of their own.

A family whose utility is special on other sets, such as where its exponents sum to zero, cuts its
space into boxes with a `Stratum`, which says what part of the box is meant.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations, product
from typing import Any, NamedTuple, TypeAlias

from certune.errors import ParameterError
from certune.space import LogReal, Parameter, ParameterSpace, ParameterValue, Real, Segment

Vertex: TypeAlias = tuple[float, ...]


class Edge(NamedTuple):
    """A direction in which a box can be halved: two vertices of the part of one parameter."""

    parameter: int
    first: int
    second: int


class Stratum(NamedTuple):
    """Which part of a product of intervals a box stands for.

    Parameters
    ----------
    side : int, default=0
        1: points at which the parameters and the constants sum to at least 0; -1: to less than 0;
        0: all of them.
    constants : tuple of float
        What is added to the sum.
    rays : bool, default=False
        Whether the box stands for all s * p, where s > 0 lies in the last part, an interval, and p
        in the product of the others.
    off_axes : bool, default=False
        Whether points are left out at which a parameter with a whole interval is 0.
    """

    side: int = 0
    constants: tuple[float, ...] = ()
    rays: bool = False
    off_axes: bool = False


PLAIN = Stratum()
_FACTOR = Real("factor", 0.0, 1.0)


@dataclass(frozen=True)
class Box:
    """A product of intervals and simplices.

    Parameters
    ----------
    space : ParameterSpace
        The space that the box lies in.
    parts : tuple
        For every parameter of the space the vertices of its part: two numbers for an interval,
        one for a fixed value (each as a tuple of length one), or at most L vectors of L weights.
    stratum : Stratum, optional
        Which part of the product is meant, by default all of it.

    Examples
    --------
    >>> from certune.space import Simplex
    >>> space = ParameterSpace((Real("alpha", 0, 4), Simplex("weights", 2)))
    >>> box, *faces = Box.strata(space)
    >>> [face.vertices("weights") for face in faces]
    [((1.0, 0.0),), ((0.0, 1.0),)]
    >>> box.split(box.edges[0])[1].vertices("alpha")
    ((2.0,), (4.0,))
    >>> box.centre
    {'alpha': 2.0, 'weights': (0.5, 0.5)}
    """

    space: ParameterSpace
    parts: tuple[tuple[Vertex, ...], ...]
    stratum: Stratum = PLAIN

    @classmethod
    def strata(cls, space: ParameterSpace) -> list[Box]:
        """Return boxes that together hold every point of the space exactly once.

        The first one has all weights positive, the others are the faces of the simplices.
        """
        if space.discrete:
            raise ParameterError(
                "Boxes have real parameters, but "
                f"{', '.join(repr(item.name) for item in space.discrete)} have separate settings: "
                "take one of family.slices()."
            )
        return [cls(space, parts) for parts in product(*(_strata(p) for p in space.parameters))]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parameters."""
        return self.space.names

    @cached_property
    def edges(self) -> tuple[Edge, ...]:
        """Directions in which the box can be halved: (interval) or every edge of a simplex."""
        return tuple(
            Edge(number, i, j)
            for number, part in enumerate(self.parts)
            for i, j in combinations(range(len(part)), 2)
        )

    @property
    def n_free(self) -> int:
        """Dimension of the box."""
        return sum(len(part) - 1 for part in self.parts)

    @property
    def items(self) -> tuple[Parameter, ...]:
        """What the parts belong to: the parameters of the space, and the factor of rays."""
        return self.space.parameters + ((_FACTOR,) if self.stratum.rays else ())

    @property
    def is_empty(self) -> bool:
        """Whether no point of the product belongs to the stratum."""
        if self.stratum.side > 0:
            return self._extreme_sum(-1) < 0.0
        return self.stratum.side < 0 and self._extreme_sum(0) >= 0.0

    def _extreme_sum(self, end: int) -> float:
        """Return the smallest (0) or largest (-1) sum, rounded once so that its sign is right."""
        parts = zip(self.space.parameters, self.parts, strict=False)
        return math.fsum([*self.stratum.constants, *(part[end][0] for _, part in parts)])

    def vertices(self, name: str) -> tuple[Vertex, ...]:
        """Return the vertices of the part of one parameter."""
        return self.parts[self.names.index(name)]

    @property
    def centre(self) -> dict[str, ParameterValue]:
        """A setting inside the box: the mean of the vertices, rounded.

        If that lies on the other side of the stratum, a point on the way to the last vertex.
        """
        centre: list[Any] = [
            _centre(item, part) for item, part in zip(self.items, self.parts, strict=True)
        ]
        factor = centre.pop() if self.stratum.rays else 1.0
        if self.stratum.side:
            centre = self._on_its_side(centre)
        values = [factor * value for value in centre] if self.stratum.rays else centre
        return dict(zip(self.names, values, strict=True))

    def _on_its_side(self, centre: list[float]) -> list[float]:
        """Move a point towards the vertex with the largest sum of the right sign."""
        end = -1 if self.stratum.side > 0 else 0
        corner = [part[end][0] for _, part in zip(centre, self.parts, strict=False)]
        for share in (0.0, 0.5, 0.75, 0.9375):
            moved = [(1.0 - share) * a + share * b for a, b in zip(centre, corner, strict=True)]
            total = math.fsum([*self.stratum.constants, *moved])
            if (total > 0.0) if self.stratum.side > 0 else (total < 0.0):
                return moved
        return corner

    def split(self, edge: Edge) -> tuple[Box, Box]:
        """Halve the box in the middle of an edge.

        The halves cover the box exactly if `can_split` says so.
        """
        part = self.parts[edge.parameter]
        middle = _middle(self.items[edge.parameter], part[edge.first], part[edge.second])
        halves = []
        for replaced in (edge.second, edge.first):
            new = part[:replaced] + (middle,) + part[replaced + 1 :]
            parts = self.parts[: edge.parameter] + (new,) + self.parts[edge.parameter + 1 :]
            halves.append(Box(self.space, parts, self.stratum))
        return halves[0], halves[1]

    def can_split(self, edge: Edge) -> bool:
        """Is there a point between the two vertices of an edge, for weights without rounding?"""
        parameter, part = self.items[edge.parameter], self.parts[edge.parameter]
        first, second = part[edge.first], part[edge.second]
        middle = _middle(parameter, first, second)
        if isinstance(parameter, Real):
            return first[0] < middle[0] < second[0]
        triples = zip(first, middle, second, strict=True)
        return all(Fraction(a) + Fraction(b) == 2 * Fraction(m) for a, m, b in triples)

    @property
    def segment(self) -> Segment:
        """The whole box as a segment, if it has dimension one."""
        if self.n_free != 1 or self.stratum.rays:
            raise ParameterError(f"A box of dimension {self.n_free} is not a segment: {self!r}.")
        ends = [
            {
                parameter.name: _value(parameter, part[min(end, len(part) - 1)])
                for parameter, part in zip(self.space.parameters, self.parts, strict=True)
            }
            for end in (0, 1)
        ]
        for parameter, part in zip(self.space.parameters, self.parts, strict=True):
            if len(part) == 2 and isinstance(parameter, Real):
                fixed = {name: value for name, value in ends[0].items() if name != parameter.name}
                return Segment.coordinate(parameter.name, part[0][0], part[1][0], fixed)
        return Segment(*ends)


def _strata(parameter: Parameter) -> Iterator[tuple[Vertex, ...]]:
    if isinstance(parameter, Real):
        yield ((parameter.low,), (parameter.high,))
        return
    corners = [tuple(float(i == j) for j in range(parameter.size)) for i in range(parameter.size)]
    for count in range(parameter.size, 0, -1):
        yield from combinations(corners, count)


def _value(parameter: Parameter, vertex: Vertex) -> ParameterValue:
    return vertex[0] if isinstance(parameter, Real) else vertex


def _centre(parameter: Parameter, part: tuple[Vertex, ...]) -> ParameterValue:
    if isinstance(parameter, Real):
        return _middle(parameter, part[0], part[-1])[0]
    return tuple(math.fsum(column) / len(part) for column in zip(*part, strict=True))


def _middle(parameter: Parameter, first: Vertex, second: Vertex) -> Vertex:
    """Return the point half way; weights that are whole multiples of 2^-53 stay exact."""
    if isinstance(parameter, LogReal):
        middle = math.sqrt(first[0]) * math.sqrt(second[0])
        return (min(max(middle, first[0]), second[0]),)
    return tuple(0.5 * a + 0.5 * b for a, b in zip(first, second, strict=True))
