"""Where random signs, folds, resamples and splits come from."""

from __future__ import annotations

import numpy as np

from certune.errors import ParameterError

# Resamples or splits of one analysis; each needs a row of as many numbers as instances.
MOST_DRAWS = 10**6

RandomState = int | np.random.Generator


def generator(random_state: object) -> np.random.Generator:
    """Return the generator of a seed, the generator itself, or for None an unpredictable one.

    Raises
    ------
    ParameterError
        For anything else.
    """
    if random_state is None:
        return np.random.default_rng()
    if isinstance(random_state, np.random.Generator):
        return random_state
    is_seed = isinstance(random_state, (int, np.integer)) and not isinstance(random_state, bool)
    if is_seed and int(random_state) >= 0:  # type: ignore[call-overload]
        return np.random.default_rng(int(random_state))  # type: ignore[call-overload]
    raise ParameterError(
        f"random_state must be a whole number >= 0 or a numpy Generator, got {random_state!r}"
    )
