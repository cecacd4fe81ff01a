"""Soft labels as polynomials: a segment is cut into panels with a Chebyshev interpolant on each.

Certified panels come from left to right, each as wide as the bound of `certificate` lets a degree
of about `DEGREE` reach.  Adaptive panels are halved until the coefficients have decayed, which is
cheaper and proves nothing about what happens between the nodes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from certune.errors import UndecidedError
from certune.families.graph_ssl.certificate import Certifier
from certune.families.graph_ssl.course import Course, FloatArray
from certune.families.graph_ssl.exponents import Exponents, needed_range
from certune.families.graph_ssl.graph import Graph
from certune.families.graph_ssl.solver import (
    UNIT,
    PointSolver,
)
from certune.kernels.settling import coefficients

DEGREE = 64
ADAPTIVE_DEGREES = (16, 32, 64)
NODE_BITS = 160
# Adaptive panels start with ends in this ratio where the bandwidth moves.
ADAPTIVE_RATIO = 4.0
NARROWEST = 2.0**-40


@dataclass(frozen=True)
class Panel:
    """Interpolants of all soft labels on [low, high].

    Attributes
    ----------
    low, high : float
        Coordinates.
    series : array (nodes, classes, degree + 1)
        Chebyshev coefficients.
    error : float
        Bound (adaptive panels: estimate) of the error of every value.
    slope_error : float
        Bound of the error of every derivative by a local coordinate in [-1, 1]; infinite if none
        is known.
    """

    low: float
    high: float
    series: FloatArray
    error: float
    slope_error: float = math.inf


@lru_cache(maxsize=128)
def chebyshev_nodes(degree: int) -> tuple[Fraction, ...]:
    """The nodes ``cos(pi j / degree)``, within 2**-150."""
    from flint import arb, ctx

    with ctx.workprec(NODE_BITS):
        cosines = [(arb(j) / degree).cos_pi() for j in range(degree + 1)]
        middles = [cosine.mid().man_exp() for cosine in cosines]
    return tuple(Fraction(int(man)) * Fraction(2) ** int(exp) for man, exp in middles)


class Interpolator:
    """Panels of one graph along one course; counts the linear systems it solves."""

    def __init__(self, graph: Graph, course: Course) -> None:
        self.graph, self.course = graph, course
        self.exponents = Exponents(graph, course)
        self.solver = PointSolver(graph)
        self.n_solves = 0

    def panels(self, certified: bool) -> Iterator[Panel]:
        """Panels that cover the course, from left to right."""
        low, high = self.course.ends
        if low == high:
            high = math.nextafter(high, math.inf)
        return self._certified(low, high) if certified else self._adaptive(low, high)

    def values(self, low: float, high: float, degree: int, known: FloatArray | None) -> FloatArray:
        """Soft labels at the nodes of an interval; ``known`` are those of half the degree."""
        course, graph = self.course, self.graph
        centre, half = (Fraction(high) + Fraction(low)) / 2, (Fraction(high) - Fraction(low)) / 2
        needed = needed_range(graph, self.exponents.at_corners(low, high))
        result = np.empty((degree + 1, graph.n_nodes, graph.n_classes))
        for j, node in enumerate(chebyshev_nodes(degree)):
            if known is not None and j % 2 == 0:
                result[j] = known[j // 2]
                continue
            rates = course.rates(centre + half * node)
            result[j] = self.solver.solve(rates, *needed)
            self.n_solves += 1
        return result

    def _panel(
        self, low: float, high: float, values: FloatArray, truncation: float, rho: float | None
    ) -> Panel:
        degree = len(values) - 1
        columns = values.reshape(degree + 1, -1)
        series = coefficients(columns).reshape(*values.shape[1:], degree + 1)
        lebesgue = 2 / math.pi * math.log(degree + 1) + 1
        rounding = 16 * (degree + 1) * UNIT
        at_nodes = 1.001 * (lebesgue * self.solver.error + rounding)
        slope_error = math.inf
        if rho is not None:
            # Markov's inequality for the first part, term by term for the truncated series.
            late = (degree + 2 + 2 / (rho - 1)) ** 2
            slope_error = at_nodes * degree**2 + 1.001 * truncation * late
        return Panel(low, high, series, at_nodes + 1.001 * truncation, slope_error)

    def _certified(self, low: float, high: float) -> Iterator[Panel]:
        certifier = Certifier(self.graph, self.course, self.exponents, self.solver)
        tolerance = self.solver.error
        start, width = low, high - low
        while start < high:
            stop = min(start + width, high)
            if high - stop < 0.1 * width:
                stop = high
            plan = certifier.plan(start, stop, tolerance)
            self.n_solves += 1
            if plan is None or plan[0] > DEGREE:
                factor = 0.5 if plan is None else max(0.25, 0.9 * DEGREE / plan[0])
                width = (stop - start) * factor
                if width < NARROWEST * max(abs(start), abs(high)):
                    raise UndecidedError(
                        f"soft labels cannot be bounded near the coordinate {start!r}: their "
                        "exponents are too large; use a larger sigma"
                    )
                continue
            degree, rho = plan
            values = self.values(start, stop, degree, None)
            yield self._panel(start, stop, values, tolerance, rho)
            width = (stop - start) * min(3.0, 0.95 * DEGREE / degree)
            start = stop

    def _adaptive(self, low: float, high: float) -> Iterator[Panel]:
        edges = np.array([low, high])
        if self.course.sigma_slope != 0:
            count = max(1, round(math.log(high / low) / math.log(ADAPTIVE_RATIO)))
            edges = np.geomspace(low, high, count + 1)
            edges[0], edges[-1] = low, high
        pending = list(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True))[::-1]
        while pending:
            start, stop = pending.pop()
            values: FloatArray | None = None
            for degree in ADAPTIVE_DEGREES:
                values = self.values(start, stop, degree, values)
                panel = self._panel(start, stop, values, 0.0, None)
                tail = float(np.abs(panel.series[:, :, -degree // 8 :]).max(initial=0.0))
                if tail <= self.solver.error:
                    yield Panel(start, stop, panel.series, panel.error + 10 * tail)
                    break
            else:
                middle = 0.5 * (start + stop)
                pending += [(middle, stop), (start, middle)]
