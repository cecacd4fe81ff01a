"""Ctrl-C and ``kill`` while a run is under way: a wish to stop, not an exception at any moment.

The first signal only sets the stop of the run (:mod:`certune.deadline`): computations end at their
next question, and what is finished becomes the result. Code in the main thread that does not ask
for a while, such as a family of a user's own, is interrupted by an exception, also where only the
time of one instance is up. A further signal, a second later or more, does what it would have done
without a run.
"""

from __future__ import annotations

import _thread
import signal
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any, NoReturn

from certune.deadline import Stop, TimeIsUp

# Seconds after the stop until code that does not ask is interrupted, and between looks.
PATIENCE, LOOK = 0.15, 0.05
# Signals that follow the first one sooner are the same one, sent twice: by a terminal to all
# processes of a group, and by the program that started this one.
SAME_SIGNAL = 1.0


# The watch that is entered in the main thread, the innermost last.
_ENTERED: list[SignalWatch] = []


class SignalWatch:
    """Turns signals into a wish to stop, in the main thread, while it is entered.

    Handlers that a user's program has installed are left alone, and ignored signals stay ignored.

    Parameters
    ----------
    wish : Stop
        Set by the first signal.
    numbers : tuple of int
        The signals.

    Attributes
    ----------
    received : int or None
        The first signal.
    """

    def __init__(
        self, wish: Stop, numbers: tuple[int, ...] = (signal.SIGINT, signal.SIGTERM)
    ) -> None:
        self.wish = wish
        self._numbers = numbers
        self.received: int | None = None
        self._received_at = 0.0
        self._before: dict[int, Any] = {}
        self._left = threading.Event()
        self._reminding = threading.Lock()
        self._working_under: Stop | None = None
        self._interrupted: Stop | None = None
        self._reminded = False

    def __enter__(self) -> SignalWatch:
        if threading.current_thread() is threading.main_thread():
            own = (signal.SIG_DFL, signal.SIG_IGN, signal.default_int_handler)
            for number in self._numbers:
                if signal.getsignal(number) in own:
                    self._before[number] = signal.signal(number, self._handle)
        if self.interrupts:
            _ENTERED.append(self)
            threading.Thread(target=self._remind, name="certune-stop", daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        # A reminder on its way arrives before handlers change: that looks for signals first.
        with self._reminding:
            self._left.set()
        if self.interrupts:
            _ENTERED.remove(self)
        for number, handler in self._before.items():
            signal.signal(number, handler)

    @property
    def interrupts(self) -> bool:
        """Whether it can interrupt code that does not ask: it is entered in the main thread."""
        return signal.SIGINT in self._before

    def call(self, stop: Stop, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function that a stop ends in this thread, even if it does not ask.

        What it returns after it was interrupted, and has caught that, is not looked at.
        """
        outside = self._working_under
        try:
            try:
                self._working_under = stop
                found = function(*arguments)
                if self._interrupted is stop:
                    raise TimeIsUp
                return found
            finally:
                self._working_under = outside
        finally:
            # Again, as the interrupt may have come just before the line above.
            self._working_under = outside

    def pass_on(self) -> NoReturn:
        """Let the signal do what it would have done without a run; to be called after leaving."""
        if self.received == signal.SIGTERM:
            signal.raise_signal(signal.SIGTERM)
        raise KeyboardInterrupt

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self._reminded:
            self._reminded = False
            # A reminder of a stop inside may arrive when that has been left.
            if self._working_under is not None and self._working_under.is_set():
                self._interrupted = self._working_under
                raise TimeIsUp
            return
        if self._before[number] == signal.SIG_IGN:
            # Background jobs of a shell ignore Ctrl-C; time limits still end what does not ask.
            return
        arrived = time.perf_counter()
        if self.received is None:
            self.received, self._received_at = number, arrived
            self.wish.set()
        elif arrived > self._received_at + SAME_SIGNAL:
            signal.signal(number, self._before[number])
            signal.raise_signal(number)

    def _remind(self) -> None:
        """Interrupt the main thread for as long as it works in spite of the stop."""
        waiting_for, since = None, 0.0
        while not self._left.wait(LOOK):
            stop = self._working_under
            if stop is None or not stop.is_set():
                continue
            if stop is not waiting_for:
                waiting_for, since = stop, time.perf_counter()
            elif time.perf_counter() >= since + PATIENCE:
                with self._reminding:
                    works_on = not self._left.is_set() and self._working_under is stop
                    # One at a time: a further one, handled after this one has been, would be
                    # taken for a signal from outside.
                    if works_on and not self._reminded:
                        self._reminded = True
                        _interrupt_main()


def _interrupt_main() -> None:
    """Send the signal to the main thread, which ends what it waits for, such as a sleep."""
    main = threading.main_thread().ident
    if sys.platform != "win32" and main is not None:
        signal.pthread_kill(main, signal.SIGINT)
    else:  # looked at once the main thread runs Python code again
        _thread.interrupt_main(signal.SIGINT)


def interruptible(stop: Stop, function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function that a stop ends even if it does not ask, where that is possible.

    It is in the main thread while a :class:`SignalWatch` is entered, as soon as Python code runs.
    """
    if _ENTERED and threading.current_thread() is threading.main_thread():
        return _ENTERED[-1].call(stop, function, *arguments)
    return function(*arguments)
