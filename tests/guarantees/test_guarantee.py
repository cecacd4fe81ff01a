"""Guarantees as a whole: coverage with known truth, shares of delta, words, refusals."""

import json
import math
from fractions import Fraction

import numpy as np
import pytest

import certune as ct
from certune.guarantees import (
    Tuned,
    best_simple_setting,
    cover_of,
    make_guarantee,
    rademacher,
    refine,
)
from certune.guarantees.guarantee import KINDS
from certune.guarantees.occam import DEEPEST_LEVEL, level_coordinates, prior
from certune.testing import StepFamily, WindowDomain

DOMAIN = WindowDomain()
RANGE = (Fraction(0), Fraction(1))


def drawn(n, n_held_out, rng, **options):
    """Tune on a random sample; return the guarantee and the tuned coordinate."""
    family = StepFamily()
    duals = [family.dual(instance) for instance in DOMAIN.sample(n, rng)]
    landscape = ct.mean(duals)
    low, high = landscape.widest_plateau(0)
    t = min(max(0.5 * low + 0.5 * high, low), high)
    held_out = [family.run_exact(i, t) for i in DOMAIN.sample(n_held_out, rng)]
    tuned = Tuned(landscape.max_exact, n, *RANGE)
    guarantee = make_guarantee(
        tuned, landscape.upper_bound_exact, duals=duals, held_out=held_out, **options
    )
    return guarantee, t


def test_everything_holds_together_often_enough():
    rng = np.random.default_rng(11)
    delta, failures, repetitions = 0.2, 0, 50
    tightest = []
    for _ in range(repetitions):
        guarantee, t = drawn(20, 30, rng, structure=DOMAIN.structure, delta=delta)
        truth = float(DOMAIN.expected_utility(t))
        simple = guarantee.simple
        holds = (
            all(bound.expected_utility <= truth for bound in guarantee.bounds)
            and guarantee.best_possible >= DOMAIN.best_utility
            and simple.expected_utility <= float(DOMAIN.expected_utility(simple.coordinate))
            and guarantee.shortfall >= DOMAIN.best_utility - truth
        )
        failures += not holds
        tightest.append(guarantee.tightest.value / max(guarantee.tuning_value - truth, 1e-9))
    # 10 failures are allowed on average; a valid guarantee has more than 22 with chance < 1e-4.
    assert failures <= 22
    # The tightest bound is worth having: within a factor of six of the optimism, as a median.
    assert np.median(tightest) < 6


def test_bounds_are_sorted_and_share_delta():
    guarantee, _ = drawn(12, 10, np.random.default_rng(0), structure=DOMAIN.structure, delta=0.08)
    values = [bound.value for bound in guarantee.bounds]
    assert values == sorted(values) and guarantee.tightest is guarantee.bounds[0]
    # Seven kinds and the best possible utility.
    assert {bound.delta for bound in guarantee.bounds} == {0.01}
    assert guarantee.simple.bound.delta == 0.01 and guarantee.bounds[0].probability == 0.99
    for bound in guarantee.bounds:
        assert bound.label and bound.formula and bound.assumptions and bound.note and bound.proved
        expected = guarantee.tuning_value - bound.value
        assert bound.expected_utility == pytest.approx(expected, rel=1e-12)
        assert bound.vacuous == (bound.expected_utility <= 0)
    names = [bound.name for bound in guarantee.bounds]
    assert len(set(names)) == len(names)


def test_fewer_kinds_have_larger_shares():
    options = {"kinds": ["betting"], "delta": 0.1}
    guarantee, _ = drawn(12, 10, np.random.default_rng(0), **options)
    assert [bound.name for bound in guarantee.bounds] == ["held-out betting"]
    assert guarantee.bounds[0].delta == 0.05 and guarantee.simple is None
    everything, _ = drawn(12, 10, np.random.default_rng(0), delta=0.1)
    assert guarantee.expected_utility > everything.expected_utility


def test_best_possible_is_hoeffdings_bound():
    guarantee, _ = drawn(100, 0, np.random.default_rng(1), kinds=["massart"], delta=0.1)
    expected = guarantee.tuning_value + math.sqrt(math.log(20) / 200)
    assert guarantee.best_possible == pytest.approx(expected, rel=1e-12)
    assert guarantee.shortfall == pytest.approx(expected - guarantee.expected_utility, rel=1e-12)


def test_shortfall_of_a_search_that_is_not_finished_has_the_gap():
    duals = [ct.PiecewiseFunction.constant(0, 1, Fraction(1, 4))] * 40
    tuned = Tuned(Fraction(1, 4), 40, Fraction(0), Fraction(4))
    closed = make_guarantee(tuned, Fraction(1, 4), duals=duals, kinds=["massart"])
    still_open = make_guarantee(tuned, Fraction(1, 2), duals=duals, kinds=["massart"])
    assert still_open.shortfall == pytest.approx(closed.shortfall + 0.25, rel=1e-12)


