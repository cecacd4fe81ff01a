"""Penalised logistic regression."""

import numpy as np
import numpy.typing as npt

from . import Stop

Reals = npt.NDArray[np.float64]

FACTOR_SLACK: float
MOST_REFINEMENTS: int

class Design:
    def __init__(self, rows: Reals, columns: Reals, weights: Reals, largest_row: float) -> None: ...

class Factor:
    def __init__(self, columns: Reals, inverse_norm: float) -> None: ...

def accurate_residual(
    design: Design, point: Reals, penalty: Reals, stop: Stop
) -> tuple[Reals, float, float, Reals]: ...
def distance_bound(nu: float, inverse_norm: float, largest_row: float) -> float: ...
def refined(
    design: Design,
    penalty: tuple[float, Reals, Reals],
    factor: Factor,
    start: Reals,
    moved: float,
    target: float,
    stop: Stop,
) -> tuple[Reals, float, Reals, Reals]: ...
def solved_near(
    design: Design,
    factor: Factor,
    linear_and_anchor: tuple[Reals, Reals],
    lams: Reals,
    starts: Reals,
    target: float,
    stop: Stop,
) -> tuple[Reals, Reals, Reals, Reals]: ...
def penalised_minimum(
    hessian: Reals,
    linear: Reals,
    start: Reals,
    weights: Reals,
    non_negative: bool,
    patience: tuple[int, float],
    stop: Stop,
) -> Reals: ...
def accurate_transposed_product(matrix: Reals, vector: Reals, stop: Stop) -> Reals: ...
