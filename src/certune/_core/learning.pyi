"""Exponential weights, windows, sums."""

import numpy as np
import numpy.typing as npt

from . import Stop

Reals = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

def fullest_window(
    entries: tuple[Reals, Integers],
    exits: tuple[Reals, Integers],
    n_owners: int,
    width: float,
    closed: bool,
    stop: Stop,
) -> tuple[int, float]: ...
