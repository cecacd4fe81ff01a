"""Claims about an aggregate of functions with smooth pieces, proved by a second algorithm.

The maximum of such an aggregate is not a number that one could derive twice and compare; the claims
are inequalities. They are proved here from the functions of the instances, without their sum: on a
cell of half-width h around c a polynomial p differs from p(c) + p'(c) (x - c) by at most
M h^2 / 2, where M bounds the second derivative. Cells that cannot be settled are halved.

A mean, or the mean of the worst share, is at most the average with the weights that hold at the
centre: for that, slopes of all functions are added with their signs before a bound is taken. A
minimum or a quantile is at most that of the upper bounds of the functions.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numpy.polynomial import chebyshev

from certune.aggregates import Criterion
from certune.dual import DualFunction, PiecewiseFunction, PiecewisePolynomial
from certune.dual.integers import nearest
from certune.errors import CertificateError
from certune.tuning.proof.certificate import Certificate

FloatArray = npt.NDArray[np.float64]
UNIT = 2.0**-53
MOST_ROUNDS = 60
# Cells for each piece that may be open at once, so that time grows with the certificate only.
CELLS_PER_PIECE = 200
FEWEST_CELLS = 10_000
# Lines that are looked at at once.
MOST_NUMBERS = 2**21


def check_best_point(certificate: Certificate) -> None:
    """Check that the best point is a maximiser that attains the best value."""
    t, first = certificate.best_point, certificate.duals[0]
    edges = [first.low, *(end for interval in certificate.best_region for end in interval)]
    if [*edges, first.high] != sorted([*edges, first.high]):
        raise CertificateError("The claimed optimal set is not in order within the domain.")
    if not any(low <= t <= high for low, high in certificate.best_region):
        raise CertificateError(f"The claimed best point {t!r} is outside of the optimal set.")
    reached = [dual.enclose_exact(t)[0] for dual in certificate.duals]
    if certificate.criterion.of(range(len(reached))).value(reached) < certificate.best_value:
        raise CertificateError(
            f"The claimed best value {nearest(certificate.best_value)!r} is not attained at {t!r}."
        )


def prove_claims(certificate: Certificate, n_instances: int, largest: Fraction) -> None:
    """Prove best value and optimal set of the covered instances, and the bound for all of them.

    Instances without a function count with the largest utility in the bound.
    """
    duals, best = certificate.duals, certificate.best_value
    check_best_point(certificate)
    low, high = duals[0].low, duals[0].high
    perfect = PiecewiseFunction.constant(low, high, largest, duals[0].name)
    everyone = [*duals, *[perfect] * (n_instances - len(duals))]
    criterion = certificate.criterion
    _prove_at_most(everyone, criterion, [(low, high)], certificate.upper_bound, "upper bound")
    edges = [low, *(end for interval in certificate.best_region for end in interval), high]
    outside = [(a, b) for a, b in zip(edges[::2], edges[1::2], strict=True) if a < b]
    covered = criterion.of(range(len(duals)))
    _prove_at_most(duals, covered, outside, best, "optimal set")


def _prove_at_most(
    duals: Sequence[DualFunction],
    criterion: Criterion,
    intervals: Sequence[tuple[float, float]],
    bound: Fraction,
    what: str,
) -> None:
    """Prove that the aggregate is at most `bound` on closed intervals."""
    ends = np.unique(np.concatenate([(dual.starts, dual.stops) for dual in duals], axis=None))
    total = min(max(nearest(bound), -sys.float_info.max), sys.float_info.max)
    level = total - 2 * UNIT * abs(total)
    most = FEWEST_CELLS + CELLS_PER_PIECE * ends.size
    cells = [
        np.unique(np.concatenate(([low], ends[(low < ends) & (ends < high)], [high])))
        for low, high in intervals
    ]
    low = np.concatenate([edges[:-1] for edges in cells] or [np.empty(0)])
    high = np.concatenate([edges[1:] for edges in cells] or [np.empty(0)])
    block = max(1, MOST_NUMBERS // len(duals))
    for _ in range(MOST_ROUNDS):
        parts = [slice(start, start + block) for start in range(0, low.size, block)]
        bounds = [_upper_bounds(duals, criterion, low[part], high[part]) for part in parts]
        open_ = np.concatenate([*bounds, np.empty(0)]) > level
        low, high = low[open_], high[open_]
        if low.size == 0:
            return
        middle = 0.5 * low + 0.5 * high
        if low.size > most or not ((low < middle) & (middle < high)).any():
            break
        low, high = np.concatenate((low, middle)), np.concatenate((middle, high))
    raise CertificateError(
        f"The claimed {what} cannot be proved from the functions: around {float(low[0])!r} their "
        f"aggregate may exceed {nearest(bound)!r}."
    )


class _Lines(NamedTuple):
    """On each cell (columns) a line for each function (rows), and how far it may be off."""

    centre: FloatArray
    slope: FloatArray
    rest: FloatArray


def _upper_bounds(
    duals: Sequence[DualFunction], criterion: Criterion, low: FloatArray, high: FloatArray
) -> FloatArray:
    """Bound the aggregate on cells, each within one piece or gap of every function."""
    lines = _lines(duals, low, high)
    weights, limit = criterion.units(len(duals))
    whole = np.array(weights, dtype=np.int64 if sum(weights) < 2**62 else object)
    if not criterion.aggregate.averages:
        tops = lines.centre + np.abs(lines.slope) + lines.rest
        tops += 4 * UNIT * (np.abs(lines.centre) + np.abs(lines.slope) + lines.rest)
        order = np.argsort(tops, axis=0, kind="stable")
        place = np.argmax(np.cumsum(whole[order], axis=0) >= limit, axis=0)
        columns = np.arange(low.size)
        found: FloatArray = tops[order[place, columns], columns]
        return found
    # Any weights of at most w_i that add up to the limit give a bound from above.
    order = np.argsort(lines.centre, axis=0, kind="stable")
    before = np.cumsum(whole[order], axis=0) - whole[order]
    amounts = np.zeros_like(before)
    counted = np.minimum(np.maximum(limit - before, 0), whole[order])
    np.put_along_axis(amounts, order, counted, axis=0)
    shares = (amounts / limit).astype(np.float64)
    centre, slope, rest = ((shares * part).sum(axis=0) for part in lines)
    sizes = (shares * (np.abs(lines.centre) + np.abs(lines.slope) + lines.rest)).sum(axis=0)
    bounds: FloatArray = centre + np.abs(slope) + rest + (len(duals) + 8) * UNIT * sizes
    return bounds


def _lines(duals: Sequence[DualFunction], low: FloatArray, high: FloatArray) -> _Lines:
    lines = _Lines(*(np.zeros((len(duals), low.size)) for _ in range(3)))
    for number, dual in enumerate(duals):
        centre, slope, rest = (part[number] for part in lines)
        rows = np.searchsorted(dual.starts, low, side="right") - 1
        in_gap = high > dual.stops[rows]
        if isinstance(dual, PiecewiseFunction):
            tops = np.append(dual.gap_upper, 0)
            numerators = np.where(in_gap, tops[rows], dual.numerators[rows])
            values = numerators.astype(np.float64) / dual.denominator
            centre += values
            rest += 4 * UNIT * np.abs(values)
        else:
            assert isinstance(dual, PiecewisePolynomial)
            tops = np.append(dual.gap_upper, 0.0)
            centre += np.where(in_gap, tops[rows], 0.0)
            _add_polynomials(dual, rows, ~in_gap, low, high, centre, slope, rest)
    return lines


def _add_polynomials(
    dual: PiecewisePolynomial,
    rows: npt.NDArray[np.intp],
    present: npt.NDArray[np.bool_],
    low: FloatArray,
    high: FloatArray,
    centre: FloatArray,
    slope: FloatArray,
    rest: FloatArray,
) -> None:
    """Add value at the centre, half-width times slope, and the rest, in place."""
    rows = rows[present]
    start, stop = dual.starts[rows], dual.stops[rows]
    left, right = low[present], high[present]
    if dual.scale == "log":
        # Distances of logarithms, so that narrow pieces lose no digits.
        width = np.log1p((stop - start) / start)
        from_left, from_right = np.log1p((left - start) / start), np.log1p((right - start) / start)
    else:
        width, from_left, from_right = stop - start, left - start, right - start
    place = np.clip((from_left + from_right) / width - 1.0, -1.0, 1.0)
    half = (from_right - from_left) / width
    k = np.arange(dual.coefficients.shape[1], dtype=np.float64)
    sizes = np.abs(dual.coefficients)
    curvature = (sizes @ (k**2 * np.abs(k**2 - 1.0) / 3.0))[rows]
    rounding = 64 * UNIT * (sizes @ (k + 1.0) ** 3)[rows]
    columns = dual.coefficients[rows].T
    derivative = chebyshev.chebder(columns) if len(columns) > 1 else np.zeros_like(columns)
    centre[present] += chebyshev.chebval(place, columns, tensor=False)
    slope[present] += half * chebyshev.chebval(place, derivative, tensor=False)
    # The derivative has the coefficients 2 sum j c_j, whose rounding errors weigh (j + 1)^5.
    steep = 64 * UNIT * (sizes @ (k + 1.0) ** 5)[rows]
    rest[present] += 0.5 * curvature * half**2 + half * steep + rounding + dual.errors[rows]
