"""What a clustering instance accepts, what it refuses with which words, and what it computes."""

import dataclasses
import pickle
import subprocess
import sys

import joblib
import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform
from sklearn.metrics import pairwise_distances

from certune.errors import InputError, ParameterError
from certune.families.linkage import Linkage
from certune.families.linkage.instance import ClusteringInstance
from certune.families.linkage.objective import Objective
from certune.families.metrics import METRIC_NAMES

TRIANGLE = np.array([[0.0, 3.0, 4.0], [3.0, 0.0, 5.0], [4.0, 5.0, 0.0]])


def changed(matrix, *entries):
    matrix = np.array(matrix, dtype=float)
    for i, j, value in entries:
        matrix[i, j] = value
    return matrix


def gaussian_points(n=12, p=3):
    return np.random.default_rng(0).standard_normal((n, p))


def chebyshev_like(a, b):
    return float(np.abs(a - b).max())


BAD_INPUT = {
    "neither": (dict(k=1), "either points or distances, got neither"),
    "both": (dict(points=[[0.0]], distances=[[0.0]], k=1), "got both"),
    "points 1-D": (dict(points=[1.0, 2.0], k=1), r"reshape\(-1, 1\)"),
    "points 3-D": (dict(points=np.zeros((2, 2, 2)), k=1), r"got shape \(2, 2, 2\)"),
    "points empty": (dict(points=np.empty((0, 2)), k=1), "points are empty"),
    "points no features": (dict(points=np.empty((3, 0)), k=1), "points are empty"),
    "points nan": (dict(points=[[0.0], [np.nan]], k=1), "got nan at point 1, feature 0"),
    "points inf": (dict(points=[[0.0, np.inf]], k=1), "got inf at point 0, feature 1"),
    "points words": (dict(points=[["a", "b"]], k=1), "real numbers"),
    "points ragged": (dict(points=[[1.0], [1.0, 2.0]], k=1), "real numbers"),
    "points complex": (dict(points=[[1j]], k=1), "real numbers"),
    "metric unknown": (dict(points=[[0.0]], metrics="euclidian", k=1), "mean 'euclidean'"),
    "metric absurd": (dict(points=[[0.0]], metrics="qqqq", k=1), "expected a function or one of"),
    "metric number": (dict(points=[[0.0]], metrics=[2], k=1), "unknown metric 2"),
    "metrics empty": (dict(points=[[0.0]], metrics=[], k=1), "one or several metrics"),
    "metrics none": (dict(points=[[0.0]], metrics=None, k=1), "one or several metrics"),
    "metrics and distances": (dict(distances=TRIANGLE, metrics="cosine", k=1), "leave metrics out"),
    "distances empty": (dict(distances=[], k=1), "distances are empty"),
    "distances no matrix": (dict(distances=np.empty((0, 3, 3)), k=1), "distances are empty"),
    "distances number": (dict(distances=3.0, k=1), "must have shape"),
    "distances not square": (dict(distances=np.ones((2, 3)), k=1), r"got \(2, 3\)"),
    "distances 4-D": (dict(distances=np.zeros((1, 1, 2, 2)), k=1), "must have shape"),
    "distances sizes": (
        dict(distances=[TRIANGLE, np.zeros((1, 1))], k=1),
        "between the same points",
    ),
    "distances words": (dict(distances=[["a"]], k=1), "real numbers"),
    "condensed length": (dict(distances=[1.0, 2.0], k=1), r"n\(n-1\)/2 .* got length 2"),
    "nan": (dict(distances=changed(TRIANGLE, (0, 1, np.nan)), k=1), "must be finite, got nan"),
    "inf": (dict(distances=changed(TRIANGLE, (2, 1, np.inf)), k=1), "points 2 and 1"),
    "negative": (dict(distances=changed(TRIANGLE, (0, 2, -1.0)), k=1), "got -1.0 between"),
    "diagonal": (dict(distances=changed(TRIANGLE, (1, 1, 0.1)), k=1), "zero on the diagonal"),
    "diagonal of one": (dict(distances=[[2.0]], k=1), "zero on the diagonal"),
    "asymmetric": (dict(distances=changed(TRIANGLE, (0, 1, 3.1)), k=1), "must be symmetric"),
    "asymmetric little": (
        dict(distances=changed(TRIANGLE, (0, 1, 3.0 + 1e-10)), k=1),
        "must be symmetric",
    ),
    "second of two": (
        dict(distances=[TRIANGLE, changed(TRIANGLE, (0, 1, np.nan))], k=1),
        r"distances\[1\] must be finite",
    ),
    "zero, rows differ": (
        dict(distances=changed(TRIANGLE, (0, 1, 0.0), (1, 0, 0.0)), k=1),
        r"points 0 and 1 are at distance 0 .* to point 2 are 4.0 and 5.0.*remove a point",
    ),
    "zero in one metric": (
        dict(distances=[np.ones((2, 2)) - np.eye(2), np.zeros((2, 2))], k=1),
        r"distance 0 in distances\[1\] but .* in distances\[0\]",
    ),
    "target short": (dict(distances=TRIANGLE, target=[0, 1]), "each of the 3 points"),
    "target 2-D": (dict(distances=TRIANGLE, target=[[0], [1], [1]]), r"got shape \(3, 1\)"),
    "target ragged": (dict(distances=TRIANGLE, target=[0, [1, 2], 1]), "1-D array"),
    "target nan": (dict(distances=TRIANGLE, target=[0, 1, np.nan]), "none may be missing"),
    "target none": (dict(distances=TRIANGLE, target=[0, 1, None]), "none may be missing"),
    "no k": (dict(distances=TRIANGLE), "pass k= or target="),
    "k zero": (dict(distances=TRIANGLE, k=0), "from 1 to the number of points 3, got 0"),
    "k large": (dict(distances=TRIANGLE, k=4), "got 4"),
    "k float": (dict(distances=TRIANGLE, k=2.0), "must be an integer .* got 2.0"),
    "k bool": (dict(distances=TRIANGLE, k=True), "got True"),
    "k text": (dict(distances=TRIANGLE, k="2"), "got '2'"),
    "name": (dict(distances=TRIANGLE, k=1, name=3), "name must be a string"),
}


