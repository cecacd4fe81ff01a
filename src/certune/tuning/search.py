"""Exact tuning: the front door, and the search over one free parameter.

The utility of each instance is an exact function of the parameter: piecewise constant, or smooth
on pieces up to a stated error. Their average is the quantity to maximise, so its maximum is the
global optimum on the instances (empirical risk minimisation), and the bounds of all other pieces
are the proof.
Several parameters are tuned by :mod:`certune.tuning.space_search`.
"""

from __future__ import annotations

import math
import numbers
import os
import signal
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import islice
from typing import Any, TypeAlias

import joblib

from certune.dual import DualFunction, mean
from certune.errors import CertificateError, ParameterError
from certune.families.base import Family
from certune.space import Segment
from certune.tuning.compilation import nothing_is_compiled
from certune.tuning.evaluation import Evaluation, evaluate
from certune.tuning.instances import checked_family, checked_instances
from certune.tuning.interrupts import is_interrupt
from certune.tuning.line_result import LineTuningResult
from certune.tuning.log import RunLog, header
from certune.tuning.progress import Progress, blend
from certune.tuning.result import TuningResult
from certune.tuning.space_search import check_search_options, tune_space
from certune.tuning.status import Status

Callback: TypeAlias = Callable[[Any], Any]


def tune(
    family: Family,
    instances: Iterable[Any],
    *,
    method: str = "auto",
    gap: float = 0.0,
    timeout: float | None = None,
    max_nodes: int | None = None,
    n_jobs: int | None = 1,
    random_state: int = 0,
    callbacks: Sequence[Callback] = (),
    progress: bool | None = None,
) -> TuningResult:
    """Find the setting with the best mean utility over instances, and prove that it is best.

    Parameters
    ----------
    family : Family
        The algorithm, with one or several free parameters.
    instances : iterable
        Problem instances of the family, at least one.
    method : {"auto", "branch-and-bound", "line-search"}
        What to do with several parameters. Branch and bound proves the optimum, or a gap;
        ``"line-search"`` only looks for good settings, along lines; ``"auto"`` is branch and bound
        if the family has bounds on boxes. One parameter is always followed exactly.
    gap : float, default=0
        Branch and bound ends when no setting can be better by more than this.
    timeout : float, optional
        Seconds. With one parameter, no further instance is started after that; the first one
        always is. Those under way are finished, and the best setting so far is run once on each
        of the others, so that its value and the bound hold for all instances. With several
        parameters, the search ends, also in the middle of a function that takes long. Compilation
        on first use counts.
    max_nodes : int, optional
        Branch and bound ends once it has looked at this many boxes, which it takes a few at a time.
    n_jobs : int or None, default=1
        Number of parallel workers, as in joblib: -1 for all processors, None for what
        ``joblib.parallel_config`` says. The result does not depend on it.
    random_state : int, default=0
        Seed of the random lines, for several parameters.
    callbacks : sequence of callable
        Each is called with a :class:`Progress` after every finished instance, in the order of the
        instances, or for several parameters with a :class:`SearchProgress` after every few boxes.
        If one returns True, tuning stops.
    progress : bool, optional
        Whether to log to stderr; by default only if the run takes longer than two seconds.

    Returns
    -------
    TuningResult
        The optimum; for several parameters a :class:`SpaceTuningResult`. After a time limit,
        Ctrl-C or a stop by a callback: the best setting known, with a valid upper bound.

    Raises
    ------
    InputError
        If there is no instance, or one does not fit the family; before any work starts.
    ParameterError
        If the family has no free parameter, or an option is not admissible.

    Notes
    -----
    One exact function for each instance, and O(B log B) for their mean with B breakpoints in all.

    Examples
    --------
    >>> from certune.testing import StepFamily, StepInstance
    >>> instances = [StepInstance((0.25,), (0, 1)), StepInstance((0.75,), (1, 0))]
    >>> result = tune(StepFamily(), instances)
    >>> result.status.name, result.best_value, result.best_region
    ('OPTIMAL', 1.0, [(0.25, 0.7499999999999999)])
    """
    started = time.perf_counter()
    space = checked_family(family).space
    _check_options(timeout, n_jobs, callbacks, progress)
    check_search_options(family, method, gap, max_nodes, random_state)
    listed = checked_instances(family, instances)
    if space.n_free > 1:
        return tune_space(
            family,
            listed,
            by_lines=method == "line-search" or not family.bounds_boxes,
            gap=Fraction(gap),
            deadline=math.inf if timeout is None else started + timeout,
            max_nodes=max_nodes,
            n_jobs=n_jobs,
            random_state=random_state,
            callbacks=callbacks,
            progress=progress,
            started=started,
        )
    segment = _line_of_the_free_parameter(family)
    run = _Run(family, listed, started, math.inf if timeout is None else started + timeout)
    heading = header(family, len(listed), family.space, segment)
    log = RunLog(heading, progress, score=family.score)
    try:
        status = run.collect(n_jobs, callbacks, log)
        result = _result(run, segment, status, n_jobs)
        log.summary(lambda: str(result))
    finally:
        log.close()
    return result


