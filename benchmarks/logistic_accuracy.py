"""Are the curves as accurate as they state? More than a hundred instances, random values of lam.

Instances are breast cancer splits, pairs of digits and synthetic data with 100 to 1000 rows and 10
to 200 columns. With l2 the reference is a textbook Newton method; with l1 it is the coordinate
descent solver behind `RegularizedLogistic.solve`, whose optimality conditions are checked here in
extended precision, from the data alone. Printed are the largest differences between curve and
reference, the largest stated error, and the largest violation of the conditions relative to lam.

    python benchmarks/logistic_accuracy.py [--points 5]
"""

import argparse
import os
import time
import warnings

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

LAM = (1e-4, 1.0)
LARGEST = 50.0


def standardised(X, y, X_val, y_val, name):
    import certune as ct

    scale = X.std(axis=0)
    scale[scale == 0] = 1.0
    centre = X.mean(axis=0)
    return ct.ClassificationInstance((X - centre) / scale, y, (X_val - centre) / scale, y_val, name)


def breast_cancer(count):
    import certune as ct

    for item in ct.datasets.breast_cancer_classification(count):
        yield standardised(item.X, item.y, item.X_val, item.y_val, item.name)


def digits(count):
    from sklearn.datasets import load_digits

    images, labels = load_digits(return_X_y=True)
    rng = np.random.default_rng(0)
    for _ in range(count):
        first, second = rng.choice(10, 2, replace=False)
        rows = rng.permutation(np.flatnonzero((labels == first) | (labels == second)))
        X, y = images[rows], labels[rows]
        yield standardised(X[:150], y[:150], X[150:300], y[150:300], f"digits {first}-{second}")


def synthetic(count):
    rng = np.random.default_rng(1)
    for _ in range(count):
        m, p = int(rng.integers(100, 1001)), int(rng.integers(10, 201))
        truth = 2 * rng.normal(size=p) * (rng.random(p) < 0.3) / np.sqrt(0.3 * p)
        X = rng.normal(size=(m + 100, p))
        y = np.where(rng.random(m + 100) < 1 / (1 + np.exp(-X @ truth)), 1, -1)
        yield standardised(X[:m], y[:m], X[m:], y[m:], f"synthetic {m} x {p}")


def newton_loss(instance, lam):
    """Validation loss of the l2 model, by Newton's method with halved steps."""
    A = np.column_stack((instance.X, np.ones(len(instance.X)))) * instance.y[:, None]
    penalty = np.append(np.full(instance.n_features, 2 * lam), 0.0)
    b = np.zeros(A.shape[1])

    def value(b):
        return np.logaddexp(0.0, -(A @ b)).mean() + b @ (penalty * b) / 2

    for _ in range(200):
        chances = 1 / (1 + np.exp(np.minimum(A @ b, 700)))
        gradient = penalty * b - A.T @ chances / len(A)
        hessian = (A.T * (chances * (1 - chances))) @ A / len(A) + np.diag(penalty)
        step, share = np.linalg.solve(hessian, gradient), 1.0
        while value(b - share * step) > value(b) + 1e-14 and share > 1e-3:
            share /= 2
        b = b - share * step
        if np.abs(step).max() <= 1e-13 * max(1.0, np.abs(b).max()):
            break
    return validation_loss(instance, b[:-1], b[-1])


def validation_loss(instance, coef, intercept):
    margins = instance.y_val * (instance.X_val @ coef + intercept)
    return float(np.logaddexp(0.0, -margins).mean())


def violation(instance, model, lam):
    """Largest violation of the optimality conditions of l1, relative to lam."""
    X, y = instance.X.astype(np.longdouble), instance.y.astype(np.longdouble)
    margins = y * (X @ model.coef.astype(np.longdouble) + np.longdouble(model.intercept))
    chances = y / (1 + np.exp(margins)) / len(y)
    gradient = -X.T @ chances
    active = model.coef != 0
    worst = [np.abs(gradient[active] + lam * np.sign(model.coef[active])).max(initial=0.0)]
    worst += [np.abs(gradient[~active]).max(initial=0.0) - lam, abs(chances.sum())]
    return float(max(worst)) / lam


def main():
    import certune as ct

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--points", type=int, default=5)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(2)
    for penalty in ("l2", "l1"):
        family = ct.RegularizedLogistic(penalty, LAM, max_loss=LARGEST)
        for kind, instances in (
            ("breast cancer", breast_cancer(40)),
            ("digits", digits(40)),
            ("synthetic", synthetic(40)),
        ):
            errors, stated, violations, took = [], [], [0.0], 0.0
            for instance in instances:
                start = time.perf_counter()
                dual = family.dual(instance)
                took += time.perf_counter() - start
                stated.append(dual.error)
                for lam in np.exp(rng.uniform(*np.log(LAM), options.points)).tolist():
                    if penalty == "l2":
                        loss = newton_loss(instance, lam)
                    else:
                        model = family.solve(instance, lam)
                        violations.append(violation(instance, model, lam))
                        loss = validation_loss(instance, model.coef, model.intercept)
                    errors.append(abs(dual(lam) - (LARGEST - loss)))
            print(
                f"{penalty} {kind:14s} {len(stated)} instances, {len(errors)} points: error "
                f"{max(errors):.1e}, stated {max(stated):.1e}, violation {max(violations):.1e}, "
                f"{took / len(stated):.3f} s a curve"
            )


if __name__ == "__main__":
    main()
