"""Plain runs: the utility of the tuned setting and of the defaults, instance by instance.

Nothing here knows about exact functions of the parameter. The same runs that a user would make
compare a setting with the defaults, confirm the optimum, and measure it on new instances.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any

from certune.aggregates import Criterion
from certune.cards import Carded
from certune.checks import as_n_jobs
from certune.deadline import Stop
from certune.errors import CertuneError, UndecidedError
from certune.families.base import Family
from certune.guarantees.records import counted
from certune.scores import Score
from certune.tuning.instances import failure_of, instance_names
from certune.tuning.work.executors import Crew
from certune.tuning.work.interrupts import SignalWatch

NOTHING: Mapping[int, Fraction] = {}


@dataclass(frozen=True, repr=False)
class Evaluation(Carded):
    """Utilities of one setting and of the defaults on the same instances.

    Attributes
    ----------
    params : dict
        The setting.
    instance_names : tuple of str
        Names of the instances.
    utilities : tuple of Fraction
        Utility of the setting on every instance.
    baseline_utilities : dict of str to tuple of Fraction
        The same for every default setting, and for other algorithms that a user would have taken,
        by name; those that stay undecided or do not apply on some instance are left out.
    score : Score
        What utilities mean to people; tables and texts show scores.
    unknown : tuple of int
        Numbers of instances on which the setting could not be run before tuning had to end. They
        count with the lowest utility, so that means are bounds from below.
    criterion : Criterion
        How utilities become the value: by their mean, unless something else was maximised.
    """

    params: dict[str, Any]
    instance_names: tuple[str, ...]
    utilities: tuple[Fraction, ...] = field(repr=False)
    baseline_utilities: dict[str, tuple[Fraction, ...]] = field(repr=False)
    score: Score = field(default=Score(), kw_only=True)
    unknown: tuple[int, ...] = field(default=(), repr=False, kw_only=True)
    criterion: Criterion = field(default=Criterion(), kw_only=True)

    @property
    def value_exact(self) -> Fraction:
        """Mean, or other aggregate, of the utilities of the setting, exactly."""
        return self.criterion.value(self.utilities)

    @property
    def value(self) -> float:
        """Mean, or other aggregate, of the utilities of the setting."""
        return float(self.value_exact)

    @property
    def baselines(self) -> dict[str, float]:
        """Mean, or other aggregate, of every default setting, exact and rounded once."""
        return {
            name: float(self.criterion.value(utilities))
            for name, utilities in self.baseline_utilities.items()
        }

    @property
    def n_instances(self) -> int:
        """Number of instances."""
        return len(self.instance_names)

    def to_frame(self) -> Any:
        """Return a table with one row for each instance.

        Returns
        -------
        pandas.DataFrame
            The index has the names of the instances; column ``tuned`` has the score of the
            setting, and each default has a column of its name.
        """
        pandas = _import_pandas()
        columns = {"tuned": self.utilities, **self.baseline_utilities}
        floats = {
            name: [float(self.score.of(value)) for value in column]
            for name, column in columns.items()
        }
        for number in self.unknown:
            for column in floats.values():
                column[number] = math.nan
        return pandas.DataFrame(floats, index=pandas.Index(self.instance_names, name="instance"))

    def __str__(self) -> str:
        reached = {"tuned": self.value, **self.baselines}
        parts = [f"{name} {self.score.of(value):.6g}" for name, value in reached.items()]
        what = self.criterion.words(str(self.score))
        return f"{what} over {counted(self.n_instances, 'instance')}: {', '.join(parts)}"


def mean_of(utilities: Sequence[Fraction]) -> Fraction:
    """Return the exact mean of at least one utility."""
    return sum(utilities, Fraction(0)) / len(utilities)


def evaluate(
    family: Family,
    instances: Sequence[Any],
    params: Mapping[str, Any],
    n_jobs: int | None = 1,
    criterion: Criterion | None = None,
) -> Evaluation:
    """Run a setting, the defaults of a family, and their company on instances.

    Parameters
    ----------
    family : Family
        The algorithm.
    instances : sequence
        At least one instance, all checked.
    params : mapping
        The setting.
    n_jobs : int or None, default=1
        Number of parallel workers, as in joblib.
    criterion : Criterion, optional
        How utilities become the value; by default by their mean.
    """
    stop = Stop()
    crew = Crew(as_n_jobs(n_jobs), SignalWatch(stop), stop, family.releases_lock)
    try:
        return PlainRuns(family, instances, params).evaluation(crew, criterion=criterion)
    finally:
        crew.close()


class PlainRuns:
    """Runs of a setting and of the defaults, which can end early.

    Parameters
    ----------
    family : Family
        The algorithm.
    instances : sequence
        At least one instance, all checked.
    params : mapping
        The setting.
    names : sequence of str, optional
        How the instances are called, if not by their place here.

    Attributes
    ----------
    seconds : dict of int to float
        What the runs on an instance took, by its number.
    """

    def __init__(
        self,
        family: Family,
        instances: Sequence[Any],
        params: Mapping[str, Any],
        names: Sequence[str] | None = None,
    ) -> None:
        self._family, self._instances, self._params = family, instances, dict(params)
        self._names = tuple(instance_names(instances) if names is None else names)
        self._rows: dict[int, list[Fraction | None]] = {}
        self.seconds: dict[int, float] = {}
        self._left_out: frozenset[int] = frozenset()

    def leave_out(self, numbers: Iterable[int]) -> None:
        """Let instances on which nothing can be run count with the lowest utility everywhere."""
        self._left_out = frozenset(numbers)

    @property
    def n_instances(self) -> int:
        """Number of instances."""
        return len(self._instances)

    @property
    def complete(self) -> bool:
        """Have all runs been made?"""
        return len(self._rows) + len(self._left_out) == len(self._instances)

    def make(self, crew: Crew, numbers: Sequence[int]) -> None:
        """Run everything on the instances with these numbers; raises `TimeIsUp`."""
        numbers = [number for number in numbers if number not in self._left_out]
        function = partial(_run_all, self._family, self._params)
        items = [self._instances[number] for number in numbers]
        for outcome in crew.outcomes(function, items):
            number = numbers[outcome.number]
            if outcome.error is not None:
                raise failure_of(outcome.error, self._names[number])
            self._rows[number] = outcome.value
            self.seconds[number] = outcome.seconds

    def reached(self, number: int) -> Fraction | None:
        """Utility of the setting on an instance, if it was run."""
        return self._rows[number][0] if number in self._rows else None

    def evaluation(
        self,
        crew: Crew | None = None,
        known: Mapping[int, Fraction] = NOTHING,
        criterion: Criterion | None = None,
    ) -> Evaluation:
        """Return what the runs gave, after making all of them if there is a crew.

        An instance that was not run has its known utility, if there is one, and otherwise counts
        with the lowest of all.
        """
        family, numbers = self._family, range(len(self._instances))
        if crew is not None:
            self.make(crew, numbers)
        lowest = Fraction(family.utility_range[0])
        reached = [self.reached(number) for number in numbers]
        utilities = [
            known.get(number, lowest) if utility is None else utility
            for number, utility in zip(numbers, reached, strict=True)
        ]
        unknown = [n for n in numbers if reached[n] is None and n not in known]
        return Evaluation(
            self._params,
            self._names,
            tuple(utilities),
            self._baselines(),
            score=family.score,
            unknown=tuple(unknown),
            criterion=criterion or Criterion(),
        )

    def _baselines(self) -> dict[str, tuple[Fraction, ...]]:
        """Utilities of the defaults that were run, and decided, on all instances."""
        if not self.complete or not self._rows:
            return {}
        first = self._instances[min(self._rows)]
        names = [
            *{**self._family.baselines, **self._family.instance_baselines(first)},
            *self._family.company(first),
        ]
        lowest: list[Fraction | None] = [Fraction(self._family.utility_range[0])]
        rows = [
            self._rows.get(number, lowest * (1 + len(names)))
            for number in range(len(self._instances))
        ]
        _, *columns = zip(*rows, strict=True)
        return {
            name: column for name, column in zip(names, columns, strict=True) if None not in column
        }


def _run_all(family: Family, tuned: dict[str, Any], instance: Any) -> list[Fraction | None]:
    defaults = {**family.baselines, **family.instance_baselines(instance)}
    reached = family.run_exact(instance, tuned)
    family.check_on_floats(instance, tuned, reached)
    return [
        reached,
        *(_decided_run(family, instance, setting) for setting in defaults.values()),
        *family.company(instance).values(),
    ]


def _decided_run(family: Family, instance: Any, setting: dict[str, Any]) -> Fraction | None:
    try:
        return family.run_exact(instance, setting)
    except UndecidedError:
        return None


def _import_pandas() -> Any:
    try:
        import pandas
    except ImportError as error:
        raise CertuneError(
            "A table needs pandas, which is not installed: pip install 'certune[frame]'."
        ) from error
    return pandas
