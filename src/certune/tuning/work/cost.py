"""How long a run will take and how much memory it needs, before it starts.

What is known comes from instances that were finished on this machine (`CostStore`), or from a
trial on a few of them. Every run with one free parameter adds to it.
"""

from __future__ import annotations

import math
import os
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import joblib
import numpy as np

from certune.cards import Carded
from certune.checks import as_n_jobs
from certune.deadline import Stop, TimeIsUp, check_time, under
from certune.dual import DualFunction
from certune.errors import CertuneError, CostWarning, ParameterError, warn_user
from certune.families.base import Family
from certune.tuning.instances import checked_family, checked_instances, instance_name
from certune.tuning.work.cost_model import (
    LONGEST_KEY,
    USUAL_SECONDS,
    CostModel,
    CostStore,
    Sizes,
    regressors,
)

# What a worker needs while it works, as a multiple of what an instance keeps (linkage, n = 400).
WORKING = 6.0
# Runs whose instances took less than this many seconds together leave no trace in the store.
WORTH_LEARNING = 0.5
# Instances of a run that are learned from, evenly chosen.
MOST_LEARNED = 1000
# Instances of a trial, and parts of an object that are looked at.
MOST_TRIED, MOST_LOOKED_AT = 5, 1000
# Warnings are for what exceeds a limit by this factor: forecasts are rough.
SURELY = 1.5


@dataclass(frozen=True)
class CostEstimate(Carded):
    """What a run is expected to cost.

    Attributes
    ----------
    seconds : float or None
        Time of the run with `n_jobs` workers; None if nothing is known about it.
    memory : int or None
        Bytes that the instances, their functions and the workers take; None if nothing is known.
    instance_seconds : tuple of float
        Seconds of every instance on one core; empty if nothing is known.
    available_memory : int or None
        Bytes that are free now; None if the system does not say.
    n_workers : int
        Workers that `n_jobs` stands for.
    basis : str
        What the estimate rests on.
    """

    seconds: float | None
    memory: int | None
    instance_seconds: tuple[float, ...]
    available_memory: int | None
    n_workers: int
    basis: str

    @property
    def fits(self) -> bool:
        """Whether the memory that is needed is free, as far as is known."""
        known = self.memory is not None and self.available_memory is not None
        return not known or self.memory <= self.available_memory  # type: ignore[operator]

    def __str__(self) -> str:
        free = "" if self.available_memory is None else f" of {spoken_bytes(self.available_memory)}"
        workers = f" with {self.n_workers} workers" if self.n_workers > 1 else ""
        parts = [
            "unknown time" if self.seconds is None else f"about {spoken(self.seconds)}{workers}",
            "unknown memory"
            if self.memory is None
            else f"about {spoken_bytes(self.memory)}{free} that are free",
        ]
        return f"{', '.join(parts)} ({self.basis})"


def estimate_cost(
    family: Family,
    instances: Iterable[Any],
    *,
    n_jobs: int | None = 1,
    trial_seconds: float = 2.0,
) -> CostEstimate:
    """Tell before a run how long it will take and how much memory it needs.

    Time and memory of an instance are predicted from its numbers of points, metrics and clusters,
    by a fit to instances that were finished on this machine: in earlier runs, whose costs are kept
    in the cache of the user, and in a trial.

    Parameters
    ----------
    family : Family
        The algorithm. With several free parameters the time depends on how much there is to prove,
        and only memory is predicted.
    instances : iterable
        Problem instances of the family, at least one.
    n_jobs : int or None, default=1
        Number of parallel workers, as in :func:`certune.tune`.
    trial_seconds : float, default=2
        If no earlier run is known, functions of a few instances, small ones first, are computed for
        about so long; 0 to compute none.

    Returns
    -------
    CostEstimate
        Seconds and bytes; the text of it is one line.

    Raises
    ------
    InputError
        If there is no instance, or one does not fit the family.

    Notes
    -----
    The file is ``costs-*.json`` in ``$CERTUNE_CACHE_DIR``, or in the folder ``certune`` of the
    user's cache. Set the variable to an empty string to keep nothing.

    Examples
    --------
    >>> import certune as ct
    >>> instances = ct.datasets.random_clustering(3, random_state=0)
    >>> cost = ct.estimate_cost(ct.Linkage(alpha=(-3, 3)), instances)
    >>> cost.memory < 10_000_000, len(cost.instance_seconds)
    (True, 3)
    """
    checked_family(family)
    if not isinstance(trial_seconds, (int, float)) or not 0 <= trial_seconds < math.inf:
        raise ParameterError(
            f"trial_seconds must be a number of seconds, at least 0, got {trial_seconds!r}."
        )
    workers = joblib.effective_n_jobs(as_n_jobs(n_jobs))
    listed = checked_instances(family, instances, "an estimate")
    model, store = CostStore.of_user().model(_keys(family)), "earlier runs on this machine"
    if not model.count and trial_seconds and family.space.n_free == 1:
        model, n_tried = _tried(family, listed, trial_seconds)
        store = f"a trial on {n_tried} instance{'s' * (n_tried != 1)}"
    return _estimate(family, listed, model, workers, store)


