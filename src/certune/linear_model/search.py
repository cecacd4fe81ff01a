"""What the cross-validated models share: folds, the exact search, and what it leaves behind."""

from __future__ import annotations

import math
import numbers
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from fractions import Fraction
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from sklearn import get_config
from sklearn.base import is_classifier
from sklearn.metrics import get_scorer
from sklearn.model_selection import check_cv
from sklearn.utils.metadata_routing import process_routing
from sklearn.utils.validation import _check_sample_weight

from certune.checks import as_float_or_nan
from certune.dual import DualFunction, PiecewiseFunction, sum_of
from certune.dual.scales import middle
from certune.errors import (
    InputError,
    ParameterError,
    ParameterTypeError,
    RangeWarning,
    UndecidedWarning,
    warn_user,
)
from certune.families.base import Family
from certune.guarantees.selection import standard_error
from certune.tuning import LineTuningResult, Status, TuningResult, tune

FloatArray = npt.NDArray[np.float64]
IndexArray = npt.NDArray[np.intp]

SELECTIONS = ("best", "one-standard-error", "robust")
# Standard errors of curves are rounded down to multiples of this.
FINEST = 10**12
# An optimum this close to an end of the range, relative to its logarithm's width, is at the end.
EDGE = 1e-6
# A wider range goes on by this factor.
WIDER = 1e3
# A gap up to this share of the score is not worth a warning.
NOTABLE = 1e-6
# A range that is recommended keeps away from what is not known by this factor.
BEYOND = 1.02
# A single value is the middle of a range whose ends differ from it by this, relatively.
NARROW = 2.0**-30
# Where 0 is allowed in a grid, the range begins at this times its smallest other value.
NEXT_TO_ZERO = 1e-10
# A limit of errors that is in the way is raised by this, then by its square, and so on.
RAISED = 16.0
HOPELESS = 1e90
# Sparse data are made dense: at most this many numbers, 1.6 GB.
MOST_ENTRIES = 200_000_000


class GivenRange(NamedTuple):
    """A range of a parameter that was given by its ends, by a grid, or by a single value.

    Attributes
    ----------
    low, high : float
        The range.
    only : float or None
        The single value, if nothing else is to be chosen; the range then lies closely around it.
    """

    low: float
    high: float
    only: float | None = None

    @classmethod
    def around(cls, value: float) -> GivenRange:
        """Return a range that stands for one value."""
        return cls(value * (1.0 - NARROW), value * (1.0 + NARROW), value)

    @property
    def ends(self) -> tuple[float, float]:
        """Both ends."""
        return self.low, self.high


