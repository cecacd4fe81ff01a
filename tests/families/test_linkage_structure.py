"""Counts of the linkage families: enumerated for small n, chains differentiated by hand."""

from itertools import combinations, combinations_with_replacement, product
from math import log2

import numpy as np
import pytest

import certune as ct
from certune.errors import ParameterError
from certune.families.linkage.structure import min_max_comparisons, shared_comparisons


@pytest.mark.parametrize("n", [3, 4, 5, 6])
def test_comparisons_that_share_a_cluster(n):
    triples, largest = set(), 0
    for roles in product(range(4), repeat=n):
        x, y, z = (frozenset(i for i in range(n) if roles[i] == role) for role in (1, 2, 3))
        if x and y and z:
            triples.add((x, frozenset((y, z))))
            largest = max(largest, len(x) * (len(y) + len(z)))
    assert shared_comparisons(n) == len(triples)
    assert largest == n * n // 4


@pytest.mark.parametrize("n_pairs", [3, 6, 10])
def test_comparisons_of_sums_of_two_powers(n_pairs):
    sides = list(combinations_with_replacement(range(n_pairs), 2))
    functions = set()
    for left, right in combinations(sides, 2):
        coefficients = np.zeros(n_pairs, dtype=int)
        np.add.at(coefficients, list(left), 1)
        np.add.at(coefficients, list(right), -1)
        coefficients //= np.gcd.reduce(coefficients)
        functions.add(max(tuple(coefficients), tuple(-coefficients)))
    n = {3: 3, 6: 4, 10: 5}[n_pairs]
    assert min_max_comparisons(n) == len(functions) + 1


# The chains of docs/theory/structures.md: derivatives are these polynomials, of these degrees.


def degree_of(polynomial, size, seed):
    """Degree of a polynomial with no cancellation at a random point, by scaling its arguments."""
    point = np.random.default_rng(seed).uniform(1, 2, size)
    ratio = polynomial(*(2.0**40 * point)) / polynomial(*(2.0**39 * point))
    return round(log2(abs(ratio)))


DISTANCES = np.array([[1.0, 2.0], [2.5, 1.2], [0.7, 3.0], [1.9, 0.4]])


def distance(i, x):
    """delta_1 + x^2 delta_2 of pair i: two metrics, second weight x^2, first weight 1."""
    return DISTANCES[i, 0] + x * x * DISTANCES[i, 1]


def ratio_power(alpha, x):
    return (distance(0, x) / distance(3, x)) ** alpha


def check_derivative(function, polynomial, arguments, alpha=1.3, x=0.8):
    """Compare the polynomial on the chain with a central difference in x."""
    step = 1e-6
    numeric = (function(alpha, x + step) - function(alpha, x - step)) / (2 * step)
    assert polynomial(*arguments(alpha, x)) == pytest.approx(numeric, rel=1e-6)


def test_chain_with_separate_reciprocals():
    def polynomial(alpha, x, f0, f3, h):
        return alpha * (2 * x * DISTANCES[0, 1] * f0 - 2 * x * DISTANCES[3, 1] * f3) * h

    check_derivative(
        ratio_power,
        polynomial,
        lambda a, x: (a, x, 1 / distance(0, x), 1 / distance(3, x), ratio_power(a, x)),
    )
    structure = ct.Linkage("min-max", weights="tune", n_metrics=2).structure(5)
    separate, joint = structure.predicates
    assert degree_of(polynomial, 5, 0) == separate.chain_degree == 4
    assert separate.chain_length == 4 + 3 + 3
    fixed = ct.Linkage("min-max", alpha=1.5, weights="tune", n_metrics=2).structure(5)
    # A fixed exponent needs no logarithm, and alpha is no variable.
    assert [(p.chain_length, p.chain_degree) for p in fixed.predicates] == [(7, 3), (4, 9)]


