"""Upper bounds of what is maximised, on a box, from the bounds of the instances there.

Every aggregate is non-decreasing in each utility, so that the aggregate of upper bounds is an upper
bound.  For means it is a sum, of which bounds that instances share give a smaller one.  The others
look at the worst instances alone: instances that are proved to be better than the utility that
completes the share do not count, whatever they are on the box.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from certune.aggregates import Criterion, Mean
from certune.families.base import BoxBound, UpperSum


class UpperValue(ABC):
    """An upper bound of what is maximised, on a box."""

    @staticmethod
    def of(criterion: Criterion, bounds: Sequence[BoxBound]) -> UpperValue:
        """Return the bound that follows from the bounds of all instances."""
        if not isinstance(criterion.aggregate, Mean):
            return UpperTail(criterion, tuple(bound.upper for bound in bounds))
        weights = criterion.weights
        sums = UpperSum()
        for bound, weight in zip(bounds, weights or (1,) * len(bounds), strict=True):
            sums = sums.exchanged(Fraction(0), bound, weight)
        return UpperMean(weights, len(bounds) if weights is None else sum(weights), sums)

    @property
    @abstractmethod
    def value(self) -> Fraction:
        """The bound."""

    @abstractmethod
    def exchanged(self, number: int, old: Fraction, new: BoxBound) -> UpperValue:
        """Return what follows with a bound of an instance in the place of its upper bound."""

    @property
    @abstractmethod
    def on_parts(self) -> UpperValue:
        """What follows on every part of the box, on which instances are not bounded yet."""

    @abstractmethod
    def counts(self, bound: BoxBound) -> bool:
        """Tell whether it matters what else is found out about an instance with this bound."""


@dataclass(frozen=True)
class UpperMean(UpperValue):
    """A bound of the mean.

    Attributes
    ----------
    weights : tuple of int or None
        Those of the instances, None if all are the same.
    total : int
        Their sum.
    sums : UpperSum
        The weighted sum of the bounds.
    """

    weights: tuple[int, ...] | None
    total: int
    sums: UpperSum

    @property
    def value(self) -> Fraction:
        """The bound."""
        return self.sums.value / self.total

    def exchanged(self, number: int, old: Fraction, new: BoxBound) -> UpperMean:
        """Return what follows with a bound of an instance in the place of its upper bound."""
        weight = 1 if self.weights is None else self.weights[number]
        return UpperMean(self.weights, self.total, self.sums.exchanged(old, new, weight))

    @property
    def on_parts(self) -> UpperMean:
        """What follows on parts: weights of shared bounds are those of this box alone."""
        return UpperMean(self.weights, self.total, UpperSum(self.sums.uppers))

    def counts(self, bound: BoxBound) -> bool:
        """Tell whether the utility is not yet known."""
        return not bound.settled


@dataclass(frozen=True)
class UpperTail(UpperValue):
    """A bound of an aggregate of the worst instances.

    Attributes
    ----------
    criterion : Criterion
        The aggregate.
    uppers : tuple of Fraction
        Upper bounds of all instances.
    """

    criterion: Criterion
    uppers: tuple[Fraction, ...]

    @cached_property
    def value(self) -> Fraction:
        """The bound."""
        return self.criterion.value(self.uppers)

    @cached_property
    def last_that_counts(self) -> Fraction:
        """Instances that are at least as good everywhere do not change the bound any more.

        Upper bounds only fall, and so does this on parts of the box.
        """
        return self.criterion.last_that_counts(self.uppers)

    def exchanged(self, number: int, old: Fraction, new: BoxBound) -> UpperTail:
        """Return what follows with a bound of an instance in the place of its upper bound."""
        uppers = *self.uppers[:number], new.upper, *self.uppers[number + 1 :]
        return UpperTail(self.criterion, uppers)

    @property
    def on_parts(self) -> UpperTail:
        """The same: these bounds hold on parts."""
        return self

    def counts(self, bound: BoxBound) -> bool:
        """Tell whether the utility is not yet known, and may be among the worst."""
        return not bound.settled and bound.lower < self.last_that_counts
