"""How many nodes an interpolant needs, proved: soft labels are bounded on a complex ellipse.

Soft labels are analytic where the phases of the edge weights stay within a half plane, and the
weak form of the harmonic equation bounds them there (``docs/theory/harmonic-labeling.md``):

    |f_u(z)| <= 1 + (sin(theta) exp(eta) S_u + T_u) / (cos(theta) - epsilon)

theta is the largest phase and eta the largest change of a log-weight over the ellipse, both after
the best common shift and over *strong* edges only; S_u = sqrt(energy * resistance) at the centre;
epsilon and T_u pay for the weak edges, whose phases are free.  Chebyshev interpolation of degree N
on the ellipse with parameter rho then errs by at most ``4 M rho**-N / (rho - 1)``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from certune.families.graph_ssl.course import Course, FloatArray
from certune.families.graph_ssl.exponents import Exponents, Pair
from certune.families.graph_ssl.graph import Graph
from certune.families.graph_ssl.instance import IntArray
from certune.families.graph_ssl.solver import DOUBLE_RANGE, PointSolver
from certune.kernels.bottlenecks import (
    chained_growth,
    crossing_sums,
    leak_sums,
    lower_margins,
    path_maxima,
    ranges_of_strong,
    shell_sums,
    spanning_tree,
    tail_of_margins,
)
from certune.kernels.gth import class_energies, inverse_diagonal

# Weak edges may take this much of the coercivity of the strong ones.
WEAK_SHARE = 0.05
# The same for edges between shells, before a square root is taken.
CROSSING_SHARE = 1e-4
# Phase that the largest ellipse may reach: more allows a larger one, with a larger bound on it.
PHASE = 1.25
# Above this bound it is worth while to look at the nodes shell by shell.
CHAIN_FROM = 6.0
ATTEMPTS = 8
# Imaginary half axis of an ellipse over half the interval: larger ones gain little.
LARGEST_RATIO = 20.0
# Charged for the rounding of angles and sums in this module, and of exponents, relatively.
SLACK = 1e-6
EXPONENT_ROUNDING = 2.0**-48


@dataclass(frozen=True)
class Image:
    """Where a power of z lies for z in a box, and its value at the centre of the box."""

    low: float
    high: float
    imaginary: float
    centre: float

    @property
    def size(self) -> float:
        """Bound of the absolute value."""
        return max(abs(self.low), abs(self.high)) + self.imaginary

    @property
    def deviation(self) -> float:
        """Largest distance of a real part from the one at the centre."""
        return max(self.high - self.centre, self.centre - self.low)


def image(power: int, centre: float, real: float, imaginary: float) -> Image:
    """Image of ``|Re z - centre| <= real, |Im z| <= imaginary`` under ``z**power``, power <= 2."""
    if power == 0:
        return Image(1.0, 1.0, 0.0, 1.0)
    low, high = centre - real, centre + real
    if power == 1:
        return Image(low, high, imaginary, centre)
    farthest = max(abs(low), abs(high))
    nearest = 0.0 if low <= 0.0 <= high else min(abs(low), abs(high))
    return Image(nearest**2 - imaginary**2, farthest**2, 2 * farthest * imaginary, centre * centre)


@dataclass(frozen=True)
class Ellipse:
    """What the edges do on an ellipse.

    Attributes
    ----------
    phase : float
        Largest phase of a strong edge, after the best shift for each shell.
    shift : float
        Largest change of the log-weight of a strong edge, after the best common shift.
    lost : float
        Share of the coercivity that weak edges and edges between shells can take away.
    corners, maxima : list
        Exponents at the corners of a box that contains those of the ellipse, and `path_maxima`.
    margins, cutoff : pair of arrays, float
        How much weaker than a path each edge is, and from where on edges are weak.
    shell_of : array
        Shell of each node.
    slack : float
        Room for rounding in exponents.
    """

    phase: float
    shift: float
    lost: float
    corners: list[Pair]
    maxima: list[FloatArray]
    margins: Pair
    cutoff: float
    shell_of: IntArray
    slack: float


class Certifier:
    """Bounds of the soft labels of a graph on complex ellipses around parts of a course."""

    def __init__(
        self, graph: Graph, course: Course, exponents: Exponents, solver: PointSolver
    ) -> None:
        self.graph, self.course = graph, course
        self.exponents, self.solver = exponents, solver
        self._last_height = math.inf

    def plan(self, low: float, high: float, tolerance: float) -> tuple[int, float] | None:
        """Degree of an interpolant on [low, high] that is proved to err by at most ``tolerance``.

        With it the parameter rho of the ellipse that proves it; None if no ellipse was found on
        which the soft labels are bounded.
        """
        centre, half = 0.5 * (low + high), 0.5 * (high - low)
        local = _Local(self, centre)
        ratio = min(LARGEST_RATIO, 1.3 * self._last_height / half)
        for _ in range(ATTEMPTS):
            rho = ratio + math.sqrt(ratio * ratio + 1)
            ellipse = local.ellipse(0.5 * half * (rho + 1 / rho), 0.5 * half * (rho - 1 / rho))
            if ellipse.phase <= 1.05 * PHASE:
                break
            ratio *= max(0.2, PHASE / ellipse.phase)
        self._last_height = ratio * half
        growth = local.log_growth(ellipse)
        if growth == math.inf:
            return None
        needed = (growth + math.log(4 / (rho - 1)) - math.log(tolerance)) / math.log(rho)
        return max(4, math.ceil(needed + SLACK)), rho


class _Local:
    """What is known at the centre of an ellipse."""

    def __init__(self, certifier: Certifier, centre: float) -> None:
        self._certifier, self._centre = certifier, centre
        self._graph, self._course = certifier.graph, certifier.course
        self._between, self._to_labelled = certifier.exponents.at_point(centre)
        graph = self._graph
        self._tree = spanning_tree(
            self._between, self._to_labelled, graph.is_edge, graph.is_edge_to_labelled
        )
        self._hops = 2 * int(self._tree[2].max())
        resistance = self._maxima((self._between, self._to_labelled))[:-1, -1]
        self._ranked = np.argsort(resistance, kind="stable")
        crossing = crossing_sums(self._between, graph.is_edge, resistance, self._ranked)
        everywhere = np.arange(1, graph.n_nodes)
        self._cuts = _cheapest(self._hops * crossing, everywhere, 0.1 * CROSSING_SHARE)
        self._log_sensitivity = self._sensitivity(resistance)

    def _maxima(self, exponents: Pair) -> FloatArray:
        order, parent, _, via = self._tree
        return np.asarray(path_maxima(*exponents, order, parent, via))

    def _sensitivity(self, resistance: FloatArray) -> FloatArray:
        """Logarithm of ``sqrt(energy * resistance)`` at the centre, one for each node."""
        graph, solver = self._graph, self._certifier.solver
        nearest = self._to_labelled[graph.is_edge_to_labelled].min()
        smallest = min(self._between[graph.is_edge].min(initial=np.inf), nearest)
        if resistance.max() - smallest > DOUBLE_RANGE:
            return np.full(graph.n_nodes, np.inf)
        solver.solve(self._course.rates(Fraction(self._centre)), smallest, False)
        inverse = inverse_diagonal(solver.weights, solver.sums)
        energy = class_energies(solver.classes, solver.sums).max()
        return np.asarray(0.5 * (math.log(energy) + np.log(inverse)) + SLACK)

    def ellipse(self, real: float, imaginary: float) -> Ellipse:
        """What the edges do on the ellipse around the centre with these half axes."""
        course, exponents = self._course, self._certifier.exponents
        first = image(course.first_power, self._centre, real, imaginary)
        second = image(course.second_power, self._centre, real, imaginary)
        sides = dict.fromkeys((first.low, first.high)), dict.fromkeys((second.low, second.high))
        corners = [exponents.at(a, b) for a, b in product(*sides)]
        maxima = [self._maxima(corner) for corner in corners]
        slack = SLACK + EXPONENT_ROUNDING * exponents.size_at(first.size, second.size)
        margins, weak_share, cutoff = self._margins(corners, maxima, slack)
        shell_of, crossing_share = self._shells(corners, maxima, slack)
        low, high = self._ranges(margins, cutoff, shell_of)
        spread = np.maximum(high - low, 0.0)
        overall = np.maximum(high.max(axis=0) - low.min(axis=0), 0.0)
        return Ellipse(
            phase=0.5 * float((spread @ [first.imaginary, second.imaginary]).max()) + slack,
            shift=0.5 * float(overall @ [first.deviation, second.deviation]) + slack,
            lost=weak_share + 2.1 * math.sqrt(crossing_share),
            corners=corners,
            maxima=maxima,
            margins=margins,
            cutoff=cutoff,
            shell_of=shell_of,
            slack=slack,
        )

    def _margins(
        self, corners: list[Pair], maxima: list[FloatArray], slack: float
    ) -> tuple[Pair, float, float]:
        """Margins of all edges, what the weak ones take away, and where they begin."""
        graph = self._graph
        margins = np.full(self._between.shape, np.inf), np.full(self._to_labelled.shape, np.inf)
        for corner, largest in zip(corners, maxima, strict=True):
            lower_margins(*corner, largest, *margins)
        tail = tail_of_margins(*margins, graph.is_edge, graph.is_edge_to_labelled)
        shares = self._hops * tail * math.exp(slack) + slack**2
        enough = np.flatnonzero(shares <= WEAK_SHARE)
        if not enough.size:
            return margins, 0.0, math.inf
        return margins, float(shares[enough[0]]), float(enough[0])

    def _shells(
        self, corners: list[Pair], maxima: list[FloatArray], slack: float
    ) -> tuple[IntArray, float]:
        """Shell of every node, and what the edges between shells take away."""
        n = self._graph.n_nodes
        cuts = self._cuts
        share = 0.0
        if cuts.size:
            worst = np.zeros(n + 1)
            for (between, _), largest in zip(corners, maxima, strict=True):
                sums = crossing_sums(between, self._graph.is_edge, largest[:-1, -1], self._ranked)
                worst = np.maximum(worst, sums)
            costs = self._hops * worst * math.exp(2 * slack)
            cuts = _cheapest(costs, cuts, CROSSING_SHARE)
            share = float(costs[cuts].sum()) + slack**2
        shell_of = np.empty(n, dtype=np.int64)
        shell_of[self._ranked] = np.searchsorted(cuts, np.arange(n), side="right")
        return shell_of, share

    def _ranges(self, margins: Pair, cutoff: float, shell_of: IntArray) -> Pair:
        graph, exponents = self._graph, self._certifier.exponents
        (p, p_labelled), (q, q_labelled) = exponents.first, exponents.second
        low, high = ranges_of_strong(
            p,
            q,
            p_labelled,
            q_labelled,
            graph.is_edge,
            graph.is_edge_to_labelled,
            *margins,
            cutoff,
            shell_of,
            int(shell_of.max()) + 1,
        )
        return low, high

    def log_growth(self, ellipse: Ellipse) -> float:
        """Logarithm of a bound of all soft labels on an ellipse, infinite if there is none."""
        if ellipse.phase >= 0.5 * math.pi:
            return math.inf
        coercivity = math.cos(ellipse.phase) - ellipse.lost - SLACK
        if coercivity <= 0:
            return math.inf
        log_hops, log_coercivity = math.log(self._hops), math.log(coercivity)
        log_sine = math.log(math.sin(ellipse.phase))
        strong = 0.5 * math.log1p(ellipse.lost) + ellipse.shift + log_sine + self._log_sensitivity
        resistance = np.array([largest[:-1, -1] for largest in ellipse.maxima]) + ellipse.slack
        rank_of = np.argsort(self._ranked)
        leaks = np.array(self._at_corners(leak_sums, ellipse, rank_of)) + ellipse.slack
        weak = log_hops + math.log(2.0) + np.logaddexp(leaks[:, 0], leaks[:, 1] + math.log(2.0))
        leak = (weak[:, None] + 0.5 * resistance).max(axis=0)
        single = np.logaddexp(0.0, np.logaddexp(strong, leak) - log_coercivity)
        growth = single.max()
        if growth > CHAIN_FROM:
            sums = np.array(self._at_corners(shell_sums, ellipse, self._ranked)) + ellipse.slack
            growth = chained_growth(
                sums, resistance, self._ranked, log_hops, log_sine, log_coercivity, single
            )
        return float(growth) + SLACK

    def _at_corners(self, kernel: Any, ellipse: Ellipse, order: IntArray) -> list[FloatArray]:
        edges = self._graph.is_edge, self._graph.is_edge_to_labelled
        return [
            kernel(
                *corner, *edges, largest, *ellipse.margins, ellipse.cutoff, order, ellipse.shell_of
            )
            for corner, largest in zip(ellipse.corners, ellipse.maxima, strict=True)
        ]


def _cheapest(costs: FloatArray, cuts: IntArray, budget: float) -> IntArray:
    """As many cuts, in order, as a budget allows."""
    ranked = cuts[np.argsort(costs[cuts], kind="stable")]
    count = int(np.searchsorted(np.cumsum(costs[ranked]), budget, side="right"))
    return np.sort(ranked[:count])
