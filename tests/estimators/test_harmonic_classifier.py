"""The semi-supervised estimator: scikit-learn's conventions, predictions, and the tuned family."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import estimator_checks_generator

import certune as ct
from certune.errors import InputError, ParameterError
from certune.estimators import HarmonicClassifier, estimator_for

ESTIMATORS = (
    HarmonicClassifier(),
    HarmonicClassifier(sigma=0.7, n_neighbors=5),
    HarmonicClassifier(sigma=2.0, metric=["sqeuclidean", "cityblock"], weights=(0.25, 0.75)),
)
# It uses -1 as a label, which marks missing ones here; scikit-learn spares its own semi-supervised
# estimators by name.
SPARED = ("check_array_api_input", "check_classifiers_classes")


def conventions():
    for number, estimator in enumerate(ESTIMATORS):
        for checked, check in estimator_checks_generator(estimator, mark=None):
            name = check.func.__name__
            if name not in SPARED:
                yield pytest.param(checked, check, id=f"{number}-{name}")


@pytest.mark.parametrize(("estimator", "check"), list(conventions()))
def test_conventions(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(estimator)


@pytest.fixture
def moons():
    points, truth = make_moons(80, noise=0.08, random_state=1)
    given = np.full(80, -1)
    for label in (0, 1):
        given[np.flatnonzero(truth == label)[:4]] = label
    return points, truth, given


def test_moons_are_told_apart(moons):
    points, truth, given = moons
    model = HarmonicClassifier(sigma=0.12).fit(points, given)
    assert (model.transduction_ == truth).mean() > 0.95
    assert model.classes_.tolist() == [0, 1]
    labeled = given != -1
    assert (model.transduction_[labeled] == given[labeled]).all()
    np.testing.assert_allclose(model.label_distributions_.sum(axis=1), 1)


def test_the_same_labels_as_the_family(moons):
    points, truth, given = moons
    labeled = np.flatnonzero(given != -1)
    instance = ct.LabelingInstance(points=points, labeled=labeled, truth=truth)
    family = ct.HarmonicLabeling(sigma=(0.05, 2))
    for sigma in (0.06, 0.3, 1.5):
        model = estimator_for(family, {"sigma": sigma}, [instance]).fit(points, given)
        labeling = family.solve(instance, sigma)
        assert model.transduction_.tolist() == labeling.labels.tolist()
        assert (model.label_distributions_ == labeling.soft).all()


def test_precomputed_distances_give_the_same(moons):
    points, _, given = moons
    squared = ((points[:, None] - points[None]) ** 2).sum(axis=-1)
    direct = HarmonicClassifier(sigma=0.2).fit(points, given)
    model = HarmonicClassifier(sigma=0.2, metric="precomputed").fit(squared, given)
    np.testing.assert_allclose(model.label_distributions_, direct.label_distributions_, rtol=1e-9)
    np.testing.assert_allclose(model.predict_proba(squared), direct.predict_proba(points))
    with pytest.raises(InputError, match="square matrix"):
        HarmonicClassifier(metric="precomputed").fit(squared[:, :3], given)


def test_new_points_take_the_weighted_mean():
    """Two labelled points at distances 1 and 4 from the new one: weights e^-1 and e^-4."""
    model = HarmonicClassifier(sigma=1.0).fit([[0.0], [3.0]], [0, 1])
    expected = np.exp(-1) / (np.exp(-1) + np.exp(-4))
    np.testing.assert_allclose(model.predict_proba([[1.0]]), [[expected, 1 - expected]])
    assert model.predict([[1.0], [2.9]]).tolist() == [0, 1]


def test_far_points_and_tiny_bandwidths_have_no_nan():
    model = HarmonicClassifier(sigma=1e-3).fit([[0.0], [1.0], [3.0]], [0, -1, 1])
    soft = model.predict_proba([[1e5], [-1e5], [0.4]])
    np.testing.assert_allclose(soft, [[0, 1], [1, 0], [1, 0]])


def test_neighbours_vote_alone():
    points, given = [[0.0], [1.0], [10.0]], [0, 0, 1]
    model = HarmonicClassifier(sigma=100.0, n_neighbors=1).fit(points, given)
    assert model.predict_proba([[9.0]]).tolist() == [[0.0, 1.0]]


def test_the_default_bandwidth_is_the_median_distance(moons):
    points, _, given = moons
    model = HarmonicClassifier().fit(points, given)
    squared = ((points[:, None] - points[None]) ** 2).sum(axis=-1)
    assert model.sigma_ == pytest.approx(np.sqrt(np.median(squared[np.triu_indices(80, 1)])))


def test_it_can_be_cloned_and_searched(moons):
    points, truth, _ = moons
    search = GridSearchCV(clone(HarmonicClassifier()), {"sigma": [0.1, 1.0]}, cv=2)
    assert search.fit(points, truth).best_score_ > 0.9


@pytest.mark.parametrize("sigma", [0, -1.0, float("nan"), "1", True, (0.1, 1.0)])
def test_bad_bandwidths(sigma, moons):
    points, _, given = moons
    with pytest.raises(ParameterError, match="sigma"):
        HarmonicClassifier(sigma=sigma).fit(points, given)


def test_no_label_at_all():
    with pytest.raises(InputError, match="every entry is -1"):
        HarmonicClassifier().fit([[0.0], [1.0]], [-1, -1])


@pytest.mark.parametrize("metric", ["seuclidean", "mahalanobis", "hamming", "jaccard", "haversine"])
def test_metrics_reach_new_points(metric):
    rng = np.random.default_rng(0)
    points = rng.random((20, 2))
    model = HarmonicClassifier(metric=metric).fit(points, np.arange(20) % 3 - 1)
    if metric in ("seuclidean", "mahalanobis"):
        # Weights of a fitted point to all others are those of the graph.
        assert np.isfinite(model.predict_proba(points)).all()
    soft = model.predict_proba(rng.random((4, 2)))
    np.testing.assert_allclose(soft.sum(axis=1), 1)


def test_ties_of_two_classes_are_predicted_as_they_are_labelled():
    model = ct.HarmonicClassifier(sigma=1.0).fit([[-1.0], [0.0], [1.0]], [0, -1, 1])
    assert model.transduction_.tolist() == model.predict([[-1.0], [0.0], [1.0]]).tolist()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"weights": [0.5, 0.5]}, "has 1 metric"),
        ({"metric": 3}, "one or several metrics, got 3"),
        ({"metric": []}, "one or several metrics"),
        ({"n_neighbors": 9}, "less than the number of points"),
        ({"n_neighbors": 1.5}, "whole number"),
    ],
)
def test_bad_options(options, message, moons):
    points, _, given = moons
    with pytest.raises((InputError, ParameterError), match=message):
        HarmonicClassifier(**options).fit(points[:8], given[:8])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (np.array(["a", -1, -1, "b"], dtype=object), "mixes strings and numbers"),
        (np.array(["a", "-1", "-1", "b"]), "string '-1'"),
    ],
)
def test_strings_cannot_be_mixed_with_the_mark_of_missing_labels(given, message):
    with pytest.raises(InputError, match=message):
        HarmonicClassifier().fit([[0.0], [1.0], [5.0], [7.0]], given)


def test_queries_that_have_no_distances():
    points, given = [[0.0], [1.0], [5.0], [7.0]], [0, -1, -1, 1]
    model = HarmonicClassifier(sigma=1.0).fit(points, given)
    with pytest.raises(InputError, match="sample 1 .* not finite"):
        model.predict_proba([[0.0], [1e160]])
    lengths = np.abs(np.subtract.outer([0.0, 1.0, 5.0, 7.0], [0.0, 1.0, 5.0, 7.0]))
    model = HarmonicClassifier(sigma=1e-5, metric="precomputed").fit(lengths, given)
    with pytest.raises(InputError, match="non-negative, got -7"):
        model.predict(-lengths)
    # Exponents beyond all doubles: the nearest sample takes it all.
    assert model.predict_proba([[1e308, 1e308, 1e307, 1e300]]).tolist() == [[0.0, 1.0]]


def test_numpy_integers_are_integers(moons):
    points, _, given = moons
    models = [HarmonicClassifier(n_neighbors=k).fit(points, given) for k in (5, np.int64(5))]
    assert (models[0].label_distributions_ == models[1].label_distributions_).all()
