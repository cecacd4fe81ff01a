"""A part of a path: solutions at Chebyshev points of log lam, and the polynomials through them.

Between events the solution is an analytic function of log lam, so that polynomials through
solutions at Chebyshev points converge geometrically. Solutions at the points are proved (see
:mod:`certune.families.logistic.smooth`). How far the polynomials are from the function in between
is *estimated* from the decay of their coefficients, and *checked* by solutions at further points.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache

import numpy as np
import numpy.typing as npt
from numpy.polynomial import chebyshev
from scipy.fft import dct

from certune.families.logistic.newton import Node

FloatArray = npt.NDArray[np.float64]

# The estimate of the interpolation error is stated with this factor.
SAFETY = 2.0

# From this degree on a panel is given up when twice the degree will not suffice.
HOPELESS_FROM = 24

Solver = Callable[[FloatArray, FloatArray], list[Node]]


@dataclass(frozen=True)
class Quantity:
    """What is followed along a path: a vector that depends on the coefficients.

    Attributes
    ----------
    of : callable
        Gets coefficients (intercept last) and returns the vector; rows of them give rows.
    steepness : float
        The vector changes by at most this times the change of the coefficients, both in the
        norms that are used here: the largest entry and the Euclidean norm.
    """

    of: Callable[[FloatArray], FloatArray]
    steepness: float


@dataclass(frozen=True)
class PathPiece:
    """Solutions on ``[low, high]``, as polynomials in log lam.

    Attributes
    ----------
    low, high : float
        The interval of lam.
    points : ndarray of shape (n + 1, r)
        Chebyshev coefficients of the solution, in the coordinates of its problem.
    quantity : ndarray of shape (n + 1, q)
        Chebyshev coefficients of what is followed.
    node_error, interpolation_error : float
        Bound of the errors of `quantity` at the nodes, proved, and of the polynomials in between,
        estimated and checked.
    n_steps : int
        Newton steps.
    """

    low: float
    high: float
    points: FloatArray
    quantity: FloatArray
    node_error: float
    interpolation_error: float
    n_steps: int

    @property
    def error(self) -> float:
        """Stated error: node errors times the Lebesgue constant, plus interpolation."""
        lebesgue = 1.0 + math.log(len(self.points))
        return lebesgue * self.node_error + self.interpolation_error

    def local(self, lam: float) -> float:
        """Return the coordinate in [-1, 1] of a parameter of the piece."""
        width = math.log(self.high / self.low)
        return min(max(2.0 * math.log(lam / self.low) / width - 1.0, -1.0), 1.0)


class Panel:
    """Interval on which a path is sampled with more and more points.

    Parameters
    ----------
    low, high : float
        The interval of lam.
    solve : callable
        Returns solutions at several lam from starting points, as rows.
    expand : callable
        Turns points, as rows, into coefficients.
    quantity : Quantity
        What is followed.
    checks : sequence of float
        Shares of the half circle of angles at which polynomials are checked by fresh solutions,
        between the two nodes that are nearest.
    """

    def __init__(
        self,
        low: float,
        high: float,
        solve: Solver,
        expand: Callable[[FloatArray], FloatArray],
        quantity: Quantity,
        checks: Sequence[float],
    ) -> None:
        self.low, self.high, self._checks = low, high, checks
        self._solve, self._expand, self._quantity = solve, expand, quantity
        self._nodes: dict[float, Node] = {}
        self.n_steps = 0

    def place(self, s: float) -> float:
        """Return the parameter at a coordinate in [-1, 1]; the ends are exact."""
        if abs(s) == 1.0:
            return self.high if s > 0 else self.low
        share = 0.5 * s + 0.5
        lam = self.low * math.exp(share * math.log(self.high / self.low))
        return min(max(lam, self.low), self.high)

    def put(self, node: Node) -> None:
        """Use a solution at one of the ends that is known already."""
        self._nodes[1.0 if node.lam == self.high else -1.0] = node

    def end(self, s: float) -> Node:
        """Return the solution at the lower (-1) or upper (1) end, after sampling."""
        return self._nodes[s]

    def sample(self, degrees: Sequence[int], start: FloatArray, target: float) -> PathPiece | None:
        """Sample until the estimated error is below the target; None if that is out of reach.

        Parameters
        ----------
        degrees : sequence of int
            Degrees to try, each twice the one before.
        start : ndarray
            Where to start at the upper end, if no solution is known.
        target : float
            Aim for the interpolation error.
        """
        interpolant: FloatArray | None = None
        before = math.inf
        for degree in degrees:
            self._add_nodes(degree, start, interpolant)
            nodes = [self._nodes[s] for s in _coordinates(degree)]
            points = np.array([node.point for node in nodes])
            values = self._quantity.of(self._expand(points))
            coefficients = chebyshev_coefficients(np.hstack((points, values)))
            interpolant, quantity = np.split(coefficients, [points.shape[1]], axis=1)
            estimate = _estimate(quantity)
            if estimate <= target:
                measured = self._measured(degree, interpolant, quantity)
                if measured <= target:
                    return self._piece(nodes, interpolant, quantity, max(estimate, measured))
            elif degree >= HOPELESS_FROM and estimate * (estimate / before) ** 2 > target:
                # Coefficients that decay geometrically will not get there with twice the degree.
                return None
            before = estimate
        return None

    def _piece(
        self, nodes: list[Node], points: FloatArray, quantity: FloatArray, error: float
    ) -> PathPiece:
        node_error = self._quantity.steepness * max(node.radius for node in nodes)
        return PathPiece(
            self.low, self.high, points, quantity, node_error, SAFETY * error, self.n_steps
        )

    def _add_nodes(self, degree: int, start: FloatArray, interpolant: FloatArray | None) -> None:
        new = [s for s in _coordinates(degree) if s not in self._nodes]
        if interpolant is not None:
            self._solve_at(new, values_at(interpolant, tuple(new)))
        elif len(self._nodes) == 2:
            self._solve_at(new, np.array([self._predicted(self.place(s)) for s in new]))
        else:
            for s in new:
                guess = self._predicted(self.place(s)) if self._nodes else start
                self._solve_at([s], guess[None])

    def _solve_at(self, places: list[float], starts: FloatArray) -> None:
        self._nodes.update(zip(places, self._solved(places, starts), strict=True))

    def _predicted(self, lam: float) -> FloatArray:
        """Extrapolate along the tangent of the next solution above, or of those on both sides."""
        above = min((n for n in self._nodes.values() if n.lam >= lam), key=lambda n: n.lam)
        if above.lam == lam:
            # The interval has just a few floats.
            return above.point
        below = max(
            (n for n in self._nodes.values() if n.lam < lam), key=lambda n: n.lam, default=None
        )
        step = math.log(lam / above.lam)
        tangent = above.slope * above.lam
        if below is None:
            return above.point + tangent * step
        # Cubic through both points with both tangents, in log lam.
        width = math.log(below.lam / above.lam)
        share = step / width
        chord, end = below.point - above.point, below.slope * below.lam * width
        tangent = tangent * width
        bend, twist = 3.0 * chord - 2.0 * tangent - end, tangent + end - 2.0 * chord
        point: FloatArray = above.point + share * (tangent + share * (bend + share * twist))
        return point

    def _solved(self, places: Sequence[float], starts: FloatArray) -> list[Node]:
        nodes = self._solve(np.array([self.place(s) for s in places]), starts)
        self.n_steps += sum(node.n_steps for node in nodes)
        return nodes

    def _measured(self, degree: int, points: FloatArray, quantity: FloatArray) -> float:
        """Return the largest difference to solutions at fresh points."""
        places = tuple(
            math.cos(math.pi * (math.floor(share * degree) + 0.5) / degree)
            for share in self._checks
        )
        nodes = self._solved(places, values_at(points, places))
        values = self._quantity.of(self._expand(np.array([node.point for node in nodes])))
        differences = np.abs(values - values_at(quantity, places)).max(axis=1, initial=0.0)
        known = self._quantity.steepness * np.array([node.radius for node in nodes])
        return float((differences - known).max(initial=0.0))


def values_at(coefficients: FloatArray, places: tuple[float, ...]) -> FloatArray:
    """Return values of polynomials with the given Chebyshev coefficients, a row for each place."""
    values: FloatArray = _basis(places, len(coefficients) - 1) @ coefficients
    return values


@lru_cache(maxsize=128)
def _basis(places: tuple[float, ...], degree: int) -> FloatArray:
    return np.asarray(chebyshev.chebvander(places, degree))


@cache
def _coordinates(degree: int) -> list[float]:
    """Chebyshev points of the second kind, downwards; those of a degree are among its double's."""
    # A sine is odd and exact at 0, and reduced fractions give the same float at every degree.
    fractions = [Fraction(degree - 2 * j, degree) for j in range(degree + 1)]
    return [math.sin(math.pi / 2 * share.numerator / share.denominator) for share in fractions]


def chebyshev_coefficients(values: FloatArray) -> FloatArray:
    """Chebyshev coefficients of the polynomials through values at the points of the second kind."""
    degree = len(values) - 1
    coefficients: FloatArray = dct(values, type=1, axis=0) / degree
    coefficients[0] *= 0.5
    coefficients[-1] *= 0.5
    return coefficients


def _estimate(coefficients: FloatArray) -> float:
    """Estimate the interpolation error: the sum of the last quarter of the coefficients.

    It is what the polynomial of three quarters of the degree leaves out; the omitted
    coefficients of a geometric series are smaller.
    """
    quarter = max(1, (len(coefficients) - 1) // 4)
    return float(np.abs(coefficients[-quarter:]).sum(axis=0).max(initial=0.0))
