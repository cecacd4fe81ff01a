"""Bounds on boxes against plain runs: nothing may lie above a proved bound, or below a proved one.

Random families (every kind and objective, two or three metrics, exponents on both sides of 0),
random data (blobs, grids and rounded points full of ties, whole-numbered metrics, duplicates,
mirror images), random boxes (inside, on faces of the weights, in every stratum of product linkage),
each reached by halving with what is handed on. Inside a box:

1. settings are drawn and run; their utilities must lie within the bounds of the box, those of the
   same box bounded from nothing, and, on small problems that are tuned as a whole, below the proved
   optimum;
2. settings are looked up in the decision tree of the box; where it has one answer that must be the
   utility of the plain run.

And instances without ties are tuned as a whole, and thousands of settings run at once by the greedy
algorithm of tests/oracles, in plain numpy, which shares no code with the package: none may be
better than the proved bound.

    python benchmarks/box_campaign.py [--settings 10000] [--lookups 1000] [--oracle 0] [--seed 0]

The same seed draws the same cases, so that a campaign can be cut into pieces.
"""

import argparse
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "oracles"))

from test_box_oracles import utilities

import certune as ct
from certune.box import Box
from certune.testing.boxes import random_setting

METRICS = ("euclidean", "cityblock", "chebyshev", "sqeuclidean")
SETTINGS_PER_BOX, BOXES_PER_CASE = 25, 16
SETTINGS_AT_ONCE = 4_000


