"""The smallest family: utilities that are given step functions of one parameter.

There is no algorithm behind it, so that it shows in a few lines what a family has to provide, and
tests of everything above families run in no time.
"""

from __future__ import annotations

import hashlib
import math
from bisect import bisect_right
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from certune.dual import PiecewiseFunction
from certune.errors import InputError, ParameterError
from certune.families.base import Family, Params
from certune.space import ParameterSpace, Real, Segment


@dataclass(frozen=True)
class StepInstance:
    """A step function.

    Parameters
    ----------
    thresholds : tuple of float
        Increasing places of the steps; a step belongs to what follows it.
    utilities : tuple of Fraction
        Values in [0, 1] before the first threshold, from each threshold on to the next, and from
        the last one on: one more than there are thresholds.
    name : str, optional
        Shown in reports.
    """

    thresholds: tuple[float, ...]
    utilities: tuple[Fraction, ...]
    name: str | None = None


@dataclass(frozen=True)
class StepFamily(Family):
    """Look up the utility of a `StepInstance` at the parameter x.

    Parameters
    ----------
    low, high : float, default 0 and 1
        Range of x.

    Examples
    --------
    >>> instance = StepInstance((0.25, 0.5), (Fraction(0), Fraction(1), Fraction(1, 2)))
    >>> family = StepFamily()
    >>> family.run(instance, 0.3)
    1.0
    >>> family.dual(instance).argmax()
    [(0.25, 0.49999999999999994)]
    """

    low: float = 0.0
    high: float = 1.0

    @property
    def space(self) -> ParameterSpace:
        """The parameter x and its range."""
        return ParameterSpace((Real("x", self.low, self.high),))

    @property
    def fingerprint(self) -> str:
        """Hash of the range."""
        return _hash("step family", self.low, self.high)

    @property
    def baselines(self) -> dict[str, dict[str, Any]]:
        """The two ends of the range."""
        return {"lowest": {"x": self.low}, "highest": {"x": self.high}}

    def check_instance(self, instance: Any) -> None:
        """Raise `InputError` if this is not a step function with values in [0, 1]."""
        if not isinstance(instance, StepInstance):
            raise InputError(f"expected a StepInstance, got {instance!r}")
        steps, values = instance.thresholds, instance.utilities
        if len(values) != len(steps) + 1 or list(steps) != sorted(set(steps)):
            raise InputError(
                "expected increasing thresholds and one more utility than thresholds, got "
                f"{steps!r} and {values!r}"
            )
        if not all(0 <= value <= 1 for value in values):
            raise InputError(f"expected utilities in [0, 1], got {values!r}")

    def instance_fingerprint(self, instance: Any) -> str:
        """Hash of the step function; its name does not count."""
        return _hash(instance.thresholds, instance.utilities)

    def run_exact(self, instance: Any, params: Params) -> Fraction:
        """Value of the step function."""
        step = self.solve(instance, params)
        return Fraction(instance.utilities[step])

    def solve(self, instance: Any, params: Params) -> int:
        """Return the number of the step that x is on."""
        self.check_instance(instance)
        x = self.space.validate(params)["x"]
        return bisect_right(instance.thresholds, x)

    def dual(self, instance: Any, along: Segment | None = None) -> PiecewiseFunction:
        """Return the step function itself; a gap between neighbouring floats encloses a step."""
        whole = self.space.default_segment()
        segment = whole if along is None else along
        if (segment.origin, segment.direction) != (whole.origin, whole.direction):
            raise ParameterError(f"x must be the coordinate of the segment, got {segment!r}.")
        inside = [step for step in instance.thresholds if segment.low < step <= segment.high]
        first = bisect_right(instance.thresholds, segment.low)
        values = instance.utilities[first : first + len(inside) + 1]
        return PiecewiseFunction.from_values(
            [segment.low, *inside],
            [*(math.nextafter(step, -math.inf) for step in inside), segment.high],
            values,
            [min(pair) for pair in zip(values, values[1:], strict=False)],
            [max(pair) for pair in zip(values, values[1:], strict=False)],
            name="x",
        )


def _hash(*content: object) -> str:
    return hashlib.sha256(repr(content).encode()).hexdigest()
