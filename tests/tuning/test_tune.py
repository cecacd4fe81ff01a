"""Exact tuning: the optimum and its bound, early ends, errors, the log."""

import itertools
import math
import os
import subprocess
import sys
import time
from fractions import Fraction

import numpy as np
import pytest

import certune as ct
from certune.testing import StepFamily, StepInstance
from certune.tuning import Status
from certune.tuning.log import COLUMNS

HALF = Fraction(1, 2)


def random_instances(n_instances, seed=0, n_steps=4):
    """Steps on a coarse grid, so that instances share thresholds and optima tie."""
    rng = np.random.default_rng(seed)
    instances = []
    for number in range(n_instances):
        steps = np.sort(rng.choice(np.arange(1, 32), n_steps, replace=False)) / 32
        values = tuple(Fraction(int(top), 7) for top in rng.integers(0, 8, n_steps + 1))
        instances.append(StepInstance(tuple(steps.tolist()), values, name=f"steps-{number}"))
    return instances


def slow_family():
    """Make a family that takes a moment for each exact function, not for runs."""

    # Worker processes receive a local class by value; they could not import this module.
    class SlowFamily(StepFamily):
        def dual(self, instance, along=None):
            time.sleep(0.05)
            return super().dual(instance, along)

    return SlowFamily()


class InterruptedFamily(StepFamily):
    """Behaves as if the user pressed Ctrl-C at an instance with that name."""

    def dual(self, instance, along=None):
        if instance.name == "interrupt":
            raise KeyboardInterrupt
        return super().dual(instance, along)


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


# The optimum


@pytest.mark.parametrize("seed", range(5))
def test_optimum_is_the_best_of_all_steps(seed):
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


def test_baselines_are_exact_means_of_plain_runs():
    instances = random_instances(3)
    result = ct.tune(StepFamily(), instances)
    first = sum(instance.utilities[0] for instance in instances) / 3
    assert result.baselines["lowest"] == float(first)
    assert set(result.baselines) == {"lowest", "highest"}
    assert all(value <= result.best_value for value in result.baselines.values())


def test_landscape_and_duals_belong_to_the_instances():
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


def test_any_iterable_of_instances_will_do():
    instances = random_instances(3)
    expected = ct.tune(StepFamily(), instances)
    found = ct.tune(StepFamily(), (instance for instance in instances))
    assert found.landscape == expected.landscape


def test_number_of_workers_does_not_matter():
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


# Early ends


def check_partial(result, family, instances):
    """A partial result must be valid for all instances."""
    runs = [family.run_exact(instance, result.best_params) for instance in instances]
    assert result.best_value_exact == sum(runs) / len(runs)
    complete = ct.tune(StepFamily(), instances)
    assert result.best_value <= complete.best_value <= result.upper_bound
    assert 0 < len(result.duals) < len(instances) == len(result.instance_names)
    assert result.duals == complete.duals[: len(result.duals)]
    assert result.baselines == complete.baselines
    assert result.gap == float(result.upper_bound_exact - result.best_value_exact)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_time_limit(n_jobs):
    instances = random_instances(60)
    result = ct.tune(slow_family(), instances, timeout=0.3, n_jobs=n_jobs)
    assert result.status is Status.TIME_LIMIT
    check_partial(result, slow_family(), instances)


def test_first_instance_is_always_finished():
    instances = random_instances(3)
    result = ct.tune(StepFamily(), instances, timeout=1e-9)
    assert result.status is Status.TIME_LIMIT and len(result.duals) == 1
    finished = result.duals[0].max_exact
    assert result.upper_bound_exact == (finished + 2) / 3
    check_partial(result, StepFamily(), instances)


def test_interrupt_returns_what_is_there():
    instances = random_instances(5)
    instances[3] = StepInstance((0.5,), (Fraction(0), Fraction(1)), name="interrupt")
    result = ct.tune(InterruptedFamily(), instances)
    assert result.status is Status.INTERRUPTED and len(result.duals) == 3
    check_partial(result, StepFamily(), instances)


