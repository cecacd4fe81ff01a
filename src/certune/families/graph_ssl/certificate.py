"""How many nodes an interpolant needs, proved: soft labels are bounded on a complex ellipse.

Soft labels are analytic where the phases of the edge weights stay within a half plane, and the
weak form of the harmonic equation bounds them there (``docs/theory/harmonic-labeling.md``):

    |f_u(z)| <= 1 + (sin(theta) exp(eta) S_u + T_u) / (cos(theta) - lost)

theta is the largest phase over *strong* edges, after the best shift for each *group* of edges; eta
the largest change of a log-weight; S_u = sqrt(energy * resistance) at the centre; T_u and the part
that is lost pay for weak edges and for differences between groups.  Far points are bounded by a
chain of such bounds instead.  Chebyshev interpolation of degree N on the ellipse with parameter rho
then errs by at most ``4 M rho**-N / (rho - 1)``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import NamedTuple

import numpy as np

from certune.families.distances import IntArray
from certune.families.graph_ssl.course import Course, FloatArray
from certune.families.graph_ssl.exponents import Exponents, Pair
from certune.families.graph_ssl.graph import Graph
from certune.families.graph_ssl.solver import PLAIN_RANGE, PointSolver
from certune.kernels.graph import (
    bounds_by_neighbours,
    chained_growth,
    class_energies,
    crossing_sum,
    inverse_diagonal,
    joined_groups,
    leak_sums,
    log_conductances,
    margins,
    path_below,
    path_maxima,
    phase_links,
    ranges_of_strong,
    ranked_tree,
    spanning_tree,
    tail_of_margins,
)

# Weak edges may take this much of the coercivity of the strong ones.
WEAK_SHARE = 0.05
# The same for differences between groups, before a square root is taken.
CROSSING_SHARE = 1e-4
# Phase that the largest ellipse may reach: more allows a larger one, with a larger bound on it.
PHASE = 1.3
# Above this bound it is worth while to look at the nodes shell by shell, and at their neighbours.
CHAIN_FROM = 6.0
# Nodes with larger bounds are bounded by their neighbours, on this many parts of an ellipse.
FAR = 8.0
PARTS = 4
ATTEMPTS = 8
FLAT = 1.5
LARGEST_LOSS = 0.15
# Imaginary half axis of an ellipse over half the interval: larger ones gain little.
LARGEST_RATIO = 20.0
# Charged for the rounding of angles and sums in this module, and of exponents, relatively.
SLACK = 1e-6
EXPONENT_ROUNDING = 2.0**-48
MUCH_SLACK = 2.0


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


def slices(centre: float, real: float, imaginary: float) -> list[tuple[float, float, float]]:
    """Boxes, by centre and half widths, that cover the ellipse with these half axes."""
    ends = np.linspace(-1.0, 1.0, PARTS + 1)
    nearest = np.where(ends[:-1] * ends[1:] <= 0, 0.0, np.minimum(abs(ends[:-1]), abs(ends[1:])))
    heights = imaginary * np.sqrt(1.0 - nearest**2)
    middles = centre + 0.5 * real * (ends[:-1] + ends[1:])
    half = real / PARTS * (1 + SLACK)
    return [(middle, half, high) for middle, high in zip(middles, heights, strict=True)]


@dataclass(frozen=True)
class Ellipse:
    """What the edges do on an ellipse.

    Attributes
    ----------
    phase : float
        Largest phase of a strong edge, after the best shift for each group.
    shift : float
        Largest change of the log-weight of a strong edge, after the best common shift.
    weak_share : float
        What weak edges amount to.
    corners, maxima : list
        Exponents at the corners of a box that contains those of the ellipse, and `path_maxima`.
    margins, cutoff : pair of arrays, float
        How much weaker than a path each edge is, and from where on edges are weak.
    slack : float
        Room for rounding in exponents.
    parts : list of pairs of Image
        Boxes of the two powers that cover the ellipse.
    local : _Local
        What is known at the centre.
    """

    phase: float
    shift: float
    weak_share: float
    corners: list[Pair]
    maxima: list[FloatArray]
    margins: Pair
    cutoff: float
    slack: float
    parts: list[tuple[Image, Image]]
    local: _Local

    @cached_property
    def below(self) -> list[FloatArray]:
        """At each corner, see `path_below`."""
        return self.local.below(self.corners)

    @cached_property
    def crossing_share(self) -> float:
        """What differences of phase between groups amount to."""
        return self.local.crossing_share(self.corners, self.below, self.slack)

    @property
    def lost(self) -> float:
        """Share of the coercivity that is taken away."""
        return self.weak_share + 2.1 * math.sqrt(self.crossing_share)


class Plan(NamedTuple):
    """An interpolant that is proved to be close enough.

    Attributes
    ----------
    degree : int
        Its degree.
    rho : float
        Parameter of the ellipse on which soft labels are bounded.
    log_slope : float
        Logarithm of a bound of their derivatives by a local coordinate in [-1, 1].
    """

    degree: int
    rho: float
    log_slope: float


class Certifier:
    """Bounds of the soft labels of some nodes on complex ellipses around parts of a course."""

    def __init__(
        self,
        graph: Graph,
        course: Course,
        exponents: Exponents,
        solver: PointSolver,
        nodes: IntArray,
    ) -> None:
        self.graph, self.course = graph, course
        self.exponents, self.solver = exponents, solver
        self.nodes = nodes
        self._last_height = math.inf

    def plan(self, low: float, high: float, log_tolerance: float) -> Plan | None:
        """An interpolant on [low, high] that is proved to err by at most a tolerance.

        The tolerance is given by its logarithm. None if no ellipse was found on which the soft
        labels are bounded.
        """
        centre, half = 0.5 * (low + high), 0.5 * (high - low)
        local = _Local(self, centre)
        ratio = min(LARGEST_RATIO, 1.3 * self._last_height / half)
        for _ in range(ATTEMPTS):
            rho = ratio + math.sqrt(ratio * ratio + 1)
            ellipse = local.ellipse(0.5 * half * (rho + 1 / rho), 0.5 * half * (rho - 1 / rho))
            if ellipse.phase <= 1.05 * PHASE and ellipse.lost <= LARGEST_LOSS:
                break
            ratio *= max(0.2, PHASE / ellipse.phase) if ellipse.phase > PHASE else 0.6
        growth = local.log_growth(ellipse)
        if growth == math.inf:
            return None
        # A flat ellipse says little about the height on narrower intervals.
        self._last_height = ratio * half if rho > FLAT else math.inf
        needed = (growth + math.log(4 / (rho - 1)) - log_tolerance) / math.log(rho)
        # Chebyshev coefficients are at most 2 M rho**-k, and |T_k'| <= k**2.
        slope = growth + math.log(2 * rho * (rho + 1)) - 3 * math.log(rho - 1) + SLACK
        return Plan(max(4, math.ceil(needed + SLACK)), rho, slope)


class _Local:
    """What is known at the centre of an ellipse."""

    def __init__(self, certifier: Certifier, centre: float) -> None:
        self._certifier, self._centre = certifier, centre
        self._graph, self._course = certifier.graph, certifier.course
        self._exponents = certifier.exponents.at_point(centre)
        self._joined = self._graph.joined
        self._tree = spanning_tree(self._exponents, self._joined)
        self._hops = 2 * int(self._tree.depth.max())
        resistance = path_maxima(self._exponents, self._tree)[:-1, -1]
        place = np.argsort(self._tree.order)
        self._ranked = np.lexsort((place, resistance))
        self._set_groups()
        self._log_sensitivity = self._sensitivity(resistance)

    def _set_groups(self) -> None:
        """Sort the tree edges into groups that need one phase each."""
        self._ranked_tree = ranked_tree(self._tree, self._exponents)
        links = self._hops * phase_links(self._exponents, self._joined, self._ranked_tree)
        first, second = np.nonzero(links)
        costs = links[first, second]
        cheapest = np.argsort(costs, kind="stable")
        needed = np.cumsum(costs[cheapest]) > 0.1 * CROSSING_SHARE
        tied = cheapest[needed]
        numbers = joined_groups(self._graph.n_nodes, first[tied], second[tied])
        self._group = np.unique(numbers, return_inverse=True)[1]

    def _sensitivity(self, resistance: FloatArray) -> FloatArray:
        """Logarithm of ``sqrt(energy * resistance)`` at the centre, one for each node."""
        graph, solver = self._graph, self._certifier.solver
        between, to_labelled = self._exponents
        nearest = to_labelled[graph.is_edge_to_labelled].min()
        smallest = min(between[graph.is_edge].min(initial=np.inf), nearest)
        if resistance.max() - smallest > PLAIN_RANGE:
            return np.full(graph.n_nodes, np.inf)
        solver.solve(self._course.rates(Fraction(self._centre)), smallest)
        inverse = inverse_diagonal(solver.work)
        energy = class_energies(solver.work).max()
        if energy == 0.0:  # no class is joined to another one
            return np.full(graph.n_nodes, -np.inf)
        return np.asarray(0.5 * (math.log(energy) + np.log(inverse)) + SLACK)

    def ellipse(self, real: float, imaginary: float) -> Ellipse:
        """What the edges do on the ellipse around the centre with these half axes."""
        exponents = self._certifier.exponents
        first, second = self._images(self._centre, real, imaginary)
        sides = dict.fromkeys((first.low, first.high)), dict.fromkeys((second.low, second.high))
        corners = [exponents.at(a, b) for a, b in product(*sides)]
        maxima = [path_maxima(corner, self._tree) for corner in corners]
        # With MUCH_SLACK the phase is beyond pi / 2, and nothing is bounded.
        rounding = EXPONENT_ROUNDING * exponents.size_at(first.size, second.size)
        slack = SLACK + min(rounding, MUCH_SLACK)
        edge_margins, weak_share, cutoff = self._margins(corners, maxima, slack)
        low, high = ranges_of_strong(
            (exponents.first, exponents.second),
            self._joined,
            edge_margins,
            cutoff,
            self._ranked_tree,
            self._group,
        )
        spread = np.maximum(high - low, 0.0)
        overall = np.maximum(high.max(axis=0) - low.min(axis=0), 0.0)
        return Ellipse(
            phase=0.5 * float((spread @ [first.imaginary, second.imaginary]).max()) + slack,
            shift=0.5 * float(overall @ [first.deviation, second.deviation]) + slack,
            weak_share=weak_share,
            corners=corners,
            maxima=maxima,
            margins=edge_margins,
            cutoff=cutoff,
            slack=slack,
            parts=[self._images(*part) for part in slices(self._centre, real, imaginary)],
            local=self,
        )

    def _images(self, centre: float, real: float, imaginary: float) -> tuple[Image, Image]:
        """Images of a box under the two powers."""
        first, second = self._course.first_power, self._course.second_power
        return image(first, centre, real, imaginary), image(second, centre, real, imaginary)

    def _margins(
        self, corners: list[Pair], maxima: list[FloatArray], slack: float
    ) -> tuple[Pair, float, float]:
        """Margins of all edges, what the weak ones take away, and where they begin."""
        edge_margins = margins(corners, maxima)
        tail = tail_of_margins(self._joined, edge_margins)
        shares = self._hops * tail * math.exp(slack) + slack**2
        enough = np.flatnonzero(shares <= WEAK_SHARE)
        if not enough.size:
            return edge_margins, 0.0, math.inf
        return edge_margins, float(shares[enough[0]]), float(enough[0])

    def below(self, corners: list[Pair]) -> list[FloatArray]:
        """For each corner what bounds the exponents of other groups, see `path_below`."""
        return [path_below(corner, self._ranked_tree, self._group) for corner in corners]

    def crossing_share(self, corners: list[Pair], below: list[FloatArray], slack: float) -> float:
        """What the different phases of groups can take away."""
        sums = [
            crossing_sum(corner, self._joined, lower)
            for corner, lower in zip(corners, below, strict=True)
        ]
        return float(self._hops * max(sums) * math.exp(2 * slack)) + slack**2

    def log_growth(self, ellipse: Ellipse) -> float:
        """Logarithm of a bound of the soft labels asked for on an ellipse; infinite: none."""
        if ellipse.phase >= 0.5 * math.pi:
            return math.inf
        coercivity = math.cos(ellipse.phase) - ellipse.lost - SLACK
        if coercivity <= 0:
            return math.inf
        log_hops, log_coercivity = math.log(self._hops), math.log(coercivity)
        sine = math.sin(ellipse.phase)
        strong = 0.5 * math.log1p(ellipse.lost) + ellipse.shift + self._log_sensitivity
        resistance = np.array([largest[:-1, -1] for largest in ellipse.maxima]) + ellipse.slack
        weak = log_hops + self._log_leaks(ellipse)
        leak = (weak[:, None] + 0.5 * resistance).max(axis=0)
        single = np.logaddexp(strong + math.log(sine), leak)
        growth = np.asarray(np.logaddexp(0.0, single - log_coercivity))
        if growth[self._certifier.nodes].max() > CHAIN_FROM:
            # Weak edges and differences of phase here enter as Cauchy-Schwarz gives them.
            factor = (
                sine + 2 * math.sqrt(ellipse.weak_share) + 2 * math.sqrt(ellipse.crossing_share)
            )
            chained = chained_growth(
                self._log_conductances(ellipse),
                resistance,
                self._ranked,
                growth,
                math.log(factor) + 0.5 * log_hops - log_coercivity,
            )
            growth = self._by_neighbours(ellipse, chained)
        return float(growth[self._certifier.nodes].max()) + SLACK

    def _by_neighbours(self, ellipse: Ellipse, growth: FloatArray) -> FloatArray:
        """Lower bounds of far nodes and of those asked for."""
        exponents = self._certifier.exponents
        chosen = growth > FAR
        chosen[self._certifier.nodes] = True
        return bounds_by_neighbours(
            (exponents.first, exponents.second),
            self._joined,
            self._ranked[chosen[self._ranked]],
            growth,
            2 * ellipse.slack,
            [
                [(a.low, b.low), (a.high, b.high), (a.imaginary, b.imaginary)]
                for a, b in ellipse.parts
            ],
        )

    def _log_leaks(self, ellipse: Ellipse) -> FloatArray:
        """What weak edges and differences of phase add to a bound, at each corner."""
        parts = zip(ellipse.corners, ellipse.maxima, ellipse.below, strict=True)
        sums = np.array(
            [
                leak_sums(corner, self._joined, ellipse.margins, ellipse.cutoff, largest, below)
                for corner, largest, below in parts
            ]
        )
        return np.asarray(np.logaddexp(sums[:, 0], sums[:, 1] + math.log(2.0)) + ellipse.slack)

    def _log_conductances(self, ellipse: Ellipse) -> FloatArray:
        parts = zip(ellipse.corners, ellipse.maxima, strict=True)
        found = [
            log_conductances(corner, self._joined, largest[:-1, -1], self._ranked)
            for corner, largest in parts
        ]
        return np.array(found) + ellipse.slack
