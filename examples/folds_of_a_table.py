"""One data set: the exact cross-validation curve of logistic regression over five folds."""

from sklearn.datasets import load_breast_cancer

import certune as ct

X, y = load_breast_cancer(return_X_y=True)
folds = ct.folds(X[:200, :8], y[:200], cv=5)
for metric in ("log-loss", "accuracy"):
    family = ct.RegularizedLogistic(lam=(1e-3, 1), metric=metric, standardize=True)
    result = ct.tune(family, folds)
    print(metric, result.best_params, result.best_score, result.status.name)