def test_interrupt_before_the_first_instance_is_raised():
    with pytest.raises(KeyboardInterrupt):
        ct.tune(InterruptedFamily(), [StepInstance((), (HALF,), name="interrupt")])


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_callback_stops(n_jobs):
    instances, seen = random_instances(12), []

    def stop_after_four(state):
        seen.append((state.n_finished, state.n_instances))
        return state.n_finished == 4

    result = ct.tune(StepFamily(), instances, callbacks=[stop_after_four], n_jobs=n_jobs)
    assert result.status is Status.STOPPED and len(result.duals) == 4
    assert seen == [(number, 12) for number in (1, 2, 3, 4)]
    check_partial(result, StepFamily(), instances)


def test_callbacks_see_valid_bounds_that_improve():
    instances, states = random_instances(8), []
    result = ct.tune(StepFamily(), instances, callbacks=[states.append, lambda state: "go on"])
    assert result.status is Status.OPTIMAL
    bounds = [state.upper_bound for state in states]
    assert bounds == sorted(bounds, reverse=True) and bounds[-1] == result.upper_bound
    assert all(bound >= result.best_value for bound in bounds)
    assert states[-1].gap == 0.0 and states[-1].best_value == result.best_value
    first = states[0]
    assert first.best_value == first.duals[0].max()
    assert first.gap == 7 / 8
    assert states[-1].n_pieces == sum(dual.n_pieces for dual in result.duals)
    with pytest.raises(AttributeError):
        first.elapsed = 0.0


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


def test_a_family_without_free_parameters_is_refused():
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
def test_bad_options_are_refused(options, message):
    with pytest.raises(ct.ParameterError, match=message):
        ct.tune(StepFamily(), random_instances(1), **options)


@pytest.mark.parametrize("family", [StepFamily, "linkage", None])
def test_what_is_not_a_family_is_refused(family):
    with pytest.raises(ct.ParameterError, match="Expected a Family"):
        ct.tune(family, random_instances(1))


def test_a_family_that_contradicts_itself_is_found_out():
    with pytest.raises(ct.CertificateError, match="steps-0 promises .*check_family"):
        ct.tune(LyingFamily(), random_instances(1))


# The log


def test_short_runs_are_silent(capfd):
    ct.tune(StepFamily(), random_instances(2))
    assert capfd.readouterr() == ("", "")


def test_log_has_header_rows_and_summary(capfd):
    result = ct.tune(StepFamily(), random_instances(3), progress=True)
    out, err = capfd.readouterr()
    assert out == ""
    lines = err.splitlines()
    assert lines[0] == "certune: exact tuning of StepFamily(low=0.0, high=1.0)"
    assert lines[1] == "3 instances, free parameter x in [0, 1]"
    titles = lines.index(COLUMNS.format("time", "finished", "pieces", "best", "bound", "gap"))
    last = lines[lines.index("", titles) - 1].split()
    pieces = str(sum(dual.n_pieces for dual in result.duals))
    value = f"{result.best_value:.6f}"
    assert last[2:] == ["3/3", pieces, value, value, "0.000000"]
    assert err.endswith(f"{result}\n")


def test_log_appears_once_a_run_is_long(capfd, monkeypatch):
    monkeypatch.setattr("certune.tuning.log.PATIENCE", 0.1)
    ct.tune(slow_family(), random_instances(5))
    err = capfd.readouterr().err
    assert err.startswith("certune: exact tuning") and "OPTIMAL" in err
    ct.tune(slow_family(), random_instances(5), progress=False)
    assert capfd.readouterr().err == ""


def test_compilation_is_announced_if_nothing_is_compiled(capfd, monkeypatch):
    monkeypatch.setattr("certune.tuning.log.PATIENCE", 0.01)
    monkeypatch.setattr("certune.tuning.log.nothing_is_compiled", lambda: True)
    ct.tune(slow_family(), random_instances(1))
    assert capfd.readouterr().err.count("compiling kernels (first use after installation)") == 1