@pytest.mark.parametrize("arguments, message", BAD_INPUT.values(), ids=BAD_INPUT)
def test_bad_input_is_refused_with_a_reason(arguments, message):
    with pytest.raises(InputError, match=message):
        ClusteringInstance(**arguments)


BAD_METRICS = {
    "nan": ("cosine", [[0.0, 0.0], [1.0, 1.0]], "'cosine' of instance 'bad' must be finite"),
    "negative": (lambda a, b: -1.0, [[0.0], [1.0]], "'<lambda>' .* must be non-negative"),
    "not a number": (lambda a, b: "far", [[0.0], [1.0]], "metric '<lambda>' must return a number"),
    "zero, rows differ": (
        lambda a, b: max(0.0, abs(a[0] - b[0]) - 1),
        [[0.0], [1.0], [5.0]],
        "points 0 and 1 are at distance 0",
    ),
    "not defined": ("haversine", [[0.0], [1.0]], "'haversine' cannot be computed"),
    "singular": ("mahalanobis", [[0.0, 0.0], [1.0, 1.0]], "'mahalanobis' cannot be computed"),
}


@pytest.mark.parametrize("metric, points, message", BAD_METRICS.values(), ids=BAD_METRICS)
def test_bad_distances_of_points_are_refused_when_computed(metric, points, message):
    instance = ClusteringInstance(points, metrics=metric, k=1, name="bad")
    with pytest.raises(InputError, match=message):
        _ = instance.distances


@pytest.mark.parametrize("metric", METRIC_NAMES)
def test_named_metrics_agree_with_scikit_learn(metric):
    points = np.abs(gaussian_points())
    if metric == "haversine":
        points = points[:, :2]
    if metric in ("dice", "jaccard", "rogerstanimoto", "russellrao", "sokalsneath", "yule"):
        points = (np.random.default_rng(0).random((12, 20)) < 0.5).astype(float)
    found = ClusteringInstance(points, metrics=metric, k=2).distances
    boolean = points.astype(bool) if points.shape[1] == 20 else points
    if metric == "jensenshannon":
        expected = squareform(pdist(points, metric))
    else:
        expected = pairwise_distances(boolean, metric=metric)
    np.fill_diagonal(expected, 0)
    np.testing.assert_allclose(found[0], expected, rtol=1e-10, atol=1e-14)


