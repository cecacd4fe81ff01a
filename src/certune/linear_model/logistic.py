"""Logistic regression with the best C of a whole range, behind scikit-learn's interface."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.linear_model import LogisticRegressionCV as GridLogisticRegressionCV
from sklearn.metrics import get_scorer
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from certune.data.folds import each_fold
from certune.errors import InputError, ParameterError
from certune.families.logistic import ClassificationInstance, RegularizedLogistic
from certune.linear_model.search import (
    CertifiedSearch,
    GivenRange,
    check_features,
    check_labels,
    checked_range,
    checked_selection,
    checked_weights,
    dense,
    grid_of,
    meant,
    rows_of,
    scoring_name,
)
from certune.tuning import TuningResult

FloatArray = npt.NDArray[np.float64]
IndexArray = npt.NDArray[np.intp]

DEFAULT_RANGE = GivenRange(1e-4, 1e4)
SCHEMES = ("multinomial", "ovr")
METRIC_OF_SCORING = {
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced-accuracy",
    "neg_brier_score": "brier",
    "neg_log_loss": "log-loss",
    "roc_auc": "roc-auc",
    "roc_auc_ovr": "roc-auc",
}
# A log-loss beyond this counts as this, unless all are; guessing has the logarithm of the number of
# classes.
LARGEST_LOSS = 32.0


class LogisticRegressionCV(CertifiedSearch, GridLogisticRegressionCV):
    """Logistic regression whose C is the proved optimum of cross-validation.

    The arguments are those of :class:`sklearn.linear_model.LogisticRegressionCV`. Instead of the
    values of a grid, all values between its ends are compared, exactly.

    Parameters
    ----------
    Cs : int or array-like of float, default=10
        Range of C: the ends of the given values, or 1e-4 to 1e4 for a number; one value in a list
        is taken as it is. `scores_` shows the curves at the given values, or at so many.
    l1_ratios : array-like of float, optional
        (0.0,) for the l2 penalty, which is the default, (1.0,) for the l1 penalty.
    fit_intercept : bool, default=True
        Whether there is an intercept, which has no penalty.
    cv : int, splitter or iterable, optional
        Folds, by default 5 stratified ones.
    dual, solver, tol, max_iter, verbose, intercept_scaling, random_state
        Accepted so that programs keep running, without effect on the result: solutions are
        accurate to the last digits. A true `verbose` logs the search.
    penalty : {"l2", "l1"}, optional
        The older way to choose the penalty.
    scoring : {"accuracy", "neg_log_loss", "balanced_accuracy", "roc_auc", "neg_brier_score"}
        Score of a fold, accuracy by default; "roc_auc_ovr" for several classes.
    class_weight : dict or "balanced", optional
        Weights of the classes in the fit.
    n_jobs : int, optional
        Number of parallel workers for the folds; the result does not depend on it.
    refit : bool, default=True
        Whether the model is fitted to all data with the chosen C; otherwise the coefficients of
        the folds, each with its own best C, are averaged.
    use_legacy_attributes : bool, default=True
        Whether `C_` is an array and `scores_` a dictionary; see scikit-learn.
    selection : {"best", "one-standard-error", "robust"}, default="best"
        Which C to choose: the best one; the smallest whose score is within one standard error of
        the best; or the centre of the widest range of C with nearly the best score.
    multi_class : {"multinomial", "ovr"}, default="multinomial"
        How more than two classes are modelled: by one model of all, with the l2 penalty; or by one
        model for each class against the rest, all with the same C. To choose a C for each class,
        use :class:`sklearn.multiclass.OneVsRestClassifier`.

    Attributes
    ----------
    classes_, coef_, intercept_, C_, Cs_, l1_ratio_, l1_ratios_, scores_, n_features_in_
        As in scikit-learn; `scores_` has the exact curves at `Cs_`.
    result_ : LineTuningResult
        Everything that tuning found: ``result_.plot_landscape()``, ``print(model.result_)``.
    landscape_, best_score_, upper_bound_, gap_, best_region_, certificate_
        The mean score as a function of C, its maximum, the bound that no C exceeds, their
        difference, where every optimum lies, and what :func:`certune.verify` checks.

    Warns
    -----
    RangeWarning
        If the best C lies at the end of the range.

    Notes
    -----
    Data are made dense. Log-losses are those of the model; scikit-learn's score counts a single
    point at most -log(2.2e-16) = 36, which shows where a model is sure of a wrong class. The mean
    of a fold beyond 32 counts as 32, unless it takes part in the best. Bounds of log-losses and
    Brier scores rest on polynomials whose error is proved at their nodes and estimated, and
    checked, in between; see
    ``docs/theory/logistic-path.md``.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from certune.linear_model import LogisticRegressionCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LogisticRegressionCV(scoring="neg_log_loss").fit(scale(X), y)
    >>> print(f"C = {model.C_[0]:.4f}, log-loss {-model.best_score_:.5f}")
    C = 0.6325, log-loss 0.07814
    >>> model.gap_ < 1e-7
    True
    """

    def __init__(
        self,
        *,
        Cs: Any = 10,
        l1_ratios: Any = None,
        fit_intercept: bool = True,
        cv: Any = None,
        dual: bool = False,
        penalty: Any = "deprecated",
        scoring: Any = None,
        solver: str = "lbfgs",
        tol: float = 1e-4,
        max_iter: int = 100,
        class_weight: Any = None,
        n_jobs: Any = None,
        verbose: Any = 0,
        refit: bool = True,
        intercept_scaling: float = 1.0,
        random_state: Any = None,
        use_legacy_attributes: Any = True,
        selection: str = "best",
        multi_class: str = "multinomial",
    ) -> None:
        self.Cs = Cs
        self.l1_ratios = l1_ratios
        self.fit_intercept = fit_intercept
        self.cv = cv
        self.dual = dual
        self.penalty = penalty
        self.scoring = scoring
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.refit = refit
        self.intercept_scaling = intercept_scaling
        self.random_state = random_state
        self.use_legacy_attributes = use_legacy_attributes
        self.selection = selection
        self.multi_class = multi_class

    def _fit(self, X: Any, y: Any, sample_weight: Any, params: dict[str, Any]) -> None:
        penalty, selection = self._penalty(), checked_selection(self.selection)
        given = checked_range("Cs", self.Cs, DEFAULT_RANGE)
        check_features(X)
        check_labels(y)
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64)
        check_classification_targets(y)
        features, labels = dense(X), np.asarray(y)
        self.classes_ = np.unique(labels)
        self._check_classes()
        scored_weight = checked_weights(sample_weight, features)
        fit_weight = self._fit_weight(labels, scored_weight)
        routed = self._routed(sample_weight, params)
        if routed is not None and "sample_weight" not in routed.scorer.score:
            scored_weight = None
        # What is wrong with all of the data is told before folds are blamed.
        everything = ClassificationInstance(
            features, labels, features[:1], labels[:1], sample_weight=fit_weight
        )
        folds = self._folds(features, labels, sample_weight, params)

        def make(train: IndexArray, test: IndexArray, label: str) -> ClassificationInstance:
            return ClassificationInstance(
                features[train], labels[train], features[test], labels[test], name=label,
                sample_weight=rows_of(fit_weight, train),
                sample_weight_val=rows_of(scored_weight, test),
            )  # fmt: skip

        instances = each_fold(folds, make, remedy=". Use stratified folds, or fewer of them.")
        family = self._searched(penalty, given, instances)
        C = self._chosen(selection, given.only, simple_is_low=True)
        self._set_model(family, everything, C, given.only)
        self._set_attributes(penalty, given)

    def _searched(
        self, penalty: str, given: GivenRange, instances: list[ClassificationInstance]
    ) -> RegularizedLogistic:
        """Search the range of C and return the family that was searched."""
        metric, scheme = self._metric(), self._scheme(penalty)
        families: list[RegularizedLogistic] = []

        def search(limit: float) -> list[TuningResult]:
            family = RegularizedLogistic(
                penalty, metric=metric, fit_intercept=bool(self.fit_intercept), C=given.ends,
                max_loss=limit, multi_class=scheme,
            )  # fmt: skip
            self._search(family, instances, self.n_jobs, self.verbose)
            families.append(family)
            return [self.result_]

        if metric == "log-loss":
            self._search_below(LARGEST_LOSS, search)
        else:
            search(LARGEST_LOSS)
        self._warn_if_open([self.result_])
        return families[-1]

    def _penalty(self) -> str:
        ratios = self.l1_ratios
        if self.penalty in ("l1", "l2") and ratios is None:
            return str(self.penalty)
        if ratios is None and self.penalty in ("deprecated", None):
            return "l2"
        found = (
            set(np.asarray(ratios, dtype=np.float64).tolist()) if np.ndim(ratios) == 1 else set()
        )
        if found in ({0.0}, {1.0}) and self.penalty != "elasticnet":
            return "l1" if found == {1.0} else "l2"
        raise ParameterError(
            "The penalty must be l2, l1_ratios=(0.0,), or l1, l1_ratios=(1.0,); got "
            f"l1_ratios={ratios!r} and penalty={self.penalty!r}. A mixture of both is not exact: "
            "use scikit-learn's LogisticRegressionCV."
        )

    def _metric(self) -> str:
        name = self._score_name
        if name is None:
            raise ParameterError(
                f"scoring must be one of {sorted(METRIC_OF_SCORING)} or None for the accuracy, got "
                f"{self.scoring!r}{meant(self.scoring, METRIC_OF_SCORING)}; other scores have no "
                "exact function of C, search for them with GridSearchCV."
            )
        if name == "roc_auc" and self.classes_.size > 2:
            raise ParameterError(
                f"scoring='roc_auc' is for two classes, and y has {self.classes_.size}; use "
                "scoring='roc_auc_ovr', the mean of the areas of each class against the rest."
            )
        return METRIC_OF_SCORING[name]

    @property
    def _score_name(self) -> str | None:
        if self.scoring is None or (isinstance(self.scoring, str) and self.scoring == "warn"):
            return "accuracy"
        return scoring_name(self.scoring, METRIC_OF_SCORING)

    def _check_classes(self) -> None:
        if self.classes_.size == 1:
            raise InputError(
                "This solver needs samples of at least 2 classes in the data, but the data "
                f"contains only one class: {self.classes_.tolist()[0]!r}."
            )

    def _scheme(self, penalty: str) -> str:
        if not isinstance(self.multi_class, str) or self.multi_class not in SCHEMES:
            raise ParameterError(f"multi_class must be one of {SCHEMES}, got {self.multi_class!r}.")
        if penalty == "l1" and self.multi_class == "multinomial" and self.classes_.size > 2:
            raise ParameterError(
                "Only binary classification is supported. The type of the target is multiclass, "
                "and the path of a multinomial model with the l1 penalty has no stated error: use "
                "multi_class='ovr', one model for each class against the rest, or the l2 penalty."
            )
        return self.multi_class

    @property
    def _unit(self) -> int:
        """scikit-learn does not halve the Brier score of several classes."""
        return 2 if self._score_name == "neg_brier_score" and self.classes_.size > 2 else 1

    def _fit_weight(self, labels: npt.NDArray[Any], sample_weight: Any) -> FloatArray | None:
        """Return the weights in the fit: those of samples times those of classes."""
        if self.class_weight is None:
            return None if sample_weight is None else np.asarray(sample_weight)
        if isinstance(self.class_weight, Mapping):
            unknown = [key for key in self.class_weight if key not in set(self.classes_.tolist())]
            if unknown:
                raise InputError(
                    "The given class_weight dict must have the class labels as keys; classes="
                    f"{self.classes_.tolist()} but key={unknown[0]!r}."
                )
            table = [float(self.class_weight.get(label, 1.0)) for label in self.classes_.tolist()]
        elif self.class_weight == "balanced":
            options = {} if sample_weight is None else {"sample_weight": sample_weight}
            table = compute_class_weight(
                "balanced", classes=self.classes_, y=labels, **options
            ).tolist()
        else:
            raise ParameterError(
                f"class_weight must be a dict, 'balanced' or None, got {self.class_weight!r}."
            )
        weights = np.asarray(table)[np.searchsorted(self.classes_, labels)]
        return np.asarray(weights if sample_weight is None else weights * sample_weight)

    def _set_model(
        self,
        family: RegularizedLogistic,
        everything: ClassificationInstance,
        C: float,
        only: float | None,
    ) -> None:
        """Set C and the coefficients, of a fit to all data or averaged over folds."""
        if self.refit:
            models = [family.solve(everything, {"C": C})]
        else:
            best = [only or dual.best_point for dual in self.result_.duals]
            models = [
                family.solve(instance, {"C": value})
                for instance, value in zip(self.result_.instances, best, strict=True)
            ]
            C = float(np.mean(best))
        self.C_: Any = np.full(self._n_models, C)
        self.coef_ = np.atleast_2d(np.mean([model.coef for model in models], axis=0))
        self.intercept_ = np.mean([np.atleast_1d(model.intercept) for model in models], axis=0)

    @property
    def _n_models(self) -> int:
        """Number of rows of coefficients: one for two classes, otherwise one for each class."""
        return 1 if self.classes_.size == 2 else int(self.classes_.size)

    @property
    def _labels(self) -> list[Any]:
        """Labels of the rows of coefficients."""
        return list(self.classes_[-self._n_models :].tolist())

    def _set_attributes(self, penalty: str, given: GivenRange) -> None:
        """Set what scikit-learn's estimator has beside the model."""
        self.Cs_ = grid_of(self.Cs, given)
        scores = self._fold_scores(self.Cs_)[:, :, None]
        ratio = 1.0 if penalty == "l1" else 0.0
        # One path of coefficients for each fold; programs read this as a number of iterations.
        steps = np.ones((1, *scores.shape), dtype=np.int32)
        if self.use_legacy_attributes:
            self.n_iter_: Any = self._without_ratios(steps)
            self.scores_: Any = {label: self._without_ratios(scores) for label in self._labels}
            self.l1_ratio_: Any = np.full(self._n_models, ratio)
            self.l1_ratios_: Any = np.array([None if self.l1_ratios is None else ratio])
            return
        self.C_, self.l1_ratio_, self.l1_ratios_ = float(self.C_[0]), ratio, np.array([ratio])
        self.scores_ = np.swapaxes(scores, 1, 2)
        self.n_iter_ = np.swapaxes(steps[0], 1, 2)

    def _without_ratios(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Drop the last axis, that of the ratios, if none were given."""
        return values[..., 0] if self.l1_ratios is None else values

    @property
    def coefs_paths_(self) -> Any:
        """Coefficients of every fold at `Cs_`, computed when asked for; see scikit-learn."""
        family, rows = self.result_.family, []
        for instance in self.result_.instances:
            models = [family.solve(instance, {"C": C}) for C in self.Cs_.tolist()]
            rows.append([self._coefficients_of(model) for model in models])
        # The axes are fold, C, class and coefficient.
        paths = np.array(rows)
        if not self.use_legacy_attributes:
            return paths[:, None]
        own = [paths[:, :, number] for number in range(self._n_models)]
        if self.l1_ratios is not None:
            own = [path[:, :, None] for path in own]
        return dict(zip(self._labels, own, strict=True))

    def _coefficients_of(self, model: Any) -> FloatArray:
        """Return the coefficients of a model, a row for each class, with the intercept last."""
        coefficients = np.atleast_2d(model.coef)
        if not self.fit_intercept:
            return coefficients
        return np.column_stack((coefficients, np.atleast_1d(model.intercept)))

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the chances of the classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            A column for each of `classes_`.
        """
        check_is_fitted(self)
        if self.multi_class == "ovr" and self.classes_.size > 2:
            return np.asarray(self._predict_proba_lr(X))
        return np.asarray(super().predict_proba(X))

    def _get_scorer(self) -> Any:
        scoring = self.scoring
        is_default = scoring is None or (isinstance(scoring, str) and scoring == "warn")
        return get_scorer("accuracy" if is_default else scoring)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        try:
            is_l1 = self._penalty() == "l1"
        except ParameterError:
            is_l1 = False
        tags.classifier_tags.multi_class = not is_l1 or self.multi_class == "ovr"
        return tags
