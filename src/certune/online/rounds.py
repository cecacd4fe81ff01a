"""One finished round as plain data: what a learner needs to learn it again from a file."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from certune.dual import DualFunction, PiecewiseFunction
from certune.dual.codec import from_json, to_json
from certune.errors import InputError
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
    name : str
        What the user calls the instance.
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
    name: str = ""

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
            "name": self.name,
            "duals": [to_json(dual) for dual in self.duals],
            "points": self.points.tolist(),
            "values": self.values.tolist(),
        }

    @classmethod
    def from_record(cls, record: Any, lines: tuple[Line, ...]) -> Round:
        """Return the round that `to_record` has written.

        Raises
        ------
        InputError
            If this is anything else.
        """
        try:
            made = cls._made(record, lines)
            fits = made._is_played_on(lines)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            fits = False
        if not fits:
            raise InputError("has a record that is no round of these lines")
        return made

    @classmethod
    def _made(cls, record: dict[str, Any], lines: tuple[Line, ...]) -> Round:
        line = lines[record["line"]]
        lower, upper = (Fraction(*ratio) for ratio in record["utility"])
        return cls(
            number=record["round"],
            params=line.segment.at(line.coordinate(record["position"])),
            line=record["line"],
            position=record["position"],
            utility_bounds=(lower, upper),
            instance=record["instance"],
            duals=tuple(from_json(stored) for stored in record["duals"]),
            points=np.array(record["points"], dtype=np.float64),
            values=np.array(record["values"], dtype=np.float64),
            name=record.get("name", ""),
        )

    def _is_played_on(self, lines: tuple[Line, ...]) -> bool:
        line = lines[self.line]
        domains = [(line.segment.low, line.segment.high) for line in lines]
        return (
            type(self.number) is int
            and isinstance(self.instance, str)
            and isinstance(self.name, str)
            and self.line >= 0
            and line.low <= self.position <= line.high
            and self.utility_bounds[0] <= self.utility_bounds[1]
            and [(dual.low, dual.high) for dual in self.duals] == domains
            and self.points.shape == self.values.shape == (self.points.size,)
            and bool(np.isfinite(self.points).all() and np.isfinite(self.values).all())
        )


def restored(
    record: Any, number: int, lines: tuple[Line, ...], takes_smooth: bool, n_answers: int
) -> Round:
    """Return a stored round if it can be the next one of a run.

    Parameters
    ----------
    record : object
        What a file has.
    number : int
        Number of the round.
    lines : tuple of Line
        Where the run plays.
    takes_smooth : bool
        Whether its learner takes utilities that vary within a piece.
    n_answers : int
        How many utilities its learner asked for.

    Raises
    ------
    InputError
        If it cannot.
    """
    stored = Round.from_record(record, lines)
    if stored.number != number:
        raise InputError(f"has round {stored.number} where round {number} must be")
    constant = all(isinstance(dual, PiecewiseFunction) for dual in stored.duals)
    if not (constant or takes_smooth) or stored.points.size != n_answers:
        raise InputError(f"has a round {number} of another learner")
    if constant and not all(
        np.isfinite(bounds).all()
        for steps in stored.observed(lines).steps
        for bounds in (steps.lower, steps.upper)
    ):
        raise InputError(f"has a round {number} with utilities beyond the floats")
    return stored
