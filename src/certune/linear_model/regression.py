"""Ridge, lasso and elastic net with the best alpha of a whole range, as in scikit-learn."""

from __future__ import annotations

import math
import numbers
import warnings
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import sklearn.linear_model as grid_models
from sklearn.metrics import get_scorer
from sklearn.utils.validation import column_or_1d, validate_data

from certune.data.folds import each_fold
from certune.errors import InputError, ParameterError, RangeWarning
from certune.families.regression import LinearModel, RegressionInstance, RegularizedRegression
from certune.families.regression.centred import CentredData
from certune.families.regression.gram import Gram
from certune.families.regression.net_path import largest_alpha
from certune.families.regression.ridge import RidgePath
from certune.linear_model.search import (
    EDGE,
    CertifiedSearch,
    check_features,
    check_targets,
    checked_range,
    checked_selection,
    checked_weights,
    dense,
    grid_of,
    meant,
    rows_of,
    scoring_name,
)
from certune.tuning import LineTuningResult, SpaceTuningResult, tune

FloatArray = npt.NDArray[np.float64]
IndexArray = npt.NDArray[np.intp]

# An error of so many times that of predicting the mean is as bad as any.
WORST = 16.0
TOLERANCE = 1e-9
# What scikit-learn's argument `selection` means there has no effect on an exact path.
ORDERS = ("cyclic", "random")


class _CertifiedRegression(CertifiedSearch):
    """What the three estimators share; each of them also derives from scikit-learn's."""

    fit_intercept: bool

    def _validated(self, X: Any, y: Any, sample_weight: Any) -> tuple[FloatArray, FloatArray, Any]:
        check_features(X)
        check_targets(y)
        X, y = validate_data(
            self, X, y, accept_sparse="csr", dtype=np.float64, y_numeric=True, multi_output=True
        )
        if y.ndim > 1 and y.shape[1] > 1:
            raise InputError(
                f"y must have one target for each row, got {y.shape[1]}: fit a model for each, or "
                "use sklearn.multioutput.MultiOutputRegressor."
            )
        targets = np.asarray(column_or_1d(y, warn=True), dtype=np.float64)
        return dense(X), targets, checked_weights(sample_weight, X)

    def _instances(
        self, X: FloatArray, y: FloatArray, weights: Any, scored: bool, params: dict[str, Any]
    ) -> list[RegressionInstance]:
        """Return the folds; `scored` tells whether weights count in the validation error too."""

        def make(train: IndexArray, test: IndexArray, label: str) -> RegressionInstance:
            return RegressionInstance(
                X[train], y[train], X[test], y[test], name=label,
                sample_weight=rows_of(weights, train),
                sample_weight_val=rows_of(weights, test) if scored else None,
            )  # fmt: skip

        folds = self._folds(X, y, weights, params)
        return each_fold(folds, make, remedy=". Use fewer folds.")

    def _set_coefficients(self, model: LinearModel) -> None:
        self.coef_ = model.coef
        self.intercept_ = model.intercept if self.fit_intercept else 0.0


def _worst_error(instances: Sequence[RegressionInstance]) -> float:
    """Return an error that is as bad as any: a multiple of that of predicting the mean."""
    errors = []
    for instance in instances:
        targets, shares = instance.judged
        weights = instance.weights
        errors.append(float(shares @ (targets - np.average(instance.y, weights=weights)) ** 2))
    return WORST * max(errors) or 1.0


