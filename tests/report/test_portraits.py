"""What the algorithm does at the optimum, against other libraries."""

import numpy as np
import pytest
from scipy.cluster.hierarchy import cophenet
from scipy.spatial.distance import squareform
from sklearn.linear_model import Lasso

import certune as ct
from certune.report import findings_of
from certune.report.page import page_of
from certune.report.portraits import dendrogram, portrait_of


def leaves_below(joints, n):
    """Places of the leaves under every joint, found by following places and heights."""
    below = {(float(place), 0.0): [place] for place in range(n)}
    for left, right, low, high, height, _ in joints:
        below[(left + right) / 2, height] = below[left, low] + below[right, high]
        yield height, below[left, low], below[right, high]


def test_a_dendrogram_is_the_tree():
    [instance] = ct.datasets.random_clustering(1, n_clusters=3, n_per_cluster=7, spread=0.5)
    family = ct.Linkage(alpha=(-2, 2))
    tree = family.solve(instance, {"alpha": 0.3})
    drawn = dendrogram(tree, instance.target)
    n = tree.n_points
    heights = np.zeros((n, n))
    for height, left, right in leaves_below(drawn["joints"], n):
        # No joints cross: what is below a joint stands side by side.
        assert sorted(left + right) == list(range(min(left + right), max(left + right) + 1))
        heights[np.ix_(left, right)] = heights[np.ix_(right, left)] = height
    expected = squareform(cophenet(tree.linkage_matrix))
    assert np.array_equal(np.sort(heights, axis=None), np.sort(expected, axis=None))
    assert sorted(leaf[0] for leaf in drawn["leaves"]) == sorted(tree.labels.tolist())
    coloured = [joint for joint in drawn["joints"] if joint[5] >= 0]
    # Three clusters, each a tree of its own.
    assert len(coloured) == n - len(set(tree.labels.tolist()))


@pytest.mark.parametrize("relative", [False, True])
def test_a_tree_that_is_cut_at_a_height_shows_that_height(relative):
    [instance] = ct.datasets.random_clustering(1, n_clusters=3, n_per_cluster=7, spread=0.5)
    limits = (0.05, 0.95) if relative else (0.5, 20)
    result = ct.tune(ct.ThresholdLinkage("energy", 2.0, limits, relative=relative), [instance])
    drawn = portrait_of(result)
    below = [joint for joint in drawn["joints"] if joint[4] < drawn["cut"]]
    assert 0 < len(below) < len(drawn["joints"])
    assert below == [joint for joint in drawn["joints"] if joint[5] >= 0]
    assert "the line is the height of the cut" in page_of(findings_of(result))


def test_true_clusters_have_the_numbers_of_those_that_were_found():
    [instance] = ct.datasets.random_clustering(1, n_clusters=3, n_per_cluster=7, spread=0.1)
    family = ct.Linkage(alpha=(-2, 2))
    tree = family.solve(instance, {"alpha": 0.3})
    turned = (np.asarray(instance.target) + 1) % 3
    split = np.where(np.arange(21) == 0, 7, turned)  # one cluster more than was found
    for truth, n_equal in ((turned, 21), (split, 20)):
        leaves = dendrogram(tree, truth)["leaves"]
        assert sum(found == true for found, true in leaves) == n_equal
        assert len({true for _, true in leaves}) == len(set(truth.tolist()))


def test_a_path_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 12))
    y = X[:, 0] - 2 * X[:, 3] + 0.1 * rng.normal(size=40)
    instance = ct.RegressionInstance(X[:30], y[:30], X[30:], y[30:])
    result = ct.tune(ct.RegularizedRegression("l1", alpha=(0.01, 1), max_error=20.0), [instance])
    drawn = portrait_of(result)
    assert drawn["kind"] == "path" and drawn["n_others"] == 2
    assert drawn["names"][:2] == ["column 4", "column 1"]
    middle = len(drawn["places"]) // 2
    model = Lasso(alpha=drawn["places"][middle], tol=1e-12, max_iter=100000).fit(X[:30], y[:30])
    columns = [int(name.split()[1]) - 1 for name in drawn["names"]]
    found = [row[middle] for row in drawn["values"]]
    assert found == pytest.approx(model.coef_[columns], abs=1e-8)


def test_a_graph_shows_what_is_right():
    instances = ct.datasets.random_labeling(2)
    family = ct.HarmonicLabeling(sigma=(0.5, 1))
    result = ct.tune(family, instances)
    drawn = portrait_of(result)
    number = result.evaluation.instance_names.index(drawn["instance"])
    right = [node[4] for node in drawn["nodes"] if node[4] is not None]
    assert sum(right) / len(right) == pytest.approx(float(result.evaluation.utilities[number]))
    assert sum(node[3] for node in drawn["nodes"]) == len(instances[number].labeled)
    assert all(0 < weight <= 1 for _, _, weight in drawn["edges"])
    assert "The graph at the optimum" in page_of(findings_of(result))


def test_distances_alone_have_a_map():
    points = np.random.default_rng(1).normal(size=(9, 2))
    apart = np.linalg.norm(points[:, None] - points[None], axis=2)
    instance = ct.LabelingInstance(distances=apart, labeled=[0, 1], truth=[0, 1] * 4 + [0])
    drawn = portrait_of(ct.tune(ct.HarmonicLabeling(sigma=(1, 2)), [instance]))
    plane = np.array([node[:2] for node in drawn["nodes"]])
    again = np.linalg.norm(plane[:, None] - plane[None], axis=2)
    assert again == pytest.approx(apart, abs=1e-9)


def test_two_parameters_have_a_map_and_importance(tmp_path):
    metrics = ("euclidean", "cityblock")
    pair = ct.datasets.random_clustering(1, 2, 4, metrics=metrics)
    result = ct.tune(ct.Linkage(alpha=(0.5, 2), weights="tune", n_metrics=2), pair)
    result.report(tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Map of two parameters" in text and "Share of the variance" in text


def test_families_of_ones_own_have_no_portrait():
    from certune.testing import StepFamily, StepInstance

    assert portrait_of(ct.tune(StepFamily(), [StepInstance((0.5,), (0, 1))])) is None


def test_coefficients_of_several_classes_are_named_by_column_and_class():
    rng = np.random.default_rng(0)
    labels = np.repeat(["red", "green", "blue"], 12)
    rows = rng.normal(size=(36, 2)) + np.repeat([[0, 0], [3, 0], [0, 3]], 12, axis=0)
    result = ct.tune(ct.RegularizedLogistic(lam=(0.01, 1)), ct.folds(rows, labels, cv=3))
    drawn = portrait_of(result, ("height", "width"))
    assert drawn["kind"] == "path" and len(drawn["names"]) == len(drawn["values"]) == 6
    assert {"height, red", "width, blue"} <= set(drawn["names"])
