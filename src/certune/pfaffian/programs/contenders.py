"""Which of several scores can be the largest where, so that a choice compares few of their pairs.

Each score is enclosed for itself, on parts of the line that are halved as long as more than two of
the scores can be the largest there. Only pairs of these have to be compared, which are about as
many as the winner changes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import flint
from flint import arb

from certune.exact.precision import PRECISION_LOCK
from certune.pfaffian.expressions.evaluation import PRECISION, Jet, jet
from certune.pfaffian.expressions.expression import Expression
from certune.pfaffian.expressions.scaling import is_positive, logarithm
from certune.pfaffian.expressions.tapes import float_ends, tape_of

# A cut off the middle, as that of sign maps.
_CUT = 0.4853
# So often a part is halved without that any score drops out, and so narrow it may become.
_MOST_IN_VAIN = 8
_NARROWEST = 2.0**-26
_MOST_PARTS = 4000
# A product of two differences is off by less, relative to its size or near 0.
_MARGIN = 1.0 + 2.0**-48
_TINY = 1e-300


class _Enclosure(NamedTuple):
    """Ends of a score on a part of the line, at its middle, and of its slope."""

    low: float
    high: float
    low_at_middle: float
    high_at_middle: float
    shallow: float
    steep: float

    @property
    def is_finite(self) -> bool:
        """Whether the score is known to have a value everywhere on the part."""
        return -math.inf < self.low and self.high < math.inf


class Scores:
    """Enclosures of scores on parts of a line, which all choices share.

    Parameters
    ----------
    name : str
        The parameter of the line.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._known: dict[tuple[float, float], dict[Expression, _Enclosure]] = {}
        self._logarithms: dict[Expression, Expression | None] = {}

    def comparable(self, keys: Sequence[Expression]) -> list[Expression]:
        """Return expressions in the order of the keys: logarithms if all keys are positive."""
        found = []
        for key in keys:
            if key not in self._logarithms:
                self._logarithms[key] = logarithm(key) if is_positive(key) else None
            scaled = self._logarithms[key]
            if scaled is None:
                return list(keys)
            found.append(scaled)
        return found

    def on(self, nodes: Sequence[Expression], first: float, last: float) -> list[_Enclosure]:
        """Enclose scores on a part of the line."""
        if len(self._known) > _MOST_PARTS:
            self._known.clear()
        known = self._known.setdefault((first, last), {})
        found = []
        for node in nodes:
            enclosure = known.get(node)
            if enclosure is None:
                enclosure = known[node] = self._enclosed(node, first, last)
            found.append(enclosure)
        return found

    def _enclosed(self, node: Expression, first: float, last: float) -> _Enclosure:
        middle = _middle(first, last)
        tape = tape_of(node)
        if tape is not None:
            low, high, shallow, steep = tape.on_interval(first, last)
            return _Enclosure(low, high, *tape.on_interval(middle, middle)[:2], shallow, steep)
        with PRECISION_LOCK, flint.ctx.workprec(PRECISION):
            everywhere = jet(node, {self._name: Jet(arb(first).union(arb(last)), arb(1))}, {})
            there = jet(node, {self._name: Jet(arb(middle), arb(1))}, {})
        return _Enclosure(
            *float_ends(everywhere.value),
            *float_ends(there.value),
            *((0.0, 0.0) if everywhere.slope is None else float_ends(everywhere.slope)),
        )


class Part:
    """A part of the line and the scores that can be the largest somewhere on it.

    Parameters
    ----------
    first, last : float
        Its ends, which belong to it.
    indices : tuple of int
        The scores, ascending; of equal keys only the first.
    likely : int
        What seems to be the largest at the middle.
    in_vain : int
        How many halvings have not changed these.
    """

    __slots__ = ("first", "halves", "in_vain", "indices", "last", "likely")

    def __init__(self, first: float, last: float, indices: tuple[int, ...], likely: int) -> None:
        self.first, self.last, self.indices, self.likely = first, last, indices, likely
        self.in_vain = 0
        self.halves: tuple[Part, Part] | None = None


