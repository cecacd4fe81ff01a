"""Traced linkage on a handful of points never exceeds what is proved for every instance.

The proved counts are about comparisons divided by one of their terms (docs/theory/structures.md);
`homogeneous` does the division, and each quotient is held against its predicate at a point.
"""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

import certune as ct
from certune.families.programs.linkage import LinkageProgram
from certune.pfaffian import exp, log, power, trace
from certune.pfaffian.expressions import operations as op


def terms_of(node, factor=1):
    """Yield (coefficient, term) of a sum of powers and exponentials."""
    if node.operation in (op.ADD, op.SUBTRACT):
        yield from terms_of(node.arguments[0], factor)
        sign = 1 if node.operation is op.ADD else -1
        yield from terms_of(node.arguments[1], sign * factor)
    elif node.operation is op.MULTIPLY and node.arguments[0].value is not None:
        yield from terms_of(node.arguments[1], factor * node.arguments[0].value)
    else:
        yield factor, node


def ratio(term, last):
    """term / last as one power or exponential."""
    if term is last:
        return 1
    (u, *rest), (v, *_) = term.arguments, last.arguments
    if term.operation is op.EXP:
        return exp(u - v)
    assert term.operation is op.POWER and rest[0] is last.arguments[1]
    return power(u.value / v.value if u.value and v.value else u / v, rest[0])


def homogeneous(predicate):
    """Return the number of terms, and the predicate divided by the last of them."""
    sums = {}
    for coefficient, term in terms_of(predicate):
        sums[term] = sums.get(term, 0) + coefficient
    sums = {term: coefficient for term, coefficient in sums.items() if coefficient}
    if not all(term.operation in (op.POWER, op.EXP) for term in sums):
        return 0, predicate
    *_, last = sums
    quotient = sum(coefficient * ratio(term, last) for term, coefficient in sums.items())
    point = {name: Fraction(7, 5) for name in predicate.parameters}
    difference = (predicate - last * quotient).enclose(point, 256)
    assert difference.contains(0) and abs(difference) < 1e-50
    return len(sums), quotient


def assert_within(found, structure):
    """Compare observed predicates, chains and degrees; return the most terms of a predicate."""
    counts = structure.predicates
    assert {count.n_parameters for count in counts} == {found.complexity.n_parameters}
    assert len(found.predicates) <= min(count.n_predicates for count in counts)
    widths = []
    for predicate in found.predicates:
        width, quotient = homogeneous(predicate)
        widths.append(width)
        q, m, degree = quotient.complexity
        assert any(
            q <= count.chain_length and m <= count.chain_degree and degree <= count.function_degree
            for count in counts
        ), (predicate, quotient.complexity)
    return max(widths, default=0)


class Greedy:
    """Greedy linkage of the weights of all pairs of points, for positive exponents.

    Returns the size of the cluster of point 0 before the last two clusters are joined.
    """

    def __init__(self, n, value, min_max=False):
        self.n, self.value, self.min_max = n, value, min_max

    def __call__(self, instance, parameters):
        values = {
            pair: self.value(instance, pair, parameters) for pair in combinations(range(self.n), 2)
        }
        clusters = [(i,) for i in range(self.n)]
        while len(clusters) > 2:
            pairs = list(combinations(clusters, 2))
            scores = [self.score(a, b, values) for a, b in pairs]
            best = 0
            for number in range(1, len(pairs)):
                if scores[number] < scores[best]:
                    best = number
            clusters = [c for c in clusters if c not in pairs[best]]
            clusters.append(tuple(sorted(pairs[best][0] + pairs[best][1])))
        return Fraction(next(len(c) for c in clusters if 0 in c), self.n)

    def score(self, a, b, values):
        between = [values[min(i, j), max(i, j)] for i in a for j in b]
        return min(between) + max(between) if self.min_max else sum(between) / len(between)


def metrics(n, n_metrics, seed):
    """Distances of all pairs in several metrics, positive integers."""
    rng = np.random.default_rng(seed)
    return {
        pair: tuple(int(entry) for entry in rng.integers(10, 60, n_metrics))
        for pair in combinations(range(n), 2)
    }


