"""Tuning several parameters: lines for good settings, boxes for the proof.

The search can end at any time, by a limit, Ctrl-C or a callback; the result then has the best
setting so far and a bound that holds.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from certune.aggregates import Criterion
from certune.checks import is_number, is_whole
from certune.deadline import TimeIsUp
from certune.errors import CertificateError, ParameterError, TuningError
from certune.families.base import Family
from certune.tuning.outcome.evaluation import PlainRuns
from certune.tuning.space.branching import BranchAndBound
from certune.tuning.space.lines import LineSearch, middle_of
from certune.tuning.space.problem import Problem
from certune.tuning.space.result import SpaceTuningResult
from certune.tuning.status import Status
from certune.tuning.work.executors import Crew
from certune.tuning.work.log import RunLog, header_of_search
from certune.tuning.work.progress import Callback, SearchProgress, asked
from certune.tuning.work.search_steps import Steps
from certune.tuning.work.workplace import RunOptions, Workplace, with_result

METHODS = ("auto", "branch-and-bound", "line-search")
# Lines without success, for every free coordinate, after which boxes begin; and after which the
# search along lines alone ends.
FRUITLESS_FIRST, FRUITLESS_LAST = 6, 24
# Settings that are tried until one can be decided.
FIRST_TRIES = 20


def check_search_options(
    family: Family, method: Any, gap: Any, max_nodes: Any, random_state: Any
) -> None:
    """Raise :class:`ParameterError` if an option of the search is not admissible."""
    if method not in METHODS:
        raise ParameterError(f"method must be one of {', '.join(METHODS)}, got {method!r}.")
    if method == "branch-and-bound" and family.space.n_free > 1 and not family.bounds_boxes:
        raise ParameterError(
            f"{family!r} has no bounds on boxes of parameters, which branch and bound needs: use "
            "method='line-search'."
        )
    if not is_number(gap) or not 0 <= gap < math.inf:
        raise ParameterError(f"gap must be a non-negative number, got {gap!r}.")
    for name, value, least in (("max_nodes", max_nodes, 1), ("random_state", random_state, 0)):
        if value is None and name == "max_nodes":
            continue
        if not is_whole(value) or value < least:
            raise ParameterError(f"{name} must be an integer >= {least}, got {value!r}.")


@dataclass(frozen=True)
class SpaceOptions:
    """What a search over several parameters looks for.

    Attributes
    ----------
    criterion : Criterion
        What is maximised.
    by_lines : bool
        Whether to search along lines only.
    gap : Fraction
        The gap that suffices.
    max_nodes : int or None
        Largest number of boxes.
    random_state : int
        Seed of the random lines.
    """

    criterion: Criterion
    by_lines: bool
    gap: Fraction
    max_nodes: int | None
    random_state: int


def tune_space(
    family: Family,
    instances: list[Any],
    goal: SpaceOptions,
    options: RunOptions,
    steps: Steps | None = None,
) -> SpaceTuningResult:
    """Tune several parameters; options are checked. See :func:`certune.tune`."""
    heading = header_of_search(family, len(instances), family.space, goal.criterion)
    log = RunLog(heading, options.progress, ("boxes", "open"), family.score, options.timeout)
    # What a family remembers about an instance is shared by the boxes, so that workers are threads
    # unless an engine is named.
    with log, options.workplace(family, shares_objects=True) as place:
        problem = Problem(family, instances, goal.criterion)
        search = _SpaceSearch(problem, place.crew, goal, steps or Steps())
        try:
            log.doing("the first setting")
            if search.begin(place):
                log.doing("lines")
                status = search.run(lambda: _reported(search, options.callbacks, log))
                log.doing("plain runs of the best setting and the defaults")
                cut_short = status in (Status.TIME_LIMIT, Status.INTERRUPTED)
                result = search.result(status, place.last_crew() if cut_short else place.crew)
                log.end(result.status)
                return result
        except BaseException as error:
            if search.lines.best is not None:
                with_result(error, lambda: search.result(Status.FAILED, place.last_crew()))
            raise
    place.watch.pass_on()


def _reported(search: _SpaceSearch, callbacks: Sequence[Callback], log: RunLog) -> bool:
    """Write a row of the log if it is due, and ask the callbacks whether to stop."""
    due = log.is_due(time.perf_counter() - search.started, last=False)
    if not due and not callbacks:
        return False
    state = search.state
    if due:
        log.doing("lines" if search.boxes is None else "boxes")
        log.row(state)
    return asked(callbacks, state)


class _SpaceSearch:
    """One run: the search along lines, the boxes, and why it ended."""

    def __init__(self, problem: Problem, crew: Crew, goal: SpaceOptions, steps: Steps) -> None:
        self.problem = problem
        self.family = problem.family
        self.instances = list(problem.instances)
        self.started = time.perf_counter()
        self.goal = goal
        self._steps = steps
        self.lines = LineSearch(problem, crew, np.random.default_rng(goal.random_state), steps)
        self.boxes: BranchAndBound | None = None
        self._crew = crew

    def run(self, report: Callable[[], bool]) -> Status:
        """Search until something ends it, and return what.

        Parameters
        ----------
        report : callable
            Called after every step; returns whether to stop.
        """
        goal, n_free = self.goal, self.family.space.n_free
        patience = (FRUITLESS_LAST if goal.by_lines else FRUITLESS_FIRST) * n_free
        try:
            ended = self._along_lines(patience, report)
            if goal.by_lines or ended is not Status.SEARCHED:
                return ended
            self.boxes = BranchAndBound(self.problem, self.lines, self._crew, self._steps)
            return self._through_boxes(self.boxes, report)
        except TimeIsUp:
            return self._crew.why_stopped
        except KeyboardInterrupt:
            return Status.INTERRUPTED

    def begin(self, place: Workplace) -> bool:
        """Run the first setting, whatever the time; returns False if that was interrupted."""
        rng = np.random.default_rng(0)
        patient = LineSearch(self.problem, place.patient_crew(), rng, self._steps)
        setting = middle_of(self.family.space)
        try:
            for _ in range(FIRST_TRIES):
                patient.try_setting(setting)
                if patient.best is not None:
                    break
                setting = self.family.space.sample(rng)
            else:
                patient.offer(setting)
        except TimeIsUp:
            return False
        self.lines.best = patient.best
        return True

    def _along_lines(self, patience: int, report: Callable[[], bool]) -> Status:
        fruitless = 0
        while fruitless < patience:
            if report():
                return Status.STOPPED
            before = self.lines.best
            self.lines.step()
            fruitless = fruitless + 1 if self.lines.best is before else 0
            if self._value >= self._largest:
                return Status.OPTIMAL  # nothing can be better, boxes or not
        return Status.SEARCHED

    def _through_boxes(self, boxes: BranchAndBound, report: Callable[[], bool]) -> Status:
        allowed, max_nodes = self.goal.gap, self.goal.max_nodes
        while not boxes.finished:
            if report():
                return Status.STOPPED
            if 0 < boxes.upper_bound - boxes.best_value <= allowed:
                return Status.GAP_LIMIT
            if max_nodes is not None and boxes.n_nodes >= max_nodes:
                return Status.NODE_LIMIT
            boxes.step()
        left = boxes.upper_bound - boxes.best_value
        if left <= self.family.tolerance:
            return Status.OPTIMAL
        return Status.GAP_LIMIT if left <= allowed else Status.UNDECIDED

    @property
    def _value(self) -> Fraction:
        assert self.lines.best is not None
        return self.lines.best.value

    @property
    def _largest(self) -> Fraction:
        return Fraction(self.family.utility_range[1])

    @property
    def _upper(self) -> Fraction:
        if self.boxes is None:
            return self._largest
        return min(self._largest, self.boxes.upper_bound)

    @property
    def state(self) -> SearchProgress:
        """What is known now."""
        assert self.lines.best is not None
        return SearchProgress(
            elapsed=time.perf_counter() - self.started,
            n_nodes=0 if self.boxes is None else self.boxes.n_nodes,
            n_open=0 if self.boxes is None else self.boxes.n_open,
            best_params=dict(self.lines.best.params),
            best_value_exact=self._value,
            upper_bound_exact=self._upper,
        )

    def result(self, status: Status, crew: Crew) -> SpaceTuningResult:
        """Return the result; the crew runs the defaults, as far as it gets."""
        best = self.lines.best
        assert best is not None
        runs = PlainRuns(self.family, self.instances, best.params)
        try:
            runs.make(crew, range(len(self.instances)))
        except (TimeIsUp, KeyboardInterrupt):
            pass
        except TuningError as error:
            # A default that fails leaves the result whole, a utility that is another one does not.
            if status is not Status.FAILED and isinstance(error.__cause__, CertificateError):
                raise
        return SpaceTuningResult(
            family=self.family,
            status=status,
            upper_bound_exact=self._upper,
            evaluation=runs.evaluation(
                known=dict(enumerate(best.utilities)), criterion=self.goal.criterion
            ),
            instances=self.instances,
            elapsed=time.perf_counter() - self.started,
            n_nodes=0 if self.boxes is None else self.boxes.n_nodes,
            n_lines=self.lines.n_lines,
            proved_cover=None if self.boxes is None else self.boxes.cover,
        )
