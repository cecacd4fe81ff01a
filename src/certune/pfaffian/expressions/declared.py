"""Pfaffian functions that a user declares by their derivative, and a few more of that kind.

A function y of one number is declared by its derivative as a formula in x and y, and by its values
as balls. That is all a row of `certune.pfaffian.expressions.operations` needs: the formula is the
partial derivative of expressions and balls and the last step of a chain
(``def:pfaffian-chain``), and power series follow from it, since y' = D(x, y) determines each
coefficient by the ones before.  The
formula is held against the values when the function is declared.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import flint
from flint import arb, arb_series

from certune.errors import InputError, ParameterError
from certune.exact.precision import PRECISION_LOCK
from certune.pfaffian.expressions.definedness import GUARDS, UndefinedError
from certune.pfaffian.expressions.evaluation import as_ball, enclose, tape
from certune.pfaffian.expressions.expression import Expression, apply, as_expression, parameter
from certune.pfaffian.expressions.functions import atan, exp, log, sqrt
from certune.pfaffian.expressions.operations import Operation
from certune.pfaffian.expressions.plain import PlainFloat
from certune.pfaffian.programs.decisions import outside_programs

_CHECK_PRECISION = 240
_STEP = 2.0**-30
_DECLARED: dict[str, PfaffianFunction] = {}


class PfaffianFunction:
    """A declared function of one number; call it in programs. Made by `declare`."""

    def __init__(self, name: str, derivative: Expression, domain: tuple[Any, Any] | None) -> None:
        self.name, self.derivative, self.domain = name, derivative, domain
        self._operation: Operation | None = None

    def __call__(self, u: Any) -> Any:
        """Return the value at an expression or number."""
        assert self._operation is not None
        if isinstance(u, PlainFloat):
            return u.function(self._operation.on_floats)
        return apply(self._operation, u)

    def __repr__(self) -> str:
        return f"PfaffianFunction({self.name}, dy/dx = {self.derivative.to_text()})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _known, (self.name, self.derivative.to_text())


def _known(name: str, formula: str) -> PfaffianFunction:
    found = _DECLARED.get(name)
    if found is None or found.derivative.to_text() != formula:
        raise InputError(
            f"the function {name} with the derivative {formula} is not declared here; import the "
            "module that declares it"
        )
    return found


class _DeclaredOperation(Operation):
    def __reduce__(self) -> Any:
        return _operation_of, (self.name,)


def _operation_of(name: str) -> Operation:
    if name not in _DECLARED or _DECLARED[name]._operation is None:
        raise InputError(f"the function {name} is not declared here; import its module")
    operation = _DECLARED[name]._operation
    assert operation is not None
    return operation


@outside_programs()
def declare(
    name: str,
    derivative: Callable[[Expression, Expression], Any],
    on_balls: Callable[[Any], Any],
    *,
    domain: tuple[Any, Any] | None = None,
    check: Sequence[float] = (-1.75, -0.5, 0.125, 0.75, 1.5),
) -> PfaffianFunction:
    """Declare a Pfaffian function y of one number x by its derivative.

    Parameters
    ----------
    name : str
        Its name, an identifier.
    derivative : callable
        ``derivative(x, y)`` is dy/dx, a formula in x and y with the functions of
        `certune.pfaffian`.
    on_balls : callable
        The values: from a ball (`flint.arb`) to a ball that contains the values at all its
        numbers, at the working precision.
    domain : pair of numbers or expressions, optional
        The open interval on which the function is defined; by default all numbers.
    check : sequence of float
        Points at which the derivative is held against the values.

    Returns
    -------
    PfaffianFunction
        To be called in programs, like `certune.pfaffian.exp`.

    Raises
    ------
    InputError
        If the derivative does not fit the values.

    Examples
    --------
    The logistic curve, whose derivative is y (1 - y):

    >>> from certune.pfaffian import declare, parameter
    >>> logistic = declare(
    ...     "logistic", lambda x, y: y * (1 - y), lambda x: 1 / (1 + (-x).exp())
    ... )
    >>> logistic(2 * parameter("a")).complexity
    Complexity(chain_length=1, chain_degree=2, function_degree=1)
    """
    if not isinstance(name, str) or not name.isidentifier():
        raise ParameterError(f"name must be an identifier, got {name!r}")
    x, y = parameter("x"), parameter("y")
    formula = as_expression(derivative(x, y))
    function = PfaffianFunction(name, formula, domain)

    def values(u: Any) -> Any:
        if domain is not None and not (u > _end(domain[0]) and u < _end(domain[1])):
            return arb.nan()
        return on_balls(u)

    def on_floats(u: float) -> float:
        with PRECISION_LOCK, flint.ctx.workprec(80):
            found = values(arb(u))
        if not found.is_finite():
            raise ValueError(f"{name} has no value at {u!r}")
        return float(found.mid())

    def partial(u: Any, v: Any) -> Any:
        if isinstance(u, arb):
            return enclose(formula, {"x": u, "y": as_ball(v)}, flint.ctx.prec)
        return formula.substitute({"x": u, "y": v})

    operation = _DeclaredOperation(
        name,
        on_floats,
        values,
        lambda u: _series(u, values, formula),
        (partial,),
        lambda chain, node, u: chain.symbol(node, u),
        domain="" if domain is None else f"an argument in ({domain[0]}, {domain[1]})",
        latex=rf"\operatorname{{{{{name}}}}}\left({{0}}\right)",
    )
    _hold_against(name, values, partial, check)
    function._operation = operation
    if domain is not None:
        GUARDS[operation] = _guard(name, as_expression(domain[0]), as_expression(domain[1]))
    _DECLARED[name] = function
    return function


def _end(end: Any) -> Any:
    return enclose(as_expression(end), {}, flint.ctx.prec)


def _guard(name: str, low: Expression, high: Expression) -> Callable[[Expression], None]:
    def guard(u: Expression) -> None:
        if not (u > low and u < high):
            raise UndefinedError(
                f"{name} needs a number between {low.to_text()} and {high.to_text()}, and "
                f"{u.to_text()} is not one there"
            )

    return guard


def _hold_against(
    name: str, values: Callable[[Any], Any], partial: Callable[[Any, Any], Any], check: Any
) -> None:
    """Raise `InputError` if a central difference is not the derivative.

    Its error is of the second order in the step, so that 2^-40 leaves room for large third
    derivatives.
    """
    for point in check:
        with PRECISION_LOCK, flint.ctx.workprec(_CHECK_PRECISION):
            try:
                left, centre, right = (values(arb(point) + k * arb(_STEP)) for k in (-1, 0, 1))
                stated = partial(arb(point), centre)
                seen = (right - left) / (2 * arb(_STEP))
                fits = bool(abs(seen - stated) <= arb(2.0**-40) * (1 + abs(stated)))
            except (AttributeError, TypeError, ValueError) as error:
                raise InputError(
                    f"on_balls of {name} must turn a flint.arb into one, and failed at {point!r}: "
                    f"{error}"
                ) from error
        if not fits:
            raise InputError(
                f"at {point!r} the derivative of {name} is {float(seen.mid())!r} by its values and "
                f"{float(stated.mid())!r} by its formula; correct one of them, or pass points of "
                "the domain as check="
            )


def _series(u: Any, values: Callable[[Any], Any], formula: Expression) -> Any:
    """Return the power series of y from y' = D(u, y) u', coefficient by coefficient."""
    count = flint.ctx.cap
    inner = arb_series([u[k] * k for k in range(1, count)])
    found = [values(u[0])]
    for k in range(1, count):
        slope = _formula_series(formula, u, arb_series(found)) * inner
        found.append(slope[k - 1] / k)
    return arb_series(found)


def _formula_series(formula: Expression, x: Any, y: Any) -> Any:
    results: dict[Expression, Any] = {}
    for item in tape(formula):
        if item.name is not None:
            results[item] = x if item.name == "x" else y
        elif not item.parameters:
            results[item] = arb_series([enclose(item, {}, flint.ctx.prec)])
        else:
            assert item.operation is not None
            results[item] = item.operation.on_series(*[results[a] for a in item.arguments])
    return results[formula]


_PI = 4 * atan(1)

erf = declare("erf", lambda x, y: 2 / sqrt(_PI) * exp(-(x**2)), lambda x: x.erf())
normal_cdf = declare(
    "normal_cdf",
    lambda x, y: exp(-(x**2) / 2) / sqrt(2 * _PI),
    lambda x: (1 + (x / arb(2).sqrt()).erf()) / 2,
)
tan = declare(
    "tan",
    lambda x, y: 1 + y**2,
    lambda x: x.tan(),
    domain=(-_PI / 2, _PI / 2),
    check=(-1.25, -0.5, 0.25, 1.0, 1.5),
)


def log_sum_exp(values: Sequence[Any]) -> Any:
    """Return the logarithm of the sum of the exponentials of expressions or numbers."""
    entries = list(values)
    if not entries:
        raise InputError("log_sum_exp needs at least one value, got none")
    total: Any = exp(entries[0])
    for entry in entries[1:]:
        total = total + exp(entry)
    return log(total)
