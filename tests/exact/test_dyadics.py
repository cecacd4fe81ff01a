"""Simple floats inside intervals, found one by one and for many intervals at once."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from certune._core.linkage_parts import holds_coarse
from certune.exact.dyadics import SIMPLE_BITS, holds_simple, is_simple, simplest


def has_simple(low, high):
    """The simplest float strictly inside is simple, if there is any float at all."""
    first, last = math.nextafter(low, math.inf), math.nextafter(high, -math.inf)
    return first <= last and is_simple(simplest(first, last))


@pytest.mark.parametrize("scale", [1.0, 1e-40, 1e30, 3.7])
def test_many_intervals_agree_with_single_ones(scale):
    rng = np.random.default_rng(0)
    centres = np.concatenate([rng.uniform(-8, 8, 500), rng.integers(-64, 64, 500) / 16]) * scale
    widths = np.abs(centres) * 10.0 ** rng.uniform(-14, -5, centres.size)
    low, high = centres - widths * rng.uniform(0, 1, centres.size), centres + widths
    expected = [has_simple(a, b) for a, b in zip(low.tolist(), high.tolist(), strict=True)]
    assert 0 < sum(expected) < len(expected)
    assert holds_simple(low, high).tolist() == expected


def test_ends_do_not_count_and_zero_does():
    low = np.array([0.5, 0.0, -1e-300, -0.5, -1.0])
    high = np.array([math.nextafter(0.5, 1), 1e-300, 1e-300, math.nextafter(-0.5, 0), 1.0])
    assert holds_simple(low, high).tolist() == [False, True, True, False, True]


@given(st.floats(-16.0, 16.0), st.floats(0.0, 2.0**-22))
def test_multiples_of_a_power_of_two_inside_of_intervals(low, width):
    high = low + width
    step = Fraction(1, 2**SIMPLE_BITS)
    inside = -(-Fraction(low) // step) * step
    assert holds_coarse(low, high) == (inside <= Fraction(high))


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [(1e-320, 1.0, 1.0), (5e-324, 1e308, 2.0**1023), (1e-300, 1.5, 1.0), (-1.0, -1e-320, -1.0)],
)
def test_the_simplest_float_of_ends_of_very_different_sizes(low, high, expected):
    assert simplest(low, high) == expected
