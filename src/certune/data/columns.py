"""From columns to features: numbers stay numbers, categories become columns of 0 and 1.

The rule, applied to all tables together so that every instance has the same features:

* a column whose cells are all numbers, or true and false, is one feature;
* any other column is categorical: one feature of 0 and 1 for each of its values, in the order of
  their texts (one-hot, none is dropped);
* a column that is mostly numbers with a few texts is refused, as are categorical columns with
  more than `MOST_CATEGORIES` values, which are names or dates rather than categories;
* dates and durations are refused unless they are named as categories, and so are complex numbers
  and lists;
* missing values are refused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from certune.data.table import Table, as_numbers, first_missing, is_container, is_missing, text_of
from certune.errors import InputError, ParameterError
from certune.suggestions import suggested

MOST_CATEGORIES = 50
# Also the times of pandas, which are of these types.
TIMES = (date, timedelta, np.datetime64, np.timedelta64)
TRUTH_TEXTS = {"true": 1.0, "false": 0.0}
REMEDY = "fill it in, drop the row, or leave the column out with features="


@dataclass(frozen=True)
class Encoding:
    """Which columns are features, and how.

    Attributes
    ----------
    columns : tuple of str
        The columns, in order.
    categories : dict of str to tuple of str
        Values of the categorical ones.
    """

    columns: tuple[str, ...]
    categories: dict[str, tuple[str, ...]]

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features: the column, or ``column=value`` for a category."""
        return tuple(
            feature
            for name in self.columns
            for feature in (
                [f"{name}={value}" for value in self.categories[name]]
                if name in self.categories
                else [name]
            )
        )

    def features(self, table: Table) -> NDArray[np.float64]:
        """Return the features of a table, (rows, features)."""
        parts = []
        for name in self.columns:
            cells = table.column(name)
            if name in self.categories:
                texts = np.array([text_of(cell) for cell in cells])
                parts.append((texts[:, None] == np.array(self.categories[name])).astype(float))
            else:
                parts.append(_numbers(table, name)[:, None])
        return np.hstack(parts)


def encode(
    tables: Sequence[Table],
    features: Sequence[str] | None,
    excluded: Sequence[str],
    categorical: Sequence[str] = (),
) -> Encoding:
    """Decide what every column is, from all tables together.

    Parameters
    ----------
    tables : sequence of Table
        At least one.
    features : sequence of str or None
        Columns to use, by default all that are not excluded.
    excluded : sequence of str
        Columns with another purpose: target, group.
    categorical : sequence of str
        Columns whose numbers are codes of categories.
    """
    names = _feature_columns(tables, features, excluded)
    for name in _listed(categorical, "categorical"):
        if name not in names:
            raise ParameterError(f"categorical= has {name!r}, no feature{suggested(name, names)}")
    categories = {}
    for name in names:
        for table in tables:
            _check_present(table, name)
            _check_kind(table, name, coded=name in categorical)
        if name in categorical or not all(_is_numeric(table, name) for table in tables):
            categories[name] = _categories(tables, name)
    return Encoding(tuple(names), categories)


def _feature_columns(
    tables: Sequence[Table], features: Sequence[str] | None, excluded: Sequence[str]
) -> list[str]:
    first = tables[0]
    if features is not None:
        names = _listed(features, "features")
        for name in names:
            for table in tables:
                table.column(name)
            if name in excluded:
                raise ParameterError(f"features= has {name!r}, which is the target or the group")
    else:
        rest = frozenset(excluded).union(*(table.index for table in tables))
        names = [name for name in first.columns if name not in rest]
        _check_same_columns(tables, rest)
    if not names:
        raise InputError(f"{first.source} has no column of features beside {', '.join(excluded)}")
    return names


def _listed(names: Any, what: str) -> list[str]:
    if isinstance(names, str):
        names = [names]
    listed = list(names)
    if not all(isinstance(name, str) for name in listed) or len(set(listed)) < len(listed):
        raise ParameterError(f"{what} must be different names of columns, got {listed!r}")
    return listed


