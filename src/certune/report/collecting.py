"""Collecting findings: what a tuning result knows, asked for through its own methods.

This layer lies below tuning and imports nothing of it: a result is whatever has its attributes and
methods.
"""

from __future__ import annotations

import datetime
import hashlib
import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from certune.dual import CellMap, DualFunction
from certune.errors import CertuneError
from certune.families.base import Family
from certune.families.graph_ssl import LabelingInstance
from certune.families.logistic import ClassificationInstance
from certune.families.regression import RegressionInstance
from certune.report.curves import Curve, curve_of
from certune.report.findings import (
    Axis,
    CellsFinding,
    ComparisonFinding,
    CrossValidationFinding,
    Findings,
    HeldOutFinding,
    InstanceFinding,
    LearningFinding,
)
from certune.report.portraits import portrait_of
from certune.scores import Score
from certune.space import LogReal

# Curves of single instances need fewer places than the landscape.
PLACES_OF_INSTANCES, PLACES_OF_LANDSCAPE = 120, 600
ROBUST_SHARE = 0.01
# Of a map, so much may be open for statements about the whole of it.
MOST_OPEN = 0.1
# Places of the two points of Gauss in an interval.
GAUSS = (0.5 - 0.5 / 3**0.5, 0.5 + 0.5 / 3**0.5)
PACKAGES = ("certune", "numpy", "scipy", "scikit-learn", "python-flint")


class _Units:
    """From utilities to the score that people know."""

    def __init__(self, score: Score) -> None:
        self.score = score

    def of(self, utility: Any) -> float:
        return float(self.score.of(utility))

    def pair(self, low: float, high: float) -> tuple[float, float]:
        """Return an interval of utilities as one of scores, in order."""
        ends = sorted((self.of(low), self.of(high)))
        return ends[0], ends[1]

    def curve(self, curve: Curve) -> Curve:
        values = tuple(None if value is None else self.of(value) for value in curve.values)
        return Curve(curve.places, values, curve.steps)


def findings_of(
    result: Any,
    held_out: Any = None,
    *,
    title: str = "",
    cells: CellMap | None = None,
    history: Iterable[tuple[float, float, float]] = (),
    shared_rows: bool | None = None,
    held_out_groups: Sequence[str] = (),
    command: str = "",
    code: str = "",
    columns: Sequence[str] = (),
) -> Findings:
    """Collect what a report says.

    Of a choice, what is said of the winner, with the status, the bound and the guarantee of all
    alternatives together.

    Parameters
    ----------
    result : TuningResult or ChoiceResult
        The result.
    held_out : HeldOutEvaluation, optional
        Its best setting on held-out instances.
    title : str, optional
        Headline.
    cells : CellMap, optional
        The plane of two parameters.
    history : iterable of (seconds, best, bound)
        Utilities over time.
    shared_rows : bool
        Whether some instances are folds of the same rows, and so not independent; by default that
        is looked up.
    held_out_groups : sequence of str, optional
        For every held-out instance, the table of which it is a fold.
    command, code : str, optional
        What repeats the run.
    columns : sequence of str, optional
        Names of the columns of the instances.
    """
    if hasattr(result, "best_alternative"):
        winner = findings_of(
            result.best, held_out, title=title or result.title, cells=cells, history=history,
            shared_rows=shared_rows, held_out_groups=held_out_groups, command=command, code=code,
            columns=columns,
        )  # fmt: skip
        return _among_alternatives(result, winner, held_out)
    if shared_rows is None:
        shared_rows = are_folds(result.instances)
    units = _Units(result.family.score)
    axis = _axis(result)
    low, high = result.family.utility_range
    needed_epsilon = 0.05 * (high - low)
    return Findings(
        **_common(result, units, axis),
        title=title or f"Tuning of {type(result.family).__name__}",
        measure=result.criterion.words(units.score.name),
        robust_params=plain_params(result.robust()),
        best_value=result.best_score,
        bound=result.score_bound,
        shared_rows=shared_rows,
        n_finished=len(result.duals) if result.family.space.n_free == 1 else len(result.instances),
        instances=_instances(result, units, axis),
        failures=tuple(
            (result.evaluation.instance_names[number], why)
            for number, why in getattr(result, "failures", {}).items()
        ),
        held_out=None
        if held_out is None
        else _held_out(held_out, units, result.family, held_out_groups),
        **({} if shared_rows else _expectations(result, held_out, units, needed_epsilon)),
        needed_epsilon=needed_epsilon,
        cells=None if cells is None else _cells(cells, units),
        importance=() if cells is None else importance_of(cells),
        portrait=portrait_of(result, columns),
        history=tuple((time, units.of(best), units.of(bound)) for time, best, bound in history),
        command=command,
        code=code,
    )


