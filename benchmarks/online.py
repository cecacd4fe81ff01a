"""How much does a round of exact online tuning cost?

Microseconds of CPU time a round for exact exponential weights against the number of rounds, for
functions of 4 random breakpoints that are given; beside it a discretised Hedge on a grid of 1000
parameters, which evaluates each function on its grid. The learner alone (draw, learn) is measured,
then the whole `OnlineTuner` with exact regret, with its state on disk, and with a resolution.

    python benchmarks/online.py [--rounds 1000 10000 100000]
"""

import argparse
import os
import platform
import resource
import tempfile
import time
from pathlib import Path

import numpy as np

N_BREAKPOINTS = 4
GRID = 1000


def random_functions(n_functions, rng):
    import certune as ct

    functions = []
    for _ in range(n_functions):
        places = np.sort(rng.uniform(0.001, 0.999, N_BREAKPOINTS))
        values = rng.integers(0, 31, N_BREAKPOINTS + 1)
        below = places - 1e-11
        functions.append(
            ct.PiecewiseFunction(
                np.append(0.0, places),
                np.append(below, 1.0),
                values,
                np.minimum(values[1:], values[:-1]),
                np.maximum(values[1:], values[:-1]),
                30,
                name="x",
            )
        )
    return functions


class Timer:
    """Microseconds a round between growing numbers of rounds."""

    def __init__(self, marks):
        self.marks, self.rows = set(marks), []
        self.before, self.started = 0, time.process_time()

    def tick(self, number, note=""):
        if number in self.marks:
            now = time.process_time()
            self.rows.append((number, 1e6 * (now - self.started) / (number - self.before), note))
            self.before, self.started = number, time.process_time()

    def show(self, name):
        for number, cost, note in self.rows:
            print(f"    {name:34s} to round {number:7d}: {cost:8.1f} us a round {note}")


def learner_alone(functions, marks):
    from certune.online.exponential_weights import ExponentialWeights
    from certune.online.learner import Observed
    from certune.online.lines import Line
    from certune.online.schedule import Schedule
    from certune.space import Segment

    line = Line(Segment.coordinate("x", 0, 1), logarithmic=False)
    learner = ExponentialWeights([line], Schedule("adaptive", None, 1.0))
    rng, none = np.random.default_rng(0), np.empty(0)
    timer = Timer(marks)
    for number, function in enumerate(functions, 1):
        _, position = learner.draw(rng)
        learner.learn(Observed((line,), 0, position, 0.0, (function,), none, none))
        timer.tick(number, f"({learner.n_pieces} pieces)")
    timer.show("exact weights, draw and learn")


def hedge(functions, marks):
    rng = np.random.default_rng(0)
    grid = (np.arange(GRID) + 0.5) / GRID
    total = np.zeros(GRID)
    timer = Timer(marks)
    for number, function in enumerate(functions, 1):
        rate = np.sqrt(8 * np.log(GRID) / number)
        weights = np.exp(rate * (total - total.max()))
        cumulative = np.cumsum(weights)
        cumulative.searchsorted(rng.random() * cumulative[-1])
        total += function(grid)
        timer.tick(number)
    timer.show(f"Hedge on a grid of {GRID}")


def whole_tuner(functions, marks, name, **options):
    import certune as ct
    from certune.testing import StepFamily

    timer = Timer(marks)
    with ct.OnlineTuner(StepFamily(), random_state=0, **options) as tuner:
        for number, function in enumerate(functions, 1):
            tuner.update(dual=function)
            timer.tick(number, f"({tuner.n_pieces} pieces)")
        timer.show(name)
        started = time.process_time()
        print(f"    {'':34s} {tuner.regret()}, in {time.process_time() - started:.2f} s")


def restoring(n_rounds, path):
    import certune as ct
    from certune.testing import StepFamily

    started = time.process_time()
    with ct.OnlineTuner(StepFamily(), random_state=0, state=path) as tuner:
        took = time.process_time() - started
        size = path.stat().st_size / 1e6
        print(f"    restored {tuner.n_rounds} rounds in {took:.1f} s from {size:.0f} MB")


def costs(marks):
    functions = random_functions(max(marks), np.random.default_rng(1))
    learner_alone(functions[:10], [])  # compiles
    before = memory()
    learner_alone(functions, marks)
    print(f"    {'':34s} {memory() - before:.0f} MB more than before")
    hedge(functions, marks)
    whole_tuner(functions, marks, "OnlineTuner, exact regret")
    whole_tuner(functions, marks, "OnlineTuner, resolution 1/10000", resolution=1e-4)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "state"
        whole_tuner(functions, marks, "OnlineTuner with its state on disk", state=path)
        restoring(max(marks), path)
    print(f"peak memory of the process {memory():.0f} MB")


def memory():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, nargs="+", default=[1000, 10_000, 100_000])
    options = parser.parse_args()

    print(
        f"Python {platform.python_version()}, numpy {np.__version__}, "
        f"{platform.machine()}, {os.cpu_count()} cores"
    )
    print(f"Functions of {N_BREAKPOINTS} breakpoints:")
    costs(options.rounds)


if __name__ == "__main__":
    main()
