"""Newton's method for the smooth problems behind both penalties, with an error bound.

Where the signs of the coefficients are fixed, both penalised problems read: minimise

    (1/m) sum_i log(1 + exp(-a_i . b)) + lam (linear . b + quadratic . b^2 / 2),

with a_i = y_i (x_i, 1). For the l2 penalty ``quadratic`` is 2 on all coefficients but the
intercept; for the l1 penalty ``linear`` has the signs of the active coefficients.

Error bound. Let H be the Hessian at b, g the gradient, delta = b* - b the way to the minimum,
t = max_i |a_i . delta| and nu = |g| in the norm of H^-1. The logistic function satisfies
|sigma''| <= sigma', so that the Hessian at b + s delta is at least exp(-s t) H, and integrating
the gradient along the way gives nu >= |delta|_H (1 - exp(-t)) / t. As t <= r |delta|_H with
r = max_i |a_i| in the norm of H^-1, this yields t <= -log(1 - r nu) and then
|delta|_H <= nu t / (1 - exp(-t)). The bound needs r nu < 1 and no constant of strong convexity,
so that it covers an intercept without penalty too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy.linalg.blas import dsyrk
from scipy.linalg.lapack import dpotrf, dpotrs, dtrtri, dtrtrs
from scipy.special import expit

from certune.errors import UndecidedError
from certune.kernels.newton import accurate_residual, chord

FloatArray = npt.NDArray[np.float64]

UNIT = 2.0**-53
MOST_STEPS = 200
# Once a step moves no margin by more than this, the factor of the Hessian is kept.
CLOSE = 0.1
MOST_REFINEMENTS = 12
# The factor of another solution is tried if no margin differs by more than this; steps are taken
# in plain precision up to the second number, and the third is how far the target may be missed.
REUSED, REFINED, MOST_EXCESS = 0.3, 1e-8, 10.0
# Rounding errors of the factorisation may change its norms by this factor.
FACTOR_SLACK = 1.01


@dataclass(frozen=True)
class Node:
    """A solution at one value of lam.

    Attributes
    ----------
    lam : float
        The parameter.
    point : ndarray
        Coefficients, the intercept last.
    radius : float
        Proved bound of the Euclidean distance to the exact solution.
    slope : ndarray
        Derivative of the solution with respect to lam, approximately.
    n_steps : int
        Hessians that were factorised.
    factor : Factor or None
        The last one.
    anchor : ndarray or None
        Where it belongs to, close to `point`.
    """

    lam: float
    point: FloatArray
    radius: float
    slope: FloatArray
    n_steps: int
    factor: Factor | None = None
    anchor: FloatArray | None = None


@dataclass(frozen=True)
class Factor:
    """Cholesky factor L of a Hessian, H = L L^T, and the trace of H."""

    lower: FloatArray
    trace: float

    @property
    def is_accurate(self) -> bool:
        """Whether the backward error is small against the smallest eigenvalue of H."""
        rounding = 8 * (len(self.lower) + 4) * UNIT * self.trace * self.inverse_norm**2
        return rounding < FACTOR_SLACK - 1.0

    def solve(self, vector: FloatArray) -> FloatArray:
        """Return H^-1 times a vector."""
        solution, _ = dpotrs(self.lower, vector, lower=1)
        return np.asarray(solution)

    def norm(self, vector: FloatArray) -> float:
        """Return the norm of a vector with respect to H^-1."""
        whitened, _ = dtrtrs(self.lower, vector, lower=1)
        return float(np.linalg.norm(whitened)) * FACTOR_SLACK

    @cached_property
    def inverse_norm(self) -> float:
        """Bound of the spectral norm of L^-1: its Frobenius norm."""
        inverse, _ = dtrtri(self.lower, lower=1)
        return float(np.linalg.norm(np.tril(inverse))) * FACTOR_SLACK


@dataclass(frozen=True)
class Residual:
    """Gradient at a point, with bounds of its rounding errors.

    Attributes
    ----------
    inside : ndarray
        The gradient, in the coordinates of the problem.
    rounding : float
        Bound of the Euclidean norm of the error of the last operations.
    spread : float
        Bound of the error due to margins and chances, in the norm of H^-1: their errors e enter
        as design.T @ e / m, whose norm is at most sqrt(mean(e^2 / w)) because H has the term
        design.T W design / m.
    outside : float
        Norm of what the coordinates of the problem do not contain.
    """

    inside: FloatArray
    rounding: float
    spread: float
    outside: float = 0.0


@dataclass(frozen=True)
class SmoothProblem:
    """The smooth problem of the module's docstring.

    Attributes
    ----------
    design : ndarray of shape (m, r)
        Rows a_i.
    linear, quadratic : ndarray of shape (r,)
        The penalty.
    """

    design: FloatArray
    linear: FloatArray
    quadratic: FloatArray

    @cached_property
    def transposed(self) -> FloatArray:
        """The design with its columns as contiguous rows, which products with it are faster for."""
        return np.ascontiguousarray(self.design.T)

    @cached_property
    def largest_row(self) -> float:
        """Largest Euclidean norm of a row."""
        return float(np.sqrt((self.design**2).sum(axis=1).max(initial=0.0)))

    def penalty_gradient(self, point: FloatArray) -> FloatArray:
        """Return the gradient of the penalty, without the factor lam."""
        return self.linear + self.quadratic * point

    def factorise(self, lam: float, weights: FloatArray) -> Factor | None:
        """Factorise the Hessian for the given weights of the rows; None if it is singular."""
        scaled = self.design * np.sqrt(weights / len(self.design))[:, None]
        hessian = dsyrk(1.0, scaled.T, lower=1)
        diagonal = np.einsum("ii->i", hessian)
        diagonal += lam * self.quadratic
        trace = float(diagonal.sum())
        lower, failed = dpotrf(hessian, lower=1, clean=1, overwrite_a=1)
        return None if failed or not math.isfinite(lower[-1, -1]) else Factor(lower, trace)

    def solve(
        self, lam: float, start: FloatArray, target: float, near: Sequence[Node] = ()
    ) -> Node:
        """Minimise by Newton's method.

        Parameters
        ----------
        lam : float
            The parameter.
        start : ndarray
            Where to start.
        target : float
            Stop when the proved distance to the solution is below this, or when it does not get
            smaller any more.
        near : sequence of Node
            Solutions whose factors may do for this one too, at first.

        Raises
        ------
        UndecidedError
            If the Hessian is singular to working precision, so that no distance can be proved.
        """
        node = self._solved_with(near, lam, start, target)
        if node is not None:
            return node
        point = np.array(start, dtype=np.float64)
        for n_steps in range(1, MOST_STEPS + 1):
            anchor = point
            gradient, weights = self.gradient(lam, point)
            factor = self.factorise(lam, weights)
            if factor is None:
                raise _singular(lam)
            step = -factor.solve(gradient)
            reach = float(np.abs(self.design @ step).max(initial=0.0))
            # The damped step decreases the objective whatever the distance to the minimum.
            point = point + step * (math.log1p(reach) / reach if reach > 1.0 else 1.0)
            if reach <= CLOSE:
                point, radius = self._refined(lam, point, factor, reach, target)
                if math.isfinite(radius):
                    slope = -factor.solve(self.penalty_gradient(point))
                    return Node(lam, point, radius, slope, n_steps, factor, anchor)
        raise _singular(lam)

    def gradient(self, lam: float, point: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the gradient and the weights of the rows in the Hessian."""
        chances = expit(-(self.design @ point))
        gradient = lam * self.penalty_gradient(point) - self.transposed @ chances / len(chances)
        return gradient, chances * (1.0 - chances)

    def _solved_with(
        self, near: Sequence[Node], lam: float, start: FloatArray, target: float
    ) -> Node | None:
        """Solve with a factor from close by; None if that does not converge fast.

        Without a quadratic penalty the Hessian depends on lam through the point alone.
        """
        candidates = [
            (float(np.abs(self.design @ (start - node.anchor)).max()), node.factor, node.anchor)
            for node in near
            if node.factor is not None and node.anchor is not None
        ]
        if not candidates or self.quadratic.any():
            return None
        moved, factor, anchor = min(candidates, key=lambda candidate: candidate[0])
        point, moved, settled = chord(
            self.design, self.transposed, lam * self.linear, factor.lower, start, moved,
            REUSED, REFINED,
        )  # fmt: skip
        if not settled:
            return None
        point, radius = self._refined(lam, point, factor, moved, target)
        if radius > MOST_EXCESS * target:
            return None
        slope = -factor.solve(self.penalty_gradient(point))
        return Node(lam, point, radius, slope, 0, factor, anchor)

    def _refined(
        self, lam: float, point: FloatArray, factor: Factor, moved: float, target: float
    ) -> tuple[FloatArray, float]:
        """Refine a point with the factor of a Hessian close by, and bound its error.

        Residuals have twice the working precision, and every step gains a factor of about
        `moved`, by which no margin differs from where the factor belongs to.
        """
        best, smallest = point, math.inf
        for _ in range(MOST_REFINEMENTS):
            residual = self.residual(lam, point)
            radius = self.radius(lam, residual, factor, moved) if factor.is_accurate else math.inf
            if radius < smallest:
                best, gain, smallest = point, radius / smallest, radius
            else:
                gain = 1.0
            if smallest <= target or gain > 0.5:
                break
            step = -factor.solve(residual.inside)
            moved += float(np.abs(self.design @ step).max(initial=0.0))
            point = point + step
        return best, smallest

    def residual(self, lam: float, point: FloatArray) -> Residual:
        """Return the gradient at a point, accurately."""
        penalty = lam * self.penalty_gradient(point)
        return Residual(*accurate_residual(self.design, self.transposed, point, penalty))

    def radius(self, lam: float, residual: Residual, factor: Factor, moved: float) -> float:
        """Bound the distance of a point to the solution.

        Parameters
        ----------
        lam : float
            The parameter.
        residual : Residual
            The gradient at the point.
        factor : Factor
            Factor of the Hessian at a point from which no margin has moved by more than `moved`.
        moved : float
            See there.
        """
        grown = math.exp(0.5 * moved)
        nu = factor.norm(residual.inside) + factor.inverse_norm * residual.rounding
        nu = grown * (nu + residual.spread)
        return distance_bound(nu, grown * factor.inverse_norm, self.largest_row)

    def expanded(self, point: FloatArray) -> FloatArray:
        """Return the coefficients that a point stands for: the point itself."""
        return point


