"""Classification problems: tumours, and the groups of any table."""

from __future__ import annotations

from typing import Any

import numpy as np

from certune.datasets.drawing import RandomState, check_count, generator
from certune.errors import InputError
from certune.families.logistic.instance import ClassificationInstance

# How often training points are drawn until they have both classes.
MOST_DRAWS = 1000


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
    check_count("n_instances", n_instances, 0)
    check_count("n_train", n_train, 2, len(named) - 1)
    check_count("n_validation", n_validation, 1, len(named) - n_train)
    rng = generator(random_state)
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
    check_count("n_train", n_train, 2)
    check_count("n_validation", n_validation, 1)
    if n_instances is not None:
        check_count("n_instances", n_instances, 0)
    try:
        names = np.unique(members)
    except TypeError as error:
        raise InputError(f"groups must be sortable and not missing: {error}") from error
    rng = generator(random_state)
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
