"""What all samplers share: the source of randomness and the checks of their arguments."""

from __future__ import annotations

import operator
from typing import Any, TypeAlias

import numpy as np

from certune.errors import InputError

RandomState: TypeAlias = int | np.random.Generator | None


def generator(random_state: Any) -> np.random.Generator:
    """The source of randomness that the user asked for, or raise."""
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError):
        raise InputError(
            f"random_state must be a non-negative integer, a numpy Generator or None, got "
            f"{random_state!r}: pass for example random_state=0"
        ) from None


def check_count(name: str, value: Any, low: int, high: int | None = None) -> None:
    """Refuse what is no integer from low to high."""
    try:
        count = operator.index(value)
    except TypeError:
        count = low - 1
    if isinstance(value, bool) or count < low or (high is not None and count > high):
        wanted = f"at least {low}" if high is None else f"from {low} to {high}"
        raise InputError(f"{name} must be an integer {wanted}, got {value!r}")
