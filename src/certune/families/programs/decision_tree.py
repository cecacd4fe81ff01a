"""The runs of an algorithm that asks for decisions, remembered by what it was told.

An algorithm that is deterministic given the answers to its questions is a tree: every inner place
asks something, every answer leads on, and every leaf is a result. The tree grows by runs. Where
somebody asks what the algorithm does (just right of a point, on a box, at a point), known places
are walked without running anything; only behind an answer that nobody has given yet the algorithm
is run, with the answers so far repeated and the next ones asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from certune.deadline import check_time
from certune.errors import InputError
from certune.pfaffian.expressions.calculus import substitute
from certune.pfaffian.expressions.definedness import NO_VALUE
from certune.pfaffian.expressions.expression import Expression
from certune.pfaffian.programs.decisions import (
    Oracle,
    Relation,
    deciding,
    outside_programs,
    unless_failed,
)
from certune.pfaffian.programs.program import argsort, exact_number


class Question(NamedTuple):
    """What an algorithm asks, about expressions in the parameters of the space."""

    kind: str
    """``compare`` for a relation of two numbers, ``choose`` for the largest, or ``order``."""
    sides: tuple[Expression, ...]
    relation: Relation | None = None

    def is_same(self, other: Question) -> bool:
        """Tell whether both ask the same; equal expressions are one object."""
        return (
            self.kind == other.kind
            and self.relation is other.relation
            and len(self.sides) == len(other.sides)
            and all(mine is theirs for mine, theirs in zip(self.sides, other.sides, strict=True))
        )

    def __str__(self) -> str:
        if self.relation is not None:
            first, second = self.sides
            return f"whether {first.to_text()} {self.relation.symbol} {second.to_text()}"
        shown = ", ".join(side.to_text() for side in self.sides[:3])
        rest = ", ..." if len(self.sides) > 3 else ""
        what = "the largest" if self.kind == "choose" else "the order"
        return f"{what} of {len(self.sides)} scores ({shown}{rest})"


class View:
    """The parameters of the space as expressions in other coordinates, such as that of a line.

    Parameters
    ----------
    values : mapping of name to Expression
        What stands for each parameter.
    """

    def __init__(self, values: Mapping[str, Expression]) -> None:
        self._given = dict(values)
        self._moved = {name: value for name, value in values.items() if value.name != name}
        # By address: the expressions are kept alive by the tree.
        self._known: dict[int, Expression] = {}

    def shows(self, values: Mapping[str, Expression]) -> bool:
        """Tell whether these values stand for the parameters."""
        return self._given.keys() == values.keys() and all(
            self._given[name] is value for name, value in values.items()
        )

    def __call__(self, node: Expression) -> Expression:
        """Return an expression in the other coordinates."""
        if not self._moved or not node.parameters:
            return node
        found = self._known.get(id(node))
        if found is None:
            found = self._known[id(node)] = substitute(node, self._moved)
        return found

    def answer(self, question: Question, oracle: Oracle) -> Any:
        """Let somebody answer a question."""
        sides = [self(side) for side in question.sides]
        if question.relation is not None:
            return oracle.decide(sides[0], question.relation, sides[1])
        if question.kind == "choose":
            return oracle.largest(sides)
        with deciding(oracle):
            return tuple(argsort(sides, descending=True))


@dataclass
class Place:
    """A place of the tree: what is asked there and where answers lead, or what comes out."""

    question: Question | None = None
    answers: dict[Any, Place] = field(default_factory=dict)
    result: Expression | None = None
    error: Exception | None = None

    @property
    def is_known(self) -> bool:
        """Whether a run has come to an end here."""
        return self.result is not None or self.error is not None


class Recorder(Oracle):
    """Answers the questions of one run, and writes them into the tree.

    Parameters
    ----------
    root : Place
        The tree.
    answers : sequence
        Answers to be repeated.
    ask : callable
        Answers the questions that follow.
    """

    def __init__(self, root: Place, answers: Sequence[Any], ask: Callable[[Question], Any]) -> None:
        self.place = root
        self._answers, self._ask = answers, ask
        self._position = 0
        self.failure: BaseException | None = None

    def decide(self, first: Expression, relation: Relation, second: Expression) -> bool:
        """Say whether a relation holds."""
        return bool(self.answer(Question("compare", (first, second), relation)))

    def largest(self, keys: Sequence[Expression]) -> int:
        """Say which key is the largest."""
        return int(self.answer(Question("choose", tuple(keys))))

    @outside_programs()
    def answer(self, question: Question) -> Any:
        """Answer a question.

        What goes wrong is also kept, since code of other languages that calls this one may not
        hand exceptions on.
        """
        if self.failure is not None:
            raise self.failure
        try:
            found = self._answered(question)
        except BaseException as error:
            self.failure = error
            raise
        return found

    def _answered(self, question: Question) -> Any:
        check_time()
        self.expect(question)
        if self._position < len(self._answers):
            found = self._answers[self._position]
        else:
            found = self._ask(question)
        self._position += 1
        self.place = self.place.answers.setdefault(found, Place())
        return found

    def expect(self, question: Question | None) -> None:
        """Hold what happens against what another run with the same answers has done."""
        known = self.place.question
        if known is None and not self.place.is_known and question is not None:
            self.place.question = known = question
        if (known is None) != (question is None) or (
            known is not None and question is not None and not known.is_same(question)
        ):
            before, now = (
                "was at its end" if each is None else f"asked for {each}"
                for each in (known, question)
            )
            raise InputError(
                f"the algorithm is not deterministic: after {self._position} decisions with the "
                f"same answers it {before} in an earlier run and {now.replace('was', 'is')} in "
                "this one; fix its random seeds, threads and time limits"
            )


class DecisionTree:
    """What an algorithm does on one instance, as far as it has been run.

    Parameters
    ----------
    run : callable
        Runs the algorithm with a `Recorder` that answers its questions.
    """

    def __init__(self, run: Callable[[Recorder], Any]) -> None:
        self._run = run
        self._root = Place()
        self._view = View({})
        self.n_runs = 0

    @outside_programs()
    def follow(self, parameters: Mapping[str, Expression], oracle: Oracle) -> Expression:
        """Return what the algorithm returns if an oracle answers; run it only if nobody knows.

        Parameters
        ----------
        parameters : mapping of name to Expression
            What stands for each parameter of the space.
        oracle : Oracle
            Who answers, in these coordinates.
        """
        if not self._view.shows(parameters):
            self._view = View(parameters)
        view, place, answers = self._view, self._root, []
        while place.question is not None:
            answers.append(view.answer(place.question, oracle))
            place = place.answers.setdefault(answers[-1], Place())
        if not place.is_known:
            place = self._grown(answers, view, oracle)
        if place.error is not None:
            raise place.error
        assert place.result is not None
        return view(place.result)

    def _grown(self, answers: list[Any], view: View, oracle: Oracle) -> Place:
        recorder = Recorder(self._root, answers, lambda question: view.answer(question, oracle))
        self.n_runs += 1
        try:
            with deciding(recorder), unless_failed():
                result = exact_number(self._run(recorder))
        except Exception as error:
            if recorder.failure is not None:
                raise recorder.failure from None
            if not isinstance(error, NO_VALUE):
                raise
            recorder.expect(None)
            recorder.place.error = error
            return recorder.place
        if recorder.failure is not None:
            raise recorder.failure
        recorder.expect(None)
        recorder.place.result = result
        return recorder.place