def _among_alternatives(result: Any, winner: Findings, held_out: Any) -> Findings:
    """What is said of the winner of a choice, whose claims are about all alternatives."""
    # How many instances the winner's own family needs says nothing about the choice.
    guarantee = winner.guarantee and _guarantee(result, held_out, _Units(result.choice.score))
    params_of, name = result.choice.params_of, result.best_alternative
    return replace(
        winner,
        status=result.status.name,
        status_text=result.status.value,
        proved=_is_proof(result.status),
        bound=result.score_bound,
        gap=result.gap,
        elapsed=result.elapsed,
        best_params=plain_params(result.best_params),
        robust_params=plain_params(params_of(name, result.best.robust())),
        n_alternatives=len(result.alternatives),
        guarantee=guarantee,
        needed=(),
    )


def _is_proof(status: Any) -> bool:
    return status.name in ("OPTIMAL", "GAP_LIMIT")


def are_folds(instances: Iterable[Any]) -> bool:
    """Tell whether two instances have all their rows in common, for training and judging together.

    Parameters
    ----------
    instances : iterable
        Instances of any family; those that have no rows of features are no folds.
    """
    seen: set[bytes] = set()
    for instance in instances:
        if isinstance(instance, LabelingInstance):
            rows = np.ascontiguousarray(instance.distances)
        elif isinstance(instance, (ClassificationInstance, RegressionInstance)):
            parts = (instance.X, instance.X_val)
            rows = np.vstack([part for part in parts if part is not None])
            rows = rows[np.lexsort(rows.T)]
        else:
            return False
        mark = hashlib.sha256(repr(rows.shape).encode() + rows.tobytes()).digest()
        if mark in seen:
            return True
        seen.add(mark)
    return False


def stream_findings(result: Any, title: str = "") -> Findings:
    """Collect what a report says about a stream, of which no instance was kept.

    Parameters
    ----------
    result : StreamResult
        The result.
    title : str, optional
        Headline.
    """
    units, axis = _Units(result.family.score), _axis(result)
    plateau = _plateau(result, axis)
    return Findings(
        **_common(result, units, axis),
        title=title or f"Tuning of {type(result.family).__name__} on a stream",
        robust_params=plain_params(result.segment.at(_middle(plateau, axis))),
        best_value=units.of(result.best_value),
        bound=units.of(result.upper_bound),
        shared_rows=False,
        n_finished=result.n_instances - result.n_failed,
        n_streamed=result.n_instances,
        failures=tuple(result.failures.items()),
        instances=(),
    )


def _common(result: Any, units: _Units, axis: Axis) -> dict[str, Any]:
    """What every result says: its status, and its landscape."""
    status, family = result.status, result.family
    low, high = family.utility_range
    plateau = _plateau(result, axis)
    return dict(
        score=units.score.name,
        greater_is_better=units.score.greater_is_better,
        score_range=units.pair(low, high),
        family=repr(family),
        family_fingerprint=family.fingerprint,
        status=status.name,
        status_text=status.value,
        proved=_is_proof(status),
        best_params=plain_params(result.best_params),
        gap=result.gap,
        tolerance=family.tolerance,
        elapsed=result.elapsed,
        defaults={name: units.of(value) for name, value in result.baselines.items()},
        other_algorithms=_other_algorithms(result),
        axis=axis,
        n_free=family.space.n_free,
        landscape=units.curve(
            curve_of(result.landscape, logarithmic=axis.logarithmic, n_places=PLACES_OF_LANDSCAPE)
        ),
        region=_region(result),
        undecided=len(result.landscape.undecided),
        robust_value=units.of(result.landscape(_middle(plateau, axis))),
        robust_loss=ROBUST_SHARE * (high - low),
        plateau=plateau,
        environment=environment(),
        created=created_now(),
    )


