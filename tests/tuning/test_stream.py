"""Tuning on streams: the same mean for any number of workers and any order of arrival."""

import gc
import itertools
import json
import random
import signal
import time
import weakref
from fractions import Fraction

import pytest

import certune as ct
from certune.dual import sum_of
from certune.testing import StepFamily, StepInstance
from certune.tuning.stream import result as stream_result
from certune.tuning.stream.sums import BLOCK, FAN, SumTree
from certune.tuning.work.executors import Outcome, _Tray


def instance(number, modulus=97):
    place = (number % modulus + 1) / (modulus + 2)
    return StepInstance((place,), (Fraction(number % 5, 4), 1), name=f"number {number}")


def arrays(function):
    return {name: array.tobytes() for name, array in function.to_arrays().items()}


@pytest.mark.parametrize("count", [1, BLOCK, BLOCK + 1, 700])
def test_a_stream_has_the_optimum_of_a_list(count):
    instances = [instance(number) for number in range(count)]
    listed = ct.tune(StepFamily(), instances)
    result = ct.tune_stream(StepFamily(), iter(instances))
    assert result.landscape == listed.landscape and result.best_params == listed.best_params
    assert result.best_value_exact == listed.best_value_exact
    assert result.upper_bound_exact == listed.upper_bound_exact and result.gap == 0.0
    assert result.status is listed.status and result.baselines == listed.baselines
    assert f"instances      {count}" in str(result)


def test_the_number_of_workers_does_not_matter():
    first, second = (
        ct.tune_stream(StepFamily(), map(instance, range(300)), n_jobs=n_jobs) for n_jobs in (1, 2)
    )
    assert arrays(first.landscape) == arrays(second.landscape)


def test_sums_do_not_depend_on_the_order_of_arrival():
    duals = [StepFamily().dual(instance(number)) for number in range(3 * FAN + 5)]
    found = []
    for seed in range(3):
        order = list(range(len(duals)))
        random.Random(seed).shuffle(order)
        tree = SumTree()
        for number in order:
            tree.put(number, duals[number])
        found.append(arrays(tree.total()))
    assert found[0] == found[1] == found[2] == arrays(sum_of(duals))


def test_instances_are_not_kept():
    seen, alive = [], []

    def stream():
        for number in range(10 * BLOCK):
            item = instance(number)
            seen.append(weakref.ref(item))
            if number % BLOCK == 0:
                gc.collect()
                alive.append(sum(ref() is not None for ref in seen))
            yield item

    ct.tune_stream(StepFamily(), stream())
    assert max(alive) <= 3 * BLOCK


class Picky(StepFamily):
    def dual(self, instance, along=None):
        if instance.name == "number 40":
            raise ZeroDivisionError("no such thing")
        return super().dual(instance, along)


def test_instances_that_fail_are_named_or_left_out():
    instances = [instance(number) for number in range(100)]
    with pytest.raises(ct.TuningError, match="number 40, number 40 of the stream: Zero"):
        ct.tune_stream(Picky(), instances)
    result = ct.tune_stream(Picky(), instances, on_error="skip")
    assert result.status is ct.Status.INCOMPLETE and result.n_failed == 1
    assert result.failures == {"number 40": "ZeroDivisionError: no such thing"}
    whole = ct.tune(Picky(), instances, on_error="skip")
    assert result.upper_bound_exact == whole.upper_bound_exact
    assert result.best_value_exact == whole.best_value_exact


def test_a_stream_without_end_ends_with_the_time():
    def endless():
        number = 0
        while True:
            yield instance(number)
            number += 1

    result = ct.tune_stream(StepFamily(), endless(), timeout=0.5)
    assert result.status is ct.Status.TIME_LIMIT and result.n_instances > 0


@pytest.mark.parametrize(
    ("instances", "message"),
    [
        ([], "empty"),
        ("folder", "read_stream"),
        (3, "iterable"),
        ([instance(0), 7], "instance 1: expected a StepInstance"),
    ],
)
def test_what_is_no_stream_is_refused(instances, message):
    with pytest.raises(ct.InputError, match=message):
        ct.tune_stream(StepFamily(), instances)


def test_options_are_checked():
    for options in ({"timeout": 0}, {"on_error": "no"}, {"n_jobs": 0}):
        with pytest.raises(ct.ParameterError):
            ct.tune_stream(StepFamily(), [instance(0)], **options)
    family = ct.Linkage(alpha=(0, 1), weights="tune", n_metrics=2)
    with pytest.raises(ct.ParameterError, match="one free parameter"):
        ct.tune_stream(family, [])


