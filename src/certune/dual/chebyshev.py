"""Polynomials in Chebyshev form on intervals, with bounds for everything that is rounded.

:class:`PolynomialPieces` is the plain data behind :class:`certune.dual.PiecewisePolynomial`. On
piece i the function is ``sum_k c[i, k] T_k(s)`` up to ``errors[i]``, where s runs from -1 to 1 as
t, or its logarithm, runs over the piece.

Bounds of rounding errors, with u = 2**-53. The recurrence of Clenshaw makes a local error of at
most 8 u B_k in step k, with B_k = sum_{j >= k} (j - k + 1) |c_j|, and |U_k| <= k + 1 carries it
into the result: in all 8 u sum_j C(j + 3, 3) |c_j| <= 8 u sum_j (j + 1)^3 |c_j|. A coordinate s
is known up to 24 u, because t - start, the quotient and the logarithms have relative errors of a
few u each; |p'| <= sum_j j^2 |c_j| carries it into the value. Both together are `slacks`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from certune.checks import as_array
from certune.dual.integers import FloatArray
from certune.dual.scales import SCALES
from certune.errors import InputError
from certune.kernels.numeric import ChebyshevRows, add_samples, evaluate, interpolate

UNIT = 2.0**-53
# Bounds are themselves computed in floats, from non-negative terms.
ROUNDED_UP = 1.0 + 2.0**-30

RowArray = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class PolynomialPieces:
    """Closed pieces with a polynomial and its error each, and bounds in the gaps between them.

    Where two pieces touch there is no gap; its bounds are then (inf, -inf), the empty interval.
    """

    starts: FloatArray
    stops: FloatArray
    coefficients: FloatArray
    errors: FloatArray
    gap_lower: FloatArray
    gap_upper: FloatArray
    scale: str

    @cached_property
    def n_terms(self) -> RowArray:
        """Number of coefficients up to the last that is not zero, at least one."""
        return terms_of(self.coefficients)

    @property
    def polynomials(self) -> ChebyshevRows:
        """The polynomials, as the compiled core takes them."""
        return ChebyshevRows(self.coefficients, self.n_terms)

    @cached_property
    def sizes(self) -> FloatArray:
        """Bounds of the absolute values of the polynomials."""
        sizes: FloatArray = np.abs(self.coefficients).sum(axis=1) * ROUNDED_UP
        return sizes

    @cached_property
    def slacks(self) -> FloatArray:
        """Bounds of the rounding error of a value at a point of the piece."""
        weights = np.arange(1.0, self.coefficients.shape[1] + 1.0) ** 3
        slacks: FloatArray = 32 * UNIT * (np.abs(self.coefficients) @ weights) * ROUNDED_UP
        return slacks

    @cached_property
    def resolutions(self) -> FloatArray:
        """Up to what the function is known after an expansion on a part of the piece."""
        slacks = self.slacks + UNIT * self.sizes
        known: FloatArray = self.errors + _expansion_rounding(self.n_terms, slacks, self.sizes)
        return known * ROUNDED_UP

    def local(self, rows: RowArray, t: FloatArray) -> FloatArray:
        """Return the coordinates s of points of the given pieces."""
        start, stop = self.starts[rows], self.stops[rows]
        share = np.full(np.broadcast_shapes(start.shape, t.shape), 0.5)
        wide = stop > start
        with np.errstate(invalid="ignore"):
            if self.scale == "linear":
                np.divide(t - start, stop - start, out=share, where=wide)
            else:
                np.divide(
                    np.log1p((t - start) / start),
                    np.log1p((stop - start) / start),
                    out=share,
                    where=wide,
                )
        return np.clip(2.0 * share - 1.0, -1.0, 1.0)

    def places(self, rows: RowArray, s: FloatArray) -> FloatArray:
        """Return points t of the given pieces at the coordinates s, rounded."""
        start, stop = self.starts[rows], self.stops[rows]
        share = 0.5 * s + 0.5
        if self.scale == "linear":
            t = start + share * (stop - start)
        else:
            t = start + start * np.expm1(share * np.log1p((stop - start) / start))
        t = np.where(s == -1.0, start, np.where(s == 1.0, stop, t))
        return np.clip(t, start, stop)

    def values(self, rows: RowArray, t: FloatArray) -> FloatArray:
        """Return the values of the polynomials of given pieces, rounded; see `slacks`."""
        return evaluate(self.polynomials, rows, self.local(rows, t))


def terms_of(coefficients: FloatArray) -> RowArray:
    """Return the number of coefficients of each row up to the last that is not zero, or one."""
    if coefficients.shape[0] == 0:
        return np.zeros(0, dtype=np.int64)
    backwards = coefficients[:, ::-1] != 0.0
    first = np.argmax(backwards, axis=1)
    count = np.where(backwards.any(axis=1), coefficients.shape[1] - first, 1)
    return count.astype(np.int64)


@dataclass(frozen=True)
class Expansion:
    """Polynomials on cells, in their own coordinates, with all errors so far."""

    coefficients: FloatArray
    errors: FloatArray

    @property
    def spreads(self) -> FloatArray:
        """Bounds of how far the polynomials stray from their constant coefficients."""
        spreads: FloatArray = np.abs(self.coefficients[:, 1:]).sum(axis=1) * ROUNDED_UP
        return spreads

    @property
    def bounds(self) -> tuple[FloatArray, FloatArray]:
        """Lower and upper bounds of the functions on the cells, rounded outward."""
        middle = self.coefficients[:, 0]
        reach = (self.spreads + self.errors + 2 * UNIT * np.abs(middle)) * ROUNDED_UP
        return middle - reach, middle + reach


class Expander:
    """Sum of polynomials on cells, each a part of one piece of every summand.

    Parameters
    ----------
    n_cells : int
        Number of cells.
    """

    def __init__(self, n_cells: int) -> None:
        self._parts: list[tuple[PolynomialPieces, RowArray, FloatArray, FloatArray]] = []
        self._n_nodes = np.ones(n_cells, dtype=np.int64)

    def add(
        self, pieces: PolynomialPieces, rows: RowArray, left: FloatArray, right: FloatArray
    ) -> None:
        """Add a summand: cell i is ``[left[i], right[i]]`` of its piece ``rows[i]``.

        A negative row leaves the cell out.
        """
        rows = np.ascontiguousarray(rows, dtype=np.int64)
        terms = np.where(rows >= 0, pieces.n_terms[rows], 1)
        self._n_nodes = np.maximum(self._n_nodes, terms)
        self._parts.append((pieces, rows, left, right))

    def expand(self) -> Expansion:
        """Expand the sums; the polynomials have the degree of their largest summand at most."""
        n_cells, widest = self._n_nodes.size, int(self._n_nodes.max(initial=1))
        samples = np.zeros((n_cells, widest))
        errors, slacks, sizes = np.zeros(n_cells), np.zeros(n_cells), np.zeros(n_cells)
        for pieces, rows, left, right in self._parts:
            add_samples(samples, self._n_nodes, pieces.polynomials, (rows, left, right))
            present = rows >= 0
            errors += np.where(present, pieces.errors[rows], 0.0)
            slacks += np.where(present, pieces.slacks[rows], 0.0)
            sizes += np.where(present, pieces.sizes[rows], 0.0)
        rounding = _expansion_rounding(
            self._n_nodes, slacks + len(self._parts) * UNIT * sizes, sizes
        )
        coefficients = interpolate(samples, self._n_nodes)
        coefficients, dropped = _without_noise(coefficients, self._n_nodes * UNIT * sizes)
        return Expansion(coefficients, (errors + rounding + dropped) * ROUNDED_UP)


def _expansion_rounding(n_nodes: RowArray, slacks: FloatArray, sizes: FloatArray) -> FloatArray:
    """Bound the rounding error of expansions with n nodes from samples with the given slacks.

    A polynomial through wrong values is wrong by the Lebesgue constant, which is at most
    1 + log n, times the error of the values. Every coefficient is 2 / n times a sum of n products
    of a value, at most `sizes`, and a cosine known up to 8 u.
    """
    n = n_nodes.astype(np.float64)
    rounding: FloatArray = (1.0 + np.log(n)) * slacks + 2.0 * n * (n + 11.0) * UNIT * sizes
    return rounding


def expand(
    pieces: PolynomialPieces, rows: RowArray, left: FloatArray, right: FloatArray
) -> Expansion:
    """Expand polynomials on parts ``[left, right]`` of their pieces."""
    expander = Expander(rows.size)
    expander.add(pieces, rows, left, right)
    return expander.expand()


def _without_noise(coefficients: FloatArray, noise: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Drop last coefficients that add up to no more than the noise; return what was dropped."""
    tails = np.cumsum(np.abs(coefficients[:, ::-1]), axis=1)[:, ::-1]
    small = tails <= noise[:, None]
    small[:, 0] = False
    dropped = np.where(small, tails, 0.0).max(axis=1, initial=0.0)
    kept = np.where(small, 0.0, coefficients)
    return trimmed(kept), dropped


