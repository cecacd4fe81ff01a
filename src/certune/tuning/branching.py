"""Branch and bound: the proved optimum over several parameters.

The space is cut into boxes.  On a box every instance has a proved upper bound; a box whose bounds
sum to no more than the best setting so far is finished.  The most promising other one is looked at
more closely: a few more instances are bounded on it, or, if all are or if that teaches nothing, it
is halved.  The largest bound of an unfinished box bounds everything, so that the search can end at
any time with a gap.  Families are seen through `Family.bound_on_box` and `Family.dual` only.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import islice
from typing import Any, NamedTuple

from certune.box import Box, Edge
from certune.deadline import check_time
from certune.errors import CertificateError, UndecidedError
from certune.families.base import BoxBound, UpperSum
from certune.tuning.executors import Crew
from certune.tuning.instances import blaming
from certune.tuning.line_search import LineSearch
from certune.tuning.problem import Known, Path, Problem
from certune.tuning.search_steps import Steps, exactly, number_data, number_from

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

    ``path`` is how the box was cut out of its stratum; ``bounds`` are those of the instances, none
    if the box was finished early; the instances from number ``pending`` on were not bounded on this
    box: their bounds are those of a box around it. ``promising`` tells whether it was worth while
    to bound the last ones. What is known on a box of a bound is a `Known`. ``sums`` are those of
    the bounds; ``upper`` is no larger, and smaller if a box around this one is known better.
    """

    path: Path
    box: Box
    upper: Fraction
    sums: UpperSum = field(repr=False)
    bounds: tuple[BoxBound, ...] = field(repr=False)
    pending: int = 0
    promising: bool = True

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

    def half(self, edge: int, which: int, box: Box) -> Node:
        """Return a half of the box: upper bounds hold on it, shared ones belong to this box."""
        sums = UpperSum(self.sums.uppers)
        return Node((*self.path, 2 * edge + which), box, self.upper, sums, self.bounds)


class Job(NamedTuple):
    """Instances to be bounded on a box.

    ``open_bounds`` are number, lower bound, upper bound and what is known of each instance,
    ``total`` bounds the sum of all instances so far, as do the ``sums`` of their bounds; the box is
    finished once that is no more than ``threshold``.
    """

    path: Path
    box: Box
    open_bounds: tuple[tuple[int, Fraction, Fraction, Known | None], ...]
    total: Fraction
    sums: UpperSum
    threshold: Fraction


