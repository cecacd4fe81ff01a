"""One problem of semi-supervised learning: distances, a few labels, and the truth to compare with.

The graph method sees distances only.  They are taken to be exact numbers from this point on.
"""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from certune.checks import refuse_mask
from certune.errors import InputError
from certune.families.distances import DistanceInstance, IntArray, counted
from certune.families.metrics import Metric, read_only

NO_LABEL = "no point is labelled, and without a label nothing can be predicted"
NO_SCORE = "no point is scored, so that all settings would be equally good"


@dataclass(frozen=True, init=False, repr=False, eq=False)
class LabelingInstance(DistanceInstance):
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
        True label of every point; only those of the scored points count. Without it an instance
        can be labelled but not scored.
    name : str, optional
        Shown in messages and reports.
    scored : array-like, optional
        Indices, or a mask, of the points without a label whose truth is known; by default all of
        them. What ``truth`` says about the others is not looked at, so that any value, such as -1,
        can stand there.

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
        Codes of the true labels, -1 where they do not count.
    scored : int64 array
        Indices of the points that a utility counts, increasing.
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

    default_metrics = ("sqeuclidean",)

    labeled: IntArray
    labels: IntArray
    truth: IntArray | None
    scored: IntArray
    class_names: tuple[Any, ...]

    def __init__(
        self,
        points: ArrayLike | None = None,
        distances: ArrayLike | Sequence[ArrayLike] | None = None,
        metrics: Metric | Sequence[Metric] = ("sqeuclidean",),
        labeled: ArrayLike | None = None,
        labels: ArrayLike | None = None,
        truth: ArrayLike | None = None,
        name: str | None = None,
        scored: ArrayLike | None = None,
    ) -> None:
        super().__init__(points, distances, metrics, name)
        indices = _checked_indices(labeled, self.n_points, "labeled", NO_LABEL)
        self._set_scored(indices, truth, scored)
        self._set_labels(indices, labels, truth)

    def _set_scored(self, labeled: IntArray, truth: Any, scored: Any) -> None:
        values = self.__dict__
        values["labeled"] = read_only(np.sort(labeled))
        if scored is None:
            values["scored"] = read_only(np.setdiff1d(np.arange(self.n_points), labeled))
            return
        if truth is None:
            raise InputError("scored= says whose truth counts, but truth= was not given: pass both")
        chosen = np.sort(_checked_indices(scored, self.n_points, "scored", NO_SCORE))
        both = np.intersect1d(chosen, labeled)
        if both.size:
            raise InputError(
                f"scored must name points without a label, got {both[0]}, which is in labeled=: "
                "leave it out of one of them"
            )
        values["scored"] = read_only(chosen)

    def _set_labels(self, indices: IntArray, labels: Any, truth: Any) -> None:
        values, n = self.__dict__, self.n_points
        true = None if truth is None else _column(truth, n, "truth", "point")
        counts = np.ones(n, dtype=np.bool_)
        if not self._scores_all:
            counts[:] = False
            counts[self.scored] = True
            counts[indices] = labels is None
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
            every = np.concatenate((given, true[counts]))
        names, codes = np.unique(every, return_inverse=True)
        values["labels"] = read_only(codes[: len(given)][order].astype(np.int64))
        values["truth"] = None
        if true is not None:
            truths = np.full(n, -1, dtype=np.int64)
            truths[counts] = codes[len(given) :]
            values["truth"] = read_only(truths)
        values["class_names"] = tuple(names.tolist())

    @property
    def _scores_all(self) -> bool:
        """Does the truth of every point without a label count?"""
        return len(self.scored) + len(self.labeled) == self.n_points

    @cached_property
    def unlabeled(self) -> IntArray:
        """Indices of the points without a label."""
        free = np.ones(self.n_points, dtype=bool)
        free[self.labeled] = False
        return read_only(np.flatnonzero(free).astype(np.int64))

    def _content(self) -> tuple[bytes, Sequence[int], Sequence[IntArray | None]]:
        counts = [len(self.labeled), int(self.truth is not None)]
        columns: list[IntArray | None] = [self.labeled, self.labels, self.truth]
        if not self._scores_all:
            counts.append(len(self.scored))
            columns.append(self.scored)
        return b"certune labeling instance 1", counts, columns

    def __repr__(self) -> str:
        classes = counted(len(self.class_names), "class", "classes")
        scored = [] if self._scores_all else [f"{len(self.scored)} scored"]
        parts = f"{len(self.labeled)} labelled", *scored, f"metrics={self.metric_names}", classes
        return self._described(*parts, *(["no truth"] if self.truth is None else []))


def _checked_indices(chosen: Any, n: int, what: str, none: str) -> IntArray:
    """Indices of points, or raise; ``none`` says what it means if there are none."""
    if chosen is None:
        raise InputError(f"{what} is missing: pass the indices of the points, or a mask")
    refuse_mask(what, chosen)
    try:
        array = np.asarray(chosen)
    except ValueError:
        array = np.array(chosen, dtype=object)
    if array.dtype == bool and array.shape == (n,):
        array = np.flatnonzero(array)
    if array.size == 0:
        raise InputError(f"{none}: pass at least one index in {what}=")
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise InputError(
            f"{what} must be a list of indices or a mask of {n} Booleans, got an array of "
            f"{array.dtype} with shape {array.shape}"
        )
    indices = array.astype(np.int64)
    if indices.min() < 0 or indices.max() >= n:
        bad = indices[(indices < 0) | (indices >= n)][0]
        raise InputError(f"{what} must hold indices from 0 to {n - 1}, got {bad}")
    if len(np.unique(indices)) < len(indices):
        values, counts = np.unique(indices, return_counts=True)
        raise InputError(
            f"{what} must name every point once, got {values[counts > 1][0]} several times"
        )
    return indices


def _column(values: Any, n: int, what: str, of_what: str) -> NDArray[Any]:
    """One label for each, all numbers or all strings, or raise."""
    refuse_mask(what, values)
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
