"""A program along a line: every value it takes, with certified changes.

The sweep goes from left to right.  One pass runs the program with all comparisons decided just to
the right of a point, and learns from the sign maps of its predicates how far each decision holds;
up to there the program takes the same path.  The next pass starts behind the first bracket that
its comparisons meet; if the program asks for an open sign there, behind the next one.  Between two
passes, all outcomes that the signs leave open are followed, so that what the program may do there
is known too.  Sign maps are computed once for each predicate.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from heapq import nlargest, nsmallest
from operator import attrgetter
from typing import Any, NamedTuple

from certune.deadline import check_time
from certune.errors import CertuneError, InputError, UndecidedError
from certune.exact.dyadics import floats_between, is_simple, simplest
from certune.pfaffian.expressions.definedness import NO_VALUE, without_value
from certune.pfaffian.expressions.expression import Expression, constant, parameter
from certune.pfaffian.programs.contenders import Contenders, Scores
from certune.pfaffian.programs.decisions import (
    AT_A_POINT,
    Oracle,
    Relation,
    decide_constants,
    deciding,
    sorted_by,
)
from certune.pfaffian.programs.following import is_foreign
from certune.pfaffian.programs.kinetic import KineticKeys, KineticWinner
from certune.pfaffian.programs.program import exact_number
from certune.pfaffian.signs.cells import Cell
from certune.pfaffian.signs.on_line import Line, SignMap

_MOST_OUTCOMES = 64
# Floats inside a gap at which the program is run if something special may happen there.
_MOST_FLOATS = 16

_NO_VALUE_YET = constant(0)

Run = Callable[[Expression], Any]
"""A program as a function of the coordinate of the line."""


class Piece(NamedTuple):
    """A closed interval on which a program takes one path, and its value there."""

    start: float
    stop: float
    value: Expression


@dataclass(frozen=True)
class Sweep:
    """What a program does along a line.

    Parameters
    ----------
    pieces : tuple of Piece
        Closed intervals from left to right; the first and the last contain the ends.
    gaps : tuple of (tuple of Expression or None)
        For each gap between two pieces, all values that the program may take there; None if there
        are too many.
    holes : tuple of bool
        For each gap, whether it may hold points at which the program has no value. They are no
        points of its domain.
    n_predicates : int
        Number of distinct comparisons that were decided.
    """

    pieces: tuple[Piece, ...]
    gaps: tuple[tuple[Expression, ...] | None, ...]
    holes: tuple[bool, ...]
    n_predicates: int


def sweep(run: Run, name: str, low: float, high: float, *, limit: int = 100_000) -> Sweep:
    """Run a program on all points of an interval.

    Parameters
    ----------
    run : callable
        The program as a function of the coordinate, an expression; it returns a number or an
        expression.
    name : str
        Name of the coordinate.
    low, high : float
        The interval.
    limit : int
        Largest number of pieces.

    Returns
    -------
    Sweep
        Pieces with their values, and what may happen between them.

    Raises
    ------
    UndefinedError
        If the program has no value on a whole interval, or at an end of the line.
    """
    return _Sweeper(run, name, low, high, limit).sweep()


class _Blocked(Exception):
    """Just right of the current point, and up to ``until``, the program asks for an open sign."""

    def __init__(self, until: float) -> None:
        super().__init__(until)
        self.until = until


class _Predicates:
    """Sign maps of the differences that a program compares, computed once."""

    def __init__(self, name: str, low: float, high: float) -> None:
        self.name = name
        self._line = Line(name)
        self._scores = Scores(name)
        self._low, self.high = low, high
        # By the addresses of both sides, which are kept alive by the list.
        self._maps: dict[tuple[int, int], tuple[SignMap, int]] = {}
        self._sides: list[Expression] = []
        self._decisions: dict[tuple[int, int, int], _Decision] = {}
        # Results of operators by the addresses of their arguments, kept alive beside.
        self.made: dict[tuple[Any, ...], tuple[Any, ...]] = {}
        self.sorted_keys: dict[int, _SortedKeys] = {}
        # By the addresses of keys, which each of them keeps.
        self._choices: dict[tuple[int, ...], _Choice] = {}
        self.count = 0

    def decision(
        self, first: Expression, relation: Relation, second: Expression, t: float
    ) -> _Decision:
        """Decide for the points just right of `t`; raises `_Blocked` if the sign is open there."""
        key = (id(first), id(relation), id(second))
        known = self._decisions.get(key)
        if known is None or not known.start <= t < known.end:
            known = self._decisions[key] = self._decided(first, relation, second, t)
        return known

    def _decided(
        self, first: Expression, relation: Relation, second: Expression, t: float
    ) -> _Decision:
        signs, factor = self.find(first, second)
        if factor < 0:
            relation = relation.mirrored
        index = signs.right_of(t)
        cell = signs.cells[index]
        if cell.sign is None:
            after = _after_root_at_start(signs, index, relation)
            if after is None:
                raise _Blocked(cell.high)
            index, cell = index + 1, after
        stop, resume = cell.high, math.inf
        if index + 1 < len(signs.cells):
            resume = signs.cells[index + 1].high
            stop = _up_to_root_at_end(signs, index, relation)
        holds = cell.sign in relation.signs
        return _Decision(holds, signs, relation, cell.low, stop, cell.high, resume)

    def choice(self, keys: Sequence[Expression]) -> _Choice:
        """Return what is known about a choice among some keys."""
        name = tuple(map(id, keys))
        known = self._choices.get(name)
        if known is None:
            known = _Choice(list(keys), self._scores, self._low, self.high)
            self._choices[name] = known
        return known

    def find(self, first: Expression, second: Expression) -> tuple[SignMap, int]:
        """Return a sign map and the factor that turns it into that of ``first - second``."""
        entry = self._maps.get((id(first), id(second)))
        if entry is None:
            made = self._line.difference_map(first, second, self._low, self.high)
            entry = self._kept(first, second, made)
        return entry

    def find_exchange(
        self, first: Expression, second: Expression, bracket: tuple[float, float], after: int
    ) -> tuple[SignMap, int]:
        """Return what `find` does, where the one root and the sign behind it are known."""
        entry = self._maps.get((id(first), id(second)))
        if entry is None:
            made = SignMap.of_crossing((self._low, self.high), bracket, after)
            entry = self._kept(first, second, made)
        return entry

    def _kept(self, first: Expression, second: Expression, made: SignMap) -> tuple[SignMap, int]:
        self.count += 1
        entry = self._maps[id(first), id(second)] = made, 1
        self._maps[id(second), id(first)] = made, -1
        self._sides += [first, second]
        return entry


class _Decision(NamedTuple):
    """A comparison just right of a point, and how far to both sides its outcome is the same.

    Parameters
    ----------
    holds : bool
        The outcome.
    signs : SignMap
        The signs of the difference.
    relation : Relation
        The relation of that difference to 0.
    start, stop : float
        Where the outcome is the same; a root at an end of the line may belong to it.
    end : float
        Up to here, points have their right-hand sides in the same cell.
    resume : float
        Behind the bracket that follows.
    """

    holds: bool
    signs: SignMap
    relation: Relation
    start: float
    stop: float
    end: float
    resume: float


@dataclass(frozen=True)
class Hints:
    """What a run has found, from which later runs may start.

    Parameters
    ----------
    orders : sequence of list of int
        The orders of its sorts.
    winners : sequence of int
        What was the largest in its choices.
    """

    orders: Sequence[list[int]] = ()
    winners: Sequence[int] = ()


class GuidedOracle(Oracle):
    """An oracle that lets sorts and choices start from what an earlier run has found."""

    def __init__(self, hints: Hints) -> None:
        self._hints = hints
        self._orders: list[list[int]] = []
        self._winners: list[int] = []

    @property
    def found(self) -> Hints:
        """What this run has found so far."""
        return Hints(self._orders, self._winners)

    def suggested_order(self, length: int) -> list[int] | None:
        """Return the order of the same sort in the earlier run."""
        position = len(self._orders)
        if position < len(self._hints.orders) and len(self._hints.orders[position]) == length:
            return self._hints.orders[position]
        return None

    def note_order(self, order: list[int]) -> None:
        """Keep the order for later runs."""
        self._orders.append(order)

    def suggested_winner(self, length: int) -> int:
        """Return what the same choice of the earlier run has found, 0 if there was none."""
        position = len(self._winners)
        if position < len(self._hints.winners) and self._hints.winners[position] < length:
            return self._hints.winners[position]
        return 0

    def largest(self, keys: Sequence[Expression]) -> int:
        """Return the index of the largest key, comparing with that of the earlier run first."""
        best = self._largest_of(keys, range(len(keys)), self.suggested_winner(len(keys)))
        self._winners.append(best)
        return best

    def _largest_of(self, keys: Sequence[Expression], indices: Iterable[int], start: int) -> int:
        """Return the index of the largest of some keys, comparing with one of them first."""
        best = start
        for index in indices:
            key = keys[index]
            if index == start:
                continue
            if key is keys[best]:
                best = min(index, best)
            # Of equal ones the first is chosen.
            elif self.decide(key, Relation.AT_LEAST if index < best else Relation.MORE, keys[best]):
                best = index
        return best


_Exchange = tuple[tuple[int, int], _Decision, _Decision]
_Decide = Callable[[Expression, Relation, Expression], _Decision]
_start, _stop, _resume = attrgetter("start"), attrgetter("stop"), attrgetter("resume")


class _SortedKeys:
    """The keys of one sort of a program in order, kept from pass to pass.

    Parameters
    ----------
    keys : sequence of Expression
        What is sorted.
    descending : bool
        Whether the largest comes first.
    hint : list of int or None
        A likely order.
    stop : float
        Where the line ends.

    Attributes
    ----------
    noted : list of _Decision
        Decisions that tell how far the order is the same: those about neighbours, or about the
        last and the next exchange if these are all that happens; none about equal or constant keys.
    """

    def __init__(
        self, keys: Sequence[Expression], descending: bool, hint: list[int] | None, stop: float
    ) -> None:
        self._keys, self._descending = keys, descending
        self._names = list(map(id, keys))
        self._hint = hint
        self._order: list[int] = []
        # For all neighbours (i, j) in order: until when they are known to be in order.
        self._ends: list[float] = []
        self._decisions: list[_Decision | None] = []
        self._kinetic = KineticKeys(keys, descending, stop)
        self.noted: list[_Decision] = []
        # The next and the last exchange: who, and the decisions before and behind it.
        self._coming: _Exchange | None = None
        self._last: _Exchange | None = None

    def is_about(self, keys: Sequence[Expression], descending: bool) -> bool:
        """Tell whether these are the same keys."""
        if self._descending != descending:
            return False
        # Tuples do not change.
        same = keys is self._keys and isinstance(keys, tuple)
        return same or self._names == list(map(id, keys))

    def order_at(self, t: float, decide: _Decide, predicates: _Predicates) -> list[int]:
        """Return the order just right of `t`, which is right of the last place."""
        if self._kinetic.advance(t):
            exchanges = self._exchanges(predicates)
            if exchanges is not None:
                self.noted, self._ends = exchanges, []
                return self._kinetic.order
        self._coming = None
        self._kinetic.start(t)
        self._hint = self._kinetic.likely_order(t) or self._hint
        order = self._compared(t, decide)
        self.noted = [decision for decision in self._decisions if decision is not None]
        return order

    def _exchanges(self, predicates: _Predicates) -> list[_Decision] | None:
        """Decisions about the last and the next exchange; None if the next reaches too far."""
        found: list[_Decision] = []
        kinetic = self._kinetic
        if self._coming is not None and self._coming[0] != kinetic.coming:
            self._last, self._coming = self._coming, None
        if kinetic.coming is not None:
            if self._coming is None:
                exchange = self._exchange(predicates)
                if exchange is None:
                    return None
                self._coming = (kinetic.coming, *exchange)
            found.append(self._coming[1])
        if kinetic.last is not None and self._last is not None and self._last[0] == kinetic.last:
            found.append(self._last[2])
        return found

    def _exchange(self, predicates: _Predicates) -> tuple[_Decision, _Decision] | None:
        """Decisions about the next two keys to change places, before and behind that."""
        kinetic = self._kinetic
        assert kinetic.coming is not None
        first, second = (self._keys[index] for index in kinetic.coming)
        if not self._descending:
            first, second = second, first
        # The smaller index comes first now if its key is, in this order, the larger one.
        holds = kinetic.is_smaller_first
        if kinetic.is_plain:
            signs, factor = predicates.find_exchange(
                first, second, kinetic.bracket, -1 if holds else 1
            )
        else:
            signs, factor = predicates.find(first, second)
        if len(signs.cells) != 3:
            return None
        before, bracket, after = signs.cells
        # Nothing else happens in the bracket of the exchange, and the sign map may not be wider.
        if bracket.low < kinetic.bracket[0] or bracket.high > kinetic.bracket[1]:
            return None
        relation = Relation.AT_LEAST if factor > 0 else Relation.AT_MOST
        return (
            _Decision(holds, signs, relation, before.low, before.high, before.high, bracket.high),
            _Decision(not holds, signs, relation, after.low, after.high, after.high, math.inf),
        )

    def _decided(self, pair: tuple[int, int], decide: _Decide) -> _Decision:
        first, second = self._keys[pair[0]], self._keys[pair[1]]
        if not self._descending:
            first, second = second, first
        return decide(first, Relation.AT_LEAST, second)

    def _compared(self, t: float, decide: _Decide) -> list[int]:
        """Return the order just right of `t` by comparing keys."""
        found: dict[tuple[int, int], _Decision] = {}

        def precedes(i: int, j: int) -> bool:
            if i > j:
                return not precedes(j, i)
            first, second = self._keys[i], self._keys[j]
            if first is second:
                return True
            if not (first.parameters or second.parameters):
                pair = (first, second) if self._descending else (second, first)
                return decide_constants(pair[0], Relation.AT_LEAST, pair[1])
            decision = found[i, j] = self._decided((i, j), decide)
            return decision.holds

        if self._ends and t < min(self._ends):
            return self._order
        if self._ends:
            order = self._repaired(t, precedes)
        else:
            order = sorted_by(len(self._keys), precedes, self._hint)
        self._keep(order, precedes, found)
        return order

    def _repaired(self, t: float, precedes: Callable[[int, int], bool]) -> list[int]:
        """Insert again what follows a pair whose decision has ended."""
        old = self._order
        order = old[:1]
        for place, end in enumerate(self._ends):
            item = old[place + 1]
            position = len(order)
            # Behind its old neighbour it stays as long as that decision holds.
            if not (t < end and order[-1] == old[place]):
                while position and precedes(item, order[position - 1]):
                    position -= 1
            order.insert(position, item)
        return order

    def _keep(
        self,
        order: list[int],
        precedes: Callable[[int, int], bool],
        found: dict[tuple[int, int], _Decision],
    ) -> None:
        known = {} if not self._ends else self._by_pair()
        ends, decisions = [], []
        for pair in itertools.pairwise(order):
            i, j = sorted(pair)
            decision = found.get((i, j)) or known.get((i, j))
            if decision is None and precedes(i, j) is not None:
                decision = found.get((i, j))  # None only for equal and for constant keys
            decisions.append(decision)
            ends.append(math.inf if decision is None else decision.end)
        self._order, self._ends, self._decisions = order, ends, decisions

    def _by_pair(self) -> dict[tuple[int, int], _Decision]:
        """The decisions that were known, by the smaller and the larger index of the pair."""
        pairs = itertools.pairwise(self._order)
        return {
            (i, j) if i < j else (j, i): decision
            for (i, j), decision in zip(pairs, self._decisions, strict=True)
            if decision is not None
        }


class _Choice:
    """The largest of some keys, kept from pass to pass.

    Parameters
    ----------
    keys : list of Expression
        The keys.
    scores : Scores
        Enclosures of keys.
    low, high : float
        The line.
    """

    def __init__(self, keys: list[Expression], scores: Scores, low: float, high: float) -> None:
        self._keys = keys
        self._scores, self._line = scores, (low, high)
        self.kinetic = KineticWinner(keys, high)
        self._winner = -1
        # The decision that the winner has won, behind the last change, and until the next one.
        self._since: _Decision | None = None
        self._until: _Decision | None = None
        self._behind: tuple[int, _Decision] | None = None
        self._bracket = (math.nan, math.nan)

    @cached_property
    def contenders(self) -> Contenders:
        """Which keys can be the largest where."""
        return Contenders(self._keys, self._scores, *self._line)

    def exchange(self, predicates: _Predicates) -> list[_Decision] | None:
        """Decisions about the last and the next winner; None if the next one reaches too far."""
        kinetic = self.kinetic
        if (kinetic.winner, kinetic.bracket) != (self._winner, self._bracket):
            came = self._behind is not None and self._behind[0] == kinetic.winner
            self._since = self._behind[1] if came and self._behind is not None else None
            self._winner, self._bracket = kinetic.winner, kinetic.bracket
            self._until = self._behind = None
            if kinetic.coming is not None:
                found = self._decisions(predicates, kinetic.winner, kinetic.coming)
                if found is None:
                    self._winner = -1
                    return None
                self._until, self._behind = found[0], (kinetic.coming, found[1])
        return [each for each in (self._until, self._since) if each is not None]

    def _decisions(
        self, predicates: _Predicates, winner: int, coming: int
    ) -> tuple[_Decision, _Decision] | None:
        """That the winner wins up to the bracket, and that the next one wins behind it."""
        signs, factor = predicates.find(self._keys[winner], self._keys[coming])
        if len(signs.cells) != 3:
            return None
        before, bracket, after = signs.cells
        if bracket.low < self.kinetic.bracket[0] or bracket.high > self.kinetic.bracket[1]:
            return None
        # Of equal ones the first is chosen; the sign map may be that of the negative difference.
        wins = Relation.AT_LEAST if winner < coming else Relation.MORE
        loses = wins.negated
        if factor < 0:
            wins, loses = wins.mirrored, loses.mirrored
        return (
            _Decision(True, signs, wins, before.low, before.high, before.high, bracket.high),
            _Decision(True, signs, loses, after.low, after.high, after.high, math.inf),
        )


class _Pass(GuidedOracle):
    """Decides for the points just right of `t`, and keeps how far the decisions hold.

    Parameters
    ----------
    hints : Hints
        What the last pass has found.
    predicates : _Predicates
        The sign maps of the line.
    since : float
        Where the last piece ends, at most `t`; what is noted also tells what changes between.
    t : float
        The place.
    """

    def __init__(self, hints: Hints, predicates: _Predicates, since: float, t: float) -> None:
        super().__init__(hints)
        self._predicates = predicates
        self._since, self._t = since, t
        self.value = _NO_VALUE_YET
        self.made = predicates.made
        self.decisions: list[_Decision] = []
        # The nearest end to the right and the nearest beginning to the left, each with the next
        # one of another predicate.
        self.stop, self.next_stop = math.inf, math.inf
        self.start, self.next_start = -math.inf, -math.inf
        self.stopping: SignMap | None = None
        self.starting: SignMap | None = None
        # Up to here the same comparisons are made, and one of them is open.
        self.resume = math.inf

    def somewhere(self) -> dict[str, float]:
        """Return a point of the piece, as far as it is known."""
        stop = min(self.stop, self._predicates.high)
        return {self._predicates.name: 0.5 * self._t + 0.5 * stop}

    def decide(self, first: Expression, relation: Relation, second: Expression) -> bool:
        if not (first.parameters or second.parameters):
            return decide_constants(first, relation, second)
        found = self._decision(first, relation, second)
        self._note(found)
        return found.holds

    def _decision(self, first: Expression, relation: Relation, second: Expression) -> _Decision:
        try:
            return self._predicates.decision(first, relation, second, self._t)
        except _Blocked as blocked:
            raise _Blocked(min(blocked.until, self.resume)) from None

    def _note(self, found: _Decision) -> None:
        """Take note of how far a decision holds."""
        signs = found.signs
        self.resume = min(self.resume, found.resume)
        self.decisions.append(found)
        if signs is self.stopping:
            # Of two relations of the same numbers one may hold at a root at the end, one not.
            self.stop = min(self.stop, found.stop)
        elif found.stop < self.next_stop:
            self._note_stop(signs, found.stop)
        if found.start > self.next_start and signs is not self.starting:
            self._note_start(signs, found.start)

    def order(self, keys: Sequence[Expression], descending: bool) -> list[int]:
        """Sort from the order of the last pass; only neighbours in the new order are noted.

        What neighbours say determines the order of all, ties by index included. Neighbours whose
        decision still holds are not asked again, so that a pass costs what has changed.
        """
        place = len(self._orders)
        known = self._predicates.sorted_keys.get(place)
        if known is None or not known.is_about(keys, descending):
            hint = self.suggested_order(len(keys))
            known = _SortedKeys(keys, descending, hint, self._predicates.high)
            self._predicates.sorted_keys[place] = known
        order = known.order_at(self._t, self._decision, self._predicates)
        self._note_all(known.noted)
        self.note_order(order)
        return list(order)

    def _note_all(self, found: list[_Decision]) -> None:
        """Take note of decisions about different numbers; the two nearest ends of a kind count."""
        if len(found) <= 2:
            for decision in found:
                self._note(decision)
            return
        for decision in {
            id(each): each
            for each in (*nsmallest(2, found, key=_stop), *nlargest(2, found, key=_start))
        }.values():
            self._note(decision)
            self.decisions.pop()
        self.decisions += found
        self.resume = min(self.resume, min(map(_resume, found), default=math.inf))

    def largest(self, keys: Sequence[Expression]) -> int:
        """Compare the largest one with all others that can be the largest before the piece ends."""
        known = self._predicates.choice(keys)
        if known.kinetic.advance(self._t):
            noted = known.exchange(self._predicates)
            if noted is not None:
                for decision in noted:
                    self._note(decision)
                self._winners.append(known.kinetic.winner)
                return known.kinetic.winner
        parts = known.contenders.parts(self._since)
        indices: set[int] = set()
        for part in parts:
            indices.update(part.indices)
            if part.last > self._t:
                break
        best = self._winner_of(keys, sorted(indices), part.likely)
        # The gap behind the piece belongs to what is known of it.
        for part in itertools.takewhile(lambda part: part.first < self.resume, parts):
            for other in part.indices:
                if other not in indices and not self._beats(keys, best, other):
                    raise AssertionError(f"key {other} is larger at {self._t!r}")
            indices.update(part.indices)
        self._winners.append(best)
        return best

    def _winner_of(self, keys: Sequence[Expression], indices: list[int], likely: int) -> int:
        """The largest of some keys, compared with all of them."""
        best = self._likely_largest(keys, indices, likely)
        # A loser takes the place of the winner only once, so that this ends.
        for _ in indices:
            better = next((i for i in indices if not self._beats(keys, best, i)), None)
            if better is None:
                break
            best = better
        return best

    def _beats(self, keys: Sequence[Expression], best: int, other: int) -> bool:
        """Decide that one key is chosen rather than another: of equal ones the first is."""
        if best == other:
            return True
        relation = Relation.AT_LEAST if best < other else Relation.MORE
        return self.decide(keys[best], relation, keys[other])

    def _likely_largest(self, keys: Sequence[Expression], indices: list[int], likely: int) -> int:
        """Look for the largest key without taking notes, beginning with a likely one."""
        best = likely
        for index in indices:
            key = keys[index]
            if index == best:
                continue
            if not (key.parameters or keys[best].parameters):
                more = decide_constants(key, Relation.MORE, keys[best])
            else:
                signs, factor = self._predicates.find(key, keys[best])
                sign = signs.cells[signs.right_of(self._t)].sign
                more = sign is not None and sign * factor > 0
            if more:
                best = index
        return best

    @property
    def n_decisions(self) -> int:
        """How many comparisons were decided."""
        return len(self.decisions)

    @property
    def stopping_root(self) -> float | None:
        """Where the comparison that ends the piece has its root, if that is known."""
        if self.stopping is None:
            return None
        return self.stopping.cells[self.stopping.right_of(self.stop)].root

    def _note_stop(self, signs: SignMap, stop: float) -> None:
        if stop < self.stop:
            self.stop, self.next_stop, self.stopping = stop, self.stop, signs
        else:
            self.next_stop = stop

    def _note_start(self, signs: SignMap, start: float) -> None:
        if start > self.start:
            self.start, self.next_start, self.starting = start, self.start, signs
        else:
            self.next_start = start


def _after_root_at_start(signs: SignMap, index: int, relation: Relation) -> Cell | None:
    """Return the cell behind a root at the left end, if the relation is the same at the root."""
    root = signs.cells[index].root
    if root is None or root != signs.low or index + 1 == len(signs.cells):
        return None
    cell = signs.cells[index + 1]
    assert cell.sign is not None
    return cell._replace(low=root) if relation.holds(0) == relation.holds(cell.sign) else None


def _up_to_root_at_end(signs: SignMap, index: int, relation: Relation) -> float:
    """Return where a cell ends: at a root at the right end, if the relation is the same there."""
    cell, following = signs.cells[index], signs.cells[index + 1]
    assert cell.sign is not None
    at_end = following.root is not None and following.root == signs.high
    return signs.high if at_end and relation.holds(0) == relation.holds(cell.sign) else cell.high


class _Outcomes(GuidedOracle):
    """Follows one of the paths that the signs in an open interval allow."""

    def __init__(
        self,
        hints: Hints,
        predicates: _Predicates,
        between: tuple[float, float],
        prefix: list[bool],
    ) -> None:
        super().__init__(hints)
        self._predicates = predicates
        self._between = between
        self.path = prefix
        self.n_open = 0
        self._signs: dict[SignMap, frozenset[int]] = {}

    def decide(self, first: Expression, relation: Relation, second: Expression) -> bool:
        if not (first.parameters or second.parameters):
            return decide_constants(first, relation, second)
        signs, factor = self._predicates.find(first, second)
        if factor < 0:
            relation = relation.mirrored
        possible = self._signs.get(signs)
        if possible is None:
            possible = signs.possible_signs(*self._between)
        holding = possible & relation.signs
        if holding and holding != possible:
            if self.n_open == len(self.path):
                self.path.append(True)
            outcome = self.path[self.n_open]
            self.n_open += 1
            possible = holding if outcome else possible - holding
            self._signs[signs] = possible
            return outcome
        return bool(holding)

    def largest(self, keys: Sequence[Expression]) -> int:
        """Compare only those that can be the largest here."""
        indices = self._predicates.choice(keys).contenders.within(*self._between)
        start = self.suggested_winner(len(keys))
        best = self._largest_of(keys, indices, start if start in indices else indices[0])
        self._winners.append(best)
        return best


class _Gap(NamedTuple):
    """What may happen between two pieces: values, None if unknown, and points without a value."""

    values: tuple[Expression, ...] | None
    has_hole: bool


_UNKNOWN = _Gap(None, has_hole=True)


class _Sweeper:
    def __init__(self, run: Run, name: str, low: float, high: float, limit: int) -> None:
        self._run = run
        self._coordinate = parameter(name)
        self._low, self._high, self._limit = low, high, limit
        self._predicates = _Predicates(name, low, high)
        self._hints = Hints()
        self._pieces: list[Piece] = []
        self._gaps: list[_Gap] = []

    def sweep(self) -> Sweep:
        t, last = self._low, None
        while True:
            try:
                current = self._pass(t)
            except _Blocked as blocked:
                if not self._pieces:
                    self._pieces.append(self._end(self._low))
                t, last = blocked.until, None
                if t >= self._high:
                    self._end_in_gap()
                    break
                continue
            if self._pieces:
                root = None if last is None else last.stopping_root
                self._add_gap(t, current.value, self._one_change(last, current, t), root)
            stop = min(current.stop, self._high)
            self._pieces.append(Piece(t, stop, current.value))
            if len(self._pieces) > self._limit:
                raise CertuneError(
                    f"the program has more than {self._limit} pieces on "
                    f"[{self._low!r}, {t!r}] alone, half of them from "
                    f"{self._pieces[self._limit // 2].start!r} on; choose a shorter range, or "
                    "leave out a place where there is no end of them, as those of floor(1 / a) at 0"
                )
            if stop >= self._high:
                break
            t, last = current.resume, current
            if t >= self._high:
                self._end_in_gap()
                break
        return Sweep(
            tuple(self._pieces),
            tuple(gap.values for gap in self._gaps),
            tuple(gap.has_hole for gap in self._gaps),
            self._predicates.count,
        )

    def _pass(self, t: float) -> _Pass:
        check_time()
        since = self._pieces[-1].stop if self._pieces else t
        oracle = _Pass(self._hints, self._predicates, since, t)
        try:
            with deciding(oracle):
                output = self._run(self._coordinate)
        except NO_VALUE as error:
            stop = min(oracle.stop, self._high)
            place = f"from {t!r} to {stop!r}"
            raise without_value(error, {str(self._coordinate): place}) from error
        oracle.value = exact_number(output)
        self._hints = oracle.found
        return oracle

    def _end(self, t: float) -> Piece:
        """The piece that is one end of the line."""
        try:
            return self._point(t)
        except NO_VALUE as error:
            raise without_value(error, {str(self._coordinate): f"= {t!r}"}) from error

    def _point(self, t: float) -> Piece:
        with deciding(AT_A_POINT):
            output = self._run(constant(Fraction(t)))
        return Piece(t, t, exact_number(output))

    def _end_in_gap(self) -> None:
        if self._pieces[-1].stop < self._high:
            self._add_gap(self._high)
            self._pieces.append(self._end(self._high))

    def _add_gap(
        self,
        high: float,
        after: Expression | None = None,
        known: tuple[Expression, ...] | None = None,
        root: float | None = None,
    ) -> None:
        """Add the gap behind the last piece, with the values that are possible in it.

        At a simple number in the gap, where ties tend to be exact, or at the known root of the
        comparison that ends the last piece the program is run; and at every float, if they are
        few and something else than on both sides may happen there.
        """
        low, sides = self._pieces[-1].stop, (self._pieces[-1].value, after)
        gap: _Gap | None = None
        points: list[Piece] = []
        if known is None or len(known) > 1:
            t = simplest(low, high)
            places = [t] if is_simple(t) else [] if root is None else [root]
            points = self._points([place for place in places if low < place < high])
        if not points:
            gap = self._outcomes(low, high) if known is None else _Gap(known, has_hole=False)
            if gap.values is None or not all(_is_among(value, sides) for value in gap.values):
                found = self._points(floats_between(low, high, _MOST_FLOATS))
                points = [point for point in found if not _is_among(point.value, sides)]
        for point in points:
            self._gaps.append(self._outcomes(low, point.start))
            self._pieces.append(point)
            low, gap = point.stop, None
        self._gaps.append(self._outcomes(low, high) if gap is None else gap)

    def _points(self, places: list[float]) -> list[Piece]:
        """Run the program at floats; at a pole, or a tie without a proof, the gap says enough."""
        found = []
        for t in places:
            with suppress(InputError, UndecidedError, ZeroDivisionError):
                found.append(self._point(t))
        return found

    def _one_change(
        self, last: _Pass | None, current: _Pass, high: float
    ) -> tuple[Expression, ...] | None:
        """Values in a gap if just one predicate changes there, which is the rule; else None."""
        if last is None:
            return None
        low = last.stop
        if (
            last.stopping is current.starting
            and last.next_stop >= high
            and current.next_start <= low
            and _ties_go_one_way(last, current, low, high)
        ):
            if last.value is current.value:
                return (current.value,)
            return last.value, current.value
        return None

    def _outcomes(self, low: float, high: float) -> _Gap:
        # All runs start from the same hints, so that a prefix means the same comparisons.
        values: dict[Expression, None] = {}
        has_hole = False
        pending: list[list[bool]] = [[]]
        n_runs = 0
        while pending:
            n_runs += 1
            if n_runs > _MOST_OUTCOMES:
                return _UNKNOWN
            prefix = pending.pop()
            start = len(prefix)
            oracle = _Outcomes(self._hints, self._predicates, (low, high), prefix)
            try:
                with deciding(oracle):
                    output = self._run(self._coordinate)
                values[exact_number(output)] = None
            except NO_VALUE:
                has_hole = True
            except Exception as error:
                if isinstance(error, (InputError, UndecidedError)) or is_foreign(error):
                    return _UNKNOWN  # perhaps nobody takes this path
                raise
            pending += [oracle.path[:i] + [False] for i in range(start, oracle.n_open)]
        return _Gap(tuple(values), has_hole) if values else _UNKNOWN


def _is_among(value: Expression, sides: tuple[Expression, Expression | None]) -> bool:
    """Is it one of these expressions? The same expression is the same object."""
    return value is sides[0] or value is sides[1]


def _ties_go_one_way(last: _Pass, current: _Pass, low: float, high: float) -> bool:
    """Does a tie of the changing predicate always go with the left, or always with the right?"""
    signs = last.stopping
    assert signs is not None
    left = signs.cells[signs.right_of(low) - 1].sign
    right = signs.cells[signs.right_of(high)].sign
    if left == right:
        # Inside the bracket the sign may differ from both ends.
        return False
    relations = [
        decision.relation
        for decisions in (last.decisions, current.decisions)
        for decision in decisions
        if decision.signs is signs
    ]
    for side in (left, right):
        if side is not None and all(
            (0 in each.signs) == (side in each.signs) for each in relations
        ):
            return True
    return False
