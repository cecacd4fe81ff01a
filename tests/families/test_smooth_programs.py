"""Programs whose utility varies on pieces: duals with proved errors."""

import dataclasses
import decimal
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import certune as ct
from certune.errors import InputError, ParameterError
from certune.families.programs import figure_utility
from certune.pfaffian import exp, log, sqrt
from certune.testing import check_family

PLANE = ct.ParameterSpace((ct.Real("a1", 0.1, 10), ct.Real("a2", 0.1, 10)))
FIGURE = ct.ProgramFamily(figure_utility, PLANE, utility_range=(-1, 16), tolerance=1e-10)
UNIT = ct.Real("t", 0, 1)


def figure_in_decimals(a1, a2):
    """Run the program of the figure in 50 decimal digits."""
    if (a1 - 5) ** 2 + (a2 - 5) ** 2 >= 16:
        return (-(a1 * a1 + a2 * a2) / 5).exp()
    if a1 >= a2.exp():
        return a2.ln() + 2
    if a1 * a1 / 2 >= a2:
        return (a1 * a1 + a2 * a2 + (a1.sqrt() / 10).exp()).sqrt()
    return a1 + a2 / 2


def program_of(function, low=0, high=1, **options):
    return ct.ProgramFamily(
        lambda x, p: function(p["t"]), ct.Real("t", low, high), **{"tolerance": 1e-10, **options}
    )


@pytest.mark.parametrize("seed", range(6))
def test_dual_of_the_figure_against_high_precision(seed):
    rng = np.random.default_rng(seed)
    segment = ct.Segment(PLANE.sample(rng), PLANE.sample(rng))
    dual = FIGURE.dual(None, segment)
    assert dual.error <= FIGURE.tolerance
    with decimal.localcontext(prec=50):
        for t in rng.uniform(0, 1, 200).tolist():
            exact = [
                Decimal(segment.origin[name]) + Decimal(segment.direction[name]) * Decimal(t)
                for name in ("a1", "a2")
            ]
            lower, upper = dual.enclose_exact(t)
            margin = Fraction(1, 10**40)
            value = Fraction(figure_in_decimals(*exact))
            assert lower - margin <= value <= upper + margin
            assert upper - lower <= 2 * FIGURE.tolerance


def figure_on_a_line(line, parameters):
    """Run the figure's program from one corner of the plane to the one across."""
    t = parameters["t"]
    a1, a2 = (Fraction(start) + t * (Fraction(stop) - Fraction(start)) for start, stop in line)
    return figure_utility(None, {"a1": a1, "a2": a2})


LINES = [((0.5, 9.5), (9.0, 0.25)), ((1.0, 9.0), (1.0, 9.0)), ((9.0, 2.0), (1.0, 3.0))]


def test_figure_on_lines_is_a_family_and_its_best_point_is_proved():
    family = ct.ProgramFamily(figure_on_a_line, UNIT, utility_range=(-1, 16), tolerance=1e-10)
    check_family(family, LINES, n_points=20)
    result = ct.tune(family, LINES)
    assert result.status is ct.Status.OPTIMAL
    found = max(
        np.mean([family.run(line, t) for line in LINES]) for t in np.linspace(0, 1, 201).tolist()
    )
    assert found <= result.best_value + 1e-9
    at_best = np.mean([family.run(line, result.best_params) for line in LINES])
    assert at_best == pytest.approx(result.best_value, abs=1e-10)
    assert ct.verify(result.certificate, family, LINES).optimal


def fall(square, parameters):
    t = parameters["t"]
    return (1 + t) / 2 if t * t <= square else exp(-t)


@pytest.fixture(scope="module")
def falls():
    family = ct.ProgramFamily(fall, UNIT, tolerance=1e-10)
    squares = [Fraction(1, 2), Fraction(1, 3)]
    return family, squares, ct.tune(family, squares).certificate


def forged(certificate, **arrays):
    """Return a certificate that states other numbers of its first function, sealed again."""
    first = certificate.duals[0]
    duals = (
        ct.PiecewisePolynomial.from_arrays({**first.to_arrays(), **arrays}),
        certificate.duals[1],
    )
    landscape = ct.mean(duals)
    claims = {
        "duals": duals,
        "best_value": landscape.max_exact,
        "best_region": tuple(landscape.argmax()),
        "best_point": landscape.best_point,
        "upper_bound": landscape.upper_bound_exact,
    }
    return dataclasses.replace(certificate, **claims).sealed()


def test_functions_that_jump_are_verified(falls):
    family, squares, certificate = falls
    assert ct.verify(certificate, family, squares).optimal
    assert ct.verify(forged(certificate), family, squares).optimal


def test_a_gap_with_too_few_values_is_refused(falls):
    family, squares, certificate = falls
    first = certificate.duals[0]
    [gap] = np.flatnonzero(first.starts[1:] > first.stops[:-1])
    # Just left of the jump the value is (1 + sqrt(1/2)) / 2, just right of it exp(-sqrt(1/2)).
    assert first.gap_upper[gap] == pytest.approx((1 + 0.5**0.5) / 2)
    upper = first.gap_upper.copy()
    upper[gap] = 0.6
    with pytest.raises(ct.CertificateError, match="a fresh function goes beyond"):
        ct.verify(forged(certificate, gap_upper=upper), family, squares)


def test_a_gap_that_is_bridged_is_refused(falls):
    """Across the jump one cannot state a continuous function."""
    family, squares, certificate = falls
    first = certificate.duals[0]
    [gap] = np.flatnonzero(first.starts[1:] > first.stops[:-1])
    starts = first.starts.copy()
    starts[gap + 1] = first.stops[gap]
    with pytest.raises(ct.CertificateError, match="leaves open|family.run gives"):
        ct.verify(forged(certificate, starts=starts), family, squares)


