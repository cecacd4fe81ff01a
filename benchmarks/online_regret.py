"""How fast does regret fall?

Average regret over T = 10 .. 3000 on sequences of all three families, from the mean over seeds,
and the slope of its logarithm against log T. Each seed plays the same instances in another order.
Beside it: the slope of the expected regret (free of the luck of single draws), its largest quotient
with the bound of ``thm:dispersion-no-regret`` (at most 1), the slope with step sizes that do not
adapt, and what `certune.dispersion` says.

Dispersed streams, all of smoothed adversaries (densities of at most kappa):

* thresholds: an instance changes once, by half of the utility, at a place that the adversary draws
  around 2.2 or 2.8 depending on which side is better;
* planted: ten points in three clusters, where the exponent matters little;
* graphs: sixteen points of two classes, four of them labelled;
* logistic regression: twenty training points with two of five features that matter; the log-loss is
  learned on the randomised grid, the accuracy by exponential weights.

Undispersed: the adversary `halving`, for as long as floating-point numbers let it.

    python benchmarks/online_regret.py [--rounds 3000] [--seeds 5] [--only M1 graphs ...]
"""

import argparse
import os
import platform
from itertools import islice

import numpy as np

import certune as ct
from certune.online import streams

FIRST = 10


def thresholds(rng, product=False):
    def chosen(below):
        while True:
            place = float(np.clip(rng.normal(2.8 if below else 2.2, 0.4), 1.02, 3.98))
            [matrix] = streams.threshold_clustering(place, below).distances
            yield np.stack([matrix, 1.0 - np.eye(6)]) if product else matrix

    sides = [
        streams.smoothed_clustering(
            chosen(below), streams.threshold_clustering(2.0, below).target, 4.0, rng
        )
        for below in (False, True)
    ]
    while True:
        yield next(sides[int(rng.random() < 0.5)])


def planted(rng, n_metrics=1):
    target = np.arange(10) % 3
    base = 1.0 + 0.45 * (target[:, None] != target[None, :])
    return streams.smoothed_clustering(np.stack([base] * n_metrics), target, 1.0, rng)


def graphs(rng):
    truth = np.arange(16) % 2
    base = 1.0 + 0.5 * (truth[:, None] != truth[None, :])
    return streams.smoothed_labeling(base, [0, 1, 2, 3], truth, 1.0, rng)


def classification(rng):
    def chosen():
        while True:
            X = rng.normal(size=(60, 5))
            y = np.where(X[:, 0] + X[:, 1] + 1.5 * rng.normal(size=60) > 0, 1, -1)
            if np.unique(y[:20]).size == 2:
                yield ct.ClassificationInstance(X[:20], y[:20], X[20:], y[20:])

    return streams.smoothed_classification(chosen(), 4.0, rng)


def dispersed_cases():
    smooth = {"learner": "random-grid"}
    return {
        "M1 min-max, thresholds": (ct.Linkage("min-max", alpha=(1, 4)), thresholds, {}),
        "M2 power-mean, thresholds": (ct.Linkage("power-mean", alpha=(1, 4)), thresholds, {}),
        "M3 product, thresholds": (
            ct.Linkage("product", alpha=[(1, 4), 1.0]), lambda rng: thresholds(rng, True), {},
        ),
        "M1 min-max, planted": (ct.Linkage("min-max", alpha=(0.5, 5)), planted, {}),
        "M2 power-mean, planted": (ct.Linkage("power-mean", alpha=(-8, 8)), planted, {}),
        "M3 product, planted": (
            ct.Linkage("product", alpha=[(0.5, 4), 1.0]), lambda rng: planted(rng, 2), {},
        ),
        "graphs": (ct.HarmonicLabeling(sigma=(0.1, 3.0)), graphs, {}),
        "logistic l2, accuracy": (
            ct.RegularizedLogistic("l2", lam=(1e-3, 10.0), metric="accuracy"), classification, {},
        ),
        "logistic l2, log-loss": (
            ct.RegularizedLogistic("l2", lam=(1e-3, 10.0)), classification, smooth,
        ),
        "logistic l1, log-loss": (
            ct.RegularizedLogistic("l1", lam=(1e-3, 1.0)), classification, smooth,
        ),
    }  # fmt: skip