class CertifiedSearch(ABC):
    """Mixin of models whose parameter is tuned exactly.

    Attributes
    ----------
    result_ : LineTuningResult
        Everything that tuning found, with pictures and tables.
    """

    result_: LineTuningResult
    cv: Any

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **params: Any) -> Self:
        """Find the best setting by cross-validation and fit the model with it.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Features.
        y : array-like of shape (n_samples,)
            Labels of classes, or targets.
        sample_weight : array-like of shape (n_samples,), optional
            Weights in the fits and in the scores of folds, at least 0; the scores of the folds of
            :class:`RidgeCV` do not count them, as in scikit-learn.
        **params : dict
            ``groups`` for the splitter; with metadata routing, whatever was requested.

        Returns
        -------
        object
            The fitted estimator.
        """
        self._fit(X, y, sample_weight, params)
        return self

    @abstractmethod
    def _fit(self, X: Any, y: Any, sample_weight: Any, params: dict[str, Any]) -> None:
        """Set the fitted attributes."""

    def _folds(
        self, X: FloatArray, y: npt.NDArray[Any], sample_weight: Any, params: dict[str, Any]
    ) -> list[tuple[IndexArray, IndexArray]]:
        """Return training and validation rows of every fold."""
        splitter = check_cv(self.cv, y, classifier=is_classifier(self))
        routed = self._routed(sample_weight, params)
        if routed is not None:
            return list(splitter.split(X, y, **routed.splitter.split))
        unknown = set(params) - {"groups"}
        if unknown:
            raise ParameterError(
                f"fit got unexpected arguments {sorted(unknown)}: passing these on is only "
                "supported if enable_metadata_routing=True, see sklearn.set_config; groups alone "
                "go to the splitter in any case."
            )
        return list(splitter.split(X, y, **params))

    def _routed(self, sample_weight: Any, params: dict[str, Any]) -> Any:
        """Return what goes to splitter and scorer with metadata routing, None without it."""
        if not get_config()["enable_metadata_routing"]:
            return None
        if sample_weight is not None:
            params = {**params, "sample_weight": sample_weight}
        return process_routing(self, "fit", **params)

    def _search(self, family: Family, instances: Sequence[Any], n_jobs: Any, verbose: Any) -> None:
        result = unless_interrupted(tune(family, instances, n_jobs=n_jobs, progress=bool(verbose)))
        assert isinstance(result, LineTuningResult)
        self.result_ = result

    def _search_below(self, limit: float, search: Callable[[float], list[TuningResult]]) -> None:
        """Search with a limit of errors, and with a larger one if it may hide the optimum.

        Errors beyond the limit count as it. Where no error of the best setting reaches the limit,
        its score is its own, that of any other setting is at most the one that was compared, and
        the optimum is the same as without limit.

        Parameters
        ----------
        limit : float
            The limit to begin with.
        search : callable
            Searches with a limit and returns what it found, the largest value of which counts.
        """
        factor = RAISED
        while True:
            found = search(limit)
            best = max(found, key=lambda result: result.best_value_exact)
            family, params = best.family, best.best_params
            utilities = (family.run_exact(instance, params) for instance in best.instances)
            if min(utilities) > 0 or limit * factor > HOPELESS:
                return
            limit, factor = limit * factor, factor**2

    @property
    def landscape_(self) -> DualFunction:
        """Mean score over the folds as a function of the parameter, greater being better.

        As in scikit-learn, losses are negated.
        """
        return _shifted(self.result_.landscape, self._offset, self._unit)

    @property
    def best_score_(self) -> float:
        """Mean score of the best setting, losses negated; see `selection` for another choice."""
        return self._unit * score_of(self.result_)

    @property
    def upper_bound_(self) -> float:
        """No setting of the range has a larger mean score."""
        return float(self._unit * (self.result_.upper_bound_exact + self._offset))

    @property
    def gap_(self) -> float:
        """How far the best setting can be from the optimum: bound minus score."""
        return self._unit * self.result_.gap

    @property
    def best_region_(self) -> list[tuple[float, float]]:
        """Intervals of the parameter that contain every optimum."""
        return self.result_.best_region

    @property
    def certificate_(self) -> Any:
        """What :func:`certune.verify` needs to check the optimum."""
        return self.result_.certificate

    @property
    def _offset(self) -> Fraction:
        """What is added to a utility to give scikit-learn's score."""
        return offset_of(self.result_)

    @property
    def _unit(self) -> int:
        """By what a score is multiplied to give scikit-learn's."""
        return 1

    def _fold_scores(self, grid: FloatArray) -> FloatArray:
        """Return the scores of all folds at values of the parameter, a row for each fold.

        At the few values where the score changes, it is what a plain run gives.
        """
        rows, segment = [], self.result_.segment
        # 0 stands for a number next to it.
        grid = np.clip(grid, segment.low, segment.high)
        for dual, instance in zip(self.result_.duals, self.result_.instances, strict=True):
            values = np.asarray(dual(grid))
            for place in np.flatnonzero(np.isnan(values)).tolist():
                values[place] = self.result_.family.run(instance, float(grid[place]))
            rows.append(values)
        return np.asarray(self._unit * (np.array(rows) + float(self._offset)))

    def _chosen(
        self, selection: str, only: float | None, simple_is_low: bool, quiet_above: bool = False
    ) -> float:
        """Return the parameter that a rule selects, and warn if it is at the end of the range.

        With `quiet_above` there is nothing new beyond the upper end; with `only` there is no
        choice.
        """
        if only is not None:
            return only
        result, landscape = self.result_, self.result_.landscape
        name = result.segment.name
        if selection == "one-standard-error":
            return self._simplest_within_one_error(simple_is_low)
        if selection == "robust":
            return float(result.robust_params[name])
        best = float(result.best_params[name])
        if isinstance(landscape, PiecewiseFunction):
            # All of the optimal set is equally good: the middle of its widest part, in decades.
            best = middle(*landscape.widest_plateau(0, "log"), "log")
        self._warn_at_edge(best, quiet_above)
        return best

    def _simplest_within_one_error(self, simple_is_low: bool) -> float:
        """Return the most regularised setting within one standard error of the best.

        This is the rule of Breiman, Friedman, Olshen and Stone (1984), as in glmnet.
        """
        landscape = self.result_.landscape
        best = landscape.best_point
        utilities = [dual.enclose_exact(best)[0] for dual in self.result_.duals]
        finest = landscape.denominator if isinstance(landscape, PiecewiseFunction) else FINEST
        level = landscape.max_exact - standard_error(utilities, finest)
        intervals = landscape.superlevel(level) or [(best, best)]
        return intervals[0][0] if simple_is_low else intervals[-1][1]

    def _warn_if_open(self, results: Iterable[LineTuningResult]) -> None:
        """Warn where a part of the range may hold a better setting, and tell what is proved."""
        for result in results:
            if result.status is not Status.UNDECIDED:
                continue
            name, low, high = result.segment.name, result.segment.low, result.segment.high
            best = float(result.best_params[name])
            unknown = [part for part in result.best_region if not part[0] <= best <= part[1]]
            if not unknown and result.gap <= NOTABLE * abs(score_of(result)):
                continue
            proved = (
                max((stop * BEYOND for _, stop in unknown if stop < best), default=low),
                min((start / BEYOND for start, _ in unknown if start > best), default=high),
            )
            places = ", ".join(f"{start:.3g} to {stop:.3g}" for start, stop in unknown)
            advice = (
                f": from {places} the score is not known well enough to exclude a better one. "
                f"There is a proof for {name}s=({proved[0]:.3g}, {proved[1]:.3g})."
                if unknown
                else ", which is what rounding errors leave open around it: raise the lower end of "
                "the range, or standardise."
            )
            warn_user(
                f"The best {name} = {best:.6g} of the range [{low:.6g}, {high:.6g}] is proved up "
                f"to a gap of {result.gap:.3g} only{advice}",
                UndecidedWarning,
            )

    def _warn_at_edge(self, best: float, quiet_above: bool) -> None:
        landscape = self.result_.landscape
        name, low, high = landscape.name, landscape.low, landscape.high
        reach = EDGE * math.log(high / low)
        if math.log(best / low) <= reach:
            wider = (low / WIDER, high)
        elif math.log(high / best) <= reach and not quiet_above:
            wider = (low, high * WIDER)
        else:
            return
        warn_user(
            f"The best {name} = {best:.6g} lies at the end of the range [{low:.6g}, {high:.6g}]; "
            f"try the range ({wider[0]:.6g}, {wider[1]:.6g}).",
            RangeWarning,
        )


