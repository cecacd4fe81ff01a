"""Ridge, lasso and elastic net with the best alpha of a whole range, as in scikit-learn."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import sklearn.linear_model as grid_models
from sklearn.metrics import get_scorer
from sklearn.utils.validation import column_or_1d, validate_data

from certune.data.folds import each_fold
from certune.errors import InputError, ParameterError, RangeWarning, warn_user
from certune.families.regression import RegressionInstance, RegularizedRegression
from certune.families.regression.centred import CentredData
from certune.families.regression.gram import Gram
from certune.families.regression.net_path import largest_alpha
from certune.families.regression.ridge import RidgePath
from certune.linear_model.search import (
    EDGE,
    CertifiedSearch,
    GivenRange,
    check_features,
    check_targets,
    checked_range,
    checked_selection,
    checked_weights,
    dense,
    grid_of,
    meant,
    offset_of,
    rows_of,
    score_of,
    scoring_name,
    unless_interrupted,
)
from certune.tuning import LineTuningResult, SpaceTuningResult, Status, TuningResult, tune

FloatArray = npt.NDArray[np.float64]
IndexArray = npt.NDArray[np.intp]

# An error of so many times that of predicting the mean is as bad as any, unless all are.
WORST = 16.0
TOLERANCE = 1e-9
# Where the gap exceeds this times the least error, a finer tolerance is taken, but none below that.
CLOSE = 1e-8
FINEST = 1e-13
# What scikit-learn's argument `selection` means there has no effect on an exact path.
ORDERS = ("cyclic", "random")


class _CertifiedRegression(CertifiedSearch):
    """What the three estimators share; each of them also derives from scikit-learn's."""

    fit_intercept: bool

    def _validated(self, X: Any, y: Any, sample_weight: Any) -> tuple[FloatArray, FloatArray, Any]:
        """Return features, targets in one column or several, and weights."""
        check_features(X)
        check_targets(y)
        X, y = validate_data(
            self, X, y, accept_sparse="csr", dtype=np.float64, y_numeric=True, multi_output=True
        )
        return dense(X), np.asarray(y, dtype=np.float64), checked_weights(sample_weight, X)

    def _instances(
        self,
        X: FloatArray,
        targets: Sequence[FloatArray],
        weights: Any,
        scored: bool,
        params: dict[str, Any],
    ) -> list[RegressionInstance]:
        """Return the folds for each target; `scored` tells whether weights count in errors too."""
        folds = self._folds(X, targets[0], weights, params)

        def folds_of(y: FloatArray, place: str) -> list[RegressionInstance]:
            def make(train: IndexArray, test: IndexArray, label: str) -> RegressionInstance:
                return RegressionInstance(
                    X[train], y[train], X[test], y[test], name=label + place,
                    sample_weight=rows_of(weights, train),
                    sample_weight_val=rows_of(weights, test) if scored else None,
                )  # fmt: skip

            return each_fold(folds, make, remedy=". Use fewer folds.")

        if len(targets) == 1:
            return folds_of(targets[0], "")
        parts = [folds_of(y, f", target {number}") for number, y in enumerate(targets)]
        return [instance for part in parts for instance in part]

    def _search_closely(
        self,
        family_with: Callable[[float], RegularizedRegression],
        instances: Sequence[RegressionInstance],
        n_jobs: Any,
        verbose: Any,
    ) -> RegularizedRegression:
        """Search with a tolerance, and with a finer one if the least error is small beside it.

        Tolerances are relative to what is as bad as any error; data with little noise have errors
        of a millionth of that.
        """
        family = family_with(TOLERANCE)
        self._search(family, instances, n_jobs, verbose)
        coarse, largest = self.result_, family.utility_range[1]
        least = max(0.0, largest - float(coarse.best_value_exact))
        finer = max(CLOSE * least / largest, FINEST)
        # Rounding may not let a gap become as small as that: what it lets is the next aim.
        while coarse.gap > CLOSE * least and finer < TOLERANCE:
            family = family_with(finer)
            self._search(family, instances, n_jobs, verbose)
            if self.result_.status is Status.OPTIMAL:
                return family
            finer = max(4.0 * finer, 2.0 * self.result_.gap / largest)
        self.result_ = coarse
        return family_with(TOLERANCE)


