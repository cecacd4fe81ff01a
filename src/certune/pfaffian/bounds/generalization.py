"""From counts to instances: Rademacher complexity, excess of the empirical optimum, sample sizes.

Utilities lie in an interval of length H; instances are independent with one distribution.  The
setting that is best on N of them (ERM) falls short of the best one in expectation by at most
E sup (P_N - P) u + H sqrt(2 ln(1/delta) / N), with probability 1 - delta.  The expectation is
bounded by a count of patterns (R7; Massart's lemma), by the pseudo-dimension
(`lm:pdim-to-rademacher`), or through a surrogate class (`lm:approximation-peice-wise-struture-1`).
Derivations with all constants: ``docs/theory/bounds.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from flint import arb

from certune.errors import ParameterError
from certune.pfaffian.bounds.arithmetic import (
    Real,
    ball,
    certified,
    first_true,
    non_negative,
    positive,
    probability,
)
from certune.pfaffian.bounds.growth import Growth, SauerGrowth
from certune.pfaffian.bounds.records import Bound, Provenance, SampleSize, bound_from_ball
from certune.pfaffian.structure import whole_number

INDEPENDENT = "instances are drawn independently from one distribution"


def rademacher_bound(dimension: int, n_instances: int, utility_range: Real = 1.0) -> Bound:
    """Bound the Rademacher complexity by the pseudo-dimension (`lm:pdim-to-rademacher`).

    The form with Sauer's and Massart's lemmas has a logarithm but far smaller constants than
    chaining, 12 sqrt(1 + ln 2) H sqrt(D/N); the smaller one is returned.

    Parameters
    ----------
    dimension : int
        D >= 1.
    n_instances : int
        N.
    utility_range : float, default=1.0
        H.
    """
    d = whole_number("dimension", dimension, 1)
    n = whole_number("n_instances", n_instances, 1)
    h = positive("utility_range", utility_range)
    with certified():
        counted = _massart(SauerGrowth(d), n, h) / 2
        chained = ball(h) * _chaining_constant() * (arb(d) / n).sqrt()
        if counted < chained:
            return bound_from_ball(
                counted, formula=r"\tfrac{H}{2} \sqrt{2 D \ln(eN/D) / N}", **_RADEMACHER
            )
        return bound_from_ball(
            chained, formula=r"12 \sqrt{1 + \ln 2}\, H \sqrt{D/N}", **_RADEMACHER
        )


_RADEMACHER: dict[str, Any] = {
    "label": "lm:pdim-to-rademacher",
    "provenance": Provenance.CORRECTED,
    "assumptions": ("the signed average is taken of u - H/2, which has the same supremum",),
}


def rademacher_through_surrogate(rademacher: Real, sup_errors: Sequence[Real]) -> Bound:
    """Bound an empirical Rademacher complexity by that of a surrogate (`lm:balcan-refined-icml`).

    Parameters
    ----------
    rademacher : float
        Empirical Rademacher complexity of the surrogate class on the same instances.
    sup_errors : sequence of float
        For each instance the largest difference of the two dual functions.
    """
    if not sup_errors:
        raise ParameterError("sup_errors must hold one number for each instance, got none")
    for number in (rademacher, *sup_errors):
        non_negative("a Rademacher complexity or sup-error", number)
    with certified():
        total = sum((ball(error) for error in sup_errors), ball(0))
        number = ball(rademacher) + total / len(sup_errors)
    return bound_from_ball(
        number,
        label="lm:balcan-refined-icml",
        provenance=Provenance.CLASSICAL,
        formula=r"\hat R_S(G) + \frac{1}{|S|} \sum_x \|f^*_x - g^*_x\|_\infty",
    )


def excess_bound(
    growth: Growth,
    n_instances: int,
    delta: Real,
    utility_range: Real = 1.0,
    surrogate_error: Real = 0.0,
) -> Bound:
    """Bound how far the empirical optimum falls short, with probability 1 - delta (R7).

    Parameters
    ----------
    growth : Growth
        Count of patterns of the class, or of its surrogate.
    n_instances : int
        N.
    delta : float
        Probability of failure.
    utility_range : float, default=1.0
        H.
    surrogate_error : float, default=0.0
        Largest difference xi of a dual function from its surrogate, if `growth` counts a
        surrogate class (`lm:approximation-peice-wise-struture-1`).
    """
    n = whole_number("n_instances", n_instances, 1)
    h, probability_of_failure = positive("utility_range", utility_range), _delta(delta)
    through_surrogate = non_negative("surrogate_error", surrogate_error) > 0
    formula = r"H \sqrt{2 \ln \Pi(N) / N} + H \sqrt{2 \ln(1/\delta) / N}"
    with certified():
        number = _excess(growth, n, probability_of_failure, h) + 2 * ball(surrogate_error)
    return bound_from_ball(
        number,
        label="lm:approximation-peice-wise-struture-1" if through_surrogate else "R7",
        provenance=Provenance.CORRECTED if through_surrogate else Provenance.R7,
        formula=formula + (r" + 2\xi" if through_surrogate else ""),
        assumptions=(*growth.assumptions, INDEPENDENT),
        note=growth.note,
    )


def observed_gap_bound(
    n_vectors: int, n_instances: int, delta: Real, utility_range: Real = 1.0
) -> Bound:
    """Bound P_N u - P u at the empirical optimum by the number of utility vectors *seen* (R7).

    Parameters
    ----------
    n_vectors : int
        Distinct vectors (u_a(x_1), ..., u_a(x_N)) over all settings a: an observed count, which
        may enter here because the result is about this sample.
    n_instances, delta, utility_range
        As in :func:`excess_bound`.
    """
    return _observed(n_vectors, n_instances, delta, utility_range, 3, 2)


def observed_excess_bound(
    n_vectors: int, n_instances: int, delta: Real, utility_range: Real = 1.0
) -> Bound:
    """Bound how far the empirical optimum falls short by the number of utility vectors seen (R7).

    Parameters are those of :func:`observed_gap_bound`.
    """
    return _observed(n_vectors, n_instances, delta, utility_range, 4, 3)


def _observed(
    n_vectors: int, n_instances: int, delta: Real, utility_range: Real, factor: int, parts: int
) -> Bound:
    whole_number("n_vectors", n_vectors, 1)
    n = whole_number("n_instances", n_instances, 1)
    h, failure = positive("utility_range", utility_range), _delta(delta)
    with certified():
        complexity = (2 * arb(n_vectors).log() / n).sqrt()
        confidence = ((arb(parts) / ball(failure)).log() / (2 * n)).sqrt()
        number = ball(h) * (complexity + factor * confidence)
    return bound_from_ball(
        number,
        label="R7",
        provenance=Provenance.R7,
        formula=rf"H \sqrt{{2 \ln \hat M / N}} + {factor} H \sqrt{{\ln({parts}/\delta) / (2N)}}",
        assumptions=(INDEPENDENT,),
    )


def instances_for_growth(
    growth: Growth, epsilon: Real, delta: Real, utility_range: Real = 1.0
) -> SampleSize:
    """Return a number of instances for which :func:`excess_bound` is at most epsilon.

    Parameters
    ----------
    growth : Growth
        Count of patterns of the class.
    epsilon, delta : float
        Accuracy and probability of failure.
    utility_range : float, default=1.0
        H.
    """
    e, failure, h = _targets(epsilon, delta, utility_range)
    return _sample(
        lambda n: _excess(growth, n, failure, h) <= ball(e),
        (e, failure, h),
        label=growth.label if isinstance(growth, SauerGrowth) else "R7",
        provenance=growth.provenance if isinstance(growth, SauerGrowth) else Provenance.R7,
        formula=r"H \sqrt{2 \ln \Pi(N) / N} + H \sqrt{2 \ln(1/\delta) / N} \le \epsilon",
        assumptions=(*growth.assumptions, INDEPENDENT),
        note=growth.note,
    )


def instances_by_chaining(
    dimension: int, epsilon: Real, delta: Real, utility_range: Real = 1.0
) -> SampleSize:
    """Return a sample size of the form (H/epsilon)^2 (D + ln(1/delta)), constants included.

    Parameters
    ----------
    dimension : int
        Pseudo-dimension D, or a bound on it.
    epsilon, delta, utility_range
        As in :func:`instances_for_growth`.
    """
    d = whole_number("dimension", dimension, 0)
    e, failure, h = _targets(epsilon, delta, utility_range)

    def enough(n: int) -> bool:
        complexity = 2 * _chaining_constant() * (arb(d) / n).sqrt()
        return bool(ball(h) * (complexity + _confidence(failure, n)) <= ball(e))

    return _sample(
        enough,
        (e, failure, h),
        label="def:pseudo-dimension",
        provenance=Provenance.CLASSICAL,
        formula=r"H (24 \sqrt{(1 + \ln 2) D} + \sqrt{2 \ln(1/\delta)}) / \sqrt N \le \epsilon",
        assumptions=(INDEPENDENT,),
        note="chaining, no logarithm of N",
    )


def instances_by_pollard(
    dimension: int, epsilon: Real, delta: Real, utility_range: Real = 1.0
) -> SampleSize:
    """Return the sample size from Pollard's tail bound with Haussler's packing numbers.

    8 e (D+1) (32 e H / epsilon)^D exp(-N epsilon^2 / (512 H^2)) <= delta: uniform convergence to
    within epsilon/2 on both sides (`appx:classical-generalization-results`).

    Parameters
    ----------
    dimension : int
        Pseudo-dimension D, or a bound on it.
    epsilon, delta, utility_range
        As in :func:`instances_for_growth`.
    """
    d = whole_number("dimension", dimension, 0)
    e, failure, h = _targets(epsilon, delta, utility_range)
    with certified():
        packing = (8 * arb(1).exp() * (d + 1) / ball(failure)).log()
        packing += d * (32 * arb(1).exp() * ball(h) / ball(e)).log()

    return _sample(
        lambda n: bool(packing <= n * ball(e) ** 2 / (512 * ball(h) ** 2)),
        (e, failure, h),
        label="appx:classical-generalization-results",
        provenance=Provenance.CLASSICAL,
        formula=r"8e(D+1)(32eH/\epsilon)^D e^{-N\epsilon^2/(512H^2)} \le \delta",
        assumptions=(INDEPENDENT,),
        note="Pollard 1984, Haussler 1995",
    )


def _massart(growth: Growth, n: int, h: Real) -> Any:
    """Twice the Rademacher complexity of u - H/2: H sqrt(2 ln count(N) / N)."""
    return ball(h) * (2 * arb(growth.count(n)).log() / n).sqrt()


def _confidence(delta: Real, n: int) -> Any:
    return (2 * (1 / ball(delta)).log() / n).sqrt()


def _excess(growth: Growth, n: int, delta: Real, h: Real) -> Any:
    return _massart(growth, n, h) + ball(h) * _confidence(delta, n)


def _chaining_constant() -> Any:
    return 12 * (1 + arb(2).log()).sqrt()


def _delta(delta: Real) -> Real:
    return probability("delta", delta)


def _targets(epsilon: Real, delta: Real, utility_range: Real) -> tuple[Real, Real, Real]:
    return positive("epsilon", epsilon), _delta(delta), positive("utility_range", utility_range)


def _sample(
    enough: Callable[[int], Any], targets: tuple[Real, Real, Real], **described: Any
) -> SampleSize:
    with certified():
        n = first_true(lambda size: bool(enough(size)))
    epsilon, delta, utility_range = (float(target) for target in targets)
    return SampleSize(
        n_instances=n, epsilon=epsilon, delta=delta, utility_range=utility_range, **described
    )
