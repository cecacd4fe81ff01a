"""Keys of a sort, or of a choice, that are straight lines: their order as one list of events.

The compiled core follows the order from a place on and lists the exchanges of neighbours with
proved brackets.  A pass of a sweep then needs no comparison: it carries out the exchange that it
has passed, and knows the next one.  Where two exchanges cannot be told apart the list ends.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from certune.exact.dyadics import holds_simple
from certune.kernels.programs import (
    Coefficients,
    KineticOrder,
    crossing,
    kinetic_order,
    sign_at,
)
from certune.pfaffian.expressions.expression import Expression
from certune.pfaffian.signs.affine import score_lines

# Exchanges that are found ahead; those behind a place that needs other means are found again.
_AHEAD = 512

Pair = tuple[int, int]


class KineticKeys:
    """The order of keys that are straight lines, or whose logarithms are.

    Parameters
    ----------
    keys : sequence of Expression
        What is sorted, in one parameter.
    descending : bool
        Whether the largest comes first.
    stop : float
        Where the line ends.

    Attributes
    ----------
    order : list of int
        The order at the place of the last `advance`.
    last, coming : tuple of int or None
        The keys that have just changed places, and those that will do so next.
    bracket : pair of float
        Where `coming` change places, at the end if nobody does.
    is_plain : bool
        Whether the bracket is all that can be known of the place: neither are the lines rational,
        nor is there a simple number in it, which may be the place itself.
    """

    def __init__(self, keys: Sequence[Expression], descending: bool, stop: float) -> None:
        side = 1.0 if descending else -1.0
        lines = score_lines(keys) if any(key.parameters for key in keys) else None
        self._lines = None
        self._has_rational = True
        if lines is not None:
            self._has_rational = any(line.is_exact for line in lines)
            signs = (side, side, 1.0, side, side, 1.0)
            self._lines = [
                [sign * number for sign, number in zip(signs, line.coefficients, strict=True)]
                for line in lines
            ]
        first_of: dict[int, int] = {}
        self._forms = [first_of.setdefault(id(key), place) for place, key in enumerate(keys)]
        self._stop = stop
        self._found: KineticOrder | None = None
        self._done = 0
        self.order: list[int] = []
        self.last: Pair | None = None
        self.coming: Pair | None = None
        self.bracket = (stop, stop)
        self.is_plain = False
        self._simple: list[bool] = []

    def start(self, t: float) -> None:
        """Begin just right of `t`, which may turn out to be impossible."""
        self.last = None
        self._look_ahead(t)

    def _look_ahead(self, t: float) -> None:
        self._done = 0
        self._found = (
            None
            if self._lines is None
            else kinetic_order(self._lines, self._forms, t, self._stop, _AHEAD)
        )
        if self._found is not None:
            self.order = self._found.order
            if self._found.brackets:
                lows, highs = zip(*self._found.brackets, strict=True)
                self._simple = holds_simple(lows, highs).tolist()

    def likely_order(self, t: float) -> list[int] | None:
        """Return the order at `t` by rounded values, None if the keys are no lines."""
        if self._lines is None:
            return None
        values = [line[0] + line[3] * t for line in self._lines]
        return sorted(range(len(values)), key=values.__getitem__, reverse=True)

    def advance(self, t: float) -> bool:
        """Go to the place just right of `t`; say whether all is known there up to `bracket`."""
        if self._found is None:
            return False
        while self._done < len(self._found.places):
            below, above = self._found.brackets[self._done]
            place = self._found.places[self._done]
            if t < above:
                self.coming, self.bracket = self._pair(place), (below, above)
                self.is_plain = not (self._has_rational or self._simple[self._done])
                return t <= below
            self.last = self._pair(place)
            self.order[place], self.order[place + 1] = self.order[place + 1], self.order[place]
            self._done += 1
        if self._done == _AHEAD:
            self._look_ahead(t)
            return self.advance(t)
        self.coming, self.bracket = None, (self._stop, self._stop)
        return self._found.until >= self._stop

    @property
    def is_smaller_first(self) -> bool:
        """Whether the smaller index of `coming` precedes the larger one now."""
        assert self._found is not None and self.coming is not None
        return self.order[self._found.places[self._done]] == self.coming[0]

    def _pair(self, place: int) -> Pair:
        i, j = self.order[place], self.order[place + 1]
        return (i, j) if i < j else (j, i)


class KineticWinner:
    """The largest of keys that are straight lines, or whose logarithms are, along the line.

    Parameters
    ----------
    keys : sequence of Expression
        What is compared, in one parameter.
    stop : float
        Where the line ends.

    Attributes
    ----------
    winner : int
        The index of the largest key at the place of the last `advance`, of equal ones the first.
    coming : int or None
        Who takes its place next.
    bracket : pair of float
        Where that happens, at the end if nobody does; nothing else happens there.
    """

    def __init__(self, keys: Sequence[Expression], stop: float) -> None:
        lines = score_lines(keys) if any(key.parameters for key in keys) else None
        self._lines = None if lines is None else [line.coefficients for line in lines]
        self._keys, self._stop = keys, stop
        self._known_from = math.inf
        self.winner = 0
        self.coming: int | None = None
        self.bracket = (stop, stop)

    def advance(self, t: float) -> bool:
        """Go to the place just right of `t`; say whether all is known there up to `bracket`."""
        if self._lines is None:
            return False
        if not self._known_from <= t <= self.bracket[0]:
            self._known_from = t if self._look_ahead(self._lines, t) else math.inf
        return self._known_from <= t

    def _look_ahead(self, lines: list[Coefficients], t: float) -> bool:
        values = [line[0] + line[3] * t for line in lines]
        winner = max(range(len(lines)), key=values.__getitem__)
        winner = next(i for i, key in enumerate(self._keys) if key is self._keys[winner])
        best, meetings = lines[winner], []
        for other, line in enumerate(lines):
            if self._keys[other] is self._keys[winner]:
                continue
            if sign_at(best, line, t) <= 0:
                return False
            # A difference that is positive here and at the end is positive between.
            if sign_at(best, line, self._stop) > 0:
                continue
            place = crossing(best, line)
            if place is None or place.sign_after > 0:
                return False
            meetings.append((place.below, place.above, other))
        meetings.sort()
        self.winner, self.coming, self.bracket = winner, None, (self._stop, self._stop)
        if meetings:
            below, above, self.coming = meetings[0]
            self.bracket = (below, above)
            # Nobody else may come close while the winner changes.
            if above >= self._stop or any(each[0] < above for each in meetings[1:]):
                return False
        return True
