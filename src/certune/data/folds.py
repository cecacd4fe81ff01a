"""Folds: one data set as several problems of learning, each judged on rows it did not see."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from certune.checks import as_array, as_labels, is_whole
from certune.data.columns import encode
from certune.data.frame import as_table, is_frame
from certune.data.table import has_no_value
from certune.errors import InputError, ParameterError
from certune.families.logistic import ClassificationInstance
from certune.families.regression import RegressionInstance

Split = tuple[NDArray[np.int64], NDArray[np.int64]]
Made = TypeVar("Made")
KINDS: dict[str, Any] = {
    "classification": ClassificationInstance,
    "regression": RegressionInstance,
}


def folds(
    X: Any,
    y: ArrayLike,
    cv: Any = 5,
    *,
    groups: ArrayLike | None = None,
    name: str = "",
    random_state: int | None = None,
    task: str = "classification",
) -> list[Any]:
    """Make an instance of every fold of a data set.

    They are for :class:`certune.RegularizedLogistic`, or for
    :class:`certune.RegularizedRegression`.

    Parameters
    ----------
    X : array-like, sparse matrix or data frame of shape (m, p)
        Features. Columns of text in a data frame are one-hot encoded, see
        :func:`certune.from_frame`.
    y : array-like of shape (m,)
        Labels of classes, or numbers to predict.
    cv : int, splitter or iterable, default=5
        Number of folds, stratified by the classes if there are any; a splitter of scikit-learn, or
        pairs of training and validation indices.
    groups : array-like of shape (m,), optional
        Groups that a splitter such as ``GroupKFold`` keeps together.
    name : str, optional
        Put before the names of the instances.
    random_state : int, optional
        Shuffle the rows before an integer number of folds is made.
    task : {"classification", "regression"}
        What is learned.

    Returns
    -------
    list of ClassificationInstance or RegressionInstance
        One for each fold, named "fold 1", "fold 2", ...

    Raises
    ------
    InputError
        For data that cannot be divided so; the message names the fold.

    Examples
    --------
    >>> import certune as ct
    >>> X = [[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]]
    >>> ct.folds(X, [0, 1, 0, 1, 0, 1], cv=3)[0]
    ClassificationInstance('fold 1', 4 + 2 points, 1 feature, classes (0, 1))
    """
    if task not in KINDS:
        raise ParameterError(f"task must be one of {', '.join(KINDS)}, got {task!r}")
    features, labels = features_of(X), as_labels("y", y)
    if labels.ndim != 1 or len(labels) != len(features):
        raise InputError(
            f"y must have one label for each of the {len(features)} rows of X, got the shape "
            f"{labels.shape}"
        )
    _check_rows(features, labels)
    if task == "classification":
        _check_classes(labels)
    divided = splits(
        features, labels, cv, groups, random_state, stratified=task == "classification"
    )

    def make(train: NDArray[np.int64], test: NDArray[np.int64], label: str) -> Any:
        return KINDS[task](features[train], labels[train], features[test], labels[test], name=label)

    return each_fold(divided, make, name)


def _check_rows(features: NDArray[np.float64], labels: NDArray[Any]) -> None:
    """Refuse what is missing by the row that a user knows, not by that of a fold."""
    wrong = np.argwhere(~np.isfinite(features))
    if wrong.size:
        row, column = wrong[0].tolist()
        raise InputError(
            f"X has the value {features[row, column]} in row {row}, column {column} (counted from "
            "0); impute or drop what is missing"
        )
    for row, label in enumerate(labels.tolist()):
        if has_no_value(label):
            raise InputError(
                f"y has the value {label} in row {row} (counted from 0); drop rows without a label"
            )
        if isinstance(label, float) and math.isinf(label):
            raise InputError(
                f"y has the value {label} in row {row} (counted from 0); correct it, or drop the "
                "row"
            )


def _check_classes(labels: NDArray[Any]) -> None:
    if labels.dtype.kind != "f":
        return
    fractions = labels[labels != np.rint(labels)]
    if fractions.size and len(np.unique(labels)) > 2:
        raise InputError(
            f"y must be classes, got numbers with fractions such as {fractions[0]:g}: for a target "
            "that is a number pass task='regression'"
        )


def each_fold(
    divided: Iterable[Split],
    make: Callable[[NDArray[np.int64], NDArray[np.int64], str], Made],
    name: str = "",
    remedy: str = "",
) -> list[Made]:
    """Make something of every fold; what is wrong with one is told with its name.

    Parameters
    ----------
    divided : iterable of pairs of indices
        Training and validation rows.
    make : callable
        Gets both and the name of the fold.
    name : str
        Put before the names.
    remedy : str
        Put behind messages.
    """
    found = []
    for number, (train, test) in enumerate(divided, 1):
        label = f"{name}, fold {number}" if name else f"fold {number}"
        try:
            found.append(make(train, test, label))
        except InputError as error:
            raise InputError(f"{label}: {error}{remedy}") from error
    return found


def splits(
    X: NDArray[Any],
    y: NDArray[Any],
    cv: Any,
    groups: ArrayLike | None,
    random_state: int | None,
    *,
    stratified: bool = True,
) -> list[Split]:
    """Return the pairs of training and validation indices that scikit-learn makes of `cv`."""
    from sklearn.model_selection import KFold, StratifiedKFold, check_cv

    splitter = cv
    if is_whole(cv):
        _check_number_of_folds(int(cv), y, stratified)
        if random_state is not None:
            kind = StratifiedKFold if stratified else KFold
            splitter = kind(int(cv), shuffle=True, random_state=random_state)
    elif not hasattr(cv, "split") and not isinstance(cv, Iterable):
        raise ParameterError(
            f"cv must be a number of folds, a splitter of scikit-learn or pairs of indices, got "
            f"{cv!r}"
        )
    try:
        checked = check_cv(splitter, y, classifier=stratified)
        found = [(_rows(a, len(y)), _rows(b, len(y))) for a, b in checked.split(X, y, groups)]
    except (TypeError, ValueError) as error:
        raise InputError(f"the rows cannot be divided into folds: {error}") from error
    if not found:
        raise InputError(
            f"cv has no folds, got {cv!r}: pass a number of folds, or at least one pair of indices"
        )
    return found


def _rows(part: Any, count: int) -> NDArray[np.int64]:
    """Return the numbers of the rows in a part, which may be given as a mask."""
    found = np.asarray(part)
    if found.dtype == bool and found.shape == (count,):
        return np.flatnonzero(found)
    if found.ndim == 1 and found.dtype.kind in "iu" and np.all((found >= -count) & (found < count)):
        return found.astype(np.int64)
    raise InputError(
        "cv must have pairs of training and validation rows, each a list of whole numbers below "
        f"{count} or a mask of {count} rows, got {part!r}"
    )


def _check_number_of_folds(cv: int, y: NDArray[Any], stratified: bool) -> None:
    if cv < 2:
        raise ParameterError(f"cv must be at least 2 folds, got {cv}")
    if not stratified:
        if len(y) < cv:
            raise InputError(f"{len(y)} rows are too few for {cv} folds: pass cv={len(y)} or less")
        return
    labels, counts = np.unique([str(label) for label in y], return_counts=True)
    rarest = int(np.argmin(counts))
    if counts[rarest] < cv:
        count, name = int(counts[rarest]), str(labels[rarest])
        if count < 2:
            remedy = (
                f"the target has {len(labels)} different numbers: to predict a number, use task "
                "regression (certune tune regression)"
                if _are_measurements(labels)
                else "label more rows, merge the class with another, or leave the row out"
            )
            raise InputError(f"class {name!r} has 1 row, and folds need 2: {remedy}")
        raise InputError(
            f"class {name!r} has {count} rows, too few for {cv} folds: pass cv={count} or less, or "
            "merge it with another class"
        )


def _are_measurements(labels: NDArray[Any]) -> bool:
    """Tell whether labels are numbers, and some of them fractions."""
    try:
        numbers = labels.astype(np.float64)
    except ValueError:
        return False
    return bool(np.isfinite(numbers).all() and (numbers != np.round(numbers)).any())


def features_of(X: Any) -> NDArray[np.float64]:
    """Return the numbers of a table, columns of text one-hot encoded."""
    if is_frame(X):
        table = as_table(X)
        return encode([table], None, ()).features(table)
    if hasattr(X, "toarray"):
        X = X.toarray()
    try:
        features = as_array("X", X)
    except InputError as error:
        raise InputError(f"{error} Pass a data frame to have columns of text encoded.") from error
    if features.ndim != 2 or not features.size:
        raise InputError(f"X must be a table of rows and columns, got the shape {features.shape}")
    return features
