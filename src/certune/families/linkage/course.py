"""A linkage family on one instance along one segment, as the arrays that the kernels read.

d = sum_l beta_l delta_l and phi = alpha log d (min-max and power-mean linkage, ``sec:linkage``),
or phi = sum_l alpha_l log delta_l (product linkage).  Along a segment alpha, beta and the alpha_l
are affine in t.  A `Course` holds the pair functions as float arrays with a bound of their
rounding error, beside the exact parameters that the exact layer decides with.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from certune.errors import InputError, ParameterError
from certune.families.linkage.instance import ClusteringInstance
from certune.kernels.series import (
    AFFINE,
    MAXIMUM,
    MEAN,
    MINIMUM,
    MINMAX,
    MOVING,
    POWER,
    UNIT,
)

Floats = NDArray[np.float64]

LARGEST_EXPONENT_RANGE = 600.0


@dataclass(frozen=True)
class Line:
    """Linkage parameters as affine functions of t: (value at 0, slope) of each.

    ``alpha`` is one pair (possibly with an infinite value) and ``weights`` one pair per metric for
    min-max and power-mean linkage; ``alpha`` is one pair per metric for product linkage.
    """

    kind: str
    alpha: tuple[tuple[float, float], ...]
    weights: tuple[tuple[float, float], ...]

    @property
    def product(self) -> bool:
        """Is this product linkage?"""
        return self.kind == "product"

    @property
    def moves(self) -> bool:
        """Does any parameter depend on t?"""
        return any(slope != 0.0 for _, slope in self.alpha + self.weights)

    @property
    def infinite(self) -> bool:
        """Is alpha infinite (single or complete linkage)?"""
        return any(math.isinf(value) for value, _ in self.alpha)


@dataclass(frozen=True)
class Course:
    """Pair functions along a segment; see `certune.kernels.series` for the modes."""

    instance: ClusteringInstance
    line: Line
    kind: int
    mode: int
    first: Floats
    second: Floats
    power: Floats
    input_error: float
    low: float
    high: float

    @property
    def n(self) -> int:
        """Number of points."""
        return self.instance.n_points

    @property
    def ordered(self) -> bool:
        """Are pair codes ordered like the values of the pairs at every parameter?"""
        return self.instance.n_metrics == 1 and not self.line.product

    @cached_property
    def ends(self) -> tuple[Floats, Floats]:
        """Arrays that order the pairs (smaller is nearer) at the two ends of the segment."""
        if self.mode == POWER:
            return self.first, self.first
        if self.mode == MOVING:
            with np.errstate(divide="ignore", invalid="ignore"):
                return (
                    _finite(np.log(self.first + self.low * self.second)),
                    _finite(np.log(self.first + self.high * self.second)),
                )
        middle = self.power[0] + self.power[1] * (self.low + 0.5 * (self.high - self.low))
        sign = 1.0 if middle > 0 else -1.0
        return (
            sign * (self.first + self.low * self.second),
            sign * (self.first + self.high * self.second),
        )

    @cached_property
    def span(self) -> float:
        """Spread of the logarithms of the distances."""
        low, high = self.ends
        return float(max(np.ptp(low), np.ptp(high)))


def _finite(values: Floats) -> Floats:
    """Replace the entries of the diagonal and of duplicates, which are never compared."""
    finite = np.isfinite(values)
    return np.where(finite, values, values[finite].min() if finite.any() else 0.0)


def _combine(instance: ClusteringInstance, coefficients: list[float]) -> Floats:
    total = np.zeros((instance.n_points, instance.n_points))
    for coefficient, matrix in zip(coefficients, instance.distances, strict=True):
        if coefficient != 0.0:
            total += coefficient * matrix
    return total


def _log(matrix: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        return _finite(np.log(matrix))


def make_course(instance: ClusteringInstance, line: Line, low: float, high: float) -> Course:
    """Arrays of the pair functions for t in [low, high]."""
    if line.product:
        return _product_course(instance, line, low, high)
    at_zero = [value for value, _ in line.weights]
    slopes = [slope for _, slope in line.weights]
    moving = any(slope != 0.0 for slope in slopes)
    alpha, alpha_slope = line.alpha[0]
    kind = MINMAX if line.kind == "min-max" else MEAN
    if math.isinf(alpha):
        kind = MAXIMUM if alpha > 0 else MINIMUM
        alpha = 1.0
    power = np.array([alpha, alpha_slope])
    n_metrics = instance.n_metrics
    if moving:
        first = _combine(instance, at_zero)
        second = _combine(instance, slopes)
        reach = max(abs(low), abs(high))
        sizes = _combine(instance, [abs(a) + reach * abs(b) for a, b in line.weights])
        least = np.minimum(first + low * second, first + high * second)
        positive = sizes > 0
        if positive.any() and least[positive].min() <= 0:
            raise InputError(_vanishing(instance, least, positive))
        worst = float((sizes[positive] / least[positive]).max()) if positive.any() else 1.0
        error = (n_metrics + 4) * UNIT * worst
        logs = np.log(np.where(positive, least, 1.0))
        _check_exponents(power, float(np.abs(logs).max()) * 2, low, high)
        return Course(instance, line, kind, MOVING, first, second, power, error, low, high)
    one_metric = at_zero == [1.0]
    first = instance.log_distances[0] if one_metric else _log(_combine(instance, at_zero))
    error = 2 * UNIT * (1.0 + float(np.abs(first).max()))
    if not one_metric:
        error += (n_metrics + 1) * UNIT
    _check_exponents(power, float(np.ptp(first)), low, high)
    return Course(instance, line, kind, POWER, first, first, power, error, low, high)


def _vanishing(instance: ClusteringInstance, least: Floats, positive: NDArray[np.bool_]) -> str:
    i, j = np.unravel_index(np.argmin(np.where(positive, least, np.inf)), least.shape)
    return (
        f"the combined distance of points {i} and {j} of {instance.name or 'the instance'} "
        "vanishes on the segment; keep the weights of the metrics that separate them positive"
    )


def _check_exponents(power: Floats, spread: float, low: float, high: float) -> None:
    largest = max(abs(float(power[0]) + float(power[1]) * t) for t in (low, high))
    if largest * spread > LARGEST_EXPONENT_RANGE:
        raise ParameterError(
            f"|alpha| up to {largest:g} with distances that span a factor of "
            f"10^{spread / math.log(10):.3g} leaves the range of double precision; use a narrower "
            "range of alpha, or alpha=inf (complete linkage) and alpha=-inf (single linkage) for "
            "the limits"
        )


def _product_course(instance: ClusteringInstance, line: Line, low: float, high: float) -> Course:
    logs = list(instance.log_distances)
    n = instance.n_points
    first = np.zeros((n, n))
    second = np.zeros((n, n))
    size = np.zeros((n, n))
    reach = max(abs(low), abs(high), 1.0)  # at least 1: the slopes themselves are used on rays
    for (value, slope), log in zip(line.alpha, logs, strict=True):
        first += value * log
        second += slope * log
        size += (abs(value) + reach * abs(slope)) * np.abs(log)
    total = sum((Fraction(value) for value, _ in line.alpha), Fraction(0))
    total_slope = sum((Fraction(slope) for _, slope in line.alpha), Fraction(0))
    error = (2 * len(logs) + 8) * UNIT * (1.0 + float(size.max()))
    if all(value == 0.0 == slope for value, slope in line.alpha):
        geometric = np.sum(logs, axis=0)
        power = np.zeros(2)
        return Course(instance, line, MEAN, POWER, geometric, geometric, power, error, low, high)
    ray = origin_of_ray(line)
    if ray is not None and total_slope != 0:
        sign = 1.0 if total_slope > 0 else -1.0
        power = np.array([-sign * ray, sign])
        logs_of_ray = sign * second
        _check_exponents(power, float(np.ptp(logs_of_ray)), low, high)
        return Course(
            instance, line, MEAN, POWER, logs_of_ray, logs_of_ray, power, error, low, high
        )
    power = np.array([float(total), float(total_slope)])
    if total == 0 and total_slope == 0:
        power = np.array([1.0, 0.0])
    ends = max(float(np.ptp(first + low * second)), float(np.ptp(first + high * second)))
    if ends > LARGEST_EXPONENT_RANGE:
        raise ParameterError(
            f"the products of powers span a factor of exp({ends:.3g}) on the segment, beyond "
            "double precision; use smaller exponents"
        )
    return Course(instance, line, MEAN, AFFINE, first, second, power, error, low, high)


def origin_of_ray(line: Line) -> float | None:
    """The t at which all exponents of a product vanish together, if there is one."""
    moving = [(value, slope) for value, slope in line.alpha if slope != 0.0]
    if not moving or any(value != 0.0 for value, slope in line.alpha if slope == 0.0):
        return None
    roots = {-Fraction(value) / Fraction(slope) for value, slope in moving}
    if len(roots) > 1:
        return None
    root = roots.pop()
    return float(root) if Fraction(float(root)) == root else None
