"""Rademacher complexity against enumeration; formulas against their own evaluation."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import certune as ct
from certune.guarantees import (
    Tuned,
    count_utility_vectors,
    massart_bound,
    rademacher,
    rademacher_bound,
    refine,
)
from certune.guarantees.rademacher import SELF_BOUNDING_FROM
from certune.testing import StepFamily, WindowDomain

DELTA = Fraction(1, 20)


def sample(n, seed=0):
    instances = WindowDomain().sample(n, np.random.default_rng(seed))
    return instances, [StepFamily().dual(instance) for instance in instances]


def enumerated(instances):
    """Mean over all signs of the largest signed mean, by runs of the algorithm on all steps."""
    n = len(instances)
    points = [0.0, *(step for instance in instances for step in instance.thresholds)]
    vectors = [[StepFamily().run_exact(i, x) for i in instances] for x in points]
    total = Fraction(0)
    for signs in product((-1, 1), repeat=n):
        total += max(
            sum((s * u for s, u in zip(signs, vector, strict=True)), Fraction(0))
            for vector in vectors
        )
    return total / (n * 2**n)


@pytest.mark.parametrize("n", [1, 2, 4, 6])
def test_complexity_is_that_of_all_sign_vectors(n):
    instances, duals = sample(n, seed=n)
    found = rademacher(refine(duals))
    exact = enumerated(instances)
    assert found.exhaustive and found.n_draws == 2**n and found.standard_error == 0
    assert Fraction(found.lower) <= exact <= Fraction(found.upper)
    assert found.upper <= math.nextafter(math.nextafter(found.lower, 1), 1)


def test_complexity_of_ten_instances_is_that_of_all_sign_vectors():
    instances, duals = sample(10, seed=3)
    points = [0.0, *(step for instance in instances for step in instance.thresholds)]
    # Quarters: the products below are exact in floats.
    vectors = np.array([[float(StepFamily().run_exact(i, x)) for i in instances] for x in points])
    signs = np.array(list(product((-1, 1), repeat=10)))
    exact = (signs @ vectors.T).max(axis=1).sum() / (10 * 1024)
    found = rademacher(refine(duals))
    assert found.exhaustive and found.upper == pytest.approx(exact, rel=1e-15)


def test_random_signs_agree_with_all_signs():
    _, duals = sample(10)
    all_signs = rademacher(refine(duals))
    drawn = rademacher(refine(duals), n_draws=1000, random_state=1)
    assert not drawn.exhaustive and drawn.n_draws == 1000
    # Five standard errors: a chance of less than one in a million.
    assert abs(drawn.upper - all_signs.upper) < 5 * drawn.standard_error
    assert drawn == rademacher(refine(duals), n_draws=1000, random_state=1)


def test_a_constant_class_has_no_complexity():
    duals = [ct.PiecewiseFunction.constant(0, 1, Fraction(k, 7)) for k in range(5)]
    assert rademacher(refine(duals)).upper == 0.0
    assert rademacher(refine(duals * 4), n_draws=10).upper == 0.0


def test_gaps_count_by_their_upper_ends():
    # In the gap the value may be 3 or -1: with sign + the supremum is 3, with sign - it is 1.
    # The mean over both signs is 2.
    wide = ct.PiecewiseFunction([0, 0.75], [0.25, 1], [0, 1], [-1], [3], 1)
    found = rademacher(refine([wide]))
    assert found.upper == 2.0 and found.lower <= 0.5


@pytest.mark.parametrize("bad", [0, 1, -3, 2.5, "many"])
def test_number_of_draws_is_checked(bad):
    with pytest.raises(ct.ParameterError, match="n_draws"):
        rademacher(refine([ct.PiecewiseFunction.constant(0, 1, 0)]), bad)


@pytest.mark.parametrize("n", [6, 20, 60])
def test_formulas(n):
    _, duals = sample(n)
    refinement = refine(duals)
    tuned = Tuned(ct.mean(duals).max_exact, n, Fraction(0), Fraction(1))
    complexity = rademacher(refinement)
    k = complexity.n_draws

    def expected(complexity_value, draws):
        if n < SELF_BOUNDING_FROM:
            return 2 * complexity_value + math.sqrt(
                (9 + (4 / draws if draws else 0)) * math.log(20) / (2 * n)
            )
        x = math.log((3 if draws else 2) * 20)
        upper = complexity_value + (math.sqrt(x / (2 * draws * n)) if draws else 0)
        root = math.sqrt(x / 2) + math.sqrt(x / 2 + 2 * n * upper)
        return root**2 / n + math.sqrt(x / (2 * n))

    found = rademacher_bound(tuned, complexity, DELTA)
    value = expected(complexity.upper, 0 if complexity.exhaustive else k)
    assert found.value == pytest.approx(value, rel=1e-12)
    assert found.expected_utility == pytest.approx(float(tuned.value) - value, rel=1e-9)
    spans = [float(d.upper_bound_exact + (-d).upper_bound_exact) for d in duals]
    h = math.sqrt(sum(span**2 for span in spans) / n)
    massart = h / 2 * math.sqrt(2 * math.log(count_utility_vectors(refinement)) / n)
    assert complexity.upper <= massart + 5 * complexity.standard_error
    assert massart_bound(tuned, refinement, DELTA).value == pytest.approx(
        expected(massart, 0), rel=1e-12
    )


def test_a_surrogate_adds_twice_its_error():
    _, duals = sample(8)
    tuned = Tuned(ct.mean(duals).max_exact, 8, Fraction(0), Fraction(1))
    complexity = rademacher(refine(duals))
    plain = rademacher_bound(tuned, complexity, DELTA)
    through = rademacher_bound(tuned, complexity, DELTA, sup_error=Fraction(1, 8))
    assert through.value == pytest.approx(plain.value + 0.25, rel=1e-12)
    assert through.label == "lm:balcan-refined-icml"
