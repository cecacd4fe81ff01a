"""Soft labels and breakpoints against methods that share no code with the package.

The oracles: sums over all spanning forests (the matrix-tree theorem), linear systems in ball
arithmetic at 1200 bits written down here, and scikit-learn's label propagation run to convergence.
"""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from flint import arb, arb_mat, ctx
from sklearn.semi_supervised import LabelPropagation

import certune as ct

BITS = 1200


def exact_soft(distances, labeled, labels, sigma):
    """Soft labels of class 1 of the unlabelled points, as balls: (I - P_UU)^-1 P_UL f_L."""
    n = len(distances)
    free = [i for i in range(n) if i not in set(labeled)]
    with ctx.workprec(BITS):
        scale = arb(float(sigma)) ** 2
        weight = [[(-arb(float(d)) / scale).exp() for d in row] for row in distances]
        sums = [sum((weight[i][j] for j in range(n) if j != i), arb(0)) for i in range(n)]
        matrix = [
            [arb(i == j) - (weight[i][j] / sums[i] if i != j else 0) for j in free] for i in free
        ]
        right = [
            [
                sum(
                    (
                        weight[i][j] / sums[i]
                        for j, c in zip(labeled, labels, strict=True)
                        if c == 1
                    ),
                    arb(0),
                )
            ]
            for i in free
        ]
        solution = arb_mat(matrix).solve(arb_mat(right))
        return [solution[i, 0] for i in range(len(free))]


def forest_soft(weights, labeled, labels):
    """The same by enumeration: each forest in which every tree has one labelled point counts."""
    n = len(weights)
    free = [i for i in range(n) if i not in set(labeled)]
    edges = [(i, j) for i, j in combinations(range(n), 2) if not {i, j} <= set(labeled)]
    totals, ones = Fraction(0), dict.fromkeys(free, Fraction(0))
    for chosen in combinations(edges, len(free)):
        root = list(range(n))

        def find(i, root=root):
            while root[i] != i:
                i = root[i]
            return i

        product, is_forest = Fraction(1), True
        for i, j in chosen:
            a, b = find(i), find(j)
            if a == b or (a in labeled and b in labeled):
                is_forest = False
                break
            root[b if a in labeled else a] = a if a in labeled else b
            product *= weights[i][j]
        if is_forest:
            totals += product
            for i in free:
                ones[i] += product * (labels[labeled.index(find(i))] == 1)
    return [float(ones[i] / totals) for i in free]


def median_scale(instance):
    above = np.triu_indices(instance.n_points, 1)
    return float(np.sqrt(np.median(instance.distances[0][above])))


def test_soft_labels_are_ratios_of_forest_sums():
    rng = np.random.default_rng(0)
    for _ in range(5):
        distances = np.zeros((6, 6))
        distances[np.triu_indices(6, 1)] = rng.integers(1, 9, 15)
        distances += distances.T
        instance = ct.LabelingInstance(distances=distances, labeled=[1, 4], labels=[0, 1])
        soft = ct.HarmonicLabeling().solve(instance, 1.5).soft[:, 1]
        weights = [[Fraction(float(np.exp(-d / 2.25))) for d in row] for row in distances]
        expected = forest_soft(weights, [1, 4], [0, 1])
        np.testing.assert_allclose(soft[instance.unlabeled], expected, rtol=1e-13)


@pytest.mark.parametrize("share", [3.0, 1.0, 0.3, 0.1, 0.06, 0.04, 0.02])
def test_relative_accuracy_at_every_bandwidth(share):
    """1e-13 down to 0.04 of the median scale, and below, where weights leave the doubles."""
    instances = [
        *ct.datasets.digits_labeling(2, n_per_class=16, n_labeled_per_class=2),
        *ct.datasets.random_labeling(2, n_per_class=14),
    ]
    for instance in instances:
        sigma = share * median_scale(instance)
        first = instance.class_names.index(instance.class_names[instance.labels.max()])
        labels = [int(code == first) for code in instance.labels]
        exact = exact_soft(instance.distances[0], instance.labeled.tolist(), labels, sigma)
        assert max(float(ball.rad()) for ball in exact) < 1e-60
        soft = ct.HarmonicLabeling().solve(instance, sigma).soft[instance.unlabeled, 1]
        expected = np.array([float(ball.mid()) for ball in exact])
        large = expected > (1e-250 if share >= 0.04 else 1e-35)
        assert large.any()
        np.testing.assert_allclose(soft[large], expected[large], rtol=1e-13)


def test_label_propagation_converges_to_the_same_labels():
    instance = ct.datasets.digits_labeling(1, n_per_class=20, random_state=3)[0]
    sigma = 0.5
    given = np.full(instance.n_points, -1)
    given[instance.labeled] = instance.labels
    model = LabelPropagation(gamma=sigma**-2, tol=1e-13, max_iter=100_000)
    model.fit(instance.points, given)
    soft = ct.HarmonicLabeling().solve(instance, sigma).soft
    np.testing.assert_allclose(soft, model.label_distributions_, atol=1e-9)


def test_labels_agree_with_balls_at_random_bandwidths():
    rng = np.random.default_rng(1)
    for instance in ct.datasets.random_labeling(3, n_per_class=12, spread=0.5):
        labeled, labels = instance.labeled.tolist(), instance.labels.tolist()
        for sigma in np.exp(rng.uniform(np.log(0.05), np.log(5), 12)):
            exact = exact_soft(instance.distances[0], labeled, labels, sigma)
            expected = [1 if ball > arb(0.5) else 0 for ball in exact]
            assert all(ball > arb(0.5) or ball < arb(0.5) for ball in exact)
            got = ct.HarmonicLabeling().solve(instance, float(sigma)).labels[instance.unlabeled]
            assert got.tolist() == expected


def test_breakpoints_enclose_roots_found_in_balls():
    """The utility changes where balls at both ends of an enclosure say that it changes."""
    instance = ct.datasets.random_labeling(1, n_per_class=15, spread=0.5, random_state=5)[0]
    dual = ct.HarmonicLabeling(sigma=(0.07, 5)).dual(instance)
    assert dual.n_pieces > 5
    labeled, labels = instance.labeled.tolist(), instance.labels.tolist()
    truth = instance.truth[instance.unlabeled]

    def utility(sigma):
        exact = exact_soft(instance.distances[0], labeled, labels, sigma)
        assert all(ball > arb(0.5) or ball < arb(0.5) for ball in exact)
        right = [(ball > arb(0.5)) == (c == 1) for ball, c in zip(exact, truth, strict=True)]
        return Fraction(sum(right), len(right))

    for low, high in dual.breakpoints:
        assert high - low < 1e-9 * high
        assert utility(low) == dual.value_at(low)
        assert utility(high) == dual.value_at(high)
    # No breakpoint is missing: the value is right in the middle of every piece and on a grid.
    for t in [*dual.sample_points().tolist(), *np.geomspace(0.07, 5, 60).tolist()]:
        if dual.value_at(t) is not None:
            assert utility(t) == dual.value_at(t)