def test_figure_in_the_plane_is_a_family():
    check_family(FIGURE, [None], n_points=10)


def hill(steepness, parameters):
    return parameters["t"] * exp(-steepness * parameters["t"])


def test_the_best_point_of_smooth_functions_is_verified():
    family = ct.ProgramFamily(hill, UNIT, tolerance=1e-10)
    result = ct.tune(family, [2, 5])
    assert result.status is ct.Status.OPTIMAL
    assert ct.verify(result.certificate, family, [2, 5]).optimal
    # Where the derivative (1 - 2 t) exp(-2 t) + (1 - 5 t) exp(-5 t) changes its sign.
    t = result.best_params["t"]
    slopes = [
        (1 - 2 * u) * np.exp(-2 * u) + (1 - 5 * u) * np.exp(-5 * u) for u in (t - 1e-4, t + 1e-4)
    ]
    assert slopes[0] > 0 > slopes[1]


def test_a_smooth_maximum():
    # t exp(-3 t) has its maximum 1 / (3 e) at t = 1/3.
    dual = program_of(lambda t: t * exp(-3 * t)).dual(None)
    assert dual.max_exact <= Fraction(np.exp(-1.0) / 3) + Fraction(1, 10**15)
    assert Fraction(np.exp(-1.0) / 3) - Fraction(1, 10**15) <= dual.upper_bound_exact
    assert dual.upper_bound_exact - dual.max_exact <= Fraction(1e-10)
    ((low, high),) = dual.argmax()
    assert low <= 1 / 3 <= high and high - low < 1e-4


@pytest.mark.parametrize(
    ("function", "exact", "low", "high"),
    [
        (lambda t: sqrt(t), lambda t: t.sqrt(), 0.0, 0.7),
        (lambda t: sqrt(t - 5), lambda t: (t - 5).sqrt(), 5.0, 6.0),
        (lambda t: sqrt(t * (1 - t)), lambda t: (t * (1 - t)).sqrt(), 0.0, 1.0),
    ],
)
def test_ends_of_roots(function, exact, low, high):
    dual = program_of(function, low, high).dual(None)
    rng = np.random.default_rng(0)
    ends = [low + 2.0**-k for k in range(1, 53)] + [high - 2.0**-k for k in range(1, 53)]
    points = [low, high, *ends, *rng.uniform(low, high, 50).tolist()]
    with decimal.localcontext(prec=50):
        for t in points:
            if low <= t <= high:
                lower, upper = dual.enclose_exact(t)
                margin = Fraction(1, 10**40)
                assert lower - margin <= Fraction(exact(Decimal(t))) <= upper + margin
    # Only pieces without a float inside may be known less well than was asked for.
    coarse = dual.errors > 1e-10
    assert (np.nextafter(dual.starts, np.inf) == dual.stops)[coarse].all()


def test_gaps_are_bounded_by_both_sides():
    # 1 + t^2 for t^2 < 1/2, exp(-t) from there on; the change is at sqrt(1/2).
    family = program_of(
        lambda t: 1 + t * t if 2 * t * t < 1 else exp(-t), 0, 1, utility_range=(0, 2)
    )
    dual = family.dual(None)
    (number,) = np.nonzero(dual.starts[1:] > dual.stops[:-1])[0]
    assert dual.stops[number] <= np.sqrt(0.5) <= dual.starts[number + 1]
    assert dual.gap_lower[number] == pytest.approx(np.exp(-np.sqrt(0.5)), abs=1e-8)
    assert dual.gap_upper[number] == pytest.approx(1.5, abs=1e-8)


def test_constants_and_forms_that_go_on():
    assert program_of(lambda t: exp(1) / 3).dual(None)(0.5) == pytest.approx(np.e / 3, abs=1e-15)
    steps = program_of(lambda t: 1 if 3 * t >= 1 else 0)
    assert steps.dual(None)([0.0, 0.3, 0.4, 1.0]).tolist() == [0, 0, 1, 1]
    # The comparison does not matter, so there is no gap.
    family = program_of(lambda t: t if 3 * t >= 1 else 1 * t)
    assert family.dual(None).n_pieces == 1


def test_runs_are_rounded_to_the_nearest_float():
    family = program_of(lambda t: exp(-t))
    assert family.run_exact(None, 0.0) == 1
    with decimal.localcontext(prec=50):
        assert family.run(None, 0.375) == float(Decimal("-0.375").exp())
    assert family.tolerance == 1e-10
    assert family.fingerprint != program_of(lambda t: exp(-t), tolerance=1e-9).fingerprint


def test_what_cannot_be_done_is_said():
    with pytest.raises(InputError, match="pass tolerance=1e-10"):
        program_of(lambda t: exp(-t), tolerance=0).dual(None)
    with pytest.raises(InputError, match=r"no value at t = 0.0: log needs a number > 0"):
        program_of(lambda t: log(t), utility_range=(-50, 0)).dual(None)
    family = program_of(lambda t: 2 * exp(t))
    with pytest.raises(InputError, match="pass utility_range="):
        family.dual(None)
    with pytest.raises(InputError, match="utility range"):
        family.run(None, 0.5)
    for bad in (-1e-10, float("nan"), float("inf"), "much", None, True, 1e-15):
        with pytest.raises(ParameterError, match="tolerance must be 0"):
            program_of(lambda t: t, tolerance=bad)
    with pytest.raises(ParameterError, match="utilities up to 1e"):
        program_of(lambda t: t, tolerance=1e-10, utility_range=(0, 10**6))
