"""Weights of ordered values that change one at a time.

The aggregate of the worst functions is followed from event to event. At each of them one function
has another value; a binary indexed tree over all values that can occur keeps sums of weights, and
of weights times values, from the smallest value on.
"""

from __future__ import annotations

from collections.abc import Iterable


class Ranking:
    """A multiset of values with weights, exact for integers of any size.

    Parameters
    ----------
    values : iterable of int
        All values that will ever be added.
    """

    def __init__(self, values: Iterable[int]) -> None:
        self._values = sorted(set(values))
        self._places = {value: place for place, value in enumerate(self._values, 1)}
        size = len(self._values)
        self._top = 1 << (size.bit_length() - 1)
        # Entry i has the sum over the last (i & -i) places up to i.
        self._weights = [0] * (size + 1)
        self._products = [0] * (size + 1)

    def add(self, value: int, weight: int) -> None:
        """Add a weight, which may be negative, to a value. O(log V) for V values."""
        place, product = self._places[value], weight * value
        while place < len(self._weights):
            self._weights[place] += weight
            self._products[place] += product
            place += place & -place

    def tail(self, limit: int, averages: bool) -> int:
        """Return what the smallest values give up to a positive limit of weight. O(log V).

        Parameters
        ----------
        limit : int
            At most the total weight, which has no negative part.
        averages : bool
            Whether to return the sum of weights times values up to the limit, or the value at
            which the weights reach it.
        """
        place, step, reached, total = 0, self._top, 0, 0
        while step:
            following = place + step
            if following < len(self._weights) and reached + self._weights[following] < limit:
                place = following
                reached += self._weights[place]
                total += self._products[place]
            step >>= 1
        value = self._values[place]
        return total + (limit - reached) * value if averages else value