def _other_algorithms(result: Any) -> tuple[str, ...]:
    """Names of defaults that are no settings of the family, whatever its range."""
    family, instances = result.family, getattr(result, "instances", ())
    if not instances and type(family).instance_baselines is not Family.instance_baselines:
        # A stream keeps no instance that could tell its own defaults from other algorithms.
        return ()
    own = family.instance_baselines(instances[0]) if instances else {}
    known = {*family.baselines, *own}
    return tuple(name for name in result.baselines if name not in known)


def _plateau(result: Any, axis: Axis) -> tuple[float, float]:
    """The widest interval on which hardly anything is lost."""
    low, high = result.family.utility_range
    scale = "log" if axis.logarithmic else "linear"
    found = result.landscape.widest_plateau(ROBUST_SHARE * (high - low), scale)
    return float(found[0]), float(found[1])


def _middle(plateau: tuple[float, float], axis: Axis) -> float:
    middle = (plateau[0] * plateau[1]) ** 0.5 if axis.logarithmic else sum(plateau) / 2
    return min(max(middle, axis.low), axis.high)


def _axis(result: Any) -> Axis:
    landscape = result.landscape
    free = {item.name: item for item in result.family.space.parameters}
    logarithmic = isinstance(free.get(result.segment.name), LogReal)
    floor, ceiling = (
        float(end) if np.isfinite(end) else None for end in result.family.limits(landscape.name)
    )
    low, high = float(landscape.low), float(landscape.high)
    return Axis(landscape.name, low, high, logarithmic, floor, ceiling)


def _region(result: Any) -> tuple[tuple[float, float], ...]:
    """Optimal intervals of the line; where several parameters are tuned, those of its landscape."""
    return tuple((float(low), float(high)) for low, high in result.landscape.argmax())