def unless_interrupted(result: TuningResult) -> TuningResult:
    """Return a result, or raise as the interrupt did: a part of the folds makes no model."""
    if result.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    return result


def offset_of(result: TuningResult) -> Fraction:
    """Return what is added to a utility to give scikit-learn's score."""
    score = result.family.score
    start = Fraction(score.at_zero)
    return start if score.greater_is_better else -start


def score_of(result: LineTuningResult) -> float:
    """Return the best value of a result as scikit-learn's score."""
    return float(result.best_value_exact + offset_of(result))


def _shifted(function: DualFunction, offset: Fraction, unit: int) -> DualFunction:
    if offset:
        constant = PiecewiseFunction.constant(function.low, function.high, offset, function.name)
        function = sum_of([function, constant])
    return function if unit == 1 else function * Fraction(unit)


def checked_selection(selection: Any) -> str:
    """Return the name of a rule, or raise `ParameterError`."""
    if not isinstance(selection, str) or selection not in SELECTIONS:
        raise ParameterError(f"selection must be one of {SELECTIONS}, got {selection!r}.")
    return selection


def scoring_name(scoring: Any, names: Iterable[str]) -> str | None:
    """Return the name of a score that is given by it, or as scikit-learn's scorer of that name.

    Parameters
    ----------
    scoring : str or scorer
        The score; scorers can say whether they take sample weights.
    names : iterable of str
        The names to choose from.

    Returns
    -------
    str or None
        None if it is none of them.
    """
    for name in names:
        if isinstance(scoring, str):
            if scoring == name:
                return name
        elif _traits(scoring) == _traits(get_scorer(name)):
            return name
    return None


def meant(scoring: Any, names: Iterable[str]) -> str:
    """Return the part of a message that guesses which score was meant, if one is near."""
    near = (
        get_close_matches(scoring, list(names), n=1, cutoff=0.7) if isinstance(scoring, str) else []
    )
    return f" (did you mean {near[0]!r}?)" if near else ""


