"""Everything that is checked of a certificate, in order."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from certune_check.algorithms.linkage import SCORES, UNDER, Linkage, Rule
from certune_check.algorithms.shelf import SHELF
from certune_check.certificate import Certificate, Function, check_claims, demand
from certune_check.decisions import Program, Refuted, prove_at, prove_within
from certune_check.instances import Points, decoded, fingerprint
from certune_check.numbers import PARAMETER, Number, Unsupported, number
from certune_check.programs import user_function, with_own_classes


class Report(NamedTuple):
    """What was proved."""

    certificate: Certificate
    unchecked: list[str]

    def __str__(self) -> str:
        own, (low, high) = self.certificate, map(float, self.certificate.domain)
        bound = f"at most {float(own.upper_bound):.6g} is possible"
        what = "optimal" if own.best_value == own.upper_bound else bound
        moving = " and ".join(name for name, step in own.direction.items() if any(step))
        accepted = (
            f"{own.name}accepted: best mean utility {float(own.best_value):.6g} on "
            f"{len(own.functions)} of {len(own.fingerprints)} instances, {what}, for {moving} in "
            f"[{low:.6g}, {high:.6g}]"
        )
        return "\n".join([accepted, *(f"not checked: {each}" for each in self.unchecked)])


def check(certificate: Certificate, instances: list[Any], function: str | None = None) -> Report:
    """Check all claims of a certificate; the first one that fails raises `Refuted`.

    `function` is ``file.py:name``: the program, or the utility of linkage, if it is a user's own.
    """
    demand(
        len(instances) == len(certificate.fingerprints),
        f"the certificate is about {len(certificate.fingerprints)} instances, got {len(instances)}",
    )
    instances = _in_order(instances, certificate.fingerprints)
    parameters, unchecked = _parameters(certificate), ["the fingerprint of the family"]
    is_linkage = certificate.family.get("family") == "Linkage"
    try:
        make, slack = (_linkage if is_linkage else _program)(certificate, parameters, function)
    except (TypeError, ValueError, ArithmeticError, LookupError, AttributeError) as error:
        raise Refuted(f"the family is not described as it should be: {error!r}") from None
    check_claims(certificate)
    if function is not None:
        unchecked = [f"that {function} is the function that was tuned, and asks for no types"]
    if slack:
        unchecked.append(f"digits of the utility below {float(slack):.2g}")
    for place, dual in enumerate(certificate.functions):
        try:
            _prove(make(instances[place]), dual, slack)
        except Refuted as error:
            raise Refuted(f"{certificate.name}instance {place}: {error}") from None
    return Report(certificate, unchecked)


def _in_order(instances: list[Any], fingerprints: list[str]) -> list[Any]:
    """The instances in the order of the certificate, which has unfinished ones last."""
    named: dict[str, list[Any]] = {}
    for instance in instances:
        named.setdefault(fingerprint(instance), []).append(instance)
    ordered = []
    for place, own in enumerate(fingerprints):
        known = isinstance(own, str) and bool(named.get(own))
        demand(known, f"instance {place} of the certificate is missing, or changed")
        ordered.append(named[own].pop())
    return ordered


def _prove(program: Program, dual: Function, slack: Fraction) -> None:
    """Prove every piece at its ends and in between, and every gap; points first, which are fast."""
    pieces = list(zip(dual.starts, dual.stops, dual.values, strict=True))
    for start, stop, value in pieces:
        for t in {start, stop, (start + stop) / 2}:
            prove_at(program, t, value - slack, value + slack)
    for start, stop, value in pieces:
        if start < stop:
            prove_within(program, (start, stop), value - slack, value + slack)
    for stop, start, (low, high) in zip(dual.stops, dual.starts[1:], dual.bounds, strict=False):
        prove_within(program, (stop, start), low - slack, high + slack)


def _parameters(certificate: Certificate) -> dict[str, list[Number]]:
    """The parameters as numbers of t, the coordinate of the segment."""
    origin, direction = certificate.origin, certificate.direction
    shapes = [{name: len(value) for name, value in point.items()} for point in (origin, direction)]
    demand(shapes[0] == shapes[1], "origin and direction of the segment do not fit")
    demand(any(any(value) for value in direction.values()), "the segment does not move")
    return {
        name: [
            number(start) + step * PARAMETER
            for start, step in zip(origin[name], direction[name], strict=True)
        ]
        for name in origin
    }


def _linkage(
    certificate: Certificate, parameters: dict[str, list[Number]], function: str | None
) -> tuple[Callable[[Points], Program], Fraction]:
    family, slack = certificate.family, Fraction(0)
    kind, fixed, weights = (family.get(name) for name in ("kind", "alpha", "weights"))
    demand(kind in ("power-mean", "min-max", "product", "energy"), f"no kind of linkage: {kind!r}")
    demand(isinstance(fixed, list) and len(fixed) > 0, "the exponents are not given")
    alphas: list[Number] = []
    infinite = 0
    for place, own in enumerate(list(fixed or [])):
        name = f"alpha_{place}" if kind == "product" else "alpha"
        moves = isinstance(own, list)
        demand(moves == (name in parameters), f"the segment does not fit the exponent {name}")
        if moves:
            _check_range(certificate, name, own)
        elif math.isinf(value := float(own)):
            if kind == "product":
                raise Unsupported("infinite exponents of product linkage")
            infinite = 1 if value > 0 else -1
        alphas += parameters[name] if moves else [number(0 if infinite else value)]
    tuned = weights == "tune"
    demand(tuned == ("weights" in parameters), "the segment does not fit the weights")
    demand(weights is None or tuned or _are_weights(weights), f"no weights: {weights!r}")
    if tuned:
        line = certificate.origin["weights"], certificate.direction["weights"], certificate.domain
        whole = [Fraction(1), Fraction(0)], [Fraction(-1), Fraction(1)], (Fraction(0), Fraction(1))
        alone = [Fraction(1)], [Fraction(0)], certificate.domain
        demand(line in (whole, alone), "the segment does not cover all weights")
    score = SCORES.get(str(family.get("utility")))
    if score is None or function is not None:
        if function is None:
            raise Unsupported("a utility of your own needs --function file.py:name")
        score = _own_score(function)
    elif family.get("utility") == "normalized-mutual-info":
        slack = UNDER

    def make(points: Any) -> Program:
        demand(isinstance(points, Points), "linkage needs files of distances (.npz)")
        n = len(points.distances)
        shares = weights if isinstance(weights, list) else [1.0 / n] * n
        own = parameters["weights"] if tuned else [number(share) for share in shares]
        demand(len(alphas if kind == "product" else own) == n, f"an instance has {n} metrics")
        rule = Rule(str(kind), alphas, own, infinite)
        return Linkage(points, rule, str(family.get("objective")), score)

    return make, slack


def _are_weights(shares: object) -> bool:
    """Tell whether these are finite numbers, none negative and one positive."""
    if not isinstance(shares, list) or not all(isinstance(own, float) for own in shares):
        return False
    return all(math.isfinite(own) and own >= 0 for own in shares) and max(shares, default=0) > 0


def _check_range(certificate: Certificate, name: str, ends: list[Any]) -> None:
    """Check that a parameter is the coordinate itself, over the range that the family has."""
    line = certificate.origin[name], certificate.direction[name], certificate.domain
    right = line == ([0], [1], tuple(map(Fraction, ends))) and {*map(type, ends)} == {float}
    demand(right, f"the segment does not cover the range {ends} of {name}")


def _own_score(function: str) -> Callable[..., Fraction]:
    own, _ = user_function(function)

    def score(target: tuple[int, ...], clusters: tuple[frozenset[int], ...]) -> Fraction:
        labels = np.zeros(len(target), dtype=np.int64)
        for place, cluster in enumerate(sorted(clusters, key=min)):
            labels[list(cluster)] = place
        return Fraction(own(np.array(target, dtype=np.int64), labels))

    return score


def _program(
    certificate: Certificate, parameters: dict[str, list[Number]], function: str | None
) -> tuple[Callable[[Any], Program], Fraction]:
    family = certificate.family
    values = {name: own[0] if len(own) == 1 else tuple(own) for name, own in parameters.items()}
    options = family.get("options")
    settings, steps = family.get("settings", {}), family.get("steps")
    values = {name: decoded(own, 0) for name, own in settings.items()} | values
    if function is not None:
        program, defined = user_function(function)

        def run(x: Any) -> Any:
            return program(x, _stepped(values, *steps) if steps else values)

        # A float stands for the quotient next to it: 0.8 for 4/5.
        sizes = (abs(value) for own in certificate.functions for value in own.values)
        return lambda x: partial(run, with_own_classes(x, defined)), max(sizes) / 2**50
    demand(not settings and not steps, "a program of the shelf has no discrete parameters")
    kind = str(family.get("family") or "this family")
    if kind not in SHELF:
        raise Unsupported(f"{kind} is not known: give its program as --function file.py:name")
    demand(isinstance(options, dict), "the options of the program are not given")
    shelf, options = SHELF[kind], dict(options or {})
    return lambda x: partial(shelf, x, values, **options), Fraction(0)


def _stepped(values: dict[str, Any], name: str, first: Any, last: int | None = None) -> Any:
    """The values with the whole number next to a place, halves go up; or that entry of a list."""
    low, high = (0, len(first) - 1) if last is None else (first, last)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if 2 * values[name] < 2 * middle + 1 else (middle + 1, high)
    return {**values, name: decoded(first[low], 0) if last is None else low}
