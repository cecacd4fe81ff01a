"""What a labelling instance accepts, keeps and refuses."""

import numpy as np
import pytest

import certune as ct
from certune.errors import InputError

POINTS = [[0.0], [1.0], [2.0], [5.0], [6.0]]


def instance(**changes):
    options = {"points": POINTS, "labeled": [0, 4], "truth": list("aabbb")}
    return ct.LabelingInstance(**{**options, **changes})


def test_attributes():
    made = instance(name="line")
    assert (made.n_points, made.n_metrics, made.metric_names) == (5, 1, ("sqeuclidean",))
    assert made.labeled.tolist() == [0, 4] and made.unlabeled.tolist() == [1, 2, 3]
    assert made.labels.tolist() == [0, 1] and made.truth.tolist() == [0, 0, 1, 1, 1]
    assert made.class_names == ("a", "b")
    assert made.distances[0, 0].tolist() == [0, 1, 4, 25, 36]
    with pytest.raises(ValueError, match="read-only"):
        made.labels[0] = 1


def test_masks_indices_and_explicit_labels_mean_the_same():
    mask = [True, False, False, False, True]
    assert instance(labeled=mask) == instance()
    assert instance(labeled=[4, 0]) == instance()
    assert instance(labeled=[4, 0], labels=["b", "a"]) == instance()
    assert hash(instance(labeled=mask)) == hash(instance())


def test_labels_may_differ_from_the_truth():
    made = instance(labels=["b", "a"])
    assert made.labels.tolist() == [1, 0] and made != instance()


def test_fingerprint_sees_distances_labels_and_truth():
    others = [
        instance(points=[[0.0], [1.0], [2.0], [5.0], [6.5]]),
        instance(labeled=[0, 3]),
        instance(labels=["a", "a"]),
        instance(truth=list("aaabb"), labels=["a", "b"]),
        instance(truth=None, labels=["a", "b"]),
    ]
    assert len({made.fingerprint for made in (instance(), *others)}) == 6
    assert instance(name="other").fingerprint == instance().fingerprint


def test_zero_distances_are_allowed():
    """Different points at distance 0 have an edge of weight 1; only linkage refuses them."""
    distances = np.array([[0.0, 0, 1], [0, 0, 2], [1, 2, 0]])
    made = ct.LabelingInstance(distances=distances, labeled=[0, 2], truth=[0, 0, 1])
    assert made.distances[0, 0, 1] == 0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"labeled": []}, "no point is labelled"),
        ({"labeled": None}, "labeled is missing"),
        ({"labeled": [0, 5]}, "indices from 0 to 4, got 5"),
        ({"labeled": [0, 0]}, "every point once, got 0"),
        ({"labeled": [0.5, 1.5]}, "list of indices or a mask"),
        ({"labeled": [False] * 5}, "no point is labelled"),
        ({"truth": None}, "labels of the labelled points are unknown"),
        ({"truth": [0, 1]}, "one label for each of the 5 points"),
        ({"labels": [0]}, "one label for each of the 2 labelled points"),
        ({"truth": [0, 1, 0, float("nan"), 1]}, "must not be missing, got nan for point 3"),
        ({"truth": [0, None, 0, 1, 1]}, "must not be missing"),
        ({"truth": ["a", 1, "a", 1, "a"]}, "integers only, or strings only, got 'a', 1, 'a'"),
        ({"truth": np.array(["a", 1, "a", 1, "a"], dtype=object)}, "strings only, got 'a', 1"),
        ({"truth": np.array([{1}, {2}, {1}, {2}, {1}], dtype=object)}, "strings only, got {1}"),
        ({"truth": [0, 1j, 0, 1, 1]}, "integers only"),
        ({"labels": [0, 1]}, "same type, got labels 0, 1 and truth 'a', 'a', 'b'"),
        ({"labels": np.array(["2020", "NaT"], "datetime64[D]")}, "must not be missing, got NaT"),
        ({"labeled": [[0], [1, 2]]}, "list of indices or a mask"),
        ({"points": None}, "either points or distances, got neither"),
        ({"distances": np.zeros((5, 5))}, "got both"),
        ({"points": [[0.0], [1.0], [float("nan")], [5.0], [6.0]]}, "must be finite"),
        ({"metrics": "sqeuclidian"}, "did you mean 'sqeuclidean'"),
        ({"name": 3}, "name must be a string"),
    ],
)
def test_bad_input(changes, message):
    with pytest.raises(InputError, match=message):
        instance(**changes)


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        ([[0, 1], [2, 0]], "symmetric"),
        ([[0, -1], [-1, 0]], "non-negative"),
        ([[0, np.inf], [np.inf, 0]], "finite"),
        ([[1, 2], [2, 1]], "zero on the diagonal"),
    ],
)
def test_bad_distances(matrix, message):
    with pytest.raises(InputError, match=message):
        ct.LabelingInstance(distances=np.array(matrix, float), labeled=[0], labels=[1])


def test_metrics_need_points():
    with pytest.raises(InputError, match="metrics apply to points only"):
        ct.LabelingInstance(
            distances=np.zeros((2, 2)), metrics="euclidean", labeled=[0], labels=[0]
        )
