"""The log of a tuning run: when it appears and what it says."""

import io
import re
import sys
import time
import types

import pytest

import certune as ct
from certune.displays import SILENCE
from certune.stages import stage
from certune.testing import StepFamily
from certune.tuning.work.log import COLUMNS


@pytest.fixture
def hurried(monkeypatch):
    """Time runs a few times faster for the log."""
    monkeypatch.setattr("certune.displays.PATIENCE", 0.02)
    monkeypatch.setattr("certune.tuning.work.log.BEAT", 0.01)
    monkeypatch.setattr("certune.stages.BEAT", 0.01)


class WatchedFamily(StepFamily):
    """A family whose every function takes until somebody has seen enough of the log."""

    def __init__(self, seen):
        super().__init__()
        self._seen = seen

    def dual(self, instance, along=None):
        limit, before = time.monotonic() + 5, self._seen()
        while self._seen() < before + 3 and time.monotonic() < limit:
            time.sleep(0.01)
        return super().dual(instance, along)


class Screen(io.StringIO):
    def isatty(self):
        return True


def terminal(monkeypatch):
    """Put a terminal in place of stderr, after pytest has put its own there."""
    monkeypatch.setattr(sys, "stderr", Screen())
    monkeypatch.setenv("TERM", "xterm-256color")
    return sys.stderr


def test_short_runs_are_silent(capfd, random_instances):
    ct.tune(StepFamily(), random_instances(2))
    assert capfd.readouterr() == ("", "")


def test_log_has_header_rows_and_an_end(capfd, random_instances):
    result = ct.tune(StepFamily(), random_instances(3), progress=True)
    out, err = capfd.readouterr()
    assert out == ""
    lines = err.splitlines()
    assert lines[0] == "certune: exact tuning of StepFamily(low=0.0, high=1.0)"
    assert lines[1] == "3 instances, free parameter x in [0, 1]"
    titles = lines.index(
        COLUMNS.format("time", "finished", "pieces", "best", "bound", "gap", "ETA")
    )
    last = lines[-2].split()
    assert titles < len(lines) - 2
    pieces = str(sum(dual.n_pieces for dual in result.duals))
    value = f"{result.best_value:.6f}"
    assert last[2:] == ["3/3", pieces, value, value, "0.000000", "0.0", "s"]
    # What came of it is told once, by the result.
    assert re.fullmatch(r"OPTIMAL after \d\.\d s", lines[-1])


def test_log_appears_once_a_run_is_long(capfd, monkeypatch, random_instances, slow_family):
    monkeypatch.setattr("certune.displays.PATIENCE", 0.1)
    ct.tune(slow_family, random_instances(5))
    err = capfd.readouterr().err
    assert err.startswith("certune: exact tuning") and "OPTIMAL" in err
    ct.tune(slow_family, random_instances(5), progress=False)
    assert capfd.readouterr().err == ""


def test_log_of_weights_names_both_ends(capfd):
    instance = ct.datasets.random_clustering(
        1, n_clusters=2, n_per_cluster=5, metrics=("euclidean", "cityblock")
    )
    family = ct.Linkage(alpha=1.0, weights="tune", n_metrics=2)
    result = ct.tune(family, instance, progress=True)
    assert "free parameter weights from (1.0, 0.0) to (0.0, 1.0)" in capfd.readouterr().err
    assert sum(result.best_params["weights"]) == pytest.approx(1.0)
    assert result.best_region[0][0] >= 0.0 and result.best_region[-1][1] <= 1.0


def test_nothing_is_silent_inside_one_instance(monkeypatch, hurried, random_instances):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    seen = sys.stderr
    ct.tune(WatchedFamily(lambda: seen.getvalue().count("working on")), random_instances(1))
    lines = seen.getvalue().splitlines()
    waiting = [line for line in lines if line.endswith("working on steps-0")]
    assert len(waiting) >= 3 and all(" 0/1 " in line for line in waiting)
    times = [float(line.split()[0]) for line in waiting]
    assert times == sorted(times)


def test_a_terminal_has_a_line_that_moves(monkeypatch, hurried, random_instances):
    screen = terminal(monkeypatch)
    family = WatchedFamily(lambda: screen.getvalue().count("working on"))
    result = ct.tune(family, random_instances(3))
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", screen.getvalue())
    # The line is drawn again and again over itself, then removed; rows and result stay.
    assert "\x1b[2K" in screen.getvalue() and "\x1b[?25h" in screen.getvalue()
    assert "0/3 finished, ETA -  working on s" in plain
    assert re.search(r"1/3 finished, best \d\.\d{6}, gap \d\.\d", plain)
    assert re.search(r"OPTIMAL after \d+\.\d s\s*$", plain) and result.status.name == "OPTIMAL"


