"""A run that is killed anywhere continues as if nothing had happened."""

import json
import math
import os
import resource
import signal
import subprocess
import sys
import time
import warnings
import zlib
from fractions import Fraction

import numpy as np
import pytest

import certune as ct
from certune.online.ledger import Ledger
from certune.online.randomness import RoundRandomness
from certune.runs.journal import Journal
from certune.testing import StepFamily, StepInstance

FAMILY = StepFamily()
ALL_OPTIONS = [
    {"horizon": 50},
    {},
    {"schedule": "anytime"},
    {"schedule": "doubling"},
    {"learner": "semi-bandit"},
    {"learner": "fixed-share", "horizon": 50, "shifts": 2},
    {"learner": "random-grid", "horizon": 50},
    {"horizon": 50, "resolution": 0.125},
]


def instance(number):
    rng = np.random.default_rng(number)
    places = tuple(np.sort(rng.uniform(0.01, 0.99, 3)).tolist())
    return StepInstance(places, tuple(Fraction(int(v), 3) for v in rng.integers(0, 4, 4)))


def play(tuner, stop):
    played = []
    while tuner.n_rounds < stop:
        finished = tuner.update(instance(tuner.n_rounds))
        played.append((finished.params["x"], finished.utility_bounds))
    return played


def summary(tuner):
    regret = tuner.regret()
    return regret, tuner.propose(), tuner.n_pieces, [p.value for p in tuner.regret_curve()]


@pytest.mark.parametrize("options", ALL_OPTIONS, ids=str)
def test_a_continued_run_equals_an_uninterrupted_one(tmp_path, options):
    whole = ct.OnlineTuner(FAMILY, random_state=5, **options)
    expected = play(whole, 50)
    path, played = tmp_path / "state", []
    for stop in (1, 2, 17, 50):
        with ct.OnlineTuner(FAMILY, random_state=5, state=path, **options) as tuner:
            tuner.propose()
            played += play(tuner, stop)
    assert played == expected
    with ct.OnlineTuner(FAMILY, random_state=5, state=path, **options) as restored:
        assert summary(restored) == summary(whole)
        assert restored.instances == whole.instances


def test_a_fresh_seed_is_kept_by_the_state(tmp_path):
    with ct.OnlineTuner(FAMILY, state=tmp_path / "state") as tuner:
        play(tuner, 5)
        following = tuner.propose()
    with ct.OnlineTuner(FAMILY, state=tmp_path / "state") as restored:
        assert restored.propose() == following and restored.n_rounds == 5
    with ct.OnlineTuner(FAMILY, state=tmp_path / "other") as other:
        play(other, 5)
        assert other.propose() != following


@pytest.mark.parametrize("cut", [1, 7, 60])
def test_a_torn_end_costs_one_round(tmp_path, cut):
    path = tmp_path / "state"
    with ct.OnlineTuner(FAMILY, random_state=1, state=path) as tuner:
        expected = play(tuner, 12)
    content = path.read_bytes()
    path.write_bytes(content[:-cut])
    with pytest.warns(UserWarning, match="is not whole, .* kept as state.torn; "):
        restored = ct.OnlineTuner(FAMILY, random_state=1, state=path)
    with restored:
        torn = (tmp_path / "state.torn").read_bytes()
        assert (
            content.endswith(torn + content[-cut:]) and path.read_bytes() + torn == content[:-cut]
        )
        assert restored.n_rounds == 11
        assert play(restored, 12) == expected[-1:]
    with ct.OnlineTuner(FAMILY, random_state=1, state=path) as restored:
        assert restored.n_rounds == 12


@pytest.mark.parametrize("share", [0.0, 0.02, 0.05, 0.3, 0.99])
def test_a_torn_header_is_made_again(tmp_path, share):
    path = tmp_path / "state"
    ct.OnlineTuner(FAMILY, random_state=1, state=path).close()
    content = path.read_bytes()
    left = content[: int(share * len(content))]
    path.write_bytes(left)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        with ct.OnlineTuner(FAMILY, random_state=1, state=path) as tuner:
            assert tuner.n_rounds == 0 and path.read_bytes() == content
    assert [str(item.message).endswith("done again") for item in said] == [True] * bool(left)
    if left:
        assert (tmp_path / "state.torn").read_bytes() == left


