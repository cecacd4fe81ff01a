"""Runs on disks that are full, may not be written to, or have a clock that goes backwards."""

import os
import resource
import time
from contextlib import contextmanager

import numpy as np
import pytest

import certune as ct
from certune.testing import StepFamily, StepInstance

STEPS = [StepInstance((0.1 + number / 20,), (0, 1), name=f"number {number}") for number in range(9)]


def clustering(seed):
    rng = np.random.default_rng(seed)
    target = np.arange(9) % 3
    sets = [rng.normal(size=(9, 2)) * (1 + i) + 0.8 * target[:, None] for i in range(2)]
    distances = [np.linalg.norm(points[:, None] - points[None], axis=-1) for points in sets]
    return ct.ClusteringInstance(distances=distances, target=target, k=3)


RUNS = {
    "one parameter": (StepFamily(), STEPS),
    "several": (ct.Linkage(alpha=(-2, 3), weights="tune", n_metrics=2), [clustering(4)]),
}


@contextmanager
def room_for(size):
    """Let files grow to a size only, as on a disk that is full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("kind", RUNS)
@pytest.mark.parametrize("size", [0, 700, 1500])
def test_a_full_disk_is_said_and_nothing_is_lost(tmp_path, kind, size):
    family, instances = RUNS[kind]
    whole = ct.tune(family, instances)
    folder = tmp_path / "a run with ä and spaces"
    with room_for(size), pytest.raises(ct.InputError, match="cannot .*File too large") as caught:
        ct.tune(family, instances, run_dir=folder, progress=False)
    if size == 1500:
        assert caught.value.result.best_value <= whole.best_value
    finished = set((folder / "functions").glob("*.json")) if folder.exists() else set()
    continued = ct.tune(family, instances, run_dir=folder)
    assert finished <= set((folder / "functions").glob("*.json"))
    assert continued.best_params == whole.best_params
    assert continued.certificate.checksum == whole.certificate.checksum
    assert not [path for path in folder.rglob("*") if ".lock" in path.name]


def test_a_full_disk_under_a_stream_is_said_and_nothing_is_lost(tmp_path):
    stream = [StepInstance(((n % 97 + 1) / 99,), (0, 1), name=f"number {n}") for n in range(100)]
    stream[40:] = [StepInstance((0.2, 0.4, 0.6), (0, 1, 0, 1), name=f"{n}" * 99) for n in range(60)]
    whole = ct.tune_stream(StepFamily(), stream)
    with room_for(2500), pytest.raises(ct.InputError, match="cannot .*File too large"):
        ct.tune_stream(Failing(), stream, run_dir=tmp_path, on_error="skip", progress=False)
    finished = set((tmp_path / "functions").glob("*.json"))
    assert len(finished) == 1
    continued = ct.tune_stream(Failing(), stream, run_dir=tmp_path, on_error="skip")
    assert finished < set((tmp_path / "functions").glob("*.json"))
    assert continued.n_failed == 50 and continued.n_instances == whole.n_instances
    assert not [path for path in tmp_path.rglob("*") if ".lock" in path.name]


class Failing(StepFamily):
    """Fails on instances with long names, of which long reasons are kept."""

    def dual(self, instance, along=None):
        if len(instance.name) > 150:
            raise ValueError(instance.name)
        return super().dual(instance, along)


def as_nobody(work):
    """Call a function in a child process without the rights of root; returns what it says."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            if os.geteuid() == 0:
                os.setuid(65534)
            said = work()
        except BaseException as error:
            said = f"{type(error).__name__}: {error}"
        os.write(writing, said.encode()[:4000])
        os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    with open(reading, "rb") as pipe:
        return pipe.read().decode()


@pytest.mark.parametrize("kind", RUNS)
def test_a_folder_that_may_not_be_written_is_said(tmp_path, kind):
    family, instances = RUNS[kind]
    folder = tmp_path / "closed"
    folder.mkdir()
    os.chmod(folder, 0o500)
    said = as_nobody(lambda: repr(ct.tune(family, instances, run_dir=folder / "out")))
    assert said.startswith("InputError: cannot keep a run in") and "Permission denied" in said
    assert "choose another folder" in said and not os.listdir(folder)


def test_a_clock_that_goes_backwards_does_not_matter(tmp_path, monkeypatch):
    whole = ct.tune(StepFamily(), STEPS)
    clock = iter(range(2_000_000_000, 0, -86_400))
    monkeypatch.setattr(time, "time", lambda: float(next(clock)))
    part = ct.tune(
        StepFamily(), STEPS, run_dir=tmp_path, callbacks=[lambda state: state.n_finished == 4]
    )
    assert part.status is ct.Status.STOPPED
    continued = ct.tune(StepFamily(), STEPS, run_dir=tmp_path)
    assert continued.certificate.checksum == whole.certificate.checksum


def test_empty_drafts_of_a_lock_are_swept_once_they_are_old(tmp_path):
    ct.tune(StepFamily(), STEPS, run_dir=tmp_path)
    old, new = (tmp_path / f"journal.jsonl.lock.{name * 32}" for name in "ab")
    for draft in (old, new):
        draft.touch()
    os.utime(old, (time.time() - 3600,) * 2)
    ct.tune(StepFamily(), STEPS, run_dir=tmp_path)
    assert new.exists() and not old.exists()