def test_an_error_of_the_stream_itself_is_passed_on():
    def broken():
        yield instance(0)
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        ct.tune_stream(StepFamily(), broken())


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("why", [OSError("no net"), ct.InputError("a bad file")], ids=repr)
def test_what_was_read_before_a_stream_breaks_off_is_finished(why, n_jobs, tmp_path):
    def broken():
        yield from map(instance, range(3 * BLOCK + 5))
        raise why

    with pytest.raises(type(why)) as caught:
        ct.tune_stream(StepFamily(), broken(), n_jobs=n_jobs, run_dir=tmp_path)
    assert caught.value is why and why.result.n_instances == 3 * BLOCK
    assert ct.load(tmp_path).n_instances == 3 * BLOCK


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("ending", [ct.Status.TIME_LIMIT, ct.Status.INTERRUPTED])
def test_a_stream_that_waits_for_its_next_instance_is_ended(ending, n_jobs):
    """Data that never come, from a network or an instrument, do not hold the run."""

    computed = []

    class Counting(StepFamily):
        def dual(self, instance, along=None):
            computed.append(instance)
            return super().dual(instance, along)

    def waiting():
        yield from map(instance, range(2 * BLOCK))
        while len(computed) < 2 * BLOCK and n_jobs > 1:
            time.sleep(0.01)
        time.sleep(0.5)  # until the last sum is there
        if ending is ct.Status.INTERRUPTED:
            signal.raise_signal(signal.SIGINT)
        time.sleep(60)
        yield instance(0)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        started = time.perf_counter()
        timeout = 5.0 if ending is ct.Status.TIME_LIMIT else None
        result = ct.tune_stream(Counting(), waiting(), n_jobs=n_jobs, timeout=timeout)
    finally:
        signal.signal(signal.SIGINT, before)
    assert time.perf_counter() - started < 30
    assert result.status is ending and result.n_instances == 2 * BLOCK


def streamed(n=40):
    steps = (StepInstance((number / 100,), (0, 1)) for number in range(1, n))
    bad = [StepInstance((0.5,), (0, 1), name="bad ä")]
    return ct.tune_stream(Fragile(), itertools.chain(bad, steps), on_error="skip")


class Fragile(StepFamily):
    """Fails on one instance."""

    def dual(self, instance, along=None):
        if instance.name:
            raise ValueError("this one")
        return super().dual(instance, along)


def test_a_result_is_saved_and_loaded(tmp_path):
    result, path = streamed(), tmp_path / "with space ä.json"
    result.save(path)
    stored = ct.load(path)
    assert isinstance(stored, ct.StoredStream) and stored.path == path
    assert stored.landscape == result.landscape and stored.segment == result.segment
    for name in ("status", "n_instances", "n_failed", "failures", "baselines", "elapsed"):
        assert getattr(stored, name) == getattr(result, name)
    for name in ("best_value_exact", "upper_bound_exact", "gap", "best_params", "best_region"):
        assert getattr(stored, name) == getattr(result, name)
    assert str(stored) == str(result) and stored.family == repr(result.family)


def test_a_saved_result_that_was_changed_is_refused(tmp_path):
    path, rng = tmp_path / "a.json", random.Random(0)
    streamed(5).save(path)
    content = path.read_bytes()
    for _ in range(300):
        damaged = bytearray(content)
        damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
        path.write_bytes(damaged)
        with pytest.raises(ct.InputError, match=r"a\.json is no result of a stream"):
            ct.load(path)
    forged = {**json.loads(content), "n_failed": 9}
    del forged["checksum"]
    forged["checksum"] = stream_result._checksum(forged)
    path.write_text(json.dumps(forged))
    with pytest.raises(ct.InputError, match="9 of 5 instances cannot have failed"):
        ct.load(path)


def test_a_report_of_a_stream_counts_its_instances(tmp_path):
    streamed().report(tmp_path / "page.html", title="Many steps")
    page = (tmp_path / "page.html").read_text()
    assert "Many steps" in page and "40 instances" in page


@pytest.mark.parametrize(("seconds", "grain", "short"), [(0.01, 1, False), (0.01, 32, True)])
def test_blocks_of_short_instances_count_as_short(seconds, grain, short):
    tray = _Tray(str, range(20), grain)
    for outcome in (Outcome(number, None, None, seconds) for number in range(8)):
        tray.pending[outcome.number] = None
        tray.put_away(outcome)
    assert tray.has_short_items is short


@pytest.mark.parametrize("path", [None, 1, True, 3.5, [], b"x"])
def test_what_is_no_path_is_refused(path):
    result = streamed(3)
    for act in (ct.load, result.save, result.report):
        with pytest.raises((ct.InputError, ct.ParameterError), match="path of a f"):
            act(path)
    with pytest.raises(ct.InputError, match="got 1 among them"):
        ct.read_stream([1])
    with pytest.raises(ct.ParameterError, match="task must be one of"):
        ct.read_stream("a.csv", target="y", task=[])


def test_a_stream_is_printed_like_a_list():
    instances = [StepInstance((0.5,), (Fraction(1, 4), Fraction(1, 2)), name=str(n)) for n in "ab"]
    told = str(ct.tune_stream(StepFamily(), instances)).splitlines()
    assert told[1] == "best value     0.5 at x = 0.75"
    assert not any(line.startswith("default ") for line in told)
    assert told[3].startswith("baselines      ") or "instances" in told[3]