def _check_same_columns(tables: Sequence[Table], excluded: Collection[str]) -> None:
    """Raise for the first table whose columns are not those of most tables."""
    columns = [frozenset(table.columns) - set(excluded) for table in tables]
    usual, count = Counter(columns).most_common(1)[0]
    example = tables[columns.index(usual)]
    for table, own in zip(tables, columns, strict=True):
        if own == usual:
            continue
        lacking = [name for name in example.columns if name in usual - own]
        further = [name for name in table.columns if name in own - usual]
        others = f" and {count - 1} more" if lacking and count > 1 else ""
        has, lacks = (example, table) if lacking else (table, example)
        instead = (
            f"; it has {further[0]!r}, which the others have not" if lacking and further else ""
        )
        raise InputError(
            f"{lacks.source} has no column {(lacking or further)[0]!r}, which {has.source}{others} "
            f"has{instead}: give all the same columns, or name those to use with features="
        )


def _check_present(table: Table, name: str) -> None:
    absent = is_missing(table.column(name))
    if absent.any():
        raise InputError(f"{first_missing(table, name, absent)}; {REMEDY}")


def _check_kind(table: Table, name: str, coded: bool) -> None:
    """Raise for cells that are neither numbers nor categories."""
    cells = table.column(name)
    if table.is_file or cells.dtype.kind not in "OcmM":
        return
    for index, cell in enumerate(cells):
        if is_container(cell):
            raise InputError(
                f"{table.place(index, name)}: {cell!r} is a {type(cell).__name__} of values, and a "
                "feature is one number or text: give each value a column, or leave the column out "
                "with features="
            )
        if isinstance(cell, (complex, np.complexfloating)):
            raise InputError(
                f"{table.place(index, name)}: {cell} is a complex number, and features are real: "
                "give its real and imaginary part a column each, or leave the column out with "
                "features="
            )
        if not coded and isinstance(cell, TIMES):
            raise InputError(
                f"{table.place(index, name)}: {cell} is a time, no number: make numbers of the "
                "column, for example days since the first one, or texts, for a feature of 0 and 1 "
                "for each, or leave the column out with features="
            )


def _is_numeric(table: Table, name: str) -> bool:
    """Tell whether a column is numbers; raise if it nearly is."""
    cells = table.column(name)
    numeric = as_numbers(cells)[1]
    if numeric.all() or _is_truth(cells):
        return True
    if 2 * np.count_nonzero(numeric) > len(numeric):
        index = int(np.argmin(numeric))
        raise InputError(
            f"{table.place(index, name)}: {str(cells[index])!r} is not a number, while "
            f"{np.count_nonzero(numeric)} of the {len(numeric)} cells of the column are: correct "
            f"it, or say categorical=[{name!r}] if the numbers are codes"
        )
    return False


def _is_truth(cells: NDArray[Any]) -> bool:
    return all(text_of(cell).lower() in TRUTH_TEXTS for cell in cells)


def _numbers(table: Table, name: str) -> NDArray[np.float64]:
    cells = table.column(name)
    numbers, numeric = as_numbers(cells)
    if not numeric.all():
        return np.array([TRUTH_TEXTS[text_of(cell).lower()] for cell in cells])
    if not np.isfinite(numbers).all():
        index = int(np.argmin(np.isfinite(numbers)))
        raise InputError(f"{table.place(index, name)}: {numbers[index]} is not finite; {REMEDY}")
    return numbers


def _categories(tables: Sequence[Table], name: str) -> tuple[str, ...]:
    found = sorted({text_of(cell) for table in tables for cell in table.column(name)})
    if len(found) > MOST_CATEGORIES:
        examples = ", ".join(map(repr, found[:3]))
        raise InputError(
            f"column {name!r} of {tables[0].source} has {len(found)} different texts ({examples}, "
            f"...), and one-hot encoding takes at most {MOST_CATEGORIES}: leave it out by naming "
            "the columns to use with features=, or group its values"
        )
    return tuple(found)
