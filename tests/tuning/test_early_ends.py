"""Tuning that ends early, by time, interrupt or callback: what is there must be valid."""

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from fractions import Fraction

import joblib
import pytest

import certune as ct
from certune.deadline import Stop, TimeIsUp, check_time
from certune.testing import StepFamily, StepInstance
from certune.tuning import Status
from certune.tuning.work import executors, interrupts
from certune.tuning.work.interrupts import SignalWatch


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
    if result.status is Status.TIME_LIMIT:  # what the tenth of a second after it allows
        assert result.baselines.items() <= complete.baselines.items()
    else:
        assert result.baselines == complete.baselines
    assert result.gap == float(result.upper_bound_exact - result.best_value_exact)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_time_limit(n_jobs, random_instances, slow_family):
    instances = random_instances(60)
    result = ct.tune(slow_family, instances, timeout=0.3, n_jobs=n_jobs)
    assert result.status is Status.TIME_LIMIT
    check_partial(result, slow_family, instances)


def test_bound_counts_unfinished_instances_as_perfect(random_instances):
    instances = random_instances(3)
    result = ct.tune(StepFamily(), instances, callbacks=[lambda state: True])
    assert result.status is Status.STOPPED and len(result.duals) == 1
    assert result.upper_bound_exact == (result.duals[0].max_exact + 2) / 3
    check_partial(result, StepFamily(), instances)


def test_a_limit_before_anything_is_finished_says_so(random_instances):
    with pytest.raises(ct.NothingFinishedError, match="any of the 3 instances") as caught:
        ct.tune(StepFamily(), random_instances(3), timeout=1e-9)
    assert isinstance(caught.value, TimeoutError)


RELEASED = threading.Event()


class Stubborn(StepFamily):
    """Never asks for the time, in functions and in runs of instances without a name."""

    def dual(self, instance, along=None):
        self.wait(instance)
        return super().dual(instance, along)

    def run_exact(self, instance, params):
        self.wait(instance)
        return super().run_exact(instance, params)

    def wait(self, instance):
        while instance.name is None and not RELEASED.is_set():
            pass


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_limit_holds_inside_an_instance_that_does_not_ask(n_jobs, random_instances):
    instances = random_instances(4)
    instances[3] = StepInstance((0.5,), (Fraction(0), Fraction(1)))
    RELEASED.clear()
    result = ct.tune(Stubborn(), instances, timeout=0.3, n_jobs=n_jobs, progress=False)
    RELEASED.set()  # the thread that was left to itself may end
    assert result.status is Status.TIME_LIMIT
    assert result.evaluation.unknown == (3,) and result.instances == instances
    assert result.upper_bound_exact == (3 * result.landscape.upper_bound_exact + 1) / 4
    reached = sum(StepFamily().run_exact(i, result.best_params) for i in result.instances[:3])
    assert result.best_value_exact == reached / 4
    assert result.to_frame()["tuned"].isna().tolist() == [False, False, False, True]


class Broken(StepFamily):
    """Fails at an instance with that name, in one way or another."""

    def dual(self, instance, along=None):
        if instance.name == "broken":
            raise ZeroDivisionError("by zero")
        if instance.name == "killed" and threading.current_thread() is threading.main_thread():
            os.kill(os.getpid(), signal.SIGKILL)
        if instance.name == "exits":
            sys.exit(3)
        return super().dual(instance, along)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_failure_names_the_instance_and_carries_what_is_finished(n_jobs, random_instances):
    instances = random_instances(6)
    instances[4] = StepInstance((0.5,), (Fraction(0), Fraction(1)), name="broken")
    with pytest.raises(ct.TuningError, match=r"broken \(instance 4\): ZeroDivisionError") as caught:
        ct.tune(Broken(), instances, n_jobs=n_jobs)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert caught.value.instance_name == "broken"
    result = caught.value.result
    assert result.status is Status.FAILED and len(result.duals) >= 4
    check_partial(result, StepFamily(), result.instances)


def test_exits_carry_what_is_finished(random_instances):
    instances = random_instances(3)
    instances[2] = StepInstance((), (Fraction(1),), name="exits")
    with pytest.raises(SystemExit) as caught:
        ct.tune(Broken(), instances)
    assert caught.value.code == 3 and len(caught.value.result.duals) == 2


