"""Is this installation slower than another one? The same linkage functions, computed in turns.

One worker process of each installation computes the same functions on fresh instances (nothing
that an instance keeps is reused), turn by turn, so that a busy moment of the machine hits both.
Times are processor times of the worker, the best of several turns; a ratio below one says that
this installation is faster.

    python benchmarks/two_installations.py /path/to/other/python [--sizes 100 400] [--turns 5]
"""

import argparse
import json
import subprocess
import sys

WORKER = """
import json, sys, time
import certune as ct

PRODUCTS = {
    "M3 product": ((-2, 1), (3, 2)),
    "M3 one to other": ((1, 0), (0, 1)),
    "M3 through 0": ((-1, 1), (1, 1)),
}

def task(kind, n, seed):
    metrics = ("euclidean", "cityblock") if kind in PRODUCTS else ("euclidean",)
    [instance] = ct.datasets.digits_clustering(
        1, n_classes=5, n_per_class=n // 5, metrics=metrics, random_state=seed
    )
    if kind not in PRODUCTS:
        return ct.Linkage(kind, alpha=(-10, 10)), instance, None
    family = ct.Linkage("product", alpha=[(-5, 5), (-5, 5)])
    ends = (dict(zip(family.alpha_names, end, strict=True)) for end in PRODUCTS[kind])
    return family, instance, ct.Segment(*ends)

for line in sys.stdin:
    family, instance, along = task(*json.loads(line))
    start = time.process_time()
    function = family.dual(instance, along=along) if along else family.dual(instance)
    taken = time.process_time() - start
    print(json.dumps([taken, len(function.values)]), flush=True)
"""


class Installation:
    """A worker process of one interpreter."""

    def __init__(self, python):
        self.process = subprocess.Popen(
            [python, "-c", WORKER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def compute(self, *task):
        self.process.stdin.write(json.dumps(task) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            sys.exit(f"{self.process.args[0]} ended with exit code {self.process.wait()}")
        return json.loads(answer)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("other", help="the interpreter of the other installation")
    parser.add_argument("--sizes", type=int, nargs="+", default=[50, 100, 200, 400, 800])
    parser.add_argument("--instances", type=int, default=3)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--largest-product", type=int, default=400)
    options = parser.parse_args()
    here, there = Installation(sys.executable), Installation(options.other)
    kinds = ("power-mean", "min-max", "M3 product", "M3 one to other", "M3 through 0")
    for kind in kinds:
        for installation in (here, there):
            installation.compute(kind, 20, 0)  # what is loaded, or compiled, once
    for n in options.sizes:
        for kind in kinds:
            if kind.startswith("M3") and n > options.largest_product:
                continue
            compare(kind, n, (here, there), options)


def compare(kind, n, installations, options):
    """Print the best times of both for one size, and their ratio; pieces must be the same."""
    totals = [0.0, 0.0]
    for seed in range(options.instances):
        best = [float("inf")] * 2
        for _ in range(options.turns):
            pieces = set()
            for index, installation in enumerate(installations):
                seconds, count = installation.compute(kind, n, seed)
                best[index] = min(best[index], seconds)
                pieces.add(count)
            if len(pieces) > 1:
                sys.exit(f"{kind}, n = {n}, seed {seed}: different functions, {pieces} pieces")
        totals = [total + seconds for total, seconds in zip(totals, best, strict=True)]
    ours, theirs = (1000 * total / options.instances for total in totals)
    print(
        f"n = {n:4} {kind:15} {ours:8.2f} ms, other {theirs:8.2f} ms: {ours / theirs:.2f}",
        flush=True,
    )


if __name__ == "__main__":
    main()
