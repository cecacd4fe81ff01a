"""Regularised linear regression as a family of algorithms, with alpha as its parameter.

The penalties have scikit-learn's scale: ridge minimises |y - X b|^2 + alpha |b|_2^2, lasso and
elastic net |y - X b|^2 / (2 m) + alpha (ratio |b|_1 + (1 - ratio) |b|_2^2 / 2). One alpha of the
lasso means the same on folds of different sizes, and so does one of ridge, each in its own sense.
"""

from __future__ import annotations

import hashlib
import math
import numbers
import sys
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import cho_factor, cho_solve

from certune.box import Box
from certune.dual import DualFunction, PiecewisePolynomial
from certune.errors import InputError, ParameterError
from certune.families.base import BoxBound, Family, Params
from certune.families.regression.analytic import polynomials
from certune.families.regression.centred import CentredData
from certune.families.regression.gram import Gram
from certune.families.regression.instance import RegressionInstance
from certune.families.regression.model import LinearModel
from certune.families.regression.net_boxes import NetBoxes
from certune.families.regression.net_error import squared_error
from certune.families.regression.net_models import FaceModel, NetBox
from certune.families.regression.net_path import face_at, net_path
from certune.families.regression.ridge import RidgePath
from certune.families.regression.structure import regression_structure
from certune.pfaffian.structure import PiecewiseStructure
from certune.scores import Score
from certune.space import LogReal, ParameterSpace, Real, Segment

FloatArray = npt.NDArray[np.float64]

PENALTIES = ("l2", "l1", "elastic-net")
METRICS = ("squared-error", "r2")
# Share of the tolerance at which curves are aimed; five stated errors must fit into a gap.
CURVE_SHARE = 0.02
# An alpha below this times the trace of the products of columns says nothing about their inverse.
LOST_BESIDE_PRODUCTS = 1e-12
# A coefficient of determination below -1 counts as -1: an error of twice the variance.
LARGEST_SHARE = 2.0


