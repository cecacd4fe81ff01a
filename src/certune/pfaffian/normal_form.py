"""Proofs that an expression is identically zero.

Every operator is rewritten with quotients, exponentials, logarithms and roots; exponentials are
split into one factor for each monomial of the exponent, numbers into primes.  What is left is a
quotient of polynomials in such generators, and the expression is zero if its numerator is.  A
non-zero numerator proves nothing: generators may satisfy relations that are not looked for.  The
test is complete for rational functions and, by the linear independence of radicals of primes
(Besicovitch 1940), for sums of real powers of rationals.

All identities used hold wherever both sides are defined: log(c u) = log c + log u for numbers
c > 0, exp(u + v) = exp(u) exp(v), u^v = exp(v log u), and (u^(1/m))^m = u.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

from flint import fmpz

from certune.pfaffian import operations as op
from certune.pfaffian.expressions import Expression, apply, postorder
from certune.pfaffian.polynomials import Monomial, Polynomial, monomial_of

_MOST_TERMS = 3000
_LARGEST_POWER = 64
_LONGEST_FACTORISATION = 128


class _TooLarge(Exception):
    """The normal form is out of reach."""


class _Quotient(NamedTuple):
    top: Polynomial
    bottom: Polynomial


_ONE = Polynomial.constant(1)


def is_zero(node: Expression) -> bool:
    """Tell whether an expression is proved to vanish identically; False proves nothing."""
    if node.value is not None:
        return node.value == 0
    try:
        return _NormalForms().of(node).top.is_zero
    except _TooLarge:
        return False


class _NormalForms:
    """Normal forms that share their generators."""

    def __init__(self) -> None:
        self._known: dict[Expression, _Quotient] = {}
        self._logarithms: list[tuple[_Quotient, Expression]] = []
        self._opaque: list[tuple[op.Operation, _Quotient, Expression]] = []
        # Roots: generator u^(1/m) stands as a fractional power of an indeterminate for u.
        self._roots: dict[Expression, Polynomial] = {}
        self._exponents: dict[Expression, Monomial] = {}

    def of(self, node: Expression) -> _Quotient:
        """Return the normal form of an expression."""
        for item in postorder([node]):
            if item not in self._known:
                self._known[item] = self._rule(item)
        return self._known[node]

    def _rule(self, item: Expression) -> _Quotient:
        if item.operation is None:
            return _Quotient(
                Polynomial.of(item) if item.value is None else Polynomial.constant(item.value), _ONE
            )
        arguments = [self._known[argument] for argument in item.arguments]
        if item.operation is op.INTEGER_POWER:
            return self._integer_power(arguments[0], int(item.arguments[1].value))  # type: ignore[arg-type]
        return _RULES[item.operation](self, *arguments)

    def add(self, u: _Quotient, v: _Quotient) -> _Quotient:
        """Sum of two quotients."""
        if u.bottom == v.bottom:
            return _Quotient(u.top + v.top, u.bottom)
        top = self._product(u.top, v.bottom) + self._product(v.top, u.bottom)
        return _Quotient(top, self._product(u.bottom, v.bottom))

    def subtract(self, u: _Quotient, v: _Quotient) -> _Quotient:
        """Difference of two quotients."""
        return self.add(u, _Quotient(v.top.scaled(Fraction(-1)), v.bottom))

    def multiply(self, u: _Quotient, v: _Quotient) -> _Quotient:
        """Product of two quotients."""
        return _Quotient(self._product(u.top, v.top), self._product(u.bottom, v.bottom))

    def divide(self, u: _Quotient, v: _Quotient) -> _Quotient:
        """Quotient of two quotients."""
        return self.multiply(u, self._inverse(v))

    def _integer_power(self, u: _Quotient, power: int) -> _Quotient:
        if abs(power) > _LARGEST_POWER:
            raise _TooLarge
        result = _Quotient(_ONE, _ONE)
        for _ in range(abs(power)):
            result = self.multiply(result, u)
        return result if power >= 0 else self._inverse(result)

    def _inverse(self, u: _Quotient) -> _Quotient:
        if u.top.is_zero:
            raise ZeroDivisionError("an expression that vanishes identically is a divisor")
        if len(u.top.terms) == 1 and u.bottom == _ONE:
            ((monomial, coefficient),) = u.top.terms.items()
            if all(item in self._exponents for item, _ in monomial):
                powers = monomial_of((item, -power) for item, power in monomial)
                return _Quotient(Polynomial({powers: 1 / coefficient}), _ONE)
        return _Quotient(u.bottom, u.top)

    def _product(self, first: Polynomial, second: Polynomial) -> Polynomial:
        if len(first.terms) * len(second.terms) > _MOST_TERMS:
            raise _TooLarge
        return self._reduced(first * second)

    def _reduced(self, value: Polynomial) -> Polynomial:
        """Carry whole powers out of roots: (u^(1/m))^m = u."""
        total = Polynomial({})
        clean: dict[Monomial, Fraction] = {}
        for monomial, coefficient in value.terms.items():
            carried = _ONE
            powers = []
            for item, power in monomial:
                base = self._roots.get(item)
                whole = 0 if base is None else power // 1
                if whole:
                    assert base is not None
                    if whole > _LARGEST_POWER:
                        raise _TooLarge
                    carried = self._product(carried, base ** int(whole))
                powers.append((item, power - whole))
            rest = monomial_of(powers)
            if carried == _ONE:
                clean[rest] = clean.get(rest, Fraction(0)) + coefficient
            else:
                total = total + self._product(carried, Polynomial({rest: coefficient}))
        return total + Polynomial(clean)

    def exp(self, u: _Quotient) -> _Quotient:
        """Exponential, one factor for each monomial of the exponent."""
        if u.bottom.number is None:
            return self._opaque_function(op.EXP, u)
        result = _Quotient(_ONE, _ONE)
        for monomial, coefficient in u.top.scaled(1 / u.bottom.number).terms.items():
            result = self.multiply(result, self._exponential(monomial, coefficient))
        return result

    def _exponential(self, monomial: Monomial, coefficient: Fraction) -> _Quotient:
        if len(monomial) == 1 and monomial[0][1] == 1:
            inner = self._argument_of_logarithm(monomial[0][0])
            if inner is not None:
                return self._real_power(inner, coefficient)
        argument = Polynomial({monomial: Fraction(1)}).to_expression()
        generator = apply(op.EXP, argument)
        self._exponents[generator] = monomial
        return _Quotient(Polynomial.of(generator, coefficient), _ONE)

    def _argument_of_logarithm(self, item: Expression) -> _Quotient | None:
        for argument, generator in self._logarithms:
            if generator is item:
                return argument
        return None

    def _real_power(self, base: _Quotient, power: Fraction) -> _Quotient:
        if power < 0:
            return self._inverse(self._real_power(base, -power))
        if power.denominator == 1:
            return self._integer_power(base, int(power))
        if base.bottom.number is None:
            return self._opaque_function(op.EXP, self._scaled_log(base, power))
        argument = base.top.scaled(1 / base.bottom.number)
        generator = apply(op.EXP, apply(op.LOG, argument.to_expression()))
        self._roots.setdefault(generator, argument)
        return _Quotient(self._reduced(Polynomial.of(generator, power)), _ONE)

    def _scaled_log(self, base: _Quotient, power: Fraction) -> _Quotient:
        logarithm = self.log(base)
        return _Quotient(logarithm.top.scaled(power), logarithm.bottom)

    def log(self, u: _Quotient) -> _Quotient:
        """Logarithm: of numbers by their primes, otherwise a generator for each argument."""
        a, b = u.top.leading_coefficient(), u.bottom.leading_coefficient()
        factor = a / b if a else Fraction(1)
        if factor <= 0:
            factor = Fraction(1)
        top, growth = self._without_exponentials(u.top.scaled(1 / factor))
        bottom, decay = self._without_exponentials(u.bottom)
        total = self._log_of_number(factor) + growth - decay
        if top == bottom:
            return _Quotient(total, _ONE)
        return _Quotient(total + self._log_generator(_Quotient(top, bottom)), _ONE)

    def _without_exponentials(self, value: Polynomial) -> tuple[Polynomial, Polynomial]:
        """Divide by the exponentials common to all terms; return the rest and their exponent."""
        exponent = Polynomial({})
        for item in value.indeterminates:
            if item in self._exponents:
                power = min(dict(monomial).get(item, 0) for monomial in value.terms)
                value = value * Polynomial.of(item, -power) if power else value
                exponent = exponent + Polynomial({self._exponents[item]: Fraction(power)})
        return value, exponent

    def _log_of_number(self, value: Fraction) -> Polynomial:
        total = Polynomial({})
        for part, sign in ((value.numerator, 1), (value.denominator, -1)):
            if part.bit_length() > _LONGEST_FACTORISATION:
                factors = [(part, 1)]
            else:
                factors = [(int(p), int(k)) for p, k in fmpz(part).factor()]
            for prime, power in factors:
                if prime > 1:
                    prime_quotient = _Quotient(Polynomial.constant(prime), _ONE)
                    total = total + self._log_generator(prime_quotient).scaled(
                        Fraction(sign * power)
                    )
        return total

    def _log_generator(self, u: _Quotient) -> Polynomial:
        for known, generator in self._logarithms:
            if self._product(u.top, known.bottom) == self._product(known.top, u.bottom):
                return Polynomial.of(generator)
            if self._product(u.top, known.top) == self._product(known.bottom, u.bottom):
                return Polynomial.of(generator).scaled(Fraction(-1))
        generator = apply(op.LOG, u.top.to_expression() / u.bottom.to_expression())
        self._logarithms.append((u, generator))
        return Polynomial.of(generator)

    def power(self, u: _Quotient, v: _Quotient) -> _Quotient:
        """Real power, exp(v log u)."""
        return self.exp(self.multiply(v, self.log(u)))

    def sqrt(self, u: _Quotient) -> _Quotient:
        """Square root, exp(log(u) / 2)."""
        if u.top.is_zero:
            return u
        return self.exp(self._scaled_log(u, Fraction(1, 2)))

    def _opaque_function(self, operation: op.Operation, u: _Quotient) -> _Quotient:
        for known_operation, known, generator in self._opaque:
            if known_operation is operation and (
                self._product(u.top, known.bottom) == self._product(known.top, u.bottom)
            ):
                return _Quotient(Polynomial.of(generator), _ONE)
        generator = apply(operation, u.top.to_expression() / u.bottom.to_expression())
        self._opaque.append((operation, u, generator))
        return _Quotient(Polynomial.of(generator), _ONE)

    def atan(self, u: _Quotient) -> _Quotient:
        """Inverse tangent, a generator for each argument."""
        if u.top.is_zero:
            return u
        return self._opaque_function(op.ATAN, u)

    def sigmoid(self, u: _Quotient) -> _Quotient:
        """1 / (1 + exp(-u))."""
        growth = self.exp(u)
        return self.divide(growth, self.add(growth, _Quotient(_ONE, _ONE)))

    def tanh(self, u: _Quotient) -> _Quotient:
        """(exp(2u) - 1) / (exp(2u) + 1)."""
        square = self.exp(_Quotient(u.top.scaled(Fraction(2)), u.bottom))
        one = _Quotient(_ONE, _ONE)
        return self.divide(self.subtract(square, one), self.add(square, one))

    def softplus(self, u: _Quotient) -> _Quotient:
        """log(1 + exp(u))."""
        return self.log(self.add(self.exp(u), _Quotient(_ONE, _ONE)))


_RULES: dict[op.Operation, Callable[..., _Quotient]] = {
    op.ADD: _NormalForms.add,
    op.SUBTRACT: _NormalForms.subtract,
    op.MULTIPLY: _NormalForms.multiply,
    op.DIVIDE: _NormalForms.divide,
    op.POWER: _NormalForms.power,
    op.EXP: _NormalForms.exp,
    op.LOG: _NormalForms.log,
    op.SQRT: _NormalForms.sqrt,
    op.ATAN: _NormalForms.atan,
    op.TANH: _NormalForms.tanh,
    op.SIGMOID: _NormalForms.sigmoid,
    op.SOFTPLUS: _NormalForms.softplus,
}
