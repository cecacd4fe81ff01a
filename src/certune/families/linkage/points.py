"""Linkage values of the pairs of points at one parameter, with a bound of their error."""

from __future__ import annotations

import numpy as np
from flint import arb, ctx, fmpq
from numpy.typing import NDArray

from certune.exact.precision import PRECISION_LOCK
from certune.families.linkage.course import Course
from certune.families.linkage.identities import merged_codes
from certune.families.linkage.lines import sum_at
from certune.kernels.linkage import AFFINE, ENERGY, MOVING, UNIT

Floats = NDArray[np.float64]

# Exponents that differ by less than so many of their errors are computed with balls.
ACCURATE_BELOW = 2.0**20
PRECISION = 256
SMALLEST_REACH = 1e-250  # errors of smaller exponents would underflow


def point_values(course: Course) -> tuple[NDArray[np.float64], bool, float]:
    """Values of the pairs at ``course.low``, whether smaller is nearer, and a relative error."""
    t = course.low
    # Relative rounding error of the averages that merges make of the values.
    averages = UNIT * (8 * course.n + 0.25 * course.n**2)
    if course.mode == AFFINE:
        values, error = _product_values(course)
        return values, sum_at(course.line.total, course.position) >= 0, error + averages
    alpha = float(course.power[0] + course.power[1] * t)
    if course.mode == MOVING:
        raise AssertionError("a point has fixed distances")
    # Logarithms of one distance have no entries outside of this range, identical points included.
    one = course.ordered and course.line.weights == ((1.0, 0.0),)
    smallest, largest = course.instance.log_ranges[0] if one else _range(course.first, course)
    error = course.input_error * (1 + abs(alpha)) + 8 * UNIT * (
        2 + abs(alpha) * (largest - smallest)
    )
    error += averages
    if course.kind != ENERGY and abs(alpha) * (1 + largest - smallest) < 0.5:
        logs = np.maximum(course.first - (smallest - 1.0), 1.0)
        y = alpha * logs
        with np.errstate(divide="ignore", invalid="ignore"):
            quotient = np.where(y == 0, 1.0, np.expm1(y) / y)
        return logs * quotient, True, error + 16 * UNIT
    logs = course.first if one else np.clip(course.first, smallest, largest)
    values = logs - 0.5 * (smallest + largest)
    values *= alpha
    np.exp(values, out=values)
    if course.kind == ENERGY:
        values[~course.instance.different] = 0.0  # which count within a cluster
    return values, alpha > 0, error


def point_codes(course: Course) -> NDArray[np.uint64]:
    """Codes of the pairs at ``course.low``; equal products have the same one if they are many."""
    if course.mode != AFFINE:
        return course.codes
    exponents = course.line.exponents(course.position)
    if np.ptp(course.first) <= ACCURATE_BELOW * course.input_error:
        return merged_codes(course, exponents)
    left = tuple(i for i, exponent in enumerate(exponents) if exponent != 0)
    if 0 < len(left) < len(exponents):
        return course.instance.shared_values(left)[0]
    return course.codes


def _product_values(course: Course) -> tuple[Floats, float]:
    """Products of powers, up to a common factor, and a relative error.

    Of products that hardly differ the differences are taken, in units of the largest one: one plus
    that is compared like the products.
    """
    t = course.low
    exponents = course.first + t * course.second
    size = float(np.abs(course.first).max() + np.abs(t * course.second).max())
    error = course.input_error + 8 * UNIT * (1 + size)
    exponents, reach = _centred(exponents, course)
    if reach < ACCURATE_BELOW * error and course.instance.n_distinct > 2:
        exponents, error = _accurate_exponents(course)
        exponents, reach = _centred(exponents, course)
    if not SMALLEST_REACH < reach <= 0.5 or reach <= 4.0 * error:
        return np.exp(exponents), error + 16 * UNIT
    error += 4 * UNIT * reach
    return 1.0 + np.expm1(exponents) / (2.0 * reach), 2.0 * error / reach + 16 * UNIT


def _centred(exponents: Floats, course: Course) -> tuple[Floats, float]:
    """Exponents less the middle of their range, and half its width."""
    smallest, largest = _range(exponents, course)
    middle = smallest + 0.5 * (largest - smallest)
    centred = np.clip(exponents, smallest, largest) - middle
    return centred, float(np.abs(centred).max())


def _accurate_exponents(course: Course) -> tuple[Floats, float]:
    """Exponents of the products less that of one pair, and a bound of their error."""
    rows, columns = np.nonzero(np.triu(course.instance.different))
    codes = course.instance.pair_codes[rows, columns]
    _, firsts, numbers = np.unique(codes, return_index=True, return_inverse=True)
    vectors = course.instance.distances[:, rows[firsts], columns[firsts]].T.tolist()
    powers = course.line.exponents(course.position)
    with PRECISION_LOCK, ctx.workprec(PRECISION):
        exact = [arb(fmpq(*power.as_integer_ratio())) for power in powers]
        sums = [
            sum((p * arb(delta).log() for p, delta in zip(exact, vector, strict=True)), arb(0))
            for vector in vectors
        ]
        differences = [value - sums[0] for value in sums]
    values = np.array([float(difference.mid()) for difference in differences])
    error = 2.0 * max(float(difference.rad()) for difference in differences)
    exponents = np.zeros((course.n, course.n))
    exponents[rows, columns] = exponents[columns, rows] = values[numbers]
    return exponents, error + 4 * UNIT * float(np.abs(values).max())


def _range(values: Floats, course: Course) -> tuple[float, float]:
    """Smallest and largest value of a pair of different points."""
    if values is course.first and course.extremes is not None:
        return course.extremes
    different = course.instance.different
    if not different.any():
        return 0.0, 0.0
    return float(values[different].min()), float(values[different].max())
