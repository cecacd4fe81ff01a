"""What tuning of one parameter gives back."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from certune.dual import DualFunction, PiecewiseFunction
from certune.errors import CertificateError
from certune.space import Segment
from certune.tuning.certificate import Certificate, make_certificate
from certune.tuning.line_generalization import LineGeneralization
from certune.tuning.result import TuningResult

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
        Exact mean utility over the finished instances, as a function of t.
    duals : list of PiecewiseFunction or PiecewisePolynomial
        Exact utility of each finished instance.
    """

    segment: Segment
    landscape: DualFunction
    duals: list[DualFunction]

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
        )

    def _columns(self) -> dict[str, list[Any]]:
        missing = [None] * (len(self.instances) - len(self.duals))
        return {
            "attainable": [self.family.score.of(dual.max()) for dual in self.duals] + missing,
            "pieces": [dual.n_pieces for dual in self.duals] + missing,
        }

    def __str__(self) -> str:
        from certune.tuning.summary import summary_of_line

        return summary_of_line(self)
