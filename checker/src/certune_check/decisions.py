"""What a program can return on an interval, and proofs that this lies within bounds.

A *place* is a rational point or the open interval between two of them. At a point a comparison is
decided by balls of growing precision, or by the normal form if both sides are equal. On an interval
a difference D has one sign if

* its enclosure for all t of the closed interval excludes zero, or
* its derivative has one sign, so that D is monotone, and D is not negative at the end where it is
  smallest, or not positive at the end where it is largest.

Where neither helps the answer is open, and the program is run once with each of the three possible
answers. The same difference has the same answer within one run. Every t of the place takes one of
these runs, so what it returns is among their results, of which some may belong to no t at all.
`prove_within` halves the interval until all results lie within bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

from flint import arb, ctx

from certune_check.numbers import Impossible, Key, Number, Unsupported, ball, number, sign_of

PRECISIONS = (64, 192, 1024, 4096)
ON_INTERVALS = 128
MOST_DERIVATIVES = 4
MOST_RUNS = 30
MOST_HALVINGS = 150
MOST_INTERVALS = 4000

Program = Callable[[], Any]


class Refuted(Exception):
    """A claim is false, or not proved by the checker."""


class Failed(Refuted):
    """The program raises an exception; on an interval perhaps in a run that belongs to no t."""


def simplest(low: Fraction, high: Fraction) -> Fraction:
    """The fraction with the smallest denominator in [low, high]: where ties like to be."""
    if low <= 0 <= high:
        return Fraction(0)
    if high < 0:
        return -simplest(-high, -low)
    whole = -(-low.numerator // low.denominator)
    if whole <= high:
        return Fraction(whole)
    return whole - 1 + 1 / simplest(1 / (high - whole + 1), 1 / (low - whole + 1))


class Place:
    """A point (low = high) or an open interval, and what was proved about signs there."""

    def __init__(self, low: Fraction, high: Fraction, proved: dict[Key, int] | None = None) -> None:
        self.low, self.high = low, high
        self.signs: dict[Key, int | None] = dict(proved or {})
        self._enclosed: dict[Any, arb] = {}
        self._all = ball(low).union(ball(high))

    def sign(self, x: Number) -> int | None:
        """The sign of a number everywhere at the place; None if that is open."""
        reduced, key, turned = x.over_lead
        if key not in self.signs:
            is_point = self.low == self.high
            self.signs[key] = (
                sign_at(reduced, self.low) if is_point else self._sign(reduced, MOST_DERIVATIVES)
            )
        sign = self.signs[key]
        return None if sign is None else turned * sign

    def _sign(self, x: Number, derivatives: int) -> int | None:
        """The sign on the interval, with the help of so many derivatives."""
        if x.constant is not None:
            return sign_of(x.constant)
        ctx.prec = ON_INTERVALS
        value = x.enclose(self._all, self._enclosed)
        if value > 0 or value < 0:
            return 1 if value > 0 else -1
        if not derivatives or not value.is_finite():
            return None
        derivative = x.derivative()
        slope: int | None = 0
        if derivative.terms:
            reduced, _, turned = derivative.over_lead
            slope = self._sign(reduced, derivatives - 1)
            slope = None if slope is None else turned * slope
        if slope is None:
            return None
        first, last = sign_at(x, self.low), sign_at(x, self.high)
        if first is None or last is None or slope == 0:
            return first if slope == 0 else None
        if slope * first >= 0:  # it grows away from zero
            return slope
        return -slope if slope * last <= 0 else None


def sign_at(x: Number, t: Fraction) -> int | None:
    """The sign at a rational point: by balls if it is not zero, by the normal form if it is."""
    for precision in PRECISIONS:
        ctx.prec = precision
        value = x.enclose(ball(t), {})
        if not value.is_finite():
            return None
        if value > 0 or value < 0:
            return 1 if value > 0 else -1
        if precision == PRECISIONS[1]:
            try:
                constant = x.at(t).constant
            except (ArithmeticError, ValueError, Unsupported):
                return None
            if constant is not None:
                return sign_of(constant)
    return None


class Answers:
    """Answers for one run: the sign where it is proved, else the next of the given choices."""

    def __init__(self, place: Place, choices: list[int]) -> None:
        self._place, self._choices = place, choices
        self._taken: dict[Key, int] = {}

    def __call__(self, x: Number) -> int:
        """The sign of a number that is not rational."""
        sign = self._place.sign(x)
        if sign is not None:
            return sign
        _, key, turned = x.over_lead
        if key not in self._taken:
            if len(self._taken) == len(self._choices):
                self._choices.append(-1)
            self._taken[key] = self._choices[len(self._taken)]
        return turned * self._taken[key]


def results(program: Program, place: Place) -> Iterator[Fraction]:
    """What the program can return at the place; perhaps more than it does."""
    choices: list[int] = []
    while True:
        Number.decide = Answers(place, choices)
        try:
            value = _utility(program(), place)
        except Impossible:
            value = None
        except Unsupported:
            raise
        except Exception as error:  # what a program of somebody else raises
            raise Failed(f"the program fails at {float(place.low)!r}: {error!r}") from error
        if value is not None:
            yield value
        while choices and choices[-1] == 1:
            choices.pop()
        if not choices:
            return
        choices[-1] += 1


def _utility(value: Any, place: Place) -> Fraction:
    made = number(value)
    if made is NotImplemented:
        raise Unsupported(f"the program returns {value!r}, which is no number")
    if made.constant is None and place.low == place.high:
        made = made.at(place.low)
    if made.constant is None:
        raise Unsupported("the utility varies on a piece, or is no rational number")
    return Fraction(made.constant)


def prove_at(program: Program, t: Fraction, low: Fraction, high: Fraction) -> None:
    """Prove that the program returns a value from low to high at t."""
    for value in results(program, Place(t, t)):
        if not low <= value <= high:
            raise Refuted(f"at {float(t)!r} the utility is {value}, not {_range(low, high)}")


def prove_within(
    program: Program, ends: tuple[Fraction, Fraction], low: Fraction, high: Fraction
) -> None:
    """Prove that the program returns values from low to high everywhere between two points."""
    pending: list[tuple[Place, int]] = [(Place(*ends), 0)]
    n_intervals = 0
    while pending:
        place, depth = pending.pop()
        n_intervals += 1
        if _is_within(program, place, low, high):
            continue
        a, b = place.low, place.high
        if depth == MOST_HALVINGS or n_intervals > MOST_INTERVALS:
            raise Refuted(
                f"between {float(a)!r} and {float(b)!r} it is not proved that the utility is "
                f"{_range(low, high)}"
            )
        middle = simplest(a + 3 * (b - a) / 8, b - 3 * (b - a) / 8)
        prove_at(program, middle, low, high)
        proved = {key: sign for key, sign in place.signs.items() if sign is not None}
        for part in (Place(middle, b, proved), Place(a, middle, proved)):
            pending.append((part, depth + 1))


def _is_within(program: Program, place: Place, low: Fraction, high: Fraction) -> bool:
    found = results(program, place)
    try:
        for n_runs, value in enumerate(found):
            if not low <= value <= high or n_runs == MOST_RUNS:
                return False
    except Failed:
        return False
    return True


def _range(low: Fraction, high: Fraction) -> str:
    return str(low) if low == high else f"from {low} to {high}"
