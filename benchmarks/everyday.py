"""What does an exact optimum cost beside scikit-learn's grids? Cross-validated linear models.

In one process and with one thread: estimators of `certune.linear_model` against scikit-learn's own
on grids of 100 and 20 points over the same range and the same five folds, and for the lasso against
celer and, on all points left out once, bbai, where these are installed. A row has the processor
seconds, their ratio to certune's, the exact mean cross-validation score of the parameter that was
chosen (greater is better), the score on a quarter of the data that nobody saw, and what is known
about the choice.

    python benchmarks/everyday.py [--full] [--patience SECONDS] [--only breast lasso ...]

With --full also solvers that take minutes (saga, liblinear with 100 points, lbfgs on 10^5 rows). A
fit that takes more processor seconds than the patience is stopped, and its row says so.
"""

import argparse
import os
import platform
import signal
import time
import warnings

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import sklearn
import sklearn.linear_model as grid_models
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine
from sklearn.model_selection import KFold, StratifiedKFold, train_test_split
from sklearn.preprocessing import StandardScaler

import certune.linear_model as exact_models

warnings.filterwarnings("ignore")
FOLDS = 5


def split(X, y, stratify=False):
    parts = train_test_split(X, y, test_size=0.25, random_state=0, stratify=y if stratify else None)
    scaler = StandardScaler().fit(parts[0])
    return scaler.transform(parts[0]), scaler.transform(parts[1]), parts[2], parts[3]


def breast_cancer():
    return split(*load_breast_cancer(return_X_y=True), stratify=True)


def digits():
    X, y = load_digits(return_X_y=True)
    kept = np.isin(y, (3, 8))
    return split(X[kept], (y[kept] == 8).astype(int), stratify=True)


def wine():
    return split(*load_wine(return_X_y=True), stratify=True)


def ten_digits():
    return split(*load_digits(return_X_y=True), stratify=True)


def diabetes():
    return split(*load_diabetes(return_X_y=True))


def synthetic(m, p, classes, seed=0):
    rng = np.random.default_rng(seed)
    mixing = np.eye(p) + 0.3 * rng.normal(size=(p, p)) / np.sqrt(p)
    X = rng.normal(size=(m, p)) @ mixing
    truth = rng.normal(size=p) * (rng.random(p) < min(0.3, 15 / p))
    signal = X @ truth + 2.0 * rng.normal(size=m)
    return split(X, (signal > 0).astype(int) if classes else signal, stratify=classes)


def logistic(ratio, scoring, ends):
    folds = StratifiedKFold(FOLDS)
    shared = {"scoring": scoring, "cv": folds, "l1_ratios": (ratio,)}
    yield "certune", lambda: exact_models.LogisticRegressionCV(Cs=ends, **shared), False
    solvers = ("newton-cholesky", "lbfgs") if ratio == 0.0 else ("liblinear", "saga")
    for solver in solvers:
        for n in (100, 20):
            grid = np.geomspace(*ends, n)
            slow = solver == "saga" or (solver in ("liblinear", "lbfgs") and n == 100)
            yield (
                f"{solver}, {n} points",
                lambda grid=grid, solver=solver: grid_models.LogisticRegressionCV(
                    Cs=grid,
                    solver=solver,
                    tol=1e-6,
                    max_iter=10_000,
                    use_legacy_attributes=False,
                    **shared,
                ),  # fmt: skip
                slow,
            )


def nets(name, **options):
    folds = KFold(FOLDS)
    ours, theirs = getattr(exact_models, name), getattr(grid_models, name)
    yield "certune", lambda: ours(cv=folds, **options), False
    for n in (100, 20):
        yield f"{name}, {n} points", lambda n=n: theirs(cv=folds, alphas=n, **options), False
    if name == "LassoCV":
        yield "celer, 100 points", lambda: LassoPaths(_celer_path, folds), False
        yield "skglm, 100 points", lambda: LassoPaths(_skglm_path, folds), False


