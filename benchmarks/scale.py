"""How do time and memory of a stream grow with the number of instances?

Instances are drawn one after the other and tuned by `certune.tune_stream`, each size in a process
of its own; the result is saved, loaded and reported. Drawing them is part of the time. Their
breakpoints lie on a grid, as those of data with few digits do, so that the mean has a bounded
number of pieces; with ``--scattered`` all breakpoints are different, and the mean has as many
pieces as all functions together.

    python benchmarks/scale.py [--sizes 1000 10000 100000] [--breakpoints 100] [--scattered]
    python benchmarks/scale.py --linkage [--sizes 1000 50000]      # 12 points an instance
    python benchmarks/scale.py --kept      # with a run directory, and once more, when all is there
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import certune as ct
from certune.testing import StepFamily, StepInstance

GRID = 4096


def steps(size: int, n_breakpoints: int, scattered: bool) -> Iterator[StepInstance]:
    """Draw step functions."""
    rng = np.random.default_rng(0)
    for _ in range(size):
        if scattered:
            places = np.sort(rng.uniform(0.001, 0.999, n_breakpoints))
        else:
            places = np.sort(rng.choice(np.arange(1, GRID), n_breakpoints, replace=False)) / GRID
        values = rng.integers(0, 2, n_breakpoints + 1).tolist()
        yield StepInstance(tuple(places.tolist()), tuple(values))


def clusterings(size: int) -> Iterator[Any]:
    """Draw twelve points in three clusters."""
    rng = np.random.default_rng(0)
    target = np.arange(12) % 3
    for _ in range(size):
        yield ct.ClusteringInstance(
            points=rng.normal(size=(12, 2)) + target[:, None], target=target
        )


def made(size: int, given: argparse.Namespace) -> Iterator[Any]:
    """Return the stream that was asked for."""
    if given.linkage:
        return clusterings(size)
    return steps(size, given.breakpoints, given.scattered)


def measure(size: int, given: argparse.Namespace) -> None:
    """Tune a stream and print a row."""
    family: Any = ct.Linkage(alpha=(-3, 3)) if given.linkage else StepFamily()
    stream = made(size, given)
    started, used = time.perf_counter(), time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        kept = f"{folder}/run" if given.kept else None
        result = ct.tune_stream(family, stream, n_jobs=given.n_jobs, run_dir=kept)
        if kept:
            first = time.process_time() - used
            stream = made(size, given)
            again = ct.tune_stream(family, stream, n_jobs=given.n_jobs, run_dir=kept)
            assert again.landscape == result.landscape
            room = sum(path.stat().st_size for path in Path(kept).rglob("*.json*"))
            last = time.process_time() - used - first
            print(f"kept: {first:.1f} s, {room / 2**20:.0f} MB on disk, again {last:.1f} s")
        result.save(f"{folder}/result.json")
        assert ct.load(f"{folder}/result.json").landscape == result.landscape
        result.report(f"{folder}/report.html")
    elapsed, used = time.perf_counter() - started, time.process_time() - used
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{size:9d}  {result.landscape.n_pieces:9d}  {elapsed:8.1f}  {used:8.1f}  "
        f"{1000 * used / size:10.3f}  {peak:9.0f}",
        flush=True,
    )


def main() -> None:
    """Measure every size in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 10_000, 100_000])
    parser.add_argument("--breakpoints", type=int, default=100)
    parser.add_argument("--scattered", action="store_true")
    parser.add_argument("--linkage", action="store_true")
    parser.add_argument("--kept", action="store_true")
    parser.add_argument("--n-jobs", type=int, default=1)
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        measure(given.one, given)
        return
    print("instances     pieces   seconds       cpu  ms/instance  peak (MB)", flush=True)
    for size in given.sizes:
        subprocess.run([sys.executable, *sys.argv, "--one", str(size)], check=True)


if __name__ == "__main__":
    main()
