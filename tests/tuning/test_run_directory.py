"""Runs with a run directory: killed, damaged, extended, and read by others."""

import importlib.util
import json
import os
import re
import subprocess
import sys
import threading
import time
import zlib
from fractions import Fraction
from pathlib import Path

import joblib
import numpy as np
import pytest

import certune as ct
from certune.runs import RunDirectory
from certune.testing import StepFamily, StepInstance
from certune.tuning.line import run as line_run
from certune.tuning.work import interrupts

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "killed_runs.py"


def instance(number):
    rng = np.random.default_rng(number)
    places = tuple(np.sort(rng.uniform(0.01, 0.99, 3)).tolist())
    values = tuple(Fraction(int(v), 3) for v in rng.integers(0, 4, 4))
    return StepInstance(places, values, name=f"number {number}")


INSTANCES = [instance(number) for number in range(8)]


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


def told(result):
    """Everything that two equal results have in common."""
    arrays = {name: array.tobytes() for name, array in result.landscape.to_arrays().items()}
    return (
        result.status,
        result.best_params,
        result.best_value_exact,
        result.upper_bound_exact,
        result.baselines,
        result.instance_names,
        arrays,
        result.certificate.checksum,
    )


def test_the_same_call_computes_nothing_again(family, tmp_path):
    whole = ct.tune(family, INSTANCES)
    folder = tmp_path / "a run, ä"
    first = ct.tune(family, INSTANCES, run_dir=folder)
    family.calls.clear()
    again = ct.tune(family, INSTANCES, run_dir=folder)
    assert family.calls == [] and told(first) == told(again) == told(whole)
    assert sorted(os.listdir(folder)) == ["certificate.json", "functions", "journal.jsonl"]


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_ended_run_is_continued_and_extended(family, tmp_path, n_jobs):
    def stop(progress):
        return progress.n_finished == 3

    part = ct.tune(family, INSTANCES[:5], run_dir=tmp_path, callbacks=[stop], n_jobs=n_jobs)
    assert part.status is ct.Status.STOPPED and len(part.duals) == 3
    n_kept = len(functions(tmp_path))
    family.calls.clear()
    whole = ct.tune(family, INSTANCES[::-1], run_dir=tmp_path, n_jobs=n_jobs)
    assert n_kept >= 3 and len(family.calls) == 8 - n_kept
    assert told(whole) == told(ct.tune(family, INSTANCES[::-1]))


def test_a_failure_keeps_what_is_finished(family, tmp_path):
    family.bad.add("number 3")
    with pytest.raises(ct.TuningError, match="number 3") as caught:
        ct.tune(family, INSTANCES, run_dir=tmp_path)
    assert len(caught.value.result.duals) == 3
    family.bad.clear()
    family.calls.clear()
    assert told(ct.tune(family, INSTANCES, run_dir=tmp_path)) == told(ct.tune(family, INSTANCES))
    assert family.calls[:5] == [f"number {n}" for n in range(3, 8)]


def functions(folder):
    return sorted((folder / "functions").glob("*.json"))


@pytest.mark.parametrize("harm", ["cut", "flip", "swap", "foreign", "empty", "deep", "folder"])
def test_damaged_functions_are_set_aside_and_computed_again(family, tmp_path, harm):
    whole = ct.tune(family, INSTANCES, run_dir=tmp_path)
    first, second, *_ = functions(tmp_path)
    content = first.read_bytes()
    if harm == "folder":
        first.unlink()
        first.mkdir()
    else:
        first.write_bytes(
            {
                "cut": content[:-5],
                "flip": content.replace(b"0.", b"0.1", 1),
                "swap": second.read_bytes(),
                "foreign": b'{"format": "else"}',
                "empty": b"",
                "deep": b"[" * 100_000,
            }[harm]
        )
    family.calls.clear()
    with pytest.warns(UserWarning, match="moved to .*aside.* is computed again"):
        again = ct.tune(family, INSTANCES, run_dir=tmp_path)
    assert len(family.calls) == 1 and told(again) == told(whole)
    assert first.read_bytes() == content and len(os.listdir(tmp_path / "aside")) == 1


