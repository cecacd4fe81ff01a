"""What workers cost and save: overhead of `tune` per instance, and the speed-up by two of them.

    python benchmarks/parallel.py [--repeats 3] [--skip-clusters]

Overhead is the time of a run beyond what its functions and plain runs take by themselves. On Dask
and Ray (``pip install 'certune[dask,ray]'``) it is the time that further instances take which are
next to no work, and besides it what a run takes with none, mostly the start of workers; clusters
are started before. Times are the best of the repeats,
the overhead of `tune` that of the processor, and ratios are of runs that were made in turn.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import joblib
import numpy as np

import certune as ct
from certune.testing import StepFamily, StepInstance

os.environ.setdefault("RAY_worker_niceness", "0")
SMALL, LARGE = 2000, 40


def steps(count: int) -> list[StepInstance]:
    """Draw step functions, whose exact functions take a tenth of a millisecond."""
    places = np.random.default_rng(0).integers(1, 999, count) / 1000
    return [StepInstance((float(place),), (0, 1)) for place in places]


def clusterings(count: int, n: int) -> list[Any]:
    """Draw points in four clusters, with their distances."""
    rng = np.random.default_rng(0)
    target = np.arange(n) % 4
    drawn = [
        ct.ClusteringInstance(points=rng.normal(size=(n, 3)) + target[:, None], target=target)
        for _ in range(count)
    ]
    for instance in drawn:
        assert instance.distances.size
    return drawn


def best(
    repeats: int, *calls: Callable[[], Any], clock: Callable[[], float] = time.perf_counter
) -> list[float]:
    """Return the best times of calls that are made in turn."""
    found: list[list[float]] = [[] for _ in calls]
    for _ in range(repeats):
        for call, times in zip(calls, found, strict=True):
            started = clock()
            call()
            times.append(clock() - started)
    return [min(times) for times in found]


def overhead(repeats: int) -> None:
    """Print what `tune` takes beyond the work itself."""
    family, instances = StepFamily(), steps(SMALL)
    result = ct.tune(family, instances, progress=False)
    settings = [result.best_params, *family.baselines.values()]

    def work() -> None:
        for instance in instances:
            family.check_instance(instance)
            family.dual(instance)
            for setting in settings:
                family.run_exact(instance, setting)

    def run() -> None:
        ct.tune(family, instances, progress=False)

    whole, alone = best(repeats, run, work, clock=time.process_time)
    print(f"tune, {SMALL} instances: {1000 * (whole - alone) / SMALL:.3f} ms an instance (0.2)")


def small_runs(repeats: int) -> None:
    """Print whether two workers slow down a small run."""
    family, instances = ct.Linkage("energy", alpha=(0.1, 4), objective="cut"), clusterings(40, 15)
    one, two = best(
        repeats,
        *(lambda n=n: ct.tune(family, instances, n_jobs=n, progress=False) for n in (1, 2)),
    )
    print(f"40 instances of 15 points: {one:.2f} s with one worker, {two:.2f} s with two")


def speed_up(repeats: int) -> None:
    """Print what two threads gain."""
    family, instances = ct.Linkage(alpha=(-10, 10)), clusterings(LARGE, 100)
    one, two = best(
        repeats,
        *(lambda n=n: ct.tune(family, instances, n_jobs=n, progress=False) for n in (1, 2)),
    )
    print(f"{LARGE} instances of 100 points: {one:.2f} s, {two:.2f} s, {one / two:.2f} times (1.8)")


@contextmanager
def dask() -> Iterator[None]:
    """Start two workers of Dask."""
    from distributed import Client, LocalCluster

    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with LocalCluster(processes=True, **options) as cluster, Client(cluster):
        yield


@contextmanager
def ray() -> Iterator[None]:
    """Start two workers of Ray."""
    import ray as engine
    from ray.util.joblib import register_ray

    engine.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    register_ray()
    yield
    engine.shutdown()


def clusters(repeats: int) -> None:
    """Print what an instance costs on a cluster."""
    few, many = steps(SMALL), steps(3 * SMALL)
    for name, started, package in (("dask", dask, "distributed"), ("ray", ray, "ray")):
        if importlib.util.find_spec(package) is None:
            print(f"{name}: not installed")
            continue
        with started(), joblib.parallel_config(backend=name):

            def run(instances: list[StepInstance]) -> None:
                ct.tune(StepFamily(), instances, n_jobs=2, progress=False)

            run(few)
            short, long = best(repeats, lambda run=run: run(few), lambda run=run: run(many))
        each = (long - short) / (len(many) - len(few))
        start = max(0.0, short - each * len(few))
        print(f"{name}: {1000 * each:.2f} ms an instance (2), and {start:.2f} s a run")


def main() -> None:
    """Measure everything."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--skip-clusters", action="store_true")
    given = parser.parse_args()
    for part in (overhead, small_runs, speed_up):
        part(given.repeats)
    if not given.skip_clusters:
        clusters(given.repeats)


if __name__ == "__main__":
    main()
