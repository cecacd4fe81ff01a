"""Instances from many or large files, one after the other: what was read is not kept.

A folder of CSV or Parquet files, or of files of arrays, is read file by file. A Parquet file with a
column of groups is read in pieces; the rows of a group stand together in it, and each group becomes
an instance as soon as its last row is there.
"""

from __future__ import annotations

import glob
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Literal

import numpy as np

from certune.checks import skips_errors
from certune.data.array_files import ARRAYS, check_array_options, read_instance
from certune.data.csv_file import read_csv
from certune.data.doors import (
    SUFFIXES,
    Purposes,
    files_of,
    files_with,
    instances_of,
    samples_of,
)
from certune.data.frame import as_table
from certune.data.table import Table, is_missing, text_of
from certune.data.tasks import task_named
from certune.errors import CertuneError, InputError, ParameterError

PARQUET = (".parquet", ".pq")
# Rows of a Parquet file that are read at a time, and bytes that a file of arrays may hold.
PIECE, MOST_BYTES = 65_536, 2**30


def read_stream(
    source: str | PathLike[str] | Iterable[str | PathLike[str]],
    *,
    target: str | None = None,
    group: str | None = None,
    features: Sequence[str] | None = None,
    categorical: Sequence[str] = (),
    task: str = "clustering",
    on_error: Literal["raise", "skip"] = "raise",
    **options: Any,
) -> Iterator[Any]:
    """Yield the instances of files, one after the other, for :func:`certune.tune_stream`.

    Parameters
    ----------
    source : path, pattern or list of them
        CSV or Parquet files, or ``.npz`` files of arrays (as :func:`save_instances` and
        ``numpy.savez`` write them), or a folder of them, which are read in the order of their
        names. Parquet needs pyarrow, ``pip install 'certune[parquet]'``.
    target, features, task, **options
        As in :func:`from_frame`. A file of arrays is one instance and needs none of them but
        `task`: for clustering it has ``points`` or ``distances``, ``target``, and if need be ``k``
        and ``metrics``; for labeling ``points`` or ``distances``, ``labeled`` and ``truth``; for
        classification and regression ``X``, ``y``, ``X_val`` and ``y_val``. ``metrics`` and ``k``
        may be said here for all files that do not have them.
    group : str, optional
        Column that divides the rows of a file: one instance for each of its values. In a Parquet
        file the rows of a group must stand together, so that it can be read in pieces. Without a
        group, every file is an instance of its own.
    categorical : sequence of str
        Columns whose numbers are codes of categories. Categories are numbered for each file, or
        each group of a Parquet file, by itself, since the others were not read.
    on_error : {"raise", "skip"}
        What happens at a file that cannot be used. ``"skip"`` yields its error in the place of its
        instances (in a Parquet file, of those from there on) and goes on with the next file;
        ``tune_stream(..., on_error="skip")`` lists it among what failed.

    Yields
    ------
    object
        Instances, named by their file, group and fold.

    Raises
    ------
    InputError
        For files that are not there or cannot be used, as soon as they are reached.
    """
    skips = skips_errors(on_error)
    task_named(task, list(options))
    paths = _paths(source)
    kinds = sorted({path.suffix.lower() == ARRAYS for path in paths})
    if len(kinds) > 1:
        first = next(path for path in paths if path.suffix.lower() == ARRAYS)
        raise InputError(
            f"there are tables and {ARRAYS} files, {first} among them: read one kind at a time, "
            f"with a pattern such as 'data/*{ARRAYS}'"
        )
    if kinds == [True]:
        for_tables = {"target": target, "group": group, "features": features}
        given = [name for name, value in for_tables.items() if value is not None]
        unused = given + ["categorical"] * bool(categorical)
        if unused:
            raise ParameterError(
                f"{', '.join(unused)} is for columns of tables, and {paths[0]} is a file of "
                "arrays, which go by their names: leave it out"
            )
        check_array_options(task, options)
        arrays = partial(_from_arrays, task=task, options=options)
        return _all_files(arrays, paths, skips)
    if target is None:
        raise ParameterError(f"say which column of {paths[0]} has the labels: target='NAME'")
    purposes = Purposes(target, group, features, categorical)
    named = len(paths) > 1
    tables = partial(_from_table, named=named, purposes=purposes, task=task, options=options)
    return _all_files(tables, paths, skips)


def _all_files(
    instances: Callable[[Path], Iterator[Any]], paths: Sequence[Path], skips: bool
) -> Iterator[Any]:
    for path in paths:
        try:
            yield from instances(path)
        except InputError as error:
            if not skips:
                raise
            yield error


def _from_arrays(path: Path, task: str, options: dict[str, Any]) -> Iterator[Any]:
    yield read_instance(path, task, options, MOST_BYTES)


