"""Constants of the dispersion of product linkage (`thm:linkage-dispersion-geometric`).

The paper states f(T, w) = O~(w T + sqrt(T)).  The constants follow as for min-max linkage, from the
distance with the largest weighted term of a comparison; ``docs/theory/bounds.md`` has the proof.
"""

from __future__ import annotations

from collections.abc import Sequence

from flint import arb

from certune.errors import ParameterError
from certune.pfaffian.bounds.arithmetic import Real, ball, certified, positive
from certune.pfaffian.bounds.records import Bound, Provenance, bound_from_ball
from certune.pfaffian.structure import whole_number


def product_comparisons(n_points: int) -> int:
    """Return how many comparisons of (X, Y) with (X, Z) there are, for disjoint sets of points.

    Parameters
    ----------
    n_points : int
        n, at least 3.
    """
    n = whole_number("n_points", n_points, 3)
    return int((4**n - 3 * 3**n + 3 * 2**n - 1) // 2)


def product_discontinuities(n_points: int) -> int:
    """Bound the discontinuities of product linkage along one exponent.

    A comparison is a sum of at most floor(n^2/4) exponentials of the exponent, which has one zero
    less than terms.

    Parameters
    ----------
    n_points : int
        n, at least 3.
    """
    return product_comparisons(n_points) * (n_points**2 // 4 - 1)


def product_window_probability(
    n_points: int,
    density: Real,
    largest_distance: Real,
    smallest_exponent: Real,
    other_exponents: Sequence[Real],
    width: Real,
) -> Bound:
    """Bound the probability that product linkage changes within a window of one exponent.

    Parameters
    ----------
    n_points : int
        n.
    density : float
        kappa: the distances, in all metrics, are independent with densities of at most this.
    largest_distance : float
        R: distances lie in [0, R]; kappa R is at least 1.
    smallest_exponent : float
        alpha_min > 0: the moving exponent is at least this far from 0.
    other_exponents : sequence of float
        The exponents of the other metrics, which do not move.
    width : float
        w, the length of the window.
    """
    comparisons, terms = product_comparisons(n_points), n_points**2 // 4
    kappa, largest = positive("density", density), positive("largest_distance", largest_distance)
    if kappa * largest < 1:
        raise ParameterError(
            f"distances in [0, {largest!r}] cannot have densities of at most {kappa!r}: their "
            "product must be at least 1"
        )
    with certified():
        logs = 2 * (1 + (ball(kappa) * ball(largest)).log())
        others = sum((abs(ball(exponent)) for exponent in other_exponents), arb(0))
        term = arb(-1).exp() + others * logs + arb(n_points - 2).log()
        slope = ball(largest) / ball(positive("smallest_exponent", smallest_exponent)) ** 2
        number = comparisons * terms * (terms - 1) * ball(kappa) * slope * term
        number *= ball(positive("width", width))
    return bound_from_ball(
        number,
        label="thm:linkage-dispersion-geometric",
        provenance=Provenance.CORRECTED,
        formula=r"K m (m-1) \frac{\kappa R w}{\alpha_{\min}^2} \left(\tfrac1e + "
        r"2(1 + \ln \kappa R) \textstyle\sum_{i \ge 2} |\alpha_i| + \ln(n-2)\right)",
        assumptions=(
            "independent distances with densities <= kappa on [0, R], in every metric",
            "the sum of the exponents keeps its sign in the window",
        ),
    )
