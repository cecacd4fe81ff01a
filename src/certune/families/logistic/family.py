"""Regularised logistic regression as a family of algorithms, with lam or C as its parameter.

The model minimises

    (1/m) sum_i log(1 + exp(-y_i (x_i . b + b_0))) + lam |b|_1    or    + lam |b|_2^2

on training data, and its utility is measured on validation data (`sec:logistic-distributional`).
Paths are followed by :mod:`certune.families.logistic.ridge` and
:mod:`certune.families.logistic.lasso`; the surrogates of `thm:rosset1` are in
:mod:`certune.families.logistic.rosset`.
"""

from __future__ import annotations

import hashlib
import math
import numbers
import sys
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from certune.dual import DualFunction, PiecewisePolynomial
from certune.errors import InputError, ParameterError
from certune.families.base import Family, Params
from certune.families.logistic.instance import ClassificationInstance
from certune.families.logistic.model import LogisticModel, SeveralClassesModel
from certune.families.logistic.path import CoefficientPath
from certune.families.logistic.rosset import SurrogatePath, surrogate_dual, surrogate_path
from certune.families.logistic.scoring import MARGIN_TARGET, METRICS, BinaryMetric, metric_of
from certune.families.logistic.several.classes import SeveralClasses
from certune.families.logistic.several.scores import several_metric
from certune.families.logistic.strength import Strength
from certune.families.logistic.task import ManyClasses, TwoClasses
from certune.families.logistic.training import TrainingData
from certune.pfaffian.bounds.applications import logistic_surrogate_structure
from certune.pfaffian.structure import HomogeneousStructure
from certune.scores import Score
from certune.space import LogReal, ParameterSpace, Segment

PENALTIES = ("l1", "l2")
SCHEMES = ("multinomial", "ovr")
# Share of the tolerance at which curves are aimed; five stated errors must fit into a gap.
CURVE_SHARE = 0.05
LARGEST_LAM = 1e100
DEFAULT_LAM = (1e-4, 10.0)


