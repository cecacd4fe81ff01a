"""The clustering estimator: scikit-learn's conventions, scipy's trees, and the tuned family."""

import math

import numpy as np
import pytest
from scipy.cluster.hierarchy import dendrogram, is_valid_linkage, linkage
from scipy.spatial.distance import pdist, squareform
from sklearn.base import clone
from sklearn.cluster import AgglomerativeClustering
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import estimator_checks_generator

import certune as ct
from certune.estimators import LinkageClustering, estimator_for
from certune.testing import StepFamily


@pytest.fixture
def blobs():
    return make_blobs(n_samples=40, centers=3, cluster_std=1.5, random_state=7)


ESTIMATORS = (
    LinkageClustering(),
    LinkageClustering(n_clusters=3, kind="min-max", alpha=-2.5, objective="k-means"),
    LinkageClustering(n_clusters=3, metric=["euclidean", "cityblock"], weights=(0.25, 0.75)),
    LinkageClustering(n_clusters=2, kind="product", alpha=(1.5,), objective="k-center"),
)


def conventions():
    """Yield the checks of scikit-learn, but for the one of other array libraries."""
    for estimator in ESTIMATORS:
        for checked, check in estimator_checks_generator(estimator, mark=None):
            name = check.func.__name__
            if name != "check_array_api_input":
                yield pytest.param(checked, check, id=f"{estimator.kind}-{name}")


@pytest.mark.parametrize(("estimator", "check"), list(conventions()))
def test_conventions_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    ("alpha", "method"), [(-math.inf, "single"), (1.0, "average"), (math.inf, "complete")]
)
def test_trees_are_those_of_scipy(blobs, alpha, method):
    points = blobs[0]
    fitted = LinkageClustering(n_clusters=3, alpha=alpha).fit(points)
    expected = linkage(points, method)
    np.testing.assert_allclose(fitted.linkage_matrix_, expected, rtol=1e-12)
    np.testing.assert_array_equal(fitted.children_, expected[:, :2])
    np.testing.assert_allclose(fitted.distances_, expected[:, 2], rtol=1e-12)


def test_separated_clusters_are_those_of_scikit_learn():
    points, target = make_blobs(n_samples=60, centers=4, cluster_std=0.3, random_state=1)
    ours = LinkageClustering(n_clusters=4).fit_predict(points)
    theirs = AgglomerativeClustering(n_clusters=4, linkage="average").fit_predict(points)
    assert adjusted_rand_score(ours, theirs) == adjusted_rand_score(ours, target) == 1.0


def test_fitted_attributes(blobs):
    points = blobs[0]
    fitted = LinkageClustering(n_clusters=3, alpha=2.5).fit(points)
    assert fitted.n_leaves_ == 40 and fitted.n_features_in_ == 2
    assert fitted.children_.shape == (39, 2) and fitted.distances_.shape == (39,)
    assert sorted(set(fitted.labels_.tolist())) == [0, 1, 2]
    assert is_valid_linkage(fitted.linkage_matrix_)
    assert len(dendrogram(fitted.linkage_matrix_, no_plot=True)["leaves"]) == 40


def test_precomputed_distances_give_the_same_clusters(blobs):
    points = blobs[0]
    direct = LinkageClustering(n_clusters=3, alpha=2.5, metric="cityblock").fit(points)
    matrix = squareform(pdist(points, "cityblock"))
    given = LinkageClustering(n_clusters=3, alpha=2.5, metric="precomputed").fit(matrix)
    np.testing.assert_array_equal(direct.labels_, given.labels_)
    assert given.__sklearn_tags__().input_tags.pairwise
    with pytest.raises(ValueError, match="square matrix"):
        LinkageClustering(metric="precomputed").fit(matrix[:, :5])


def test_metric_may_be_a_function(blobs):
    points = blobs[0]
    named = LinkageClustering(n_clusters=3, metric="cityblock").fit(points)
    function = LinkageClustering(n_clusters=3, metric=lambda a, b: np.abs(a - b).sum()).fit(points)
    np.testing.assert_array_equal(named.labels_, function.labels_)


