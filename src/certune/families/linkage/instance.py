"""One clustering problem: distances under one or several metrics, a target, a number of clusters.

Everything a linkage algorithm sees is fixed here once and checked here once. Distances are taken
to be exact numbers from this point on, so what could make two runs disagree (asymmetry, rounding
on the diagonal, duplicates that differ in the last bit) is settled before any algorithm starts.
"""

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from certune.checks import refuse_mask
from certune.errors import InputError
from certune.families.distances import DistanceInstance, IntArray, counted
from certune.families.metrics import ROUNDING, FloatArray, Metric, read_only


@dataclass(frozen=True, init=False, repr=False, eq=False)
class ClusteringInstance(DistanceInstance):
    """A set of points with pairwise distances, their true clusters, and the number of clusters.

    Give either ``points`` or ``distances``. The value is immutable: arrays are copied and
    read-only. Two instances are equal if their distances, targets and k are.

    Parameters
    ----------
    points : array-like (n, p), optional
        Finite coordinates.
    distances : array-like, optional
        One symmetric (n, n) matrix, an (L, n, n) array or a sequence of L matrices, one condensed
        vector of length n(n-1)/2 as made by ``scipy.spatial.distance.pdist``, or a list of 1-D
        arrays of that kind.
    metrics : metric or sequence of metrics, default ("euclidean",)
        Used with ``points``: names known to SciPy or scikit-learn, or functions of two
        coordinate vectors, called once for every pair i < j. Metrics of Boolean vectors read
        non-zero coordinates as true.
    target : array-like (n,), optional
        True cluster of every point, as integers, strings or other sortable labels. Without it an
        instance can be clustered but not scored.
    k : int, optional
        Number of clusters, by default the number of distinct targets.
    name : str, optional
        Shown in messages and reports.

    Attributes
    ----------
    n_points, n_metrics : int
        n and L.
    metric_names : tuple of str
        One name for every metric.
    target : int64 array (n,) or None
        Codes 0, 1, ... of the target labels; ``target_names[code]`` is the label.

    Raises
    ------
    InputError
        For input that is not a clustering problem. Distances of ``points`` are computed when first
        needed, so what only they can show is raised then.

    Notes
    -----
    Points that agree in every coordinate, and points at distance 0 in every metric whose distances
    to all other points agree too, are duplicates. They are allowed, and every algorithm contracts
    them first, whatever its parameters. Distance 0 between other points is an error, because the
    logarithm of a distance has to exist. Asymmetry and disagreement of duplicates up to 1e-12
    (relative to the largest distance and to the distance itself) count as rounding and are evened
    out, as are diagonal entries up to 1e-6 of the largest distance.

    Examples
    --------
    >>> instance = ClusteringInstance([[0, 0], [0, 1], [5, 5]], target=["a", "a", "b"])
    >>> instance
    ClusteringInstance(3 points, metrics=('euclidean',), k=2, 2 target classes)
    >>> instance.distances[0, 0]
    array([0.        , 1.        , 7.07106781])
    """

    default_metrics = ("euclidean",)

    target: IntArray | None
    target_names: tuple[Any, ...] | None
    k: int

    def __init__(
        self,
        points: ArrayLike | None = None,
        distances: ArrayLike | Sequence[ArrayLike] | None = None,
        metrics: Metric | Sequence[Metric] = ("euclidean",),
        target: ArrayLike | None = None,
        k: int | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(points, distances, metrics, name)
        values = self.__dict__
        values["target"], values["target_names"] = _coded_target(target, self.n_points)
        values["k"] = _checked_k(k, self.target_names, self.n_points)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Numbers of points, metrics and clusters."""
        return self.n_points, self.n_metrics, self.k

    def _settled(self, matrices: FloatArray) -> FloatArray:
        """Distances with equal rows for duplicates and no other zeros."""
        # Points that agree do so in their first coordinate.
        if self.points is not None and len(np.unique(self.points[:, 0])) < self.n_points:
            _, first, group = np.unique(self.points, axis=0, return_index=True, return_inverse=True)
            lowest = first[group.ravel()]
            if np.any(lowest != np.arange(self.n_points)):
                matrices = matrices[:, lowest[:, None], lowest]
        return _checked_distances(super()._settled(matrices), self._label_of_metric)

    @cached_property
    def log_distances(self) -> FloatArray:
        """Logarithms of the distances, (n_metrics, n, n).

        The diagonal and duplicates, which are never compared, hold the smallest finite value.
        """
        with np.errstate(divide="ignore"):
            logs = np.log(self.distances)
        for matrix in logs:
            finite = np.isfinite(matrix)
            matrix[~finite] = matrix[finite].min() if finite.any() else 0.0
        return logs

    @cached_property
    def pair_codes(self) -> NDArray[np.uint64]:
        """Codes (n, n) of the pairs of points, equal exactly if the pairs agree in every metric.

        With one metric they are ordered like the distances.
        """
        return self._codes_in(range(self.n_metrics))

    def shared_values(self, metrics: tuple[int, ...]) -> tuple[NDArray[np.uint64], float]:
        """Codes of the pairs that agree in some metrics, and how many pairs of points share one.

        That is the number of pairs that agree in every metric, seen as one, for each code.
        """
        if metrics not in self._shared_values:
            above = np.triu_indices(self.n_points, 1)
            codes = self._codes_in(metrics)
            n_pairs, n_codes = (len(np.unique(c[above])) for c in (self.pair_codes, codes))
            self._shared_values[metrics] = codes, n_pairs / n_codes
        return self._shared_values[metrics]

    @cached_property
    def _shared_values(self) -> dict[tuple[int, ...], tuple[NDArray[np.uint64], float]]:
        return {}

    def whole_distances(self, metric: int) -> NDArray[np.uint64] | None:
        """Distances as integers, if they are, and sums over all pairs of points times n fit."""
        if metric not in self._whole_distances:
            matrix = self.distances[metric]
            whole = matrix.max() * self.n_points**3 < 2.0**63 and np.all(matrix == np.rint(matrix))
            self._whole_distances[metric] = matrix.astype(np.uint64) if whole else None
        return self._whole_distances[metric]

    @cached_property
    def _whole_distances(self) -> dict[int, NDArray[np.uint64] | None]:
        return {}

    def _codes_in(self, metrics: Sequence[int]) -> NDArray[np.uint64]:
        if len(metrics) == 1:
            codes: NDArray[np.uint64] = self.distances[metrics[0]].copy().view(np.uint64)
            return codes
        n = self.n_points
        above = np.triu_indices(n, 1)
        ranks = np.zeros(len(above[0]), dtype=np.uint64)
        for matrix in self.distances[list(metrics)]:
            values, rank = np.unique(matrix[above], return_inverse=True)
            if int(ranks.max(initial=0) + 1) * (len(values) + 1) >= 2**63:
                ranks = np.unique(ranks, return_inverse=True)[1].astype(np.uint64)
            ranks = ranks * np.uint64(len(values)) + rank.astype(np.uint64)
        full = np.zeros((n, n), dtype=np.uint64)
        full[above] = ranks + np.uint64(1)
        return np.ascontiguousarray(full + full.T)

    @cached_property
    def duplicate_of(self) -> IntArray:
        """For every point the lowest index of a duplicate of it, itself if there is none."""
        return read_only(np.argmax(self.distances[0] == 0, axis=1).astype(np.int64))

    @cached_property
    def n_distinct(self) -> int:
        """Number of points without their duplicates."""
        return int(np.count_nonzero(self.duplicate_of == np.arange(self.n_points)))

    @cached_property
    def different(self) -> NDArray[np.bool_]:
        """Which pairs of points are not identical, (n, n)."""
        return np.asarray(self.duplicate_of[:, None] != self.duplicate_of[None, :])

    @cached_property
    def metrics_agree(self) -> bool:
        """Whether all metrics have the same distances, as in one dimension."""
        return all(np.array_equal(self.distances[0], matrix) for matrix in self.distances[1:])

    @cached_property
    def log_ranges(self) -> tuple[tuple[float, float], ...]:
        """Smallest and largest of the `log_distances` of every metric."""
        return tuple((float(matrix.min()), float(matrix.max())) for matrix in self.log_distances)

    @cached_property
    def references(self) -> dict[str, IntArray]:
        """Reference matrices by the name of their objective, as far as they were asked for."""
        return {}

    def _content(self) -> tuple[bytes, Sequence[int], Sequence[IntArray | None]]:
        counts = self.k, int(self.target is not None)
        return b"certune clustering instance 1", counts, (self.target,)

    def __getstate__(self) -> dict[str, Any]:
        # These are made again quickly.
        left_out = (
            "log_distances",
            "pair_codes",
            "_shared_values",
            "_whole_distances",
            "references",
            "different",
        )
        return {key: value for key, value in self.__dict__.items() if key not in left_out}

    def __repr__(self) -> str:
        target = "no target"
        if self.target_names is not None:
            target = counted(len(self.target_names), "target class", "target classes")
        return self._described(f"metrics={self.metric_names}", f"k={self.k}", target)


def _checked_distances(matrices: FloatArray, label_of: Callable[[int], str]) -> FloatArray:
    """Distances with equal rows for duplicates and no other zeros. O(L n^2)."""
    zeros = matrices == 0
    if np.count_nonzero(zeros) == matrices.shape[0] * matrices.shape[1]:
        return matrices
    return _with_equal_duplicates(matrices, zeros, label_of)


def _with_equal_duplicates(
    matrices: FloatArray, zeros: NDArray[np.bool_], label_of: Callable[[int], str]
) -> FloatArray:
    """Give duplicates bitwise equal rows; refuse distance 0 between other points.

    It is enough to compare every point with the lowest one at distance 0: if all those rows agree,
    which includes having zeros in the same places, then distance 0 is transitive and the same in
    all metrics.
    """
    lowest = np.argmax(zeros.any(axis=0), axis=1)
    rows, twins = matrices, matrices[:, lowest]
    differs = np.abs(rows - twins) > ROUNDING * np.maximum(rows, twins)
    if differs.any():
        q = int(np.argmax(differs.any(axis=(0, 2))))
        p = int(lowest[q])
        where_zero = label_of(int(np.argmax(zeros[:, p, q])))
        index, other = np.argwhere(differs[:, q])[0]
        raise InputError(
            f"points {p} and {q} are at distance 0 in {where_zero} but are not duplicates: in "
            f"{label_of(int(index))} their distances to point {other} are {rows[index, p, other]} "
            f"and {rows[index, q, other]}; expected positive distances between different points: "
            "add a small positive constant to that metric, remove the metric, or remove a point"
        )
    return np.ascontiguousarray(matrices[:, lowest[:, None], lowest])


def _coded_target(target: Any, n: int) -> tuple[IntArray | None, tuple[Any, ...] | None]:
    if target is None:
        return None, None
    refuse_mask("target", target)
    try:
        labels = np.asarray(target)
    except ValueError:
        labels = np.empty(0)
    if labels.shape != (n,):
        raise InputError(
            f"target must have one label for each of the {n} points, got shape {labels.shape}: "
            "pass a 1-D array in the order of the points"
        )
    try:
        if labels.dtype.kind in "fcO" and np.any(labels != labels):
            raise TypeError
        names, codes = np.unique(labels, return_inverse=True)
    except TypeError:
        raise InputError(
            "target labels must be comparable and none may be missing, got "
            f"{labels.tolist()[:5]}...: give every point an integer or a string"
        ) from None
    return read_only(codes.astype(np.int64)), tuple(names.tolist())


def _checked_k(k: Any, target_names: tuple[Any, ...] | None, n: int) -> int:
    if k is None:
        if target_names is None:
            raise InputError("the number of clusters is unknown: pass k= or target=")
        return len(target_names)
    try:
        count = operator.index(k)
    except TypeError:
        count = 0
    if isinstance(k, bool) or not 1 <= count <= n:
        raise InputError(f"k must be an integer from 1 to the number of points {n}, got {k!r}")
    return count
