"""One finished round as plain data: what a learner needs to learn it again from a file."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from certune.dual import DualFunction, PiecewiseFunction, PiecewisePolynomial
from certune.online.learner import Observed
from certune.online.lines import Line

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Round:
    """What happened in a round.

    Attributes
    ----------
    number : int
        Counted from 1.
    params : dict
        The parameters that were played.
    line, position : int and float
        The same as a point of the lines of the learner.
    utility_bounds : tuple of Fraction
        What was earned; equal ends unless it could not be decided, or is known up to an error.
    instance : str
        Fingerprint of the instance, empty if only functions were given.
    duals : tuple of DualFunction
        The utility along every line.
    points, values : float array
        Positions that the learner asked for, and the utilities there.
    """

    number: int
    params: dict[str, Any]
    line: int
    position: float
    utility_bounds: tuple[Fraction, Fraction]
    instance: str
    duals: tuple[DualFunction, ...]
    points: FloatArray
    values: FloatArray

    @property
    def utility(self) -> float:
        """What was earned; the middle of the bounds where it could not be decided."""
        lower, upper = self.utility_bounds
        return float(lower if lower == upper else (lower + upper) / 2)

    def observed(self, lines: tuple[Line, ...]) -> Observed:
        """Return the round as a learner sees it."""
        return Observed(
            lines, self.line, self.position, self.utility, self.duals, self.points, self.values
        )

    def to_record(self) -> dict[str, Any]:
        """Return the round as JSON data; `from_record` gives it back exactly."""
        return {
            "round": self.number,
            "line": self.line,
            "position": self.position,
            "utility": [list(bound.as_integer_ratio()) for bound in self.utility_bounds],
            "instance": self.instance,
            "duals": [_plain(dual) for dual in self.duals],
            "points": self.points.tolist(),
            "values": self.values.tolist(),
        }

    @classmethod
    def from_record(cls, record: dict[str, Any], lines: tuple[Line, ...]) -> Round:
        """Return the round that `to_record` has written."""
        line = lines[record["line"]]
        lower, upper = (Fraction(*ratio) for ratio in record["utility"])
        return cls(
            number=record["round"],
            params=line.segment.at(line.coordinate(record["position"])),
            line=record["line"],
            position=record["position"],
            utility_bounds=(lower, upper),
            instance=record["instance"],
            duals=tuple(_function(stored) for stored in record["duals"]),
            points=np.array(record["points"], dtype=np.float64),
            values=np.array(record["values"], dtype=np.float64),
        )


def _plain(dual: DualFunction) -> dict[str, Any]:
    arrays = dual.to_arrays()
    if isinstance(dual, PiecewisePolynomial):
        # Bounds of gaps have no meaning where pieces touch; JSON knows no infinite ones.
        for name in ("gap_lower", "gap_upper"):
            arrays[name] = np.where(np.isfinite(arrays[name]), arrays[name], 0.0)
    return {name: array.tolist() for name, array in arrays.items()}


def _function(stored: dict[str, Any]) -> DualFunction:
    arrays = {name: np.asarray(values) for name, values in stored.items()}
    made = PiecewisePolynomial if "coefficients" in arrays else PiecewiseFunction
    return made.from_arrays(arrays)
