"""The state of a learner on disk: one line for each finished round, appended, never rewritten.

A line is a checksum and a JSON object.  A process that is killed leaves at most one torn line at
the end, which is cut off when the file is opened again; so exactly the round under way is lost.
Each line is handed to the operating system before a round counts as finished (which survives the
death of the process) and forced to the disk at least once a second (which survives a power cut up
to that second).
"""

from __future__ import annotations

import json
import os
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from certune.errors import InputError

SYNC_SECONDS = 1.0


class Journal:
    """An append-only file of JSON records, held by one process at a time.

    Parameters
    ----------
    path : path
        The file; made if it does not exist.

    Raises
    ------
    InputError
        If the file cannot be opened, or another process holds it.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
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
                record = _decoded(line)
                if record is None and end == 0:
                    raise InputError(
                        f"{self.path} is not a state file, or damaged at byte 0; choose another "
                        "file, or delete this one"
                    )
                if record is None:
                    torn = True
                else:
                    end += len(line)
                    yield record
        self._file.truncate(end)
        self._file.seek(end)

    def append(self, record: Any) -> None:
        """Add a record; when this returns, killing the process does not lose it."""
        text = json.dumps(record, separators=(",", ":"), allow_nan=False).encode()
        self._file.write(b"%08x %s\n" % (zlib.crc32(text), text))
        if time.monotonic() - self._synced > SYNC_SECONDS:
            self.sync()

    def sync(self) -> None:
        """Force everything to the disk."""
        os.fsync(self._file.fileno())
        self._synced = time.monotonic()

    def close(self) -> None:
        """Force everything to the disk and let go of the file."""
        if not self._file.closed:
            self.sync()
            self._file.close()


def _decoded(line: bytes) -> Any:
    """Return the record of a line, None if the line is torn."""
    checksum, _, text = line.removesuffix(b"\n").partition(b" ")
    if not line.endswith(b"\n") or checksum != b"%08x" % zlib.crc32(text):
        return None
    return json.loads(text)


def _lock(descriptor: int) -> None:
    try:
        import fcntl
    except ImportError:  # Windows has no such locks; the file is then not guarded.
        return
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
