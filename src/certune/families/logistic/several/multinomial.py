"""Multinomial logistic regression with the l2 penalty, with an error bound.

The problem is to minimise, over decisions z_i = (w_1 . x_i, ..., w_K . x_i),

    (1/m) sum_i v_i (log sum_k exp(z_ik) - z_iy) + (lam / 2) sum_k quadratic . w_k^2.

Adding one vector to all w_k changes no loss and, at the minimum, the coefficients sum to zero over
the classes; the intercepts are chosen so as well. With an orthonormal basis Q of the vectors of sum
zero the unknowns are the K - 1 vectors u_a with w_k = sum_a Q_ka u_a, and the penalty is that of u.

Error bound. For the log-partition function, the third derivative in the directions v, v, u is
E (v - E v)^2 (u - E u) <= (max u - min u) Var v, so that moving all differences of decisions by at
most t changes the Hessian by at most the factor exp(t). The bound of
:mod:`certune.families.logistic.smooth` follows word for word, with t = max_i (max_k - min_k) of the
moved decisions, which is at most sqrt(2) |x_i| times the length of the way.

Rounding. Let c be the likeliest class of a row, and let p_k be known up to a relative error d for
all k other than c, p_c being one minus their sum. The error of the gradient of that row is
sum_k p_k d_k (e_k - e_c), and as the covariance of the classes is at least that of the star around
c, sum_k p_k p_c (e_k - e_c)(e_k - e_c)^T, its norm in the inverse of the Hessian is at most
d sqrt((1 - p_c) / p_c): there is no factor 1 / lam.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

from certune.families.logistic.newton import UNIT, Factor, NewtonProblem, factorised, refined_by
from certune.families.logistic.smooth import RotatedProblem, SmoothProblem
from certune.kernels.logistic import (
    FACTOR_SLACK,
    accurate_transposed_product,
    distance_bound,
)

FloatArray = npt.NDArray[np.float64]
IndexArray = npt.NDArray[np.intp]


@dataclass(frozen=True)
class MultinomialProblem(NewtonProblem):
    """The problem of the module's docstring.

    With more features than rows it is posed in the space of the rows: `design` then has their
    coordinates, and the error is bounded in the original ones.

    Attributes
    ----------
    design : ndarray of shape (m, q)
        Rows, the column of the intercept last if there is one.
    codes : ndarray of int
        The class of each row, a number below `n_classes`.
    n_classes : int
        Number K of classes.
    quadratic : ndarray of shape (q,)
        Weights of squared coefficients, 0 for the intercept.
    weights : ndarray of shape (m,), optional
        Weights v_i of the rows, of mean 1.
    basis : ndarray of shape (p, r), optional
        Orthonormal columns that span the rows, if the problem is posed in their space.
    original : ndarray, optional
        The rows in the original coordinates then.
    """

    design: FloatArray
    codes: IndexArray
    n_classes: int
    quadratic: FloatArray
    weights: FloatArray | None = None
    basis: FloatArray | None = None
    original: FloatArray | None = None

    @classmethod
    def of(cls, plain: SmoothProblem, codes: IndexArray, n_classes: int) -> MultinomialProblem:
        """Return the problem on the rows of a binary one, of which only these are used.

        Parameters
        ----------
        plain : SmoothProblem
            A problem whose rows are not multiplied by labels.
        codes : ndarray of int
            The class of each row.
        n_classes : int
            Number of classes.
        """
        rotation = (plain.basis, plain.original) if isinstance(plain, RotatedProblem) else ()
        return cls(plain.design, codes, n_classes, plain.quadratic, plain.weights, *rotation)

    @property
    def size(self) -> int:
        """Number of unknowns."""
        return (self.n_classes - 1) * int(self.design.shape[1])

    @cached_property
    def contrasts(self) -> FloatArray:
        """The basis Q: orthonormal columns of sum zero, each entry right to two units."""
        return contrasts(self.n_classes)

    @cached_property
    def _shares(self) -> FloatArray:
        """Weights of the rows over their number."""
        n_rows = len(self.design)
        return np.full(n_rows, 1.0 / n_rows) if self.weights is None else self.weights / n_rows

    def _parts(self, point: FloatArray) -> FloatArray:
        """Return the vectors u_a as rows."""
        return point.reshape(self.n_classes - 1, -1)

    def _decisions(self, point: FloatArray) -> FloatArray:
        return np.asarray((self.design @ self._parts(point).T) @ self.contrasts.T)

    def objective(self, lam: float, point: FloatArray) -> float:
        """Return the value that is minimised."""
        decisions, parts = self._decisions(point), self._parts(point)
        own = decisions[np.arange(len(decisions)), self.codes]
        losses = self._shares @ (logsumexp(decisions, axis=1) - own)
        return float(losses + 0.5 * lam * (parts**2 @ self.quadratic).sum())

    def gradient(self, lam: float, point: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the gradient and the chances of all classes."""
        chances = _chances(self._decisions(point))
        excess = chances.copy()
        excess[np.arange(len(excess)), self.codes] -= 1.0
        pulls = (self._shares[:, None] * excess).T @ self.design
        return self._penalty(lam, point) + (self.contrasts.T @ pulls).ravel(), chances

    def _penalty(self, lam: float, point: FloatArray) -> FloatArray:
        return np.asarray(lam * (self._parts(point) * self.quadratic).ravel())

    def factor_at(self, lam: float, point: FloatArray, chances: FloatArray) -> Factor | None:
        """Factorise the Hessian at a point with these chances; None if it is singular.

        Covariances are computed from the differences to the likeliest class: entries are right to
        a multiple of K u relative to the diagonal, however small the other chances are.
        """
        n_columns, free = self.design.shape[1], self.n_classes - 1
        apart = self.contrasts - self.contrasts[chances.argmax(axis=1)][:, None]
        weighted = chances[:, :, None] * apart
        means = weighted.sum(axis=1)
        covariances = np.matmul(apart.transpose(0, 2, 1), weighted)
        covariances -= means[:, :, None] * means[:, None, :]
        covariances *= self._shares[:, None, None]
        hessian = np.zeros((self.size, self.size), order="F")
        for a in range(free):
            rows = slice(a * n_columns, (a + 1) * n_columns)
            for b in range(a + 1):
                columns = slice(b * n_columns, (b + 1) * n_columns)
                scaled = covariances[:, a, b, None] * self.design
                hessian[rows, columns] = scaled.T @ self.design
        diagonal = np.einsum("ii->i", hessian)
        diagonal += lam * np.tile(self.quadratic, free)
        return factorised(hessian, point, len(self.design) + 8 * self.n_classes**2)

    def reach(self, step: FloatArray) -> float:
        """Return by how much a step moves the difference of two decisions of a row at most."""
        return float(np.ptp(self._decisions(step), axis=1).max(initial=0.0))

    def refined(
        self, lam: float, point: FloatArray, factor: Factor, moved: float, target: float
    ) -> tuple[FloatArray, float, FloatArray, FloatArray]:
        """Refine a point with the factor of a Hessian close by, and bound its error."""

        def judge(point: FloatArray, moved: float) -> tuple[FloatArray, float, FloatArray]:
            return self._judged(lam, point, factor, moved)

        best, radius, chances = refined_by(self, judge, point, factor, moved, target)
        return best, radius, -factor.solve(self._penalty(1.0, best)), chances

    @cached_property
    def _rows(self) -> FloatArray:
        """Rows in the coordinates in which errors are bounded."""
        return self.design if self.original is None else self.original

    @cached_property
    def _columns(self) -> FloatArray:
        return np.ascontiguousarray(self._rows.T)

    @cached_property
    def _norms(self) -> FloatArray:
        return np.asarray(np.sqrt((self._rows**2).sum(axis=1)))

    def _judged(
        self, lam: float, point: FloatArray, factor: Factor, moved: float
    ) -> tuple[FloatArray, float, FloatArray]:
        """Return the gradient as the solver sees it, the bound of the error, and the chances."""
        parts = self._unrotated(self._parts(point))
        residual = self._accurate_pulls(parts)
        weights = self._unrotated_quadratic
        penalty = lam * weights * parts
        gradient = self.contrasts.T @ residual.pulls + penalty
        # Entries of Q, K products and the penalty are rounded; terms cancel at the minimum.
        sizes = np.linalg.norm(residual.pulls) + np.linalg.norm(penalty)
        rounding = 2.0 * (self.n_classes + 4) * UNIT * float(sizes) + residual.rounding
        grown, spread = math.exp(0.5 * moved), residual.spread
        inside, outside = self._projected(gradient)
        weak = 0.0
        if self.basis is not None:
            # Outside of the row space the Hessian is that of the penalty.
            weak = FACTOR_SLACK / math.sqrt(lam * self.quadratic[0])
        inverse_norm = max(factor.inverse_norm, weak)
        nu = math.hypot(factor.norm(inside), weak * outside)
        nu = grown * (nu + inverse_norm * rounding + spread)
        largest = math.sqrt(2.0) * (1.0 + 1e-12) * float(self._norms.max(initial=0.0))
        radius = distance_bound(nu, grown * inverse_norm, largest)
        return inside, radius, residual.chances

    @cached_property
    def _unrotated_quadratic(self) -> FloatArray:
        if self.basis is None:
            return self.quadratic
        n_features, rank = self.basis.shape
        return np.append(np.full(n_features, self.quadratic[0]), self.quadratic[rank:])

    def _unrotated(self, parts: FloatArray) -> FloatArray:
        if self.basis is None:
            return parts
        rank = self.basis.shape[1]
        return np.concatenate((parts[..., :rank] @ self.basis.T, parts[..., rank:]), axis=-1)

    def _projected(self, gradient: FloatArray) -> tuple[FloatArray, float]:
        """Return a gradient in the solver's coordinates, and the length of what they leave out."""
        if self.basis is None:
            return gradient.ravel(), 0.0
        n_features, rank = self.basis.shape
        inside = np.column_stack((gradient[:, :n_features] @ self.basis, gradient[:, n_features:]))
        outside = gradient[:, :n_features] - inside[:, :rank] @ self.basis.T
        return inside.ravel(), float(np.linalg.norm(outside))

    def _accurate_pulls(self, parts: FloatArray) -> _Pulls:
        """Return what the rows pull at the classes, summed in twice the working precision."""
        n_rows, n_columns = self._rows.shape
        places = np.arange(n_rows)
        inner = np.column_stack(
            [accurate_transposed_product(self._columns, np.ascontiguousarray(u)) for u in parts]
        )
        decisions = inner @ self.contrasts.T
        top = decisions.argmax(axis=1)
        powers = np.exp(decisions - decisions[places, top][:, None])
        chances = powers / powers.sum(axis=1)[:, None]
        others = chances.copy()
        others[places, top] = 0.0
        # Of each row, chances of the others and minus their sum; one more for the likeliest class,
        # one less for the true one.
        sums, lost = _accurate_sums(others)
        others[places, top] = -sums
        steps = np.zeros_like(others)
        steps[places, top] += 1.0
        steps[places, self.codes] -= 1.0
        pulls = np.array([self._product(others[:, k]) for k in range(self.n_classes)])
        pulls += np.array([self._product(steps[:, k]) for k in range(self.n_classes)])
        corrections = np.zeros_like(others)
        corrections[places, top] = -lost
        pulls += (self._shares[:, None] * corrections).T @ self._rows
        # Relative errors of the chances: of decisions, their differences, powers and sums.
        lengths = np.linalg.norm(inner, axis=1)
        reach = self._norms * float(np.linalg.norm(parts))
        known = (8.0 * (self.n_classes + 1) * lengths + 2.0 * self.n_classes + 40.0) * UNIT
        known += 4.0 * (n_columns * UNIT) ** 2 * reach
        odds = (1.0 - chances[places, top] + self.n_classes * UNIT) / chances[places, top]
        spread = math.sqrt(float(self._shares @ (known**2 * odds)) + 1e-300)
        sizes = np.linalg.norm((np.abs(others) + np.abs(steps)) * self._shares[:, None], axis=0)
        rounding = 4.0 * (n_rows * UNIT) ** 2 * float(np.linalg.norm(self._rows) * sizes.sum())
        return _Pulls(pulls, spread, rounding, chances)

    def _product(self, values: FloatArray) -> FloatArray:
        return accurate_transposed_product(self._rows, self._shares * values)

    def expanded(self, point: FloatArray) -> FloatArray:
        """Return the coefficients of all classes, one class after the other."""
        parts = point.reshape(*point.shape[:-1], self.n_classes - 1, -1)
        coefficients = self.contrasts @ self._unrotated(parts)
        return np.asarray(coefficients.reshape(*point.shape[:-1], -1))


