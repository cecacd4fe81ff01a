"""How many regions do curves cut a rectangle into? A count with a proof.

The plane is cut into boxes until each is simple: every curve g = 0 that meets a box does so in one
arc (a partial derivative of g has one sign there, and g has exactly two zeros on the edges), and
two curves cross in it at most once (their Jacobian determinant has one sign, so one function is
monotone along the zero set of the other).  Arcs, crossings and boundary points form a plane graph
together with the frame.  A crossing has four edges, a boundary point three, so by Euler's formula

    regions = crossings + boundary points / 2 + components,

where components are those of the union of all curves and the frame.  All tests are done in balls;
what they cannot decide down to the smallest boxes is an error, not a guess.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

from certune.errors import InputError, ParameterError, UndecidedError
from certune.pfaffian.expressions.evaluation import ball_sign, enclose
from certune.pfaffian.expressions.expression import Expression

_CUT = 0.4853
_SMALLEST = 2.0**-30

Range = tuple[float, float]


@dataclass(frozen=True)
class Arrangement:
    """Curves in a rectangle, counted with proof.

    Parameters
    ----------
    n_regions : int
        Connected regions of the rectangle without the curves.
    n_crossings : int
        Points where two curves cross.
    n_boundary_points : int
        Points where a curve meets the boundary of the rectangle.
    n_components : int
        Connected components of all curves together with the boundary.
    n_boxes : int
        Boxes that the proof took.
    """

    n_regions: int
    n_crossings: int
    n_boundary_points: int
    n_components: int
    n_boxes: int


def count_regions(
    functions: Sequence[Expression], ranges: Mapping[str, tuple[float, float]]
) -> Arrangement:
    """Count the regions into which the zero sets of functions cut a rectangle.

    Parameters
    ----------
    functions : sequence of Expression
        Functions of two parameters; their zero sets must be smooth curves that cross transversally,
        no three in one point.
    ranges : mapping of name to (low, high)
        The rectangle.

    Returns
    -------
    Arrangement
        The counts.

    Raises
    ------
    UndecidedError
        If the curves are not in general position, or too close to that to tell.

    Examples
    --------
    >>> from certune.pfaffian import count_regions, parameters
    >>> x, y = parameters("x y")
    >>> count_regions([x**2 + y**2 - 1, x - y], {"x": (-2, 2), "y": (-2.1, 2.2)}).n_regions
    4
    """
    names = tuple(ranges)
    if len(names) != 2:
        raise ParameterError(f"regions are counted in the plane of two parameters, got {names}")
    strange = [f for f in functions if not set(f.parameters) <= set(names)]
    if strange:
        raise InputError(f"{strange[0]} depends on more than {' and '.join(names)}")
    rectangle = tuple((float(low), float(high)) for low, high in ranges.values())
    return _Counter(list(functions), names, (rectangle[0], rectangle[1])).count()


class _Curve(NamedTuple):
    function: Expression
    slopes: tuple[Expression, Expression]


class _Edge(NamedTuple):
    """A side of a box: the coordinate that is fixed, its value, and the range of the other."""

    axis: int
    at: float
    span: Range


class _Arc(NamedTuple):
    """The part of a curve in a box, and the two edges it ends on."""

    curve: int
    ends: tuple[_Edge, _Edge]


Box = tuple[Range, Range]


class _Counter:
    def __init__(self, functions: list[Expression], names: tuple[str, ...], frame: Box) -> None:
        self._names, self._frame = names, frame
        self._curves = [
            _Curve(f, (f.derivative(names[0]), f.derivative(names[1]))) for f in functions
        ]
        self._jacobians = {
            (i, j): first.slopes[0] * second.slopes[1] - first.slopes[1] * second.slopes[0]
            for (i, first), (j, second) in combinations(enumerate(self._curves), 2)
        }

    def count(self) -> Arrangement:
        arcs: list[_Arc] = []
        crossings: list[tuple[int, int]] = []
        n_boxes = 0
        stack = [self._frame]
        while stack:
            box = stack.pop()
            n_boxes += 1
            found = self._simple(box)
            if found is None:
                stack += self._halves(box)
                continue
            first = len(arcs)
            arcs += found[0]
            crossings += [(first + i, first + j) for i, j in found[1]]
        n_points, n_components = self._connect(arcs, crossings)
        n_regions = len(crossings) + n_points // 2 + n_components
        return Arrangement(n_regions, len(crossings), n_points, n_components, n_boxes)

    def _halves(self, box: Box) -> list[Box]:
        (a, b), (c, d) = box
        if max(b - a, d - c) <= _SMALLEST * max(1.0, abs(a), abs(c)):
            raise UndecidedError(
                f"near {self._names[0]} = {a!r}, {self._names[1]} = {c!r} the curves could not be "
                "told apart: they touch, three meet, one is not smooth, or one passes through a "
                "corner; move the rectangle or the curves a little"
            )
        if b - a >= d - c:
            cut = a + _CUT * (b - a)
            return [((a, cut), (c, d)), ((cut, b), (c, d))]
        cut = c + _CUT * (d - c)
        return [((a, b), (c, cut)), ((a, b), (cut, d))]

    def _sign(self, function: Expression, box: Sequence[object]) -> int | None:
        return ball_sign(enclose(function, dict(zip(self._names, box, strict=True))))

    def _simple(self, box: Box) -> tuple[list[_Arc], list[tuple[int, int]]] | None:
        """Arcs and crossings in a box, None if it must be cut."""
        arcs: list[_Arc] = []
        for number, curve in enumerate(self._curves):
            if self._sign(curve.function, box) is not None:
                continue
            if all(self._sign(slope, box) in (None, 0) for slope in curve.slopes):
                return None
            ends: list[_Edge] = []
            for edge in _edges(box):
                crossed = self._is_crossed(curve, edge)
                if crossed is None:
                    return None
                ends += [edge] if crossed else []
            if len(ends) > 2:
                return None
            if ends:
                arcs.append(_Arc(number, (ends[0], ends[1])))
        crossings: list[tuple[int, int]] = []
        for (i, first), (j, second) in combinations(enumerate(arcs), 2):
            crossed = self._cross(box, first, second)
            if crossed is None:
                return None
            crossings += [(i, j)] if crossed else []
        return None if len(crossings) > 1 else (arcs, crossings)

    def _is_crossed(self, curve: _Curve, edge: _Edge) -> bool | None:
        """Does a curve cross an edge exactly once (True) or not at all (False)?"""
        if self._sign(curve.function, _on(edge, edge.span)) in (-1, 1):
            return False
        signs = [self._sign(curve.function, _on(edge, end)) for end in edge.span]
        slope = self._sign(curve.slopes[1 - edge.axis], _on(edge, edge.span))
        if None in signs or 0 in signs or slope not in (-1, 1):
            return None
        return signs[0] != signs[1]

    def _cross(self, box: Box, first: _Arc, second: _Arc) -> bool | None:
        """Do two arcs cross? At most once, if their Jacobian determinant has one sign."""
        if self._sign(self._jacobians[first.curve, second.curve], box) not in (-1, 1):
            return None
        function = self._curves[second.curve].function
        signs = [self._sign_at_end(first, edge, function) for edge in first.ends]
        return None if None in signs else signs[0] != signs[1]

    def _sign_at_end(self, arc: _Arc, edge: _Edge, function: Expression) -> int | None:
        """Sign of another function where an arc ends on an edge."""
        own = self._curves[arc.curve].function
        low, high = edge.span
        left = self._sign(own, _on(edge, low))
        while True:
            sign = self._sign(function, _on(edge, (low, high)))
            middle = 0.5 * low + 0.5 * high
            if sign in (-1, 1):
                return sign
            at_middle = self._sign(own, _on(edge, middle))
            if at_middle not in (-1, 1) or middle in (low, high):
                return None
            low, high = (middle, high) if at_middle == left else (low, middle)

    def _connect(self, arcs: list[_Arc], crossings: list[tuple[int, int]]) -> tuple[int, int]:
        """Count boundary points, and components of all arcs and the frame."""
        frame = len(arcs)
        sets = _DisjointSets(frame + 1)
        for i, j in crossings:
            sets.join(i, j)
        n_points = 0
        ends: dict[tuple[int, int, float], list[tuple[Range, int]]] = {}
        for number, arc in enumerate(arcs):
            for edge in arc.ends:
                if edge.at in self._frame[edge.axis]:
                    n_points += 1
                    sets.join(number, frame)
                ends.setdefault((arc.curve, edge.axis, edge.at), []).append((edge.span, number))
        for listed in ends.values():
            # Boxes of different sizes share a zero if one edge lies within the other.
            for (one, i), (other, j) in combinations(listed, 2):
                if _within(one, other) or _within(other, one):
                    sets.join(i, j)
        return n_points, sets.count


def _edges(box: Box) -> Iterator[_Edge]:
    for axis in (0, 1):
        for at in box[axis]:
            yield _Edge(axis, at, box[1 - axis])


def _on(edge: _Edge, along: object) -> tuple[object, object]:
    return (edge.at, along) if edge.axis == 0 else (along, edge.at)


def _within(inner: Range, outer: Range) -> bool:
    return outer[0] <= inner[0] and inner[1] <= outer[1]


class _DisjointSets:
    """Sets that are joined; `count` says how many are left."""

    def __init__(self, size: int) -> None:
        self._parents = list(range(size))
        self.count = size

    def _root(self, item: int) -> int:
        while self._parents[item] != item:
            self._parents[item] = self._parents[self._parents[item]]
            item = self._parents[item]
        return item

    def join(self, first: int, second: int) -> None:
        """Join the sets of two items."""
        a, b = self._root(first), self._root(second)
        if a != b:
            self._parents[a] = b
            self.count -= 1
