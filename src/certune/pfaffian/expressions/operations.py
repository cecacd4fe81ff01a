"""The operators of Pfaffian expressions, one row of local facts for each.

A Pfaffian GJ program computes with + - * / and Pfaffian operators (``def:paffian-gj-algorithm``).
Everything that the rest of the package needs to know of an operator stands in its row of this
file: how floats, balls and power series are computed, its partial derivatives, what it does on a
chain (``sec:paffian-basic-properties``), where it is defined and how it is printed.  Evaluation,
differentiation and the construction of chains only compose these facts.

Partial derivatives are written once, with ordinary operators, and therefore serve expressions and
balls alike.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from flint import arb

if TYPE_CHECKING:
    from certune.pfaffian.expressions.expression import Expression

ATOM_PRECEDENCE = 5


@dataclass(frozen=True, eq=False)
class Operation:
    """The local facts of one operator.

    Parameters
    ----------
    name : str
        Name in error messages and in text.
    on_floats, on_balls : callable
        Value from the values of the arguments. Outside the domain a ball is not finite.
    on_series : callable
        Truncated power series with ball coefficients from those of the arguments. Where it has
        none, coefficients are not finite or ValueError or ZeroDivisionError is raised.
    partials : tuple of callable
        Partial derivative in each argument, from the arguments and the value.
    on_chain : callable
        The polynomial of the value, from the chain under construction, the expression and the
        polynomials of its arguments.
    domain : str
        Where the operator is defined, for messages; empty if everywhere.
    latex : str
        Format of the LaTeX form, with one field for each argument.
    symbol : str
        Infix symbol, empty for functions.
    precedence : int
        Binding strength in print.
    is_undefined : callable
        Whether balls of the arguments prove that there is no value, for any numbers in them.
    on_part : callable or None
        Like `on_balls`, but of those numbers in the balls alone for which there is a value; None
        if that is no easier.
    least : callable
        What the structure of the arguments, which are expressions, shows about the value wherever
        it is defined: 1 if it is positive, 0 if it is not negative, -1 if nothing.
    """

    name: str
    on_floats: Callable[..., float]
    on_balls: Callable[..., Any]
    on_series: Callable[..., Any]
    partials: tuple[Callable[..., Any], ...]
    on_chain: Callable[..., Any]
    domain: str = ""
    latex: str = ""
    symbol: str = ""
    precedence: int = field(default=ATOM_PRECEDENCE)
    is_undefined: Callable[..., bool] = lambda *arguments: False
    on_part: Callable[..., Any] | None = None
    least: Callable[..., int] = lambda *arguments: -1

    @cached_property
    def is_costly(self) -> bool:
        """Whether it takes much longer than arithmetic."""
        return not self.symbol or self.symbol == "**"

    def __call__(self, *arguments: Any) -> Any:
        """Apply the operator: to balls at once, otherwise as an expression."""
        if all(isinstance(argument, arb) for argument in arguments):
            return self.on_balls(*arguments)
        from certune.pfaffian.expressions.expression import apply

        return apply(self, *arguments)

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> str:
        return next(key for key, value in globals().items() if value is self)


def _float_sigmoid(u: float) -> float:
    if u >= 0:
        return 1.0 / (1.0 + math.exp(-u))
    power = math.exp(u)
    return power / (1.0 + power)


def _float_softplus(u: float) -> float:
    return max(u, 0.0) + math.log1p(math.exp(-abs(u)))


def _least_sum(u: Expression, v: Expression) -> int:
    return -1 if min(u.least, v.least) < 0 else max(u.least, v.least)


def _least_product(u: Expression, v: Expression) -> int:
    return max(u.least, 0) if u is v else min(u.least, v.least)


def _least_quotient(u: Expression, v: Expression) -> int:
    return u.least if v.least >= 0 else -1


def _least_power(base: Expression, exponent: Expression) -> int:
    assert exponent.value is not None
    least = base.least if exponent.value % 2 else max(base.least, 0)
    # Where a negative power is defined its base is not 0.
    return 1 if least >= 0 and exponent.value < 0 else least


ADD = Operation(
    "sum",
    operator.add,
    operator.add,
    operator.add,
    (lambda u, v, y: 1, lambda u, v, y: 1),
    lambda chain, node, u, v: u + v,
    symbol=" + ",
    precedence=1,
    least=_least_sum,
)
SUBTRACT = Operation(
    "difference",
    operator.sub,
    operator.sub,
    operator.sub,
    (lambda u, v, y: 1, lambda u, v, y: -1),
    lambda chain, node, u, v: u - v,
    symbol=" - ",
    precedence=1,
)
MULTIPLY = Operation(
    "product",
    operator.mul,
    operator.mul,
    operator.mul,
    (lambda u, v, y: v, lambda u, v, y: u),
    lambda chain, node, u, v: u * v,
    symbol="*",
    precedence=2,
    least=_least_product,
)
DIVIDE = Operation(
    "quotient",
    operator.truediv,
    operator.truediv,
    operator.truediv,
    (lambda u, v, y: 1 / v, lambda u, v, y: -u / v**2),
    lambda chain, node, u, v: u * chain.reciprocal(node.arguments[1]),
    domain="a divisor other than 0",
    latex=r"\frac{{{0}}}{{{1}}}",
    symbol="/",
    precedence=2,
    is_undefined=lambda u, v: v == 0,
    least=_least_quotient,
)
INTEGER_POWER = Operation(
    "integer power",
    operator.pow,
    operator.pow,
    lambda u, v: u ** int(v[0].unique_fmpz()),
    (lambda u, v, y: v * u ** (v - 1), lambda u, v, y: LOG(u) * y),
    lambda chain, node, u, v: chain.integer_power(*node.arguments),
    domain="a base other than 0 if the exponent is negative",
    symbol="**",
    precedence=4,
    least=_least_power,
)
POWER = Operation(
    "power",
    operator.pow,
    operator.pow,
    lambda u, v: (v * u.log()).exp(),
    (lambda u, v, y: v * y / u, lambda u, v, y: LOG(u) * y),
    lambda chain, node, u, v: chain.power(node),
    domain="a base > 0",
    symbol="**",
    precedence=4,
    is_undefined=lambda u, v: u <= 0,
    least=lambda *arguments: 1,
)
EXP = Operation(
    "exp",
    math.exp,
    lambda u: u.exp(),
    lambda u: u.exp(),
    (lambda u, y: y,),
    lambda chain, node, u: chain.exponential(u, node),
    latex="e^{{{0}}}",
    least=lambda *arguments: 1,
)
LOG: Operation = Operation(
    "log",
    math.log,
    lambda u: u.log(),
    lambda u: u.log(),
    (lambda u, y: 1 / u,),
    lambda chain, node, u: chain.logarithm(node),
    domain="an argument > 0",
    latex=r"\ln\left({0}\right)",
    is_undefined=lambda u: u <= 0,
)
SQRT = Operation(
    "sqrt",
    math.sqrt,
    lambda u: u.sqrt(),
    lambda u: u.sqrt(),
    (lambda u, y: 1 / (2 * y),),
    lambda chain, node, u: chain.root(node.arguments[0], 1, 2),
    domain="an argument >= 0 (> 0 for derivatives)",
    latex=r"\sqrt{{{0}}}",
    is_undefined=lambda u: u < 0,
    on_part=lambda u: u.sqrt() if u < 0 else u.nonnegative_part().sqrt(),
    least=lambda u: max(u.least, 0),
)
ATAN = Operation(
    "atan",
    math.atan,
    lambda u: u.atan(),
    lambda u: u.atan(),
    (lambda u, y: 1 / (1 + u**2),),
    lambda chain, node, u: chain.symbol(node, u),
    latex=r"\arctan\left({0}\right)",
    least=lambda u: u.least,
)
TANH = Operation(
    "tanh",
    math.tanh,
    lambda u: u.tanh(),
    lambda u: 1 - 2 / (1 + (2 * u).exp()),
    (lambda u, y: 1 - y**2,),
    lambda chain, node, u: chain.symbol(node, u),
    latex=r"\tanh\left({0}\right)",
    least=lambda u: u.least,
)
SIGMOID = Operation(
    "sigmoid",
    _float_sigmoid,
    lambda u: 1 / (1 + (-u).exp()),
    lambda u: 1 / (1 + (-u).exp()),
    (lambda u, y: y * (1 - y),),
    lambda chain, node, u: chain.symbol(node, u),
    latex=r"\sigma\left({0}\right)",
    least=lambda *arguments: 1,
)
SOFTPLUS = Operation(
    "softplus",
    _float_softplus,
    lambda u: (u.exp() + 1).log(),
    lambda u: (1 + u.exp()).log(),
    (lambda u, y: SIGMOID(u),),
    lambda chain, node, u: chain.symbol(node, u),
    latex=r"\ln\left(1+e^{{{0}}}\right)",
    least=lambda *arguments: 1,
)

FUNCTIONS = (EXP, LOG, SQRT, ATAN, TANH, SIGMOID, SOFTPLUS)
OPERATIONS = (ADD, SUBTRACT, MULTIPLY, DIVIDE, INTEGER_POWER, POWER, *FUNCTIONS)
