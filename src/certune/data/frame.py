"""Data frames as tables: of pandas, polars, or a mapping of columns; none of them is imported."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from certune.data.table import Table
from certune.errors import InputError

SOURCE = "the data frame"


def is_frame(candidate: object) -> bool:
    """Tell whether something has named columns."""
    return isinstance(candidate, Mapping) or (
        hasattr(candidate, "columns") and hasattr(candidate, "__getitem__")
    )


def _names(frame: Any) -> list[Any]:
    if isinstance(frame, Mapping):
        return list(frame.keys())
    # Tables of Arrow have their columns themselves where data frames have names.
    return list(getattr(frame, "column_names", frame.columns))


def as_table(frame: Any, source: str = SOURCE) -> Table:
    """Return a data frame, or a mapping of columns, as a table.

    Parameters
    ----------
    frame : data frame or mapping
        What has named columns.
    source : str
        What messages call it.
    """
    if not is_frame(frame):
        raise InputError(
            f"expected a data frame or a mapping of columns, got {type(frame).__name__}: use "
            "certune.folds for arrays, and certune.from_csv for files"
        )
    names = _names(frame)
    if not names:
        raise InputError(f"{source} has no columns")
    for name in names:
        if not isinstance(name, str):
            raise InputError(
                f"columns of {source} must have text as names, got {name!r}: rename them, for "
                "example frame.columns = frame.columns.astype(str)"
            )
    columns = {name: _cells(_column(frame, name, source), name) for name in names}
    lengths = {len(cells) for cells in columns.values()}
    if len(lengths) > 1:
        raise InputError(
            f"columns of {source} must have the same length, got "
            + ", ".join(f"{len(cells)} in {name!r}" for name, cells in columns.items())
        )
    if lengths == {0}:
        raise InputError(f"{source} has columns but no rows: see what filtered them out")
    index = getattr(frame, "index", None)
    rows = np.arange(lengths.pop()) if index is None or callable(index) else np.asarray(index)
    return Table(source, columns, rows)


def _column(frame: Any, name: str, source: str) -> Any:
    try:
        return frame[name]
    except TypeError as error:
        raise InputError(
            f"{source} does not give its column {name!r}: {error}; collect a lazy frame first, as "
            "in frame.collect()"
        ) from error


def _cells(column: Any, name: str) -> np.ndarray:
    if getattr(column, "ndim", 1) != 1:
        raise InputError(f"{SOURCE} has several columns named {name!r}: rename them")
    cells = np.asarray(column.to_numpy() if hasattr(column, "to_numpy") else column)
    if cells.ndim != 1:
        raise InputError(f"column {name!r} must have one value in each row, got {cells.shape}")
    return cells.astype(object) if cells.dtype.kind in "OUST" else cells