class RidgeCV(_CertifiedRegression, grid_models.RidgeCV):
    """Ridge regression whose alpha is the proved optimum of cross-validation.

    The arguments are those of :class:`sklearn.linear_model.RidgeCV`. Instead of the values of a
    grid, all values between its ends are compared, exactly.

    Parameters
    ----------
    alphas : array-like of float, default=(0.1, 1.0, 10.0)
        Values whose smallest and largest are the range.
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
        Whether `cv_results_` has the squared errors of all points at the given alphas; for
        leave-one-out only.
    alpha_per_target : ignored
        There is one target.
    selection : {"best", "one-standard-error", "robust"}, default="best"
        Which alpha to choose: the best one; the largest whose score is within one standard error
        of the best, for which folds are needed; or the centre of the widest range of alpha with
        nearly the best score.

    Attributes
    ----------
    alpha_, coef_, intercept_, cv_results_, n_features_in_
        As in scikit-learn.
    result_, landscape_, best_score_, upper_bound_, gap_, best_region_, certificate_
        See :class:`LogisticRegressionCV`.

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
        if selection == "one-standard-error" and self.cv is None:
            raise ParameterError(
                "selection='one-standard-error' compares folds: give a number of them, such as cv=5"
            )
        ends = checked_range("alphas", self.alphas, (0.1, 10.0))
        metric = self._metric()
        features, targets, weights = self._validated(X, y, sample_weight)
        whole = RegressionInstance(features, targets, sample_weight=weights)
        instances = [whole]
        if self.cv is not None:
            if self.store_cv_results:
                raise ParameterError("cv!=None and store_cv_results=True are incompatible")
            instances = self._instances(features, targets, weights, False, params)
        family = RegularizedRegression(
            "l2", alpha=ends, max_error=_worst_error(instances), metric=metric,
            fit_intercept=bool(self.fit_intercept), tolerance=TOLERANCE,
        )  # fmt: skip
        self._search(family, instances, 1, False)
        self.alpha_ = self._chosen(selection, simple_is_low=False)
        self._set_coefficients(family.solve(whole, {"alpha": self.alpha_}))
        if self.store_cv_results:
            path = RidgePath(CentredData(whole, bool(self.fit_intercept)))
            grid = np.asarray(self.alphas, dtype=np.float64).tolist()
            columns = [path.left_out_residuals(alpha) ** 2 for alpha in grid]
            self.cv_results_ = np.column_stack(columns)

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
        tags.target_tags.multi_output = False
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
        if self.positive:
            raise ParameterError(
                "positive=True has no exact path here: use scikit-learn's estimator."
            )
        self._checked_rule()
        features, targets, weights = self._validated(X, y, sample_weight)
        instances = self._instances(features, targets, weights, True, params)
        whole = RegressionInstance(features, targets, sample_weight=weights)
        gram = Gram(CentredData(whole, bool(self.fit_intercept)))
        self.results_: dict[float, LineTuningResult] = {}
        worst = _worst_error(instances)
        self._wide: SpaceTuningResult | None = None
        if isinstance(ratios, tuple):
            self._wide = self._searched(gram, instances, ratios, worst)
            ratios = [float(self._wide.best_params["l1_ratio"])]
            self._warn_at_ratio(ratios[0])
        for ratio in ratios:
            family = self._family(ratio, self._range(gram, ratio), worst)
            self._search(family, instances, self.n_jobs, self.verbose)
            self.results_[ratio] = self.result_
        best = max(ratios, key=lambda ratio: self.results_[ratio].best_value_exact)
        self.result_ = self.results_[best]
        self._set_model(gram, whole, best)
        self._set_paths(gram, ratios)
        # One path for each fold; programs read this as a number of iterations.
        self.n_iter_ = 1

    def _checked_rule(self) -> str:
        return "best" if self.selection in ORDERS else checked_selection(self.selection)

    def _searched(
        self,
        gram: Gram,
        instances: Sequence[RegressionInstance],
        ratios: tuple[float, float],
        worst: float,
    ) -> SpaceTuningResult:
        """Search a range of ratios; `tol` times the error of predicting the mean is enough."""
        if not isinstance(self.tol, numbers.Real) or not 0.0 <= float(self.tol) < math.inf:
            raise ParameterError(f"tol must be a number that is not negative, got {self.tol!r}")
        low, high = self._range(gram, 1.0)[0], self._range(gram, ratios[0])[1]
        family = RegularizedRegression(
            "elastic-net", alpha=(low, high), max_error=worst, l1_ratio=ratios,
            fit_intercept=bool(self.fit_intercept), tolerance=TOLERANCE,
        )  # fmt: skip
        result = tune(
            family, instances, gap=float(self.tol) * worst / WORST, n_jobs=self.n_jobs,
            progress=bool(self.verbose),
        )  # fmt: skip
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
        warnings.warn(
            f"The best l1_ratio = {best:.6g} lies at the end of the range [{low:.6g}, {high:.6g}]; "
            f"try the range {wider}.",
            RangeWarning,
            stacklevel=5,
        )

    def _set_model(self, gram: Gram, whole: RegressionInstance, best: float) -> None:
        """Fit the model with the chosen alpha and the best ratio."""
        selection = self._checked_rule()
        # Above the alpha at which all coefficients are zero there is nothing new.
        top = largest_alpha(gram, best)
        useless_above = self.result_.segment.high >= top * (1.0 - 1e-9)
        self.alpha_ = self._chosen(selection, simple_is_low=False, quiet_above=useless_above)
        family_of_best = self.result_.family
        assert isinstance(family_of_best, RegularizedRegression)
        self._set_coefficients(family_of_best.solve(whole, {"alpha": self.alpha_}))
        self.l1_ratio_ = best
        self.dual_gap_ = _dual_gap(gram, best, self.alpha_, self.coef_)

    def _range(self, gram: Gram, ratio: float) -> tuple[float, float]:
        top = largest_alpha(gram, ratio)
        if top <= np.finfo(np.float64).resolution:
            # Targets that do not depend on the features: every alpha gives the same model.
            top = 1.0
        eps = self.eps
        if not isinstance(eps, numbers.Real) or not 0.0 < eps < 1.0:
            raise ParameterError(f"eps must lie between 0 and 1, got {eps!r}")
        return checked_range("alphas", self.alphas, (float(eps) * top, top))

    def _family(
        self, ratio: float, ends: tuple[float, float], worst: float
    ) -> RegularizedRegression:
        return RegularizedRegression(
            "l1" if ratio == 1.0 else "elastic-net", alpha=ends, max_error=worst, l1_ratio=ratio,
            fit_intercept=bool(self.fit_intercept), tolerance=TOLERANCE,
        )  # fmt: skip

    def _set_paths(self, gram: Gram, ratios: list[float]) -> None:
        """Show the curves at a decreasing grid, as scikit-learn does."""
        grids, errors, chosen = [], [], self.result_
        for ratio in ratios:
            self.result_ = self.results_[ratio]
            segment = self.result_.segment
            grids.append(grid_of(self.alphas, segment.low, segment.high)[::-1])
            errors.append(-self._fold_scores(grids[-1]).T)
        self.result_ = chosen
        is_given = not isinstance(self.alphas, numbers.Integral)
        self.alphas_ = grids[0] if is_given or len(ratios) == 1 else np.array(grids)
        self.mse_path_ = np.squeeze(np.array(errors))

    @property
    def upper_bound_(self) -> float:
        """No alpha and no given ratio has a larger mean score, the negated squared error."""
        return float(self._bound + self._offset)

    @property
    def gap_(self) -> float:
        """How far the best setting can be from the optimum: bound minus score."""
        return max(0.0, float(self._bound - self.result_.best_value_exact))

    @property
    def certificate_(self) -> Any:
        """What :func:`certune.verify` needs to check the optimum."""
        return (self.result_ if self._wide is None else self._wide).certificate

    @property
    def _bound(self) -> Fraction:
        if self._wide is not None:
            # The line at the best ratio may have found a slightly better alpha.
            return max(self._wide.upper_bound_exact, self.result_.best_value_exact)
        return max(result.upper_bound_exact for result in self.results_.values())


def _dual_gap(gram: Gram, ratio: float, alpha: float, coefficients: FloatArray) -> float:
    """Return the duality gap of a solution, with the l2 part as further rows of a lasso."""
    data, smooth = gram.data, alpha * (1.0 - ratio)
    residual = data.targets - data.rows @ coefficients
    gradient = data.rows.T @ residual / gram.total - smooth * coefficients
    bound, largest = alpha * ratio, float(np.abs(gradient).max(initial=0.0))
    share = 1.0 if largest <= bound else bound / largest
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
        `mse_path_` shows the curves over the default range.
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
        Must be False.
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
        Share of the l1 penalty, greater than 0 and at most 1. The best of a list is chosen, as in
        scikit-learn; a tuple ``(low, high)`` is a range, searched by branch and bound.
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
        except (TypeError, ValueError):
            ratios = np.empty(0)
        if ratios.ndim != 1 or not ratios.size or not ((ratios > 0.0) & (ratios <= 1.0)).all():
            raise ParameterError(
                "l1_ratio must be greater than 0 and at most 1, or several such numbers, got "
                f"{self.l1_ratio!r}; use RidgeCV for 0."
            )
        listed = ratios.tolist()
        if isinstance(self.l1_ratio, tuple) and len(listed) == 2:
            if not listed[0] < listed[1]:
                raise ParameterError(f"l1_ratio must be a range low < high, got {self.l1_ratio!r}")
            listed = tuple(listed)
        self._fit_ratios(X, y, sample_weight, listed, params)
