"""The certificate: read strictly, bound by its checksum, and what follows from its functions."""

from __future__ import annotations

import hashlib
import json
import math
import re
from bisect import bisect_right
from fractions import Fraction
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from certune_check.decisions import Refuted
from certune_check.instances import MOST_BYTES, BadFile
from certune_check.numbers import Unsupported

VERSION = 3
FIELDS = set(
    "format format_version family family_fingerprint instance_fingerprints best_value upper_bound "
    "segment best_region best_point duals failures checksum".split()
)
CHOICE = FIELDS - set("segment best_region best_point duals failures".split())
CHOICE |= {"best_alternative", "proofs"}
FUNCTION = set("starts stops numerators gap_lower gap_upper denominator name".split())
MOST_BITS = 2**17
_DECIMAL = re.compile(r"-?[0-9]{1,600}(/[0-9]{1,600})?")
_WHOLE = rf"0x[0-9a-f]{{1,{MOST_BITS // 4}}}"
_HEXADECIMAL = re.compile(rf"(-?{_WHOLE})(?:/({_WHOLE}))?")

Interval = tuple[Fraction, Fraction]


def demand(holds: bool, message: str, kind: type[Exception] = Refuted) -> None:
    """Refute the certificate with the message, or leave it unchecked, unless something holds."""
    if not holds:
        raise kind(message)


class Function(NamedTuple):
    """A piecewise constant function: values on closed pieces, bounds in the open gaps between."""

    starts: list[Fraction]
    stops: list[Fraction]
    values: list[Fraction]
    bounds: list[Interval]

    def on(self, low: Fraction, high: Fraction) -> tuple[Fraction, Fraction, bool]:
        """Bounds on an interval in one piece or gap, and whether it is in a piece."""
        piece = bisect_right(self.starts, low) - 1
        if high <= self.stops[piece]:
            return self.values[piece], self.values[piece], True
        return *self.bounds[piece], False


class Certificate(NamedTuple):
    """The claims; numbers are rational. Of several alternatives each has a name."""

    family: dict[str, Any]
    fingerprints: list[str]
    origin: dict[str, list[Fraction]]
    direction: dict[str, list[Fraction]]
    domain: Interval
    functions: list[Function]
    best_value: Fraction
    upper_bound: Fraction
    best_region: list[Interval]
    best_point: Fraction
    name: str = ""


