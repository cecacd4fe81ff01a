"""Do learned metric weights pay? Two views of handwritten digits, tuned together and checked.

Each instance is a sample of digit images with two metrics: the distance of the smoothed pixels, and
that of another representation of the same images, the directions of the strokes in four quarters.
On the training instances certune tunes the exponent of power-mean linkage and the weight of the two
metrics together, with a proved bound. On held-out instances the tuned setting is compared with
single, average and complete linkage in either metric.

    python examples/learned_weights.py [--instances 20] [--picture cells.png] [--resolution 128]
"""

import argparse

import numpy as np
from scipy.ndimage import uniform_filter
from scipy.spatial.distance import pdist
from sklearn.datasets import load_digits

import certune as ct

STANDARD = {"single": -np.inf, "average": 1.0, "complete": np.inf}


def strokes(picture):
    """Histogram of the directions of the gradient in every quarter of a picture."""
    down, right = np.gradient(picture)
    strength, direction = np.hypot(down, right), np.arctan2(down, right)
    quarters = [np.s_[i : i + 4, j : j + 4] for i in (0, 4) for j in (0, 4)]
    counts = [
        np.histogram(direction[q], bins=8, range=(-np.pi, np.pi), weights=strength[q])[0]
        for q in quarters
    ]
    histogram = np.concatenate(counts)
    return histogram / np.linalg.norm(histogram)


def two_views(rng, number, n_classes=4, n_per_class=10):
    """Return an instance; both metrics are scaled to mean 1, so that weights can be compared."""
    images, digit_of = load_digits(return_X_y=True)
    digits = rng.choice(10, n_classes, replace=False)
    chosen = np.concatenate(
        [rng.choice(np.flatnonzero(digit_of == digit), n_per_class, False) for digit in digits]
    )
    pictures = images[chosen].reshape(-1, 8, 8)
    smooth = uniform_filter(pictures, (0, 3, 3), mode="constant").reshape(len(chosen), -1)
    views = [pdist(smooth), pdist(np.array([strokes(picture) for picture in pictures]))]
    return ct.ClusteringInstance(
        distances=[view / view.mean() for view in views],
        target=digit_of[chosen],
        name=f"digits-{number}",
    )


def draw(family, training, best, path, resolution):
    """Map one instance, and the mean over all of them."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(13, 5), layout="constrained")
    mark = [(best["alpha"], best["weights"][1], "tuned")]
    ct.cell_map(family, training[:1], resolution=resolution).plot(ax=axes[0], points=mark)
    mean = ct.cell_map(family, training, resolution=resolution // 2)
    mean.plot(ax=axes[1], points=mark)
    figure.savefig(path, dpi=150)
    print(f"cell maps of one instance and of the mean: {path}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--instances", type=int, default=20)
    parser.add_argument("--held-out", type=int, default=100)
    parser.add_argument("--timeout", type=float, default=60.0)
    parser.add_argument("--picture")
    parser.add_argument("--resolution", type=int, default=128)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    training = [two_views(rng, number) for number in range(options.instances)]
    held_out = [two_views(rng, number) for number in range(options.held_out)]

    family = ct.Linkage("power-mean", alpha=(0.5, 8), weights="tune", n_metrics=2)
    result = ct.tune(family, training, timeout=options.timeout, progress=True)
    print(result)

    tuned = float(np.mean([family.run(item, result.best_params) for item in held_out]))
    print(f"\nheld-out instances: {len(held_out)}\n  tuned (alpha, weights)   {tuned:.4f}")
    best_single = 0.0
    for metric, weights in (("pixels", (1.0, 0.0)), ("strokes", (0.0, 1.0))):
        for name, alpha in STANDARD.items():
            params = {"alpha": alpha, "weights": weights}
            value = float(np.mean([family.run(item, params) for item in held_out]))
            best_single = max(best_single, value)
            print(f"  {metric:<8} {name:<15} {value:.4f}")
    verdict = "beats" if tuned > best_single else "does not beat"
    print(f"the tuned setting {verdict} the best single metric ({best_single:.4f})")

    if options.picture:
        draw(family, training, result.best_params, options.picture, options.resolution)


if __name__ == "__main__":
    main()
