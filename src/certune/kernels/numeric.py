"""Sums of Chebyshev polynomials, evaluated and expanded anew on parts of their intervals.

Row r of a matrix of coefficients is the polynomial ``sum_k c[r, k] T_k(s)`` on -1 <= s <= 1, of
which the first ``n_terms[r]`` coefficients count. Rounding errors are bounded in
:mod:`certune.dual.chebyshev`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy.typing as npt

from certune._core import numeric as core
from certune.deadline import current_stop
from certune.kernels.arrays import Integers, Reals, integers, reals


class ChebyshevRows(NamedTuple):
    """Polynomials by their coefficients.

    Attributes
    ----------
    coefficients : float64 array of shape (n_rows, n_columns)
    n_terms : int64 array of shape (n_rows,)
        From 1 to n_columns.
    """

    coefficients: Reals
    n_terms: Integers


def _plain(polynomials: ChebyshevRows) -> tuple[Reals, Integers]:
    return reals(polynomials.coefficients), integers(polynomials.n_terms)


def evaluate(polynomials: ChebyshevRows, rows: npt.ArrayLike, points: npt.ArrayLike) -> Reals:
    """Return the value of polynomial ``rows[i]`` at ``points[i]``, for every i."""
    return core.evaluate(_plain(polynomials), integers(rows), reals(points), current_stop())


def add_samples(
    samples: Reals,
    n_nodes: npt.ArrayLike,
    polynomials: ChebyshevRows,
    cells: tuple[npt.ArrayLike, npt.ArrayLike, npt.ArrayLike],
) -> None:
    """Add the values of polynomials at the Chebyshev points of parts of their intervals.

    Parameters
    ----------
    samples : float64 array of shape (n_cells, n_columns)
        Contiguous; ``samples[i, :n_nodes[i]]`` is increased in place.
    n_nodes : int64 array of shape (n_cells,)
    polynomials : ChebyshevRows
    cells : (int64 array, float64 array, float64 array), each of shape (n_cells,)
        Number of a polynomial, left and right end in its coordinate. A cell with the number -1 is
        passed over.
    """
    rows, left, right = cells
    own = integers(rows), reals(left), reals(right)
    core.add_samples(_plain(polynomials), own, samples, integers(n_nodes), current_stop())


def interpolate(samples: npt.ArrayLike, n_nodes: npt.ArrayLike) -> Reals:
    """Return the coefficients (n_cells, n_columns) of the polynomials through samples."""
    return core.interpolate(reals(samples), integers(n_nodes), current_stop())