def test_a_weight_of_one_selects_its_metric(blobs):
    points = blobs[0]
    alone = LinkageClustering(metric="cityblock", alpha=-1.5).fit(points)
    mixed = LinkageClustering(metric=["chebyshev", "cityblock"], alpha=-1.5, weights=[0, 1])
    np.testing.assert_allclose(mixed.fit(points).distances_, alone.distances_, rtol=1e-12)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_clusters": 0}, "n_clusters"),
        ({"n_clusters": 2.0}, "n_clusters"),
        ({"n_clusters": True}, "n_clusters"),
        ({"n_clusters": 41}, "n_samples=40 should be >= n_clusters=41"),
        ({"kind": "median"}, "median"),
        ({"alpha": "high"}, "alpha"),
        ({"alpha": (1.0, 2.0)}, "alpha"),
        ({"alpha": math.nan}, "alpha"),
        ({"kind": "product"}, "one exponent for each metric"),
        ({"metric": "euklidean"}, "did you mean 'euclidean'"),
        ({"weights": (0.5, 0.5)}, "metric"),
        ({"objective": "k-mean"}, "did you mean 'k-means'"),
    ],
)
def test_bad_parameters_are_value_errors(blobs, options, message):
    with pytest.raises(ValueError, match=message):
        LinkageClustering(**options).fit(blobs[0])


def test_missing_values_are_refused(blobs):
    points = blobs[0].copy()
    points[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        LinkageClustering().fit(points)


@pytest.mark.parametrize(
    ("family", "params", "expected"),
    [
        (
            ct.Linkage("min-max", objective="k-means"),
            {"alpha": -3.5},
            {"kind": "min-max", "alpha": -3.5, "weights": None, "objective": "k-means"},
        ),
        (
            ct.Linkage(alpha=2.0, weights="tune", n_metrics=2),
            {"weights": (0.25, 0.75)},
            {"kind": "power-mean", "alpha": 2.0, "weights": (0.25, 0.75)},
        ),
        (
            ct.Linkage("product", alpha=[(-1, 1), (-2, 2)]),
            {"alpha_0": 0.5, "alpha_1": -1.5},
            {"kind": "product", "alpha": (0.5, -1.5)},
        ),
    ],
)
def test_estimator_has_the_setting_of_the_family(family, params, expected):
    found = clone(estimator_for(family, params)).get_params()
    assert {name: found[name] for name in expected} == expected


def test_estimator_repeats_the_run_of_the_family():
    instance = ct.datasets.digits_clustering(1, n_classes=3, n_per_class=10, metrics="cityblock")[0]
    family = ct.Linkage()
    estimator = estimator_for(family, {"alpha": -1.25}, [instance])
    assert (estimator.n_clusters, estimator.metric) == (3, "cityblock")
    labels = estimator.fit_predict(instance.points)
    np.testing.assert_array_equal(labels, family.solve(instance, {"alpha": -1.25}).labels)


@pytest.mark.parametrize(
    ("traits", "message"),
    [
        ((("euclidean", 2), ("euclidean", 3)), "have n_clusters 2 and 3: choose one"),
        ((("euclidean", 2), ("cityblock", 2)), r"have metrics \('cityblock',\) and"),
    ],
)
def test_instances_that_disagree_have_no_estimator(traits, message):
    instances = [
        ct.ClusteringInstance(points=[[0.0], [1.0], [3.0]], metrics=metric, k=k)
        for metric, k in traits
    ]
    with pytest.raises(ct.ParameterError, match=message):
        estimator_for(ct.Linkage(), {"alpha": 1.0}, instances)
    assert estimator_for(ct.Linkage(), {"alpha": 1.0}, instances[:1]).n_clusters == 2


def test_estimator_of_precomputed_and_of_several_metrics():
    distances = [[0.0, 1.0, 2.0], [1.0, 0.0, 2.0], [2.0, 2.0, 0.0]]
    given = ct.ClusteringInstance(distances=distances, k=2)
    assert estimator_for(ct.Linkage(), {"alpha": 1.0}, [given]).metric == "precomputed"
    several = ct.ClusteringInstance([[0.0], [1.0]], metrics=("euclidean", "cosine"), k=2)
    assert estimator_for(ct.Linkage(), {"alpha": 1.0}, [several]).metric == ["euclidean", "cosine"]


def test_families_without_an_estimator():
    with pytest.raises(ct.ParameterError, match="no scikit-learn estimator for StepFamily"):
        estimator_for(StepFamily(), {"x": 0.5})


@pytest.mark.parametrize(
    ("kind", "alpha"),
    [("energy", 10**400), ("energy", "2"), ("product", [(1.0, 2.0), 3.0]), ("product", ["a"]),
     ("product", 1.0), ("product", [])],
)  # fmt: skip
def test_exponents_that_are_no_numbers(kind, alpha):
    with pytest.raises(ct.ParameterError, match="alpha.* must be"):
        ct.LinkageClustering(2, kind, alpha).fit([[0.0], [1.0], [3.0]])
