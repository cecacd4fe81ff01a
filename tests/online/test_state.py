"""A run that is killed anywhere continues as if nothing had happened."""

import json
import os
import signal
import subprocess
import sys
import time
from fractions import Fraction

import numpy as np
import pytest

import certune as ct
from certune.online.journal import Journal
from certune.online.randomness import RoundRandomness
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
    path.write_bytes(path.read_bytes()[:-cut])
    with ct.OnlineTuner(FAMILY, random_state=1, state=path) as restored:
        assert restored.n_rounds == 11
        assert play(restored, 12) == expected[-1:]
    with ct.OnlineTuner(FAMILY, random_state=1, state=path) as restored:
        assert restored.n_rounds == 12


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
    ct.OnlineTuner(FAMILY, random_state=1, state=path).close()
    for family, options, key in [
        (StepFamily(0, 2), {"random_state": 1}, "family"),
        (FAMILY, {"random_state": 2}, "seed"),
        (FAMILY, {"random_state": 1, "horizon": 9}, "options"),
    ]:
        with pytest.raises(ct.InputError, match=f"its {key} differs"):
            ct.OnlineTuner(family, state=path, **options)
    stranger = tmp_path / "stranger"
    journal = Journal(stranger)
    list(journal.records())
    journal.append([1, 2, 3])
    journal.close()
    with pytest.raises(ct.InputError, match="its format differs"):
        ct.OnlineTuner(FAMILY, state=stranger)
    with pytest.raises(ct.InputError, match="cannot open"):
        ct.OnlineTuner(FAMILY, state=tmp_path)


def test_a_state_in_use_is_refused(tmp_path):
    with ct.OnlineTuner(FAMILY, state=tmp_path / "state"):
        with pytest.raises(ct.InputError, match="in use by another process"):
            ct.OnlineTuner(FAMILY, state=tmp_path / "state")
    ct.OnlineTuner(FAMILY, state=tmp_path / "state").close()


def test_a_file_that_is_no_journal_is_not_overwritten(tmp_path):
    path = tmp_path / "notes.txt"
    for text in ("my notes\non two lines\n", "one line"):
        path.write_text(text)
        with pytest.raises(ct.InputError, match="is not a state file"):
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
