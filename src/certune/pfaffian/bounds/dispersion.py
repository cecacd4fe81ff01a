"""Constants of online learning: hitting and shattering by segments, dispersion, regret.

`thm:pfaffian-intersections` bounds how often a line meets a Pfaffian hypersurface; from that follow
the subsets that segments can hit (`thm:alg-hyp`), the deviation of discontinuity counts
(`thm:VC-bound-Pfaffian`) and, with the probability of a discontinuity in a window, dispersion
(`thm:linkage-dispersion`) and regret (`thm:dispersion-no-regret`, `thm:logistic-dispersion`).  The
constants that the paper leaves in O(.) are derived in ``docs/theory/bounds.md``.
"""

from __future__ import annotations

from collections.abc import Callable
from math import comb, factorial
from typing import Any

from flint import arb

from certune.errors import ParameterError
from certune.pfaffian.bounds.arithmetic import (
    Real,
    ball,
    certified,
    first_true,
    log2,
    non_negative,
    positive,
    upper_integer,
)
from certune.pfaffian.bounds.components import intersection_count
from certune.pfaffian.bounds.records import Bound, Provenance, bound_from_ball
from certune.pfaffian.structure import whole_number


def line_intersections(chain_length: int, chain_degree: int, function_degree: int) -> Bound:
    """Bound the isolated intersections of a line and a Pfaffian hypersurface.

    Restricted to the line the chain has one variable, so that `thm:pfaffian-intersections` applies
    with n = 1; the proof of `thm:alg-hyp` uses it with n = p.

    Parameters
    ----------
    chain_length, chain_degree, function_degree : int
        q, M and Delta of the hypersurface.
    """
    return intersection_count([function_degree], chain_length, chain_degree)


