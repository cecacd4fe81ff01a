"""Fingerprints of plain data: hashes of content, the same in every process and Python."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Set
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

import numpy as np

from certune.errors import InputError

# Data that contains itself, or is nested without end in sight, has no fingerprint.
DEEPEST = 100


def content_hash(value: Any) -> str:
    """Return a hash of numbers, strings, arrays and containers or dataclasses of them.

    An object with a string attribute ``fingerprint`` counts by that; the field ``name`` of a
    dataclass does not count.

    Raises
    ------
    InputError
        If the value has other parts, or is nested too deeply.
    """
    content = Content()
    content.add(value)
    return content.hexdigest()


def attribute_of(value: Any, name: str) -> Any:
    """Return an attribute of a foreign object, None if it has none, whatever it raises instead."""
    try:
        return getattr(value, name, None)
    except Exception:  # an object with a `__getattr__` of its own may raise anything
        return None


def _layout(dtype: np.dtype[Any]) -> str:
    """Say what the bytes of an array mean, which for fields is more than their number."""
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        return f"{_layout(base)} {shape}"
    if dtype.fields is None:
        return dtype.str
    fields = {name: (_layout(each[0]), each[1]) for name, each in dtype.fields.items()}
    return f"{dtype.itemsize} {fields}"


class Content:
    """A hash that values are added to, one after the other."""

    def __init__(self) -> None:
        self._digest = hashlib.sha256()
        self._depth = 0

    def hexdigest(self) -> str:
        """Return the hash of what was added so far."""
        return self._digest.hexdigest()

    def mark(self, text: str) -> None:
        """Add a word that says what follows; what comes before and after cannot run into it."""
        written = text.encode("utf-8", "surrogatepass")
        self._digest.update(b"%d:" % len(written) + written)

    def add(self, value: Any) -> None:
        """Add a value with everything in it."""
        with self._deeper(value) as allowed:
            if allowed and not self._added(value):
                self.other(value)

    def _added(self, value: Any) -> bool:
        """Add plain data; return whether the value is of that kind."""
        own = None if isinstance(value, type) else attribute_of(value, "fingerprint")
        if isinstance(own, str):
            self.mark(f"fingerprint {own}")
        elif isinstance(value, np.generic) and value.dtype != object:
            # A float64 is a float, whichever of the two a computation gave.
            plain = value.item()
            if value.dtype.kind == "f" and value.dtype != np.float64:
                self.mark(value.dtype.str)  # which computes with fewer digits
            self._add_atom(plain if isinstance(plain, (bool, int, float, str, bytes)) else value)
        elif value is None or isinstance(value, (bool, int, float, str, bytes, Fraction)):
            self._add_atom(value)
        elif isinstance(value, np.ndarray):
            self._add_array(value)
        elif isinstance(value, (tuple, list)):
            names = " ".join(getattr(value, "_fields", ()))
            self.add_all(f"{type(value).__name__} {names}".strip(), value)
        elif isinstance(value, Mapping):
            pairs = [(self.alone(key), key, part) for key, part in value.items()]
            pairs.sort(key=lambda pair: pair[0])
            self.add_all("mapping", [part for _, key, item in pairs for part in (key, item)])
        elif isinstance(value, Set):
            self.mark(f"set {sorted(self.alone(part) for part in value)}")
        elif dataclasses.is_dataclass(value) and not isinstance(value, type):
            self.add_all(type(value).__name__, self.fields(value))
        else:
            return False
        return True

    def _add_atom(self, value: Any) -> None:
        kind = type(value).__name__
        if isinstance(value, (int, Fraction)):  # decimal digits of large integers are refused
            top, bottom = value.as_integer_ratio()
            self.mark(f"{kind} {top:x}/{bottom:x}")
        elif isinstance(value, np.generic):
            self.mark(f"{value.dtype.str} {value.tobytes().hex()}")
        else:
            self.mark(f"{kind} {value!a}")

    def _add_array(self, array: np.ndarray[Any, Any]) -> None:
        if array.dtype.hasobject:
            self.add_all(f"objects {array.shape}", array.ravel().tolist())
            return
        if isinstance(array, np.ma.MaskedArray):
            self.mark("masked")
            self._add_array(np.ma.getmaskarray(array))
        if isinstance(array, np.matrix):  # whose product is another one
            self.mark("matrix")
        self.mark(f"array {_layout(array.dtype)} {array.shape}")
        self._digest.update(np.ascontiguousarray(array).tobytes())

    def add_all(self, kind: str, parts: Iterable[Any]) -> None:
        """Add the parts of a container."""
        listed = list(parts)
        self.mark(f"{kind} {len(listed)}")
        for part in listed:
            self.add(part)

    def alone(self, value: Any) -> str:
        """Return the hash of a value by itself, for parts that have no order."""
        content = type(self)()
        content._depth = self._depth
        content.add(value)
        return content.hexdigest()

    def fields(self, value: Any) -> list[Any]:
        """Return the fields of a dataclass that count."""
        names = [field.name for field in dataclasses.fields(value) if field.name != "name"]
        return [getattr(value, name) for name in names]

    def other(self, value: Any) -> None:
        """Add what is not plain data."""
        raise InputError(
            f"the content of {value!r} of type {type(value).__name__} has no fingerprint; use "
            "numbers, strings, arrays, tuples, dataclasses of these, or give the instance an "
            "attribute `fingerprint`"
        )

    def too_deep(self, value: Any) -> None:
        """Deal with data that is nested too deeply."""
        raise InputError(
            f"a {type(value).__name__} nested deeper than {DEEPEST} levels, or in itself, has no "
            "fingerprint; make it flatter, or give the instance an attribute `fingerprint`"
        )

    @contextmanager
    def _deeper(self, value: Any) -> Iterator[bool]:
        self._depth += 1
        try:
            if self._depth > DEEPEST:
                self.too_deep(value)
            yield self._depth <= DEEPEST
        finally:
            self._depth -= 1
