"""What a command is busy with when it is not tuning: reading, judging, drawing."""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import click

from certune.tuning.displays import Moment, fitting_display
from certune.tuning.log import BEAT, PATIENCE, spoken_seconds


@contextmanager
def stage(words: str, silent: bool) -> Iterator[None]:
    """Say on stderr what is done inside, once it takes longer than two seconds.

    Parameters
    ----------
    words : str
        What is done.
    silent : bool
        Whether to say nothing.
    """
    ended = threading.Event()
    started = time.perf_counter()

    def speak() -> None:
        if ended.wait(PATIENCE):
            return
        display = fitting_display()
        display.open(f"certune: {words}", "")
        while not ended.wait(BEAT):
            elapsed = time.perf_counter() - started
            told = f"{words}, {spoken_seconds(elapsed)}"
            display.beat(Moment(elapsed, f"certune: {told}", None, told))
        display.close("")

    speaker = threading.Thread(target=speak, name="certune-stage", daemon=True)
    if not silent:
        speaker.start()
    try:
        yield
    finally:
        ended.set()
        if not silent:
            speaker.join()


@contextmanager
def warnings_in_words(silent: bool) -> Iterator[None]:
    """Show warnings on stderr as sentences, without the lines of code that they come from."""
    with warnings.catch_warnings():

        def show(message: Warning | str, *details: object, **others: object) -> None:
            if not silent:
                click.echo(f"warning: {message}", err=True)

        warnings.showwarning = show
        yield
