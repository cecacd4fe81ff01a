"""Sums of Chebyshev polynomials."""

import numpy as np
import numpy.typing as npt

from . import Stop

Reals = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Polynomials = tuple[Reals, Integers]

def evaluate(polynomials: Polynomials, rows: Integers, points: Reals, stop: Stop) -> Reals: ...
def add_samples(
    polynomials: Polynomials,
    cells: tuple[Integers, Reals, Reals],
    values: Reals,
    n_nodes: Integers,
    stop: Stop,
) -> None: ...
def interpolate(values: Reals, n_nodes: Integers, stop: Stop) -> Reals: ...
