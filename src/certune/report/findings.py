"""What a report says, as plain data: numbers, names and curves, in the score's own units.

Everything that is shown (text on a terminal, figures, the page) is made of findings and of
nothing else, so that a page can be made again from the file in a run directory, and what scripts
read is what people see.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from certune.errors import InputError
from certune.report.curves import Curve
from certune.report.field_types import check_fields

FORMAT = "certune findings 1"


@dataclass(frozen=True)
class Axis:
    """The parameter along which functions are drawn.

    Attributes
    ----------
    name : str
        Name of the parameter, or of the coordinate of a line.
    low, high : float
        Its range.
    logarithmic : bool
        Whether its scale is.
    floor, ceiling : float or None
        Values beyond which it has no meaning.
    """

    name: str
    low: float
    high: float
    logarithmic: bool
    floor: float | None = None
    ceiling: float | None = None

    def share(self, low: float, high: float) -> float:
        """Return how much of the range an interval takes, on the scale of the parameter."""
        if self.logarithmic:
            return math.log(high / low) / math.log(self.high / self.low)
        return (high - low) / (self.high - self.low)


@dataclass(frozen=True)
class InstanceFinding:
    """One instance: what the tuned setting, the defaults and its own best setting reach.

    Attributes
    ----------
    name : str
        Its name.
    tuned : float
        Score of the tuned setting.
    defaults : dict of str to float
        Scores of the defaults.
    attainable : float or None
        The best that any setting reaches on this instance alone, if its function is known.
    best_at : tuple of float or None
        An interval of settings that reach it.
    curve : Curve or None
        Its score as a function of the parameter.
    fingerprint : str
        Hash of its content.
    """

    name: str
    tuned: float
    defaults: Mapping[str, float]
    attainable: float | None = None
    best_at: tuple[float, float] | None = None
    curve: Curve | None = None
    fingerprint: str = ""


@dataclass(frozen=True)
class ComparisonFinding:
    """The tuned setting against a default on held-out instances.

    Attributes
    ----------
    name : str
        The default.
    difference, low, high : float
        Mean advantage of the tuned setting, positive if it is better, and its interval.
    """

    name: str
    difference: float
    low: float
    high: float


@dataclass(frozen=True)
class HeldOutFinding:
    """What held-out instances say.

    Attributes
    ----------
    value : float
        Mean score of the tuned setting.
    interval : tuple of float or None
        Confidence interval of its expectation; None if some of the instances were used in tuning.
    defaults : dict of str to float
        Mean scores of the defaults.
    comparisons : tuple of ComparisonFinding
        The tuned setting against each default.
    instances : tuple of InstanceFinding
        Score by score.
    notes : tuple of str
        What a reader should know.
    groups : tuple of str
        Tables whose folds the instances are; intervals are then about the tables.
    """

    value: float
    interval: tuple[float, float] | None
    defaults: Mapping[str, float]
    comparisons: tuple[ComparisonFinding, ...]
    instances: tuple[InstanceFinding, ...]
    notes: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()


@dataclass(frozen=True)
class LearningFinding:
    """Scores for growing numbers of tuning instances, on those and on others."""

    sizes: tuple[int, ...]
    tuning: tuple[float, ...]
    held_out: tuple[float, ...]


@dataclass(frozen=True)
class CrossValidationFinding:
    """Tuning without each fold of the instances in turn.

    Attributes
    ----------
    value, standard_error, optimism : float
        Estimated score on new instances, its standard error if it is a mean, and how much worse
        that is than on the tuning instances.
    folds : tuple of dict
        For each fold: ``left_out`` (names), ``params``, ``tuning`` and ``value``.
    """

    value: float
    standard_error: float | None
    optimism: float
    folds: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True)
class CellsFinding:
    """The plane of two parameters: polygons with bounds of the mean score.

    ``outlines`` has the corners of each polygon, x and y in turns.
    """

    names: tuple[str, str]
    outlines: tuple[tuple[float, ...], ...]
    lower: tuple[float, ...]
    upper: tuple[float, ...]

    @property
    def open_share(self) -> float:
        """How much of the plane is known between bounds only."""
        areas = [_area(outline) for outline in self.outlines]
        rows = zip(areas, self.lower, self.upper, strict=True)
        return sum(area for area, low, high in rows if low != high) / sum(areas)


def _area(outline: Sequence[float]) -> float:
    x, y = outline[::2], outline[1::2]
    return 0.5 * abs(sum(x[i - 1] * y[i] - x[i] * y[i - 1] for i in range(len(x))))


@dataclass(frozen=True)
class Findings:
    """Everything a report says about a tuning run.

    ``measure`` is what was maximised, by default the mean score. Scores are in the direction and
    units of their own; ``greater_is_better`` says which way is up.
    Differences are positive where the tuned setting is better. ``shared_rows`` says that the
    instances are folds of the same rows: nothing that assumes independent instances is stated then.
    ``n_streamed`` is the number of instances of a stream, of which none is told by itself.
    ``failures`` are instances that were left out, with the reason.
    ``n_alternatives`` is the number of alternatives of a choice; the others have no picture.
    ``other_algorithms`` are the defaults that are no settings of the family, whatever its range.
    """

    title: str
    score: str
    greater_is_better: bool
    score_range: tuple[float, float]
    family: str
    family_fingerprint: str
    status: str
    status_text: str
    proved: bool
    best_params: Mapping[str, Any]
    best_value: float
    bound: float
    gap: float
    tolerance: float
    shared_rows: bool
    n_finished: int
    elapsed: float
    defaults: Mapping[str, float]
    instances: tuple[InstanceFinding, ...]
    axis: Axis
    n_free: int
    landscape: Curve
    region: tuple[tuple[float, float], ...]
    undecided: int
    robust_params: Mapping[str, Any]
    robust_value: float
    robust_loss: float
    plateau: tuple[float, float]
    held_out: HeldOutFinding | None = None
    cross_validation: CrossValidationFinding | None = None
    learning: LearningFinding | None = None
    guarantee: Mapping[str, Any] | None = None
    needed: tuple[Mapping[str, Any], ...] = ()
    needed_epsilon: float = 0.05
    cells: CellsFinding | None = None
    importance: tuple[Mapping[str, Any], ...] = ()
    portrait: Mapping[str, Any] | None = None
    history: tuple[tuple[float, float, float], ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    command: str = ""
    code: str = ""
    created: str = ""
    measure: str = ""
    n_streamed: int = 0
    failures: tuple[tuple[str, str], ...] = ()
    n_alternatives: int = 1
    other_algorithms: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.measure:
            object.__setattr__(self, "measure", f"mean {self.score}")

    @property
    def n_instances(self) -> int:
        """Number of instances that were tuned on."""
        return self.n_streamed or len(self.instances)

    @property
    def noun(self) -> str:
        """What one of the instances is to whoever gave them: folds of one table are no others."""
        return "fold" if self.shared_rows else "instance"

    @property
    def best_default(self) -> tuple[str, float] | None:
        """The best default and its score."""
        if not self.defaults:
            return None
        sign = 1 if self.greater_is_better else -1
        name = max(self.defaults, key=lambda key: sign * self.defaults[key])
        return name, self.defaults[name]

    def advantage(self, over: float, value: float | None = None) -> float:
        """Return by how much the tuned setting, or another score, is better than a score."""
        own = self.best_value if value is None else value
        return own - over if self.greater_is_better else over - own

    def to_json(self) -> str:
        """Return the findings as JSON."""
        return json.dumps({"format": FORMAT, **asdict(self)}, allow_nan=False)

    @classmethod
    def from_json(cls, text: str, source: str = "the file") -> Findings:
        """Read findings.

        Parameters
        ----------
        text : str
            What `to_json` wrote.
        source : str
            What messages call it.

        Raises
        ------
        InputError
            If it is something else.
        """
        try:
            record = json.loads(text)
            if not isinstance(record, dict) or record.pop("format", None) != FORMAT:
                raise InputError(
                    f"{source} is not a record of findings ({FORMAT}): make it again with "
                    "certune tune"
                )
            findings = _findings(record)
            check_fields(findings)
            return findings
        except RecursionError:
            raise InputError(f"{source} is damaged: it is nested too deeply") from None
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(f"{source} is damaged: {error}; run certune tune again") from None


def _findings(record: dict[str, Any]) -> Findings:
    values = dict(record)
    values["instances"] = _instances(values["instances"])
    values["axis"] = Axis(**values["axis"])
    values["landscape"] = _curve(values["landscape"])
    if values.get("held_out"):
        held = dict(values["held_out"])
        held["instances"] = _instances(held["instances"])
        held["comparisons"] = tuple(ComparisonFinding(**item) for item in held["comparisons"])
        held["interval"] = None if held["interval"] is None else tuple(held["interval"])
        values["held_out"] = HeldOutFinding(**held)
    for name, kind in (
        ("cross_validation", CrossValidationFinding),
        ("learning", LearningFinding),
        ("cells", CellsFinding),
    ):
        if values.get(name):
            values[name] = kind(**{key: _tupled(item) for key, item in values[name].items()})
    for name in ("region", "plateau", "score_range", "needed", "importance", "history"):
        values[name] = _tupled(values[name])
    values["failures"] = _tupled(values.get("failures", []))
    return Findings(**values)


def _instances(items: Sequence[dict[str, Any]]) -> tuple[InstanceFinding, ...]:
    return tuple(
        InstanceFinding(
            **{
                **item,
                "curve": None if item["curve"] is None else _curve(item["curve"]),
                "best_at": None if item["best_at"] is None else tuple(item["best_at"]),
            }
        )
        for item in items
    )


def _curve(item: dict[str, Any]) -> Curve:
    return Curve(tuple(item["places"]), tuple(item["values"]), bool(item["steps"]))


def _tupled(item: Any) -> Any:
    """Lists of JSON as the tuples they were."""
    return tuple(map(_tupled, item)) if isinstance(item, list) else item
