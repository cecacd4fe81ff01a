"""A decision threshold under a constraint: as many positives found as a precision allows.

A point is called positive if its score is at least the threshold.  Among the thresholds with the
precision that is asked for, the one that finds the most positives is best.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from typing import Any

from certune.checks import as_labels, as_list
from certune.errors import InputError, ParameterError
from certune.families.programs.family import ProgramFamily
from certune.families.programs.fields import check_type, exact_numbers, over_range


@dataclass(frozen=True, init=False)
class ScoredInstance:
    """Points with a score and a truth.

    Parameters
    ----------
    scores : iterable of numbers
        Score of each point; taken exactly.
    positive : iterable of bool
        Whether each point is positive; at least one is.
    name : str, optional
        Shown in reports.
    """

    scores: tuple[Fraction, ...]
    positive: tuple[bool, ...]
    name: str | None = None

    def __init__(
        self, scores: Iterable[Any], positive: Iterable[Any], name: str | None = None
    ) -> None:
        known = exact_numbers("scores", scores)
        flags = as_labels("positive", as_list("positive", positive))
        truth = tuple(map(bool, flags.tolist())) if flags.ndim == 1 else ()
        if len(known) != len(truth) or not any(truth):
            raise InputError(
                "a threshold needs one score for each point and a positive point, got "
                f"{len(known)} scores, {len(truth)} points and {sum(truth)} positive ones"
            )
        object.__setattr__(self, "scores", known)
        object.__setattr__(self, "positive", truth)
        object.__setattr__(self, "name", name)

    @cached_property
    def ranked(self) -> tuple[list[Fraction], list[int]]:
        """Scores in order, and for each place how many positives are from there on."""
        order = sorted(zip(self.scores, self.positive, strict=True))
        found = [0]
        for _, positive in reversed(order):
            found.append(found[-1] + positive)
        return [score for score, _ in order], found[::-1]


@dataclass(frozen=True)
class ThresholdProgram:
    """Recall at a threshold, 0 where the precision is too low.

    Parameters
    ----------
    min_precision : Fraction
        The share of true positives among those called positive that is asked for.
    """

    min_precision: Fraction

    def __call__(self, instance: ScoredInstance, parameters: Mapping[str, Any]) -> Fraction:
        """Return the share of the positives that are found."""
        called, found = self.counts(instance, parameters)
        if not called or Fraction(found, called) < self.min_precision:
            return Fraction(0)
        return Fraction(found, sum(instance.positive))

    def counts(self, instance: ScoredInstance, parameters: Mapping[str, Any]) -> tuple[int, int]:
        """Return how many points are called positive, and how many of them are."""
        scores, found = instance.ranked
        place = bisect_left(scores, parameters["threshold"])
        return len(scores) - place, found[place]


class ConstrainedThreshold(ProgramFamily):
    """A decision threshold that must keep a precision.

    Parameters
    ----------
    threshold : pair of numbers, default (0, 1)
        Range of the threshold.
    min_precision : number, default 0
        The precision that is asked for, from 0 to 1.

    Notes
    -----
    The utility is the recall, and 0 where the precision is lower or nothing is called positive.

    Examples
    --------
    >>> import certune as ct
    >>> instance = ct.ScoredInstance((0.1, 0.4, 0.6, 0.9), (True, False, True, True))
    >>> dual = ct.ConstrainedThreshold(min_precision=0.9).dual(instance)
    >>> dual(0.5), dual(0.2), dual.argmax()
    (0.6666666666666666, 0.0, [(0.4000000000000001, 0.6)])
    """

    def __init__(self, threshold: tuple[float, float] = (0.0, 1.0), min_precision: Any = 0) -> None:
        try:
            precision = Fraction(min_precision)
        except (TypeError, ValueError, OverflowError):
            precision = Fraction(-1)
        if not 0 <= precision <= 1:
            raise ParameterError(f"min_precision must lie in [0, 1], got {min_precision!r}")
        space = over_range("threshold", threshold)
        program = ThresholdProgram(precision)
        super().__init__(
            program,
            space,
            baselines={"a half": {"threshold": 0.5}} if space.low <= 0.5 <= space.high else None,
            solver=program.counts,
            check=partial(check_type, kind=ScoredInstance),
        )
