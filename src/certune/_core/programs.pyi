"""Scores of programs along a line."""

import numpy as np
import numpy.typing as npt

from . import Stop

Reals = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Coefficients = tuple[float, float, float, float, float, float]

def crossing(first: Coefficients, second: Coefficients) -> tuple[float, float, int] | None: ...
def sign_at(first: Coefficients, second: Coefficients, t: float) -> int: ...
def kinetic_order(
    lines: Reals, forms: Integers, stretch: tuple[float, float, int], stop: Stop
) -> tuple[bool, Integers, Reals, Integers, float]: ...

class Tape:
    """An expression as a list of steps."""

    def __init__(self, steps: Integers, constants: Reals, n_parameters: int) -> None: ...
    def on_boxes(self, boxes: Reals, stop: Stop) -> Reals: ...
    def on_interval(self, low: float, high: float) -> tuple[float, float, float, float]: ...