def _constant_error(instances: Sequence[RegressionInstance], fit_intercept: bool) -> float:
    """Return the error of the best model without coefficients, in the worst fold."""
    errors = []
    for instance in instances:
        targets, shares = instance.judged
        level = np.average(instance.y, weights=instance.weights) if fit_intercept else 0.0
        errors.append(float(shares @ (targets - level) ** 2))
    return max(errors) or 1.0


class RidgeCV(_CertifiedRegression, grid_models.RidgeCV):
    """Ridge regression whose alpha is the proved optimum of cross-validation.

    The arguments are those of :class:`sklearn.linear_model.RidgeCV`. Instead of the values of a
    grid, all values between its ends are compared, exactly.

    Parameters
    ----------
    alphas : float or array-like of float, default=(0.1, 1.0, 10.0)
        Values whose smallest and largest are the range; one value is taken as it is. With folds, 0
        stands for a number next to it.
    fit_intercept : bool, default=True
        Whether there is an intercept, which has no penalty.
    scoring : {"neg_mean_squared_error", "r2"}, optional
        By default the squared error for leave-one-out, and the coefficient of determination for
        folds, as in scikit-learn.
    cv : int, splitter or iterable, optional
        Folds; by default leave-one-out, in closed form.
    gcv_mode : ignored
        Accepted so that programs keep running.
    store_cv_results : bool, default=False
        Whether `cv_results_` has the squared errors of all points at the given alphas, or their
        predictions if there is a `scoring`; for leave-one-out only.
    alpha_per_target : bool, default=False
        Whether each of several targets has an alpha of its own, for leave-one-out only; otherwise
        the mean score of all targets counts.
    selection : {"best", "one-standard-error", "robust"}, default="best"
        Which alpha to choose: the best one; the largest whose score is within one standard error
        of the best, for which folds are needed; or the centre of the widest range of alpha with
        nearly the best score.

    Attributes
    ----------
    alpha_, coef_, intercept_, cv_results_, n_features_in_
        As in scikit-learn.
    results_ : list of LineTuningResult
        With `alpha_per_target` and several targets, what tuning found for each, instead of:
    result_, landscape_, best_score_, upper_bound_, gap_, best_region_, certificate_
        See :class:`LogisticRegressionCV`. With sample weights and leave-one-out, the score is the
        weighted mean; scikit-learn's is that times the mean weight.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from certune.linear_model import RidgeCV
    >>> model = RidgeCV(alphas=(1e-4, 10.0)).fit(*load_diabetes(return_X_y=True))
    >>> print(f"alpha = {model.alpha_:.6f}, squared error {-model.best_score_:.3f}")
    alpha = 0.004151, squared error 2999.771
    """

    def __init__(
        self,
        alphas: Any = (0.1, 1.0, 10.0),
        *,
        fit_intercept: bool = True,
        scoring: Any = None,
        cv: Any = None,
        gcv_mode: Any = None,
        store_cv_results: bool = False,
        alpha_per_target: bool = False,
        selection: str = "best",
    ) -> None:
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.scoring = scoring
        self.cv = cv
        self.gcv_mode = gcv_mode
        self.store_cv_results = store_cv_results
        self.alpha_per_target = alpha_per_target
        self.selection = selection

    def _fit(self, X: Any, y: Any, sample_weight: Any, params: dict[str, Any]) -> None:
        selection = checked_selection(self.selection)
        self._check_options(selection)
        if hasattr(self, "results_"):
            delattr(self, "results_")
        given = checked_range("alphas", self.alphas, allows_zero=self.cv is not None)
        features, targets, weights = self._validated(X, y, sample_weight)
        columns = [targets] if targets.ndim == 1 else list(targets.T)
        wholes = [RegressionInstance(features, y, sample_weight=weights) for y in columns]
        instances = wholes
        if self.cv is not None:
            instances = self._instances(features, columns, weights, False, params)
        if self.alpha_per_target and len(columns) > 1:
            parts = [self._alpha(given, [whole], selection) for whole in wholes]
            self.results_: list[LineTuningResult] = [result for result, _ in parts]
            self.alpha_: Any = np.array([alpha for _, alpha in parts])
            # What is said of one function cannot be said of several.
            del self.result_
        else:
            self.result_, self.alpha_ = self._alpha(given, instances, selection)
        self._set_models(wholes, targets.ndim)
        if self.store_cv_results:
            self._store_results(wholes, targets.ndim)

    def _check_options(self, selection: str) -> None:
        if self.cv is None and selection == "one-standard-error":
            raise ParameterError(
                "selection='one-standard-error' compares folds: give a number of them, such as cv=5"
            )
        for name in ("store_cv_results", "alpha_per_target"):
            if self.cv is not None and getattr(self, name):
                raise ParameterError(f"cv!=None and {name}=True are incompatible")

    def _alpha(
        self, given: GivenRange, instances: Sequence[RegressionInstance], selection: str
    ) -> tuple[LineTuningResult, float]:
        """Search the best alpha of some instances."""
        metric, has_intercept = self._metric(), bool(self.fit_intercept)

        def search(limit: float) -> list[TuningResult]:
            def family_with(tolerance: float) -> RegularizedRegression:
                return RegularizedRegression(
                    "l2", alpha=given.ends, max_error=limit, metric=metric,
                    fit_intercept=has_intercept, tolerance=tolerance,
                )  # fmt: skip

            self._search_closely(family_with, instances, 1, False)
            return [self.result_]

        # The coefficient of determination is relative to the error of predicting the mean.
        unit = 1.0 if metric == "r2" else _constant_error(instances, has_intercept)
        self._search_below(WORST * unit, search)
        self._warn_if_open([self.result_])
        return self.result_, self._chosen(selection, given.only, simple_is_low=False)

    def _set_models(self, wholes: Sequence[RegressionInstance], n_dimensions: int) -> None:
        """Fit the models of all targets, each with its alpha."""
        family = RegularizedRegression("l2", metric="r2", fit_intercept=bool(self.fit_intercept))
        alphas = np.broadcast_to(self.alpha_, len(wholes)).tolist()
        models = [
            family.solve(whole, {"alpha": alpha})
            for whole, alpha in zip(wholes, alphas, strict=True)
        ]
        coefficients = np.array([model.coef for model in models])
        self.coef_ = coefficients if len(models) > 1 else coefficients[0]
        intercepts = np.array([model.intercept for model in models])
        self.intercept_: Any = intercepts if n_dimensions > 1 else intercepts[0]
        if not self.fit_intercept:
            self.intercept_ = 0.0

    def _store_results(self, wholes: Sequence[RegressionInstance], n_dimensions: int) -> None:
        """Set what leaving out each point gives at the alphas: squared errors, or predictions.

        As in scikit-learn, errors are multiplied by the weights of their points, and predictions
        are stored if a score is given.
        """
        grid = np.ravel(np.asarray(self.alphas, dtype=np.float64)).tolist()
        tables = []
        for whole in wholes:
            path = RidgePath(CentredData(whole, bool(self.fit_intercept)))
            left_out = np.column_stack([path.left_out_residuals(alpha) for alpha in grid])
            if self.scoring is None:
                weights = 1.0 if whole.weights is None else whole.weights[:, None]
                tables.append(weights * left_out**2)
            else:
                tables.append(whole.y[:, None] - left_out)
        self.cv_results_ = tables[0] if n_dimensions == 1 else np.stack(tables, axis=1)

    @property
    def best_score_(self) -> Any:
        """Mean score of the best setting; with `alpha_per_target`, one for each target."""
        if not hasattr(self, "results_"):
            return super().best_score_
        return np.array([score_of(result) for result in self.results_])

    def _metric(self) -> str:
        if self.scoring is None:
            return "squared-error" if self.cv is None else "r2"
        names = {"neg_mean_squared_error": "squared-error", "r2": "r2"}
        name = scoring_name(self.scoring, names)
        if name is None:
            raise ParameterError(
                f"scoring must be one of {sorted(names)} or None, got {self.scoring!r}"
                f"{meant(self.scoring, names)}; other scores have no exact function of alpha, "
                "search for them with GridSearchCV."
            )
        return names[name]

    def _get_scorer(self) -> Any:
        return get_scorer("r2" if self.scoring is None else self.scoring)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.array_api_support = False
        return tags


