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

from certune.pfaffian.expressions import operations as op
from certune.pfaffian.expressions.expression import Expression, apply
from certune.pfaffian.expressions.graph import postorder
from certune.pfaffian.expressions.polynomials import Monomial, Polynomial, monomial_of

_MOST_TERMS = 3000
_LARGEST_POWER = 64
_LONGEST_FACTORISATION = 128


class _TooLarge(Exception):
    """The normal form is out of reach."""


Factors = dict[Polynomial, int]


class _Quotient(NamedTuple):
    """A numerator over a product of powers of polynomials, kept factored to stay small."""

    top: Polynomial
    bottom: Factors

    @property
    def denominator(self) -> Polynomial:
        """The denominator multiplied out."""
        result = _ONE
        for factor, power in self.bottom.items():
            for _ in range(power):
                result = _times(result, factor)
        return result

    def same_as(self, other: _Quotient) -> bool:
        """Tell whether two quotients are equal, by multiplying crosswise."""
        return _times(self.top, other.denominator) == _times(other.top, self.denominator)


_ONE = Polynomial.constant(1)
_WHOLE = _Quotient(_ONE, {})


def is_zero(node: Expression) -> bool:
    """Tell whether an expression is proved to vanish identically; False proves nothing."""
    if node.value is not None:
        return node.value == 0
    # Without rewriting, tanh, sigmoid and softplus stay what they are, which keeps forms small.
    for rewriting in (False, True):
        try:
            if _NormalForms(rewriting).of(node).top.is_zero:
                return True
        except _TooLarge:
            continue
    return False


