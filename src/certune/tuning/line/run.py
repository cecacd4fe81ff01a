"""One run over one free parameter: the functions of all instances, and the result they give.

A run can end at any time, by a limit, a signal, a callback or a failure. What is finished then
becomes a result with a bound that holds for all instances: those without a function count as
perfect in it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from typing import Any, TypeVar

from certune.aggregates import Criterion
from certune.deadline import Stop, TimeIsUp, current_stop, now, under
from certune.dual import DualFunction, aggregated
from certune.errors import CertificateError, TuningError
from certune.families.base import Family
from certune.space import Segment
from certune.tuning.instances import failure_of, instance_names, place_of
from certune.tuning.line.result import LineTuningResult
from certune.tuning.outcome.evaluation import PlainRuns
from certune.tuning.status import Status
from certune.tuning.work.cost import CostEstimate, forecast, sizes_of, usual_work
from certune.tuning.work.executors import Crew
from certune.tuning.work.interrupts import interruptible
from certune.tuning.work.log import RunLog
from certune.tuning.work.progress import Callback, Progress, asked, upper_bound_of
from certune.tuning.work.run_store import RunStore
from certune.tuning.work.workplace import RunOptions

# Seconds after its limit at which an instance is said to have been impossible to end.
OVERDUE = 1.0
Value = TypeVar("Value")


class LineRun:
    """The instances of a run and the functions that are finished.

    Parameters
    ----------
    family : Family
        The algorithm.
    instances : list
        Checked instances.
    segment : Segment
        The line of its free parameter.
    store : RunStore, optional
        Where finished functions are found, and kept.
    criterion : Criterion, optional
        What is maximised over the instances; by default their mean.
    names : sequence of str, optional
        How the instances are called, if not by their place here.

    Attributes
    ----------
    finished : dict of int to DualFunction
        Functions by the number of their instance.
    failures : dict of int to str
        Why instances were left out, by their number.
    """

    def __init__(
        self,
        family: Family,
        instances: list[Any],
        segment: Segment,
        store: RunStore | None = None,
        criterion: Criterion | None = None,
        names: Sequence[str] | None = None,
    ) -> None:
        self.family = family
        self.criterion = criterion or Criterion()
        self.instances = instances
        self.names = list(instance_names(instances) if names is None else names)
        self.segment = segment
        self.finished: dict[int, DualFunction] = {} if store is None else store.found()
        self.failures: dict[int, str] = {}
        self._store = store
        self._n_seen = 0
        self._n_found = len(self.finished)
        self._started = time.perf_counter()
        self._in_order: list[DualFunction] = []
        self._n_pieces = 0
        self._seconds: dict[int, float] = {}
        # Expected work on every instance, in seconds or in proportion; what is done and left of it.
        self._work: dict[int, float] = {}
        self._work_done = self._work_left = 0.0
        self._expected = math.inf

    @property
    def missing(self) -> list[Any]:
        """Instances that have no function yet."""
        return [self.instances[number] for number in self._open]

    def expect(self, n_jobs: int | None) -> CostEstimate | None:
        """Return what missing instances will cost, if that is known; the log makes use of it."""
        numbers = self._open
        missing = [self.instances[n] for n in numbers]
        cost = forecast(self.family, missing, n_jobs) if missing else None
        if cost is not None and cost.seconds is not None:
            self._work = dict(zip(numbers, cost.instance_seconds, strict=True))
            self._expected = cost.seconds
        else:
            work = usual_work(sizes_of(self.family, missing))
            self._work, cost = dict(zip(numbers, work, strict=True)), None
        self._work_left = sum(self._work.values())
        return cost

    def costs(self) -> list[tuple[Any, DualFunction, float]]:
        """Return instances that were finished in this run, with their functions and seconds."""
        return [
            (self.instances[n], self.finished[n], took)
            for n, took in self._seconds.items()
            if n in self.finished
        ]

    def _spent(self, number: int, seconds: float) -> None:
        self._seconds[number] = seconds
        done = self._work.get(number, 0.0)
        self._work_done += done
        self._work_left -= done

    def collect(
        self, crew: Crew, options: RunOptions, log: RunLog, until: int | None = None
    ) -> Status | None:
        """Compute the functions of all instances, or return why some are missing.

        Parameters
        ----------
        crew : Crew
            Who computes them.
        options : RunOptions
            Callbacks, limits, and what to do with failures.
        log : RunLog
            Where rows are written.
        until : int, optional
            Compute those of the first instances only, so many of them.

        Raises
        ------
        TuningError
            If an instance or a callback fails.
        """
        if not self._work:
            self.expect(options.n_jobs)
        last = len(self.instances) if until is None else until
        missing = [number for number in self._open if number < last]
        function = partial(dual_within, options.timeout_per_instance, self.family)
        try:
            if self._report(options.callbacks, log) and missing:
                return Status.STOPPED
            for outcome in crew.outcomes(function, [self.instances[n] for n in missing]):
                number = missing[outcome.number]
                self._spent(number, outcome.seconds)
                if outcome.error is None:
                    self._finish(number, outcome.value)
                elif options.skips_failures and isinstance(outcome.error, Exception):
                    self._leave_out(number, outcome.error)
                else:
                    where = place_of(self.instances[number], number)
                    raise failure_of(outcome.error, self.names[number], where)
                if self._report(options.callbacks, log) and self._open:
                    return Status.STOPPED
        except TimeIsUp:
            return crew.why_stopped
        except KeyboardInterrupt:
            return Status.INTERRUPTED if self._open else None
        return None

    @property
    def _open(self) -> list[int]:
        """Numbers of the instances that have neither a function nor failed."""
        everything = range(len(self.instances))
        return [n for n in everything if n not in self.finished and n not in self.failures]

    def _finish(self, number: int, dual: DualFunction) -> None:
        if self._store is not None:
            self._store.keep(number, dual)
        self.finished[number] = dual

    def _leave_out(self, number: int, error: Exception) -> None:
        self.failures[number] = f"{type(error).__name__}: {error}"
        if self._store is not None:
            self._store.note_failure(number, self.failures[number])

    def _report(self, callbacks: Sequence[Callback], log: RunLog) -> bool:
        """Tell log and callbacks about every instance, in the order of the instances."""
        stopped = False
        self._note(log)
        while not stopped and (self._n_seen in self.finished or self._n_seen in self.failures):
            self._n_seen += 1
            if self._n_seen - 1 in self.failures:
                continue
            self._in_order.append(self.finished[self._n_seen - 1])
            self._n_pieces += self._in_order[-1].n_pieces
            elapsed = time.perf_counter() - self._started
            due = log.is_due(elapsed, last=self._n_seen == len(self.instances))
            if due or callbacks:
                state = self._state(elapsed)
                if due:
                    log.row(state)
                stopped = asked(callbacks, state)
        return stopped

    def _note(self, log: RunLog) -> None:
        """Tell the log how far the run is, and which instance it waits for."""
        n_done, n_all = len(self.finished) + len(self.failures), len(self.instances)
        doing = "plain runs of the best setting and the defaults"
        if n_done < n_all:
            later = range(self._n_seen, n_all)
            first = next(n for n in later if n not in self.finished and n not in self.failures)
            doing = f"working on {self.names[first]}"
        left = self._expected
        if n_done > self._n_found and self._work_done > 0:
            elapsed = time.perf_counter() - self._started
            left = elapsed * max(0.0, self._work_left) / self._work_done
        log.note(n_done, n_all, doing, left)

    def _state(self, elapsed: float) -> Progress:
        return Progress(
            elapsed=elapsed,
            n_finished=len(self._in_order),
            n_instances=len(self.instances),
            n_pieces=self._n_pieces,
            utility_range=self.family.utility_range,
            duals=tuple(self._in_order),
            criterion=self.criterion.of([*self._order, *self._others]),
        )

    @property
    def _order(self) -> list[int]:
        """Numbers of the instances whose functions were reported, in their order."""
        return [number for number in range(self._n_seen) if number not in self.failures]

    @property
    def _others(self) -> list[int]:
        seen = set(self._order)
        return [number for number in range(len(self.instances)) if number not in seen]

    def result(self, status: Status | None, crew: Crew) -> LineTuningResult:
        """Return the result of what is finished, which must be something.

        Parameters
        ----------
        status : Status or None
            Why functions are missing; None if none are.
        crew : Crew
            Who makes the plain runs of the best setting and of the defaults. Those that it is
            stopped from making are missing in the result.
        """
        numbers = self._counted(status)
        duals = [self.finished[number] for number in numbers]
        instances = [self.instances[number] for number in numbers]
        others = sorted(set(range(len(self.instances))) - set(numbers))
        instances += [self.instances[number] for number in others]
        failures = {
            len(duals) + place: self.failures[number]
            for place, number in enumerate(others)
            if number in self.failures
        }
        order = [*numbers, *others]
        criterion = self.criterion.of(order)
        landscape = aggregated(duals, criterion.of(range(len(duals))))
        names = [self.names[number] for number in order]
        runs = PlainRuns(self.family, instances, self.segment.at(landscape.best_point), names)
        runs.leave_out(failures)
        status = _run(runs, len(duals), status, crew)
        for place, took in runs.seconds.items():
            if order[place] in self._seconds:
                self._seconds[order[place]] += took
        promised = [dual.enclose_exact(landscape.best_point) for dual in duals]
        known = {n: lower for n, (lower, _) in enumerate(promised)}
        evaluation = runs.evaluation(known=known, criterion=criterion)
        for number, (lower, upper) in enumerate(promised):
            self._confirm(evaluation.instance_names[number], lower, upper, runs.reached(number))
        upper_bound = self._upper_bound(landscape, duals, criterion)
        if status is None and failures:
            status = Status.INCOMPLETE
        return LineTuningResult(
            family=self.family,
            segment=self.segment,
            status=self._proved(landscape, upper_bound) if status is None else status,
            upper_bound_exact=upper_bound,
            landscape=landscape,
            duals=duals,
            evaluation=evaluation,
            instances=instances,
            failures=failures,
            elapsed=time.perf_counter() - self._started,
        )

    def _counted(self, status: Status | None) -> list[int]:
        """Numbers of the instances that count as finished.

        After a stop by a callback those that it has seen, for any number of workers.
        """
        seen = self._n_seen if status is Status.STOPPED else len(self.instances)
        return sorted(number for number in self.finished if number < seen)

    def _upper_bound(
        self, landscape: DualFunction, duals: Sequence[DualFunction], criterion: Criterion
    ) -> Fraction:
        largest = Fraction(self.family.utility_range[1])
        if not self.family.proves_duals:
            return largest
        return upper_bound_of(landscape, duals, criterion, len(self.instances), largest)

    def _proved(self, landscape: DualFunction, upper_bound: Fraction) -> Status:
        """What the functions of all instances prove."""
        if not self.family.proves_duals:
            return Status.UNPROVED
        is_proved = upper_bound - landscape.max_exact <= Fraction(self.family.tolerance)
        return Status.OPTIMAL if is_proved else Status.UNDECIDED

    def _confirm(self, name: str, lower: Fraction, upper: Fraction, reached: Any) -> None:
        """Compare an exact function at the optimum with what the plain algorithm gives there."""
        tolerance = Fraction(self.family.tolerance)
        if reached is None or lower - tolerance <= reached <= upper + tolerance:
            return
        promised = f"{lower}" if lower == upper else f"{float(lower)!r} to {float(upper)!r}"
        raise CertificateError(
            f"The exact function of {name} promises the utility {promised} at the optimum, but "
            f"family.run gives {reached}: the family's dual and run disagree; look for the cause "
            "with certune.testing.check_family."
        )


def _run(runs: PlainRuns, n_finished: int, status: Status | None, crew: Crew) -> Status | None:
    """Make the plain runs, first where no function tells the utility; returns why some miss."""
    order = [*range(n_finished, runs.n_instances), *range(n_finished)]
    try:
        runs.make(crew, order)
    except TimeIsUp:
        return status or crew.why_stopped
    except KeyboardInterrupt:
        return status or Status.INTERRUPTED
    except TuningError:
        # A run that failed already has an error to report; an instance without a run is no other.
        if status is None:
            raise
    return status


def dual_within(seconds: float, family: Family, instance: Any) -> DualFunction:
    """Compute a function, within the time that an instance has."""
    return within(seconds, family.dual, instance)


def within(seconds: float, function: Callable[..., Value], *given: Any) -> Value:
    """Call a function, within the time that an instance has.

    One that neither asks for the time nor can be interrupted ends when it ends; what it returns
    then is too late as well.

    Raises
    ------
    TimeoutError
        If it takes longer.
    """
    if seconds == math.inf:
        return function(*given)
    outside, started = current_stop(), now()
    limit = Stop(seconds, outside)
    try:
        # The watch asks the limit; whether the function was told to give up is asked of its own.
        with under(Stop(parent=limit)) as own:
            found: Value = interruptible(limit, function, *given)
            if not own.seen and now() - started <= seconds:
                return found
    except TimeIsUp:
        pass
    if outside.is_set():
        raise TimeIsUp
    took = now() - started
    late = f", and ended by itself after {took:.3g}" if took > seconds + OVERDUE else ""
    raise TimeoutError(f"took longer than timeout_per_instance={seconds:g} seconds{late}")
