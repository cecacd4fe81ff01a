"""Linkage as a user meets it: bad input, special cases, trees, determinism."""

import math
import re

import numpy as np
import pytest
from scipy.cluster.hierarchy import dendrogram, fcluster, is_valid_linkage
from scipy.cluster.hierarchy import linkage as scipy_linkage
from scipy.spatial.distance import squareform

import certune as ct


@pytest.fixture(scope="module")
def instance():
    return ct.datasets.digits_clustering(1, n_classes=4, n_per_class=8)[0]


@pytest.fixture(scope="module")
def two_metrics():
    return ct.datasets.digits_clustering(
        1, n_classes=3, n_per_class=6, metrics=("euclidean", "cityblock")
    )[0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": "ward"}, "unknown kind of linkage 'ward'"),
        ({"alpha": (3, -3)}, "low < high"),
        ({"alpha": (2, 2)}, "low < high"),
        ({"alpha": (0, math.inf)}, "must be finite"),
        ({"alpha": (0, math.nan)}, "nan"),
        ({"alpha": (1, 2, 3)}, "a range (low, high)"),
        ({"alpha": "one"}, "real number"),
        ({"weights": "tune"}, "n_metrics"),
        ({"weights": "learn"}, "'tune'"),
        ({"weights": [0.5, -0.5]}, "non-negative"),
        ({"weights": [0.0, 0.0]}, "positive"),
        ({"weights": [0.5, 0.5], "n_metrics": 3}, "n_metrics is 3"),
        ({"kind": "product"}, "one exponent per metric"),
        ({"kind": "product", "alpha": 1.0}, "one exponent per metric"),
        ({"kind": "product", "alpha": np.array(1.0)}, "one exponent per metric"),
        ({"kind": "product", "alpha": [(0, 1), 1], "weights": [1, 1]}, "no weights"),
        ({"kind": "product", "alpha": None}, "one exponent per metric"),
        ({"kind": "product", "alpha": []}, "one exponent per metric"),
        ({"alpha": True}, "real number"),
        ({"alpha": "3"}, "real number"),
        ({"weights": ["a", "b"]}, "must be numbers"),
        ({"weights": [1e308, 1e308]}, "ordinary size"),
        ({"weights": "tune", "n_metrics": "2"}, "whole number"),
        ({"objective": ["k-means"]}, "unknown objective"),
        ({"objective": "k-medoid"}, "k-medoid"),
        ({"utility": "accuracy"}, "accuracy"),
    ],
)
def test_bad_options_are_explained(options, message):
    with pytest.raises(ct.ParameterError, match=re.escape(message)):
        ct.Linkage(**options)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"alpha": math.nan}, "nan"),
        ({"alpha": 10**400}, "real number"),
        ("3", "real number"),
        ({"beta": 1.0}, "unknown parameter 'beta'"),
        ({}, "'alpha' is free"),
        ({"alpha": "big"}, "real number"),
        ({"alpha": 1.0, "weights": (0.5, 0.5)}, "weights must have 1 entries"),
    ],
)
def test_bad_parameters_are_explained(instance, params, message):
    with pytest.raises(ct.ParameterError, match=re.escape(message)):
        ct.Linkage().run(instance, params)


def test_instances_that_do_not_fit_are_explained(instance, two_metrics):
    family = ct.Linkage()
    with pytest.raises(ct.InputError, match="ClusteringInstance"):
        family.dual(np.zeros((3, 3)))
    points = np.random.default_rng(0).normal(size=(5, 2))
    with pytest.raises(ct.InputError, match="target"):
        family.run(ct.ClusteringInstance(points=points, k=2), 1.0)
    with pytest.raises(ct.InputError, match="metric"):
        ct.Linkage("product", alpha=[(0, 1), 1.0]).dual(instance)
    with pytest.raises(ct.ParameterError, match=re.escape("along=Segment")):
        ct.Linkage("power-mean", weights="tune", n_metrics=2).dual(two_metrics)
    with pytest.raises(ct.ParameterError, match="no free parameter"):
        ct.Linkage(alpha=1.0).dual(instance)
    with pytest.raises(ct.ParameterError, match="Segment"):
        family.dual(instance, along=(0, 1))
    with pytest.raises(ct.InputError, match="ClusteringInstance"):
        family.solve(None, 1.0)


def test_a_range_beyond_double_precision_is_refused():
    rng = np.random.default_rng(0)
    wide = ct.ClusteringInstance(points=10.0 ** rng.uniform(-8, 8, (20, 1)), target=[0, 1] * 10)
    with pytest.raises(ct.ParameterError, match="complete linkage"):
        ct.Linkage(alpha=(-100, 100)).dual(wide)
    assert 0 <= ct.Linkage(alpha=(-100, 100)).run(wide, math.inf) <= 1


