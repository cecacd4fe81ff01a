"""One problem of semi-supervised learning: distances, a few labels, and the truth to compare with.

The graph method sees distances only.  They are taken to be exact numbers from this point on.
"""

from __future__ import annotations

import hashlib
import numbers
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from certune.errors import InputError
from certune.families.metrics import (
    FloatArray,
    Metric,
    checked_metrics,
    checked_points,
    distance_matrix,
    evened_out,
    metric_name,
    read_only,
    stacked,
)

IntArray: TypeAlias = NDArray[np.int64]
DEFAULT_METRICS = ("sqeuclidean",)


@dataclass(frozen=True, init=False, repr=False, eq=False)
class LabelingInstance:
    """Points of which some are labelled, to predict the labels of the others.

    Give either ``points`` or ``distances``. The value is immutable: arrays are copied and
    read-only. Two instances are equal if their distances, labels and truths are.

    Parameters
    ----------
    points : array-like (n, p), optional
        Finite coordinates.
    distances : array-like, optional
        One symmetric (n, n) matrix, an (L, n, n) array or a sequence of L matrices, one condensed
        vector as made by ``scipy.spatial.distance.pdist``, or a list of 1-D arrays of that kind.
    metrics : metric or sequence of metrics, default ("sqeuclidean",)
        Used with ``points``: names known to SciPy or scikit-learn, or functions of two coordinate
        vectors. The weight of an edge is exp(-distance / sigma^2), so that squared Euclidean
        distances give the Gaussian kernel.
    labeled : array-like
        Indices of the labelled points, at least one, or a mask of n Booleans.
    labels : array-like, optional
        Their labels, in the same order (with a mask, in the order of the points); by default what
        ``truth`` says.
    truth : array-like (n,), optional
        True label of every point; only those of the unlabelled points count. Without it an instance
        can be labelled but not scored.
    name : str, optional
        Shown in messages and reports.

    Attributes
    ----------
    n_points, n_metrics : int
        n and L.
    metric_names : tuple of str
        One name for every metric.
    labeled, unlabeled : int64 arrays
        Indices of the points with and without a label, increasing.
    labels : int64 array
        Codes of the labels of ``labeled``; ``class_names[code]`` is the label.
    truth : int64 array (n,) or None
        Codes of the true labels.
    class_names : tuple
        All labels that occur, sorted.

    Raises
    ------
    InputError
        For input that is not a labelling problem.

    Notes
    -----
    Distance 0 is allowed: such an edge has weight 1 for every sigma. Duplicates with different
    labels are ordinary points, each counts as an edge of its own. If the labels are all of one
    class, every point gets that class.

    Examples
    --------
    >>> LabelingInstance([[0.0], [1.0], [5.0], [7.0]], labeled=[0, 3], truth=list("aabb"))
    LabelingInstance(4 points, 2 labelled, metrics=('sqeuclidean',), 2 classes)
    """

    points: FloatArray | None
    metrics: tuple[Metric, ...]
    metric_names: tuple[str, ...]
    n_points: int
    n_metrics: int
    labeled: IntArray
    labels: IntArray
    truth: IntArray | None
    class_names: tuple[Any, ...]
    name: str | None

    def __init__(
        self,
        points: ArrayLike | None = None,
        distances: ArrayLike | Sequence[ArrayLike] | None = None,
        metrics: Metric | Sequence[Metric] = DEFAULT_METRICS,
        labeled: ArrayLike | None = None,
        labels: ArrayLike | None = None,
        truth: ArrayLike | None = None,
        name: str | None = None,
    ) -> None:
        if (points is None) == (distances is None):
            given = "neither" if points is None else "both"
            raise InputError(
                f"an instance needs either points or distances, got {given}: pass coordinates as "
                "points=, or precomputed distances as distances="
            )
        if name is not None and not isinstance(name, str):
            raise InputError(f"name must be a string, got {name!r}: pass name=str(...)")
        values = self.__dict__
        values["name"] = name
        if points is not None:
            values["points"] = read_only(checked_points(points))
            values["metrics"] = checked_metrics(metrics)
            values["metric_names"] = tuple(metric_name(m) for m in values["metrics"])
            values["n_points"] = len(values["points"])
        else:
            if checked_metrics(metrics) != DEFAULT_METRICS:
                raise InputError(
                    f"metrics={metrics!r} was given with distances=, but metrics apply to points "
                    "only: leave metrics out"
                )
            matrices = stacked(distances)
            values["points"], values["metrics"] = None, ()
            values["metric_names"] = tuple(f"distances[{i}]" for i in range(len(matrices)))
            values["distances"] = read_only(evened_out(matrices, self._label_of_metric))
            values["n_points"] = matrices.shape[1]
        values["n_metrics"] = len(self.metric_names)
        indices = _checked_indices(labeled, self.n_points)
        self._set_labels(indices, labels, truth)

    def _set_labels(self, indices: IntArray, labels: Any, truth: Any) -> None:
        values, n = self.__dict__, self.n_points
        true = None if truth is None else _column(truth, n, "truth", "point")
        if labels is None:
            if true is None:
                raise InputError(
                    "the labels of the labelled points are unknown: pass labels=, or truth= to "
                    "take them from there"
                )
            given = true[indices]
        else:
            given = _column(labels, len(indices), "labels", "labelled point")
        order = np.argsort(indices, kind="stable")
        every = given
        if true is not None:
            _check_same_kind(given, true)
            every = np.concatenate((given, true))
        names, codes = np.unique(every, return_inverse=True)
        values["labeled"] = read_only(indices[order])
        values["labels"] = read_only(codes[: len(given)][order].astype(np.int64))
        values["truth"] = None if true is None else read_only(codes[len(given) :].astype(np.int64))
        values["class_names"] = tuple(names.tolist())

    @cached_property
    def distances(self) -> FloatArray:
        """Float64 array (n_metrics, n, n): symmetric, zero diagonal, read-only. O(L n^2 p)."""
        assert self.points is not None
        matrices = np.stack([distance_matrix(self.points, m) for m in self.metrics])
        return read_only(evened_out(matrices, self._label_of_metric))

    @cached_property
    def unlabeled(self) -> IntArray:
        """Indices of the points without a label."""
        free = np.ones(self.n_points, dtype=bool)
        free[self.labeled] = False
        return read_only(np.flatnonzero(free).astype(np.int64))

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256, in hexadecimal, of distances, labels and truth; the same in every process."""
        digest = hashlib.sha256(b"certune labeling instance 1")
        has_truth = self.truth is not None
        header = [self.n_metrics, self.n_points, len(self.labeled), int(has_truth)]
        digest.update(np.array(header, dtype="<i8").tobytes())
        digest.update(self.distances.astype("<f8", copy=False).tobytes())
        for codes in (self.labeled, self.labels, self.truth):
            if codes is not None:
                digest.update(codes.astype("<i8", copy=False).tobytes())
        return digest.hexdigest()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LabelingInstance):
            return NotImplemented
        return self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __setstate__(self, state: dict[str, Any]) -> None:
        for value in state.values():
            if isinstance(value, np.ndarray):
                read_only(value)
        self.__dict__.update(state)

    def __repr__(self) -> str:
        parts = [] if self.name is None else [repr(self.name)]
        parts += [f"{self.n_points} point{'s' if self.n_points > 1 else ''}"]
        parts += [f"{len(self.labeled)} labelled", f"metrics={self.metric_names}"]
        n_classes = len(self.class_names)
        parts += [f"{n_classes} class{'es' if n_classes > 1 else ''}"]
        if self.truth is None:
            parts += ["no truth"]
        return f"LabelingInstance({', '.join(parts)})"

    def _label_of_metric(self, index: int) -> str:
        """Words for one metric in an error message."""
        label = self.metric_names[index]
        label = f"metric {label!r}" if self.metrics else label
        return label if self.name is None else f"{label} of instance {self.name!r}"


def _checked_indices(labeled: Any, n: int) -> IntArray:
    if labeled is None:
        raise InputError("labeled is missing: pass the indices of the labelled points, or a mask")
    try:
        array = np.asarray(labeled)
    except ValueError:
        array = np.array(labeled, dtype=object)
    if array.dtype == bool and array.shape == (n,):
        array = np.flatnonzero(array)
    if array.size == 0:
        raise InputError(
            "no point is labelled, and without a label nothing can be predicted: pass at least one "
            "index in labeled="
        )
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise InputError(
            f"labeled must be a list of indices or a mask of {n} Booleans, got an array of "
            f"{array.dtype} with shape {array.shape}"
        )
    indices = array.astype(np.int64)
    if indices.min() < 0 or indices.max() >= n:
        bad = indices[(indices < 0) | (indices >= n)][0]
        raise InputError(f"labeled must hold indices from 0 to {n - 1}, got {bad}")
    if len(np.unique(indices)) < len(indices):
        values, counts = np.unique(indices, return_counts=True)
        raise InputError(
            f"labeled must name every point once, got {values[counts > 1][0]} several times"
        )
    return indices


def _column(values: Any, n: int, what: str, of_what: str) -> NDArray[Any]:
    """One label for each, all numbers or all strings, or raise."""
    if not hasattr(values, "__array__") and isinstance(values, Iterable):
        # NumPy would turn a list of numbers and strings into strings.
        values = list(values)
        mixed = len({isinstance(value, str) for value in values}) > 1
        values = np.fromiter(values, dtype=object, count=len(values)) if mixed else values
    try:
        array = np.asarray(values)
    except ValueError:
        array = np.empty(0)
    if array.shape != (n,):
        raise InputError(
            f"{what} must have one label for each of the {n} {of_what}s, got shape {array.shape}"
        )
    for number, value in enumerate(array.tolist() if array.dtype.kind in "fmMO" else ()):
        if value is None or value != value:
            raise InputError(
                f"{what} must not be missing, got {array[number]} for {of_what} {number}: give "
                "every one an integer or a string"
            )
    kinds = {_kind(value) for value in array.tolist()}
    if len(kinds) > 1 or kinds & {""}:
        raise InputError(
            f"{what} must be integers only, or strings only, got {_few(array)}: convert them all "
            "to one type"
        )
    return array


def _kind(label: Any) -> str:
    if isinstance(label, str):
        return "strings"
    return "numbers" if isinstance(label, numbers.Real) else ""


def _check_same_kind(labels: NDArray[Any], truth: NDArray[Any]) -> None:
    if _kind(labels.tolist()[0]) != _kind(truth.tolist()[0]):
        raise InputError(
            f"labels and truth must have the same type, got labels {_few(labels)} and truth "
            f"{_few(truth)}: convert one of them, for example with [str(label) for label in labels]"
        )


def _few(array: NDArray[Any]) -> str:
    entries = ", ".join(repr(value) for value in array.tolist()[:3])
    return f"{entries}, ..." if array.size > 3 else entries
