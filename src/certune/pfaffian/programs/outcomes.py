"""Everything that a program can do on a box of parameters, up to a number of outcomes.

Comparisons whose sign is proved on the whole box are decided by it; of the others both outcomes are
followed, each with what it says about later comparisons: of the same two numbers, and of others if
all differences are affine.  At every point of the box one of the paths is the one that the program
takes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import flint

from certune.deadline import check_time
from certune.errors import InputError, UndecidedError
from certune.exact.precision import PRECISION_LOCK
from certune.pfaffian.expressions.definedness import NO_VALUE, without_value
from certune.pfaffian.expressions.evaluation import ball_sign, enclose
from certune.pfaffian.expressions.expression import Expression
from certune.pfaffian.expressions.normal_form import is_zero
from certune.pfaffian.expressions.scaling import scaled_difference
from certune.pfaffian.programs.decisions import Relation, decide_constants, deciding
from certune.pfaffian.programs.following import is_foreign
from certune.pfaffian.programs.program import exact_number
from certune.pfaffian.programs.sweep import GuidedOracle, Hints
from certune.pfaffian.signs.affine import PRECISION, Affine, affine_difference, nearest
from certune.pfaffian.signs.halfspaces import Common, Halfspace, common_points, halfspaces_of
from certune.pfaffian.signs.ranges import Range, Ranges, range_on

Pair = tuple[Expression, Expression]
Assumption = tuple[Pair, frozenset[int]]

_ALL_SIGNS = frozenset((-1, 0, 1))
# A point off the middle, where differences are zero by chance less often.
_CUT = 0.4853


@dataclass(frozen=True)
class Knowledge:
    """What holds on a box and all its parts.

    Attributes
    ----------
    signs : dict
        Proved signs of differences of two expressions.
    hints : Hints
        What sorts and choices have found, from which they may start.
    """

    signs: dict[Pair, int] = field(default_factory=dict)
    hints: Hints = Hints()


class Path(NamedTuple):
    """What a program returns on one path.

    Parameters
    ----------
    value : Expression
        What it returns.
    negative : tuple of Expression
        Expressions that are <= 0 wherever it takes the path.
    """

    value: Expression
    negative: tuple[Expression, ...]


@dataclass(frozen=True)
class Outcomes:
    """What a program can do on a box.

    Attributes
    ----------
    paths : tuple of Path or None
        All that it may return; None if there are too many, or a path could not be followed.
    knowledge : Knowledge
        For parts of the box.
    open_ranges : tuple of Range
        Of the differences whose sign is open.
    """

    paths: tuple[Path, ...] | None
    knowledge: Knowledge
    open_ranges: tuple[Range, ...]


class _Signs:
    """Signs of differences on one box, computed when asked for."""

    def __init__(self, ranges: Ranges, known: dict[Pair, int]) -> None:
        self._ranges = ranges
        self.proved = dict(known)
        self.middle = {name: 0.5 * low + 0.5 * high for name, (low, high) in ranges.items()}
        self.open: dict[Pair, Range] = {}
        self._forms: dict[Pair, Affine | None] = {}
        self._common: dict[frozenset[Assumption], Common] = {}

    def possible(self, pair: Pair) -> frozenset[int]:
        sign = self.proved.get(pair)
        if sign is None and pair not in self.open:
            found = range_on(scaled_difference(*pair), self._ranges)
            sign = ball_sign(found.ball)
            if sign is None and self._may_vanish(pair) and is_zero(pair[0] - pair[1]):
                sign = 0
            if sign is None:
                self.open[pair] = found
            else:
                self.proved[pair] = sign
        return _ALL_SIGNS if sign is None else frozenset((sign,))

    def form(self, pair: Pair) -> Affine | None:
        """Return the difference as an affine function, None if it is none."""
        if pair not in self._forms:
            with PRECISION_LOCK, flint.ctx.workprec(PRECISION):
                self._forms[pair] = affine_difference(*pair)
        return self._forms[pair]

    def common(self, assumed: frozenset[Assumption]) -> Common:
        """Return what is known of points of the box with these signs of affine differences."""
        found = self._common.get(assumed)
        if found is None:
            conditions: list[Halfspace] = []
            for pair, signs in assumed:
                form = self.form(pair)
                assert form is not None
                conditions += halfspaces_of(form, signs)
            found = self._common[assumed] = common_points(conditions, self._ranges)
        return found

    def _may_vanish(self, pair: Pair) -> bool:
        """Can the difference be zero everywhere? A value that is not zero at one point tells."""
        node = scaled_difference(*pair)
        point = {name: low + _CUT * (high - low) for name, (low, high) in self._ranges.items()}
        return ball_sign(enclose(node, point)) in (None, 0)


class _Follower(GuidedOracle):
    """Takes the outcomes of a prefix, and then the first one of every open comparison."""

    def __init__(self, hints: Hints, signs: _Signs, prefix: list[bool]) -> None:
        super().__init__(hints)
        self._signs = signs
        self._assumed: dict[Pair, frozenset[int]] = {}
        # Of the assumed signs those of affine differences, and a point that seems to have them.
        self._affine: dict[Pair, frozenset[int]] = {}
        self._point: dict[str, float] | None = None
        self.path = prefix
        self.n_open = 0

    def somewhere(self) -> dict[str, float] | None:
        """Return the middle of the box, if all of it goes the same way."""
        return None if self.n_open else self._signs.middle

    def decide(self, first: Expression, relation: Relation, second: Expression) -> bool:
        if not (first.parameters or second.parameters):
            return decide_constants(first, relation, second)
        pair = (first, second)
        if (second, first) in self._signs.proved or (second, first) in self._signs.open:
            pair, relation = (second, first), relation.mirrored
        possible = self._assumed.get(pair)
        if possible is None:
            possible = self._signs.possible(pair)
        holding = possible & relation.signs
        if not holding or holding == possible:
            return bool(holding)
        sides = {True: holding, False: possible - holding}
        left = [outcome for outcome in (True, False) if self._is_left(pair, sides[outcome])]
        if len(left) == 1:
            outcome = left[0]
        else:
            if self.n_open == len(self.path):
                self.path.append(True)
            outcome = self.path[self.n_open]
            self.n_open += 1
        self._assume(pair, sides[outcome])
        return outcome

    def _assume(self, pair: Pair, signs: frozenset[int]) -> None:
        self._assumed[pair] = signs
        form = self._signs.form(pair)
        if form is not None:
            self._affine[pair] = signs
            if not _has_sign(form, self._point, signs):
                self._point = self._signs.common(frozenset(self._affine.items())).point

    def _is_left(self, pair: Pair, signs: frozenset[int]) -> bool:
        """May the difference have one of these signs together with all that is assumed?"""
        form = self._signs.form(pair)
        if form is None or not self._affine or _has_sign(form, self._point, signs):
            return True
        together = {**self._affine, pair: signs}
        return not self._signs.common(frozenset(together.items())).is_empty

    @property
    def negative(self) -> tuple[Expression, ...]:
        """What is assumed to be at most 0 on this path."""
        found = []
        for (first, second), signs in self._assumed.items():
            if 1 not in signs:
                found.append(scaled_difference(first, second))
            elif -1 not in signs:
                found.append(scaled_difference(second, first))
        return tuple(found)


def _has_sign(form: Affine, point: dict[str, float] | None, signs: frozenset[int]) -> bool:
    """Seems an affine function to have one of some signs at a point?"""
    if point is None:
        return False
    value = nearest(form.offset)
    value += sum(nearest(slope) * point[name] for name, slope in form.slopes.items())
    return (1 if value > 0 else -1) in signs and value != 0


def outcomes_on_box(
    run: Callable[[], Any], ranges: Ranges, known: Knowledge, limit: int
) -> Outcomes:
    """Follow a program on a box.

    Parameters
    ----------
    run : callable
        The program with its parameters, which are expressions.
    ranges : mapping of name to (low, high)
        The box.
    known : Knowledge
        What holds on a box around it.
    limit : int
        Largest number of paths.
    """
    signs = _Signs(ranges, known.signs)
    paths: dict[Path, None] | None = {}
    pending: list[list[bool]] = [[]]
    hints = known.hints
    n_paths = 0
    while pending and paths is not None:
        check_time()
        prefix = pending.pop()
        start = len(prefix)
        follower = _Follower(known.hints, signs, prefix)
        n_paths += 1
        try:
            with deciding(follower):
                output = run()
            value = exact_number(output)
            paths[Path(value, follower.negative if value.parameters else ())] = None
        except Exception as error:
            no_path = (InputError, UndecidedError, ZeroDivisionError)
            if not isinstance(error, no_path) and not is_foreign(error):
                raise
            if n_paths == 1 and not follower.n_open:
                raise _with_place(error, ranges) from error
            if not isinstance(error, NO_VALUE):
                # Perhaps nobody takes this path; a smaller box will tell.
                paths = None
                break
            # Points without a value are no points of the domain.
        if n_paths == 1:
            hints = follower.found
        pending += [follower.path[:i] + [False] for i in range(start, follower.n_open)]
        if n_paths + len(pending) > limit:
            paths = None
    found = tuple(paths) if paths else None
    return Outcomes(found, Knowledge(signs.proved, hints), tuple(signs.open.values()))


def _with_place(error: Exception, ranges: Ranges) -> Exception:
    """Return the error with the place at which a program has no value."""
    if not isinstance(error, NO_VALUE):
        return error
    place = {name: f"from {low!r} to {high!r}" for name, (low, high) in ranges.items()}
    return without_value(error, place)