def line_points(chain_length: int, chain_degree: int, function_degree: int) -> int:
    """Return the bound of `line_intersections` as a whole number, however large.

    Parameters
    ----------
    chain_length, chain_degree, function_degree : int
        q, M and Delta of the hypersurface.
    """
    q = whole_number("chain_length", chain_length, 0)
    degree = whole_number("function_degree", function_degree, 1)
    whole_number("chain_degree", chain_degree, 1 if q else 0)
    return int(2 ** (q * (q - 1) // 2) * degree * (min(q, 1) * chain_degree + degree) ** q)


def hit_subsets(n_surfaces: int, n_intersections: int) -> int:
    """Return how many subsets of surfaces the segments of one line can hit.

    The line has at most K R intersection points, and a segment contains a run of them:
    C(KR + 1, 2) + 1 runs, the empty one included.

    Parameters
    ----------
    n_surfaces, n_intersections : int
        K, and R for each surface.
    """
    points = whole_number("n_surfaces", n_surfaces, 0) * whole_number(
        "n_intersections", n_intersections, 0
    )
    return comb(points + 1, 2) + 1


def shattering_constant(
    chain_length: int,
    chain_degree: int,
    function_degree: int,
    n_parameters: int = 1,
    hidden_constant: int | None = None,
) -> int:
    """Return a number of hypersurfaces that axis-aligned segments cannot shatter (`thm:alg-hyp`).

    Parameters
    ----------
    chain_length, chain_degree, function_degree : int
        q, M and the degree of the hypersurfaces.
    n_parameters : int, default=1
        p, the dimension of the space.
    hidden_constant : int, optional
        For p >= 2 the proof counts classes of lines as
        O(K^((p!)^2 (2p(2p+q))^p) (M+Delta)^(q^O(p^3))) without stating the constants; the answer is
        then conditional on both being at most this number.

    Returns
    -------
    int
        K_{M,q,d,p}.
    """
    p = whole_number("n_parameters", n_parameters, 1)
    q = whole_number("chain_length", chain_length, 0)
    degree = whole_number("function_degree", function_degree, 1)
    points = line_points(q, chain_degree, degree)
    if p == 1:
        return _first_unshattered(lambda k: log2(hit_subsets(k, points)))
    if hidden_constant is None:
        raise ParameterError(
            "for n_parameters >= 2 thm:alg-hyp leaves constants unspecified and no number follows; "
            "pass hidden_constant to assume one"
        )
    c = whole_number("hidden_constant", hidden_constant, 1)
    power = factorial(p) ** 2 * (2 * p * (2 * p + q)) ** p

    def patterns(k: int) -> Any:
        classes = log2(c) + power * log2(k) + q ** (c * p**3) * log2(chain_degree + degree)
        return log2(p) + log2(hit_subsets(k, points)) + classes

    return _first_unshattered(patterns)


def _first_unshattered(log2_patterns: Callable[[int], Any]) -> int:
    with certified():
        return first_true(lambda k: bool(arb(k) > log2_patterns(k)))


def discontinuity_deviation(horizon: int, n_discontinuities: int) -> Bound:
    """Bound E sup_s (D(T, s) - E D(T, s)) over intervals s (`thm:VC-bound-Pfaffian`, p = 1).

    sqrt(2 T ln(C(TP + 1, 2) + 1)) for independent functions with at most P discontinuities each.

    Parameters
    ----------
    horizon : int
        T.
    n_discontinuities : int
        P.
    """
    t = whole_number("horizon", horizon, 1)
    whole_number("n_discontinuities", n_discontinuities, 1)
    with certified():
        number = _deviation(t, n_discontinuities)
    return bound_from_ball(
        number,
        label="thm:VC-bound-Pfaffian",
        provenance=Provenance.CORRECTED,
        formula=r"\sqrt{2 T \ln(\binom{TP+1}{2} + 1)}",
        assumptions=("the functions are independent", "one parameter"),
    )


def _deviation(horizon: int, n_discontinuities: int) -> Any:
    return (2 * horizon * arb(hit_subsets(horizon, n_discontinuities)).log()).sqrt()


def linkage_window_probability(
    n_points: int, density: Real, largest_distance: Real, smallest_exponent: Real, width: Real
) -> Bound:
    """Bound the probability that min-max linkage changes within a window of alpha.

    (12 C(m,4) + 6 C(m,3)) 2 kappa R w / (e alpha_min^2) with m = n(n-1)/2: the constant of
    `thm:linkage-dispersion`.

    Parameters
    ----------
    n_points : int
        n.
    density : float
        kappa: the distances are independent with densities of at most this.
    largest_distance : float
        R: distances lie in [0, R].
    smallest_exponent : float
        alpha_min > 0: the window lies above it.
    width : float
        w, the length of the window.
    """
    m = comb(whole_number("n_points", n_points, 2), 2)
    events = 12 * comb(m, 4) + 6 * comb(m, 3)
    if events == 0:
        raise ParameterError(f"with n_points={n_points} no order of merges can change; need >= 3")
    with certified():
        slope = 2 * ball(positive("largest_distance", largest_distance))
        slope /= arb(1).exp() * ball(positive("smallest_exponent", smallest_exponent)) ** 2
        number = events * slope * ball(positive("density", density))
        number *= ball(positive("width", width))
    return bound_from_ball(
        number,
        label="thm:linkage-dispersion",
        provenance=Provenance.CORRECTED,
        formula=r"(12\tbinom m4 + 6\tbinom m3) \frac{2 \kappa R w}{e\,\alpha_{\min}^2}",
        assumptions=("independent distances with densities <= kappa on [0, R]", "one metric"),
    )


def linkage_dispersion(
    n_points: int,
    density: Real,
    largest_distance: Real,
    smallest_exponent: Real,
    width: Real,
    horizon: int,
) -> Bound:
    """Bound the dispersion function f(T, w) of min-max linkage (`thm:linkage-dispersion`).

    Parameters
    ----------
    n_points, density, largest_distance, smallest_exponent, width
        As in :func:`linkage_window_probability`.
    horizon : int
        T: number of functions, independent.
    """
    window = linkage_window_probability(
        n_points, density, largest_distance, smallest_exponent, width
    )
    t = whole_number("horizon", horizon, 1)
    roots = comb(comb(n_points, 2) + 1, 4)
    with certified():
        number = t * arb(window.value) + _deviation(t, roots)
    return bound_from_ball(
        number,
        label="thm:linkage-dispersion",
        provenance=Provenance.CORRECTED,
        formula=window.formula + r" T + \sqrt{2 T \ln(\tbinom{TP+1}{2} + 1)}",
        assumptions=(*window.assumptions, "independent instances"),
    )


def power_density_bound(density: Real, largest: Real, smallest_exponent: Real) -> Bound:
    """Bound the density of X^alpha, alpha in [alpha_min, 1] (`lem:power-alpha-bounded`).

    Parameters
    ----------
    density, largest : float
        X lies in [0, largest] with a density of at most kappa.
    smallest_exponent : float
        alpha_min in (0, 1].
    """
    alpha = positive("smallest_exponent", smallest_exponent)
    if alpha > 1:
        raise ParameterError(f"smallest_exponent must be at most 1, got {alpha!r}")
    with certified():
        factor = ball(positive("density", density)) / ball(alpha)
        largest_power = ball(positive("largest", largest)) ** (1 - ball(alpha))
        number = factor * (largest_power if largest > 1 else 1)
    return bound_from_ball(
        number,
        label="lem:power-alpha-bounded",
        provenance=Provenance.CORRECTED,
        formula=r"\frac{\kappa}{\alpha_{\min}} \max\{1, M^{1-\alpha_{\min}}\}",
        assumptions=("alpha in [alpha_min, 1]",),
    )


def dispersion_regret(
    horizon: int,
    radius: Real,
    width: Real,
    dispersion: Real,
    lipschitz: Real = 0.0,
    n_parameters: int = 1,
    utility_range: Real = 1.0,
) -> Bound:
    """Bound the regret of exponential weights (`thm:dispersion-no-regret`).

    H sqrt(T d ln(R/r) / 2) + H f(T, r) + T L r.

    Parameters
    ----------
    horizon : int
        T.
    radius : float
        R of a ball that contains the parameters.
    width : float
        r <= R; the best parameter has a ball of this radius around it in the domain.
    dispersion : float
        f(T, r).
    lipschitz : float, default=0.0
        Lipschitz constant L of the pieces; 0 for piecewise constant functions.
    n_parameters : int, default=1
        d.
    utility_range : float, default=1.0
        H.
    """
    t = whole_number("horizon", horizon, 1)
    d = whole_number("n_parameters", n_parameters, 1)
    big, small = positive("radius", radius), positive("width", width)
    if small > big:
        raise ParameterError(f"width must not exceed radius, got {small!r} > {big!r}")
    non_negative("dispersion", dispersion)
    non_negative("lipschitz", lipschitz)
    h = ball(positive("utility_range", utility_range))
    with certified():
        learning = h * (t * d * (ball(big) / ball(small)).log() / 2).sqrt()
        total = learning + h * ball(dispersion) + t * ball(lipschitz) * ball(small)
    return bound_from_ball(
        total,
        label="thm:dispersion-no-regret",
        provenance=Provenance.CORRECTED,
        formula=r"H \sqrt{T d \ln(R/r) / 2} + H f(T, r) + T L r",
        assumptions=("utilities are revealed for all parameters after each round",),
    )


def logistic_regret(
    horizon: int,
    lam: tuple[Real, Real],
    lipschitz: Real,
    surrogate_constant: Real,
    utility_range: Real = 1.0,
) -> Bound:
    """Bound the regret of the randomised-grid learner of `thm:logistic-dispersion`.

    With epsilon = T^(-1/4), r = T^(-3/4), g = ceil((high - low) / epsilon) + 1 grid points and a
    surrogate within c epsilon^2: f(T, r) = r T / epsilon + sqrt(2 T ln(C(Tg+1, 2) + 1)), and the
    surrogate costs 2 c epsilon^2 T.

    Parameters
    ----------
    horizon : int
        T.
    lam : pair of float
        Range of the penalty.
    lipschitz : float
        Lipschitz constant of the losses between grid points.
    surrogate_constant : float
        c of `thm:rosset1`, which the paper leaves open.
    utility_range : float, default=1.0
        H.
    """
    t = whole_number("horizon", horizon, 1)
    low, high = (positive("an end of lam", end) for end in lam)
    if not low < high:
        raise ParameterError(f"lam must be a range (low, high) with low < high, got {lam!r}")
    non_negative("lipschitz", lipschitz)
    non_negative("surrogate_constant", surrogate_constant)
    h = ball(positive("utility_range", utility_range))
    with certified():
        length = ball(high) - ball(low)
        root = arb(t).sqrt()
        step, width = 1 / root.sqrt(), 1 / (root * root.sqrt())
        if not width <= length:
            raise ParameterError(f"horizon={t} is too short for the range {lam!r} of the penalty")
        grid = upper_integer(length / step) + 2
        learning = h * (t * (length / width).log() / 2).sqrt()
        dispersion = width * t / step + _deviation(t, grid)
        surrogate = 2 * ball(surrogate_constant) * step**2 * t
        total = learning + h * dispersion + t * ball(lipschitz) * width + surrogate
    return bound_from_ball(
        total,
        label="thm:logistic-dispersion",
        provenance=Provenance.CORRECTED,
        formula=r"H\sqrt{T \ln((\lambda_{\max}-\lambda_{\min})/r)/2} + H f(T,r) + TLr "
        r"+ 2c\epsilon^2 T",
        assumptions=("the surrogate is within c epsilon^2 of the loss (thm:rosset1)",),
    )
