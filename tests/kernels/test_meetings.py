"""Order of averages next to the place where they meet, against numbers of many digits."""

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given, settings
from hypothesis import strategies as st

from certune._core import linkage_parts

# One point, and two times two.
MEMBERS = ([0], [1, 2], [3, 4])


def slope_beside(first, second, input_error, end, distance):
    return linkage_parts.slope_beside(first, second, input_error, MEMBERS, end, distance)


def same_sums(values):
    return linkage_parts.same_sums(values, MEMBERS)


def functions_that_meet(end, heights, slopes):
    """Exponents first + t second of point 0 and four others; the two averages meet at ``end``."""
    first, second = np.zeros((5, 5)), np.zeros((5, 5))
    for point, (height, slope) in enumerate(zip(heights + heights[::-1], slopes, strict=True), 1):
        second[0, point] = slope
        first[0, point] = height - end * slope
    return first, second


def difference(first, second, t, shift=0.0):
    """Sum of the rival's values less that of the nearer ones, at t + shift."""
    with ctx.workprec(400):
        place = arb(t) + arb(shift)
        values = [(arb(first[0, p]) + place * arb(second[0, p])).exp() for p in range(1, 5)]
        return values[2] + values[3] - values[0] - values[1]


quarters = st.integers(-8, 8).map(lambda number: number / 4.0)


@settings(max_examples=200, deadline=None)
@given(
    end=quarters,
    heights=st.tuples(quarters, quarters),
    slopes=st.tuples(*[quarters] * 4),
    distance=st.floats(1e-12, 0.2),
    shares=st.lists(st.floats(1e-3, 1.0), min_size=3, max_size=3),
)
def test_the_slope_tells_the_order_on_both_sides(end, heights, slopes, distance, shares):
    """Sums of quarters are exact: heights are met exactly at the end."""
    first, second = functions_that_meet(end, heights, slopes)
    assert difference(first, second, end).contains(0)
    found = slope_beside(first, second, 1e-15, end, distance)
    for share in shares:
        for side in (1, -1):
            beside = difference(first, second, end, side * share * distance)
            if found != 0:
                assert beside * side * found > 0


@pytest.mark.parametrize("gap", [0.0, 1e-15, 1e-13, 1e-9])
def test_slopes_that_hardly_differ_tell_only_what_is_beyond_their_error(gap):
    first, second = functions_that_meet(0.5, (0.25, 0.25), (1.0, 2.0, 2.0, 1.0 + gap))
    found = slope_beside(first, second, 1e-12, 0.5, 1e-30)
    assert found == (1 if gap > 1e-11 else 0)


def test_the_certificate_reaches_as_far_as_the_order_lasts():
    """exp(2 t) + exp(-2 t) and exp(t / 4) + 1 meet at 0, and soon again."""
    first, second = functions_that_meet(0.0, (0.0, 0.0), (2.0, -2.0, 0.25, 0.0))
    assert slope_beside(first, second, 1e-15, 0.0, 1e-3) == 1
    assert difference(first, second, 0.0, 0.2) < 0
    assert slope_beside(first, second, 1e-15, 0.0, 0.2) == 0


def test_sums_of_whole_numbers():
    values = np.zeros((5, 5), np.uint64)
    values[0, 1:] = [1, 3, 2, 2]
    assert same_sums(values)
    values[0, 4] = 3
    assert not same_sums(values)
