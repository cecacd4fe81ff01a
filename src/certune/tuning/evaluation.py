"""Plain runs: the utility of the tuned setting and of the defaults, instance by instance.

Nothing here knows about exact functions of the parameter. The same runs that a user would make
compare a setting with the defaults, confirm the optimum, and measure it on new instances.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import joblib

from certune.errors import CertuneError, UndecidedError
from certune.families.base import Family
from certune.scores import Score
from certune.tuning.instances import instance_name


@dataclass(frozen=True)
class Evaluation:
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
        The same for every default setting, by name; defaults whose run stays undecided on some
        instance are left out.
    score : Score
        What utilities mean to people; tables and texts show scores.
    """

    params: dict[str, Any]
    instance_names: tuple[str, ...]
    utilities: tuple[Fraction, ...] = field(repr=False)
    baseline_utilities: dict[str, tuple[Fraction, ...]] = field(repr=False)
    score: Score = field(default=Score(), kw_only=True)

    @property
    def value_exact(self) -> Fraction:
        """Mean utility of the setting, exactly."""
        return mean_of(self.utilities)

    @property
    def value(self) -> float:
        """Mean utility of the setting."""
        return float(self.value_exact)

    @property
    def baselines(self) -> dict[str, float]:
        """Mean utility of every default setting, the exact mean rounded once."""
        return {
            name: float(mean_of(utilities)) for name, utilities in self.baseline_utilities.items()
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
        return pandas.DataFrame(floats, index=pandas.Index(self.instance_names, name="instance"))

    def __str__(self) -> str:
        reached = {"tuned": self.value, **self.baselines}
        parts = [f"{name} {self.score.of(value):.6g}" for name, value in reached.items()]
        return f"mean {self.score} over {self.n_instances} instances: {', '.join(parts)}"


def mean_of(utilities: Sequence[Fraction]) -> Fraction:
    """Return the exact mean of at least one utility."""
    return sum(utilities, Fraction(0)) / len(utilities)


def evaluate(
    family: Family, instances: Sequence[Any], params: Mapping[str, Any], n_jobs: int | None = 1
) -> Evaluation:
    """Run a setting and the defaults of a family on instances.

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
    """
    defaults = [{**family.baselines, **family.instance_baselines(item)} for item in instances]
    rows = joblib.Parallel(n_jobs=n_jobs)(
        joblib.delayed(_run_all)(family, instance, dict(params), list(own.values()))
        for instance, own in zip(instances, defaults, strict=True)
    )
    tuned, *others = zip(*rows, strict=True)
    decided = {
        name: column for name, column in zip(defaults[0], others, strict=True) if None not in column
    }
    names = tuple(instance_name(instance, number) for number, instance in enumerate(instances))
    return Evaluation(dict(params), names, tuned, decided, score=family.score)


def _run_all(
    family: Family, instance: Any, tuned: dict[str, Any], defaults: list[dict[str, Any]]
) -> list[Any]:
    return [
        family.run_exact(instance, tuned),
        *(_decided_run(family, instance, setting) for setting in defaults),
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
