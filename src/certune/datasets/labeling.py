"""Labelling problems: a few digits, or a few points of blobs, have labels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from certune.datasets.blobs import check_spread, draw_blobs
from certune.datasets.digits import load_digits
from certune.datasets.drawing import RandomState, check_count, generator
from certune.families.graph_ssl import LabelingInstance
from certune.families.metrics import Metric


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
    data = load_digits()
    check_count("n_instances", n_instances, 0)
    check_count("n_classes", n_classes, 2, data.n_classes)
    check_count("n_per_class", n_per_class, 2, data.n_of_rarest)
    check_count("n_labeled_per_class", n_labeled_per_class, 1, n_per_class - 1)
    rng = generator(random_state)
    instances = []
    for number in range(n_instances):
        digits, drawn = data.draw(n_classes, n_per_class, rng)
        chosen = rng.permutation(np.concatenate(drawn))
        known = np.concatenate([some[:n_labeled_per_class] for some in drawn])
        instances.append(
            LabelingInstance(
                points=data.images[chosen] / 48,
                metrics=metrics,
                labeled=np.isin(chosen, known),
                truth=data.digit_of[chosen],
                name=f"digits-{number:03d} ({digits})",
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
    check_count("n_instances", n_instances, 0)
    check_count("n_classes", n_classes, 1)
    check_count("n_per_class", n_per_class, 2)
    check_count("n_labeled_per_class", n_labeled_per_class, 1, n_per_class - 1)
    check_count("n_features", n_features, 1)
    check_spread(spread)
    rng = generator(random_state)
    instances = []
    for number in range(n_instances):
        blob = np.tile(np.arange(n_classes), n_per_class)
        instances.append(
            LabelingInstance(
                points=draw_blobs(blob, n_classes, n_features, spread, rng),
                metrics=metrics,
                labeled=np.arange(n_classes * n_labeled_per_class),
                truth=blob,
                name=f"random-{number:03d}",
            )
        )
    return instances
