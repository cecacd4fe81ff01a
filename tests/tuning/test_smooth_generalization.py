"""Results with smooth utilities or a logarithmic parameter, and new instances."""

import math
from fractions import Fraction

import numpy as np
import pytest
from sklearn.datasets import make_classification

import certune as ct
from certune.guarantees import Evidence
from certune.tuning.outcome.rules import RULES


def problems(seeds):
    found = []
    for seed in seeds:
        X, y = make_classification(30, 4, flip_y=0.3, random_state=seed)
        found.append(ct.ClassificationInstance(X[:20], y[:20], X[20:], y[20:]))
    return found


@pytest.fixture(scope="module", params=["l2", "l1"])
def tuned(request):
    family = ct.RegularizedLogistic(request.param, lam=(1e-2, 1.0))
    return ct.tune(family, problems(range(6)))


def test_guarantee_needs_no_held_out_instances(tuned):
    guarantee = tuned.guarantee()
    assert guarantee.vacuous and "no bound says anything" in str(guarantee)
    assert [bound.evidence for bound in guarantee.bounds] == [Evidence.TUNING] * 2
    assert guarantee.tightest.label == "lm:balcan-refined-icml"
    assert guarantee.tuning_value == pytest.approx(tuned.best_value, abs=2e-8)
    assert guarantee.tuning_value <= tuned.best_value <= guarantee.best_possible <= 2.0
    assert "surrogate_step" in str(guarantee)
    # A promise from the tuning instances alone: the short number is close to the optimum.
    assert guarantee.simple.expected_utility > 0
    assert guarantee.simple.tuning_value > tuned.best_value - 0.1
    with_evidence = tuned.guarantee(held_out=problems(range(50, 80)))
    assert with_evidence.tightest.name == "held-out betting"


def test_the_step_functions_are_close_to_the_curves(tuned):
    points = np.exp(np.linspace(math.log(0.01), 0, 500))[1:-1]
    smooth = tuned._smooth
    for dual, (steps, error) in zip(smooth.functions, smooth.surrogates, strict=True):
        assert error <= Fraction(21, 10_000)
        difference = np.abs(dual(points) - steps(points))
        assert np.nanmax(difference) <= float(error) + 1e-7


def test_the_surrogate_class_measures_its_distance(tuned):
    step = 0.002
    guarantee = tuned.guarantee(surrogate_step=step, kinds=["surrogate"])
    (bound,) = guarantee.bounds
    assert bound.label == "thm:balcal2023" and "495 intervals" in bound.note
    points = np.exp(np.linspace(math.log(0.01), 0, 400))[1:-1]
    family, distances = tuned.family, []
    for instance, dual in zip(tuned.instances, tuned.duals, strict=True):
        surrogate = family.surrogate_dual(instance, step)
        distances.append(np.nanmax(np.abs(surrogate(points) - dual(points))))
    cells = 2 * (494 + 2 * 495 * 6) + 1
    least = 2 * (math.sqrt(2 * math.log(cells) / 6) + np.mean(distances))
    confidence = 2 * math.sqrt(9 * math.log(2 / 0.05) / 12)
    # The measured distance is within a few ten-thousandths of the range of the sampled one.
    assert least + confidence <= bound.value <= least + confidence + 0.01
    accuracy = ct.RegularizedLogistic(lam=(0.1, 1.0), metric="accuracy")
    with pytest.raises(ct.ParameterError, match="surrogate_step is for"):
        ct.tune(accuracy, tuned.instances[:2]).guarantee(surrogate_step=0.1)


def test_counts_of_the_surrogate_are_not_taken_for_those_of_the_utility(tuned):
    structure = tuned.family.structure(20, 10, epsilon=0.01)
    with pytest.raises(ct.ParameterError, match="hold for its surrogate"):
        tuned.guarantee(structure=structure)
    with pytest.raises(ct.ParameterError, match="hold for its surrogate"):
        tuned.instances_needed(0.1, structure=structure)


def test_folds_are_tuned_as_from_scratch(tuned):
    found = tuned.cross_validate(3)
    for fold in found.folds:
        rest = [tuned.instances[i] for i in range(6) if i not in fold.left_out]
        again = ct.tune(tuned.family, rest)
        assert again.best_params == {"lam": fold.selection.coordinate}
        assert float(fold.tuning_value_exact) == pytest.approx(again.best_value, abs=1e-8)
        held = [tuned.family.run(tuned.instances[i], again.best_params) for i in fold.left_out]
        assert float(fold.value_exact) == pytest.approx(np.mean(held), abs=1e-8)


