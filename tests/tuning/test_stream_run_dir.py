"""Streams with a run directory: ended in any way, read again, extended, damaged."""

import json
import os
import random
import time
from fractions import Fraction

import pytest

import certune as ct
from certune.runs.directory import Kind
from certune.testing import StepFamily, StepInstance
from certune.tuning.stream.sums import BLOCK, BLOCKS


class Counting(StepFamily):
    """Counts functions that are computed, and fails where it is told to."""

    calls: list = []
    bad: set = set()
    fingerprint = StepFamily.fingerprint

    def dual(self, instance, along=None):
        if instance.name in self.bad:
            raise ZeroDivisionError("no such thing")
        self.calls.append(instance.name)
        return super().dual(instance, along)


@pytest.fixture
def family():
    Counting.calls.clear()
    Counting.bad.clear()
    return Counting()


def instance(number):
    place = (7 * number % 97 + 1) / 99
    return StepInstance((place,), (Fraction(number % 5, 4), 1), name=f"number {number}")


COUNT = 4 * BLOCK + 5
INSTANCES = [instance(number) for number in range(COUNT)]


def told(result):
    """Everything that two equal results have in common."""
    arrays = {name: array.tobytes() for name, array in result.landscape.to_arrays().items()}
    names = ("status", "n_instances", "n_failed", "failures", "baselines", "best_params")
    exact = result.best_value_exact, result.upper_bound_exact
    return [arrays, *exact, *(getattr(result, name) for name in names)]


@pytest.fixture(scope="module")
def whole():
    return told(ct.tune_stream(StepFamily(), INSTANCES))


def broken_off(at):
    yield from INSTANCES[:at]
    raise OSError("the disk is gone")


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_stream_that_broke_off_is_continued(family, whole, tmp_path, n_jobs):
    folder = tmp_path / "a run with ä and spaces"
    for at in (BLOCK - 1, BLOCK + 1, 3 * BLOCK + 1):
        with pytest.raises(OSError, match="the disk is gone"):
            ct.tune_stream(family, broken_off(at), run_dir=folder)
    assert sorted(family.calls) == sorted(item.name for item in INSTANCES[: 3 * BLOCK])
    family.calls.clear()
    assert told(ct.tune_stream(family, iter(INSTANCES), run_dir=folder, n_jobs=n_jobs)) == whole
    assert sorted(family.calls) == sorted(item.name for item in INSTANCES[3 * BLOCK :])
    family.calls.clear()
    assert told(ct.tune_stream(family, iter(INSTANCES), run_dir=folder, n_jobs=n_jobs)) == whole
    assert family.calls == [] and not list(folder.rglob("*.lock"))


def test_more_instances_cost_only_their_blocks(family, whole, tmp_path):
    ct.tune_stream(family, INSTANCES[: 2 * BLOCK + 3], run_dir=tmp_path)
    family.calls.clear()
    assert told(ct.tune_stream(family, INSTANCES, run_dir=tmp_path)) == whole
    assert family.calls == [item.name for item in INSTANCES[2 * BLOCK :]]
    other = [*INSTANCES[:3], instance(500), *INSTANCES[4:]]
    family.calls.clear()
    changed = ct.tune_stream(family, other, run_dir=tmp_path)
    assert len(family.calls) == BLOCK
    assert told(changed) == told(ct.tune_stream(StepFamily(), other))


