"""A word every two seconds about how far something long is."""

from __future__ import annotations

import sys
from collections.abc import Callable

from certune.deadline import now

_PERIOD = 2.0


class Words:
    """Says on stderr how far it is, if that was not said for a while.

    Parameters
    ----------
    how_far : callable
        Returns the words, to which the seconds since the beginning are added.
    is_silent : bool
        Whether nobody wants to hear them.
    """

    def __init__(self, how_far: Callable[[], str], is_silent: bool) -> None:
        self._how_far, self._is_silent = how_far, is_silent
        self._said_at = self._began = now()

    def __call__(self) -> None:
        """Say it if it is time to."""
        if self._is_silent or now() - self._said_at < _PERIOD:
            return
        self._said_at = now()
        seconds = self._said_at - self._began
        print(f"{self._how_far()}, {seconds:.0f} s", file=sys.stderr, flush=True)
