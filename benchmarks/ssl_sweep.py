"""What does the exact answer cost? A full sweep of sigma against grids of 1000 bandwidths.

For digit pairs with the median squared distance scaled to 1 and sigma in [0.07, 5]: linear systems
solved and time of `HarmonicLabeling.dual`, adaptive and certified, in units of a grid of 1000
bandwidths with the same weights solved by LAPACK (LU), which finds no breakpoint. Beside it a grid
of scikit-learn's `LabelPropagation` at its default iteration limit and tolerance, with the share of
its labels that differ from the exact ones, and the errors of LU at small bandwidths.

    python benchmarks/ssl_sweep.py [--sizes 100 200 350 500] [--instances 2] [--repeats 1]
"""

import argparse
import os
import platform
import time
import warnings
from fractions import Fraction

import numpy as np

LOW, HIGH = 0.07, 5.0
MODERATE = 0.15
GRID = 1000


def best_time(function, repeats):
    """Processor time of one thread (other programs on the machine do not count), and the result."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        result = function()
        times.append(time.process_time() - start)
    return min(times), result


def digit_pairs(n, count):
    from scipy.spatial.distance import pdist
    from sklearn.datasets import load_digits

    import certune as ct

    images, digit_of = load_digits(return_X_y=True)
    rng = np.random.default_rng(n)
    for _ in range(count):
        classes = rng.choice(10, size=2 if n <= 350 else 4, replace=False)
        rows = rng.permutation(np.flatnonzero(np.isin(digit_of, classes)))[:n]
        points = images[rows] / np.sqrt(np.median(pdist(images[rows], "sqeuclidean")))
        labeled = np.union1d(np.unique(digit_of[rows], return_index=True)[1], np.arange(n // 20))
        yield ct.LabelingInstance(points=points, labeled=labeled, truth=digit_of[rows])


def lu_soft(squared, free, labeled, indicator, sigma):
    weights = np.exp(-squared[free] / sigma**2)
    between = weights[:, free]
    np.fill_diagonal(between, 0.0)
    to_labeled = weights[:, labeled]
    matrix = np.diag(between.sum(axis=1) + to_labeled.sum(axis=1)) - between
    return np.linalg.solve(matrix, to_labeled @ indicator)


def solves(family, instance):
    from certune.families.graph_ssl.course import make_course
    from certune.families.graph_ssl.interpolation import Interpolator

    course = make_course((0.0, 1.0), [(1.0, 0.0)], *family.sigma)
    interpolator = Interpolator(family.graph(instance), course)
    for _ in interpolator.panels(family.certified, *interpolator.course.ends):
        pass
    return interpolator.n_solves


def measure(n, n_instances, repeats):
    import certune as ct

    rows = []
    for instance in digit_pairs(n, n_instances):
        squared, free, labeled = instance.distances[0], instance.unlabeled, instance.labeled
        indicator = np.eye(len(instance.class_names))[instance.labels]
        some = np.geomspace(LOW, HIGH, GRID)[:: max(1, n // 10)]

        def grid(s=squared, f=free, k=labeled, i=indicator, some=some):
            for sigma in some:
                lu_soft(s, f, k, i, sigma)

        grid_time = best_time(grid, repeats + 1)[0] / len(some) * GRID
        row = [grid_time]
        for low in (LOW, MODERATE):
            for certified in (False, True):
                family = ct.HarmonicLabeling(sigma=(low, HIGH), certified=certified)
                count = solves(family, instance)
                seconds, dual = best_time(lambda f=family, i=instance: f.dual(i), repeats)
                row += [seconds, count, dual.n_pieces, len(dual.undecided)]
        rows.append(row)
    grid, *rest = np.median(np.array(rows), axis=0)
    table = np.array(rest).reshape(2, 2, 4)
    print(f"n = {n}: grid of {GRID} bandwidths by LU {grid:.2f} s")
    for low, both in zip((LOW, MODERATE), table, strict=True):
        for mode, (seconds, count, pieces, undecided) in zip(
            ("adaptive", "certified"), both, strict=True
        ):
            print(
                f"    sigma in [{low}, {HIGH:g}] {mode:9s}: {count:5.0f} solves, {seconds:5.2f} s "
                f"= {seconds / grid:5.2f} grids, {pieces:.0f} pieces, {undecided:.0f} undecided"
            )
        print(f"        certified / adaptive = {both[1, 0] / both[0, 0]:.1f}")


def standard_library(n):
    """Labels and soft labels of scikit-learn and LU against the certified ones."""
    from sklearn.semi_supervised import LabelPropagation

    import certune as ct
    from certune.families.graph_ssl.balls import ball_labels

    (instance,) = digit_pairs(n, 1)
    family = ct.HarmonicLabeling()
    squared, free, labeled = instance.distances[0], instance.unlabeled, instance.labeled
    indicator = np.eye(len(instance.class_names))[instance.labels]
    given = np.full(n, -1)
    given[labeled] = instance.labels
    graph = family.graph(instance)
    print(f"n = {n}, errors at one bandwidth (exact: balls at 640 bits)")
    seconds = []
    for sigma in (1.0, 0.5, 0.3, 0.2, 0.1, 0.07, 0.04):
        balls = ball_labels(graph, [1 / Fraction(sigma) ** 2], 640)
        exact = np.array([[float(ball.mid()) for ball in column] for column in balls]).T
        labels = family.solve(instance, sigma)
        ours = labels.soft[free]
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            relative = np.nanmax(np.where(exact > 1e-250, np.abs(ours / exact - 1), 0))
            try:
                lu = np.abs(lu_soft(squared, free, labeled, indicator, sigma) - exact).max()
            except np.linalg.LinAlgError:
                lu = np.inf
            start = time.process_time()
            model = LabelPropagation(gamma=sigma**-2).fit(instance.points, given)
            seconds.append(time.process_time() - start)
        soft = np.abs(model.label_distributions_[free] - exact).max()
        names = np.array(instance.class_names)
        wrong = (names[model.transduction_[free]] != labels.labels[free]).mean()
        print(
            f"    sigma = {sigma:4.2f}: certune relative {relative:.0e}, LU absolute {lu:.0e}, "
            f"LabelPropagation absolute {soft:.2f}, {wrong:.1%} of its labels differ"
        )
    print(f"    a grid of {GRID} LabelPropagation fits takes {np.mean(seconds) * GRID:.1f} s")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 200, 350, 500])
    parser.add_argument("--instances", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=1)
    options = parser.parse_args()
    import scipy
    from threadpoolctl import threadpool_limits

    import certune as ct

    print(
        f"Python {platform.python_version()}, numpy {np.__version__}, scipy {scipy.__version__}, "
        f"{platform.machine()}, {os.cpu_count()} cores"
    )
    with threadpool_limits(1):  # the sweep has one thread too
        for instance in digit_pairs(50, 1):  # compiles
            for certified in (False, True):
                ct.HarmonicLabeling(sigma=(LOW, HIGH), certified=certified).dual(instance)
        for n in options.sizes:
            measure(n, options.instances, options.repeats)
        standard_library(min(options.sizes[-1], 200))


if __name__ == "__main__":
    main()
