"""Points, metrics and distance matrices, as every family of problems reads them.

Distances are taken to be exact numbers once they have passed here: what could make two runs
disagree (asymmetry, rounding on the diagonal) is settled before any algorithm starts.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from certune.checks import as_array, refuse_mask
from certune.deadline import check_time
from certune.errors import InputError, ParameterError

FloatArray: TypeAlias = NDArray[np.float64]
ArrayType = TypeVar("ArrayType", bound=NDArray[Any])
Metric: TypeAlias = str | Callable[[FloatArray, FloatArray], float]

ROUNDING = 1e-12
# scikit-learn's Euclidean distances come from scalar products, so a zero may appear as sqrt(eps).
_DIAGONAL_ROUNDING = 1e-6

_BOOLEAN_METRICS = ("dice", "jaccard", "rogerstanimoto", "russellrao", "sokalsneath", "yule")
_SCIPY_METRICS = _BOOLEAN_METRICS + (
    "braycurtis", "canberra", "chebyshev", "cityblock", "correlation", "cosine", "euclidean",
    "hamming", "jensenshannon", "mahalanobis", "minkowski", "seuclidean", "sqeuclidean",
)  # fmt: skip
_SCIPY_NAME_OF = {"l1": "cityblock", "l2": "euclidean", "manhattan": "cityblock"}
_SKLEARN_METRICS = ("haversine",)
METRIC_NAMES = tuple(sorted((*_SCIPY_METRICS, *_SCIPY_NAME_OF, *_SKLEARN_METRICS)))
# Below these, the squares that a distance is made of have lost digits, or are 0.
_SHORTEST = {"euclidean": 2.0**-510, "minkowski": 2.0**-510, "sqeuclidean": 2.0**-1020}


def read_only(array: ArrayType) -> ArrayType:
    """The same array, no longer writable."""
    array.setflags(write=False)
    return array


def numeric(values: Any, what: str) -> FloatArray:
    """Copy to a float64 array, or raise."""
    refuse_mask(what, values)
    try:
        array = np.asarray(values)
        if array.dtype.kind not in "biufO":
            raise TypeError
        return np.array(array, dtype=np.float64, order="C") + 0.0  # turns -0.0 into 0.0
    except (TypeError, ValueError, OverflowError):
        raise InputError(
            f"{what} must be a dense array of real numbers, got {_why_not_numeric(values)}"
        ) from None


def _why_not_numeric(values: Any) -> str:
    """Return what keeps values from being an array of numbers, and what to do about it."""
    if hasattr(values, "toarray"):
        return f"the sparse {type(values).__name__}: pass its .toarray()"
    if not isinstance(values, (list, tuple, np.ndarray)):
        return f"{type(values).__name__}: pass a list of rows, or an array of numpy"
    if isinstance(values, np.ndarray) and not values.ndim:
        return f"a single object of type {type(values.item()).__name__}: pass an array of rows"
    lengths = [len(row) if isinstance(row, (list, tuple)) else None for row in values]
    for number, length in enumerate(lengths):
        if length != lengths[0]:
            return (
                f"rows of different lengths: row 0 has {_entries(lengths[0])} and row {number} has "
                f"{_entries(length)}; give every row the same number of entries"
            )
    for number, row in enumerate(values):
        for place, entry in enumerate(row if isinstance(row, (list, tuple, np.ndarray)) else [row]):
            if not _is_real(entry):
                return (
                    f"{entry!r} in row {number}, column {place}: encode text as numbers first, or "
                    "read the table with certune.from_frame, which does"
                )
    return f"{type(values).__name__} of something else: pass rows of numbers"


def _entries(length: int | None) -> str:
    return "a single value" if length is None else f"{length} entries"


def _is_real(entry: Any) -> bool:
    if isinstance(entry, (str, bytes)):
        return False
    try:
        float(entry)
    except (TypeError, ValueError, OverflowError):
        return False
    return True


def checked_points(points: Any) -> FloatArray:
    """Copy to a finite float64 array (n, p), or raise."""
    array = numeric(points, "points")
    if array.ndim != 2:
        raise InputError(
            f"points must be a 2-D array (n_points, n_features), got shape {array.shape}: "
            "for points on a line pass points.reshape(-1, 1)"
        )
    if array.size == 0:
        raise InputError(
            f"points are empty, got shape {array.shape}: at least one point with one feature "
            "is needed"
        )
    bad = np.argwhere(~np.isfinite(array))
    if len(bad):
        row, column = bad[0]
        raise InputError(
            f"points must be finite, got {array[row, column]} at point {row}, feature {column}: "
            "fill in or remove such points"
        )
    return array


def checked_metrics(metrics: Any) -> tuple[Metric, ...]:
    """Tuple of metrics, all known, or raise."""
    given = metrics
    if isinstance(metrics, str) or callable(metrics):
        metrics = (metrics,)
    if not isinstance(metrics, Iterable) or (isinstance(metrics, np.ndarray) and not metrics.ndim):
        metrics = ()
    entries = tuple(metrics)
    if not entries:
        raise InputError(
            f"metrics must be one or several metrics, got {given!r}: "
            "pass for example metrics='euclidean'"
        )
    for metric in entries:
        if callable(metric) or metric in METRIC_NAMES:
            continue
        close = difflib.get_close_matches(str(metric), METRIC_NAMES)
        hint = f"did you mean {' or '.join(map(repr, close))}?" if close else "use one of them"
        raise InputError(
            f"unknown metric {metric!r}, expected a function or one of "
            f"{', '.join(METRIC_NAMES)}: {hint}"
        )
    return entries


def metric_name(metric: Metric) -> str:
    """Name of a metric in messages and reports."""
    if isinstance(metric, str):
        return metric
    return str(getattr(metric, "__name__", type(metric).__name__))


def distance_matrix(points: FloatArray, metric: Metric) -> FloatArray:
    """Square matrix of the distances between points."""
    from scipy.spatial.distance import pdist, squareform

    n = len(points)
    if n == 1:
        return np.zeros((1, 1))
    check_time()
    if callable(metric):
        condensed: list[float] = []
        for i in range(n):
            check_time()
            condensed += (_distance(metric, points[i], points[j]) for j in range(i + 1, n))
        return _square(np.array(condensed))
    try:
        if metric in _SKLEARN_METRICS:
            from sklearn.metrics import pairwise_distances

            return np.asarray(pairwise_distances(points, metric=metric), dtype=np.float64)
        coordinates = points != 0 if metric in _BOOLEAN_METRICS else points
        name = _SCIPY_NAME_OF.get(metric, metric)
        matrix = squareform(pdist(coordinates, name))
    except (ValueError, np.linalg.LinAlgError) as error:
        raise InputError(
            f"metric {metric!r} cannot be computed for points of shape {points.shape} "
            f"({error}): use another metric or pass distances="
        ) from error
    if name in _SHORTEST:
        _refuse_underflow(points, matrix < _SHORTEST[name], metric_name(metric))
    return np.asarray(matrix, dtype=np.float64)


def _refuse_underflow(points: FloatArray, short: NDArray[np.bool_], metric: str) -> None:
    """Raise if two of the points with a short distance are not the same point."""
    if np.count_nonzero(short) == len(points):
        return  # the diagonal
    rows, columns = np.nonzero(np.triu(short, 1))
    apart = np.abs(points[rows] - points[columns]).max(axis=1)
    if (different := np.flatnonzero(apart)).size:
        i = different[0]
        raise InputError(
            f"points {rows[i]} and {columns[i]} differ by {apart[i]:.3g} only, whose square double "
            f"precision cannot hold: for metric {metric!r} multiply all points by a large number"
        )


def _distance(metric: Metric, point: FloatArray, other: FloatArray) -> float:
    """Distance by a user's function of two points."""
    assert callable(metric)
    value = metric(point, other)
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(
            f"the metric {metric_name(metric)!r} must return a number, got {value!r}"
        ) from error


