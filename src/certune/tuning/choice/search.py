"""Tuning a choice: the alternative with the largest bound goes on, until no other can win.

Bounds are proved, with unfinished instances counted as perfect; nothing here is statistics. With
one free parameter an alternative proceeds by a few instances at a time. Alternatives with several
free parameters come last, by branch and bound, which ends as soon as they cannot win any more.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from certune.aggregates import Criterion
from certune.dual import DualFunction, aggregated
from certune.errors import NothingFinishedError
from certune.families.base import Family
from certune.tuning.choice.choice import Choice, Slices
from certune.tuning.choice.result import Alternative, ChoiceResult
from certune.tuning.instances import naming
from certune.tuning.line.run import LineRun
from certune.tuning.outcome.result import TuningResult
from certune.tuning.space.search import SpaceOptions, tune_space
from certune.tuning.status import Status
from certune.tuning.work.log import RunLog
from certune.tuning.work.progress import (
    Bracket,
    SearchProgress,
    asked,
    sure_value_of,
    upper_bound_of,
)
from certune.tuning.work.run_store import keep_certificate, opened_store, result_kept
from certune.tuning.work.search_steps import opened_steps
from certune.tuning.work.workplace import RunOptions, Workplace, with_result

# An alternative proceeds by this share of the instances at a time, whatever the number of workers.
PARTS = 8


@dataclass(frozen=True)
class ChoiceProgress(Bracket):
    """State of tuning a choice; what callbacks see.

    Attributes
    ----------
    elapsed : float
        Seconds since the start.
    n_computed, n_functions : int
        Functions that were used, and those of all alternatives on all instances.
    leader : str
        The alternative with the largest bound.
    best_value_exact, upper_bound_exact : Fraction
        What is sure to be reached over all instances, and what no setting exceeds.
    """

    elapsed: float
    n_computed: int
    n_functions: int
    leader: str
    best_value_exact: Fraction
    upper_bound_exact: Fraction

    @property
    def counts(self) -> tuple[str, str]:
        """Functions and the leading alternative, for the log."""
        return f"{self.n_computed}/{self.n_functions}", self.leader[:9]


class Contender:
    """An alternative with one free parameter, and what its first instances say."""

    def __init__(self, run: LineRun) -> None:
        self.run = run
        self.n_used = 0

    @property
    def n_instances(self) -> int:
        """Number of instances."""
        return len(self.run.instances)

    @property
    def is_complete(self) -> bool:
        """Whether all instances were used."""
        return self.n_used == self.n_instances

    @property
    def duals(self) -> list[DualFunction]:
        """Functions of the instances that were used."""
        return [self.run.finished[number] for number in range(self.n_used)]

    @cached_property
    def landscape(self) -> DualFunction:
        """Their aggregate."""
        return aggregated(self.duals, self.run.criterion.of(range(self.n_used)))

    @cached_property
    def upper_bound(self) -> Fraction:
        """No setting is better over all instances."""
        largest = Fraction(self.run.family.utility_range[1])
        if not self.n_used or not self.run.family.proves_duals:
            return largest
        known = self.landscape, self.duals, self.run.criterion, self.n_instances
        return upper_bound_of(*known, largest)

    @cached_property
    def sure_value(self) -> Fraction:
        """What its best setting is sure to reach over all instances."""
        lowest = Fraction(self.run.family.utility_range[0])
        if not self.n_used:
            return lowest
        known = self.landscape, self.duals, self.run.criterion, self.n_instances
        return sure_value_of(*known, lowest)

    def advance(self, place: Workplace, options: RunOptions, log: RunLog) -> Status | None:
        """Use a few more instances; returns why that was not possible."""
        target = min(self.n_used + -(-self.n_instances // PARTS), self.n_instances)
        status = self.run.collect(place.crew, options, log, target)
        while self.n_used < target and self.n_used in self.run.finished:
            self.n_used += 1
        for name in ("landscape", "upper_bound", "sure_value"):
            self.__dict__.pop(name, None)
        return status

    def alternative(self, name: str, result: TuningResult | None) -> Alternative:
        """Return what is known about the alternative."""
        return Alternative(
            name=name,
            family=self.run.family,
            n_instances=self.n_instances,
            n_computed=self.n_used,
            upper_bound_exact=self.upper_bound,
            segment=self.run.segment,
            duals=tuple(self.duals),
            criterion=self.run.criterion,
            instances=self.run.instances,
            result=result,
        )


@dataclass
class _Race:
    """All contenders, and what is known together."""

    choice: Choice
    contenders: dict[str, Contender]
    started: float

    @property
    def achieved(self) -> Fraction:
        """What is sure to be reached over all instances."""
        lowest = Fraction(self.choice.utility_range[0])
        return max((c.sure_value for c in self.contenders.values()), default=lowest)

    def open(self) -> list[Contender]:
        """Contenders that have to go on: those with the largest bound, if they can still win."""
        level = self.achieved + Fraction(self.choice.tolerance)
        able = [
            c
            for c in self.contenders.values()
            if not c.is_complete and (c.upper_bound > level or not c.run.family.proves_duals)
        ]
        if not able:
            best = self.contenders[self.winner]
            return [] if best.is_complete else [best]
        largest = max(c.upper_bound for c in able)
        return [c for c in able if c.upper_bound == largest]

    @property
    def winner(self) -> str:
        """The alternative whose best setting is sure to reach most."""
        names = list(self.contenders)
        return max(names, key=lambda name: self.contenders[name].sure_value)

    @property
    def state(self) -> ChoiceProgress:
        """What is known now."""
        known = self.contenders
        leader = max(known, key=lambda name: known[name].upper_bound)
        return ChoiceProgress(
            elapsed=time.perf_counter() - self.started,
            n_computed=sum(c.n_used for c in known.values()),
            n_functions=sum(c.n_instances for c in known.values()),
            leader=leader,
            best_value_exact=self.achieved,
            upper_bound_exact=known[leader].upper_bound,
        )

    def run(self, place: Workplace, options: RunOptions, log: RunLog) -> Status | None:
        """Let contenders go on until no other can win, or return what has ended that."""
        quiet, silent = replace(options, callbacks=()), RunLog("", False)
        names = {id(contender): name for name, contender in self.contenders.items()}
        while waiting := self.open():
            for contender in waiting:
                name = names[id(contender)]
                log.doing(f"working on {name}")
                with naming(name):
                    status = contender.advance(place, quiet, silent)
                if status is not None:
                    return status
            state = self.state
            if log.is_due(state.elapsed, last=not self.open()):
                log.row(state)
            if asked(options.callbacks, state) and self.open():
                return Status.STOPPED
        return None


def tune_choice(
    choice: Choice,
    instances: dict[str, list[Any]],
    search: SpaceOptions,
    options: RunOptions,
    run_dir: str | os.PathLike[str] | None = None,
) -> ChoiceResult:
    """Tune a choice; options are checked. See :func:`certune.tune`."""
    started = time.perf_counter()
    n_instances, criterion = len(next(iter(instances.values()))), search.criterion
    heading = _header(choice, n_instances, criterion)
    titles = ("functions", "leader")
    with ExitStack() as stack:
        log = stack.enter_context(
            RunLog(heading, options.progress, titles, choice.score, options.timeout)
        )
        log.doing("reading the run directory" if run_dir is not None else "")
        stores = {
            name: stack.enter_context(
                opened_store(_folder(run_dir, name, family), family, instances[name], criterion)
            )
            for name, family in choice.alternatives.items()
            if family.space.n_free == 1
        }
        contenders = {
            name: Contender(
                LineRun(
                    choice.alternatives[name],
                    instances[name],
                    choice.alternatives[name].space.default_segment(),
                    store,
                    criterion,
                )
            )
            for name, store in stores.items()
        }
        race = _Race(choice, contenders, started)
        place = stack.enter_context(options.workplace(choice))
        found: dict[str, Alternative] = {}
        status: Status | None = None
        try:
            if contenders:
                status = race.run(place, options, log)
                found = _settled(race, place, status)
            _search_spaces(choice, instances, search, options, run_dir, found, status, started, log)
            result = _result(choice, found, status, criterion, started)
        except BaseException as error:
            if any(contender.n_used for contender in contenders.values()):
                with_result(error, lambda: _failed(race, instances, place, criterion))
            raise
        if result is not None:
            log.end(result.status)
            if run_dir is not None:
                with result_kept(result):
                    for name, store in stores.items():
                        own = found[name].result
                        if store is not None and own is not None:
                            store.conclude(own)
                    keep_certificate(Path(run_dir), result)
            return result
    if status is Status.INTERRUPTED:
        place.watch.pass_on()
    raise NothingFinishedError(
        "The run ended before the function of any instance was finished: allow more time, or tune "
        "fewer alternatives."
    )


def _failed(
    race: _Race, instances: Mapping[str, list[Any]], place: Workplace, criterion: Criterion
) -> ChoiceResult | None:
    found = _settled(race, place, Status.FAILED)
    for name, family in race.choice.alternatives.items():
        # Alternatives with several parameters come last, and one of them may have failed.
        found.setdefault(name, Alternative.untouched(name, family, instances[name]))
    return _result(race.choice, found, Status.FAILED, criterion, race.started)


def _settled(race: _Race, place: Workplace, status: Status | None) -> dict[str, Alternative]:
    """Return all alternatives with one parameter; the winner with plain runs."""
    found = {name: item.alternative(name, None) for name, item in race.contenders.items()}
    winner = race.winner
    contender = race.contenders[winner]
    if contender.n_used:
        crew = place.crew if status is None else place.last_crew()
        found[winner] = contender.alternative(winner, contender.run.result(status, crew))
    return found


def _search_spaces(
    choice: Choice,
    instances: Mapping[str, list[Any]],
    search: SpaceOptions,
    options: RunOptions,
    run_dir: str | os.PathLike[str] | None,
    found: dict[str, Alternative],
    status: Status | None,
    started: float,
    log: RunLog,
) -> None:
    """Search alternatives with several parameters as long as they can win; adds to `found`."""
    for name, family in choice.alternatives.items():
        if family.space.n_free == 1:
            continue
        largest = Fraction(family.utility_range[1])
        reached = [item.result.best_value_exact for item in found.values() if item.result]
        best = max(reached, default=Fraction(family.utility_range[0]))
        left = options.timeout - (time.perf_counter() - started)
        if status is not None or left <= 0 or (reached and best >= largest):
            found[name] = Alternative.untouched(name, family, instances[name])
            continue

        own = replace(
            options,
            callbacks=(
                partial(_tell, log, name),
                *options.callbacks,
                *([partial(_cannot_win, best)] if reached else []),
            ),
            progress=False,
            timeout=left if math.isfinite(left) else math.inf,
        )
        log.doing(f"working on {name}")
        goal = replace(search, by_lines=search.by_lines or not family.bounds_boxes)
        folder = _folder(run_dir, name, family)
        with opened_steps(folder, family, instances[name], goal) as (steps, conclude):
            with naming(name):
                result = tune_space(family, instances[name], goal, own, steps)
            conclude(result)
        found[name] = Alternative(
            name=name,
            family=family,
            n_instances=len(instances[name]),
            n_computed=len(instances[name]),
            upper_bound_exact=result.upper_bound_exact,
            criterion=search.criterion,
            instances=instances[name],
            result=result,
        )


def _tell(log: RunLog, name: str, state: SearchProgress) -> None:
    """Let the log of the choice say how far the search of an alternative is."""
    score = log.score
    log.doing(
        f"working on {name}, {state.n_nodes} boxes, {score.bound_name} "
        f"{score.of(state.upper_bound):.6f}"
    )


def _cannot_win(level: Fraction, state: Any) -> bool:
    """Tell whether a search cannot find anything better than a level."""
    return bool(state.upper_bound_exact <= level)


def _result(
    choice: Choice,
    found: dict[str, Alternative],
    status: Status | None,
    criterion: Criterion,
    started: float,
) -> ChoiceResult | None:
    results = {name: item.result for name, item in found.items() if item.result is not None}
    if not results:
        return None
    winner = max(results, key=lambda name: results[name].best_value_exact)
    bound = max(item.upper_bound_exact for item in found.values())
    return ChoiceResult(
        choice=choice,
        status=_status(choice, found, winner, bound) if status is None else status,
        best_alternative=winner,
        alternatives={name: found[name] for name in choice.alternatives},
        criterion=criterion,
        upper_bound_exact=bound,
        elapsed=time.perf_counter() - started,
    )


def _status(
    choice: Choice, found: Mapping[str, Alternative], winner: str, bound: Fraction
) -> Status:
    """What the functions and boxes prove when nothing has ended the run early."""
    if not all(item.family.proves_duals for item in found.values()):
        return Status.UNPROVED
    best = found[winner].result
    assert best is not None
    if bound - best.best_value_exact <= Fraction(choice.tolerance):
        return Status.OPTIMAL
    own = best.status
    return own if own is not Status.OPTIMAL else Status.UNDECIDED


def _folder(run_dir: str | os.PathLike[str] | None, name: str, family: Family) -> Path | None:
    """Return the folder of an alternative: another family of the same name has another one."""
    if run_dir is None:
        return None
    plain = "".join(c if c.isascii() and (c.isalnum() or c in "-_") else "-" for c in name)
    return Path(run_dir) / f"{plain[:60]}-{family.fingerprint[:12]}"


def _header(choice: Choice, n_instances: int, criterion: Criterion) -> str:
    names = f"a choice among {', '.join(choice.alternatives)}"
    if isinstance(choice, Slices):
        names = f"{choice!r}, {len(choice.alternatives)} settings of its discrete parameters"
    return "\n".join(
        (
            f"certune: exact tuning of {names}",
            f"{n_instances} instance{'s' * (n_instances != 1)}",
            f"best:  {criterion.words(str(choice.score))} that is sure over all instances",
            "bound: no setting of any alternative is better",
            "gap:   from bound to best",
        )
    )
