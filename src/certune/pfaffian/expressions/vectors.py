"""Vectors of numbers and expressions that do not change: whole scores in one step.

A program that computes n scores makes n expressions in each of its runs, and a function along a
line takes thousands of runs.  Vectors cannot change, so that what was computed from the same
vectors and parameters is taken from the run before.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from certune.errors import InputError
from certune.pfaffian.expressions.expression import Expression, apply, as_expression
from certune.pfaffian.expressions.operations import POWER, Operation
from certune.pfaffian.expressions.plain import PlainFloat
from certune.pfaffian.programs.decisions import SymbolicValueError, current_oracle


class Vector(Sequence[Any]):
    """A vector of numbers and expressions, with arithmetic entry by entry.

    Parameters
    ----------
    entries : iterable of int, float, Fraction or Expression
        The entries; numbers are taken exactly.

    Examples
    --------
    >>> import certune as ct
    >>> values, sizes = ct.pfaffian.vector([6, 5]), ct.pfaffian.vector([3, 4])
    >>> scores = values / sizes ** ct.pfaffian.parameter("rho")
    >>> print(scores[0])
    6/3**rho
    """

    __slots__ = ("entries",)
    # Arrays of numpy leave operators to the vector.
    __array_ufunc__ = None

    entries: tuple[Any, ...]

    def __init__(self, entries: Iterable[Any]) -> None:
        self.entries = tuple(entries)

    def __setattr__(self, name: str, value: Any) -> None:
        if hasattr(self, "entries"):
            raise AttributeError("a vector does not change; make another one")
        super().__setattr__(name, value)

    def __reduce__(self) -> Any:
        return Vector, (self.entries,)

    def __len__(self) -> int:
        return len(self.entries)

    def __getitem__(self, place: Any) -> Any:
        return Vector(self.entries[place]) if isinstance(place, slice) else self.entries[place]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.entries)

    def __repr__(self) -> str:
        return f"Vector([{', '.join(map(str, self.entries))}])"

    def __eq__(self, other: object) -> bool:
        raise _refusal("==")

    def __ne__(self, other: object) -> bool:
        raise _refusal("!=")

    def __lt__(self, other: object) -> bool:
        raise _refusal("<")

    def __le__(self, other: object) -> bool:
        raise _refusal("<=")

    def __gt__(self, other: object) -> bool:
        raise _refusal(">")

    def __ge__(self, other: object) -> bool:
        raise _refusal(">=")

    __hash__ = None  # type: ignore[assignment]

    def __add__(self, other: Any) -> Vector:
        return _computed(operator.add, self, other)

    def __radd__(self, other: Any) -> Vector:
        return _computed(operator.add, other, self)

    def __sub__(self, other: Any) -> Vector:
        return _computed(operator.sub, self, other)

    def __rsub__(self, other: Any) -> Vector:
        return _computed(operator.sub, other, self)

    def __mul__(self, other: Any) -> Vector:
        return _computed(operator.mul, self, other)

    def __rmul__(self, other: Any) -> Vector:
        return _computed(operator.mul, other, self)

    def __truediv__(self, other: Any) -> Vector:
        return _computed(operator.truediv, self, other)

    def __rtruediv__(self, other: Any) -> Vector:
        return _computed(operator.truediv, other, self)

    def __pow__(self, other: Any) -> Vector:
        return _computed(_power, self, other)

    def __rpow__(self, other: Any) -> Vector:
        return _computed(_power, other, self)

    def __neg__(self) -> Vector:
        return _computed(operator.mul, -1, self)

    def apply(self, operation: Operation) -> Vector:
        """Return the values of a Pfaffian function of one number."""
        return _remembered(
            operation,
            self,
            None,
            lambda: Vector(
                entry.function(operation.on_floats)
                if isinstance(entry, PlainFloat)
                else apply(operation, entry)
                for entry in self.entries
            ),
        )


def vector(entries: Iterable[Any]) -> Vector:
    """Return numbers or expressions as a vector, with arithmetic entry by entry.

    Parameters
    ----------
    entries : iterable of int, float, Fraction or Expression
        The entries; numbers are taken exactly.

    Returns
    -------
    Vector
        It cannot change, so that a program which computes with it again and again, as it does for
        a function along a line, finds what it has computed before.
    """
    listed = entries.tolist() if isinstance(entries, np.ndarray) else entries
    return Vector(
        entry if isinstance(entry, PlainFloat) else as_expression(entry) for entry in listed
    )


def _power(base: Any, exponent: Any) -> Any:
    if isinstance(base, PlainFloat) or isinstance(exponent, PlainFloat):
        return base**exponent
    return apply(POWER, base, exponent)


def _computed(operation: Callable[[Any, Any], Any], first: Any, second: Any) -> Vector:
    oracle = current_oracle()
    if oracle is not None and oracle.made is not None:
        known = oracle.made.get((operation, id(first), id(second)))
        if known is not None:
            found: Vector = known[0]
            return found
    size = len(first) if isinstance(first, Vector) else len(second)
    sides = []
    for side in (first, second):
        if isinstance(side, Vector):
            if len(side) != size:
                raise InputError(
                    f"vectors of {len(first)} and {len(second)} entries have no common entries; "
                    "operators take vectors of the same length, or a vector and a number"
                )
            sides.append(side.entries)
        elif isinstance(side, Expression) or hasattr(side, "as_integer_ratio"):
            sides.append((side,) * size)
        else:
            return NotImplemented  # type: ignore[no-any-return]
    return _remembered(operation, first, second, lambda: Vector(map(operation, *sides)))


def _remembered(operation: Any, first: Any, second: Any, compute: Callable[[], Vector]) -> Vector:
    oracle = current_oracle()
    if oracle is None or oracle.made is None:
        return compute()
    key = (operation, id(first), id(second))
    known: Any = oracle.made.get(key)
    if known is None:
        n_decisions = oracle.n_decisions
        made = compute()
        if oracle.n_decisions != n_decisions:
            return made  # whether it has a value was decided, and may be decided otherwise
        # With its arguments, so that their addresses name no others.
        known = oracle.made[key] = (made, first, second)
    found: Vector = known[0]
    return found


def _refusal(symbol: str) -> SymbolicValueError:
    return SymbolicValueError(
        f"vectors have no {symbol}; compare entries, or use argsort and argmax of certune.pfaffian"
    )
