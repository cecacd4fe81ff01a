"""Pfaffian GJ programs: parameterised algorithms in ordinary Python.

A program is a function of an instance and of parameters by name (``def:paffian-gj-algorithm``).
It computes with the parameters as with numbers and branches on comparisons.  Loops and recursion
may depend on the instance and on branches.  `program` makes such a function runnable with plain
numbers, where every comparison is decided exactly; `argsort` sorts by computed keys.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from certune.pfaffian.decisions import current_oracle
from certune.pfaffian.expressions import as_expression

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
        return function(instance, lifted(parameters))

    return run


def lifted(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters as expressions; numbers become exact constants."""
    return {
        name: tuple(as_expression(entry) for entry in value)
        if isinstance(value, (tuple, list))
        else as_expression(value)
        for name, value in parameters.items()
    }


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
    nodes = [as_expression(key) for key in keys]
    oracle = current_oracle()
    hint = None if oracle is None else oracle.suggested_order(len(nodes))

    def precedes(i: int, j: int) -> bool:
        """Does key i come before key j? Ties go to the smaller index."""
        if i > j:
            return not precedes(j, i)
        first, second = (nodes[i], nodes[j]) if descending else (nodes[j], nodes[i])
        return True if first is second else bool(first >= second)

    def compared(i: int, j: int) -> int:
        return -1 if precedes(i, j) else 1

    if hint is None:
        order = sorted(range(len(nodes)), key=functools.cmp_to_key(compared))
    else:
        order = _insertion_sorted(hint, precedes)
    if oracle is not None:
        oracle.note_order(order)
    return order


def _insertion_sorted(hint: list[int], precedes: Callable[[int, int], bool]) -> list[int]:
    order: list[int] = []
    for item in hint:
        position = len(order)
        while position and precedes(item, order[position - 1]):
            position -= 1
        order.insert(position, item)
    return order