def test_a_damaged_last_record_is_kept_and_said(tmp_path):
    path = tmp_path / "state"
    for number in range(2):
        with ct.OnlineTuner(FAMILY, random_state=1, state=path) as tuner:
            play(tuner, 3)
        content = bytearray(path.read_bytes())
        content[-20] ^= 1
        path.write_bytes(content)
        last = bytes(content).splitlines(keepends=True)[-1]
        with pytest.warns(UserWarning, match="is not whole"):
            ct.OnlineTuner(FAMILY, random_state=1, state=path).close()
        assert (tmp_path / f"state.torn{number or ''}").read_bytes() == last


def test_damage_before_the_end_is_refused(tmp_path):
    path = tmp_path / "state"
    with ct.OnlineTuner(FAMILY, random_state=1, state=path) as tuner:
        play(tuner, 5)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(ct.InputError, match="is damaged at byte"):
        ct.OnlineTuner(FAMILY, random_state=1, state=path)
    assert path.read_bytes() == content


def test_a_foreign_state_is_refused(tmp_path):
    path = tmp_path / "state"
    with ct.OnlineTuner(FAMILY, random_state=1, state=path) as tuner:
        play(tuner, 1)
    content = path.read_bytes()
    part = ct.Segment.coordinate("x", 0, 0.5)
    for family, options, message in [
        (StepFamily(0, 2), {"random_state": 1}, "its family differs"),
        (FAMILY, {"random_state": 2}, "its seed differs"),
        (FAMILY, {"random_state": 1, "horizon": 9}, "was made with horizon=None, not 9"),
        (FAMILY, {"random_state": 1, "along": part}, "its lines differ"),
    ]:
        with pytest.raises(ct.InputError, match=message):
            ct.OnlineTuner(family, state=path, **options)
    assert path.read_bytes() == content
    grid = {"random_state": 1, "learner": "random-grid"}
    with ct.OnlineTuner(FAMILY, state=tmp_path / "grid", **grid) as tuner:
        play(tuner, 1)
    with pytest.raises(ct.InputError, match="was made without a surrogate"):
        ct.OnlineTuner(FAMILY, state=tmp_path / "grid", surrogate=lambda _, x: x, **grid)
    stranger = tmp_path / "stranger"
    journal = Journal(stranger)
    list(journal.records())
    journal.append([1, 2, 3])
    journal.close()
    with pytest.raises(ct.InputError, match="its format differs"):
        ct.OnlineTuner(FAMILY, state=stranger)
    with pytest.raises(ct.InputError, match="cannot open"):
        ct.OnlineTuner(FAMILY, state=tmp_path)


def test_a_state_without_rounds_is_replaced(tmp_path):
    path = tmp_path / "state"
    ct.OnlineTuner(FAMILY, random_state=1, state=path).close()
    with ct.OnlineTuner(FAMILY, horizon=9, random_state=2, state=path) as tuner:
        expected = play(tuner, 2)
    with ct.OnlineTuner(FAMILY, horizon=9, random_state=2, state=path) as tuner:
        assert tuner.n_rounds == 2
    assert play(ct.OnlineTuner(FAMILY, horizon=9, random_state=2), 2) == expected


@pytest.mark.parametrize("path", [123, b"state", ["state"]])
def test_a_state_that_is_no_path_is_refused(path):
    with pytest.raises(ct.ParameterError, match="path of a file"):
        ct.OnlineTuner(FAMILY, state=path)


def test_a_closed_state_takes_no_round(tmp_path):
    with ct.OnlineTuner(FAMILY, random_state=1, state=tmp_path / "state") as tuner:
        play(tuner, 2)
    with pytest.raises(ct.InputError, match="was closed"):
        tuner.update(instance(2))
    assert tuner.n_rounds == 2 and tuner.regret().n_rounds == 2


