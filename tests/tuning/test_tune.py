"""Exact tuning: the optimum and its bound, and what is refused."""

import math
import os
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest

import certune as ct
from certune.testing import StepFamily, StepInstance
from certune.tuning import Status

HALF = Fraction(1, 2)


class LyingFamily(StepFamily):
    """Its exact functions promise more than runs give."""

    def dual(self, instance, along=None):
        return super().dual(instance, along) * HALF


class WideFamily(StepFamily):
    """Leaves an interval undecided in which the utility might be 1."""

    def dual(self, instance, along=None):
        return ct.PiecewiseFunction([0, 0.75], [0.25, 1], [0, 1], [0], [2], 2, name="x")

    def run_exact(self, instance, params):
        return Fraction(self.space.validate(params)["x"] >= 0.5, 2)


class Shy(StepFamily):
    """Cannot be decided at one of its defaults."""

    @property
    def baselines(self):
        return {"left": {"x": 0.0}, "shy": {"x": 1.0}}

    def run_exact(self, instance, params):
        if params["x"] == 1.0:
            raise ct.UndecidedError("not here")
        return super().run_exact(instance, params)


# The optimum


@pytest.mark.parametrize("seed", range(5))
def test_optimum_is_the_best_of_all_steps(seed, random_instances):
    family, instances = StepFamily(), random_instances(6, seed)
    result = ct.tune(family, instances)
    # Between two multiples of 1/32 nothing changes.
    grid = np.arange(64) / 64
    means = [sum(family.run_exact(i, x) for i in instances) / 6 for x in grid.tolist()]
    assert result.status is Status.OPTIMAL
    assert result.best_value_exact == result.upper_bound_exact == max(means)
    assert result.gap == 0.0 and result.best_value == result.upper_bound == float(max(means))
    optimal = [x for x, value in zip(grid.tolist(), means, strict=True) if value == max(means)]
    inside = [x for x in grid.tolist() if any(a <= x <= b for a, b in result.best_region)]
    assert inside == optimal


def test_best_setting_is_the_centre_of_the_widest_optimal_interval():
    steps = StepInstance((0.25, 0.375, 0.5), (Fraction(0), Fraction(1), HALF, Fraction(1)))
    result = ct.tune(StepFamily(), [steps])
    assert result.best_region == [(0.25, math.nextafter(0.375, 0)), (0.5, 1.0)]
    assert result.best_params == {"x": 0.75}
    assert StepFamily().run(steps, result.best_params) == result.best_value == 1.0


def test_robust_setting_gives_up_a_little_for_a_wide_plateau():
    peak = StepInstance((0.125, 0.25), (Fraction(1, 4), Fraction(1), Fraction(995, 1000)))
    result = ct.tune(StepFamily(), [peak])
    assert result.robust_params == result.robust() == {"x": 0.5625}
    assert result.robust(0.001)["x"] == result.best_params["x"] < 0.25
    assert result.robust(Fraction(3, 4)) == {"x": 0.5}
    with pytest.raises(ct.ParameterError, match="tolerance"):
        result.robust(-1)


def test_baselines_are_exact_means_of_plain_runs(random_instances):
    instances = random_instances(3)
    result = ct.tune(StepFamily(), instances)
    first = sum(instance.utilities[0] for instance in instances) / 3
    assert result.baselines["lowest"] == float(first)
    assert set(result.baselines) == {"lowest", "highest"}
    assert all(value <= result.best_value for value in result.baselines.values())


def test_landscape_and_duals_belong_to_the_instances(random_instances):
    family, instances = StepFamily(), random_instances(4)
    result = ct.tune(family, instances)
    assert result.duals == [family.dual(instance) for instance in instances]
    assert result.landscape == ct.mean(result.duals)
    assert result.instance_names == [f"steps-{number}" for number in range(4)]
    assert result.elapsed > 0


def test_undecided_intervals_are_told():
    result = ct.tune(WideFamily(), [StepInstance((), (HALF,))])
    assert result.status is Status.UNDECIDED
    assert (result.best_value, result.upper_bound, result.gap) == (0.5, 1.0, 0.5)
    assert "undecided         1 interval" in str(result)


def test_any_iterable_of_instances_will_do(random_instances):
    instances = random_instances(3)
    expected = ct.tune(StepFamily(), instances)
    found = ct.tune(StepFamily(), (instance for instance in instances))
    assert found.landscape == expected.landscape


def test_number_of_workers_does_not_matter(random_instances):
    instances = random_instances(9)
    alone, together = (ct.tune(StepFamily(), instances, n_jobs=jobs) for jobs in (1, 2))
    assert together.certificate == alone.certificate
    assert together.evaluation == alone.evaluation
    assert together.landscape.to_arrays().keys() == alone.landscape.to_arrays().keys()
    for key, array in alone.landscape.to_arrays().items():
        assert array.tobytes() == together.landscape.to_arrays()[key].tobytes()


