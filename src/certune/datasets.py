"""Sampled problems for first steps, examples and tests.

Tuning needs many instances of one kind. Each function draws them reproducibly: the same
``random_state`` gives the same instances, and asking for more keeps the first ones as they are.
"""

import operator
from collections.abc import Sequence
from functools import cache
from typing import Any, TypeAlias

import numpy as np

from certune.errors import InputError
from certune.families.graph_ssl import LabelingInstance
from certune.families.linkage.instance import ClusteringInstance
from certune.families.logistic.instance import ClassificationInstance
from certune.families.metrics import Metric
from certune.families.programs.knapsack import KnapsackInstance

RandomState: TypeAlias = int | np.random.Generator | None

# How often training points are drawn until they have both classes.
MOST_DRAWS = 1000


def digits_clustering(
    n_instances: int = 20,
    n_classes: int = 5,
    n_per_class: int = 20,
    metrics: Metric | Sequence[Metric] = ("euclidean",),
    random_state: RandomState = 0,
) -> list[ClusteringInstance]:
    """Images of some handwritten digits, to be clustered by digit.

    Each instance takes random classes and random images of each class from the bundled data
    ``sklearn.datasets.load_digits`` (8 by 8 pixels, ten classes).

    Parameters
    ----------
    n_instances : int, default 20
        Number of instances.
    n_classes : int, default 5
        Digits in each instance, 1 to 10; also the number of clusters k.
    n_per_class : int, default 20
        Images of each digit, 1 to 174.
    metrics : metric or sequence of metrics, default ("euclidean",)
        As for ``ClusteringInstance``.
    random_state : int, numpy Generator or None, default 0
        Source of randomness.

    Returns
    -------
    list of ClusteringInstance
        Named like 'digits-000 (0,3,5,7,9)'.

    Examples
    --------
    >>> digits_clustering(n_instances=1, n_classes=2, n_per_class=3)[0].n_points
    6
    """
    images, digit_of = _digits()
    members = [np.flatnonzero(digit_of == digit) for digit in range(10)]
    _check_count("n_instances", n_instances, 0)
    _check_count("n_classes", n_classes, 1, len(members))
    _check_count("n_per_class", n_per_class, 1, min(map(len, members)))
    rng = _generator(random_state)
    instances = []
    for number in range(n_instances):
        digits = np.sort(rng.choice(len(members), size=n_classes, replace=False))
        chosen = np.concatenate(
            [rng.choice(members[digit], size=n_per_class, replace=False) for digit in digits]
        )
        rng.shuffle(chosen)
        name = f"digits-{number:03d} ({','.join(map(str, digits))})"
        instances.append(
            ClusteringInstance(
                points=images[chosen], metrics=metrics, target=digit_of[chosen], name=name
            )
        )
    return instances


def random_clustering(
    n_instances: int = 20,
    n_clusters: int = 5,
    n_per_cluster: int = 20,
    n_features: int = 2,
    spread: float = 0.1,
    metrics: Metric | Sequence[Metric] = ("euclidean",),
    random_state: RandomState = 0,
) -> list[ClusteringInstance]:
    """Gaussian blobs around centres that are uniform in the unit cube.

    Parameters
    ----------
    n_instances : int, default 20
        Number of instances.
    n_clusters, n_per_cluster : int, default 5 and 20
        Blobs in each instance, and points in each blob.
    n_features : int, default 2
        Dimension.
    spread : float, default 0.1
        Standard deviation of a blob in every coordinate, positive.
    metrics : metric or sequence of metrics, default ("euclidean",)
        As for ``ClusteringInstance``.
    random_state : int, numpy Generator or None, default 0
        Source of randomness.

    Returns
    -------
    list of ClusteringInstance
        Named like 'random-000'; the target is the blob.

    Examples
    --------
    >>> random_clustering(n_instances=1, n_clusters=2, n_per_cluster=3)
    [ClusteringInstance('random-000', 6 points, metrics=('euclidean',), k=2, 2 target classes)]
    """
    _check_count("n_instances", n_instances, 0)
    _check_count("n_clusters", n_clusters, 1)
    _check_count("n_per_cluster", n_per_cluster, 1)
    _check_count("n_features", n_features, 1)
    if not 0 < spread < np.inf:
        raise InputError(f"spread must be positive and finite, got {spread!r}")
    rng = _generator(random_state)
    instances = []
    for number in range(n_instances):
        blob = rng.permutation(np.repeat(np.arange(n_clusters), n_per_cluster))
        centres = rng.random((n_clusters, n_features))
        points = centres[blob] + spread * rng.standard_normal((len(blob), n_features))
        instances.append(
            ClusteringInstance(
                points=points, metrics=metrics, target=blob, name=f"random-{number:03d}"
            )
        )
    return instances


