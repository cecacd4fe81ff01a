"""How many instances are needed: proved numbers are smallest, estimates are marked."""

import math
from fractions import Fraction

import numpy as np
import pytest

import certune as ct
from certune.guarantees import Tuned, instances_needed, learning_curve, rademacher, refine
from certune.guarantees.rademacher import optimism_from_complexity
from certune.testing import StepFamily, WindowDomain

DOMAIN = WindowDomain()


@pytest.fixture(scope="module")
def answers():
    instances = DOMAIN.sample(30, np.random.default_rng(0))
    duals = [StepFamily().dual(instance) for instance in instances]
    utilities = [dual.value_at(0.5) for dual in duals]
    tuned = Tuned(sum(utilities) / 30, 30, Fraction(0), Fraction(1))
    refinement = refine(duals)
    complexity = rademacher(refinement)
    found = instances_needed(
        tuned,
        utilities,
        epsilon=0.05,
        delta=0.1,
        complexity=complexity,
        structure=DOMAIN.structure,
        curve=learning_curve(refinement),
    )
    return found, complexity


def test_answers_are_sorted_and_say_what_they_are(answers):
    found, _ = answers
    counts = [answer.n_instances for answer in found]
    assert counts == sorted(counts) and min(counts) >= 1
    estimates = {answer.label for answer in found if answer.is_estimate}
    assert estimates == {"Bernstein", "G3", "learning curve"}
    for answer in found:
        assert answer.formula and answer.assumptions and answer.note and answer.purpose
        assert ("estimate" in str(answer)) == answer.is_estimate
        assert (answer.epsilon, answer.delta, answer.utility_range) == (0.05, 0.1, 1.0)


def test_hoeffding_needs_no_more_than_it_says(answers):
    (row,) = [answer for answer in answers[0] if answer.label == "Hoeffding 1963"]

    # Half of delta = 0.1 for an error on either side.
    def half_width(n):
        return math.sqrt(math.log(20) / (2 * n))

    assert half_width(row.n_instances) <= 0.05 < half_width(row.n_instances - 1)


def test_hoeffding_is_two_sided():
    # ln(2 / 0.05) / (2 * 0.05^2) = 737.8
    tuned = Tuned(Fraction(1, 2), 1, Fraction(0), Fraction(1))
    found = instances_needed(tuned, [Fraction(1, 2)], epsilon=0.05, delta=0.05)
    assert [a.n_instances for a in found if a.label == "Hoeffding 1963"] == [738]
    # A fair coin after one toss is off by a half, always.
    found = instances_needed(tuned, [Fraction(1, 2)], epsilon=0.3, delta=0.9)
    assert min(answer.n_instances for answer in found) > 1


def test_tiny_accuracies_give_huge_numbers():
    tuned = Tuned(Fraction(1, 2), 4, Fraction(0), Fraction(1))
    found = instances_needed(
        tuned, [Fraction(1, 2)] * 4, epsilon=1e-300, delta=5e-324, structure=DOMAIN.structure
    )
    assert min(answer.n_instances for answer in found) > 10**590 and str(found[0])


def test_rademacher_answer_solves_its_bound(answers):
    found, complexity = answers
    (row,) = [answer for answer in found if answer.label == "G3"]

    def bound(n):
        tuned = Tuned(Fraction(0), n, Fraction(0), Fraction(1))
        scaled = complexity.upper * math.sqrt(30 / n)
        return float(optimism_from_complexity(tuned, scaled, Fraction(1, 10), None)[0])

    assert bound(row.n_instances) <= 0.05 * (1 + 1e-9)
    assert bound(row.n_instances - 1) > 0.05 * (1 - 1e-9)


def test_worst_case_answers_are_those_of_sample_size(answers):
    size = ct.sample_size(DOMAIN.structure, 0.05, 0.1)
    proved = [a.n_instances for a in answers[0] if "no setting is better" in a.purpose]
    assert proved == sorted(s.n_instances for s in (size, *size.others))


def test_without_functions_the_held_out_answers_remain():
    tuned = Tuned(Fraction(1, 2), 1, Fraction(0), Fraction(1))
    found = instances_needed(tuned, [Fraction(1, 2)], epsilon=0.5)
    assert {answer.label for answer in found} == {"Bernstein", "Hoeffding 1963"}
    with pytest.raises(ct.ParameterError, match="epsilon"):
        instances_needed(tuned, [Fraction(1, 2)], epsilon=0)
