"""Whether what a file says fits the types of a record, before anything is made of it."""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Mapping
from functools import cache
from typing import Any, Union, get_args, get_origin, get_type_hints

LARGEST = 1e308  # whole numbers of JSON may have any size, and floats may be infinite or no number


def check_fields(record: Any) -> None:
    """Raise `TypeError` for the first field of a dataclass that is not of its type.

    Lists may stand for tuples, whole numbers for floats; numbers are finite.
    """
    for name, hint in _hints(type(record)).items():  # type: ignore[arg-type]
        if not _fits(getattr(record, name), hint):
            raise TypeError(f"{name} is not what it should be")


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


def _fits(value: Any, hint: Any) -> bool:
    kind, parts = get_origin(hint), get_args(hint)
    if hint is Any:
        return True
    if kind in (Union, types.UnionType):
        return any(_fits(value, part) for part in parts)
    if kind is tuple:
        if not isinstance(value, (tuple, list)):
            return False
        kinds = [parts[0]] * len(value) if parts[-1] is Ellipsis else parts
        return len(kinds) == len(value) and all(map(_fits, value, kinds))
    if isinstance(kind, type) and issubclass(kind, Mapping):
        return isinstance(value, Mapping) and all(
            _fits(key, parts[0]) and _fits(item, parts[1]) for key, item in value.items()
        )
    if hint is float:
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return is_number and abs(value) <= LARGEST
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    if dataclasses.is_dataclass(hint) and isinstance(value, hint):  # type: ignore[arg-type]
        check_fields(value)
        return True
    return isinstance(value, hint)