def test_several_metrics_and_a_function():
    points = gaussian_points()
    instance = ClusteringInstance(points, metrics=["l1", chebyshev_like], k=3)
    assert instance.metric_names == ("l1", "chebyshev_like")
    assert instance.distances.shape == (instance.n_metrics, 12, 12) == (2, 12, 12)
    np.testing.assert_array_equal(instance.distances[0], squareform(pdist(points, "cityblock")))
    np.testing.assert_array_equal(instance.distances[1], squareform(pdist(points, "chebyshev")))


def test_every_way_to_give_distances():
    other = TRIANGLE + 1 - np.eye(3)
    condensed, other_condensed = squareform(TRIANGLE), squareform(other)
    one = [TRIANGLE, TRIANGLE.tolist(), [TRIANGLE], TRIANGLE[None], condensed, condensed.tolist()]
    two = [[TRIANGLE, other], np.stack([TRIANGLE, other]), (condensed, other_condensed)]
    for distances in one:
        found = ClusteringInstance(distances=distances, k=1).distances
        np.testing.assert_array_equal(found, TRIANGLE[None])
    for distances in two:
        found = ClusteringInstance(distances=distances, k=1).distances
        np.testing.assert_array_equal(found, np.stack([TRIANGLE, other]))


def test_distances_are_a_read_only_contiguous_copy():
    given = np.asfortranarray(TRIANGLE)
    for instance in (
        ClusteringInstance(distances=given, k=1),
        ClusteringInstance(gaussian_points(), k=1),
    ):
        assert instance.distances.flags.c_contiguous
        with pytest.raises(ValueError, match="read-only"):
            instance.distances[0, 0, 1] = 9.0
    instance = ClusteringInstance(distances=given, k=1)
    given[0, 1] = 7.0
    assert instance.distances[0, 0, 1] == 3.0


def test_the_instance_is_frozen():
    points = gaussian_points()
    instance = ClusteringInstance(points, target=[0] * 6 + [1] * 6)
    with pytest.raises(dataclasses.FrozenInstanceError):
        instance.k = 3
    for array in (instance.points, instance.target, instance.duplicate_of):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    points[0] = 99.0
    assert instance.points[0, 0] != 99.0


def test_rounding_is_evened_out():
    noisy = changed(TRIANGLE, (0, 1, 3.0 + 1e-13), (0, 0, 1e-8))
    found = ClusteringInstance(distances=noisy, k=1).distances[0]
    np.testing.assert_array_equal(found, found.T)
    assert found[0, 0] == 0
    assert found[0, 1] == pytest.approx(3.0 + 5e-14, abs=1e-15)
    assert found[0, 2] == 4.0


def test_equal_coordinates_are_duplicates_in_every_metric():
    points = np.repeat(gaussian_points(5, 4), 2, axis=0)[[0, 2, 4, 1, 6, 3, 8, 0]]
    metrics = ["euclidean", "cosine", "correlation", "mahalanobis", never_zero]
    instance = ClusteringInstance(points, metrics=metrics, k=2)
    assert instance.duplicate_of.tolist() == [0, 1, 2, 0, 4, 1, 6, 0]
    for matrix in instance.distances:
        np.testing.assert_array_equal(matrix[0], matrix[3])
        np.testing.assert_array_equal(matrix, matrix.T)
        assert matrix[1, 5] == 0


def never_zero(a, b):
    return 1.0 + chebyshev_like(a, b)


def test_a_function_decides_what_duplicates_are():
    instance = ClusteringInstance([[0.1], [0.2], [5.0]], metrics=distance_of_floors, k=2)
    assert instance.duplicate_of.tolist() == [0, 0, 2]


def distance_of_floors(a, b):
    return abs(np.floor(a[0]) - np.floor(b[0]))


def test_duplicates_in_distances_get_bitwise_equal_rows():
    positions = np.array([0.0, 1.0, 0.0, 3.0, 1.0])
    exact = np.abs(positions[:, None] - positions)
    noisy = exact.copy()
    noisy[2, 3] = noisy[3, 2] = np.nextafter(3.0, 4.0)
    instance = ClusteringInstance(distances=[noisy, exact], k=2)
    assert instance.duplicate_of.tolist() == [0, 1, 0, 3, 1]
    np.testing.assert_array_equal(instance.distances, [exact, exact])


