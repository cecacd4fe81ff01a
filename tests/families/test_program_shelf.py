"""The shipped programs against brute force and scikit-learn, which share no code with them."""

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from sklearn.cluster import DBSCAN
from sklearn.datasets import make_classification
from sklearn.metrics import precision_score, recall_score
from sklearn.tree import DecisionTreeClassifier

import certune as ct
from certune.testing import check_family


def agrees(dual, reference, rng, n_points=40):
    """Compare with a reference at random points that are not next to a breakpoint."""
    gaps = dual.breakpoints
    seen = 0
    for t in rng.uniform(dual.low, dual.high, n_points).tolist():
        if (np.minimum(abs(gaps[:, 0] - t), abs(gaps[:, 1] - t)) > 1e-9).all():
            assert dual(t) == pytest.approx(reference(t), abs=1e-12), t
            seen += 1
    assert seen > n_points // 2


def random_cover(rng, n_elements=10, n_sets=9):
    sets = [
        rng.choice(n_elements, rng.integers(1, 5), replace=False).tolist() for _ in range(n_sets)
    ]
    sets.append([e for e in range(n_elements)])
    return ct.SetCoverInstance(sets, rng.integers(1, 20, n_sets).tolist() + [60])


def covered_cost(instance, rho):
    left, spent = set(range(10)), 0
    while left:
        best, best_score = None, -math.inf
        for members, cost in zip(instance.sets, instance.costs, strict=True):
            gain = len(left & set(members))
            score = math.log(gain) - rho * math.log(cost) if gain else -math.inf
            if score > best_score + 1e-13:
                best, best_score = (members, cost), score
        spent += best[1]
        left -= set(best[0])
    return float(1 - spent / sum(instance.costs))


@pytest.mark.parametrize("seed", range(3))
def test_set_cover(seed):
    rng = np.random.default_rng(seed)
    instance = random_cover(rng)
    dual = ct.GreedySetCover().dual(instance)
    agrees(dual, lambda rho: covered_cost(instance, rho), rng)


def bins_used(instance, rho):
    sizes = [(float(a), float(b)) for a, b in zip(instance.first, instance.second, strict=True)]
    keys = [-(rho * math.log(a) + (1 - rho) * math.log(b)) for a, b in sizes]
    rooms = []
    for item in np.argsort(keys, kind="stable").tolist():
        a, b = sizes[item]
        for room in rooms:
            if room[0] + 1e-12 >= a and room[1] + 1e-12 >= b:
                room[0] -= a
                room[1] -= b
                break
        else:
            rooms.append([1 - a, 1 - b])
    return instance.fewest_bins / len(rooms)


@pytest.mark.parametrize("seed", range(3))
def test_bin_packing(seed):
    rng = np.random.default_rng(seed)
    first, second = rng.integers(5, 60, (2, 14)) / 100
    instance = ct.BinPackingInstance(first, second)
    agrees(ct.VectorBinPacking().dual(instance), lambda rho: bins_used(instance, rho), rng)


def random_graph(rng, n=7):
    edges = [pair for pair in combinations(range(n), 2) if rng.random() < 0.4]
    return ct.IndependentSetInstance(rng.integers(1, 30, n).tolist(), edges)


def independent_weight(instance, rho, tau):
    weights = [float(w) for w in instance.weights]
    matrix = np.zeros((len(weights), len(weights)), bool)
    for i, j in instance.edges:
        matrix[i, j] = matrix[j, i] = True
    left, taken = np.ones(len(weights), bool), 0.0
    while left.any():
        degrees, around = (matrix & left) @ np.ones(len(weights)), (matrix & left) @ weights
        scores = np.log(weights) - rho * np.log1p(degrees) - tau * np.log1p(around)
        best = int(np.flatnonzero(left)[np.argmax(scores[left])])
        taken += weights[best]
        left &= ~matrix[best]
        left[best] = False
    return taken / sum(weights)


