"""Tuning several parameters: lines for good settings, boxes for the proof.

The search can end at any time, by a limit, Ctrl-C or a callback; the result then has the best
setting so far and a bound that holds.
"""

from __future__ import annotations

import math
import numbers
import time
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from certune.deadline import TimeIsUp
from certune.errors import ParameterError
from certune.families.base import Family
from certune.tuning.branching import BranchAndBound
from certune.tuning.evaluation import evaluate
from certune.tuning.interrupts import is_interrupt
from certune.tuning.line_search import LineSearch, middle_of
from certune.tuning.log import RunLog, header_of_search
from certune.tuning.progress import SearchProgress
from certune.tuning.space_result import SpaceTuningResult
from certune.tuning.status import Status
from certune.tuning.workers import Workers

METHODS = ("auto", "branch-and-bound", "line-search")
# Lines without success, for every free coordinate, after which boxes begin; and after which the
# search along lines alone ends.
FRUITLESS_FIRST, FRUITLESS_LAST = 12, 24
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
    is_number = isinstance(gap, numbers.Real) and not isinstance(gap, bool)
    if not is_number or not 0 <= gap < math.inf:
        raise ParameterError(f"gap must be a non-negative number, got {gap!r}.")
    for name, value, least in (("max_nodes", max_nodes, 1), ("random_state", random_state, 0)):
        if value is None and name == "max_nodes":
            continue
        if not isinstance(value, numbers.Integral) or isinstance(value, bool) or value < least:
            raise ParameterError(f"{name} must be an integer >= {least}, got {value!r}.")


def tune_space(
    family: Family,
    instances: list[Any],
    *,
    by_lines: bool,
    gap: Fraction,
    deadline: float,
    max_nodes: int | None,
    n_jobs: int | None,
    random_state: int,
    callbacks: Sequence[Callable[[SearchProgress], Any]],
    progress: bool | None,
    started: float,
) -> SpaceTuningResult:
    """Tune several parameters; options are checked. See :func:`certune.tune`."""
    heading = header_of_search(family, len(instances), family.space)
    log = RunLog(heading, progress, ("boxes", "open"), family.score)
    workers = Workers(n_jobs, deadline)
    try:
        search = _SpaceSearch(family, instances, workers, random_state, started)
        search.report = lambda: _reported(search, callbacks, log)
        status = search.run(by_lines, gap, max_nodes)
        result = search.result(status)
        log.summary(lambda: str(result))
    finally:
        log.close()
        workers.close()
    return result


def _reported(
    search: _SpaceSearch, callbacks: Sequence[Callable[[SearchProgress], Any]], log: RunLog
) -> bool:
    """Write a row of the log if it is due, and ask the callbacks whether to stop."""
    due = log.is_due(time.perf_counter() - search.started, last=False)
    if not due and not callbacks:
        return False
    state = search.state
    if due:
        log.row(state)
    return any([callback(state) is True for callback in callbacks])


class _SpaceSearch:
    """One run: the search along lines, the boxes, and why it ended."""

    report: Callable[[], bool]

    def __init__(
        self,
        family: Family,
        instances: list[Any],
        workers: Workers,
        random_state: int,
        started: float,
    ) -> None:
        self.family = family
        self.instances = instances
        self.started = started
        self.lines = LineSearch(family, instances, workers, np.random.default_rng(random_state))
        self.boxes: BranchAndBound | None = None
        self._workers = workers

    def run(self, by_lines: bool, gap: Fraction, max_nodes: int | None) -> Status:
        """Search until something ends it, and return what."""
        n_free = self.family.space.n_free
        self._begin()
        try:
            ended = self._along_lines((FRUITLESS_LAST if by_lines else FRUITLESS_FIRST) * n_free)
            if by_lines or ended is not Status.SEARCHED:
                return ended
            self.boxes = BranchAndBound(self.family, self.instances, self.lines, self._workers)
            return self._through_boxes(self.boxes, gap, max_nodes)
        except TimeIsUp:
            return Status.TIME_LIMIT
        except (KeyboardInterrupt, SystemError) as error:
            if not is_interrupt(error):
                raise
            return Status.INTERRUPTED

    def _begin(self) -> None:
        """Run the first setting, whatever the time."""
        rng = np.random.default_rng(0)
        patient = LineSearch(self.family, self.instances, Workers(1, math.inf), rng)
        setting = middle_of(self.family.space)
        for _ in range(FIRST_TRIES):
            patient.try_setting(setting)
            if patient.best is not None:
                break
            setting = self.family.space.sample(rng)
        else:
            patient.offer(setting)
        self.lines.best = patient.best

    def _along_lines(self, patience: int) -> Status:
        fruitless = 0
        while fruitless < patience:
            if self.report():
                return Status.STOPPED
            before = self.lines.best
            self.lines.step()
            fruitless = fruitless + 1 if self.lines.best is before else 0
            if self._value >= self._largest:
                return Status.OPTIMAL  # nothing can be better, boxes or not
        return Status.SEARCHED

    def _through_boxes(self, boxes: BranchAndBound, gap: Fraction, max_nodes: int | None) -> Status:
        allowed = gap * len(self.instances)
        while not boxes.finished:
            if self.report():
                return Status.STOPPED
            if 0 < boxes.upper_total - boxes.best_total <= allowed:
                return Status.GAP_LIMIT
            if max_nodes is not None and boxes.n_nodes >= max_nodes:
                return Status.NODE_LIMIT
            boxes.step()
        if boxes.upper_total - boxes.best_total <= self.family.tolerance * len(self.instances):
            return Status.OPTIMAL
        return (
            Status.GAP_LIMIT
            if boxes.upper_total - boxes.best_total <= allowed
            else Status.UNDECIDED
        )

    @property
    def _value(self) -> Fraction:
        assert self.lines.best is not None
        return self.lines.best.total / len(self.instances)

    @property
    def _largest(self) -> Fraction:
        return Fraction(self.family.utility_range[1])

    @property
    def _upper(self) -> Fraction:
        if self.boxes is None:
            return self._largest
        return min(self._largest, self.boxes.upper_total / len(self.instances))

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

    def result(self, status: Status) -> SpaceTuningResult:
        """Return the result; runs the defaults."""
        assert self.lines.best is not None
        evaluation = evaluate(self.family, self.instances, self.lines.best.params)
        return SpaceTuningResult(
            family=self.family,
            status=status,
            upper_bound_exact=self._upper,
            evaluation=evaluation,
            instances=self.instances,
            elapsed=time.perf_counter() - self.started,
            n_nodes=0 if self.boxes is None else self.boxes.n_nodes,
            n_lines=self.lines.n_lines,
            proved_cover=None if self.boxes is None else self.boxes.cover,
        )
