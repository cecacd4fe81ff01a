"""Newton's method for the smooth problems behind both penalties, with an error bound.

Where the signs of the coefficients are fixed, both penalised problems read: minimise

    (1/m) sum_i v_i log(1 + exp(-a_i . b)) + lam (linear . b + quadratic . b^2 / 2),

with a_i = y_i (x_i, 1) and row weights v_i of mean 1, all 1 unless weights were given. For the l2
penalty ``quadratic`` is 2 on all coefficients but the intercept; for the l1 penalty ``linear`` has
the signs of the active coefficients.

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
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg.blas import dsyrk
from scipy.linalg.lapack import dpotrf, dtrtrs
from scipy.special import expit

from certune.families.logistic.newton import Factor, NewtonProblem, Node, factorised, refined_by
from certune.kernels.logistic import (
    FACTOR_SLACK,
    Design,
    accurate_residual,
    distance_bound,
    refined,
    solved_near,
)

FloatArray = npt.NDArray[np.float64]
IndexArray = npt.NDArray[np.intp]

# With a factor from close by the target may be missed by this factor.
MOST_EXCESS = 10.0


@dataclass(frozen=True)
class SmoothProblem(NewtonProblem):
    """The smooth problem of the module's docstring.

    Attributes
    ----------
    design : ndarray of shape (m, r)
        Rows a_i.
    linear, quadratic : ndarray of shape (r,)
        The penalty.
    weights : ndarray of shape (m,), optional
        Weights v_i of the rows, of mean 1.
    """

    design: FloatArray
    linear: FloatArray
    quadratic: FloatArray
    weights: FloatArray | None = field(default=None, kw_only=True)

    @property
    def size(self) -> int:
        """Number of unknowns."""
        return int(self.design.shape[1])

    @property
    def row_weights(self) -> Any:
        """Weights of the rows, or the number 1."""
        return 1.0 if self.weights is None else self.weights

    @cached_property
    def transposed(self) -> FloatArray:
        """The design with its columns as contiguous rows, which products with it are faster for."""
        return np.ascontiguousarray(self.design.T)

    @cached_property
    def largest_row(self) -> float:
        """Largest Euclidean norm of a row."""
        return float(np.sqrt((self.design**2).sum(axis=1).max(initial=0.0)))

    @property
    def _both(self) -> Design:
        """The design as the compiled core takes it."""
        return Design(self.design, self.transposed, self.largest_row, self.weights)

    def penalty_gradient(self, point: FloatArray) -> FloatArray:
        """Return the gradient of the penalty, without the factor lam."""
        return self.linear + self.quadratic * point

    def factorise(self, lam: float, point: FloatArray, curvatures: FloatArray) -> Factor | None:
        """Factorise the Hessian at a point with these curvatures; None if it is singular."""
        scaled = self.design * np.sqrt(self.row_weights * curvatures / len(self.design))[:, None]
        hessian = dsyrk(1.0, scaled.T, lower=1)
        diagonal = np.einsum("ii->i", hessian)
        diagonal += lam * self.quadratic
        return factorised(hessian, point, len(self.design))

    def factor_at(self, lam: float, point: FloatArray, chances: FloatArray) -> Factor | None:
        """Factorise the Hessian at a point with these chances; None if it is singular."""
        return self.factorise(lam, point, chances * (1.0 - chances))

    def reach(self, step: FloatArray) -> float:
        """Return by how much a step moves a margin at most."""
        return float(np.abs(self.design @ step).max(initial=0.0))

    def with_column(self, factor: Factor, column: FloatArray, place: int) -> Factor | None:
        """Return the factor for one more column, whose coefficient is zero; None if singular.

        It costs a product with the design instead of a factorisation.
        """
        chances = expit(-(self.design @ factor.anchor))
        weighted = self.row_weights * chances * (1.0 - chances) * column / len(chances)
        products, own = self.transposed @ weighted, float(column @ weighted)
        old, size = factor.lower, len(factor.lower)
        row, _ = dtrtrs(old[:place, :place], products[:place], lower=1)
        square = own - float(row @ row)
        if not square > 0.0:
            return None
        pivot = math.sqrt(square)
        link = (products[place:] - old[place:, :place] @ row) / pivot
        tail = old[place:, place:] @ old[place:, place:].T - np.outer(link, link)
        corner, failed = dpotrf(tail, lower=1, clean=1)
        if failed:
            return None
        lower = np.zeros((size + 1, size + 1), order="F")
        lower[:place, :place], lower[place + 1 :, :place] = old[:place, :place], old[place:, :place]
        lower[place, :place], lower[place, place] = row, pivot
        lower[place + 1 :, place], lower[place + 1 :, place + 1 :] = link, corner
        diagonal = np.insert(factor.diagonal, place, own)
        return Factor(np.insert(factor.anchor, place, 0.0), lower, diagonal, factor.n_rows)

    def objective(self, lam: float, point: FloatArray) -> float:
        """Return the value that is minimised."""
        losses = self.row_weights * np.logaddexp(0.0, -(self.design @ point))
        penalty = (self.linear + 0.5 * self.quadratic * point) @ point
        return float(losses.mean() + lam * penalty)

    def gradient(self, lam: float, point: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the gradient and the chances."""
        chances = expit(-(self.design @ point))
        pulls = self.transposed @ (self.row_weights * chances) / len(chances)
        return lam * self.penalty_gradient(point) - pulls, chances

    def solve_near(
        self, lams: FloatArray, starts: FloatArray, target: float, near: list[Factor]
    ) -> list[Node]:
        """Minimise for several lam, without quadratic penalty, with factors from close by.

        Then the Hessian depends on lam through the point alone, and one factor may do for many.

        Parameters
        ----------
        lams : ndarray
            The parameters.
        starts : ndarray
            Where to start for each of them, as rows.
        target : float
            As for :meth:`solve`.
        near : list of Factor
            The nearest of them is tried for each; factors that had to be made are added.
        """
        usable = [factor for factor in near if factor.is_accurate]
        nodes: dict[int, Node] = {}
        pending = np.arange(len(lams))
        while pending.size:
            ways = [((starts[pending] - factor.anchor) ** 2).sum(axis=1) for factor in usable]
            nearest = np.argmin(ways, axis=0) if usable else np.full(pending.size, -1)
            for which, factor in enumerate(usable):
                mine = pending[nearest == which]
                if mine.size:
                    self._try(factor, mine, lams, starts, target, nodes)
            pending = np.array([k for k in pending.tolist() if k not in nodes], dtype=np.intp)
            if pending.size:
                middle = int(pending[pending.size // 2])
                node = nodes[middle] = self.solve(float(lams[middle]), starts[middle], target)
                pending = pending[pending != middle]
                assert node.factor is not None
                near.append(node.factor)
                usable = [node.factor]
        return [nodes[k] for k in range(len(lams))]

    def _try(
        self,
        factor: Factor,
        which: IndexArray,
        lams: FloatArray,
        starts: FloatArray,
        target: float,
        nodes: dict[int, Node],
    ) -> None:
        """Solve for some lam with one factor, and keep what has converged."""
        solutions = solved_near(
            self._both, self.linear, factor.near, lams[which], starts[which], target
        )
        for k, point, radius, slope, chances in zip(which.tolist(), *solutions, strict=True):
            if radius <= MOST_EXCESS * target:
                nodes[k] = Node(float(lams[k]), point, float(radius), slope, chances, 0, factor)

    def refined(
        self, lam: float, point: FloatArray, factor: Factor, moved: float, target: float
    ) -> tuple[FloatArray, float, FloatArray, FloatArray]:
        """Refine a point with the factor of a Hessian close by, and bound its error.

        No margin differs by more than `moved` from where the factor belongs to. Returns the
        point, the bound of its distance to the solution, the slope and the chances.
        """
        penalty = lam, self.linear, self.quadratic
        return refined(self._both, penalty, factor.near, point, moved, target)

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

    def refined(
        self, lam: float, point: FloatArray, factor: Factor, moved: float, target: float
    ) -> tuple[FloatArray, float, FloatArray, FloatArray]:
        """Refine a point; its error is bounded in the original coordinates."""

        def judge(point: FloatArray, moved: float) -> tuple[FloatArray, float, FloatArray]:
            return self._judged(lam, point, factor, moved)

        best, radius, chances = refined_by(self, judge, point, factor, moved, target)
        return best, radius, -factor.solve(self.penalty_gradient(best)), chances

    def _judged(
        self, lam: float, point: FloatArray, factor: Factor, moved: float
    ) -> tuple[FloatArray, float, FloatArray]:
        """Return the gradient in the row space, the bound of the error, and the chances."""
        coefficients = self.expanded(point)
        n_features, rank = self.basis.shape
        penalty = lam * self.quadratic[0] * coefficients
        penalty[n_features:] = 0.0
        original = Design(self.original, self._original_transposed, self.largest_row, self.weights)
        gradient, rounding, spread, chances = accurate_residual(original, coefficients, penalty)
        inside = np.append(self.basis.T @ gradient[:n_features], gradient[n_features:])
        outside = gradient[:n_features] - self.basis @ inside[:rank]
        # Outside of the row space the Hessian is that of the penalty.
        weak = FACTOR_SLACK / math.sqrt(lam * self.quadratic[0])
        inverse_norm = max(factor.inverse_norm, weak)
        grown = math.exp(0.5 * moved)
        nu = math.hypot(factor.norm(inside), weak * float(np.linalg.norm(outside)))
        nu = grown * (nu + inverse_norm * rounding + spread)
        return inside, distance_bound(nu, grown * inverse_norm, self.largest_row), chances

    def expanded(self, point: FloatArray) -> FloatArray:
        """Return the coefficients in the original coordinates."""
        rank = self.basis.shape[1]
        return np.concatenate((point[..., :rank] @ self.basis.T, point[..., rank:]), axis=-1)
