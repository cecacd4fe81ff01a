"""Soft labels as polynomials: a segment is cut into panels with a Chebyshev interpolant on each.

Certified panels come from left to right, each as wide as the bound of `certificate` lets a degree
of about `DEGREE` reach.  Adaptive panels are halved until the coefficients have decayed, which is
cheaper and proves nothing about what happens between the nodes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from certune.families.distances import IntArray
from certune.families.graph_ssl.certificate import Certifier, Plan
from certune.families.graph_ssl.chebyshev import ROUNDING_BITS, chebyshev_nodes
from certune.families.graph_ssl.course import Course, FloatArray
from certune.families.graph_ssl.exponents import Exponents, needed_range
from certune.families.graph_ssl.graph import Graph
from certune.families.graph_ssl.solver import UNIT, PointSolver, absolute_shift
from certune.kernels.graph import chebyshev_coefficients

DEGREE = 64
ADAPTIVE_DEGREES = (16, 32, 64)
NODE_BITS = 160
NODE_ROUNDING = 2.0 ** (ROUNDING_BITS - NODE_BITS)
# Adaptive panels start with ends in this ratio where the bandwidth moves.
ADAPTIVE_RATIO = 4.0
NARROWEST = 2.0**-40
# Share of its width that a panel keeps, at least, when it needs too many nodes.
NARROWER = 0.25
# Part of a course that is left open where not even the narrowest panel is bounded.
PASSED_OVER = 1 / 16


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
        Bound (adaptive panels: estimate) of the error of every value, `rounding` included.
    rounding : float
        How much of it is due to the rounding of settings.
    slope_error : float
        The same for derivatives by a local coordinate in [-1, 1]; infinite if nothing is known.
    """

    low: float
    high: float
    series: FloatArray
    error: float
    rounding: float
    slope_error: float = math.inf


class Interpolator:
    """Panels of one graph along one course; counts the linear systems it solves.

    What is proved about panels holds for the ``nodes`` asked for, all by default.
    """

    def __init__(self, graph: Graph, course: Course, nodes: IntArray | None = None) -> None:
        self.graph, self.course = graph, course
        self.nodes = np.arange(graph.n_nodes) if nodes is None else nodes
        self.exponents = Exponents(graph, course)
        self.solver = PointSolver(graph)
        self.n_solves = 0

    def panels(
        self, certified: bool, low: float, high: float, tolerance: float | None = None
    ) -> Iterator[Panel]:
        """Panels that cover a part of the course, from left to right.

        Certified ones err by at most a tolerance, by default that of the linear systems; the fewer
        nodes they need the larger it is.
        """
        if low == high:
            high = math.nextafter(high, math.inf)
        if not certified:
            return self._adaptive(low, high)
        return self._certified(low, high, tolerance or self.solver.error)

    def new_certifier(self) -> Certifier:
        """Proofs for a sequence of neighbouring intervals."""
        return Certifier(self.graph, self.course, self.exponents, self.solver, self.nodes)

    def values(self, low: float, high: float, degree: int, known: FloatArray | None) -> FloatArray:
        """Soft labels at the nodes of an interval; ``known`` are those of half the degree."""
        course, graph = self.course, self.graph
        centre, half = (Fraction(high) + Fraction(low)) / 2, (Fraction(high) - Fraction(low)) / 2
        shift = absolute_shift(*needed_range(graph, self.exponents.at_corners(low, high)))
        result = np.empty((degree + 1, graph.n_nodes, graph.n_classes))
        for j, node in enumerate(chebyshev_nodes(degree, NODE_BITS)):
            if known is not None and j % 2 == 0:
                result[j] = known[j // 2]
                continue
            rates = course.rates(centre + half * node)
            result[j] = self.solver.solve(rates, shift)
            self.n_solves += 1
        return result

    def _rounding(self, low: float, high: float) -> float:
        """Bound of what the rounding of settings on [low, high] changes in a soft label."""
        moved = self.graph.combined(self.course.rate_rounding(low, high))
        largest = max(
            float(part[edges].max(initial=0.0))
            for part, edges in zip(
                moved, (self.graph.is_edge, self.graph.is_edge_to_labelled), strict=True
            )
        )
        return 0.51 * largest * math.sqrt(self.graph.n_nodes)

    def _panel(
        self, low: float, high: float, values: FloatArray, truncation: float, plan: Plan | None
    ) -> Panel:
        degree = len(values) - 1
        columns = values.reshape(degree + 1, -1)
        series = chebyshev_coefficients(columns).reshape(*values.shape[1:], degree + 1)
        lebesgue = 2 / math.pi * math.log(degree + 1) + 1
        rounding = 16 * (degree + 1) * UNIT
        at_nodes = 1.001 * (lebesgue * self.solver.error + rounding)
        slope_error = math.inf
        if plan is not None:
            at_nodes += lebesgue * math.exp(min(plan.log_slope, 600.0)) * NODE_ROUNDING
            # Markov's inequality for the first part, term by term for the truncated series.
            late = (degree + 2 + 2 / (plan.rho - 1)) ** 2
            slope_error = at_nodes * degree**2 + 1.001 * truncation * late
        setting = self._rounding(low, high)
        error = at_nodes + 1.001 * truncation + setting
        return Panel(low, high, series, error, setting, slope_error)

    def _unknown(self, low: float, high: float) -> Panel:
        """A panel on which nothing is known."""
        shape = self.graph.n_nodes, self.graph.n_classes, 2
        return Panel(low, high, np.zeros(shape), math.inf, 0.0)

    def _certified(self, low: float, high: float, tolerance: float) -> Iterator[Panel]:
        certifier = self.new_certifier()
        start, width = low, high - low
        while start < high:
            stop = min(start + width, high)
            if high - stop < 0.1 * width:
                stop = high
            plan = certifier.plan(start, stop, math.log(tolerance))
            self.n_solves += 1
            if plan is None or plan.degree > DEGREE:
                factor = NARROWER if plan is None else max(NARROWER, 0.9 * DEGREE / plan.degree)
                width = (stop - start) * factor
                if width < NARROWEST * max(abs(start), abs(high)):
                    width = (high - low) * PASSED_OVER
                    stop = min(start + width, high)
                    yield self._unknown(start, stop)
                    start = stop
                continue
            values = self.values(start, stop, plan.degree, None)
            yield self._panel(start, stop, values, tolerance, plan)
            width = (stop - start) * min(3.0, 0.95 * DEGREE / plan.degree)
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
                    # Estimates, as everything on adaptive panels.
                    error = panel.error + 10 * tail
                    yield replace(panel, error=error, slope_error=error * degree**2)
                    break
            else:
                middle = 0.5 * (start + stop)
                if stop - start < NARROWEST * max(abs(start), abs(stop)):
                    yield self._unknown(start, stop)
                else:
                    pending += [(middle, stop), (start, middle)]
