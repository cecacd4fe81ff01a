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

import numpy as np

from certune.families.graph_ssl.course import Course, FloatArray
from certune.families.graph_ssl.exponents import Exponents
from certune.families.graph_ssl.graph import Graph
from certune.families.graph_ssl.solver import DOUBLE_RANGE, PointSolver
from certune.kernels.bottlenecks import (
    log_weak_sum,
    lower_margins,
    path_maxima,
    range_of_strong,
    spanning_tree,
    tail_of_margins,
)
from certune.kernels.gth import class_energies, inverse_diagonal

# Weak edges may take this much of the coercivity of the strong ones.
WEAK_SHARE = 0.05
# Phases that are tried: a larger one allows a larger ellipse, with a larger bound on it.
PHASES = (1.35, 0.95)
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


class Certifier:
    """Bounds of the soft labels of a graph on complex ellipses around parts of a course."""

    def __init__(
        self, graph: Graph, course: Course, exponents: Exponents, solver: PointSolver
    ) -> None:
        self.graph, self.course = graph, course
        self.exponents, self.solver = exponents, solver

    def degree_for(self, low: float, high: float, tolerance: float) -> int | None:
        """Degree of an interpolant on [low, high] that is proved to err by at most ``tolerance``.

        None if no ellipse was found on which the soft labels are bounded.
        """
        centre, half = 0.5 * (low + high), 0.5 * (high - low)
        local = _Local(self, centre)
        degrees = []
        ratio = LARGEST_RATIO
        for phase in PHASES:
            for _ in range(ATTEMPTS):
                rho = ratio + math.sqrt(ratio * ratio + 1)
                ellipse = local.ellipse(0.5 * half * (rho + 1 / rho), 0.5 * half * (rho - 1 / rho))
                if ellipse.phase <= 1.02 * phase:
                    break
                ratio *= max(0.2, phase / ellipse.phase)
            growth = local.log_growth(ellipse)
            if growth < math.inf:
                needed = (growth + math.log(4 / (rho - 1)) - math.log(tolerance)) / math.log(rho)
                degrees.append(max(4, math.ceil(needed + SLACK)))
        return min(degrees, default=None)


@dataclass(frozen=True)
class Ellipse:
    """What the edges do on an ellipse.

    Attributes
    ----------
    phase, shift : float
        Largest phase and largest change of a log-weight over strong edges, after the best common
        shift.
    weak_share : float
        Share of the coercivity that the weak edges can take away.
    log_leak : array
        Logarithm of what the weak edges add to the bound of each node.
    """

    phase: float
    shift: float
    weak_share: float
    log_leak: FloatArray


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
        self._log_sensitivity = self._sensitivity()

    def _maxima(self, exponents: tuple[FloatArray, FloatArray]) -> FloatArray:
        order, parent, _, via = self._tree
        return np.asarray(path_maxima(*exponents, order, parent, via))

    def _sensitivity(self) -> FloatArray:
        """Logarithm of ``sqrt(energy * resistance)`` at the centre, one for each node."""
        graph, solver = self._graph, self._certifier.solver
        largest = self._maxima((self._between, self._to_labelled))[:-1, -1]
        nearest = self._to_labelled[graph.is_edge_to_labelled].min()
        smallest = min(self._between[graph.is_edge].min(initial=np.inf), nearest)
        if largest.max() - smallest > DOUBLE_RANGE:
            # The energy of the function that is 0 on all nodes, and the resistance of a path.
            energy = math.log(graph.is_edge_to_labelled.sum()) - nearest
            return np.asarray(0.5 * (energy + math.log(self._hops) + largest) + SLACK)
        solver.solve(self._course.rates(Fraction(self._centre)), smallest, False)
        resistance = inverse_diagonal(solver.weights, solver.sums)
        energy = class_energies(solver.classes, solver.sums).max()
        if not energy > 0:  # one class only: all soft labels are constant
            return np.full(graph.n_nodes, -np.inf)
        return np.asarray(0.5 * (math.log(energy) + np.log(resistance)) + SLACK)

    def ellipse(self, real: float, imaginary: float) -> Ellipse:
        """The ellipse around the centre with these half axes."""
        graph, certifier, course = self._graph, self._certifier, self._course
        first = image(course.first_power, self._centre, real, imaginary)
        second = image(course.second_power, self._centre, real, imaginary)
        corners = list(
            product(
                dict.fromkeys((first.low, first.high)), dict.fromkeys((second.low, second.high))
            )
        )
        size = certifier.exponents.size_at(first.size, second.size)
        slack = SLACK + EXPONENT_ROUNDING * size
        margins = np.full(self._between.shape, np.inf)
        margins_to_labelled = np.full(self._to_labelled.shape, np.inf)
        for a, b in corners:
            exponents = certifier.exponents.at(a, b)
            lower_margins(*exponents, self._maxima(exponents), margins, margins_to_labelled)
        tail = self._hops * tail_of_margins(
            margins, margins_to_labelled, graph.is_edge, graph.is_edge_to_labelled
        )
        tail = tail * math.exp(slack) + slack**2
        enough = np.flatnonzero(tail <= WEAK_SHARE)
        cutoff = float(enough[0]) if enough.size else math.inf
        share = float(tail[enough[0]]) if enough.size else 0.0
        (p, p_labelled), (q, q_labelled) = certifier.exponents.first, certifier.exponents.second
        p_range, q_range = range_of_strong(
            p,
            q,
            p_labelled,
            q_labelled,
            graph.is_edge,
            graph.is_edge_to_labelled,
            margins,
            margins_to_labelled,
            cutoff,
        )
        leak = np.full(graph.n_nodes, -np.inf)
        if enough.size:
            for a, b in corners:
                exponents = certifier.exponents.at(a, b)
                largest = self._maxima(exponents)
                log_sum = log_weak_sum(
                    *exponents,
                    graph.is_edge,
                    graph.is_edge_to_labelled,
                    largest,
                    margins,
                    margins_to_labelled,
                    cutoff,
                )
                leak = np.maximum(leak, log_sum + 0.5 * largest[:-1, -1])
        return Ellipse(
            phase=0.5 * (first.imaginary * p_range + second.imaginary * q_range) + slack,
            shift=0.5 * (first.deviation * p_range + second.deviation * q_range) + slack,
            weak_share=share,
            log_leak=leak + math.log(self._hops) + slack,
        )

    def log_growth(self, ellipse: Ellipse) -> float:
        """Logarithm of a bound of all soft labels on an ellipse, infinite if there is none."""
        phase, share = ellipse.phase, ellipse.weak_share
        if phase >= 0.5 * math.pi or math.cos(phase) <= share + SLACK:
            return math.inf
        coercivity = math.log(math.cos(phase) - share - SLACK)
        strong = 0.5 * math.log1p(share) + ellipse.shift + math.log(math.sin(phase))
        growth = np.logaddexp(
            0.0, np.logaddexp(strong + self._log_sensitivity, ellipse.log_leak) - coercivity
        )
        return float(growth.max()) + SLACK
