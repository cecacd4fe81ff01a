"""Rounding of a traced number to whole ones, by comparisons.

``floor(x)`` is the whole number n with n <= x < n + 1.  It is found by doubling and halving, each
step a comparison that whoever runs the program decides, so that rounding is a branch like any
other.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from certune.errors import UndecidedError

if TYPE_CHECKING:
    from certune.pfaffian.expressions.expression import Expression

# On an interval with a pole every comparison with a whole number is open, and doubling would not
# end.
_LARGEST = 1 << 64


def floor_of(x: Expression) -> int:
    """Return the largest whole number that is not above a number. O(log |x|) comparisons."""
    if x.value is not None:
        return math.floor(x.value)
    if x >= 0:
        low, high = 0, 1
        while x >= high:
            low, high = high, _doubled(x, high)
    else:
        low, high = -1, 0
        while x < low:
            low, high = _doubled(x, low), low
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if x >= middle else (low, middle)
    return low


def _doubled(x: Expression, bound: int) -> int:
    if abs(bound) >= _LARGEST:
        raise UndecidedError(
            f"the whole number next to {x.to_text()} is not found within 2**64: it is too large, "
            "or has a pole where the program is followed"
        )
    return 2 * bound


def nearest_to(x: Expression) -> int:
    """Return the nearest whole number, of two equally near ones the even one, as Python does."""
    shifted = x + Fraction(1, 2)
    upper = floor_of(shifted)
    return upper - 1 if upper % 2 and shifted == upper else upper