def grid_clustering(
    n_instances: int = 20,
    side: int = 8,
    n_points: int = 40,
    n_clusters: int = 4,
    metrics: Metric | Sequence[Metric] = ("cityblock",),
    random_state: RandomState = 0,
) -> list[ClusteringInstance]:
    """Distinct points of a square integer grid: distances take few values, ties are everywhere.

    Parameters
    ----------
    n_instances : int, default 20
        Number of instances.
    side : int, default 8
        The grid has side * side points.
    n_points : int, default 40
        Points drawn without repetition, at most side * side.
    n_clusters : int, default 4
        Number of clusters k, at most n_points and side. The target cuts the grid into this many
        vertical bands, of which a small sample may leave some empty.
    metrics : metric or sequence of metrics, default ("cityblock",)
        As for ``ClusteringInstance``.
    random_state : int, numpy Generator or None, default 0
        Source of randomness.

    Returns
    -------
    list of ClusteringInstance
        Named like 'grid-000'.

    Examples
    --------
    >>> instance = grid_clustering(n_instances=1, side=3, n_points=9, n_clusters=3)[0]
    >>> sorted(set(instance.distances.ravel().tolist()))
    [0.0, 1.0, 2.0, 3.0, 4.0]
    """
    _check_count("n_instances", n_instances, 0)
    _check_count("side", side, 1)
    _check_count("n_points", n_points, 1, side * side)
    _check_count("n_clusters", n_clusters, 1, min(n_points, side))
    rng = _generator(random_state)
    instances = []
    for number in range(n_instances):
        cells = rng.choice(side * side, size=n_points, replace=False)
        points = np.column_stack(np.divmod(cells, side)).astype(np.float64)
        bands = cells // side * n_clusters // side
        instances.append(
            ClusteringInstance(
                points=points,
                metrics=metrics,
                target=bands,
                k=n_clusters,
                name=f"grid-{number:03d}",
            )
        )
    return instances


def digits_labeling(
    n_instances: int = 20,
    n_classes: int = 2,
    n_per_class: int = 50,
    n_labeled_per_class: int = 5,
    metrics: Metric | Sequence[Metric] = ("sqeuclidean",),
    random_state: RandomState = 0,
) -> list[LabelingInstance]:
    """Images of some handwritten digits, a few of each class labelled.

    Each instance takes random classes and random images of each class from the bundled data
    ``sklearn.datasets.load_digits``. Pixels, 0 to 16, are divided by 48, so that the median squared
    distance of two images is about 1 and bandwidths of 0.1 to 1 are typical.

    Parameters
    ----------
    n_instances : int, default 20
        Number of instances.
    n_classes : int, default 2
        Digits in each instance, 2 to 10.
    n_per_class : int, default 50
        Images of each digit, 2 to 174.
    n_labeled_per_class : int, default 5
        How many of them are labelled, 1 to n_per_class - 1.
    metrics : metric or sequence of metrics, default ("sqeuclidean",)
        As for ``LabelingInstance``.
    random_state : int, numpy Generator or None, default 0
        Source of randomness.

    Returns
    -------
    list of LabelingInstance
        Named like 'digits-000 (3,8)'.

    Examples
    --------
    >>> digits_labeling(n_instances=1, n_per_class=20, n_labeled_per_class=2)[0].n_points
    40
    """
    images, digit_of = _digits()
    members = [np.flatnonzero(digit_of == digit) for digit in range(10)]
    _check_count("n_instances", n_instances, 0)
    _check_count("n_classes", n_classes, 2, len(members))
    _check_count("n_per_class", n_per_class, 2, min(map(len, members)))
    _check_count("n_labeled_per_class", n_labeled_per_class, 1, n_per_class - 1)
    rng = _generator(random_state)
    instances = []
    for number in range(n_instances):
        digits = np.sort(rng.choice(len(members), size=n_classes, replace=False))
        drawn = [rng.choice(members[digit], size=n_per_class, replace=False) for digit in digits]
        chosen = rng.permutation(np.concatenate(drawn))
        known = np.concatenate([some[:n_labeled_per_class] for some in drawn])
        instances.append(
            LabelingInstance(
                points=images[chosen] / 48,
                metrics=metrics,
                labeled=np.isin(chosen, known),
                truth=digit_of[chosen],
                name=f"digits-{number:03d} ({','.join(map(str, digits))})",
            )
        )
    return instances


