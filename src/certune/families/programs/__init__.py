"""Families written as programs: any parameterised algorithm in ordinary Python, tuned exactly."""

from __future__ import annotations

from certune.families.programs.family import ProgramFamily
from certune.families.programs.figure import FIGURE_DOMAIN, figure_boundaries, figure_utility
from certune.families.programs.knapsack import GreedyKnapsack, KnapsackInstance
from certune.families.programs.linkage import LinkageProgram
from certune.families.programs.neighbors import NeighborInstance, NeighborVoting

__all__ = [
    "FIGURE_DOMAIN",
    "GreedyKnapsack",
    "KnapsackInstance",
    "LinkageProgram",
    "NeighborInstance",
    "NeighborVoting",
    "ProgramFamily",
    "figure_boundaries",
    "figure_utility",
]