class _CertifiedNet(_CertifiedRegression):
    """Lasso and elastic net, for one ratio or several."""

    eps: float
    alphas: Any
    selection: str
    n_jobs: Any
    verbose: Any
    positive: bool
    tol: Any

    def __init__(
        self,
        *,
        eps: float = 1e-3,
        alphas: Any = 100,
        fit_intercept: bool = True,
        precompute: Any = "auto",
        max_iter: int = 1000,
        tol: float = 1e-4,
        copy_X: bool = True,
        cv: Any = None,
        verbose: Any = False,
        n_jobs: Any = None,
        positive: bool = False,
        random_state: Any = None,
        selection: str = "best",
    ) -> None:
        self.eps = eps
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.precompute = precompute
        self.max_iter = max_iter
        self.tol = tol
        self.copy_X = copy_X
        self.cv = cv
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.positive = positive
        self.random_state = random_state
        self.selection = selection

    def _fit_ratios(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        ratios: list[float] | tuple[float, float],
        params: dict[str, Any],
    ) -> None:
        """Fit the best of several ratios, or of a range of them."""
        self._checked_rule()
        features, targets, weights = self._validated(X, y, sample_weight)
        if targets.ndim > 1 and targets.shape[1] > 1:
            raise InputError(
                f"y must have one target for each row, got {targets.shape[1]}: fit a model for "
                "each, or use sklearn.multioutput.MultiOutputRegressor."
            )
        targets = column_or_1d(targets, warn=True)
        # What is wrong with all of the data is told before folds are blamed.
        whole = RegressionInstance(features, targets, sample_weight=weights)
        instances = self._instances(features, [targets], weights, True, params)
        gram = Gram(CentredData(whole, bool(self.fit_intercept)), self._is_positive)
        self.results_: dict[float, LineTuningResult] = {}
        families: dict[float, RegularizedRegression] = {}
        self._wide: SpaceTuningResult | None = None

        def search(limit: float) -> list[TuningResult]:
            for ratio in ratios:
                families[ratio] = self._tuned(gram, ratio, instances, limit)
                self.results_[ratio] = self.result_
            return list(self.results_.values())

        unit = _constant_error(instances, bool(self.fit_intercept))
        limit = WORST * unit
        if isinstance(ratios, tuple):
            self._wide = self._searched(gram, instances, ratios, unit)
            limit = float(self._wide.family.utility_range[1])
            ratios = [float(self._wide.best_params["l1_ratio"])]
            self._warn_at_ratio(ratios[0])
        self._search_below(limit, search)
        best = max(ratios, key=lambda ratio: self.results_[ratio].best_value_exact)
        self.result_ = self.results_[best]
        self._warn_if_open(self.results_.values())
        self._set_model(gram, families[best], whole, best)
        self._set_paths(gram, ratios)
        # One path for each fold; programs read this as a number of iterations.
        self.n_iter_ = 1

    @property
    def _is_positive(self) -> bool:
        if not isinstance(self.positive, (bool, np.bool_)):
            raise ParameterError(f"positive must be True or False, got {self.positive!r}")
        return bool(self.positive)

    def _tuned(
        self, gram: Gram, ratio: float, instances: Sequence[RegressionInstance], limit: float
    ) -> RegularizedRegression:
        """Search the best alpha for one ratio."""
        given = self._range(gram, ratio)
        if ratio == 0.0:
            instances = [_of_weight_one(instance) for instance in instances]

        def family_with(tolerance: float) -> RegularizedRegression:
            return RegularizedRegression(
                {0.0: "l2", 1.0: "l1"}.get(ratio, "elastic-net"), alpha=given.ends,
                max_error=limit, l1_ratio=ratio or 1.0, fit_intercept=bool(self.fit_intercept),
                tolerance=tolerance, positive=self._is_positive,
            )  # fmt: skip

        return self._search_closely(family_with, instances, self.n_jobs, self.verbose)

    def _checked_rule(self) -> str:
        return "best" if self.selection in ORDERS else checked_selection(self.selection)

    def _searched(
        self,
        gram: Gram,
        instances: Sequence[RegressionInstance],
        ratios: tuple[float, float],
        unit: float,
    ) -> SpaceTuningResult:
        """Search a range of ratios; `tol` times the error of predicting the mean is enough."""
        if not isinstance(self.tol, numbers.Real) or not 0.0 <= float(self.tol) < math.inf:
            raise ParameterError(f"tol must be a number that is not negative, got {self.tol!r}")
        low, high = self._range(gram, 1.0).low, self._range(gram, ratios[0]).high
        found: list[TuningResult] = []

        def search(limit: float) -> list[TuningResult]:
            family = RegularizedRegression(
                "elastic-net", alpha=(low, high), max_error=limit, l1_ratio=ratios,
                fit_intercept=bool(self.fit_intercept), tolerance=TOLERANCE,
                positive=self._is_positive,
            )  # fmt: skip
            result = tune(
                family, instances, gap=float(self.tol) * unit, n_jobs=self.n_jobs,
                progress=bool(self.verbose),
            )  # fmt: skip
            found[:] = [unless_interrupted(result)]
            return found

        self._search_below(WORST * unit, search)
        result = found[0]
        assert isinstance(result, SpaceTuningResult)
        return result

    def _warn_at_ratio(self, best: float) -> None:
        assert self._wide is not None
        low, high = (getattr(self._wide.family.space.parameters[1], end) for end in ("low", "high"))
        reach = EDGE * (high - low)
        if best - low <= reach:
            wider = f"({0.1 * low:.6g}, {high:.6g}), or RidgeCV, which has no l1 penalty"
        elif high - best <= reach and high < 1.0:
            wider = f"({low:.6g}, 1.0)"
        else:
            return
        warn_user(
            f"The best l1_ratio = {best:.6g} lies at the end of the range [{low:.6g}, {high:.6g}]; "
            f"try the range {wider}.",
            RangeWarning,
        )

    def _set_model(
        self, gram: Gram, family: RegularizedRegression, whole: RegressionInstance, best: float
    ) -> None:
        """Fit the model with the chosen alpha and the best ratio."""
        given = self._range(gram, best)
        # Above the alpha at which all coefficients are zero there is nothing new.
        useless_above = best > 0.0 and given.high >= largest_alpha(gram, best) * (1.0 - 1e-9)
        self.alpha_ = self._chosen(
            self._checked_rule(), given.only, simple_is_low=False, quiet_above=useless_above
        )
        model = family.solve(whole if best > 0.0 else _of_weight_one(whole), {"alpha": self.alpha_})
        self.coef_ = model.coef
        self.intercept_ = model.intercept if self.fit_intercept else 0.0
        self.l1_ratio_ = best
        self.dual_gap_ = _dual_gap(gram, best, self.alpha_, self.coef_)

    def _range(self, gram: Gram, ratio: float) -> GivenRange:
        eps = self.eps
        if not isinstance(eps, numbers.Real) or not 0.0 < eps <= 1.0:
            raise ParameterError(f"eps must be greater than 0 and at most 1, got {eps!r}")
        if ratio == 0.0:
            if isinstance(self.alphas, numbers.Integral):
                raise ParameterError(
                    "Automatic alpha grid generation is not supported for l1_ratio=0. Please "
                    "supply a grid by providing your estimator with the appropriate `alphas=` "
                    "argument."
                )
            return checked_range("alphas", self.alphas)
        top = largest_alpha(gram, ratio)
        finest = float(np.finfo(np.float64).resolution)
        if top <= finest:
            # Targets that do not depend on the features: every alpha gives the same model.
            default = GivenRange.around(finest)
        elif eps == 1.0:
            default = GivenRange.around(top)
        else:
            default = GivenRange(float(eps) * top, top)
        return checked_range("alphas", self.alphas, default, allows_zero=True)

    def _set_paths(self, gram: Gram, ratios: list[float]) -> None:
        """Show the curves at a decreasing grid, as scikit-learn does."""
        grids, errors, chosen = [], [], self.result_
        for ratio in ratios:
            self.result_ = self.results_[ratio]
            grids.append(grid_of(self.alphas, self._range(gram, ratio))[::-1])
            errors.append(-self._fold_scores(grids[-1]).T)
        self.result_ = chosen
        is_given = not isinstance(self.alphas, numbers.Integral)
        self.alphas_ = grids[0] if is_given or len(ratios) == 1 else np.array(grids)
        self.mse_path_ = np.squeeze(np.array(errors))

    @property
    def upper_bound_(self) -> float:
        """No alpha and no given ratio has a larger mean score, the negated squared error."""
        return float(self._bound)

    @property
    def gap_(self) -> float:
        """How far the best setting can be from the optimum: bound minus score."""
        return max(0.0, float(self._bound - self.result_.best_value_exact - self._offset))

    @property
    def certificate_(self) -> Any:
        """What :func:`certune.verify` needs to check the optimum."""
        return (self.result_ if self._wide is None else self._wide).certificate

    @property
    def _bound(self) -> Fraction:
        if self._wide is not None:
            # The line at the best ratio may have found a slightly better alpha.
            wide = self._wide.upper_bound_exact + offset_of(self._wide)
            return max(wide, self.result_.best_value_exact + self._offset)
        return max(result.upper_bound_exact for result in self.results_.values()) + self._offset