class LassoPaths:
    """Cross-validation of a library's path over scikit-learn's grid of 100.

    The estimators of celer 0.7 do not start with scikit-learn 1.9, and skglm has none for folds.
    """

    def __init__(self, path, folds):
        self.path, self.folds = path, folds

    def fit(self, X, y):
        strongest = np.abs((X - X.mean(axis=0)).T @ (y - y.mean())).max() / len(y)
        alphas = strongest * np.geomspace(1.0, 1e-3, 100)
        errors = np.zeros(len(alphas))
        for train, test in self.folds.split(X):
            coefs, intercepts = self._centred_path(X[train], y[train], alphas)
            errors += ((y[test, None] - X[test] @ coefs - intercepts) ** 2).mean(axis=0)
        self.alpha_ = alphas[np.argmin(errors)]
        coefs, intercepts = self._centred_path(X, y, alphas[alphas >= self.alpha_])
        self.coef_, self.intercept_ = coefs[:, -1], intercepts[-1]
        return self

    def _centred_path(self, X, y, alphas):
        centre, level = X.mean(axis=0), y.mean()
        coefs = self.path(np.asfortranarray(X - centre), y - level, alphas)
        return coefs, level - centre @ coefs

    def predict(self, X):
        return X @ self.coef_ + self.intercept_


def _celer_path(X, y, alphas):
    from celer import celer_path

    return celer_path(X, y, "lasso", alphas=alphas, tol=1e-6)[1]


def _skglm_path(X, y, alphas):
    from skglm import Lasso

    return Lasso(fit_intercept=False, tol=1e-6).path(X, y, alphas)[1]


def ridge(ends, cv):
    yield "certune", lambda: exact_models.RidgeCV(ends, cv=cv), False
    for n in (100, 20):
        grid = np.geomspace(*ends, n)
        yield f"RidgeCV, {n} points", lambda g=grid: grid_models.RidgeCV(g, cv=cv), False


def left_out_lasso():
    from sklearn.model_selection import LeaveOneOut

    yield "certune", lambda: exact_models.LassoCV(cv=LeaveOneOut()), False
    yield "LassoCV, 100 points", lambda: grid_models.LassoCV(cv=LeaveOneOut()), False
    yield "bbai, exact", _bbai_lasso, False


def _bbai_lasso():
    from bbai.glm import Lasso

    # Held-out points keep the penalty weight, as in scikit-learn; by default bbai keeps the norm.
    return Lasso(loo_mode="lambda")


PROBLEMS = {
    "breast cancer, logistic l2": (
        breast_cancer, lambda: logistic(0.0, "neg_log_loss", (1e-3, 1e3)),
    ),
    "breast cancer, logistic l1": (
        breast_cancer, lambda: logistic(1.0, "neg_log_loss", (1e-2, 1e2)),
    ),
    "breast cancer, logistic l2, accuracy": (
        breast_cancer, lambda: logistic(0.0, "accuracy", (1e-3, 1e3)),
    ),
    "digits 3 and 8, logistic l2": (digits, lambda: logistic(0.0, "neg_log_loss", (1e-3, 1e3))),
    "wine, three classes, logistic l2": (wine, lambda: logistic(0.0, "neg_log_loss", (1e-3, 1e3))),
    "digits, ten classes, logistic l2": (
        ten_digits, lambda: logistic(0.0, "neg_log_loss", (1e-3, 1e1)),
    ),
    "diabetes, lasso": (diabetes, lambda: nets("LassoCV")),
    "diabetes, lasso, leave-one-out": (diabetes, left_out_lasso),
    "diabetes, elastic net": (diabetes, lambda: nets("ElasticNetCV", l1_ratio=0.5)),
    "diabetes, ridge, leave-one-out": (diabetes, lambda: ridge((1e-2, 1e4), None)),
    "diabetes, ridge, 5 folds": (diabetes, lambda: ridge((1e-2, 1e4), KFold(FOLDS))),
    "synthetic 100000 x 50, lasso": (
        lambda: synthetic(100_000, 50, False), lambda: nets("LassoCV"),
    ),
    "synthetic 100000 x 50, ridge, 5 folds": (
        lambda: synthetic(100_000, 50, False), lambda: ridge((1e-1, 1e6), KFold(FOLDS)),
    ),
    "synthetic 100000 x 50, logistic l2": (
        lambda: synthetic(100_000, 50, True), lambda: logistic(0.0, "neg_log_loss", (1e-6, 1.0)),
    ),
    "synthetic 100 x 1000, lasso": (lambda: synthetic(100, 1000, False), lambda: nets("LassoCV")),
    "synthetic 100 x 1000, logistic l1": (
        lambda: synthetic(100, 1000, True), lambda: logistic(1.0, "neg_log_loss", (1e-1, 1e1)),
    ),
}  # fmt: skip


