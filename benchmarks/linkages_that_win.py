"""Which linkage wins on new instances, tuned exactly or taken as it is?

Instances of real data (images, gradient histograms, drawn characters, leaves: random classes, the
same number of points of each) are tuned on and tested on apart; the sets of the clustering battery
are tuned leave-one-out. Every kind of linkage is tuned exactly in its one exponent (Genie in its
threshold), pruned by k-median as in the paper or cut plainly; "choice" takes the kind that is best
on the tuning instances. Beside them stand the defaults: single, average, complete and Ward linkage
with a plain cut, k-means, HDBSCAN, Genie at g = 0.3. Scores are the share of points in the right
cluster, for the battery the adjusted Rand index; intervals are those of paired differences from
Ward's method, means with 1.96 standard errors. A row that is clearly above the best tuned kind is
marked: there a default wins.

    python benchmarks/linkages_that_win.py DATA_FOLDER [--tuning 10] [--test 30] [--per-class 20]
                                             [--largest 1000] [--only hog]

DATA_FOLDER holds the npz files that the docs describe (docs/benchmarks/linkages-that-win.md); sets
of the battery with more than --largest points are left out.
"""

import argparse
import platform
import time
from pathlib import Path

import numpy as np
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import squareform
from sklearn.cluster import HDBSCAN, KMeans

import certune as ct

ALPHA, ENERGY_ALPHA = (-10.0, 10.0), (0.1, 4.0)


def families(utility):
    kinds = {"power-mean": ALPHA, "min-max": ALPHA, "energy": ENERGY_ALPHA}
    found = {
        f"{kind}, {objective}": ct.Linkage(kind, alpha=alpha, objective=objective, utility=utility)
        for kind, alpha in kinds.items()
        for objective in ("k-median", "cut")
    }
    return {**found, "genie": ct.GenieClustering(utility=utility)}


def cut(distances, method, k):
    """Labels of all but the last k - 1 merges."""
    n = len(distances)
    merges = linkage(squareform(distances, checks=False), method)
    members = {i: [i] for i in range(n)}
    for i, (a, b) in enumerate(merges[: n - k, :2].astype(int)):
        members[n + i] = members.pop(a) + members.pop(b)
    labels = np.empty(n, dtype=np.int64)
    for number, cluster in enumerate(members.values()):
        labels[cluster] = number
    return labels


def defaults(instance, utility):
    """Scores of what a user would have taken without tuning."""
    labels = {
        f"{method}, cut": cut(instance.distances[0], method, instance.k)
        for method in ("single", "average", "complete", "ward")
    }
    kmeans = KMeans(instance.k, n_init=10, random_state=0)
    labels["k-means"] = kmeans.fit_predict(instance.points)
    noisy = HDBSCAN(copy=True).fit_predict(instance.points)
    labels["HDBSCAN"] = np.unique(noisy, return_inverse=True)[1]
    genie = ct.GenieClustering(utility=utility)
    labels["genie, g = 0.3"] = genie.solve(instance, 0.3)
    return {name: float(genie.utility.score(instance.target, own)) for name, own in labels.items()}


def sampled(points, label, n_classes, per_class, count, rng, among=None):
    """Instances of random classes, of those that ``among`` draws if it is given."""
    found = []
    for _ in range(count):
        classes = rng.choice(among(rng) if among else np.unique(label), n_classes, replace=False)
        rows = np.concatenate(
            [
                rng.choice(own, min(per_class, len(own)), replace=False)
                for own in (np.flatnonzero(label == c) for c in classes)
            ]
        )
        found.append(ct.ClusteringInstance(points=points[rows], target=label[rows]))
    return found


def domains(folder, count, per_class):
    rng = np.random.default_rng(0)
    for name in ("mnist", "fashion_mnist"):
        data = np.load(folder / f"{name}.npz")
        for part in ("images", "hog"):
            points = data[part].reshape(len(data[part]), -1) / 255.0
            yield f"{name}, {part}", sampled(points, data["label"], 5, per_class, count, rng)
    data = np.load(folder / "omniglot.npz")
    characters = {
        a: np.unique(data["character"][data["alphabet"] == a]) for a in np.unique(data["alphabet"])
    }

    def of_one_alphabet(rng):
        return characters[rng.choice(list(characters))]

    points = data["images"].reshape(len(data["images"]), -1) / 255.0
    yield (
        "omniglot, images",
        sampled(points, data["character"], 5, per_class, count, rng, of_one_alphabet),
    )
    data = np.load(folder / "leaves100.npz")
    for view in ("view1", "view3"):
        points = data[view].astype(np.float64)
        yield f"leaves, {view}", sampled(points, data["label"], 10, 16, count, rng)


