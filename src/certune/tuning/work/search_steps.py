"""The steps of a search over several parameters, kept in a run directory.

The search is deterministic: which setting is run, which line is searched and which box is halved
next follows from what came of the steps before. What came of them, in their order, is therefore all
that has to be kept. A run that continues goes through the same steps, takes what came of them from
the journal as far as that reaches, and works from there on.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any, Protocol, TypeVar

from certune.aggregates import Criterion
from certune.errors import InputError, warn_user
from certune.families.base import Family
from certune.runs import Journal
from certune.runs.journal import DamagedError
from certune.tuning.schema import criterion_data, written
from certune.tuning.work.run_store import conclude, note_start, opened_directory

FORMAT = "certune search 2"
Value = TypeVar("Value")
# What reading data of another form raises.
UNREADABLE = AttributeError, LookupError, TypeError, ValueError, ZeroDivisionError


class SearchGoal(Protocol):
    """What a search looks for, as far as it decides on the steps."""

    @property
    def criterion(self) -> Criterion:
        """What is maximised."""

    @property
    def by_lines(self) -> bool:
        """Whether only lines are searched."""

    @property
    def random_state(self) -> int:
        """Seed of the random lines."""


class Steps:
    """Steps of a search that keeps nothing."""

    def take(
        self,
        kind: str,
        key: Any,
        work: Callable[[], Value],
        encode: Callable[[Value], Any],
        decode: Callable[[Any], Value],
    ) -> Value:
        """Return what comes of a step.

        Parameters
        ----------
        kind, key : str and JSON data
            Which step this is.
        work : callable
            Does it.
        encode, decode : callable
            Turn what comes of it into JSON data, and back.
        """
        return work()


class KeptSteps(Steps):
    """Steps of a search that are kept in a journal, and taken from there.

    Parameters
    ----------
    path : path
        The file; made if it does not exist.
    aside : path
        A folder for what is there and does not belong to the search.
    search : str
        Hash of everything that decides on the steps.
    """

    def __init__(self, path: Path, aside: Path, search: str) -> None:
        self._path, self._aside = path, aside
        self._header = {"format": FORMAT, "search": search}
        self._n_taken = 0
        self._journal = Journal(path)
        try:
            self._stored: list[Any] = []
            try:
                self._stored.extend(self._journal.records())
            except DamagedError as error:
                self._begin_anew(error.problem, self._stored)
            if self._stored and self._stored[0] != self._header:
                self._begin_anew(f"{path} keeps the steps of another search", [])
        except BaseException:
            self._journal.close()
            raise
        if not self._stored:
            self._journal.append(self._header)
            self._stored.append(self._header)

    def take(
        self,
        kind: str,
        key: Any,
        work: Callable[[], Value],
        encode: Callable[[Value], Any],
        decode: Callable[[Any], Value],
    ) -> Value:
        """Return what came of a step, or do it and keep what comes of it."""
        place = self._n_taken + 1
        key = json.loads(json.dumps(key))
        if place < len(self._stored):
            found = self._stored[place]
            if isinstance(found, dict) and (found.get("step"), found.get("key")) == (kind, key):
                try:
                    value = decode(found.get("result"))
                except UNREADABLE as error:
                    problem = f"step {place} of {self._path} cannot be read: {error}"
                else:
                    self._n_taken += 1
                    return value
            else:
                problem = f"step {place} of {self._path} is another one than this search takes"
            self._begin_anew(problem, self._stored[:place])
        stored = encode(work())
        self._journal.append({"step": kind, "key": key, "result": stored})
        self._stored.append(None)
        self._n_taken += 1
        return decode(stored)

    def _begin_anew(self, problem: str, kept: list[Any]) -> None:
        """Put the file aside, and begin one with the steps that are right."""
        try:
            target = self._journal.begin_anew(self._aside)
        except OSError as error:
            raise InputError(
                f"{problem}; it cannot be moved to {self._aside}: {error.strerror}"
            ) from error
        warn_user(
            f"{problem}; the file was moved to {target}, and what is missing is done again",
        )
        for record in kept:
            self._journal.append(record)
        self._stored = list(kept)

    def close(self) -> None:
        """Let go of the file."""
        self._journal.close()


@contextmanager
def opened_steps(
    path: str | os.PathLike[str] | None,
    family: Family,
    instances: list[Any],
    goal: SearchGoal,
) -> Iterator[tuple[Steps, Callable[[Any], None]]]:
    """Hold the steps of a search in a run directory, if there is to be one.

    Parameters
    ----------
    path : path or None
        The folder.
    family : Family
        The algorithm.
    instances : list
        The instances.
    goal : SearchGoal
        What else decides on the steps.

    Yields
    ------
    steps : Steps
        The steps.
    conclude : callable
        To be called with the result.
    """
    if path is None:
        yield Steps(), lambda result: None
        return
    with opened_directory(path, family) as directory:
        prints = [family.instance_fingerprint(item) for item in instances]
        maximised = criterion_data(goal.criterion)
        seed = {"by_lines": goal.by_lines, "random_state": int(goal.random_state), **maximised}
        content = json.dumps([FORMAT, family.fingerprint, prints, seed], sort_keys=True)
        search = hashlib.sha256(content.encode()).hexdigest()
        name = f"search-{search[:16]}.jsonl"
        note_start(directory, family, instances, prints, search=name, **maximised)
        steps = KeptSteps(directory.path / name, directory.path / "aside", search)
        try:
            yield steps, lambda result: conclude(directory, result)
        finally:
            steps.close()


# Numbers, as JSON data and back, without a change


def number_data(value: Any) -> Any:
    """Return a number as JSON data."""
    if isinstance(value, float):
        return value if math.isfinite(value) else repr(value)
    return written(Fraction(value))


def number_from(stored: Any) -> Any:
    """Return the number of JSON data: a fraction if it was one, else a float."""
    if isinstance(stored, float):
        return stored
    if stored in ("inf", "-inf", "nan"):
        return float(stored)
    top, _, bottom = stored.partition("/")
    return Fraction(int(top, 0), int(bottom or "1", 0))


def setting_from(stored: Mapping[str, Any]) -> dict[str, Any]:
    """Return the setting of JSON data."""
    return {
        name: tuple(value) if isinstance(value, list) else value for name, value in stored.items()
    }


def exactly(count: int, stored: Any) -> list[Any]:
    """Return JSON data that must be a list of so many items."""
    if not isinstance(stored, list) or len(stored) != count:
        raise ValueError(f"expected a list of {count} items")
    return stored
