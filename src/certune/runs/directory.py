"""A folder that keeps a run: a journal of what happened, and a file for everything finished.

A file is named by a hash of family and instance, so that it is found again by whoever has the same
two, in whatever order and company. It is written under a temporary name, forced to the disk and
renamed, and has a checksum of its own: what is there under its name is whole. Whatever else lies
there (torn, changed, or of somebody else) is moved to the folder ``aside``, with a warning, and
computed again. So is a damaged journal, without which the files are found as well.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from certune.dual.codec import from_json, to_json
from certune.dual.function import DualFunction
from certune.errors import CertuneError, InputError, ParameterError, warn_user
from certune.files import read_text, write_whole
from certune.runs.journal import DamagedError, Journal, moved_aside

FORMAT = "certune run 1"
# A file is read up to this size.
LARGEST_FILE = 2**28
LONGEST_DESCRIPTION = 300
Value = TypeVar("Value")


@dataclass(frozen=True)
class Kind(Generic[Value]):
    """A kind of files in a run directory.

    Attributes
    ----------
    format : str
        Name and version of the format.
    subject : str
        What a file is about, as a field in it has its fingerprint.
    encode : callable
        Turns what is kept into fields of JSON data.
    decode : callable
        Makes it of these fields; raises `CertuneError` or `ValueError` for all others.
    """

    format: str
    subject: str
    encode: Callable[[Value], dict[str, Any]]
    decode: Callable[[Mapping[str, Any]], Value]

    def path(self, folder: Path, family: str, subject: str) -> Path:
        """Return where something is kept: under a hash of family and subject."""
        name = hashlib.sha256(f"{self.format}\n{family}\n{subject}".encode()).hexdigest()
        return folder / "functions" / f"{name}.json"

    def sealed(self, family: str, subject: str, value: Value) -> dict[str, Any]:
        """Return the content of a file."""
        content = {
            "format": self.format,
            "family": family,
            self.subject: subject,
            **self.encode(value),
        }
        text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
        return {**content, "checksum": hashlib.sha256(text.encode("ascii")).hexdigest()}

    def read(self, folder: Path, family: str, subject: str) -> Value:
        """Return what is kept.

        Raises
        ------
        FileNotFoundError
            If nothing is.
        InputError
            If the file holds something else, or was changed.
        """
        path = self.path(folder, family, subject)
        if not os.path.lexists(path):
            raise FileNotFoundError(path)
        try:
            stored = json.loads(read_text(path, LARGEST_FILE))
        except InputError:
            raise
        except (RecursionError, ValueError):
            raise InputError(f"{path} is torn or holds something else") from None
        if not isinstance(stored, dict) or stored.get("format") != self.format:
            raise InputError(f"{path} is not a {self.format.rpartition(' ')[0]} of this version")
        try:
            value = self.decode(stored)
            right = stored == self.sealed(family, subject, value)
        except (CertuneError, ValueError) as error:
            raise InputError(f"{path} is damaged: {error}") from None
        if not right:
            raise InputError(
                f"{path} was changed after it was written, or is about another {self.subject}"
            )
        return value


FUNCTIONS: Kind[DualFunction] = Kind(
    "certune function 1",
    "instance",
    lambda dual: {"function": to_json(dual)},
    lambda stored: from_json(stored.get("function")),
)


class RunDirectory:
    """A run on disk, held by one process at a time.

    Parameters
    ----------
    path : path
        The folder; made if it does not exist.
    family : str
        Fingerprint of the family whose run this is.
    described : str, optional
        What people call the family.

    Raises
    ------
    ParameterError
        If this is not a path.
    InputError
        If the folder cannot be used, is in use, or keeps the run of another family.
    """

    def __init__(self, path: str | os.PathLike[str], family: str, described: str = "") -> None:
        self.path = checked_folder(path)
        self._family, self._described = family, described[:LONGEST_DESCRIPTION]
        for folder in (self.path, self.path / "functions"):
            try:
                folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise InputError(
                    f"cannot keep a run in {self.path}: {_in_the_way(folder, error)}; choose "
                    "another folder"
                ) from error
        self._journal = Journal(self.path / "journal.jsonl")
        try:
            self._begin()
            self._sweep()
        except BaseException:
            self._journal.close()
            raise

    @property
    def aside(self) -> Path:
        """Where files are moved that are damaged, or do not belong here."""
        return self.path / "aside"

    def _sweep(self) -> None:
        """Remove files that a killed process has not finished; nobody else writes here now."""
        for path in (self.path / "functions").glob(".*.json.*"):
            path.unlink(missing_ok=True)

    def _begin(self) -> None:
        stored = self._events()
        if not stored:
            self._journal.append(
                {"format": FORMAT, "family": self._family, "about": self._described}
            )
            self._journal.sync()
            return
        problem = what_else(stored[0])
        if problem is None and stored[0].get("family") != self._family:
            about = str(stored[0].get("about") or "")[:LONGEST_DESCRIPTION]
            problem = "the run of another family, or of a family whose functions use other values"
            if about and about != self._described:
                problem = f"the run of another family, {about}, and not of {self._described}"
        if problem is not None:
            raise InputError(
                f"{self.path} keeps {problem}; choose another folder, or delete it to begin anew"
            )

    def _events(self) -> list[Any]:
        """Return what is in the journal: nothing, once it was set aside because it is damaged."""
        try:
            return list(self._journal.records())
        except DamagedError as error:
            problem = error.problem
        try:
            target = self._journal.begin_anew(self.aside)
        except OSError as error:
            raise self._stuck(problem, error) from error
        warn_user(
            f"{problem}; it was moved to {target}, and a new one is begun; finished functions are "
            "kept",
        )
        return list(self._journal.records())

    def note(self, event: str, **details: Any) -> None:
        """Add an event to the journal."""
        self._journal.append({"event": event, **details})

    def find(self, kind: Kind[Value], subject: str) -> Value | None:
        """Return what is kept about the subject with a fingerprint, if it was finished.

        A file that does not hold it is moved aside.
        """
        try:
            return kind.read(self.path, self._family, subject)
        except FileNotFoundError:
            return None
        except InputError as error:
            self._set_aside(kind.path(self.path, self._family, subject), str(error))
            return None

    def keep(self, kind: Kind[Value], subject: str, value: Value, **details: Any) -> None:
        """Keep what is finished; when this returns, a crash does not lose it."""
        stored = kind.sealed(self._family, subject, value)
        path = kind.path(self.path, self._family, subject)
        try:
            write_whole(path, json.dumps(stored, allow_nan=False).encode("ascii"))
        except InputError as error:
            raise InputError(
                f"{error}; what was finished before is kept, and once this is mended the same call "
                "goes on from there"
            ) from error.__cause__
        self.note("finished", **{kind.subject: subject}, file=path.name, **details)

    def _set_aside(self, path: Path, problem: str) -> None:
        try:
            target = moved_aside(path, self.aside)
        except OSError as error:
            raise self._stuck(problem, error) from error
        warn_user(
            f"{problem}; it was moved to {target}, and the function is computed again",
        )

    def _stuck(self, problem: str, error: OSError) -> InputError:
        return InputError(f"{problem}; it cannot be moved to {self.aside}: {error.strerror}")

    def close(self) -> None:
        """Let go of the folder."""
        self._journal.close()


def what_else(header: object) -> str | None:
    """Say what a journal with this header keeps, if it is no run that this version reads."""
    form = header.get("format") if isinstance(header, dict) else None
    if form == FORMAT:
        return None
    shown = str(form)[:40]
    if shown.startswith(FORMAT.rpartition(" ")[0]):
        return f"a run of another version of certune (its format is {shown!r}, here {FORMAT!r})"
    return f"something else than a run ({shown})"


def _in_the_way(folder: Path, error: OSError) -> str:
    """Say why a folder cannot be made."""
    if isinstance(error, FileExistsError) and folder.is_symlink():
        return f"{folder} is a link to {os.readlink(folder)}, where there is no folder"
    if isinstance(error, FileExistsError):
        return f"{folder} is not a folder"
    return f"{error.filename or folder}: {error.strerror}"


def checked_folder(path: object) -> Path:
    """Return the path of a folder, or raise `ParameterError`."""
    if not isinstance(path, (str, os.PathLike)) or not os.fspath(path):
        raise ParameterError(f"run_dir must be the path of a folder, got {path!r}")
    if "\0" in os.fsdecode(path):
        raise ParameterError(f"run_dir must be the path of a folder, got {path!r}: no name has a 0")
    return Path(path)


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
    try:
        yield from Journal.stored(journal)
    except DamagedError as error:
        raise InputError(
            f"{error.problem}; the call that made the run sets it aside and goes on with what is "
            "finished"
        ) from None