def battery(folder, largest):
    data = np.load(folder / "clustering_battery.npz")
    for name in data["names"].tolist():
        points, label = data[f"{name}/X"].astype(np.float64), data[f"{name}/y"]
        points, label = points[label > 0], label[label > 0]
        if len(points) <= largest:
            yield ct.ClusteringInstance(points=points, target=label, name=name)


def tuned_scores(family, tuning, test):
    """Value on the tuning instances, and scores of the tuned setting on the others."""
    result = ct.tune(family, tuning, progress=False)
    setting = (
        result.robust_params if result.robust_value == result.best_value else result.best_params
    )
    return result.best_value, [family.run(instance, setting) for instance in test]


def left_out_scores(family, instances):
    """The same with one instance left out after the other."""
    duals = [family.dual(instance) for instance in instances]
    values, scores = [], []
    for i, dual in enumerate(duals):
        others = ct.mean(duals[:i] + duals[i + 1 :])
        low, high = max(others.argmax(), key=lambda ends: ends[1] - ends[0])
        values.append(others.max())
        scores.append(dual(0.5 * (low + high)))
    return float(np.mean(values)), scores


def table(name, tuned, untuned):
    """Print means on new instances and paired differences from Ward's method."""
    best_kind = max(tuned, key=lambda kind: tuned[kind][0])
    rows = {kind: scores for kind, (_, scores) in tuned.items()}
    rows[f"choice ({best_kind})"] = tuned[best_kind][1]
    rows |= untuned
    ward = np.array(untuned["ward, cut"])
    best = max(np.mean(scores) for kind, (_, scores) in tuned.items())
    print(f"\n## {name} ({len(ward)} test instances)\n")
    print("| linkage | tuning | new | against Ward, 95 % |")
    print("|---|---|---|---|")
    for kind, scores in rows.items():
        difference = np.array(scores) - ward
        reach = 1.96 * difference.std(ddof=1) / np.sqrt(len(ward))
        value = f"{tuned[kind][0]:.3f}" if kind in tuned else ""
        wins = " **default wins**" if kind in untuned and np.mean(scores) > best else ""
        print(
            f"| {kind} | {value} | {np.mean(scores):.3f} | "
            f"{difference.mean():+.3f} ± {reach:.3f}{wins} |",
            flush=True,
        )


def compare_on_battery(sets):
    tuned = {
        kind: left_out_scores(family, sets) for kind, family in families("adjusted-rand").items()
    }
    reached = [defaults(instance, "adjusted-rand") for instance in sets]
    table(
        f"battery, {len(sets)} sets, leave-one-out",
        tuned,
        {kind: [row[kind] for row in reached] for kind in reached[0]},
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tuning", type=int, default=10)
    parser.add_argument("--test", type=int, default=30)
    parser.add_argument("--per-class", type=int, default=20)
    parser.add_argument("--largest", type=int, default=1000)
    parser.add_argument("--only", help="part of the name of the data, such as hog or battery")
    options = parser.parse_args()
    print(f"certune {ct.__version__}, Python {platform.python_version()}, {platform.machine()}")
    start = time.process_time()
    count = options.tuning + options.test
    wanted = options.only or ""
    for name, instances in domains(options.folder, count, options.per_class):
        if wanted not in name:
            continue
        tuning, test = instances[: options.tuning], instances[options.tuning :]
        tuned = {
            kind: tuned_scores(family, tuning, test) for kind, family in families("hamming").items()
        }
        reached = [defaults(instance, "hamming") for instance in test]
        table(name, tuned, {kind: [row[kind] for row in reached] for kind in reached[0]})
    if wanted in "battery":
        compare_on_battery(list(battery(options.folder, options.largest)))
    print(f"\n{time.process_time() - start:.0f} s of processor time")


if __name__ == "__main__":
    main()