class RegularizedRegression(Family):
    """Linear regression with an l2, l1 or elastic-net penalty, tuned over its weight alpha.

    The elastic net can be tuned over the ratio of its penalties as well.

    Parameters
    ----------
    penalty : {"l2", "l1", "elastic-net"}, default="l2"
        Ridge regression, the lasso, or both penalties.
    alpha : tuple of float, default=(1e-3, 1e3)
        Range of alpha, ``0 < low < high``, in scikit-learn's scale of the penalty.
    max_error : float, optional
        A mean squared error beyond this counts as this; needed for ``metric="squared-error"``.
        Twice the variance of the targets is a good choice. For ``metric="r2"`` in units of that
        variance, by default 2: a coefficient of determination below -1 counts as -1.
    l1_ratio : float or tuple of float, default=0.5
        Share of the l1 penalty in the elastic net, between 0 and 1; or its range,
        ``0 < low < high <= 1``, to tune both parameters.
    metric : {"squared-error", "r2"}, default="squared-error"
        Score on the validation data: mean squared error, or the coefficient of determination.
    fit_intercept : bool, default=True
        Whether the model has an intercept, which has no penalty.
    positive : bool, default=False
        Whether coefficients must not be negative; not for ridge regression.
    tolerance : float, default=1e-8
        Gap at which an optimum counts as proved, relative to the range of utilities.

    Notes
    -----
    Ridge: one singular value decomposition; the error is a rational function of alpha, kept as
    polynomials in log alpha with a proved error. Leave-one-out has a closed form. Lasso: the exact
    path, on whose pieces the error is a parabola. Elastic net: the path, on whose pieces the error
    is a rational function; with a range of ratios, branch and bound over boxes of both parameters.
    See ``docs/theory/regression-path.md``.

    Examples
    --------
    >>> import numpy as np
    >>> import certune as ct
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> folds = [ct.RegressionInstance(X[:300], y[:300], X[300:], y[300:])]
    >>> family = RegularizedRegression("l1", alpha=(1e-3, 2.0), max_error=2 * np.var(y))
    >>> result = ct.tune(family, folds)
    >>> result.status.name, round(result.best_score, 3)
    ('OPTIMAL', 2791.393)
    """

    def __init__(
        self,
        penalty: str = "l2",
        alpha: tuple[float, float] = (1e-3, 1e3),
        max_error: float | None = None,
        l1_ratio: float | tuple[float, float] = 0.5,
        metric: str = "squared-error",
        fit_intercept: bool = True,
        tolerance: float = 1e-8,
        positive: bool = False,
    ) -> None:
        self.penalty = _choice("penalty", penalty, PENALTIES)
        self.metric = _choice("metric", metric, METRICS)
        if not isinstance(fit_intercept, (bool, np.bool_)):
            raise ParameterError(f"fit_intercept must be True or False, got {fit_intercept!r}")
        self.fit_intercept = bool(fit_intercept)
        if not isinstance(positive, (bool, np.bool_)):
            raise ParameterError(f"positive must be True or False, got {positive!r}")
        if positive and penalty == "l2":
            raise ParameterError(
                "positive=True is for penalty='l1' or 'elastic-net': the path of ridge regression "
                "with coefficients that must not be negative is not followed"
            )
        self.positive = bool(positive)
        self.l1_ratio = _checked_ratio(self.penalty, l1_ratio)
        if metric == "squared-error" and max_error is None:
            raise ParameterError(
                "metric='squared-error' needs max_error, an error that is as bad as any; twice the "
                "variance of the targets is a good choice"
            )
        self.max_error = LARGEST_SHARE if max_error is None else _positive("max_error", max_error)
        self._tolerance = _positive("tolerance", tolerance)
        is_list = isinstance(alpha, (tuple, list)) or np.ndim(alpha) == 1
        if not is_list or len(alpha) != 2:
            raise ParameterError(f"alpha must be a range (low, high), got {alpha!r}")
        weight, ratio = LogReal("alpha", *alpha), self.l1_ratio
        parameters = (weight, Real("l1_ratio", *ratio)) if isinstance(ratio, tuple) else (weight,)
        self._space = ParameterSpace(parameters)
        if not 1e-100 <= self.alpha[0] < self.alpha[1] <= 1e100:
            raise ParameterError(f"alpha must lie between 1e-100 and 1e100, got {alpha!r}")

    @property
    def space(self) -> ParameterSpace:
        """The parameter alpha, on a logarithmic scale, and with a range the ratio."""
        return self._space

    @property
    def alpha(self) -> tuple[float, float]:
        """The range of alpha."""
        parameter = self._space.parameters[0]
        assert isinstance(parameter, LogReal)
        return parameter.low, parameter.high

    @property
    def _has_range(self) -> bool:
        """Whether the ratio is a parameter."""
        return isinstance(self.l1_ratio, tuple)

    @property
    def score(self) -> Score:
        """Mean squared error, or coefficient of determination."""
        if self.metric == "r2":
            return Score("R2", at_zero=1.0 - self.max_error)
        return Score("squared error", greater_is_better=False, at_zero=self.max_error)

    @property
    def utility_range(self) -> tuple[float, float]:
        """From 0 to `max_error`."""
        return 0.0, self.max_error

    @property
    def tolerance(self) -> float:
        """The gap at which an optimum counts as proved."""
        return self._tolerance * self.max_error

    @property
    def baselines(self) -> dict[str, dict[str, Any]]:
        """The two ends of the range, the middle of its logarithm, and scikit-learn's alpha of 1."""
        low, high = self.alpha
        middle = min(max(math.sqrt(low) * math.sqrt(high), low), high)
        settings = {"weakest penalty": low, "middle penalty": middle, "strongest penalty": high}
        settings["scikit-learn's default"] = 1.0
        if isinstance(self.l1_ratio, tuple):
            # Half of each penalty is scikit-learn's default.
            others = {"l1_ratio": min(max(0.5, self.l1_ratio[0]), self.l1_ratio[1])}
            return {name: {"alpha": value, **others} for name, value in settings.items()}
        return {name: {"alpha": value} for name, value in settings.items()}

    def __repr__(self) -> str:
        parts = [f"{self.penalty!r}, alpha={self.alpha}, metric={self.metric!r}"]
        if self.penalty == "elastic-net":
            parts.append(f"l1_ratio={self.l1_ratio}")
        if self.metric == "squared-error" or self.max_error != LARGEST_SHARE:
            parts.append(f"max_error={self.max_error}")
        if self.positive:
            parts.append("positive=True")
        parts.append(f"fit_intercept={self.fit_intercept}, tolerance={self._tolerance}")
        return f"RegularizedRegression({', '.join(parts)})"

    @property
    def fingerprint(self) -> str:
        """Hash of everything that defines the family."""
        return hashlib.sha256(repr(self).encode()).hexdigest()

    def instance_sizes(self, instance: Any) -> tuple[int, ...]:
        """Numbers of rows and columns."""
        return instance.X.shape if isinstance(instance, RegressionInstance) else ()

    def check_instance(self, instance: Any) -> None:
        """Raise `InputError` if the instance does not fit this family."""
        if not isinstance(instance, RegressionInstance):
            raise InputError(
                f"expected a RegressionInstance, got {type(instance).__name__}; make one with "
                "certune.RegressionInstance(X, y, X_val, y_val)"
            )
        name = instance.name or "an instance"
        if instance.is_leave_one_out and self.penalty != "l2":
            raise InputError(
                f"leave-one-out has a closed form for penalty='l2' only; make instances of all "
                f"folds of sklearn.model_selection.LeaveOneOut instead of {name}"
            )
        if self.metric == "r2" and self._unit(instance) == 0.0:
            raise InputError(
                f"R2 is not defined where the validation targets are all equal, as in {name}; use "
                "larger folds, or the squared error (metric='squared-error', in RidgeCV "
                "scoring='neg_mean_squared_error')"
            )

    def _unit(self, instance: RegressionInstance) -> float:
        """Return what squared errors are divided by: 1, or the variance of the targets."""
        if self.metric == "squared-error":
            return 1.0
        targets, shares = instance.judged
        return float(shares @ (targets - shares @ targets) ** 2)

    def instance_fingerprint(self, instance: RegressionInstance) -> str:
        """Hash of the instance's content."""
        return instance.fingerprint

    def solve(self, instance: RegressionInstance, params: Params) -> LinearModel:
        """Fit the model at one alpha.

        Parameters
        ----------
        instance : RegressionInstance
            The data, of which only the training part matters.
        params : mapping or float
            alpha, any positive number, and `l1_ratio` if it is a parameter.
        """
        data, (alpha, ratio) = CentredData.of(instance, self.fit_intercept), self._values(params)
        coefficients = self._coefficients(data, alpha, ratio)
        return LinearModel(alpha, coefficients, data.intercept(coefficients))

    def _coefficients(self, data: CentredData, alpha: float, ratio: float) -> FloatArray:
        """Solve by another way than the path: normal equations, or coordinate descent."""
        if self.penalty == "l2":
            return _ridge_solution(data, alpha)
        gram = Gram(data, self.positive)
        face = face_at(gram, ratio, alpha)
        coefficients = np.zeros(gram.sizes.size)
        coefficients[face.active] = face.coefficients(np.array([alpha]))[0]
        return coefficients

    def run_exact(self, instance: RegressionInstance, params: Params) -> Fraction:
        """Utility at one alpha, a float within the tolerance."""
        self.check_instance(instance)
        data, (alpha, ratio) = CentredData.of(instance, self.fit_intercept), self._values(params)
        if instance.is_leave_one_out:
            error = _left_out_error(data, alpha)
        else:
            rows, targets = data.validation
            coefficients = self._coefficients(data, alpha, ratio)
            error = float(data.shares @ (targets - rows @ coefficients) ** 2)
        utility = self.max_error - error / self._unit(instance)
        return Fraction(min(max(utility, 0.0), self.max_error))

    def dual(self, instance: RegressionInstance, along: Segment | None = None) -> DualFunction:
        """Utility as a function of alpha.

        Parameters
        ----------
        instance : RegressionInstance
            The data.
        along : Segment, optional
            A part of the range; by default all of it. With a range of ratios, a line on which
            alpha varies.

        Returns
        -------
        PiecewisePolynomial
            Parabolas in alpha for the lasso, otherwise polynomials in log alpha, with errors.
        """
        self.check_instance(instance)
        segment = self.space.default_segment() if along is None else along
        if (
            not isinstance(segment, Segment)
            or segment.name != "alpha"
            or set(segment.origin) != set(self.space.names)
        ):
            raise ParameterError(
                f"alpha must be the coordinate of the segment, got {along!r}; use "
                "Segment.coordinate('alpha', low, high, fixed)"
            )
        _, ratio = self._values(segment.at(segment.low))
        unit = self._unit(instance)
        error = self._error(instance, segment, ratio, CURVE_SHARE * self.tolerance * unit)
        constant = np.zeros(error.coefficients.shape)
        constant[:, 0] = self.max_error
        scaled = error * Fraction(-1.0 / unit)
        rounding = 4 * 2.0**-53 * self.max_error
        utility = PiecewisePolynomial(
            scaled.starts, scaled.stops, scaled.coefficients + constant,
            scaled.errors + rounding, scaled.gap_lower, scaled.gap_upper, segment.name, error.scale,
        )  # fmt: skip
        return utility.clip(0.0, self.max_error)

    @property
    def line_names(self) -> tuple[str, ...]:
        """Exact functions go along alpha."""
        return ("alpha",)

    @property
    def bounds_boxes(self) -> bool:
        """Whether there are two parameters, and so `bound_on_box`."""
        return self._has_range

    def bound_on_box(
        self, instance: RegressionInstance, box: Box, reuse: FaceModel | None = None
    ) -> BoxBound:
        """Bound the utility on a box of alpha and ratio.

        See `certune.families.base.Family.bound_on_box`; ``docs/theory/regression-path.md`` has the
        proofs.
        """
        if not self._has_range:
            return super().bound_on_box(instance, box, reuse)
        data = CentredData.of(instance, self.fit_intercept)
        alphas, ratios = ([value for (value,) in part] for part in box.parts)
        place = NetBox((alphas[0], alphas[-1]), (ratios[0], ratios[-1]))
        return NetBoxes.of(data, self.positive).bound(
            place, self.max_error, self._unit(instance), reuse
        )

    def _error(
        self, instance: RegressionInstance, segment: Segment, ratio: float, target: float
    ) -> PiecewisePolynomial:
        """Return the mean squared error as a function of alpha."""
        data = CentredData.of(instance, self.fit_intercept)
        if self.penalty != "l2":
            pieces = net_path(Gram(data, self.positive), ratio, segment.low, segment.high)
            return squared_error(data, pieces, target, segment.name)
        function = RidgePath(data).mean_squared_error()
        parts = polynomials(function, segment.low, segment.high, target)
        table = np.zeros((len(parts), max(len(part.coefficients) for part in parts)))
        for row, part in zip(table, parts, strict=True):
            row[: len(part.coefficients)] = part.coefficients
        nothing = np.zeros(len(parts) - 1)
        return PiecewisePolynomial(
            [part.low for part in parts], [part.high for part in parts], table,
            [part.error for part in parts], nothing, nothing, segment.name, "log",
        )  # fmt: skip

    def _values(self, params: Params) -> tuple[float, float]:
        """Return alpha, any positive number, not only of the range, and the share of l1."""
        names = set(self.space.names)
        if isinstance(params, Mapping) or self._has_range:
            if not isinstance(params, Mapping) or set(params) != names:
                expected = " and ".join(map(repr, self.space.names))
                raise ParameterError(f"expected a value for exactly {expected}, got {params!r}")
            alpha = params["alpha"]
        else:
            alpha = params
        if isinstance(params, Mapping) and self._has_range:
            ratio = _positive("l1_ratio", params["l1_ratio"])
            if ratio > 1.0:
                raise ParameterError(f"l1_ratio must be at most 1, got {ratio!r}")
        else:
            assert not isinstance(self.l1_ratio, tuple)
            ratio = {"l2": 0.0, "l1": 1.0}.get(self.penalty, self.l1_ratio)
        return _positive("alpha", alpha), ratio

    def structure(self, n_features: int, n_left_out: int | None = None) -> PiecewiseStructure:
        """Structure of the squared error, proved for every instance of a size.

        Parameters
        ----------
        n_features : int
            Number of columns.
        n_left_out : int, optional
            Number of points, for leave-one-out.

        Examples
        --------
        >>> import certune as ct
        >>> family = RegularizedRegression("l1", max_error=1.0)
        >>> ct.pdim_bound(family.structure(n_features=10)).dimension
        20
        """
        return regression_structure(
            self.penalty, n_features, n_left_out, self._has_range, self.positive
        )

    def structure_of(self, instances: Sequence[RegressionInstance]) -> PiecewiseStructure | None:
        """Counts that are proved for every instance no larger than the given ones."""
        left_out = [len(instance.y) for instance in instances if instance.is_leave_one_out]
        n_features = max(instance.n_features for instance in instances)
        return self.structure(n_features, max(left_out) if left_out else None)


