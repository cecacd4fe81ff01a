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


@borrowing
def first_times_factor(inner):
    return inner.values[0] * inner.factor


@njit
def bundled_in_a_loop(n):
    values = np.ones(1)
    found = np.empty(n)
    for i in range(n):
        inner = bundled(Inner(values, float(i)))
        found[i] = first_times_factor(inner)
        values[0] += 1.0
        found[i] += first_times_factor(inner)
    keep_alive(values)
    return found


def test_a_bundle_made_again_has_the_new_fields():
    expected = [i * (2 * i + 3) for i in range(20)]
    assert bundled_in_a_loop(20).tolist() == expected


def test_an_unknown_field_does_not_compile():
    @njit
    def wrong(values):
        return bundled(Inner(values, 1.0)).missing

    with pytest.raises(TypingError, match="missing"):
        wrong(np.ones(2))