@pytest.fixture
def small_files():
    """Let files grow to a size only, as on a full disk."""
    limits, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.getsignal(signal.SIGXFSZ)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    yield lambda size: resource.setrlimit(resource.RLIMIT_FSIZE, (size or limits[0], limits[1]))
    resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    signal.signal(signal.SIGXFSZ, handler)


def test_a_full_disk_loses_nothing(tmp_path, small_files):
    path = tmp_path / "state"
    whole = ct.OnlineTuner(FAMILY, random_state=1)
    expected = play(whole, 9)
    with ct.OnlineTuner(FAMILY, random_state=1, state=path) as tuner:
        play(tuner, 5)
        content = path.read_bytes()
        for room in (50, 0):
            small_files(len(content) + room)
            with pytest.raises(ct.InputError, match="cannot write to .*File too large"):
                play(tuner, 6)
            assert path.read_bytes() == content and tuner.n_rounds == 5
        small_files(None)
        assert play(tuner, 9) == expected[5:]
    with ct.OnlineTuner(FAMILY, random_state=1, state=path) as restored:
        assert summary(restored) == summary(whole)


@pytest.mark.parametrize("place", ["learn", "enter"])
@pytest.mark.parametrize("options", ALL_OPTIONS, ids=str)
def test_an_interrupted_round_is_taken_back(tmp_path, options, place, monkeypatch):
    path = tmp_path / "state"
    whole = ct.OnlineTuner(FAMILY, random_state=5, **options)
    expected = play(whole, 8)
    with ct.OnlineTuner(FAMILY, random_state=5, state=path, **options) as tuner:
        play(tuner, 4)
        with monkeypatch.context() as patch:
            owner = type(tuner.learner) if place == "learn" else Ledger
            original = getattr(owner, place)

            def interrupted(self, *given):
                original(self, *given)
                raise KeyboardInterrupt

            patch.setattr(owner, place, interrupted)
            with pytest.raises(KeyboardInterrupt):
                play(tuner, 5)
        assert tuner.n_rounds == 4
        assert play(tuner, 8) == expected[4:]
        assert summary(tuner) == summary(whole)
    with ct.OnlineTuner(FAMILY, random_state=5, state=path, **options) as restored:
        assert summary(restored) == summary(whole)


def test_an_interrupted_round_without_a_state_ends_the_run(monkeypatch):
    tuner = ct.OnlineTuner(FAMILY, random_state=5)
    play(tuner, 2)

    def interrupted(*given):
        raise KeyboardInterrupt

    monkeypatch.setattr(tuner.learner, "learn", interrupted)
    with pytest.raises(KeyboardInterrupt):
        tuner.update(instance(2))
    for call in (tuner.propose, tuner.regret, lambda: tuner.update(instance(2))):
        with pytest.raises(ct.InputError, match="update was interrupted"):
            call()


def line_of(text):
    return b"%08x %s\n" % (zlib.crc32(text), text)


def test_records_that_are_no_next_round_are_refused(tmp_path):
    path = tmp_path / "state"
    with ct.OnlineTuner(FAMILY, random_state=1, state=path) as tuner:
        play(tuner, 4)
    content = path.read_bytes()
    lines = content.splitlines(keepends=True)
    last = json.loads(lines[4].split(b" ", 1)[1])

    huge = [10**1000 for _ in last["duals"][0]["numerators"]]

    def with_last(**changes):
        return [*lines[:4], line_of(json.dumps({**last, **changes}).encode())]

    for changed, message in [
        ([*lines[:3], lines[4]], "has round 4 where round 3 must be"),
        ([*lines, lines[4]], "has round 4 where round 5 must be"),
        ([*lines[:2], lines[3], lines[2], lines[4]], "has round 3 where round 2 must be"),
        ([*lines, line_of(b"{no json")], "something else than JSON"),
        (with_last(points=[0.5], values=[1.0]), "of another learner"),
        (with_last(duals=[{**last["duals"][0], "numerators": huge}]), "beyond the floats"),
        *[([*lines, line_of(text)], "is no round") for text in (b"[]", b"null", b"5", b"{}")],
        *[
            (with_last(**changes), "is no round")
            for changes in (
                {"line": 7}, {"line": -1}, {"position": 2.0}, {"position": "a"},
                {"position": math.nan}, {"utility": [[1, 0], [1, 1]]},
                {"utility": [[1, 1], [0, 1]]}, {"duals": []}, {"duals": [{}]}, {"instance": 3},
                {"points": [1.0]}, {"round": True},
            )
        ],
    ]:  # fmt: skip
        path.write_bytes(b"".join(changed))
        with pytest.raises(ct.InputError, match=message):
            ct.OnlineTuner(FAMILY, random_state=1, state=path)
        assert path.read_bytes() == b"".join(changed)