def test_a_torn_journal_is_mended(family, tmp_path):
    whole = ct.tune(family, INSTANCES, run_dir=tmp_path)
    journal = tmp_path / "journal.jsonl"
    journal.write_bytes(journal.read_bytes()[:-3])
    family.calls.clear()
    with pytest.warns(UserWarning, match="is not whole"):
        again = ct.tune(family, INSTANCES, run_dir=tmp_path)
    assert family.calls == [] and told(again) == told(whole)


@pytest.mark.parametrize("place", ["header", "middle", "foreign"])
def test_a_damaged_journal_is_set_aside_and_nothing_is_lost(family, tmp_path, place):
    whole = ct.tune(family, INSTANCES, run_dir=tmp_path)
    journal = tmp_path / "journal.jsonl"
    content = bytearray(journal.read_bytes())
    content[{"header": 30, "middle": len(content) // 2, "foreign": 0}[place]] ^= 1
    if place == "foreign":
        content[:] = b"mine\nand yours\n"
    journal.write_bytes(content)
    with pytest.raises(ct.InputError, match="the call that made the run sets it aside"):
        ct.load(tmp_path)
    family.calls.clear()
    with pytest.warns(UserWarning, match=r"damaged at byte .*aside/journal\.jsonl, and"):
        again = ct.tune(family, INSTANCES, run_dir=tmp_path)
    assert family.calls == [] and told(again) == told(whole)
    assert (tmp_path / "aside" / "journal.jsonl").read_bytes() == content
    assert len(ct.load(tmp_path).duals) == 8 and not list(tmp_path.glob("*.lock"))


def test_another_family_is_refused(family, tmp_path):
    ct.tune(family, INSTANCES, run_dir=tmp_path)
    said = f"the run of another family, {family!r}, and not of {StepFamily(0, 2)!r}"
    with pytest.raises(ct.InputError, match=re.escape(said)):
        ct.tune(StepFamily(0, 2), INSTANCES, run_dir=tmp_path)
    (tmp_path / "other").mkdir()
    with ct.OnlineTuner(StepFamily(), 5, 0, state=tmp_path / "other" / "journal.jsonl"):
        pass
    with pytest.raises(ct.InputError, match="keeps something else"):
        ct.tune(family, INSTANCES, run_dir=tmp_path / "other")


def test_a_run_of_another_version_is_said_to_be_one(family, tmp_path):
    ct.tune(family, INSTANCES, run_dir=tmp_path)
    text = (tmp_path / "journal.jsonl").read_bytes().split(b"\n")[0][9:]
    text = text.replace(b"certune run 1", b"certune run 2")
    (tmp_path / "journal.jsonl").write_bytes(b"%08x %s\n" % (zlib.crc32(text), text))
    said = "keeps a run of another version of certune .its format is 'certune run 2', here"
    for call in (ct.load, lambda path: ct.tune(family, INSTANCES, run_dir=path)):
        with pytest.raises(ct.InputError, match=said):
            call(tmp_path)
    (tmp_path / "journal.jsonl").write_bytes(b"")
    with pytest.raises(ct.InputError, match="has not begun"):
        ct.load(tmp_path)


def test_a_run_in_work_is_not_disturbed(family, tmp_path):
    said = []

    def look(progress):
        if progress.n_finished == 2:
            with pytest.raises(ct.InputError, match="in use by process .*, which is this process"):
                ct.tune(StepFamily(), INSTANCES, run_dir=tmp_path)
            said.append(ct.load(tmp_path))

    ct.tune(family, INSTANCES, run_dir=tmp_path, callbacks=[look])
    (seen,) = said
    assert seen.status is None and len(seen.duals) == 2 and seen.upper_bound <= 1.0


@pytest.mark.parametrize("path", [3, b"", "", ["a"], "a\0b"])
def test_a_run_dir_that_is_no_path_is_refused(family, path):
    with pytest.raises((ct.ParameterError, ct.InputError)):
        ct.tune(family, INSTANCES, run_dir=path)


def test_a_file_in_the_way_is_said(family, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ct.InputError, match="cannot keep a run in .*; choose another folder"):
        ct.tune(family, INSTANCES, run_dir=tmp_path / "file")
    (tmp_path / "functions").write_text("")
    with pytest.raises(ct.InputError, match=r"functions is not a folder; choose another folder"):
        ct.tune(family, INSTANCES, run_dir=tmp_path)
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    with pytest.raises(
        ct.InputError, match=r"link is a link to .*nowhere, where there is no folder"
    ):
        ct.tune(family, INSTANCES, run_dir=tmp_path / "link")


def test_functions_that_cannot_be_told_are_not_kept(tmp_path):
    handle = open(os.devnull)

    def program(x, p):
        return 1 if p["a"] >= x and handle else 0

    with handle, pytest.raises(ct.InputError, match="run_dir cannot keep .*'handle'"):
        ct.tune(ct.ProgramFamily(program, ct.Real("a", 0, 1)), [0.5], run_dir=tmp_path)


# Reading


def test_load_needs_neither_family_nor_instances(family, tmp_path):
    result = ct.tune(family, INSTANCES, run_dir=tmp_path)
    stored = ct.load(tmp_path)
    assert stored.status is ct.Status.OPTIMAL
    assert stored.landscape == result.landscape and stored.best_params == result.best_params
    assert stored.best_value == result.best_value and stored.upper_bound == result.upper_bound
    assert stored.certificate == result.certificate
    assert "8 of 8 instances finished" in str(stored)
    assert ct.verify(tmp_path, family, INSTANCES).optimal
    assert ct.verify(tmp_path / "certificate.json", family, INSTANCES).optimal
    functions(tmp_path)[0].write_text("{}")
    assert len(ct.load(tmp_path).duals) == 7 and len(ct.load(tmp_path).damaged) == 1


def test_what_is_no_run_is_refused(tmp_path):
    with pytest.raises(ct.InputError, match="keeps no run"):
        ct.load(tmp_path)
    with pytest.raises(ct.ParameterError, match="path of a folder"):
        ct.load(3)
    with pytest.raises(ct.CertificateError, match="cannot read"):
        ct.verify(tmp_path, StepFamily(), INSTANCES)
    (tmp_path / "journal.jsonl").write_text("mine")
    with pytest.raises(ct.InputError, match="was not written by certune"):
        ct.load(tmp_path)


# Instances that fail


def test_instances_that_fail_are_left_out(family, tmp_path):
    pytest.importorskip("pandas")
    family.bad.update(["number 1", "number 6"])
    result = ct.tune(family, INSTANCES, on_error="skip", run_dir=tmp_path)
    others = [item for item in INSTANCES if item.name not in family.bad]
    alone = ct.tune(StepFamily(), others)
    assert result.status is ct.Status.INCOMPLETE
    assert result.landscape == alone.landscape and result.best_params == alone.best_params
    assert result.failures == dict.fromkeys((6, 7), "ZeroDivisionError: no such thing")
    assert [result.instance_names[place] for place in result.failures] == ["number 1", "number 6"]
    assert result.best_value_exact == alone.best_value_exact * 6 / 8
    assert result.upper_bound_exact == (alone.upper_bound_exact * 6 + 2) / 8
    assert result.baselines.keys() == alone.baselines.keys()
    assert "number 6: ZeroDivisionError: no such thing" in str(result)
    frame = result.to_frame()
    assert frame["failure"].notna().sum() == 2 and frame["tuned"].isna().sum() == 2
    assert result.certificate.failures == result.failures
    assert not ct.verify(result.certificate, family, result.instances).optimal
    stored = ct.load(tmp_path)
    assert stored.failures == dict.fromkeys((1, 6), "ZeroDivisionError: no such thing")
    family.bad.clear()
    assert ct.tune(family, INSTANCES, run_dir=tmp_path).status is ct.Status.OPTIMAL


def test_when_all_fail_the_first_is_named(family):
    family.bad.update(item.name for item in INSTANCES)
    with pytest.raises(ct.TuningError, match="All 8 instances failed; the first one, number 0"):
        ct.tune(family, INSTANCES, on_error="skip")


class Slow(StepFamily):
    """Takes for ever on one instance."""

    def dual(self, instance, along=None):
        from certune.deadline import check_time

        while instance.name == "number 2":
            check_time()
            time.sleep(0.001)
        return super().dual(instance, along)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_instance_that_takes_too_long_has_failed(n_jobs):
    result = ct.tune(
        Slow(), INSTANCES, on_error="skip", timeout_per_instance=0.3, n_jobs=n_jobs, progress=False
    )
    assert len(result.duals) == 7
    assert result.failures == {7: "TimeoutError: took longer than timeout_per_instance=0.3 seconds"}
    with pytest.raises(ct.TuningError, match="number 2.*took longer than timeout_per_instance"):
        ct.tune(Slow(), INSTANCES, timeout_per_instance=0.1, n_jobs=n_jobs)
    short = ct.tune(Slow(), INSTANCES, timeout=0.3, timeout_per_instance=60, n_jobs=n_jobs)
    assert short.status is ct.Status.TIME_LIMIT


class Deaf(StepFamily):
    """Asks for no time on one instance: it sleeps, computes, waits for a program, or goes on."""

    def dual(self, instance, along=None):
        end = time.monotonic() + 20
        if instance.name == "number 2":
            if self.how == "sleeps":
                time.sleep(20)
            elif self.how == "waits":
                subprocess.run(["sleep", "20"], check=True)
            while self.how == "computes" and time.monotonic() < end:
                pass
            if self.how == "catches all":
                try:
                    time.sleep(20)
                except:  # noqa: E722 (what people write)
                    return super().dual(StepInstance((), (Fraction(1),)))
        return super().dual(instance, along)

    def __init__(self, how):
        super().__init__()
        object.__setattr__(self, "how", how)


@pytest.mark.parametrize("engine", ["caller", "two workers", "processes", "stream"])
@pytest.mark.parametrize("how", ["sleeps", "waits", "computes", "catches all"])
def test_an_instance_that_never_asks_for_the_time_is_ended(how, engine):
    options = {"on_error": "skip", "timeout_per_instance": 0.2, "progress": False}
    started = time.monotonic()
    if engine == "stream":
        result = ct.tune_stream(Deaf(how), INSTANCES, **options)
    elif engine == "processes":
        with joblib.parallel_config(backend="loky"):
            result = ct.tune(Deaf(how), INSTANCES, n_jobs=2, **options)
    else:
        result = ct.tune(Deaf(how), INSTANCES, n_jobs=1 + (engine != "caller"), **options)
    assert time.monotonic() < started + 15
    assert list(result.failures.values()) == [
        "TimeoutError: took longer than timeout_per_instance=0.2 seconds"
    ]
    others = [item for item in INSTANCES if item.name != "number 2"]
    whole = ct.tune(StepFamily(), others)
    assert result.landscape == whole.landscape


def test_what_cannot_be_ended_is_too_late_when_it_ends(monkeypatch):
    monkeypatch.setattr(line_run, "OVERDUE", 0.1)
    results = []

    class Late(StepFamily):
        def dual(self, instance, along=None):
            if instance.name == "number 2":
                time.sleep(0.5)
            return super().dual(instance, along)

    def work():
        results.append(ct.tune(Late(), INSTANCES, on_error="skip", timeout_per_instance=0.1))

    thread = threading.Thread(target=work)  # only the main thread can be interrupted
    thread.start()
    thread.join()
    assert re.fullmatch(
        r"TimeoutError: took longer than timeout_per_instance=0\.1 seconds, and ended by itself "
        r"after 0\.\d+",
        results[0].failures[7],
    )


def test_no_reminder_of_an_instance_reaches_the_next_one():
    """Limits that are over at about the moment when the work is done."""

    class Brief(StepFamily):
        def dual(self, instance, along=None):
            end = time.monotonic() + 0.01
            while time.monotonic() < end:
                pass
            return super().dual(instance, along)

    patience, interrupts.PATIENCE = interrupts.PATIENCE, 0.0
    look, interrupts.LOOK = interrupts.LOOK, 0.001
    try:
        for _ in range(30):
            result = ct.tune(
                Brief(), INSTANCES, on_error="skip", timeout_per_instance=0.0101, progress=False
            )
            assert result.status in (ct.Status.INCOMPLETE, ct.Status.OPTIMAL)
            assert len(result.duals) + len(result.failures) == len(INSTANCES)
    except (ct.TuningError, ct.NothingFinishedError) as error:
        assert "All 8 instances failed" in str(error)
    finally:
        interrupts.PATIENCE, interrupts.LOOK = patience, look


@pytest.mark.parametrize(
    "options",
    [{"on_error": "ignore"}, {"timeout_per_instance": 0}, {"timeout_per_instance": "x"}],
)
def test_bad_options_are_refused(family, options):
    with pytest.raises(ct.ParameterError, match="must be"):
        ct.tune(family, INSTANCES, **options)


def test_several_parameters_say_what_they_lack():
    space = ct.ParameterSpace((ct.Real("a", 0, 1), ct.Real("b", 0, 1)))
    family = ct.ProgramFamily(lambda x, p: 1 if p["a"] + p["b"] >= x else 0, space)
    for options in ({"on_error": "skip"}, {"timeout_per_instance": 1}):
        with pytest.raises(ct.ParameterError, match="for one free parameter"):
            ct.tune(family, [1], **options)
        one = ct.ProgramFamily(lambda x, p: 1 if p["a"] >= x else 0, ct.Real("a", 0, 1))
        with pytest.raises(ct.ParameterError, match="for one free parameter.*here are 2"):
            ct.tune(ct.Choice({"one": one, "two": family}), [1], **options)


# More and fewer instances


def test_instances_are_left_out_and_added(family):
    whole = ct.tune(family, INSTANCES)
    family.calls.clear()
    fewer = whole.without(["number 2", "number 5"])
    assert family.calls == []
    kept = [item for item in INSTANCES if item.name not in ("number 2", "number 5")]
    assert told(fewer) == told(ct.tune(StepFamily(), kept))
    assert told(whole.without("number 0")) == told(ct.tune(StepFamily(), INSTANCES[1:]))
    family.calls.clear()
    again = fewer.with_instances([INSTANCES[2], INSTANCES[5]])
    assert family.calls == ["number 2", "number 5"]
    order = [*kept, INSTANCES[2], INSTANCES[5]]
    assert told(again) == told(ct.tune(StepFamily(), order))
    with pytest.raises(ct.ParameterError, match=r"no instances of the names \['none'\]"):
        whole.without("none")
    with pytest.raises(ct.ParameterError, match="No finished instance would be left"):
        whole.without(whole.instance_names)
    with pytest.raises(ct.InputError):
        whole.with_instances([3])


def test_instances_that_failed_stay_failed_and_are_not_tried_again(family):
    family.bad.update(["number 1", "number 6"])
    result = ct.tune(family, INSTANCES, on_error="skip")
    family.bad.clear()
    family.calls.clear()
    fewer = result.without("number 1")
    assert family.calls == [] and fewer.status is ct.Status.INCOMPLETE
    assert fewer.failures == {6: "ZeroDivisionError: no such thing"}
    assert fewer.instance_names[6] == "number 6" and fewer.upper_bound > result.best_value
    assert result.without(["number 1", "number 6"]).status is ct.Status.OPTIMAL
    more = result.with_instances([instance(9)])
    assert family.calls == ["number 9"]
    assert [more.instance_names[place] for place in more.failures] == ["number 1", "number 6"]
    family.bad.add("number 10")
    with pytest.raises(ct.TuningError, match="number 10"):
        result.with_instances([instance(10)])
    again = result.with_instances([instance(10)], on_error="skip", timeout_per_instance=60)
    assert len(again.failures) == 3
    with pytest.raises(ct.ParameterError, match="on_error must be"):
        result.with_instances([instance(10)], on_error="no")


class Nameless(StepFamily):
    """Fails where the first change is at one half; instances have no names of their own."""

    def dual(self, instance, along=None):
        if instance.thresholds[0] == 0.5:
            raise ZeroDivisionError("no such thing")
        return super().dual(instance, along)


def test_instances_without_a_name_are_called_by_their_place_in_the_list_that_was_given():
    def nameless(*places):
        return [StepInstance((place,), (0, 1)) for place in places]

    result = ct.tune(Nameless(), nameless(0.1, 0.5, 0.3, 0.4), on_error="skip", progress=False)
    assert result.instance_names == ["instance 0", "instance 2", "instance 3", "instance 1"]
    assert "instance 1: ZeroDivisionError" in str(result)
    fewer = result.without("instance 2")
    assert fewer.instance_names == ["instance 0", "instance 3", "instance 1"]
    more = fewer.with_instances(nameless(0.6, 0.7))
    assert len(set(more.instance_names)) == 5
    assert [more.instance_names[place] for place in more.failures] == ["instance 1"]
    assert more.instances[more.instance_names.index("instance 3")].thresholds == (0.4,)


# Killed by force


def test_killed_runs_are_continued_bit_by_bit(capfd):
    spec = importlib.util.spec_from_file_location("killed_runs", SCRIPT)
    script = importlib.util.module_from_spec(spec)
    sys.modules["killed_runs"] = script
    spec.loader.exec_module(script)
    counts = script.campaign(3, seed=1)
    assert counts["killed"] == 3, capfd.readouterr().err


def test_events_of_the_journal(family, tmp_path):
    ct.tune(family, INSTANCES[:2], run_dir=tmp_path)
    lines = (tmp_path / "journal.jsonl").read_text().splitlines()
    header, *events = [json.loads(line.split(" ", 1)[1]) for line in lines]
    assert header.pop("about") == repr(family)
    assert header == {"format": "certune run 1", "family": family.fingerprint}
    assert [event["event"] for event in events] == ["started", "finished", "finished", "ended"]


@pytest.mark.parametrize("kind", ["line", "choice", "space", "stream"])
def test_a_result_that_cannot_be_put_away_is_not_lost(tmp_path, kind, monkeypatch):
    """After hours the disk may be full just when the certificate is written."""
    choice = ct.Choice({"one": StepFamily(), "other": StepFamily(0.0, 0.5)})
    space = ct.ParameterSpace((ct.Real("a", 0, 1), ct.Real("b", 0, 1)))
    program = ct.ProgramFamily(lambda x, p: 1 if p["a"] + p["b"] >= x else 0, space)
    work = {
        "line": lambda: ct.tune(StepFamily(), INSTANCES, run_dir=tmp_path),
        "choice": lambda: ct.tune(choice, INSTANCES, run_dir=tmp_path),
        "space": lambda: ct.tune(program, [0.5, 1.5], run_dir=tmp_path),
        "stream": lambda: ct.tune_stream(StepFamily(), INSTANCES, run_dir=tmp_path),
    }[kind]
    with monkeypatch.context() as patch:
        if kind == "stream":
            note = RunDirectory.note

            def full(self, event, **details):
                if event == "ended":
                    raise ct.InputError("No space left on device")
                note(self, event, **details)

            patch.setattr(RunDirectory, "note", full)
        else:
            (tmp_path / "certificate.json").mkdir()
        with pytest.raises(ct.InputError, match=r"its result is the attribute result") as caught:
            work()
    if kind != "stream":
        (tmp_path / "certificate.json").rmdir()
    again, kept = work(), caught.value.result
    assert type(again) is type(kept) and again.status is kept.status is ct.Status.OPTIMAL
    assert again.best_value_exact == kept.best_value_exact
    assert again.best_params == kept.best_params