def random_labeling(
    n_instances: int = 20,
    n_classes: int = 2,
    n_per_class: int = 30,
    n_labeled_per_class: int = 3,
    n_features: int = 2,
    spread: float = 0.2,
    metrics: Metric | Sequence[Metric] = ("sqeuclidean",),
    random_state: RandomState = 0,
) -> list[LabelingInstance]:
    """Gaussian blobs around centres that are uniform in the unit cube, a few points labelled.

    Parameters
    ----------
    n_instances : int, default 20
        Number of instances.
    n_classes, n_per_class : int, default 2 and 30
        Blobs in each instance, and points in each blob.
    n_labeled_per_class : int, default 3
        How many of them are labelled, 1 to n_per_class - 1.
    n_features : int, default 2
        Dimension.
    spread : float, default 0.2
        Standard deviation of a blob in every coordinate, positive.
    metrics : metric or sequence of metrics, default ("sqeuclidean",)
        As for ``LabelingInstance``.
    random_state : int, numpy Generator or None, default 0
        Source of randomness.

    Returns
    -------
    list of LabelingInstance
        Named like 'random-000'; the truth is the blob.

    Examples
    --------
    >>> random_labeling(n_instances=1, n_per_class=5)[0].n_points
    10
    """
    _check_count("n_instances", n_instances, 0)
    _check_count("n_classes", n_classes, 1)
    _check_count("n_per_class", n_per_class, 2)
    _check_count("n_labeled_per_class", n_labeled_per_class, 1, n_per_class - 1)
    _check_count("n_features", n_features, 1)
    if not 0 < spread < np.inf:
        raise InputError(f"spread must be positive and finite, got {spread!r}")
    rng = _generator(random_state)
    instances = []
    for number in range(n_instances):
        blob = np.tile(np.arange(n_classes), n_per_class)
        centres = rng.random((n_classes, n_features))
        points = centres[blob] + spread * rng.standard_normal((len(blob), n_features))
        instances.append(
            LabelingInstance(
                points=points,
                metrics=metrics,
                labeled=np.arange(n_classes * n_labeled_per_class),
                truth=blob,
                name=f"random-{number:03d}",
            )
        )
    return instances


def breast_cancer_classification(
    n_instances: int = 20,
    n_train: int = 120,
    n_validation: int = 80,
    random_state: RandomState = 0,
) -> list[ClassificationInstance]:
    """Tumours to be told apart as benign or malignant.

    Each instance takes random training and validation points, without overlap, from the bundled
    data ``sklearn.datasets.load_breast_cancer`` (569 points, 30 features of very different
    scales: tune with ``standardize=True``).

    Parameters
    ----------
    n_instances : int, default 20
        Number of instances.
    n_train, n_validation : int, default 120 and 80
        Points of each instance, together at most 569.
    random_state : int, numpy Generator or None, default 0
        Source of randomness.

    Returns
    -------
    list of ClassificationInstance
        Named like 'breast-cancer-000'; the classes are 'benign' and 'malignant'.

    Examples
    --------
    >>> breast_cancer_classification(1)[0]
    ClassificationInstance('breast-cancer-000', 120 + 80 points, 30 features, classes
    ('benign', 'malignant'))
    """
    from sklearn.datasets import load_breast_cancer

    features, labels = load_breast_cancer(return_X_y=True)
    named = np.where(labels == 0, "malignant", "benign")
    _check_count("n_instances", n_instances, 0)
    _check_count("n_train", n_train, 2, len(named) - 1)
    _check_count("n_validation", n_validation, 1, len(named) - n_train)
    rng = _generator(random_state)
    return [
        _split(features, named, n_train, n_validation, rng, f"breast-cancer-{number:03d}")
        for number in range(n_instances)
    ]


