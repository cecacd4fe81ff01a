"""A lock that names its owner, ends with it, and works on network disks.

The lock is a small file beside what it guards, made in one step (a hard link, which network disks
too make for one process only). It says which process holds it. Whether that process lives is known
at once on the same machine. On another one the lock counts as left behind when it was not refreshed
for a minute, by the clock of the disk, which is read from a file that is made there: clocks of
machines are never compared. Where that clock was put back, a lock from its future is as old as it
is far away. Nothing waits for an owner.
"""

from __future__ import annotations

import json
import os
import socket
import threading
import time
import uuid
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from certune.errors import InputError
from certune.files import read_text

REFRESH_SECONDS = 15.0
# An owner on another machine that was not heard of for so long is gone.
STALE_SECONDS = 60.0
# How often, and after how many seconds each, to try while others take the same lock over.
ATTEMPTS, PAUSE = 50, 0.02
_LONGEST = 10_000


@dataclass(frozen=True)
class Owner:
    """A process.

    Attributes
    ----------
    host : str
        Name of its machine.
    machine : str
        What tells machines, restarts and containers apart.
    pid : int
        Its number.
    birth : str
        When it was started, so that a number that is used again is another process.
    since : str
        When it took the lock, for people.
    token : str
        Different for every lock.
    """

    host: str
    machine: str
    pid: int
    birth: str
    since: str
    token: str

    @classmethod
    def here(cls) -> Owner:
        """Return this process."""
        pid = os.getpid()
        return cls(
            host=socket.gethostname(),
            machine=_machine(),
            pid=pid,
            birth=_birth(pid),
            since=time.strftime("%Y-%m-%d %H:%M:%S"),
            token=uuid.uuid4().hex,
        )

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host} since {self.since}"


class Lock:
    """Hold a path until `release` is called or the process ends.

    Parameters
    ----------
    path : path
        The file of the lock.
    what : str
        What it guards, for messages.

    Raises
    ------
    InputError
        If another process holds it, or the file cannot be made.
    """

    def __init__(self, path: str | os.PathLike[str], what: str) -> None:
        self.path = Path(path)
        self._what = what
        self.owner = Owner.here()
        self._ended = threading.Event()
        try:
            self._take()
        except OSError as error:
            raise InputError(
                f"cannot lock {what}: {error.strerror or error} ({self.path})"
            ) from error
        self._sweep()
        self._refresher = threading.Thread(target=self._refresh, daemon=True)
        self._refresher.start()

    def _take(self) -> None:
        draft = self.path.with_name(f"{self.path.name}.{self.owner.token}")
        try:
            draft.write_text(json.dumps(asdict(self.owner)), encoding="utf-8")
            for _ in range(ATTEMPTS):
                if _linked(draft, self.path) or self._taken_over(draft):
                    return
                time.sleep(PAUSE)
            raise InputError(f"{self._what} is being taken by others; try again")
        finally:
            draft.unlink(missing_ok=True)

    def _taken_over(self, draft: Path) -> bool:
        """Take a lock whose owner is gone; raises if it lives, False if it is worth another try.

        One process at a time does that, the one that has the second lock: only it removes a lock
        of somebody else, after another look, so that a new one is never removed.
        """
        owner = self._owner_gone(self.path, draft)
        door = self.path.with_name(f"{self.path.name}.change")
        if not _linked(draft, door):
            try:
                self._owner_gone(door, draft)
            except InputError:
                return False
            door.unlink(missing_ok=True)  # left behind by a process that was killed in here
            return False
        try:
            if read_owner(self.path) != owner:
                return False
            self.path.unlink(missing_ok=True)
            return _linked(draft, self.path)
        finally:
            door.unlink(missing_ok=True)

    def _sweep(self) -> None:
        """Remove what processes left behind that were killed while they took the lock.

        A draft without a name, of one killed before it wrote its own, goes once it is old.
        """
        prefix = f"{self.path.name}."
        for name in os.listdir(self.path.parent):
            if name.startswith(prefix):
                draft = self.path.with_name(name)
                try:
                    status = draft.stat()
                    age = self.path.stat().st_mtime - status.st_mtime
                except OSError:
                    continue
                owner = read_owner(draft)
                here = owner is not None and owner.machine == _machine()
                if (here or not status.st_size) and not _lives(owner, age):
                    draft.unlink(missing_ok=True)

    def _owner_gone(self, path: Path, draft: Path) -> Owner | None:
        """Return the owner of a lock, or raise `InputError` if it lives."""
        owner = read_owner(path)
        try:
            age = draft.stat().st_mtime - path.stat().st_mtime
        except FileNotFoundError:
            return owner
        if _lives(owner, age):
            name = "an unknown process" if owner is None else str(owner)
            if owner is not None and _is_here(owner):
                raise InputError(
                    f"{self._what} is in use by {name}, which is this process: end the call that "
                    "has it, or close what it returned, or choose another place"
                )
            raise InputError(
                f"{self._what} is in use by {name}; wait for it, or choose another place. (If that "
                f"process does not exist any more, the lock ends within {STALE_SECONDS:.0f} "
                f"seconds, or by deleting {self.path}.)"
            )
        return owner

    def _refresh(self) -> None:
        while not self._ended.wait(REFRESH_SECONDS):
            try:
                os.utime(self.path)
            except OSError:
                pass  # `check` says what happened, to the owner's own thread

    def check_process(self) -> None:
        """Raise `InputError` in a forked copy of the process that took the lock."""
        if os.getpid() != self.owner.pid:
            raise InputError(
                f"{self._what} belongs to process {self.owner.pid}, of which this one is a copy; "
                "open it once more, in one of them only"
            )

    def check(self) -> None:
        """Raise `InputError` if this process does not hold the lock any more."""
        self.check_process()
        if read_owner(self.path) != self.owner:
            raise InputError(
                f"{self._what} was taken over by somebody else, or its lock {self.path} was "
                "deleted; open it again to go on"
            )

    def release(self) -> None:
        """Let others have it."""
        if os.getpid() != self.owner.pid or self._ended.is_set():
            return
        self._ended.set()
        if read_owner(self.path) == self.owner:
            self.path.unlink(missing_ok=True)


