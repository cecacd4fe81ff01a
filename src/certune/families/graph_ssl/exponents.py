"""Exponents of the edge weights, as ordinary floats: how large they are, which of them matter.

Decisions never rest on these numbers; they choose the arithmetic and enter bounds that have room
for their rounding.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product

import numpy as np

from certune.errors import ParameterError
from certune.families.graph_ssl.course import Course, FloatArray
from certune.families.graph_ssl.graph import Graph
from certune.kernels.graph import path_maxima, spanning_tree

LARGEST_EXPONENT = 1e12
LARGEST_OF_ALL = 1e250

Pair = tuple[FloatArray, FloatArray]


class Exponents:
    """Exponents along a course: linear in the two powers of the coordinate."""

    def __init__(self, graph: Graph, course: Course) -> None:
        self.first = graph.combined(np.array([float(u) for u in course.first]))
        self.second = graph.combined(np.array([float(v) for v in course.second]))
        self._sizes = [
            max(float(np.abs(part).max(initial=0.0)) for part in pair)
            for pair in (self.first, self.second)
        ]
        self._powers = course.first_power, course.second_power

    def at(self, a: float, b: float) -> Pair:
        """Exponents among nodes and to labelled points where the powers of z are a and b."""
        (p, p_labelled), (q, q_labelled) = self.first, self.second
        if self._sizes[1] == 0.0:
            return a * p, a * p_labelled
        return a * p + b * q, a * p_labelled + b * q_labelled

    def size_at(self, a: float, b: float) -> float:
        """Bound of all exponents, and of both their terms, where the powers have these moduli."""
        return a * self._sizes[0] + b * self._sizes[1]

    def at_point(self, z: float) -> Pair:
        """Exponents at a coordinate."""
        return self.at(z ** self._powers[0], z ** self._powers[1])

    def at_corners(self, low: float, high: float) -> list[Pair]:
        """Exponents between whose extremes those on [low, high] lie; first one end of it."""
        first, second = ([low**power, high**power] for power in self._powers)
        return [self.at(a, b) for a, b in product(dict.fromkeys(first), dict.fromkeys(second))]


def extremes(graph: Graph, exponents: Pair) -> tuple[float, float]:
    """Smallest and largest exponent of an edge."""
    between, to_labelled = exponents
    edges = np.concatenate([between[graph.is_edge], to_labelled[graph.is_edge_to_labelled]])
    return float(edges.min()), float(edges.max())


def needed_range(graph: Graph, settings: Iterable[Pair]) -> tuple[float, float]:
    """Smallest exponent of an edge and largest one on one tree that joins all nodes to labels.

    Over all settings, and therefore over all their convex combinations: along a fixed tree the
    largest exponent is a convex function, and the smallest of all is a concave one.
    """
    tree = None
    smallest, largest, size = np.inf, -np.inf, 0.0
    for between, to_labelled in settings:
        size = max(size, float(np.abs(between).max(initial=0.0)), float(to_labelled.max()))
        if not size < LARGEST_OF_ALL:
            raise ParameterError(
                f"distances / sigma**2 reach {size:.3g}, too much for doubles: use a larger sigma"
            )
        if tree is None:
            tree = spanning_tree((between, to_labelled), graph.joined)
        maxima = path_maxima((between, to_labelled), tree)
        largest = max(largest, float(maxima[:-1, -1].max()))
        smallest = min(
            smallest,
            float(between[graph.is_edge].min(initial=np.inf)),
            float(to_labelled[graph.is_edge_to_labelled].min(initial=np.inf)),
        )
    if not largest < LARGEST_EXPONENT:
        raise ParameterError(
            f"sigma is too small for these distances: an exponent of {largest:.3g} is needed, at "
            f"most {LARGEST_EXPONENT:.0e} can be handled; use a larger sigma, or scale the "
            "distances and sigma**2 alike"
        )
    return smallest, largest
