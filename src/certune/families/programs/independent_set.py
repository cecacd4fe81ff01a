"""Greedy independent sets with two tuned exponents.

Again and again the vertex with the largest weight / (1 + degree)^rho / (1 + weight of its
neighbours)^tau is taken and its neighbours are dropped; degrees and weights are those in the graph
that is left.
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
from certune.families.programs.fields import check_type, exact_numbers, indices, over_range
from certune.pfaffian.expressions.functions import power
from certune.pfaffian.programs.program import argmax
from certune.space import ParameterSpace

Range = tuple[float, float]


@dataclass(frozen=True, init=False)
class IndependentSetInstance:
    """A graph whose vertices have weights.

    Parameters
    ----------
    weights : iterable of numbers
        Weight of each vertex, positive; taken exactly.
    edges : iterable of pairs of int
        Vertices that must not both be taken.
    name : str, optional
        Shown in reports.
    """

    weights: tuple[Fraction, ...]
    edges: tuple[tuple[int, int], ...]
    name: str | None = None

    def __init__(
        self, weights: Iterable[Any], edges: Iterable[Iterable[int]], name: str | None = None
    ) -> None:
        known = exact_numbers("weights", weights, above=0)
        pairs = sorted(
            {tuple(sorted(indices("edges", edge, len(known)))) for edge in as_list("edges", edges)}
        )
        if not known or any(len(set(pair)) != 2 for pair in pairs):
            raise InputError(
                "a graph needs a vertex, and edges between two different ones, got "
                f"{len(known)} vertices and the edges {pairs[:3]}"
            )
        object.__setattr__(self, "weights", known)
        object.__setattr__(self, "edges", tuple(pairs))
        object.__setattr__(self, "name", name)


def independent_set(instance: IndependentSetInstance, parameters: Mapping[str, Any]) -> list[int]:
    """Return the vertices that are taken, in order; ties go to the vertex that comes first."""
    rho, tau = parameters["rho"], parameters["tau"]
    neighbors: dict[int, set[int]] = {vertex: set() for vertex in range(len(instance.weights))}
    for first, second in instance.edges:
        neighbors[first].add(second)
        neighbors[second].add(first)
    taken = []
    while neighbors:
        left = sorted(neighbors)
        scores = [
            instance.weights[vertex]
            / (
                power(1 + len(neighbors[vertex]), rho)
                * power(1 + sum(instance.weights[other] for other in neighbors[vertex]), tau)
            )
            for vertex in left
        ]
        best = left[argmax(scores)]
        taken.append(best)
        gone = {best, *neighbors[best]}
        neighbors = {v: others - gone for v, others in neighbors.items() if v not in gone}
    return taken


def weight_share(instance: IndependentSetInstance, parameters: Mapping[str, Any]) -> Fraction:
    """Return the share of the whole weight that is taken."""
    taken = independent_set(instance, parameters)
    return sum((instance.weights[vertex] for vertex in taken), Fraction(0)) / sum(instance.weights)


class GreedyIndependentSet(ProgramFamily):
    """Greedy independent set by weight / (1 + degree)^rho / (1 + weight of neighbours)^tau.

    Parameters
    ----------
    rho, tau : pair of numbers, default (0, 2)
        Ranges of the exponents.

    Notes
    -----
    The utility is the share of the weight of all vertices.

    Examples
    --------
    >>> import certune as ct
    >>> star = ct.IndependentSetInstance((3, 2, 2, 2), [(0, 1), (0, 2), (0, 3)])
    >>> family = ct.GreedyIndependentSet()
    >>> family.run(star, {"rho": 0, "tau": 0}), family.run(star, {"rho": 1, "tau": 0})
    (0.3333333333333333, 0.6666666666666666)
    """

    def __init__(self, rho: Range = (0.0, 2.0), tau: Range = (0.0, 2.0)) -> None:
        powers, discounts = over_range("rho", rho), over_range("tau", tau)
        space = ParameterSpace((powers, discounts))
        defaults = {"by weight": (0.0, 0.0), "by weight and degree": (1.0, 0.0)}
        super().__init__(
            weight_share,
            space,
            baselines={
                name: {"rho": first, "tau": second}
                for name, (first, second) in defaults.items()
                if powers.low <= first <= powers.high and discounts.low <= second <= discounts.high
            },
            solver=independent_set,
            check=partial(check_type, kind=IndependentSetInstance),
        )
