"""Clustering problems: digits by their class, blobs, and grids full of ties."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from certune.datasets.blobs import check_spread, draw_blobs
from certune.datasets.digits import load_digits
from certune.datasets.drawing import RandomState, check_count, generator
from certune.families.linkage.instance import ClusteringInstance
from certune.families.metrics import Metric


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
    data = load_digits()
    check_count("n_instances", n_instances, 0)
    check_count("n_classes", n_classes, 1, data.n_classes)
    check_count("n_per_class", n_per_class, 1, data.n_of_rarest)
    rng = generator(random_state)
    instances = []
    for number in range(n_instances):
        digits, drawn = data.draw(n_classes, n_per_class, rng)
        chosen = rng.permutation(np.concatenate(drawn))
        instances.append(
            ClusteringInstance(
                points=data.images[chosen],
                metrics=metrics,
                target=data.digit_of[chosen],
                name=f"digits-{number:03d} ({digits})",
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
    check_count("n_instances", n_instances, 0)
    check_count("n_clusters", n_clusters, 1)
    check_count("n_per_cluster", n_per_cluster, 1)
    check_count("n_features", n_features, 1)
    check_spread(spread)
    rng = generator(random_state)
    instances = []
    for number in range(n_instances):
        blob = rng.permutation(np.repeat(np.arange(n_clusters), n_per_cluster))
        instances.append(
            ClusteringInstance(
                points=draw_blobs(blob, n_clusters, n_features, spread, rng),
                metrics=metrics,
                target=blob,
                name=f"random-{number:03d}",
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
    check_count("n_instances", n_instances, 0)
    check_count("side", side, 1)
    check_count("n_points", n_points, 1, side * side)
    check_count("n_clusters", n_clusters, 1, min(n_points, side))
    rng = generator(random_state)
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
