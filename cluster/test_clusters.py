"""Tuning on Dask and on Ray: the same bits, also when a worker is killed in the middle."""

import os
import pickle
import signal

import numpy as np
import pytest
from slow_families import Deadly, Slow, steps

import certune as ct
from certune.testing import StepFamily


def told(result):
    arrays = {name: array.tobytes() for name, array in result.landscape.to_arrays().items()}
    return result.status, result.best_params, arrays, result.baselines, result.certificate.checksum


def test_one_parameter(tune_away):
    instances = steps(40)
    assert told(tune_away(StepFamily(), instances)) == told(ct.tune(StepFamily(), instances))


def test_a_worker_is_killed_in_the_middle(tune_away, tmp_path):
    instances = steps(30)
    family = Deadly("number 12", tmp_path / "killed")
    assert told(tune_away(family, instances)) == told(ct.tune(Slow(), instances))
    assert int((tmp_path / "killed").read_text()) != os.getpid()


# Whether a machine foresees that depends on what it has run before.
@pytest.mark.filterwarnings("ignore::certune.errors.CostWarning")
def test_a_time_limit_ends_the_run(tune_away):
    result = tune_away(Slow(), steps(4000), timeout=20)
    assert result.status is ct.Status.TIME_LIMIT and 0 < len(result.duals) < 4000


@pytest.fixture
def ctrl_c():
    """Ctrl-C acts, also if the tests are a background job, in which it is ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_interrupts_return_what_is_finished(tune_away, ctrl_c):
    def interrupt(progress):
        if progress.n_finished == 5:
            os.kill(os.getpid(), signal.SIGINT)

    result = tune_away(Slow(), steps(4000), callbacks=[interrupt])
    assert result.status is ct.Status.INTERRUPTED and 5 <= len(result.duals) < 4000


def test_several_parameters(tune_away):
    """Boxes and lines are tasks; a process is sent the instances once."""
    rng = np.random.default_rng(5)
    target = np.arange(12) % 3
    instances = [
        ct.ClusteringInstance(
            distances=[
                ct.ClusteringInstance(
                    points=rng.normal(size=(12, 2)) + target[:, None], k=3
                ).distances[0]
                for _ in range(2)
            ],
            target=target,
        )
        for _ in range(2)
    ]
    family = ct.Linkage(alpha=(-2, 3), weights="tune", n_metrics=2)
    whole = ct.tune(family, instances)
    away = tune_away(family, instances)
    assert away.status is whole.status is ct.Status.OPTIMAL
    assert away.certificate.checksum == whole.certificate.checksum


def test_progress_counts_in_the_order_of_the_instances(tune_away):
    seen = []
    tune_away(Slow(), steps(20), callbacks=[lambda state: seen.append(state.n_finished)])
    assert seen == list(range(1, 21))


def test_a_run_directory_is_continued(tune_away, tmp_path):
    instances = steps(30)
    part = tune_away(Slow(), instances, run_dir=tmp_path, callbacks=[lambda s: s.n_finished == 9])
    assert part.status is ct.Status.STOPPED
    whole = tune_away(Slow(), instances, run_dir=tmp_path)
    assert told(whole) == told(ct.tune(Slow(), instances))


def test_what_moves_is_small():
    """What the guide says about the traffic: an instance there, its function back."""
    instances = ct.datasets.random_clustering(1, n_clusters=4, n_per_cluster=25, spread=0.4)
    there = len(pickle.dumps(instances[0]))
    assert there < 2 * instances[0].distances.nbytes


def test_an_instance_that_kills_every_worker_is_named(tune_away, tmp_path):
    with pytest.raises(ct.TuningError, match="number 3") as caught:
        tune_away(Deadly("number 3", None), steps(6))
    assert "worker was lost" in str(caught.value)
