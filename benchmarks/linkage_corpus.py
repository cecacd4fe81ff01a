"""Record exact linkage functions, and compare a later version with what was recorded.

A case is made from its number alone: kind, data (blobs, grids, few distinct values, binary vectors,
duplicates, random metrics of whole numbers), number of points, line of parameters, objective and
utility. Of each one the pieces, values and enclosures of its function are kept, and the trees and
labels at a few parameters.

    python benchmarks/linkage_corpus.py record corpus.jsonl.gz [--cases 2400] [--first 0] [--step 1]
    python benchmarks/linkage_corpus.py compare corpus.jsonl.gz [--every 1]

A function agrees if its settled pieces have the same values where both are settled, and none of
its enclosures is wider than the one recorded (up to a few floats). `compare` counts how many are
equal to the bit, and prints those that differ.
"""

import argparse
import gzip
import hashlib
import json
import sys
import time
from fractions import Fraction

import numpy as np

import certune as ct

KINDS = ("power-mean", "min-max", "product")
METRICS = ("euclidean", "cityblock", "chebyshev")
DATA = ("blobs", "uniform", "grid", "few", "binary", "duplicates", "whole", "tight", "simplex")
OBJECTIVES = ("k-median", "k-means", "k-center")
UTILITIES = ("hamming", "adjusted-rand", "normalized-mutual-info")
SLACK = 4  # floats by which an enclosure may be wider


def telling(target, labels):
    """A utility that nearly every other partition changes."""
    return float((labels * (1 + np.arange(len(labels)) ** 2) + target).sum() % 97) / 97.0


