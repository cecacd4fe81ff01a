"""Numbers of few binary digits in intervals."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from certune.kernels.dyadics import SIMPLE_BITS, holds_coarse

numbers = st.floats(-16.0, 16.0)


@given(numbers, st.floats(0.0, 2.0**-22))
def test_multiples_of_a_power_of_two_inside_of_intervals(low, width):
    high = low + width
    step = Fraction(1, 2**SIMPLE_BITS)
    inside = -(-Fraction(low) // step) * step
    assert holds_coarse.py_func(low, high) == (inside <= Fraction(high))
