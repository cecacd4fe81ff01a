"""Expressions in the functions of numpy: element by element, or refused.

``np.exp(a)``, ``weights * a`` and ``points >= a`` on an expression and arrays of numbers do what
they would do on a float; the results are arrays of objects, or of bools.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from certune.pfaffian.programs.decisions import SymbolicValueError

_COMPARISONS: dict[Any, Callable[..., Any]] = {
    np.less: operator.lt,
    np.less_equal: operator.le,
    np.greater: operator.gt,
    np.greater_equal: operator.ge,
    np.equal: operator.eq,
    np.not_equal: operator.ne,
}
_VALUES: dict[Any, Callable[..., Any]] = {
    np.add: operator.add,
    np.subtract: operator.sub,
    np.multiply: operator.mul,
    np.divide: operator.truediv,
    np.floor_divide: operator.floordiv,
    np.remainder: operator.mod,
    np.power: operator.pow,
    np.negative: operator.neg,
    np.positive: operator.pos,
    np.absolute: abs,
    np.square: lambda u: u * u,
    np.maximum: max,
    np.minimum: min,
    np.exp: operator.methodcaller("exp"),
    np.log: operator.methodcaller("log"),
    np.sqrt: operator.methodcaller("sqrt"),
    np.arctan: operator.methodcaller("arctan"),
    np.tanh: operator.methodcaller("tanh"),
}


def elementwise(ufunc: Any, method: str, inputs: Any, options: Any) -> Any:
    """Return what a function of numpy gives on the numbers of a program, or raise."""
    function = _COMPARISONS.get(ufunc) or _VALUES.get(ufunc)
    if function is None or method != "__call__" or options:
        call = f"{ufunc.__name__}{'' if method == '__call__' else '.' + method}"
        extra = f" with {', '.join(options)}" if options else ""
        raise SymbolicValueError(
            f"numpy.{call}{extra} is not known for the parameters of a program; write it with "
            "arithmetic, comparisons and the functions of certune.pfaffian"
        )
    boxed = [_boxed(each) for each in inputs]
    result = np.frompyfunc(function, len(boxed), 1)(*boxed)
    if not isinstance(result, np.ndarray):
        return result
    return result.astype(bool) if ufunc in _COMPARISONS else result


def _boxed(value: Any) -> Any:
    """A scalar as an array without axes, so that numpy does not ask it again."""
    if isinstance(value, np.ndarray):
        return value
    box = np.empty((), dtype=object)
    box[()] = value.item() if isinstance(value, np.generic) else value
    return box