def grouped_classification(
    X: Any,
    y: Any,
    groups: Any,
    n_train: int,
    n_validation: int,
    n_instances: int | None = None,
    random_state: RandomState = 0,
) -> list[ClassificationInstance]:
    """One instance for each group of a table, such as a customer, a site or a task.

    Groups that are too small, or have just one class, are left out.

    Parameters
    ----------
    X : array-like of shape (n, p)
        Features.
    y : array-like of shape (n,)
        Labels of two classes.
    groups : array-like of shape (n,)
        The group of each row.
    n_train, n_validation : int
        Points to draw from each group, without overlap.
    n_instances : int, optional
        At most this many groups, drawn at random; all of them, in sorted order, by default.
    random_state : int, numpy Generator or None, default 0
        Source of randomness.

    Returns
    -------
    list of ClassificationInstance
        Named by their groups.

    Raises
    ------
    InputError
        If no group is large enough.

    Examples
    --------
    >>> X, groups = np.arange(12.0)[:, None], np.repeat(["a", "b"], 6)
    >>> [item.name for item in grouped_classification(X, X[:, 0] % 2, groups, 4, 2)]
    ['a', 'b']
    """
    features, labels, members = np.asarray(X), np.asarray(y), np.asarray(groups)
    shapes = features.shape, labels.shape, members.shape
    if [len(shape) for shape in shapes] != [2, 1, 1] or len({shape[0] for shape in shapes}) > 1:
        raise InputError(
            "X must be a table (not a sparse one), y and groups lists with an entry for each of "
            f"its rows; got the shapes {shapes[0]}, {shapes[1]} and {shapes[2]}"
        )
    _check_count("n_train", n_train, 2)
    _check_count("n_validation", n_validation, 1)
    if n_instances is not None:
        _check_count("n_instances", n_instances, 0)
    try:
        names = np.unique(members)
    except TypeError as error:
        raise InputError(f"groups must be sortable and not missing: {error}") from error
    rng = _generator(random_state)
    # Every group has a stream of its own, so that leaving one out does not change the others.
    seeds = rng.integers(2**32, size=names.size)
    order = np.arange(names.size) if n_instances is None else rng.permutation(names.size)
    instances: list[ClassificationInstance] = []
    for number in order.tolist():
        rows = np.flatnonzero(members == names[number])
        if len(instances) == n_instances:
            break
        if len(rows) < n_train + n_validation or np.unique(labels[rows]).size < 2:
            continue
        own, name = np.random.default_rng(seeds[number]), str(names[number])
        instances.append(_split(features[rows], labels[rows], n_train, n_validation, own, name))
    if not instances and n_instances != 0:
        raise InputError(
            f"no group has {n_train} + {n_validation} rows and both classes; ask for fewer points"
        )
    return instances


def _split(
    features: Any,
    labels: Any,
    n_train: int,
    n_validation: int,
    rng: np.random.Generator,
    name: str,
) -> ClassificationInstance:
    """Draw training points, of both classes, and validation points."""
    for _ in range(MOST_DRAWS):
        order = rng.permutation(len(labels))
        if np.unique(labels[order[:n_train]]).size == 2:
            break
    else:
        raise InputError(
            f"{n_train} training points of {name} had just one class in {MOST_DRAWS} draws, as the "
            "other one is so rare; ask for more training points or leave the group out"
        )
    train, validation = order[:n_train], order[n_train : n_train + n_validation]
    return ClassificationInstance(
        features[train], labels[train], features[validation], labels[validation], name=name
    )


@cache
def _digits() -> tuple[Any, Any]:
    """Load the images once: an online stream asks for one instance at a time."""
    from sklearn.datasets import load_digits

    images, digit_of = load_digits(return_X_y=True)
    images.setflags(write=False)
    return images, digit_of


def _check_count(name: str, value: Any, low: int, high: int | None = None) -> None:
    try:
        count = operator.index(value)
    except TypeError:
        count = low - 1
    if isinstance(value, bool) or count < low or (high is not None and count > high):
        wanted = f"at least {low}" if high is None else f"from {low} to {high}"
        raise InputError(f"{name} must be an integer {wanted}, got {value!r}")


def _generator(random_state: Any) -> np.random.Generator:
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError):
        raise InputError(
            f"random_state must be a non-negative integer, a numpy Generator or None, got "
            f"{random_state!r}: pass for example random_state=0"
        ) from None


def knapsack_problems(
    n_instances: int = 20,
    n_items: int = 100,
    largest: int = 1000,
    fill: float = 0.3,
    random_state: RandomState = 0,
) -> list[KnapsackInstance]:
    """Knapsack problems with values that grow with the sizes of the items, and noise.

    Sizes are uniform from 1 to `largest`; values are uniform from 1 to `largest` plus half the
    size, so that neither the valuable nor the small items are always right.

    Parameters
    ----------
    n_instances : int, default 20
        Number of instances.
    n_items : int, default 100
        Items in each instance.
    largest : int, default 1000
        Largest size, at least 1.
    fill : float, default 0.3
        Capacity as a share of the total size, in (0, 1].
    random_state : int, numpy Generator or None, default 0
        Source of randomness.

    Returns
    -------
    list of KnapsackInstance
        Named like 'knapsack-000'.

    Examples
    --------
    >>> len(knapsack_problems(n_instances=1, n_items=7)[0].values)
    7
    """
    _check_count("n_instances", n_instances, 0)
    _check_count("n_items", n_items, 1)
    _check_count("largest", largest, 1)
    if not 0 < fill <= 1:
        raise InputError(f"fill must lie in (0, 1], got {fill!r}")
    rng = _generator(random_state)
    instances = []
    for number in range(n_instances):
        sizes = rng.integers(1, largest, n_items, endpoint=True)
        values = rng.integers(1, largest, n_items, endpoint=True) + sizes // 2
        capacity = max(int(fill * sizes.sum()), 1)
        name = f"knapsack-{number:03d}"
        instances.append(KnapsackInstance(values.tolist(), sizes.tolist(), capacity, name=name))
    return instances
