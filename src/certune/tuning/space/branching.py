"""Branch and bound: the proved optimum over several parameters.

The space is cut into boxes.  On a box every instance has a proved upper bound; a box on which these
allow for no more than the best setting so far is finished.  The most promising other one is looked
at more closely: a few more instances are bounded on it, or, if all are or if that teaches nothing,
it is halved.  The largest bound of an unfinished box bounds everything, so that the search can end
at any time with a gap.  Families are seen through `Family.bound_on_box` and `Family.dual` only.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, NamedTuple

from certune.box import Box, Edge
from certune.deadline import check_time
from certune.errors import CertificateError, UndecidedError
from certune.families.base import BoxBound
from certune.tuning.instances import blaming
from certune.tuning.space.lines import Incumbent, LineSearch
from certune.tuning.space.problem import Known, Path, Problem
from certune.tuning.space.upper_values import UpperMean, UpperValue
from certune.tuning.work.executors import Crew
from certune.tuning.work.search_steps import Steps, exactly, number_data, number_from

# Boxes that are halved between two looks at the queue; fixed, so that the search is the same for
# any number of workers.
BATCH = 8
# Instances that are bounded on a box before the next look at the queue: at least so many, and at
# least one of so many.  On a box of which nothing is known a single one, so that the bound of
# everything falls early: it does once every box has an instance that says something.
SLICE, SLICES = 4, 16
# Bounds of single instances between two line searches, once the search is under way.
BOUNDS_PER_LINE = 512
# Boxes that were halved as often as this in every direction are left open; before that, from
# FIRST_CHECK halvings on, those are that could only be halved with rounding.
MOST_HALVINGS, FIRST_CHECK = 40, 45


@dataclass(frozen=True)
class Node:
    """A box with a bound of what is maximised on it.

    ``path`` is how the box was cut out of its stratum; ``bounds`` are those of the instances, and
    ``known`` what follows from them, None if nothing more will be asked; ``upper`` is no larger,
    and smaller if a box around this one is known better. The instances in ``waiting`` were not
    bounded on this box, in the order in which they will be: their bounds are those of a box around
    it. ``promising`` tells whether it was worth while to bound the last ones, ``fresh`` whether
    this is a stratum that was not looked at yet. What is known on a box of a bound is a `Known`.
    """

    path: Path
    box: Box
    upper: Fraction
    known: UpperValue | None = field(default=None, repr=False)
    bounds: tuple[BoxBound, ...] = field(default=(), repr=False)
    waiting: tuple[int, ...] = field(default=(), repr=False)
    promising: bool = True
    fresh: bool = False

    @property
    def to_be_halved(self) -> bool:
        """Is there nothing more to learn on the box as a whole?"""
        return not self.waiting or not self.promising

    @property
    def open_numbers(self) -> list[int]:
        """Instances of which more has to be found out."""
        known = self.known
        if known is None:
            return []
        return [number for number, bound in enumerate(self.bounds) if known.counts(bound)]

    @property
    def settled(self) -> bool:
        """Is what is maximised the same on the whole box?"""
        return self.known is not None and not self.open_numbers

    @property
    def best_edge(self) -> Edge:
        """The edge whose halving promises most, over the instances that count."""
        open_bounds = [self.bounds[number] for number in self.open_numbers]
        scores = [sum(bound.importance[i] for bound in open_bounds) for i in range(self.n_edges)]
        return self.box.edges[max(range(self.n_edges), key=scores.__getitem__)]

    @property
    def n_edges(self) -> int:
        """Number of directions in which the box can be halved."""
        return len(self.box.edges)

    def half(self, edge: int, which: int, box: Box, waiting: tuple[int, ...]) -> Node:
        """Return a half of the box, on which all bounds of utilities hold."""
        assert self.known is not None
        path = (*self.path, 2 * edge + which)
        return Node(path, box, self.upper, self.known.on_parts, self.bounds, waiting)


class Job(NamedTuple):
    """Instances to be bounded on a box.

    ``open_bounds`` are number, lower bound, upper bound and what is known of each instance,
    ``upper`` bounds what is maximised so far, as does what is ``known`` from all instances; the box
    is finished once that is no more than ``threshold``.
    """

    path: Path
    box: Box
    open_bounds: tuple[tuple[int, Fraction, Fraction, Known | None], ...]
    upper: Fraction
    known: UpperValue
    threshold: Fraction


class Found(NamedTuple):
    """What came of a job: the bound, how many of instances are new, and those, unless finished."""

    upper: Fraction
    n_new: int
    bounds: tuple[tuple[int, BoxBound], ...]
    finished: bool


@dataclass
class Cover:
    """How the space was cut: a binary tree of boxes for every stratum.

    ``halves[i]`` are the edge and the two children of node i, ``uppers[i]`` the bound of a box that
    was not halved.
    """

    halves: dict[int, tuple[int, int, int]] = field(default_factory=dict)
    uppers: dict[int, Fraction] = field(default_factory=dict)


class BranchAndBound:
    """The search.

    Parameters
    ----------
    problem : Problem
        Instances, a family with bounds on boxes, and what is maximised.
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
        self._slack = Fraction(family.tolerance)
        self._best_when_dropped: Fraction | None = None
        self._finished_upper = lowest = Fraction(family.utility_range[0])
        self.strata = problem.boxes.strata
        self.n_nodes = 0
        self.cover = Cover()
        self.stuck: list[Node] = []
        for number, box in enumerate(self.strata):
            unknown = (BoxBound(lowest, self._highest, (0.0,) * len(box.edges)),) * len(instances)
            known = UpperValue.of(problem.criterion, unknown)
            node = Node((number,), box, self._highest, known, unknown, fresh=True)
            node = replace(node, waiting=self._in_turn(node))
            self.cover.uppers[number] = self._highest
            heapq.heappush(self._queue, (-self._highest, number, node))
        self._next_number = len(self.strata)

    @property
    def best_value(self) -> Fraction:
        """What the best setting reaches."""
        return self._best.value

    @property
    def _best(self) -> Incumbent:
        assert self._lines.best is not None
        return self._lines.best

    @property
    def upper_bound(self) -> Fraction:
        """No setting reaches more."""
        bounds = [self.best_value, self._finished_upper, *(node.upper for node in self.stuck)]
        if self._queue:
            bounds.append(-self._queue[0][0])
        return max(bounds)

    @property
    def n_open(self) -> int:
        """Boxes that were not finished after the last step."""
        return len(self._queue) + len(self.stuck)

    @property
    def finished(self) -> bool:
        """Is there nothing left to halve?"""
        return not self._queue or self._is_finished(-self._queue[0][0])

    def _is_finished(self, upper: Fraction) -> bool:
        """Can a box with this bound hold nothing better, as far as utilities are known?"""
        return upper <= self.best_value + self._slack

    def _in_turn(self, node: Node) -> tuple[int, ...]:
        """Instances to be bounded on parts of a box: those first that were not on the box itself.

        A box that lies across the border of what an instance reaches at best has the highest bound
        from it, however small it is, so that every instance must come to its turn. After that those
        come first that are probably among the worst; for the mean all count the same.
        """
        waiting = frozenset(node.waiting)
        numbers = node.open_numbers
        if not isinstance(node.known, UpperMean):
            utilities = self._best.utilities
            numbers.sort(key=lambda number: (node.bounds[number].upper, utilities[number], number))
        return tuple(sorted(numbers, key=lambda number: number not in waiting))

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
        self._drop_finished()

    def _drop_finished(self) -> None:
        """Take boxes out of the queue that a better setting has finished since they were put in."""
        if self._best_when_dropped == self.best_value:
            return
        self._best_when_dropped = self.best_value
        left = [entry for entry in self._queue if not self._is_finished(-entry[0])]
        if len(left) < len(self._queue):
            finished = (-upper for upper, *_ in self._queue if self._is_finished(-upper))
            self._finished_upper = max(self._finished_upper, *finished)
            heapq.heapify(left)
            self._queue = left

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
                found[place] = [Node(node.path, node.box, upper)]
            elif not node.to_be_halved:
                parts.append((place, node))
            else:
                edge = edges[place] = node.best_edge
                number = node.box.edges.index(edge)
                waiting = self._in_turn(node)
                parts += [
                    (place, node.half(number, which, box, waiting))
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
        threshold = self.best_value + self._slack
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
        assert node.known is not None
        count = self._slice if node.upper < self._highest else 1
        chosen = ((number, node.bounds[number]) for number in node.waiting[:count])
        open_bounds = tuple((number, b.lower, b.upper, b.reuse) for number, b in chosen)
        return Job(node.path, node.box, open_bounds, node.upper, node.known, threshold)

    def _looked_at(self, node: Node, found: Found) -> Node:
        """Return a node with what came of its job."""
        if found.finished:
            return Node(node.path, node.box, found.upper)
        assert node.known is not None
        bounds, known = list(node.bounds), node.known
        for number, bound in found.bounds:
            known = known.exchanged(number, bounds[number].upper, bound)
            bounds[number] = bound
        left = node.waiting[len(found.bounds) :]
        waiting = tuple(number for number in left if known.counts(bounds[number]))
        promising = any(
            bound.upper < self._highest or not known.counts(bound) for _, bound in found.bounds
        )
        return Node(node.path, node.box, found.upper, known, tuple(bounds), waiting, promising)

    def _place(self, number: int, parent: Node, edge: Edge | None, found: list[Node]) -> None:
        numbers = [number]
        if parent.fresh or edge is not None:
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
        """Take the centre of a box on which the value is known as the new incumbent."""
        try:
            self._lines.offer(node.box.centre)
        except UndecidedError:
            self.stuck.append(node)
            return
        if self.best_value < node.upper:
            what = self._problem.criterion.words("utility")
            raise CertificateError(
                f"The {what} on {node.box!r} was proved to be {node.upper}, but runs at its "
                "centre give less: bound_on_box and run of the family disagree."
            )

    def _exact_upper(self, box: Box) -> Fraction:
        """Bound a face with at most one free parameter, by running or searching it."""
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
    value, everything = job.upper, job.known
    bounds = []
    for number, lower, upper, known in job.open_bounds:
        check_time()
        with blaming(problem.instances[number], number):
            found = problem.boxes.bound(number, job.path, job.box, known)
        lower, narrowed = max(found.lower, lower), min(found.upper, upper)
        bound = replace(found, lower=lower, upper=narrowed, n_outcomes=None)
        bounds.append((number, bound))
        everything = everything.exchanged(number, upper, bound)
        value = min(value, everything.value)
        if value <= job.threshold:
            return Found(value, len(bounds), (), True)
    return Found(value, len(bounds), tuple(bounds), False)


def _found_data(found: Found) -> list[Any]:
    """Return what came of a job as JSON data."""
    bounds = [
        [*map(number_data, (bound.lower, bound.upper, *bound.importance, *bound.shared))]
        for _, bound in found.bounds
    ]
    return [number_data(found.upper), found.n_new, bounds, found.finished]


def _found_from(stored: Any, job: Job) -> Found:
    """Return what came of a job; what was known then is made again when it is needed."""
    upper, n_new, bounds, finished = stored
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
    return Found(number_from(upper), int(n_new), tuple(listed), bool(finished))
