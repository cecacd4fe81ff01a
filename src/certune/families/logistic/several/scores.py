"""Scores of several classes: at one solution, and along a path.

Log-loss and Brier score are smooth functions of the decisions. Accuracy and balanced accuracy
count the points whose class has the largest decision; the area under the ROC curve, averaged over
the classes, counts pairs of points that a class's chances put in the right order.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from certune.dual import DualFunction, PiecewiseFunction, PiecewisePolynomial, sum_of
from certune.errors import InputError, UndecidedError
from certune.families.logistic.accuracy import (
    Parts,
    certain_signs,
    class_shares,
    stacked,
    weighted_count,
)
from certune.families.logistic.instance import ClassificationInstance
from certune.families.logistic.metric import Metric, Solver
from certune.families.logistic.panels import Quantity
from certune.families.logistic.path import CoefficientPath, Solution
from certune.families.logistic.ranking import TOGETHER, Pairs
from certune.families.logistic.several.certain import all_of
from certune.families.logistic.several.classes import SeveralClasses
from certune.families.logistic.utility import REMEDY, UNIT, followed

FloatArray = npt.NDArray[np.float64]
IndexArray = npt.NDArray[np.intp]


class MeanLoss(Metric[SeveralClasses]):
    """The mean log-loss, or half the squared distance of chances and truth (Brier score).

    Parameters
    ----------
    is_brier : bool
        Which of them.
    largest : float
        Losses beyond this count as this.
    """

    def __init__(self, is_brier: bool, largest: float) -> None:
        self.is_brier, self.largest = is_brier, largest

    def losses(self, decisions: FloatArray, data: SeveralClasses) -> FloatArray:
        """Return the loss of each point."""
        logs, codes = data.log_chances(decisions), data.instance.codes_val
        if not self.is_brier:
            return np.asarray(-logs[..., np.arange(codes.size), codes])
        away = np.exp(logs)
        away[..., np.arange(codes.size), codes] -= 1.0
        return np.asarray(0.5 * (away**2).sum(axis=-1))

    def quantity(self, data: SeveralClasses) -> Quantity:
        """Return the mean loss.

        A Brier score changes by at most sum |p_k - y_k| |p_k - p'_k|, which is no more than the
        largest change of a logarithm of a chance, as the first factors are at most 1 and the
        chances sum to 1.
        """
        rows, shares = data.validation, data.instance.validation_shares
        norms = np.sqrt((rows**2).sum(axis=1))
        steepness = data.steepness * float(shares @ norms) * (1 + 1e-9) + 1e-300
        return Quantity(
            lambda b: (self.losses(data.decisions(b), data) @ shares)[..., None], steepness
        )

    def at(self, solution: Solution, data: SeveralClasses) -> Fraction:
        """Return ``largest - loss``, cut off at 0."""
        losses = self.losses(data.decisions(solution.coefficients), data)
        loss = float(losses @ data.instance.validation_shares)
        return Fraction(min(max(self.largest - loss, 0.0), self.largest))

    def along(self, path: CoefficientPath, data: SeveralClasses, solve: Solver) -> DualFunction:
        """Return ``largest - loss``; whoever asked for it cuts it off at 0."""
        coefficients = -followed(path)[:, :, 0]
        coefficients[:, 0] += self.largest
        nothing = np.zeros(len(path.pieces) - 1)
        return PiecewisePolynomial(
            path.starts, path.stops, coefficients, _stated_errors(path, data), nothing, nothing,
            "lam", "log",
        )  # fmt: skip


class RightShare(Metric[SeveralClasses]):
    """The share of points, or the mean of the classes' shares, that are classified rightly.

    Parameters
    ----------
    balanced : bool
        Whether all classes count alike, as far as they occur.
    """

    def __init__(self, balanced: bool) -> None:
        self.balanced = balanced

    def quantity(self, data: SeveralClasses) -> Quantity:
        """Return all decisions."""
        norms = np.sqrt((data.validation**2).sum(axis=1))
        steepness = float(norms.max()) * (1 + 1e-9) + 1e-300
        return Quantity(lambda b: _flat(data.decisions(b)), steepness)

    def shares(self, data: SeveralClasses) -> list[Fraction]:
        """Return how much each validation point counts; the sum is 1."""
        weights = data.instance.exact_validation_weights
        return class_shares(weights, data.instance.codes_val.tolist(), self.balanced)

    def at(self, solution: Solution, data: SeveralClasses) -> Fraction:
        """Return the share."""
        pairs = zip(self._hits(solution, data).tolist(), self.shares(data), strict=True)
        return sum((share for hit, share in pairs if hit), Fraction(0))

    @staticmethod
    def _hits(solution: Solution, data: SeveralClasses) -> npt.NDArray[np.int64]:
        """Return 1 for every validation point whose class has the largest decision, else 0.

        At a tie the first of two classes is ahead, as in scikit-learn.
        """
        decisions, codes = data.decisions(solution.coefficients), data.instance.codes_val
        places = np.arange(codes.size)
        ahead = decisions[places, codes][:, None] - decisions
        norms = np.sqrt((data.validation**2).sum(axis=1))
        size = float(np.linalg.norm(solution.coefficients))
        known = solution.radius + 4 * (data.n_columns + 8) * UNIT * size
        reach = np.broadcast_to((2.0**0.5 * known * norms)[:, None], ahead.shape).copy()
        empty = _without_features(solution.columns, data)
        both = empty[codes][:, None] & empty[None, :]
        if both.any():
            ahead = np.where(both, data.order_without_features[codes], ahead)
            reach = np.where(both, 0.0, reach)
        same = codes[:, None] == np.arange(data.n_classes)
        first = codes[:, None] <= np.arange(data.n_classes)
        exact = reach == 0.0
        behind = (ahead < -reach) | (exact & (ahead == 0.0) & ~first)
        missed = (behind & ~same).any(axis=1)
        # Where another class is ahead for sure, it does not matter which ones tie.
        open_ = ((np.abs(ahead) <= reach) & ~exact & ~same).any(axis=1) & ~missed
        if open_.any():
            raise UndecidedError(
                f"Validation point {int(np.argmax(open_))} lies on the boundary between two "
                f"classes up to the error of the solution; {REMEDY}."
            )
        return np.asarray(~missed, dtype=np.int64)

    def along(self, path: CoefficientPath, data: SeveralClasses, solve: Solver) -> DualFunction:
        """Return the share as a function of lam."""
        codes, n_classes = data.instance.codes_val, data.n_classes
        polynomials = followed(path).reshape(len(path.pieces), -1, codes.size, n_classes)
        errors = 2.0 * _stated_errors(path, data)
        low, high = float(path.starts[0]), float(path.stops[-1])
        empty = [_without_features(columns, data) for columns in path.columns]
        certain: list[Parts] = []
        for points in _chunks(codes.size, polynomials[:, :, 0].size):
            own = codes[points]
            ahead = polynomials[:, :, points, own, None] - polynomials[:, :, points]
            ahead = ahead.transpose(2, 3, 0, 1)
            known = np.broadcast_to(errors, ahead.shape[:3]).copy()
            _settle_without_features(ahead, known, own, empty, data)
            same = own[:, None] == np.arange(n_classes)
            first = own[:, None] < np.arange(n_classes)
            parts = certain_signs(stacked(path, ahead[~same], known[~same]), first[~same])
            for place in range(0, len(parts), n_classes - 1):
                certain.append(all_of(parts[place : place + n_classes - 1], low, high))

        def hits(lam: float) -> npt.NDArray[np.int64]:
            return self._hits(solve(lam), data)

        return weighted_count(certain, self.shares(data), low, high, hits)


class MeanArea(Metric[SeveralClasses]):
    """The mean over the classes of the area under the ROC curve of each against the rest."""

    def check(self, instance: ClassificationInstance) -> None:
        """Raise `InputError` if a class does not occur in the validation data."""
        counted = instance.codes_val
        if instance.weights_val is not None:
            counted = counted[instance.weights_val > 0.0]
        missing = np.setdiff1d(np.arange(instance.n_classes), counted)
        if missing.size:
            name = instance.name or "an instance"
            raise InputError(
                "ROC AUC is not defined where a class does not occur in the validation data, as "
                f"{instance.classes[missing[0]]!r} in {name}; use stratified folds, more "
                "validation points, or another score."
            )

    def quantity(self, data: SeveralClasses) -> Quantity:
        """Return the logarithms of all chances, which are in the same order as the chances."""
        norms = np.sqrt((data.validation**2).sum(axis=1))
        steepness = data.steepness * float(norms.max()) * (1 + 1e-9) + 1e-300
        return Quantity(lambda b: _flat(data.log_chances(data.decisions(b))), steepness)

    def at(self, solution: Solution, data: SeveralClasses) -> Fraction:
        """Return the mean area."""
        total = Fraction(0)
        for number in range(data.n_classes):
            pairs = Pairs.of(data.instance, number)
            total += pairs.weighted(_orders_at(solution, data, number, pairs))
        return total / (2 * data.n_classes)

    def along(self, path: CoefficientPath, data: SeveralClasses, solve: Solver) -> DualFunction:
        """Return the mean area as a function of lam."""
        areas = [self._area(path, data, solve, number) for number in range(data.n_classes)]
        return sum_of(areas) * Fraction(1, data.n_classes)

    @staticmethod
    def _area(
        path: CoefficientPath, data: SeveralClasses, solve: Solver, number: int
    ) -> PiecewiseFunction:
        """Return the area of one class against the rest."""
        pairs = Pairs.of(data.instance, number)
        shape = len(path.pieces), -1, len(data.validation), data.n_classes
        logs = followed(path).reshape(shape)[:, :, :, number]
        errors = 2.0 * _stated_errors(path, data)
        strict: list[Parts] = []
        weak: list[Parts] = []
        for chosen in _chunks(pairs.above.size, logs[:, :, 0].size):
            above, below = pairs.above[chosen], pairs.below[chosen]
            apart = (logs[:, :, above] - logs[:, :, below]).transpose(2, 0, 1)
            known = np.tile(errors, (above.size, 1))
            tied = _tied(path.columns, data, above, below)
            apart[tied], known[tied] = 0.0, 0.0
            polynomials = stacked(path, apart, known)
            wins = certain_signs(polynomials, np.zeros(above.size, dtype=bool))
            strict += wins
            if tied.any():
                wins = certain_signs(polynomials, np.ones(above.size, dtype=bool))
            weak += wins

        def answers(lam: float) -> npt.NDArray[np.int64]:
            found = _orders_at(solve(lam), data, number, pairs)
            return np.append(found == 2, found >= 1).astype(np.int64)

        # A pair counts half for ">" and half for ">=".
        low, high = float(path.starts[0]), float(path.stops[-1])
        counted = weighted_count([*strict, *weak], pairs.sizes * 2, low, high, answers)
        return counted * Fraction(1, 2 * pairs.total)


def _orders_at(
    solution: Solution, data: SeveralClasses, number: int, pairs: Pairs
) -> npt.NDArray[np.int64]:
    """Return for each pair 2 if a class's chances order it rightly, 1 at a tie, and 0 otherwise."""
    logs = data.log_chances(data.decisions(solution.coefficients))[:, number]
    norms = np.sqrt((data.validation**2).sum(axis=1))
    size = float(np.linalg.norm(solution.coefficients))
    reach = norms * data.steepness * (solution.radius + 4 * (data.n_columns + 8) * UNIT * size)
    reach += 8 * UNIT * (data.n_classes + np.abs(logs))
    apart = logs[pairs.above] - logs[pairs.below]
    tied = _tied([solution.columns], data, pairs.above, pairs.below)[:, 0]
    open_ = (np.abs(apart) <= reach[pairs.above] + reach[pairs.below]) & ~tied
    if open_.any():
        first = int(np.argmax(open_))
        raise UndecidedError(
            f"Validation points {pairs.above[first]} and {pairs.below[first]} have the same chance "
            f"of class {data.instance.classes[number]!r} up to the error of the solution; {REMEDY}."
        )
    return np.where(tied, 1, np.where(apart > 0.0, 2, 0))