def forecast(family: Family, instances: Sequence[Any], n_jobs: int | None) -> CostEstimate:
    """Return what a run will cost by what is known already; computes nothing."""
    model = CostStore.of_user().model(_keys(family))
    workers = joblib.effective_n_jobs(n_jobs)
    return _estimate(family, instances, model, workers, "earlier runs on this machine")


def sizes_of(family: Family, instances: Sequence[Any]) -> list[Sizes]:
    """Return the sizes of instances that may not have been checked yet."""
    try:
        return [tuple(map(int, family.instance_sizes(instance))) for instance in instances]
    except Exception:  # of somebody's own family, on something that is no instance
        return [()] * len(instances)


def usual_work(sizes: Sequence[Sizes]) -> list[float]:
    """Return what instances cost in proportion to each other if growth is the usual one."""
    return [float(work) for work in np.exp(regressors(sizes) @ np.array(USUAL_SECONDS[0]))]


def warn_of_memory(cost: CostEstimate) -> None:
    """Warn of a run that will need more memory than there is."""
    if not cost.fits:
        assert cost.memory is not None and cost.available_memory is not None
        warn_user(
            f"This run is expected to need {spoken_bytes(cost.memory)} of memory, and "
            f"{spoken_bytes(cost.available_memory)} are free: tune a part of the instances, use "
            "fewer workers, or read them one after the other with certune.tune_stream.",
            CostWarning,
        )


def warn_of_time(
    cost: CostEstimate, instances: Sequence[Any], timeout: float, timeout_per_instance: float
) -> None:
    """Warn of a run that will reach a time limit."""
    if cost.seconds is not None and cost.seconds > SURELY * timeout:
        count = min(round(timeout / cost.seconds * len(instances)), len(instances) - 1)
        finished = f"about {count}" if count else "perhaps none"
        warn_user(
            f"This run is expected to take {spoken(cost.seconds)}, more than timeout={timeout:g} "
            f"seconds: {finished} of {len(instances)} instances will be finished. Allow "
            "more time, or keep what is finished with run_dir and continue.",
            CostWarning,
        )
    seconds = np.array(cost.instance_seconds)
    slow = np.flatnonzero(seconds > SURELY * timeout_per_instance)
    if slow.size:
        worst = int(seconds.argmax())
        warn_user(
            f"{slow.size} of {len(instances)} instances are expected to take longer than "
            f"timeout_per_instance={timeout_per_instance:g} seconds, and then count as failed: "
            f"{instance_name(instances[worst], worst)} about {spoken(float(seconds[worst]))}.",
            CostWarning,
        )