def read_proofs(path: str) -> list[Certificate]:
    """The certificates of a file or of a run's folder, as `proofs_from` has them."""
    file = Path(path) / "certificate.json" if Path(path).is_dir() else Path(path)
    if file.stat().st_size > MOST_BYTES:
        raise BadFile(f"{path} has more than {MOST_BYTES} bytes")
    try:
        stored = json.loads(file.read_bytes().decode("ascii"), parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise Refuted(f"this is no certificate: {error}") from None
    return proofs_from(stored)


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")


def proofs_from(stored: Any) -> list[Certificate]:
    """The certificates of JSON data, one or those of several alternatives, the best of them first.

    Of an alternative without a proof no more is known than the largest utility, which is the same
    for all of them.
    """
    if not isinstance(stored, dict) or stored.get("format") != "certune choice certificate":
        return [certificate_from(stored)]
    _check_seal(stored, CHOICE)
    pairs = [_list(pair) for pair in _list(stored["proofs"])]
    demand(all(len(pair) == 2 for pair in pairs), "the proofs do not have names")
    pairs.sort(key=lambda pair: pair[0] != stored["best_alternative"])
    names = [str(pair[0]) for pair in pairs]
    listed = {str(name) for name in _list(_object(stored["family"]).get("alternatives"))}
    demand(sorted(names) == sorted(listed), "the alternatives are not those that have proofs")
    proved = names[:1] == [stored["best_alternative"]] and bool(pairs[0][1])
    demand(proved, "there is no proof for the best alternative")
    proofs = [certificate_from(own)._replace(name=f"{name}: ") for name, own in pairs if own]
    highest = {highest_utility(proof) for proof in proofs}
    demand(len(highest) == 1, "the alternatives have different ranges of utilities")
    bounds = [proof.upper_bound for proof in proofs] + [*highest] * (len(proofs) < len(names))
    claims = [_fraction(stored["best_value"]), _fraction(stored["upper_bound"])]
    found = [proofs[0].best_value, max(bounds), *proofs[0].fingerprints]
    follows = [*claims, *_list(stored["instance_fingerprints"])] == found
    demand(follows, "the claims do not follow from those about the alternatives")
    forms = {tuple(sorted(map(str, proof.fingerprints))) for proof in proofs}
    demand(len(forms) == 1, "alternatives that have their own forms of the instances", Unsupported)
    return proofs


def certificate_from(stored: Any) -> Certificate:
    """The certificate of JSON data about one family."""
    demand(isinstance(stored, dict), "this is no certificate")
    form, weighed = stored.get("format"), {"aggregate", "weights"} & set(stored)
    demand(form != "certune box certificate", "certificates over several parameters", Unsupported)
    demand(form == "certune certificate", "this is no certificate of certune")
    demand(not weighed, "only means without weights are checked by this program", Unsupported)
    _check_seal(stored, FIELDS)
    segment, family = _object(stored["segment"]), _object(stored["family"])
    demand(bool(family), "its family is not described", Unsupported)
    demand(set(segment) == {"origin", "direction", "low", "high"}, "the segment has other fields")
    domain = _real(segment["low"]), _real(segment["high"])
    functions = [_function(_object(dual), domain) for dual in _list(stored["duals"])]
    prints, failures = _list(stored["instance_fingerprints"]), _list(stored["failures"])
    demand(1 <= len(functions) <= len(prints), "there are not as many functions as instances")
    missing = range(len(functions), len(prints))
    wrong = [pair for pair in failures if len(_list(pair)) != 2 or pair[0] not in missing]
    demand(not wrong, "a failure of an instance that does not miss")
    region = [_list(pair) for pair in _list(stored["best_region"])]
    demand(all(len(pair) == 2 for pair in region), "the optimal set is not made of intervals")
    line = _point(segment["origin"]), _point(segment["direction"]), domain
    values = _fraction(stored["best_value"]), _fraction(stored["upper_bound"])
    best = [(_real(low), _real(high)) for low, high in region], _real(stored["best_point"])
    return Certificate(family, prints, *line, functions, *values, *best)


def _check_seal(stored: dict[str, Any], fields: set[str]) -> None:
    version = stored.get("format_version")
    demand(version == VERSION, f"format version {version!r}, expected {VERSION}", Unsupported)
    demand(set(stored) == fields, f"the fields are not {sorted(fields)}")
    content = {name: value for name, value in stored.items() if name != "checksum"}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    seal = hashlib.sha256(text.encode("ascii")).hexdigest()
    demand(stored["checksum"] == seal, "the checksum does not belong to the content")


def _list(value: Any) -> list[Any]:
    demand(isinstance(value, list), f"expected a list, got {str(value)[:80]}")
    return list(value)


def _object(value: Any) -> dict[str, Any]:
    demand(isinstance(value, dict), f"expected an object, got {str(value)[:80]}")
    return dict(value)


def _real(value: Any) -> Fraction:
    demand(type(value) is float and math.isfinite(value), f"no float: {str(value)[:80]}")
    return Fraction(value)


def _fraction(value: Any) -> Fraction:
    """A fraction "p/q", a hexadecimal one if it is long, or a whole number."""
    if type(value) is int and value.bit_length() <= MOST_BITS:
        return Fraction(value)
    text = value if isinstance(value, str) else ""
    try:
        if _DECIMAL.fullmatch(text):
            return Fraction(text)
        if match := _HEXADECIMAL.fullmatch(text):
            return Fraction(int(match[1], 16), int(match[2] or "1", 16))
    except ZeroDivisionError:
        pass
    raise Refuted(f"no number: {str(value)[:80]}")


def _point(value: Any) -> dict[str, list[Fraction]]:
    listed = {name: own if isinstance(own, list) else [own] for name, own in _object(value).items()}
    return {name: [_real(entry) for entry in own] for name, own in listed.items()}


def _function(stored: dict[str, Any], domain: Interval) -> Function:
    demand("coefficients" not in stored, "functions with smooth pieces", Unsupported)
    demand(set(stored) == FUNCTION, f"a function does not have {sorted(FUNCTION)}")
    denominator = [_fraction(value) for value in _list(stored["denominator"])]
    demand(len(denominator) == 1 and denominator[0] > 0, "a denominator is not one number > 0")
    starts, stops = ([_real(x) for x in _list(stored[name])] for name in ("starts", "stops"))
    values, lower, upper = (
        [_fraction(x) / denominator[0] for x in _list(stored[name])]
        for name in ("numerators", "gap_lower", "gap_upper")
    )
    lengths = [len(stops), len(values), len(lower) + 1, len(upper) + 1]
    demand({len(starts)} == {*lengths}, "a function has lists of other lengths")
    demand((starts[0], stops[-1]) == domain, "a function does not cover the domain")
    pairs = chain(zip(starts, stops, strict=True), zip(lower, upper, strict=True))
    between = zip(stops, starts[1:], strict=False)
    ordered = all(a <= b for a, b in pairs) and all(a < b for a, b in between)
    demand(ordered, "the pieces or bounds of a function are not in order")
    return Function(starts, stops, values, list(zip(lower, upper, strict=True)))


def highest_utility(certificate: Certificate) -> Fraction:
    """What an instance without a function may reach."""
    return _real((_list(certificate.family.get("utility_range")) or [None])[-1])


def check_claims(certificate: Certificate) -> None:
    """Check that best value, optimal set, best point and upper bound follow from the functions.

    The domain is cut at all ends of pieces into points and the open intervals between them. On each
    the mean has bounds; where no function has a gap it is known.
    """
    functions, n = certificate.functions, len(certificate.functions)
    ends = sorted({end for f in functions for end in (*f.starts, *f.stops)})
    cells = sorted([*((end, end) for end in ends), *pairwise(ends)])
    found = [[f.on(*cell) for f in functions] for cell in cells]
    lowers = [sum(bounds[0] for bounds in each) for each in found]
    known = [all(bounds[2] for bounds in each) for each in found]
    best = Fraction(max(lower for lower, is_known in zip(lowers, known, strict=True) if is_known))
    demand(certificate.best_value == best / n, "the best value does not follow")
    region: list[Interval] = []
    run: list[Interval] = []  # known cells in a row of cells that reach the best value
    for cell, lower, is_known in [
        *zip(cells, lowers, known, strict=True),
        ((best, best), best - 1, True),
    ]:
        if lower < best:
            region += [(run[0][0], run[-1][1])] if run else []
            run = []
        elif is_known:
            run.append(cell)
    demand(certificate.best_region == region, "the optimal set does not follow")
    point = certificate.best_point
    inside = any(low <= point <= high for low, high in region)
    attained = inside and sum(f.on(point, point)[0] for f in functions) >= best
    demand(attained, "the best value is not attained at the best point")
    highest = highest_utility(certificate)
    most = max(sum(bounds[1] for bounds in each) for each in found)
    n_all = len(certificate.fingerprints)
    bound = (most + (n_all - n) * highest) / Fraction(n_all)
    demand(certificate.upper_bound == bound, "the upper bound does not follow")
