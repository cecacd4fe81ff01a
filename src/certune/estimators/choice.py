"""Which estimator runs a family at one setting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from certune.errors import ParameterError
from certune.estimators.genie_clusterer import GenieClusterer
from certune.estimators.harmonic_classifier import HarmonicClassifier
from certune.estimators.linkage_clustering import LinkageClustering
from certune.families.base import Family
from certune.families.genie import GenieClustering
from certune.families.graph_ssl import HarmonicLabeling
from certune.families.linkage import ClusteringInstance, Linkage, ThresholdLinkage
from certune.families.logistic import (
    ClassificationInstance,
    RegularizedLogistic,
    inverse_strength,
)
from certune.families.regression import RegularizedRegression


def estimator_for(family: Family, params: Mapping[str, Any], instances: Sequence[Any] = ()) -> Any:
    """Return the scikit-learn estimator of a family at one setting, not fitted.

    Parameters
    ----------
    family : Family
        The family.
    params : mapping
        Values of its free parameters.
    instances : sequence, optional
        The estimator has what these agree on and it needs to know: metrics, the number of clusters
        or of training points.

    Raises
    ------
    ParameterError
        If the family has no estimator, or the instances do not agree.

    Examples
    --------
    >>> estimator_for(Linkage("min-max"), {"alpha": 2.5})
    LinkageClustering(alpha=2.5, kind='min-max')
    """
    if isinstance(family, HarmonicLabeling):
        values = {**family.fixed_params, **params}
        return HarmonicClassifier(
            sigma=float(values["sigma"]),
            weights=values.get("weights"),
            n_neighbors=family.n_neighbors,
            **_common_metric(instances),
        )
    if isinstance(family, RegularizedLogistic):
        return _logistic_regression(family, float(params[family.parameter]), instances)
    if isinstance(family, RegularizedRegression):
        return _linear_regression(family, params)
    if isinstance(family, GenieClustering):
        return GenieClusterer(g=float(params["g"]), **_common_traits(instances))
    if isinstance(family, ThresholdLinkage):
        return LinkageClustering(
            n_clusters=None,
            kind=family.kind,
            alpha={**family.fixed_params, **params}["alpha"],
            weights=family.fixed_params.get("weights"),
            objective="cut",
            cut_height=float(params["cut_height"]),
            relative=family.relative,
            **_common_metric(instances),
        )
    if not isinstance(family, Linkage):
        raise ParameterError(
            f"There is no scikit-learn estimator for {type(family).__name__}: use "
            "family.solve(instance, params)."
        )
    values = {**family.fixed_params, **params}
    alphas = tuple(float(values[name]) for name in family.alpha_names)
    return LinkageClustering(
        kind=family.kind,
        alpha=alphas if family.kind == "product" else alphas[0],
        weights=values.get("weights"),
        objective=family.objective.name,
        **_common_traits(instances),
    )


def _common_traits(instances: Sequence[ClusteringInstance]) -> dict[str, Any]:
    traits: dict[str, Any] = _common_metric(instances)
    if instances:
        traits["n_clusters"] = _agreed("n_clusters", [instance.k for instance in instances])
    return traits


def _agreed(name: str, values: Sequence[Any]) -> Any:
    """Return what all instances have; a default in its place would be a guess."""
    different = sorted(set(values), key=repr)
    if len(different) > 1:
        raise ParameterError(
            f"No estimator fits all instances, which have {name} "
            f"{', '.join(map(repr, different[:-1]))} and {different[-1]!r}: choose one and pass "
            "instances that have it, estimator_for(family, params, [instance]), or use "
            "family.solve(instance, params)."
        )
    return different[0]


def _common_metric(instances: Sequence[Any]) -> dict[str, Any]:
    if not instances:
        return {}
    _agreed("metrics", [instance.metrics for instance in instances])
    metrics = instances[0].metrics
    return {
        "metric": list(metrics) if len(metrics) > 1 else metrics[0] if metrics else "precomputed"
    }


def _logistic_regression(
    family: RegularizedLogistic, value: float, instances: Sequence[ClassificationInstance]
) -> Any:
    """Return LogisticRegression at a value of the parameter, after a StandardScaler if asked.

    For the l1 penalty saga would take very long on columns of different scales. liblinear treats
    the intercept as the coefficient of a column, which is so large here that its penalty is
    negligible.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    options: dict[str, Any] = {"solver": "newton-cholesky", "tol": 1e-10, "max_iter": 1000}
    if family.penalty == "l1":
        options = {"solver": "liblinear", "tol": 1e-9, "max_iter": 1_000_000, **_l1_option()}
        options["random_state"] = 0  # the order of its steps is random, and so are its last digits
        if family.fit_intercept:
            options["intercept_scaling"] = 1e6
    model = LogisticRegression(
        C=_common_strength(family, value, instances),
        fit_intercept=family.fit_intercept,
        **options,
    )
    if family.multi_class == "ovr" and any(instance.n_classes > 2 for instance in instances):
        model = OneVsRestClassifier(model)
    return make_pipeline(StandardScaler(), model) if family.standardize else model


def _linear_regression(family: RegularizedRegression, params: Mapping[str, Any]) -> Any:
    """Return Ridge, Lasso or ElasticNet, whose penalties have the same scale."""
    from sklearn.linear_model import ElasticNet, Lasso, Ridge

    alpha, intercept = float(params["alpha"]), family.fit_intercept
    if family.penalty == "l2":
        return Ridge(alpha=alpha, fit_intercept=intercept)
    ratio = float(params.get("l1_ratio", 1.0 if family.penalty == "l1" else family.l1_ratio))
    exact: dict[str, Any] = {"tol": 1e-10, "max_iter": 1_000_000, "fit_intercept": intercept}
    exact["positive"] = family.positive
    if ratio == 1.0:
        return Lasso(alpha=alpha, **exact)
    return ElasticNet(alpha=alpha, l1_ratio=ratio, **exact)


def _common_strength(
    family: RegularizedLogistic, value: float, instances: Sequence[ClassificationInstance]
) -> float:
    """Return scikit-learn's C; that of lam depends on the weight of the training points."""
    if family.parameter == "C":
        return value
    sizes = sorted({instance.total_weight for instance in instances})
    if len(sizes) != 1:
        raise ParameterError(
            "scikit-learn's C depends on the number of training points, and the instances have "
            f"[{', '.join(f'{size:g}' for size in sizes)}]: tune C itself, with "
            "RegularizedLogistic(C=(low, high)), which means the same on all of them."
        )
    return inverse_strength(value, sizes[0], family.penalty)


def _l1_option() -> dict[str, Any]:
    """Return how this scikit-learn is asked for the l1 penalty; 1.8 has changed it."""
    import sklearn

    major, minor = (int(part) for part in sklearn.__version__.split(".")[:2])
    return {"l1_ratio": 1.0} if (major, minor) >= (1, 8) else {"penalty": "l1"}
