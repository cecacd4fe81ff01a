"""Tracing a program: all paths it can take on a domain, its predicates and its complexity.

The program is run again and again, each time with the outcomes of its first comparisons given and
the rest chosen; a comparison whose outcome is the same on all boxes that are left to a path is no
branch.  What comes out are the data of ``thm:pfaffian-gj-algorithm`` for one instance: *observed*
counts, which say nothing about other instances and therefore are a type of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from typing import Any

import flint

from certune.deadline import TimeIsUp, check_time, now, until
from certune.errors import CertuneError, InputError, ParameterError
from certune.exact.precision import PRECISION_LOCK
from certune.pfaffian.chains.chain import Chain, Complexity
from certune.pfaffian.chains.construction import ChainBuilder, ChainForm, chain_of_predicates
from certune.pfaffian.expressions.definedness import NO_VALUE, UndefinedError, named
from certune.pfaffian.expressions.expression import Expression, as_expression, constant
from certune.pfaffian.expressions.normal_form import is_zero
from certune.pfaffian.expressions.polynomials import Polynomial
from certune.pfaffian.expressions.scaling import scaled_difference
from certune.pfaffian.programs.decisions import Oracle, Relation, decide_constants, deciding
from certune.pfaffian.programs.domains import Domain, domain_of
from certune.pfaffian.programs.following import followed
from certune.pfaffian.programs.formula import Formula
from certune.pfaffian.programs.program import Parameters, Program, exact_number
from certune.pfaffian.programs.tree import Condition, Path, Tree
from certune.pfaffian.programs.words import Words
from certune.pfaffian.signs.affine import PRECISION, Affine, affine_difference
from certune.pfaffian.signs.boxes import Box, split_by_sign
from certune.pfaffian.signs.halfspaces import Halfspace, common_points, halfspaces_of


@dataclass(frozen=True)
class ObservedComplexity:
    """Counts of ``thm:pfaffian-gj-algorithm`` that were seen on one instance and one domain.

    They are not proved for any other instance, so no bound on a pseudo-dimension may use them.

    Parameters
    ----------
    chain_length, chain_degree : int
        q and M of one chain for all predicates and values.
    function_degree : int
        Largest degree Delta of a predicate or value on that chain.
    n_predicates : int
        Number K of distinct functions compared with 0, those of the comparison with a threshold
        included.
    n_parameters : int
        Number d of coordinates of the domain.
    n_piece_forms : int
        Number k_F of distinct values.
    longest_predicate_chain : int
        Length of the longest chain that a single predicate needs.
    """

    chain_length: int
    chain_degree: int
    function_degree: int
    n_predicates: int
    n_parameters: int
    n_piece_forms: int
    longest_predicate_chain: int


@dataclass(frozen=True)
class Trace:
    """What a program can do on a domain.

    Parameters
    ----------
    ranges : dict of name to (low, high)
        The domain.
    paths : tuple of Path
        The paths, in the order of a depth-first walk.
    predicates : tuple of Expression
        The distinct functions that branches compare with 0; functions that differ by a constant
        factor count once.
    """

    ranges: dict[str, tuple[float, float]]
    paths: tuple[Path, ...]
    predicates: tuple[Expression, ...]

    @cached_property
    def tree(self) -> Tree:
        """The computation tree."""
        return Tree.of_paths(self.paths, self.predicates)

    @property
    def forms(self) -> tuple[Expression, ...]:
        """The distinct values, in order of appearance."""
        return tuple(dict.fromkeys(path.value for path in self.paths))

    @cached_property
    def _chain_form(self) -> ChainForm:
        moving = [form for form in self.forms if form.parameters]
        return chain_of_predicates(self.predicates, moving)

    @property
    def chain(self) -> Chain:
        """One Pfaffian chain for all predicates, whose denominators may be cleared, and values."""
        return self._chain_form.chain

    @cached_property
    def predicate_complexities(self) -> tuple[Complexity, ...]:
        """Complexity of each predicate on a chain of its own."""
        return tuple(chain_of_predicates([each]).complexity for each in self.predicates)

    @property
    def complexity(self) -> ObservedComplexity:
        """The observed counts."""
        own = self._chain_form.complexity
        moving = sum(bool(form.parameters) for form in self.forms)
        return ObservedComplexity(
            own.chain_length,
            own.chain_degree,
            own.function_degree,
            len(self.predicates) + moving,
            len(self.ranges),
            len(self.forms),
            max((each.chain_length for each in self.predicate_complexities), default=0),
        )

    def formula(self, threshold: Any) -> Formula:
        """Return the Pfaffian formula of "the value is at least the threshold".

        Parameters
        ----------
        threshold : int, Fraction or float
            The number r of T(x, r).
        """
        level = as_expression(threshold)
        clauses = []
        for path in self.paths:
            clause = [
                (
                    self.predicates[condition.predicate],
                    condition.relation if condition.holds else condition.relation.negated,
                )
                for condition in path.conditions
            ]
            excess = path.value - level
            if excess.parameters:
                clause.append((excess, Relation.AT_LEAST))
            elif not decide_constants(excess, Relation.AT_LEAST, as_expression(0)):
                continue
            clauses.append(clause)
        return Formula.of(clauses)

    def to_text(self) -> str:
        """Return the tree as text, with the observed counts."""
        counts = self.complexity
        head = (
            f"{len(self.paths)} paths, K = {counts.n_predicates} predicates, "
            f"{counts.n_piece_forms} forms; chain q = {counts.chain_length}, "
            f"M = {counts.chain_degree}, Delta = {counts.function_degree}, "
            f"d = {counts.n_parameters} (observed on this instance)"
        )
        return f"{head}\n{self.tree.to_text()}"

    def draw(self, path: Any = None) -> Any:
        """Draw the tree with matplotlib.

        Parameters
        ----------
        path : str or path-like, optional
            File to write.

        Returns
        -------
        matplotlib.figure.Figure
            The picture.
        """
        from certune.pfaffian.programs.drawing import draw_tree

        return draw_tree(self.tree, path)


class BranchLimitError(CertuneError):
    """A program has more paths than can be followed; what was found is in `trace`."""

    def __init__(self, message: str, trace: Trace) -> None:
        super().__init__(message)
        self.trace = trace


def trace(
    program: Program,
    instance: Any,
    domain: Any,
    *,
    limit: int = 1000,
    boxes: int = 256,
    timeout: float | None = None,
    progress: bool | None = None,
) -> Trace:
    """Follow every path that a program can take on a domain.

    Parameters
    ----------
    program : callable
        A function of (instance, parameters).
    instance : object
        The problem instance.
    domain : Segment, ParameterSpace or mapping of name to (low, high)
        The parameters and their ranges.
    limit : int, default=1000
        Largest number of paths.
    boxes : int, default=256
        How many boxes may be looked at to decide one comparison; more of them prune more paths
        that cannot be taken.
    timeout : float, optional
        Seconds after which it ends with what was found.
    progress : bool, optional
        Whether to say on stderr every two seconds how far it is; by default it does.

    Returns
    -------
    Trace
        Paths, tree, predicates, chain and observed complexity.

    Raises
    ------
    BranchLimitError
        If there are more paths, or the time is up; the error carries those that were found.

    Examples
    --------
    >>> from certune.pfaffian import exp, trace
    >>> def program(x, parameters):
    ...     a = parameters["a"]
    ...     return 1 if exp(a) >= x else 0
    >>> print(trace(program, 2, {"a": (0, 1)}).to_text())
    2 paths, K = 1 predicates, 2 forms; chain q = 1, M = 1, Delta = 1, d = 1 (observed on ...)
    exp(a) - 2 >= 0?
      yes: return 1
      no: return 0
    """
    if not callable(program):
        raise InputError(f"a program is a function of (instance, parameters), got {program!r}")
    if progress is not None and not isinstance(progress, bool):
        raise ParameterError(f"progress must be True, False or None, got {progress!r}")
    tracer = _Tracer(program, instance, domain_of(domain), limit, boxes, progress is False)
    if timeout is None:
        return tracer.trace()
    if not (isinstance(timeout, (int, float)) and timeout > 0):
        raise ParameterError(f"timeout must be a number of seconds > 0, got {timeout!r}")
    with until(now() + timeout):
        try:
            return tracer.trace()
        except TimeIsUp:
            raise tracer.interrupted(timeout) from None


class _Predicates:
    """Distinct predicates: functions that differ by a constant factor are one."""

    def __init__(self) -> None:
        self._builder = ChainBuilder()
        self._numbers: dict[Polynomial, int] = {}
        self._known: dict[Expression, tuple[int, int]] = {}
        self.functions: list[Expression] = []
        self.forms: list[tuple[Expression, ...]] = []
        self.affine: list[Affine | None] = []
        self.vanishing: list[bool] = []

    def find(self, first: Expression, second: Expression) -> tuple[int, int]:
        """Return the number of a predicate, and the sign of the factor."""
        difference = first - second
        entry = self._known.get(difference)
        if entry is None:
            polynomial = self._builder.polynomial(difference)
            leading = polynomial.leading_coefficient() or Fraction(1)
            monic = polynomial.scaled(1 / leading)
            if monic not in self._numbers:
                self._numbers[monic] = len(self.functions)
                self.functions.append(difference if leading > 0 else second - first)
                sides = (first, second) if leading > 0 else (second, first)
                # Equal terms of the two sides cancel in the polynomial only.
                positive, negative = (part.to_expression() for part in monic.signed_parts())
                forms = scaled_difference(*sides), scaled_difference(positive, negative)
                self.forms.append(tuple(dict.fromkeys(forms)))
                with PRECISION_LOCK, flint.ctx.workprec(PRECISION):
                    self.affine.append(affine_difference(*sides))
                self.vanishing.append(monic.is_zero or is_zero(difference))
            entry = self._known[difference] = self._numbers[monic], 1 if leading > 0 else -1
        return entry

    def halfspaces(self, signs: Mapping[int, frozenset[int]]) -> list[Halfspace]:
        """Return what assumed signs say about predicates that are affine."""
        found: list[Halfspace] = []
        for number, own in signs.items():
            form = self.affine[number]
            if form is not None:
                found += halfspaces_of(form, own)
        return found


@dataclass
class _State:
    """What is known on a path: outcomes so far, branches, boxes, possible signs."""

    outcomes: list[bool]
    conditions: list[Condition]
    boxes: list[Box]
    signs: dict[int, frozenset[int]]

    def copy(self) -> _State:
        return _State(
            list(self.outcomes), list(self.conditions), list(self.boxes), dict(self.signs)
        )


# Boxes in which a point of a path is looked for by its affine conditions.
_FEW_BOXES = 8
_ALL_SIGNS = frozenset((-1, 0, 1))
_ZERO = frozenset((0,))


class _TooManyBranches(Exception):
    """A single path has left more alternatives behind than there may be paths."""


def _say_nothing() -> None:
    """Nobody wants to hear how far it is."""


def _nowhere(_: _State) -> None:
    """No point of a path is known."""


class _Follower(Oracle):
    """Replays the outcomes of a state, then decides and notes the alternatives."""

    def __init__(self, state: _State, predicates: _Predicates, limit: int, budget: int) -> None:
        self.state = state
        self.alternatives: list[_State] = []
        self._predicates = predicates
        self._limit, self._budget = limit, budget
        self._position = 0
        self._replayed = len(state.outcomes)
        self.tell: Callable[[], None] = _say_nothing
        self.witness: Callable[[_State], dict[str, Any] | None] = _nowhere

    def somewhere(self) -> dict[str, Any] | None:
        """Return a point of the path, if one is found."""
        return self.witness(self.state)

    def decide(self, first: Expression, relation: Relation, second: Expression) -> bool:
        if not (first.parameters or second.parameters):
            return decide_constants(first, relation, second)
        if self._position < self._replayed:
            self._position += 1
            return self.state.outcomes[self._position - 1]
        outcome = self._outcome(first, relation, second)
        self.state.outcomes.append(outcome)
        return outcome

    def _outcome(self, first: Expression, relation: Relation, second: Expression) -> bool:
        number, factor = self._predicates.find(first, second)
        if factor < 0:
            relation = relation.mirrored
        state = self.state
        vanishing = self._predicates.vanishing[number]
        possible = _ZERO if vanishing else state.signs.get(number, _ALL_SIGNS)
        holding = possible & relation.signs
        if not holding or holding == possible:
            return bool(holding)
        check_time()
        self.tell()
        sides = self._sides(number, {True: holding, False: possible - holding})
        if not sides[False][0] or not sides[True][0]:
            outcome = bool(sides[True][0])
            state.boxes = sides[outcome][0]
            return outcome
        if len(self.alternatives) >= self._limit:
            raise _TooManyBranches
        other = state.copy()
        other.outcomes.append(False)
        for branch, outcome in ((state, True), (other, False)):
            branch.conditions.append(Condition(number, relation, outcome))
            branch.boxes, branch.signs[number] = sides[outcome]
        self.alternatives.append(other)
        return True

    def _sides(
        self, number: int, signs: dict[bool, frozenset[int]]
    ) -> dict[bool, tuple[list[Box], frozenset[int]]]:
        """For each outcome, boxes with all points of this path that have it, and its signs.

        Whether affine conditions have a common point is asked of all of them together, so that
        boxes are only cut for other ones.
        """
        state, form = self.state, self._predicates.affine[number]
        assumed = self._predicates.halfspaces(state.signs)
        budget = self._budget if form is None else 0
        by_sign = split_by_sign(self._predicates.forms[number], state.boxes, budget)
        sides = {}
        for outcome, own in signs.items():
            together = assumed if form is None else assumed + halfspaces_of(form, own)
            boxes = [
                box
                for sign in (-1, 0, 1, None)
                if sign in own or sign is None
                for box in by_sign[sign]
                if box.is_certain or not common_points(together, box.ranges).is_empty
            ]
            sides[outcome] = boxes, own
        return sides


class _Tracer:
    def __init__(
        self,
        program: Program,
        instance: Any,
        domain: Domain,
        limit: int,
        budget: int,
        is_silent: bool,
    ) -> None:
        self._program, self._instance, self._domain = program, instance, domain
        self._limit, self._budget = limit, budget
        self._predicates = _Predicates()
        self._paths: list[Path] = []
        self._n_pending = 1
        self._tell = Words(self._how_far, is_silent)

    def _how_far(self) -> str:
        return (
            f"trace: {len(self._paths)} paths and {len(self._predicates.functions)} predicates "
            f"found, {self._n_pending} branches left"
        )

    def interrupted(self, timeout: float) -> BranchLimitError:
        """Return the error of a trace whose time is up."""
        return BranchLimitError(
            f"after {timeout:g} s {len(self._paths)} paths were found and {self._n_pending} "
            f"branches were left on {self._domain.ranges}; what was found is in the attribute "
            "`trace` of this error. Trace a smaller instance or domain, allow fewer boxes=, or "
            "raise the timeout",
            self._found(self._paths),
        )

    def trace(self) -> Trace:
        paths = self._paths
        pending = [self._start()]
        run = partial(self._program, self._instance)
        parameters = Parameters(self._domain.parameters)
        undefined: UndefinedError | ZeroDivisionError | None = None
        while pending:
            check_time()
            self._n_pending = len(pending)
            self._tell()
            if len(paths) == self._limit:
                raise self._too_many(paths)
            follower = _Follower(pending.pop(), self._predicates, self._limit, self._budget)
            follower.tell, follower.witness = self._tell, self._witness
            try:
                with deciding(follower):
                    output = followed(run, parameters)
            except _TooManyBranches:
                raise self._too_many(paths) from None
            except NO_VALUE as error:
                # Points without a value are no points of the domain.
                undefined = error
            else:
                state, value = follower.state, exact_number(output)
                paths.append(Path(tuple(state.conditions), value, self._witness(state)))
            pending += follower.alternatives
        if undefined is not None and not paths:
            raise named(
                undefined,
                f"the program has no value anywhere on {self._domain.ranges}: {undefined}",
            ) from undefined
        return self._found(paths)

    def _start(self) -> _State:
        """The state of no path yet: signs that the domain itself says are no conditions of one."""
        signs: dict[int, frozenset[int]] = {}
        for condition in self._domain.conditions:
            number, factor = self._predicates.find(condition, constant(0))
            signs[number] = frozenset((0, factor))
        return _State([], [], [Box(dict(self._domain.ranges), is_certain=not signs)], signs)

    def _too_many(self, paths: list[Path]) -> BranchLimitError:
        return BranchLimitError(
            f"the program has more than {self._limit} paths on {self._domain.ranges}; trace a "
            "smaller instance or domain, or raise the limit (what was found is in the attribute "
            "`trace` of this error; if that is little, does a loop end for every parameter?)",
            self._found(paths),
        )

    def _found(self, paths: list[Path]) -> Trace:
        """Number the predicates by their first appearance on a path."""
        numbers: dict[int, int] = {}
        renumbered = []
        for path in paths:
            conditions = tuple(
                condition._replace(predicate=numbers.setdefault(condition.predicate, len(numbers)))
                for condition in path.conditions
            )
            renumbered.append(Path(conditions, path.value, path.witness))
        functions = tuple(self._predicates.functions[number] for number in numbers)
        return Trace(dict(self._domain.ranges), tuple(renumbered), functions)

    def _witness(self, state: _State) -> dict[str, Any] | None:
        for box in state.boxes:
            if box.is_certain:
                return next(box.points())
        for point in self._candidates(state):
            belongs = all(each.sign(point) in (0, 1) for each in self._domain.conditions)
            if belongs and all(self._holds(condition, point) for condition in state.conditions):
                return point
        return None

    def _candidates(self, state: _State) -> Iterator[dict[str, Fraction]]:
        closed = self._predicates.halfspaces(state.signs)
        # A point inside meets the conditions in spite of rounding.
        inner = [each._replace(is_strict=True) for each in closed]
        for box in state.boxes[:_FEW_BOXES]:
            for together in (inner, closed):
                point = common_points(together, box.ranges).point
                if point is not None:
                    yield {name: Fraction(value) for name, value in point.items()}
        for box in state.boxes[: self._budget]:
            yield from box.points()

    def _holds(self, condition: Condition, point: dict[str, Fraction]) -> bool:
        sign = self._predicates.functions[condition.predicate].sign(point)
        return sign is not None and condition.relation.holds(sign) == condition.holds