def read_owner(path: Path) -> Owner | None:
    """Return who holds a lock, None if the file does not say."""
    try:
        stored: Any = json.loads(read_text(path, _LONGEST))
        owner = Owner(**stored)
    except (InputError, RecursionError, TypeError, ValueError):
        return None
    texts = (owner.host, owner.machine, owner.birth, owner.since, owner.token)
    right = all(isinstance(text, str) for text in texts) and type(owner.pid) is int
    return owner if right and owner.pid > 0 else None


def _lives(owner: Owner | None, age: float) -> bool:
    """Tell whether the owner of a lock exists; `age` counts where that cannot be looked up."""
    if owner is None or owner.machine != _machine():
        return abs(age) < STALE_SECONDS
    try:
        os.kill(owner.pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        pass  # it exists and belongs to another user
    return _birth(owner.pid) == owner.birth


def _is_here(owner: Owner) -> bool:
    """Tell whether an owner is the process that asks."""
    pid = os.getpid()
    return (owner.machine, owner.pid, owner.birth) == (_machine(), pid, _birth(pid))


def _linked(source: Path, target: Path) -> bool:
    """Give a file a second name; return False if the name is taken."""
    try:
        os.link(source, target)
    except FileExistsError:
        return False
    except OSError:  # a disk without hard links
        try:
            descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
        except FileExistsError:
            return False
        with os.fdopen(descriptor, "wb") as file:
            file.write(source.read_bytes())
    return True


def _machine() -> str:
    parts = [socket.gethostname()]
    for name in ("/proc/sys/kernel/random/boot_id", "/proc/self/ns/pid"):
        try:
            path = Path(name)
            parts.append(os.readlink(path) if "ns" in path.parts else path.read_text().strip())
        except OSError:
            pass
    return " ".join(parts)


def _birth(pid: int) -> str:
    """Return when a process was started, in the clock ticks of its machine; empty if unknown."""
    try:
        text = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return ""
    # The second field is a name in brackets, which may hold anything.
    return text.rpartition(b")")[2].split()[19].decode("ascii", "replace")