class _NormalForms:
    """Normal forms that share their generators."""

    def __init__(self, rewriting: bool) -> None:
        self._rewriting = rewriting
        self._known: dict[Expression, _Quotient] = {}
        self._logarithms: list[tuple[_Quotient, Expression]] = []
        self._opaque: list[tuple[op.Operation, _Quotient, Expression]] = []
        # Roots: generator u^(1/m) stands as a fractional power of an indeterminate for u.
        self._roots: dict[Expression, _Quotient] = {}
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
                Polynomial.of(item) if item.value is None else Polynomial.constant(item.value), {}
            )
        arguments = [self._known[argument] for argument in item.arguments]
        if item.operation is op.INTEGER_POWER:
            return self._integer_power(arguments[0], int(item.arguments[1].value))  # type: ignore[arg-type]
        if item.operation in _REWRITTEN and not self._rewriting:
            return self._opaque_function(item.operation, arguments[0])
        rule = _RULES.get(item.operation)
        if rule is None:  # a declared function, of which nothing is known but its derivative
            return self._opaque_function(item.operation, *arguments)
        return rule(self, *arguments)

    def add(self, u: _Quotient, v: _Quotient) -> _Quotient:
        """Sum of two quotients over the least common product of their factors."""
        common = dict(u.bottom)
        for factor, power in v.bottom.items():
            common[factor] = max(common.get(factor, 0), power)
        tops = []
        for quotient in (u, v):
            missing = {f: power - quotient.bottom.get(f, 0) for f, power in common.items()}
            tops.append(_times(quotient.top, _Quotient(_ONE, missing).denominator))
        return self._settled(_Quotient(tops[0] + tops[1], common))

    def subtract(self, u: _Quotient, v: _Quotient) -> _Quotient:
        """Difference of two quotients."""
        return self.add(u, _Quotient(v.top.scaled(Fraction(-1)), v.bottom))

    def multiply(self, u: _Quotient, v: _Quotient) -> _Quotient:
        """Product of two quotients."""
        bottom = dict(u.bottom)
        for factor, power in v.bottom.items():
            bottom[factor] = bottom.get(factor, 0) + power
        return self._settled(_Quotient(_times(u.top, v.top), bottom))

    def divide(self, u: _Quotient, v: _Quotient) -> _Quotient:
        """Quotient of two quotients."""
        return self.multiply(u, self._inverse(v))

    def _integer_power(self, u: _Quotient, power: int) -> _Quotient:
        if abs(power) > _LARGEST_POWER:
            raise _TooLarge
        result = _WHOLE
        for _ in range(abs(power)):
            result = self.multiply(result, u)
        return result if power >= 0 else self._inverse(result)

    def _inverse(self, u: _Quotient) -> _Quotient:
        if u.top.is_zero:
            raise ZeroDivisionError("an expression that vanishes identically is a divisor")
        if len(u.top.terms) == 1:
            ((monomial, coefficient),) = u.top.terms.items()
            if all(item in self._exponents for item, _ in monomial):
                powers = monomial_of((item, -power) for item, power in monomial)
                top = Polynomial({powers: 1 / coefficient})
                return _Quotient(_times(top, u.denominator), {})
        leading = u.top.leading_coefficient()
        return _Quotient(u.denominator.scaled(1 / leading), {u.top.scaled(1 / leading): 1})

    def _settled(self, u: _Quotient) -> _Quotient:
        """Carry whole powers out of roots, (u^(1/m))^m = u, in numerator and denominator."""
        carried = self._carried(u.top)
        if carried is not None:
            return self._settled(
                self.multiply(_Quotient(carried.top, u.bottom), _Quotient(_ONE, carried.bottom))
            )
        for factor, power in u.bottom.items():
            carried = self._carried(factor)
            if carried is not None:
                rest = {f: p for f, p in u.bottom.items() if f != factor}
                inverse = self._integer_power(self._inverse(carried), power)
                return self.multiply(_Quotient(u.top, rest), inverse)
        return u

    def _carried(self, value: Polynomial) -> _Quotient | None:
        """The polynomial with roots below the first power; None if they are already."""
        wholes: dict[Expression, int] = {}
        for monomial in value.terms:
            for item, power in monomial:
                if item in self._roots and power >= 1:
                    wholes[item] = max(wholes.get(item, 0), int(power))
        if not wholes:
            return None
        if max(wholes.values()) > _LARGEST_POWER:
            raise _TooLarge
        total, common = Polynomial({}), _WHOLE
        for item, most in wholes.items():
            own = {factor: power * most for factor, power in self._roots[item].bottom.items()}
            common = self.multiply(common, _Quotient(_ONE, own))
        for monomial, coefficient in value.terms.items():
            powers = dict(monomial)
            term = Polynomial.constant(coefficient)
            for item, most in wholes.items():
                whole = int(powers.get(item, 0))
                powers[item] = powers.get(item, 0) - whole
                base = self._roots[item]
                term = _times(term, _times(base.top**whole, base.denominator ** (most - whole)))
            rest = Polynomial({monomial_of(powers.items()): Fraction(1)})
            total = total + _times(term, rest)
        return _Quotient(total, common.bottom)

    def exp(self, u: _Quotient) -> _Quotient:
        """Exponential, one factor for each monomial of the exponent."""
        if u.bottom:
            return self._opaque_function(op.EXP, u)
        result = _WHOLE
        for monomial, coefficient in u.top.terms.items():
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
        return _Quotient(Polynomial.of(generator, coefficient), {})

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
        argument = base.top.to_expression() / base.denominator.to_expression()
        generator = apply(op.EXP, apply(op.LOG, argument))
        self._roots.setdefault(generator, base)
        return self._settled(_Quotient(Polynomial.of(generator, power), {}))

    def _scaled_log(self, base: _Quotient, power: Fraction) -> _Quotient:
        logarithm = self.log(base)
        return _Quotient(logarithm.top.scaled(power), logarithm.bottom)

    def log(self, u: _Quotient) -> _Quotient:
        """Logarithm: of numbers by their primes, otherwise a generator for each argument."""
        # Factors of the denominator have the leading coefficient 1.
        factor = u.top.leading_coefficient()
        if factor <= 0:
            factor = Fraction(1)
        top, growth = self._without_exponentials(u.top.scaled(1 / factor))
        total = self._log_of_number(factor) + growth
        if top != _ONE or u.bottom:
            total = total + self._log_generator(_Quotient(top, u.bottom))
        return _Quotient(total, {})

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
                    prime_quotient = _Quotient(Polynomial.constant(prime), {})
                    total = total + self._log_generator(prime_quotient).scaled(
                        Fraction(sign * power)
                    )
        return total

    def _log_generator(self, u: _Quotient) -> Polynomial:
        for known, generator in self._logarithms:
            if u.same_as(known):
                return Polynomial.of(generator)
            if _times(u.top, known.top) == _times(u.denominator, known.denominator):
                return Polynomial.of(generator).scaled(Fraction(-1))
        generator = apply(op.LOG, u.top.to_expression() / u.denominator.to_expression())
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
            if known_operation is operation and u.same_as(known):
                return _Quotient(Polynomial.of(generator), {})
        generator = apply(operation, u.top.to_expression() / u.denominator.to_expression())
        self._opaque.append((operation, u, generator))
        return _Quotient(Polynomial.of(generator), {})

    def atan(self, u: _Quotient) -> _Quotient:
        """Inverse tangent, a generator for each argument."""
        if u.top.is_zero:
            return u
        return self._opaque_function(op.ATAN, u)

    def sigmoid(self, u: _Quotient) -> _Quotient:
        """1 / (1 + exp(-u))."""
        growth = self.exp(u)
        return self.divide(growth, self.add(growth, _WHOLE))

    def tanh(self, u: _Quotient) -> _Quotient:
        """(exp(2u) - 1) / (exp(2u) + 1)."""
        square = self.exp(_Quotient(u.top.scaled(Fraction(2)), u.bottom))
        one = _WHOLE
        return self.divide(self.subtract(square, one), self.add(square, one))

    def softplus(self, u: _Quotient) -> _Quotient:
        """log(1 + exp(u))."""
        return self.log(self.add(self.exp(u), _WHOLE))


_REWRITTEN = (op.TANH, op.SIGMOID, op.SOFTPLUS)
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


def _times(first: Polynomial, second: Polynomial) -> Polynomial:
    if len(first.terms) * len(second.terms) > _MOST_TERMS:
        raise _TooLarge
    return first * second
