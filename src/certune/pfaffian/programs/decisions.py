"""The conditional statement of a program: a comparison that somebody must decide.

``u >= v`` on expressions asks whoever runs the program, at once, and is a bool of Python's own: at
a point the exact sign decides; a tracer follows both outcomes; a sweep along a segment answers for
a whole interval.  The one in charge is the `Oracle` of the running context.
"""

from __future__ import annotations

import enum
import functools
import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ContextDecorator, contextmanager
from contextvars import ContextVar, Token
from typing import TYPE_CHECKING, Any, TypeVar

from certune.errors import CertuneError, InputError, UndecidedError

if TYPE_CHECKING:
    from certune.pfaffian.expressions.expression import Expression

_Answer = TypeVar("_Answer")

# What a running program was refused, or could not be told. It may catch that as its own, and what
# it returns then has another meaning than on numbers.
_FAILURES: ContextVar[list[BaseException] | None] = ContextVar("certune_failures", default=None)


@contextmanager
def unless_failed() -> Iterator[None]:
    """Run a program, and raise what it was refused even if it has caught that."""
    failures: list[BaseException] = []
    token = _FAILURES.set(failures)
    try:
        yield
    finally:
        _FAILURES.reset(token)
    if failures:
        raise failures[0]


def _note(failure: BaseException) -> None:
    failures = _FAILURES.get()
    if failures is not None:
        failures.append(failure)


class SymbolicValueError(CertuneError, TypeError):
    """A question that only a number can answer was put to an expression that depends on parameters.

    Python's own floats would answer it; an answer here would have another meaning. A program that
    catches it has no answer either: see `unless_failed`.
    """

    def __init__(self, *words: Any) -> None:
        super().__init__(*words)
        _note(self)


class Relation(enum.Enum):
    """A relation of two numbers, by the signs of their difference for which it holds."""

    AT_LEAST = (">=", frozenset((0, 1)), operator.ge)
    MORE = (">", frozenset((1,)), operator.gt)
    AT_MOST = ("<=", frozenset((-1, 0)), operator.le)
    LESS = ("<", frozenset((-1,)), operator.lt)
    EQUAL = ("==", frozenset((0,)), operator.eq)
    DIFFERENT = ("!=", frozenset((-1, 1)), operator.ne)

    def __init__(
        self, symbol: str, signs: frozenset[int], of_numbers: Callable[[Any, Any], Any]
    ) -> None:
        self.symbol = symbol
        self.signs = signs
        self.of_numbers = of_numbers

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


def sorted_by(
    size: int, precedes: Callable[[int, int], bool], hint: Sequence[int] | None
) -> list[int]:
    """Return the numbers below `size` in the order of a relation, beginning with a likely order."""
    if hint is None:

        def compared_by(i: int, j: int) -> int:
            return -1 if precedes(i, j) else 1

        return sorted(range(size), key=functools.cmp_to_key(compared_by))
    order: list[int] = []
    for item in hint:
        position = len(order)
        while position and precedes(item, order[position - 1]):
            position -= 1
        order.insert(position, item)
    return order