def _tied(
    columns: Sequence[IndexArray], data: SeveralClasses, above: IndexArray, below: IndexArray
) -> npt.NDArray[np.bool_]:
    """Tell which pairs agree in all features with a coefficient, for each of several pieces."""
    rows, found = data.validation, []
    for active in columns:
        places = np.unique(active % data.n_columns)
        features = places[places < data.n_features]
        found.append((rows[above][:, features] == rows[below][:, features]).all(axis=1))
    return np.column_stack(found)


def _without_features(columns: IndexArray, data: SeveralClasses) -> npt.NDArray[np.bool_]:
    """Tell for which classes all coefficients are zero, but for the intercept."""
    with_features = columns[columns % data.n_columns < data.n_features] // data.n_columns
    return ~np.isin(np.arange(data.n_classes), with_features)


def _settle_without_features(
    ahead: FloatArray,
    known: FloatArray,
    own: IndexArray,
    empty: Sequence[npt.NDArray[np.bool_]],
    data: SeveralClasses,
) -> None:
    """Put what is known into differences of classes that have nothing but intercepts."""
    for piece, classes in enumerate(empty):
        both = classes[own][:, None] & classes[None, :]
        if both.any():
            ahead[both, piece] = 0.0
            ahead[both, piece, 0] = data.order_without_features[own][both]
            known[both, piece] = 0.0


