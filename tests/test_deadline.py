"""Deadlines: what may take long asks for the time, and a search ends when it is up."""

import math
import subprocess
import sys
import threading
import time
from fractions import Fraction

import numpy as np
import pytest

import certune as ct
from certune import deadline
from certune.deadline import Stop, TimeIsUp, check_time, under, until
from certune.families.graph_ssl.balls import ball_labels


def test_deadlines_hold_inside_and_in_their_own_thread_only():
    check_time()
    found = []
    with until(-math.inf):
        with pytest.raises(TimeIsUp):
            check_time()
        with until(math.inf), pytest.raises(TimeIsUp):
            check_time()
        thread = threading.Thread(target=lambda: (check_time(), found.append("no deadline here")))
        thread.start()
        thread.join()
    check_time()
    assert found == ["no deadline here"]


def test_a_wish_reaches_all_stops_below():
    wish = Stop()
    with under(Stop(parent=wish)) as stop, until(math.inf):
        check_time()
        assert not stop.is_set() and not stop.stated
        wish.set()
        assert stop.stated
        with pytest.raises(TimeIsUp):
            check_time()
    assert stop.is_set()
    check_time()


def test_a_stop_knows_whether_it_was_seen_and_who_set_it():
    with until(-math.inf) as stop:
        assert not stop.seen and not stop.stated
        with pytest.raises(TimeIsUp):
            check_time()
        assert stop.seen and not stop.stated
    assert Stop().seconds_left == math.inf and Stop(0.0).seconds_left == -math.inf
    assert 9.0 < Stop(100.0, Stop(10.0)).seconds_left <= 10.0


def test_the_end_of_time_is_no_failure():
    """A program that catches all exceptions must not turn a time limit into a value."""
    assert not issubclass(TimeIsUp, Exception)


def test_the_clock_stands_still_during_preparations():
    before = deadline.now()
    with deadline.preparing():
        with deadline.preparing():
            standing = deadline.now()
            time.sleep(0.01)
        assert deadline.now() == standing >= before
    started = time.perf_counter()
    time.sleep(0.01)
    assert standing + 0.01 <= deadline.now() <= standing + (time.perf_counter() - started) + 0.01


SLOW_LOADING = """
import sys, time
import certune as ct

class SlowFinder:
    def find_spec(self, name, *details):
        if name in ("scipy.cluster", "sklearn.metrics"):
            time.sleep(2.0)

instances = ct.datasets.random_clustering(1, n_clusters=2, n_per_cluster=3, random_state=0)
family = ct.Linkage(alpha=(-2, 2), utility="normalized-mutual-info")
for name in [name for name in sys.modules if name.startswith(("scipy.cluster", "sklearn.metrics"))]:
    del sys.modules[name]
sys.meta_path.insert(0, SlowFinder())
print(ct.tune(family, instances, timeout=1.5, progress=False).status.name)
"""


def test_modules_that_load_slowly_do_not_count():
    finished = subprocess.run([sys.executable, "-c", SLOW_LOADING], capture_output=True, text=True)
    assert finished.stdout == "OPTIMAL\n", finished.stderr


def slow_cases():
    """Functions that need exact arithmetic (ties), panels, or passes of a program."""
    grid = np.random.default_rng(5).integers(0, 4, (5, 2))
    metrics = ("euclidean", "cityblock", "chebyshev")
    clusters = ct.ClusteringInstance(points=grid, target=[0, 0, 1, 1, 1], k=2, metrics=metrics)
    points = np.random.default_rng(0).normal(size=(8, 2))
    labels = ct.LabelingInstance(points=points, labeled=[0, 1], truth=np.arange(8) % 2)
    program = ct.ProgramFamily(lambda x, p: 1 if p["t"] * p["t"] >= 2 else 0, ct.Real("t", 0, 2))
    return [
        (ct.Linkage("product", alpha=[(0.5, 0.9), -1.2, 0.5]), clusters),
        (ct.HarmonicLabeling(sigma=(0.1, 5.0)), labels),
        (program, None),
    ]


@pytest.mark.parametrize(("family", "instance"), slow_cases())
def test_functions_end_at_the_deadline(family, instance):
    complete = family.dual(instance)
    with until(deadline.now()), pytest.raises(TimeIsUp):
        family.dual(instance)
    assert family.dual(instance) == complete


def test_soft_labels_in_balls_end_at_the_deadline():
    family, instance = slow_cases()[1]
    graph = family.graph(instance)
    assert ball_labels(graph, [Fraction(1)], 128)
    with until(deadline.now()), pytest.raises(TimeIsUp):
        ball_labels(graph, [Fraction(1)], 128)


def test_a_search_does_not_wait_for_a_line_that_takes_long():
    """Graphs with duplicates and small bandwidths: one function alone takes seconds."""
    points = [[2, 1], [0, 3], [0, 1], [2, 3], [2, 3], [0, 1], [2, 1], [1, 1], [0, 0]]
    truth = np.r_[np.arange(4), np.random.default_rng(8).integers(0, 4, 5)]
    instance = ct.LabelingInstance(
        points=points, metrics=("sqeuclidean", "cityblock"), labeled=[0, 1, 2, 3], truth=truth
    )
    family = ct.HarmonicLabeling(sigma=(0.01, 0.3), weights="tune", n_metrics=2)
    result = ct.tune(family, [instance], timeout=0.2, progress=False)
    assert result.status is ct.Status.TIME_LIMIT and result.upper_bound >= result.best_value