def test_a_terminal_without_a_cursor_gets_lines(monkeypatch, random_instances):
    screen = terminal(monkeypatch)
    monkeypatch.setenv("TERM", "dumb")
    ct.tune(StepFamily(), random_instances(2), progress=True)
    assert "\x1b" not in screen.getvalue() and "OPTIMAL" in screen.getvalue()


def test_a_notebook_gets_a_bar(monkeypatch, capfd, hurried, random_instances):
    class ZMQInteractiveShell:
        """By this name IPython is known to run in a notebook."""

    shown = []

    def display(thing, display_id):
        shown.append(thing)
        return types.SimpleNamespace(update=shown.append)

    ipython = types.ModuleType("IPython")
    ipython.get_ipython = ZMQInteractiveShell
    page = types.ModuleType("IPython.display")
    page.display = display
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", page)
    ct.tune(WatchedFamily(lambda: len(shown)), random_instances(3))
    assert capfd.readouterr() == ("", "")
    bars = [thing._repr_html_() for thing in shown]
    assert any('value="0.6667"' in bar and "working on steps-2" in bar for bar in bars)
    assert "<progress" not in bars[-1] and "3/3 finished" in bars[-1]
    assert repr(shown[-1]).startswith("certune: exact tuning")


def test_a_failed_run_ends_its_log(monkeypatch, random_instances):
    screen = terminal(monkeypatch)

    def fail(state):
        raise ValueError("broken")

    with pytest.raises(ct.TuningError, match="broken"):
        ct.tune(StepFamily(), random_instances(3), callbacks=[fail], progress=True)
    # The cursor is back.
    assert screen.getvalue().rindex("\x1b[?25h") > screen.getvalue().rindex("\x1b[?25l")


def spoken(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    return sys.stderr


def until(seen, words):
    limit = time.monotonic() + 5
    while words not in seen.getvalue() and time.monotonic() < limit:
        time.sleep(0.005)


def test_a_stage_says_what_is_done_and_its_parts_have_words_of_their_own(monkeypatch, hurried):
    seen = spoken(monkeypatch)
    with stage("reading"):
        until(seen, "certune: reading\n")
        until(seen, "certune: reading, 0.")
        with stage("sorting") as say:
            until(seen, "certune: sorting, 0.")
            say("sorting again")
            until(seen, "certune: sorting again, 0.")
        before = seen.getvalue().count("reading")
        while seen.getvalue().count("reading") == before:
            time.sleep(0.005)
    lines = seen.getvalue().splitlines()
    assert all(line.startswith("certune: ") for line in lines)
    after = len(lines)
    time.sleep(0.05)
    assert len(seen.getvalue().splitlines()) == after


def test_parts_of_one_conversation_are_not_silent_together(monkeypatch):
    monkeypatch.setattr("certune.displays.PATIENCE", 0.8)
    seen = spoken(monkeypatch)
    with SILENCE.conversation():
        for number in range(5):
            with stage(f"part {number}"):
                time.sleep(0.2)
    assert "certune: part" in seen.getvalue()
    seen.truncate(0)
    for number in range(5):
        with stage(f"call {number}"):
            time.sleep(0.2)
    assert "call" not in seen.getvalue()


def test_a_quiet_conversation_says_nothing(monkeypatch, hurried, random_instances, slow_family):
    seen = spoken(monkeypatch)
    with stage("all of it", quiet=True), stage("a part"):
        ct.tune(slow_family, random_instances(2), progress=True)
        time.sleep(0.05)
    assert seen.getvalue() == ""


class SlowToCheck(StepFamily):
    """A family whose checks take until they were told in some words."""

    def __init__(self, seen, words):
        super().__init__()
        self._seen = seen
        self.words = words

    def check_instance(self, instance):
        until(self._seen, self.words)


def test_what_goes_before_and_after_a_run_is_told(monkeypatch, hurried, random_instances):
    seen = spoken(monkeypatch)
    family = SlowToCheck(seen, "certune: checking the instances")
    drawn = random_instances(2)
    result = ct.tune(family, drawn[:1])
    assert family.words in seen.getvalue()
    family.words = "certune: judging on other instances"
    result.evaluate(drawn[1:])
    assert family.words in seen.getvalue()


def test_a_choice_with_searches_inside_has_one_log(capfd, random_instances):
    space = ct.ParameterSpace((ct.Integer("k", 1, 2), ct.Real("a", 0, 1), ct.Real("b", 0, 1)))

    def near(x, p):
        return 1 if p["a"] + p["b"] > x * p["k"] else 0

    ct.tune(ct.ProgramFamily(near, space), [0.3], progress=True)
    err = capfd.readouterr().err
    assert err.count("certune: exact tuning") == 1 and err.count("OPTIMAL after") == 1
