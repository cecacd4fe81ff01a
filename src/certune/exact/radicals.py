"""Sign of a sum of real powers with integer coefficients, including the proof that it is zero.

A linkage comparison at one parameter is the sign of ``sum_i c_i prod_l b_il ** e_l`` with
integers c, positive rationals b and rational exponents e (every float is a rational number).
Balls settle the sign unless the sum vanishes.  Zero is decided by algebra: positive real
radicals, no two of which have a rational quotient, are linearly independent over the rationals
(Besicovitch 1940, Mordell 1953); so the sum is zero if and only if it is zero within every class
of terms with rational quotients.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import floor, gcd, lcm

import flint
from flint import arb, fmpq, fmpz

from certune.exact.precision import PRECISION_LOCK

FIRST_PRECISION = 96
LAST_PRECISION = 1 << 14
_LARGEST_EXPONENT = 1 << 12
_SMALL_EXPONENT = 1 << 6
_MOST_TERMS = 64


@dataclass(frozen=True)
class Radicals:
    """The number ``sum_i coefficients[i] * prod_l bases[i][l] ** exponents[l]``.

    With ``logarithm`` set it is ``sum_i coefficients[i] * sum_l exponents[l] * log bases[i][l]``,
    the comparison of geometric means.
    """

    coefficients: tuple[int, ...]
    bases: tuple[tuple[Fraction, ...], ...]
    exponents: tuple[Fraction, ...]
    logarithm: bool = False

    def enclose(self, precision: int) -> arb:
        """Ball that contains the number, computed with that many bits."""
        with PRECISION_LOCK, flint.ctx.workprec(precision):
            total = arb(0)
            exponents = [arb(_rational(e)) for e in self.exponents]
            for coefficient, bases in zip(self.coefficients, self.bases, strict=True):
                exponent = arb(0)
                for base, power in zip(bases, exponents, strict=True):
                    exponent += power * arb(_rational(base)).log()
                total += coefficient * (exponent if self.logarithm else exponent.exp())
            return total


def _rational(value: Fraction) -> fmpq:
    return fmpq(value.numerator, value.denominator)


def _ball_sign(value: arb) -> int | None:
    if value > 0:
        return 1
    if value < 0:
        return -1
    return None


def sign_of_radicals(number: Radicals) -> int | None:
    """Sign of the number: -1, 0, 1, or ``None`` if it could not be decided.

    Balls at the first precision, then the zero test, then balls with doubling precision.  Zero is
    unlikely and its test takes long if the exponents are long: then a few more balls come first.
    """
    precision = FIRST_PRECISION
    before_test = FIRST_PRECISION if _are_short(number.exponents) else 4 * FIRST_PRECISION
    while precision <= LAST_PRECISION:
        sign = _ball_sign(number.enclose(precision))
        if sign is not None:
            return sign
        if precision == before_test and is_zero(number):
            return 0
        precision *= 2
    return None


def _are_short(exponents: Sequence[Fraction]) -> bool:
    return max(map(abs, _factored_exponents(exponents)[0]), default=0) <= _LARGEST_EXPONENT


def is_zero(number: Radicals) -> bool:
    """Is the number proved to be zero? ``False`` may also mean that the proof is out of reach.

    Exponents are written ``g p_l / q`` with small p.  As g is coprime to q, a quotient of two
    terms is rational exactly if the quotient of their products ``prod_l b_l ** p_l`` is a perfect
    q-th power.
    """
    if not _are_short(number.exponents):
        return _cancels(number)
    powers, common, root = _factored_exponents(number.exponents)
    if number.logarithm:
        return _product_is_one(number, powers)
    sums: list[tuple[fmpq, fmpq]] = []  # representative product, rational sum of its class
    for coefficient, bases in zip(number.coefficients, number.bases, strict=True):
        product = _power_product(bases, powers)
        for i, (representative, total) in enumerate(sums):
            factor = _rational_root(product / representative, root)
            if factor is not None:
                if factor != 1 and common > _LARGEST_EXPONENT:
                    return False
                sums[i] = (representative, total + coefficient * factor**common)
                break
        else:
            sums.append((product, fmpq(coefficient)))
    return all(total == 0 for _, total in sums)


def _factored_exponents(exponents: Sequence[Fraction]) -> tuple[list[int], int, int]:
    """Integers p, g, q with ``exponents[l] == g * p[l] / q``, g and q as large as possible."""
    root = lcm(*(exponent.denominator for exponent in exponents))
    numerators = [int(exponent * root) for exponent in exponents]
    common = gcd(*numerators) or 1
    return [numerator // common for numerator in numerators], common, root


def _cancels(number: Radicals) -> bool:
    """Is the number proved to be zero, when its exponents are too long for power products?

    Terms are written as products of powers of a few coprime integers, none of which is a perfect
    power itself. The quotient of two terms is rational exactly if these exponents differ by
    integers.
    """
    coefficients: dict[tuple[Fraction, ...], int] = {}
    for coefficient, bases in zip(number.coefficients, number.bases, strict=True):
        coefficients[bases] = coefficients.get(bases, 0) + coefficient
    terms = [(bases, total) for bases, total in coefficients.items() if total]
    if len(terms) > _MOST_TERMS:
        return False
    basis = _primitive_basis([base for bases, _ in terms for base in bases])
    if number.logarithm:
        totals = [Fraction(0)] * len(basis)
        for bases, coefficient in terms:
            for place, exponent in enumerate(_exponents(bases, number.exponents, basis)):
                totals[place] += coefficient * exponent
        return not any(totals)
    sums: dict[tuple[Fraction, ...], fmpq] = {}
    for bases, coefficient in terms:
        exponents = _exponents(bases, number.exponents, basis)
        whole = [floor(exponent) for exponent in exponents]
        if max((abs(power) for power in whole), default=0) > _LARGEST_EXPONENT:
            return False
        key = tuple(e - power for e, power in zip(exponents, whole, strict=True))
        factor = _power_product([Fraction(value) for value in basis], whole)
        sums[key] = sums.get(key, fmpq(0)) + coefficient * factor
    return all(total == 0 for total in sums.values())


def _exponents(
    bases: Sequence[Fraction], powers: Sequence[Fraction], basis: Sequence[int]
) -> list[Fraction]:
    """Exponents of the members of a basis in ``prod_l bases[l] ** powers[l]``."""
    return [
        sum(
            (
                power * (_valuation(base.numerator, value) - _valuation(base.denominator, value))
                for base, power in zip(bases, powers, strict=True)
            ),
            Fraction(0),
        )
        for value in basis
    ]


def _valuation(number: int, factor: int) -> int:
    count = 0
    while number % factor == 0:
        number //= factor
        count += 1
    return count


def _primitive_basis(values: Sequence[Fraction]) -> list[int]:
    """Coprime integers > 1, none a perfect power, of which all values are products of powers."""
    integers = [part for value in values for part in (value.numerator, value.denominator)]
    return [_primitive(value) for value in _coprime_basis([v for v in integers if v > 1])]


def _primitive(value: int) -> int:
    """The integer of which a value is the highest power."""
    for root in range(value.bit_length(), 1, -1):
        candidate = _integer_root(fmpz(value), root)
        if candidate is not None:
            return int(candidate)
    return value


def power_products(
    bases: Sequence[Sequence[Fraction]], exponents: Sequence[Fraction]
) -> list[fmpq] | None:
    """Powers of all ``prod_l bases[i][l] ** exponents[l]`` by the same positive number, rational.

    ``None`` if the numbers would become long.
    """
    powers, _, _ = _factored_exponents(exponents)
    if max(map(abs, powers)) > _SMALL_EXPONENT:
        return None
    return [_power_product(base, powers) for base in bases]


def _power_product(bases: Sequence[Fraction], powers: Sequence[int]) -> fmpq:
    product = fmpq(1)
    for base, power in zip(bases, powers, strict=True):
        product *= _rational(base) ** power
    return product


def _rational_root(value: fmpq, root: int) -> fmpq | None:
    """The root-th root of a positive rational if it is rational."""
    if root == 1:
        return value
    numerator = _integer_root(value.p, root)
    denominator = _integer_root(value.q, root)
    if numerator is None or denominator is None:
        return None
    return fmpq(numerator, denominator)


def _integer_root(value: fmpz, root: int) -> fmpz | None:
    if value == 1:
        return value
    if root >= value.bit_length():
        return None
    candidate = value.root(root)
    return candidate if candidate**root == value else None


def _product_is_one(number: Radicals, powers: Sequence[int]) -> bool:
    """Is ``prod_i (prod_l b_il ** p_l) ** c_i`` equal to 1? Tested on coprime factors."""
    exponent_of: dict[int, int] = {}
    values: list[tuple[int, int]] = []
    for coefficient, bases in zip(number.coefficients, number.bases, strict=True):
        for base, power in zip(bases, powers, strict=True):
            values.append((base.numerator, coefficient * power))
            values.append((base.denominator, -coefficient * power))
    basis = _coprime_basis([value for value, _ in values if value > 1])
    for value, exponent in values:
        for factor in basis:
            while value % factor == 0:
                value //= factor
                exponent_of[factor] = exponent_of.get(factor, 0) + exponent
    return all(exponent == 0 for exponent in exponent_of.values())


def _coprime_basis(values: Sequence[int]) -> list[int]:
    """Pairwise coprime integers > 1 such that every value is a product of their powers."""
    basis: list[int] = []
    pending = list(dict.fromkeys(values))
    while pending:
        value = pending.pop()
        if value == 1:
            continue
        for i, factor in enumerate(basis):
            common = gcd(value, factor)
            if common > 1:
                del basis[i]
                pending.extend({common, value // common, factor // common})
                break
        else:
            basis.append(value)
    return basis
