"""Cluster trees on boxes of parameters."""

import numpy as np
import numpy.typing as npt

from . import Stop

Reals = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Codes = npt.NDArray[np.uint64]

class DecisionTree:
    @property
    def complete(self) -> bool: ...
    @property
    def root(self) -> int: ...
    @property
    def leaves(self) -> Integers: ...
    @property
    def labels(self) -> Integers: ...
    @property
    def common(self) -> Integers: ...
    @property
    def movements(self) -> Reals: ...
    def set_values(self, values: Integers) -> None: ...
    def look(
        self, root: int, intervals: Reals, vertices: Reals
    ) -> tuple[int, int, int, int, bool, Reals]: ...
    def linear(
        self, root: int, intervals: Reals, vertices: Reals
    ) -> tuple[int, Reals, Integers]: ...

class Problem:
    def __init__(
        self,
        data: Reals,
        twins: Integers,
        products: bool,
        kind: int,
        cut: tuple[int, bool],
    ) -> None: ...
    def follow(
        self,
        vertices: Reals,
        power: tuple[float, float, bool, float],
        errors: tuple[float, float],
        ties: tuple[Codes, Integers, Codes],
        merges: Integers,
        limits: tuple[int, int],
        stop: Stop,
    ) -> DecisionTree: ...
