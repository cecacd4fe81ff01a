"""Held-out instances: what the tuned setting is worth where it was not tuned."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from certune.errors import InputError
from certune.guarantees.bounded_mean import Interval, mean_interval
from certune.guarantees.tail_interval import tail_interval
from certune.pfaffian.bounds.arithmetic import probability
from certune.scores import Score
from certune.tuning.outcome.evaluation import Evaluation, mean_of


@dataclass(frozen=True)
class Comparison:
    """The tuned setting against a default, on the same instances.

    Attributes
    ----------
    name : str
        Name of the default.
    difference : float
        Mean over instances of the utility of the tuned setting minus that of the default.
    interval : Interval
        Confidence interval for the expected difference.
    score : Score
        What the utility means; the text has differences of the score.
    """

    name: str
    difference: float
    interval: Interval
    score: Score = Score()

    @property
    def is_better(self) -> bool | None:
        """Whether the tuned setting is better in expectation; None if that is not clear."""
        if self.interval.low > 0:
            return True
        return False if self.interval.high < 0 else None

    def __str__(self) -> str:
        verdict = {True: "better", False: "worse", None: "not clear"}[self.is_better]
        difference = self.difference if self.score.greater_is_better else -self.difference
        interval = self.interval.of_score(self.score, is_difference=True)
        return f"against {self.name}: {difference:+.4f} {interval}, {verdict}"


@dataclass(frozen=True, repr=False)
class HeldOutEvaluation(Evaluation):
    """Utilities of a tuned setting and of the defaults on instances of their own.

    Attributes
    ----------
    instances : tuple
        The instances.
    family_fingerprint : str
        Hash of the family that was run.
    tuning_value_exact : Fraction
        Mean utility of the setting on the instances that it was tuned on, or what else was
        maximised.
    utility_range : tuple of float
        Smallest and largest utility of any instance.
    tolerance : float
        Error of the utilities, 0 if they are exact; intervals include it.
    n_known : int
        How many of the instances also occur among the tuning instances. Intervals and guarantees
        need 0, unless `independent`.
    n_repeated : int
        How many of the instances repeat another one of them.
    independent : bool
        Whether the caller states that the instances are an independent draw from the distribution
        of the tuning instances, although some coincide with those.
    tuned_with_weights : bool
        Whether the tuning instances had weights; the instances here count the same.
    """

    instances: tuple[Any, ...] = field(kw_only=True, repr=False, compare=False)
    family_fingerprint: str = field(kw_only=True, repr=False)
    tuning_value_exact: Fraction = field(kw_only=True)
    utility_range: tuple[float, float] = field(kw_only=True)
    tolerance: float = field(kw_only=True, default=0.0)
    n_known: int = field(kw_only=True)
    n_repeated: int = field(kw_only=True, default=0)
    independent: bool = field(kw_only=True, default=False)
    tuned_with_weights: bool = field(kw_only=True, default=False)

    @property
    def optimism(self) -> float:
        """Utility on the tuning instances minus utility here."""
        return float(self.tuning_value_exact - self.value_exact)

    def interval(self, delta: float = 0.05, method: str = "betting") -> Interval:
        """Return a confidence interval for the expected utility of the tuned setting.

        If something else than the mean was maximised, the interval is for that aggregate of the
        distribution of utilities on new instances; no sample bounds the worst of all from below.

        Parameters
        ----------
        delta : float, default=0.05
            Probability that the interval misses it.
        method : {"betting", "hoeffding", "empirical-bernstein"}
            Which inequality to use for the mean.

        Raises
        ------
        InputError
            If some of the instances were used for tuning.
        """
        check_unseen(self.n_known, self.n_instances, self.independent)
        if self.criterion.is_plain:
            found = mean_interval(self.utilities, delta, self.utility_range, method)
        else:
            aggregate = self.criterion.aggregate
            found = tail_interval(self.utilities, aggregate, delta, self.utility_range)
        return _widened(found, self.tolerance, *self.utility_range)

    def comparisons(self, delta: float = 0.05, method: str = "betting") -> list[Comparison]:
        """Compare the tuned setting with every default, by the mean of paired differences.

        The intervals share `delta`: all of them hold together.

        Parameters
        ----------
        delta : float, default=0.05
            Probability that some interval misses the expected difference.
        method : {"betting", "hoeffding", "empirical-bernstein"}
            Which inequality to use.

        Raises
        ------
        InputError
            If some of the instances were used for tuning.
        """
        check_unseen(self.n_known, self.n_instances, self.independent)
        failure = Fraction(probability("delta", delta))
        low, high = (Fraction(end) for end in self.utility_range)
        pairs: list[Comparison] = []
        for name, others in self.baseline_utilities.items():
            differences = [u - v for u, v in zip(self.utilities, others, strict=True)]
            share = failure / len(self.baseline_utilities)
            interval = mean_interval(differences, share, (low - high, high - low), method)
            reach = float(high - low)
            mean: Any = sum(differences, Fraction(0)) / len(differences)
            widened = _widened(interval, 2 * self.tolerance, -reach, reach)
            pairs.append(Comparison(name, float(mean), widened, self.score))
        return pairs

    def averaged(self, groups: Sequence[str]) -> HeldOutEvaluation:
        """Return the evaluation with one value for each group of instances: their mean.

        Folds of one table are not independent of each other, while tables may be: intervals and
        comparisons of the groups then hold where those of the instances would claim too much.

        Parameters
        ----------
        groups : sequence of str
            For every instance, the name of its group.
        """
        names = tuple(dict.fromkeys(groups))
        members = {name: [n for n, group in enumerate(groups) if group == name] for name in names}

        def means(utilities: Sequence[Fraction]) -> tuple[Fraction, ...]:
            return tuple(mean_of([utilities[n] for n in members[name]]) for name in names)

        return replace(
            self,
            instance_names=names,
            instances=tuple(self.instances[members[name][0]] for name in names),
            utilities=means(self.utilities),
            baseline_utilities={
                name: means(utilities) for name, utilities in self.baseline_utilities.items()
            },
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know about the instances."""
        notes = []
        if self.n_known and self.independent:
            notes.append(
                f"{self.n_known} of the held-out instances coincide with tuning instances; that "
                "they are an independent draw was stated, not checked"
            )
        if not self.criterion.is_plain and self.baseline_utilities:
            notes.append("comparisons with defaults are about mean utilities")
        if self.tuned_with_weights:
            notes.append("tuning instances had weights; held-out instances count the same")
        if self.n_repeated:
            notes.append(
                f"{self.n_repeated} of the {self.n_instances} held-out instances repeat another: "
                "right for draws from a distribution that repeats, wrong for copies"
            )
        as_good = [name for name, mean in self.baselines.items() if mean >= self.value]
        if as_good and (not self.n_known or self.independent):
            notes.append(f"a default is as good on these instances: {', '.join(as_good)}")
        return tuple(notes)

    def __str__(self) -> str:
        lines = [super().__str__()]
        unseen = not self.n_known or self.independent
        if unseen:
            plain, name = self.criterion.is_plain, self.score.name
            what = f"expected {name}" if plain else self.criterion.words(name)
            where = "" if plain else ", on new instances"
            interval = self.interval().of_score(self.score)
            lines.append(f"{what} of the tuned setting{where}: {interval}")
        tuning = float(self.score.of(self.tuning_value_exact))
        lines.append(f"on the tuning instances: {tuning:.4f}, optimism {self.optimism:+.4f}")
        if unseen:
            lines += map(str, self.comparisons())
        else:
            lines.append(
                f"{self.n_known} of the instances were used for tuning: there are no confidence "
                "intervals"
            )
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])


def check_unseen(n_known: int, n_instances: int, independent: bool) -> None:
    """Raise `InputError` if known instances would be used as evidence."""
    if n_known and not independent:
        raise InputError(
            f"{n_known} of the {n_instances} held-out instances also occur among the tuning "
            "instances, so that they prove nothing: draw a new sample. (Leaving out those that "
            "coincide would bias it.) If all are an independent draw from a distribution that "
            "repeats instances, say so with independent=True."
        )


def _widened(interval: Interval, reach: float, low: float, high: float) -> Interval:
    """Widen an interval by the error of the utilities, within their range."""
    if not reach:
        return interval
    start = math.nextafter(interval.low - reach, -math.inf)
    stop = math.nextafter(interval.high + reach, math.inf)
    return replace(interval, low=max(start, low), high=min(stop, high))
