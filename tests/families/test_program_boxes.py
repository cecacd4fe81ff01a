"""Programs on boxes of parameters: every outcome is followed, so that nothing is cut off."""

from fractions import Fraction

import numpy as np
import pytest

import certune as ct
from certune.box import Box
from certune.families.programs import FIGURE_DOMAIN, figure_utility
from certune.pfaffian import argsort, exp, log
from certune.testing import check_family
from certune.testing.boxes import random_setting


def pack(instance, parameters):
    """Greedy packing by value / (size^rho * weight^tau); two parameters."""
    values, sizes, weights, room = instance
    scores = [
        Fraction(v) / (Fraction(s) ** parameters["rho"] * Fraction(w) ** parameters["tau"])
        for v, s, w in zip(values, sizes, weights, strict=True)
    ]
    packed = 0
    for i in argsort(scores, descending=True):
        if sizes[i] <= room:
            room -= sizes[i]
            packed += values[i]
    return Fraction(packed, sum(values))


def problem(seed, n=5):
    rng = np.random.default_rng(seed)
    values, sizes, weights = (tuple(map(int, rng.integers(1, 25, n))) for _ in range(3))
    return values, sizes, weights, sum(sizes) // 2


PACKING = ct.ProgramFamily(pack, ct.ParameterSpace((ct.Real("rho", 0, 3), ct.Real("tau", -1, 2))))


def vote(instance, parameters):
    """Weighted sums of scores; the winner's utility. Weights of metrics as parameters."""
    best, winner = None, None
    for utility, *scores in instance:
        total = sum(
            w * exp(Fraction(s)) for w, s in zip(parameters["weights"], scores, strict=True)
        )
        if best is None or total > best:
            best, winner = total, utility
    return Fraction(winner, 10)


VOTING = ct.ProgramFamily(vote, ct.Simplex("weights", 3))
BALLOT = ((2, 0, 1, 2), (9, 1, 1, 1), (5, 2, 1, 0), (3, 2, 0, 1), (1, 0, 2, 1))


def figure(tolerance=1e-4):
    space = ct.ParameterSpace(tuple(ct.Real(name, *ends) for name, ends in FIGURE_DOMAIN.items()))
    return ct.ProgramFamily(figure_utility, space, utility_range=(0, 20), tolerance=tolerance)


@pytest.mark.parametrize(
    ("family", "instance"), [(PACKING, problem(0)), (VOTING, BALLOT), (figure(), 0)], ids=str
)
def test_bounds_hold_at_random_settings(family, instance):
    rng = np.random.default_rng(0)
    n_followed = 0
    for _ in range(25):
        strata = family.strata()
        box = strata[rng.integers(len(strata))]
        bound = family.bound_on_box(instance, box)
        for _ in range(int(rng.integers(0, 14))):
            if box.edges:
                box = box.split(box.edges[int(np.argmax(bound.importance))])[rng.integers(2)]
                bound = family.bound_on_box(instance, box, bound.reuse)
        n_followed += bound.n_outcomes is not None
        slack = Fraction(family.tolerance)
        for _ in range(3):
            value = family.run_exact(instance, random_setting(box, rng))
            assert bound.lower - slack <= value <= bound.upper + slack
    assert n_followed > 10


@pytest.mark.parametrize("family", [PACKING, VOTING], ids=str)
def test_programs_pass_the_conformance_suite(family):
    check_family(family, [problem(1) if family is PACKING else BALLOT], n_points=10)


def test_two_parameters_are_tuned_with_a_proof():
    instances = [problem(seed) for seed in range(2)]
    result = ct.tune(PACKING, instances)
    assert result.status is ct.Status.OPTIMAL and result.n_nodes > 0
    rng = np.random.default_rng(1)
    sampled = [
        sum(PACKING.run_exact(item, {"rho": rho, "tau": tau}) for item in instances) / 2
        for rho, tau in rng.uniform([0, -1], [3, 2], (100, 2)).tolist()
    ]
    assert max(sampled) <= result.upper_bound_exact == result.best_value_exact
    assert ct.verify(result.certificate, PACKING, instances).optimal


def test_weights_are_tuned_with_a_proof():
    result = ct.tune(VOTING, [BALLOT])
    assert result.status is ct.Status.OPTIMAL
    # Candidate 1 (utility 9/10) has the weights' mean of e; another one always has more.
    rng = np.random.default_rng(0)
    sampled = [VOTING.run_exact(BALLOT, {"weights": tuple(w)}) for w in rng.dirichlet([1] * 3, 500)]
    assert max(sampled) == result.best_value_exact


