"""How much does the exact answer cost? A full sweep of alpha against calls of scipy.

In one process and for each n: the time of `Linkage.dual` over alpha in [-10, 10] (points already
turned into distances, utility included), divided by the time of one
`scipy.cluster.hierarchy.linkage(d, "average")` call on the same distances; beside it a grid of
1000 scipy calls, which finds no breakpoint and proves nothing. Trees are the cluster trees that the
sweep follows, pieces those of the utility. Times are processor times of one process, the best of
several, so that other work on the machine counts as little as possible; scipy's are taken between
all sweeps. Peak memory and start-up times are measured in processes of their own.

    python benchmarks/linkage_sweep.py [--sizes 50 100 200 400 800] [--instances 3] [--repeats 5]
"""

import argparse
import os
import platform
import subprocess
import sys
import time

import numpy as np

# Exponents of the euclidean and the cityblock distance; on the last two one of them vanishes.
PRODUCT_LINES = {
    "M3 product": ((-2, 1), (3, 2)),
    "M3 one to other": ((1, 0), (0, 1)),
    "M3 through 0": ((-1, 1), (1, 1)),
}
LARGEST_PRODUCT = 400  # product linkage has thousands of trees; sweeps take seconds beyond


def best_time(function, repeats):
    times = []
    for _ in range(repeats):
        start = time.process_time()
        function()
        times.append(time.process_time() - start)
    return min(times)


def digits_instances(n, count, metrics):
    import certune as ct

    classes = 5 if n <= 800 else 10
    return ct.datasets.digits_clustering(
        count, n_classes=classes, n_per_class=n // classes, metrics=metrics, random_state=n
    )


def followed_trees(function):
    """Result of a function that makes one dual, and the number of cluster trees it followed."""
    from certune.families.linkage import revision

    count = 0

    def counting(*arguments):
        nonlocal count
        found = original(*arguments)
        count += sum(leaves.n_trees for leaves in found)
        return found

    original, revision.sweep_course = revision.sweep_course, counting
    try:
        result = function()
        return result, count
    finally:
        revision.sweep_course = original


def measure(n, n_instances, repeats):
    from scipy.cluster.hierarchy import linkage
    from scipy.spatial.distance import squareform

    import certune as ct

    families = {
        "M2 power-mean": (ct.Linkage("power-mean", alpha=(-10, 10)), None),
        "M1 min-max": (ct.Linkage("min-max", alpha=(-10, 10)), None),
    }
    if n <= LARGEST_PRODUCT:
        product = ct.Linkage("product", alpha=[(-5, 5), (-5, 5)])
        for name, (start, stop) in PRODUCT_LINES.items():
            ends = (dict(zip(product.alpha_names, end, strict=True)) for end in (start, stop))
            families[name] = (product, ct.Segment(*ends))
    rows = {name: [] for name in families}
    grids, scipy_ms = [], []
    one_metric = digits_instances(n, n_instances, ("euclidean",))
    two_metrics = digits_instances(n, n_instances, ("euclidean", "cityblock"))
    for single, double in zip(one_metric, two_metrics, strict=True):
        condensed = squareform(single.distances[0], checks=False)

        def best_call(c=condensed):
            return best_time(lambda: linkage(c, "average"), max(20, 4 * repeats))

        call = best_call()
        grid = np.linspace(-10, 10, 1000)
        some = grid[:: max(1, n // 20)]
        start = time.process_time()
        for alpha in some:
            linkage(np.sign(alpha) * condensed**alpha, "average")
        grid_time = (time.process_time() - start) / len(some) * len(grid)
        sweeps = {}
        for name, (family, segment) in families.items():
            instance = double if segment is not None else single

            def sweep(f=family, i=instance, s=segment):
                return f.dual(i, along=s)

            dual, trees = followed_trees(sweep)
            sweeps[name] = best_time(sweep, repeats), trees, dual.n_pieces, len(dual.undecided)
            call = min(call, best_call())
        scipy_ms.append(1e3 * call)
        grids.append(grid_time / call)
        for name, (took, *counts) in sweeps.items():
            rows[name].append((took / call, *counts))
    print(
        f"n = {n}: one scipy call {np.median(scipy_ms):.3f} ms, 1000-point grid "
        f"{np.median(grids):.0f} calls"
    )
    for name, values in rows.items():
        ratios, trees, pieces, undecided = map(np.array, zip(*values, strict=True))
        print(
            f"    {name:15s} full sweep = {np.median(ratios):6.1f} calls "
            f"(from {min(ratios):.1f} to {max(ratios):.1f}), {np.median(trees):4.0f} trees, "
            f"{np.median(ratios / trees):.2f} calls a tree, {np.median(pieces):3.0f} pieces, "
            f"{sum(undecided)} undecided"
        )


def in_subprocess(code):
    start = time.perf_counter()
    output = subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    return time.perf_counter() - start, output


def peak_memory(n):
    """Peak resident memory of one sweep above what the process holds before it (Linux)."""
    code = (
        "import certune as ct\n"
        "def kilobytes(field):\n"
        "    lines = open('/proc/self/status').read().splitlines()\n"
        "    return next(int(l.split()[1]) for l in lines if l.startswith(field))\n"
        f"i = ct.datasets.digits_clustering(1, n_classes=5, n_per_class={n // 5})[0]\n"
        "f, small = ct.Linkage(), ct.datasets.digits_clustering(1, n_per_class=4)[0]\n"
        "f.dual(small); f.run(small, 1.0)\n"
        "i.distances\n"
        "open('/proc/self/clear_refs', 'w').write('5'); before = kilobytes('VmRSS')\n"
        "f.dual(i); print(kilobytes('VmHWM') - before)"
    )
    return int(in_subprocess(code)[1]) / 1024


def start_up():
    code = (
        "import time; start = time.perf_counter(); import certune as ct\n"
        "print(time.perf_counter() - start)\n"
        "i = ct.datasets.digits_clustering(1)[0]; i.distances; start = time.perf_counter()\n"
        "ct.Linkage().dual(i); print(time.perf_counter() - start)"
    )
    imported, first = map(float, in_subprocess(code)[1].split())
    print(f"import {imported:.2f} s, first dual {first:.2f} s")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[50, 100, 200, 400, 800])
    parser.add_argument("--instances", type=int, default=3)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--skip-start-up", action="store_true")
    options = parser.parse_args()
    import scipy

    print(
        f"Python {platform.python_version()}, numpy {np.__version__}, scipy {scipy.__version__}, "
        f"{platform.machine()}, {os.cpu_count()} cores, "
        f"load {os.getloadavg()[0]:.1f}"
    )
    for n in options.sizes:
        measure(n, options.instances, options.repeats)
    for n in options.sizes:
        print(f"n = {n}: peak memory of one sweep {peak_memory(n):.0f} MB")
    if not options.skip_start_up:
        start_up()


if __name__ == "__main__":
    main()
