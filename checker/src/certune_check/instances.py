"""Instances as plain files, and their fingerprints computed anew.

A clustering problem, ``.npz``: ``distances`` (metrics, n, n) or (n, n), ``target`` (n,) and ``k``.
The instance of a program, ``.json``: numbers, strings, true, false and null stand for themselves;
other things are objects with one name that says what they are: ``{"tuple": [...]}``,
``{"list": [...]}``, ``{"set": [...]}``, ``{"fraction": "0x1/0x3"}`` (hexadecimal),
``{"float": "inf"}``, ``{"mapping": [[key, value], ...]}``, ``{"array": [dtype, shape, entries]}``
and ``{"record": [class, {field: value}]}``.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

MOST_BYTES = 2**30
DEEPEST = 100
UNREADABLE = OSError, ValueError, TypeError, KeyError, AttributeError, ArithmeticError
UNREADABLE += RecursionError, MemoryError, zipfile.BadZipFile  # type: ignore[assignment]


class BadFile(Exception):
    """A file cannot be read as what it should be."""


@dataclass(frozen=True)
class Points:
    """A clustering problem: distances (metrics, n, n), target classes 0, 1, ... and k."""

    distances: Any
    target: tuple[int, ...]
    k: int

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the content."""
        digest = hashlib.sha256(b"certune clustering instance 1")
        digest.update(np.array([*self.distances.shape[:2], self.k, 1], dtype="<i8").tobytes())
        digest.update(self.distances.astype("<f8").tobytes())
        digest.update(np.array(self.target, dtype="<i8").tobytes())
        return digest.hexdigest()


class Record(SimpleNamespace):
    """An object with named fields, in order; ``record_class`` is the name of its class."""


def files_of(paths: list[str]) -> list[Path]:
    """The files that are named, and those of folders in the order of their names."""
    files: list[Path] = []
    for path in map(Path, paths):
        inside = sorted(path.glob("[!.]*")) if path.is_dir() else [path]
        found = [file for file in inside if file.suffix in (".npz", ".json") and file.is_file()]
        if not found:
            raise BadFile(f"{path} is no .npz or .json file, and no folder of such")
        files += found
    return files


def read_instance(path: Path) -> Any:
    """The instance of a file."""
    try:
        if path.stat().st_size > MOST_BYTES:
            raise BadFile(f"it has more than {MOST_BYTES} bytes")
        if path.suffix == ".npz":
            return _points(path)
        return decoded(json.loads(path.read_text("utf-8")), 0)
    except UNREADABLE as error:
        raise BadFile(f"{path}: {type(error).__name__} {error}") from None


def _points(path: Path) -> Points:
    with zipfile.ZipFile(path) as archive:
        if sum(member.file_size for member in archive.infolist()) > MOST_BYTES:
            raise BadFile(f"{path} unpacks to more than {MOST_BYTES} bytes")
    with np.load(path, allow_pickle=False) as arrays:
        distances = np.array(arrays["distances"], dtype=np.float64)
        target, k = arrays["target"], int(arrays["k"])
    distances = distances[None] if distances.ndim == 2 else distances
    n = len(target)
    if distances.ndim != 3 or distances.shape[1:] != (n, n) or not 1 <= k <= n:
        raise BadFile(f"{path}: distances {distances.shape} do not fit {n} points and k={k}")
    zeros = distances == 0
    are_copies = zeros.all(axis=0)
    right = np.isfinite(distances).all() and (distances >= 0).all() and are_copies.diagonal().all()
    right = right and np.array_equal(are_copies, zeros.any(axis=0))
    right = right and np.array_equal(distances, distances.transpose(0, 2, 1))
    right = right and np.array_equal(distances, distances[:, are_copies.argmax(axis=1)])
    if not right:
        raise BadFile(f"{path}: distances must be finite, symmetric, and 0 only between copies")
    codes = np.unique(target, return_inverse=True)[1]
    return Points(distances, tuple(int(code) for code in codes), k)


def decoded(value: Any, depth: int) -> Any:
    """The object that JSON data stand for."""
    if depth > DEEPEST:
        raise BadFile("it is nested too deeply")
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if not isinstance(value, dict) or len(value) != 1:
        raise BadFile(f"expected an object with one name, got {str(value)[:80]}")
    ((kind, content),) = value.items()
    if kind == "float":
        return float(content)
    if kind == "fraction":
        top, _, bottom = content.partition("/")
        return Fraction(int(top, 16), int(bottom, 16))
    if kind in ("list", "tuple", "set"):
        parts = [decoded(part, depth + 1) for part in content]
        return {"list": list, "tuple": tuple, "set": frozenset}[kind](parts)
    if kind == "mapping":
        return {decoded(key, depth + 1): decoded(part, depth + 1) for key, part in content}
    if kind == "array":
        dtype, shape, entries = content
        if np.dtype(dtype).hasobject:
            raise BadFile("an array of objects")
        return np.array(entries, dtype=np.dtype(dtype)).reshape(shape)
    if kind == "record":
        name, fields = content
        own = {field: decoded(part, depth + 1) for field, part in fields.items()}
        return Record(record_class=str(name), **own)
    raise BadFile(f"no object is called {kind[:80]!r}")


def fingerprint(instance: Any) -> str:
    """The hash of an instance that certificates have."""
    if isinstance(instance, Points):
        return instance.fingerprint
    digest = hashlib.sha256()
    _add(digest, instance)
    return digest.hexdigest()


def _mark(digest: Any, text: str) -> None:
    written = text.encode("utf-8", "surrogatepass")
    digest.update(b"%d:" % len(written) + written)


def _add(digest: Any, value: Any) -> None:
    kind = type(value).__name__
    if isinstance(value, (int, Fraction)):
        _mark(digest, "{} {:x}/{:x}".format(kind, *value.as_integer_ratio()))
    elif value is None or isinstance(value, (float, str)):
        _mark(digest, f"{kind} {value!a}")
    elif isinstance(value, np.ndarray):
        _mark(digest, f"array {value.dtype.str} {value.shape}")
        digest.update(np.ascontiguousarray(value).tobytes())
    elif isinstance(value, (tuple, list)):
        _add_all(digest, kind, list(value))
    elif isinstance(value, dict):
        pairs = sorted((fingerprint(key), key, part) for key, part in value.items())
        _add_all(digest, "mapping", [part for _, *both in pairs for part in both])
    elif isinstance(value, frozenset):
        _mark(digest, f"set {sorted(map(fingerprint, value))}")
    else:
        fields = {name: part for name, part in vars(value).items() if name != "record_class"}
        _add_all(digest, value.record_class, list(fields.values()))


def _add_all(digest: Any, kind: str, parts: list[Any]) -> None:
    _mark(digest, f"{kind} {len(parts)}")
    for part in parts:
        _add(digest, part)
