"""Tuning that ends early, by time, interrupt or callback: what is there must be valid."""

from fractions import Fraction

import pytest

import certune as ct
from certune.testing import StepFamily, StepInstance
from certune.tuning import Status


class InterruptedFamily(StepFamily):
    """Behaves as if the user pressed Ctrl-C at an instance with that name."""

    def dual(self, instance, along=None):
        if instance.name == "interrupt":
            raise KeyboardInterrupt
        return super().dual(instance, along)


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
def test_time_limit(n_jobs, random_instances, slow_family):
    instances = random_instances(60)
    result = ct.tune(slow_family, instances, timeout=0.3, n_jobs=n_jobs)
    assert result.status is Status.TIME_LIMIT
    check_partial(result, slow_family, instances)


def test_first_instance_is_always_finished(random_instances):
    instances = random_instances(3)
    result = ct.tune(StepFamily(), instances, timeout=1e-9)
    assert result.status is Status.TIME_LIMIT and len(result.duals) == 1
    finished = result.duals[0].max_exact
    assert result.upper_bound_exact == (finished + 2) / 3
    check_partial(result, StepFamily(), instances)


def test_interrupt_returns_what_is_there(random_instances):
    instances = random_instances(5)
    instances[3] = StepInstance((0.5,), (Fraction(0), Fraction(1)), name="interrupt")
    result = ct.tune(InterruptedFamily(), instances)
    assert result.status is Status.INTERRUPTED and len(result.duals) == 3
    check_partial(result, StepFamily(), instances)


def test_interrupt_before_the_first_instance_is_raised():
    with pytest.raises(KeyboardInterrupt):
        ct.tune(InterruptedFamily(), [StepInstance((), (Fraction(1, 2),), name="interrupt")])


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_callback_stops(n_jobs, random_instances):
    instances, seen = random_instances(12), []

    def stop_after_four(state):
        seen.append((state.n_finished, state.n_instances))
        return state.n_finished == 4

    result = ct.tune(StepFamily(), instances, callbacks=[stop_after_four], n_jobs=n_jobs)
    assert result.status is Status.STOPPED and len(result.duals) == 4
    assert seen == [(number, 12) for number in (1, 2, 3, 4)]
    check_partial(result, StepFamily(), instances)


def test_callbacks_see_valid_bounds_that_improve(random_instances):
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
