"""A scenario: family, data, split and limits of a run, on the command line or in a TOML file.

The file is kept in the run directory, so that every run can be repeated by
``certune tune run/scenario.toml``. Wrong keys and values are refused with their line.
"""

from __future__ import annotations

import io
import json
import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from certune.aggregates import aggregate_of
from certune.cli.families import FAMILIES
from certune.errors import InputError, ParameterError
from certune.files import read_text
from certune.suggestions import suggested

LARGEST_SCENARIO = 2**24
LARGEST_NUMBER = 1e300
NUMBER, TEXT, FLAG = "a number", "a text in quotes", "true or false"
NUMBERS, TEXTS, RANGE = "a list of numbers", "a list of texts", "a range [low, high]"
NUMBER_OR_RANGE = "a number or a range [low, high]"
# What numpy and scikit-learn both take as a seed.
LARGEST_SEED = 2**32 - 1
SEED = f"a whole number from 0 to {LARGEST_SEED}"

# Keys of the sections other than [family], and what their values are.
SECTIONS: Mapping[str, Mapping[str, str]] = {
    "data": {
        "files": TEXTS, "target": TEXT, "group": TEXT, "features": TEXTS, "categorical": TEXTS,
        "distances": TEXTS, "standardize": FLAG, "k": NUMBER, "cv": NUMBER, "encoding": TEXT,
        "delimiter": TEXT, "task": TEXT,
    },
    "split": {"holdout": NUMBER, "seed": SEED},
    "run": {"timeout": NUMBER, "gap": NUMBER, "jobs": NUMBER, "aggregate": TEXT},
}  # fmt: skip
FAMILY_KEYS: Mapping[str, str] = {
    "name": TEXT, "kind": TEXT, "alpha": RANGE, "objective": TEXT, "other_alpha": NUMBERS,
    "weights": TEXT, "cut_height": RANGE, "relative": FLAG, "method": TEXT,
    "sigma": RANGE, "n_neighbors": NUMBER, "penalty": TEXT, "lam": RANGE, "C": RANGE,
    "metric": TEXT, "standardize": FLAG, "l1_ratio": NUMBER_OR_RANGE, "max_error": NUMBER,
    "positive": FLAG,
}  # fmt: skip


@dataclass(frozen=True)
class Scenario:
    """What to tune, on what, and for how long; every part as plain data."""

    family: Mapping[str, Any]
    data: Mapping[str, Any]
    split: Mapping[str, Any] = field(default_factory=dict)
    run: Mapping[str, Any] = field(default_factory=dict)

    @property
    def family_name(self) -> str:
        """Name of the family, or ``module:attribute``."""
        return str(self.family["name"])

    def sections(self) -> dict[str, Mapping[str, Any]]:
        """Return the sections by name."""
        return {"family": self.family, "data": self.data, "split": self.split, "run": self.run}

    def settled(self) -> Scenario:
        """Return the scenario with the defaults of its family, so that it means the same later."""
        command = FAMILIES.get(self.family_name)
        if command is None:
            return self
        given = {key: value for key, value in self.family.items() if key != "name"}
        family = {"name": self.family_name, **command.settled(given)}
        return Scenario(family, self.data, self.split, self.run)

    def to_toml(self, folder: Path | None = None, comments: Mapping[str, str] | None = None) -> str:
        """Return the file.

        Parameters
        ----------
        folder : Path, optional
            Where it will lie; paths of data are written relative to it.
        comments : mapping of str to str, optional
            What to write behind a key, named "section.key".
        """
        notes = comments or {}
        lines = ["# A scenario of certune: certune tune <this file>"]
        for section, values in self.sections().items():
            given = {key: value for key, value in values.items() if value is not None}
            if not given:
                continue
            lines += ["", f"[{section}]"]
            for key, value in given.items():
                if (section, key) == ("data", "files") and folder is not None:
                    value = [_relative(path, folder) for path in value]
                # Names of columns may have line ends, which would end the comment.
                note = " ".join(notes.get(f"{section}.{key}", "").split())
                lines.append(f"{key} = {_toml(value)}" + (f"  # {note}" if note else ""))
        return "\n".join(lines) + "\n"


