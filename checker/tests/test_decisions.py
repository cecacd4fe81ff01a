"""Runs on intervals: all results are found, true claims are proved, false ones refuted."""

from fractions import Fraction

import pytest
from certune_check import Refuted, Unsupported
from certune_check.decisions import Place, prove_at, prove_within, results
from certune_check.numbers import PARAMETER as T
from certune_check.numbers import exp, power

ENDS = Fraction(0), Fraction(1)


def step():
    """1 where 2^t >= 3/2, that is from log2(3/2) = 0.58496... on."""
    return 1 if power(2, T) >= Fraction(3, 2) else 0


def test_all_results_are_found():
    assert set(results(step, Place(*ENDS))) == {0, 1}
    assert list(results(step, Place(Fraction(0), Fraction(1, 2)))) == [0]
    assert list(results(step, Place(Fraction(3, 5), Fraction(3, 5)))) == [1]


def test_the_same_question_has_the_same_answer():
    def twice():
        return (step() == 1) + (-2 * power(2, T) <= -3)

    assert set(results(twice, Place(*ENDS))) == {0, 2}


def test_true_claims_are_proved_and_false_ones_refuted():
    root = Fraction(0.5849625007211561)  # the float just below
    prove_within(step, (Fraction(0), root), Fraction(0), Fraction(0))
    prove_within(step, (Fraction(0.5849625007211563), Fraction(1)), Fraction(1), Fraction(1))
    prove_within(step, ENDS, Fraction(0), Fraction(1))
    with pytest.raises(Refuted, match="the utility is"):
        prove_within(step, ENDS, Fraction(0), Fraction(0))
    with pytest.raises(Refuted, match="the utility is 0"):
        prove_at(step, root, Fraction(1), Fraction(1))


def test_a_tie_at_one_point_is_seen():
    """At t = 1/3 alone the program returns another value."""

    def needle():
        return 1 if 3 * T == 1 else 0

    prove_at(needle, Fraction(1, 3), Fraction(1), Fraction(1))
    prove_within(needle, (Fraction(0), Fraction(1, 3)), Fraction(0), Fraction(0))
    with pytest.raises(Refuted, match="at 0.333"):
        prove_within(needle, ENDS, Fraction(0), Fraction(0))


def test_a_change_that_does_not_matter_is_passed_without_being_located():
    def steady():
        return 1 if exp(T) >= 2 else 1

    prove_within(steady, ENDS, Fraction(1), Fraction(1))


def test_a_program_that_fails_is_not_proved():
    with pytest.raises(Refuted, match="fails"):
        prove_at(lambda: 1 / (T - Fraction(1, 2)), Fraction(1, 2), Fraction(0), Fraction(1))
    with pytest.raises(Unsupported, match="varies"):
        prove_within(lambda: T, ENDS, Fraction(0), Fraction(1))