def _ridge_solution(data: CentredData, alpha: float) -> FloatArray:
    """Solve the normal equations, and once more for what their rounding has left over.

    Where alpha is lost beside their rounding, singular values tell which directions there are.
    """
    rows, n_features = data.rows, data.rows.shape[1]
    if alpha <= LOST_BESIDE_PRODUCTS * float(np.einsum("ij,ij->", rows, rows)):
        return RidgePath(data).coefficients(alpha)
    if n_features > len(rows):
        inner = rows @ rows.T + alpha * np.eye(len(rows))
        return np.asarray(rows.T @ np.linalg.solve(inner, data.targets))
    factor = cho_factor(data.products + alpha * np.eye(n_features))
    coefficients = np.zeros(n_features)
    for _ in range(3):
        left = data.targets - rows @ coefficients
        coefficients = coefficients + cho_solve(factor, rows.T @ left - alpha * coefficients)
    return np.asarray(coefficients)


def _left_out_error(data: CentredData, alpha: float) -> float:
    """Return the mean squared error of leaving out one point, from the hat matrix.

    Rows that can be interpolated leave next to nothing of residuals and of 1 - h_i for a small
    alpha, but both are multiples of alpha, and their ratio is that of the inverse of the products
    of rows.
    """
    rows, weights = data.rows, data.weights
    if RidgePath(data).interpolates:
        level = np.sqrt(weights / weights.sum()) * float(data.fit_intercept)
        # The products of centred rows vanish along the intercept, which takes no part.
        spread = float(np.einsum("ij,ij->", rows, rows))
        inner = rows @ rows.T + alpha * np.eye(len(rows)) + spread * np.outer(level, level)
        inverse = np.linalg.inv(inner) - np.outer(level, level) / (alpha + spread)
        ratios = inverse @ data.targets / np.diag(inverse) / np.sqrt(weights)
        return float(data.shares @ ratios**2)
    inner = data.products + alpha * np.eye(rows.shape[1])
    hat = np.einsum("ij,ji->i", rows, np.linalg.solve(inner, rows.T))
    if data.fit_intercept:
        hat = hat + weights / weights.sum()
    residuals = data.targets - rows @ _ridge_solution(data, alpha)
    ratios = residuals / np.sqrt(weights) / (1.0 - hat)
    return float(data.shares @ ratios**2)


