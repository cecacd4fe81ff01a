"""What a run will cost, told before it starts: the fit, its file, warnings and ETA."""

import json
import math
import random
import warnings

import numpy as np
import pytest

import certune as ct
from certune.families.base import Family
from certune.testing import StepFamily, StepInstance
from certune.tuning.work import cost, log
from certune.tuning.work.cost_model import CostModel, CostStore, cache_file


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("CERTUNE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(cost, "WORTH_LEARNING", 0.0)
    return cache_file()


class Sized(StepFamily):
    """Steps that have a size, and take as long as the test says."""

    def instance_sizes(self, instance):
        return (len(instance.utilities), 1, 1)


def clusterings(*sizes):
    rng = np.random.default_rng(0)
    return [
        ct.ClusteringInstance(points=rng.normal(size=(n, 2)), target=np.arange(n) % 3, name=f"n{n}")
        for n in sizes
    ]


def learned(law, sizes):
    return CostModel.empty().with_instances(
        sizes, [law(*own) for own in sizes], [1000 * own[0] ** 2 for own in sizes]
    )


def test_growth_is_told_from_instances_of_different_sizes():
    rng = np.random.default_rng(1)
    sizes = [tuple(rng.integers(low, 50 * low) for low in (10, 1, 2)) for _ in range(200)]

    def law(n, n_metrics, k):
        return 1e-6 * n**1.5 * n_metrics * k**0.25

    new = [(300, 4, 5), (2000, 2, 3)]
    found = learned(law, sizes).seconds_of(new)
    assert np.allclose(found, [law(*own) for own in new], rtol=0.1)


def test_instances_of_one_size_are_expected_to_take_what_they_took():
    model = learned(lambda *own: 0.25, [(40, 1, 3)] * 30)
    assert model.seconds_of([(40, 1, 3)])[0] == pytest.approx(0.25, rel=0.05)
    # Growth is the usual one, the square of the number of points.
    assert model.seconds_of([(80, 1, 3)])[0] == pytest.approx(1.0, rel=0.1)
    assert model.memory_of([(40, 1, 3)], False)[0] == pytest.approx(1.6e6, rel=0.05)


def test_objects_without_arrays_are_not_expected_to_fill_the_memory():
    model = CostModel.empty().with_instances([()] * 20, [0.1] * 20, [0] * 10 + [2000] * 10)
    assert model.memory_of([()], keeps_distances=False)[0] < 1e6


def test_what_was_learned_of_things_of_different_kinds_is_no_reason_for_fear():
    stored = CostModel.empty().with_instances([()] * 2, [0.1] * 2, [1000, 1000])
    odd = np.array([*stored.memory[:-1], 2000.0])  # sums of a file that others wrote
    model = CostModel(stored.count, stored.moments, stored.seconds, odd)
    assert model.memory_of([()], keeps_distances=False)[0] < 1e6


def test_old_instances_fade():
    model = CostModel.empty()
    for seconds in [1.0] * 3 + [3.0] * 6:
        model = model.with_instances([(9, 1, 1)] * 2000, [seconds] * 2000, [10] * 2000)
    assert model.seconds_of([(9, 1, 1)])[0] == pytest.approx(3.0, rel=0.15)


def test_nothing_is_known_before_the_first_run(cache):
    assert CostStore.of_user().model(["Linkage"]).seconds_of([(9, 1, 1)]) is None
    known = ct.estimate_cost(ct.Linkage(alpha=(-3, 3)), clusterings(20), trial_seconds=0)
    assert known.seconds is None and known.instance_seconds == ()
    assert 8 * 20**2 < known.memory < 10**6
    assert "unknown time" in str(known) and "no earlier run" in str(known)
    assert ct.estimate_cost(StepFamily(), [StepInstance((0.5,), (0, 1))], trial_seconds=0).fits


def test_a_trial_tells_time_and_memory(cache):
    instances = clusterings(12, 24, 48)
    known = ct.estimate_cost(ct.Linkage(alpha=(-3, 3)), instances, n_jobs=2)
    assert known.n_workers == 2 and "trial on 3" in str(known)
    small, middle, large = known.instance_seconds
    assert 0 < small < middle < large < 60
    assert known.seconds == pytest.approx(max(large, (small + middle + large) / 2))
    assert not cache.exists()


def test_memory_is_that_of_the_arrays(cache):
    [instance] = clusterings(60)
    family = ct.Linkage(alpha=(-3, 3))
    guessed = cost.forecast(family, [instance], 1).memory
    dual = family.dual(instance)
    held = cost.held_bytes(instance) + cost.held_bytes(dual)
    assert held > 4 * instance.distances.nbytes
    assert held / 2 < guessed / (1 + cost.WORKING) < 2 * held


def test_several_parameters_have_no_expected_time(cache):
    family = ct.Linkage(alpha=(-3, 3), weights="tune", n_metrics=2)
    rng = np.random.default_rng(0)
    points = rng.normal(size=(9, 2))
    instance = ct.ClusteringInstance(points, metrics=("l1", "l2"), target=np.arange(9) % 3)
    known = ct.estimate_cost(family, [instance])
    assert known.seconds is None and known.memory > 0


def test_runs_are_remembered(cache):
    family, instances = ct.Linkage(alpha=(-3, 3)), clusterings(10, 20, 30)
    ct.tune(family, instances, progress=False)
    stored = json.loads(cache.read_text())
    assert {key.split()[0] for key in stored["models"]} == {"Linkage"}
    known = ct.estimate_cost(family, instances, trial_seconds=0)
    assert 0 < known.seconds < 60 and "earlier runs" in known.basis
    # Another range of the same kind of family is not unknown altogether.
    assert ct.estimate_cost(ct.Linkage(alpha=(1, 2)), instances, trial_seconds=0).seconds > 0


def test_the_log_says_what_is_expected(cache, capsys):
    family, instances = ct.Linkage(alpha=(-3, 3)), clusterings(10, 20)
    ct.tune(family, instances, progress=True)
    assert "expected:" not in capsys.readouterr().err
    ct.tune(family, instances, progress=True)
    assert "expected: about" in capsys.readouterr().err


def test_short_runs_leave_no_trace(tmp_path, monkeypatch):
    monkeypatch.setenv("CERTUNE_CACHE_DIR", str(tmp_path))
    ct.tune(StepFamily(), [StepInstance((0.5,), (0, 1))])
    assert list(tmp_path.iterdir()) == []


def store_of(cache, seconds):
    cache.parent.mkdir(exist_ok=True)
    store = CostStore(cache)
    store.learn(["Sized"], [(2, 1, 1)] * 5, [seconds] * 5, [1000] * 5)
    return [StepInstance((number / 100,), (0, 1)) for number in range(1, 21)]


def test_a_run_that_will_reach_its_limit_is_announced(cache, monkeypatch):
    monkeypatch.setattr(cost, "WORTH_LEARNING", math.inf)
    instances = store_of(cache, 30.0)
    with pytest.warns(ct.CostWarning, match=r"take 10\.\d min.*timeout=60 .*2 of 20 inst") as seen:
        ct.tune(Sized(), instances, timeout=60)
    assert seen[0].filename == __file__
    with pytest.warns(ct.CostWarning, match=r"20 of 20 instances.*timeout_per_instance=5 "):
        ct.tune(Sized(), instances, timeout_per_instance=5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ct.tune(Sized(), instances, timeout=3600, timeout_per_instance=100)


def test_what_is_in_the_run_directory_is_not_expected_again(cache, tmp_path):
    instances = store_of(cache, 30.0)
    ct.tune(Sized(), instances, run_dir=tmp_path / "out")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ct.tune(Sized(), instances, timeout=1, run_dir=tmp_path / "out")


def test_a_run_that_will_not_fit_into_memory_is_announced(cache, monkeypatch):
    family = ct.Linkage(alpha=(-3, 3))
    monkeypatch.setattr(cost, "available_memory", lambda: 50_000)
    with pytest.warns(ct.CostWarning, match=r"need \d+ kB of memory, and 50 kB are free") as seen:
        ct.tune(family, clusterings(30))
    assert seen[0].filename == __file__
    # Told before distances are computed: nothing of a large instance is touched.
    large = ct.ClusteringInstance(points=np.zeros((200_000, 1)), k=2)
    assert not cost.forecast(family, [large], 1).fits
    assert "distances" not in vars(large)


def test_the_time_that_is_left_weighs_instances_by_their_sizes(cache, monkeypatch):
    told = []
    monkeypatch.setattr(cost, "WORTH_LEARNING", math.inf)
    monkeypatch.setattr(log.RunLog, "note", lambda self, *words: told.append(words))
    small, large = StepInstance((0.5,), (0, 1)), StepInstance((0.1, 0.2, 0.3), (0, 1, 0, 1))
    ct.tune(Sized(), [small, small, large])
    left = [words[3] for words in told]
    assert left[0] == math.inf and left[-1] < 1e-9
    # The large one, with twice as many values, counts four times as much as a small one.
    ends = [words for words in told if words[0] == 2]
    assert ends and all(words[3] > 0 for words in ends)
    store_of(cache, 7.0)
    told.clear()
    ct.tune(Sized(), [small, small])
    assert told[0][3] == pytest.approx(14.0, rel=0.1)


def test_a_file_that_cannot_be_written_is_let_go(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("CERTUNE_CACHE_DIR", str(tmp_path / "file"))
    monkeypatch.setattr(cost, "WORTH_LEARNING", 0.0)
    assert ct.tune(StepFamily(), [StepInstance((0.5,), (0, 1))]).best_value == 1.0


def test_an_empty_variable_keeps_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("CERTUNE_CACHE_DIR", "")
    assert cache_file() is None
    CostStore.of_user().learn(["a"], [(1,)], [1.0], [1])
    assert cache_file({}).name.startswith("costs-")
    assert cache_file({"XDG_CACHE_HOME": str(tmp_path)}).parent == tmp_path / "certune"


def test_damaged_files_are_the_same_as_none(cache):
    store_of(cache, 1.0)
    content, rng = cache.read_bytes(), random.Random(0)
    store = CostStore(cache)
    assert store.model(["Sized"]).count == 5
    for _ in range(300):
        damaged = bytearray(content)
        for _ in range(rng.randint(1, 4)):
            place = rng.randrange(len(damaged))
            damaged[place : place + rng.randint(0, 3)] = rng.randbytes(rng.randint(0, 3))
        cache.write_bytes(damaged)
        found = store.model(["Sized"]).seconds_of([(2, 1, 1)])
        assert found is None or 0 <= found[0] < math.inf
    for text in ("[]", "{}", "1", "null", '{"format": 1, "models": []}', "[" * 100_000):
        cache.write_text(text)
        assert store.model(["Sized"]).count == 0
    cache.write_bytes(b" " * 2**19 + content)
    assert store.model(["Sized"]).count == 0
    store.learn(["Sized"], [(2, 1, 1)], [1.0], [10])
    assert store.model(["Sized"]).count == 1


def test_the_file_stays_small(cache):
    store_of(cache, 1.0)
    store = CostStore(cache)
    for number in range(80):
        store.learn([f"family {number}"], [(2, 1, 1)], [1.0], [10])
    models = json.loads(cache.read_text())["models"]
    assert len(models) == 64 and "family 79" in models and "Sized" not in models


@pytest.mark.parametrize("seconds", [-1, math.inf, "2"])
def test_trials_of_no_length_are_refused(seconds):
    with pytest.raises(ct.ParameterError, match="trial_seconds"):
        ct.estimate_cost(StepFamily(), [StepInstance((0.5,), (0, 1))], trial_seconds=seconds)


def test_objects_that_hold_themselves_are_measured():
    instance = StepInstance((0.5,), (0, 1))
    own = {"array": np.zeros(100)}
    own["self"] = own
    object.__setattr__(instance, "kept", [own, own["array"]])
    assert 1600 <= cost.held_bytes(instance) < 10**6


def test_sizes_that_are_none_change_nothing(cache):
    class Odd(StepFamily):
        def instance_sizes(self, instance):
            return ("many", None)

    assert ct.tune(Odd(), [StepInstance((0.5,), (0, 1))]).best_value == 1.0


def test_families_say_nothing_about_sizes_by_default():
    assert Family.instance_sizes(StepFamily(), None) == ()
    assert ct.Linkage().instance_sizes("no instance") == ()
    data = np.arange(12.0).reshape(6, 2)
    classes = ct.ClassificationInstance(data, [0, 1] * 3, data, [0, 1] * 3)
    assert ct.RegularizedLogistic(lam=(0.1, 1)).instance_sizes(classes) == (6, 2, 2)
