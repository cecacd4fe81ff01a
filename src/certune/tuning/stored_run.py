"""Reading a run directory without the family and the instances that made it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

from certune.aggregates import Criterion
from certune.cards import Carded
from certune.dual import DualFunction, aggregated
from certune.errors import CertuneError, InputError, ParameterError
from certune.runs import Journal
from certune.runs.directory import FUNCTIONS, read_events, what_else
from certune.runs.journal import DamagedError
from certune.space import Segment
from certune.space.values import shown_setting
from certune.tuning.proof.verification import AnyCertificate, load_certificate
from certune.tuning.schema import criterion_from, segment_from, written
from certune.tuning.status import Status
from certune.tuning.stream.result import StoredStream, load_stream
from certune.tuning.stream.sums import BLOCKS, StreamSums
from certune.tuning.work.progress import upper_bound_of
from certune.tuning.work.search_steps import exactly, number_from, setting_from


@dataclass(frozen=True, repr=False)
class StoredRun(Carded):
    """What a run directory knows: functions, and what follows from them.

    The same call of :func:`certune.tune` that made the directory gives the whole result, with plain
    runs and defaults; this needs neither the family nor the instances.

    Attributes
    ----------
    path : Path
        The folder.
    status : Status or None
        How the last run ended; None if it was killed, or is still in work.
    segment : Segment
        The line of settings.
    instance_names : tuple of str
        Names of the instances of the last run, in their order.
    duals : dict of int to DualFunction
        Finished functions by the number of their instance.
    failures : dict of int to str
        Why instances have no function, by their number, where that was an error.
    damaged : tuple of str
        What could not be read, in words; the next run computes it again.
    criterion : Criterion
        What the last run maximised.
    """

    path: Path
    status: Status | None
    segment: Segment
    instance_names: tuple[str, ...]
    duals: dict[int, DualFunction] = field(repr=False)
    failures: dict[int, str]
    damaged: tuple[str, ...]
    largest: Fraction = field(repr=False)
    criterion: Criterion = field(default=Criterion(), repr=False)

    @cached_property
    def landscape(self) -> DualFunction:
        """Exact mean utility over the finished instances, or what else was maximised.

        Raises
        ------
        InputError
            If none is finished.
        """
        if not self.duals:
            raise InputError(f"no instance of {self.path} is finished")
        finished = sorted(self.duals)
        return aggregated([self.duals[n] for n in finished], self.criterion.of(finished))

    @property
    def best_params(self) -> dict[str, Any]:
        """The best setting for the finished instances."""
        return self.segment.at(self.landscape.best_point)

    @property
    def best_value(self) -> float:
        """Its mean utility over the finished instances, or what else was maximised."""
        return self.landscape.max()

    @property
    def upper_bound(self) -> float:
        """No setting has a larger mean utility over all instances, or what else was maximised."""
        finished, count = sorted(self.duals), len(self.instance_names)
        others = [number for number in range(count) if number not in self.duals]
        duals = [self.duals[number] for number in finished]
        criterion = self.criterion.of([*finished, *others])
        return float(upper_bound_of(self.landscape, duals, criterion, count, self.largest))

    @property
    def certificate(self) -> AnyCertificate:
        """The certificate of the last run that ended."""
        return load_certificate(self.path)

    def __str__(self) -> str:
        ended = "not ended, or killed" if self.status is None else str(self.status)
        lines = [
            f"run in {self.path}: {ended}",
            f"{len(self.duals)} of {len(self.instance_names)} instances finished",
        ]
        if self.duals:
            setting = shown_setting(self.best_params)
            lines.append(
                f"best {self.criterion.words('utility')} over them {self.best_value:.6g} at "
                f"{setting}; bound over all "
                f"{self.upper_bound:.6g}"
            )
        for number, why in self.failures.items():
            lines.append(f"failed: {self.instance_names[number]}: {why}")
        return "\n".join([*lines, *self.damaged])


@dataclass(frozen=True, repr=False)
class StoredSearch(Carded):
    """What a run directory knows about a search over several parameters.

    The same call of :func:`certune.tune` that made the directory continues the search and gives the
    whole result; this needs neither the family nor the instances.

    Attributes
    ----------
    path : Path
        The folder.
    status : Status or None
        How the last run ended; None if it was killed, or is still in work.
    instance_names : tuple of str
        Names of the instances of the last run, in their order.
    best_params : dict or None
        The best setting so far.
    best_value_exact : Fraction or None
        Its mean utility, or what else was maximised.
    upper_bound_exact : Fraction
        No setting reaches more, as far as the last run that ended has proved.
    n_settings, n_lines, n_boxes : int
        Settings that were run, lines that were searched, and boxes that were bounded.
    criterion : Criterion
        What the last run maximised.
    """

    path: Path
    status: Status | None
    instance_names: tuple[str, ...]
    best_params: dict[str, Any] | None
    best_value_exact: Fraction | None
    upper_bound_exact: Fraction
    n_settings: int
    n_lines: int
    n_boxes: int
    criterion: Criterion = field(default=Criterion(), repr=False)

    @property
    def best_value(self) -> float | None:
        """Mean utility of `best_params`, or what else was maximised."""
        return None if self.best_value_exact is None else float(self.best_value_exact)

    @property
    def upper_bound(self) -> float:
        """`upper_bound_exact`, correctly rounded."""
        return float(self.upper_bound_exact)

    @property
    def certificate(self) -> AnyCertificate:
        """The certificate of the last run that ended."""
        return load_certificate(self.path)

    def __str__(self) -> str:
        ended = "not ended, or killed" if self.status is None else str(self.status)
        lines = [
            f"run in {self.path}: {ended}",
            f"{len(self.instance_names)} instances, {self.n_settings} settings, {self.n_lines} "
            f"lines, {self.n_boxes} boxes",
        ]
        if self.best_params is not None:
            setting = shown_setting(self.best_params)
            what = self.criterion.words("utility")
            lines.append(f"best {what} {self.best_value:.6g} at {setting}")
        return "\n".join([*lines, f"bound {self.upper_bound:.6g}"])


def load(path: str | os.PathLike[str]) -> StoredRun | StoredSearch | StoredStream:
    """Read the directory of a run, also of one that is in work or was killed; changes nothing.

    Or the file of a result of :func:`certune.tune_stream`.

    Parameters
    ----------
    path : path
        What was given to :func:`certune.tune` or :func:`certune.tune_stream` as ``run_dir``, or to
        ``save`` of a stream's result.

    Returns
    -------
    StoredRun, StoredSearch or StoredStream
        What is known; a `StoredSearch` for several free parameters, a `StoredStream` for a stream.

    Raises
    ------
    InputError
        If there is no run, or its journal is damaged before its end.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise ParameterError(f"path must be the path of a folder or file of a run, got {path!r}.")
    if os.path.isfile(path):
        return load_stream(path)
    stored = [*read_events(path)]
    if stored and (problem := what_else(stored[0])) is not None:
        raise InputError(f"{path} keeps {problem}, which cannot be read")
    header, *events = stored or [{}]
    started = [n for n, event in enumerate(events) if _is(event, "started")]
    if not started:
        raise InputError(f"the run in {path} has not begun: there is nothing to read yet")
    last = events[started[-1] :]
    try:
        if "search" in last[0]:
            return _stored_search(Path(path), last)
        if "stream" in last[0]:
            return _stored_stream(Path(path), str(header["family"]), last)
        return _stored(Path(path), str(header["family"]), last)
    except DamagedError as error:
        raise InputError(
            f"{error.problem}; the call that made the run sets it aside, and does again what is "
            "missing"
        ) from None
    except (AttributeError, LookupError, TypeError, ValueError, CertuneError) as error:
        if str(path) in str(error):  # which says itself what is wrong where
            raise
        raise InputError(f"the journal of {path} has events that are none: {error}") from error