@dataclass(frozen=True)
class RotatedProblem(SmoothProblem):
    """The l2 problem with more columns than rows, in coordinates of the row space.

    The coefficients of the solution are combinations of the rows, so that it suffices to look for
    it there. Its error bound is computed in the original coordinates, where rounding errors of
    the rotation show up as part of the gradient.

    Attributes
    ----------
    original : ndarray of shape (m, p) or (m, p + 1)
        Rows a_i in the original coordinates, the intercept last if there is one.
    basis : ndarray of shape (p, m)
        Orthonormal columns that span the rows.
    """

    original: FloatArray
    basis: FloatArray

    @cached_property
    def _original_transposed(self) -> FloatArray:
        return np.ascontiguousarray(self.original.T)

    def residual(self, lam: float, point: FloatArray) -> Residual:
        """Return the gradient in the original coordinates, split by the row space."""
        coefficients = self.expanded(point)
        n_features, rank = self.basis.shape
        penalty = 2.0 * lam * coefficients
        penalty[n_features:] = 0.0
        gradient, rounding, spread = accurate_residual(
            self.original, self._original_transposed, coefficients, penalty
        )
        inside = np.append(self.basis.T @ gradient[:n_features], gradient[n_features:])
        outside = gradient[:n_features] - self.basis @ inside[:rank]
        return Residual(inside, rounding, spread, float(np.linalg.norm(outside)))

    def radius(self, lam: float, residual: Residual, factor: Factor, moved: float) -> float:
        """Bound the distance of a point to the solution, in the original coordinates."""
        # Outside of the row space the Hessian is 2 lam.
        weak = FACTOR_SLACK / math.sqrt(2.0 * lam)
        inverse_norm = max(factor.inverse_norm, weak)
        grown = math.exp(0.5 * moved)
        nu = math.hypot(factor.norm(residual.inside), weak * residual.outside)
        nu = grown * (nu + inverse_norm * residual.rounding + residual.spread)
        return distance_bound(nu, grown * inverse_norm, self.largest_row)

    def expanded(self, point: FloatArray) -> FloatArray:
        """Return the coefficients in the original coordinates."""
        rank = self.basis.shape[1]
        return np.append(self.basis @ point[:rank], point[rank:])


def distance_bound(nu: float, inverse_norm: float, largest_row: float) -> float:
    """Bound the distance to the minimum from the gradient; see the module's docstring."""
    reach = largest_row * inverse_norm * nu
    if not reach < 0.5:
        return math.inf
    # t / (1 - exp(-t)) <= 1 + t.
    return inverse_norm * nu * (1.0 - math.log1p(-reach))


def _singular(lam: float) -> UndecidedError:
    return UndecidedError(
        f"The solution at lam = {lam:.6g} cannot be proved in double precision: some columns are "
        "(nearly) linearly dependent, or lam is too small for separable data; raise the lower end "
        "of the range, standardise the columns, or remove dependent ones."
    )