def test_all_points_equal():
    instance = ClusteringInstance(np.ones((4, 2)), k=2)
    assert instance.duplicate_of.tolist() == [0, 0, 0, 0]
    assert not instance.distances.any()
    assert not Objective("k-means").reference_matrix(instance).any()


def test_one_point():
    for instance in (
        ClusteringInstance([[2.0, 1.0]], metrics=["mahalanobis", "l1"], target=["only"]),
        ClusteringInstance(distances=[[0.0]], k=1),
    ):
        assert (instance.n_points, instance.k) == (1, 1)
        assert instance.distances.shape == (instance.n_metrics, 1, 1)
        assert instance.duplicate_of.tolist() == [0]
        assert Objective("k-median").reference_matrix(instance).tolist() == [[0]]


@pytest.mark.parametrize(
    "target, codes, names",
    [
        ([7, 3, 7], [1, 0, 1], (3, 7)),
        (["b", "a", "c"], [1, 0, 2], ("a", "b", "c")),
        ([True, False, True], [1, 0, 1], (False, True)),
        ([0.5, 0.5, 0.5], [0, 0, 0], (0.5,)),
    ],
)
def test_targets_become_codes(target, codes, names):
    instance = ClusteringInstance(distances=TRIANGLE, target=target)
    assert instance.target.dtype == np.int64
    assert instance.target.tolist() == codes
    assert instance.target_names == names
    assert instance.k == len(names)
    assert ClusteringInstance(distances=TRIANGLE, target=target, k=np.int32(2)).k == 2


def test_without_target():
    instance = ClusteringInstance(distances=TRIANGLE, k=2)
    assert instance.target is None
    assert instance.target_names is None
    assert repr(instance) == (
        "ClusteringInstance(3 points, metrics=('distances[0]',), k=2, no target)"
    )


def test_fingerprint_depends_on_what_matters_only():
    points = gaussian_points()
    target = np.arange(12) % 3
    instance = ClusteringInstance(points, target=target, name="one")
    same = ClusteringInstance(
        distances=instance.distances, target=[f"class {t}" for t in target], name="two"
    )
    assert instance == same
    assert len({instance, same}) == 1
    others = [
        ClusteringInstance(points, target=target, k=4),
        ClusteringInstance(points, target=(target + 1) % 3),
        ClusteringInstance(points, k=3),
        ClusteringInstance(points, metrics="l1", target=target),
        ClusteringInstance(points, metrics=["l2", "l2"], target=target),
        ClusteringInstance(np.nextafter(points, 9), target=target),
    ]
    assert len({instance, *others}) == 7
    assert instance != "one"


def test_fingerprint_is_the_same_in_another_process():
    program = (
        "from certune.families.linkage.instance import ClusteringInstance as C;"
        "print(C([[0.0], [1.0], [3.0]], target=['x', 'y', 'y']).fingerprint)"
    )
    printed = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout.strip()
    here = ClusteringInstance([[0.0], [1.0], [3.0]], target=[0, 1, 1]).fingerprint
    assert printed == here
    assert len(here) == 64


@pytest.mark.parametrize("with_distances", [False, True])
def test_pickled_instances_stay_read_only(with_distances):
    instance = ClusteringInstance(gaussian_points(), target=np.arange(12) % 2, name="p")
    if with_distances:
        _ = instance.distances
    copy = pickle.loads(pickle.dumps(instance))
    assert ("distances" in copy.__dict__) == with_distances
    assert copy == instance
    assert copy.name == "p"
    for array in (copy.points, copy.target, copy.distances):
        assert not array.flags.writeable


def test_a_used_instance_is_pickled_without_what_follows_from_it():
    instance = ClusteringInstance(gaussian_points(), target=np.arange(12) % 2)
    used = pickle.loads(pickle.dumps(instance))
    dual = Linkage().dual(used)
    assert "k-median" in used.references
    copy = pickle.loads(pickle.dumps(used))
    assert not {"log_distances", "pair_codes", "references"} & set(copy.__dict__)
    assert Linkage().dual(copy) == dual


@pytest.mark.parametrize("objective", ["k-means", "k-median", "k-center"])
def test_known_reference_matrices_are_those_of_their_objective(objective):
    instance = ClusteringInstance(gaussian_points(), target=np.arange(12) % 2)
    for name in ("k-median", "k-means", "k-center"):
        Linkage(objective=name).run(instance, {"alpha": 1.0})
    np.testing.assert_array_equal(
        instance.references[objective], Objective(objective).reference_matrix(instance)
    )


