"""Chains built automatically, and kept small.

One walk over the expressions turns each into a polynomial on a growing chain.  Sums and products
stay on the chain, a quotient adds 1/h, and every function adds what its derivative needs
(``sec:paffian-basic-properties``; the paper lengthens the chain for products, which is not
needed).  Functions that differ by constants share a symbol: exp(u + 1) and exp(2u) are
polynomials in exp(u), log(2u) is log(2) + log(u), u^(k/m) is a polynomial in u and u^(-1/m).
Where several denominators are polynomials in the parameters, one joint reciprocal of their product
is tried as well, as is a common unit of proportional exponents, and the chain with the smallest
bound of ``thm:pfaffian-gj-algorithm`` is taken.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from certune.errors import InputError
from certune.pfaffian.chains.chain import Chain, ChainFunction, Complexity
from certune.pfaffian.chains.clearing import cleared
from certune.pfaffian.expressions.expression import Expression, as_expression, constant
from certune.pfaffian.expressions.graph import postorder
from certune.pfaffian.expressions.operations import DIVIDE, EXP, LOG, MULTIPLY
from certune.pfaffian.expressions.polynomials import Monomial, Polynomial
from certune.pfaffian.expressions.reduction import UnitProduct, reduced, without_inverted_powers

# u^(1/m) alone has a derivative of degree m + 1; beyond this it is cheaper to add 1/u.
_LARGEST_ROOT = 8


@dataclass(frozen=True)
class ChainForm:
    """Functions as polynomials on a common chain.

    Parameters
    ----------
    chain : Chain
        The chain.
    polynomials : tuple of Polynomial
        Each function, in the parameters and the functions of the chain.
    """

    chain: Chain
    polynomials: tuple[Polynomial, ...]

    @property
    def complexity(self) -> Complexity:
        """Chain length, Pfaffian degree, and the largest degree of a function."""
        degree = max((polynomial.degree for polynomial in self.polynomials), default=0)
        return Complexity(self.chain.length, self.chain.degree, degree)


def chain_of(functions: Iterable[Expression]) -> ChainForm:
    """Return a small Pfaffian chain for functions, and the functions as polynomials on it.

    Parameters
    ----------
    functions : iterable of Expression
        Any number of functions.

    Returns
    -------
    ChainForm
        Of the constructions tried, the one with the least value of ``thm:pfaffian-gj-algorithm``.

    Examples
    --------
    >>> from certune.pfaffian import chain_of, parameters
    >>> alpha, beta = parameters("alpha beta")
    >>> form = chain_of([(2 * beta) ** alpha])
    >>> print(form.chain)
    f1 = 1/beta:  d/dbeta = -f1**2
    f2 = log(2*beta):  d/dbeta = f1
    f3 = (2*beta)**alpha:  d/dalpha = f2*f3,  d/dbeta = alpha*f1*f3
    """
    nodes = [as_expression(function) for function in functions]
    plain = ChainBuilder()
    forms = [plain.form(nodes)]
    joint, units = plain.polynomial_denominators, plain.exponent_units
    if joint:
        forms.append(ChainBuilder(joint=joint).form(nodes))
    if units:
        forms.append(ChainBuilder(units=units).form(nodes))
    if joint and units:
        forms.append(ChainBuilder(joint, units).form(nodes))
    axes = plain.exponent_axes
    if axes:
        forms.append(ChainBuilder(joint, axes=axes).form(nodes))
    return min(forms, key=_cost)


def chain_of_predicates(
    predicates: Iterable[Expression], values: Iterable[Expression] = ()
) -> ChainForm:
    """Return a small chain for functions of which only the signs count, and for values beside them.

    Denominators of predicates are cleared if that makes the bound smaller: the polynomials are then
    those of functions with the same signs (`certune.pfaffian.chains.clearing.cleared`).

    Parameters
    ----------
    predicates : iterable of Expression
        Functions that a program compares with 0.
    values : iterable of Expression
        Functions that it returns.

    Examples
    --------
    >>> from certune.pfaffian import parameters
    >>> from certune.pfaffian.chains.construction import chain_of, chain_of_predicates
    >>> a, b = parameters("a b")
    >>> chain_of([1 / a - 1 / b]).complexity.chain_length
    1
    >>> chain_of_predicates([1 / a - 1 / b]).complexity
    Complexity(chain_length=0, chain_degree=0, function_degree=3)
    """
    given, beside = list(predicates), list(values)
    plain = chain_of([*given, *beside])
    without = [cleared(predicate) for predicate in given]
    if all(first is second for first, second in zip(given, without, strict=True)):
        return plain
    return min((plain, chain_of([*without, *beside])), key=_cost)


def _cost(form: ChainForm) -> float:
    """The bound of ``thm:pfaffian-gj-algorithm`` for one predicate."""
    q, m, delta = form.complexity
    d = max(len(form.chain.parameters), 1)
    logs = math.log2(delta + m) if delta + m else 0.0
    return d**2 * q**2 + 2 * d * q * (logs + 2 * math.log2(d)) + 2 * d * math.log2(max(delta, 1))


class ChainBuilder:
    """A chain under construction; operations call its methods (`Operation.on_chain`)."""

    def __init__(
        self,
        joint: Sequence[Polynomial] = (),
        units: Sequence[Polynomial] = (),
        axes: Mapping[Monomial, Fraction] | None = None,
    ) -> None:
        self._joint = tuple(joint)
        self._units = tuple(units)
        self._axes = axes or {}
        self._joint_symbol: Expression | None = None
        self._known: dict[Expression, Polynomial] = {}
        self._order: list[Expression] = []
        self._slopes: dict[Expression, dict[str, Polynomial]] = {}
        self._reciprocals: dict[Polynomial, Polynomial] = {}
        self._exponentials: list[tuple[Polynomial, Expression]] = []
        self._logarithms: dict[Polynomial, Polynomial] = {}
        self._roots: dict[Polynomial, dict[int, Expression]] = {}
        # Products that are 1: a denominator and its reciprocal, u and (u^(-1/m))^m.
        self._relations: list[UnitProduct] = []

    def form(self, nodes: Sequence[Expression]) -> ChainForm:
        """Return the chain and the polynomials of some expressions."""
        polynomials = tuple(self.polynomial(node) for node in nodes)
        names = tuple(sorted({name for node in nodes for name in node.parameters}))
        functions = [
            ChainFunction(
                f"f{position}",
                symbol,
                {name: slope for name, slope in self._slopes[symbol].items() if not slope.is_zero},
            )
            for position, symbol in enumerate(self._order, start=1)
        ]
        return ChainForm(Chain._proved(names, tuple(functions)), polynomials)

    @property
    def polynomial_denominators(self) -> list[Polynomial]:
        """Two or more denominators that are polynomials in the parameters alone."""
        found = [
            value
            for value in self._reciprocals
            if all(item.name or not item.parameters for item in value.indeterminates)
        ]
        return found if len(found) > 1 else []

    @property
    def exponent_units(self) -> list[Polynomial]:
        """Greatest common divisors of exponents that are positive multiples of each other."""
        groups: list[list[Polynomial]] = []
        for exponent, _ in self._exponentials:
            for group in groups:
                ratio = _ratio(exponent, group[0])
                if ratio is not None and ratio > 0:
                    group.append(exponent)
                    break
            else:
                groups.append([exponent])
        return [_common_unit(group) for group in groups if len(group) > 1]

    @property
    def exponent_axes(self) -> dict[Monomial, Fraction]:
        """The steps of a lattice with all exponents, one for each of their monomials.

        exp(3 c - 2 g) and exp(c - 5 g) are products of powers of exp(c) and exp(-g). Empty if there
        are no fewer steps, in both directions where both occur, than exponentials.
        """
        coefficients: dict[Monomial, list[Fraction]] = {}
        for exponent, _ in self._exponentials:
            for monomial, coefficient in exponent.terms.items():
                coefficients.setdefault(monomial, []).append(coefficient)
        n_steps = sum(len({c > 0 for c in found}) for found in coefficients.values())
        if n_steps >= len(self._exponentials):
            return {}
        return {monomial: _common_divisor(found) for monomial, found in coefficients.items()}

    def reduce(self, node: Expression) -> Polynomial:
        """Return the polynomial of an expression, extending the chain where it must be."""
        node = without_inverted_powers(node)
        for item in postorder([node]):
            if item not in self._known:
                self._known[item] = self._rule(item)
        return self._known[node]

    def _rule(self, item: Expression) -> Polynomial:
        if item.value is not None:
            return Polynomial.constant(item.value)
        if item.name is not None or not item.parameters:
            return Polynomial.of(item)
        assert item.operation is not None
        polynomials = [self._known[argument] for argument in item.arguments]
        result = item.operation.on_chain(self, item, *polynomials)
        assert isinstance(result, Polynomial)
        return result

    def polynomial(self, node: Expression) -> Polynomial:
        """Return the polynomial of an expression with its degree lowered by known relations."""
        return reduced(self.reduce(node), self._relations)

    def slope(self, value: Polynomial, name: str) -> Polynomial:
        """Return the derivative of a polynomial on the chain."""
        total = Polynomial({})
        for item in value.indeterminates:
            if item.name == name:
                total = total + value.partial(item)
            elif name in item.parameters and item.name is None:
                total = total + value.partial(item) * self._slopes[item][name]
        return reduced(total, self._relations)

    def symbol(self, node: Expression, *arguments: Polynomial) -> Polynomial:
        """Add a function to the chain whose derivative is that of its operator."""
        assert node.operation is not None
        slopes = {name: Polynomial({}) for name in node.parameters}
        own = Polynomial.of(node)
        self._known[node] = own
        for partial, argument, value in zip(
            node.operation.partials, node.arguments, arguments, strict=True
        ):
            if argument.parameters:
                outer = self.reduce(as_expression(partial(*node.arguments, node)))
                for name in argument.parameters:
                    slopes[name] = slopes[name] + outer * self.slope(value, name)
        self._add(node, slopes)
        return own

    def _add(self, node: Expression, slopes: dict[str, Polynomial]) -> None:
        self._slopes[node] = {
            name: reduced(slope, self._relations) for name, slope in slopes.items()
        }
        self._order.append(node)

    def integer_power(self, base: Expression, exponent: Expression) -> Polynomial:
        """Return a power with an integer exponent."""
        assert exponent.value is not None
        power = int(exponent.value)
        if power > 0:
            return self.reduce(base) ** power
        return self.reciprocal(base) ** -power

    def reciprocal(self, node: Expression) -> Polynomial:
        """Return 1/h: what is on the chain already, or a new function with -h' (1/h)^2."""
        inverse = without_inverted_powers(1 / node)
        if inverse.operation is not DIVIDE or inverse.arguments[0].value != 1:
            return self.reduce(inverse)
        value = self.reduce(node)
        for order, root in self._roots.get(value, {}).items():
            return Polynomial.of(root) ** order
        leading = value.leading_coefficient()
        if not leading:
            raise InputError(f"{node} vanishes identically and is a divisor")
        monic = value.scaled(1 / leading)
        if monic not in self._reciprocals:
            self._reciprocals[monic] = self._new_reciprocal(node, value, monic)
        return self._reciprocals[monic].scaled(1 / leading)

    def _new_reciprocal(self, node: Expression, value: Polynomial, monic: Polynomial) -> Polynomial:
        if monic in self._joint:
            others = Polynomial.constant(1)
            for other in self._joint:
                if other != monic:
                    others = others * other
            return others * self._joint_reciprocal()
        own = Polynomial.of(1 / node)
        self._relations.append(UnitProduct.of(value, 1 / node, 1))
        square = (own * own).scaled(Fraction(-1))
        self._add(1 / node, {name: square * self.slope(value, name) for name in node.parameters})
        # The symbol is 1/h itself; the reciprocal of the monic multiple is a multiple of it.
        return own.scaled(value.leading_coefficient())

    def _joint_reciprocal(self) -> Polynomial:
        if self._joint_symbol is None:
            product = Polynomial.constant(1)
            expression = constant(1)
            for factor in self._joint:
                product = product * factor
                expression = expression * factor.to_expression()
            self._joint_symbol = 1 / expression
            own = Polynomial.of(self._joint_symbol)
            self._relations.append(UnitProduct.of(product, self._joint_symbol, 1))
            square = (own * own).scaled(Fraction(-1))
            slopes = {
                name: square * self.slope(product, name) for name in self._joint_symbol.parameters
            }
            self._add(self._joint_symbol, slopes)
        return Polynomial.of(self._joint_symbol)

    def exponential(self, exponent: Polynomial, node: Expression) -> Polynomial:
        """Return exp(u), sharing a symbol with exp(u + c) and with integer multiples of u."""
        fixed = Polynomial(
            {m: c for m, c in exponent.terms.items() if not any(i.parameters for i, _ in m)}
        )
        moving = exponent - fixed
        factor = Polynomial.constant(1)
        if not fixed.is_zero:
            factor = Polynomial.of(EXP(fixed.to_expression()))
        for unit in self._units:
            if _multiple(moving, unit):
                power = self._exponential(unit, EXP(unit.to_expression()))
                return factor * power ** _multiple(moving, unit)
        if self._axes and all(self._axes.get(monomial) for monomial in moving.terms):
            return factor * self._along_axes(moving)
        plain = node if fixed.is_zero else EXP(moving.to_expression())
        return factor * self._exponential(moving, plain)

    def _along_axes(self, exponent: Polynomial) -> Polynomial:
        """Return the exponential of a sum as a product of powers, one for each monomial."""
        product = Polynomial.constant(1)
        for monomial, coefficient in exponent.terms.items():
            unit = self._axes[monomial]
            step = Polynomial({monomial: unit if coefficient > 0 else -unit})
            symbol = self._exponential(step, EXP(step.to_expression()))
            product = product * symbol ** int(abs(coefficient) / unit)
        return product

    def _exponential(self, exponent: Polynomial, symbol: Expression) -> Polynomial:
        for known, old in self._exponentials:
            if _multiple(exponent, known):
                return Polynomial.of(old) ** _multiple(exponent, known)
        self._exponentials.append((exponent, symbol))
        own = Polynomial.of(symbol)
        self._add(symbol, {name: own * self.slope(exponent, name) for name in symbol.parameters})
        return own

    def logarithm(self, node: Expression) -> Polynomial:
        """Return log(u), sharing a symbol with the logarithms of positive multiples of u."""
        (argument,) = node.arguments
        value = self.reduce(argument)
        leading = value.leading_coefficient()
        monic = value.scaled(1 / leading) if leading else value
        known = self._logarithms.get(monic)
        if known is not None:
            return known + self._log_of_number(leading)
        own = Polynomial.of(node)
        self._add(node, {name: self.log_slope(argument, name) for name in node.parameters})
        if leading > 0:
            self._logarithms[monic] = own - self._log_of_number(leading)
        return own

    def log_slope(self, node: Expression, name: str) -> Polynomial:
        """Return u'/u; for products and quotients term by term, which keeps its degree low."""
        if node.operation in (MULTIPLY, DIVIDE):
            first, second = (self.log_slope(argument, name) for argument in node.arguments)
            return first + second if node.operation is MULTIPLY else first - second
        if name not in node.parameters:
            return Polynomial({})
        return self.reciprocal(node) * self.slope(self.reduce(node), name)

    def _log_of_number(self, value: Fraction) -> Polynomial:
        return Polynomial({}) if value == 1 else Polynomial.of(LOG(constant(value)))

    def power(self, node: Expression) -> Polynomial:
        """Return u^v: exp(v log u) for a number u, a root for rational v, else a new function."""
        base, exponent = node.arguments
        if not base.parameters:
            rate = Polynomial.of(LOG(base))
            return self.exponential(self.reduce(exponent) * rate, node)
        if exponent.value is not None and exponent.value.denominator <= _LARGEST_ROOT:
            return self.root(base, exponent.value.numerator, exponent.value.denominator)
        value, logarithm = self.reduce(exponent), Polynomial({})
        if exponent.parameters:
            logarithm = self.reduce(LOG(base))
        own = Polynomial.of(node)
        slopes = {
            name: own * (logarithm * self.slope(value, name) + value * self.log_slope(base, name))
            for name in node.parameters
        }
        self._add(node, slopes)
        return own

    def root(self, base: Expression, power: int, order: int) -> Polynomial:
        """Return u^(power/order) as a polynomial in u and w = u^(-1/order), w' = -w^(m+1) u'/m."""
        value = self.reduce(base)
        known = self._roots.setdefault(value, {})
        if order not in known:
            symbol = base ** Fraction(-1, order)
            self._relations.append(UnitProduct.of(value, symbol, order))
            outer = (Polynomial.of(symbol) ** (order + 1)).scaled(Fraction(-1, order))
            self._add(symbol, {name: outer * self.slope(value, name) for name in base.parameters})
            known[order] = symbol
        own = Polynomial.of(known[order])
        # u^(power/order) = u^whole w^part with 0 <= part < order, and 1/u = w^order.
        whole, part = -(-power // order), -power % order
        return own**part * (value**whole if whole >= 0 else own ** (-whole * order))


def _multiple(value: Polynomial, unit: Polynomial) -> int:
    """The positive integer n with value = n unit, 0 if there is none."""
    ratio = _ratio(value, unit)
    return int(ratio) if ratio is not None and ratio.denominator == 1 and ratio > 0 else 0


def _common_unit(group: Sequence[Polynomial]) -> Polynomial:
    ratios = [_ratio(exponent, group[0]) or Fraction(1) for exponent in group]
    return group[0].scaled(_common_divisor(ratios))


def _common_divisor(numbers: Sequence[Fraction]) -> Fraction:
    """The largest positive number of which all are integer multiples."""
    bottom = math.lcm(*(number.denominator for number in numbers))
    return Fraction(math.gcd(*(int(number * bottom) for number in numbers)), bottom)


def _ratio(first: Polynomial, second: Polynomial) -> Fraction | None:
    """The number r with first = r second, if there is one."""
    if len(first.terms) != len(second.terms):
        return None
    monomial = next(iter(second.terms), None)
    if monomial is None or monomial not in first.terms:
        return None
    ratio = first.terms[monomial] / second.terms[monomial]
    return ratio if first == second.scaled(ratio) else None