def chosen(model):
    """Return the parameter that a fitted model has chosen."""
    for name in ("alpha_", "C_"):
        if hasattr(model, name):
            return float(np.ravel(getattr(model, name))[0])
    return float("nan")


def score_at(landscape, value):
    """Return the exact mean score of a choice, however accurately its finder has solved."""
    inside = landscape.low * (1 - 1e-9) <= value <= landscape.high * (1 + 1e-9)
    return float(landscape(min(max(value, landscape.low), landscape.high))) if inside else np.nan


def judged(model, X, y):
    """Return the score on held-out data: negated log-loss or squared error."""
    if hasattr(model, "classes_"):
        chances = np.clip(model.predict_proba(X), 1e-15, 1.0)
        return float(np.log(chances[np.arange(len(y)), y]).mean())
    return -float(((y - model.predict(X)) ** 2).mean())


def known(model, name):
    if name != "certune":
        return "exact" if "exact" in name else "a grid"
    return f"proved, gap {model.gap_:.1e}"


class PatienceIsOver(Exception):
    """A fit has taken more processor time than it was given."""


def timed_fit(model, X, y, patience):
    """Fit a model and return the processor seconds, or raise `PatienceIsOver`."""

    def stop(*_):
        raise PatienceIsOver

    signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, patience)
    start = time.process_time()
    try:
        model.fit(X, y)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
    return time.process_time() - start


def compare(title, make_data, make_models, full, patience):
    X, X_test, y, y_test = make_data()
    print(f"\n{title}: {X.shape[0]} x {X.shape[1]} training points")
    print(f"  {'':28}{'seconds':>9}{'ratio':>8}  {'score chosen':>14}  {'held out':>12}  known")
    base = landscape = None
    for name, make, is_slow in make_models():
        if is_slow and not full:
            continue
        try:
            if name in ("certune", "skglm, 100 points"):
                make().fit(X[:60], y[:60])  # loads the compiled core, or compiles
            model = make()
            seconds = timed_fit(model, X, y, patience)
        except PatienceIsOver:
            against = "" if base is None else f"{patience / base:8.2f}"
            print(f"  {name:27}>{patience:9.2f}{against}  not finished", flush=True)
            if name == "certune":
                return
            continue
        except Exception as error:
            print(f"  {name:28} does not run here: {type(error).__name__}: {str(error)[:70]}")
            if name == "certune":
                return  # scores of the others are read from its landscape
            continue
        if name == "certune":
            base, landscape = seconds, model.landscape_
        print(
            f"  {name:28}{seconds:9.2f}{seconds / base:8.2f}  "
            f"{score_at(landscape, chosen(model)):14.9g}  "
            f"{judged(model, X_test, y_test):12.6g}  {known(model, name)}",
            flush=True,
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--full", action="store_true", help="also solvers that take minutes")
    parser.add_argument("--patience", type=float, default=600.0, help="seconds for one fit")
    parser.add_argument("--only", nargs="+", default=[""], help="parts of problem names")
    options = parser.parse_args()
    print(
        f"Python {platform.python_version()}, numpy {np.__version__}, scikit-learn "
        f"{sklearn.__version__}, {platform.machine()}, one thread"
    )
    for title, (make_data, make_models) in PROBLEMS.items():
        if any(part in title for part in options.only):
            compare(title, make_data, make_models, options.full, options.patience)


if __name__ == "__main__":
    main()