def trimmed(coefficients: FloatArray) -> FloatArray:
    """Return the matrix without columns of zeros at its end."""
    width = int(terms_of(coefficients).max(initial=1))
    return np.ascontiguousarray(coefficients[:, :width])


def checked(pieces: PolynomialPieces) -> PolynomialPieces:
    """Return validated pieces in read-only arrays, or raise :class:`InputError`."""
    starts, stops = _floats(pieces.starts, "starts", 1), _floats(pieces.stops, "stops", 1)
    coefficients = _floats(pieces.coefficients, "coefficients", 2)
    errors = _floats(pieces.errors, "errors", 1)
    lower = _floats(pieces.gap_lower, "gap_lower", 1)
    upper = _floats(pieces.gap_upper, "gap_upper", 1)
    sizes = (starts.size, stops.size, len(coefficients), errors.size)
    gaps = (lower.size, upper.size)
    if set(sizes) != {starts.size} or set(gaps) != {starts.size - 1} or coefficients.size == 0:
        raise InputError(
            "A function of m >= 1 pieces needs m starts, stops, rows of coefficients and errors "
            f"and m - 1 gap bounds, got {sizes} and {gaps}."
        )
    if pieces.scale not in SCALES:
        raise InputError(f"scale must be one of {SCALES}, got {pieces.scale!r}.")
    _check_places(starts, stops, pieces.scale)
    if not (np.isfinite(coefficients).all() and np.isfinite(errors).all() and errors.min() >= 0):
        raise InputError("coefficients must be finite, and errors finite and >= 0.")
    if (coefficients[starts == stops, 1:] != 0.0).any():
        raise InputError("A piece that is a single point needs a constant polynomial.")
    touching = starts[1:] == stops[:-1]
    if not (np.isfinite(lower) & np.isfinite(upper) & (lower <= upper) | touching).all():
        raise InputError("Every gap of positive width needs finite gap_lower <= gap_upper.")
    lower, upper = np.where(touching, np.inf, lower), np.where(touching, -np.inf, upper)
    coefficients = trimmed(coefficients)
    for array in (starts, stops, coefficients, errors, lower, upper):
        array.setflags(write=False)
    return PolynomialPieces(starts, stops, coefficients, errors, lower, upper, pieces.scale)


def _check_places(starts: FloatArray, stops: FloatArray, scale: str) -> None:
    ordered = (starts <= stops).all() and (stops[:-1] <= starts[1:]).all()
    if not (ordered and np.isfinite(starts[0]) and np.isfinite(stops[-1])):
        raise InputError("Pieces must be finite intervals in order, start <= stop <= next start.")
    # Two touching points, or a point at the end of a piece, would state the same place twice.
    if ((starts[1:] == stops[:-1]) & ((starts == stops)[1:] | (starts == stops)[:-1])).any():
        raise InputError("A piece that is a single point must not touch another piece.")
    if scale == "log" and starts[0] <= 0.0:
        raise InputError(f"A logarithmic scale needs a positive domain, got low={starts[0]!r}.")


def _floats(values: npt.ArrayLike, what: str, n_dimensions: int) -> FloatArray:
    # Adding zero copies, and turns -0.0 into 0.0, so that equal functions have equal bytes.
    array = as_array(what, values) + 0.0
    if array.ndim != n_dimensions:
        raise InputError(f"{what} must have {n_dimensions} dimension(s), got {array.shape}.")
    return array