def test_chain_with_a_joint_reciprocal():
    def others(i, x):
        return np.prod([distance(j, x) for j in range(4) if j != i])

    def power(alpha, x, r, h):
        slopes = [2 * x * DISTANCES[i, 1] * others(i, x) * r for i in (0, 3)]
        return alpha * (slopes[0] - slopes[1]) * h

    def reciprocal(x, r):
        return -r * r * sum(2 * x * DISTANCES[i, 1] * others(i, x) for i in range(4))

    def joint(x):
        return 1 / np.prod([distance(i, x) for i in range(4)])

    check_derivative(ratio_power, power, lambda a, x: (a, x, joint(x), ratio_power(a, x)))
    check_derivative(lambda a, x: joint(x), reciprocal, lambda a, x: (x, joint(x)))
    structure = ct.Linkage("min-max", weights="tune", n_metrics=2).structure(5)
    count = structure.predicates[1]
    degrees = degree_of(power, 4, 1), degree_of(reciprocal, 2, 2)
    assert max(degrees) == count.chain_degree == 10 and count.chain_length == 1 + 3 + 3


@pytest.mark.parametrize("n", [4, 7, 10])
def test_chains_of_power_means(n):
    terms = n * n // 4
    separate, joint = ct.Linkage("power-mean", weights="tune", n_metrics=3).structure(n).predicates
    assert (separate.chain_length, separate.chain_degree) == (3 * terms - 2, 4)
    assert (joint.chain_length, joint.chain_degree) == (2 * terms - 1, 2 + 2 * terms)
    assert separate.n_parameters == joint.n_parameters == 3
    (product_count,) = ct.Linkage("product", alpha=[(0, 1)] * 3).structure(n).predicates
    assert (product_count.chain_length, product_count.chain_degree) == (terms - 1, 1)


# Observed is never more than proved


@pytest.mark.parametrize("kind", ["min-max", "power-mean"])
def test_duals_have_no_more_breakpoints_than_proved(kind):
    rng = np.random.default_rng(0)
    family = ct.Linkage(kind, alpha=(-20, 20))
    for n in (3, 4, 5, 7):
        proved = family.structure(n).line.n_breakpoints
        for _ in range(3):
            distances = np.triu(rng.uniform(0.5, 2, (n, n)), 1)
            target = rng.integers(0, 2, n)
            target[:2] = 0, 1
            instance = ct.ClusteringInstance(distances=distances + distances.T, target=target, k=2)
            assert len(family.dual(instance).breakpoints) <= proved


def test_piece_forms_depend_on_the_utility():
    assert ct.Linkage().structure(4).n_piece_forms == 5
    # Rooted binary trees with 4 labelled leaves: 1 * 3 * 5.
    assert ct.Linkage(utility="adjusted-rand").structure(4).n_piece_forms == 15


def test_parameters_are_those_that_are_free():
    def parameters(**options):
        family = ct.Linkage("power-mean", **options)
        return {count.n_parameters for count in family.structure(6).predicates}

    assert parameters(weights="tune", n_metrics=3) == {3}
    assert parameters(weights="tune", n_metrics=3, alpha=1.0) == {2}
    assert parameters(weights=[0.2, 0.8]) == {1}
    product_family = ct.Linkage("product", alpha=[(0, 1), 2.0, (0, 1)])
    assert product_family.structure(6).predicates[0].n_parameters == 2
    assert product_family.structure(6).as_printed is None


@pytest.mark.parametrize(
    ("family", "sizes", "message"),
    [
        (ct.Linkage(), {"n": 2}, "n must be a whole number >= 3, got 2"),
        (ct.Linkage(), {"n": 3.0}, "n must be a whole number >= 3, got 3.0"),
        (ct.Linkage(n_metrics=2), {"n": 5, "n_metrics": 3}, "made for 2 metric"),
        (ct.Linkage(), {"n": 5, "n_metrics": -1}, "n_metrics must be"),
        (ct.Linkage(alpha=1.0), {"n": 5}, "no free parameter"),
    ],
)
def test_bad_sizes_are_refused(family, sizes, message):
    with pytest.raises(ParameterError, match=message):
        family.structure(**sizes)
