"""Weighted sums of distances that stay inside the doubles.

A common factor changes no tree, and a power of two changes no digit: where sums would overflow or
lose digits at the lower end of the doubles, they are taken times a power of two.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from certune.errors import InputError
from certune.families.linkage.instance import ClusteringInstance
from certune.families.linkage.lines import Number

Floats = NDArray[np.float64]

# Binary exponents of sums between which nothing needs scaling: products and squares of them are
# doubles as well.
ORDINARY = 500
# Sums whose exponents differ by more than this do not fit into the normal doubles together, with
# room for the digits of terms that underflow beside the smallest sum.
WIDEST = 1800


def combined(coefficients: Iterable[Number], matrices: Floats, shift: int = 0) -> Floats:
    """Sum of matrices with coefficients, times ``2**shift``; each term is rounded once."""
    total = np.zeros(matrices.shape[1:])
    for coefficient, matrix in zip(coefficients, matrices, strict=True):
        if coefficient == 0:
            continue
        if shift == 0 and isinstance(coefficient, float):
            total += coefficient * matrix
        else:
            mantissa, exponent = _split(coefficient)
            total += mantissa * np.ldexp(matrix, exponent + shift)
    return total


def exponent_range(instance: ClusteringInstance, weights: Sequence[Number]) -> tuple[int, int]:
    """Bounds of the binary exponents of all sums of distances with these weights, not all 0."""
    lowest, highest = [], []
    for weight, (least, most) in zip(weights, instance.log_ranges, strict=True):
        if weight != 0:
            exponent = _split(weight)[1]
            lowest.append(exponent - 1 + math.floor(least / math.log(2) - 1e-6))
            highest.append(exponent + math.ceil(most / math.log(2) + 1e-6))
    return max(lowest), max(highest) + len(weights).bit_length()


def shift_for(instance: ClusteringInstance, settings: Iterable[Sequence[Number]]) -> int:
    """A shift with which the sums at several weights are normal doubles, 0 if that will do.

    Raises
    ------
    InputError
        If they do not fit into the doubles together.
    """
    ranges = [exponent_range(instance, weights) for weights in settings]
    lowest, highest = min(low for low, _ in ranges), max(high for _, high in ranges)
    if highest - lowest > WIDEST:
        raise InputError(
            f"weighted distances of {instance.name or 'the instance'} range over a factor of up to "
            f"10^{(highest - lowest) * math.log10(2):.0f}, got more than double precision can "
            f"hold together (10^{WIDEST * math.log10(2):.0f}): give metrics and weights of more "
            "similar sizes, or leave a metric out"
        )
    return 0 if -ORDINARY <= lowest and highest <= ORDINARY else -(lowest + highest) // 2


def _split(value: Number) -> tuple[float, int]:
    """A mantissa with modulus in [1/2, 1] and an exponent, of numbers of any size."""
    if isinstance(value, float):
        return math.frexp(value)
    exponent = abs(value.numerator).bit_length() - value.denominator.bit_length()
    mantissa, rest = math.frexp(float(value / Fraction(2) ** exponent))
    return mantissa, exponent + rest
