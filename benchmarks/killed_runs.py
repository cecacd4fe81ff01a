"""Is a run that is killed at any moment continued as if nothing had happened?

Runs of many small instances with a run directory, streams and searches over two parameters with
one, and online runs with a state, are killed by SIGKILL at random moments, also inside of fsync,
rename and link, where a hook waits for the kill; between two lives files are damaged now and then
as a crashed machine would: the last block is cut off, or a bit is flipped. The run that ends in the
end is compared with an uninterrupted one, bit by bit, and what was finished must not be computed
again unless its file was damaged.

    python benchmarks/killed_runs.py [--moments 1000] [--seed 0]
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import warnings
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

import certune as ct
from certune.testing import StepFamily, StepInstance

N_INSTANCES = 40


def instance(number: int) -> StepInstance:
    """Return one of the instances of every run."""
    rng = np.random.default_rng(number)
    places = tuple(np.sort(rng.uniform(0.01, 0.99, 3)).tolist())
    values = tuple(Fraction(int(v), 3) for v in rng.integers(0, 4, 4))
    return StepInstance(places, values, name=f"number {number}")


INSTANCES = [instance(number) for number in range(N_INSTANCES)]


def tuned(folder: Path) -> Any:
    """Tune with a run directory."""
    return ct.tune(StepFamily(), INSTANCES, progress=False, run_dir=folder)


STREAM = [instance(number) for number in range(400)]


def streamed(folder: Path) -> Any:
    """Tune a stream with a run directory."""
    return ct.tune_stream(StepFamily(), iter(STREAM), progress=False, run_dir=folder)


def played(folder: Path) -> Any:
    """Play an online run with a state."""
    with ct.OnlineTuner(StepFamily(), random_state=5, state=folder / "state") as tuner:
        while tuner.n_rounds < N_INSTANCES:
            tuner.update(INSTANCES[tuner.n_rounds])
        return tuner.regret(), tuner.propose(), tuner.n_pieces


def table(number: int) -> ct.ClusteringInstance:
    """Return one of the instances of every search over two parameters."""
    rng = np.random.default_rng(number)
    target = np.arange(9) % 3
    sets = [rng.normal(size=(9, 2)) * (1 + i) + 0.8 * target[:, None] for i in range(2)]
    distances = [np.linalg.norm(points[:, None] - points[None], axis=-1) for points in sets]
    return ct.ClusteringInstance(distances=distances, target=target, k=3)


TABLES = [table(number) for number in range(2)]


def searched(folder: Path) -> Any:
    """Search two parameters with a run directory."""
    family = ct.Linkage(alpha=(-2, 3), weights="tune", n_metrics=2)
    return ct.tune(family, TABLES, progress=False, run_dir=folder)


def digest(kind: str, outcome: Any) -> Any:
    """Return everything that must be equal to the last bit."""
    if kind == "online":
        return outcome
    if kind == "search":
        return (
            outcome.status, outcome.best_params, outcome.best_value_exact,
            outcome.upper_bound_exact, outcome.n_nodes, outcome.n_lines, outcome.baselines,
            outcome.certificate.checksum,
        )  # fmt: skip
    arrays = {name: array.tobytes() for name, array in outcome.landscape.to_arrays().items()}
    common = (
        outcome.status, outcome.best_params, outcome.best_value_exact, outcome.upper_bound_exact,
        outcome.baselines, arrays,
    )  # fmt: skip
    return common if kind == "stream" else (*common, outcome.certificate.checksum)


WORK = {"tune": tuned, "stream": streamed, "search": searched, "online": played}
# Seconds within which a life is ended.
MOMENTS = {"tune": 0.25, "stream": 0.25, "search": 2.0, "online": 0.25}


def killed_at(call: str, count: int) -> None:
    """Let this process be killed in the n-th call of a function of the operating system."""
    original = getattr(os, call)
    left = [count]

    def hooked(*given: Any, **options: Any) -> Any:
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return original(*given, **options)

    setattr(os, call, hooked)


def one_life(kind: str, folder: Path, rng: random.Random) -> bool:
    """Let a child work until it is killed or done; return whether it was done."""
    call = rng.choice(["any", "any", "fsync", "replace", "link"])
    moment, count = rng.random() * MOMENTS[kind], rng.randrange(1, 60)
    child = os.fork()
    if child == 0:
        try:
            warnings.simplefilter("ignore")
            if call != "any":
                killed_at(call, count)
            WORK[kind](folder)
            os._exit(0)
        except BaseException as error:
            print(f"{kind} in {folder}: {error!r}", file=sys.stderr, flush=True)
            os._exit(1)
    if call == "any":
        time.sleep(moment)
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if os.WIFEXITED(status) and os.WEXITSTATUS(status) != 0:
        raise AssertionError(f"a life of {kind} ended with an error")
    return os.WIFEXITED(status)


def damage(folder: Path, rng: random.Random) -> Path | None:
    """Do to a file what a crashed machine does; returns the file."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    # A lock that cannot be read holds for a minute, which is not waited for here.
    files = [path for path in files if "aside" not in path.parts and "torn" not in path.name]
    files = [path for path in files if ".lock" not in path.name]
    if not files:
        return None
    path = rng.choice(files)
    content = bytearray(path.read_bytes())
    if not content:
        return None
    # Before its end the state of an online run is not mended, but refused: it has no copy.
    if path.name == "state" or rng.random() < 0.5:
        path.write_bytes(content[: len(content) - rng.randrange(min(len(content), 40)) - 1])
    else:
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
        path.write_bytes(content)
    return path


def campaign(moments: int, seed: int) -> Counter[str]:
    """Kill runs at so many moments, and compare those that end with uninterrupted ones."""
    rng = random.Random(seed)
    counts: Counter[str] = Counter()
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as name:
        expected = {}
        for kind, work in WORK.items():
            place = Path(name) / f"whole {kind}"
            place.mkdir()
            expected[kind] = digest(kind, work(place))
        while counts["killed"] < moments:
            kind = rng.choice(sorted(WORK))
            folder = Path(name) / "run with a space ä"
            folder.mkdir()
            damaged: set[Path | None] = set()
            while True:
                finished = set(folder.glob("functions/*.json")) - damaged
                done = one_life(kind, folder, rng)
                if not finished <= set(folder.glob("functions/*.json")):
                    raise AssertionError("what was finished was lost")
                if done or counts["killed"] >= moments:
                    break
                counts["killed"] += 1
                if rng.random() < 0.15:
                    damaged.add(damage(folder, rng))
                    counts["damaged"] += 1
            if digest(kind, WORK[kind](folder)) != expected[kind]:
                raise AssertionError(f"{kind}: the continued run differs")
            counts[f"{kind}: runs that are equal"] += 1
            # An empty draft of a lock, of a process killed before it wrote its name, may stay.
            litter = [p.name for p in folder.rglob("*") if ".lock" in p.name and p.stat().st_size]
            litter += [path.name for path in folder.glob("functions/.*")]
            if litter:
                raise AssertionError(f"{kind}: left behind {litter}")
            shutil.rmtree(folder)
    return counts


def main() -> None:
    """Run the campaign and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--moments", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    started = time.perf_counter()
    for name, number in sorted(campaign(given.moments, given.seed).items()):
        print(f"{number:8d}  {name}")
    print(f"{time.perf_counter() - started:.0f} s: every continued run is bit-identical")


if __name__ == "__main__":
    main()