class _Run:
    """The instances in work and the functions that are finished, in the order of the instances."""

    def __init__(
        self, family: Family, instances: list[Any], started: float, deadline: float
    ) -> None:
        self.family = family
        self.instances = instances
        self.duals: list[DualFunction] = []
        self.started = started
        self._deadline = deadline
        self._n_pieces = 0

    def collect(
        self, n_jobs: int | None, callbacks: Sequence[Callback], log: RunLog
    ) -> Status | None:
        """Compute the functions of all instances, or return why some are missing."""
        arriving = self._arriving(n_jobs)
        try:
            for dual in arriving:
                self.duals.append(dual)
                self._n_pieces += dual.n_pieces
                stopped = self._report(callbacks, log)
                if stopped and len(self.duals) < len(self.instances):
                    return Status.STOPPED
        except (KeyboardInterrupt, SystemError) as error:
            if not is_interrupt(error):
                raise
            if not self.duals:
                raise KeyboardInterrupt from None
            if len(self.duals) < len(self.instances):
                return Status.INTERRUPTED
        finally:
            arriving.close()
        return None if len(self.duals) == len(self.instances) else Status.TIME_LIMIT

    def _arriving(self, n_jobs: int | None) -> Generator[DualFunction, None, None]:
        tasks = self._handed_out()
        if nothing_is_compiled():
            # Workers that compile the same kernels side by side would only hinder each other.
            yield from joblib.Parallel(n_jobs=1, return_as="generator")(islice(tasks, 1))
        yield from joblib.Parallel(n_jobs=n_jobs, return_as="generator")(tasks)

    def _handed_out(self) -> Iterator[Any]:
        for number, instance in enumerate(self.instances):
            if number and time.perf_counter() >= self._deadline:
                return
            yield joblib.delayed(_dual)(self.family, instance, os.getpid())

    def _report(self, callbacks: Sequence[Callback], log: RunLog) -> bool:
        elapsed = time.perf_counter() - self.started
        due = log.is_due(elapsed, last=len(self.duals) == len(self.instances))
        if not due and not callbacks:
            return False
        state = Progress(
            elapsed=elapsed,
            n_finished=len(self.duals),
            n_instances=len(self.instances),
            n_pieces=self._n_pieces,
            utility_range=self.family.utility_range,
            duals=tuple(self.duals),
        )
        if due:
            log.row(state)
        return any([callback(state) is True for callback in callbacks])


def _dual(family: Family, instance: Any, caller: int) -> DualFunction:
    """Compute an exact function; a worker process leaves Ctrl-C to the process that called."""
    in_main_thread = threading.current_thread() is threading.main_thread()
    if os.getpid() == caller or not in_main_thread:
        return family.dual(instance)
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        return family.dual(instance)
    finally:
        signal.signal(signal.SIGINT, handler)


def _line_of_the_free_parameter(family: Family) -> Segment:
    space = family.space
    if space.n_free == 0:
        raise ParameterError(
            f"tune needs a free parameter, but {family!r} has none: give one a range."
        )
    return space.default_segment()


def _is_number(value: object, kind: type) -> bool:
    return isinstance(value, kind) and not isinstance(value, bool)


def _check_options(timeout: Any, n_jobs: Any, callbacks: object, progress: object) -> None:
    if timeout is not None and not (_is_number(timeout, numbers.Real) and timeout > 0):
        raise ParameterError(f"timeout must be a positive number of seconds, got {timeout!r}.")
    if n_jobs is not None and not (_is_number(n_jobs, numbers.Integral) and n_jobs != 0):
        raise ParameterError(
            f"n_jobs must be a positive integer, -1 for all processors or None, got {n_jobs!r}."
        )
    if not isinstance(callbacks, Iterable) or not all(callable(item) for item in callbacks):
        raise ParameterError(f"callbacks must be a list of functions, got {callbacks!r}.")
    if progress not in (None, True, False):
        raise ParameterError(f"progress must be True, False or None, got {progress!r}.")


def _result(run: _Run, segment: Segment, status: Status | None, n_jobs: int | None) -> TuningResult:
    family, n_finished, n_instances = run.family, len(run.duals), len(run.instances)
    landscape = mean(run.duals)
    best = landscape.best_point
    evaluation = evaluate(family, run.instances, segment.at(best), n_jobs)
    _confirm(run.duals, best, evaluation, Fraction(family.tolerance))
    largest = Fraction(family.utility_range[1])
    upper_bound = blend(landscape.upper_bound_exact, n_finished, largest, n_instances)
    if not family.proves_duals:
        upper_bound = largest
    if status is None and not family.proves_duals:
        status = Status.UNPROVED
    elif status is None:
        proved = upper_bound - landscape.max_exact <= Fraction(family.tolerance)
        status = Status.OPTIMAL if proved else Status.UNDECIDED
    return LineTuningResult(
        family=family,
        segment=segment,
        status=status,
        upper_bound_exact=upper_bound,
        landscape=landscape,
        duals=run.duals,
        evaluation=evaluation,
        instances=run.instances,
        elapsed=time.perf_counter() - run.started,
    )


def _confirm(
    duals: Sequence[DualFunction], t: float, evaluation: Evaluation, tolerance: Fraction
) -> None:
    """Compare the exact functions at the optimum with what the plain algorithm gives there."""
    for number, dual in enumerate(duals):
        lower, upper = dual.enclose_exact(t)
        reached = evaluation.utilities[number]
        if not lower - tolerance <= reached <= upper + tolerance:
            promised = f"{lower}" if lower == upper else f"{float(lower)!r} to {float(upper)!r}"
            raise CertificateError(
                f"The exact function of {evaluation.instance_names[number]} promises the utility "
                f"{promised} at {evaluation.params}, but family.run gives {reached}: the family's "
                "dual and run disagree; look for the cause with certune.testing.check_family."
            )
