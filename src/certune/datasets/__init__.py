"""Sampled problems for first steps, examples and tests.

Tuning needs many instances of one kind. Each function draws them reproducibly: the same
``random_state`` gives the same instances, and asking for more keeps the first ones as they are.
"""

from __future__ import annotations

from certune.datasets.classification import breast_cancer_classification, grouped_classification
from certune.datasets.clustering import digits_clustering, grid_clustering, random_clustering
from certune.datasets.drawing import RandomState
from certune.datasets.knapsack import knapsack_problems
from certune.datasets.labeling import digits_labeling, random_labeling

__all__ = [
    "RandomState",
    "breast_cancer_classification",
    "digits_clustering",
    "digits_labeling",
    "grid_clustering",
    "grouped_classification",
    "knapsack_problems",
    "random_clustering",
    "random_labeling",
]
