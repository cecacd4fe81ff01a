"""Pfaffian formulas: disjunctive normal forms over predicates g >= 0 (``def:pfaffian-formula``)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from certune.errors import CertuneError
from certune.pfaffian.expressions.expression import Expression, Point
from certune.pfaffian.programs.decisions import Relation

_MOST_CLAUSES = 100_000


class Literal(NamedTuple):
    """A predicate ``g >= 0`` or its negation: number of g, and whether it must hold."""

    predicate: int
    holds: bool


@dataclass(frozen=True)
class Formula:
    """A formula in disjunctive normal form.

    Parameters
    ----------
    predicates : tuple of Expression
        The distinct functions g whose ``g >= 0`` occurs.
    clauses : tuple of tuple of Literal
        The formula holds where all literals of some clause hold.
    """

    predicates: tuple[Expression, ...]
    clauses: tuple[tuple[Literal, ...], ...]

    @classmethod
    def of(cls, clauses: Iterable[Iterable[tuple[Expression, Relation]]]) -> Formula:
        """Make a formula from clauses of conditions ``g relation 0``.

        Each relation is written with >= alone: g > 0 is not(-g >= 0), g == 0 is g >= 0 and
        -g >= 0; a clause with g != 0 is two clauses, so that many of them are refused.
        """
        numbers: dict[Expression, int] = {}

        def at_least(function: Expression, holds: bool) -> Literal:
            return Literal(numbers.setdefault(function, len(numbers)), holds)

        listed: list[tuple[Literal, ...]] = []
        for clause in clauses:
            versions: list[list[Literal]] = [[]]
            for function, relation in clause:
                alternatives = [
                    [
                        at_least(-function if mirrored else function, holds)
                        for mirrored, holds in way
                    ]
                    for way in _WAYS[relation]
                ]
                versions = [old + new for old in versions for new in alternatives]
                if len(listed) + len(versions) > _MOST_CLAUSES:
                    raise CertuneError(
                        f"the formula has more than {_MOST_CLAUSES} clauses: each condition g != 0 "
                        "doubles those of its path; compare with >= or < in place of == or !="
                    )
            listed += [tuple(dict.fromkeys(version)) for version in versions]
        return cls(tuple(numbers), tuple(dict.fromkeys(listed)))

    def holds(self, point: Point) -> bool | None:
        """Tell whether the formula holds at a point, None if it could not be decided."""
        signs = [predicate.sign(point) for predicate in self.predicates]
        truths: list[bool | None] = [None if sign is None else sign >= 0 for sign in signs]
        answers = []
        for clause in self.clauses:
            literals = [
                None if truths[number] is None else truths[number] == holds
                for number, holds in clause
            ]
            answers.append(False if False in literals else None if None in literals else True)
        return True if True in answers else None if None in answers else False

    def __str__(self) -> str:
        if not self.clauses:
            return "false"
        return "\n or ".join(
            " and ".join(
                f"{self.predicates[number]} >= 0"
                if holds
                else f"not {self.predicates[number]} >= 0"
                for number, holds in clause
            )
            or "true"
            for clause in self.clauses
        )


# For each relation the ways in which it holds, as lists of (negate the function, >= 0 holds).
_WAYS: dict[Relation, list[list[tuple[bool, bool]]]] = {
    Relation.AT_LEAST: [[(False, True)]],
    Relation.LESS: [[(False, False)]],
    Relation.AT_MOST: [[(True, True)]],
    Relation.MORE: [[(True, False)]],
    Relation.EQUAL: [[(False, True), (True, True)]],
    Relation.DIFFERENT: [[(True, False)], [(False, False)]],
}
