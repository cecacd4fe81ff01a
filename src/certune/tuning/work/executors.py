"""Who does the work of a run: the calling thread, threads, or processes of one machine or many.

A run hands out items and takes outcomes as they arrive. Results do not depend on who works, only
the time does. Threads suffice where a family leaves the interpreter lock to others, and start at
once. Processes of this machine start when what they save is worth their start. An engine that
``joblib.parallel_config`` names, such as Dask or Ray, gets all of the work.

Nothing here waits for a worker once the order to stop is given: those that ask end by themselves,
others are left to themselves, or ended if they are processes of this machine.
"""

from __future__ import annotations

import atexit
import math
import os
import queue
import signal
import threading
import time
import traceback
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any, Protocol, TypeVar

import joblib
from joblib._parallel_backends import LokyBackend, MultiprocessingBackend
from joblib.parallel import BatchedCalls, get_active_backend

from certune.deadline import (
    Stop,
    TimeIsUp,
    check_time,
    preparing,
    under,
)
from certune.errors import WorkerError
from certune.tuning.status import Status
from certune.tuning.work.interrupts import SignalWatch

# Seconds of work after which processes may start, and that they have to save.
FIRST_SECONDS, START_COST = 1.0, 3.0
# Threads only hinder each other with items that take less than this many seconds on average.
SHORT, ENOUGH_TO_TELL = 0.002, 8
# Seconds of work that a message to a process should carry, at least and at most, and the largest
# number of items in it. Messages to other machines take tens of milliseconds.
LEAST_SECONDS, BATCH_SECONDS, LARGEST_BATCH = 0.05, 0.25, 4096
# Errors of loky and of Ray that tell of the death of a worker whom nobody replaces.
DEATHS = {"BrokenExecutor", "RayActorError"}
# How often processes are started that die while they start.
STARTS = 3
# Seconds between looks at the clock while waiting, and between looks at the process that called.
LOOK, PARENT_LOOK = 0.05, 1.0
# Seconds that an ending process waits for its threads.
PARTING = 5.0

# Errors of these modules, with arguments of these types, are sent between processes as they are.
PLAIN_MODULES = "builtins", "certune._core", "certune.errors"
PLAIN = str, int, float, type(None)

Item = tuple[int, Any]
Function = Callable[[Any], Any]
Value = TypeVar("Value")


@dataclass(frozen=True)
class Outcome:
    """What came of the item with a number: a value or an error, and the seconds it took."""

    number: int
    value: Any
    error: BaseException | None
    seconds: float


@dataclass(frozen=True)
class _Message:
    """What arrives from workers: outcomes, or items that were lost with a worker of the source."""

    outcomes: Sequence[Outcome] = ()
    lost: Sequence[Item] = ()
    cause: BaseException | None = None
    source: Any = None


def attempt(number: int, function: Function, item: Any, stop: Stop) -> Outcome:
    """Call a function on an item under a stop, whatever comes of it."""
    started = time.perf_counter()
    value: Any = None
    error: BaseException | None = None
    try:
        with under(Stop(parent=stop)) as own:
            check_time()
            value = function(item)
            if own.seen:  # somebody caught what check_time raised: the value means nothing
                raise TimeIsUp
    except BaseException as found:
        value, error = None, found
    return Outcome(number, value, error, time.perf_counter() - started)