def random_points(rng):
    """Return points of a random kind, and what they are called."""
    n = int(rng.integers(7, 15))
    kind = rng.choice(["blobs", "rounded", "grid", "duplicates", "mirror"])
    points = rng.normal(size=(n, 2)) + 3 * rng.integers(0, 3, (n, 1))
    if kind == "rounded":
        points = np.rint(2 * points) / 2
    elif kind == "grid":
        points = rng.integers(0, 4, (n, 2)).astype(float)
    elif kind == "duplicates":
        points[rng.integers(n, size=3)] = points[rng.integers(n, size=3)]
    elif kind == "mirror":
        points = np.rint(8 * points) / 8
        points = np.concatenate([points[: n // 2], points[: n // 2] * [-1, 1] - [32, 0]])
    return points, str(kind)


def random_family(rng, n_metrics):
    kind = str(rng.choice(["power-mean", "min-max", "energy", "product"]))
    objective = str(rng.choice(["k-median", "k-means", "k-center", "cut"]))
    utility = str(rng.choice(["hamming", "adjusted-rand"]))
    if kind == "product":
        return ct.Linkage(
            kind, alpha=[(-2.0, 3.0)] * n_metrics, objective=objective, utility=utility
        )
    low = 0.1 if kind == "energy" else float(rng.choice([-4.0, 0.25]))
    alpha = (low, float(rng.uniform(2, 8)))
    return ct.Linkage(
        kind, alpha, weights="tune", n_metrics=n_metrics, objective=objective, utility=utility
    )


def random_case(rng):
    n_metrics = int(rng.choice([2, 2, 3]))
    points, data = random_points(rng)
    metrics = tuple(str(m) for m in rng.choice(METRICS, n_metrics, replace=False))
    n = len(points)
    k = int(rng.integers(2, min(6, n - 1)))
    instance = ct.ClusteringInstance(points, metrics=metrics, target=rng.integers(0, k, n), k=k)
    return random_family(rng, n_metrics), instance, data


def random_box(family, instance, rng):
    """Halve a random stratum again and again; return the box and its bound."""
    strata = family.strata()
    box = strata[rng.integers(len(strata))]
    bound = family.bound_on_box(instance, box)
    for _ in range(int(rng.integers(1, 18))):
        if not box.edges:
            break
        edge = box.edges[int(np.argmax(bound.importance))]
        box = box.split(edge)[rng.integers(2)]
        bound = family.bound_on_box(instance, box, bound.reuse)
    return box, bound


def point_box(box, params):
    """A setting as a box without extent."""
    parts = []
    for name, part in zip(box.names, box.parts, strict=True):
        value = params[name]
        parts.append((value if isinstance(value, tuple) else (value,),) * len(part))
    return Box(box.space, tuple(parts), box.stratum)


class Campaign:
    def __init__(self, seed):
        self.seed = seed
        self.counts = Counter()

    def report(self, what, family, instance, place):
        self.counts["wrong"] += 1
        print(f"WRONG ({what}) seed {self.seed}: {family!r}\n  {instance!r}\n  {place}", flush=True)

    def settings_of(self, family, instance, rng, best):
        """Random settings in random boxes against all bounds that hold there."""
        box, bound = random_box(family, instance, rng)
        if box.is_empty:
            return
        afresh = family.bound_on_box(instance, box)
        self.counts["boxes"] += 1
        self.counts["followed"] += bound.n_outcomes is not None
        self.counts["settled"] += bound.settled
        low, high = max(bound.lower, afresh.lower), min(bound.upper, afresh.upper)
        for _ in range(SETTINGS_PER_BOX):
            params = random_setting(box, rng)
            if params is None:
                return
            value = family.run_exact(instance, params)
            self.counts["settings"] += 1
            if not low <= value <= high or (best is not None and value > best):
                self.report("bound", family, instance, (box, params, value, low, high, best))

    def lookups_of(self, family, instance, rng):
        """Random points of a box in its decision tree; answers that are unique must be right."""
        box, bound = random_box(family, instance, rng)
        anchor = bound.reuse.anchor
        if anchor is None or anchor.tree.root < 0 or box.stratum.rays or box.is_empty:
            return
        for _ in range(SETTINGS_PER_BOX):
            params = random_setting(box, rng)
            if params is None:
                return
            place = bound.reuse.problem._place(point_box(box, params), anchor.place.scale)
            seen = anchor.look(place, bound.reuse.root)
            value = family.run_exact(instance, params)
            self.counts["lookups"] += 1
            self.counts["unique"] += seen.least == seen.most
            if not seen.least <= value <= seen.most:
                self.report("decision tree", family, instance, (box, params, value))

    def oracle_of(self, rng):
        """Tune a small instance and run many settings by plain numpy."""
        kind = str(rng.choice(["power-mean", "min-max", "energy", "product"]))
        objective = str(rng.choice(["k-median", "cut"]))
        metrics = METRICS[:2]
        instance = ct.ClusteringInstance(
            rng.normal(size=(8, 3)), metrics=metrics, target=rng.integers(0, 3, 8), k=3
        )
        low, high = 0.2 if kind == "energy" else -3.0, 6.0
        shares = rng.uniform(size=(SETTINGS_AT_ONCE, 1))
        if kind == "product":
            family = ct.Linkage(kind, [(-2.0, 2.0)] * 2, objective=objective)
            settings = (rng.uniform(-2, 2, (SETTINGS_AT_ONCE, 2)), None)
        else:
            family = ct.Linkage(kind, (low, high), weights="tune", n_metrics=2, objective=objective)
            settings = (
                rng.uniform(low, high, SETTINGS_AT_ONCE),
                np.hstack([1 - shares, shares]),
            )
        result = ct.tune(family, [instance], progress=False, timeout=10)
        best = utilities(instance, kind, *settings, objective).max()
        self.counts["oracle"] += SETTINGS_AT_ONCE
        self.counts["oracle: optima proved"] += result.status is ct.Status.OPTIMAL
        self.counts["oracle: optima met"] += best >= result.upper_bound - 1e-12
        if best > result.upper_bound + 1e-12:
            self.report("oracle", family, instance, (best, result.upper_bound))

    def run(self, n_settings, n_lookups, n_oracle):
        number = 0
        while self.counts["oracle"] < n_oracle:
            self.oracle_of(np.random.default_rng([self.seed, 1, number]))
            number += 1
        number = 0
        while self.counts["settings"] < n_settings or self.counts["lookups"] < n_lookups:
            rng = np.random.default_rng([self.seed, 0, number])
            number += 1
            family, instance, data = random_case(rng)
            self.counts[f"data: {data}"] += 1
            self.counts[f"kind: {family.kind}, {family.objective.name}"] += 1
            best = None
            if number % 16 == 0 and family.space.n_free == 2:
                best = ct.tune(family, [instance], timeout=2, progress=False).upper_bound_exact
                self.counts["tuned"] += 1
            for _ in range(BOXES_PER_CASE):
                if self.counts["settings"] < n_settings:
                    self.settings_of(family, instance, rng, best)
                if self.counts["lookups"] < n_lookups:
                    self.lookups_of(family, instance, rng)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--settings", type=int, default=10_000)
    parser.add_argument("--lookups", type=int, default=1_000)
    parser.add_argument("--oracle", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    started = time.process_time()
    campaign = Campaign(options.seed)
    campaign.run(options.settings, options.lookups, options.oracle)
    counts = campaign.counts
    print(
        f"seed {options.seed}: {counts['settings']} settings in {counts['boxes']} boxes "
        f"({counts['followed']} followed, {counts['settled']} settled, {counts['tuned']} tuned), "
        f"{counts['lookups']} lookups ({counts['unique']} unique), {counts['oracle']} settings by "
        f"the oracle, {counts['wrong']} wrong, "
        f"{time.process_time() - started:.0f} s CPU"
    )
    print("  " + ", ".join(f"{k} {v}" for k, v in sorted(counts.items()) if ":" in k))
    sys.exit(counts["wrong"] > 0)


if __name__ == "__main__":
    main()