def distances_between(points: FloatArray, others: FloatArray, metric: Metric) -> FloatArray:
    """Matrix of the distances from points to others; scales of a metric come from the others."""
    from scipy.spatial.distance import cdist

    if callable(metric):
        rows = [[_distance(metric, point, other) for other in others] for point in points]
        return np.array(rows)
    if metric in _SKLEARN_METRICS:
        from sklearn.metrics import pairwise_distances

        return np.asarray(pairwise_distances(points, others, metric=metric), dtype=np.float64)
    scales: dict[str, Any] = {}
    if metric == "seuclidean":
        scales["V"] = np.var(others, axis=0, ddof=1)
    elif metric == "mahalanobis":
        scales["VI"] = np.linalg.inv(np.atleast_2d(np.cov(others.T))).T
    if metric in _BOOLEAN_METRICS:
        points, others = points != 0, others != 0
    matrix = cdist(points, others, _SCIPY_NAME_OF.get(metric, metric), **scales)
    return np.asarray(matrix, dtype=np.float64)


def stacked(distances: Any) -> FloatArray:
    """Array (L, n, n) of what the user gave as distances; values are not checked here."""
    if isinstance(distances, list | tuple) and distances:
        parts = [np.asarray(d) if hasattr(d, "__array__") else None for d in distances]
        if all(part is not None and part.ndim == 1 for part in parts):
            distances = [_square(numeric(part, "distances")) for part in parts]
        shapes = [np.shape(d) for d in distances if hasattr(d, "__array__")]
        if len(set(shapes)) > 1:
            raise InputError(
                f"distances must all be between the same points, got shapes {shapes}: "
                "leave out points that some matrix does not have"
            )
    array = numeric(distances, "distances")
    if array.size == 0:
        raise InputError(
            f"distances are empty, got shape {array.shape}: for a single point pass "
            "distances=[[0.0]]"
        )
    if array.ndim == 1:
        array = _square(array)
    if array.ndim == 2:
        array = array[None]
    if array.ndim != 3 or array.shape[1] != array.shape[2]:
        raise InputError(
            f"distances must have shape (n, n), (L, n, n) or (n(n-1)/2,), got "
            f"{np.shape(distances)}: pass several condensed vectors as a list of 1-D arrays"
        )
    return array