def _is(event: object, kind: str) -> bool:
    return isinstance(event, Mapping) and event.get("event") == kind


def _stored(path: Path, family: str, events: list[Any]) -> StoredRun:
    """Return the last run of a journal, whose first event is its start."""
    start = events[0]
    names = tuple(str(name) for name, _ in start["instances"])
    prints = [str(print_) for _, print_ in start["instances"]]
    reasons = {event["instance"]: str(event["why"]) for event in events if _is(event, "failed")}
    ends = [event for event in events if _is(event, "ended")]
    duals, damaged = {}, []
    for number, print_ in enumerate(prints):
        try:
            duals[number] = FUNCTIONS.read(path, family, print_)
        except FileNotFoundError:
            continue
        except InputError as error:
            damaged.append(f"{names[number]}: {error}")
    return StoredRun(
        path=path,
        status=Status[ends[-1]["status"]] if ends else None,
        segment=segment_from(start["segment"]),
        instance_names=names,
        duals=duals,
        failures={n: reasons[p] for n, p in enumerate(prints) if p in reasons and n not in duals},
        damaged=tuple(damaged),
        largest=Fraction(start["utility_range"][1]),
        criterion=criterion_from(start, len(names)),
    )


def _stored_search(path: Path, events: list[Any]) -> StoredSearch:
    """Return the last search of a journal, whose first event is its start."""
    start, ends = events[0], [event for event in events if _is(event, "ended")]
    if Path(start["search"]).name != start["search"]:
        raise ValueError(f"{start['search']!r} is no name of a file")
    steps = Journal.stored(path / start["search"]) if (path / start["search"]).exists() else []
    by_kind = {
        kind: [step for step in steps if isinstance(step, Mapping) and step.get("step") == kind]
        for kind in ("setting", "line", "boxes")
    }
    best: dict[str, Any] | None = None
    value: Fraction | None = None
    names = tuple(str(name) for name, _ in start["instances"])
    criterion = criterion_from(start, len(names))
    for step in by_kind["setting"]:
        if isinstance(step["result"], list) and step["result"]:
            utilities = exactly(len(names), step["result"])
            found = criterion.value([Fraction(number_from(utility)) for utility in utilities])
            if value is None or found > value:
                best, value = setting_from(step["key"]), found
    bound = ends[-1]["upper_bound"] if ends else written(Fraction(start["utility_range"][1]))
    return StoredSearch(
        path=path,
        status=Status[ends[-1]["status"]] if ends else None,
        instance_names=names,
        best_params=best,
        best_value_exact=value,
        upper_bound_exact=Fraction(number_from(bound)),
        n_settings=len(by_kind["setting"]),
        n_lines=len(by_kind["line"]),
        n_boxes=sum(len(step["key"]) for step in by_kind["boxes"]),
        criterion=criterion,
    )