@pytest.mark.parametrize("seed", range(2))
def test_independent_set(seed):
    rng = np.random.default_rng(seed)
    instance, family = random_graph(rng), ct.GreedyIndependentSet()
    for _ in range(2):
        line = ct.Segment(family.space.sample(rng), family.space.sample(rng))
        dual = family.dual(instance, line)
        agrees(dual, lambda t, line=line: independent_weight(instance, **line.at(t)), rng, 20)


def all_alignments(n, m):
    """Every set of pairs of places that rise in both sequences."""
    yield ()
    for i in range(n):
        for j in range(m):
            for rest in all_alignments(i, j):
                yield (*rest, (i, j))


def alignment_score(instance, pairs, mismatch, gap):
    same = sum(instance.first[i] == instance.second[j] for i, j in pairs)
    gaps = len(instance.first) + len(instance.second) - 2 * len(pairs)
    return same - mismatch * (len(pairs) - same) - gap * gaps


def test_alignments_are_the_best_of_all():
    rng = np.random.default_rng(0)
    family = ct.SequenceAlignment()
    for first, second in (("ACGTA", "AGTTA"), ("AABB", "BBAA"), ("ACCA", "CAC")):
        instance = ct.AlignmentInstance(first, second, [(0, 0), (2, 1)])
        choices = list(all_alignments(len(first), len(second)))
        for _ in range(10):
            params = family.space.sample(rng)
            found = family.solve(instance, params)
            best = max(alignment_score(instance, pairs, **params) for pairs in choices)
            assert alignment_score(instance, found, **params) == pytest.approx(best, abs=1e-12)
            share = len(set(found) & set(instance.pairs)) / 2
            assert family.run(instance, params) == share


def test_alignment_in_the_plane_is_proved():
    instance = ct.AlignmentInstance("ACGTTA", "AGTCA", [(0, 0), (2, 1), (3, 2), (5, 4)])
    family = ct.SequenceAlignment()
    result = ct.tune(family, [instance])
    assert result.status is ct.Status.OPTIMAL
    grid = np.linspace(0, 3, 13)
    runs = [family.run(instance, {"mismatch": x, "gap": y}) for x in grid for y in grid]
    assert result.best_value >= max(runs)


def test_pruning_is_that_of_scikit_learn():
    X, y = make_classification(300, n_features=6, flip_y=0.2, random_state=0)
    make = lambda alpha: DecisionTreeClassifier(ccp_alpha=alpha, random_state=0)  # noqa: E731
    instance = ct.PruningInstance.from_estimator(make(0.0).fit(X[:200], y[:200]), X[200:], y[200:])
    dual = ct.CostComplexityPruning().dual(instance)
    reference = lambda alpha: make(alpha).fit(X[:200], y[:200]).score(X[200:], y[200:])  # noqa: E731
    agrees(dual, reference, np.random.default_rng(0), 25)
    path = make(0.0).cost_complexity_pruning_path(X[:200], y[:200]).ccp_alphas
    inner = path[(path > 0) & (path < 0.1)]
    for low, high in dual.breakpoints.tolist():
        assert np.min(abs(inner - low)) < 1e-12 and np.min(abs(inner - high)) < 1e-12


def rand_index(labels, truth):
    together = (labels[:, None] == labels) & (labels[:, None] >= 0)
    upper = np.triu_indices(len(labels), 1)
    return (together[upper] == (truth[:, None] == truth)[upper]).mean()


@pytest.mark.parametrize("seed", range(2))
def test_dbscan_is_that_of_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    truth = np.arange(24) % 3
    points = rng.normal(size=(24, 2)) * 0.5 + truth[:, None] * 1.5
    distances = np.sqrt(((points[:, None] - points) ** 2).sum(axis=-1))
    distances = np.triu(distances, 1) + np.triu(distances, 1).T
    instance = ct.DensityInstance(distances, truth)
    dual = ct.DensityClustering(eps=(0.05, 2.0), min_samples=3).dual(instance)

    def reference(eps):
        return rand_index(
            DBSCAN(eps=eps, min_samples=3, metric="precomputed").fit_predict(distances), truth
        )

    agrees(dual, reference, rng)
    ends = set(dual.starts.tolist())
    assert ends <= {0.05, *distances.ravel().tolist()}  # changes are at distances, exactly