def _of_weight_one(instance: RegressionInstance) -> RegressionInstance:
    """Return the data with training weights of sum 1.

    Ridge regression then has the penalty of an elastic net without l1 part.
    """
    data = CentredData(instance, True)
    return RegressionInstance(
        instance.X, instance.y, instance.X_val, instance.y_val, name=instance.name,
        sample_weight=data.weights / data.weights.sum(), sample_weight_val=instance.weights_val,
    )  # fmt: skip


def _dual_gap(gram: Gram, ratio: float, alpha: float, coefficients: FloatArray) -> float:
    """Return the duality gap of a solution, with the l2 part as further rows of a lasso."""
    data, smooth = gram.data, alpha * (1.0 - ratio)
    residual = data.targets - data.rows @ coefficients
    gradient = data.rows.T @ residual / gram.total - smooth * coefficients
    bound, largest = alpha * ratio, float(gram.urge(gradient).max(initial=0.0))
    # Without an l1 penalty the gradient vanishes but for rounding.
    share = 1.0 if largest <= bound or ratio == 0.0 else bound / largest
    square = float(residual @ residual) / gram.total + smooth * float(coefficients @ coefficients)
    primal = 0.5 * square + bound * float(np.abs(coefficients).sum())
    product = float(residual @ data.targets) / gram.total
    return max(0.0, primal - (share * product - 0.5 * share**2 * square))


