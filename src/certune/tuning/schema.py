"""Reading JSON data that somebody else may have written: kinds and sizes before any arithmetic.

A number is a finite float, a fraction is written as ``"p/q"`` with a bounded number of digits, and
an object has exactly the fields that are expected. Whatever else comes is a `CertificateError`.
"""

from __future__ import annotations

import json
import re
import reprlib
from collections.abc import Collection, Iterable, Mapping
from fractions import Fraction
from typing import Any, NoReturn

from certune.aggregates import Criterion, aggregate_from
from certune.dual.codec import MOST_BITS, is_real
from certune.errors import CertificateError, InputError, ParameterError
from certune.space import Segment

# Decimal digits are converted in quadratic time; longer fractions are hexadecimal.
MOST_DECIMALS = 600
_DECIMAL = re.compile(rf"(-?\d{{1,{MOST_DECIMALS}}})(?:/(\d{{1,{MOST_DECIMALS}}}))?", re.ASCII)
_HEXADECIMAL = re.compile(
    rf"(-?0x[0-9a-f]{{1,{MOST_BITS // 4}}})/(0x[0-9a-f]{{1,{MOST_BITS // 4}}})", re.ASCII
)
LONGEST_TEXT = 1000
# A description of a family has at most so many parts.
MOST_PARTS = 1000


def written(number: Fraction) -> str:
    """Return a fraction as text, in decimal digits unless there are very many."""
    top, bottom = number.as_integer_ratio()
    if max(abs(top), bottom).bit_length() < 3 * MOST_DECIMALS:
        return str(number)
    return f"{top:#x}/{bottom:#x}"


def shown(value: object) -> str:
    """Return a value for a message: numbers and lists of any size become short."""
    if isinstance(value, Fraction):
        bits = max(abs(value.numerator), value.denominator).bit_length()
        return str(value) if bits <= 400 else f"(a fraction of {bits} bits)"
    return reprlib.repr(value)


def parsed(text: bytes) -> Any:
    """Return the data of a JSON text.

    Raises
    ------
    ValueError
        If this is no JSON, has a number that is not finite, the same name twice, or is nested
        too deeply.
    """
    try:
        return json.loads(
            text.decode("ascii"), parse_constant=_no_constant, object_pairs_hook=_no_name_twice
        )
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")


def _no_name_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise ValueError("it has a name twice")
    return made


def _is_plain(value: object) -> bool:
    """Tell whether JSON data are few finite numbers and short strings, in lists and mappings."""
    pending, seen = [value], 0
    while pending and seen <= MOST_PARTS:
        part = pending.pop()
        seen += 1
        if isinstance(part, dict):
            pending += [*part, *part.values()]
        elif isinstance(part, list):
            pending += part
        elif isinstance(part, str):
            if len(part) > LONGEST_TEXT:
                return False
        elif part is not None and type(part) is not bool and not is_real(part):
            return False
    return seen <= MOST_PARTS


def _fraction(value: object) -> Fraction | None:
    text = value if isinstance(value, str) else ""
    for pattern, base in ((_DECIMAL, 10), (_HEXADECIMAL, 16)):
        found = pattern.fullmatch(text)
        if found:
            bottom = int(found[2] or "1", base)
            return Fraction(int(found[1], base), bottom) if bottom else None
    return None


def criterion_data(criterion: Criterion) -> dict[str, Any]:
    """Return what is maximised as fields of JSON data; nothing for the mean without weights."""
    if criterion.is_plain:
        return {}
    weights = None if criterion.weights is None else [str(weight) for weight in criterion.weights]
    return {"aggregate": list(criterion.aggregate.code), "weights": weights}


def criterion_from(stored: Mapping[str, Any] | Fields, n_instances: int) -> Criterion:
    """Return the criterion of JSON data that may have its fields.

    Raises
    ------
    CertificateError
        If they are something else.
    """
    if "aggregate" not in stored and "weights" not in stored:
        return Criterion()
    known = {name: stored[name] if name in stored else None for name in ("aggregate", "weights")}
    fields = Fields(known, known, "a criterion")
    try:
        aggregate = aggregate_from(fields.texts("aggregate"))
        weights = None if known["weights"] is None else fields.texts("weights")
        made = Criterion.checked(aggregate, weights, n_instances)
    except (InputError, ParameterError) as error:
        raise CertificateError(f"what is maximised cannot be read: {error}") from None
    if criterion_data(made) != known:
        raise CertificateError(f"what is maximised is not in its usual form: {shown(known)}.")
    return made