class Oracle(ABC):
    """Whoever decides the comparisons of a running program.

    Attributes
    ----------
    made : dict or None
        Where results of operators are kept, for one who runs the same program often.
    """

    made: dict[tuple[Any, ...], tuple[Any, ...]] | None = None

    def somewhere(self) -> Mapping[str, float] | None:
        """Return a point at which all answers so far are right, None if none is known."""
        return None

    @property
    def n_decisions(self) -> int:
        """How many comparisons of parameters were decided; for one who keeps results."""
        return 0

    @abstractmethod
    def decide(self, first: Expression, relation: Relation, second: Expression) -> bool:
        """Say whether the relation holds."""

    def largest(self, keys: Sequence[Expression]) -> int:
        """Return the index of the largest of several expressions; of equal ones the first."""
        best = 0
        for index in range(1, len(keys)):
            if keys[index] is not keys[best] and self.decide(
                keys[index], Relation.MORE, keys[best]
            ):
                best = index
        return best

    def order(self, keys: Sequence[Expression], descending: bool) -> list[int]:
        """Return the indices that sort several expressions; equal ones keep their order."""

        def precedes(i: int, j: int) -> bool:
            """Does key i come before key j? Ties go to the smaller index."""
            if i > j:
                return not precedes(j, i)
            first, second = (keys[i], keys[j]) if descending else (keys[j], keys[i])
            return True if first is second else self.decide(first, Relation.AT_LEAST, second)

        found = sorted_by(len(keys), precedes, self.suggested_order(len(keys)))
        self.note_order(found)
        return found

    def suggested_order(self, length: int) -> list[int] | None:
        """Return an order in which a sort of that many keys may start, None if none is known."""
        return None

    def note_order(self, order: list[int]) -> None:  # noqa: B027 - most have no use for it
        """Take note of the order that a sort has found."""


_ORACLE: ContextVar[Oracle | None] = ContextVar("certune_oracle", default=None)


class deciding:  # noqa: N801 - used like a function
    """Let an oracle decide the comparisons of this context.

    Parameters
    ----------
    oracle : Oracle
        Who decides.
    """

    __slots__ = ("_oracle", "_token")

    def __init__(self, oracle: Oracle) -> None:
        self._oracle = oracle

    def __enter__(self) -> None:
        self._token = _ORACLE.set(self._oracle)

    def __exit__(self, *exception: object) -> None:
        _ORACLE.reset(self._token)


# The oracle of this context, None outside of running programs.
current_oracle: Callable[[], Oracle | None] = _ORACLE.get


class outside_programs(ContextDecorator):  # noqa: N801 - used like a function
    """Leave the running program: here expressions are formulas, which may be hashed and printed.

    Inside of a program an expression stands for a number, and whatever a number would answer
    differently is refused.
    """

    def __init__(self) -> None:
        self._tokens: list[Token[Oracle | None]] = []

    def _recreate_cm(self) -> outside_programs:
        return outside_programs()

    def __enter__(self) -> None:
        self._tokens.append(_ORACLE.set(None))

    def __exit__(self, *exception: object) -> None:
        _ORACLE.reset(self._tokens.pop())


class _Exact(Oracle):
    """Decides at a point, where no expression has parameters left."""

    def decide(self, first: Expression, relation: Relation, second: Expression) -> bool:
        return decide_constants(first, relation, second)

    def somewhere(self) -> Mapping[str, float]:
        """Return a point without coordinates: the parameters are numbers."""
        return {}


AT_A_POINT: Oracle = _Exact()
"""Who decides while a program runs on numbers."""


def _asked(question: Callable[[Oracle], _Answer]) -> _Answer:
    """Put a question to whoever runs the program."""
    oracle = _ORACLE.get() or AT_A_POINT
    token = _ORACLE.set(None)
    try:
        return question(oracle)
    except BaseException as error:
        _note(error)
        raise
    finally:
        _ORACLE.reset(token)


def compared(first: Expression, relation: Relation, second: Expression) -> bool:
    """Decide a comparison at once, so that what the program goes on with is Python's own bool."""
    return _asked(lambda oracle: oracle.decide(first, relation, second))


def largest(keys: Sequence[Expression]) -> int:
    """Let whoever runs the program say which expression is the largest, the first of equal ones."""
    return _asked(lambda oracle: oracle.largest(keys))


def ordered(keys: Sequence[Expression], descending: bool) -> list[int]:
    """Let whoever runs the program sort expressions; equal ones keep their order."""
    return _asked(lambda oracle: oracle.order(keys, descending))


def decide_constants(first: Expression, relation: Relation, second: Expression) -> bool:
    """Compare two expressions without parameters, exactly."""
    from certune.pfaffian.expressions.evaluation import ball_sign, enclose, sign_at

    if first.parameters or second.parameters:
        names = sorted({*first.parameters, *second.parameters})
        raise SymbolicValueError(
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
