"""Polynomials with rational coefficients whose indeterminates are expressions.

A chain function is known by its expression, so a polynomial on a chain (``def:pfaffian-function``)
is a sum of monomials in expressions.  Indeterminates without parameters, such as log(2), are real
constants and count nothing in the degree.  Exponents may be rational: normal forms need roots.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any, TypeAlias

from certune.pfaffian.expressions.expression import Expression, as_expression, constant
from certune.pfaffian.expressions.graph import structural_key

Monomial: TypeAlias = "tuple[tuple[Expression, int | Fraction], ...]"


class Polynomial:
    """An immutable polynomial.

    Parameters
    ----------
    terms : mapping of monomial to coefficient
        A monomial is a tuple of pairs (indeterminate, exponent), in a fixed order.
    """

    __slots__ = ("_hash", "terms")

    def __init__(self, terms: Mapping[Monomial, Fraction]) -> None:
        self.terms = {monomial: c for monomial, c in terms.items() if c}
        self._hash: int | None = None

    @classmethod
    def constant(cls, value: Fraction | int) -> Polynomial:
        """Return a constant."""
        return cls({(): Fraction(value)})

    @classmethod
    def of(cls, indeterminate: Expression, exponent: int | Fraction = 1) -> Polynomial:
        """Return a power of one indeterminate."""
        return cls({((indeterminate, exponent),): Fraction(1)})

    def signed_parts(self) -> tuple[Polynomial, Polynomial]:
        """Return P and N with positive coefficients such that this polynomial is P - N."""
        positive = {m: c for m, c in self.terms.items() if c > 0}
        negative = {m: -c for m, c in self.terms.items() if c < 0}
        return Polynomial(positive), Polynomial(negative)

    def __add__(self, other: Polynomial) -> Polynomial:
        terms = dict(self.terms)
        for monomial, coefficient in other.terms.items():
            terms[monomial] = terms.get(monomial, Fraction(0)) + coefficient
        return Polynomial(terms)

    def __sub__(self, other: Polynomial) -> Polynomial:
        return self + other.scaled(Fraction(-1))

    def __mul__(self, other: Polynomial) -> Polynomial:
        terms: dict[Monomial, Fraction] = {}
        for first, a in self.terms.items():
            for second, b in other.terms.items():
                monomial = times(first, second)
                terms[monomial] = terms.get(monomial, Fraction(0)) + a * b
        return Polynomial(terms)

    def __pow__(self, exponent: int) -> Polynomial:
        result, square = Polynomial.constant(1), self
        while exponent:
            if exponent & 1:
                result = result * square
            exponent >>= 1
            if exponent:
                square = square * square
        return result

    def scaled(self, factor: Fraction) -> Polynomial:
        """Return the polynomial times a number."""
        return Polynomial({monomial: c * factor for monomial, c in self.terms.items()})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Polynomial) and self.terms == other.terms

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self.terms.items()))
        return self._hash

    @property
    def is_zero(self) -> bool:
        """Whether this is the zero polynomial."""
        return not self.terms

    @property
    def number(self) -> Fraction | None:
        """The value of a rational constant, else None."""
        if not self.terms:
            return Fraction(0)
        return self.terms.get(()) if len(self.terms) == 1 else None

    @property
    def is_constant(self) -> bool:
        """Whether no indeterminate depends on a parameter."""
        return not any(item.parameters for item in self.indeterminates)

    @property
    def indeterminates(self) -> list[Expression]:
        """The indeterminates that occur, in a fixed order."""
        found = {item for monomial in self.terms for item, _ in monomial}
        return sorted(found, key=structural_key)

    @property
    def degree(self) -> int:
        """Total degree in the indeterminates that depend on parameters; 0 for constants."""
        return max((int(degree_of(monomial)) for monomial in self.terms), default=0)

    def leading_coefficient(self) -> Fraction:
        """Coefficient of the largest monomial, 0 for the zero polynomial."""
        if not self.terms:
            return Fraction(0)
        return self.terms[max(self.terms, key=graded)]

    def partial(self, indeterminate: Expression) -> Polynomial:
        """Return the formal derivative in one indeterminate."""
        terms: dict[Monomial, Fraction] = {}
        for monomial, coefficient in self.terms.items():
            for position, (item, power) in enumerate(monomial):
                if item is indeterminate:
                    rest = ((item, power - 1),) if power != 1 else ()
                    key = monomial[:position] + rest + monomial[position + 1 :]
                    terms[key] = terms.get(key, Fraction(0)) + coefficient * power
        return Polynomial(terms)

    def to_expression(self, names: Mapping[Expression, Expression] | None = None) -> Expression:
        """Return the polynomial as an expression, its indeterminates renamed if so wished."""
        total = constant(0)
        for monomial, coefficient in self.terms.items():
            product = constant(coefficient)
            for item, power in monomial:
                base = item if names is None else names.get(item, item)
                product = product * base ** as_expression(power)
            total = total + product
        return total

    def __repr__(self) -> str:
        return f"Polynomial({self.to_expression()})"


def times(first: Monomial, second: Monomial) -> Monomial:
    """Return the product of two monomials."""
    if not first:
        return second
    if not second:
        return first
    powers = dict(first)
    for item, power in second:
        powers[item] = powers.get(item, 0) + power
    return monomial_of(powers.items())


def monomial_of(powers: Iterable[tuple[Expression, int | Fraction]]) -> Monomial:
    """Return the monomial with these powers."""
    return tuple(
        sorted((pair for pair in powers if pair[1]), key=lambda pair: structural_key(pair[0]))
    )


def degree_of(monomial: Monomial) -> int | Fraction:
    """Return the degree of a monomial; constants count nothing."""
    return sum(power for item, power in monomial if item.parameters)


def graded(monomial: Monomial) -> Any:
    """Key of the order of monomials by degree, then lexicographically.

    The order is the same in every process, and multiplying by a monomial keeps it.
    """
    rank = [(_Reversed(structural_key(item)), power) for item, power in monomial]
    return degree_of(monomial), rank


class _Reversed:
    """A key in reverse order: an indeterminate that comes first counts as larger."""

    __slots__ = ("key",)

    def __init__(self, key: tuple[int, str]) -> None:
        self.key = key

    def __lt__(self, other: _Reversed) -> bool:
        return other.key < self.key

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Reversed) and self.key == other.key
