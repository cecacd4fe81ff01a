"""CSV files as people have them: commas, semicolons or tabs, decimal commas, UTF-8 or UTF-16.

The reader recognises what is unambiguous and refuses the rest with a message that names the file,
the line and the remedy. Nothing but the standard library is needed.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from certune.data.table import Table
from certune.errors import InputError, ParameterError
from certune.files import read_text

DELIMITERS = (",", ";", "\t", "|")
NAMES_OF_DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
LINES_LOOKED_AT = 50
# The longest cell that is still data rather than a quote that was never closed.
LONGEST_CELL = 1_000_000
_DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?")
_DECIMAL_POINT = re.compile(r"[+-]?\d*\.\d+([eE][+-]?\d+)?")
_BOTH = re.compile(r"[+-]?(\d{1,3}(\.\d{3})+,\d+|\d{1,3}(,\d{3})+\.\d+)")
_SIGNATURES = {
    b"PK\x03\x04": "a spreadsheet or a zip archive",
    b"\xd0\xcf\x11\xe0": "an old spreadsheet",
    b"\x1f\x8b": "a gzip archive",
    b"%PDF": "a PDF document",
    b"PAR1": "a Parquet file",
}

INDEX = "index"


def read_csv(path: Path, encoding: str | None = None, delimiter: str | None = None) -> Table:
    """Read a CSV file whose first line has the names of the columns.

    Parameters
    ----------
    path : Path
        The file.
    encoding : str, optional
        By default UTF-8, or UTF-16 where the file says so.
    delimiter : str, optional
        By default the one of comma, semicolon, tab and bar that all first lines agree on.

    Raises
    ------
    InputError
        For a file that is not such a table.
    """
    text = _decoded(path, encoding)
    separator = _checked_delimiter(delimiter) or _delimiter(path, text)
    header, rows, lines = _rows(path, text, separator)
    index = frozenset() if header[0] else frozenset([INDEX])
    header = _with_index_named(path, header)
    columns = {
        name: np.array(column, dtype=object)
        for name, column in zip(header, zip(*rows, strict=True), strict=True)
    }
    if separator != ",":
        columns = _with_decimal_points(path, columns, lines)
    return Table(str(path), columns, np.array(lines), "line", index)


def _decoded(path: Path, encoding: str | None) -> str:
    content = read_text(path)
    for signature, kind in _SIGNATURES.items():
        if content.startswith(signature):
            raise InputError(f"{path} is {kind}, not text: export it as CSV (UTF-8) and read that")
    if not content.strip():
        raise InputError(f"{path} is empty: expected a line of column names and rows of data")
    chosen = encoding or _encoding(content)
    try:
        return content.decode(chosen)
    except LookupError:
        raise ParameterError(f"encoding {chosen!r} is not known; use utf-8 or cp1252") from None
    except UnicodeError as error:
        at = getattr(error, "start", 0)
        line = content[:at].count(b"\n") + 1
        raise InputError(
            f"{path} is not {chosen} text (line {line}): save it as UTF-8, or pass its encoding, "
            "encoding='cp1252' for many files of western Windows"
        ) from None


def _encoding(content: bytes) -> str:
    if content.startswith(codecs.BOM_UTF8):
        return "utf-8-sig"
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    # Names of columns are mostly ASCII, of which UTF-16 makes every other byte zero.
    sample = content[:400]
    if sample[1::2].count(0) > len(sample) // 4:
        return "utf-16-le"
    if sample[::2].count(0) > len(sample) // 4:
        return "utf-16-be"
    return "utf-8"


def _checked_delimiter(delimiter: str | None) -> str | None:
    if delimiter is not None and (not isinstance(delimiter, str) or len(delimiter) != 1):
        raise ParameterError(f"delimiter must be one character, got {delimiter!r}")
    return delimiter


def _delimiter(path: Path, text: str) -> str:
    """Return the delimiter that makes most fields, as many in every one of the first lines."""
    best, most = ",", 1
    for candidate in DELIMITERS:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=candidate)
        counts = []
        try:
            for row in reader:
                counts += [len(row)] * bool(row)
                if len(counts) >= LINES_LOOKED_AT:
                    break
        except csv.Error:
            continue
        # A header of n names is the word of the file; rows with another count are found later.
        agree = sum(count == counts[0] for count in counts) > len(counts) // 2 if counts else False
        if agree and counts[0] > most:
            best, most = candidate, counts[0]
    return best


def _rows(path: Path, text: str, delimiter: str) -> tuple[list[str], list[list[str]], list[int]]:
    csv.field_size_limit(LONGEST_CELL)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    header: list[str] = []
    rows: list[list[str]] = []
    lines: list[int] = []
    try:
        for row in reader:
            if not any(row):
                continue
            if not header:
                header = _checked_header(path, row, delimiter)
                continue
            if len(row) != len(header):
                raise InputError(_ragged(path, reader.line_num, row, header, delimiter))
            rows.append(row)
            lines.append(reader.line_num)
    except csv.Error as error:
        raise InputError(
            f"{path}, line {reader.line_num}: {error}; is a quotation mark not closed?"
        ) from None
    if not rows:
        raise InputError(f"{path} has a line of column names and no row of data")
    return header, rows, lines


def _checked_header(path: Path, row: Sequence[str], delimiter: str) -> list[str]:
    names = [name.strip() for name in row]
    if all(_is_number(name) for name in names):
        raise InputError(
            f"the first line of {path} has numbers ({delimiter.join(names[:4])}...) where the "
            "names of the columns are expected: add a first line with names"
        )
    for place, name in enumerate(names[1:], start=2):
        if not name:
            raise InputError(f"{path}, line 1: column {place} has no name: give it one")
    return names


def _with_index_named(path: Path, names: list[str]) -> list[str]:
    """Name the first column if it has no name: pandas, R and spreadsheets write an index so."""
    names = [names[0] or INDEX, *names[1:]]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise InputError(f"{path}, line 1: several columns are named {repeated[0]!r}: rename one")
    return names


def _is_number(text: str) -> bool:
    try:
        float(text.replace(",", "."))
    except ValueError:
        return False
    return True


def _ragged(path: Path, line: int, row: Sequence[str], header: Sequence[str], used: str) -> str:
    message = (
        f"{path}, line {line}: {len(row)} fields, and the first line names {len(header)} columns "
        f"(read with {NAMES_OF_DELIMITERS.get(used, repr(used))} between fields)"
    )
    if used == "," and len(row) > len(header):
        return (
            f"{message}: if commas are decimal commas, write the file with semicolons between "
            "fields; if they are text, put quotation marks around it"
        )
    return f"{message}: correct the line"


def _with_decimal_points(
    path: Path, columns: dict[str, np.ndarray], lines: Sequence[int]
) -> dict[str, np.ndarray]:
    """Write decimal commas as points in columns whose numbers have commas and no points."""
    changed = {}
    for name, cells in columns.items():
        commas = [bool(_DECIMAL_COMMA.fullmatch(cell.strip())) for cell in cells]
        if not any(commas):
            both = next((i for i, cell in enumerate(cells) if _BOTH.fullmatch(cell.strip())), None)
            if both is not None:
                raise InputError(
                    f"{path}, line {lines[both]}, column {name!r}: {cells[both]!r} has a mark of "
                    "thousands: write numbers without it"
                )
            changed[name] = cells
            continue
        for line, cell in zip(lines, cells, strict=True):
            if _DECIMAL_POINT.fullmatch(cell.strip()) or _BOTH.fullmatch(cell.strip()):
                raise InputError(
                    f"{path}, line {line}, column {name!r}: {cell!r}, while other cells of the "
                    "column have decimal commas: write all numbers in one way, without marks of "
                    "thousands"
                )
        changed[name] = np.array([cell.replace(",", ".") if comma else cell
                                  for cell, comma in zip(cells, commas, strict=True)],
                                 dtype=object)  # fmt: skip
    return changed
