"""What tuning of one parameter gives back."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from certune.aggregates import Criterion
from certune.checks import as_list
from certune.dual import DualFunction, PiecewiseFunction
from certune.errors import CertificateError, InputError, ParameterError
from certune.space import Segment
from certune.tuning.instances import checked_instances, further_names
from certune.tuning.line.generalization import LineGeneralization
from certune.tuning.outcome.result import TuningResult
from certune.tuning.proof.certificate import Certificate, make_certificate

# Means of utilities that are floats differ by rounding by less than this, relative to their size.
ROUNDING = Fraction(1, 2**40)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class LineTuningResult(LineGeneralization, TuningResult):
    """Result of :func:`certune.tune` for one free parameter.

    If tuning ended early, `landscape`, `duals` and `best_region` know the finished instances only,
    which are the first ``len(duals)``, while `best_value`, `baselines`, `upper_bound` and `gap`
    hold for all of them.

    Attributes
    ----------
    segment : Segment
        The line of settings: ``segment.at(t)`` is the setting at coordinate t. For a real
        parameter t is the parameter itself; for two weights they are (1 - t, t).
    landscape : PiecewiseFunction or PiecewisePolynomial
        Exact mean utility over the finished instances, or what else was maximised, as a function
        of t.
    duals : list of PiecewiseFunction or PiecewisePolynomial
        Exact utility of each finished instance.
    failures : dict of int to str
        Why instances were left out with ``on_error="skip"``, by their place in `instances`, where
        they come last. They count with the lowest utility in `best_value` and `baselines`.
    """

    segment: Segment
    landscape: DualFunction
    duals: list[DualFunction]
    failures: dict[int, str] = field(default_factory=dict)

    def without(self, names: str | Iterable[str], n_jobs: int | None = 1) -> LineTuningResult:
        """Return the result for the other instances; no function is computed again.

        Unfinished instances that stay are finished, as far as there are any. Those that failed
        are left out as before, for the same reason.

        Parameters
        ----------
        names : str or iterable of str
            Names of instances, as in `instance_names`.
        n_jobs : int or None, default=1
            Number of parallel workers for the plain runs of the new best setting.

        Raises
        ------
        ParameterError
            If there is no such instance, or none would be left.
        """
        from certune.tuning.search import checked_options, tune_again

        listed = [names] if isinstance(names, str) else as_list("names", names)
        if not all(isinstance(name, str) for name in listed):
            raise InputError(f"names must be strings as in instance_names, got {names!r}.")
        left_out = set(listed)
        unknown = left_out - set(self.instance_names)
        if unknown:
            raise ParameterError(
                f"There are no instances of the names {sorted(unknown)[:5]}: names are as in "
                f"instance_names, such as {self.instance_names[:3]}."
            )
        kept = [n for n, name in enumerate(self.instance_names) if name not in left_out]
        if not any(number < len(self.duals) for number in kept):
            raise ParameterError("No finished instance would be left: keep at least one.")
        finished = {
            place: self.duals[number]
            for place, number in enumerate(kept)
            if number < len(self.duals)
        }
        failures = {
            place: self.failures[number]
            for place, number in enumerate(kept)
            if number in self.failures
        }
        others = [self.instances[number] for number in kept]
        options = checked_options(n_jobs)
        called = [self.instance_names[number] for number in kept]
        known, criterion = (finished, failures), self.criterion.of(kept)
        return tune_again(self, others, known, called, criterion, options)

    def with_instances(
        self,
        instances: Iterable[Any],
        n_jobs: int | None = 1,
        timeout: float | None = None,
        weights: Iterable[Any] | None = None,
        on_error: str = "raise",
        timeout_per_instance: float | None = None,
    ) -> LineTuningResult:
        """Return the result for these and further instances, at the cost of the further ones.

        Instances that failed before are left out as before, for the same reason.

        Parameters
        ----------
        instances : iterable
            Further instances of the family. Unfinished ones of this result are finished too.
        n_jobs, timeout
            As in :func:`certune.tune`.
        weights : iterable of number, optional
            Weights of all instances, those of this result first. Needed if it has weights.
        on_error, timeout_per_instance
            What to do when a further instance fails, as in :func:`certune.tune`.
        """
        from certune.tuning.search import checked_options, tune_again

        options = checked_options(n_jobs, timeout, on_error, timeout_per_instance)

        further = checked_instances(self.family, instances)
        listed = [*self.instances, *further]
        known_names = self.instance_names
        called = [*known_names, *further_names(known_names, further)]
        if weights is None and self.criterion.weights is not None:
            raise ParameterError(
                "This result has weights: pass those of all instances, of which the first "
                f"{len(self.instances)} are {list(self.criterion.weights)}."
            )
        criterion = Criterion.checked(self.criterion.aggregate, weights, len(listed))
        known = dict(enumerate(self.duals)), self.failures
        return tune_again(self, listed, known, called, criterion, options)

    @property
    def best_region(self) -> list[tuple[float, float]]:
        """All closed intervals of t in which the landscape is, or can be, at its maximum."""
        return self.landscape.argmax()

    @property
    def near_best_region(self) -> list[tuple[float, float]]:
        """Closed intervals of t whose value rounding of float utilities could make the best.

        They are those of `best_region` and any whose value is below the best by at most
        ``2**-40`` of the size of the utilities. Utilities that are fractions are compared exactly,
        and need no such region.
        """
        if not isinstance(self.landscape, PiecewiseFunction):
            return self.best_region
        size = max(1.0, *(abs(end) for end in self.family.utility_range))
        return self.landscape.superlevel(self.landscape.max_exact - ROUNDING * Fraction(size))

    def _made_certificate(self) -> Certificate:
        if not self.family.proves_duals:
            raise CertificateError(
                f"There is nothing to certify: the functions of {self.family!r} are not proved; "
                "tune a certified family."
            )
        return make_certificate(
            self.family,
            self.segment,
            [self.family.instance_fingerprint(item) for item in self.instances],
            self.duals,
            self.landscape,
            self.upper_bound_exact,
            self.criterion,
            self.failures,
        )

    def _columns(self) -> dict[str, list[Any]]:
        missing = [None] * (len(self.instances) - len(self.duals))
        reasons = [self.failures.get(place) for place in range(len(self.instances))]
        return {
            **({"failure": reasons} if self.failures else {}),
            "attainable": [self.family.score.of(dual.max()) for dual in self.duals] + missing,
            "pieces": [dual.n_pieces for dual in self.duals] + missing,
        }

    def __str__(self) -> str:
        from certune.tuning.outcome.summary import summary_of_line

        return summary_of_line(self)
