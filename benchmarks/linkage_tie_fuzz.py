"""Are linkages of tied data right at every parameter that is asked?

Small instances full of ties (0/1 vectors, grids, whole numbers on a line, rounded points with
copies, few different distances) along exponents, weights of two metrics and exponents of products.
At random places, at simple numbers and at the floats beside breakpoints, the function and `solve`
are compared with a greedy algorithm that adds whole numbers of hundreds of digits. Prints how many
places were compared, which were wrong, and which intervals stayed undecided.

    python benchmarks/linkage_tie_fuzz.py [--seconds 300] [--seed 0] [--largest 13]
"""

import argparse
import collections
import math
import time
from fractions import Fraction

import numpy as np
from flint import arb, ctx, fmpq

import certune as ct
from certune.errors import UndecidedError
from certune.families.linkage.objective import Objective
from certune.kernels.linkage import Pruning, prune

BITS = 1400  # after the binary point of a value
TIED = 1 << 400  # values that differ by less are equal


def drawn_points(rng, n):
    style = rng.integers(7)
    if style == 0:
        return "0/1", rng.integers(0, 2, (n, int(rng.integers(4, 9)))).astype(float)
    if style == 1:
        return "grid", rng.integers(0, 4, (n, 2)).astype(float)
    if style == 2:
        copies = rng.integers(0, n, n)
        return "rounded", np.round(rng.normal(size=(n, 2)), 1)[copies]
    if style == 3:
        return "line", rng.integers(0, 2 * n, (n, 1)).astype(float)
    if style == 4:
        side = math.ceil(n ** (1 / 3))
        cube = np.stack(np.meshgrid(*[np.arange(side)] * 3), -1).reshape(-1, 3)
        return "cube", cube[rng.permutation(len(cube))[:n]].astype(float)
    if style == 5:
        angles = 2 * np.pi * rng.permutation(n) / n
        return "circle", np.round(np.column_stack([np.cos(angles), np.sin(angles)]), 12)
    return "powers of two", 2.0 ** rng.integers(0, 6, (n, 1))


