"""A folder that keeps a run: a journal of what happened, and a file for every finished function.

A file is named by a hash of family and instance, so that it is found again by whoever has the same
two, in whatever order and company. It is written under a temporary name, forced to the disk and
renamed, and has a checksum of its own: what is there under its name is whole. Whatever else lies
there (torn, changed, or of somebody else) is moved to the folder ``aside``, with a warning, and
computed again.
"""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from certune.dual.codec import from_json, to_json
from certune.dual.function import DualFunction
from certune.errors import InputError, ParameterError
from certune.files import read_text, write_whole
from certune.runs.journal import Journal

FORMAT = "certune run 1"
FUNCTION_FORMAT = "certune function 1"
# A stored function is read up to this size.
LARGEST_FUNCTION = 2**28


class RunDirectory:
    """A run on disk, held by one process at a time.

    Parameters
    ----------
    path : path
        The folder; made if it does not exist.
    family : str
        Fingerprint of the family whose run this is.

    Raises
    ------
    ParameterError
        If this is not a path.
    InputError
        If the folder cannot be used, is in use, or keeps the run of another family.
    """

    def __init__(self, path: str | os.PathLike[str], family: str) -> None:
        self.path = checked_folder(path)
        self._family = family
        try:
            for folder in (self.path, self.path / "functions"):
                folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(
                f"cannot keep a run in {self.path}: {error.strerror}; choose another folder"
            ) from error
        self._journal = Journal(self.path / "journal.jsonl")
        try:
            self._begin()
            self._sweep()
        except BaseException:
            self._journal.close()
            raise

    def _sweep(self) -> None:
        """Remove files that a killed process has not finished; nobody else writes here now."""
        for path in (self.path / "functions").glob(".*.json.*"):
            path.unlink(missing_ok=True)

    def _begin(self) -> None:
        header = {"format": FORMAT, "family": self._family}
        stored = list(self._journal.records())
        if not stored:
            self._journal.append(header)
            self._journal.sync()
        elif stored[0] != header:
            known = stored[0] if isinstance(stored[0], dict) else {}
            problem = (
                "the run of another family, or of a family whose functions use other values"
                if known.get("format") == FORMAT
                else f"something else ({str(known.get('format'))[:40]})"
            )
            raise InputError(
                f"{self.path} keeps {problem}; choose another folder, or delete it to begin anew"
            )

    def note(self, event: str, **details: Any) -> None:
        """Add an event to the journal."""
        self._journal.append({"event": event, **details})

    def find(self, instance: str) -> DualFunction | None:
        """Return the function of the instance with a fingerprint, if it was finished.

        A file that does not hold it is moved aside.
        """
        path = function_path(self.path, self._family, instance)
        try:
            return read_function(path, self._family, instance)
        except FileNotFoundError:
            return None
        except InputError as error:
            self._set_aside(path, str(error))
            return None

    def keep(self, instance: str, dual: DualFunction) -> None:
        """Store the function of an instance; when this returns, a crash does not lose it."""
        stored = _sealed(self._family, instance, dual)
        path = function_path(self.path, self._family, instance)
        write_whole(path, json.dumps(stored, allow_nan=False).encode("ascii"))
        self.note("finished", instance=instance, file=path.name)

    def _set_aside(self, path: Path, problem: str) -> None:
        folder = self.path / "aside"
        try:
            folder.mkdir(exist_ok=True)
            for number in range(10_000):
                target = folder / (path.name + (f".{number}" if number else ""))
                if not target.exists():
                    os.replace(path, target)
                    break
        except OSError as error:
            raise InputError(
                f"{problem}; it cannot be moved to {folder}: {error.strerror}"
            ) from error
        warnings.warn(
            f"{problem}; it was moved to {target}, and the function is computed again",
            stacklevel=4,
        )

    def close(self) -> None:
        """Let go of the folder."""
        self._journal.close()


def checked_folder(path: object) -> Path:
    """Return the path of a folder, or raise `ParameterError`."""
    if not isinstance(path, (str, os.PathLike)) or not os.fspath(path):
        raise ParameterError(f"run_dir must be the path of a folder, got {path!r}")
    return Path(path)


def function_path(folder: Path, family: str, instance: str) -> Path:
    """Return where the function of an instance is kept: under a hash of family and instance."""
    name = hashlib.sha256(f"{FUNCTION_FORMAT}\n{family}\n{instance}".encode()).hexdigest()
    return folder / "functions" / f"{name}.json"


def read_function(path: Path, family: str, instance: str) -> DualFunction:
    """Return a stored function.

    Raises
    ------
    FileNotFoundError
        If there is none.
    InputError
        If the file holds something else, or was changed.
    """
    if not os.path.lexists(path):
        raise FileNotFoundError(path)
    try:
        stored = json.loads(read_text(path, LARGEST_FUNCTION))
    except InputError:
        raise
    except (RecursionError, ValueError):
        raise InputError(f"{path} is torn or holds something else") from None
    if not isinstance(stored, dict) or stored.get("format") != FUNCTION_FORMAT:
        raise InputError(f"{path} is not a stored function of this version")
    try:
        dual = from_json(stored.get("function"))
        right = stored == _sealed(family, instance, dual)
    except (InputError, ValueError) as error:
        raise InputError(f"{path} is damaged: {error}") from None
    if not right:
        raise InputError(f"{path} was changed after it was written, or is about another instance")
    return dual


def _sealed(family: str, instance: str, dual: DualFunction) -> dict[str, Any]:
    content = {
        "format": FUNCTION_FORMAT,
        "family": family,
        "instance": instance,
        "function": to_json(dual),
    }
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return {**content, "checksum": hashlib.sha256(text.encode("ascii")).hexdigest()}


def read_events(path: str | os.PathLike[str]) -> Iterator[Any]:
    """Yield the header and the events of a run that may be in work elsewhere; changes nothing.

    Raises
    ------
    InputError
        If there is no run, or its journal is damaged before its last line.
    """
    journal = checked_folder(path) / "journal.jsonl"
    if not journal.exists():
        if any(journal.parent.glob(f"*/{journal.name}")):
            raise InputError(
                f"{path} keeps a run over several alternatives, each in a folder of its own: load "
                "one of these, or call tune with the same run_dir, which computes nothing twice"
            )
        raise InputError(f"{path} keeps no run: there is no {journal.name} in it")
    yield from Journal.stored(journal)
