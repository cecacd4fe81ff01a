"""The lines that a learner plays on: one for one parameter, a cover for several.

A line is a segment of the parameter space together with the scale on which its points are drawn:
the logarithm for a parameter that is declared on a logarithmic scale (`certune.LogReal`), the
coordinate itself otherwise.  Learners see positions on that scale only.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from certune.errors import ParameterError
from certune.space import LogReal, Parameter, ParameterSpace, Real, Segment, Simplex

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Line:
    """A segment and the scale on which its points are drawn uniformly before anything is known.

    Parameters
    ----------
    segment : Segment
        The part of the parameter space.
    logarithmic : bool
        Whether positions are logarithms of the segment's coordinate.
    """

    segment: Segment
    logarithmic: bool

    @property
    def low(self) -> float:
        """Position of the left end."""
        return math.log(self.segment.low) if self.logarithmic else self.segment.low

    @property
    def high(self) -> float:
        """Position of the right end."""
        return math.log(self.segment.high) if self.logarithmic else self.segment.high

    @property
    def length(self) -> float:
        """Length on the scale of positions."""
        return self.high - self.low

    def positions(self, coordinates: FloatArray) -> FloatArray:
        """Return the positions of coordinates of the segment, in the same order."""
        if not self.logarithmic:
            return coordinates
        return np.clip(np.log(coordinates), self.low, self.high)

    def coordinate(self, position: float) -> float:
        """Return the coordinate of the segment at a position; ends belong to ends."""
        if position <= self.low or position >= self.high:
            return self.segment.low if position <= self.low else self.segment.high
        t = math.exp(position) if self.logarithmic else position
        return min(max(t, self.segment.low), self.segment.high)


def lines_of(space: ParameterSpace, along: Segment | Sequence[Segment] | None) -> tuple[Line, ...]:
    """Return the lines to play on: the one free parameter, or the given segments.

    Raises
    ------
    ParameterError
        If the space has several free parameters and no segment is given, or a segment leaves the
        space or is given twice.
    """
    if space.discrete:
        raise ParameterError(
            "online play is along real parameters, and "
            f"{', '.join(repr(item.name) for item in space.discrete)} have separate settings; play "
            "with one of family.slices()"
        )
    if along is None:
        if space.n_free != 1:
            free = [item.name for item in space.parameters if item.n_free]
            raise ParameterError(
                f"the family has {space.n_free} free coordinates ({', '.join(map(repr, free))}); "
                "pass along=, a Segment or a list of them: certune.online.cover(family.space, 10) "
                "makes one"
            )
        along = space.default_segment()
    segments = [along] if isinstance(along, Segment) else along
    if not isinstance(segments, Sequence) or not (
        segments and all(isinstance(segment, Segment) for segment in segments)
    ):
        raise ParameterError(f"along must be a Segment or a list of Segments, got {along!r}")
    _check_segments(space, segments)
    logarithmic = {item.name for item in space.parameters if isinstance(item, LogReal)}
    return tuple(Line(segment, segment.name in logarithmic) for segment in segments)


def _check_segments(space: ParameterSpace, segments: Sequence[Segment]) -> None:
    seen = set()
    for segment in segments:
        try:
            for end in (segment.low, segment.high):
                space.validate(segment.at(end))
        except ParameterError as error:
            raise ParameterError(
                f"along must stay in the space of the family, got {segment!r}: {error}"
            ) from None
        moves = [(name, segment.origin[name], segment.direction[name]) for name in space.names]
        key = (*moves, segment.low, segment.high)
        if key in seen:
            raise ParameterError(f"along must have different segments, got {segment!r} twice")
        seen.add(key)


def cover(space: ParameterSpace, n_values: int) -> list[Segment]:
    """Cover a parameter space with parallel segments, each of which is followed exactly.

    The segments run along the first real parameter; every other parameter takes values of a grid.
    Any point of the space differs from a point of the cover in the other parameters only, by at
    most half the spacing of the grid in each real parameter. How much better the best fixed
    parameter of the whole space is than that of the cover is bounded by `cover_error`, for
    families with bounds on boxes; for others it is estimated there.

    Parameters
    ----------
    space : ParameterSpace
        At least one real parameter.
    n_values : int
        Values of every other real parameter, equally spaced (on its own scale) with the ends half
        a spacing away from the ends of its range. The weights of a simplex run through all
        multiples of ``1 / (n_values - 1)``.

    Returns
    -------
    list of Segment
        ``n_values`` to the power of the number of other real parameters, times the number of
        weightings of each simplex.

    Examples
    --------
    >>> from certune.space import ParameterSpace, Real
    >>> space = ParameterSpace((Real("a", 0, 1), Real("b", 0, 4)))
    >>> [segment.at(0.5)["b"] for segment in cover(space, 2)]
    [1.0, 3.0]
    """
    if isinstance(n_values, bool) or not isinstance(n_values, int) or n_values < 2:
        raise ParameterError(f"n_values must be an integer of at least 2, got {n_values!r}")
    moving = next((item for item in space.parameters if isinstance(item, Real)), None)
    if moving is None:
        raise ParameterError(
            f"a cover runs along a real parameter, and the space has {space.names!r} only; "
            "pass segments of your own"
        )
    others = [item for item in space.parameters if item is not moving]
    grids = [_grid(item, n_values) for item in others]
    names = [item.name for item in others]
    settings = [dict(zip(names, point, strict=True)) for point in itertools.product(*grids)]
    return [Segment.coordinate(moving.name, moving.low, moving.high, fixed) for fixed in settings]


def _grid(parameter: Parameter, n_values: int) -> list[Any]:
    if isinstance(parameter, Simplex):
        steps = n_values - 1
        return [
            tuple(count / steps for count in counts)
            for counts in itertools.product(range(n_values), repeat=parameter.size)
            if sum(counts) == steps
        ]
    shares = (np.arange(n_values) + 0.5) / n_values
    if isinstance(parameter, LogReal):
        ratio = parameter.high / parameter.low
        return [min(parameter.low * ratio**share, parameter.high) for share in shares.tolist()]
    return [parameter.low + (parameter.high - parameter.low) * share for share in shares.tolist()]