def test_ranges_of_logarithms_and_distinct_points():
    points = [[0.0], [1.0], [1.0], [5.0]]
    instance = ClusteringInstance(points, metrics=["l2", "sqeuclidean"], k=2)
    assert instance.n_distinct == 3
    # Distances are 1, 4 and 5; duplicates and the diagonal count as the smallest of them.
    assert instance.log_ranges == ((0.0, np.log(5.0)), (0.0, np.log(25.0)))


def test_instances_travel_through_joblib_processes():
    instances = [ClusteringInstance(gaussian_points(n), k=2) for n in (5, 6)]
    found = joblib.Parallel(n_jobs=2)(joblib.delayed(fingerprint_of)(i) for i in instances)
    assert found == [i.fingerprint for i in instances]


def fingerprint_of(instance):
    return instance.fingerprint


@pytest.mark.parametrize("name", ["k-means", "k-median", "k-center"])
@pytest.mark.parametrize("factor", [1e-300, 1.0, 1e300])
def test_reference_matrix_is_close_and_cannot_overflow(name, factor):
    n = 400
    points = gaussian_points(n)
    instance = ClusteringInstance(distances=factor * squareform(pdist(points)), k=2)
    reference = Objective(name).reference_matrix(instance)
    assert reference.dtype == np.int64
    np.testing.assert_array_equal(reference, reference.T)
    exact = (instance.distances[0] / instance.distances.max()) ** (2 if name == "k-means" else 1)
    np.testing.assert_allclose(reference / reference.max(), exact, atol=1e-11)
    n_terms = n * (n - 1) // 2 if name == "k-means" else n
    assert n_terms * int(reference.max()) <= 2**62


def test_reference_matrix_of_very_many_points_would_not_overflow():
    class ManyPoints:
        n_points, n_metrics = 10**6, 1
        distances = np.array([[[0.0, np.nextafter(1.0, 0.0)], [np.nextafter(1.0, 0.0), 0.0]]])

    largest = int(Objective("k-means").reference_matrix(ManyPoints()).max())
    n_pairs = 10**6 * (10**6 - 1) // 2
    assert 2**60 < n_pairs * largest <= 2**62


def test_squares_on_an_integer_grid_stay_exactly_proportional():
    grid = np.array([(i, j) for i in range(7) for j in range(7)], dtype=float)
    reference = Objective("k-means").reference_matrix(ClusteringInstance(grid, k=2))
    squares = pdist(grid, "sqeuclidean").astype(int)
    unit = reference[0, 1]
    np.testing.assert_array_equal(squareform(reference), squares * unit)


def test_the_reference_is_the_average_of_the_metrics():
    instance = ClusteringInstance(gaussian_points(), metrics=["l1", "l2"], k=2)
    expected = instance.distances.mean(axis=0)
    found = Objective("k-median").reference_matrix(instance)
    np.testing.assert_allclose(found / found.max(), expected / expected.max(), atol=1e-11)


def test_unknown_objective():
    with pytest.raises(ParameterError, match="did you mean 'k-median'"):
        Objective("kmedian")


def test_codes_of_pairs_that_agree_in_some_metrics():
    points = [[0, 0], [1, 1], [0, 2], [2, 0], [5, 5]]
    instance = ClusteringInstance(points, k=2, metrics=("euclidean", "cityblock"))
    codes, shared = instance.shared_values((1,))
    same = instance.distances[1][:, :, None, None] == instance.distances[1]
    assert np.array_equal(codes[:, :, None, None] == codes, same)
    euclidean, cityblock = instance.distances
    pairs = {(euclidean[i, j], cityblock[i, j]) for i in range(5) for j in range(i)}
    assert shared == len(pairs) / len({length for _, length in pairs}) > 1
    assert instance.shared_values((0, 1))[1] == 1.0


def test_whole_distances():
    points = [[0, 0], [1, 1], [0, 2]]
    instance = ClusteringInstance(points, k=2, metrics=("euclidean", "cityblock"))
    assert instance.whole_distances(0) is None
    assert np.array_equal(instance.whole_distances(1), instance.distances[1])
    far = ClusteringInstance([[0.0], [2.0**60], [2.0**61]], k=2)
    assert far.whole_distances(0) is None  # sums of products with sizes might overflow
