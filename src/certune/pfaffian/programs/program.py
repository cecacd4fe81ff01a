"""Pfaffian GJ programs: parameterised algorithms in ordinary Python.

A program is a function of an instance and of parameters by name (``def:paffian-gj-algorithm``).
It computes with the parameters as with numbers and branches on comparisons.  Loops and recursion
may depend on the instance and on branches.  `program` makes such a function runnable with plain
numbers, where every comparison is decided exactly; `argsort` sorts by computed keys.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from certune.errors import InputError, ParameterError
from certune.pfaffian.expressions.definedness import NO_VALUE, UndefinedError, without_value
from certune.pfaffian.expressions.expression import Expression, as_expression
from certune.pfaffian.expressions.plain import PlainFloat, PlainRun
from certune.pfaffian.expressions.vectors import Vector
from certune.pfaffian.programs.decisions import (
    AT_A_POINT,
    current_oracle,
    deciding,
    largest,
    ordered,
    sorted_by,
)

Program = Callable[[Any, Mapping[str, Any]], Any]


def program(function: Program) -> Program:
    """Make a function of an instance and parameters a program that runs on plain numbers too.

    Parameters
    ----------
    function : callable
        ``function(instance, parameters)``, where `parameters` maps names to numbers (or to tuples
        of numbers); it returns a number.

    Returns
    -------
    callable
        The same function, whose parameters are taken exactly: a float is the dyadic rational that
        it is, and comparisons are decided without rounding.

    Examples
    --------
    >>> from certune.pfaffian import program
    >>> @program
    ... def half_power(x, parameters):
    ...     return 1 if 2 ** parameters["alpha"] * 2 ** parameters["alpha"] >= x else 0
    >>> half_power(2, {"alpha": 0.5})
    1
    """

    @functools.wraps(function)
    def run(instance: Any, parameters: Mapping[str, Any]) -> Any:
        if current_oracle() is None:
            return run_at_point(function, instance, parameters)
        return function(instance, Parameters(lifted(parameters)))

    return run


class UnknownParameterError(ParameterError, KeyError):
    """A program asks for a parameter that it does not have."""

    def __str__(self) -> str:
        return str(self.args[0])


class Parameters(dict[str, Any]):
    """The parameters of a running program by name."""

    def __missing__(self, name: object) -> Any:
        raise UnknownParameterError(
            f"the program asks for the parameter {name!r}, and the parameters are named "
            f"{', '.join(map(repr, self))}"
        )


def run_at_point(function: Program, instance: Any, parameters: Mapping[str, Any]) -> Any:
    """Run a program on numbers, exactly; a place without a value is named."""
    values = Parameters(lifted(parameters))
    try:
        with deciding(AT_A_POINT):
            return function(instance, values)
    except NO_VALUE as error:
        place = {name: f"= {value!r}" for name, value in parameters.items()}
        raise without_value(error, place) from error


def run_on_floats(
    function: Program, instance: Any, parameters: Mapping[str, Any]
) -> PlainFloat | None:
    """Run a program on plain floats, the way it would run without this package.

    Parameters
    ----------
    function : callable
        The program.
    instance : object
        Its instance.
    parameters : mapping of name to number or tuple of numbers
        The setting.

    Returns
    -------
    PlainFloat or None
        What it returns, with an estimate of the rounding error; None if rounding may have changed
        its way, so that it tells nothing.
    """
    run = PlainRun()
    try:
        with deciding(AT_A_POINT):
            output = function(
                instance, Parameters(_floats(parameters, lambda value: PlainFloat(value, 0.0, run)))
            )
    except OverflowError:
        return None
    except (ZeroDivisionError, ValueError) as error:
        if run.doubtful:
            return None
        place = ", ".join(f"{name} = {value!r}" for name, value in parameters.items())
        raise UndefinedError(
            f"on plain floats the program has no value at {place}: {error}"
        ) from error
    if run.doubtful:
        return None
    # `exact_number` may take a float for the quotient next to it, that much away.
    value = float.__float__(output) if isinstance(output, PlainFloat) else float(output)
    spread = output.error if isinstance(output, PlainFloat) else 0.0
    output = PlainFloat(value, max(spread, 2.0**-50 * abs(value)), run)
    pythons = _run_on_pythons_floats(function, instance, parameters)
    if pythons is None:
        return output
    spread = output.error
    if run.untracked:
        spread = max(spread, _spread_nearby(function, instance, parameters, pythons))
    return PlainFloat(pythons, spread, run)


def _spread_nearby(
    function: Program, instance: Any, parameters: Mapping[str, Any], value: float
) -> float:
    """Return how much the value changes where a parameter is a little smaller or larger.

    For runs in which numpy has taken errors from numbers: a comparison that rounding can change
    changes also there, and then the run tells nothing.
    """
    spread = 0.0
    floats = _floats(parameters, float)
    for name, own in floats.items():
        entries = own if isinstance(own, tuple) else (own,)
        for place, entry in enumerate(entries):
            if not isinstance(entry, float):
                continue
            for side in (-_NEARBY, _NEARBY):
                near: Any = entry + side * max(1.0, abs(entry))
                if isinstance(own, tuple):
                    near = (*own[:place], near, *own[place + 1 :])
                found = _run_on_pythons_floats(function, instance, {**floats, name: near})
                spread = math.inf if found is None else max(spread, abs(found - value))
    return spread


def _run_on_pythons_floats(
    function: Program, instance: Any, parameters: Mapping[str, Any]
) -> float | None:
    """Run a program on a dictionary of Python's own floats; None if it does not run on these.

    Even a program that asks for the type of its parameters then does what it does by itself. The
    floats are those of the run with errors, whose comparisons were not doubtful.
    """
    try:
        with deciding(AT_A_POINT):
            return float(function(instance, _floats(parameters, float)))
    except Exception:  # such as a numpy function of objects, which asks them for a method
        return None


# Far more than roundings add up to, and little beside the distance of most points to a change.
_NEARBY = 2.0**-26


def _floats(parameters: Mapping[str, Any], kind: Callable[[float], float]) -> dict[str, Any]:
    """Return parameters as floats of a kind; words stay what they are."""
    return {
        name: tuple(kind(float(entry)) for entry in value)
        if isinstance(value, (tuple, list))
        else value
        if isinstance(value, str)
        else kind(float(value))
        for name, value in parameters.items()
    }


# A float this close to a quotient of small whole numbers, in units of its last place, is meant to
# be that quotient; and so small is the chance that another number lies there.
_UNITS, _CHANCE = 4, 2.0**-16


def exact_number(value: Any) -> Expression:
    """Return what a program has returned as an expression, or raise `InputError`.

    A float that a quotient of small whole numbers, or a sum of a few of them, is rounded to counts
    as that quotient, so that ``right / n`` is known exactly; any other as the number that it is.
    """
    try:
        if isinstance(value, np.ndarray) and value.ndim == 0:
            value = value.item()  # such as that of np.where of one comparison
        if isinstance(value, (float, np.floating)) and math.isfinite(value):
            return as_expression(_quotient_near(float(value)))
        return as_expression(value)
    except InputError:
        raise InputError(
            f"a program must return a number or an expression, got {value!r} of type "
            f"{type(value).__name__}"
        ) from None


def _quotient_near(value: float) -> Fraction:
    exact, reach = Fraction(value), _UNITS * Fraction(math.ulp(value))
    largest = math.isqrt(int(Fraction(_CHANCE) / reach)) if reach < 1 else 0
    if not largest or exact.denominator <= largest:
        return exact
    near = exact.limit_denominator(largest)
    return near if abs(near - exact) <= reach else exact


def lifted(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters as expressions; numbers become exact constants."""
    return {
        name: tuple(_lifted(entry) for entry in value)
        if isinstance(value, (tuple, list))
        else _lifted(value)
        for name, value in parameters.items()
    }