@pytest.mark.parametrize("points", [[[1.0, 2.0]], [[1.0], [1.0], [1.0]], [[0.0], [3.0]]])
def test_degenerate_instances_have_constant_duals(points):
    n = len(points)
    trivial = ct.ClusteringInstance(points=points, target=np.zeros(n, dtype=int), k=1)
    for kind in ("power-mean", "min-max"):
        dual = ct.Linkage(kind).dual(trivial)
        assert dual.n_pieces == 1
        assert dual(3.0) == ct.Linkage(kind).run(trivial, 3.0) == 1.0


@pytest.mark.parametrize("kind", ["power-mean", "min-max"])
def test_equal_distances_have_a_constant_dual(kind):
    for n in (4, 12):
        equal = ct.ClusteringInstance(distances=2 * (1 - np.eye(n)), target=np.arange(n) % 2)
        dual = ct.Linkage(kind).dual(equal)
        assert dual.n_pieces == 1
        assert dual(-3.0) == ct.Linkage(kind).run(equal, -3.0)


@pytest.mark.parametrize("kind", ["power-mean", "min-max"])
def test_a_metric_without_weight_does_not_count(kind):
    rng = np.random.default_rng(0)
    distances = np.triu(rng.integers(1, 5, size=(2, 16, 16)).astype(float), 1)
    distances += distances.transpose(0, 2, 1)
    both = ct.ClusteringInstance(distances=distances, target=np.arange(16) % 4)
    first = ct.ClusteringInstance(distances=distances[0], target=np.arange(16) % 4)
    for alpha in (-1.0, -0.5, 0.5, 1.0, 2.0, 1 / 3):
        ours = ct.Linkage(kind, weights=(1, 0)).solve(both, alpha)
        assert np.array_equal(ours.labels, ct.Linkage(kind).solve(first, alpha).labels)


@pytest.mark.parametrize("method", ["single", "average", "complete"])
def test_baselines_are_scipys_linkages(instance, method):
    condensed = squareform(instance.distances[0], checks=False)
    expected = scipy_linkage(condensed, method)
    tree = ct.Linkage().solve(instance, ct.Linkage().baselines[method])
    np.testing.assert_allclose(tree.linkage_matrix, expected, rtol=1e-12)


@pytest.mark.parametrize("alpha", [-3.0, -0.01, 0.0, 0.01, 2.0, 7.5])
@pytest.mark.parametrize("kind", ["power-mean", "min-max"])
def test_trees_are_valid_and_heights_are_means(instance, kind, alpha):
    tree = ct.Linkage(kind).solve(instance, alpha)
    matrix = tree.linkage_matrix
    assert is_valid_linkage(matrix)
    assert (np.diff(tree.heights) >= 0).all()
    assert dendrogram(matrix, no_plot=True)["leaves"]
    assert instance.distances[0].max() >= tree.heights[-1] > tree.heights[0] > 0
    assert len(set(fcluster(matrix, instance.k, "maxclust"))) == instance.k


def test_product_linkage_has_average_linkage_of_each_metric(two_metrics):
    family = ct.Linkage("product", alpha=[(-3, 3), (-3, 3)])
    for metric in range(2):
        single = ct.ClusteringInstance(
            distances=two_metrics.distances[metric], target=two_metrics.target, k=two_metrics.k
        )
        for alpha in (1.0, math.inf, -math.inf):
            params = {"alpha_0": 0.0, "alpha_1": 0.0, f"alpha_{metric}": alpha}
            ours = family.solve(two_metrics, params)
            theirs = ct.Linkage("power-mean").solve(single, alpha)
            assert np.array_equal(ours.children, theirs.children)
    with pytest.raises(ct.ParameterError, match="one infinite exponent"):
        family.run(two_metrics, {"alpha_0": math.inf, "alpha_1": 1.0})


def test_limits_are_reached_by_large_alpha():
    """Distances in steps of 10 %: at |alpha| = 200 the largest of any few dominates their sum."""
    rng = np.random.default_rng(3)
    separated = ct.ClusteringInstance(
        distances=1.1 ** rng.permutation(28).astype(float), target=[0, 1] * 4
    )
    for kind in ("power-mean", "min-max"):
        family = ct.Linkage(kind, alpha=(-200, 200))
        for end in (-200.0, 200.0):
            near = family.solve(separated, end)
            limit = family.solve(separated, math.copysign(math.inf, end))
            assert np.array_equal(near.children, limit.children)


