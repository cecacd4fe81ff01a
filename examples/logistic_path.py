"""Choose the strength of regularisation for many small problems at once, and see why it is best.

Ten splits of the breast cancer data stand for ten clinics. The example draws the path of
coefficients of the first one, the exact validation curves of all, and their mean with its proved
optimum beside the choice of a grid, as scikit-learn's users would make it.

    python examples/logistic_path.py [folder for the pictures] [number of clinics]
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import certune as ct
from certune.families.logistic import inverse_strength

BLUE, ORANGE, GREEN, INK = "#0072B2", "#E69F00", "#009E73", "#333333"
LAM, N_SHOWN = (3e-4, 0.3), 6


def draw_coefficients(path, instance, names):
    """Coefficients of standardised columns against lam; knots of the l1 path are marked."""
    model = ct.RegularizedLogisticPath("l1", lam_range=LAM, standardize=True)
    model.fit(instance.X, instance.y)
    scale = instance.X.std(axis=0)
    lams = np.clip(np.geomspace(*LAM, 500), *LAM)
    curves = np.array([model.coefficients_at(float(lam))[0] * scale for lam in lams])
    figure = Figure(figsize=(8, 4.5), layout="constrained")
    ax = figure.add_subplot()
    shown = np.argsort(-np.abs(curves[len(lams) // 3]))[:N_SHOWN]
    for column in np.flatnonzero(np.abs(curves).max(axis=0)):
        style = {"color": "#BBBBBB", "linewidth": 0.8}
        if column in shown:
            style = {"linewidth": 2.0, "label": names[column]}
        ax.semilogx(lams, curves[:, column], **style)
    knots = model.lambdas_[1:-1]
    ax.plot(
        knots, np.zeros(knots.size), "|", color=INK, markersize=9, label="a coefficient changes"
    )
    ax.set(xlabel="lam", ylabel="coefficient", xlim=LAM)
    ax.set_title("l1 path of the first instance", loc="left", color=INK)
    ax.legend(frameon=False, fontsize=8, loc="upper right")
    figure.savefig(path, dpi=150)


def grid_choice(instances, lams):
    """The best of a few values of C by validation loss, fitted with scikit-learn."""
    means = []
    for lam in lams:
        losses = []
        for item in instances:
            strength = inverse_strength(lam, len(item.X), "l2")
            model = make_pipeline(StandardScaler(), LogisticRegression(C=strength, max_iter=10_000))
            scores = model.fit(item.X, item.y).decision_function(item.X_val)
            losses.append(np.logaddexp(0.0, -item.y_val * scores).mean())
        means.append(2.0 - np.mean(losses))
    best = int(np.argmax(means))
    return lams[best], means[best]


def draw_curves(path, result, grid):
    """All validation curves and their mean, with the optimum and the choice of the grid."""
    figure = Figure(figsize=(8, 5), layout="constrained")
    ax = figure.add_subplot()
    low, high = result.family.lam
    lams = np.clip(np.geomspace(low, high, 600), low, high)
    for number, dual in enumerate(result.duals):
        label = "single instances" if number == 0 else None
        ax.semilogx(lams, dual(lams), color="#BBBBBB", linewidth=0.9, label=label)
    ax.semilogx(lams, result.landscape(lams), color=BLUE, linewidth=2.2, label="mean")
    best = result.best_params["lam"]
    ax.plot(best, result.best_value, "o", color=ORANGE, markersize=9, zorder=5,
            label=f"optimum: {result.best_value:.6f} at lam = {best:.5f}")  # fmt: skip
    ax.plot(*grid, "s", color=GREEN, markersize=7, zorder=4,
            label=f"grid: {grid[1]:.6f} at lam = {grid[0]:.5f}")  # fmt: skip
    ax.set(xlabel="lam", ylabel="utility: 2 - validation log-loss", xlim=(low, high))
    ax.set_title(f"{result.status.name}, gap {result.gap:.1e}", loc="left", color=INK)
    ax.legend(frameon=False, loc="lower center")
    figure.savefig(path, dpi=150)


def main():
    from sklearn.datasets import load_breast_cancer

    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "certune-logistic")
    folder.mkdir(parents=True, exist_ok=True)
    instances = ct.datasets.breast_cancer_classification(
        int(sys.argv[2]) if len(sys.argv) > 2 else 10
    )
    draw_coefficients(folder / "coefficients.png", instances[0], load_breast_cancer().feature_names)

    family = ct.RegularizedLogistic("l2", lam=LAM, standardize=True)
    result = ct.tune(family, instances)
    print(result)
    print(ct.verify(result.certificate, family, instances))
    # The ten values that LogisticRegressionCV tries by default are C = 1e-4, ..., 1e4.
    strengths = np.logspace(-4, 4, 10)
    grid = grid_choice(instances, [inverse_strength(c, 120, "l2") for c in strengths])
    print(f"grid of ten: {grid[1]:.6f} at lam = {grid[0]:.6g}")
    print("ready to use:", result.best_estimator)
    draw_curves(folder / "curves.png", result, grid)
    result.plot_landscape(folder / "landscape.png")

    accuracy = ct.RegularizedLogistic("l2", lam=LAM, metric="accuracy", standardize=True)
    ct.tune(accuracy, instances).plot_landscape(folder / "accuracy.png")
    print(f"pictures in {folder}/")


if __name__ == "__main__":
    main()