class LassoCV(_CertifiedNet, grid_models.LassoCV):
    """Lasso whose alpha is the proved optimum of cross-validation.

    The arguments are those of :class:`sklearn.linear_model.LassoCV`. Instead of the values of a
    grid, all values between its ends are compared, exactly.

    Parameters
    ----------
    eps : float, default=1e-3
        Smallest alpha of the default range, relative to the largest.
    alphas : int or array-like of float, default=100
        Values whose smallest and largest are the range, or a number of values at which
        `mse_path_` shows the curves over the default range. One value in a list is taken as it is;
        0 stands for a number next to it.
    fit_intercept : bool, default=True
        Whether there is an intercept, which has no penalty.
    precompute, max_iter, tol, copy_X, random_state : ignored
        Accepted so that programs keep running; solutions are accurate to the last digits.
    cv : int, splitter or iterable, optional
        Folds, by default 5.
    verbose : bool, default=False
        Whether to log the search.
    n_jobs : int, optional
        Number of parallel workers for the folds; the result does not depend on it.
    positive : bool, default=False
        Whether coefficients must not be negative.
    selection : {"best", "one-standard-error", "robust"}, default="best"
        Which alpha to choose: the best one; the largest whose error is within one standard error
        of the best; or the centre of the widest range of alpha with nearly the best error.
        scikit-learn's orders "cyclic" and "random" have no meaning here and stand for "best".

    Attributes
    ----------
    alpha_, coef_, intercept_, mse_path_, alphas_, dual_gap_, n_iter_, n_features_in_
        As in scikit-learn; `mse_path_` has the exact curves at `alphas_`.
    result_, landscape_, best_score_, upper_bound_, gap_, best_region_, certificate_
        See :class:`LogisticRegressionCV`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from certune.linear_model import LassoCV
    >>> model = LassoCV().fit(*load_diabetes(return_X_y=True))
    >>> print(f"alpha = {model.alpha_:.6f}, squared error {-model.best_score_:.3f}")
    alpha = 0.003925, squared error 2991.800
    """

    def _fit(self, X: Any, y: Any, sample_weight: Any, params: dict[str, Any]) -> None:
        self._fit_ratios(X, y, sample_weight, [1.0], params)
        del self.l1_ratio_