class Contenders:
    """The scores of one choice that can be the largest, by parts of the line.

    Parameters
    ----------
    keys : sequence of Expression
        What is compared, in one parameter.
    scores : Scores
        Where enclosures are kept.
    low, high : float
        The line.

    Examples
    --------
    >>> from certune.pfaffian import parameter
    >>> from certune.pfaffian.programs.contenders import Contenders, Scores
    >>> a = parameter("a")
    >>> found = Contenders([-((a - k) ** 2) for k in range(4)], Scores("a"), 0.0, 3.0)
    >>> found.within(0.0, 0.25), found.within(0.25, 0.75), found.within(1.0, 3.0)
    ((0, 1), (0, 1), (1, 2, 3))
    """

    def __init__(self, keys: Sequence[Expression], scores: Scores, low: float, high: float) -> None:
        self._nodes = scores.comparable(keys)
        self._scores = scores
        first_of: dict[int, int] = {}
        for index, key in enumerate(keys):
            first_of.setdefault(id(key), index)
        self._narrowest = _NARROWEST * (high - low)
        self._root = self._part(tuple(first_of.values()), low, high)

    def parts(self, start: float) -> Iterator[Part]:
        """Return the parts with points right of a place, from left to right."""
        pending = [self._root]
        while pending:
            part = pending.pop()
            # The last part is met also from the end of the line.
            if part.last <= start and part.last < self._root.last:
                continue
            halves = part.halves or self._halved(part)
            if halves is None:
                yield part
            else:
                pending += reversed(halves)

    def within(self, low: float, high: float) -> tuple[int, ...]:
        """Return the scores that can be the largest at a point between two places."""
        found: set[int] = set()
        for part in self.parts(low):
            if part.first >= high:
                break
            found.update(part.indices)
        return tuple(sorted(found))

    def _halved(self, part: Part) -> tuple[Part, Part] | None:
        if len(part.indices) <= 2 or part.in_vain >= _MOST_IN_VAIN:
            return None
        cut = part.first + _CUT * (part.last - part.first)
        if not part.first < cut < part.last or part.last - part.first <= self._narrowest:
            return None
        left, right = (
            self._child(part, first, last) for first, last in ((part.first, cut), (cut, part.last))
        )
        part.halves = left, right
        return part.halves

    def _child(self, part: Part, first: float, last: float) -> Part:
        child = self._part(part.indices, first, last)
        if len(child.indices) == len(part.indices):
            child.in_vain = part.in_vain + 1
        return child

    def _part(self, indices: tuple[int, ...], first: float, last: float) -> Part:
        """Leave out the scores that are smaller than another one on all of a part.

        A score is left out only where it is known to have a value: one that has none is an error
        of the program, which has to be met.
        """
        found = self._scores.on([self._nodes[index] for index in indices], first, last)
        known = [place for place, each in enumerate(found) if each.is_finite]
        if not known:
            return Part(first, last, indices, indices[0])
        floor = max(found[place].low for place in known)
        likely = max(known, key=lambda place: found[place].low_at_middle)
        middle = _middle(first, last)
        reach = max(last - middle, middle - first)
        left = tuple(
            index
            for index, each in zip(indices, found, strict=True)
            if not (each.is_finite and (each.high < floor or _is_below(each, found[likely], reach)))
        )
        return Part(first, last, left, indices[likely])


def _is_below(score: _Enclosure, best: _Enclosure, reach: float) -> bool:
    """Is a score smaller than another one within a distance of the middle, by their slopes?"""
    if score is best:
        return False
    gap = best.low_at_middle - score.high_at_middle
    down, up = abs(best.shallow - score.steep), abs(best.steep - score.shallow)
    # What is no number fails the first comparison.
    return down + up < math.inf and gap > reach * max(down, up) * _MARGIN + _TINY


def _middle(first: float, last: float) -> float:
    return 0.5 * first + 0.5 * last