class Found(NamedTuple):
    """What came of a job: the sum of bounds, how many are new, and those, unless finished."""

    total: Fraction
    n_new: int
    bounds: tuple[tuple[int, BoxBound], ...]
    finished: bool


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
    problem : Problem
        Instances, and a family with bounds on boxes.
    lines : LineSearch
        Source of incumbents, which has one.
    crew : Crew
        Who does the work.
    steps : Steps, optional
        Where what comes of boxes is kept, or taken from.

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
        self, problem: Problem, lines: LineSearch, crew: Crew, steps: Steps | None = None
    ) -> None:
        family, instances = problem.family, problem.instances
        self._problem = problem
        self._lines = lines
        self._crew = crew
        self._steps = Steps() if steps is None else steps
        self._queue: list[tuple[Fraction, int, Node]] = []
        self._n_bounds = 0
        self._highest = Fraction(family.utility_range[1])
        self._slice = max(SLICE, -(-len(instances) // SLICES))
        self._slack = Fraction(family.tolerance) * len(instances)
        self._finished_upper = Fraction(family.utility_range[0]) * len(instances)
        self.strata = problem.boxes.strata
        self.n_nodes = 0
        self.cover = Cover()
        self.stuck: list[Node] = []
        everything = self._highest * len(instances)
        lowest = Fraction(family.utility_range[0])
        for number, box in enumerate(self.strata):
            unknown = BoxBound(lowest, self._highest, (0.0,) * len(box.edges))
            node = Node(
                (number,), box, everything, UpperSum(everything), (unknown,) * len(instances)
            )
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
        parts: list[tuple[int, Node]] = []
        for place, (_, _, node) in enumerate(taken):
            if node.box.n_free <= 1:
                upper = self._exact_upper(node.box)
                found[place] = [Node(node.path, node.box, upper, UpperSum(upper), ())]
            elif not node.to_be_halved:
                parts.append((place, node))
            else:
                edge = edges[place] = node.best_edge
                number = node.box.edges.index(edge)
                parts += [
                    (place, node.half(number, which, box))
                    for which, box in enumerate(node.box.split(edge))
                ]
        for (place, _), result in zip(parts, self._bounded(parts), strict=True):
            found[place].append(result)
        for (_, number, node), halved, nodes in zip(taken, edges, found, strict=True):
            self._place(number, node, halved, nodes)

    def _bounded(self, parts: list[tuple[int, Node]]) -> list[Node]:
        """Bound the next instances on boxes, or look up what came of that."""
        if not parts:
            return []
        threshold = self.best_total + self._slack
        jobs = [self._job(node, threshold) for _, node in parts]
        results = self._steps.take(
            "boxes",
            [[job.path, [number for number, *_ in job.open_bounds]] for job in jobs],
            lambda: self._problem.map(self._crew, _bound, jobs),
            encode=lambda results: [_found_data(found) for found in results],
            decode=lambda stored: [
                _found_from(found, job)
                for found, job in zip(exactly(len(jobs), stored), jobs, strict=True)
            ],
        )
        self._n_bounds += sum(found.n_new for found in results)
        pairs = zip(parts, results, strict=True)
        return [self._looked_at(node, found) for (_, node), found in pairs]

    def _job(self, node: Node, threshold: Fraction) -> Job:
        open_bounds = (
            (number, bound.lower, bound.upper, bound.reuse)
            for number, bound in enumerate(node.bounds[node.pending :], node.pending)
            if not bound.settled
        )
        chosen = tuple(islice(open_bounds, self._slice))
        return Job(node.path, node.box, chosen, node.upper, node.sums, threshold)

    def _looked_at(self, node: Node, found: Found) -> Node:
        """Return a node with what came of its job."""
        if found.finished:
            return Node(node.path, node.box, found.total, UpperSum(found.total), ())
        bounds, sums = list(node.bounds), node.sums
        for number, bound in found.bounds:
            sums = sums.exchanged(bounds[number].upper, bound)
            bounds[number] = bound
        cut = len(found.bounds) == self._slice
        pending = found.bounds[-1][0] + 1 if cut else len(bounds)
        promising = any(bound.upper < self._highest for _, bound in found.bounds)
        return Node(node.path, node.box, found.total, sums, tuple(bounds), pending, promising)

    def _place(self, number: int, parent: Node, edge: Edge | None, found: list[Node]) -> None:
        numbers = [number]
        if parent.pending == 0 or edge is not None:
            self.n_nodes += len(found)
        if edge is not None:
            numbers = [self._next_number, self._next_number + 1]
            self._next_number += 2
            del self.cover.uppers[number]
            self.cover.halves[number] = (parent.box.edges.index(edge), numbers[0], numbers[1])
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

    def _exact_upper(self, box: Box) -> Fraction:
        """Bound the sum on a face with at most one free parameter, by running or searching it."""
        if box.n_free == 1:
            return self._lines.search(box.segment)
        return self._lines.try_setting(box.centre)


def _too_small(node: Node) -> bool:
    """Must a box be left as it is?"""
    n_halvings = len(node.path) - 1
    if n_halvings < FIRST_CHECK:
        return False
    deep = n_halvings >= MOST_HALVINGS * node.box.n_free
    return deep or not node.box.can_split(node.best_edge)


def _bound(problem: Problem, job: Job) -> Found:
    """Bound instances on a box; stop as soon as it is finished."""
    total, sums = job.total, job.sums
    bounds = []
    for number, lower, upper, known in job.open_bounds:
        check_time()
        with blaming(problem.instances[number], number):
            found = problem.boxes.bound(number, job.path, job.box, known)
        lower, narrowed = max(found.lower, lower), min(found.upper, upper)
        bound = replace(found, lower=lower, upper=narrowed, n_outcomes=None)
        bounds.append((number, bound))
        sums = sums.exchanged(upper, bound)
        total = min(total, sums.value)
        if total <= job.threshold:
            return Found(total, len(bounds), (), True)
    return Found(total, len(bounds), tuple(bounds), False)


def _found_data(found: Found) -> list[Any]:
    """Return what came of a job as JSON data."""
    bounds = [
        [*map(number_data, (bound.lower, bound.upper, *bound.importance, *bound.shared))]
        for _, bound in found.bounds
    ]
    return [number_data(found.total), found.n_new, bounds, found.finished]


def _found_from(stored: Any, job: Job) -> Found:
    """Return what came of a job; what was known then is made again when it is needed."""
    total, n_new, bounds, finished = stored
    listed = []
    if not finished:
        pairs = zip(job.open_bounds, exactly(len(job.open_bounds), bounds), strict=True)
        n_edges = len(job.box.edges)
        for (number, _, _, known), (low, high, *others) in pairs:
            values = tuple(map(number_from, others))
            if len(values) < n_edges:
                raise ValueError("another number of edges")
            handed_on = Known.on(job.path, known)
            bound = BoxBound(
                number_from(low), number_from(high), values[:n_edges],
                reuse=handed_on, shared=values[n_edges:],
            )  # fmt: skip
            listed.append((number, bound))
    return Found(number_from(total), int(n_new), tuple(listed), bool(finished))
