"""Fingerprints of instances and programs: hashes of content, the same in every process."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Mapping
from fractions import Fraction
from types import CodeType
from typing import Any

import numpy as np

from certune.errors import InputError


def content_hash(value: Any) -> str:
    """Return a hash of numbers, strings, arrays and containers or dataclasses of them.

    An object with a string attribute ``fingerprint`` counts by that; the field ``name`` of a
    dataclass does not count.
    """
    digest = hashlib.sha256()
    _update(digest, value)
    return digest.hexdigest()


def _update(digest: Any, value: Any) -> None:
    own = getattr(value, "fingerprint", None)
    if isinstance(own, str):
        digest.update(f"fingerprint {own};".encode())
    elif value is None or isinstance(value, (bool, int, float, str, bytes, Fraction, np.generic)):
        plain = value.item() if isinstance(value, np.generic) else value
        digest.update(f"{type(plain).__name__} {plain!r};".encode())
    elif isinstance(value, np.ndarray):
        digest.update(f"array {value.dtype.str} {value.shape};".encode())
        digest.update(np.ascontiguousarray(value).tobytes())
    elif isinstance(value, (tuple, list)):
        _update_all(digest, type(value).__name__, value)
    elif isinstance(value, Mapping):
        _update_all(digest, "mapping", [part for pair in sorted(value.items()) for part in pair])
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = [field.name for field in dataclasses.fields(value) if field.name != "name"]
        _update_all(digest, type(value).__name__, [getattr(value, name) for name in fields])
    else:
        raise InputError(
            f"the content of {value!r} of type {type(value).__name__} has no fingerprint; use "
            "numbers, strings, arrays, tuples, dataclasses of these, or give the instance an "
            "attribute `fingerprint`"
        )


def _update_all(digest: Any, kind: str, parts: Any) -> None:
    digest.update(f"{kind} {len(parts)}(".encode())
    for part in parts:
        _update(digest, part)
    digest.update(b")")


def program_hash(program: Any) -> str:
    """Return a hash of what a callable does: its compiled code, its name and its constants."""
    plain = getattr(program, "__wrapped__", program)
    code = getattr(plain, "__code__", None)
    if code is None:
        code = type(plain).__call__.__code__
        name = repr(plain)
    else:
        name = plain.__qualname__
    digest = hashlib.sha256(name.encode())
    _update_code(digest, code)
    return digest.hexdigest()


def _update_code(digest: Any, code: CodeType) -> None:
    digest.update(code.co_code + repr((code.co_names, code.co_varnames)).encode())
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            _update_code(digest, constant)
        elif not isinstance(constant, frozenset):
            digest.update(repr(constant).encode())
