"""From the rows of a table to instances of a task: clustering, labeling, learning."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from certune.checks import is_one_of
from certune.data.few_labels import labeling_folds
from certune.data.folds import folds
from certune.data.table import Table, as_numbers, first_missing, is_missing
from certune.errors import InputError, ParameterError
from certune.families.linkage import ClusteringInstance
from certune.suggestions import suggested

# Distances of all pairs of points are kept: 20,000 points take 3 GB.
MOST_POINTS = 20_000
UNKNOWN = (-1, "-1")
FEW_CLASSES = 50


@dataclass(frozen=True)
class Sample:
    """Rows of one group: the table that messages speak of, features, labels and names."""

    table: Table
    features: NDArray[np.float64]
    labels: NDArray[Any]
    target: str
    name: str
    columns: tuple[str, ...] = ()

    def known(self) -> NDArray[np.bool_]:
        """Tell which rows have a label; -1 and an empty cell mean that it is unknown."""
        return np.array([label is not None and label not in UNKNOWN for label in self.labels])

    def check_known(self) -> None:
        """Raise if a label is missing."""
        absent = is_missing(self.labels)
        if absent.any():
            raise InputError(
                f"{first_missing(self.table, self.target, absent)}; drop these rows, or fill them"
            )

    def check_classes(self) -> None:
        """Raise if the labels are numbers that hardly ever repeat, which are no classes.

        Whole numbers may be classes of which few are known.
        """
        labels = self.labels[self.known()]
        values, numeric = as_numbers(labels)
        if not numeric.all():
            return
        different, most = len(np.unique(values)), 2 if (values % 1 != 0).any() else FEW_CLASSES
        if different > most and 2 * different > len(labels):
            raise InputError(
                f"{self.table.source}: column {self.target!r} has {different} different numbers in "
                f"{len(labels)} rows, and classes repeat: name another target, or predict the "
                "numbers with task regression (certune tune regression)"
            )

    def numbers(self) -> NDArray[np.float64]:
        """Return the labels as numbers to predict; raise if one is missing or is none."""
        self.check_known()
        values, numeric = as_numbers(self.labels)
        usable = numeric & np.isfinite(values)
        if not usable.all():
            first = int(np.argmin(usable))
            place = self.table.place(first, self.target)
            if numeric[first]:
                raise InputError(f"{place}: {values[first]} is not finite; correct it, or drop it")
            raise InputError(
                f"{place}: {self.labels[first]!r} is not a number; "
                "to predict classes, use task classification (certune tune logistic)"
            )
        return values


def clustering(
    sample: Sample,
    *,
    metrics: Any = ("euclidean",),
    k: int | None = None,
    standardize: bool = False,
) -> list[Any]:
    """Make one clustering instance: points, and their true clusters."""
    sample.check_known()
    sample.check_classes()
    _check_size(sample)
    points = _standardized(sample.features) if standardize else sample.features
    target = sample.labels.tolist()
    # A single file without groups has no name to tell it from others, but it has its own.
    name = sample.name or (Path(sample.table.source).stem if sample.table.is_file else "")
    return [ClusteringInstance(points, metrics=metrics, target=target, k=k, name=name)]


def labeling(
    sample: Sample,
    *,
    cv: int = 5,
    metrics: Any = ("sqeuclidean",),
    standardize: bool = False,
    random_state: int | None = None,
) -> list[Any]:
    """Make a labeling instance for each fold, whose known labels are hidden and then compared."""
    _check_size(sample)
    known = sample.known()
    if np.count_nonzero(known) < 2:
        raise InputError(
            f"{sample.table.source}: column {sample.target!r} has {np.count_nonzero(known)} known "
            "labels, and labeling needs at least 2: -1 and an empty cell mean unknown"
        )
    sample.check_classes()
    points = _standardized(sample.features) if standardize else sample.features
    # In a file of words -1 is a text; labeling_folds takes None for every unknown label.
    labels = sample.labels.copy()
    labels[~known] = None
    return list(
        labeling_folds(
            points, labels, cv, metrics=metrics, name=sample.name, random_state=random_state
        )
    )


def classification(sample: Sample, *, cv: int = 5, random_state: int | None = None) -> list[Any]:
    """Make a classification instance for each fold."""
    sample.check_known()
    sample.check_classes()
    labels = np.array(sample.labels.tolist())
    return list(folds(sample.features, labels, cv, name=sample.name, random_state=random_state))


def regression(sample: Sample, *, cv: int = 5, random_state: int | None = None) -> list[Any]:
    """Make a regression instance for each fold."""
    numbers = sample.numbers()
    return folds(
        sample.features, numbers, cv, name=sample.name, random_state=random_state,
        task="regression",
    )  # fmt: skip


TASKS: Mapping[str, Callable[..., list[Any]]] = {
    "clustering": clustering,
    "labeling": labeling,
    "classification": classification,
    "regression": regression,
}


def task_named(name: object, options: Sequence[str]) -> Callable[..., list[Any]]:
    """Return a task, or raise if it or one of its options is not known."""
    if not is_one_of(name, TASKS):
        raise ParameterError(f"task must be one of {', '.join(TASKS)}, got {name!r}")
    make = TASKS[str(name)]
    known = list(make.__kwdefaults__ or ())
    for option in options:
        if option not in known:
            raise ParameterError(
                f"{option!r} is no option of task {name!r}{suggested(option, known)}"
            )
    return make


def _check_size(sample: Sample) -> None:
    n = sample.table.n_rows
    if n > MOST_POINTS:
        size = 8 * n**2 / 2**30
        raise InputError(
            f"{sample.table.source} has {n:,} rows in one instance, whose distances would take "
            f"{size:,.0f} GiB: divide it into groups with group=, or draw at most {MOST_POINTS:,} "
            "rows"
        )


def _standardized(features: NDArray[np.float64]) -> NDArray[np.float64]:
    """Columns with mean 0 and variance 1; constant ones become 0."""
    spread = features.std(axis=0)
    return np.asarray((features - features.mean(axis=0)) / np.where(spread > 0, spread, 1.0))
