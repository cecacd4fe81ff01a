"""Computations of numpy that nothing can stop are not waited for once time is up."""

import time

import numpy as np
import pytest

import certune as ct
from certune.deadline import LONG, TimeIsUp, now, unless_stopped, until


def test_results_and_errors_are_those_of_the_function():
    for operations in (0.0, LONG):
        assert unless_stopped(operations, max, [1, 3], key=lambda v: -v) == 1
        with pytest.raises(np.linalg.LinAlgError):
            unless_stopped(operations, np.linalg.inv, np.zeros((2, 2)))


def test_nobody_waits_longer_than_the_time():
    started = time.perf_counter()
    with until(now() + 0.05), pytest.raises(TimeIsUp):
        unless_stopped(LONG, time.sleep, 20.0)
    assert time.perf_counter() - started < 10.0


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("svd", ct.RegularizedRegression("l2", alpha=(0.1, 10), max_error=2)),
        ("eigh", ct.RegularizedRegression("elastic-net", alpha=(0.01, 1), max_error=2)),
    ],
)
def test_a_limit_holds_during_the_decomposition_of_an_instance(monkeypatch, name, family):
    slow, rng = getattr(np.linalg, name), np.random.default_rng(0)
    X = rng.normal(size=(12, 3))
    instance = ct.RegressionInstance(X[:8], X[:8, 0], X[8:], X[8:, 0])
    monkeypatch.setattr("certune.deadline.LONG", 0.0)
    monkeypatch.setattr(np.linalg, name, lambda *given, **options: time.sleep(20.0) or slow(*given))
    started = time.perf_counter()
    with pytest.raises(ct.NothingFinishedError):
        ct.tune(family, [instance], timeout=0.1, progress=False)
    assert time.perf_counter() - started < 10.0