class Crew:
    """The workers of one run.

    Parameters
    ----------
    n_jobs : int or None
        Number of parallel workers, as in joblib.
    watch : SignalWatch
        What can interrupt the calling thread.
    stop : Stop
        What ends the work.
    releases_lock : bool
        Whether the work leaves the interpreter lock to other threads most of the time.
    shares_objects : bool, default=False
        Whether work goes back to the same objects of the run, so that workers are threads unless
        an engine is named.
    limits_items : bool, default=False
        Whether items have a time limit of their own. A thread that does not ask for the time cannot
        be ended, so that what would be the work of a single one is done by the caller.

    Attributes
    ----------
    is_away : bool
        Whether an engine is named that works in other processes.
    """

    def __init__(
        self,
        n_jobs: int | None,
        watch: SignalWatch,
        stop: Stop,
        releases_lock: bool,
        shares_objects: bool = False,
        limits_items: bool = False,
    ) -> None:
        self._watch, self._stop = watch, stop
        self._limits_items = limits_items
        self._pools: dict[str, _Pool] = {}
        self._n_jobs = n_jobs
        hinted, other = (get_active_backend(prefer=hint)[0] for hint in ("threads", "processes"))
        # One that parallel_config names is not changed by hints.
        named = type(hinted) is type(other)
        self._shares_objects = shares_objects
        self._count = joblib.effective_n_jobs(n_jobs)
        threads = getattr(hinted, "supports_sharedmem", False)
        self._threads_suffice = releases_lock or (named and threads)
        # With one worker, pools of joblib and of Ray are the calling process; Dask's is not.
        here = isinstance(hinted, (LokyBackend, MultiprocessingBackend))
        self.is_away = named and not threads and (self._count > 1 or not here)

    @classmethod
    def here(cls, watch: SignalWatch, stop: Stop) -> Crew:
        """Return a crew that is the calling thread, whatever engine is configured."""
        crew = cls(1, watch, stop, releases_lock=False)
        crew.is_away, crew._count = False, 1
        return crew

    def outcomes(
        self, function: Function, items: Iterable[Any], grain: int = 1
    ) -> Iterator[Outcome]:
        """Yield what comes of every item, as it arrives; items are taken when there is room.

        Parameters
        ----------
        function : callable
            What to call on every item.
        items : iterable
            The items.
        grain : int, default=1
            Pieces of work that an item consists of; how long one of them takes says whether threads
            would hinder each other.

        Raises
        ------
        TimeIsUp
            As soon as the stop is set, after all outcomes that have arrived.
        """
        if self._count == 1 and not self.is_away:
            return self._here(function, items)
        return self._shared(_Tray(function, items, grain))

    def map(self, function: Function, items: Sequence[Any]) -> list[Any]:
        """Return ``function(item)`` for every item; raises what the first of them raises."""
        work = self._here if len(items) == 1 else self.outcomes
        found = sorted(work(function, items), key=lambda outcome: outcome.number)
        for outcome in found:
            if outcome.error is not None:
                raise outcome.error
        return [outcome.value for outcome in found]

    def read(self, function: Callable[..., Value], *given: Any) -> Value:
        """Call a function that gets something from outside, and wait no longer than for the stop.

        Raises
        ------
        TimeIsUp
            If the stop is set; the call is interrupted where that is possible.
        """
        self.check()
        found: Value = self._watch.call(self._stop, function, *given)
        return found

    @property
    def why_stopped(self) -> Status:
        """How a run ends whose stop is set."""
        return Status.INTERRUPTED if self._stop.stated else Status.TIME_LIMIT

    def close(self) -> None:
        """Give up what is under way."""
        self._stop.set()
        for pool in self._pools.values():
            pool.close()

    def _here(self, function: Function, items: Iterable[Any]) -> Iterator[Outcome]:
        for number, item in enumerate(items):
            self.check()
            outcome: Outcome = self._watch.call(
                self._stop, attempt, number, function, item, self._stop
            )
            if self._was_stopped(outcome):
                raise TimeIsUp
            yield outcome

    def _shared(self, tray: _Tray) -> Iterator[Outcome]:
        while True:
            self._hand_out(tray)
            if not tray.pending:
                break
            message = self._next(tray)
            for outcome in message.outcomes:
                if not self._was_stopped(outcome):
                    tray.put_away(outcome)
                    yield outcome
            if message.lost:
                self._replace_workers(message)
                yield from tray.put_back(message)
        if not tray.empty:
            self.check()

    def _replace_workers(self, message: _Message) -> None:
        """Give up processes of which one has died, where their engine does not replace it.

        What the others have in work is lost too then, and handed out again.
        """
        if _is_death(message.cause) and self._pools.get("processes") is message.source:
            self._pools.pop("processes").close()

    def check(self) -> None:
        """Raise `TimeIsUp` if the stop is set."""
        if self._stop.is_set():
            raise TimeIsUp

    def _was_stopped(self, outcome: Outcome) -> bool:
        """Did the item end by the stop of the crew?

        A clock elsewhere may be a little ahead of the one here, which is asked next.
        """
        by_time = self._stop.seconds_left < math.inf
        return isinstance(outcome.error, TimeIsUp) and (by_time or self._stop.is_set())

    def _next(self, tray: _Tray) -> _Message:
        while True:
            try:
                return tray.arrivals.get(timeout=LOOK)
            except queue.Empty:
                self.check()

    def _hand_out(self, tray: _Tray) -> None:
        pool = self._pool(self._choice(tray))
        while not self._stop.is_set() and (batch := tray.take(pool)):
            pool.submit(tray, batch, self._stop)

    def _choice(self, tray: _Tray) -> str:
        """Who should get the next items, as far as can be told from those that are finished."""
        if self.is_away or "processes" in self._pools or tray.suspects:
            return "processes"
        if self._threads_suffice and not tray.has_short_items:
            return "threads"
        saved = tray.seconds_left * (1 - 1 / self._count)
        worth_it = tray.age > FIRST_SECONDS and saved > START_COST and not self._shares_objects
        if worth_it:
            return "processes"
        return "caller" if self._limits_items and self._watch.interrupts else "thread"

    def _pool(self, name: str) -> _Pool:
        if name not in self._pools:
            makers: dict[str, Callable[[], _Pool]] = {
                "processes": lambda: _Processes(self._n_jobs),
                "threads": lambda: _Threads(self._count),
                "thread": lambda: _Threads(1),
                "caller": lambda: _Caller(self._watch),
            }
            self._pools[name] = makers[name]()
        return self._pools[name]


