"""What a user would have taken without tuning: other clusterings of the same instance.

Tuned linkages are shown in this company, so that nobody takes the optimum of a family for the best
that there is.  All of them but HDBSCAN get the number of clusters k.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, lru_cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from certune.deadline import preparing
from certune.families.linkage.instance import ClusteringInstance

Labels = NDArray[np.int64]
METHODS = ("single", "average", "complete", "ward")
STARTS = 3  # of k-means, of which the best counts
MOST_ROUNDS = 100
FIND_K = frozenset({"HDBSCAN"})


def named_by_knowledge(name: str) -> str:
    """Return the name for the company of a family that is not told the number of clusters."""
    return name if name in FIND_K else f"{name.removesuffix(' (cut)')} (told k)"


def plain_cuts(distances: NDArray[np.float64], k: int) -> dict[str, Labels]:
    """Single, average, complete and Ward linkage by scipy, without their last k - 1 merges."""
    with preparing():
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


@cache
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
            with np.errstate(all="ignore"):
                try:
                    labels = method(np.asarray(points, dtype=np.float64), instance.k)
                except (ValueError, RuntimeError, FloatingPointError):
                    continue
            found[name] = np.unique(labels, return_inverse=True)[1].astype(np.int64)
    return found


def _k_means(points: NDArray[np.float64], k: int) -> Labels:
    """Labels of the best of a few runs of k-means from k-means++ centres, made side by side."""
    scaled = points / (np.abs(points).max() or 1.0)
    scaled = scaled - scaled.mean(axis=0)
    squares = (scaled**2).sum(axis=1)[:, None]

    def squared_distances(centres: NDArray[np.float64]) -> NDArray[np.float64]:
        cross = np.matmul(scaled, centres.transpose(0, 2, 1))
        own = (centres**2).sum(axis=2)[:, None, :]
        return np.asarray(np.maximum(squares - 2 * cross + own, 0.0))

    centres = _first_centres(scaled, k)
    labels = np.full((STARTS, len(points)), -1, dtype=np.int64)
    for _ in range(MOST_ROUNDS):
        table = squared_distances(centres)
        before, labels = labels, table.argmin(axis=2)
        if (before == labels).all():
            break
        members = (labels[:, :, None] == np.arange(k)).astype(np.float64)
        sizes = members.sum(axis=1)[:, :, None]
        sums = np.matmul(members.transpose(0, 2, 1), scaled)
        centres = np.where(sizes > 0, sums / np.maximum(sizes, 1.0), centres)
    return np.asarray(labels[table.min(axis=2).sum(axis=1).argmin()])


def _first_centres(points: NDArray[np.float64], k: int) -> NDArray[np.float64]:
    """Centres (run, cluster, feature) by k-means++: each far from those before it, by chance."""
    firsts, chances = _draws(len(points), k)
    centres = np.empty((STARTS, k, points.shape[1]))
    centres[:, 0] = points[firsts]
    nearest = np.full((STARTS, len(points)), np.inf)
    for number in range(1, k):
        apart = points - centres[:, number - 1, None, :]
        nearest = np.minimum(nearest, (apart**2).sum(axis=2))
        shares = nearest.cumsum(axis=1)
        if not (shares[:, -1] > 0).all():
            raise ValueError("points are too near each other for so many centres")
        chosen = (shares <= chances[:, number - 1, None] * shares[:, -1:]).sum(axis=1)
        centres[:, number] = points[np.minimum(chosen, len(points) - 1)]
    return centres


@lru_cache(maxsize=64)
def _draws(n: int, k: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The first point of each run, and a number in [0, 1) for every further centre."""
    rngs = [np.random.default_rng(seed) for seed in range(STARTS)]
    firsts = np.array([rng.integers(n) for rng in rngs])
    return firsts, np.array([rng.random(k - 1) for rng in rngs])


def _genie(points: NDArray[np.float64], k: int) -> Any:
    with preparing():
        genie = import_module("genieclust").Genie
    with _without_warnings():
        return genie(n_clusters=k).fit_predict(points)


def _hdbscan(points: NDArray[np.float64], k: int) -> Any:
    with preparing():
        hdbscan = import_module("hdbscan").HDBSCAN
    with _without_warnings():
        return hdbscan().fit_predict(points)


@contextmanager
def _without_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