def test_the_figure_of_the_paper_is_maximised():
    """The supremum is that of the square root on the circle, which belongs to another piece.

    Of the four forms only a1 + a2 / 2 and the root exceed 5; the first is used inside the circle
    where a1^2 / 2 < a2 <= 9, and is at most sqrt(18) + 9 / 2. The root grows in both parameters, so
    that its supremum is found on the circle, here among 200,001 points of a quarter of it.
    """
    family = figure(tolerance=1e-6)
    result = ct.tune(family, [0], timeout=60)
    assert result.status is ct.Status.OPTIMAL and result.gap <= 1e-6
    angles = np.linspace(0, np.pi / 2, 200_001)
    a1, a2 = 5 + 4 * np.cos(angles), 5 + 4 * np.sin(angles)
    best = np.sqrt(a1**2 + a2**2 + np.exp(np.sqrt(a1) / 10)).max()
    assert best - 2e-6 <= result.best_value <= best + 1e-6
    assert result.upper_bound >= best - 1e-9
    assert ct.verify(result.certificate, family, [0]).upper_bound == result.upper_bound_exact


def test_cell_map_of_the_figure():
    cells = ct.cell_map(figure(), [0], resolution=32)
    cells._check()
    assert cells.tolerance == Fraction(20, 32) and 0.7 < cells.decided_share < 1
    rng = np.random.default_rng(0)
    for x, y in rng.uniform(0.1, 10, (60, 2)).tolist():
        value = figure().run(0, {"a1": x, "a2": y})
        low, high = cells.bounds_at(x, y)
        assert low - 1e-4 <= value <= high + 1e-4
        if cells(x, y) is not None:
            assert cells(x, y) == pytest.approx(value, abs=20 / 32)


def halves(instance, parameters):
    """A logarithm that is only defined on the path on which it is asked for."""
    x, y = parameters["x"], parameters["y"]
    if x <= y:
        return 0
    return 1 if log(x - y) >= -1 else Fraction(1, 2)


def test_undefined_values_are_open_not_errors():
    space = ct.ParameterSpace((ct.Real("x", 0, 1), ct.Real("y", 0, 1)))
    family = ct.ProgramFamily(halves, space)
    whole = family.bound_on_box(None, family.strata()[0])
    assert (whole.lower, whole.upper) == (0, 1)
    result = ct.tune(family, [None])
    assert result.status is ct.Status.OPTIMAL and result.best_value == 1.0
    corner = Box(space, (((0.9,), (1.0,)), ((0.0,), (0.1,))))
    assert family.bound_on_box(None, corner).settled


def crowded(instance, parameters):
    """So many open comparisons that they are not all followed."""
    x, y = parameters["x"], parameters["y"]
    return Fraction(sum(1 for k in range(40) if x >= y + Fraction(k, 1000)), 40)


def test_too_many_outcomes_leave_the_box_open():
    space = ct.ParameterSpace((ct.Real("x", 0, 1), ct.Real("y", 0, 1)))
    family = ct.ProgramFamily(crowded, space)
    bound = family.bound_on_box(None, family.strata()[0])
    assert bound.n_outcomes is None and (bound.lower, bound.upper) == (0, 1)
    assert bound.importance[0] == pytest.approx(bound.importance[1])
    small = Box(space, (((0.5,), (0.5005,)), ((0.4,), (0.4005,))))
    assert family.bound_on_box(None, small).settled


def test_varying_utilities_need_a_tolerance():
    space = ct.ParameterSpace((ct.Real("x", 0, 1), ct.Real("y", 0, 1)))
    family = ct.ProgramFamily(lambda _, p: p["x"] * p["y"], space)
    with pytest.raises(ct.InputError, match="tolerance"):
        family.bound_on_box(0, family.strata()[0])


def test_the_search_does_not_depend_on_workers():
    instances = [problem(seed) for seed in range(2)]
    results = [ct.tune(PACKING, instances, n_jobs=n, max_nodes=20) for n in (1, 2)]
    assert results[0].certificate == results[1].certificate


def ridge(instance, parameters):
    """A plane above a curve and nothing below: the optimum lies on the curve."""
    x, y = parameters["x"], parameters["y"]
    return (x + 2 * y) / 3 if x**2 + y**2 <= 1 else 0


def test_an_optimum_on_a_boundary_needs_few_boxes():
    """By Cauchy and Schwarz x + 2 y <= sqrt(5) on the unit disc."""
    space = ct.ParameterSpace((ct.Real("x", 0, 1), ct.Real("y", 0, 1)))
    family = ct.ProgramFamily(ridge, space, tolerance=1e-8)
    result = ct.tune(family, [0], timeout=60)
    assert result.status is ct.Status.OPTIMAL and result.n_nodes < 2000
    assert result.upper_bound >= 5**0.5 / 3 - 1e-12
    assert result.best_value == pytest.approx(5**0.5 / 3, abs=1e-8)