def test_the_record_is_plain_data():
    guarantee, _ = drawn(6, 5, np.random.default_rng(2), structure=DOMAIN.structure)
    data = json.loads(json.dumps(guarantee.to_dict()))
    assert data["bounds"][0]["name"] == guarantee.tightest.name
    assert data["bounds"][0]["expected_utility"] == guarantee.tightest.expected_utility
    assert data["simple"]["coordinate"] == guarantee.simple.coordinate


def test_words_are_honest_when_all_bounds_are_vacuous():
    guarantee, _ = drawn(3, 0, np.random.default_rng(0))
    assert guarantee.vacuous and guarantee.expected_utility == 0.0
    text = str(guarantee)
    assert "no bound says anything" in text and "held_out=" in text
    assert "worst-case bounds need a structure" in text
    useful, _ = drawn(100, 100, np.random.default_rng(0))
    assert not useful.vacuous
    assert f"expect at least {useful.expected_utility:.4f}" in str(useful)
    assert f"reach over {useful.best_possible:.4f}" in str(useful) and "reach over" not in text


def test_refusals():
    dual, half = ct.PiecewiseFunction.constant(0, 1, Fraction(1, 2)), Fraction(1, 2)
    tuned = Tuned(half, 1, *RANGE)
    with pytest.raises(ct.ParameterError, match=r"pass \['betting'\]"):
        make_guarantee(tuned, half, duals=[dual], kinds="betting")
    with pytest.raises(ct.ParameterError, match="random_state"):
        make_guarantee(tuned, half, duals=[dual], random_state="a")
    with pytest.raises(ct.ParameterError, match="kinds must be some of"):
        make_guarantee(tuned, half, duals=[dual], kinds=["hope"])
    with pytest.raises(ct.ParameterError, match="no bound on the tuned setting.*held-out"):
        make_guarantee(tuned, half, duals=[dual], kinds=["betting"])
    with pytest.raises(ct.ParameterError, match="no bound on the tuned setting"):
        make_guarantee(tuned, half, duals=[dual], kinds=["occam"])
    with pytest.raises(ct.ParameterError, match="delta"):
        make_guarantee(tuned, half, duals=[dual], delta=1.0)
    with pytest.raises(ct.InputError, match="lie in the range"):
        make_guarantee(tuned, half, duals=[dual * Fraction(8, 3)])
    with pytest.raises(ct.InputError, match="lie in the range"):
        make_guarantee(tuned, half, duals=[dual], held_out=[Fraction(3)])
    with pytest.raises(ct.InputError, match="1 tuning instance, got 2"):
        make_guarantee(tuned, half, duals=[dual, dual])
    assert set(KINDS) >= {"occam", "betting"}


def test_without_any_evidence_the_range_remains():
    tuned = Tuned(Fraction(3, 4), 50, Fraction(1, 4), Fraction(1))
    found = make_guarantee(tuned, Fraction(4, 5), delta=0.1, notes=["as it is"])
    assert found.vacuous and found.expected_utility == 0.25 and found.optimism == 0.5
    # The best possible utility has all of delta: 0.8 + 0.75 sqrt(ln 10 / 100).
    expected = 0.8 + 0.75 * math.sqrt(math.log(10) / 100)
    assert found.best_possible == pytest.approx(expected, rel=1e-12)
    text = str(found)
    assert "no bound says anything" in text and "note: as it is" in text
    assert f"reach over {found.best_possible:.4f}" in text
    assert json.dumps(found.to_dict())


def test_words_name_assumptions_and_count_one_instance():
    guarantee, _ = drawn(1, 3, np.random.default_rng(0))
    text = str(guarantee)
    assert text.startswith("on 1 tuning instance: ")
    assert "assumes: instances are drawn independently" in text
    assert "assumes: held-out instances took no part in tuning" in text


def test_tiny_probabilities():
    guarantee, _ = drawn(3, 3, np.random.default_rng(0), delta=5e-324)
    assert guarantee.vacuous and guarantee.best_possible == 1.0 and "vacuous" in str(guarantee)


# Several parameters: no exact functions, but bounds on a cover