class ElasticNetCV(_CertifiedNet, grid_models.ElasticNetCV):
    """Elastic net whose alpha and ratio are the proved optimum of cross-validation.

    The arguments are those of :class:`sklearn.linear_model.ElasticNetCV`. Instead of the values of
    a grid, all alphas between its ends are compared, exactly, for every given `l1_ratio`; or all of
    both, within a stated gap.

    Parameters
    ----------
    l1_ratio : float, list of float or tuple of two floats, default=0.5
        Share of the l1 penalty, between 0 and 1; for 0, give `alphas`. The best of a list is
        chosen, as in scikit-learn; a tuple ``(low, high)`` is a range, searched by branch and
        bound.
    eps : float, default=1e-3
        Smallest alpha of the default range, relative to the largest.
    alphas : int or array-like of float, default=100
        As for :class:`LassoCV`.
    fit_intercept : bool, default=True
        Whether there is an intercept, which has no penalty.
    precompute, max_iter, copy_X, random_state : ignored
        Accepted so that programs keep running.
    tol : float, default=1e-4
        With a range of ratios, the search ends when the gap is at most this share of the error of
        predicting the mean; otherwise ignored.
    cv, verbose, n_jobs, positive, selection
        As for :class:`LassoCV`.

    Attributes
    ----------
    alpha_, l1_ratio_, coef_, intercept_, mse_path_, alphas_, dual_gap_, n_iter_, n_features_in_
        As in scikit-learn; `mse_path_` has the exact curves at `alphas_`.
    results_ : dict of float to LineTuningResult
        Everything that tuning found, for each ratio.
    result_, landscape_, best_score_, upper_bound_, gap_, best_region_, certificate_
        Those of the best ratio; the bound holds for all given ratios. With a range of ratios the
        certificate is that of the search over both parameters.
    search_ : SpaceTuningResult or None
        With a range of ratios, everything that this search found.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from certune.linear_model import ElasticNetCV
    >>> model = ElasticNetCV(l1_ratio=(0.5, 0.9, 1.0)).fit(*load_diabetes(return_X_y=True))
    >>> print(f"alpha = {model.alpha_:.6f}, ratio {model.l1_ratio_}")
    alpha = 0.003925, ratio 1.0
    """

    def __init__(
        self,
        *,
        l1_ratio: Any = 0.5,
        eps: float = 1e-3,
        alphas: Any = 100,
        fit_intercept: bool = True,
        precompute: Any = "auto",
        max_iter: int = 1000,
        tol: float = 1e-4,
        cv: Any = None,
        copy_X: bool = True,
        verbose: Any = 0,
        n_jobs: Any = None,
        positive: bool = False,
        random_state: Any = None,
        selection: str = "best",
    ) -> None:
        super().__init__(
            eps=eps, alphas=alphas, fit_intercept=fit_intercept, precompute=precompute,
            max_iter=max_iter, tol=tol, copy_X=copy_X, cv=cv, verbose=verbose, n_jobs=n_jobs,
            positive=positive, random_state=random_state, selection=selection,
        )  # fmt: skip
        self.l1_ratio = l1_ratio

    @property
    def search_(self) -> SpaceTuningResult | None:
        """The search over both parameters; None if single ratios were given."""
        return self._wide

    def _fit(self, X: Any, y: Any, sample_weight: Any, params: dict[str, Any]) -> None:
        try:
            ratios = np.atleast_1d(np.asarray(self.l1_ratio, dtype=np.float64))
        except (TypeError, ValueError, OverflowError):
            ratios = np.empty(0)
        if ratios.ndim != 1 or not ratios.size or not ((ratios >= 0.0) & (ratios <= 1.0)).all():
            raise ParameterError(
                "l1_ratio must lie between 0 and 1, or be several such numbers, got "
                f"{self.l1_ratio!r}."
            )
        listed = ratios.tolist()
        if isinstance(self.l1_ratio, tuple) and len(listed) == 2:
            if not 0.0 < listed[0] < listed[1]:
                raise ParameterError(
                    f"l1_ratio must be a range 0 < low < high, got {self.l1_ratio!r}; a list has "
                    "single values."
                )
            listed = tuple(listed)
        self._fit_ratios(X, y, sample_weight, listed, params)