def _stated_errors(path: CoefficientPath, data: SeveralClasses) -> FloatArray:
    """Return the stated errors, with the rounding of decisions, chances and the transform."""
    rows = data.validation
    norm = float(np.sqrt((rows**2).sum(axis=1)).max())
    terms, errors = data.n_columns + data.n_classes + 8, []
    for piece in path.pieces:
        size = float(np.abs(piece.quantity).sum(axis=0).max())
        reach = float(np.linalg.norm(piece.points, axis=1).sum())
        rounding = terms * norm * reach + (len(rows) + 16 * len(piece.points)) * (size + 1.0)
        errors.append(piece.error + 4 * UNIT * rounding)
    return np.array(errors)


def _flat(values: FloatArray) -> FloatArray:
    return np.asarray(values.reshape(*values.shape[:-2], -1))


def _chunks(count: int, size: int) -> list[IndexArray]:
    """Divide numbers into parts whose polynomials, of a size each, fit into memory."""
    many = max(1, TOGETHER // size)
    return [np.arange(start, min(start + many, count)) for start in range(0, count, many)]


def several_metric(name: str, max_loss: float) -> Metric[SeveralClasses]:
    """Return a metric by its name.

    Parameters
    ----------
    name : str
        One of `certune.families.logistic.scoring.METRICS`.
    max_loss : float
        A log-loss beyond this counts as this.
    """
    if name in ("log-loss", "brier"):
        return MeanLoss(name == "brier", 1.0 if name == "brier" else max_loss)
    return MeanArea() if name == "roc-auc" else RightShare(name == "balanced-accuracy")
