"""Cells of a map inside one rectangle, cut along the borders that the family knows.

A border is where a comparison changes its sign. It is a straight line up to an error, so that a
rectangle falls into two polygons on which the sign is proved, and a band between them.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple, TypeAlias

from certune.families.base import PlaneCut

Point: TypeAlias = tuple[float, float]
Polygon: TypeAlias = tuple[Point, ...]

SQUARE: Polygon = ((-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0))
# A rectangle with more cells than this is better halved.
MOST_PIECES = 64


class Piece(NamedTuple):
    """A convex polygon in the square [-1, 1]^2, with bounds of each instance's utility on it."""

    polygon: Polygon
    lower: tuple[Fraction, ...] = ()
    upper: tuple[Fraction, ...] = ()


class CutRectangle(NamedTuple):
    """The pieces of a rectangle, and the width of the widest band as a share of the plane."""

    pieces: tuple[Piece, ...]
    widest: float


def cut_rectangle(sides: Point, cuts: Sequence[PlaneCut]) -> CutRectangle | None:
    """Cut a rectangle by the comparisons of all open instances; None if there are too many pieces.

    Parameters
    ----------
    sides : pair of float
        Sides of the rectangle, as shares of the plane.
    cuts : sequence of PlaneCut
        The comparisons of each open instance.
    """
    cutter = _Cutter(sides)
    pieces = [Piece(SQUARE)]
    for cut in cuts:
        finer: list[Piece] = []
        for piece in pieces:
            cutter.add(piece, cut, finer)
        if len(finer) > MOST_PIECES:
            return None
        pieces = finer
    return CutRectangle(tuple(pieces), cutter.widest)


class _Cutter:
    def __init__(self, sides: Point) -> None:
        self._sides = sides
        self.widest = 0.0

    def add(self, piece: Piece, cut: PlaneCut | Fraction | None, result: list[Piece]) -> None:
        if cut is None:  # no point of the box is here; corners of cells are rounded
            return
        if isinstance(cut, Fraction):
            result.append(Piece(piece.polygon, (*piece.lower, cut), (*piece.upper, cut)))
            return
        a, (b, c), error = cut.value, cut.slopes, cut.error
        above = _clipped(piece.polygon, (a - error, b, c))
        below = _clipped(piece.polygon, (-a - error, -b, -c))
        if above:
            self.add(piece._replace(polygon=above), cut.above, result)
        if below:
            self.add(piece._replace(polygon=below), cut.below, result)
        band = _clipped(_clipped(piece.polygon, (a + error, b, c)), (error - a, -b, -c))
        if band:
            self.widest = max(self.widest, self._width(cut))
            values = cut.values
            ends = min(values), max(values)
            result.append(Piece(band, (*piece.lower, ends[0]), (*piece.upper, ends[1])))

    def _width(self, cut: PlaneCut) -> float:
        slope = (
            (2.0 * cut.slopes[0] / self._sides[0]) ** 2
            + (2.0 * cut.slopes[1] / self._sides[1]) ** 2
        ) ** 0.5
        return min(2.0 * cut.error / slope if slope > 0.0 else 1.0, max(self._sides))


def _clipped(polygon: Polygon, line: tuple[float, float, float]) -> Polygon:
    """Part of a convex polygon on which a + b u + c v >= 0; nothing if it has no area."""
    a, b, c = line
    heights = [a + b * u + c * v for u, v in polygon]
    if all(height >= 0.0 for height in heights):
        return polygon
    kept: list[Point] = []
    for i, (point, height) in enumerate(zip(polygon, heights, strict=True)):
        before, height_before = polygon[i - 1], heights[i - 1]
        if (height >= 0.0) != (height_before >= 0.0):
            share = height_before / (height_before - height)
            kept.append(_between(before, point, share))
        if height >= 0.0:
            kept.append(point)
    distinct = [point for i, point in enumerate(kept) if point != kept[i - 1]]
    return tuple(distinct) if len(distinct) > 2 else ()


def _between(first: Point, second: Point, share: float) -> Point:
    """Point on an edge; edges of the square stay on it exactly."""
    (u, v), (s, t) = first, second
    return (
        u if u == s else (1.0 - share) * u + share * s,
        v if v == t else (1.0 - share) * v + share * t,
    )
