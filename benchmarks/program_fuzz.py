"""Random programs, traced and run on plain Python numbers: do they ever differ?

Programs are drawn from a grammar with comparisons in every position in which Python allows a value:
as operands, keys, indices, members of sets and lists, arguments of sorted and max, in chains and in
variables. Each is traced along its parameter, and run by Python alone on floats and on fractions,
at random points, at the numbers that stand in the program, and next to its breakpoints.

    python benchmarks/program_fuzz.py --points 100000 --seed 0
"""

from __future__ import annotations

import argparse
import math
import random
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np

import certune as ct
from certune.deadline import TimeIsUp, now, until
from certune.pfaffian import exp, sqrt

LOW, HIGH = -2.0, 2.0
# Powers of two that fractions may have in them.
LONGEST_EXPONENT = 1_000_000
POINTS_PER_PROGRAM = 200
PATIENCE = 20.0  # seconds for the function of a program
RELATIONS = ("<", "<=", ">", ">=", "==", "!=")


class Grammar:
    """Draws the source of programs; numbers stand in it as ``@k@``, k eighths."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._names = ["a"]

    def program(self) -> str:
        """Return the body of a function of ``a`` that returns a number in [0, 1]."""
        self._names = ["a"]
        lines: list[str] = []
        for number in range(self._rng.randint(1, 3)):
            lines += self._statement(f"x{number}")
            self._names.append(f"x{number}")
        lines.append(f"return {self._utility()}")
        return "\n".join(lines)

    def _utility(self) -> str:
        conditions = [self.condition(2) for _ in range(3)]
        return self._rng.choice(
            [
                f"(({conditions[0]}) + ({conditions[1]}) + ({conditions[2]})) / 3",
                f"[0, 0.25, 1][({conditions[0]}) + ({conditions[1]})]",
                f"{{True: 0.75, False: 0.125}}[{conditions[0]}]",
                f"min(1, max(0, math.floor({self.number(2)})))",
                f"min(2, max(0, round({self.number(2)}))) / 2",
                f"int({conditions[0]}) * 0.5 + bool({self.number(1)}) * 0.25",
                f"1 if ({conditions[0]}) == True else 0.5 * ({conditions[1]})",
                f"len({{{conditions[0]}, {conditions[1]}, {conditions[2]}}}) / 2",
                f"abs(({conditions[0]}) - ({conditions[1]}))",
            ]
        )

    def _statement(self, name: str) -> list[str]:
        number, condition = self.number, self.condition
        return self._rng.choice(
            [
                lambda: [f"{name} = {number(2)}"],
                lambda: [f"{name} = {condition(2)}"],
                lambda: [
                    f"if {condition(2)}:",
                    f"    {name} = {number(2)}",
                    "else:",
                    f"    {name} = {number(1)}",
                ],
                lambda: [
                    f"{name} = {number(1)}",
                    "for k in range(3):",
                    f"    if {name} {self._relation()} k - a:",
                    f"        {name} = {name} + {condition(1)}",
                ],
                lambda: [
                    "try:",
                    f"    {name} = {number(1)} / ({number(1)})",
                    "except ZeroDivisionError:",
                    f"    {name} = {self._literal()}",
                ],
                lambda: [
                    f"{name} = {number(1)}",
                    "k = 0",
                    f"while k < 4 and {name} {self._relation()} {self._literal()} + k:",
                    "    k += 1",
                    f"{name} = {name} + k",
                ],
            ]
        )()

    def _literal(self) -> str:
        return f"@{self._rng.randint(-16, 16)}@"

    def _relation(self) -> str:
        return self._rng.choice(RELATIONS)

    def number(self, depth: int) -> str:
        """Return an expression whose value is a number or a bool."""
        if depth == 0 or self._rng.random() < 0.2:
            return self._rng.choice([self._literal(), *self._names, "a"])
        n = lambda: self.number(depth - 1)  # noqa: E731
        c = lambda: self.condition(depth - 1)  # noqa: E731
        return self._rng.choice(
            [
                lambda: f"({n()} + {n()})",
                lambda: f"({n()} - {n()})",
                lambda: f"({n()} * {n()})",
                lambda: f"({n()} / (1 + abs({n()})))",
                lambda: f"({n()} / {n()})",
                lambda: f"(-{n()})",
                lambda: f"abs({n()})",
                lambda: f"({n()}) ** 2",
                lambda: f"(({c()}) * {n()})",
                lambda: f"({n()} + ({c()}))",
                lambda: f"({n()} if {c()} else {n()})",
                lambda: f"max({n()}, {n()})",
                lambda: f"min({n()}, {n()}, {n()})",
                lambda: f"sorted([{n()}, {n()}, {n()}])[1]",
                lambda: f"sorted([{n()}, {n()}, {n()}], key=lambda v: v {self._relation()} a)[0]",
                lambda: f"max([{n()}, {n()}, {n()}], key=lambda v: abs(v - {n()}))",
                lambda: f"[{n()}, {n()}][{c()}]",
                lambda: f"{{True: {n()}, False: {n()}}}[{c()}]",
                lambda: f"int({c()})",
                lambda: f"sum([{c()}, {c()}, {c()}])",
                lambda: f"math.floor({n()})",
                lambda: f"round({n()})",
                lambda: f"({n()} // {self._positive()})",
                lambda: f"({n()} % {self._positive()})",
                lambda: f"len({{{c()}, {c()}}})",
                lambda: f"(({c()}) or {n()})",
                lambda: f"({n()} and {n()})",
                lambda: f"exp({self._bounded()})",
                lambda: f"sqrt(abs({n()}))",
            ]
        )()

    def _positive(self) -> str:
        return f"@{self._rng.randint(1, 16)}@"

    def _bounded(self) -> str:
        return f"({self.number(0)} / 4)"

    def condition(self, depth: int) -> str:
        """Return an expression whose value is a bool."""
        n = lambda: self.number(max(depth - 1, 0))  # noqa: E731
        if depth == 0:
            return f"({n()} {self._relation()} {n()})"
        c = lambda: self.condition(depth - 1)  # noqa: E731
        return self._rng.choice(
            [
                lambda: f"({n()} {self._relation()} {n()})",
                lambda: f"({n()} {self._relation()} {n()})",
                lambda: f"({n()} < {n()} <= {n()})",
                lambda: f"({c()} and {c()})",
                lambda: f"({c()} or {c()})",
                lambda: f"(not {c()})",
                lambda: f"(({c()}) == ({c()}))",
                lambda: f"(({c()}) != True)",
                lambda: f"(({c()}) is False)",
                lambda: f"({n()} in ({self._literal()}, {self._literal()}))",
                lambda: f"(({c()}) in [{c()}, {c()}])",
                lambda: f"(({c()}) ^ ({c()}))",
                lambda: f"(({c()}) & ({c()}))",
                lambda: f"any([{c()}, {c()}])",
                lambda: f"all([{c()}, {c()}])",
                lambda: f"bool({n()})",
                lambda: f"(({c()}) + ({c()}) > 1)",
            ]
        )()


def compiled(body: str, literal: Callable[[int], str], names: dict[str, Any]) -> Callable[..., Any]:
    """Return the function of ``a`` with a body, its numbers written by `literal`."""
    parts = body.split("@")
    text = "".join(literal(int(part)) if place % 2 else part for place, part in enumerate(parts))
    source = "def program(a):\n" + "\n".join(f"    {line}" for line in text.splitlines())
    space: dict[str, Any] = {"math": math, **names}
    exec(source, space)
    return space["program"]  # type: ignore[no-any-return]


class BeyondOracle(Exception):
    """A number whose digits as a fraction would fill the memory."""


def _high(function: Any) -> Callable[[Any], Fraction]:
    def apply(x: Any) -> Fraction:
        value = Fraction(x)
        with mpmath.workdps(400):  # 1 + 5e-324 is not 1
            result = function(mpmath.mpf(value.numerator) / value.denominator)
            mantissa, exponent = result.man_exp
        if abs(exponent) > LONGEST_EXPONENT:
            raise BeyondOracle
        return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)

    return apply


@dataclass(frozen=True)
class Versions:
    """One program, three ways."""

    body: str
    traced: Callable[..., Any]
    on_floats: Callable[..., Any]
    on_fractions: Callable[..., Any]

    @classmethod
    def of(cls, body: str) -> Versions:
        """Compile a body for tracing, for floats and for fractions."""
        plain = {"exp": math.exp, "sqrt": math.sqrt}
        exact = {"exp": _high(mpmath.exp), "sqrt": _high(mpmath.sqrt), "F": Fraction}
        decimal = lambda k: f"({k / 8!r})"  # noqa: E731
        return cls(
            body,
            compiled(body, decimal, {"exp": exp, "sqrt": sqrt}),
            compiled(body, decimal, plain),
            compiled(body, lambda k: f"F({k}, 8)", exact),
        )


@dataclass
class Tally:
    """What was seen."""

    programs: int = 0
    points: int = 0
    different: list[str] = field(default_factory=list)
    refusals: Counter[str] = field(default_factory=Counter)
    counts: Counter[str] = field(default_factory=Counter)
    slowest: tuple[float, str] = (0.0, "")

    def report(self) -> str:
        """Return the tally as text."""
        seen = ", ".join(f"{key} {value}" for key, value in sorted(self.counts.items()))
        refused = ", ".join(f"{key} {value}" for key, value in sorted(self.refusals.items()))
        return (
            f"{self.programs} programs, {self.points} points: {len(self.different)} different\n"
            f"refused programs: {refused or 'none'}\nat points: {seen}\n"
            f"slowest program, {self.slowest[0]:.1f} s:\n{self.slowest[1]}"
        )


def run(seed: int, n_points: int) -> Tally:
    """Draw programs until so many points are compared."""
    rng, tally = random.Random(seed), Tally()
    grammar = Grammar(rng)
    while tally.points < n_points:
        versions = Versions.of(grammar.program())
        tally.programs += 1
        started = time.perf_counter()
        check(versions, rng, tally)
        tally.slowest = max(tally.slowest, (time.perf_counter() - started, versions.body))
    return tally


def check(versions: Versions, rng: random.Random, tally: Tally) -> None:
    """Compare one program at many points."""
    family = ct.ProgramFamily(lambda _, p: versions.traced(p["a"]), ct.Real("a", LOW, HIGH))
    try:
        with until(now() + PATIENCE):
            dual = family.dual(None)
    except (ct.CertuneError, TimeIsUp) as error:
        # With the reason's first words, and whether Python itself has values everywhere. Pieces
        # without end, as those of floor(1 / a) at 0, end with the time.
        tally.refusals[f"{type(error).__name__}"] += 1
        tally.points += _refused_points(versions, family, error, rng, tally)
        return
    for t in _points(dual, rng):
        try:
            _compare(versions, family, dual, t, tally)
            tally.points += 1
        except BeyondOracle:
            tally.counts["beyond the oracle"] += 1


def _compare(versions: Versions, family: Any, dual: Any, t: float, tally: Tally) -> None:
    value = dual(t)
    exact = _outcome(versions.on_fractions, Fraction(t))
    floats = _outcome(versions.on_floats, t)
    if exact is None:
        tally.counts["without a value"] += 1
        if not np.isnan(value):
            tally.different.append(
                f"a = {t!r}: a value {value} where Python has none\n{versions.body}"
            )
        return
    if np.isnan(value):
        tally.counts["inside a bracket"] += 1
        lower, upper = (float(end) for end in dual.enclose_exact(t))
        agrees = lower - 1e-12 <= exact <= upper + 1e-12
    else:
        agrees = abs(value - exact) < 1e-12
    if floats is None or abs(floats - exact) > 1e-12:
        tally.counts["floats rounded another way"] += 1
    else:
        tally.counts["floats agree"] += 1
    # Where Python computes with numbers alone, as in 1 / -0.625, the program is one on floats.
    as_python = floats is not None and abs(float(family.run_exact(None, {"a": t})) - floats) < 1e-12
    if not agrees and not as_python:
        tally.different.append(
            f"a = {t!r}: {value} in {dual.enclose_exact(t)}, fractions {exact}, floats {floats}\n"
            f"{versions.body}"
        )
    reached = family.run_exact(None, {"a": t})
    if abs(float(reached) - exact) > 1e-12 and not as_python:
        tally.different.append(
            f"a = {t!r}: run_exact {reached}, fractions {exact}\n{versions.body}"
        )
    try:
        alarm = family.plain_disagreement(None, {"a": t}, reached)
    except (ZeroDivisionError, ValueError):
        tally.counts["floats have no value"] += 1
        return
    if alarm is not None:
        tally.different.append(f"a = {t!r}: false alarm {alarm}, exact {reached}\n{versions.body}")


def _refused_points(
    versions: Versions, family: Any, error: BaseException, rng: random.Random, tally: Tally
) -> int:
    """A refused program may still be run at points; there it must agree."""
    places = [rng.randint(-1024, 1024) / 512 for _ in range(20)]
    for t in places:
        try:
            exact = _outcome(versions.on_fractions, Fraction(t))
        except BeyondOracle:
            tally.counts["beyond the oracle"] += 1
            continue
        try:
            reached = float(family.run_exact(None, {"a": t}))
        except ct.CertuneError:
            tally.counts["refused at a point"] += 1
            continue
        if exact is None or abs(reached - exact) > 1e-12:
            tally.different.append(
                f"a = {t!r}: run_exact {reached}, fractions {exact} ({error})\n{versions.body}"
            )
    return len(places)


def _outcome(program: Callable[..., Any], a: Any) -> float | None:
    try:
        return float(program(a))
    except (ZeroDivisionError, ValueError, OverflowError):
        return None


def _points(dual: Any, rng: random.Random) -> list[float]:
    """Simple points, random points, the numbers of programs, and neighbours of breakpoints."""
    points = [rng.randint(-1024, 1024) / 512 for _ in range(POINTS_PER_PROGRAM // 2)]
    points += [rng.uniform(LOW, HIGH) for _ in range(POINTS_PER_PROGRAM // 4)]
    points += [k / 8 for k in range(-16, 17)]
    for low, high in dual.breakpoints.tolist()[:10]:
        points += [low, high, math.nextafter(low, -math.inf), math.nextafter(high, math.inf)]
    return [t for t in points if LOW <= t <= HIGH]


def main() -> None:
    """Run the campaign and print what was seen."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    started = time.perf_counter()
    tally = run(arguments.seed, arguments.points)
    print(tally.report())
    print(f"{time.perf_counter() - started:.0f} s, seed {arguments.seed}")
    for difference in tally.different[:5]:
        print("\n" + difference)
    raise SystemExit(bool(tally.different))


if __name__ == "__main__":
    main()
