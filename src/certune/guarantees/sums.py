"""Suprema of signed sums of utilities, exact or bounded.

The Rademacher complexity only asks how large sums of ± utilities can be over all settings. One
parameter has the joint refinement, which knows. For several parameters, or smooth utilities, a
cover of the settings by cells with bounds of every utility on every cell is enough for an upper
bound, which stays a valid guarantee: such as the boxes of a branch-and-bound search.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from certune.dual.integers import INT64_LIMIT, IntArray
from certune.errors import InputError
from certune.guarantees.bounded_mean import exact_range


class SignedSums(Protocol):
    """Utilities of N instances, of which signed sums can be bounded over all settings."""

    @property
    def n_functions(self) -> int:
        """Number of instances N."""

    @property
    def scale(self) -> int:
        """Denominator of all integers below."""

    @property
    def rounding(self) -> int:
        """How much bounds may exceed the utilities by having been rounded: 0 or 1."""

    @property
    def lowest(self) -> IntArray:
        """Lower bound of each utility over all settings."""

    @property
    def highest(self) -> IntArray:
        """Upper bound of each utility over all settings."""

    @property
    def doubled_middles(self) -> IntArray:
        """Twice a centre of each utility, which must not depend on the other instances.

        Utilities differ from it by half of their range at most.
        """

    def signed_suprema(self, signs: npt.NDArray[np.int8]) -> tuple[IntArray, IntArray]:
        """Bound the supremum of the signed sum of each row of signs."""


@dataclass(frozen=True, eq=False)
class CellCover:
    """Bounds of every utility on every cell of a cover of the settings; made by `cover_of`.

    Attributes
    ----------
    lower, upper : ndarray of int64, shape (n_cells, n_functions)
        Bounds times `scale`.
    scale : int
        Common denominator.
    doubled_middles : ndarray of int64
        Twice the middle of the utility range, for every instance.
    """

    lower: IntArray
    upper: IntArray
    scale: int
    doubled_middles: IntArray

    @property
    def n_functions(self) -> int:
        """Number of instances."""
        return int(self.lower.shape[1])

    @property
    def rounding(self) -> int:
        """Bounds are rounded to the scale, outward."""
        return 1

    @property
    def lowest(self) -> IntArray:
        """Lower bound of each utility over all settings."""
        return np.asarray(self.lower.min(axis=0))

    @property
    def highest(self) -> IntArray:
        """Upper bound of each utility over all settings."""
        return np.asarray(self.upper.max(axis=0))

    def signed_suprema(self, signs: npt.NDArray[np.int8]) -> tuple[IntArray, IntArray]:
        """Bound sup over all settings of sum_i signs[k, i] u_i, times `scale`, for every row k.

        Parameters
        ----------
        signs : ndarray of int8
            Rows of -1 and +1, one column for each function.
        """
        plus, minus = (signs > 0).astype(np.int64), (signs < 0).astype(np.int64)
        lower = plus @ self.lower.T - minus @ self.upper.T
        upper = plus @ self.upper.T - minus @ self.lower.T
        return lower.max(axis=1), upper.max(axis=1)


def cover_of(
    lower: npt.ArrayLike, upper: npt.ArrayLike, utility_range: tuple[Any, Any] = (0, 1)
) -> CellCover:
    """Return the cover with given bounds, rounded outward to a fixed binary scale.

    Parameters
    ----------
    lower, upper : array-like of float or Fraction, shape (n_cells, n_functions)
        ``lower[c, i] <= u_i(t) <= upper[c, i]`` for every setting t of cell c; every setting lies
        in some cell, and no cell is empty. Cells may depend on all instances.
    utility_range : tuple, default=(0, 1)
        Smallest and largest utility of any instance.

    Examples
    --------
    >>> cover = cover_of([[0, 0.5], [0.5, 0]], [[0.25, 1], [1, 0.25]])
    >>> low, high = cover.signed_suprema(np.array([[1, 1], [1, -1]], dtype=np.int8))
    >>> (low / cover.scale).tolist(), (high / cover.scale).tolist()
    ([0.5, 0.25], [1.25, 1.0])
    """
    bounds = [np.asarray(given, dtype=object) for given in (lower, upper)]
    if bounds[0].ndim != 2 or bounds[0].shape != bounds[1].shape or bounds[0].size == 0:
        raise InputError(
            "a cover needs two tables of bounds with a row for each cell and a column for each "
            f"instance, got the shapes {bounds[0].shape} and {bounds[1].shape}"
        )
    if not (bounds[0] <= bounds[1]).all():
        raise InputError("every lower bound of a cover must be at most its upper bound")
    low, high = exact_range(utility_range)
    if not (low <= bounds[0].min() and bounds[1].max() <= high):
        raise InputError(f"the bounds of a cover must lie in the utility range [{low}, {high}]")
    largest = max(abs(low), abs(high))
    room = INT64_LIMIT // (4 * bounds[0].shape[1])
    scale = 1 << (int(room / (largest + 1)).bit_length() - 1)
    middles = np.full(bounds[0].shape[1], math.floor((low + high) * scale))
    return CellCover(_rounded(bounds[0], scale, 1), _rounded(bounds[1], scale, -1), scale, middles)


def _rounded(table: npt.NDArray[Any], scale: int, sign: int) -> IntArray:
    """Scaled entries, rounded down for sign 1 and up for sign -1."""
    entries = [sign * math.floor(sign * Fraction(entry) * scale) for entry in table.flat]
    return np.array(entries, dtype=np.int64).reshape(table.shape)