def test_a_state_in_use_is_refused(tmp_path):
    with ct.OnlineTuner(FAMILY, state=tmp_path / "state"):
        with pytest.raises(ct.InputError, match="is in use by process [0-9]+ on .* since"):
            ct.OnlineTuner(FAMILY, state=tmp_path / "state")
    ct.OnlineTuner(FAMILY, state=tmp_path / "state").close()


def test_a_file_that_is_no_journal_is_not_overwritten(tmp_path):
    path = tmp_path / "notes.txt"
    for text in ("my notes\non two lines\n", "one line"):
        path.write_text(text)
        with pytest.raises(ct.InputError, match="was not written by certune"):
            ct.OnlineTuner(FAMILY, state=path)
        assert path.read_text() == text


def test_rounds_have_streams_of_their_own():
    one, two = RoundRandomness(3), RoundRandomness(3)
    later = two.generator(7, RoundRandomness.DRAW).random(4).tolist()
    one.generator(6, RoundRandomness.QUESTIONS).random(1000)
    assert one.generator(7, RoundRandomness.DRAW).random(4).tolist() == later
    assert one.generator(7, RoundRandomness.QUESTIONS).random(4).tolist() != later
    seeded = RoundRandomness(np.random.default_rng(0))
    assert seeded.seed == RoundRandomness(np.random.default_rng(0)).seed
    assert RoundRandomness(None).seed != RoundRandomness(None).seed


# Killed by force

PLAYER = """
import sys, test_state
from certune.online import OnlineTuner
with OnlineTuner(test_state.FAMILY, random_state=5, state=sys.argv[1]) as tuner:
    print(tuner.n_rounds, flush=True)
    test_state.play(tuner, 100_000)
"""


def test_kill_minus_nine_anywhere_loses_the_round_under_way_at_most(tmp_path):
    path = tmp_path / "state"
    places = os.pathsep.join([*sys.path, os.path.dirname(__file__)])
    environment = {**os.environ, "PYTHONPATH": places}
    rng = np.random.default_rng(0)
    n_rounds = 0
    for _ in range(2):
        player = subprocess.Popen(
            [sys.executable, "-c", PLAYER, str(path)],
            env=environment, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert int(player.stdout.readline()) == n_rounds
        size = path.stat().st_size
        while path.stat().st_size < size + 2000:  # a few rounds, after kernels are loaded
            time.sleep(0.002)
        time.sleep(0.1 * rng.random())
        os.kill(player.pid, signal.SIGKILL)
        player.wait()
        player.stdout.close()
        complete = [line for line in path.read_bytes().split(b"\n")[:-1] if line]
        n_rounds = json.loads(complete[-1].split(b" ", 1)[1])["round"]
        assert n_rounds == len(complete) - 1 > 0
    whole = ct.OnlineTuner(FAMILY, random_state=5)
    play(whole, n_rounds)
    with ct.OnlineTuner(FAMILY, random_state=5, state=path) as restored:
        assert summary(restored) == summary(whole)
        assert play(restored, n_rounds + 5) == play(whole, n_rounds + 5)