def _stored_stream(path: Path, family: str, events: list[Any]) -> StoredStream:
    """Return the last stream of a journal, whose first event is its start."""
    start, ends = events[0], [event for event in events if _is(event, "ended")]
    taken = [event for event in events if _is(event, "finished") or _is(event, "found")]
    sums, damaged = StreamSums(), []
    for print_ in dict.fromkeys(str(event["block"]) for event in taken):
        try:
            sums.take(BLOCKS.read(path, family, print_))
        except FileNotFoundError as error:
            damaged.append(f"there is no {error}")
        except InputError as error:
            damaged.append(str(error))
    landscape = sums.mean()
    if landscape is None:
        raise InputError(f"no instances of the stream in {path} are finished; try again later")
    low, high = map(float, start["utility_range"])
    return StoredStream(
        path=path,
        family=str(start["stream"]),
        family_fingerprint=family,
        segment=segment_from(start["segment"]),
        status=Status[ends[-1]["status"]] if ends else None,
        landscape=landscape,
        n_instances=sums.n_read,
        n_failed=sums.n_failed,
        failures=sums.failures,
        baselines=sums.baselines,
        elapsed=float(ends[-1]["elapsed"]) if ends else 0.0,
        stored_range=(low, high),
        stored_proves=start["proved"] is True,
        damaged=tuple(damaged),
    )
