"""Choices among scores that are no lines: few comparisons, and what rational arithmetic says."""

import math
import random
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import certune as ct
from certune.pfaffian import argmax, declare, exp, log, parameter, sqrt
from certune.pfaffian.programs.contenders import Contenders, Scores
from certune.pfaffian.programs.sweep import sweep


def humps(count, seed=0):
    rng = random.Random(seed)
    return [(rng.uniform(-1, 1), rng.uniform(5, 20)) for _ in range(count)]


def changes(values):
    return sum(a != b for a, b in zip(values, values[1:], strict=False))


def test_a_choice_compares_about_as_many_pairs_as_its_winner_changes():
    items = humps(60)
    found = sweep(lambda t: argmax([exp(-w * (t - m) ** 2) for m, w in items]), "t", -1.0, 1.0)
    winners = [int(piece.value.value) for piece in found.pieces]
    assert changes(winners) >= 25
    assert found.n_predicates <= changes(winners) + 5  # 1770 pairs


@pytest.mark.parametrize(
    ("score", "n_conditions"),
    [
        (lambda item, t: item[0] * t - item[1] * t**3 + item[0] ** 2, 0),
        (lambda item, t: item[1] / (20 ** (item[0] * t) + item[1] ** (1 - t)), 0),
        (lambda item, t: ct.pfaffian.erf(item[1] * (t - item[0]) / 8) - item[1] * t / 8, 0),
        # Each root is asked once whether it has a value.
        (lambda item, t: sqrt(item[1] + t) - item[0] * t * t, 30),
    ],
    ids=["polynomials", "powers", "without tape", "roots"],
)
def test_other_scores_compare_few_pairs_too(score, n_conditions):
    items = humps(30, seed=3)
    found = sweep(lambda t: argmax([score(item, t) for item in items]), "t", -1.0, 1.0)
    n_changes = changes([piece.value.value for piece in found.pieces])
    assert n_changes >= 1
    assert found.n_predicates - n_conditions <= 2 * n_changes + 5


POLYNOMIALS = st.lists(st.tuples(*[st.integers(-3, 3)] * 4), min_size=2, max_size=7)


def choices(items, parameters):
    """A choice, a second one that depends on it, and a comparison beside both."""
    t = parameters["t"]
    keys = [a + b * t + c * t * t + d * t**3 for a, b, c, d in items]
    first = argmax(keys)
    second = argmax([-((key - keys[first] - t) ** 2) for key in keys])
    return Fraction(100 * first + 10 * second + (keys[0] > keys[-1] * t), 1000)


def plain_choices(items, t):
    keys = [a + b * t + c * t * t + d * t**3 for a, b, c, d in items]
    first = keys.index(max(keys))
    others = [-((key - keys[first] - t) ** 2) for key in keys]
    second = others.index(max(others))
    return Fraction(100 * first + 10 * second + (keys[0] > keys[-1] * t), 1000)


@settings(max_examples=40, deadline=None)
@given(POLYNOMIALS)
def test_winners_are_right_everywhere(items):
    dual = ct.ProgramFamily(choices, ct.Real("t", -2, 2)).dual(tuple(items))
    places = [k / 16 - 2 for k in range(65)]
    places += [t for low, high in dual.breakpoints for t in (low, (low + high) / 2, high)]
    places += [(a + b) / 2 for a, b in zip(dual.starts, dual.stops, strict=True)]
    for t in places:
        lower, upper = dual.enclose_exact(t)
        assert lower <= plain_choices(items, Fraction(t)) <= upper, t
    for start, stop in zip(dual.starts, dual.stops, strict=True):
        middle = start / 2 + stop / 2
        assert dual.enclose_exact(middle) == (plain_choices(items, Fraction(middle)),) * 2


def test_of_equal_scores_the_first_is_chosen_also_where_many_meet():
    """All scores are 1 at 0 and equal in pairs everywhere; constants stand among them."""

    def winner(items, parameters):
        t = parameters["t"]
        return argmax([exp(-k * t) + 0 * t for k in items] + [1, exp(t) * exp(-t)])

    dual = ct.ProgramFamily(winner, ct.Real("t", -1, 1), utility_range=(0, 10)).dual((2, 1, 2, 1))
    assert dual.enclose_exact(0.0) == (0, 0)
    assert dual.enclose_exact(-0.5) == (0, 0)
    assert dual.enclose_exact(0.5) == (4, 4)


def test_a_score_without_a_value_is_met_although_it_would_lose():
    def winner(_, parameters):
        t = parameters["t"]
        return argmax([5 + t * t, log(t) - 100, t])

    with pytest.raises(ct.CertuneError, match="log needs a number > 0"):
        ct.ProgramFamily(winner, ct.Real("t", -1, 1), utility_range=(0, 3)).dual(0)


def test_slopes_without_a_bound_leave_nobody_out():
    t = parameter("t")
    found = Contenders([sqrt(t), 2 * sqrt(t), t - 3], Scores("t"), 0.0, 1.0)
    assert 0 in found.within(0.0, 1.0) and 1 in found.within(0.0, 1.0)
    assert found.within(0.0, 1e-300)[:2] == (0, 1)


def test_a_declared_function_may_be_a_score():
    gompertz = declare("gompertz", lambda x, y: y * exp(-x), lambda x: (-(-x).exp()).exp())
    items = [(k / 10, 1 + k) for k in range(12)]
    found = sweep(lambda t: argmax([gompertz(t - m) / w for m, w in items]), "t", 0.0, 3.0)
    for piece in found.pieces:
        middle = 0.5 * (piece.start + piece.stop)
        keys = [math.exp(-math.exp(m - middle)) / w for m, w in items]
        assert piece.value.value == keys.index(max(keys))