def _paths(source: Any) -> list[Path]:
    """Return the files of a source, with files of arrays and Parquet files beside CSV files."""
    if not isinstance(source, (str, PathLike)):
        return files_of(source)
    text = fspath(source)
    if Path(text).is_dir():
        try:
            found = files_with((*SUFFIXES, *PARQUET, ARRAYS), Path(text))
        except OSError:  # which `files_of` reports
            found = []
        return found or files_of(text)
    if glob.has_magic(text):
        return files_of(text)
    return files_of([text])


def _from_table(
    path: Path, named: bool, purposes: Purposes, task: str, options: dict[str, Any]
) -> Iterator[Any]:
    name = path.stem if named else ""
    if path.suffix.lower() not in PARQUET:
        samples = samples_of([read_csv(path, None, None)], [name], purposes)
        yield from instances_of(samples, task, options)
        return
    alone = Purposes(purposes.target, None, purposes.features, purposes.categorical)
    for label, table in _groups(path, purposes.group):
        full_name = ", ".join(filter(None, (name, label)))
        samples = samples_of([_without(table, purposes.group)], [full_name], alone)
        yield from instances_of(samples, task, options)


def _without(table: Table, column: str | None) -> Table:
    columns = {name: cells for name, cells in table.columns.items() if name != column}
    return replace(table, columns=columns)


def _groups(path: Path, group: str | None) -> Iterator[tuple[str, Table]]:
    """Yield the rows of every group of a Parquet file, which stand together."""
    seen: set[str] = set()
    label, rows, n_before = "", _Rows(path), 0
    for piece in _pieces(path):
        if group is None:
            rows.add(piece)
            continue
        if group not in piece:
            raise InputError(f"{path} has no column {group!r}: it has {', '.join(piece)}")
        absent = is_missing(piece[group])
        if absent.any():
            row = n_before + int(absent.argmax()) + 1
            raise InputError(
                f"{path}, row {row}, column {group!r}: the value is missing; give every row a group"
            )
        n_before += len(absent)
        cells = [text_of(cell) for cell in piece[group].tolist()]
        starts = [i for i in range(len(cells)) if i == 0 or cells[i] != cells[i - 1]]
        for start, stop in zip(starts, [*starts[1:], len(cells)], strict=True):
            if rows.pieces and cells[start] != label:
                yield label, rows.table()
                seen.add(label)
            if cells[start] in seen:
                raise InputError(
                    f"{path}: rows of group {cells[start]!r} do not stand together: sort the file "
                    f"by {group!r}, or read it whole with certune.from_frame"
                )
            label = cells[start]
            rows.add({name: column[start:stop] for name, column in piece.items()})
    if not rows.pieces:
        raise InputError(f"{path} has no rows")
    yield label, rows.table()


class _Rows:
    """Rows of a group that were read so far."""

    def __init__(self, path: Path) -> None:
        self._path, self._n_before = path, 0
        self._index = frozenset(_index_of(path))
        self.pieces: list[dict[str, Any]] = []

    def add(self, piece: dict[str, Any]) -> None:
        self.pieces.append(piece)

    def table(self) -> Table:
        """Return the rows as a table, and begin anew; rows are numbered from 1 in the file."""
        columns = {
            name: np.concatenate([piece[name] for piece in self.pieces]) for name in self.pieces[0]
        }
        self.pieces = []
        table = as_table(columns, str(self._path))
        rows = np.arange(table.n_rows) + self._n_before + 1
        self._n_before += table.n_rows
        return replace(table, rows=rows, index=self._index & set(columns))


def _index_of(path: Path) -> list[str]:
    """Return the columns that pandas has made of the index of a frame, as it notes in the file."""
    with _opened(path) as file:
        noted = (file.schema_arrow.metadata or {}).get(b"pandas", b"{}")
    try:
        named = json.loads(noted).get("index_columns", [])
    except (AttributeError, RecursionError, ValueError):
        return []
    return [name for name in named if isinstance(name, str)] if isinstance(named, list) else []


def _pieces(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the columns of a Parquet file, some rows at a time."""
    with _opened(path) as file:
        for batch in file.iter_batches(batch_size=PIECE):
            yield {
                name: column.to_numpy(zero_copy_only=False)
                for name, column in zip(batch.schema.names, batch.columns, strict=True)
            }


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """Open a Parquet file; what goes wrong while it is read is an `InputError`."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise CertuneError(
            "Parquet files need pyarrow, which is not installed: pip install 'certune[parquet]'."
        ) from error
    try:
        with parquet.ParquetFile(path) as file:
            yield file
    except (OSError, pyarrow.ArrowException) as error:
        raise InputError(f"{path} is not a readable Parquet file: {error}") from error
