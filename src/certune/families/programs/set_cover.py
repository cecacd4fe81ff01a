"""Greedy set cover whose rule of choice is tuned.

Again and again the set with the largest number of new elements / cost^rho is taken: rho = 0 looks
at elements alone, rho = 1 is the classical rule, large rho takes cheap sets first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

from certune.checks import as_list
from certune.errors import InputError
from certune.families.programs.family import ProgramFamily
from certune.families.programs.fields import (
    check_type,
    exact_numbers,
    indices,
    over_range,
    whole_numbers,
)
from certune.pfaffian.expressions.functions import power
from certune.pfaffian.programs.program import argmax


@dataclass(frozen=True, init=False)
class SetCoverInstance:
    """Sets that together hold all elements.

    Parameters
    ----------
    sets : iterable of iterables of int
        The elements of each set, numbered from 0.
    costs : iterable of numbers, optional
        Cost of each set, positive; 1 by default.
    name : str, optional
        Shown in reports.
    """

    sets: tuple[tuple[int, ...], ...]
    costs: tuple[Fraction, ...]
    name: str | None = None

    def __init__(
        self,
        sets: Iterable[Iterable[int]],
        costs: Iterable[Any] | None = None,
        name: str | None = None,
    ) -> None:
        listed = [whole_numbers("elements", members) for members in as_list("sets", sets)]
        size = 1 + max((element for members in listed for element in members), default=-1)
        checked = tuple(tuple(sorted(set(indices("elements", m, size)))) for m in listed)
        prices = exact_numbers("costs", [1] * len(checked) if costs is None else costs, above=0)
        missing = set(range(size)) - {element for members in checked for element in members}
        if not size or missing or len(prices) != len(checked):
            raise InputError(
                "a set cover problem needs one cost for each set, and every element from 0 on in "
                f"some set, got {len(checked)} sets, {len(prices)} costs and nothing with "
                f"{sorted(missing)[:3]}"
            )
        object.__setattr__(self, "sets", checked)
        object.__setattr__(self, "costs", prices)
        object.__setattr__(self, "name", name)


def cover(instance: SetCoverInstance, parameters: Mapping[str, Any]) -> list[int]:
    """Return the sets that are chosen, in order; ties go to the set that is listed first."""
    left = {element for members in instance.sets for element in members}
    weights = [power(cost, parameters["rho"]) for cost in instance.costs]
    chosen = []
    while left:
        gains = [len(left.intersection(members)) for members in instance.sets]
        useful = [number for number, gain in enumerate(gains) if gain]
        best = useful[argmax([gains[number] / weights[number] for number in useful])]
        chosen.append(best)
        left.difference_update(instance.sets[best])
    return chosen


def saved_share(instance: SetCoverInstance, parameters: Mapping[str, Any]) -> Fraction:
    """Return the share of the cost of all sets that is not spent."""
    spent = sum((instance.costs[number] for number in cover(instance, parameters)), Fraction(0))
    return 1 - spent / sum(instance.costs)


class GreedySetCover(ProgramFamily):
    """Greedy set cover by new elements / cost^rho.

    Parameters
    ----------
    rho : pair of numbers, default (0, 3)
        Range of the exponent.

    Notes
    -----
    The utility is the share of the cost of all sets that is saved.

    Examples
    --------
    >>> import certune as ct
    >>> instance = ct.SetCoverInstance([(0, 1, 2, 3), (0, 1), (2, 3)], costs=(10, 4, 4))
    >>> dual = ct.GreedySetCover().dual(instance)
    >>> dual(0.0), dual(1.0)  # the one large set, or the two cheap ones
    (0.4444444444444444, 0.5555555555555556)
    """

    def __init__(self, rho: tuple[float, float] = (0.0, 3.0)) -> None:
        space = over_range("rho", rho)
        inside = space.low <= 1.0 <= space.high
        super().__init__(
            saved_share,
            space,
            baselines={"elements per cost": {"rho": 1.0}} if inside else None,
            solver=cover,
            check=partial(check_type, kind=SetCoverInstance),
        )
