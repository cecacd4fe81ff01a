"""Tuning of one parameter on a stream of instances, of which none is kept.

Blocks of consecutive instances are the items of the work. A worker returns the sum of the functions
of its block, which is added to the others, and kept in a run directory if there is one: a stream
that is read again only computes blocks that are not there. What is in memory at a time are the
blocks in work and the sums.
"""

from __future__ import annotations

import contextvars
import hashlib
import json
import math
import os
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import islice
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from certune.checks import as_list, as_n_jobs, as_positive_seconds, skips_errors
from certune.deadline import TimeIsUp, check_time
from certune.displays import SILENCE
from certune.dual import DualFunction
from certune.dual.sums import sum_of
from certune.errors import (
    InputError,
    NothingFinishedError,
    ParameterError,
    TuningError,
    UndecidedError,
)
from certune.families.base import Family
from certune.runs import RunDirectory
from certune.tuning.instances import checked_family, instance_name, refuse_discrete
from certune.tuning.line.run import within
from certune.tuning.schema import LONGEST_TEXT, segment_data
from certune.tuning.status import Status
from certune.tuning.stream.result import StreamResult
from certune.tuning.stream.sums import BLOCK, BLOCKS, BlockSum, Failure, StreamSums
from certune.tuning.work.executors import Crew
from certune.tuning.work.log import RunLog, header_of_stream
from certune.tuning.work.run_store import note_end, opened_directory, result_kept
from certune.tuning.work.workplace import RunOptions, with_result


def tune_stream(
    family: Family,
    instances: Iterable[Any],
    *,
    timeout: float | None = None,
    n_jobs: int | None = 1,
    on_error: str = "raise",
    timeout_per_instance: float | None = None,
    progress: bool | None = None,
    run_dir: str | os.PathLike[str] | None = None,
) -> StreamResult:
    """Tune one parameter on a stream of instances that are read once and not kept.

    Memory is needed for the mean, whose size is that of its breakpoints, and for the instances in
    work, not for all instances and their functions. The best setting is the one that
    :func:`certune.tune` finds; what needs single instances (certificate, plain runs of the best
    setting, guarantees) is only there.

    Parameters
    ----------
    family : Family
        The algorithm, with one free parameter.
    instances : iterable
        Instances, such as a generator, or :func:`certune.read_stream`; at least one.
    timeout : float, optional
        Seconds, after which the run ends with what is finished by then, also while it waits for the
        next instance; the result is about these instances.
    n_jobs : int or None, default=1
        Number of parallel workers, as in :func:`certune.tune`. The result does not depend on it.
    on_error : {"raise", "skip"}
        What to do when an instance fails: end with a `TuningError`, or leave it out. The same
        holds for one that does not fit the family, with an `InputError`.
    timeout_per_instance : float, optional
        Seconds after which an instance has failed, as in :func:`certune.tune`.
    progress : bool, optional
        Whether to log to stderr; by default only if the run takes longer than two seconds.
    run_dir : path, optional
        A folder that keeps the sums of 32 consecutive functions. The same call with the same stream
        from its beginning continues a run that was ended in any way, and gives the result that it
        would have had: instances are read and hashed again, functions are not computed again, but
        for those that failed. Instances can be added at the end. :func:`certune.load` reads the
        folder without the family.

    Returns
    -------
    StreamResult
        The optimum over all instances.

    Raises
    ------
    InputError
        If there is no instance, one does not fit the family, or the folder cannot be used.
    ParameterError
        If the family does not have one free parameter, or an option is not admissible.
    TuningError
        If work on an instance fails, which it names; its attribute ``result`` has what was
        finished by then.

    Notes
    -----
    O(B log B log N) for B breakpoints of N instances in all.

    Examples
    --------
    >>> from certune.testing import StepFamily, StepInstance
    >>> steps = (StepInstance((number / 1000,), (0, 1)) for number in range(1, 1000))
    >>> result = tune_stream(StepFamily(), steps)
    >>> result.n_instances, result.best_value, result.best_region
    (999, 1.0, [(0.999, 1.0)])
    """
    space = checked_family(family).space
    refuse_discrete(family, "tune_stream")
    if space.n_free != 1:
        raise ParameterError(
            f"tune_stream needs one free parameter, but {family!r} has {space.n_free}: fix the "
            "others, or use tune."
        )
    skips = skips_errors(on_error)
    if isinstance(instances, str | bytes) or not isinstance(instances, Iterable):
        raise InputError(
            f"instances must be an iterable of instances, got {instances!r}: read files with "
            "certune.read_stream."
        )
    if isinstance(instances, np.ndarray):
        instances = as_list("instances", instances)
    if progress is not None and not isinstance(progress, bool):
        raise ParameterError(f"progress must be True, False or None, got {progress!r}.")
    limits = _seconds("timeout", timeout), _seconds("timeout_per_instance", timeout_per_instance)
    options = RunOptions(as_n_jobs(n_jobs), (), progress, *limits, skips)
    quiet = SILENCE.conversation(quiet=progress is False)
    with quiet, _opened_folder(run_dir, family) as folder:
        stream = _Stream(family, instances, options, folder)
        result = contextvars.copy_context().run(stream.run)
        if folder is not None:
            with result_kept(result):
                note_end(folder, result)
        return result