def _checked_ratio(penalty: str, given: Any) -> float | tuple[float, float]:
    """Return the share of the l1 penalty, or its range."""
    if isinstance(given, (tuple, list, np.ndarray)):
        if penalty != "elastic-net":
            raise ParameterError(
                f"penalty={penalty!r} has no ratio to tune, got l1_ratio={given!r}; use "
                "penalty='elastic-net'"
            )
        ends = [_positive("l1_ratio", end) for end in given]
        if len(ends) != 2 or not ends[0] < ends[1] <= 1.0:
            raise ParameterError(
                f"l1_ratio must be a number or a range 0 < low < high <= 1, got {given!r}"
            )
        return ends[0], ends[1]
    ratio = _positive("l1_ratio", given)
    if penalty == "elastic-net" and not ratio < 1.0:
        raise ParameterError(
            f"l1_ratio must lie between 0 and 1, got {given!r}; use penalty='l1' for 1 and "
            "penalty='l2' for 0"
        )
    return ratio


def _choice(name: str, value: Any, allowed: tuple[str, ...]) -> str:
    if not isinstance(value, str) or value not in allowed:
        raise ParameterError(f"{name} must be one of {allowed}, got {value!r}")
    return str(value)


def _positive(name: str, value: Any) -> float:
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not is_number or not 0.0 < value <= sys.float_info.max:
        raise ParameterError(f"{name} must be a positive finite number, got {value!r}")
    return float(value)