def read_scenario(path: Path) -> Scenario:
    """Read a scenario; paths of data are meant relative to the folder of the file.

    Raises
    ------
    InputError
        With the line and the key that is wrong.
    """
    try:
        # tomllib knows one kind of line end; a text file may have others.
        text = io.StringIO(read_text(path, LARGEST_SCENARIO).decode("utf-8"), newline=None).read()
        record = tomllib.loads(text)
    except InputError:
        raise
    except UnicodeError as error:
        raise InputError(f"cannot read {path}: {error}") from None
    except RecursionError:
        raise InputError(f"{path} is not a scenario: it is nested too deeply") from None
    except ValueError as error:
        raise InputError(f"{path} is not a TOML file: {error}") from None
    lines = _lines_of_keys(text)
    for section in record:
        if section not in ("family", *SECTIONS):
            raise InputError(
                f"{path}{_at(lines, section)}: there is no section [{section}]"
                f"{suggested(section, ('family', *SECTIONS))}"
            )
    for section, known in {"family": FAMILY_KEYS, **SECTIONS}.items():
        _check_section(path, lines, section, record.get(section, {}), known)
    for section, key in (("family", "name"), ("data", "files")):
        if key not in record.get(section, {}):
            raise InputError(f"{path}: [{section}] must have {key} = ...")
    files = [os.path.normpath(path.parent / name) for name in record["data"]["files"]]
    return Scenario(
        record["family"],
        {**record["data"], "files": files},
        record.get("split", {}),
        record.get("run", {}),
    )


def _check_section(
    path: Path,
    lines: Mapping[tuple[str, str], int],
    section: str,
    values: Any,
    known: Mapping[str, str],
) -> None:
    if not isinstance(values, dict):
        raise InputError(f"{path}: {section} must be a section, [{section}]")
    for key, value in values.items():
        where = f"{path}, line {lines.get((section, key), '?')}"
        if key not in known:
            raise InputError(f"{where}: [{section}] has no key {key!r}{suggested(key, known)}")
        if not _fits(value, known[key]):
            raise InputError(f"{where}: {key} must be {known[key]}, got {value!r}")
        if key == "aggregate":
            try:
                aggregate_of(value)
            except ParameterError as error:
                raise InputError(f"{where}: {error}") from None
    name = values.get("name")
    if section == "family" and name is not None and ":" not in name and name not in FAMILIES:
        where = f"{path}, line {lines.get((section, 'name'), '?')}"
        raise InputError(
            f"{where}: there is no family {name!r}{suggested(name, FAMILIES, 'there are')}"
        )


def _fits(value: Any, kind: str) -> bool:
    def is_number(item: Any) -> bool:
        # TOML has nan, inf and integers of any size.
        is_real = isinstance(item, (int, float)) and not isinstance(item, bool)
        return is_real and abs(item) <= LARGEST_NUMBER

    if kind == NUMBER or (kind == NUMBER_OR_RANGE and not isinstance(value, list)):
        return is_number(value)
    if kind == SEED:
        return isinstance(value, int) and is_number(value) and 0 <= value <= LARGEST_SEED
    if kind == TEXT:
        return isinstance(value, str)
    if kind == FLAG:
        return isinstance(value, bool)
    if not isinstance(value, list):
        return False
    if kind == TEXTS:
        return all(isinstance(item, str) for item in value)
    return all(map(is_number, value)) and (kind == NUMBERS or len(value) == 2)


def _lines_of_keys(text: str) -> dict[tuple[str, str], int]:
    section, lines = "", {}
    for number, line in enumerate(text.splitlines(), 1):
        if header := re.match(r"\s*\[\s*([\w-]+)\s*\]", line):
            section = header[1]
            lines[section, ""] = number
        elif key := re.match(r"\s*([\w-]+)\s*=", line):
            lines[section, key[1]] = number
    return lines


def _at(lines: Mapping[tuple[str, str], int], section: str) -> str:
    number = lines.get((section, ""), lines.get(("", section)))
    return "" if number is None else f", line {number}"


def _relative(path: str, folder: Path) -> str:
    try:
        return Path(os.path.relpath(path, folder)).as_posix()
    except ValueError:
        # Another drive of Windows.
        return os.path.abspath(path)


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    return repr(value)
