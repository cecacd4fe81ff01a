"""The arrays behind a piecewise constant function, and their canonical form.

:class:`Pieces` is the plain data on which sums, cuts and level sets work; what the arrays mean
is told at :class:`certune.dual.PiecewiseFunction`, which wraps them for users.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable
from fractions import Fraction
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from certune.checks import as_array
from certune.dual.integers import (
    FloatArray,
    IntArray,
    as_integers,
    common_divisor,
    compact,
    divided,
    over_common_denominator,
    times,
)
from certune.errors import InputError, UndecidedError


class Pieces(NamedTuple):
    """Closed pieces with exact values, and bounds in the open gaps between them."""

    starts: FloatArray
    stops: FloatArray
    numerators: IntArray
    gap_lower: IntArray
    gap_upper: IntArray
    denominator: int


def checked(
    starts: npt.ArrayLike,
    stops: npt.ArrayLike,
    numerators: Iterable[Any],
    gap_lower: Iterable[Any],
    gap_upper: Iterable[Any],
    denominator: int,
) -> Pieces:
    """Return validated pieces, or raise :class:`InputError`. O(m) for m pieces."""
    first, last = _as_floats(starts, "starts"), _as_floats(stops, "stops")
    values = as_integers(numerators, "numerators")
    lower, upper = as_integers(gap_lower, "gap_lower"), as_integers(gap_upper, "gap_upper")
    sizes = (first.size, last.size, values.size, lower.size + 1, upper.size + 1)
    if first.size == 0 or min(sizes) != max(sizes):
        raise InputError(
            "A function of m >= 1 pieces needs m starts, stops and numerators and m - 1 gap "
            f"bounds, got {first.size}, {last.size}, {values.size} and {lower.size}, {upper.size}."
        )
    _check_order(first, last)
    if not (lower <= upper).all():
        worst = int(np.argmax(lower > upper))
        raise InputError(
            f"Gap {worst} needs lower <= upper, got the numerators {lower[worst]}, {upper[worst]}."
        )
    try:
        bottom = operator.index(denominator)
    except TypeError as error:
        raise InputError(f"denominator must be an integer, got {denominator!r}.") from error
    if bottom < 1:
        raise InputError(f"denominator must be positive, got {bottom}.")
    return Pieces(first, last, values, lower, upper, bottom)


def _as_floats(values: npt.ArrayLike, what: str) -> FloatArray:
    # Adding zero copies, and turns -0.0 into 0.0, so that equal functions have equal bytes.
    array = as_array(what, values) + 0.0
    if array.ndim != 1:
        raise InputError(f"{what} must be one-dimensional, got the shape {array.shape}.")
    return array


def _check_order(starts: FloatArray, stops: FloatArray) -> None:
    if not (starts <= stops).all():
        worst = int(np.argmin(starts <= stops))
        raise InputError(
            f"Piece {worst} needs start <= stop, got [{starts[worst]}, {stops[worst]}]."
        )
    if not (stops[:-1] < starts[1:]).all():
        worst = int(np.argmin(stops[:-1] < starts[1:]))
        raise InputError(
            f"Piece {worst} must stop before piece {worst + 1} starts, got {stops[worst]} and "
            f"{starts[worst + 1]}; between two pieces lies a gap of positive width."
        )
    # Ordered numbers between finite ends are finite.
    if not (math.isfinite(starts[0]) and math.isfinite(stops[-1])):
        raise InputError(f"The domain must be finite, got [{starts[0]}, {stops[-1]}].")


def canonical(pieces: Pieces) -> Pieces:
    """Return the canonical form of valid pieces, in read-only arrays. O(m) for m pieces.

    Gaps across which the function is known to be constant are closed, the fraction is in lowest
    terms, and integers are int64 where they fit. Equal knowledge has equal arrays.
    """
    starts, stops, numerators, lower, upper, denominator = _joined(pieces)
    block = compact(np.concatenate((numerators, lower, upper)))
    divisor = common_divisor(block, denominator)
    if divisor > 1:
        block = compact(divided(block, divisor))
    for array in (starts, stops, block):
        array.setflags(write=False)
    m = starts.size
    return Pieces(
        starts,
        stops,
        block[:m],
        block[m : 2 * m - 1],
        block[2 * m - 1 :],
        denominator // divisor,
    )


def _joined(pieces: Pieces) -> Pieces:
    starts, stops, numerators, lower, upper, denominator = pieces
    closed = lower == upper
    if not closed.any():
        return pieces
    closed &= (numerators[:-1] == lower) & (numerators[1:] == lower)
    if not closed.any():
        return pieces
    kept = ~closed
    opens, ends = np.append(True, kept), np.append(kept, True)
    return Pieces(
        starts[opens], stops[ends], numerators[opens], lower[kept], upper[kept], denominator
    )


def multiplied(pieces: Pieces, top: int, bottom: int) -> Pieces:
    """Return the function times ``top / bottom``, `bottom` positive. O(m) for m pieces."""
    lower, upper = times(pieces.gap_lower, top), times(pieces.gap_upper, top)
    if top < 0:
        lower, upper = upper, lower
    numerators = times(pieces.numerators, top)
    return pieces._replace(
        numerators=numerators,
        gap_lower=lower,
        gap_upper=upper,
        denominator=pieces.denominator * bottom,
    )


def restricted(pieces: Pieces, low: float, high: float) -> Pieces:
    """Return the function on ``[low, high]``, within its domain. O(m) for m pieces.

    Raises :class:`UndecidedError` if an end lies in a gap in which the value is not known.
    """
    first = int(np.searchsorted(pieces.starts, low, side="right")) - 1
    last = int(np.searchsorted(pieces.stops, high, side="left"))
    starts, stops = pieces.starts[first : last + 1].copy(), pieces.stops[first : last + 1].copy()
    numerators = pieces.numerators[first : last + 1].copy()
    if low > pieces.stops[first]:
        stops[0], numerators[0] = low, _gap_value(pieces, first, low)
    if high < pieces.starts[last]:
        starts[-1], numerators[-1] = high, _gap_value(pieces, last - 1, high)
    # Two ends in one gap leave two points of the same known value, which canonical form joins.
    starts[0], stops[-1] = low, high
    lower, upper = pieces.gap_lower[first:last], pieces.gap_upper[first:last]
    return Pieces(starts, stops, numerators, lower, upper, pieces.denominator)


def _gap_value(pieces: Pieces, gap: int, t: float) -> Any:
    if pieces.gap_lower[gap] != pieces.gap_upper[gap]:
        raise UndecidedError(
            f"The function cannot be cut at {t!r}, where its value is not known; choose a point "
            f"outside the gap ({pieces.stops[gap]!s}, {pieces.starts[gap + 1]!s})."
        )
    return pieces.gap_lower[gap]


def superlevel_intervals(pieces: Pieces, numerator: int) -> FloatArray:
    """Return the intervals on which the function is known to reach a level. O(m) for m pieces.

    Pieces at or above ``numerator / denominator`` are joined across gaps whose lower bound is
    at or above it too. The result has one row (start, stop) for each interval.
    """
    reached = pieces.numerators >= numerator
    bridged = reached[:-1] & reached[1:] & (pieces.gap_lower >= numerator)
    opens, ends = reached & ~np.append(False, bridged), reached & ~np.append(bridged, False)
    return np.column_stack((pieces.starts[opens], pieces.stops[ends]))


def integral_bounds(pieces: Pieces) -> tuple[Fraction, Fraction]:
    """Return exact bounds of the integral over the domain. O(m) for m pieces."""
    ends, scale = over_common_denominator(
        np.column_stack((pieces.starts, pieces.stops)).ravel().tolist(), "ends of pieces"
    )
    widths = [stop - start for start, stop in pairwise(ends)]
    on_pieces = sum(map(operator.mul, widths[::2], pieces.numerators.tolist()))
    lower = on_pieces + sum(map(operator.mul, widths[1::2], pieces.gap_lower.tolist()))
    upper = on_pieces + sum(map(operator.mul, widths[1::2], pieces.gap_upper.tolist()))
    scale *= pieces.denominator
    return Fraction(lower, scale), Fraction(upper, scale)


def same(first: Pieces, second: Pieces) -> bool:
    """Return whether two canonical forms are equal. O(m) for m pieces."""
    arrays = zip(first[:5], second[:5], strict=True)
    return first.denominator == second.denominator and all(
        np.array_equal(left, right) for left, right in arrays
    )


def check_canonical(pieces: Pieces) -> None:
    """Raise AssertionError if pieces are not valid, canonical and read-only. O(m)."""
    try:
        expected = canonical(checked(*pieces))
    except InputError as error:
        raise AssertionError(f"Invalid pieces: {error}") from error
    if not same(pieces, expected):
        raise AssertionError(f"Not canonical: {pieces!r}, expected {expected!r}.")
    for array, model in zip(pieces[:5], expected[:5], strict=True):
        if array.flags.writeable or array.dtype != model.dtype:
            raise AssertionError(f"Expected a read-only array of {model.dtype}, got {array!r}.")
