"""Genie as an estimator: scikit-learn's conventions, and the tuned family."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform
from sklearn.cluster import AgglomerativeClustering
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import estimator_checks_generator

import certune as ct
from certune.errors import InputError, ParameterError


def conventions():
    """Yield the checks of scikit-learn, but for the one of other array libraries."""
    for checked, check in estimator_checks_generator(ct.GenieClusterer(), mark=None):
        name = check.func.__name__
        if name != "check_array_api_input":
            yield pytest.param(checked, check, id=name)


@pytest.mark.parametrize(("estimator", "check"), list(conventions()))
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


def test_single_linkage_at_one_and_any_metric():
    X, _ = make_blobs(n_samples=40, centers=3, cluster_std=1.5, random_state=7)
    single = AgglomerativeClustering(4, linkage="single").fit_predict(X)
    labels = ct.GenieClusterer(4, g=1.0).fit_predict(X)
    assert adjusted_rand_score(labels, single) == 1.0
    distances = squareform(pdist(X, "cityblock"))
    by_metric = ct.GenieClusterer(3, metric="cityblock").fit_predict(X)
    by_matrix = ct.GenieClusterer(3, metric="precomputed").fit_predict(distances)
    assert np.array_equal(by_metric, by_matrix)
    with pytest.raises(InputError, match="square matrix"):
        ct.GenieClusterer(metric="precomputed").fit(X)
    with pytest.raises(ParameterError, match="of GenieClusterer must be an int"):
        ct.GenieClusterer(n_clusters=0).fit(X)


def test_best_estimator_of_a_tuned_threshold():
    instances = ct.datasets.digits_clustering(3, n_classes=3, n_per_class=8)
    result = ct.tune(ct.GenieClustering(), instances)
    model = result.best_estimator
    assert isinstance(model, ct.GenieClusterer) and model.n_clusters == 3
    utility = result.family.utility
    scores = [utility.score(i.target, model.fit_predict(i.points)) for i in instances]
    assert sum(scores) / 3 == result.best_value_exact