def points_of(data, n, rng):
    """Points of one kind of data."""
    if data == "blobs":
        centres = rng.uniform(size=(4, 3))
        return centres[rng.integers(4, size=n)] + 0.15 * rng.normal(size=(n, 3))
    if data == "uniform":
        return rng.uniform(size=(n, 2))
    if data == "grid":
        return rng.integers(0, 2 + int(np.sqrt(n)), size=(n, 2)).astype(float)
    if data == "few":
        return rng.integers(0, 4, size=(n, 4)) / 4.0
    if data == "binary":
        return rng.integers(0, 2, size=(n, 6)).astype(float)
    if data == "duplicates":
        some = rng.normal(size=(max(2, n // 2), 2))
        return some[rng.integers(len(some), size=n)]
    if data == "tight":
        return 1.0 + 1e-6 * rng.normal(size=(n, 2))
    return rng.normal(size=(n, 3))


def whole_distances(data, n, n_metrics, rng):
    """Random metrics: whole numbers between m and 2 m satisfy the triangle inequality."""
    low = 1 if data == "simplex" else 5
    tables = []
    for _ in range(n_metrics):
        half = np.triu(rng.integers(low, 2 * low + 1, size=(n, n)), 1)
        tables.append((half + half.T).astype(float))
    return np.array(tables)


def instance_of(data, n, n_metrics, rng):
    """Instance with a random target."""
    k = int(rng.integers(1, min(n, 6) + 1))
    target = rng.integers(0, max(2, k), size=n)
    if data in ("whole", "simplex"):
        distances = whole_distances(data, n, n_metrics, rng)
        return ct.ClusteringInstance(distances=distances, target=target, k=k)
    points = points_of(data, n, rng)
    return ct.ClusteringInstance(points, target=target, k=k, metrics=METRICS[:n_metrics])


def simple(rng, low, high):
    """A number that is simple as often as not."""
    value = rng.uniform(low, high)
    return float(np.round(value)) if rng.random() < 0.5 else float(value)


def product_case(n_metrics, rng):
    """Family and line of product linkage; through vanishing exponents as often as not."""
    family = ct.Linkage("product", alpha=[(-4, 4)] * n_metrics)
    ends = [[simple(rng, -3, 3) for _ in range(n_metrics)] for _ in range(2)]
    choice = rng.integers(5)
    if choice == 0:
        ends = [[1.0] + [0.0] * (n_metrics - 1), [0.0] * (n_metrics - 1) + [1.0]]
    elif choice == 1:
        ends[1] = [-a for a in ends[0]]
    elif choice == 2:
        ends[1] = [b if i else a for i, (a, b) in enumerate(zip(*ends, strict=True))]
    if ends[0] == ends[1]:
        ends[1] = [a + 1.0 for a in ends[0]]
    start, stop = (dict(zip(family.alpha_names, end, strict=True)) for end in ends)
    return family, ct.Segment(start, stop)


def weighted_case(kind, n_metrics, rng):
    """Family and line of weights, with the exponent moving as often as not."""
    family = ct.Linkage(kind, alpha=(-6, 6), weights="tune", n_metrics=n_metrics)
    floor = 0.0 if rng.random() < 0.5 else 0.05
    weights = [floor + (1 - n_metrics * floor) * rng.dirichlet(np.ones(n_metrics)) for _ in "ab"]
    if rng.random() < 0.4:
        weights = [np.roll(np.eye(n_metrics)[0], shift) for shift in range(2)]
        weights = [0.9 * w + 0.1 / n_metrics for w in weights]
    alphas = [simple(rng, -5, 5)] * 2
    if rng.random() < 0.5:
        alphas = [simple(rng, -5, 5), simple(rng, -5, 5)]
    ends = [
        {"alpha": a, "weights": tuple(float(x) for x in w / w.sum())}
        for a, w in zip(alphas, weights, strict=True)
    ]
    return family, ct.Segment(*ends)


def case(number):
    """Family, instance, line and parameters of one case."""
    rng = np.random.default_rng([number, 20261117])
    kind = KINDS[number % 3]
    data = DATA[(number // 3) % len(DATA)]
    sizes = (2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 60)
    n = int(sizes[int(rng.integers(len(sizes)))])
    if number % 120 >= 117:
        n = (100, 200)[(number // 120) % 2]
        data = ("blobs", "uniform", "few")[(number // 120) % 3]
    n_metrics = int(rng.integers(2, 4)) if kind == "product" else int(rng.integers(1, 4))
    if n > 60:
        n_metrics = min(n_metrics, 2)
    instance = instance_of(data, n, n_metrics, rng)
    if kind == "product":
        family, segment = product_case(n_metrics, rng)
    elif n_metrics > 1 and rng.random() < 0.8:
        family, segment = weighted_case(kind, n_metrics, rng)
    else:
        high = float(rng.choice([1.0, 4.0, 10.0]))
        low = float(rng.choice([-high, 0.0, 0.5]))
        family, segment = ct.Linkage(kind, alpha=(low, high)), None
    objective = OBJECTIVES[int(rng.integers(3))]
    utility = telling if rng.random() < 0.6 else UTILITIES[int(rng.integers(3))]
    parameters = family._parameters
    family = ct.Linkage.__new__(ct.Linkage)
    other = ct.Linkage(objective=objective, utility=utility)
    family._parameters, family.objective, family.utility = (
        parameters,
        other.objective,
        other.utility,
    )
    line = family.space.default_segment() if segment is None else segment
    settings = [line.at(float(t)) for t in rng.uniform(line.low, line.high, 3)]
    return f"{kind} {data} n={n} L={n_metrics}", family, instance, segment, settings


def described(function):
    """Pieces, values and enclosures of a function, exactly."""
    return {
        "starts": [float(x).hex() for x in function.starts],
        "stops": [float(x).hex() for x in function.stops],
        "values": [int(x) for x in function.numerators],
        "lower": [int(x) for x in function.gap_lower],
        "upper": [int(x) for x in function.gap_upper],
        "denominator": int(function.denominator),
    }


def result_of(number):
    """What one case gives, or the error that it ends in."""
    name, family, instance, segment, settings = case(number)
    start = time.process_time()
    try:
        found = described(family.dual(instance, along=segment))
    except ct.CertuneError as error:
        found = {"error": type(error).__name__}
    took = time.process_time() - start
    trees = []
    for setting in settings:
        try:
            tree = family.solve(instance, setting)
            content = np.concatenate([np.asarray(tree.children).ravel(), tree.labels])
            trees.append(hashlib.sha256(content.astype(np.int64).tobytes()).hexdigest()[:16])
        except ct.CertuneError as error:
            trees.append(type(error).__name__)
    return {"case": number, "name": name, "dual": found, "trees": trees, "took": round(took, 4)}


def settled(function):
    """Rows (start, stop, value) of the pieces, and (stop, start, lower, upper) of the gaps."""
    starts, stops = ([float.fromhex(x) for x in function[side]] for side in ("starts", "stops"))
    bottom = function["denominator"]
    pieces = [
        (a, b, Fraction(v, bottom))
        for a, b, v in zip(starts, stops, function["values"], strict=True)
    ]
    rows = zip(stops, starts[1:], function["lower"], function["upper"], strict=False)
    gaps = [(a, b, Fraction(v, bottom), Fraction(w, bottom)) for a, b, v, w in rows]
    return pieces, gaps


def contradictions(one, other):
    """Places where two functions have different values for certain."""
    found, j = [], 0
    first, second = settled(one)[0], settled(other)[0]
    for a, b, value in first:
        while j < len(second) and second[j][1] < a:
            j += 1
        i = j
        while i < len(second) and second[i][0] <= b:
            if second[i][2] != value:
                found.append((max(a, second[i][0]), value, second[i][2]))
            i += 1
    return found


def open_width(function):
    """Total width of the gaps, and the number of gaps that say more than their neighbours."""
    _, gaps = settled(function)
    return sum(b - a for a, b, *_ in gaps), sum(lower < upper for *_, lower, upper in gaps)


def judged(old, new):
    """How a new function relates to the old one: equal, same, or what is wrong."""
    if old == new:
        return "equal"
    if "error" in old or "error" in new:
        return f"error {old.get('error')} -> {new.get('error')}"
    if wrong := contradictions(old, new):
        t, before, after = wrong[0]
        return f"CONTRADICTION at {t!r}: {before} -> {after}"
    (old_width, old_open), (new_width, new_open) = open_width(old), open_width(new)
    reach = max(abs(float.fromhex(x)) for x in (new["starts"][0], new["stops"][-1]))
    slack = SLACK * np.spacing(max(1.0, reach)) * (len(new["starts"]) + 1)
    if new_width > 1.5 * old_width + slack or new_open > old_open:
        return f"wider: {old_width:.3g} ({old_open} open) -> {new_width:.3g} ({new_open} open)"
    if len(old["starts"]) != len(new["starts"]):
        return f"pieces: {len(old['starts'])} -> {len(new['starts'])}"
    return "same"


def record(options):
    """Append the cases to a file."""
    with gzip.open(options.file, "wt") as out:
        for number in range(options.first, options.cases, options.step):
            out.write(json.dumps(result_of(number)) + "\n")
            out.flush()


def compare(options):
    """Compute recorded cases again; exits with 1 if an answer has changed for the worse."""
    counts, old_time, new_time, bad = {}, 0.0, 0.0, 0
    with gzip.open(options.file, "rt") as lines:
        for i, line in enumerate(lines):
            if i % options.every:
                continue
            old = json.loads(line)
            new = result_of(old["case"])
            verdict = judged(old["dual"], new["dual"])
            if old["trees"] != new["trees"]:
                verdict = f"TREES differ; function {verdict}"
            old_time, new_time = old_time + old["took"], new_time + new["took"]
            if verdict not in ("equal", "same"):
                bad += 1
                print(f"case {old['case']} ({old['name']}): {verdict}", flush=True)
                verdict = verdict.split()[0].rstrip(":")
            counts[verdict] = counts.get(verdict, 0) + 1
    print(counts, f"time {old_time:.1f} s -> {new_time:.1f} s")
    return 1 if bad else 0


def main():
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("record", "compare"))
    parser.add_argument("file")
    parser.add_argument("--cases", type=int, default=2400)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--step", type=int, default=1)
    parser.add_argument("--every", type=int, default=1)
    options = parser.parse_args()
    sys.exit({"record": record, "compare": compare}[options.what](options))


if __name__ == "__main__":
    main()
