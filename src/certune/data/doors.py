"""The doors: data frames and CSV files in, instances of a task out."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from certune.checks import as_list
from certune.data.columns import encode
from certune.data.csv_file import read_csv
from certune.data.frame import as_table
from certune.data.table import Table, first_missing, is_missing, labels_of
from certune.data.tasks import Sample, task_named
from certune.errors import CertuneError, InputError, ParameterError
from certune.stages import stage

SUFFIXES = (".csv", ".tsv", ".txt")


@dataclass(frozen=True)
class Purposes:
    """What the columns of a table are for."""

    target: str
    group: str | None
    features: Sequence[str] | None
    categorical: Sequence[str]

    def __post_init__(self) -> None:
        if self.group is not None and self.group == self.target:
            raise ParameterError(
                f"target= and group= are both {self.target!r}: all rows of a group would have the "
                "same label, and nothing be left to find; name another column of groups, or none"
            )


@stage("reading a frame")
def from_frame(
    frame: Any,
    *,
    target: str,
    group: str | None = None,
    features: Sequence[str] | None = None,
    categorical: Sequence[str] = (),
    task: str = "clustering",
    **options: Any,
) -> list[Any]:
    """Make instances of a data frame.

    Parameters
    ----------
    frame : data frame or mapping
        A data frame of pandas or polars, a table of pyarrow, or columns by name.
    target : str
        Column with the label of every row: its true cluster or class.
    group : str, optional
        Column that divides the rows: one instance, or one set of folds, for each of its values. By
        default all rows belong together.
    features : sequence of str, optional
        Columns to use; by default all others.
    categorical : sequence of str
        Columns whose numbers are codes of categories.
    task : {"clustering", "labeling", "classification", "regression"}
        What the instances are for: `certune.Linkage`, `certune.HarmonicLabeling`,
        `certune.RegularizedLogistic` or `certune.RegularizedRegression`.
    **options
        For clustering ``metrics``, ``k`` and ``standardize``; for labeling ``cv``, ``metrics``,
        ``standardize`` and ``random_state``; for classification and regression ``cv`` and
        ``random_state``.

    Returns
    -------
    list
        Instances, named by their group and fold.

    Raises
    ------
    InputError
        For a column that is not there and for cells that cannot be used; the message names row and
        column.

    Notes
    -----
    Columns of numbers are features as they are. Any other column becomes one feature of 0 and 1 for
    each of its values, sorted; none is left out, and all instances have the same ones. Missing
    values are refused, never filled in. ``standardize`` gives the features of each instance mean 0
    and variance 1.

    Examples
    --------
    >>> import certune as ct
    >>> columns = {"x": [0, 1, 9, 0, 8, 9], "site": list("aaabbb"), "kind": list("uuvuvv")}
    >>> ct.from_frame(columns, target="kind", group="site")[0]
    ClusteringInstance('a', 3 points, metrics=('euclidean',), k=2, 2 target classes)
    """
    task_named(task, list(options))
    purposes = Purposes(target, group, features, categorical)
    return instances_of(samples_of([as_table(frame)], [""], purposes), task, options)


@stage("reading files")
def from_csv(
    pattern: str | PathLike[str] | Iterable[str | PathLike[str]],
    *,
    target: str,
    group: str | None = None,
    features: Sequence[str] | None = None,
    categorical: Sequence[str] = (),
    task: str = "clustering",
    encoding: str | None = None,
    delimiter: str | None = None,
    **options: Any,
) -> list[Any]:
    """Make instances of CSV files: one for each file, group or fold.

    Parameters
    ----------
    pattern : path, pattern or list of them
        A file, a folder (its CSV files, in the order of their names), or a pattern such as
        ``"data/*.csv"``.
    target, group, features, categorical, task, **options
        As in :func:`from_frame`. Without a group, every file is an instance of its own. A first
        column without a name, as pandas writes an index, is no feature unless ``features`` has
        "index".
    encoding : str, optional
        By default UTF-8, or UTF-16 where a file says so.
    delimiter : str, optional
        By default the comma, semicolon, tab or bar that the first lines agree on. With
        semicolons and tabs, numbers may have decimal commas.

    Returns
    -------
    list
        Instances, named by their file, group and fold.

    Raises
    ------
    InputError
        For files that are not there or cannot be used; the message names file, line and column.
    """
    task_named(task, list(options))
    purposes = Purposes(target, group, features, categorical)
    samples = samples_from_files(files_of(pattern), purposes, encoding, delimiter)
    return instances_of(samples, task, options)


def files_of(pattern: Any) -> list[Path]:
    """Return the files that a path, a folder, a pattern or a list of these mean.

    Raises
    ------
    InputError
        If there are none, with what is there instead.
    """
    if isinstance(pattern, (str, PathLike)):
        return _files(fspath(pattern))
    parts = as_list("files", pattern, "expected a file, a folder, a pattern or a list of these")
    for part in parts:
        if not isinstance(part, (str, PathLike)):
            raise InputError(f"expected files, folders or patterns, got {part!r} among them")
    found = [path for part in parts for path in _files(fspath(part))]
    if not found:
        raise InputError("no files are named: pass a file, a folder or a pattern as 'data/*.csv'")
    return list(dict.fromkeys(found))


def _files(text: str) -> list[Path]:
    try:
        return _files_named(text)
    except OSError as error:
        raise InputError(f"cannot look for {text[:200]!r}: {error.strerror or error}") from error


def _files_named(text: str) -> list[Path]:
    path = Path(text)
    if path.is_dir():
        return _files_in(path)
    if path.exists():
        return [path]
    if path.is_symlink():
        raise InputError(
            f"{text} is a link to {os.readlink(path)}, which does not exist: mend the link, or "
            "leave it out"
        )
    if not glob.has_magic(text):
        raise InputError(f"there is no file {text}{_neighbours(path.parent)}")
    found = sorted(Path(match) for match in glob.glob(text, recursive=True))
    found = [match for match in found if match.is_file()]
    if not found:
        raise InputError(f"no file matches {text!r}{_neighbours(path.parent)}")
    return found


def files_with(suffixes: Sequence[str], folder: Path) -> list[Path]:
    """Return the files of a folder with such endings, in the order of their names.

    Hidden ones are none of the user's: macOS puts ``._a.csv`` beside ``a.csv`` on other disks.
    """
    found = (path for path in folder.iterdir() if path.suffix.lower() in suffixes)
    return sorted(path for path in found if not path.name.startswith(".") and not path.is_dir())


def _files_in(folder: Path) -> list[Path]:
    found = files_with(SUFFIXES, folder)
    if not found and not any(folder.iterdir()):
        raise InputError(
            f"the folder {folder} is empty; name the folder of the tables, which are CSV files "
            f"({', '.join(SUFFIXES)})"
        )
    if not found:
        raise InputError(
            f"the folder {folder} has no CSV file ({', '.join(SUFFIXES)}){_neighbours(folder)}; "
            "name the folder of the tables, and export spreadsheets as CSV"
        )
    return found


def _neighbours(folder: Path) -> str:
    """Return what a folder has instead of what was looked for."""
    if not folder.is_dir():
        return "" if glob.has_magic(str(folder)) else f": there is no folder {folder} either"
    names = sorted(path.name for path in folder.iterdir())
    if not names:
        return f": the folder {folder} is empty"
    shown = ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
    return f": the folder {folder} has {shown}"


def samples_of(tables: list[Table], names: Sequence[str], purposes: Purposes) -> list[Sample]:
    """Return the rows of every group of every table, with features that all of them share."""
    target, group = purposes.target, purposes.group
    labels = labels_of(tables, target)
    for table in tables if group is not None else ():
        table.column(str(group))
    excluded = [target, *([group] if group else [])]
    encoding = encode(tables, purposes.features, excluded, purposes.categorical)
    samples = []
    for table, name, column in zip(tables, names, labels, strict=True):
        for label, chosen in _groups(table, group):
            part = table.take(chosen)
            named = ", ".join(filter(None, (name, label)))
            samples.append(
                Sample(
                    part,
                    encoding.features(part),
                    column[chosen],
                    target,
                    named,
                    encoding.feature_names,
                )
            )
    return samples


def samples_from_files(
    paths: Sequence[Path], purposes: Purposes, encoding: str | None, delimiter: str | None
) -> list[Sample]:
    """Read CSV files and return the rows of every file, or of every group of every file."""
    tables = [read_csv(path, encoding, delimiter) for path in paths]
    names = [path.stem if len(paths) > 1 else "" for path in paths]
    return samples_of(tables, names, purposes)


def instances_of(samples: Sequence[Sample], task: str, options: dict[str, Any]) -> list[Any]:
    """Return the instances of a task; messages name the source and the group."""
    make = task_named(task, list(options))
    instances: list[Any] = []
    for sample in samples:
        try:
            instances += make(sample, **options)
        except CertuneError as error:
            raise type(error)(_located(str(error), sample.table.source, sample.name)) from error
    return instances


def _located(text: str, source: str, group: str) -> str:
    """Return a message that names the source and the group."""
    told = text if text.startswith(source) else f"{source}: {text}"
    named = re.search(rf"(?:^|: ){re.escape(group)}(?:, fold \d+)?: ", told)
    if not group or named or group == Path(source).stem:
        return told
    return f"{told} (instance {group!r})"


def _groups(table: Table, group: str | None) -> list[tuple[str, NDArray[np.int64]]]:
    if group is None:
        return [("", np.arange(table.n_rows))]
    (cells,) = labels_of([table], group)
    absent = is_missing(cells)
    if absent.any():
        raise InputError(f"{first_missing(table, group, absent)}; give every row a group")
    values, places = np.unique(cells, return_inverse=True)
    return [(str(value), np.flatnonzero(places == i)) for i, value in enumerate(values.tolist())]
