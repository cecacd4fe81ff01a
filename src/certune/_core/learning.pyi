"""Exponential weights, windows, sums."""

import numpy as np
import numpy.typing as npt

from . import Stop

Reals = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

def fullest_window(
    entries: tuple[Reals, Integers],
    exits: tuple[Reals, Integers],
    n_owners: int,
    width: float,
    closed: bool,
    stop: Stop,
) -> tuple[int, float]: ...

class StepWeights:
    def __init__(self, low: float, high: float, rate: float) -> None: ...
    @property
    def n_pieces(self) -> int: ...
    @property
    def rate(self) -> float: ...
    @property
    def top(self) -> float: ...
    @property
    def mass(self) -> float: ...
    def set_rate(self, rate: float) -> None: ...
    def add(self, edges: Reals, values: Reals) -> None: ...
    def take_in(self, edges: Reals, lower: Reals, upper: Reals) -> tuple[float, float]: ...
    def cell_masses(self, edges: Reals) -> Reals: ...
    def draw(self, which: float, where: float) -> float: ...
    def pieces(self) -> tuple[Reals, Reals]: ...

class JointSteps:
    def __init__(
        self,
        first: tuple[Integers, Integers],
        function: Integers,
        steps: tuple[Integers, Integers],
        opening: Integers,
        complete: Flags,
    ) -> None: ...
    def signed_suprema(
        self, is_setting: Flags, weights: Integers, stop: Stop
    ) -> tuple[Integers, Integers]: ...
    def weighted_optima(
        self, begins: Reals, high: float, weights: Integers, stop: Stop
    ) -> tuple[Integers, Reals, Reals, Integers, Integers, Integers]: ...