def segment_data(segment: Segment) -> dict[str, Any]:
    """Return a segment as JSON data."""
    return {
        "origin": segment.origin,
        "direction": segment.direction,
        "low": segment.low,
        "high": segment.high,
    }


def segment_from(stored: object) -> Segment:
    """Return the segment of JSON data."""
    line = Fields(stored, ("origin", "direction", "low", "high"), "a segment")
    ends = line.number("low"), line.number("high")
    return Segment.line(line.point("origin"), line.point("direction"), *ends)


class Fields:
    """The fields of a JSON object, each read as what it has to be.

    Parameters
    ----------
    stored : object
        The data.
    names : collection of str
        The fields that it must have; no others are allowed.
    what : str
        What the object is, for messages.
    """

    def __init__(self, stored: object, names: Collection[str], what: str) -> None:
        if not isinstance(stored, dict) or set(stored) != set(names):
            found = sorted(stored) if isinstance(stored, dict) else stored
            raise CertificateError(
                f"{what} must have the fields {sorted(names)}, got {reprlib.repr(found)}."
            )
        self._stored = stored
        self._what = what

    def _refuse(self, name: str, expected: str) -> NoReturn:
        raise CertificateError(
            f"{name} of {self._what} must be {expected}, got {reprlib.repr(self._stored[name])}."
        )

    def __getitem__(self, name: str) -> Any:
        return self._stored[name]

    def __contains__(self, name: str) -> bool:
        return name in self._stored

    def text(self, name: str) -> str:
        """Return a short string."""
        value = self._stored[name]
        if not isinstance(value, str) or len(value) > LONGEST_TEXT:
            self._refuse(name, "a short string")
        return value

    def items(self, name: str) -> list[Any]:
        """Return a list."""
        value = self._stored[name]
        if not isinstance(value, list):
            self._refuse(name, "a list")
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        """Return a list of short strings."""
        values = self.items(name)
        if not all(isinstance(value, str) and len(value) <= LONGEST_TEXT for value in values):
            self._refuse(name, "a list of short strings")
        return tuple(values)

    def number(self, name: str) -> float:
        """Return a finite number."""
        value = self._stored[name]
        if not is_real(value):
            self._refuse(name, "a finite number")
        return float(value)

    def whole_numbers(self, name: str) -> tuple[int, ...]:
        """Return a list of small integers."""
        values = self.items(name)
        if not all(type(value) is int and abs(value) < 2**31 for value in values):
            self._refuse(name, "a list of small integers")
        return tuple(values)

    def fraction(self, name: str) -> Fraction:
        """Return a fraction."""
        return self._fractions(name, [self._stored[name]])[0]

    def fractions(self, name: str) -> tuple[Fraction, ...]:
        """Return a list of fractions."""
        return self._fractions(name, self.items(name))

    def _fractions(self, name: str, values: Iterable[Any]) -> tuple[Fraction, ...]:
        made = [_fraction(value) for value in values]
        if None in made:
            self._refuse(name, f"fractions like '1/2' of at most {MOST_BITS} bits")
        return tuple(number for number in made if number is not None)

    def point(self, name: str) -> dict[str, Any]:
        """Return a setting: numbers, or tuples of numbers, by name."""
        value = self._stored[name]
        if not isinstance(value, dict):
            self._refuse(name, "numbers by name")
        for entry in value.values():
            if not all(map(is_real, entry if isinstance(entry, list) else [entry])):
                self._refuse(name, "finite numbers by name")
        return {
            key: tuple(map(float, entry)) if isinstance(entry, list) else float(entry)
            for key, entry in value.items()
        }

    def description(self, name: str) -> dict[str, Any]:
        """Return numbers, strings and lists or mappings of them by name, of a bounded size."""
        value = self._stored[name]
        if not isinstance(value, dict) or not _is_plain(value):
            self._refuse(name, f"numbers and strings by name, at most {MOST_PARTS} of them")
        return value

    def notes(self, name: str) -> dict[int, str]:
        """Return short strings by whole numbers."""
        made = {}
        for pair in self.items(name):
            right = isinstance(pair, list) and len(pair) == 2 and type(pair[0]) is int
            if not right or not isinstance(pair[1], str) or len(pair[1]) > LONGEST_TEXT:
                self._refuse(name, "a list of numbers with short strings")
            made[pair[0]] = pair[1]
        return made

    def intervals(self, name: str) -> tuple[tuple[float, float], ...]:
        """Return a list of pairs of finite numbers."""
        for pair in self.items(name):
            if not isinstance(pair, list) or len(pair) != 2 or not all(map(is_real, pair)):
                self._refuse(name, "a list of pairs of finite numbers")
        return tuple((float(low), float(high)) for low, high in self.items(name))
