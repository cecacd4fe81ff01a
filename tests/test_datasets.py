"""Sampled problems: their shapes, names, reproducibility and refusals."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from certune.datasets import (
    breast_cancer_classification,
    digits_clustering,
    digits_labeling,
    grid_clustering,
    grouped_classification,
    knapsack_problems,
    random_clustering,
    random_labeling,
)
from certune.errors import InputError

SAMPLERS = [digits_clustering, random_clustering, grid_clustering, knapsack_problems]


def test_digits_have_the_stated_classes():
    images, digit_of = load_digits(return_X_y=True)
    known = {tuple(image): digit for image, digit in zip(images, digit_of, strict=True)}
    instances = digits_clustering(n_instances=3, n_classes=4, n_per_class=6, metrics=["l1", "l2"])
    assert len(instances) == 3
    for number, instance in enumerate(instances):
        digits = instance.target_names
        assert instance.name == f"digits-{number:03d} ({','.join(map(str, digits))})"
        assert instance.metric_names == ("l1", "l2")
        assert instance.k == len(digits) == 4
        assert np.bincount(instance.target).tolist() == [6] * 4
        for image, code in zip(instance.points, instance.target, strict=True):
            assert known[tuple(image)] == digits[code]
        assert len(np.unique(instance.points, axis=0)) == 24


def test_digits_to_label_are_digits():
    images, digit_of = load_digits(return_X_y=True)
    known = {tuple(image / 48): digit for image, digit in zip(images, digit_of, strict=True)}
    instances = digits_labeling(2, n_classes=3, n_per_class=7, n_labeled_per_class=2)
    for instance in instances:
        names = np.array(instance.class_names)
        assert np.bincount(instance.truth).tolist() == [7] * 3
        assert np.bincount(instance.labels).tolist() == [2] * 3
        for image, code in zip(instance.points, instance.truth, strict=True):
            assert known[tuple(image)] == names[code]
        assert (instance.truth[instance.labeled] == instance.labels).all()
    assert instances[0] == digits_labeling(1, n_classes=3, n_per_class=7, n_labeled_per_class=2)[0]


def test_typical_digits_have_squared_distance_one():
    distances = digits_labeling(1, n_classes=10, n_per_class=20)[0].distances[0]
    assert 0.7 < np.median(distances[np.triu_indices(200, 1)]) < 1.4


def test_random_labels_are_spread_over_the_classes():
    (instance,) = random_labeling(1, n_classes=3, n_per_class=4, n_labeled_per_class=2)
    assert np.bincount(instance.labels).tolist() == [2, 2, 2] and instance.n_points == 12
    for options in ({"spread": 0}, {"n_labeled_per_class": 30}, {"n_classes": 0}):
        with pytest.raises(InputError):
            random_labeling(1, **options)


def test_blobs_surround_their_centres():
    (instance,) = random_clustering(
        n_instances=1, n_clusters=3, n_per_cluster=200, n_features=4, spread=0.01
    )
    assert instance.points.shape == (600, 4)
    for code in range(3):
        blob = instance.points[instance.target == code]
        assert blob.std(axis=0) == pytest.approx([0.01] * 4, rel=0.3)
        assert np.all((blob.mean(axis=0) > -0.1) & (blob.mean(axis=0) < 1.1))


def test_grids_are_distinct_integer_points_with_many_ties():
    for instance in grid_clustering(n_instances=3, side=6, n_points=30, n_clusters=3):
        assert instance.k == 3
        assert instance.points.min() >= 0
        assert instance.points.max() <= 5
        assert len(np.unique(instance.points, axis=0)) == 30
        np.testing.assert_array_equal(instance.target, instance.points[:, 0] // 2)
        assert len(np.unique(instance.distances)) <= 11


def test_a_full_grid_and_a_single_point():
    (full,) = grid_clustering(n_instances=1, side=4, n_points=16, n_clusters=4)
    assert np.bincount(full.target).tolist() == [4] * 4
    (point,) = grid_clustering(n_instances=1, side=1, n_points=1, n_clusters=1)
    assert point.n_points == point.k == 1


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_samples_are_reproducible_and_extend(sampler):
    few, more = sampler(n_instances=2), sampler(n_instances=3)
    assert few == more[:2]
    assert len({*few, *more}) == 3
    assert sampler(n_instances=1, random_state=1) != few[:1]
    assert sampler(n_instances=1, random_state=np.random.default_rng(0)) == few[:1]
    assert sampler(n_instances=0) == []


@pytest.mark.parametrize(
    "sampler, arguments, message",
    [
        (digits_clustering, dict(n_instances=-1), "n_instances must be an integer at least 0"),
        (digits_clustering, dict(n_classes=0), "n_classes must be an integer from 1 to 10, got 0"),
        (digits_clustering, dict(n_classes=11), "got 11"),
        (digits_clustering, dict(n_per_class=175), "from 1 to 174, got 175"),
        (digits_clustering, dict(n_per_class=2.5), "got 2.5"),
        (digits_clustering, dict(random_state="seed"), "random_state must be"),
        (digits_clustering, dict(random_state=-1), "random_state must be"),
        (digits_clustering, dict(metrics="cosin"), "did you mean 'cosine'"),
        (random_clustering, dict(n_instances=None), "n_instances"),
        (random_clustering, dict(n_clusters=0), "n_clusters"),
        (random_clustering, dict(n_per_cluster=0), "n_per_cluster"),
        (random_clustering, dict(n_features=0), "n_features"),
        (random_clustering, dict(spread=0.0), "spread must be positive"),
        (random_clustering, dict(spread=float("nan")), "spread must be positive"),
        (grid_clustering, dict(n_instances=True), "n_instances"),
        (grid_clustering, dict(side=0), "side"),
        (grid_clustering, dict(side=3, n_points=10), "n_points must be an integer from 1 to 9"),
        (grid_clustering, dict(side=3, n_points=9, n_clusters=4), "n_clusters .* from 1 to 3"),
    ],
)
def test_bad_arguments(sampler, arguments, message):
    with pytest.raises(InputError, match=message):
        sampler(**arguments)


def test_knapsacks_hold_the_stated_share():
    for instance in knapsack_problems(n_instances=3, n_items=50, largest=20, fill=0.5):
        assert len(instance.values) == len(instance.sizes) == 50
        assert 1 <= min(instance.sizes) <= max(instance.sizes) <= 20
        assert instance.capacity == sum(instance.sizes) // 2


@pytest.mark.parametrize("fill", [0, -1, 1.5, float("nan")])
def test_an_impossible_share_is_refused(fill):
    with pytest.raises(InputError, match="fill"):
        knapsack_problems(fill=fill)


def test_breast_cancer_instances_do_not_share_training_and_validation_points():
    first, second = breast_cancer_classification(2, n_train=60, n_validation=40)
    assert first.X.shape == (60, 30) and first.X_val.shape == (40, 30)
    assert first.classes == ("benign", "malignant") and first.fingerprint != second.fingerprint
    rows = {row.tobytes() for row in first.X}
    assert not any(row.tobytes() in rows for row in first.X_val)
    [again] = breast_cancer_classification(1, n_train=60, n_validation=40)
    assert again.fingerprint == first.fingerprint


def test_grouped_classification_makes_one_instance_for_each_group():
    rng = np.random.default_rng(0)
    groups = np.repeat(["a", "b", "c", "tiny"], [30, 30, 30, 4])
    X, y = rng.normal(size=(94, 2)), rng.integers(2, size=94)
    y[groups == "c"] = 1
    made = grouped_classification(X, y, groups, 20, 8)
    assert [item.name for item in made] == ["a", "b"]
    members = {row.tobytes() for row in X[groups == "a"]}
    assert all(row.tobytes() in members for row in made[0].X)
    few = grouped_classification(X, y, groups, 20, 8, n_instances=1)
    assert len(few) == 1 and few[0].fingerprint in {item.fingerprint for item in made}


def test_grouped_classification_explains_what_is_wrong():
    X, y, groups = np.zeros((6, 1)), [0, 1] * 3, ["a"] * 6
    with pytest.raises(InputError, match=r"no group has 5 \+ 2 rows"):
        grouped_classification(X, y, groups, 5, 2)
    with pytest.raises(InputError, match="an entry for each of its rows"):
        grouped_classification(X, y, groups[:5], 3, 2)
