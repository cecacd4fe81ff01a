"""What the user waits for when nothing is tuned: reading, checking, judging, drawing."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from certune.displays import BEAT, SILENCE, Moment, fitting_display, spoken_seconds


class _Stage:
    """What is being done, in the words of whoever does it."""

    def __init__(self) -> None:
        self._words: list[str] = []
        self.over = threading.Event()
        self._started = time.perf_counter()

    @contextmanager
    def saying(self, words: str) -> Iterator[Callable[[str], None]]:
        """Have words for what is done inside; yields what takes others."""
        self._words.append(words)
        place = len(self._words) - 1

        def say(words: str) -> None:
            self._words[place] = words

        try:
            yield say
        finally:
            self._words.pop()

    def speak(self) -> None:
        """Say what is done as soon as nothing has been said for long, until it is over."""
        if SILENCE.outlast(self.over):
            return
        display = fitting_display()
        display.open(f"certune: {self._now}", "")
        while not self.over.wait(BEAT):
            elapsed = time.perf_counter() - self._started
            told = f"{self._now}, {spoken_seconds(elapsed)}"
            display.beat(Moment(elapsed, f"certune: {told}", None, told))
        display.close("")

    @property
    def _now(self) -> str:
        return self._words[-1]


_STAGE: ContextVar[_Stage | None] = ContextVar("certune_stage", default=None)


@contextmanager
def stage(words: str, quiet: bool = False) -> Iterator[Callable[[str], None]]:
    """Say on stderr what is done inside, once nothing has been said for two seconds.

    Parameters
    ----------
    words : str
        What is done.
    quiet : bool
        Whether to say nothing, nor let anything inside speak.

    Yields
    ------
    callable
        Takes other words, once what is done has changed.

    Notes
    -----
    Inside of another stage, it only has words of its own for a part of what is done.
    """
    outer = _STAGE.get()
    with SILENCE.conversation(quiet):
        if outer is not None or SILENCE.is_wanted:
            part = outer or _Stage()
            with part.saying(words) as say:
                yield say
            return
        own = _Stage()
        with own.saying(words) as say:
            speaker = threading.Thread(target=own.speak, name="certune-stage", daemon=True)
            token = _STAGE.set(own)
            speaker.start()
            try:
                yield say
            finally:
                own.over.set()
                _STAGE.reset(token)
                speaker.join()
