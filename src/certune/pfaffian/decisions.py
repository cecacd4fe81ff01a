"""The conditional statement of a program: a comparison whose truth value somebody must decide.

``if u >= v`` on expressions asks whoever runs the program: at a point the exact sign decides; a
tracer follows both outcomes; a sweep along a segment answers for a whole interval at once.  The
one in charge is the `Oracle` of the running context.
"""

from __future__ import annotations

import enum
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from certune.errors import InputError, UndecidedError

if TYPE_CHECKING:
    from certune.pfaffian.expressions import Expression


class Relation(enum.Enum):
    """A relation of two numbers, by the signs of their difference for which it holds."""

    AT_LEAST = (">=", frozenset((0, 1)))
    MORE = (">", frozenset((1,)))
    AT_MOST = ("<=", frozenset((-1, 0)))
    LESS = ("<", frozenset((-1,)))
    EQUAL = ("==", frozenset((0,)))
    DIFFERENT = ("!=", frozenset((-1, 1)))

    def __init__(self, symbol: str, signs: frozenset[int]) -> None:
        self.symbol = symbol
        self.signs = signs

    def holds(self, sign: int) -> bool:
        """Tell whether the relation holds for a difference of that sign."""
        return sign in self.signs

    @property
    def negated(self) -> Relation:
        """The relation that holds exactly if this one does not."""
        return _NEGATED[self]

    @property
    def mirrored(self) -> Relation:
        """The relation of the negative difference."""
        return _MIRRORED[self]


_NEGATED = {
    first: second
    for first in Relation
    for second in Relation
    if first.signs.isdisjoint(second.signs) and len(first.signs) + len(second.signs) == 3
}
_MIRRORED = {
    first: second
    for first in Relation
    for second in Relation
    if first.signs == {-sign for sign in second.signs}
}


class Oracle(ABC):
    """Whoever decides the comparisons of a running program."""

    @abstractmethod
    def decide(self, first: Expression, relation: Relation, second: Expression) -> bool:
        """Say whether the relation holds."""

    def suggested_order(self, length: int) -> list[int] | None:
        """Return an order in which a sort of that many keys may start, None if none is known."""
        return None

    def note_order(self, order: list[int]) -> None:  # noqa: B027 - most have no use for it
        """Take note of the order that a sort has found."""


_ORACLE: ContextVar[Oracle | None] = ContextVar("certune_oracle", default=None)


@contextmanager
def deciding(oracle: Oracle) -> Iterator[None]:
    """Let an oracle decide the comparisons of this context."""
    token = _ORACLE.set(oracle)
    try:
        yield
    finally:
        _ORACLE.reset(token)


def current_oracle() -> Oracle | None:
    """Return the oracle of this context, None outside of traces and sweeps."""
    return _ORACLE.get()


class Comparison:
    """A relation of two expressions; its truth value is a branch of the program."""

    __slots__ = ("first", "relation", "second")

    def __init__(self, first: Expression, relation: Relation, second: Expression) -> None:
        self.first = first
        self.relation = relation
        self.second = second

    def __bool__(self) -> bool:
        oracle = _ORACLE.get()
        if oracle is not None:
            return oracle.decide(self.first, self.relation, self.second)
        return decide_constants(self.first, self.relation, self.second)

    def __str__(self) -> str:
        return f"{self.first} {self.relation.symbol} {self.second}"

    __repr__ = __str__


def decide_constants(first: Expression, relation: Relation, second: Expression) -> bool:
    """Compare two expressions without parameters, exactly."""
    from certune.pfaffian.evaluation import ball_sign, enclose, sign_at

    if first.parameters or second.parameters:
        names = sorted({*first.parameters, *second.parameters})
        raise TypeError(
            f"{first} {relation.symbol} {second} depends on {', '.join(names)}; branches on "
            "parameters are followed by trace(...) or a ProgramFamily, or give the parameters "
            "values"
        )
    if first.value is not None and second.value is not None:
        return relation.holds((first.value > second.value) - (first.value < second.value))
    balls = enclose(first, {}), enclose(second, {})
    for side, ball in zip((first, second), balls, strict=True):
        if not ball.is_finite():
            raise InputError(
                f"{side} in {first} {relation.symbol} {second} is not known to be a real number "
                "(the logarithm or root of a number <= 0, or a division by 0?); test that before "
                "computing it"
            )
    sign = ball_sign(balls[0] - balls[1])
    if sign is None:
        sign = sign_at(first - second, {})
    if sign is None:
        raise UndecidedError(
            f"whether {first} {relation.symbol} {second} holds could not be decided: the two "
            "sides agree to thousands of digits, and no proof of equality was found"
        )
    return relation.holds(sign)
