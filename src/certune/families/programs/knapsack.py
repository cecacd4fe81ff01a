"""Greedy knapsack packing whose score is tuned.

Items are taken in the order of value / size^rho as long as they fit: rho = 0 prefers valuable
items, rho = 1 dense ones, large rho small ones.  Which exponent packs best depends on the kind of
problems, and is a classical example of data-driven algorithm design.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from certune.checks import as_fraction, as_list
from certune.errors import InputError
from certune.families.programs.family import ProgramFamily
from certune.families.programs.fields import over_range
from certune.pfaffian.expressions.vectors import Vector, vector
from certune.pfaffian.programs.program import argsort
from certune.pfaffian.structure import (
    LineCount,
    PiecewiseStructure,
    PredicateCount,
    whole_number,
)
from certune.space import Real

Number = int | float | Fraction


@dataclass(frozen=True, init=False)
class KnapsackInstance:
    """A knapsack problem.

    Parameters
    ----------
    values, sizes : sequence of int, float or Fraction
        Value and size of each item, all positive; taken exactly.
    capacity : int, float or Fraction
        Total size that fits, positive.
    name : str, optional
        Shown in reports.
    """

    values: tuple[Fraction, ...]
    sizes: tuple[Fraction, ...]
    capacity: Fraction
    name: str | None = None

    def __init__(
        self,
        values: Iterable[Number],
        sizes: Iterable[Number],
        capacity: Number,
        name: str | None = None,
    ) -> None:
        listed = as_list("values", values), as_list("sizes", sizes)
        exact = *(tuple(map(_exact, column)) for column in listed), _exact(capacity), name
        for field, content in zip(("values", "sizes", "capacity", "name"), exact, strict=True):
            object.__setattr__(self, field, content)
        if not self.values or len(self.values) != len(self.sizes):
            raise InputError(
                "a knapsack problem needs as many values as sizes, at least one, got "
                f"{len(self.values)} and {len(self.sizes)}"
            )

    @cached_property
    def scaled(self) -> tuple[list[int], int]:
        """Sizes and capacity as integers over a common denominator."""
        scale = math.lcm(*(size.denominator for size in (*self.sizes, self.capacity)))
        return [int(size * scale) for size in self.sizes], int(self.capacity * scale)

    @cached_property
    def scaled_values(self) -> list[int]:
        """Values as integers over a common denominator."""
        scale = math.lcm(*(value.denominator for value in self.values))
        return [int(value * scale) for value in self.values]

    @cached_property
    def value_unit(self) -> Fraction:
        """The share of Dantzig's bound that a unit of the scaled values is."""
        return self.values[0] / self.scaled_values[0] / self.bound

    @cached_property
    def exact_values(self) -> Vector:
        """Values as a vector, made once for many runs."""
        return vector(self.values)

    @cached_property
    def exact_sizes(self) -> Vector:
        """Sizes as a vector, made once for many runs."""
        return vector(self.sizes)

    @cached_property
    def bound(self) -> Fraction:
        """Dantzig's bound of the packed value: items by density, the last one in part."""
        total, room = Fraction(0), self.capacity
        for value, size in sorted(
            zip(self.values, self.sizes, strict=True), key=lambda item: item[1] / item[0]
        ):
            share = min(Fraction(1), room / size)
            total, room = total + share * value, room - share * size
        return total


def _exact(number: Any) -> Fraction:
    try:
        exact = as_fraction(number)
    except (TypeError, ValueError, OverflowError):
        exact = Fraction(0)
    if exact <= 0:
        raise InputError(f"values, sizes and capacity must be finite and > 0, got {number!r}")
    return exact


def pack(instance: KnapsackInstance, parameters: Mapping[str, Any]) -> list[int]:
    """Return the items of the greedy packing in the order in which they are packed."""
    rho = parameters["rho"]
    scores = instance.exact_values / instance.exact_sizes**rho
    order = argsort(scores, descending=True)
    sizes, room = instance.scaled
    packed = []
    for item in order:
        if sizes[item] <= room:
            packed.append(item)
            room -= sizes[item]
    return packed


def packed_share(instance: KnapsackInstance, parameters: Mapping[str, Any]) -> Fraction:
    """Return the packed value as a share of Dantzig's bound."""
    values = instance.scaled_values
    return sum(map(values.__getitem__, pack(instance, parameters))) * instance.value_unit


class GreedyKnapsack(ProgramFamily):
    """Greedy packing by value / size^rho.

    Parameters
    ----------
    rho : pair of numbers, default (0, 3)
        Range of the exponent.

    Notes
    -----
    The utility is the packed value divided by Dantzig's bound of the best packing, in [0, 1].
    Items with equal scores are taken in the order of their indices.

    Examples
    --------
    >>> import certune as ct
    >>> instance = ct.KnapsackInstance(values=(6, 5, 5), sizes=(6, 5, 4), capacity=9)
    >>> dual = ct.GreedyKnapsack(rho=(0, 3)).dual(instance)
    >>> dual.argmax()[0][1], dual(0.0) < dual(2.0)
    (3.0, True)
    """

    def __init__(self, rho: tuple[float, float] = (0.0, 3.0)) -> None:
        space = over_range("rho", rho)
        defaults = {"by value": 0.0, "by density": 1.0}
        super().__init__(
            packed_share,
            space,
            baselines={
                name: {"rho": value}
                for name, value in defaults.items()
                if space.low <= value <= space.high
            },
            solver=pack,
            check=_check,
        )

    def __repr__(self) -> str:
        (rho,) = self.space.parameters
        assert isinstance(rho, Real)
        return f"GreedyKnapsack(rho=({rho.low!r}, {rho.high!r}))"

    def structure(self, n_items: int) -> PiecewiseStructure:  # type: ignore[override]
        """Pfaffian structure of the utility, proved for every problem of n items.

        Parameters
        ----------
        n_items : int
            Number of items, at least 1.

        Returns
        -------
        PiecewiseStructure
            Counts for `certune.pdim_bound` and `certune.sample_size`.

        Examples
        --------
        >>> import certune as ct
        >>> ct.pdim_bound(ct.GreedyKnapsack().structure(n_items=100)).dimension
        16
        """
        n = whole_number("n_items", n_items, 1)
        n_pairs = n * (n - 1) // 2
        comparisons = PredicateCount(
            n_parameters=1,
            n_predicates=n_pairs,
            chain_length=1,
            chain_degree=1,
            function_degree=1,
            three_valued=True,
            name="one exponential",
        )
        return PiecewiseStructure(
            n_piece_forms=2**n,
            n_boundaries=n_pairs,
            chain_length=n,
            chain_degree=1,
            function_degree=1,
            n_parameters=1,
            piecewise_constant=True,
            predicates=(comparisons,),
            line=LineCount(n_breakpoints=n_pairs),
            name=f"greedy knapsack, {n} items",
            source="docs/theory/structures.md",
        )

    def structure_of(self, instances: Sequence[Any]) -> PiecewiseStructure:
        """Structure for every problem with no more items than the given ones."""
        n = max(len(instance.values) for instance in instances)
        size = f"no problem has more than {n} items"
        return replace(self.structure(n), assumptions=(size,))


def _check(instance: Any) -> None:
    if not isinstance(instance, KnapsackInstance):
        raise InputError(
            f"expected a KnapsackInstance, got {type(instance).__name__}; make one with "
            "certune.KnapsackInstance(values, sizes, capacity)"
        )
