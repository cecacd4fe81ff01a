"""Branch and bound: the proved optimum over several parameters.

The space is cut into boxes.  On a box every instance has a proved upper bound; a box whose bounds
sum to no more than the best setting so far is finished.  The most promising other one is looked at
more closely: a few more instances are bounded on it, or, if all are or if that teaches nothing, it
is halved.  The largest bound of an unfinished box bounds everything, so that the search can end at
any time with a gap.  Families are seen through `Family.bound_on_box` and `Family.dual` only.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from certune.box import Box, Edge
from certune.deadline import check_time
from certune.errors import CertificateError, UndecidedError
from certune.families.base import BoxBound, Family
from certune.tuning.executors import Crew
from certune.tuning.instances import blaming
from certune.tuning.line_search import LineSearch

# Boxes that are halved between two looks at the queue; fixed, so that the search is the same for
# any number of workers.
BATCH = 8
# Instances that are bounded on a box before the next look at the queue: at least so many, and at
# least one of so many.  Few at a time, so that the bound of everything falls from the start.
SLICE, SLICES = 4, 16
# Bounds of single instances between two line searches, once the search is under way.
BOUNDS_PER_LINE = 512
# Boxes that were halved as often as this in every direction are left open; before that, from
# FIRST_CHECK halvings on, those are that could only be halved with rounding.
MOST_HALVINGS, FIRST_CHECK = 40, 45


@dataclass(frozen=True)
class Node:
    """A box with the sum of its bounds over all instances.

    ``bounds`` are those of the instances, none if the box was finished early; the instances from
    number ``pending`` on were not bounded on this box: their bounds are those of a box around it.
    ``promising`` tells whether it was worth while to bound the last ones; ``n_new`` is how many
    bounds were computed in the last step.
    """

    box: Box
    upper: Fraction
    bounds: tuple[BoxBound, ...] = field(repr=False)
    depth: int = 0
    pending: int = 0
    promising: bool = True
    n_new: int = 0

    @property
    def to_be_halved(self) -> bool:
        """Is there nothing more to learn on the box as a whole?"""
        return self.pending == len(self.bounds) or not self.promising

    @property
    def settled(self) -> bool:
        """Is the utility of every instance the same on the whole box?"""
        return bool(self.bounds) and all(bound.settled for bound in self.bounds)

    @property
    def best_edge(self) -> Edge:
        """The edge whose halving promises most, over the instances that are not settled."""
        open_bounds = [bound for bound in self.bounds if not bound.settled]
        scores = [sum(bound.importance[i] for bound in open_bounds) for i in range(self.n_edges)]
        return self.box.edges[max(range(self.n_edges), key=scores.__getitem__)]

    @property
    def n_edges(self) -> int:
        """Number of directions in which the box can be halved."""
        return len(self.box.edges)


@dataclass
class Cover:
    """How the space was cut: a binary tree of boxes for every stratum.

    ``halves[i]`` are the edge and the two children of node i, ``uppers[i]`` the sum of bounds of a
    box that was not halved.
    """

    halves: dict[int, tuple[int, int, int]] = field(default_factory=dict)
    uppers: dict[int, Fraction] = field(default_factory=dict)


class BranchAndBound:
    """The search.

    Parameters
    ----------
    family : Family
        A family with bounds on boxes.
    instances : sequence
        Checked instances.
    lines : LineSearch
        Source of incumbents, which has one.
    crew : Crew
        Who does the work.

    Attributes
    ----------
    n_nodes : int
        Boxes whose bounds were computed.
    cover : Cover
        The boxes, for the certificate.
    stuck : list of Node
        Boxes too small to be halved once more, which may hold something better.
    """

    def __init__(
        self, family: Family, instances: Sequence[Any], lines: LineSearch, crew: Crew
    ) -> None:
        self._family = family
        self._instances = instances
        self._lines = lines
        self._crew = crew
        self._queue: list[tuple[Fraction, int, Node]] = []
        self._n_bounds = 0
        self._highest = Fraction(family.utility_range[1])
        self._slice = max(SLICE, -(-len(instances) // SLICES))
        self._slack = Fraction(family.tolerance) * len(instances)
        self._finished_upper = Fraction(family.utility_range[0]) * len(instances)
        self.strata = family.strata()
        self.n_nodes = 0
        self.cover = Cover()
        self.stuck: list[Node] = []
        everything = self._highest * len(instances)
        lowest = Fraction(family.utility_range[0])
        for number, box in enumerate(self.strata):
            unknown = BoxBound(lowest, self._highest, (0.0,) * len(box.edges))
            node = Node(box, everything, (unknown,) * len(instances))
            self.cover.uppers[number] = everything
            heapq.heappush(self._queue, (-everything, number, node))
        self._next_number = len(self.strata)

    @property
    def best_total(self) -> Fraction:
        """Sum of the utilities of the best setting."""
        assert self._lines.best is not None
        return self._lines.best.total

    @property
    def upper_total(self) -> Fraction:
        """No setting has a larger sum of utilities."""
        bounds = [self.best_total, self._finished_upper, *(node.upper for node in self.stuck)]
        if self._queue:
            bounds.append(-self._queue[0][0])
        return max(bounds)

    @property
    def n_open(self) -> int:
        """Boxes that are not finished."""
        return sum(not self._is_finished(-key) for key, _, _ in self._queue) + len(self.stuck)

    @property
    def finished(self) -> bool:
        """Is there nothing left to halve?"""
        return not self._queue or self._is_finished(-self._queue[0][0])

    def _is_finished(self, upper: Fraction) -> bool:
        """Can a box with this bound hold nothing better, as far as utilities are known?"""
        return upper <= self.best_total + self._slack

    def step(self) -> None:
        """Look at the most promising boxes; raises `TimeIsUp` and leaves the search as it was."""
        taken: list[tuple[Fraction, int, Node]] = []
        while not self.finished and len(taken) < BATCH:
            taken.append(heapq.heappop(self._queue))
        try:
            self._try_centre(taken[0][2].box)
            self._work(taken)
        except BaseException:
            for entry in taken:
                heapq.heappush(self._queue, entry)
            raise
        while self._n_bounds >= BOUNDS_PER_LINE and not self.finished:
            self._n_bounds -= BOUNDS_PER_LINE
            self._lines.step()

    def _try_centre(self, box: Box) -> None:
        """Run a setting of the most promising box, which may be better than any on a line."""
        self._lines.try_setting(box.centre)

    def _work(self, taken: list[tuple[Fraction, int, Node]]) -> None:
        found: list[list[Node]] = [[] for _ in taken]
        edges: list[Edge | None] = [None] * len(taken)
        jobs: list[tuple[int, Node]] = []
        for place, (_, _, node) in enumerate(taken):
            if node.box.n_free <= 1:
                found[place] = [Node(node.box, self._exact_upper(node.box), ())]
            elif not node.to_be_halved:
                jobs.append((place, node))
            else:
                edge = edges[place] = node.best_edge
                half = replace(node, depth=node.depth + 1, pending=0, promising=True)
                jobs += [(place, replace(half, box=box)) for box in node.box.split(edge)]
        threshold = self.best_total + self._slack
        results = self._crew.map(lambda job: self._bounded(job[1], threshold), jobs)
        for (place, _), result in zip(jobs, results, strict=True):
            found[place].append(result)
        for (_, number, node), halved, nodes in zip(taken, edges, found, strict=True):
            self._place(number, node, halved, nodes)

    def _place(self, number: int, parent: Node, edge: Edge | None, found: list[Node]) -> None:
        numbers = [number]
        if parent.pending == 0 or edge is not None:
            self.n_nodes += len(found)
        if edge is not None:
            numbers = [self._next_number, self._next_number + 1]
            self._next_number += 2
            del self.cover.uppers[number]
            self.cover.halves[number] = (parent.box.edges.index(edge), numbers[0], numbers[1])
        self._n_bounds += sum(node.n_new for node in found)
        for place, node in zip(numbers, found, strict=True):
            self.cover.uppers[place] = node.upper
            if self._is_finished(node.upper):
                self._finished_upper = max(self._finished_upper, node.upper)
                continue
            if node.settled:
                self._accept(node)
            elif node.box.n_free <= 1 or (node.to_be_halved and _too_small(node)):
                self.stuck.append(node)
            else:
                heapq.heappush(self._queue, (-node.upper, place, node))

    def _accept(self, node: Node) -> None:
        """Take the centre of a box on which all utilities are known as the new incumbent."""
        try:
            self._lines.offer(node.box.centre)
        except UndecidedError:
            self.stuck.append(node)
            return
        if self.best_total < node.upper:
            raise CertificateError(
                f"The mean utility on {node.box!r} was proved to be {node.upper}, but runs at its "
                "centre give less: bound_on_box and run of the family disagree."
            )

    def _bounded(self, node: Node, threshold: Fraction) -> Node:
        """Bound the next instances on a box; stop as soon as it is finished."""
        total = node.upper
        bounds = list(node.bounds)
        number, n_new, promising = node.pending, 0, False
        while number < len(bounds) and n_new < self._slice:
            known = bounds[number]
            if not known.settled:
                found = bounds[number] = self._tightened(number, known, node.box)
                promising |= found.upper < self._highest
                n_new += 1
                total += found.upper - known.upper
                if total <= threshold:
                    return Node(node.box, total, (), node.depth, n_new=n_new)
            number += 1
        return Node(node.box, total, tuple(bounds), node.depth, number, promising, n_new)

    def _tightened(self, number: int, known: BoxBound, box: Box) -> BoxBound:
        """Bound an instance on a box, from what is known on a box around it."""
        check_time()
        instance = self._instances[number]
        with blaming(instance, number):
            found = self._family.bound_on_box(instance, box, known.reuse)
        return replace(
            found, lower=max(found.lower, known.lower), upper=min(found.upper, known.upper)
        )

    def _exact_upper(self, box: Box) -> Fraction:
        """Bound the sum on a face with at most one free parameter, by running or searching it."""
        if box.n_free == 1:
            return self._lines.search(box.segment)
        return self._lines.try_setting(box.centre)


def _too_small(node: Node) -> bool:
    """Must a box be left as it is?"""
    if node.depth < FIRST_CHECK:
        return False
    deep = node.depth >= MOST_HALVINGS * node.box.n_free
    return deep or not node.box.can_split(node.best_edge)