def _seconds(name: str, given: float | None) -> float:
    return math.inf if given is None else as_positive_seconds(name, given)


@contextmanager
def _opened_folder(
    path: str | os.PathLike[str] | None, family: Family
) -> Iterator[RunDirectory | None]:
    """Hold a run directory, if there is to be one, and note that a stream begins."""
    if path is None:
        yield None
        return
    with opened_directory(path, family) as folder:
        folder.note(
            "started",
            stream=repr(family)[:LONGEST_TEXT],
            segment=segment_data(family.space.default_segment()),
            utility_range=list(family.utility_range),
            proved=family.proves_duals,
        )
        yield folder


class _Block(NamedTuple):
    """Consecutive instances with their numbers, and what is known of them from an earlier run."""

    number: int
    items: list[tuple[int, Any]]
    known: BlockSum | None = None


class _Unfit(NamedTuple):
    """What stands in a block for an instance that does not fit the family, and is left out."""

    name: str
    why: str


class _Stream:
    """One run over a stream."""

    def __init__(
        self,
        family: Family,
        instances: Iterable[Any],
        options: RunOptions,
        folder: RunDirectory | None,
    ) -> None:
        self.family = family
        self._instances = instances
        self._options = options
        self._folder = folder
        self._sums = StreamSums()
        # Fingerprints of the blocks in work, by their numbers.
        self._prints: dict[int, str] = {}
        # Why no more instances are read, if that is not the end of the stream.
        self._broken: BaseException | None = None
        self._started = time.perf_counter()

    def run(self) -> StreamResult:
        """Read the stream to its end, or until something else ends it."""
        family, options = self.family, self._options
        log = RunLog(
            header_of_stream(family),
            options.progress,
            titles=("read", "pieces"),
            score=family.score,
            timeout=options.timeout,
        )
        with log, options.workplace(family) as place:
            try:
                status = self._collect(place.crew, log)
            except BaseException as error:
                if self._sums.n_failed < self._sums.n_read:
                    with_result(error, lambda: self._result(Status.FAILED))
                raise
            result = self._result(status) if self._sums.n_failed < self._sums.n_read else None
            if result is not None:
                log.end(result.status)
                return result
        if self._sums.n_read == 0 and status is None:
            raise InputError("instances are empty, and tuning needs at least one: pass some.")
        if status is Status.INTERRUPTED:
            place.watch.pass_on()
        told = (f" The first one, {name}: {why}" for name, why in self._sums.failures.items())
        first = next(told, "")
        if status is None:
            raise TuningError(f"All {self._sums.n_read} instances failed.{first}")
        raise NothingFinishedError(
            f"No function of the {self._sums.n_read} instances that were read is finished: allow "
            f"more time.{first}"
        )

    def _result(self, status: Status | None) -> StreamResult:
        """Return the result of the blocks that have arrived; a status says why others have not."""
        landscape = self._sums.mean()
        assert landscape is not None
        result = StreamResult(
            family=self.family,
            segment=self.family.space.default_segment(),
            status=Status.INCOMPLETE if status is None else status,
            landscape=landscape,
            n_instances=self._sums.n_read,
            n_failed=self._sums.n_failed,
            failures=self._sums.failures,
            baselines=self._sums.baselines,
            elapsed=time.perf_counter() - self._started,
        )
        complete = status is None and not self._sums.n_failed
        return replace(result, status=_proved(result)) if complete else result

    def _collect(self, crew: Crew, log: RunLog) -> Status | None:
        work = partial(_block_sum, self._options.timeout_per_instance, self.family)
        try:
            for outcome in crew.outcomes(work, self._blocks(crew, log), grain=BLOCK):
                if outcome.error is not None:
                    raise outcome.error
                self._keep(outcome.value)
                self._take(outcome.value, log)
            if self._broken is not None:
                raise self._broken
        except TimeIsUp:
            return crew.why_stopped
        except KeyboardInterrupt:
            return Status.INTERRUPTED
        return None

    def _blocks(self, crew: Crew, log: RunLog) -> Iterator[_Block]:
        """Yield consecutive instances, checked, unless the folder knows all about them.

        Where the stream breaks off, the blocks before are finished first.
        """
        numbered = enumerate(iter(self._instances))
        for number in range(2**62):
            try:
                items = crew.read(self._next_items, numbered)
            except (Exception, TimeIsUp) as error:
                self._broken = error
                return
            if not items:
                return
            known = self._known(number, items)
            if known is None or known.failures:
                yield _Block(number, items, known)
            else:
                self._take(known, log)
                crew.check()

    def _next_items(self, numbered: Iterator[tuple[int, Any]]) -> list[tuple[int, Any]]:
        return [self._checked(*pair) for pair in islice(numbered, BLOCK)]

    def _checked(self, number: int, item: Any) -> tuple[int, Any]:
        """Return an instance with its number; what does not fit ends the run, or is left out.

        In the place of what could not be read there is an error.
        """
        try:
            if isinstance(item, InputError):
                raise item
            self.family.check_instance(item)
        except InputError as error:
            name = instance_name(item, number)
            if not self._options.skips_failures:
                raise InputError(f"{name}: {error}") from error
            return number, _Unfit(name, f"{type(error).__name__}: {error}")
        return number, item

    def _fingerprint(self, item: Any) -> Any:
        return list(item) if isinstance(item, _Unfit) else self.family.instance_fingerprint(item)

    def _known(self, number: int, items: list[tuple[int, Any]]) -> BlockSum | None:
        """Return what the folder keeps of a block.

        The number belongs to its name, because instances without one are called by theirs.
        """
        if self._folder is None:
            return None
        prints = [self._fingerprint(item) for _, item in items]
        key = hashlib.sha256(json.dumps([number, prints]).encode("ascii")).hexdigest()
        self._prints[number] = key
        known = self._folder.find(BLOCKS, key)
        if known is not None and not known.failures:
            self._folder.note("found", block=self._prints.pop(number))
        return known

    def _keep(self, found: BlockSum) -> None:
        if self._folder is not None:
            self._folder.keep(BLOCKS, self._prints.pop(found.number), found)

    def _take(self, found: BlockSum, log: RunLog) -> None:
        if found.failures and not self._options.skips_failures:
            number, name, why = found.failures[0]
            raise TuningError(
                f"Tuning ended at {name}, number {number} of the stream: {why}", instance_name=name
            )
        self._sums.take(found)
        elapsed = time.perf_counter() - self._started
        log.note(self._sums.n_read, None, "", math.inf)
        if log.is_due(elapsed, last=False) and self._sums.n_failed < self._sums.n_read:
            log.row(_StreamState.of(self._result(None)))