def test_a_user_utility_counts(instance):
    def first_two_together(target, labels):
        return float(labels[0] == labels[1])

    family = ct.Linkage(utility=first_two_together)
    dual = family.dual(instance)
    assert set(dual.values) <= {0.0, 1.0}
    for t in dual.sample_points():
        labels = family.solve(instance, t).labels
        assert dual(t) == float(labels[0] == labels[1])

    def other(target, labels):
        return float(labels[0] != labels[1])

    other.__name__ = first_two_together.__name__
    assert ct.Linkage(utility=other).fingerprint != family.fingerprint


def test_fixed_and_equal_weights_are_one_metric_scaled(instance):
    twice = ct.ClusteringInstance(
        distances=[instance.distances[0], instance.distances[0]],
        target=instance.target,
        k=instance.k,
    )
    single = ct.Linkage().dual(instance)
    double = ct.Linkage(weights=[0.5, 0.5]).dual(twice)
    assert single.n_pieces == double.n_pieces
    assert np.array_equal(single.values, double.values)
    np.testing.assert_allclose(single.breakpoints, double.breakpoints, atol=1e-9)


def test_an_error_in_an_exact_answer_reaches_the_caller(monkeypatch):
    # Clusters {2} and {3} are both at the average distance 2 from {0, 1}, but not identically.
    distances = squareform([0.1, 1.0, 2.0, 3.0, 2.0, 5.0])
    instance = ct.ClusteringInstance(distances=distances, target=[0, 0, 0, 1], k=2)
    assert ct.Linkage("power-mean").run(instance, 1.0) == 1.0

    def interrupted(self, t):
        raise KeyboardInterrupt

    monkeypatch.setattr("certune.families.linkage.comparison.Comparison.at", interrupted)
    with pytest.raises(KeyboardInterrupt):
        ct.Linkage("power-mean").run(instance, 1.0)


@pytest.mark.parametrize("total", [1e-6, -1e-6, 1e-12])
def test_heights_of_products_whose_exponents_nearly_cancel_stay_floats(total):
    points = np.random.default_rng(0).normal(size=(20, 3))
    instance = ct.ClusteringInstance(points, metrics=("euclidean", "cityblock"), k=2)
    family = ct.Linkage("product", alpha=[(-2, 2), (-2, 2)])
    tree = family.solve(instance, {"alpha_0": -1.0, "alpha_1": 1.0 + total})
    assert np.isfinite(tree.heights).all()
    assert tree.heights[0] > 0
    assert (np.diff(tree.heights) >= 0).all()


@pytest.mark.parametrize("unit", [1e6, 1e-150])
def test_tuned_weights_do_not_depend_on_the_unit_of_the_data(unit):
    points = np.random.default_rng(0).normal(size=(20, 3))
    metrics = ("euclidean", "cityblock")
    family = ct.Linkage(alpha=20.0, weights="tune", n_metrics=2)
    plain, scaled = (
        ct.ClusteringInstance(factor * points, metrics=metrics, target=np.arange(20) % 3)
        for factor in (1.0, unit)
    )
    expected, found = family.dual(plain), family.dual(scaled)
    assert expected.n_pieces > 1
    assert np.array_equal(found.values, expected.values)
    assert np.allclose(found.starts, expected.starts, rtol=0, atol=1e-12)
    for weight in np.linspace(0.01, 0.99, 7).tolist():
        at = family.space.default_segment().at(weight)
        assert found.value_at(weight) == family.run_exact(scaled, at)


@pytest.mark.parametrize("exponent", [1e-8, 1e-10, 1e-13])
def test_values_that_hardly_differ_are_told_apart(exponent):
    """With exponents (e, -e), e -> 0, it is average linkage on the logarithms of ratios."""
    points = np.random.default_rng(1).normal(size=(40, 3))
    instance = ct.ClusteringInstance(points, metrics=("euclidean", "cityblock"), k=2)
    family = ct.Linkage("product", alpha=[(-4, 4), (-4, 4)])
    tree = family.solve(instance, {"alpha_0": exponent, "alpha_1": -exponent})
    first, second = (squareform(matrix, checks=False) for matrix in instance.distances)
    logarithms = np.log(first / second)
    expected = scipy_linkage(logarithms - logarithms.min() + 1.0, "average")
    assert clusters_of(tree.linkage_matrix) == clusters_of(expected)


def clusters_of(matrix):
    clusters = [frozenset([point]) for point in range(len(matrix) + 1)]
    for a, b in matrix[:, :2].astype(int).tolist():
        clusters.append(clusters[a] | clusters[b])
    return set(clusters)
