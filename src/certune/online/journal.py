"""The state of a learner on disk: one line for each finished round, appended, never rewritten.

A line is a checksum and a JSON object.  A process that is killed leaves at most one torn line at
the end, which is cut off when the file is opened again; so exactly the round under way is lost.
Each line is handed to the operating system before a round counts as finished (which survives the
death of the process) and forced to the disk at least once a second (which survives a power cut up
to that second).  A line that cannot be written whole is taken back.
"""

from __future__ import annotations

import errno
import json
import os
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from certune.errors import InputError, ParameterError

SYNC_SECONDS = 1.0


class Journal:
    """An append-only file of JSON records, held by one process at a time.

    Parameters
    ----------
    path : path
        The file; made if it does not exist.

    Raises
    ------
    ParameterError
        If this is not a path.
    InputError
        If the file cannot be opened, or another process holds it.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        try:
            self.path = Path(path)
        except TypeError:
            raise ParameterError(f"state must be the path of a file, got {path!r}") from None
        try:
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise InputError(f"cannot open {self.path} for the state: {error.strerror}") from error
        self._file = os.fdopen(descriptor, "r+b", buffering=0)
        try:
            _lock(self._file.fileno())
        except OSError:
            self._file.close()
            raise InputError(
                f"{self.path} is in use by another process; wait for it or choose another file"
            ) from None
        self._synced = time.monotonic()

    def records(self) -> Iterator[Any]:
        """Yield the stored records; afterwards a torn end is gone and records can be appended.

        Raises
        ------
        InputError
            If a record before the last one is damaged, or the first.
        """
        self._file.seek(0)
        end = 0
        torn = False
        with os.fdopen(os.dup(self._file.fileno()), "rb") as reader:
            for line in reader:
                if torn:
                    raise InputError(
                        f"{self.path} is damaged at byte {end}; restore the file from a backup, or "
                        "cut it there to continue from the rounds before"
                    )
                text = _checked(line)
                if text is None and end == 0:
                    raise InputError(
                        f"{self.path} is not a state file, or damaged at byte 0; choose another "
                        "file, or delete this one"
                    )
                if text is None:
                    torn = True
                    continue
                try:
                    record = json.loads(text)
                except ValueError:
                    raise InputError(
                        f"{self.path} holds something else than JSON at byte {end}; restore the "
                        "file from a backup, or cut it there"
                    ) from None
                end += len(line)
                yield record
        self.cut(end)

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
            If it cannot be written whole, for example because the disk is full. Nothing of it is
            left in the file then.
        """
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

    def sync(self) -> None:
        """Force everything to the disk."""
        os.fsync(self._file.fileno())
        self._synced = time.monotonic()

    def close(self) -> None:
        """Force everything to the disk and let go of the file."""
        if not self._file.closed:
            try:
                self.sync()
            finally:
                self._file.close()

    def _need_open(self) -> None:
        if self._file.closed:
            raise InputError(f"{self.path} was closed; open it again to go on")


def _checked(line: bytes) -> bytes | None:
    """Return the text of a line, None if the line is torn."""
    checksum, _, text = line.removesuffix(b"\n").partition(b" ")
    if not line.endswith(b"\n") or checksum != b"%08x" % zlib.crc32(text):
        return None
    return text


def _lock(descriptor: int) -> None:
    try:
        import fcntl
    except ImportError:  # Windows has no such locks; the file is then not guarded.
        return
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
