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


def exact_soft(distances, labeled, labels, sigma, edges=None, bits=BITS):
    """Soft labels of class 1 of the unlabelled points, as balls: (I - P_UU)^-1 P_UL f_L."""
    n = len(distances)
    free = [i for i in range(n) if i not in set(labeled)]
    with ctx.workprec(bits):
        scale = arb(float(sigma)) ** 2
        weight = [
            [
                (-arb(float(d)) / scale).exp() if edges is None or (i, j) in edges else arb(0)
                for j, d in enumerate(row)
            ]
            for i, row in enumerate(distances)
        ]
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
        try:
            solution = arb_mat(matrix).solve(arb_mat(right))
        except ZeroDivisionError:  # too few bits
            return None
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


def graph_kinds():
    """Instances whose weights differ by little, by all doubles, and by more."""
    rng = np.random.default_rng(0)
    blobs = rng.normal(size=(16, 2))
    with_twins = blobs.copy()
    with_twins[1] = with_twins[0]
    clusters = 0.1 * blobs + 3 * rng.integers(0, 3, (16, 1))
    path = np.cumsum(rng.uniform(0.5, 1.5, 16))[:, None]
    truth = np.arange(16) % 2
    options = {"labeled": [0, 3], "labels": [0, 1], "truth": truth}
    yield "digits", ct.datasets.digits_labeling(1, n_per_class=16, n_labeled_per_class=2)[0], None
    yield "random", ct.datasets.random_labeling(1, n_per_class=14)[0], None
    yield "duplicates", ct.LabelingInstance(with_twins, **options), None
    yield "clusters", ct.LabelingInstance(clusters, **options), None
    yield "neighbours", ct.LabelingInstance(blobs, **options), 3
    yield "path", ct.LabelingInstance(path, **options), 2
    lengths = rng.exponential(size=120)
    yield "no metric", ct.LabelingInstance(distances=lengths, **options), None


def edges_of(distances, n_neighbors):
    """Pairs of points, one of them among the nearest ones of the other."""
    n = len(distances)
    if n_neighbors is None:
        return {(i, j) for i in range(n) for j in range(n) if i != j}
    pairs = set()
    for i in range(n):
        others = sorted((distances[i][j], j) for j in range(n) if j != i)
        last = others[n_neighbors - 1][0]
        pairs |= {(i, j) for d, j in others if d <= last}
    return pairs | {(j, i) for i, j in pairs}


@pytest.mark.parametrize("share", [3.0, 1.0, 0.3, 0.1, 0.06, 0.04, 0.02])
@pytest.mark.parametrize(
    ("instance", "n_neighbors"), [pytest.param(i, k, id=name) for name, i, k in graph_kinds()]
)
def test_relative_accuracy_at_every_bandwidth(instance, n_neighbors, share):
    """1e-13 for every soft label that is a normal double, far below 0.04 of the median scale."""
    sigma = share * median_scale(instance)
    first = int(instance.labels.max())
    labels = [int(code == first) for code in instance.labels]
    edges = edges_of(instance.distances[0], n_neighbors)
    for bits in (BITS, 3 * BITS, 9 * BITS, 27 * BITS):
        labeled = instance.labeled.tolist()
        exact = exact_soft(instance.distances[0], labeled, labels, sigma, edges, bits)
        if exact is not None and all(x.rad() < x * arb(2) ** -80 for x in exact):
            break
    labeling = ct.HarmonicLabeling(n_neighbors=n_neighbors).solve(instance, sigma)
    soft = labeling.soft[instance.unlabeled, 1]
    expected = np.array([float(ball.mid()) for ball in exact])
    normal = expected > 2.0**-1020
    assert normal.any() and all(x.rad() < x * arb(2) ** -80 for x in exact)
    np.testing.assert_allclose(soft[normal], expected[normal], rtol=1e-13)
    assert (soft[~normal] < 2.0**-1018).all()


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


@pytest.mark.parametrize(("seed", "n_neighbors"), [(0, None), (1, None), (2, 7)])
def test_near_ties_agree_with_balls(seed, n_neighbors):
    """Four points at the place of two labels: they agree but for what comes from far away.

    All of [0.15, 0.4] is decided, and right at random bandwidths.
    """
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(18, 2))
    points[:6] = 4.0, 0.0
    truth = rng.integers(0, 2, 18)
    truth[:2] = 0, 1
    instance = ct.LabelingInstance(points, labeled=[0, 1, 6, 7, 8], truth=truth)
    family = ct.HarmonicLabeling(sigma=(0.15, 0.4), n_neighbors=n_neighbors)
    dual = family.dual(instance)
    assert len(dual.undecided) == 0
    edges = edges_of(instance.distances[0], n_neighbors)
    closest = 1.0
    for sigma in rng.uniform(0.15, 0.4, 8).tolist():
        exact = exact_soft(
            instance.distances[0], instance.labeled.tolist(), instance.labels.tolist(), sigma,
            edges, 4 * BITS,
        )  # fmt: skip
        right = 0
        for ball, true in zip(exact, instance.truth[instance.unlabeled], strict=True):
            lead = ball - arb(0.5)
            assert lead > 0 or lead < 0 or lead.rad() < arb(2) ** -1000
            right += bool(lead < 0) == (true == 0)
            closest = min(closest, float(abs(lead).upper()))
        assert dual.value_at(sigma) in (None, Fraction(right, len(exact)))
    assert closest < 1e-20