def learn_costs(family: Family, finished: Sequence[tuple[Any, DualFunction, float]]) -> None:
    """Keep what finished instances have cost: instance, function, and seconds of work on it."""
    if sum(took for _, _, took in finished) < WORTH_LEARNING:
        return
    finished = finished[:: 1 + len(finished) // MOST_LEARNED]
    seconds = [took for _, _, took in finished]
    sizes = sizes_of(family, [instance for instance, _, _ in finished])
    memory = [held_bytes(instance) + held_bytes(dual) for instance, dual, _ in finished]
    CostStore.of_user().learn(_keys(family), sizes, seconds, memory)


def held_bytes(thing: Any) -> int:
    """Return the bytes of the arrays that an object holds, as far as they are easily found."""
    total, todo = 0, list(getattr(thing, "__dict__", {}).values())
    for value in todo:  # which grows, but not without end: objects may hold themselves
        if isinstance(value, np.ndarray):
            total += value.nbytes
        elif isinstance(value, (tuple, list, dict)) and len(value) + len(todo) < MOST_LOOKED_AT:
            todo.extend(value.values() if isinstance(value, dict) else value)
    return total


def _keys(family: Family) -> list[str]:
    """Names under which costs are kept: of this very family, and of its kind."""
    kind = type(family).__name__
    return [f"{kind} {family!r}"[:LONGEST_KEY], kind[:LONGEST_KEY]]


def _estimate(
    family: Family, instances: Sequence[Any], model: CostModel, workers: int, basis: str
) -> CostEstimate:
    sizes = sizes_of(family, instances)
    different = list(Counter(sizes))
    place = {own: number for number, own in enumerate(different)}
    seconds = model.seconds_of(different) if family.space.n_free == 1 else None
    memory = model.memory_of(different, family.keeps_distances)
    numbers = [place[own] for own in sizes]
    each = () if seconds is None else tuple(seconds[numbers].tolist())
    total = None
    if each:
        # The slowest instance is not shared by workers.
        total = max(sum(each) / workers, max(each))
    held = None
    if memory is not None:
        kept = memory[numbers]
        # Neither counts twice what is there already.
        there = np.array([held_bytes(instance) for instance in instances])
        busy = np.sort(kept)[-workers:].sum()
        held = int(np.maximum(kept - there, 0.0).sum() + WORKING * busy)
    if not model.count:
        basis = "no earlier run is known"
    return CostEstimate(total, held, each, available_memory(), workers, basis)


def _tried(family: Family, instances: list[Any], budget: float) -> tuple[CostModel, int]:
    """Compute a few functions, small instances first, and fit their costs."""
    sizes = sizes_of(family, instances)
    ordered = sorted(range(len(instances)), key=lambda n: sizes[n])
    places = np.unique(np.linspace(0, len(ordered) - 1, MOST_TRIED).astype(int)).tolist()
    found: list[tuple[Sizes, float, int]] = []
    with suppress(TimeIsUp), under(Stop(budget)):
        for place in places:
            instance = instances[ordered[place]]
            check_time()
            started = time.perf_counter()
            try:
                dual = family.dual(instance)
                point = family.space.default_segment().at(dual.best_point)
                for setting in (point, *family.baselines.values()):
                    family.run_exact(instance, setting)
                family.company(instance)
            except CertuneError:
                continue
            took = time.perf_counter() - started
            found.append((sizes[ordered[place]], took, held_bytes(instance) + held_bytes(dual)))
    if not found:
        return CostModel.empty(), 0
    # The first one pays for what is loaded on first use.
    counted = found[1:] or found
    return CostModel.empty().with_instances(*zip(*counted, strict=True)), len(found)


def available_memory() -> int | None:
    """Return the bytes of memory that are free, within the limits of a container."""
    found = [_free_on_machine(), _free_in_container()]
    known = [size for size in found if size is not None]
    return min(known) if known else None


def _free_on_machine() -> int | None:
    with suppress(OSError, ValueError, IndexError):
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return 1024 * int(line.split()[1])
    with suppress(OSError, ValueError, AttributeError):
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return None


def _free_in_container() -> int | None:
    folder = Path("/sys/fs/cgroup")
    with suppress(OSError, ValueError):
        limit = int((folder / "memory.max").read_text())
        return max(0, limit - int((folder / "memory.current").read_text()))
    return None


def spoken_bytes(size: float) -> str:
    """Return a number of bytes in words.

    Examples
    --------
    >>> [spoken_bytes(size) for size in (900, 45_000_000, 3.21e9)]
    ['1 kB', '45 MB', '3.2 GB']
    """
    if size < 1e9:
        return f"{max(1, round(size / 1e3))} kB" if size < 1e6 else f"{round(size / 1e6)} MB"
    return f"{size / 1e9:.1f} GB"


def spoken(seconds: float) -> str:
    """Return a time in words, of which the second digit is a guess.

    Examples
    --------
    >>> [spoken(seconds) for seconds in (0.034, 8.2, 31, 150, 11400)]
    ['0.03 s', '8.2 s', '31 s', '2.5 min', '3.2 h']
    """
    if seconds < 10:
        return f"{max(0.01, seconds):.2f} s" if seconds < 0.95 else f"{seconds:.1f} s"
    if seconds < 100:
        return f"{round(seconds)} s"
    return f"{seconds / 60:.1f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
