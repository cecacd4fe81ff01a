"""Instances from files of arrays (``.npz``, without pickled objects), one for each file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from certune.errors import CertuneError, InputError, ParameterError
from certune.files import MOST_ARRAYS, read_arrays

ARRAYS = ".npz"


@dataclass(frozen=True)
class ArrayFile:
    """Which arrays the file of an instance has.

    Attributes
    ----------
    make : callable
        Makes an instance from arrays by name.
    arrays, required : tuple of str
        Arrays that a file can have, and those it must have.
    options : tuple of str
        Those of the others that can be said once for all files.
    """

    make: Callable[..., Any]
    arrays: tuple[str, ...]
    required: tuple[str, ...]
    options: tuple[str, ...] = ()


def _clustering(**arrays: Any) -> Any:
    from certune.families.linkage import ClusteringInstance

    return ClusteringInstance(**arrays)


def _labeling(**arrays: Any) -> Any:
    from certune.families.graph_ssl import LabelingInstance

    return LabelingInstance(**arrays)


def _classification(**arrays: Any) -> Any:
    from certune.families.logistic import ClassificationInstance

    return ClassificationInstance(**arrays)


def _regression(**arrays: Any) -> Any:
    from certune.families.regression import RegressionInstance

    return RegressionInstance(**arrays)


ARRAY_FILES: Mapping[str, ArrayFile] = {
    "clustering": ArrayFile(
        _clustering,
        ("points", "distances", "metrics", "target", "k"),
        ("target",),
        ("metrics", "k"),
    ),
    "labeling": ArrayFile(
        _labeling,
        ("points", "distances", "metrics", "labeled", "labels", "truth"),
        ("labeled", "truth"),
        ("metrics",),
    ),
    "classification": ArrayFile(
        _classification, ("X", "y", "X_val", "y_val"), ("X", "y", "X_val", "y_val")
    ),
    "regression": ArrayFile(_regression, ("X", "y", "X_val", "y_val"), ("X", "y")),
}


def check_array_options(task: str, options: Mapping[str, Any]) -> None:
    """Raise `ParameterError` for options of a task that are for tables, not for arrays."""
    known = ARRAY_FILES[task].options
    for name in options:
        if name not in known:
            raise ParameterError(
                f"{name} is for tables; {ARRAYS} files of the task {task!r} can have the options "
                f"{', '.join(known) or '(none)'}, and hold everything else themselves"
            )


def read_instance(
    path: Path,
    task: str,
    options: Mapping[str, Any] | None = None,
    most_bytes: int = MOST_ARRAYS,
) -> Any:
    """Return the instance of a file of arrays.

    Parameters
    ----------
    path : Path
        The file; the instance has its name.
    task : {"clustering", "labeling", "classification", "regression"}
        What the instance is for.
    options : mapping, optional
        What counts where the file says nothing: ``metrics``, ``k``.
    most_bytes : int, optional
        Files that hold more are refused before they are read.

    Raises
    ------
    InputError
        If the file cannot be read, or is no such instance; the message names it.
    """
    kind = ARRAY_FILES[task]
    read: dict[str, Any] = dict(read_arrays(path, kind.arrays, kind.required, most_bytes))
    given = options or {}
    if "distances" in read:
        given = {name: value for name, value in given.items() if name != "metrics"}
    arrays = {**given, **read}
    if "k" in read:
        if read["k"].size != 1:
            raise InputError(f"{path}: k must be one number, got {read['k'].size} of them")
        arrays["k"] = read["k"].item()
    if "metrics" in read:
        arrays["metrics"] = np.atleast_1d(read["metrics"]).tolist()
    try:
        return kind.make(**arrays, name=path.stem)
    except CertuneError as error:
        raise InputError(f"{path}: {error}") from None
