"""What a user would have taken without tuning: other clusterings of the same instance.

Tuned linkages are shown in this company, so that nobody takes the optimum of a family for the best
that there is.  All of them get the number of clusters k.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from certune.families.linkage.instance import ClusteringInstance

Labels = NDArray[np.int64]
METHODS = ("single", "average", "complete", "ward")
STARTS = 3  # of k-means, of which the best counts
MOST_ROUNDS = 100


def plain_cuts(distances: NDArray[np.float64], k: int) -> dict[str, Labels]:
    """Single, average, complete and Ward linkage by scipy, without their last k - 1 merges."""
    from scipy.cluster.hierarchy import linkage
    from scipy.spatial.distance import squareform

    n = len(distances)
    largest = distances.max()
    condensed = squareform(distances / largest if largest > 0 else distances, checks=False)
    return {
        f"{method} (cut)": _cut(linkage(condensed, method), n, k)
        if n > 1
        else np.zeros(n, dtype=np.int64)
        for method in METHODS
    }


def _cut(merges: NDArray[np.float64], n: int, k: int) -> Labels:
    members = {i: [i] for i in range(n)}
    for i, (a, b) in enumerate(merges[: n - k, :2].astype(int).tolist()):
        members[n + i] = members.pop(a) + members.pop(b)
    labels = np.empty(n, dtype=np.int64)
    for number, cluster in enumerate(members.values()):
        labels[cluster] = number
    return labels


def point_methods() -> dict[str, Callable[[NDArray[np.float64], int], Any]]:
    """Methods that cluster points: k-means, and Genie and HDBSCAN if they are installed."""
    found: dict[str, Callable[[NDArray[np.float64], int], Any]] = {"k-means": _k_means}
    if find_spec("genieclust") is not None:
        found["Genie"] = _genie
    if find_spec("hdbscan") is not None:
        found["HDBSCAN"] = _hdbscan
    return found


def by_points(instance: ClusteringInstance) -> dict[str, Labels | None]:
    """Labels by the `point_methods`, None without points or where a method fails."""
    points = instance.points
    usable = points is not None and points.ndim == 2 and points.dtype.kind in "fiu"
    found: dict[str, Labels | None] = {}
    for name, method in point_methods().items():
        found[name] = None
        if usable and instance.n_distinct > instance.k:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                try:
                    labels = method(np.asarray(points, dtype=np.float64), instance.k)
                except (ValueError, RuntimeError, FloatingPointError):
                    continue
            found[name] = np.unique(labels, return_inverse=True)[1].astype(np.int64)
    return found


def _k_means(points: NDArray[np.float64], k: int) -> Labels:
    scaled = points / (np.abs(points).max() or 1.0)
    scaled = scaled - scaled.mean(axis=0)
    runs = [_lloyd(scaled, k, np.random.default_rng(seed)) for seed in range(STARTS)]
    return min(runs, key=lambda run: run[0])[1]


def _lloyd(
    points: NDArray[np.float64], k: int, rng: np.random.Generator
) -> tuple[float, NDArray[np.int64]]:
    """Sum of squares and labels of one run of k-means from k-means++ centres."""
    squares = (points**2).sum(axis=1)

    def squared_distances(centres: NDArray[np.float64]) -> NDArray[np.float64]:
        cross = points @ centres.T
        distances = squares[:, None] - 2 * cross + (centres**2).sum(axis=1)
        return np.asarray(np.maximum(distances, 0.0))

    centres = points[[rng.integers(len(points))]]
    while len(centres) < k:
        nearest = squared_distances(centres).min(axis=1)
        chosen = rng.choice(len(points), p=nearest / nearest.sum())
        centres = np.concatenate([centres, points[[chosen]]])
    labels = np.full(len(points), -1, dtype=np.int64)
    for _ in range(MOST_ROUNDS):
        table = squared_distances(centres)
        before, labels = labels, table.argmin(axis=1)
        if np.array_equal(before, labels):
            break
        for cluster in np.unique(labels):
            centres[cluster] = points[labels == cluster].mean(axis=0)
    return float(table.min(axis=1).sum()), labels


def _genie(points: NDArray[np.float64], k: int) -> Any:
    genie = import_module("genieclust").Genie
    return genie(n_clusters=k).fit_predict(points)


def _hdbscan(points: NDArray[np.float64], k: int) -> Any:
    hdbscan = import_module("hdbscan").HDBSCAN
    return hdbscan().fit_predict(points)
