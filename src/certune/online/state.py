"""The file that keeps an online run: a header that says which run it is, then its rounds."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from certune.errors import InputError
from certune.families.base import Family
from certune.families.reach import reach
from certune.online.lines import Line
from certune.runs.journal import Journal

FORMAT = "certune online 4"
# A part of the header that says what the run is about; runs agree without it.
ABOUT = "about"


def header(
    family: Family, options: dict[str, Any], lines: Sequence[Line], surrogate: Any, seed: int
) -> dict[str, Any]:
    """Return what a file must agree with to be continued, as JSON data.

    Parameters
    ----------
    family : Family
        The family, which counts by its fingerprint.
    options : dict
        Choices of the run.
    lines : sequence of Line
        Where it plays.
    surrogate : callable or None
        Where utilities come from, if not from the family; it counts by what it can reach.
    seed : int
        Seed of its random numbers.

    Raises
    ------
    InputError
        If it cannot be told which functions are used, so that no later run could be compared.
    """
    used = None if surrogate is None else reach(surrogate)
    doubts = family.fingerprint_doubts + (() if used is None else used.doubts)
    if doubts:
        raise InputError(
            f"a state cannot be kept, because a later run with {family!r} could not be told from "
            f"one with other functions: {'; '.join(doubts)}; give such objects a string attribute "
            "`fingerprint`, or let the functions use plain data"
        )
    segments = [
        [line.segment.origin, line.segment.direction, line.segment.low, line.segment.high]
        for line in lines
    ]
    return {
        "format": FORMAT,
        "family": family.fingerprint,
        "options": options,
        "lines": _plain(segments),
        "surrogate": None if used is None else used.digest,
        "seed": seed,
        ABOUT: about(family, lines),
    }


def about(family: Family, lines: Sequence[Line]) -> dict[str, Any]:
    """Return what a page needs to know besides, which no run has to agree with."""
    return {
        "family": repr(family),
        "score": [family.score.name, family.score.greater_is_better, family.score.at_zero],
        "utility_range": list(family.utility_range),
        "logarithmic": [line.logarithmic for line in lines],
    }


class State:
    """A run on disk.

    Parameters
    ----------
    path : path
        The file; made if it does not exist. A run of which no round was finished is replaced.
    expected : dict
        The header of the run.
    keeps_seed : bool
        Whether the seed of the file is taken instead of the one of the header.

    Raises
    ------
    InputError
        If the file belongs to another run, is damaged, or is in use.
    """

    def __init__(
        self, path: str | os.PathLike[str], expected: dict[str, Any], keeps_seed: bool
    ) -> None:
        self._journal = Journal(path)
        try:
            self._header = self._begin(expected, keeps_seed)
        except BaseException:
            self._journal.close()
            raise
        self._finished = 0

    @property
    def seed(self) -> Any:
        """Seed of the run."""
        return self._header["seed"]

    def _begin(self, expected: dict[str, Any], keeps_seed: bool) -> dict[str, Any]:
        stored = list(islice(self._journal.records(), 2))
        if stored:
            problem = _difference(stored[0], expected, keeps_seed)
            if problem is None:
                return dict(stored[0])
            if len(stored) > 1 or not _is_header(stored[0]):
                raise InputError(
                    f"{self._journal.path} does not belong to this run: {problem}; use the family, "
                    "options and seed that it was made with, or a new file"
                )
            self._journal.cut(0)
        self._journal.append(expected)
        self._journal.sync()
        return expected

    def records(self) -> Iterator[Any]:
        """Yield the finished rounds; afterwards rounds can be appended."""
        stored = self._journal.records()
        next(stored)
        yield from stored
        self._finished = self._journal.end

    def append(self, record: Any) -> None:
        """Add a round; it can be taken back until `finish` is called."""
        self._journal.append(record)

    def finish(self) -> None:
        """Keep what was appended."""
        self._finished = self._journal.end

    def undo(self) -> None:
        """Take back what was appended since the last round that was finished."""
        self._journal.cut(self._finished)

    def error(self, problem: str) -> InputError:
        """Return an error about the content of the file."""
        return InputError(
            f"{self._journal.path} {problem}; restore the file from a backup, or choose a new one"
        )

    def close(self) -> None:
        """Let go of the file."""
        self._journal.close()


def _is_header(record: Any) -> bool:
    return isinstance(record, dict) and str(record.get("format")).startswith("certune online")


def _difference(stored: Any, expected: dict[str, Any], keeps_seed: bool) -> str | None:
    """Say in words what is different about a header; None if nothing is."""
    known = stored if isinstance(stored, dict) else {}
    for key, value in expected.items():
        found = known.get(key)
        if found == value or key == ABOUT or (key == "seed" and keeps_seed):
            continue
        if key == "options" and isinstance(found, dict):
            name = next((name for name in value if found.get(name) != value[name]), "other")
            return f"it was made with {name}={found.get(name)!r}, not {value.get(name)!r}"
        if key == "family":
            return "its family differs, or the value of something that the family's functions use"
        if key == "surrogate":
            if found is None:
                return "it was made without a surrogate"
            return f"it was made with {'a' if value is None else 'another'} surrogate"
        return f"its {key} differ" if key in ("lines", "options") else f"its {key} differs"
    return None


def _plain(value: Any) -> Any:
    """Return nested tuples as the lists that they become in JSON."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value
