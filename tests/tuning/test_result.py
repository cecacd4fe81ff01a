"""Results of tuning: new instances, tables, and how they read."""

import itertools
import sys
from fractions import Fraction

import pytest

import certune as ct
from certune.testing import StepFamily, StepInstance
from certune.tuning import Status


def test_evaluate_on_new_instances(random_instances):
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


def test_frame_has_one_row_for_each_instance(random_instances):
    instances = random_instances(4)
    result = ct.tune(StepFamily(), instances, callbacks=[lambda state: True])
    frame = result.to_frame()
    assert list(frame.index) == result.instance_names
    assert list(frame.columns) == ["tuned", "lowest", "highest", "attainable", "pieces"]
    assert frame["tuned"].mean() == pytest.approx(result.best_value)
    assert frame["attainable"].iloc[0] == result.duals[0].max()
    assert frame["attainable"].isna().tolist() == [False, True, True, True]


def test_frame_without_pandas_names_the_extra(monkeypatch, random_instances):
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


def test_result_is_a_value(random_instances):
    result = ct.tune(StepFamily(), random_instances(1))
    with pytest.raises(AttributeError):
        result.status = Status.UNDECIDED


def test_status_messages_differ():
    messages = [status.value for status in Status]
    assert len(set(messages)) == len(messages)
    assert all(str(a) != str(b) for a, b in itertools.combinations(Status, 2))