class RegularizedLogistic(Family):
    """Logistic regression with an l1 or l2 penalty, tuned over its weight.

    Parameters
    ----------
    penalty : {"l2", "l1"}, default="l2"
        lam times the sum of squared, or of absolute, coefficients; see Notes for scikit-learn's C.
    lam : tuple of float, optional
        Range of lam, ``0 < low < high``; (1e-4, 10.0) if no range is given.
    metric : {"log-loss", "accuracy", "balanced-accuracy", "roc-auc", "brier"}
        The score on the validation data, log-loss (natural logarithm) by default. The utility that
        is maximised is the score itself, or for losses `max_loss` (1 for the Brier score) minus the
        loss, cut off at 0.
    fit_intercept : bool, default=True
        Whether the model has an intercept, which has no penalty.
    standardize : bool, default=False
        Whether columns are shifted and scaled to mean 0 and variance 1 on the training data of
        each instance; the validation data are transformed likewise.
    max_loss : float, default=2.0
        The constant H of the utility with values in [0, H]; a loss beyond it counts as H. Guessing
        has a loss of 0.69.
    tolerance : float, default=1e-8
        Aim for the error of smooth curves and for the gap of the optimum; the stated errors of
        the result say what was reached. Scores that count are exact.
    C : tuple of float, optional
        Range of scikit-learn's C instead of one of lam. For instances of different sizes one C
        is not one lam, see Notes; that of cross-validation is C.
    multi_class : {"multinomial", "ovr"}, default="multinomial"
        How instances with more than two classes are modelled: by one model whose chances are
        the exponentials of decisions over their sum, for the l2 penalty; or by one model for each
        class against the rest, all with the same parameter.

    Notes
    -----
    With several classes the Brier score is half the squared distance of chances and truth, so
    that it lies between 0 and 1 as for two, and the ROC AUC is the mean over the classes of that
    of each against the rest.

    scikit-learn's ``LogisticRegression`` minimises C times the *sum* of losses plus
    ``|b|_2^2 / 2``, or plus ``|b|_1``. For m training points, C = 1 / (2 m lam) with l2 and
    C = 1 / (m lam) with l1;
    lam = 1 / (2 m C) and lam = 1 / (m C). With sample weights m is their sum.

    What is proved and what is estimated is told in ``docs/theory/logistic-path.md``.

    Examples
    --------
    >>> import certune as ct
    >>> family = RegularizedLogistic(lam=(1e-3, 1.0), standardize=True)
    >>> result = ct.tune(family, ct.datasets.breast_cancer_classification(3))
    >>> result.status.name, result.gap < 1e-8
    ('OPTIMAL', True)
    """

    def __init__(
        self,
        penalty: str = "l2",
        lam: tuple[float, float] | None = None,
        metric: str = "log-loss",
        fit_intercept: bool = True,
        standardize: bool = False,
        max_loss: float = 2.0,
        tolerance: float = 1e-8,
        C: tuple[float, float] | None = None,
        multi_class: str = "multinomial",
    ) -> None:
        self.multi_class = _choice("multi_class", multi_class, SCHEMES)
        self.penalty = _choice("penalty", penalty, PENALTIES)
        self.metric = _choice("metric", metric, METRICS)
        self.fit_intercept = _flag("fit_intercept", fit_intercept)
        self.standardize = _flag("standardize", standardize)
        self.max_loss = _positive("max_loss", max_loss)
        self._tolerance = _positive("tolerance", tolerance)
        if lam is not None and C is not None:
            raise ParameterError(f"give a range of lam or of C, not both, got {lam!r} and {C!r}")
        name, ends = ("lam", DEFAULT_LAM if lam is None else lam) if C is None else ("C", C)
        is_list = isinstance(ends, (tuple, list)) or np.ndim(ends) == 1
        if not is_list or len(ends) != 2:
            raise ParameterError(f"{name} must be a range (low, high), got {ends!r}")
        self._space = ParameterSpace((LogReal(name, *ends),))
        if self.range[1] > LARGEST_LAM:
            raise ParameterError(f"{name} must be at most {LARGEST_LAM}, got the range {ends!r}")

    @property
    def space(self) -> ParameterSpace:
        """The parameter lam and its range, on a logarithmic scale."""
        return self._space

    @property
    def parameter(self) -> str:
        """Which parameter is tuned: ``"lam"`` or ``"C"``."""
        return self._space.parameters[0].name

    @property
    def range(self) -> tuple[float, float]:
        """The range of the parameter."""
        (parameter,) = self._space.parameters
        assert isinstance(parameter, LogReal)
        return parameter.low, parameter.high

    @property
    def lam(self) -> tuple[float, float]:
        """The range of lam, where that is the parameter."""
        if self.parameter != "lam":
            raise ParameterError(
                f"{self!r} is tuned over C, and lam depends on the number of training points: "
                "give a range of lam instead"
            )
        return self.range

    @property
    def _scored(self) -> BinaryMetric:
        return metric_of(self.metric, self.max_loss)

    @property
    def score(self) -> Score:
        """Name and direction of the metric."""
        return self._scored.score

    @property
    def tolerance(self) -> float:
        """Aim for the error of curves and for the gap; 0 for scores that count."""
        return 0.0 if self._scored.is_exact else self._tolerance

    @property
    def utility_range(self) -> tuple[float, float]:
        """From 0 to the largest utility: `max_loss` for the log-loss, else 1."""
        return 0.0, self._scored.largest

    @property
    def baselines(self) -> dict[str, dict[str, Any]]:
        """The two ends of the range, the middle of its logarithm, and scikit-learn's C of 1."""
        low, high = self.range
        middle = min(max(math.sqrt(low) * math.sqrt(high), low), high)
        weakest, strongest = (low, high) if self.parameter == "lam" else (high, low)
        settings = {
            "weakest penalty": weakest,
            "middle penalty": middle,
            "strongest penalty": strongest,
        }
        if self.parameter == "C":
            settings["scikit-learn's default"] = 1.0
        return {name: {self.parameter: value} for name, value in settings.items()}

    def instance_baselines(self, instance: ClassificationInstance) -> dict[str, dict[str, Any]]:
        """What scikit-learn's C of 1 is on an instance, where lam is tuned."""
        if self.parameter == "C":
            return {}
        return {"scikit-learn's default": {"lam": 1.0 / self.strength(instance).factor}}

    def __repr__(self) -> str:
        parts = [f"{self.penalty!r}, {self.parameter}={self.range}, metric={self.metric!r}"]
        parts += [f"fit_intercept={self.fit_intercept}, standardize={self.standardize}"]
        if not self._scored.is_exact:
            parts.append(f"max_loss={self.max_loss}, tolerance={self._tolerance}")
        if self.multi_class != "multinomial":
            parts.append(f"multi_class={self.multi_class!r}")
        return f"RegularizedLogistic({', '.join(parts)})"

    @property
    def fingerprint(self) -> str:
        """Hash of everything that defines the family."""
        return hashlib.sha256(repr(self).encode()).hexdigest()

    def instance_sizes(self, instance: Any) -> tuple[int, ...]:
        """Numbers of rows, columns and classes."""
        if not isinstance(instance, ClassificationInstance):
            return ()
        return len(instance.X), instance.n_features, instance.n_classes

    def check_instance(self, instance: Any) -> None:
        """Raise `InputError` if the instance does not fit this family."""
        self._check_kind(instance)
        if instance.n_classes == 2:
            self._scored.check(instance)
            return
        several_metric(self.metric, self.max_loss).check(instance)
        self._check_scheme(instance)

    def _check_scheme(self, instance: ClassificationInstance) -> None:
        if self.penalty == "l1" and self.multi_class == "multinomial":
            raise InputError(
                f"{instance!r} has {instance.n_classes} classes, and the path of a multinomial "
                "model with penalty='l1' has no stated error: use multi_class='ovr', one model "
                "for each class, or penalty='l2'"
            )

    @staticmethod
    def _check_kind(instance: Any) -> None:
        if not isinstance(instance, ClassificationInstance):
            raise InputError(
                f"expected a ClassificationInstance, got {type(instance).__name__}; make one with "
                "certune.ClassificationInstance(X, y, X_val, y_val)"
            )

    def instance_fingerprint(self, instance: ClassificationInstance) -> str:
        """Hash of the instance's content."""
        return instance.fingerprint

    def strength(self, instance: ClassificationInstance) -> Strength:
        """Return which lam the parameter stands for on an instance.

        Parameters
        ----------
        instance : ClassificationInstance
            The data, of which only the weight of the training points matters.
        """
        self._check_kind(instance)
        doubled = 2.0 if self.penalty == "l2" else 1.0
        return Strength(self.parameter, doubled * instance.total_weight)

    def data(self, instance: ClassificationInstance) -> TrainingData:
        """Return the prepared data of an instance."""
        self._check_kind(instance)
        return TrainingData(instance, self.penalty, self.fit_intercept, self.standardize)

    def solve(
        self, instance: ClassificationInstance, params: Params
    ) -> LogisticModel | SeveralClassesModel:
        """Fit the model at one value of the parameter.

        Parameters
        ----------
        instance : ClassificationInstance
            The data.
        params : mapping or float
            lam or C, any positive number.

        Returns
        -------
        LogisticModel or SeveralClassesModel
            Coefficients with a proved error, and what is special about the columns.
        """
        return self._task(instance).model(self._lam(instance, params))

    def _task(self, instance: ClassificationInstance) -> TwoClasses | ManyClasses:
        """Return what is scored on an instance."""
        data = self.data(instance)
        if instance.n_classes == 2:
            return TwoClasses(data, self._scored)
        self._check_scheme(instance)
        several = SeveralClasses(data, self.multi_class == "multinomial")
        return ManyClasses(several, several_metric(self.metric, self.max_loss))

    def run_exact(self, instance: ClassificationInstance, params: Params) -> Fraction:
        """Utility at one value of the parameter; for losses a float within the tolerance.

        Raises
        ------
        UndecidedError
            If a validation point lies on the boundary between the classes up to the error of
            the solution.
        """
        return self._task(instance).utility_at(self._lam(instance, params))

    def path(self, instance: ClassificationInstance) -> CoefficientPath:
        """Return the coefficients as functions of lam over the whole range."""
        span = self.strength(instance).span(*self.range)
        return self._task(instance).path(*span, self._target)

    @property
    def _target(self) -> float:
        """Aim for the error of what is followed along a path."""
        return MARGIN_TARGET if self._scored.is_exact else CURVE_SHARE * self._tolerance

    def dual(self, instance: ClassificationInstance, along: Segment | None = None) -> DualFunction:
        """Utility as a function of the parameter.

        Parameters
        ----------
        instance : ClassificationInstance
            The data.
        along : Segment, optional
            A part of the range; by default all of it.

        Returns
        -------
        PiecewisePolynomial or PiecewiseFunction
            Losses: polynomials in the parameter's logarithm with stated errors. Scores that
            count: constant pieces, with the breakpoints enclosed.
        """
        whole = self.space.default_segment()
        segment = whole if along is None else along
        if not isinstance(segment, Segment) or (segment.origin, segment.direction) != (
            whole.origin,
            whole.direction,
        ):
            raise ParameterError(
                f"{self.parameter} must be the coordinate of the segment, got {along!r}"
            )
        strength, metric = self.strength(instance), self._scored
        span = strength.span(segment.low, segment.high)
        along_lam = self._task(instance).utility(*span, self._target)
        function = strength.function(along_lam, segment.low, segment.high)
        if isinstance(function, PiecewisePolynomial):
            return function.clip(0.0, metric.largest)
        return function

    def surrogate(self, instance: ClassificationInstance, epsilon: float) -> SurrogatePath:
        """Return the piecewise linear surrogate of the path (`thm:rosset1`).

        Parameters
        ----------
        instance : ClassificationInstance
            The data.
        epsilon : float
            Step of lam; its error is of the order of epsilon squared for epsilon up to about a
            third of the lower end of the range.
        """
        if instance.weights is not None:
            raise ParameterError("surrogates are for training points without weights")
        if instance.n_classes > 2:
            raise ParameterError(
                f"surrogates are for two classes, got {instance.n_classes}; those of each class "
                "against the rest are instance.one_versus_rest(number)"
            )
        return surrogate_path(self.data(instance), *self.lam, epsilon)

    def surrogate_dual(
        self, instance: ClassificationInstance, epsilon: float
    ) -> PiecewisePolynomial:
        """Return the log-loss utility of the surrogate path, as a function of lam.

        Parameters
        ----------
        instance : ClassificationInstance
            The data.
        epsilon : float
            Step of lam.
        """
        if self.metric != "log-loss":
            raise ParameterError(
                f"surrogates are for metric='log-loss', got metric={self.metric!r}"
            )
        path = self.surrogate(instance, epsilon)
        rows = self.data(instance).plain_rows(instance.X_val, instance.y_val)
        return surrogate_dual(path, rows, self.max_loss, "lam")

    def structure(self, n_training: int, n_validation: int, epsilon: float) -> HomogeneousStructure:
        """Structure of the log-loss of the surrogate path, proved for every instance of a size.

        Parameters
        ----------
        n_training, n_validation : int
            Numbers of training and validation points.
        epsilon : float
            Step of the surrogate, as in `surrogate_dual`.

        Returns
        -------
        HomogeneousStructure
            Counts for `certune.pdim_bound` and `certune.sample_size`. They hold for the surrogate;
            its distance from the true curve enters through `surrogate_excess_bound`.

        Examples
        --------
        >>> import certune as ct
        >>> family = ct.RegularizedLogistic("l2", lam=(0.01, 1.0))
        >>> ct.pdim_bound(family.structure(120, 80, epsilon=0.01)).dimension
        11
        """
        if self.metric != "log-loss":
            raise ParameterError(
                f"counts are proved for metric='log-loss', got metric={self.metric!r}"
            )
        return logistic_surrogate_structure(n_training, n_validation, self.lam, epsilon)

    def _lam(self, instance: ClassificationInstance, params: Params) -> float:
        """Return lam; any positive parameter is allowed, not only the range."""
        name = self.parameter
        if isinstance(params, Mapping):
            if set(params) != {name}:
                raise ParameterError(f"expected a value for exactly {name!r}, got {dict(params)!r}")
            params = params[name]
        value = _positive(name, params)
        if value > LARGEST_LAM:
            raise ParameterError(f"{name} must be at most {LARGEST_LAM}, got {value!r}")
        return self.strength(instance).lam(value)


def inverse_strength(lam: float, n_samples: float, penalty: str) -> float:
    """Return scikit-learn's C for lam: ``1 / (2 m lam)`` with l2 and ``1 / (m lam)`` with l1.

    Parameters
    ----------
    lam : float
        Weight of the penalty relative to the mean loss.
    n_samples : float
        Number m of training points, or the sum of their weights.
    penalty : {"l1", "l2"}
        The penalty.
    """
    factor = 2.0 if _choice("penalty", penalty, PENALTIES) == "l2" else 1.0
    return 1.0 / (factor * _positive("n_samples", n_samples) * _positive("lam", lam))


def _choice(name: str, value: Any, allowed: tuple[str, ...]) -> str:
    if not isinstance(value, str) or value not in allowed:
        raise ParameterError(f"{name} must be one of {allowed}, got {value!r}")
    return str(value)


def _flag(name: str, value: Any) -> bool:
    if not isinstance(value, (bool, np.bool_)):
        raise ParameterError(f"{name} must be True or False, got {value!r}")
    return bool(value)


def _positive(name: str, value: Any) -> float:
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not is_number or not 0.0 < value <= sys.float_info.max:
        raise ParameterError(f"{name} must be a positive finite number, got {value!r}")
    return float(value)
