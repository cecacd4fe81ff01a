"""Every public method of every kind of result is called; a new one without an entry fails."""

import inspect
import math
import tempfile
from fractions import Fraction
from functools import cached_property
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest

import certune as ct
from certune.testing import StepFamily

mpl.use("Agg")


@pytest.fixture(scope="module")
def results(random_instances):
    """One result of each kind: constant and smooth functions, ended early, several parameters."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), rng.integers(0, 2, 40)
    curves = [
        ct.ClassificationInstance(X[at : at + 20], y[at : at + 20], X[-10:], y[-10:])
        for at in (0, 3, 6, 9)
    ]
    space = ct.ParameterSpace((ct.Real("a", 0, 1), ct.Real("b", 0, 2)))
    program = ct.ProgramFamily(lambda x, p: 1 if p["a"] + x * p["b"] >= 1 else 0, space)
    steps = random_instances(5)
    return {
        "line": ct.tune(StepFamily(), steps),
        "early": ct.tune(StepFamily(), steps, callbacks=[lambda state: state.n_finished == 3]),
        "smooth": ct.tune(ct.RegularizedLogistic("l2", lam=(0.01, 1.0)), curves),
        "space": ct.tune(program, [0.25, 0.5, 0.75]),
        "lines": ct.tune(program, [0.25, 0.5, 0.75], method="line-search"),
    }


KINDS = ("line", "early", "smooth", "space", "lines")


def written(result):
    """Length of the report of a result."""
    with tempfile.TemporaryDirectory() as folder:
        result.report(Path(folder) / "report.html")
        return len((Path(folder) / "report.html").read_text())


# What each public method is called with, and what is known about its answer.
CHECKS = {
    "best_params": lambda r: isinstance(r.best_params, dict),
    "criterion": lambda r: r.criterion.value(r.evaluation.utilities) == r.best_value_exact,
    "best_value": lambda r: r.best_value <= r.upper_bound + r.family.tolerance,
    "best_value_exact": lambda r: isinstance(r.best_value_exact, Fraction | float),
    "best_score": lambda r: math.isfinite(r.best_score),
    "score_bound": lambda r: math.isfinite(r.score_bound),
    "best_region": lambda r: isinstance(r.best_region, list),
    "near_best_region": lambda r: isinstance(r.near_best_region, list),
    "upper_bound": lambda r: r.upper_bound == float(r.upper_bound_exact),
    "gap": lambda r: r.gap >= 0,
    "baselines": lambda r: all(map(math.isfinite, r.baselines.values())),
    "instance_names": lambda r: len(r.instance_names) == len(r.instances),
    "robust_params": lambda r: set(r.robust_params) == set(r.best_params),
    "robust_value": lambda r: r.robust_value <= r.landscape.max() + 1e-9,
    "robust": lambda r: set(r.robust(0.5)) == set(r.best_params),
    "best_estimator": lambda r: hasattr(r.best_estimator, "fit"),
    "report": lambda r: written(r) > 1000,
    "certificate": lambda r: ct.verify(r.certificate, r.family, r.instances) is not None,
    "plot_landscape": lambda r: r.plot_landscape().axes,
    "to_frame": lambda r: len(r.to_frame()) == len(r.instances),
    "evaluate": lambda r: r.evaluate(r.instances, independent=False).n_instances,
    "guarantee": lambda r: str(r.guarantee(delta=0.1)),
    "instances_needed": lambda r: str(r.instances_needed(0.2)),
    "cross_validate": lambda r: str(r.cross_validate(3)),
    "bootstrap": lambda r: str(r.bootstrap(20)),
    "learning_curve": lambda r: str(r.learning_curve()),
    "select": lambda r: set(r.select().params) == set(r.best_params),
    "without": lambda r: len(r.without(r.instance_names[0]).instances) < len(r.instances),
    "with_instances": lambda r: len(r.with_instances(r.instances).duals) == 2 * len(r.instances),
    "cover": lambda r: r.cover(50) is not None,
    "segment": lambda r: r.segment.low < r.segment.high,
    "duals": lambda r: len(r.duals) <= len(r.instances),
    "landscape": lambda r: r.landscape.n_pieces >= 1,
}
# Kinds of results for which a method has no answer, which it must say.
REFUSED = {
    "best_estimator": ("line", "early", "space", "lines"),
}


# Methods that only some kinds of results have.
LINES = ("line", "early", "smooth")
KINDS_OF = {
    "cover": ("space", "lines"),
    "near_best_region": LINES,
    "with_instances": LINES,
    "without": LINES,
}


def public_names(result):
    """Methods and properties of a result, without its fields."""
    kinds = (property, cached_property)
    return {
        name
        for name, member in inspect.getmembers_static(type(result))
        if not name.startswith("_") and (callable(member) or isinstance(member, kinds))
    }


@pytest.mark.parametrize("kind", KINDS)
def test_the_table_is_complete(kind, results):
    assert public_names(results[kind]) <= set(CHECKS)


@pytest.mark.parametrize("name", sorted(CHECKS))
@pytest.mark.parametrize("kind", KINDS)
def test_every_public_method_answers(kind, name, results):
    result = results[kind]
    if not hasattr(type(result), name) and name not in vars(result):
        assert kind not in KINDS_OF[name]
        return
    if kind in REFUSED.get(name, ()):
        with pytest.raises(ct.CertuneError):
            CHECKS[name](result)
    else:
        assert CHECKS[name](result), name


RUNTIMES = [ct.RuntimeInstance({"a": 1.0, "b": 5.0}), ct.RuntimeInstance({"a": 9.0, "b": 2.0})]


@pytest.fixture(scope="module")
def other_results(random_instances):
    """One of each kind of result that is no `TuningResult`."""
    steps = random_instances(4)
    return {
        "ChoiceResult": ct.tune(ct.Choice({"first": StepFamily(), "second": StepFamily()}), steps),
        "StreamResult": ct.tune_stream(StepFamily(), steps),
        "ScheduleResult": ct.best_schedule(RUNTIMES, 10),
    }


def saved(result):
    """The result of a stream from its file."""
    with tempfile.TemporaryDirectory() as folder:
        result.save(Path(folder) / "stream.json")
        return (Path(folder) / "stream.json").read_text()


# Where the arguments differ from those above.
OTHER_CHECKS = CHECKS | {
    "best_value": lambda r: r.best_value == float(r.best_value_exact),
    "certificate": lambda r: ct.verify(r.certificate, r.choice, r.best.instances) is not None,
    "evaluate": lambda r: (
        len(r.evaluate(RUNTIMES)) == 2
        if isinstance(r, ct.ScheduleResult)
        else r.evaluate(r.best.instances).n_instances
    ),
    "instance_names": lambda r: r.instance_names == r.best.instance_names,
    "to_frame": lambda r: len(r.to_frame()) > 0,
    "upper_bound": lambda r: r.upper_bound >= r.best_value,
    "upper_bound_exact": lambda r: r.upper_bound_exact >= r.best_value_exact,
    "best": lambda r: r.best is not None,
    "n_computed": lambda r: r.n_computed >= 1,
    "n_functions": lambda r: r.n_functions >= r.n_computed,
    "save": lambda r: saved(r),
    "title": lambda r: r.best_alternative in r.title,
    "par10_of": lambda r: r.par10_of(0.5) is not None,
}


@pytest.mark.parametrize("kind", ["ChoiceResult", "StreamResult", "ScheduleResult"])
def test_every_public_method_of_other_results_answers(kind, other_results):
    result = other_results[kind]
    assert type(result).__name__ == kind
    for name in sorted(public_names(result)):
        try:
            assert OTHER_CHECKS[name](result), name
        except ct.CertuneError as refusal:
            assert name in REFUSED, refusal