def plain_params(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return a setting as JSON data."""
    return {
        name: [float(entry) for entry in value]
        if isinstance(value, (tuple, list, np.ndarray))
        else (value if isinstance(value, (str, bool, int)) else float(value))
        for name, value in params.items()
    }


def _instances(result: Any, units: _Units, axis: Axis) -> tuple[InstanceFinding, ...]:
    evaluation, duals = result.evaluation, list(result.duals)
    found = []
    for number, (name, utility) in enumerate(
        zip(evaluation.instance_names, evaluation.utilities, strict=True)
    ):
        dual: DualFunction | None = duals[number] if number < len(duals) else None
        # A line through several parameters was chosen by looking: its maximum bounds nothing.
        own = dual if result.family.space.n_free == 1 else None
        found.append(
            InstanceFinding(
                name=name,
                tuned=units.of(utility),
                defaults=_row(evaluation.baseline_utilities, number, units),
                attainable=None if own is None else units.of(own.max()),
                best_at=None if own is None else _widest(own.argmax()),
                curve=None if dual is None else _instance_curve(dual, units, axis),
                fingerprint=result.family.instance_fingerprint(result.instances[number]),
            )
        )
    return tuple(found)


def _instance_curve(dual: DualFunction, units: _Units, axis: Axis) -> Curve:
    return units.curve(curve_of(dual, logarithmic=axis.logarithmic, n_places=PLACES_OF_INSTANCES))


def _widest(intervals: Sequence[tuple[float, float]]) -> tuple[float, float]:
    low, high = max(intervals, key=lambda ends: ends[1] - ends[0])
    return float(low), float(high)


def _row(columns: Mapping[str, Sequence[Any]], number: int, units: _Units) -> dict[str, float]:
    return {name: units.of(column[number]) for name, column in columns.items()}


def _held_out(
    evaluation: Any, units: _Units, family: Family, groups: Sequence[str]
) -> HeldOutFinding:
    unseen = not evaluation.n_known or evaluation.independent
    independent = evaluation.averaged(groups) if groups else evaluation
    interval = independent.interval() if unseen else None
    compared = independent.comparisons() if unseen and evaluation.baseline_utilities else []
    instances = [
        InstanceFinding(
            name,
            units.of(utility),
            _row(evaluation.baseline_utilities, number, units),
            fingerprint=family.instance_fingerprint(evaluation.instances[number]),
        )
        for number, (name, utility) in enumerate(
            zip(evaluation.instance_names, evaluation.utilities, strict=True)
        )
    ]
    return HeldOutFinding(
        value=units.of(evaluation.value),
        interval=None if interval is None else units.pair(interval.low, interval.high),
        defaults={name: units.of(value) for name, value in evaluation.baselines.items()},
        comparisons=tuple(
            ComparisonFinding(item.name, item.difference, item.interval.low, item.interval.high)
            for item in compared
        ),
        instances=tuple(instances),
        notes=tuple(evaluation.notes),
        groups=tuple(dict.fromkeys(groups)),
    )


def _expectations(
    result: Any, held_out: Any, units: _Units, needed_epsilon: float
) -> dict[str, Any]:
    """What independent instances say about new ones."""
    return {
        "cross_validation": _cross_validation(result, units),
        "learning": _learning(result, units),
        "guarantee": _guarantee(result, held_out, units),
        "needed": _needed(result, needed_epsilon),
    }


def _cross_validation(result: Any, units: _Units) -> CrossValidationFinding | None:
    if len(result.duals) < 2 or result.family.space.n_free > 1:
        return None
    found = result.cross_validate()
    names = result.evaluation.instance_names
    folds = tuple(
        {
            "left_out": [names[index] for index in fold.left_out],
            "setting": float(fold.selection.coordinate),
            "tuning": units.of(float(fold.tuning_value_exact)),
            "value": units.of(float(fold.value_exact)),
        }
        for fold in found.folds
    )
    spread = found.standard_error if found.criterion.is_plain else None
    return CrossValidationFinding(
        units.of(found.value_estimate), spread, found.optimism_estimate, folds
    )


def _learning(result: Any, units: _Units) -> LearningFinding | None:
    if len(result.duals) < 4 or result.family.space.n_free > 1 or not result.criterion.is_plain:
        return None
    curve = result.learning_curve()
    return LearningFinding(
        tuple(int(size) for size in curve.sizes),
        tuple(units.of(value) for value in curve.tuning),
        tuple(units.of(value) for value in curve.held_out),
    )


def _guarantee(result: Any, held_out: Any, units: _Units) -> dict[str, Any] | None:
    unseen = held_out is not None and (not held_out.n_known or held_out.independent)
    try:
        found = result.guarantee(held_out=held_out if unseen else None)
    except CertuneError:
        # A line through a larger space has functions that bounds may not use.
        return None
    record: dict[str, Any] = found.to_dict()
    return {
        "delta": record["delta"],
        "expected": units.of(record["expected_utility"]),
        "vacuous": record["vacuous"],
        "by": found.tightest.name,
        "bounds": [
            {
                "name": bound.name,
                "expected": units.of(bound.expected_utility),
                "vacuous": bound.vacuous,
                "evidence": str(bound.evidence),
                "label": bound.label,
                "formula": bound.formula,
            }
            for bound in found.bounds
        ],
        "assumptions": list(found.assumptions),
    }


def _needed(result: Any, epsilon: float) -> tuple[dict[str, Any], ...]:
    try:
        found = result.instances_needed(epsilon)
    except CertuneError:
        return ()
    return tuple(
        {
            "n_instances": item.n_instances,
            "purpose": item.purpose,
            "label": item.label,
            "estimate": item.is_estimate,
        }
        for item in found
    )


def _cells(cells: CellMap, units: _Units) -> CellsFinding:
    pairs = [
        units.pair(float(low), float(high))
        for low, high in zip(cells.lower, cells.upper, strict=True)
    ]
    return CellsFinding(
        (str(cells.names[0]), str(cells.names[1])),
        # Seven digits are finer than any screen.
        tuple(tuple(float(f"{x:.7g}") for x in cell.ravel().tolist()) for cell in cells.cells),
        tuple(low for low, _ in pairs),
        tuple(high for _, high in pairs),
    )


def importance_of(cells: CellMap) -> tuple[dict[str, Any], ...]:
    """Return the share of the landscape's variance that each of two parameters has alone.

    The functional analysis of variance on the true landscape, by integration over its cells: no
    setting is sampled. Slivers that are not decided count with the middle of their bounds; where
    they are more than slivers there is no answer.
    """
    is_open = [low != high for low, high in zip(cells.lower, cells.upper, strict=True)]
    open_area = float(cells.areas @ np.array(is_open))
    if open_area > MOST_OPEN * float(cells.areas.sum()):
        return ()
    values = np.array(
        [float(low + high) / 2 for low, high in zip(cells.lower, cells.upper, strict=True)]
    )
    areas = cells.areas
    mean = float(values @ areas / areas.sum())
    total = float((values - mean) ** 2 @ areas / areas.sum())
    alone = [
        (str(name), _variance_along(cells.corners[..., [axis, 1 - axis]], values - mean))
        for axis, name in enumerate(cells.names)
    ]
    # What is left of a constant landscape is rounding.
    if total <= 1e-24 * max(1.0, float(np.abs(values).max())) ** 2:
        return tuple({"name": name, "share": 0.0} for name, _ in alone)
    together = max(0.0, total - sum(part for _, part in alone))
    rows = [*alone, ("both together", together)]
    return tuple({"name": name, "share": min(1.0, part / total)} for name, part in rows)


def created_now() -> str:
    """Return the time, for the head of a page."""
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")


def _variance_along(corners: Any, values: Any) -> float:
    """Variance of the mean over the second coordinate, as a function of the first one.

    Between the corners of all cells that mean is linear, its square a parabola: two points of each
    interval, those of Gauss, integrate it exactly.
    """
    ends = np.unique(corners[..., 0])
    widths = np.diff(ends)
    height = corners[..., 1].max() - corners[..., 1].min()
    result = 0.0
    x0, y0 = corners[..., 0], corners[..., 1]
    x1, y1 = np.roll(x0, -1, axis=1), np.roll(y0, -1, axis=1)
    low, high = x0.min(axis=1), x0.max(axis=1)
    order = np.argsort(low)
    for place, width in zip(ends[:-1].tolist(), widths.tolist(), strict=True):
        begun = order[: np.searchsorted(low[order], place, side="right")]
        here = begun[high[begun] > place]
        for share in GAUSS:
            x = place + share * width
            effect = values[here] @ _extents((x0, y0, x1, y1), here, x) / height
            result += 0.5 * width * float(effect) ** 2
    return result / float(ends[-1] - ends[0])


def _extents(edges: Any, cells: Any, x: float) -> Any:
    """Lengths of the cuts of convex cells at x."""
    x0, y0, x1, y1 = (part[cells] for part in edges)
    crosses = (x0 <= x) != (x1 <= x)
    share = np.where(crosses, (x - x0) / np.where(crosses, x1 - x0, 1.0), 0.0)
    at_x = y0 + share * (y1 - y0)
    tops = np.where(crosses, at_x, -np.inf).max(axis=1)
    bottoms = np.where(crosses, at_x, np.inf).min(axis=1)
    return np.where(crosses.any(axis=1), tops - bottoms, 0.0)


def environment() -> dict[str, str]:
    """Return versions and machine."""
    found = {"python": platform.python_version(), "machine": platform.platform()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
