"""What a report of an online run says, as plain data, in the score's own units.

The page is made of these findings and of nothing else, as that of tuning is of `Findings`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from certune.report.curves import Curve
from certune.report.findings import Axis

FORMAT = "certune online findings 1"


@dataclass(frozen=True)
class RegretPoint:
    """The regret after a number of rounds; None where it is not known."""

    n_rounds: int
    regret: float
    expected: float | None
    bound: float | None


@dataclass(frozen=True)
class RoundFinding:
    """One round.

    Attributes
    ----------
    name, fingerprint : str
        The instance.
    line : int
        The line that was played.
    place : float
        Coordinate of the setting on it.
    score, best : float
        Score of the setting, and the best score of any setting on this instance.
    """

    name: str
    fingerprint: str
    line: int
    place: float
    score: float
    best: float


@dataclass(frozen=True)
class DensityFinding:
    """How the density moved.

    Attributes
    ----------
    rounds : tuple of int
        Numbers of rounds.
    places : tuple of float
        Coordinates, evenly spread on the scale of the parameter.
    values : tuple of tuple of float
        Density after so many rounds, relative to an evenly spread one.
    """

    rounds: tuple[int, ...]
    places: tuple[float, ...]
    values: tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class DispersionFinding:
    """How the places at which functions change spread out.

    Attributes
    ----------
    sizes : tuple of int
        Numbers T of rounds.
    widths : tuple of float
        Widths of windows, on the scale of the parameter.
    counts : tuple of tuple of int
        For every size, how many functions change in the worst window of each width.
    exponent : float or None
        Fitted growth; None for too few rounds.
    verdict, words, reason : str
        What follows.
    """

    sizes: tuple[int, ...]
    widths: tuple[float, ...]
    counts: tuple[tuple[int, ...], ...]
    exponent: float | None
    verdict: str
    words: str
    reason: str


@dataclass(frozen=True)
class OnlineFindings:
    """Everything a report says about an online run.

    ``earned`` and ``best_fixed`` are means over rounds; regrets are sums. ``regret_error`` is how
    far apart the bounds of the regret are. ``concentration`` is the share of the range that holds
    nine tenths of the probability of the next draw. Curves and density are those along the line
    ``line`` of ``n_lines``, on which the best fixed setting lies.
    """

    title: str
    family: str
    family_fingerprint: str
    learner: str
    options: Mapping[str, Any]
    seed: str
    score: str
    greater_is_better: bool
    span: float
    n_rounds: int
    earned: float
    best_fixed: float
    regret: float
    regret_error: float
    curve: tuple[RegretPoint, ...]
    axis: Axis
    line: int
    n_lines: int
    fixed_params: Mapping[str, Any]
    landscape: Curve
    region: tuple[tuple[float, float], ...]
    rounds: tuple[RoundFinding, ...]
    density: DensityFinding
    concentration: float
    next_params: Mapping[str, Any]
    dispersion: DispersionFinding
    environment: Mapping[str, str] = field(default_factory=dict)
    command: str = ""
    created: str = ""

    @property
    def average_regret(self) -> float:
        """The regret per round."""
        return self.regret / self.n_rounds

    def to_json(self) -> str:
        """Return the findings as JSON."""
        return json.dumps({"format": FORMAT, **asdict(self)}, allow_nan=False)
