"""Folds of known labels: one data set with few labels as several problems of labelling."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from certune.checks import as_labels
from certune.data.folds import each_fold, features_of, splits
from certune.data.table import has_no_value
from certune.errors import InputError
from certune.families.graph_ssl import LabelingInstance
from certune.families.metrics import Metric


def labeling_folds(
    X: Any,
    y: ArrayLike,
    cv: Any = 5,
    *,
    metrics: Metric | Sequence[Metric] = ("sqeuclidean",),
    groups: ArrayLike | None = None,
    name: str = "",
    random_state: int | None = None,
) -> list[LabelingInstance]:
    """Hide the known labels fold by fold, for :class:`certune.HarmonicLabeling`.

    Every instance has all rows. The labels of one fold are hidden and count for the utility; rows
    whose label nobody knows help to carry labels and count for nothing.

    Parameters
    ----------
    X : array-like, sparse matrix or data frame of shape (m, p)
        Features of all rows. Columns of text in a data frame are one-hot encoded, see
        :func:`certune.from_frame`.
    y : array-like of shape (m,)
        Labels; -1, as in :mod:`sklearn.semi_supervised`, or None where they are not known.
    cv : int, splitter or iterable, default=5
        Number of stratified folds of the known labels, a splitter of scikit-learn, or pairs of
        indices of the rows with a known label.
    metrics : metric or sequence of metrics
        As in :class:`certune.LabelingInstance`.
    groups : array-like of shape (m,), optional
        Groups that a splitter such as ``GroupKFold`` keeps together.
    name : str, optional
        Put before the names of the instances; the name of the only one.
    random_state : int, optional
        Shuffle the rows before an integer number of folds is made.

    Returns
    -------
    list of LabelingInstance
        One for each fold, named "fold 1", "fold 2", ...

    Raises
    ------
    InputError
        For data that cannot be divided so; the message names the fold.

    Examples
    --------
    >>> import certune as ct
    >>> X = [[0.0], [0.2], [0.4], [1.0], [1.2], [1.4], [1.6]]
    >>> ct.labeling_folds(X, [0, -1, 0, 1, -1, 1, -1], cv=2)[0]
    LabelingInstance('fold 1', 7 points, 2 labelled, 2 scored, metrics=('sqeuclidean',), 2 classes)
    """
    features = features_of(X)
    labels, known = _known(y, len(features))
    own_groups = None if groups is None else np.asarray(groups)[known]
    divided = splits(features[known], labels[known], cv, own_groups, random_state)

    def make(shown: NDArray[np.int64], hidden: NDArray[np.int64], label: str) -> LabelingInstance:
        return LabelingInstance(
            points=features,
            metrics=metrics,
            labeled=known[shown],
            truth=labels,
            scored=known[hidden],
            name=label,
        )

    if len(divided) == 1 and name:
        return [make(*divided[0], name)]
    return each_fold(divided, make, name)


def _known(y: ArrayLike, n_rows: int) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Labels with a known one wherever none is, and the rows whose label is known."""
    labels = as_labels("y", y)
    if labels.ndim != 1 or len(labels) != n_rows:
        raise InputError(
            f"y must have one label for each of the {n_rows} rows of X, -1 or None where it is not "
            f"known, got the shape {labels.shape}"
        )
    entries = labels.tolist()
    known = np.array([not _is_unknown(label) for label in entries], dtype=np.bool_)
    if not known.any():
        raise InputError("y has no label, every entry is -1 or None: label some rows of each class")
    filled = np.array([label for label, is_known in zip(entries, known, strict=True) if is_known])
    result = np.full(n_rows, filled[0])
    if result.dtype.kind in "US":
        result = result.astype(object)
    result[known] = filled
    return result, np.flatnonzero(known).astype(np.int64)


def _is_unknown(label: Any) -> bool:
    # NumPy makes the text "-1" of the number where other labels are texts.
    if has_no_value(label) or (isinstance(label, str) and label == "-1"):
        return True
    return not isinstance(label, (str, bool)) and bool(label == -1)
