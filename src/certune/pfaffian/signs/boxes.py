"""Which signs a function takes on a set of boxes, and which boxes go with which sign.

A path of a program is followed by a list of boxes that together contain every point of the domain
that takes it.  A new condition drops the boxes on which it is proved to fail; undecided boxes are
cut in two until the budget is spent, and then belong to both outcomes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product

from certune.pfaffian.expressions.expression import Expression
from certune.pfaffian.signs.ranges import signs_on

Ranges = dict[str, tuple[float, float]]

_CUT = 0.4853


@dataclass(frozen=True)
class Box:
    """A box of parameters.

    Parameters
    ----------
    ranges : dict of name to (low, high)
        Its sides.
    is_certain : bool
        Whether all conditions so far are proved on the whole box.
    """

    ranges: Ranges
    is_certain: bool = True

    def halves(self, names: tuple[str, ...]) -> tuple[Box, Box]:
        """Cut the widest of some sides, relative to nothing but its length."""
        name = max(names, key=lambda key: self.ranges[key][1] - self.ranges[key][0])
        low, high = self.ranges[name]
        cut = low + _CUT * (high - low)
        return (
            Box({**self.ranges, name: (low, cut)}, self.is_certain),
            Box({**self.ranges, name: (cut, high)}, self.is_certain),
        )

    def points(self) -> Iterator[dict[str, Fraction]]:
        """Return the centre and the corners, exactly."""
        yield {name: (Fraction(a) + Fraction(b)) / 2 for name, (a, b) in self.ranges.items()}
        for corner in product(*self.ranges.values()):
            yield {name: Fraction(x) for name, x in zip(self.ranges, corner, strict=True)}


def split_by_sign(
    forms: Sequence[Expression], boxes: list[Box], budget: int
) -> dict[int | None, list[Box]]:
    """Sort boxes by the sign of a function, None where it stays open.

    Parameters
    ----------
    forms : sequence of Expression
        Expressions with the sign of the function; what one leaves open the next may tell.
    boxes : list of Box
        Where to look.
    budget : int
        Largest number of evaluations on boxes.
    """
    sorted_boxes: dict[int | None, list[Box]] = {-1: [], 0: [], 1: [], None: []}
    names = forms[0].parameters
    pending = list(boxes)
    n_used = 0
    # Breadth first, so that the budget is spent evenly.
    while pending:
        following: list[Box] = []
        for position, (box, sign) in enumerate(zip(pending, _signs(forms, pending), strict=True)):
            n_used += 1
            if sign is not None:
                sorted_boxes[sign].append(box)
            elif n_used + len(pending) - position + 2 * len(following) >= budget:
                sorted_boxes[None].append(replace(box, is_certain=False))
            else:
                following += box.halves(names)
        pending = following
    return sorted_boxes


def _signs(forms: Sequence[Expression], boxes: list[Box]) -> list[int | None]:
    """The sign on each box, by the first form that tells it."""
    signs: list[int | None] = [None] * len(boxes)
    for form in forms:
        open_ones = [place for place, sign in enumerate(signs) if sign is None]
        if not open_ones:
            break
        found = signs_on(form, [boxes[place].ranges for place in open_ones])
        for place, sign in zip(open_ones, found, strict=True):
            signs[place] = sign
    return signs
