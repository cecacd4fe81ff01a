"""How much does the whole curve cost? Five decades of lam against grids of 100 fits.

In one process and with one thread: the time of `RegularizedLogistic.dual` (the validation loss for
every lam, with a stated error) against warm-started grids of 100 values at tolerance 1e-8 by
scikit-learn, skglm and celer. Errors are largest differences to solutions with a proved error, at
the points of the grid, and for certune at random points. The last columns compare the optimum of
the curve with the best point of the grid. skglm and celer are optional.

    python benchmarks/logistic_path.py [--repeats 3] [--penalty l1 l2]
"""

import argparse
import importlib.util
import os
import platform
import time
import warnings

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

DECADES, GRID, TOLERANCE = 5, 100, 1e-8
LARGEST_LIBLINEAR = 50  # columns; with 200 its l1 grid takes minutes
SIZES = ((100, 10), (300, 50), (1000, 50), (1000, 200))


def synthetic(m, p, seed):
    import certune as ct

    rng = np.random.default_rng(seed)
    truth = 2 * rng.normal(size=p) * (rng.random(p) < 0.3) / np.sqrt(0.3 * p)
    X = rng.normal(size=(m + 200, p))
    y = np.where(rng.random(m + 200) < 1 / (1 + np.exp(-X @ truth)), 1, -1)
    return ct.ClassificationInstance(X[:m], y[:m], X[m:], y[m:], name=f"synthetic {m} x {p}")


def breast_cancer():
    from sklearn.preprocessing import StandardScaler

    import certune as ct

    [raw] = ct.datasets.breast_cancer_classification(1, n_train=300, n_validation=200)
    scaler = StandardScaler().fit(raw.X)
    return ct.ClassificationInstance(
        scaler.transform(raw.X), raw.y, scaler.transform(raw.X_val), raw.y_val,
        name="breast cancer 300 x 30",
    )  # fmt: skip


def timed(function, repeats):
    best, answer = np.inf, None
    for _ in range(repeats):
        start = time.perf_counter()
        answer = function()
        best = min(best, time.perf_counter() - start)
    return best, answer


def scikit_learn_grid(instance, penalty, lams, solver):
    from sklearn.linear_model import LogisticRegression

    scale = (2 if penalty == "l2" else 1) * len(instance.X)
    ratio = 1.0 if penalty == "l1" else 0.0
    model = LogisticRegression(
        solver=solver, l1_ratio=ratio, tol=TOLERANCE, warm_start=True, max_iter=100_000,
        fit_intercept=False,
    )  # fmt: skip
    losses = []
    for lam in lams:
        losses.append(
            loss(
                instance, model.set_params(C=1 / (scale * lam)).fit(instance.X, instance.y).coef_[0]
            )
        )
    return losses


def skglm_grid(instance, lams):
    from skglm import GeneralizedLinearEstimator
    from skglm.datafits import Logistic
    from skglm.penalties import L1
    from skglm.solvers import ProxNewton

    solver = ProxNewton(tol=TOLERANCE, max_iter=1000, fit_intercept=False, warm_start=True)
    model = GeneralizedLinearEstimator(Logistic(), L1(lams[0]), solver)
    losses = []
    for lam in lams:
        model.penalty = L1(lam)
        losses.append(loss(instance, np.ravel(model.fit(instance.X, instance.y).coef_)))
    return losses


def celer_grid(instance, lams):
    from celer import celer_path

    X, y = np.array(instance.X, order="F"), instance.y.copy()
    # celer minimises the sum of losses plus alpha |b|_1.
    alphas = np.asarray(lams) * len(X)
    _, coefs, _ = celer_path(X, y, pb="logreg", alphas=alphas, tol=TOLERANCE, max_iter=1000)
    return [loss(instance, coefs[:, k]) for k in range(len(lams))]


def loss(instance, coef):
    return float(np.logaddexp(0.0, -instance.y_val * (instance.X_val @ coef)).mean())


def competitors(penalty):
    if penalty == "l2":
        return {
            f"scikit-learn {solver}": lambda i, lams, s=solver: scikit_learn_grid(i, "l2", lams, s)
            for solver in ("lbfgs", "newton-cholesky", "liblinear")
        }
    found = {
        "scikit-learn liblinear": lambda i, lams: scikit_learn_grid(i, "l1", lams, "liblinear")
    }
    if importlib.util.find_spec("skglm"):
        found["skglm"] = skglm_grid
    if importlib.util.find_spec("celer"):
        found["celer"] = celer_grid
    return found


def measure(instance, penalty, repeats):
    import certune as ct

    probe = ct.RegularizedLogistic("l1", (0.1, 1.0), fit_intercept=False)
    from certune.families.logistic.support import LassoProblem

    data = probe.data(instance)
    top = LassoProblem(data.design, data.penalties).largest_lam()
    low, high = top * 10.0**-DECADES, top
    family = ct.RegularizedLogistic(penalty, (low, high), fit_intercept=False, max_loss=50.0)
    family.dual(instance)
    took, dual = timed(lambda: family.dual(instance), repeats)
    points = np.exp(np.random.default_rng(0).uniform(np.log(low), np.log(high), 25))
    error = max(abs(dual(t) - family.run(instance, t)) for t in points.tolist())
    print(f"{instance.name}, {penalty}, lam from {high:.3g} down to {low:.3g}")
    print(
        f"    {'certune, whole curve':26s} {took:8.3f} s            error {error:.1e} "
        f"(stated {dual.error:.1e}), {dual.n_pieces} pieces, best loss {50 - dual.max():.9f}"
    )
    lams = np.clip(np.geomspace(high, low, GRID), low, high).tolist()
    truth = [50.0 - dual(lam) for lam in lams]
    for name, run in competitors(penalty).items():
        if penalty == "l1" and "liblinear" in name and instance.n_features > LARGEST_LIBLINEAR:
            continue
        run(instance, lams[:3])
        grid_took, losses = timed(lambda run=run: run(instance, lams), repeats)
        grid_error = np.abs(np.array(losses) - truth).max()
        best = lams[int(np.argmin(losses))]
        print(
            f"    {name:26s} {grid_took:8.3f} s = {grid_took / took:5.1f} x  "
            f"error {grid_error:.1e}, loss at its best point {50 - dual(best):.9f}"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--penalty", nargs="+", default=["l2", "l1"], choices=["l1", "l2"])
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    import scipy
    import sklearn

    print(
        f"Python {platform.python_version()}, numpy {np.__version__}, scipy {scipy.__version__}, "
        f"scikit-learn {sklearn.__version__}, {platform.machine()}"
    )
    instances = [breast_cancer(), *(synthetic(*size, 0) for size in SIZES)]
    for penalty in options.penalty:
        for instance in instances:
            measure(instance, penalty, options.repeats)


if __name__ == "__main__":
    main()