def _square(condensed: FloatArray) -> FloatArray:
    """Square matrix of a condensed vector."""
    n = int(round((1 + np.sqrt(1 + 8 * len(condensed))) / 2))
    if len(condensed) == 0 or n * (n - 1) // 2 != len(condensed):
        raise InputError(
            f"a condensed distance vector must have length n(n-1)/2 for some n >= 2, got length "
            f"{len(condensed)}: make it with scipy.spatial.distance.pdist or pass an (n, n) matrix"
        )
    matrix = np.zeros((n, n))
    matrix[np.triu_indices(n, 1)] = condensed
    return matrix + matrix.T


def _refuse(bad: NDArray[Any], matrix: FloatArray, label: str, wanted: str, remedy: str) -> None:
    if bad.any():
        i, j = np.argwhere(bad)[0]
        raise InputError(
            f"{label} must be {wanted}, got {matrix[i, j]} between points {i} and {j}: {remedy}"
        )


def evened_out(matrices: FloatArray, label_of: Callable[[int], str]) -> FloatArray:
    """Refuse what are no distances, even out rounding in place. O(L n^2)."""
    for index, matrix in enumerate(matrices):
        # Nothing to even out, as for all distances that are computed here; NaN fails the first.
        if 0 <= matrix.min() <= matrix.max() < np.inf and not np.diagonal(matrix).any():
            if (matrix == matrix.T).all():
                continue
        label = label_of(index)
        _refuse(~np.isfinite(matrix), matrix, label, "finite", "remove such points or fill in")
        _refuse(matrix < 0, matrix, label, "non-negative", "pass distances, not similarities")
        largest = matrix.max()
        off = np.zeros(matrix.shape, dtype=bool)
        np.fill_diagonal(off, np.diagonal(matrix) > _DIAGONAL_ROUNDING * largest)
        remedy = "pass distances, not similarities, or use numpy.fill_diagonal(distances, 0)"
        _refuse(off, matrix, label, "zero on the diagonal", remedy)
        gap = np.abs(matrix - matrix.T)
        if gap.max() > ROUNDING * largest:
            i, j = np.unravel_index(np.argmax(gap), gap.shape)
            raise InputError(
                f"{label} must be symmetric, got {matrix[i, j]} from point {i} to {j} and "
                f"{matrix[j, i]} back: average the two directions, (d + d.T) / 2, if that is meant"
            )
        if gap.max() > 0:
            matrix[:] = matrix / 2 + matrix.T / 2
        np.fill_diagonal(matrix, 0.0)
    return matrices


def checked_weights(weights: Any, n_metrics: int | None = None) -> tuple[float, ...]:
    """Weights of metrics as a tuple of floats, or raise."""
    try:
        array = np.atleast_1d(as_array("weights", weights))
    except InputError as error:
        raise ParameterError(str(error)) from None
    if array.ndim != 1 or n_metrics not in (None, len(array)):
        raise ParameterError(f"weights must have {n_metrics} entries, got {weights!r}")
    if not np.isfinite(array).all() or (array < 0).any() or not array.max(initial=0.0) > 0:
        raise ParameterError(
            f"weights must be finite, non-negative and one of them positive, got {weights!r}"
        )
    if not 1e-100 <= array.max() <= 1e100:
        raise ParameterError(f"weights must be of ordinary size, got {weights!r}; divide them")
    return tuple(float(w) for w in array)


def tunes_weights(weights: Any, n_metrics: int | None) -> bool:
    """Tell whether weights are to be tuned, which needs the number of metrics; raise if wrong."""
    if not isinstance(weights, str):
        return False
    if weights != "tune":
        raise ParameterError(f"weights must be None, numbers or 'tune', got {weights!r}")
    if n_metrics is None or n_metrics < 2:
        raise ParameterError(
            "weights='tune' needs n_metrics, the number of metrics of the instances "
            f"(at least 2); got {n_metrics}"
        )
    return True
