"""Numbers that depend on one parameter t, in a normal form that shows which are equal.

A number is a sum of terms, rational coefficient times monomial. A monomial is a product of atoms
with exponents: a whole number b > 1, or e, to the power p + q t; t itself or a function of other
numbers, such as log(1 + t), to a whole power. So ``3 * 2**t - 6 * 2**(t - 1)`` has no terms: it is
zero because its form says so, not because it is small.

What a comparison of two numbers gives depends on t. It is asked of `Number.decide`, which the
module `decisions` sets before it runs a program.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache, cached_property, total_ordering
from typing import Any

from flint import arb, fmpq, fmpz

# An atom is a tuple with its kind first. Kinds are numbers, whose hashes are the same in every
# process. A rate is a sum of q log b over bases b, the logarithmic derivative of powers b^(q t).
T, E = (0,), (1,)
WHOLE, EXP, LOG, INVERSE, POWER, RATE = range(2, 8)
Atom = tuple[Any, ...]
Exponent = tuple[Fraction, Fraction]  # p + q t
Monomial = frozenset[tuple[Atom, Exponent]]
Key = frozenset[tuple[Monomial, Fraction]]

ONE: Monomial = frozenset()
ZERO = Fraction(0)
# Larger whole numbers are not taken apart into primes, and powers with more bits not worked out.
LARGEST_FACTORED = 2**40
MOST_BITS = 20_000
MOST_TERMS = 4_000


class Unsupported(Exception):
    """The checker cannot follow this, so that it proves nothing."""


class Impossible(Exception):
    """The answers that a run was given contradict each other, so that it belongs to no t."""


@total_ordering
class Number:
    """A sum of terms; arithmetic is exact, comparisons are decided at the current place."""

    decide: Callable[[Number], int]  # the sign, -1, 0 or 1
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, terms: dict[Monomial, Fraction]) -> None:
        if len(terms) > MOST_TERMS:
            raise Unsupported(f"a number has more than {MOST_TERMS} terms")
        self.terms = {monomial: factor for monomial, factor in terms.items() if factor}

    @property
    def key(self) -> Key:
        """Equal exactly if two numbers have the same form."""
        return frozenset(self.terms.items())

    @property
    def constant(self) -> Fraction | None:
        """The value, if it is rational by its form."""
        if not self.terms:
            return ZERO
        return self.terms.get(ONE) if len(self.terms) == 1 else None

    @cached_property
    def over_lead(self) -> tuple[Number, Key, int]:
        """The number over one of its terms, its key, and the sign of the factor taken out.

        Only powers of whole numbers and of e are taken out of a monomial, which are positive.
        """
        lead = min(self.terms, key=hash)
        positive = frozenset((atom, e) for atom, e in lead if atom == E or atom[0] == WHOLE)
        factor = self.terms[lead]
        made = self * Number({_inverse(positive)[0]: abs(1 / factor)})
        made = made if factor > 0 else -made
        return made, made.key, 1 if factor > 0 else -1

    def __add__(self, other: Any) -> Any:
        if (other := number(other)) is NotImplemented:
            return other
        terms = dict(self.terms)
        for monomial, factor in other.terms.items():
            terms[monomial] = terms.get(monomial, ZERO) + factor
        return Number(terms)

    def __mul__(self, other: Any) -> Any:
        if (other := number(other)) is NotImplemented:
            return other
        terms: dict[Monomial, Fraction] = {}
        for one, first in self.terms.items():
            for two, second in other.terms.items():
                monomial, factor = _product(one, two)
                terms[monomial] = terms.get(monomial, ZERO) + first * second * factor
        return Number(terms)

    def __truediv__(self, other: Any) -> Any:
        if (other := number(other)) is NotImplemented:
            return other
        if not other.sign():
            raise ZeroDivisionError("division by a number that is zero")
        return self * _reciprocal(other)

    def __pow__(self, other: Any) -> Any:
        other = number(other)
        return other if other is NotImplemented else power(self, other)

    def __neg__(self) -> Number:
        return Number({monomial: -factor for monomial, factor in self.terms.items()})

    def __sub__(self, other: Any) -> Any:
        other = number(other)
        return other if other is NotImplemented else self + -other

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def __rtruediv__(self, other: Any) -> Any:
        return number(other) / self

    def __rpow__(self, other: Any) -> Any:
        return power(other, self)

    __radd__, __rmul__ = __add__, __mul__

    def __abs__(self) -> Number:
        return self if self.sign() >= 0 else -self

    def sign(self) -> int:
        """The sign at the current place."""
        value = self.constant
        return Number.decide(self) if value is None else sign_of(value)

    def _against(self, other: Any) -> int:
        if (made := number(other)) is NotImplemented:
            raise TypeError(f"a number cannot be compared with {other!r}")
        return int((self - made).sign())

    def __lt__(self, other: Any) -> bool:
        return self._against(other) < 0

    def __eq__(self, other: Any) -> bool:
        return number(other) is not NotImplemented and self._against(other) == 0

    def __bool__(self) -> bool:
        return self.sign() != 0

    def __float__(self) -> float:
        raise Unsupported("the program turns a number that depends on the parameter into a float")

    __int__ = __index__ = __round__ = __floor__ = __ceil__ = __trunc__ = __float__

    def derivative(self) -> Any:
        """The derivative in t: each monomial times the derivative of its logarithm."""
        total = number(0)
        for monomial, factor in self.terms.items():
            rates = frozenset((atom, q) for atom, (_, q) in monomial if q)
            slope = _atom(RATE, rates) if rates else number(0)
            for atom, (p, _) in monomial:
                slope += p * _slope_of_logarithm(atom)
            total += Number({monomial: factor}) * slope
        return total

    def at(self, t: Fraction) -> Any:
        """The number at a rational t."""
        total = number(0)
        for monomial, factor in self.terms.items():
            product = number(factor)
            for atom, (p, q) in monomial:
                product *= power(_at(atom, t), p + q * t) if atom != E else exp(p + q * t)
            total += product
        return total

    def enclose(self, t: arb, known: dict[Any, arb]) -> arb:
        """A ball that contains the values for all t of a ball; `known` keeps those of monomials."""
        total = arb(0)
        for monomial, factor in self.terms.items():
            if monomial not in known:
                known[monomial] = _enclosed(monomial, t, known)
            total += ball(factor) * known[monomial]
        return total


def number(value: Any) -> Any:
    """A plain number as it is, without rounding; NotImplemented for anything else."""
    if isinstance(value, Number):
        return value
    if hasattr(value, "item") and getattr(value, "ndim", 1) == 0:
        value = value.item()
    if isinstance(value, (int, float, Fraction)):
        return Number({ONE: Fraction(value)})
    return NotImplemented


def sign_of(value: Fraction) -> int:
    """-1, 0 or 1."""
    return (value > 0) - (value < 0)


def ball(value: Fraction) -> arb:
    """A ball around a rational number."""
    return arb(fmpq(value.numerator, value.denominator))


def _atom(*parts: Any) -> Number:
    return Number({frozenset([(parts, (Fraction(1), ZERO))]): Fraction(1)})


PARAMETER = _atom(*T)


def _product(one: Monomial, two: Monomial) -> tuple[Monomial, Fraction]:
    """The product of two monomials; whole powers of whole numbers become a factor."""
    if not one or not two:
        return one or two, Fraction(1)
    exponents = dict(one)
    for atom, (p, q) in two:
        first = exponents.get(atom, (ZERO, ZERO))
        exponents[atom] = first[0] + p, first[1] + q
    return _folded(exponents)


def _folded(exponents: dict[Atom, Exponent]) -> tuple[Monomial, Fraction]:
    factor = Fraction(1)
    for atom, (p, q) in exponents.items():
        if atom[0] == WHOLE and (whole := math.floor(p)):
            if abs(whole) * atom[1].bit_length() > MOST_BITS:
                raise Unsupported("a power has too many digits")
            factor *= Fraction(atom[1]) ** whole
            exponents[atom] = p - whole, q
    return frozenset((atom, own) for atom, own in exponents.items() if any(own)), factor


def _inverse(monomial: Monomial) -> tuple[Monomial, Fraction]:
    return _folded({atom: (-p, -q) for atom, (p, q) in monomial})


def _reciprocal(x: Number) -> Number:
    """One over a number; balls are not finite where that is zero."""
    if len(x.terms) != 1:
        return _atom(INVERSE, x.key)
    ((monomial, factor),) = x.terms.items()
    turned, more = _inverse(monomial)
    return Number({turned: more / factor})


@cache
def _factors(value: int) -> tuple[tuple[int, int], ...]:
    """Whole numbers > 1 and exponents with the given product: primes, if it is not large."""
    twos = (value & -value).bit_length() - 1
    odd = value >> twos
    rest = [(odd, 1)] if odd > LARGEST_FACTORED else fmpz(odd).factor()
    return (*[(2, twos)][: min(twos, 1)], *((int(p), int(e)) for p, e in rest))


def _signed_factors(value: Fraction) -> list[tuple[int, int]]:
    below = [(base, -exponent) for base, exponent in _factors(value.denominator)]
    return [*_factors(value.numerator), *below]


def exp(x: Any) -> Number:
    """The power of e."""
    affine = _affine(x := number(x))
    if affine is None:
        return _atom(EXP, x.key)
    return Number({frozenset([(E, affine)] if any(affine) else []): Fraction(1)})


def log(x: Any) -> Number:
    """The natural logarithm; that of a rational number is a sum of those of primes."""
    if (x := number(x)).sign() <= 0:
        raise ValueError("the logarithm of a number that is not positive")
    if x.constant is None:
        return _atom(LOG, x.key)
    parts = [e * _atom(LOG, number(base).key) for base, e in _signed_factors(x.constant)]
    return sum(parts, number(0))  # type: ignore[no-any-return]


def power(x: Any, y: Any) -> Number:
    """The power y of x."""
    x, y = number(x), number(y)
    exponent, affine = y.constant, _affine(y)
    if exponent is not None and exponent.denominator == 1 and abs(exponent) <= 64:
        base = x if exponent >= 0 else 1 / x
        return math.prod([base] * abs(int(exponent)), start=number(1))  # type: ignore[no-any-return]
    if x.sign() <= 0:
        if x.sign() == 0 and y.sign() > 0:
            return number(0)  # type: ignore[no-any-return]
        raise ValueError("a power of a number that is not positive")
    if x.constant is None or affine is None:
        return _atom(POWER, x.key, y.key)
    p, q = affine
    exponents: dict[Atom, Exponent] = {}
    for base, e in _signed_factors(x.constant):
        exponents[WHOLE, base] = e * p, e * q
    monomial, factor = _folded(exponents)
    return Number({monomial: factor})


def sqrt(x: Any) -> Number:
    """The square root."""
    return power(x, Fraction(1, 2))


def tanh(x: Any) -> Any:
    """The hyperbolic tangent."""
    return 1 - 2 / (exp(2 * number(x)) + 1)


def sigmoid(x: Any) -> Any:
    """1 / (1 + exp(-x))."""
    return 1 / (1 + exp(-number(x)))


def softplus(x: Any) -> Number:
    """log(1 + exp(x))."""
    return log(1 + exp(x))


def argmax(values: Sequence[Any]) -> int:
    """The index of the largest value, the first one of several."""
    best = 0
    for index in range(1, len(values)):
        if values[index] > values[best]:
            best = index
    return best


def argsort(values: Sequence[Any], *, descending: bool = False) -> list[int]:
    """The indices in the order of their values; equal values keep their order."""
    return sorted(range(len(values)), key=lambda i: values[i], reverse=descending)


def _affine(x: Number) -> Exponent | None:
    """(p, q) if x is p + q t with rational p and q."""
    (moving,) = PARAMETER.terms
    if not set(x.terms) <= {ONE, moving}:
        return None
    return x.terms.get(ONE, ZERO), x.terms.get(moving, ZERO)


def _slope_of_logarithm(atom: Atom) -> Any:
    """The derivative of the logarithm of an atom."""
    kind = atom[0]
    if atom == E or kind in (WHOLE, RATE):
        return number(0)
    if atom == T:
        return _reciprocal(PARAMETER)
    x = Number(dict(atom[1]))
    relative = x.derivative() * _reciprocal(x)
    if kind == EXP:
        return x.derivative()
    if kind == INVERSE:
        return -relative
    if kind == LOG:
        return relative * _reciprocal(_atom(LOG, atom[1]))
    y = Number(dict(atom[2]))
    return y.derivative() * _atom(LOG, atom[1]) + y * relative


def _at(atom: Atom, t: Fraction) -> Any:
    """The value of an atom at a rational t."""
    kind = atom[0]
    if atom == T or kind == WHOLE:
        return t if atom == T else atom[1]
    if kind == RATE:
        logs = [q * (number(1) if base == E else log(base[1])) for base, q in atom[1]]
        return sum(logs, number(0))
    x = Number(dict(atom[1])).at(t)
    if kind == POWER:
        return power(x, Number(dict(atom[2])).at(t))
    return exp(x) if kind == EXP else log(x) if kind == LOG else 1 / x


def _enclosed(monomial: Monomial, t: arb, known: dict[Any, arb]) -> arb:
    """Enclose a monomial: all its powers with t in the exponent as one exponential."""
    fixed, rate, product, is_power = arb(0), arb(0), arb(1), False
    for atom, (p, q) in monomial:
        if atom == E or atom[0] == WHOLE:
            base, is_power = arb(1) if atom == E else arb(atom[1]).log(), True
            fixed, rate = fixed + ball(p) * base, rate + ball(q) * base
        else:
            if atom not in known:
                known[atom] = _enclosed_atom(atom, t, known)
            product *= known[atom] ** int(p)
    return product * (fixed + rate * t).exp() if is_power else product


def _enclosed_atom(atom: Atom, t: arb, known: dict[Any, arb]) -> arb:
    kind = atom[0]
    if atom == T:
        return t
    if kind == RATE:
        logs = [ball(q) * (arb(1) if base == E else arb(base[1]).log()) for base, q in atom[1]]
        return sum(logs, arb(0))
    x = Number(dict(atom[1])).enclose(t, known)
    if kind == POWER:
        return (Number(dict(atom[2])).enclose(t, known) * x.log()).exp()
    return x.exp() if kind == EXP else x.log() if kind == LOG else 1 / x
