"""Does the exact answer agree with plain runs? Labels of every point at random bandwidths.

For digit pairs and random blobs, n from 50 to 500, ten-class digits, n up to 250, and breast
cancer, n up to 150: the certified sweep of sigma in [0.07, 5] (times the root of the median
distance) says which label every point has at every sigma. At 400 random bandwidths per instance the
labels are computed again by `HarmonicLabeling`'s plain algorithm; a difference is a mismatch.
Breakpoints of small instances are compared with roots found by bisection in ball arithmetic at 640
bits.

    python benchmarks/ssl_replay.py [--instances 104] [--bandwidths 400] [--first 0]
"""

import argparse
import math
import time
from fractions import Fraction

import numpy as np

LOW, HIGH = 0.07, 5.0
BALL_BITS = 640


def scaled(points, labeled, truth, name):
    """An instance whose median squared distance is 1."""
    from scipy.spatial.distance import pdist

    import certune as ct

    squared = pdist(points, "sqeuclidean")
    return ct.LabelingInstance(
        distances=squared / np.median(squared), labeled=labeled, truth=truth, name=name
    )


def instances(count):
    from sklearn.datasets import load_breast_cancer, load_digits

    digits, digit_of = load_digits(return_X_y=True)
    cells, malignant = load_breast_cancer(return_X_y=True)
    cells = (cells - cells.mean(axis=0)) / cells.std(axis=0)
    rng = np.random.default_rng(7)
    for number in range(count):
        n = int(rng.choice([50, 50, 75, 100, 100, 150, 200, 250, 350, 500]))
        kind = ("digit pair", "breast cancer", "ten digits", "random")[number % 4]
        if kind == "breast cancer":
            # Outliers need weights beyond the doubles at small bandwidths, at 40 times the cost.
            n = min(n, 150)
        if kind == "ten digits":
            # Many slow crossings at large bandwidths, each a few systems in ball arithmetic.
            n = min(n, 250)
        if kind == "digit pair":
            pair = rng.choice(10, size=2, replace=False)
            rows = rng.permutation(np.flatnonzero(np.isin(digit_of, pair)))[:n]
            points, truth = digits[rows], digit_of[rows]
        elif kind == "breast cancer":
            rows = rng.permutation(len(cells))[:n]
            points, truth = cells[rows], malignant[rows]
        elif kind == "ten digits":
            rows = rng.permutation(len(digits))[:n]
            points, truth = digits[rows], digit_of[rows]
        else:
            truth = rng.integers(2, size=n)
            points = rng.standard_normal((n, 5)) + 1.5 * truth[:, None] * rng.random(5)
        firsts = np.unique(truth, return_index=True)[1]
        labeled = np.union1d(firsts, rng.choice(len(truth), size=max(2, n // 15), replace=False))
        yield kind, scaled(points, labeled, truth, f"{kind} {number}")


def replay(instance, n_bandwidths, rng):
    """Compared and different labels, zones, undecided zones, the leaves and the graph."""
    import certune as ct
    from certune.families.graph_ssl.course import make_course
    from certune.families.graph_ssl.harmonic import winners
    from certune.families.graph_ssl.interpolation import Interpolator
    from certune.families.graph_ssl.sweeping import leaves_of
    from certune.families.graph_ssl.symmetry import Symmetry

    family = ct.HarmonicLabeling(sigma=(LOW, HIGH))
    graph = family.graph(instance)
    course = make_course((0.0, 1.0), [(1.0, 0.0)], LOW, HIGH)
    leaves = leaves_of(Interpolator(graph, course), Symmetry(graph), True)
    node, winner, rival = leaves.info.T
    is_open = (winner != rival) | (winner < 0)
    sigmas = leaves.ends[is_open] ** -0.5
    undecided = int(np.sum(sigmas[:, 0] - sigmas[:, 1] > 1e-9 * np.maximum(1.0, sigmas[:, 0])))
    compared = different = 0
    for sigma in np.exp(rng.uniform(math.log(LOW), math.log(HIGH), n_bandwidths)).tolist():
        z = sigma**-2
        inside = (leaves.ends[:, 0] < z) & (z < leaves.ends[:, 1]) & ~is_open
        labels = winners(graph, [1 / Fraction(sigma) ** 2], Symmetry(graph)).classes
        compared += int(inside.sum())
        different += int(np.sum(labels[node[inside]] != winner[inside]))
    return compared, different, int(is_open.sum()), undecided, leaves, graph


def ball_roots(leaves, graph, limit):
    """Relative distances of breakpoints in z from roots by bisection in ball arithmetic."""
    from certune.families.graph_ssl.balls import ball_labels

    zones = np.flatnonzero((leaves.info[:, 1] != leaves.info[:, 2]) & (leaves.info[:, 1] >= 0))
    found = []
    for zone in zones[:: max(1, len(zones) // limit)][:limit].tolist():
        node, first, second = leaves.info[zone].tolist()
        low, high = leaves.ends[zone].tolist()
        middle = Fraction(low + high) / 2
        ends = [Fraction(low) * (1 - Fraction(1, 2**30)), Fraction(high) * (1 + Fraction(1, 2**30))]

        def sign(z, node=node, first=first, second=second):
            soft = ball_labels(graph, [z], BALL_BITS)
            difference = soft[first][node] - soft[second][node]
            return 1 if difference > 0 else -1 if difference < 0 else 0

        signs = [sign(z) for z in ends]
        if signs[0] == signs[1]:
            continue
        for _ in range(24):
            cut = (ends[0] + ends[1]) / 2
            ends[0 if sign(cut) == signs[0] else 1] = cut
        found.append(float(abs((ends[0] + ends[1]) / 2 - middle) / middle))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--instances", type=int, default=104)
    parser.add_argument("--first", type=int, default=0, help="leave out the instances before")
    parser.add_argument("--bandwidths", type=int, default=400)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    totals, errors, start = np.zeros(3, dtype=int), [], time.perf_counter()
    for number, (kind, instance) in enumerate(instances(options.instances)):
        if number < options.first:
            continue
        found = replay(instance, options.bandwidths, rng)
        compared, different, changes, undecided, leaves, graph = found
        totals += compared, different, undecided
        if instance.n_points <= 75:
            errors += ball_roots(leaves, graph, 3)
        print(
            f"{number:3d} {kind:13s} n = {instance.n_points:3d}: {compared} labels compared, "
            f"{different} different; {changes} changes of labels, {undecided} undecided, "
            f"{time.perf_counter() - start:.0f} s",
            flush=True,
        )
    print(f"{totals[0]} labels compared, {totals[1]} different, {totals[2]} undecided zones")
    if errors:
        print(
            f"{len(errors)} breakpoints against {BALL_BITS}-bit balls: largest relative distance "
            f"{max(errors):.1e}"
        )


if __name__ == "__main__":
    main()