def _traits(scorer: Any) -> tuple[Any, ...]:
    """Return what a scorer computes, apart from the metadata that it requests."""
    names = ("_score_func", "_sign", "_kwargs", "_response_method")
    return tuple(getattr(scorer, name, None) for name in names)


def checked_range(
    name: str, values: Any, default: GivenRange | None = None, allows_zero: bool = False
) -> GivenRange:
    """Return the range that a grid of scikit-learn spans.

    Parameters
    ----------
    name : str
        Name of the argument, for messages.
    values : int, float or array-like of float
        Values whose smallest and largest are the range; or a number of grid points, which stands
        for the default range. Without such a range, a number is a single value.
    default : GivenRange, optional
        The default range.
    allows_zero : bool, default=False
        Whether 0 may be among the values; it stands for a number close to it.
    """
    is_count = isinstance(values, numbers.Integral) and not isinstance(values, (bool, np.bool_))
    if is_count and default is not None and int(values) >= 1:
        return default
    if default is None and np.ndim(values) == 0 and not isinstance(values, str):
        values = np.reshape(values, 1)
    if isinstance(values, str) or np.ndim(values) != 1 or not len(values):
        raise ParameterError(
            f"{name} must be a range (low, high) of positive numbers, a grid that spans one"
            + (", or a single value" if default is None else "")
            + (", or a number of grid points for the default range" if default else "")
            + f", got {values!r}."
        )
    entries = [_entry(name, i, value, allows_zero) for i, value in enumerate(values)]
    positive = [entry for entry in entries if entry > 0.0]
    if not positive:
        raise ParameterError(
            f"{name} must have a value above 0, got {values!r}; for 0 alone, use "
            "sklearn.linear_model.LinearRegression."
        )
    low, high = min(entries) or NEXT_TO_ZERO * min(positive), max(entries)
    return GivenRange.around(low) if low == high else GivenRange(low, high)


def _entry(name: str, number: int, value: Any, allows_zero: bool) -> float:
    if not isinstance(value, numbers.Real) or isinstance(value, (bool, np.bool_)):
        kind = type(value).__name__
        raise ParameterTypeError(f"{name}[{number}] must be an instance of float, not {kind}.")
    entry = as_float_or_nan(value)
    if not (0.0 < entry < math.inf or (allows_zero and entry == 0.0)):
        least = ">= 0.0" if allows_zero else "> 0.0"
        raise ParameterError(
            f"{name}[{number}] == {value}, must be {least}. {name} is a range (low, high) of "
            "positive numbers, or a grid that spans one."
        )
    return entry


def grid_of(values: Any, given: GivenRange) -> FloatArray:
    """Return the values at which `scores_` shows the curves: the given grid, or an even one."""
    low, high, only = given
    if isinstance(values, numbers.Integral):
        if only is not None:
            return np.full(int(values), only)
        return np.clip(np.geomspace(low, high, max(int(values), 2)), low, high)
    return np.unique(np.asarray(values, dtype=np.float64))


def check_features(X: Any) -> None:
    """Raise `InputError` if features are text or missing, naming column and row."""
    if hasattr(X, "iloc") and hasattr(X, "columns"):
        _check_frame(X)
        return
    if not isinstance(X, (np.ndarray, list, tuple)):
        return
    _check_real(X, "X")
    try:
        entries = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError):
        return  # scikit-learn tells what is wrong with the form
    except OverflowError:
        raise InputError(
            "X has a whole number beyond the range of floats; divide the numbers of its column."
        ) from None
    if entries.ndim != 2:
        return
    wrong = np.argwhere(~np.isfinite(entries))
    if wrong.size:
        row, column = wrong[0].tolist()
        raise InputError(
            f"X has the value {_shown(entries[row, column])} in row {row}, column {column} "
            "(counted from 0); drop these rows, or fill them, for example with "
            "sklearn.impute.SimpleImputer in a pipeline."
        )


def _check_real(values: Any, what: str) -> None:
    if np.iscomplexobj(values):
        raise InputError(
            f"Complex data not supported: {what} must be real numbers; take .real, or give real "
            "and imaginary parts as columns of their own."
        )


