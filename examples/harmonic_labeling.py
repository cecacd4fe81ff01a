"""Which bandwidth labels handwritten digits best? Exactly, for all bandwidths at once.

Writes three pictures into the given folder (default: the current one): the accuracy of one
problem as a function of the bandwidth with all its pieces, the mean over problems with the optimal
set, and the graph of one problem at the optimum.

    python examples/harmonic_labeling.py [folder] [number of problems]
"""

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import PCA

import certune as ct

BLUE, ORANGE, GREY = "#1f6fb2", "#d9662a", "#8a8f98"


def step_curve(dual):
    """Corners of a piecewise constant function, for drawing."""
    ends = np.column_stack((dual.starts, dual.stops)).ravel()
    return ends, np.repeat(dual.values, 2)


def draw_one(dual, name, path):
    figure, axes = plt.subplots(figsize=(8, 3.6), layout="constrained")
    for low, high in dual.breakpoints:
        axes.axvline((low + high) / 2, color=GREY, lw=0.4, alpha=0.5)
    axes.plot(*step_curve(dual), color=BLUE, lw=1.6)
    axes.set(
        xscale="log",
        xlabel="bandwidth σ",
        ylabel="accuracy on unlabelled points",
        title=f"{name}: {dual.n_pieces} pieces, every breakpoint enclosed",
    )
    figure.savefig(path, dpi=150)


def draw_mean(result, path):
    figure, axes = plt.subplots(figsize=(8, 3.6), layout="constrained")
    for dual in result.duals:
        axes.plot(*step_curve(dual), color=GREY, lw=0.5, alpha=0.5)
    axes.plot(*step_curve(result.landscape), color=BLUE, lw=1.8, label="mean accuracy")
    for low, high in result.best_region:
        axes.axvspan(low, high, color=ORANGE, alpha=0.35)
    best = result.best_params["sigma"]
    axes.plot(best, result.best_value, "o", color=ORANGE, label=f"optimum σ = {best:.4g}")
    for (name, value), style in zip(result.baselines.items(), ("--", ":"), strict=True):
        axes.axhline(value, color="black", lw=0.9, ls=style, label=f"{name} {value:.3f}")
    axes.set(
        xscale="log",
        xlabel="bandwidth σ",
        ylabel="accuracy",
        title=f"{result.status.name}: mean over {len(result.duals)} problems, "
        f"best {result.best_value:.4f}",
    )
    axes.legend(loc="lower left", fontsize=8)
    figure.savefig(path, dpi=150)


def draw_graph(family, instance, sigma, path):
    labeling = family.solve(instance, sigma)
    place = PCA(2, random_state=0).fit_transform(instance.points)
    distances = instance.distances[0] + np.diag(np.full(instance.n_points, np.inf))
    weights = np.exp((distances.min(axis=1, keepdims=True) - distances) / sigma**2)
    shares = weights / weights.sum(axis=1, keepdims=True)
    figure, axes = plt.subplots(figsize=(6.5, 5.5), layout="constrained")
    for i, j in zip(*np.nonzero(shares > 0.02), strict=True):
        width = np.sqrt(shares[i, j])
        axes.plot(*place[[i, j]].T, color=GREY, lw=1.8 * width, alpha=0.8 * width, zorder=1)
    truth = np.array(instance.class_names)[instance.truth]
    for label, colour in zip(labeling.classes, (BLUE, ORANGE), strict=True):
        own = labeling.labels == label
        axes.scatter(*place[own].T, color=colour, s=26, zorder=2, label=f"labelled {label}")
    axes.scatter(
        *place[instance.labeled].T, s=110, fc="none", ec="black", lw=1.4, zorder=3, label="given"
    )
    wrong = labeling.labels != truth
    axes.scatter(*place[wrong].T, marker="x", color="red", s=60, zorder=4, label="wrong")
    axes.set(
        title=f"{instance.name} at σ = {sigma:.4g}; lines: shares of a point's edge weights",
        xticks=[],
        yticks=[],
    )
    axes.legend(fontsize=8)
    figure.savefig(path, dpi=150)


def main():
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 8
    sizes = {"n_per_class": 40, "n_labeled_per_class": 3}
    instances = ct.datasets.digits_labeling(count, **sizes)
    family = ct.HarmonicLabeling(sigma=(0.1, 5))
    result = ct.tune(family, instances)
    print(result)
    hardest = int(np.argmin(result.evaluation.utilities))
    draw_one(result.duals[hardest], instances[hardest].name, folder / "one_problem.png")
    draw_mean(result, folder / "mean.png")
    draw_graph(family, instances[hardest], result.best_params["sigma"], folder / "graph.png")
    held_out = ct.datasets.digits_labeling(count, **sizes, random_state=1)
    print(f"held out: {result.evaluate(held_out)}")


if __name__ == "__main__":
    main()
