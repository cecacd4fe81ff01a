"""Pfaffian chains that verify themselves.

A chain (``def:pfaffian-chain``) is a sequence of functions whose partial derivatives are
polynomials in the parameters and in the functions up to and including itself.  That is a claim,
and a wrong one is easily made: `Chain` differentiates each function and refuses a polynomial that
is not its derivative.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from certune.cards import card
from certune.errors import InputError, UndecidedError
from certune.pfaffian.expressions.evaluation import ball_sign
from certune.pfaffian.expressions.expression import Expression, as_expression, parameter
from certune.pfaffian.expressions.graph import postorder
from certune.pfaffian.expressions.normal_form import is_zero
from certune.pfaffian.expressions.operations import ADD, DIVIDE, INTEGER_POWER, MULTIPLY, SUBTRACT
from certune.pfaffian.expressions.polynomials import Polynomial
from certune.pfaffian.programs.domains import domain_of

_SAMPLES = 4
_ATTEMPTS = 100
_SAMPLE_RANGE = (0.25, 2.0)
_SAMPLE_PRECISION = 128


class Complexity(NamedTuple):
    """Size of a Pfaffian function, ``def:paffian-chain-complexity``, ``def:pfaffian-function``.

    Parameters
    ----------
    chain_length : int
        Number q of functions on the chain.
    chain_degree : int
        Pfaffian degree M, the largest degree of a derivative; 0 for an empty chain.
    function_degree : int
        Degree Delta of the function on the chain.
    """

    chain_length: int
    chain_degree: int
    function_degree: int


@dataclass(frozen=True)
class ChainFunction:
    """One function of a chain.

    Parameters
    ----------
    name : str
        Its name in print.
    function : Expression
        What it is.
    derivatives : mapping of parameter to Polynomial
        Its partial derivatives that are not zero; indeterminates are parameters and functions of
        the chain.
    """

    name: str
    function: Expression
    derivatives: Mapping[str, Polynomial]


class Chain:
    """A Pfaffian chain, verified when it is made.

    Parameters
    ----------
    functions : mapping of name to Expression
        The functions in order.
    derivatives : mapping of name to mapping of parameter to polynomial
        For each function its partial derivatives, as expressions in the parameters and in
        parameters named like functions of the chain; derivatives that are zero may be left out.
    domain : mapping of parameter to (low, high), optional
        Where to draw the points of the numerical check, by default from (1/4, 2).

    Raises
    ------
    InputError
        If a derivative is wrong, is not a polynomial, or uses a later function.
    UndecidedError
        If a derivative holds at all sampled points but could not be proved.

    Examples
    --------
    >>> from certune.pfaffian import Chain, exp, parameters
    >>> a, f = parameters("a f")
    >>> chain = Chain({"f": exp(a)}, {"f": {"a": f}})
    >>> chain.length, chain.degree
    (1, 1)
    >>> Chain({"f": exp(a)}, {"f": {"a": f**2}})
    Traceback (most recent call last):
    ...
    certune.errors.InputError: the derivative of f = exp(a) with respect to a is exp(a), not f**2...
    """

    def __init__(
        self,
        functions: Mapping[str, Any],
        derivatives: Mapping[str, Mapping[str, Any]],
        domain: Mapping[str, tuple[float, float]] | None = None,
    ) -> None:
        for given, what in ((functions, "functions"), (derivatives, "derivatives")):
            if not isinstance(given, Mapping):
                raise InputError(
                    f"{what} must be a mapping by the names of functions, got {given!r}"
                )
        nodes = {name: as_expression(function) for name, function in functions.items()}
        self.parameters = tuple(sorted({p for node in nodes.values() for p in node.parameters}))
        _check_names(nodes, derivatives, self.parameters)
        symbols: dict[str, Expression] = {}
        listed = []
        for name, node in nodes.items():
            symbols[name] = node
            stated = {
                parameter_name: _as_polynomial(as_expression(slope), name, symbols, nodes)
                for parameter_name, slope in derivatives.get(name, {}).items()
            }
            listed.append(ChainFunction(name, node, stated))
        self.functions = tuple(listed)
        self.verify(domain)

    @classmethod
    def _proved(cls, parameters: tuple[str, ...], functions: tuple[ChainFunction, ...]) -> Chain:
        """Make a chain whose derivatives come out of its construction."""
        chain = object.__new__(cls)
        chain.parameters, chain.functions = parameters, functions
        return chain

    @property
    def length(self) -> int:
        """Number q of functions."""
        return len(self.functions)

    @property
    def degree(self) -> int:
        """Pfaffian degree M: the largest degree of a derivative, 0 for an empty chain."""
        return max(
            (slope.degree for f in self.functions for slope in f.derivatives.values()), default=0
        )

    def verify(self, domain: Mapping[str, tuple[float, float]] | None = None) -> None:
        """Prove every derivative, or raise; see the class for what is raised.

        Parameters
        ----------
        domain : mapping of parameter to (low, high), optional
            Where to draw points for the numerical check.
        """
        ranges = {name: _SAMPLE_RANGE for name in self.parameters}
        if domain is not None:
            ranges.update(domain_of(domain).ranges)
        seen: set[Expression] = set()
        for function in self.functions:
            seen.add(function.function)
            for name in self.parameters:
                given = function.derivatives.get(name, Polynomial({}))
                if not all(item in seen for item in given.indeterminates if _is_symbol(item)):
                    raise InputError(
                        f"the derivative of {function.name} uses a later function of the chain"
                    )
                self._verify_derivative(function, name, given, ranges)

    def _verify_derivative(
        self,
        function: ChainFunction,
        name: str,
        given: Polynomial,
        ranges: Mapping[str, tuple[float, float]],
    ) -> None:
        expected = function.function.derivative(name)
        difference = expected - given.to_expression()
        shown = given.to_expression(self._names)
        points = list(_sample_points(difference, ranges))
        for point in points:
            if ball_sign(difference.enclose(point, _SAMPLE_PRECISION)) in (-1, 1):
                raise InputError(
                    f"the derivative of {function.name} = {function.function} with respect to "
                    f"{name} is {expected}, not {shown}; at {point} they are "
                    f"{expected.evaluate(point):.6g} and "
                    f"{given.to_expression().evaluate(point):.6g}"
                )
        if not is_zero(difference):
            seen = (
                f"holds at {len(points)} sampled points, but no proof was found"
                if points
                else f"was neither proved nor tested, since it has no value at the points drawn "
                f"from {dict(ranges)}; pass domain="
            )
            raise UndecidedError(
                f"the derivative of {function.name} = {function.function} with respect to {name} "
                f"is {expected}; that it equals {shown} {seen}"
            )

    @property
    def _names(self) -> dict[Expression, Expression]:
        return {f.function: parameter(f.name) for f in self.functions}

    def __str__(self) -> str:
        lines = []
        for function in self.functions:
            slopes = ",  ".join(
                f"d/d{name} = {slope.to_expression(self._names)}"
                for name, slope in sorted(function.derivatives.items())
            )
            lines.append(f"{function.name} = {function.function}:  {slopes}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        names = ", ".join(str(f.function) for f in self.functions)
        return f"Chain({names}; q={self.length}, M={self.degree})"

    def _repr_html_(self) -> str:
        title = f"Pfaffian chain of length {self.length} and degree {self.degree}"
        rows = [tuple(line.split(":  ", 1)) for line in str(self).splitlines()]
        return card(title, [(row[0], row[-1] if len(row) > 1 else "") for row in rows])

    def to_latex(self) -> str:
        """Return the functions and their derivatives as lines of a LaTeX ``aligned`` block."""
        lines = []
        for function in self.functions:
            symbol = parameter(function.name).to_latex()
            parts = [rf"{symbol} &= {function.function.to_latex()}"]
            parts += [
                rf"\partial_{{{parameter(name).to_latex()}}} {symbol} &= "
                + slope.to_expression(self._names).to_latex()
                for name, slope in sorted(function.derivatives.items())
            ]
            lines.append(r",\quad ".join(part.replace("&=", "=") for part in parts))
        return "\\begin{aligned}\n& " + " \\\\\n& ".join(lines) + "\n\\end{aligned}"


def _is_symbol(item: Expression) -> bool:
    return item.name is None and bool(item.parameters)


def _check_names(
    nodes: Mapping[str, Expression],
    derivatives: Mapping[str, Mapping[str, Any]],
    names: tuple[str, ...],
) -> None:
    clash = [name for name in nodes if name in names]
    if clash:
        raise InputError(f"{clash[0]!r} names a function of the chain and a parameter")
    foreign = [
        (name, symbol)
        for name, slopes in derivatives.items()
        for slope in slopes.values()
        for symbol in as_expression(slope).parameters
        if symbol not in nodes and symbol not in names
    ]
    if foreign:
        name, symbol = foreign[0]
        raise InputError(
            f"the derivative of {name} uses {symbol!r}, which is neither a function of the chain "
            f"nor one of its parameters {', '.join(names)}"
        )
    unknown = [name for name in derivatives if name not in nodes]
    if unknown:
        raise InputError(
            f"derivatives are given for {unknown[0]!r}, which is not one of {', '.join(nodes)}"
        )
    for name, slopes in derivatives.items():
        strange = [p for p in slopes if p not in names]
        if strange:
            raise InputError(
                f"the derivative of {name} with respect to {strange[0]!r} is given, but the "
                f"parameters of the chain are {', '.join(names)}"
            )


def _as_polynomial(
    node: Expression,
    owner: str,
    symbols: Mapping[str, Expression],
    later: Mapping[str, Expression],
) -> Polynomial:
    """Read a stated derivative as a polynomial in parameters and functions of the chain."""
    results: dict[Expression, Polynomial] = {}
    for item in postorder([node]):
        values = [results[argument] for argument in item.arguments]
        power = item.arguments[1].value if item.operation is INTEGER_POWER else None
        if item.value is not None:
            results[item] = Polynomial.constant(item.value)
        elif item.name is not None and item.name in symbols:
            results[item] = Polynomial.of(symbols[item.name])
        elif item.name in later:
            raise InputError(
                f"the derivative of {owner} uses {item.name}, which comes later in the chain"
            )
        elif item.name is not None or not item.parameters:
            results[item] = Polynomial.of(item)
        elif item.operation is ADD:
            results[item] = values[0] + values[1]
        elif item.operation is SUBTRACT:
            results[item] = values[0] - values[1]
        elif item.operation is MULTIPLY:
            results[item] = values[0] * values[1]
        elif item.operation is DIVIDE and not item.arguments[1].parameters:
            results[item] = values[0] * Polynomial.of(1 / item.arguments[1])
        elif power is not None and power > 0:
            results[item] = values[0] ** int(power)
        else:
            raise InputError(
                f"the derivative {node} of {owner} is not a polynomial in the parameters and the "
                f"functions of the chain; {item} must be a function of the chain of its own"
            )
    return results[node]


def _sample_points(
    node: Expression, ranges: Mapping[str, tuple[float, float]]
) -> Iterator[dict[str, float]]:
    """Points at which an expression is defined, always the same ones."""
    rng = random.Random(0)
    found = 0
    for _ in range(_ATTEMPTS):
        point = {name: rng.uniform(*ranges[name]) for name in node.parameters}
        if node.enclose(point, _SAMPLE_PRECISION).is_finite():
            yield point
            found += 1
        if found == _SAMPLES:
            return
