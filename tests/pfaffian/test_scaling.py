"""Differences in a form whose sign is proved, also where most of both sides is the same."""

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import certune as ct
from certune.pfaffian import exp, parameter
from certune.pfaffian.expressions.scaling import scaled_difference
from certune.pfaffian.signs.on_line import Line

g = parameter("g")


@pytest.mark.parametrize(
    ("first", "second", "sign"),
    [
        (exp(-g) + exp(-40 * g), exp(-g) + exp(-50 * g), 1),
        (exp(-g) + exp(-50 * g), exp(-40 * g) + exp(-g), -1),
        (2 * exp(-g) + exp(-70 * g), exp(-g) + (exp(-60 * g) + exp(-g)), -1),
        # One side only, as that of a sum of votes.
        (exp(-g) - exp(-2 * g) / 2 - exp(-g) + exp(-90 * g), 0 * g, -1),
        (exp(-g) + 3 - exp(-40 * g) / 7, exp(-g) + 3, -1),
        (exp(-g) + exp(-40 * g), exp(-40 * g) + exp(-g), 0),
    ],
)
def test_terms_on_both_sides_cancel(first, second, sign):
    """Without that, the sign is open where the rest has fewer digits than the terms."""
    cells = Line("g").difference_map(first, second, 0.125, 30.0).cells
    assert [cell.sign for cell in cells] == [sign]


def test_votes_of_neighbours_at_one_distance_leave_nothing_open():
    def vote(points, parameters):
        votes = [0, 0]
        for distance, label in points:
            votes[label] += exp(-parameters["g"] * distance)
        return 1 if votes[1] > votes[0] else 0

    family = ct.ProgramFamily(vote, ct.Real("g", 0.05, 3))
    dual = family.dual(((1, 0), (1, 1), (60, 0), (61, 1), (60, 1), (90, 0), (2, 1), (2, 0)))
    # exp(-61 g) against exp(-90 g), once all that is common has cancelled
    assert (dual.n_pieces, dual(0.05), dual(3.0)) == (1, 1, 1)


TERMS = st.lists(st.tuples(st.integers(-3, 3), st.integers(0, 4)), min_size=1, max_size=6)


@settings(max_examples=80, deadline=None)
@given(TERMS, TERMS, st.integers(1, 9))
def test_the_sign_stays_the_same(first, second, eighths):
    place = Fraction(eighths, 8)

    def total(terms, value):
        return sum((factor * value(power) for factor, power in terms), start=0 * g)

    sides = [total(terms, lambda power: exp(-power * g) * (1 + power)) for terms in (first, second)]
    plain = [
        sum(factor * (1 + power) * math.exp(-power * float(place)) for factor, power in terms)
        for terms in (first, second)
    ]
    sign = scaled_difference(*sides).sign({"g": place})
    if abs(plain[0] - plain[1]) > 1e-9:
        assert sign == (1 if plain[0] > plain[1] else -1)
    else:
        assert sign == 0