def test_thresholds_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    truth = rng.random(60) < 0.4
    scores = np.clip(0.3 * truth + rng.random(60) * 0.7, 0, 1)
    instance = ct.ScoredInstance(scores, truth)
    dual = ct.ConstrainedThreshold(min_precision=Fraction(3, 4)).dual(instance)

    def reference(threshold):
        called = scores >= threshold
        precision = precision_score(truth, called, zero_division=0)
        return recall_score(truth, called) if precision >= 0.75 else 0.0

    agrees(dual, reference, rng)
    assert dual.max() == max(reference(score) for score in scores)


def small_instances():
    rng = np.random.default_rng(1)
    line = [0, 1, 2.5, 4, 4.5, 7, 9]
    distances = [[abs(x - y) for x in line] for y in line]
    tree = ((1, 3, -1, -1, -1), (2, 4, -1, -1, -1), (0.5, 0.25, 0.0625, 0.0625, 0.0625))
    return {
        ct.GreedySetCover(): random_cover(rng),
        ct.VectorBinPacking(): ct.BinPackingInstance((0.6, 0.4, 0.5, 0.5), (0.1, 0.2, 0.7, 0.3)),
        ct.GreedyIndependentSet(): random_graph(rng, 5),
        ct.SequenceAlignment(): ct.AlignmentInstance("ACGT", "AGT", [(0, 0), (2, 1)]),
        ct.CostComplexityPruning((0, 1)): ct.PruningInstance(*tree, (6, 5, 3, 3, 3), 10),
        ct.DensityClustering((0, 5), 2): ct.DensityInstance(distances, [0, 0, 0, 1, 1, 2, 2]),
        ct.ConstrainedThreshold(): ct.ScoredInstance(
            (0.1, 0.4, 0.6, 0.6), (True, False, True, True)
        ),
    }


@pytest.mark.parametrize("number", range(7))
def test_they_keep_the_promises_of_families(number):
    family, instance = list(small_instances().items())[number]
    check_family(family, [instance], n_points=15)
    with pytest.raises(ct.InputError, match="expected a .*Instance, got int"):
        family.check_instance(3)


@pytest.mark.parametrize(
    "make",
    [
        lambda: ct.SetCoverInstance([(0, 2)]),
        lambda: ct.SetCoverInstance([(0, 1)], costs=(0,)),
        lambda: ct.SetCoverInstance([(0, 1)], costs=(1, 2)),
        lambda: ct.SetCoverInstance([("x",)]),
        lambda: ct.BinPackingInstance((0.5,), (0.5, 0.5)),
        lambda: ct.BinPackingInstance((1.5,), (0.5,)),
        lambda: ct.BinPackingInstance((math.nan,), (0.5,)),
        lambda: ct.IndependentSetInstance((1, 2), [(0, 0)]),
        lambda: ct.IndependentSetInstance((1, 2), [(0, 2)]),
        lambda: ct.IndependentSetInstance((1, -2), []),
        lambda: ct.AlignmentInstance("AC", 3, [(0, 0)]),
        lambda: ct.AlignmentInstance("AC", "A", []),
        lambda: ct.AlignmentInstance("AC", "A", [(0, 1)]),
        lambda: ct.PruningInstance((1, -1), (1, -1), (1, 0), (1,), 3),
        lambda: ct.PruningInstance((0,), (0,), (1,), (1,), 3),
        lambda: ct.DensityInstance([[0, 1], [2, 0]], [0, 1]),
        lambda: ct.PruningInstance(("x",), (-1,), (1,), (1,), 3),
        lambda: ct.DensityInstance("x", [0, 1]),
        lambda: ct.DensityInstance([[0, -1], [-1, 0]], [0, 1]),
        lambda: ct.ScoredInstance((0.5,), (False,)),
        lambda: ct.ScoredInstance((0.5, math.inf), (True, False)),
        lambda: ct.ConstrainedThreshold(min_precision=2),
        lambda: ct.DensityClustering((0, 1), min_samples=0),
    ],
)
def test_what_does_not_fit_is_refused(make):
    with pytest.raises((ct.InputError, ct.ParameterError)):
        make()
