"""The best fixed parameter in hindsight, exactly: the sum of all utility functions so far."""

from __future__ import annotations

from fractions import Fraction

from certune.dual import DualFunction, PiecewiseFunction, sum_of

# So many smooth functions are added at a time: a sum of N costs N times the pieces of the sum.
GROUP = 8


class Hindsight:
    """The running sum of functions along one line.

    Functions wait until their sum is asked for, or until they have as many pieces as the sum, so
    that adding a function costs O(k log n) on average for its k pieces and n pieces in all.
    """

    def __init__(self) -> None:
        self._sum: DualFunction | None = None
        self._waiting: list[DualFunction] = []
        self._n_waiting_pieces = 0

    def add(self, function: DualFunction) -> None:
        """Take in one more function over the same domain."""
        self._waiting.append(function)
        self._n_waiting_pieces += function.n_pieces
        n_pieces = 0 if self._sum is None else self._sum.n_pieces
        if self._n_waiting_pieces > max(n_pieces, 1000):
            self._settle()

    def _settle(self) -> DualFunction:
        settled = [] if self._sum is None else [self._sum]
        if self._waiting:
            self._sum = sum_of([*settled, *_grouped(self._waiting)])
            self._waiting, self._n_waiting_pieces = [], 0
        assert self._sum is not None
        return self._sum

    @property
    def total(self) -> DualFunction:
        """The exact sum; there must have been a function. O(n log n)."""
        return self._settle()

    def best(self) -> tuple[Fraction, Fraction]:
        """Return bounds of the best total utility.

        They differ if a gap might be better, and by the stated errors of smooth functions.
        """
        total = self.total
        return total.max_exact, max(total.max_exact, total.upper_bound_exact)


def _grouped(functions: list[DualFunction]) -> list[DualFunction]:
    """Return fewer functions with the same sum: smooth ones in groups, and groups of groups."""
    if all(isinstance(function, PiecewiseFunction) for function in functions):
        return functions
    while len(functions) > 1:
        groups = range(0, len(functions), GROUP)
        functions = [sum_of(functions[start : start + GROUP]) for start in groups]
    return functions