class _StreamState(NamedTuple):
    """What a row of the log says: the optimum over the instances that were read."""

    elapsed: float
    counts: tuple[str, str]
    best_value: float
    upper_bound: float
    gap: float

    @classmethod
    def of(cls, result: StreamResult) -> _StreamState:
        counts = str(result.n_instances), str(result.landscape.n_pieces)
        return cls(result.elapsed, counts, result.best_value, result.upper_bound, result.gap)


def _proved(result: StreamResult) -> Status:
    """What the functions of all instances prove."""
    if not result.family.proves_duals:
        return Status.UNPROVED
    slack = Fraction(result.family.tolerance)
    is_proved = result.upper_bound_exact - result.best_value_exact <= slack
    return Status.OPTIMAL if is_proved else Status.UNDECIDED


Utilities: TypeAlias = dict[str, Fraction | None]


def _block_sum(limit: float, family: Family, block: _Block) -> BlockSum:
    """Add the functions of a block, each of which has so many seconds.

    Of a block that is known, only instances that failed are tried again, and all of them if one of
    those has a function now.
    """
    if block.known is not None:
        failed = {failure.number for failure in block.known.failures}
        again = [_attempted(limit, family, *item) for item in block.items if item[0] in failed]
        failures = [outcome for outcome in again if isinstance(outcome, Failure)]
        if len(failures) == len(failed):
            return block.known._replace(failures=tuple(failures))
    duals, failures = [], []
    defaults: Utilities = {}
    for number, item in block.items:
        outcome = _attempted(limit, family, number, item)
        if isinstance(outcome, Failure):
            failures.append(outcome)
            continue
        dual, reached = outcome
        duals.append(dual)
        for name, value in reached.items():
            known = defaults.get(name, Fraction(0))
            defaults[name] = None if known is None or value is None else known + value
    total = sum_of(duals) if duals else None
    return BlockSum(block.number, len(block.items), total, defaults, tuple(failures))


def _attempted(
    limit: float, family: Family, number: int, item: Any
) -> tuple[DualFunction, Utilities] | Failure:
    """Return the function of an instance and utilities of the defaults, or why there is none."""
    check_time()
    if isinstance(item, _Unfit):
        return Failure(number, item.name[:LONGEST_TEXT], item.why[:LONGEST_TEXT])
    try:
        return within(limit, _function_and_defaults, family, item)
    except Exception as error:
        why = f"{type(error).__name__}: {error}"
        return Failure(number, instance_name(item, number)[:LONGEST_TEXT], why[:LONGEST_TEXT])


def _function_and_defaults(family: Family, instance: Any) -> tuple[DualFunction, Utilities]:
    dual = family.dual(instance)
    settings = {**family.baselines, **family.instance_baselines(instance)}
    return dual, {name: _decided(family, instance, value) for name, value in settings.items()}


def _decided(family: Family, instance: Any, setting: dict[str, Any]) -> Fraction | None:
    try:
        return Fraction(family.run_exact(instance, setting))
    except UndecidedError:
        return None