def test_failing_callback_carries_what_is_finished(random_instances):
    instances = random_instances(5)

    def fails(state):
        if state.n_finished == 3:
            raise OSError("disk full")

    with pytest.raises(ct.TuningError, match="fails.*OSError: disk full") as caught:
        ct.tune(StepFamily(), instances, callbacks=[fails])
    assert caught.value.instance_name is None and len(caught.value.result.duals) == 3
    check_partial(caught.value.result, StepFamily(), instances)


def test_lost_worker_is_named_and_the_others_are_kept(random_instances):
    class Local(Broken):  # reaches worker processes by value
        pass

    instances = random_instances(5)
    instances[1] = StepInstance((), (Fraction(1),), name="killed")
    with joblib.parallel_config(backend="loky"):
        with pytest.raises(ct.TuningError, match=r"killed \(instance 1\): WorkerError") as caught:
            ct.tune(Local(), instances, n_jobs=2)
    result = caught.value.result
    assert len(result.duals) >= 1 and "killed" not in result.instance_names[: len(result.duals)]


def test_swallowed_stop_makes_no_value():
    """A program that catches everything ends, and is not finished with a wrong value."""

    class Greedy(StepFamily):
        def dual(self, instance, along=None):
            try:
                while True:
                    check_time()
            except BaseException:
                return super().dual(StepInstance((), (Fraction(1),)))

    with pytest.raises(ct.NothingFinishedError):
        ct.tune(Greedy(), [StepInstance((0.5,), (Fraction(0), Fraction(1)))], timeout=0.05)


def test_swallowed_interrupt_makes_no_value():
    """Neither does one that asks for no time, and catches what interrupts it."""

    class Deaf(StepFamily):
        def dual(self, instance, along=None):
            try:
                time.sleep(20)
            except:  # noqa: E722 (what people write)
                return super().dual(StepInstance((), (Fraction(1),)))

    with pytest.raises(ct.NothingFinishedError):
        ct.tune(Deaf(), [StepInstance((0.5,), (Fraction(0), Fraction(1)))], timeout=0.05)


SIGNALLED = """
import os, signal, sys, threading
from fractions import Fraction
import certune as ct
from certune.testing import StepFamily, StepInstance

# On a busy machine two workers may be processes, which take these along.
ADDRESSED = os.getpid(), getattr(signal, sys.argv[1])

class Slow(StepFamily):
    def dual(self, instance, along=None):
        if instance.name == "slow":
            threading.Timer(0.1, os.kill, ADDRESSED).start()
            while True:
                pass
        if instance.name == "greedy":
            os.kill(*ADDRESSED)
            sum(range(5 * 10**7))  # keeps the interpreter lock all the time
            while True:
                pass
        return super().dual(instance, along)

instances = [StepInstance((0.5,), (Fraction(0), Fraction(1)), name=n) for n in sys.argv[3:]]
# Shells let background jobs ignore Ctrl-C, and for tune an ignored signal stays ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
result = ct.tune(Slow(), instances, n_jobs=int(sys.argv[2]))
assert before == (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM))
print(result.status.name, len(result.duals))
"""


