"""Functions of a parameter: how the utility of an algorithm depends on its setting."""

from __future__ import annotations

from certune.dual.aggregation import aggregated
from certune.dual.cells import CellMap
from certune.dual.function import DualFunction
from certune.dual.piecewise import PiecewiseFunction
from certune.dual.polynomial import PiecewisePolynomial
from certune.dual.sums import mean, sum_of

__all__ = [
    "CellMap",
    "DualFunction",
    "PiecewiseFunction",
    "PiecewisePolynomial",
    "aggregated",
    "mean",
    "sum_of",
]