def test_resamples_and_subsets_are_tuned_to_the_stated_error(tuned):
    found = tuned.bootstrap(20, random_state=2)
    weights = np.random.default_rng(2).multinomial(6, np.full(6, 1 / 6), size=20)
    for row, t in zip(weights, found.coordinates.tolist(), strict=True):
        sample = [tuned.duals[i] for i in np.repeat(np.arange(6), row)]
        landscape = ct.mean(sample)
        assert landscape.upper_bound - landscape(t) <= found.tolerance
    assert 0 < found.tolerance < 0.01 and 0 <= found.chosen_share <= 1
    curve = tuned.learning_curve([1, 3], n_splits=10)
    assert (curve.tuning > curve.held_out).all() and (curve.tuning_bound >= curve.tuning).all()
    assert (curve.tuning_bound - curve.tuning < 0.01).all()
    answers = tuned.instances_needed(0.1)
    assert {a.label for a in answers} >= {"Hoeffding 1963", "Bernstein", "G3"}


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_has_a_setting(tuned, rule):
    chosen = tuned.select(rule)
    assert chosen.interval[0] <= chosen.coordinate <= chosen.interval[1]
    values = [tuned.family.run(item, chosen.params) for item in tuned.instances]
    assert chosen.value == pytest.approx(np.mean(values), abs=2e-8)
    assert chosen.value <= tuned.best_value + 1e-8
    if rule == "optimum":
        assert chosen.params == tuned.best_params
    if rule in ("plateau", "one-standard-error"):
        assert chosen.coordinate == pytest.approx(math.sqrt(math.prod(chosen.interval)))
        ends = [tuned.landscape(end) for end in chosen.interval]
        assert min(ends) >= tuned.best_value - float(chosen.tolerance) - 1e-7
    if rule == "plateau":
        assert chosen.params == tuned.robust_params
    if rule == "smoothed":
        low, high = chosen.interval
        assert math.log(high / low) == pytest.approx(math.log(100) / 20)
        points = np.exp(np.linspace(math.log(low), math.log(high), 2001))
        average = tuned.landscape(points).mean()
        assert chosen.smoothed[0] - 1e-4 <= average <= chosen.smoothed[1] + 1e-4


def test_held_out_intervals_include_the_error_of_the_utilities(tuned):
    found = tuned.evaluate(problems(range(50, 56)))
    assert found.tolerance == 1e-8
    plain = ct.guarantees.mean_interval(found.utilities, 0.05, (0, 2))
    interval = found.interval()
    assert interval.low <= plain.low - 1e-8 and interval.high >= plain.high + 1e-8
    assert interval.low == pytest.approx(plain.low, abs=2e-8)


# Piecewise constant utilities of a logarithmic parameter


def test_rules_of_a_logarithmic_parameter_use_logarithms():
    family = ct.RegularizedLogistic(lam=(1e-4, 10.0), metric="accuracy")
    tuned = ct.tune(family, problems(range(4)))
    assert tuned.select("optimum").params == tuned.best_params
    for rule in ("plateau", "one-standard-error"):
        chosen = tuned.select(rule)
        level = tuned.landscape.max_exact - chosen.tolerance
        # All intervals on which the landscape stays over the level, from its pieces.
        runs, last = [], None
        for start, stop, value in zip(
            tuned.landscape.starts, tuned.landscape.stops, tuned.landscape.values, strict=True
        ):
            good = value >= float(level) - 1e-12
            if good and last is not None:
                runs[-1][1] = stop
            elif good:
                runs.append([start, stop])
            last = stop if good else None
        widest = max(runs, key=lambda ends: math.log(ends[1] / ends[0]))
        assert chosen.interval == tuple(widest)
        assert chosen.coordinate == pytest.approx(math.sqrt(widest[0] * widest[1]))
    assert tuned.robust_params == tuned.select("plateau").params
    low, high = tuned.select("smoothed").interval
    assert math.log(high / low) == pytest.approx(math.log(1e5) / 20)
    simple = tuned.guarantee().simple
    share = math.log(simple.coordinate / 1e-4) / math.log(1e5) * 2**simple.level
    assert share == pytest.approx(round(share), abs=1e-9) and round(share) % 2 == 1