def signalled(*arguments):
    command = [sys.executable, "-c", SIGNALLED, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
@pytest.mark.parametrize("n_jobs", ["1", "2"])
def test_signals_keep_what_is_finished(name, n_jobs):
    ended = signalled(name, n_jobs, "a", "b", "slow", "c")
    assert (ended.returncode, ended.stdout) == (0, "INTERRUPTED 2\n"), ended.stderr


def test_a_signal_arrives_while_a_worker_keeps_the_interpreter_to_itself():
    ended = signalled("SIGTERM", "2", "a", "b", "greedy", "c")
    assert (ended.returncode, ended.stdout) == (0, "INTERRUPTED 2\n"), ended.stderr


def test_signals_before_anything_is_finished_do_what_they_always_do():
    assert "KeyboardInterrupt" in signalled("SIGINT", "1", "slow").stderr
    assert signalled("SIGTERM", "1", "slow").returncode == -signal.SIGTERM


@pytest.mark.parametrize("step", range(6))
def test_code_that_is_interrupted_at_any_line_is_not_interrupted_again(step):
    """Not after it was left: the exception would hit whoever builds the result."""
    watch, lines = SignalWatch(Stop()), []

    def remind(frame, event, argument):
        if frame.f_code is SignalWatch.call.__code__:
            frame.f_trace = remind
            if event == "line":
                lines.append(frame.f_lineno)
                if len(lines) == step + 1:
                    watch._reminded = True
                    watch._handle(signal.SIGINT, None)
            return remind
        return None

    before = sys.gettrace()
    sys.settrace(remind)
    try:
        with suppress(TimeIsUp):
            watch.call(Stop(), len, "item")
    finally:
        sys.settrace(before)
    assert len(lines) > step and watch._working_under is None


def test_a_reminder_is_not_repeated_before_it_has_arrived(monkeypatch):
    """The second one would be taken for a signal from outside."""
    sent, arrived = [], threading.Event()

    def send():
        sent.append(signal.SIGINT)
        arrived.set()

    monkeypatch.setattr(interrupts, "_interrupt_main", send)
    watch = SignalWatch(Stop())
    watch._working_under = Stop(0.0)
    reminder = threading.Thread(target=watch._remind, daemon=True)
    reminder.start()
    assert arrived.wait(60.0)
    time.sleep(4 * interrupts.LOOK)
    watch._left.set()
    reminder.join()
    assert sent == [signal.SIGINT] and watch._reminded


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


ENDING = """
import sys, threading, time

import numpy as np

import certune as ct
from certune.deadline import Stop
from certune.tuning.work.executors import Crew
from certune.tuning.work.interrupts import SignalWatch


class Slow:
    def __del__(self, sleep=time.sleep):
        sleep(1.5)  # others get the interpreter's lock, which ends them


points = np.random.default_rng(0).normal(size=(1200, 3))
instance = ct.ClusteringInstance(points, target=np.arange(1200) % 4)
instance.distances
stop = Stop(1.0)
crew = Crew(2, SignalWatch(stop), stop, releases_lock=True)
work = crew.outcomes(ct.Linkage("min-max", alpha=(-5, 5)).dual, [instance] * 2)
threading.Thread(target=lambda: list(work), daemon=True).start()


def in_the_core():
    frames = sys._current_frames().values()
    return any(frame.f_code.co_filename.endswith("kernels/linkage.py") for frame in frames)


while not in_the_core() and not stop.is_set():
    time.sleep(0.001)
slow = Slow()
"""


def test_a_process_can_end_while_its_threads_are_in_the_core():
    ended = subprocess.run([sys.executable, "-c", ENDING], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr


def test_nobody_waits_until_processes_have_ended(monkeypatch):
    """Ending them can take long on a busy machine; new ones wait for it."""
    ended, may_end = [], threading.Event()

    def slow_end(self, ensure_ready=True):
        may_end.wait(60)
        ended.append(self)

    monkeypatch.setattr(executors.LokyBackend, "abort_everything", slow_end)
    pool = executors._Processes(2)
    pool._in_work.add(0)
    pool.close()
    pool.close()
    assert not ended
    threading.Timer(0.05, may_end.set).start()
    executors._Processes(2).close()
    assert ended == [pool._backend]


class RayActorError(Exception):
    """Named like that of Ray."""


@pytest.mark.parametrize(
    ("error", "n_failures", "n_starts"),
    [(RayActorError("died"), 2, 3), (RayActorError("died"), 9, 3), (OSError("no memory"), 9, 1)],
)
def test_processes_that_die_while_they_start_are_started_again(
    error, n_failures, n_starts, monkeypatch
):
    """A machine that is taken away just then does not end a run of hours."""
    starts, enter = [], joblib.Parallel.__enter__

    def dying(self):
        starts.append(self)
        if len(starts) <= n_failures:
            raise error
        return enter(self)

    monkeypatch.setattr(joblib.Parallel, "__enter__", dying)
    if n_failures < n_starts:
        executors._Processes(2).close()
    else:
        with pytest.raises(ct.WorkerError, match="cannot be started: "):
            executors._Processes(2)
    assert len(starts) == n_starts