def check_targets(y: Any) -> None:
    """Raise `InputError` if numbers to be predicted are text or missing, naming the row."""
    if not isinstance(y, (np.ndarray, list, tuple)) and not hasattr(y, "iloc"):
        return
    _check_real(y, "y")
    try:
        if np.isfinite(np.asarray(y, dtype=np.float64)).all():
            return
    except (TypeError, ValueError, OverflowError):
        pass
    for row, value in enumerate(np.asarray(y, dtype=object).ravel().tolist()):
        if value is None or not _is_number(value):
            raise InputError(
                f"y must be numbers, got {value!r} in row {row}; for classes use "
                "LogisticRegressionCV."
            )
        if not math.isfinite(float(value)):
            raise InputError(
                f"y has the value {_shown(float(value))} in row {row} (counted from 0); drop rows "
                "without a target."
            )


def checked_weights(sample_weight: Any, X: Any) -> Any:
    """Return sample weights as an array, or raise `InputError` with the row of a wrong one."""
    if sample_weight is None:
        return None
    _check_finite_weights(sample_weight)
    weights = _check_sample_weight(sample_weight, X, dtype=np.float64)
    negative = np.flatnonzero(weights < 0.0)
    if negative.size:
        raise InputError(
            "Negative values in data passed to `sample_weight`: it must be at least 0, got "
            f"{weights[negative[0]]:g} in row {negative[0]} (counted from 0)."
        )
    return weights


def _check_finite_weights(sample_weight: Any) -> None:
    try:
        entries = np.asarray(sample_weight, dtype=np.float64).ravel()
    except (TypeError, ValueError):
        return  # scikit-learn tells what is wrong with the form
    except OverflowError:
        raise InputError(
            "sample_weight has a whole number beyond the range of floats; divide all weights."
        ) from None
    wrong = np.flatnonzero(~np.isfinite(entries))
    if wrong.size:
        raise InputError(
            f"sample_weight has the value {_shown(float(entries[wrong[0]]))} in row {wrong[0]} "
            "(counted from 0); use 0 for rows that do not count."
        )


def check_labels(y: Any) -> None:
    """Raise `InputError` if labels of classes are missing, naming the row."""
    if not isinstance(y, (np.ndarray, list, tuple)) and not hasattr(y, "isna"):
        return
    entries = np.asarray(y, dtype=object)
    for row, value in enumerate(entries.ravel().tolist() if entries.ndim <= 2 else []):
        # Missing values of numpy and pandas are not equal to themselves, or to nothing at all.
        if value is None or type(value).__name__ == "NAType" or bool(value != value):
            raise InputError(
                f"Input y contains NaN: there is no label in row {row} (counted from 0); drop rows "
                "without a label, or label them with certune.HarmonicLabeling."
            )


def _shown(value: float) -> str:
    return "NaN" if math.isnan(value) else "infinity (inf)"


def _check_frame(X: Any) -> None:
    for place, name in enumerate(X.columns):
        column = X.iloc[:, place]
        missing = np.flatnonzero(np.asarray(column.isna()))
        if missing.size:
            raise InputError(
                f"column {name!r} of X has the value NaN in row {missing[0]}; drop these rows, or "
                "fill them, for example with sklearn.impute.SimpleImputer in a pipeline."
            )
        try:
            np.asarray(column, dtype=np.float64)
        except (TypeError, ValueError):
            row, value = next(
                (row, value) for row, value in enumerate(column) if not _is_number(value)
            )
            raise InputError(
                f"column {name!r} of X must be numbers, got {value!r} in row {row}; encode it, for "
                "example with sklearn.preprocessing.OneHotEncoder in a ColumnTransformer."
            ) from None


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError, OverflowError):
        return False
    return True


def dense(X: Any) -> FloatArray:
    """Return features as a dense array, or raise `InputError` if that needs too much memory."""
    if not hasattr(X, "toarray"):
        return np.asarray(X, dtype=np.float64)
    n_rows, n_columns = X.shape
    if n_rows * n_columns > MOST_ENTRIES:
        raise InputError(
            f"X has {n_rows} x {n_columns} entries, too many to be made dense ({MOST_ENTRIES:,} at "
            "most): select columns, or reduce their number, for example with TruncatedSVD."
        )
    return np.asarray(X.toarray(), dtype=np.float64)


def rows_of(values: Any, rows: IndexArray) -> Any:
    """Return some rows of an array that may be None."""
    return None if values is None else np.asarray(values)[rows]
