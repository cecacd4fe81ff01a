"""A table as it was read: named columns of cells, and what its user calls its rows.

Cells stay as they were found, text of a file or values of a data frame, until it is known what a
column is for. Every message about a cell names the source, the row and the column.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from certune.errors import InputError
from certune.suggestions import suggested

Cells = NDArray[Any]

# Texts that stand for a missing value, in lower case; those that pandas reads so, and "?".
MISSING_TEXTS = frozenset(
    ("", "na", "n/a", "#n/a", "nan", "-nan", "null", "none", "<na>", "?")
)  # fmt: skip


@dataclass(frozen=True)
class Table:
    """Named columns of the same length.

    Attributes
    ----------
    source : str
        What the user calls it: a file, or "the data frame".
    columns : mapping of str to array
        Cells of every column.
    rows : array
        What the user calls the rows: lines of the file, or the index of the frame.
    row_word : str
        "line" or "row".
    index : frozenset of str
        Columns that only name the rows, as pandas writes them: no features unless asked for.
    """

    source: str
    columns: Mapping[str, Cells]
    rows: NDArray[Any]
    row_word: str = "row"
    index: frozenset[str] = frozenset()

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.rows)

    @property
    def is_file(self) -> bool:
        """Whether it was read from a file, whose lines count."""
        return self.row_word == "line"

    def column(self, name: str) -> Cells:
        """Return the cells of a column, or raise with the names that come close."""
        if not isinstance(name, str):
            shown = ", ".join(map(repr, list(self.columns)[:5]))
            raise InputError(f"columns are named by words, such as {shown}, got {name!r}")
        if name not in self.columns:
            raise InputError(f"{self.source} has no column {name!r}{suggested(name, self.columns)}")
        return self.columns[name]

    def take(self, chosen: NDArray[Any], source: str | None = None) -> Table:
        """Return some of the rows, given by a mask or by their places."""
        return replace(
            self,
            source=source or self.source,
            columns={name: cells[chosen] for name, cells in self.columns.items()},
            rows=self.rows[chosen],
        )

    def place(self, index: int, column: str) -> str:
        """Return the words for one cell."""
        return f"{self.source}, {self.row_word} {self.rows[index]}, column {column!r}"


def is_missing(cells: Cells) -> NDArray[np.bool_]:
    """Tell which cells have no value."""
    if cells.dtype.kind in "biu":
        return np.zeros(len(cells), dtype=bool)
    if cells.dtype.kind == "f":
        return np.isnan(cells)
    if cells.dtype.kind in "mM":
        return np.isnat(cells)
    numbers = _all_numbers(cells)
    if numbers is not None:
        return np.isnan(numbers)
    return np.fromiter(map(_is_missing, cells), dtype=bool, count=len(cells))


def _is_missing(cell: Any) -> bool:
    if isinstance(cell, str):
        return cell.strip().lower() in MISSING_TEXTS
    return has_no_value(cell)


def has_no_value(cell: Any) -> bool:
    """Tell whether a cell is None, NaN, NaT or pandas.NA."""
    if cell is None:
        return True
    if is_container(cell):
        return False
    try:
        # NaN is the number that differs from itself; pandas.NA refuses the question.
        return bool(cell != cell)
    except (TypeError, ValueError):
        return True


def is_container(cell: Any) -> bool:
    """Tell whether a cell has values of its own, as a list has."""
    return hasattr(cell, "__len__") and not isinstance(cell, (str, bytes))


def as_numbers(cells: Cells) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the cells as numbers, and which of them are numbers."""
    if cells.dtype.kind in "biuf":
        numbers = cells.astype(np.float64)
        return numbers, ~np.isnan(numbers)
    if cells.dtype.kind in "mM":
        return np.zeros(len(cells)), np.zeros(len(cells), dtype=bool)
    found = _all_numbers(cells)
    if found is None:
        found = np.fromiter(map(_number, cells.tolist()), dtype=np.float64, count=len(cells))
    return found, ~np.isnan(found)


def _all_numbers(cells: Cells) -> NDArray[np.float64] | None:
    """Return the cells as numbers if all are real ones, which is quicker than one by one."""
    try:
        numbers = np.array(cells.tolist(), dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        return None
    return numbers if numbers.ndim == 1 else None


def _number(cell: Any) -> float:
    if is_container(cell):
        return math.nan
    try:
        return float(cell)
    except OverflowError:
        return math.inf if cell > 0 else -math.inf
    except (TypeError, ValueError):
        return math.nan


def labels_of(tables: Sequence[Table], name: str) -> list[Cells]:
    """Return a column of labels, the same kind in all tables.

    Whole numbers become integers; anything else becomes text, the words of the file. Missing labels
    are None.
    """
    columns = [table.column(name) for table in tables]
    known = [~is_missing(cells) for cells in columns]
    found = [as_numbers(cells[there]) for cells, there in zip(columns, known, strict=True)]
    whole = all(
        numeric.all() and np.all(numbers == np.rint(numbers)) and np.all(np.abs(numbers) < 2**53)
        for numbers, numeric in found
    )
    labels = []
    for cells, there, (numbers, _) in zip(columns, known, found, strict=True):
        column = np.full(len(cells), None, dtype=object)
        if whole:
            column[there] = [int(number) for number in numbers]
        else:
            column[there] = [text_of(cell) for cell in cells[there]]
        labels.append(column)
    return labels


def text_of(cell: Any) -> str:
    """Return a cell as text without spaces around it."""
    return str(cell).strip()


def first_missing(table: Table, name: str, absent: NDArray[np.bool_]) -> str:
    """Return where the first missing value is, and how many there are."""
    index = int(np.argmax(absent))
    count = int(np.count_nonzero(absent))
    others = f" ({count} of {len(absent)} are)" if count > 1 else ""
    return f"{table.place(index, name)}: the value is missing{others}"