def test_linkage_is_tuned_exactly():
    instances = ct.datasets.random_clustering(3, n_clusters=3, n_per_cluster=6, spread=0.2)
    family = ct.Linkage("power-mean", alpha=(-5, 5))
    result = ct.tune(family, instances)
    assert result.status is Status.OPTIMAL
    for alpha in np.linspace(-5, 5, 41).tolist():
        value = sum(family.run_exact(instance, alpha) for instance in instances) / 3
        assert value <= result.best_value_exact
    assert result.best_value == np.mean([family.run(i, result.best_params) for i in instances])
    estimator = result.best_estimator
    assert estimator.alpha == result.best_params["alpha"] and estimator.n_clusters == 3


def test_defaults_that_stay_undecided_are_left_out():
    result = ct.tune(Shy(), [StepInstance((0.25, 0.5), (0, 1, 0))], progress=False)
    assert result.best_value == 1.0 and result.baselines == {"left": 0.0}


LOGISTIC_CHECK = """
import certune as ct
instances = ct.datasets.breast_cancer_classification(3, n_train=150, n_validation=40)
for penalty in ("l1", "l2"):
    family = ct.RegularizedLogistic(penalty, lam=(1e-3, 1.0), standardize=True)
    for n_jobs in (1, 2):
        print(ct.tune(family, instances, n_jobs=n_jobs, progress=False).certificate.checksum)
"""


def test_logistic_curves_do_not_depend_on_workers_threads_and_hashes():
    found = []
    for seed, threads in (("0", "1"), ("1", "2")):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "OPENBLAS_NUM_THREADS": threads}
        environment.pop("OMP_NUM_THREADS", None)
        finished = subprocess.run(
            [sys.executable, "-c", LOGISTIC_CHECK],
            capture_output=True, text=True, check=True, env=environment,
        )  # fmt: skip
        found.append(finished.stdout.split())
    for l1_one, l1_two, l2_one, l2_two in found:
        assert l1_one == l1_two and l2_one == l2_two
    assert found[0] == found[1]


# Input


@pytest.mark.parametrize(
    ("instances", "message"),
    [
        ([], "at least one"),
        (iter(()), "at least one"),
        (StepInstance((), (HALF,)), r"pass \[instance\]"),
        ([StepInstance((), (HALF,)), "x"], "instance 1: expected a StepInstance, got 'x'"),
        ([StepInstance((0.5,), (HALF,), name="odd")], "odd: expected increasing thresholds"),
    ],
)
def test_bad_instances_are_refused_before_any_work(instances, message):
    class Untouchable(StepFamily):
        def dual(self, instance, along=None):
            raise AssertionError("work has started")

    with pytest.raises(ct.InputError, match=message):
        ct.tune(Untouchable(), instances)


def test_an_instance_that_is_iterable_is_not_taken_for_a_list():
    class TupleFamily(StepFamily):
        def check_instance(self, instance):
            if not isinstance(instance, tuple):
                raise ct.InputError("expected a tuple")

    with pytest.raises(ct.InputError, match=r"got a single one: pass \[\(1, 2\)\]"):
        ct.tune(TupleFamily(), (1, 2))


def test_a_family_without_free_parameters_is_refused(random_instances):
    class Fixed(StepFamily):
        @property
        def space(self):
            return ct.ParameterSpace((ct.Simplex("w", 1),))

    with pytest.raises(ct.ParameterError, match="has none: give one a range"):
        ct.tune(Fixed(), random_instances(2))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"timeout": 0}, "timeout"),
        ({"timeout": -1.0}, "timeout"),
        ({"timeout": math.nan}, "timeout"),
        ({"timeout": "1"}, "timeout"),
        ({"timeout": True}, "timeout"),
        ({"n_jobs": 0}, "n_jobs"),
        ({"n_jobs": 1.5}, "n_jobs"),
        ({"callbacks": print}, "callbacks"),
        ({"callbacks": [3]}, "callbacks"),
        ({"progress": "yes"}, "progress"),
        ({"method": "grid"}, "method must be one of auto, branch-and-bound, line-search"),
        ({"gap": -0.1}, "gap"),
        ({"gap": math.nan}, "gap"),
        ({"max_nodes": 0}, "max_nodes"),
        ({"max_nodes": 1.5}, "max_nodes"),
        ({"random_state": None}, "random_state"),
    ],
)
def test_bad_options_are_refused(options, message, random_instances):
    with pytest.raises(ct.ParameterError, match=message):
        ct.tune(StepFamily(), random_instances(1), **options)


@pytest.mark.parametrize("family", [StepFamily, "linkage", None])
def test_what_is_not_a_family_is_refused(family, random_instances):
    with pytest.raises(ct.ParameterError, match="Expected a Family"):
        ct.tune(family, random_instances(1))


def test_a_family_that_contradicts_itself_is_found_out(random_instances):
    with pytest.raises(ct.CertificateError, match="steps-0 promises .*check_family"):
        ct.tune(LyingFamily(), random_instances(1))