def test_compilation_is_not_announced_if_the_first_function_is_there(capfd, monkeypatch):
    monkeypatch.setattr("certune.tuning.log.PATIENCE", 0.12)
    monkeypatch.setattr("certune.tuning.log.nothing_is_compiled", lambda: True)
    ct.tune(slow_family(), random_instances(8))
    assert "compiling" not in capfd.readouterr().err


def test_log_of_weights_names_both_ends(capfd):
    instance = ct.datasets.random_clustering(
        1, n_clusters=2, n_per_cluster=5, metrics=("euclidean", "cityblock")
    )
    family = ct.Linkage(alpha=1.0, weights="tune", n_metrics=2)
    result = ct.tune(family, instance, progress=True)
    assert "free parameter weights from (1.0, 0.0) to (0.0, 1.0)" in capfd.readouterr().err
    assert sum(result.best_params["weights"]) == pytest.approx(1.0)
    assert result.best_region[0][0] >= 0.0 and result.best_region[-1][1] <= 1.0


# The result


def test_evaluate_on_new_instances():
    result = ct.tune(StepFamily(), random_instances(3))
    held_out = random_instances(5, seed=1)
    evaluation = result.evaluate(held_out)
    expected = [StepFamily().run_exact(item, result.best_params) for item in held_out]
    assert evaluation.utilities == tuple(expected)
    assert evaluation.value == float(sum(expected) / 5)
    assert evaluation.n_instances == 5 and set(evaluation.baselines) == {"lowest", "highest"}
    assert str(evaluation).startswith("mean utility over 5 instances: tuned ")
    with pytest.raises(ct.InputError, match="at least one"):
        result.evaluate([])


def test_frame_has_one_row_for_each_instance():
    instances = random_instances(4)
    result = ct.tune(StepFamily(), instances, timeout=1e-9)
    frame = result.to_frame()
    assert list(frame.index) == result.instance_names
    assert list(frame.columns) == ["tuned", "lowest", "highest", "attainable", "pieces"]
    assert frame["tuned"].mean() == pytest.approx(result.best_value)
    assert frame["attainable"].iloc[0] == result.duals[0].max()
    assert frame["attainable"].isna().tolist() == [False, True, True, True]


def test_frame_without_pandas_names_the_extra(monkeypatch):
    result = ct.tune(StepFamily(), random_instances(1))
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ct.CertuneError, match=r"certune\[frame\]"):
        result.to_frame()


def test_result_reads_well():
    result = ct.tune(StepFamily(), [StepInstance((0.5,), (Fraction(1, 3), Fraction(2, 3)))])
    assert repr(result) == (
        "TuningResult(OPTIMAL, best_value=0.6666666666666666, best_params={'x': 0.75}, gap=0.0)"
    )
    assert str(result).splitlines()[:6] == [
        "status            OPTIMAL: nothing in the range is better",
        "best value        0.666667 = 2/3, mean utility",
        "upper bound       0.666667, gap 0 (exact)",
        "best parameter    x = 0.75",
        "optimal set       x in [0.5, 1]",
        "robust parameter  x = 0.75",
    ]
    assert "lowest 0.333333, highest 0.666667" in str(result)


def test_result_is_a_value():
    result = ct.tune(StepFamily(), random_instances(1))
    with pytest.raises(AttributeError):
        result.status = Status.UNDECIDED


def test_status_messages_differ():
    messages = [status.value for status in Status]
    assert len(set(messages)) == len(messages)
    assert all(str(a) != str(b) for a, b in itertools.combinations(Status, 2))


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


class Shy(StepFamily):
    """Cannot be decided at one of its defaults."""

    @property
    def baselines(self):
        return {"left": {"x": 0.0}, "shy": {"x": 1.0}}

    def run_exact(self, instance, params):
        if params["x"] == 1.0:
            raise ct.UndecidedError("not here")
        return super().run_exact(instance, params)


def test_defaults_that_stay_undecided_are_left_out():
    result = ct.tune(Shy(), [StepInstance((0.25, 0.5), (0, 1, 0))], progress=False)
    assert result.best_value == 1.0 and result.baselines == {"left": 0.0}
