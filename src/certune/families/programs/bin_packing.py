"""Packing of items with two sizes into bins, the order of the items tuned.

Items such as virtual machines need two resources, each a share of what a bin has.  They are put in
the order of first^rho * second^(1 - rho), largest first, into the first bin with room for both.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

from certune.errors import InputError
from certune.families.programs.family import ProgramFamily
from certune.families.programs.fields import check_type, exact_numbers, over_range
from certune.pfaffian.expressions.functions import power
from certune.pfaffian.programs.program import argsort


@dataclass(frozen=True, init=False)
class BinPackingInstance:
    """Items that take shares of two resources of a bin.

    Parameters
    ----------
    first, second : iterable of numbers
        Share of each resource that each item takes, larger than 0 and at most 1; taken exactly.
    name : str, optional
        Shown in reports.
    """

    first: tuple[Fraction, ...]
    second: tuple[Fraction, ...]
    name: str | None = None

    def __init__(
        self, first: Iterable[Any], second: Iterable[Any], name: str | None = None
    ) -> None:
        sizes = exact_numbers("first", first, above=0), exact_numbers("second", second, above=0)
        if not sizes[0] or len(sizes[0]) != len(sizes[1]) or max(map(max, sizes)) > 1:
            raise InputError(
                "a packing problem needs both shares of every item, at most 1, got "
                f"{len(sizes[0])} and {len(sizes[1])} shares"
            )
        object.__setattr__(self, "first", sizes[0])
        object.__setattr__(self, "second", sizes[1])
        object.__setattr__(self, "name", name)

    @property
    def fewest_bins(self) -> int:
        """A number of bins below which there is no room."""
        return max(math.ceil(sum(self.first)), math.ceil(sum(self.second)))


def packed(instance: BinPackingInstance, parameters: Mapping[str, Any]) -> list[int]:
    """Return the bin of each item; items with equal scores keep their order."""
    rho = parameters["rho"]
    sizes = list(zip(instance.first, instance.second, strict=True))
    # Only ratios matter: a^rho b^(1 - rho) = (a / b)^rho b.
    order = argsort([power(a / b, rho) * b for a, b in sizes], descending=True)
    rooms: list[tuple[Fraction, Fraction]] = []
    bins = [0] * len(sizes)
    for item in order:
        a, b = sizes[item]
        fitting = [number for number, (x, y) in enumerate(rooms) if a <= x and b <= y]
        place = fitting[0] if fitting else len(rooms)
        if not fitting:
            rooms.append((Fraction(1), Fraction(1)))
        rooms[place] = rooms[place][0] - a, rooms[place][1] - b
        bins[item] = place
    return bins


def fill(instance: BinPackingInstance, parameters: Mapping[str, Any]) -> Fraction:
    """Return the fewest bins that could do divided by those that are used."""
    return Fraction(instance.fewest_bins, 1 + max(packed(instance, parameters)))


class VectorBinPacking(ProgramFamily):
    """First-fit packing of items with two sizes, in the order of first^rho * second^(1 - rho).

    Parameters
    ----------
    rho : pair of numbers, default (0, 1)
        Range of the exponent.

    Notes
    -----
    The utility is a lower bound of the number of bins divided by the number that is used.

    Examples
    --------
    >>> import certune as ct
    >>> instance = ct.BinPackingInstance((0.6, 0.4, 0.5, 0.5), (0.1, 0.2, 0.7, 0.3))
    >>> dual = ct.VectorBinPacking().dual(instance)
    >>> dual(0.0), dual(1.0)
    (1.0, 1.0)
    """

    def __init__(self, rho: tuple[float, float] = (0.0, 1.0)) -> None:
        space = over_range("rho", rho)
        defaults = {"second size": 0.0, "geometric mean": 0.5, "first size": 1.0}
        super().__init__(
            fill,
            space,
            baselines={
                name: {"rho": value}
                for name, value in defaults.items()
                if space.low <= value <= space.high
            },
            solver=packed,
            check=partial(check_type, kind=BinPackingInstance),
        )
