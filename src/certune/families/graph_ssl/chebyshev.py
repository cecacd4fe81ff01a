"""Chebyshev interpolation to any number of bits: nodes, coefficients, series on half intervals."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from flint import arb, arb_mat

# Node positions are rounded by less than 2**(ROUNDING_BITS - bits).
ROUNDING_BITS = 8


@lru_cache(maxsize=128)
def chebyshev_nodes(degree: int, bits: int) -> tuple[Fraction, ...]:
    """The nodes ``cos(pi j / degree)``, within ``2**(ROUNDING_BITS - bits)``."""
    from flint import ctx

    from certune.exact.precision import PRECISION_LOCK

    with PRECISION_LOCK, ctx.workprec(bits):
        middles = [cosine.mid().man_exp() for cosine in _cosines(degree)[: degree + 1]]
    return tuple(Fraction(int(man)) * Fraction(2) ** int(exp) for man, exp in middles)


@lru_cache(maxsize=8)
def coefficient_matrix(degree: int, bits: int) -> arb_mat:
    """Matrix that takes values at the nodes to Chebyshev coefficients."""
    from flint import arb, arb_mat, ctx

    from certune.exact.precision import PRECISION_LOCK

    with PRECISION_LOCK, ctx.workprec(bits):
        cosines = _cosines(degree)
        ends = (0, degree)
        return arb_mat(
            [
                [
                    cosines[j * k % (2 * degree)] * arb(2) / (degree << ((j in ends) + (k in ends)))
                    for j in range(degree + 1)
                ]
                for k in range(degree + 1)
            ]
        )


def halving_columns(degree: int) -> list[list[int]]:
    """For each j <= degree the coefficients of ``2**j T_j((x - 1) / 2)``, which are integers."""
    columns: list[list[int]] = [[1], [-1, 1]]
    for j in range(2, degree + 1):
        # T_j = (x - 1) T_{j-1} - T_{j-2}, and x T_k = (T_{k+1} + T_{|k-1|}) / 2
        last, before = columns[-1], columns[-2]
        new = [0] * (j + 1)
        for k, value in enumerate(last):
            new[k] -= 2 * value
            if k == 0:
                new[1] += 2 * value
            else:
                new[k + 1] += value
                new[k - 1] += value
        for k, value in enumerate(before):
            new[k] -= 4 * value
        columns.append(new)
    return columns[: degree + 1]


def halving_matrix(degree: int) -> npt.NDArray[np.float64]:
    """Matrix that takes Chebyshev coefficients on [-1, 1] to those on [-1, 0], rounded once."""
    matrix = np.zeros((degree + 1, degree + 1))
    for j, column in enumerate(halving_columns(degree)):
        for k, value in enumerate(column):
            matrix[k, j] = value / 2**j
    return matrix


@lru_cache(maxsize=256)
def left_half_matrix(degree: int, bits: int) -> arb_mat:
    """Matrix that takes Chebyshev coefficients on [-1, 1] to those on [-1, 0]."""
    from flint import arb, arb_mat, ctx

    from certune.exact.precision import PRECISION_LOCK

    with PRECISION_LOCK, ctx.workprec(bits):
        rows = [[arb(0)] * (degree + 1) for _ in range(degree + 1)]
        for j, column in enumerate(halving_columns(degree)):
            for k, value in enumerate(column):
                rows[k][j] = arb(value) / (1 << j)
        return arb_mat(rows)


def _cosines(degree: int) -> list[arb]:
    from flint import arb

    return [(arb(j) / degree).cos_pi() for j in range(2 * degree)]