class _Pulls(NamedTuple):
    """Gradient of the loss by the coefficients of every class, with bounds of its errors.

    Attributes
    ----------
    pulls : ndarray of shape (K, q)
    spread : float
        Bound of what errors of the chances amount to in the norm of the inverse Hessian.
    rounding : float
        Bound of the Euclidean norm of other errors, beyond one rounding of each entry.
    chances : ndarray of shape (m, K)
    """

    pulls: FloatArray
    spread: float
    rounding: float
    chances: FloatArray


def contrasts(n_classes: int) -> FloatArray:
    """Return an orthonormal basis of the vectors of sum zero, as columns (Helmert's).

    Parameters
    ----------
    n_classes : int
        Length of the vectors.
    """
    basis = np.zeros((n_classes, n_classes - 1))
    for column in range(n_classes - 1):
        length = math.sqrt((column + 1.0) * (column + 2.0))
        basis[: column + 1, column] = 1.0 / length
        basis[column + 1, column] = -(column + 1.0) / length
    return basis


def _chances(decisions: FloatArray) -> FloatArray:
    powers = np.exp(decisions - decisions.max(axis=1)[:, None])
    return np.asarray(powers / powers.sum(axis=1)[:, None])


def _accurate_sums(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the sums of rows and what rounding has lost of them (Knuth's two-sum)."""
    sums, lost = np.zeros(len(values)), np.zeros(len(values))
    for column in values.T:
        total = sums + column
        back = total - sums
        lost += (sums - (total - back)) + (column - back)
        sums = total
    return sums, lost
