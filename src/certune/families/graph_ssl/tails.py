"""Where a course needs no panels, because no class changes from there on."""

from __future__ import annotations

import math

from certune.families.graph_ssl.course import Course
from certune.families.graph_ssl.graph import Graph
from certune.families.graph_ssl.limits import limit_factor


def tail_start(graph: Graph, course: Course) -> float:
    """A coordinate of the course from which on every node keeps its class; infinite if unknown."""
    if course.first_power != 1:
        return math.inf
    low, high = course.ends
    factor = limit_factor(graph, course.first, high)
    if factor is None:
        return math.inf
    return max(low, math.nextafter(float(factor), math.inf))
