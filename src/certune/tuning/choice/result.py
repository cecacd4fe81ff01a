"""What tuning of a choice gives back: the winning alternative, and why no other one is better."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from os import PathLike
from typing import Any

from certune.aggregates import Criterion
from certune.dual import DualFunction, PiecewiseFunction, aggregated
from certune.errors import CertificateError
from certune.families.base import Family
from certune.guarantees import Guarantee
from certune.guarantees.guarantee import best_expectation
from certune.space import LogReal, Segment
from certune.stages import stage
from certune.tuning.choice.choice import Choice
from certune.tuning.outcome.held_out import HeldOutEvaluation
from certune.tuning.outcome.result import TuningResult
from certune.tuning.proof.box_certificate import BoxCertificate
from certune.tuning.proof.certificate import Certificate, make_certificate
from certune.tuning.proof.choice_certificate import ChoiceCertificate
from certune.tuning.status import Status


@dataclass(frozen=True, kw_only=True, eq=False)
class Alternative:
    """What is known about one alternative of a choice.

    Attributes
    ----------
    name : str
        Its name.
    family : Family
        The family.
    n_instances, n_computed : int
        Number of instances, and how many of them had to be computed before it was clear that it
        wins or cannot win.
    upper_bound_exact : Fraction
        No setting of it is better, over all instances.
    segment : Segment or None
        The line of its parameter, if there is one parameter.
    duals : tuple of DualFunction
        Functions of the instances that were computed, which are the first ones.
    criterion : Criterion
        What is maximised.
    instances : list
        Its form of the instances.
    result : TuningResult or None
        The whole result, for the winner and for alternatives with several parameters.
    """

    name: str
    family: Family
    n_instances: int
    n_computed: int
    upper_bound_exact: Fraction
    segment: Segment | None = None
    duals: tuple[DualFunction, ...] = field(default=(), repr=False)
    criterion: Criterion = Criterion()
    instances: list[Any] = field(repr=False)
    result: TuningResult | None = field(default=None, repr=False)

    @classmethod
    def untouched(cls, name: str, family: Family, instances: list[Any]) -> Alternative:
        """Return an alternative of which nothing is known."""
        largest = Fraction(family.utility_range[1])
        return cls(
            name=name,
            family=family,
            n_instances=len(instances),
            n_computed=0,
            upper_bound_exact=largest,
            instances=instances,
        )

    @property
    def upper_bound(self) -> float:
        """`upper_bound_exact`, correctly rounded."""
        return float(self.upper_bound_exact)

    @cached_property
    def bound_function(self) -> DualFunction | None:
        """Bound of what each setting reaches over all instances, those not computed as perfect.

        The landscape itself once all are computed; None if nothing is known along a line.
        """
        if self.segment is None or not self.duals:
            return None
        low, high, name = self.segment.low, self.segment.high, self.segment.name
        perfect = PiecewiseFunction.constant(low, high, self.family.utility_range[1], name)
        others = [perfect] * (self.n_instances - len(self.duals))
        return aggregated([*self.duals, *others], self.criterion)

    @property
    def certificate(self) -> Certificate | BoxCertificate | None:
        """Proof of the bound; None if there is none, so that only the range of utilities bounds it.

        Raises
        ------
        CertificateError
            If its functions are not proved.
        """
        if self.segment is None or not self.duals:
            return None if self.result is None else self.result.certificate
        if not self.family.proves_duals:
            raise CertificateError(f"The functions of {self.name!r} are not proved.")
        return make_certificate(
            self.family,
            self.segment,
            [self.family.instance_fingerprint(item) for item in self.instances],
            self.duals,
            aggregated(self.duals, self.criterion.of(range(len(self.duals)))),
            self.upper_bound_exact,
            self.criterion,
            {},
        )

    def __str__(self) -> str:
        score = self.family.score
        shown = f"{float(score.of(self.upper_bound_exact)):.6g}"
        computed = f"{self.n_computed} of {self.n_instances} instances computed"
        return f"{score.bound_name} {shown}, {computed}"


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ChoiceResult:
    """Result of :func:`certune.tune` for a :class:`certune.Choice`.

    Attributes
    ----------
    choice : Choice
        The alternatives.
    status : Status
        How tuning ended; OPTIMAL if nothing of any alternative is better.
    best_alternative : str
        Name of the winner.
    alternatives : dict of str to Alternative
        What is known about each of them.
    criterion : Criterion
        What was maximised.
    upper_bound_exact : Fraction
        No setting of any alternative is better.
    elapsed : float
        Seconds.
    """

    choice: Choice
    status: Status
    best_alternative: str
    alternatives: dict[str, Alternative]
    criterion: Criterion
    upper_bound_exact: Fraction
    elapsed: float

    @property
    def best(self) -> TuningResult:
        """The result of the winning alternative; its own bound knows nothing of the others."""
        found = self.alternatives[self.best_alternative].result
        assert found is not None
        return found

    @property
    def title(self) -> str:
        """Headline of a report: the winner, and what it was chosen from."""
        return self.choice.title_of(self.best_alternative, self.best_params)

    @property
    def best_params(self) -> dict[str, Any]:
        """Name of the winning alternative, as ``choice``, and its best setting.

        For a family with discrete parameters, the setting of all its parameters.
        """
        return self.choice.params_of(self.best_alternative, self.best.best_params)

    @property
    def best_value_exact(self) -> Fraction:
        """Mean utility of the best setting over all instances, or what else was maximised."""
        return self.best.best_value_exact

    @property
    def best_value(self) -> float:
        """`best_value_exact`, correctly rounded."""
        return float(self.best_value_exact)

    @property
    def best_score(self) -> float:
        """`best_value`, in the direction in which people read it."""
        return float(self.choice.score.of(self.best_value_exact))

    @property
    def upper_bound(self) -> float:
        """`upper_bound_exact`, correctly rounded."""
        return float(self.upper_bound_exact)

    @property
    def score_bound(self) -> float:
        """No setting has a better score: `upper_bound`, seen as a score."""
        return float(self.choice.score.of(self.upper_bound_exact))

    @property
    def gap(self) -> float:
        """Difference of upper bound and best value, rounded once; 0 proves the optimum."""
        return max(0.0, float(self.upper_bound_exact - self.best_value_exact))

    @property
    def best_estimator(self) -> Any:
        """A scikit-learn estimator of the winner with the best setting, not fitted."""
        return self.best.best_estimator

    @cached_property
    def baselines(self) -> dict[str, float]:
        """Defaults of the winning alternative, over all instances, by name.

        For a family with discrete parameters, the defaults of the family.
        """
        found = dict(self.best.baselines)
        for name, params in self.choice.further_baselines(self.best_alternative).items():
            utilities = [self.choice.run_exact(item, params) for item in self.best.instances]
            found[name] = float(self.criterion.value(utilities))
        return found

    @property
    def instance_names(self) -> list[str]:
        """Names of all instances."""
        return self.best.instance_names

    @property
    def n_computed(self) -> int:
        """Functions that were computed, of all alternatives together."""
        return sum(item.n_computed for item in self.alternatives.values())

    @property
    def n_functions(self) -> int:
        """Number of alternatives times number of instances."""
        return sum(item.n_instances for item in self.alternatives.values())

    @cached_property
    def certificate(self) -> ChoiceCertificate:
        """What :func:`certune.verify` needs to check the claims of this result.

        Raises
        ------
        CertificateError
            If some alternative's functions are not proved.
        """
        proofs = {name: item.certificate for name, item in self.alternatives.items()}
        best = proofs[self.best_alternative]
        assert best is not None
        prints = [self.best.family.instance_fingerprint(item) for item in self.best.instances]
        return ChoiceCertificate(
            family={"alternatives": sorted(self.alternatives)},
            family_fingerprint=self.choice.fingerprint,
            instance_fingerprints=tuple(prints),
            best_value=best.best_value,
            upper_bound=self.upper_bound_exact,
            best_alternative=self.best_alternative,
            proofs=proofs,
        ).sealed()

    @stage("judging on other instances")
    def evaluate(
        self, instances: Iterable[Any], n_jobs: int | None = 1, *, independent: bool = False
    ) -> HeldOutEvaluation:
        """Run the best setting and its defaults on other instances.

        Parameters
        ----------
        instances : iterable
            Instances of the winning alternative that took no part in tuning.
        n_jobs, independent
            As in :meth:`certune.TuningResult.evaluate`.
        """
        return self.best.evaluate(instances, n_jobs, independent=independent)

    @stage("computing the guarantee")
    def guarantee(self, delta: float = 0.05, **options: Any) -> Guarantee:
        """Return every bound on what the best setting does on new instances.

        The alternative was chosen by looking at the instances. With m alternatives, the bounds of
        each may fail with probability ``delta / (m + 1)``, so that all hold together, and those of
        whichever won do; the last part of delta is for `best_possible`, over all alternatives.

        Parameters
        ----------
        delta : float, default=0.05
            Probability that something in the guarantee does not hold.
        **options
            As in :meth:`certune.TuningResult.guarantee`.
        """
        count = len(self.alternatives)
        found = self.best.guarantee(delta / (count + 1), **options)
        largest = Fraction(self.choice.utility_range[1])
        bound = self.upper_bound_exact if self.criterion.is_plain else largest
        above = best_expectation(
            bound, self.choice.utility_range, found.n_instances, delta / (count + 1)
        )
        note = (
            f"the alternative was chosen among {count} on the same instances: each has a share of "
            f"1/{count + 1} of delta (union bound)"
        )
        return replace(found, delta=delta, best_possible=above, notes=(*found.notes, note))

    def plot_landscape(self, path: str | PathLike[str] | None = None) -> Any:
        """Draw one line for each alternative, with the optimal set of the winner.

        Where not all instances were computed, the line is a bound: missing ones count as perfect.
        If parameters or ranges differ, each is drawn over its own range.

        Parameters
        ----------
        path : path, optional
            Also write the figure to this file; the suffix decides on the format.
        """
        from certune.report.choices import ChoiceLine, choice_figure

        score = self.choice.score
        lines = [self._line(item) for item in self.alternatives.values()]
        title = (
            f"{self.status.name}: best {self.criterion.words(score.name)} {self.best_score:.6g} "
            f"({self.best_alternative})"
        )
        drawn = [line for line in lines if isinstance(line, ChoiceLine)]
        return choice_figure(
            drawn,
            self.best_alternative,
            score=score,
            criterion=self.criterion,
            title=title,
            path=path,
        )

    def _line(self, item: Alternative) -> Any:
        from certune.report.choices import ChoiceLine

        known = item.result
        if item.bound_function is not None:
            function = item.bound_function
        elif known is not None:  # several parameters: along a line through the best setting
            function = known.landscape
        else:
            return None
        free = {parameter.name: parameter for parameter in item.family.space.parameters}
        return ChoiceLine(
            name=item.name,
            function=function,
            is_bound=item.n_computed < item.n_instances,
            is_logarithmic=isinstance(free.get(function.name), LogReal),
        )

    @stage("writing the report")
    def report(self, path: str | PathLike[str], held_out: Any = None, *, title: str = "") -> None:
        """Write the report of the winning alternative; its title names the others.

        Parameters
        ----------
        path : path
            The HTML file; an existing one is replaced.
        held_out : HeldOutEvaluation or iterable of instances, optional
            As in :meth:`certune.TuningResult.report`.
        title : str, optional
            Headline.
        """
        from certune.report import findings_of, write_report
        from certune.tuning.space.cell_map import map_for_report

        if held_out is not None and not isinstance(held_out, HeldOutEvaluation):
            held_out = self.evaluate(held_out)
        best = self.best
        cells = map_for_report(best.family, best.instances, best.criterion)
        write_report(path, findings_of(self, held_out, title=title, cells=cells))

    def to_frame(self) -> Any:
        """Return a table of the instances for the winner, see `TuningResult.to_frame`."""
        return self.best.to_frame()

    def _repr_html_(self) -> str:
        from certune.cards import card, rows_of

        return card(f"Choice: {self.status.name}", rows_of(str(self)))

    def __repr__(self) -> str:
        return (
            f"ChoiceResult({self.status.name}, best_value={self.best_value!r}, "
            f"best_params={self.best_params!r}, gap={self.gap!r})"
        )

    def __str__(self) -> str:
        from certune.tuning.outcome.summary import summary_of_choice

        return summary_of_choice(self)