def _lifted(value: Any) -> Any:
    # A number of a run on plain floats stays what it is, and so does a word.
    return value if isinstance(value, (PlainFloat, str)) else as_expression(value)


def argmax(keys: Sequence[Any]) -> int:
    """Return the index of the largest of expressions or numbers; of equal ones the first."""
    expressions = _as_expressions(keys)
    if expressions is not None:
        return largest(expressions)
    best = 0
    for index in range(1, len(keys)):
        if keys[index] > keys[best]:
            best = index
    return best


def _as_expressions(keys: Sequence[Any]) -> Sequence[Expression] | None:
    """Return keys as expressions, None if they are numbers of a run on plain floats."""
    if isinstance(keys, Vector):
        keys = keys.entries
    kinds = set(map(type, keys))
    if kinds == {Expression}:
        # A tuple stays the same object, by which a sort is recognised from run to run.
        return keys if isinstance(keys, tuple) else list(keys)
    return None if PlainFloat in kinds else [as_expression(key) for key in keys]


def argsort(keys: Sequence[Any], *, descending: bool = False) -> list[int]:
    """Return the indices that sort expressions or numbers; equal keys keep their order.

    Parameters
    ----------
    keys : sequence of Expression or number
        What to sort by.
    descending : bool, default=False
        Whether the largest key comes first.

    Returns
    -------
    list of int
        Indices of the keys in order. Branches of the program are comparisons of pairs of keys;
        along a line a sort starts from the order before, so that it takes few of them.
    """
    expressions = _as_expressions(keys)
    if expressions is not None:
        return ordered(expressions, descending)

    def precedes(i: int, j: int) -> bool:
        if i > j:
            return not precedes(j, i)
        return bool(keys[i] >= keys[j] if descending else keys[j] >= keys[i])

    return sorted_by(len(keys), precedes, None)