class _Tray:
    """Items of one function: those to hand out, those in work, and those that came back.

    Attributes
    ----------
    pending : dict of int to object
        Items in work, by their numbers.
    arrivals : Queue
        What workers send back. Not a `SimpleQueue`: that of Python 3.11 waits for ever where a
        signal interrupts it and the interpreter lock comes back only after the timeout.
    suspects : deque
        Batches that were in work when a worker was lost. They are tried again one at a time, and
        halved when they are lost alone, so that in the end a loss tells whose it is.
    """

    def __init__(self, function: Function, items: Iterable[Any], grain: int = 1) -> None:
        self.function = function
        self._grain = grain
        self.pending: dict[int, Any] = {}
        self.arrivals: queue.Queue[_Message] = queue.Queue()
        self.suspects: deque[list[Item]] = deque()
        self.empty = False
        self._alone = False
        self._numbered = enumerate(items)
        self._total = len(items) if isinstance(items, Sized) else math.inf
        self._started = time.perf_counter()
        self._n_done, self._seconds = 0, 0.0

    @property
    def age(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self._started

    @property
    def seconds_left(self) -> float:
        """Estimate of the work that is left."""
        return (self._total - self._n_done) * self._average

    @property
    def has_short_items(self) -> bool:
        """Does work take so little time at a piece that threads wait for each other?"""
        return self._n_done >= ENOUGH_TO_TELL and self._average < SHORT * self._grain

    @property
    def _average(self) -> float:
        return self._seconds / self._n_done if self._n_done else self.age

    def take(self, pool: _Pool) -> list[Item]:
        """Take items for a pool, as many as it has room for."""
        if self.suspects:
            batch = [] if self.pending else self.suspects.popleft()
            self._alone = self._alone or bool(batch)
        elif self._alone:
            batch = []
        else:
            size = self._batch_size(pool) if pool.takes_batches else 1
            space = pool.n_ahead * pool.n_workers * size - len(self.pending)
            batch = list(islice(self._numbered, max(0, min(size, space))))
            self.empty = space > 0 and not batch
        self.pending.update(batch)
        return batch

    def _batch_size(self, pool: _Pool) -> int:
        if not self._n_done:
            return 1
        average = max(self._average, 1e-9)
        by_share = (self._total - self._n_done) / (4 * pool.n_workers)
        worthwhile = max(by_share, LEAST_SECONDS / average)
        return max(1, int(min(BATCH_SECONDS / average, worthwhile, LARGEST_BATCH)))

    def put_away(self, outcome: Outcome) -> None:
        """Note that an item is finished."""
        del self.pending[outcome.number]
        self._n_done += 1
        self._seconds += outcome.seconds
        self._alone = self._alone and bool(self.pending)

    def put_back(self, message: _Message) -> Iterator[Outcome]:
        """Note that a batch was lost; yields the failure of an item that was lost alone."""
        batch, alone = list(message.lost), self._alone
        if alone and len(batch) == 1:
            error = WorkerError(
                "the worker was lost twice while it had this item in work: it was killed, "
                "perhaps for want of memory, or what it was sent or sent back cannot be "
                f"pickled ({message.cause!r})"
            )
            error.__cause__ = message.cause
            outcome = Outcome(batch[0][0], None, error, 0.0)
            self.put_away(outcome)
            yield outcome
            return
        for number, _ in batch:
            del self.pending[number]
        self._alone = False
        half = len(batch) // 2 if alone else len(batch)
        self.suspects.extend(part for part in (batch[:half], batch[half:]) if part)


class _Pool(Protocol):
    """Workers of one kind; what comes of their items goes to the arrivals of the tray."""

    @property
    def n_workers(self) -> int: ...
    @property
    def n_ahead(self) -> int:
        """Batches for each worker: one in work, and perhaps one that waits."""

    @property
    def takes_batches(self) -> bool: ...
    def submit(self, tray: _Tray, batch: list[Item], stop: Stop) -> None: ...
    def close(self) -> None: ...


class _Caller:
    """The calling thread, in which an item that does not ask for the time can be ended."""

    n_workers, n_ahead, takes_batches = 1, 1, False

    def __init__(self, watch: SignalWatch) -> None:
        self._watch = watch

    def submit(self, tray: _Tray, batch: list[Item], stop: Stop) -> None:
        for number, item in batch:
            outcome = self._watch.call(stop, attempt, number, tray.function, item, stop)
            tray.arrivals.put(_Message([outcome]))

    def close(self) -> None:
        pass


class _Threads:
    """Threads that end with the process, so that one that does not ask can be left to itself.

    A thread that is in the compiled core while the interpreter ends is ended in there, where that
    is a crash. The core asks for its stop, so that the process waits for it a moment.
    """

    takes_batches, n_ahead = False, 2

    def __init__(self, n_workers: int) -> None:
        self.n_workers = n_workers
        self._tasks: queue.SimpleQueue[Any] = queue.SimpleQueue()
        for _ in range(n_workers):
            thread = threading.Thread(
                target=_serve, args=(self._tasks,), name="certune", daemon=True
            )
            thread.start()
            _SERVING.add(thread)

    def submit(self, tray: _Tray, batch: list[Item], stop: Stop) -> None:
        for number, item in batch:
            self._tasks.put((tray, number, item, stop))

    def close(self) -> None:
        for _ in range(self.n_workers):
            self._tasks.put(None)


# Threads of all crews that may still be at work, and those that end processes.
_SERVING: weakref.WeakSet[threading.Thread] = weakref.WeakSet()
_ENDING: weakref.WeakSet[threading.Thread] = weakref.WeakSet()


@atexit.register
def _await_threads() -> None:
    deadline = time.monotonic() + PARTING
    for thread in (*_SERVING, *_ENDING):
        thread.join(max(0.0, deadline - time.monotonic()))


def _serve(tasks: queue.SimpleQueue[Any]) -> None:
    while (task := tasks.get()) is not None:
        tray, number, item, stop = task
        tray.arrivals.put(_Message([attempt(number, tray.function, item, stop)]))
        del task, tray, item  # nothing is kept alive by a worker that waits


def _is_death(error: BaseException | None) -> bool:
    """Tell whether a worker has died whom nobody replaces."""
    return bool({kind.__name__ for kind in type(error).__mro__} & DEATHS)


def _started(n_jobs: int | None, starts: int = STARTS) -> joblib.Parallel:
    """Start the workers of the backend that is active, again if one dies meanwhile."""
    # Arrays are sent, not mapped to files: an instance is in work once.
    parallel = joblib.Parallel(n_jobs=n_jobs, prefer="processes", max_nbytes=None)
    try:
        return parallel.__enter__()
    except Exception as error:
        if starts > 1 and _is_death(error):
            return _started(n_jobs, starts - 1)
        raise WorkerError(
            f"the workers of {type(parallel._backend).__name__} cannot be started: "
            f"{type(error).__name__}: {error}"
        ) from error


class _Processes:
    """Workers of the backend of joblib that is active: loky's, or those of Dask or Ray."""

    takes_batches, n_ahead = True, 2

    def __init__(self, n_jobs: int | None) -> None:
        self._in_work: set[int] = set()
        self._lock = threading.Lock()
        self._is_closed = False
        with preparing():
            for thread in tuple(_ENDING):  # those of an earlier run, in whose place come new
                thread.join()
            self._parallel = _started(n_jobs)
        self._backend = self._parallel._backend
        self.n_workers = max(1, self._backend.effective_n_jobs(self._parallel.n_jobs))
        self._backend.start_call()

    def submit(self, tray: _Tray, batch: list[Item], stop: Stop) -> None:
        call: Any = (_work, (tray.function, batch, stop.seconds_left, os.getpid()), {})
        task = BatchedCalls([call], self._backend.get_nested_backend())
        self._in_work.add(id(batch))
        retrieve = self._backend.retrieve_result_callback
        job = self._backend.submit(
            task, callback=lambda found: self._arrived(tray, batch, partial(retrieve, found))
        )
        if hasattr(job, "add_done_callback"):
            job.add_done_callback(lambda job: self._ended(tray, batch, job))

    def _ended(self, tray: _Tray, batch: list[Item], job: Any) -> None:
        """Note that a job has failed, since Dask calls back only after successes."""
        if not job.cancelled() and job.exception() is not None:
            self._arrived(tray, batch, job.result)

    def _arrived(self, tray: _Tray, batch: list[Item], result: Callable[[], Any]) -> None:
        with self._lock:
            if id(batch) not in self._in_work:
                return
            self._in_work.remove(id(batch))
        try:
            found = result()
            if isinstance(found, BaseException):  # Ray returns what it should raise
                raise found
            [outcomes] = found
        except BaseException as error:
            tray.arrivals.put(_Message(lost=batch, cause=error, source=self))
        else:
            tray.arrivals.put(_Message(outcomes))

    def close(self) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        if self._in_work and isinstance(self._backend, LokyBackend):
            # It asks the system for the children of every worker: nobody has to wait for that.
            thread = threading.Thread(target=self._end, name="certune-end", daemon=True)
            thread.start()
            _ENDING.add(thread)
        else:
            self._end()

    def _end(self) -> None:
        if self._in_work:
            self._backend.abort_everything(ensure_ready=False)
        self._backend.stop_call()
        self._parallel.__exit__(None, None, None)


def _work(function: Function, batch: list[Item], seconds: float, caller: int) -> list[Outcome]:
    """Do the work of a message in another process."""
    stop = Stop(seconds)
    with _signals_left_to(caller):
        return [_sendable(attempt(number, function, item, stop)) for number, item in batch]


@contextmanager
def _signals_left_to(caller: int) -> Iterator[None]:
    """Leave Ctrl-C to the process that called, and end when it ends, however it does."""
    if os.getppid() == caller:
        _end_with(caller)
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with SignalWatch(Stop(), (signal.SIGINT,)):  # ends what does not ask, see `interruptible`
            yield
    finally:
        signal.signal(signal.SIGINT, handler)


def _end_with(caller: int) -> None:
    name = f"certune-caller-{caller}"
    if any(thread.name == name for thread in threading.enumerate()):
        return

    def wait() -> None:
        while os.getppid() == caller:
            time.sleep(PARENT_LOOK)
        os._exit(1)

    threading.Thread(target=wait, name=name, daemon=True).start()


def _sendable(outcome: Outcome) -> Outcome:
    """Return an outcome whose error can be sent, and tells where it was raised.

    What an exception of somebody's own class needs to be made again is not known, so that it is
    sent as a text.
    """
    error = outcome.error
    if error is None:
        return outcome
    kind = type(error)
    if kind.__module__ not in PLAIN_MODULES or not all(isinstance(a, PLAIN) for a in error.args):
        error = WorkerError(f"{kind.__module__}.{kind.__qualname__}: {error}")
    text = "".join(traceback.format_exception(outcome.error))
    error.add_note(f"In a worker process:\n{text}")
    return replace(outcome, error=error.with_traceback(None))
