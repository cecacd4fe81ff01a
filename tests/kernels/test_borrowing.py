"""Bundles: named tuples of arrays that travel as one pointer."""

from typing import NamedTuple

import numpy as np
import pytest
from numba import njit
from numba.core.errors import TypingError
from numpy.typing import NDArray

from certune.kernels.borrowing import borrowing, bundled, keep_alive


class Inner(NamedTuple):
    values: NDArray[np.float64]
    factor: float


class Outer(NamedTuple):
    inner: Inner
    counts: NDArray[np.int64]


@borrowing
def scaled(outer, i, twice):
    inner = outer.inner
    outer.counts[0] += 1
    return inner.values[i] * inner.factor * (2.0 if twice else 1.0)


@njit
def total(n, factor):
    inner = Inner(np.arange(n) * 1.0, factor)
    counts = np.zeros(1, np.int64)
    outer = bundled(Outer(bundled(inner), counts))
    result = 0.0
    for i in range(n):
        result += scaled(outer, i, True) + scaled(outer, i, False)
    keep_alive((inner, counts))
    return result, counts[0]


def test_fields_are_those_of_the_tuple():
    assert total(10, 3.0) == (3.0 * 3.0 * 45.0, 20)


def test_constants_do_not_multiply_kernels():
    total(3, 1.0)
    assert len(scaled.signatures) == 1


def test_an_unknown_field_does_not_compile():
    @njit
    def wrong(values):
        return bundled(Inner(values, 1.0)).missing

    with pytest.raises(TypingError, match="missing"):
        wrong(np.ones(2))
