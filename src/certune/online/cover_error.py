"""What the lines of a cover miss: the best fixed parameter of the whole space against theirs.

Regret along several lines is exact against the best point of the lines.  For a family that bounds
its utility on boxes of parameters (`certune.families.base.Family.bound_on_box`), halving the most
promising box again and again proves how much better a point of the whole space can be.  For other
families exact functions across the lines give an estimate, which says so.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from certune.box import Box, Edge
from certune.cards import Carded
from certune.dual import DualFunction, sum_of
from certune.errors import InputError, ParameterError
from certune.families.base import BoxBound, Family
from certune.space import ParameterValue, Real, Segment, Simplex


@dataclass(frozen=True, repr=False)
class CoverError(Carded):
    """How much better the best point of a space can be than the best point of some lines.

    Attributes
    ----------
    n_instances : int
        Number of instances whose utilities are added.
    best : Fraction
        Best total utility of a fixed point of the lines.
    highest : Fraction
        Total utility that no fixed point of the space exceeds, if `is_proved`; otherwise the best
        one that was found.
    is_proved : bool
        Whether `highest` is a bound. If not, the error is an estimate from below.
    n_boxes : int
        Boxes that were looked at.
    """

    n_instances: int
    best: Fraction
    highest: Fraction
    is_proved: bool
    n_boxes: int

    @property
    def total(self) -> float:
        """What a regret against the lines must be raised by to hold against the whole space."""
        return float(self.highest - self.best)

    @property
    def average(self) -> float:
        """The same per instance."""
        return float((self.highest - self.best) / self.n_instances)

    def __str__(self) -> str:
        known = "at most" if self.is_proved else "estimated to be at least"
        proof = f"proved with {self.n_boxes} boxes" if self.is_proved else "not a bound"
        return (
            f"the best fixed point of the whole space is better than that of the lines by {known} "
            f"{self.total:.6g} over {self.n_instances} instances ({self.average:.4g} each; {proof})"
        )


def cover_error(
    family: Family, instances: Sequence[Any], segments: Sequence[Segment], n_boxes: int = 2000
) -> CoverError:
    """Bound, or estimate, what is lost by playing on lines only.

    Parameters
    ----------
    family : Family
        The algorithm.
    instances : sequence
        Its instances, such as those of the rounds of a run.
    segments : sequence of Segment
        The lines, for example from `certune.online.cover`.
    n_boxes : int, default=2000
        How many boxes are looked at for a family that bounds boxes; more make the bound tighter.

    Returns
    -------
    CoverError
        A proved bound if ``family.bounds_boxes``, an estimate otherwise.
    """
    if isinstance(n_boxes, bool) or not isinstance(n_boxes, int) or n_boxes < 1:
        raise ParameterError(f"n_boxes must be a positive whole number, got {n_boxes!r}")
    given, lines = list(instances), list(segments)
    if not given or not lines:
        raise InputError(
            f"cover_error needs instances and segments, got {len(given)} and {len(lines)}"
        )
    for instance in given:
        family.check_instance(instance)
    totals = [_total(family, given, line) for line in lines]
    best = max(total.max_exact for total in totals)
    if family.bounds_boxes:
        highest, count = _proved(family, given, best, n_boxes)
        return CoverError(len(given), best, highest, True, count)
    crossing = [
        _total(family, given, across).max_exact
        for line, total in zip(lines, totals, strict=True)
        for across in _across(family, line.at(total.best_point))
    ]
    return CoverError(len(given), best, max([best, *crossing]), False, 0)


def _total(family: Family, instances: Sequence[Any], segment: Segment) -> DualFunction:
    return sum_of([family.dual(instance, along=segment) for instance in instances])


def _across(family: Family, point: dict[str, ParameterValue]) -> Iterator[Segment]:
    """Yield lines through a point along every real parameter and towards every vertex."""
    for parameter in family.space.parameters:
        others = {name: value for name, value in point.items() if name != parameter.name}
        if isinstance(parameter, Real):
            yield Segment.coordinate(parameter.name, parameter.low, parameter.high, others)
        elif isinstance(parameter, Simplex):
            for vertex in range(parameter.size):
                corner = tuple(float(i == vertex) for i in range(parameter.size))
                if corner != point[parameter.name]:
                    yield Segment(point, {**others, parameter.name: corner})


def _proved(
    family: Family, instances: Sequence[Any], best: Fraction, n_boxes: int
) -> tuple[Fraction, int]:
    """Return a bound of the best total over the space, and the number of boxes it took."""
    queue: list[tuple[Fraction, int, Box, list[BoxBound]]] = []
    finished, count = best, 0
    unknown: list[BoxBound | None] = [None] * len(instances)
    waiting = [(box, unknown) for box in family.strata()]
    while True:
        for box, known in waiting:
            count += 1
            if box.n_free <= 1:
                finished = max(finished, _exact_bound(family, instances, box))
                continue
            bounds = [
                old if old is not None and old.settled else
                family.bound_on_box(instance, box, None if old is None else old.reuse)
                for instance, old in zip(instances, known, strict=True)
            ]  # fmt: skip
            upper = sum((bound.upper for bound in bounds), Fraction(0))
            heapq.heappush(queue, (-upper, count, box, bounds))
        if not queue or -queue[0][0] <= finished or count >= n_boxes:
            return max(finished, -queue[0][0] if queue else finished), count
        minus_upper, _, box, bounds = heapq.heappop(queue)
        edge = _best_edge(box, bounds)
        if edge is None:
            finished, waiting = max(finished, -minus_upper), []
        else:
            waiting = [(half, list(bounds)) for half in box.split(edge)]


def _exact_bound(family: Family, instances: Sequence[Any], box: Box) -> Fraction:
    """Return the best total on a box that is a segment or a point."""
    if box.n_free == 0:
        runs = [family.run_exact(instance, box.centre) for instance in instances]
        return sum(runs, Fraction(0))
    return _total(family, instances, box.segment).upper_bound_exact


def _best_edge(box: Box, bounds: Sequence[BoxBound]) -> Edge | None:
    """Return the edge that promises most to instances that are open; None if there is none."""
    open_ = [bound for bound in bounds if not bound.settled]
    edges = [(place, edge) for place, edge in enumerate(box.edges) if box.can_split(edge)]
    if not open_ or not edges:
        return None
    return max(edges, key=lambda item: sum(bound.importance[item[0]] for bound in open_))[1]