def undispersed_cases():
    l2 = ct.RegularizedLogistic("l2", lam=(0.01, 1.0), metric="accuracy")
    return {
        "M2 power-mean, halving": (
            ct.Linkage("power-mean", alpha=(1, 4)),
            streams.threshold_clustering, 1.0123, 3.9876, 36,
        ),
        "graphs, halving": (
            ct.HarmonicLabeling(sigma=(0.5, 2.0)), streams.threshold_labeling, 0.5123, 1.9876, 36,
        ),
        "logistic l2, accuracy, halving": (
            l2, streams.threshold_classification, 0.0123, 0.9876, 30,
        ),
    }  # fmt: skip


def played(family, instances, duals, n_seeds, **options):
    curves = []
    for seed in range(n_seeds):
        tuner = ct.OnlineTuner(family, random_state=seed, **options)
        for number in np.random.default_rng(seed).permutation(len(instances)).tolist():
            tuner.update(instances[number], duals[number])
        curves.append(tuner.regret_curve())
    return curves


def slope_of(curves, attribute):
    """Return numbers of rounds, average regrets and the slope of their logarithms."""
    rounds = np.array([point.n_rounds for point in curves[0]])
    kept = rounds >= FIRST
    regrets = np.mean([[getattr(point, attribute) for point in curve] for curve in curves], axis=0)
    averages = (regrets / rounds)[kept]
    return rounds[kept], averages, np.polyfit(np.log(rounds[kept]), np.log(averages), 1)[0]


def dispersed(name, family, stream, options, n_rounds, n_seeds):
    instances = list(islice(stream(np.random.default_rng(8)), n_rounds))
    duals = [family.dual(instance) for instance in instances]
    curves = played(family, instances, duals, n_seeds, **options)
    rounds, averages, slope = slope_of(curves, "value")
    expected = slope_of(curves, "expected")[2]
    largest = max(
        point.expected / point.bound for curve in curves for point in curve if point.bound
    )
    fixed = played(family, instances, duals, n_seeds, **options, schedule="anytime")
    # On the scale on which the learner draws.
    logarithmic = any(isinstance(item, ct.LogReal) for item in family.space.parameters)
    measured = ct.dispersion(duals, scale="log" if logarithmic else "linear")
    print(
        f"    {name:27s} {averages[0]:8.4f} at {rounds[0]:d} {averages[-1]:8.5f} at {rounds[-1]:d}"
        f"  slope {slope:5.2f}, expected {expected:5.2f}, not adaptive "
        f"{slope_of(fixed, 'value')[2]:5.2f}; at most {largest:.2f} of the bound; "
        f"{measured.verdict.name}, exponent {measured.exponent:.2f}",
        flush=True,
    )


def undispersed(name, family, make, low, high, n_rounds, n_seeds):
    curves = []
    for seed in range(n_seeds):
        tuner = ct.OnlineTuner(family, random_state=seed)
        for instance in islice(streams.halving(low, high, make, seed), n_rounds):
            tuner.update(instance)
        curves.append(tuner.regret_curve())
    rounds, averages, slope = slope_of(curves, "value")
    print(
        f"    {name:31s} {averages[0]:.3f} at {rounds[0]}, {averages[-1]:.3f} at {rounds[-1]}: "
        f"slope {slope:.2f}",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3000)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--only", nargs="+", default=[""], help="beginnings of names of streams")
    options = parser.parse_args()

    print(
        f"Python {platform.python_version()}, numpy {np.__version__}, "
        f"{platform.machine()}, {os.cpu_count()} cores; {options.rounds} rounds, "
        f"{options.seeds} seeds"
    )
    wanted = tuple(options.only)
    print("Average regret on dispersed streams:")
    for name, case in dispersed_cases().items():
        if name.startswith(wanted):
            dispersed(name, *case, options.rounds, options.seeds)
    print("Average regret on undispersed streams, 20 seeds:")
    for name, case in undispersed_cases().items():
        if name.startswith(wanted):
            undispersed(name, *case, 20)


if __name__ == "__main__":
    main()
