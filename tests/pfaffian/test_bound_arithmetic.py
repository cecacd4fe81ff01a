"""Searches of the bounds: the first number for which a condition holds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from certune.pfaffian.bounds.arithmetic import first_true


class Threshold:
    def __init__(self, first):
        self.first, self.n_calls = first, 0

    def __call__(self, n):
        self.n_calls += 1
        return n >= self.first


@given(st.integers(1, 2**64))
def test_the_first_number_is_found(first):
    assert first_true(Threshold(first)) == first


@given(st.integers(64, 5000), st.integers(0, 2**70))
def test_huge_numbers_are_found_to_64_bits(exponent, more):
    condition = Threshold(2**exponent + (more << max(0, exponent - 70)))
    found = first_true(condition)
    assert condition.first <= found
    assert (found - condition.first) << 63 <= condition.first
    assert condition.n_calls < 160


@pytest.mark.parametrize("first", [2**63, 2**64 - 1, 2**64, 2**64 + 1, 2**128, 2**128 + 1])
def test_powers_at_which_the_search_changes_its_step(first):
    found = first_true(Threshold(first))
    assert first <= found <= first + (first >> 63)