@pytest.mark.parametrize("harm", ["cut", "flip", "swap", "foreign", "folder"])
def test_a_damaged_block_is_set_aside_and_computed_again(family, whole, tmp_path, harm):
    ct.tune_stream(family, INSTANCES, run_dir=tmp_path)
    first, second, *_ = sorted((tmp_path / "functions").glob("*.json"))
    content = bytearray(first.read_bytes())
    if harm == "cut":
        first.write_bytes(content[:-9])
    elif harm == "flip":
        content[len(content) // 2] ^= 1
        first.write_bytes(content)
    elif harm == "swap":
        first.write_bytes(second.read_bytes())
    elif harm == "foreign":
        first.write_text("[]")
    else:
        first.unlink()
        first.mkdir()
    stored = ct.load(tmp_path)
    assert len(stored.damaged) == 1 and stored.n_instances in (COUNT - BLOCK, COUNT - 5)
    assert stored.damaged[0] in str(stored)
    family.calls.clear()
    with pytest.warns(UserWarning, match="moved to .*aside"):
        assert told(ct.tune_stream(family, INSTANCES, run_dir=tmp_path)) == whole
    assert len(family.calls) in (BLOCK, 5) and len(os.listdir(tmp_path / "aside")) == 1


def test_only_failed_instances_are_tried_again(family, whole, tmp_path):
    family.bad.update(["number 2", "number 40"])
    with pytest.raises(ct.TuningError, match="number 2, number 2 of the stream") as caught:
        ct.tune_stream(family, INSTANCES, run_dir=tmp_path)
    assert caught.value.result is None
    first = ct.tune_stream(family, INSTANCES, run_dir=tmp_path, on_error="skip")
    assert first.n_failed == 2 and first.status is ct.Status.INCOMPLETE
    family.calls.clear()
    again = ct.tune_stream(family, INSTANCES, run_dir=tmp_path, on_error="skip")
    assert told(again) == told(first) and family.calls == []
    assert told(ct.load(tmp_path)) == told(first)
    family.bad.remove("number 40")
    with pytest.raises(ct.TuningError, match="number 2, number 2 of the stream"):
        ct.tune_stream(family, INSTANCES, run_dir=tmp_path)
    family.bad.clear()
    assert told(ct.tune_stream(family, INSTANCES, run_dir=tmp_path)) == whole


def test_a_failure_has_what_was_finished(family):
    family.bad.add("number 40")
    with pytest.raises(ct.TuningError) as caught:
        ct.tune_stream(family, INSTANCES)
    assert caught.value.result.n_instances == BLOCK
    assert caught.value.result.status is ct.Status.FAILED
    family.bad.update(item.name for item in INSTANCES)
    with pytest.raises(ct.TuningError, match="All 133 instances failed. The first one, number 0"):
        ct.tune_stream(family, INSTANCES, on_error="skip")


def test_equal_names_of_failures_are_told_apart(family):
    family.bad.add("twin")
    twins = [StepInstance((0.5,), (0, 1), name="twin")] * 2
    result = ct.tune_stream(family, [*INSTANCES, *twins], on_error="skip")
    assert list(result.failures) == ["twin", f"twin, number {COUNT + 1} of the stream"]


def test_a_folder_is_read_without_family_and_stream(family, whole, tmp_path):
    seen = []

    def looked_at():
        for number, item in enumerate(INSTANCES):
            if number == 0:
                with pytest.raises(ct.InputError, match="no instances of the stream .* finished"):
                    ct.load(tmp_path)
            if number == 3 * BLOCK + 4:
                seen.append(ct.load(tmp_path))
                with pytest.raises(ct.InputError, match="in use by process"):
                    ct.tune_stream(StepFamily(), INSTANCES, run_dir=tmp_path)
            yield item

    result = ct.tune_stream(family, looked_at(), run_dir=tmp_path)
    (part,) = seen
    assert part.status is None and part.n_instances == 3 * BLOCK
    assert "not ended, or killed" in str(part) and "None" in repr(part)
    stored = ct.load(tmp_path)
    assert told(stored) == told(result) == whole and stored.elapsed == result.elapsed
    assert stored.family == repr(family) and stored.family_fingerprint == family.fingerprint
    with pytest.raises(ct.CertificateError, match="functions of single instances are not kept"):
        ct.verify(tmp_path, family, INSTANCES)


def test_a_list_and_a_stream_share_a_folder(family, whole, tmp_path):
    listed = ct.tune(family, INSTANCES[:4], run_dir=tmp_path)
    assert told(ct.tune_stream(family, INSTANCES, run_dir=tmp_path)) == whole
    family.calls.clear()
    again = ct.tune(family, INSTANCES[:4], run_dir=tmp_path)
    assert family.calls == [] and again.certificate.checksum == listed.certificate.checksum
    assert len(ct.load(tmp_path).duals) == 4


def test_blocks_that_were_forged_are_refused(tmp_path):
    ct.tune_stream(StepFamily(), INSTANCES[:BLOCK], run_dir=tmp_path)
    family = StepFamily().fingerprint
    (path,) = (tmp_path / "functions").glob("*.json")
    stored = json.loads(path.read_text())
    key, draw = stored["block"], random.Random(0)
    values = [None, True, -1, 2**40, 1.5, "", "x", [], [1], [[1, 2, 3]], [[1, "a"]], {}, {"a": 1}]
    values += [{"lowest": "1/0"}, {"lowest": "9" * 10**5}, [[0, "a", "b"]] * 33]
    fields = sorted(set(stored) - {"format", "family", "block", "checksum"})
    forged = [(field, value) for field in fields for value in values]
    as_it_is = Kind(BLOCKS.format, BLOCKS.subject, dict, dict)
    refused = 0
    for field, value in draw.sample(forged, len(forged)):
        content = {name: stored[name] for name in fields} | {field: value}
        path.write_text(json.dumps(as_it_is.sealed(family, key, content)))
        try:
            BLOCKS.read(tmp_path, family, key)
        except ct.InputError:
            refused += 1
    assert refused == len(forged) - 2  # other defaults, and another number of the block


class Slow(StepFamily):
    """Takes for ever on one instance."""

    def dual(self, instance, along=None):
        from certune.deadline import check_time

        while instance.name == "number 2":
            check_time()
            time.sleep(0.001)
        return super().dual(instance, along)


def test_an_instance_that_takes_too_long_has_failed():
    result = ct.tune_stream(Slow(), INSTANCES, on_error="skip", timeout_per_instance=0.05)
    assert result.failures == {
        "number 2": "TimeoutError: took longer than timeout_per_instance=0.05 seconds"
    }
    for options in ({"timeout_per_instance": 0}, {"progress": 1}, {"run_dir": "a\0b"}):
        with pytest.raises(ct.ParameterError):
            ct.tune_stream(StepFamily(), INSTANCES, **options)


def test_a_long_stream_is_logged(family, capsys):
    ct.tune_stream(family, INSTANCES, progress=True)
    said = capsys.readouterr().err
    assert "a stream of instances, free parameter x in [0, 1]" in said
    assert " read " in said and "OPTIMAL after" in said
    ct.tune_stream(family, INSTANCES, progress=False)
    assert capsys.readouterr().err == ""


def test_instances_that_do_not_fit_are_left_out_of_a_stream(tmp_path):
    """Hours into a stream a bad record does not end it, if failures are to be left out."""
    bad = StepInstance((0.5,), (0, 7), name="out of range")
    stream = [*INSTANCES[:3], bad, "no instance at all", *INSTANCES[3:]]
    for n_jobs in (1, 2):
        result = ct.tune_stream(
            StepFamily(), stream, on_error="skip", run_dir=tmp_path, progress=False, n_jobs=n_jobs
        )
        assert result.n_failed == 2 and result.n_instances == len(stream)
        assert result.failures["out of range"].startswith(
            "InputError: expected utilities in [0, 1]"
        )
        assert "InputError" in result.failures["instance 4"]
    alone = ct.tune_stream(StepFamily(), INSTANCES, progress=False)
    assert result.best_params == alone.best_params and result.landscape == alone.landscape
    assert ct.load(tmp_path).failures == result.failures
    with pytest.raises(ct.InputError, match="out of range: expected utilities"):
        ct.tune_stream(StepFamily(), stream, progress=False)
    with pytest.raises(ct.TuningError, match="All 2 instances failed.*out of range: InputError"):
        ct.tune_stream(StepFamily(), stream[3:5], on_error="skip", progress=False)