def weighted(instance, pair, parameters):
    """(delta_1 + x^2 delta_2)^alpha: tuned weights as docs/theory/structures.md has them."""
    first, second = instance[pair]
    return (first + parameters["x"] ** 2 * second) ** parameters["alpha"]


def product(instance, pair, parameters):
    """delta_1^alpha_1 delta_2^alpha_2."""
    first, second = instance[pair]
    return exp(parameters["alpha_1"] * log(first) + parameters["alpha_2"] * log(second))


@pytest.mark.parametrize("kind", ["min-max", "power-mean"])
@pytest.mark.parametrize("sign", [-1, 1])
def test_a_fixed_metric(kind, sign):
    ends = sorted((sign * 0.25, sign * 6.0))
    widest = most = 0
    for n, seed in [(3, 0), (4, 1), (5, 1), (5, 2), (6, 0)]:
        distances = np.zeros((n, n))
        for (i, j), (distance,) in metrics(n, 1, seed).items():
            distances[i, j] = distances[j, i] = distance
        instance = ct.ClusteringInstance(distances=distances, target=[0, 1, *[0] * (n - 2)], k=2)
        structure = ct.Linkage(kind, alpha=tuple(ends)).structure(n)
        family = ct.ProgramFamily(LinkageProgram(kind), ct.Real("alpha", *ends))
        found = family.trace(instance)
        assert all(path.is_reachable for path in found.paths)
        widest = max(widest, assert_within(found, structure))
        n_breakpoints = len(family.dual(instance).breakpoints)
        assert n_breakpoints <= structure.line.n_breakpoints
        most = max(most, n_breakpoints)
    # The comparison is not an empty one.
    assert widest >= 3 and most > 0


def test_the_sign_of_the_exponent_is_a_predicate():
    distances = np.array([[0.0, 3, 4], [3, 0, 5], [4, 5, 0]])
    instance = ct.ClusteringInstance(distances=distances, target=[0, 0, 1], k=2)
    found = trace(LinkageProgram("min-max"), instance, {"alpha": (-1, 2)})
    assert "alpha" in map(str, found.predicates)
    assert_within(found, ct.Linkage("min-max").structure(3))


@pytest.mark.parametrize("kind", ["min-max", "power-mean"])
@pytest.mark.parametrize(("n", "seed", "widest"), [(3, 4, 2), (4, 5, 4)])
def test_tuned_weights(kind, n, seed, widest):
    structure = ct.Linkage(kind, weights="tune", n_metrics=2).structure(n)
    program = Greedy(n, weighted, min_max=kind == "min-max")
    domain = {"alpha": (1, 2), "x": (0.5, 1.5)}
    assert assert_within(trace(program, metrics(n, 2, seed), domain), structure) == widest


@pytest.mark.parametrize(("n", "widest"), [(3, 2), (4, 4)])
def test_products(n, widest):
    structure = ct.Linkage("product", alpha=[(0.2, 3), (0.2, 2)]).structure(n)
    domain = {"alpha_1": (0.2, 3), "alpha_2": (0.2, 2)}
    found = trace(Greedy(n, product), metrics(n, 2, n), domain, boxes=64)
    assert assert_within(found, structure) == widest


@pytest.mark.parametrize("n", [4, 5])
def test_breakpoints_of_products_in_one_exponent(n):
    structure = ct.Linkage("product", alpha=[(0.2, 4), 1.0]).structure(n)
    family = ct.ProgramFamily(
        Greedy(n, product), ct.ParameterSpace((ct.Real("alpha_1", 0, 4), ct.Real("alpha_2", 0, 2)))
    )
    line = ct.Segment({"alpha_1": 0.2, "alpha_2": 1.0}, {"alpha_1": 4.0, "alpha_2": 1.0})
    found = [len(family.dual(metrics(n, 2, seed), along=line).breakpoints) for seed in range(4)]
    assert 0 < max(found) <= structure.line.n_breakpoints