def drawn_instance(rng, largest, n_metrics):
    n = int(rng.integers(4, largest + 1))
    style, points = drawn_points(rng, n)
    target, k = rng.integers(0, 3, n), int(rng.integers(1, max(2, n // 2)))
    metrics = ("euclidean", "cityblock", "chebyshev")
    chosen = tuple(rng.permutation(metrics)[:n_metrics].tolist())
    if n_metrics == 1 and rng.random() < 0.2:
        matrix = rng.choice([1.0, 2.0, 3.0, 4.0, 6.0], (n, n))
        matrix = np.triu(matrix, 1) + np.triu(matrix, 1).T
        return "few distances", ct.ClusteringInstance(distances=matrix, target=target, k=k)
    return style, ct.ClusteringInstance(points, metrics=chosen, target=target, k=k)


def rational(number):
    return fmpq(*Fraction(number).as_integer_ratio())


def logarithms(instance, kind, point):
    """Logarithms of the values of all pairs at a point of rational parameters, as balls."""
    n = instance.n_points
    found = {}
    for i in range(n):
        for j in range(i):
            own = [Fraction(float(matrix[i, j])) for matrix in instance.distances]
            if not any(own):
                continue
            if kind == "product":
                exponents = [point[f"alpha_{m}"] for m in range(len(own))]
                found[i, j] = sum(
                    (
                        arb(rational(d)).log() * rational(e)
                        for d, e in zip(own, exponents, strict=True)
                    ),
                    arb(0),
                )
            else:
                d = sum((w * d for w, d in zip(point["weights"], own, strict=True)), Fraction(0))
                found[i, j] = arb(rational(d)).log() * rational(point["alpha"] or 1)
    return found


def whole(ball):
    """A ball times 2 ** BITS as a whole number."""
    shifted = ball * arb(2) ** BITS
    number = shifted.mid().floor().unique_fmpz()
    assert number is not None and shifted.rad() < arb(2) ** 200
    return int(number)


def pair_values(instance, kind, point):
    """Whole numbers that stand for the values of pairs, and +1 if smaller ones are nearer."""
    with ctx.workprec(2 * BITS + 200):
        logs = logarithms(instance, kind, point)
        exponents = [own for name, own in point.items() if name != "weights"]
        total = sum(exponents)
        if not any(exponents):
            own = {pair: whole(log) for pair, log in logs.items()}
            return own, 1
        return {pair: whole(log.exp()) for pair, log in logs.items()}, 1 if total >= 0 else -1


def nearest(values, clusters):
    """Index pair of the nearest clusters, ties by the documented rule."""
    best = None
    for (x, y), value in values.items():
        rule = sorted((max(clusters[x]), max(clusters[y])))
        if best is None or value < best[0] - TIED or (value < best[0] + TIED and rule < best[1]):
            best = value, rule, (x, y)
    return best[2]


def merged(instance, kind, point):
    """Merges of a greedy algorithm, as pairs of nodes; identical points first."""
    n = instance.n_points
    powers, sign = pair_values(instance, kind, point)

    def power(a, b):
        return powers.get((max(a, b), min(a, b)), 0)

    def value(first, second):
        between = [power(a, b) for a in first for b in second]
        if kind == "min-max":
            return sign * (min(between) + max(between))
        if kind != "energy":
            return sign * sum(between) // len(between)
        a, b = len(first), len(second)
        inside = [sum(power(p, q) for p in own for q in own) for own in (first, second)]
        return (2 * a * b * sum(between) - b * b * inside[0] - a * a * inside[1]) // (
            a * b * (a + b)
        )

    clusters = {p: [p] for p in range(n)}
    merges = []

    def join(x, y):
        merges.append((x, y))
        clusters[n + len(merges) - 1] = clusters.pop(x) + clusters.pop(y)

    at_place = {}
    for p in range(n):
        twin = next((q for q in at_place if not instance.distances[:, p, q].any()), None)
        if twin is None:
            at_place[p] = p
        else:
            join(at_place[twin], p)
            at_place[twin] = n + len(merges) - 1
    values = {(x, y): value(clusters[x], clusters[y]) for x in clusters for y in clusters if y < x}
    while len(clusters) > 1:
        x, y = nearest(values, clusters)
        join(x, y)
        new = n + len(merges) - 1
        values = {pair: own for pair, own in values.items() if not {x, y} & set(pair)}
        values |= {(new, z): value(clusters[new], own) for z, own in clusters.items() if z != new}
    return merges


def labels_of(merges, instance, objective):
    n = instance.n_points
    if objective == "cut":
        clusters = {p: [p] for p in range(n)}
        for i, (x, y) in enumerate(merges[: n - instance.k]):
            clusters[n + i] = clusters.pop(x) + clusters.pop(y)
        labels = np.empty(n, dtype=np.int64)
        for number, own in enumerate(sorted(clusters.values(), key=min)):
            labels[own] = number
        return labels
    highest = list(range(n))
    left, right = np.zeros((2, 2 * n - 1), dtype=np.int64)
    for i, pair in enumerate(merges):
        left[n + i], right[n + i] = sorted(pair, key=lambda node: highest[node])
        highest.append(max(highest[node] for node in pair))
    rule = Objective(objective)
    return prune(Pruning(rule.code, rule.reference_matrix(instance), instance.k), left, right)


def drawn_problem(rng, largest):
    """Name, instance, family, segment."""
    kind = str(rng.choice(["power-mean", "min-max", "energy", "product"], p=[0.3, 0.3, 0.3, 0.1]))
    options = {"objective": str(rng.choice(["cut", "k-median"]))}
    positive = kind == "energy" or rng.random() < 0.5
    low, high = (0.1, 4.0) if positive else (-6.0, 6.0)
    if kind == "product":
        style, instance = drawn_instance(rng, largest, 2)
        family = ct.Linkage(kind, alpha=[(-2.0, 2.0), (-2.0, 2.0)], **options)
        ends = [
            dict(zip(family.alpha_names, rng.integers(-2, 3, 2).tolist(), strict=True))
            for _ in range(2)
        ]
        if ends[0] == ends[1]:
            ends = [{"alpha_0": -2, "alpha_1": 1}, {"alpha_0": 2, "alpha_1": 1}]
        return style, instance, family, ct.Segment(*ends)
    if rng.random() < 0.25:
        style, instance = drawn_instance(rng, largest, 2)
        family = ct.Linkage(kind, alpha=(low, high), weights="tune", n_metrics=2, **options)
        alphas = rng.choice([0.5, 1.0, 2.0, 3.0], 2)
        if rng.random() < 0.7:
            alphas[1] = alphas[0]
        ends = [
            {"alpha": float(alphas[0]), "weights": (1.0, 0.0)},
            {"alpha": float(alphas[1]), "weights": (0.0, 1.0)},
        ]
        return style, instance, family, ct.Segment(*ends)
    style, instance = drawn_instance(rng, largest, 1)
    family = ct.Linkage(kind, alpha=(low, high), **options)
    return style, instance, family, ct.Segment.coordinate("alpha", low, high)


def places_of(rng, dual, segment):
    """Where to look: random, simple and breakpoints' floats, all inside the segment."""
    found = set(rng.uniform(segment.low, segment.high, 2).tolist())
    simple = [place for place in (0.0, 0.25, 0.5, 1.0, 2.0, 3.0) if rng.random() < 0.4]
    ends = np.concatenate([dual.starts, dual.stops])
    for place in [*simple, *rng.choice(ends, min(4, len(ends)), replace=False).tolist()]:
        # Beside 0, differences of third order still have to be seen.
        unit = max(math.ulp(place), 2.0**-200)
        for step in rng.choice([-1000, -9, -2, -1, 0, 0, 1, 2, 9, 1000], 3):
            found.add(place + float(step) * unit)
    seen = (t for t in found if t == 0.0 or abs(t) > 2.0**-210)
    return sorted(t for t in seen if segment.low <= t <= segment.high)


def exact_point(instance, segment, t):
    """Rational parameters at a place of the segment."""
    found = {}
    for name, origin in segment.origin.items():
        slope = segment.direction[name]
        if name == "weights":
            pairs = zip(origin, slope, strict=True)
            found[name] = [Fraction(o) + Fraction(t) * Fraction(s) for o, s in pairs]
        else:
            found[name] = Fraction(origin) + Fraction(t) * Fraction(slope)
    found.setdefault("weights", [Fraction(1)] * instance.n_metrics)
    return found


class Campaign:
    def __init__(self):
        self.counts = collections.Counter()
        self.compared = 0
        self.wrong = 0

    def look(self, seed, largest):
        rng = np.random.default_rng(seed)
        style, instance, family, segment = drawn_problem(rng, largest)
        name = f"seed {seed}: {style}, {family!r}, {segment.origin} + t {segment.direction}"
        dual = family.dual(instance, segment)
        self.counts["instances"] += 1
        self.counts[f"undecided, {family.kind}"] += len(dual.undecided)
        for low, high in dual.undecided:
            print(f"UNDECIDED {name}: [{low!r}, {high!r}]", flush=True)
        turns = family.kind == "product" or len(instance.distances) > 1
        for t in places_of(rng, dual, segment):
            value = dual.value_at(t)
            if value is None:
                self.counts["inside a bracket"] += 1
                continue
            point = exact_point(instance, segment, t)
            labels = labels_of(
                merged(instance, family.kind, point), instance, family.objective.name
            )
            self.compared += 1
            if value != family.utility.score(instance.target, labels):
                self.wrong += 1
                print(f"WRONG {name}: function at {t!r}", flush=True)
            if turns:  # where floats of parameters may lie beside the line
                continue
            try:
                own = family.solve(instance, segment.at(t)).labels
            except UndecidedError:
                self.counts["solve undecided"] += 1
                print(f"UNDECIDED {name}: solve at {t!r}", flush=True)
                continue
            if not np.array_equal(own, labels):
                self.wrong += 1
                print(f"WRONG {name}: solve at {t!r}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--largest", type=int, default=13)
    options = parser.parse_args()
    campaign = Campaign()
    seed = options.seed * 10**6
    while time.process_time() < options.seconds:
        campaign.look(seed, options.largest)
        seed += 1
    counts = ", ".join(f"{name} {count}" for name, count in sorted(campaign.counts.items()))
    print(f"{campaign.compared} places, {campaign.wrong} wrong; {counts}")


if __name__ == "__main__":
    main()
