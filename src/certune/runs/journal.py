"""A journal on disk: one line for each finished step, appended, never rewritten.

A line is a checksum and a JSON object.  A process that is killed leaves at most one torn line at
the end; when the file is opened again, what is left of it is kept beside the file with the ending
``.torn``, and a warning says so: exactly the step under way is lost.  Each line is handed to the
operating system before a step counts as finished (which survives the death of the process) and
forced to the disk within a second (which survives a power cut up to that second).  A line that
cannot be written whole is taken back.
"""

from __future__ import annotations

import errno
import io
import json
import os
import stat
import threading
import time
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from certune.errors import InputError, ParameterError, warn_user
from certune.files import read_text, sync_directory
from certune.runs.lock import Lock

SYNC_SECONDS = 1.0
# How every header begins, so that a torn one can be told from a file of somebody else.
_OPENING = b'{"format":"certune '
_CHECKSUM_LENGTH = 8
_TORN = object()


class DamagedError(InputError):
    """A journal that holds something else than records before its end.

    Attributes
    ----------
    problem : str
        What is wrong where; the message goes on with what to do about it.
    """

    def __init__(self, problem: str, advice: str) -> None:
        super().__init__(f"{problem}; {advice}")
        self.problem = problem


def moved_aside(path: Path, folder: Path) -> Path:
    """Move a file to a folder, under a name that is free there; returns its new path.

    Raises
    ------
    OSError
        If it cannot be moved.
    """
    folder.mkdir(exist_ok=True)
    names = (f"{path.name}{f'.{number}' if number else ''}" for number in range(10_000))
    target = next(t for t in (folder / name for name in names) if not os.path.lexists(t))
    os.replace(path, target)
    return target