def test_without_functions_the_other_bounds_remain():
    tuned = Tuned(Fraction(3, 4), 50, *RANGE)
    held_out = [Fraction(3, 4), Fraction(1, 2)] * 30
    found = make_guarantee(
        tuned, Fraction(4, 5), held_out=held_out, structure=DOMAIN.structure, delta=0.1
    )
    # Worst case, three held-out limits and the best possible utility share delta.
    assert {bound.delta for bound in found.bounds} == {0.02} and found.simple is None
    assert found.best_possible == pytest.approx(0.8 + math.sqrt(math.log(50) / 100), rel=1e-12)
    assert found.tightest.name == "held-out betting"
    assert len(found.omitted) == 2 and "cover" in found.omitted[0]


def test_a_cover_bounds_the_complexity_from_above():
    rng = np.random.default_rng(4)
    duals = [StepFamily().dual(instance) for instance in DOMAIN.sample(8, rng)]
    exact = rademacher(refine(duals))
    previous = math.inf
    for n_cells in (1, 8, 64, 512):
        edges = np.linspace(0, 1, n_cells + 1)
        bounds = [
            [(-_top(-dual, *ends), _top(dual, *ends)) for dual in duals]
            for ends in zip(edges[:-1], edges[1:], strict=True)
        ]
        cover = cover_of(*np.moveaxis(np.array(bounds, dtype=object), 2, 0))
        found = rademacher(cover)
        assert found.exhaustive and exact.upper <= found.upper <= previous
        assert found.lower <= exact.upper
        previous = found.upper
    # Hardly any of 512 cells holds breakpoints of two instances.
    assert found.upper < 1.1 * exact.upper
    tuned = Tuned(ct.mean(duals).max_exact, 8, *RANGE)
    guarantee = make_guarantee(tuned, tuned.value, cover=cover)
    assert [bound.name for bound in guarantee.bounds] == ["empirical Rademacher"]


def _top(dual, low, high):
    """Upper bound of a function on [low, high], by its pieces and gaps."""
    on_pieces = (dual.starts <= high) & (dual.stops >= low)
    in_gaps = (dual.stops[:-1] < high) & (dual.starts[1:] > low)
    tops = [*dual.numerators[on_pieces].tolist(), *dual.gap_upper[in_gaps].tolist()]
    return Fraction(max(tops), dual.denominator)


def test_covers_are_rounded_outward_and_checked():
    third, point = Fraction(1, 3), [[Fraction(1, 3)]]
    cover = cover_of(point, point)
    low, high = int(cover.lower[0, 0]), int(cover.upper[0, 0])
    assert Fraction(low, cover.scale) < third < Fraction(high, cover.scale) and high == low + 1
    assert cover.doubled_middles.tolist() == [cover.scale]
    bad = (([[1]], [[0]]), ([1], [1]), ([[0, 0]], [[1]]), ([[]], [[]]), ([[0]], [[2]]))
    for lower, upper in bad:
        with pytest.raises(ct.InputError, match="cover"):
            cover_of(lower, upper)


# Simple settings


def test_shares_of_all_simple_settings_add_up_to_at_most_one():
    total = Fraction(0)
    seen = set()
    for level in range(1, DEEPEST_LEVEL + 1):
        points = level_coordinates(-10, 10, level)
        total += prior(level) * len(points)
        seen.update(points)
    assert len(seen) == 2**DEEPEST_LEVEL - 1
    assert total == 1 - Fraction(1, DEEPEST_LEVEL + 1)


def test_the_best_simple_setting_is_the_best_of_all():
    rng = np.random.default_rng(3)
    duals = [StepFamily().dual(instance) for instance in DOMAIN.sample(40, rng)]
    landscape, delta = ct.mean(duals), Fraction(1, 20)
    chosen = best_simple_setting(landscape, duals, RANGE, delta)
    from certune.guarantees.betting import betting_lower

    assert chosen.coordinate in level_coordinates(0, 1, chosen.level)
    utilities = [dual.value_at(chosen.coordinate) for dual in duals]
    assert chosen.expected_utility == pytest.approx(
        betting_lower(utilities, delta * prior(chosen.level)), abs=1e-12
    )
    for level in range(1, 6):
        for t in level_coordinates(0, 1, level):
            others = [dual.enclose_exact(t)[0] for dual in duals]
            if sum(others) > sum(utilities):
                limit = betting_lower(others, delta * prior(level))
                assert limit <= chosen.expected_utility + 1e-12


def test_an_undecided_simple_setting_counts_by_its_lower_bound():
    wide = ct.PiecewiseFunction([0, 0.75], [0.25, 1], [1, 1], [0], [1], 1)
    chosen = best_simple_setting(wide, [wide], RANGE, Fraction(1, 20))
    # The middle lies in the gap, a quarter does not.
    assert (chosen.coordinate, chosen.level, chosen.tuning_value) == (0.25, 2, 1.0)
