"""Random numbers that depend on the seed and the round alone.

A counter-based generator is set to a place that belongs to the round, so that a run which was
interrupted continues with the same numbers as one which was not.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from certune.errors import ParameterError


class RoundRandomness:
    """Streams of random numbers, one for each round and purpose.

    Parameters
    ----------
    random_state : int, numpy Generator or None
        The seed; drawn from a generator, or from the operating system if None.
    """

    DRAW, QUESTIONS = 0, 1

    def __init__(self, random_state: int | np.random.Generator | None) -> None:
        self.seed = _seed(random_state)
        key = np.random.SeedSequence(self.seed).generate_state(2, np.uint64)
        self._bits = np.random.Philox(key=key)
        self._start: Any = self._bits.state
        self._generator = np.random.Generator(self._bits)

    def generator(self, number: int, purpose: int) -> np.random.Generator:
        """Return a generator at the start of a stream; it is valid until the next call."""
        # A stream has 2**128 numbers before it would meet the next one.
        self._start["state"]["counter"][:] = (0, 0, purpose, number)
        self._bits.state = self._start
        return self._generator


def _seed(random_state: int | np.random.Generator | None) -> int:
    if random_state is None:
        entropy = np.random.SeedSequence().entropy
        assert isinstance(entropy, int)
        return entropy
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63))
    if isinstance(random_state, bool) or not isinstance(random_state, (int, np.integer)):
        raise ParameterError(
            f"random_state must be a whole number, a numpy Generator or None, got {random_state!r}"
        )
    if random_state < 0:
        raise ParameterError(f"random_state must not be negative, got {random_state!r}")
    return int(random_state)