class Journal:
    """An append-only file of JSON records, held by one process at a time.

    The first record is a header, an object whose first field is ``format``.

    Parameters
    ----------
    path : path
        The file; made if it does not exist.

    Raises
    ------
    ParameterError
        If this is not a path.
    InputError
        If the file cannot be opened, is no plain file, or another process holds it.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        try:
            self.path = Path(path)
            # A link is followed once, so that lock and torn ends lie beside the file itself.
            self._file_path = Path(os.path.realpath(self.path))
        except TypeError:
            raise ParameterError(f"state must be the path of a file, got {path!r}") from None
        except ValueError as error:  # a name that no file can have
            raise InputError(f"cannot open {path!r} for writing: {error}") from None
        self._file = self._opened()
        try:
            if not stat.S_ISREG(os.fstat(self._file.fileno()).st_mode):
                raise InputError(
                    f"cannot open {self.path} for writing: it is no plain file; choose another"
                )
            lock_path = self._file_path.with_name(f"{self._file_path.name}.lock")
            self._lock = Lock(lock_path, str(self.path))
        except BaseException:
            self._file.close()
            raise
        sync_directory(self._file_path.parent)
        self._synced = time.monotonic()
        self._timer: threading.Timer | None = None
        self._failure: OSError | None = None

    def _opened(self) -> io.FileIO:
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NONBLOCK", 0)
        try:
            descriptor = os.open(self._file_path, flags, 0o644)
        except OSError as error:
            raise InputError(
                f"cannot open {self.path} for writing: {error.strerror}; choose another "
                "place, or make this one writable"
            ) from error
        return io.FileIO(descriptor, "r+")

    def begin_anew(self, aside: Path) -> Path:
        """Move the file to a folder and begin an empty one; nobody else has it in between.

        Parameters
        ----------
        aside : path
            The folder.

        Returns
        -------
        Path
            Where the file is now.

        Raises
        ------
        OSError
            If it cannot be moved; nothing is changed then.
        """
        self._need_open()
        target = moved_aside(self._file_path, aside)
        self._file.close()
        self._file = self._opened()
        sync_directory(self._file_path.parent)
        return target

    def records(self) -> Iterator[Any]:
        """Yield the stored records; afterwards a torn end is gone and records can be appended.

        Raises
        ------
        DamagedError
            If a record before the last one is damaged, or the file is no journal.
        """
        self._file.seek(0)
        end = 0
        with os.fdopen(os.dup(self._file.fileno()), "rb") as reader:
            for line, record in _lines(reader, self.path):
                if record is _TORN:
                    self._keep_torn(line)
                else:
                    end += len(line)
                    yield record
        self.cut(end)

    @classmethod
    def stored(cls, path: str | os.PathLike[str]) -> list[Any]:
        """Return the records of a file without opening it for more; a torn end is left out.

        Raises
        ------
        InputError
            If the file cannot be read, or is damaged before its last record.
        """
        content = io.BytesIO(read_text(path))
        return [record for _, record in _lines(content, Path(path)) if record is not _TORN]

    def _keep_torn(self, torn: bytes) -> None:
        """Keep the end of the file that is no record beside it, and say so."""
        names = (f"{self._file_path.name}.torn{number or ''}" for number in range(10_000))
        for name in names:
            try:
                with open(self._file_path.with_name(name), "xb") as file:
                    file.write(torn)
            except FileExistsError:
                continue
            except OSError as error:
                raise InputError(
                    f"{self.path} has a damaged last record, which cannot be kept beside it: "
                    f"{error.strerror}"
                ) from error
            warn_user(
                f"the last record of {self.path} is not whole, as after a crash: it is left out "
                f"and kept as {name}; what was under way then is done again",
            )
            return
        raise InputError(f"{self.path} has too many torn ends beside it; look at them")

    @property
    def end(self) -> int:
        """Where the next record will begin; valid once all records have been read."""
        self._need_open()
        return self._file.tell()

    def cut(self, end: int) -> None:
        """Take back everything from a place on.

        Parameters
        ----------
        end : int
            An earlier value of `end`.
        """
        self._need_open()
        self._file.truncate(end)
        self._file.seek(end)

    def append(self, record: Any) -> None:
        """Add a record; when this returns, killing the process does not lose it.

        Raises
        ------
        InputError
            If it cannot be written whole, for example because the disk is full; nothing of it is
            left in the file then. If the file was deleted or replaced, or this process is not the
            one that opened it.
        """
        self._need_to_be_there()
        start = self.end
        text = json.dumps(record, separators=(",", ":"), allow_nan=False).encode()
        line = memoryview(b"%08x %s\n" % (zlib.crc32(text), text))
        try:
            while line:
                written = self._file.write(line)
                if not written:
                    raise OSError(errno.EIO, "nothing could be written")
                line = line[written:]
            if time.monotonic() - self._synced > SYNC_SECONDS:
                self.sync()
        except BaseException as error:
            self.cut(start)
            if isinstance(error, OSError):
                raise InputError(
                    f"cannot write to {self.path}: {error.strerror}; what was to be added is not "
                    "in it; make room and try again"
                ) from error
            raise
        self._sync_later()

    def sync(self) -> None:
        """Force everything to the disk."""
        os.fsync(self._file.fileno())
        self._synced = time.monotonic()

    def _sync_later(self) -> None:
        """Force the last records to the disk also if no other follows."""
        if self._timer is None or not self._timer.is_alive():
            self._timer = threading.Timer(SYNC_SECONDS, self._sync_in_background)
            self._timer.daemon = True
            self._timer.start()

    def _sync_in_background(self) -> None:
        try:
            self.sync()
        except OSError as error:
            self._failure = error
        except ValueError:
            pass  # the file was closed, and synced before that

    def close(self) -> None:
        """Force everything to the disk and let go of the file."""
        if not self._file.closed:
            try:
                self.sync()
            finally:
                self._file.close()
                self._lock.release()

    def _need_open(self) -> None:
        if self._file.closed:
            raise InputError(f"{self.path} was closed; open it again to go on")
        self._lock.check_process()

    def _need_to_be_there(self) -> None:
        self._need_open()
        self._lock.check()
        try:
            is_same = os.path.samestat(os.fstat(self._file.fileno()), os.stat(self._file_path))
        except OSError:
            is_same = False
        if not is_same:
            raise InputError(
                f"{self.path} was deleted or replaced while it was in use; what follows would be "
                "lost; put it back, or choose another file"
            )
        if self._failure is not None:
            raise InputError(
                f"cannot force {self.path} to the disk: {self._failure.strerror}; its last records "
                "may be lost in a power cut"
            )


def _lines(reader: Iterable[bytes], path: Path) -> Iterator[tuple[bytes, Any]]:
    """Yield lines with their records; the last line may be torn."""
    end = 0
    torn = b""
    for line in reader:
        if torn:
            raise DamagedError(
                f"{path} is damaged at byte {end}",
                "restore the file from a backup, or cut it there to continue from what is before",
            )
        text = _checked(line)
        if text is None:
            if end == 0 and not _is_torn_header(line):
                raise DamagedError(
                    f"{path} was not written by certune, or is damaged at byte 0",
                    "choose another file, or delete this one",
                )
            torn = line
            continue
        try:
            record = json.loads(text)
        except (RecursionError, ValueError):
            raise DamagedError(
                f"{path} holds something else than JSON at byte {end}",
                "restore the file from a backup, or cut it there",
            ) from None
        end += len(line)
        yield line, record
    if torn:
        yield torn, _TORN


def _checked(line: bytes) -> bytes | None:
    """Return the text of a line, None if the line is torn."""
    checksum, _, text = line.removesuffix(b"\n").partition(b" ")
    if not line.endswith(b"\n") or checksum != b"%08x" % zlib.crc32(text):
        return None
    return text


def _is_torn_header(line: bytes) -> bool:
    """Tell whether a line without an end can be the beginning of a header."""
    checksum, rest = line[:_CHECKSUM_LENGTH], line[_CHECKSUM_LENGTH:]
    begins = (b" " + _OPENING).startswith(rest[: len(_OPENING) + 1])
    return not line.endswith(b"\n") and begins and not checksum.strip(b"0123456789abcdef")
