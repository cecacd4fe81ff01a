"""Tuning of one parameter on a stream of instances, of which none is kept.

Blocks of consecutive instances are the items of the work. A worker returns the sum of the functions
of its block, and the sums of blocks are added in a tree whose shape depends on their numbers alone,
so that the mean is the same to the last bit for any number of workers. What is in memory at a time
are the blocks in work and a few sums on every level of the tree.
"""

from __future__ import annotations

import contextvars
import math
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

from certune.checks import as_n_jobs, as_positive_seconds, is_one_of, refuse_mask
from certune.deadline import TimeIsUp, check_time
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
from certune.tuning.executors import Crew
from certune.tuning.instances import checked_family, instance_name, refuse_discrete
from certune.tuning.status import Status
from certune.tuning.stream_result import StreamResult
from certune.tuning.workplace import RunOptions

# Instances in a block, and sums that are added at a time.
BLOCK, FAN = 32, 16
# Failures that are kept by name; all are counted.
MOST_FAILURES = 1000


def tune_stream(
    family: Family,
    instances: Iterable[Any],
    *,
    timeout: float | None = None,
    n_jobs: int | None = 1,
    on_error: str = "raise",
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
        Seconds, after which the run ends with what is finished by then; the result is about these
        instances.
    n_jobs : int or None, default=1
        Number of parallel workers, as in :func:`certune.tune`. The result does not depend on it.
    on_error : {"raise", "skip"}
        What to do when an instance fails: end with a `TuningError`, or leave it out.

    Returns
    -------
    StreamResult
        The optimum over all instances.

    Raises
    ------
    InputError
        If there is no instance, or one does not fit the family.
    ParameterError
        If the family does not have one free parameter, or an option is not admissible.
    TuningError
        If work on an instance fails, which it names.

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
    if not is_one_of(on_error, ("raise", "skip")):
        raise ParameterError(f"on_error must be 'raise' or 'skip', got {on_error!r}.")
    if isinstance(instances, str | bytes) or not isinstance(instances, Iterable):
        raise InputError(
            f"instances must be an iterable of instances, got {instances!r}: read files with "
            "certune.read_stream."
        )
    refuse_mask("instances", instances)
    seconds = math.inf if timeout is None else as_positive_seconds("timeout", timeout)
    options = RunOptions(as_n_jobs(n_jobs), (), False, seconds, skips_failures=on_error == "skip")
    stream = _Stream(family, instances, options.skips_failures)
    return contextvars.copy_context().run(stream.run, options)


class _BlockSum(NamedTuple):
    """What came of a block: the sum of its functions, sums of the defaults, and failures."""

    number: int
    n_instances: int
    total: DualFunction | None
    defaults: dict[str, Fraction | None]
    failures: tuple[tuple[int, str, str], ...]


class _Stream:
    """One run over a stream."""

    def __init__(self, family: Family, instances: Iterable[Any], skips: bool) -> None:
        self.family = family
        self._instances = instances
        self._skips = skips
        self._sums = SumTree()
        self._defaults: dict[str, Fraction | None] = {}
        self._failures: dict[str, str] = {}
        self._n_read = self._n_failed = 0

    def run(self, options: RunOptions) -> StreamResult:
        """Read the stream to its end, or until something else ends it."""
        started = time.perf_counter()
        with options.workplace(self.family) as place:
            status = self._collect(place.crew)
        if self._n_read == 0 and status is None:
            raise InputError("instances are empty, and tuning needs at least one: pass some.")
        total = self._sums.total()
        if total is None:
            if status is Status.INTERRUPTED:
                place.watch.pass_on()
            raise NothingFinishedError(
                f"No function of the {self._n_read} instances that were read is finished: allow "
                f"more time. {next(iter(self._failures.items()), '')}"
            )
        n_finished = self._n_read - self._n_failed
        known = {name: value for name, value in self._defaults.items() if value is not None}
        result = StreamResult(
            family=self.family,
            segment=self.family.space.default_segment(),
            status=Status.INCOMPLETE if status is None else status,
            landscape=total * Fraction(1, n_finished),
            n_instances=self._n_read,
            n_failed=self._n_failed,
            failures=self._failures,
            baselines={name: float(value / n_finished) for name, value in known.items()},
            elapsed=time.perf_counter() - started,
        )
        complete = status is None and not self._n_failed
        return replace(result, status=_proved(result)) if complete else result

    def _collect(self, crew: Crew) -> Status | None:
        work = partial(_block_sum, self.family)
        try:
            for outcome in crew.outcomes(work, self._blocks(), grain=BLOCK):
                if outcome.error is not None:
                    raise outcome.error
                self._take(outcome.value)
        except TimeIsUp:
            return crew.why_stopped
        except KeyboardInterrupt:
            return Status.INTERRUPTED
        return None

    def _blocks(self) -> Iterator[tuple[int, list[tuple[int, Any]]]]:
        """Yield consecutive instances, checked, with their numbers."""
        numbered = enumerate(iter(self._instances))
        for block in range(2**62):
            items = list(islice(numbered, BLOCK))
            for number, item in items:
                try:
                    self.family.check_instance(item)
                except InputError as error:
                    raise InputError(f"{instance_name(item, number)}: {error}") from error
            if not items:
                return
            yield block, items

    def _take(self, found: _BlockSum) -> None:
        if found.failures and not self._skips:
            number, name, why = found.failures[0]
            raise TuningError(
                f"Tuning ended at {name}, number {number} of the stream: {why}", instance_name=name
            )
        self._n_read += found.n_instances
        self._n_failed += len(found.failures)
        for _, name, why in found.failures[: MOST_FAILURES - len(self._failures)]:
            self._failures[name] = why
        self._sums.put(found.number, found.total)
        for name, value in found.defaults.items():
            known = self._defaults.get(name, Fraction(0))
            self._defaults[name] = None if known is None or value is None else known + value


def _proved(result: StreamResult) -> Status:
    """What the functions of all instances prove."""
    if not result.family.proves_duals:
        return Status.UNPROVED
    slack = Fraction(result.family.tolerance)
    is_proved = result.upper_bound_exact - result.best_value_exact <= slack
    return Status.OPTIMAL if is_proved else Status.UNDECIDED


def _block_sum(family: Family, block: tuple[int, list[tuple[int, Any]]]) -> _BlockSum:
    """Add the functions of a block."""
    number, items = block
    duals, failures = [], []
    defaults: dict[str, Fraction | None] = {}
    for place, item in items:
        check_time()
        try:
            dual = family.dual(item)
            settings = {**family.baselines, **family.instance_baselines(item)}
            reached = {name: _decided(family, item, value) for name, value in settings.items()}
        except Exception as error:
            why = f"{type(error).__name__}: {error}"
            failures.append((place, instance_name(item, place), why))
            continue
        duals.append(dual)
        for name, value in reached.items():
            known = defaults.get(name, Fraction(0))
            defaults[name] = None if known is None or value is None else known + value
    total = sum_of(duals) if duals else None
    return _BlockSum(number, len(items), total, defaults, tuple(failures))


def _decided(family: Family, instance: Any, setting: dict[str, Any]) -> Fraction | None:
    try:
        return Fraction(family.run_exact(instance, setting))
    except UndecidedError:
        return None


@dataclass
class SumTree:
    """Sum of numbered functions that arrive in any order, added in a tree of a fixed shape.

    A node has ``FAN`` children with consecutive numbers and is added up once all of them are there.

    Attributes
    ----------
    levels : list of dict
        On every level the functions that wait for their siblings, by number; None stands for an
        empty sum.
    """

    levels: list[dict[int, DualFunction | None]] = field(default_factory=list)

    def put(self, number: int, function: DualFunction | None) -> None:
        """Add a leaf."""
        level = 0
        while True:
            if level == len(self.levels):
                self.levels.append({})
            waiting = self.levels[level]
            waiting[number] = function
            first = number - number % FAN
            siblings = range(first, first + FAN)
            if not all(sibling in waiting for sibling in siblings):
                return
            function = _sum([waiting.pop(sibling) for sibling in siblings])
            number, level = number // FAN, level + 1

    def total(self) -> DualFunction | None:
        """Return the sum of everything, in the order of the numbers; the tree is used up."""
        carried: list[DualFunction | None] = []
        for waiting in self.levels:
            # What lies on a lower level has larger numbers than what lies above it, if nothing is
            # missing in between.
            here = [waiting[number] for number in sorted(waiting)]
            carried = [_sum([*here, *carried])]
        self.levels.clear()
        return carried[0] if carried else None


def _sum(functions: Sequence[DualFunction | None]) -> DualFunction | None:
    there = [function for function in functions if function is not None]
    return sum_of(there) if there else None
