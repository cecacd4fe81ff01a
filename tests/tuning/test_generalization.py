"""What results say about new instances: the join of families and guarantees."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import certune as ct
from certune.testing import StepFamily, StepInstance, WindowDomain
from certune.tuning.outcome.rules import RULES

DOMAIN = WindowDomain()


def instances(n, seed=0):
    return DOMAIN.sample(n, np.random.default_rng(seed))


@pytest.fixture(scope="module")
def result():
    return ct.tune(StepFamily(), instances(12))


@pytest.fixture(scope="module")
def clustering():
    pool = ct.datasets.digits_clustering(12, n_classes=3, n_per_class=6)
    family = ct.Linkage("power-mean", alpha=(-5, 5))
    return ct.tune(family, pool[:8]), pool[8:]


# Held-out evaluation


def test_evaluation_has_optimism_interval_and_comparisons(result):
    held_out = instances(30, seed=1)
    found = result.evaluate(held_out)
    family = StepFamily()
    utilities = [family.run_exact(i, result.best_params) for i in held_out]
    assert found.value_exact == sum(utilities) / 30 and found.n_known == 0
    assert found.optimism == float(result.best_value_exact - found.value_exact)
    interval = found.interval(0.1)
    assert interval.low < found.value < interval.high
    assert interval == ct.guarantees.mean_interval(utilities, 0.1)
    by_name = {comparison.name: comparison for comparison in found.comparisons()}
    assert set(by_name) == {"lowest", "highest"}
    lowest = [family.run_exact(i, 0.0) for i in held_out]
    difference = sum(u - v for u, v in zip(utilities, lowest, strict=True)) / 30
    assert by_name["lowest"].difference == float(difference)
    assert by_name["lowest"].interval.delta == 0.025
    assert "optimism" in str(found) and "against lowest" in str(found)


def unseen(tuned, held_out):
    return tuned.evaluate(held_out, independent=True)


def test_comparison_says_better_worse_or_not_clear():
    peak = StepInstance((0.25, 0.75), (Fraction(0), Fraction(1), Fraction(0)))
    low = StepInstance((0.25,), (Fraction(1), Fraction(0)))
    tuned = ct.tune(StepFamily(), [peak])
    verdicts = {c.name: c.is_better for c in unseen(tuned, [peak] * 60).comparisons()}
    assert verdicts == {"lowest": True, "highest": True}
    verdicts = {c.name: c.is_better for c in unseen(tuned, [low] * 60).comparisons()}
    assert verdicts == {"lowest": False, "highest": None}


def test_known_instances_are_counted_and_refused_as_evidence(result):
    mixed = [*instances(3, seed=2), *result.instances[:2]]
    found = result.evaluate(mixed)
    text = str(found)
    assert found.n_known == 2 and "2 of the instances were used" in text
    assert "expected utility" not in text and "against" not in text
    for claim in (found.interval, found.comparisons):
        with pytest.raises(ct.InputError, match="draw a new sample"):
            claim()
    for held_out in (mixed, found):
        with pytest.raises(ct.InputError, match="2 of the 5 held-out instances.*draw a new"):
            result.guarantee(held_out=held_out)


def test_an_independent_draw_may_coincide(result):
    mixed = [*instances(3, seed=2), *result.instances[:2]]
    found = result.evaluate(mixed, independent=True)
    assert found.interval().low < found.value and "was stated, not checked" in str(found)
    direct = result.guarantee(held_out=mixed, independent=True)
    assert direct == result.guarantee(held_out=found)
    assert direct == result.guarantee(held_out=result.evaluate(mixed), independent=True)
    assert direct.n_held_out == 5 and any("stated" in note for note in direct.notes)


def test_leaving_out_what_coincides_would_be_wrong_and_stating_it_is_right():
    # Two instances; the rare one is better at the tuned setting than the frequent one.
    usual = StepInstance((0.5,), (Fraction(2, 5), Fraction(1, 2)))
    rare = StepInstance((0.5,), (Fraction(0), Fraction(1)))
    rng = np.random.default_rng(0)
    failures, rounds = 0, 30
    for _ in range(rounds):
        held_out = [usual if rng.random() < 0.9 else rare for _ in range(300)]
        tuned = ct.tune(StepFamily(), [usual])
        kinds = {"kinds": ["betting"], "delta": 0.2}
        truth = 0.9 * 0.5 + 0.1
        biased = [item for item in held_out if item is rare]
        assert tuned.guarantee(held_out=biased, **kinds).expected_utility > truth
        found = tuned.guarantee(held_out=held_out, independent=True, **kinds)
        failures += found.expected_utility > truth
        assert any("298 of the 300" in note for note in found.notes)
    # Six are allowed on average; more than 15 have a chance of less than 1e-4.
    assert failures <= 15


def test_evidence_of_another_result_or_family_does_not_count():
    # Both results have the same best setting; the second was tuned elsewhere.
    mine = [StepInstance((0.25, 0.75), (Fraction(0), Fraction(1), Fraction(k, 9))) for k in (1, 2)]
    other = [StepInstance((0.25, 0.75), (Fraction(0), Fraction(1), Fraction(k, 9))) for k in (3, 4)]
    first, second = (ct.tune(StepFamily(), item) for item in (mine, other))
    assert first.best_params == second.best_params
    stolen = second.evaluate(mine)
    assert stolen.n_known == 0
    with pytest.raises(ct.InputError, match="2 of the 2 held-out instances"):
        first.guarantee(held_out=stolen)
    assert first.guarantee(held_out=second.evaluate(instances(3, seed=8))).n_held_out == 3

    class OtherSteps(StepFamily):
        @property
        def fingerprint(self):
            return "another family"

    foreign = ct.tune(OtherSteps(), other).evaluate(instances(3, seed=8))
    with pytest.raises(ct.InputError, match="another family"):
        first.guarantee(held_out=foreign)


def test_repeated_held_out_instances_are_noted(result):
    (single,) = instances(1, seed=77)
    found = result.evaluate([single] * 4)
    assert found.n_repeated == 3 and "3 of the 4 held-out instances repeat" in str(found)
    assert any("repeat" in note for note in result.guarantee(held_out=found).notes)


def test_evaluation_checks_its_input(result):
    with pytest.raises(ct.InputError, match="evaluation needs at least one"):
        result.evaluate([])
    found = result.evaluate(instances(3, seed=1))
    for delta in (0, 1, "x", None, math.nan):
        with pytest.raises(ct.ParameterError, match="delta"):
            found.comparisons(delta)
        with pytest.raises(ct.ParameterError, match="delta"):
            result.bootstrap(10).quantiles(delta)
    assert str(found.comparisons(5e-324)[0]).endswith("not clear")
    for call in (result.bootstrap, result.cross_validate, result.learning_curve):
        with pytest.raises(ct.ParameterError, match="random_state"):
            call(random_state="a")


def test_a_selected_setting_is_evaluated_and_has_its_guarantee(result):
    chosen = result.select("smoothed", width=0.5)
    assert chosen.params != result.best_params
    held_out = instances(40, seed=3)
    found = result.evaluate(held_out, params=chosen.params)
    runs = [StepFamily().run_exact(i, chosen.params) for i in held_out]
    assert found.value_exact == sum(runs) / 40
    assert found.tuning_value_exact == chosen.value_exact
    guarantee = result.guarantee(held_out=found, params=chosen.params)
    assert guarantee == result.guarantee(held_out=held_out, params=chosen.params)
    assert guarantee.tuning_value == chosen.value
    with pytest.raises(ct.InputError, match="about the setting"):
        result.guarantee(held_out=found)
    for params in ({"x": 2.0}, {"y": 0.5}, "best"):
        with pytest.raises(ct.ParameterError):
            result.evaluate(held_out, params=params)


# Guarantees


def test_guarantee_of_a_result(result):
    held_out = result.evaluate(instances(40, seed=3))
    guarantee = result.guarantee(0.1, held_out=held_out)
    assert guarantee == result.guarantee(0.1, held_out=instances(40, seed=3))
    assert guarantee.tuning_value == result.best_value and guarantee.n_instances == 12
    assert guarantee.n_held_out == 40 and guarantee.tightest.name == "held-out betting"
    assert any("structure" in reason for reason in guarantee.omitted)
    with_structure = result.guarantee(0.1, structure=DOMAIN.structure)
    assert any(b.name.startswith("worst case") for b in with_structure.bounds)


def test_another_results_evaluation_is_refused(result):
    other = ct.tune(StepFamily(), instances(3, seed=9))
    assert other.best_params != result.best_params
    with pytest.raises(ct.InputError, match="about the setting"):
        result.guarantee(held_out=other.evaluate(instances(4, seed=5)))


def test_clustering_has_worst_case_bounds_for_its_size(clustering):
    tuned, held_out = clustering
    guarantee = tuned.guarantee(held_out=held_out)
    worst = [b for b in guarantee.bounds if b.evidence is ct.guarantees.Evidence.WORST_CASE]
    assert worst and all(b.vacuous for b in worst)
    for bound in worst:
        if bound.label in ("R1", "R6"):
            assert any("no instance has more than 18 points" in a for a in bound.assumptions)
    structure = tuned.family.structure_of(tuned.instances)
    expected = tuned.family.structure(18, 1)
    assert ct.pdim_bound(structure).dimension == ct.pdim_bound(expected).dimension


def test_worst_cases_are_about_held_out_instances_too(clustering):
    tuned, _ = clustering
    larger = ct.datasets.digits_clustering(2, n_classes=3, n_per_class=8, random_state=5)
    for held_out in (larger, tuned.evaluate(larger)):
        guarantee = tuned.guarantee(held_out=held_out)
        assert any("more than 24 points" in a for a in guarantee.assumptions)
        assert "assumes: no instance has more than 24 points" in str(guarantee)
    assert any("more than 18 points" in a for a in tuned.guarantee().assumptions)


def test_unfinished_instances_do_not_enter():
    stopped = ct.tune(StepFamily(), instances(6), callbacks=[lambda state: state.n_finished == 4])
    guarantee = stopped.guarantee()
    first = [StepFamily().run_exact(i, stopped.best_params) for i in stopped.instances[:4]]
    assert guarantee.n_instances == 4 and guarantee.tuning_value == float(sum(first) / 4)
    assert len(stopped.cross_validate().utilities) == 4
    assert "note: tuning ended early: only the 4 finished of 6 instances count" in str(guarantee)


def test_functions_without_proof_are_named():
    class Unproved(StepFamily):
        @property
        def proves_duals(self):
            return False

    tuned = ct.tune(Unproved(), instances(5))
    guarantee = tuned.guarantee()
    assert guarantee.vacuous and guarantee.best_possible == 1.0 and guarantee.simple is None
    assert "note: the utility functions are not proved" in str(guarantee)


# Stability, selection, sample sizes


def test_methods_are_those_of_the_functions(result):
    refinement = ct.guarantees.refine(result.duals)
    assert result.cross_validate(4) == ct.guarantees.cross_validate(result.duals, 4)
    found = result.bootstrap(50, random_state=1)
    assert np.array_equal(found.coordinates, ct.guarantees.bootstrap(refinement, 50, 1).coordinates)
    curve = result.learning_curve([3], n_splits=20)
    assert curve.held_out == ct.guarantees.learning_curve(refinement, [3], 20).held_out
    answers = result.instances_needed(0.05)
    assert any(answer.is_estimate for answer in answers)
    assert any(not answer.is_estimate for answer in answers)


@pytest.mark.parametrize("rule", RULES)
def test_rules_give_settings_with_their_value(result, rule):
    chosen = result.select(rule)
    assert chosen.rule == rule and chosen.params == {"x": chosen.coordinate}
    runs = [StepFamily().run_exact(i, chosen.params) for i in result.instances]
    assert chosen.value_exact == sum(runs) / 12
    assert chosen.interval[0] <= chosen.coordinate <= chosen.interval[1]


def test_rules_have_their_options(result):
    assert result.select("optimum").params == result.best_params
    assert result.select("plateau").params == result.robust_params
    assert result.select("plateau", epsilon=1).interval == (0.0, 1.0)
    low, high = result.select("smoothed", width=0.5).interval
    assert high - low == pytest.approx(0.5)
    low, high = result.select("smoothed").interval
    assert high - low == pytest.approx(0.05)
    with pytest.raises(ct.ParameterError, match="rule must be one of"):
        result.select("by hand")
    with pytest.raises(ct.ParameterError, match="epsilon is an option of the rule 'plateau'"):
        result.select("smoothed", epsilon=0.1)
    with pytest.raises(ct.ParameterError, match="width is an option"):
        result.select("optimum", width=-5)


def test_results_do_not_depend_on_workers(result):
    again = ct.tune(StepFamily(), result.instances, n_jobs=2)
    held_out = instances(10, seed=6)
    assert again.guarantee(held_out=held_out) == result.guarantee(held_out=held_out)
    assert np.array_equal(again.bootstrap(30).coordinates, result.bootstrap(30).coordinates)


class TwoParameters(StepFamily):
    """Pretends that x is one of two parameters."""

    @property
    def space(self):
        return ct.ParameterSpace((ct.Real("x", 0, 1), ct.Real("y", 0, 1)))

    def run_exact(self, instance, params):
        return StepFamily().run_exact(instance, params["x"])


def test_a_line_through_a_larger_space_proves_nothing_about_new_instances(result):
    several = replace(result, family=TwoParameters(), upper_bound_exact=Fraction(9, 10))
    guarantee = several.guarantee(held_out=instances(30, seed=4))
    assert {bound.evidence for bound in guarantee.bounds} == {ct.guarantees.Evidence.HELD_OUT}
    assert guarantee.simple is None and guarantee.n_instances == 12
    assert guarantee.best_possible == 1.0
    assert any("one parameter" in reason for reason in guarantee.omitted)
    labels = {answer.label for answer in several.instances_needed(0.1)}
    assert labels == {"Bernstein", "Hoeffding 1963"}
    for method in ("cross_validate", "bootstrap", "learning_curve", "select"):
        with pytest.raises(ct.ParameterError, match="one free parameter"):
            getattr(several, method)()


def test_utilities_beyond_64_bits_work_too():
    pool = ct.datasets.digits_clustering(9, n_classes=3, n_per_class=6)
    tuned = ct.tune(ct.Linkage(alpha=(-3, 3), utility="adjusted-rand"), pool)
    refinement = ct.guarantees.refine(tuned.duals)
    assert not refinement.is_exact
    weights = np.ones((1, 9), dtype=np.int64)
    optima = refinement.optima(weights)
    assert (optima.starts[0], optima.stops[0]) == tuned.landscape.widest_plateau(0)
    guarantee = tuned.guarantee()
    assert guarantee.utility_range == tuned.family.utility_range
