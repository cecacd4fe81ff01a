"""Families written as programs: any parameterised algorithm in ordinary Python, tuned exactly."""

from __future__ import annotations

from certune.families.programs.alignment import AlignmentInstance, SequenceAlignment
from certune.families.programs.bin_packing import BinPackingInstance, VectorBinPacking
from certune.families.programs.dbscan import DensityClustering, DensityInstance
from certune.families.programs.family import ProgramFamily
from certune.families.programs.figure import FIGURE_DOMAIN, figure_boundaries, figure_utility
from certune.families.programs.independent_set import (
    GreedyIndependentSet,
    IndependentSetInstance,
)
from certune.families.programs.knapsack import GreedyKnapsack, KnapsackInstance
from certune.families.programs.linkage import LinkageProgram
from certune.families.programs.neighbors import NeighborInstance, NeighborVoting
from certune.families.programs.pruning import CostComplexityPruning, PruningInstance
from certune.families.programs.reporting import DecisionFamily, Decisions
from certune.families.programs.set_cover import GreedySetCover, SetCoverInstance
from certune.families.programs.threshold import ConstrainedThreshold, ScoredInstance

__all__ = [
    "FIGURE_DOMAIN",
    "AlignmentInstance",
    "BinPackingInstance",
    "ConstrainedThreshold",
    "CostComplexityPruning",
    "DecisionFamily",
    "Decisions",
    "DensityClustering",
    "DensityInstance",
    "GreedyIndependentSet",
    "GreedyKnapsack",
    "GreedySetCover",
    "IndependentSetInstance",
    "KnapsackInstance",
    "LinkageProgram",
    "NeighborInstance",
    "NeighborVoting",
    "ProgramFamily",
    "PruningInstance",
    "ScoredInstance",
    "SequenceAlignment",
    "SetCoverInstance",
    "VectorBinPacking",
    "figure_boundaries",
    "figure_utility",
]
