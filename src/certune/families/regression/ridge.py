"""Ridge regression for every alpha from one singular value decomposition.

With the decomposition U S V^T of the weighted and centred rows and c = U^T y the coefficients are
V w with w_k = s_k c_k / (s_k^2 + alpha). Predictions on validation data are linear in w. Leaving
out a training point changes its residual r_i to r_i / (1 - h_i), where h_i is the diagonal of the
hat matrix, so that leave-one-out needs no further fit (Allen 1974).

Error bounds. The decomposition is that of a matrix close to the rows; what that does to the
coefficients is bounded by the gradient at them, divided by the smallest eigenvalue of the Hessian.
Predictions are often known much better, because validation rows hardly point to where that
eigenvalue is: columns that depend on each other, as those of one category do, depend on each other
there as well. With the gradient g and the Hessian H, a prediction is off by x . H^-1 g, which is at
most |H^-1 x| |g|.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from certune.deadline import unless_stopped
from certune.families.regression.analytic import AnalyticFunction
from certune.families.regression.centred import CentredData

FloatArray = npt.NDArray[np.float64]

UNIT = 2.0**-53


@dataclass(frozen=True)
class RidgePath:
    """Coefficients and errors of ridge regression as functions of alpha.

    Minimises sum_i w_i (y_i - x_i . b - b_0)^2 + alpha |b|^2, as scikit-learn's Ridge.

    Attributes
    ----------
    data : CentredData
        The data.
    """

    data: CentredData

    @cached_property
    def _parts(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        rows = self.data.rows
        operations = 10.0 * rows.size * min(rows.shape)
        left, sizes, right = unless_stopped(operations, np.linalg.svd, rows, full_matrices=False)
        # Directions without variance have no coefficient, and may mix with that of the intercept.
        kept = sizes > max(rows.shape) * 2.0 * UNIT * sizes.max(initial=0.0)
        return left[:, kept], sizes[kept], right[kept]

    @cached_property
    def _targets(self) -> FloatArray:
        """The targets in the basis of left singular vectors."""
        return np.asarray(self._parts[0].T @ self.data.targets)

    def _weights(self, alphas: FloatArray) -> FloatArray:
        """Coefficients in the basis of right singular vectors, a row for each alpha."""
        _, sizes, _ = self._parts
        return np.asarray(sizes * self._targets / (sizes**2 + alphas[:, None]))

    def coefficients(self, alpha: float) -> FloatArray:
        """Return the coefficients at one alpha."""
        return np.asarray(self._weights(np.array([alpha]))[0] @ self._parts[2])

    def radii(self, alphas: FloatArray) -> FloatArray:
        """Bound the distance of the coefficients to the exact ones."""
        return np.asarray(self._gradients(alphas) / (alphas + self._floor))

    @property
    def _unit(self) -> float:
        """Relative error of sums and decompositions of the training rows."""
        return (sum(self.data.rows.shape) + 8) * UNIT

    @cached_property
    def _norm(self) -> float:
        return float(np.linalg.norm(self.data.rows))

    @cached_property
    def _floor(self) -> float:
        """A lower bound of the eigenvalues of the products of the columns."""
        _, sizes, _ = self._parts
        smallest = float(sizes[-1]) if sizes.size == self.data.rows.shape[1] else 0.0
        # A computed singular value is off by a multiple of u times the largest.
        return max(0.0, smallest - self._unit * self._norm) ** 2

    def _gradients(self, alphas: FloatArray) -> FloatArray:
        """Bound the lengths of the gradients at the coefficients.

        They are computed in floats: a product of m terms has a relative error of m u.
        """
        coefficients = self._weights(alphas) @ self._parts[2]
        gradients = self._pulls(coefficients) - alphas[:, None] * coefficients
        norm, lengths = self._norm, np.linalg.norm(coefficients, axis=1)
        size = float(np.linalg.norm(self.data.targets))
        scale = norm * (size + norm * lengths) + alphas * lengths
        return np.asarray(np.linalg.norm(gradients, axis=1) + self._unit * scale)

    @cached_property
    def _reach(self) -> tuple[FloatArray, float]:
        """Mean squares of the validation rows along each singular vector, and beside all of them.

        Singular vectors are orthonormal up to a multiple of u.
        """
        rows, _ = self.data.validation
        right, shares = self._parts[2], self.data.shares
        along = rows @ right.T
        rounding = 4.0 * self._unit * np.linalg.norm(rows, axis=1)
        beside = np.linalg.norm(rows - along @ right, axis=1) + rounding
        return shares @ (np.abs(along) + rounding[:, None]) ** 2, float(shares @ beside**2)

    def _predictions_off(self, alphas: FloatArray) -> FloatArray:
        """Bound the root mean squared error of predictions on the validation data.

        With the Hessian H' of the decomposition and |H - H'| <= e, |H^-1 x| is at most
        |H'^-1 x| / (1 - e / mu), where mu is the smallest eigenvalue of H.
        """
        along, beside = self._reach
        _, sizes, _ = self._parts
        plain = np.sqrt(along.sum() + beside) * self.radii(alphas)
        off, smallest = 4.0 * self._unit * self._norm**2, alphas + self._floor
        squares = along @ (1.0 / (sizes[:, None] ** 2 + alphas) ** 2) + beside / alphas**2
        known = off <= 0.5 * smallest
        share = np.where(known, off / smallest, 0.5)
        directed = np.sqrt(squares) * self._gradients(alphas) / (1.0 - share)
        return np.asarray(np.where(known, np.minimum(plain, directed), plain))

    def _pulls(self, coefficients: FloatArray) -> FloatArray:
        """Return the products of the columns with the residuals, a row for each alpha."""
        rows, targets = self.data.rows, self.data.targets
        if rows.shape[1] > len(rows):
            return np.asarray((targets - coefficients @ rows.T) @ rows)
        return np.asarray(targets @ rows - coefficients @ self.data.products)

    def mean_squared_error(self) -> AnalyticFunction:
        """Return the error on the validation data, or of leaving out one point."""
        if self.data.instance.is_leave_one_out:
            return AnalyticFunction(self._left_out, self._left_out_bound)
        return AnalyticFunction(self._validated, self._validated_bound)

    def _validated(self, alphas: FloatArray) -> tuple[FloatArray, FloatArray]:
        rows, targets = self.data.validation
        shares = self.data.shares
        coefficients = self._weights(alphas) @ self._parts[2]
        residuals = targets - coefficients @ rows.T
        values = residuals**2 @ shares
        spread = float(np.sqrt(shares @ (rows**2).sum(axis=1)))
        lengths = np.linalg.norm(coefficients, axis=1)
        size = float(np.sqrt(shares @ targets**2)) + spread * lengths
        off = self._predictions_off(alphas) + (rows.shape[1] + 8) * UNIT * size
        errors = 2.0 * np.sqrt(values) * off + off**2 + (len(rows) + 8) * UNIT * values
        return values, errors

    def _validated_bound(self, smallest: float, largest: float) -> float:
        """|s c / (s^2 + alpha)| <= s |c| / sqrt(s^4 + |alpha|^2)."""
        _, sizes, right = self._parts
        rows, targets = self.data.validation
        weights = sizes * np.abs(self._targets) / np.hypot(sizes**2, smallest)
        reach = np.abs(targets) + np.abs(rows @ right.T) @ weights
        return float(self.data.shares @ reach**2)

    def _left_out(self, alphas: FloatArray) -> tuple[FloatArray, FloatArray]:
        values, errors = [], []
        for alpha in alphas.tolist():
            residuals, freedom = self._residuals_and_freedom(alpha)
            ratios = residuals / freedom / np.sqrt(self.data.weights)
            values.append(float(self.data.shares @ ratios**2))
            errors.append(self._left_out_error(residuals, freedom, alpha))
        return np.array(values), np.array(errors)

    def left_out_residuals(self, alpha: float) -> FloatArray:
        """Return for each point its residual when it takes no part in the fit."""
        residuals, freedom = self._residuals_and_freedom(alpha)
        return np.asarray(residuals / freedom / np.sqrt(self.data.weights))

    @cached_property
    def interpolates(self) -> bool:
        """Whether some coefficients and intercept surely meet every training target.

        Nothing is left over then as alpha goes to 0, neither of residuals nor of 1 - h_i. By Weyl's
        inequality the rank is no smaller than that of the decomposition if no computed singular
        value is as small as its error.
        """
        _, sizes, _ = self._parts
        full = len(self.data.targets) - int(self.data.fit_intercept)
        return sizes.size == full > 0 and float(sizes[-1]) > 2.0 * self._unit * self._norm

    def _residuals_and_freedom(self, alpha: float) -> tuple[FloatArray, FloatArray]:
        """Return the (weighted) residuals and 1 - h_i; if rows interpolate, both divided by alpha.

        Without that factor they do not vanish, and their ratio is known for every alpha.
        """
        left, sizes, _ = self._parts
        inverse = 1.0 / (sizes**2 + alpha)
        if self.interpolates:
            return left @ (inverse * self._targets), left**2 @ inverse
        shrunk = alpha * inverse
        residuals = self._outside + left @ (shrunk * self._targets)
        return residuals, self._freedom + left**2 @ shrunk

    def _left_out_error(self, residuals: FloatArray, freedom: FloatArray, alpha: float) -> float:
        """Bound the error of the mean squared error, from those of residuals and denominators.

        Computed singular vectors are orthonormal up to a multiple of u, and the backward error of
        the decomposition moves s^2 / (s^2 + alpha) by at most 2 u s^2 / (s^2 + alpha).
        """
        unit = 16.0 * (len(residuals) + 8) * UNIT
        size = unit * float(np.linalg.norm(self.data.targets))
        moved, narrower = np.full(len(residuals), size), np.full(len(residuals), unit)
        if self.interpolates:
            moved, narrower = self._inverse_moved(alpha, unit)
        roots = np.sqrt(self.data.weights)
        ratios = np.abs(residuals) / freedom
        known = narrower <= 0.5 * freedom
        off = np.where(known, (moved + ratios * narrower) / (0.5 * freedom) / roots, np.inf)
        plain = ratios / roots
        return float(self.data.shares @ (2.0 * plain * off + off**2))

    def _inverse_moved(self, alpha: float, unit: float) -> tuple[FloatArray, FloatArray]:
        """Bound the errors of G y and of the diagonal of G, the inverse of products of rows.

        An error E of the products moves e . G f by |G e| |E| |G f| at most, up to a factor near 1
        where |E| |G| is small, and that of singular vectors by u (|e| |G f| + |G e| |f|).
        """
        left, sizes, _ = self._parts
        inverse = 1.0 / (sizes**2 + alpha)
        error = 4.0 * self._unit * self._norm**2
        if error * inverse[-1] > 0.5:
            return np.full(len(left), np.inf), np.full(len(left), np.inf)
        solved = float(np.linalg.norm(inverse * self._targets))
        rows = np.sqrt(left**2 @ inverse**2)
        size = float(np.linalg.norm(self.data.targets))
        return (
            2.0 * error * rows * solved + unit * (solved + rows * size),
            2.0 * error * rows**2 + 2.0 * unit * rows,
        )

    @cached_property
    def _outside(self) -> FloatArray:
        """What no coefficients explain of the targets."""
        return np.asarray(self.data.targets - self._parts[0] @ self._targets)

    @cached_property
    def _freedom(self) -> FloatArray:
        """1 - h_i for alpha = 0: what intercept and columns leave of each point."""
        left, weights = self._parts[0], self.data.weights
        intercept = weights / weights.sum() if self.data.fit_intercept else np.zeros(len(weights))
        return np.asarray(np.maximum(1.0 - intercept - (left**2).sum(axis=1), 0.0))

    def _left_out_bound(self, smallest: float, largest: float) -> float:
        """Bound residuals from above and the real parts of their denominators from below.

        |alpha / (s^2 + alpha)| <= 1 where the real part of alpha is not negative. Its real part
        is monotone in the cosine of alpha's argument, and increasing in |alpha| at both ends. If
        rows interpolate, the same holds without the factor alpha, decreasing in |alpha|.
        """
        left, sizes, _ = self._parts
        squares = sizes**2
        if self.interpolates:
            least = np.minimum(1.0 / (squares + largest), squares / (squares**2 + largest**2))
            weights = np.abs(self._targets) / np.hypot(squares, smallest)
            ratios = np.abs(left) @ weights / (left**2 @ least) / np.sqrt(self.data.weights)
            return float(self.data.shares @ ratios**2)
        least = np.minimum(
            smallest / (squares + smallest), smallest**2 / (squares**2 + smallest**2)
        )
        freedom = self._freedom + left**2 @ least
        reach = np.abs(self._outside) + np.abs(left) @ np.abs(self._targets)
        ratios = reach / np.maximum(freedom, 1e-300) / np.sqrt(self.data.weights)
        return float(self.data.shares @ ratios**2)
