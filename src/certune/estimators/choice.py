"""Which estimator runs a family at one setting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from certune.errors import ParameterError
from certune.estimators.harmonic_classifier import HarmonicClassifier
from certune.estimators.linkage_clustering import LinkageClustering
from certune.families.base import Family
from certune.families.graph_ssl import HarmonicLabeling
from certune.families.linkage import ClusteringInstance, Linkage


def estimator_for(
    family: Family, params: Mapping[str, Any], instances: Sequence[Any] = ()
) -> LinkageClustering | HarmonicClassifier:
    """Return the scikit-learn estimator of a family at one setting, not fitted.

    Parameters
    ----------
    family : Family
        The family.
    params : mapping
        Values of its free parameters.
    instances : sequence, optional
        Where these agree on the metric or on the number of clusters, the estimator has it too.

    Raises
    ------
    ParameterError
        If the family has no estimator.

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
    if len({instance.k for instance in instances}) == 1:
        traits["n_clusters"] = instances[0].k
    return traits


def _common_metric(instances: Sequence[Any]) -> dict[str, Any]:
    if len({instance.metrics for instance in instances}) != 1:
        return {}
    metrics = instances[0].metrics
    return {
        "metric": list(metrics) if len(metrics) > 1 else metrics[0] if metrics else "precomputed"
    }
