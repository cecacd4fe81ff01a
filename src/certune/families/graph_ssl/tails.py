"""Where a course needs no panels, because no class changes from there on."""

from __future__ import annotations

import math

import numpy as np

from certune.families.distances import IntArray
from certune.families.graph_ssl.course import Course
from certune.families.graph_ssl.graph import Graph
from certune.families.graph_ssl.limits import limit_factor
from certune.families.graph_ssl.strongest_paths import StrongestPaths

HALVINGS = 6  # of the range, on a logarithmic scale, to find where a tail begins


def tail_start(graph: Graph, course: Course, nodes: IntArray) -> float:
    """A coordinate of the course from which on some nodes keep their classes; infinite if unknown.

    Only where the bandwidth alone moves.
    """
    if course.first_power != 1:
        return math.inf
    return min(_by_leading_terms(graph, course), _by_strongest_paths(graph, course, nodes))


def _by_leading_terms(graph: Graph, course: Course) -> float:
    low, high = course.ends
    factor = limit_factor(graph, course.first, high)
    if factor is None:
        return math.inf
    return max(low, math.nextafter(float(factor), math.inf))


def _by_strongest_paths(graph: Graph, course: Course, nodes: IntArray) -> float:
    low, high = course.ends
    paths = StrongestPaths(graph, np.array([float(weight) for weight in course.first]), high)
    if not (paths.doubts(high)[nodes] < 0.5).all():
        return math.inf
    for _ in range(HALVINGS):
        middle = math.sqrt(low * high)
        if (paths.doubts(middle)[nodes] < 0.5).all():
            high = middle
        else:
            low = middle
    return high
