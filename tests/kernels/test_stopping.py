"""The stop that the compiled core asks: flag, deadline, and the words for both."""

import copy
import math
import pickle
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import certune._core as core
from certune._core import Stop, TimeIsUp
from certune.deadline import check_time, current_stop, under, until
from certune.kernels.graph import Elimination, inverse_diagonal


def test_a_stop_is_set_by_its_deadline_or_by_anybody():
    assert not Stop().is_set()
    assert not Stop(math.inf).is_set() and not Stop(1e300).is_set() and not Stop(3600.0).is_set()
    assert Stop(0.0).is_set() and Stop(-math.inf).is_set()
    soon = Stop(0.01)
    time.sleep(0.02)
    assert soon.is_set()
    stop = Stop()
    thread = threading.Thread(target=stop.set)
    thread.start()
    thread.join()
    assert stop.is_set()
    with pytest.raises(ValueError, match="NaN"):
        Stop(math.nan)


def test_a_set_stop_holds_where_it_was_stated():
    with until(math.inf) as stop:
        assert current_stop() is stop
        check_time()
        stop.set()
        with pytest.raises(TimeIsUp):
            check_time()
    check_time()


def test_the_word_that_time_is_up_travels_between_processes():
    for error in (pickle.loads(pickle.dumps(TimeIsUp())), copy.copy(TimeIsUp())):
        assert type(error) is TimeIsUp


INTERRUPTED = """
import os, signal, threading
import numpy as np
from certune.kernels.graph import Elimination, inverse_diagonal

class Ended(Exception):
    pass

def end(number, frame):
    raise Ended(number)

# Shells let background jobs ignore Ctrl-C.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGTERM, end)
n = 2500
work = Elimination(np.ones((n, n)), np.ones((n, 2)), np.full(n, float(n)))
threading.Timer(0.1, os.kill, (os.getpid(), signal.{signal})).start()
try:
    inverse_diagonal(work)
    print("the kernel came to its end first")
except {raised}:
    print("ended")
"""


@pytest.mark.parametrize(
    ("signal", "raised"), [("SIGINT", "KeyboardInterrupt"), ("SIGTERM", "Ended")]
)
def test_signals_end_kernels_in_the_main_thread(signal, raised):
    """The call alone takes seconds, so that the handler must have run inside of the kernel."""
    script = INTERRUPTED.format(signal=signal, raised=raised)
    finished = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert finished.stdout == "ended\n" and finished.stderr == ""


def test_a_thread_is_ended_by_its_stop():
    n, outcome = 2500, []
    work = Elimination(np.ones((n, n)), np.ones((n, 2)), np.full(n, float(n)))
    stop = Stop()

    def run():
        try:
            with under(stop):
                inverse_diagonal(work)
        except TimeIsUp:
            outcome.append("ended")

    thread = threading.Thread(target=run)
    thread.start()
    time.sleep(0.05)
    stop.set()
    thread.join()
    assert outcome == ["ended"]


def large_soft_models(stop):
    n, n_classes = 1000, 20
    work = Elimination.room_for(n, n_classes)
    work.weights[:] = work.sums[:] = 1.0
    joined, to_labelled = np.ones((n, n), dtype=bool), np.ones((n, n_classes), dtype=bool)
    edges = np.ones((1, n, n)), np.ones((1, n, n_classes)), joined, to_labelled
    classes = np.arange(n_classes), n_classes
    box = np.ones(1), np.full((2, 1), 1e-3), 1.0, 1.0
    core.graph.soft_models((*edges, *classes), work, work.classes, box, (1e-9,) * 3, stop)


def large_conflicts(stop):
    core.graph.conflicts(np.random.default_rng(0).uniform(0.0, 1.0, (2000, 16)), stop)


def large_tree_at_a_point(stop):
    n = 1500
    values = np.add.outer(np.arange(n), np.arange(n)) + 1.0
    codes, nothing = np.zeros((n, n), dtype=np.uint64), np.zeros(2 * n - 1, dtype=np.int64)
    pairs = core.linkage.PairFunctions(
        2, values, values, (1.0, 0.5), 1e-15, (codes, False), np.arange(n), True
    )
    problem = core.linkage.Problem(
        1, pairs, (0.0, 1.0), (np.arange(n), nothing, nothing, 0), (3, codes[:0].view(np.int64), 5)
    )
    core.linkage.solve_at(problem, 1.0, values, 1e-12, lambda *_: 2, None, stop)


@pytest.mark.parametrize("call", [large_soft_models, large_conflicts, large_tree_at_a_point])
def test_a_stop_that_is_set_is_heeded_in_every_loop(call):
    """What comes after the first loop takes more than half a second, or far more, in each."""
    stop = Stop()
    stop.set()
    begin = time.process_time()
    with pytest.raises(TimeIsUp):
        call(stop)
    assert time.process_time() - begin < 0.4
