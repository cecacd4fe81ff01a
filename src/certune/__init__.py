"""Certified algorithm configuration: exact tuning with a proof of optimality.

This module is the front door. It lists the public names and imports what is behind a name
only when the name is first used (PEP 562), so that ``import certune`` does not wait for a
compiler, a solver or a plotting library.

Examples
--------
>>> import certune as ct
>>> ct.Real("alpha", -10, 10).name
'alpha'
"""

from typing import TYPE_CHECKING

__all__ = [
    "Box",
    "BoxCertificate",
    "BoxVerificationReport",
    "CellMap",
    "Certificate",
    "CertificateError",
    "CertuneError",
    "ClassificationInstance",
    "ClusteringInstance",
    "Dispersion",
    "Evaluation",
    "GJStructure",
    "GreedyKnapsack",
    "Guarantee",
    "HarmonicClassifier",
    "HarmonicLabeling",
    "HeldOutEvaluation",
    "HomogeneousStructure",
    "InputError",
    "KnapsackInstance",
    "LabelingInstance",
    "LineTuningResult",
    "Linkage",
    "LinkageClustering",
    "LogReal",
    "NeighborInstance",
    "NeighborVoting",
    "OnlineTuner",
    "ParameterError",
    "ParameterSpace",
    "PdimBound",
    "PiecewiseFunction",
    "PiecewisePolynomial",
    "PiecewiseStructure",
    "ProgramFamily",
    "Progress",
    "Real",
    "Regret",
    "RegularizedLogistic",
    "RegularizedLogisticPath",
    "SampleSize",
    "SearchProgress",
    "Segment",
    "Simplex",
    "SpaceTuningResult",
    "Status",
    "TuningResult",
    "UndecidedError",
    "VerificationReport",
    "__version__",
    "cell_map",
    "datasets",
    "dispersion",
    "guarantees",
    "mean",
    "online",
    "pdim_bound",
    "pfaffian",
    "sample_size",
    "testing",
    "tune",
    "verify",
]

if TYPE_CHECKING:
    from certune import datasets, guarantees, online, pfaffian, testing
    from certune.box import Box
    from certune.dual import CellMap, PiecewiseFunction, PiecewisePolynomial, mean
    from certune.errors import (
        CertificateError,
        CertuneError,
        InputError,
        ParameterError,
        UndecidedError,
    )
    from certune.estimators import HarmonicClassifier, LinkageClustering, RegularizedLogisticPath
    from certune.families.graph_ssl import HarmonicLabeling, LabelingInstance
    from certune.families.linkage import ClusteringInstance, Linkage
    from certune.families.logistic import ClassificationInstance, RegularizedLogistic
    from certune.families.programs import (
        GreedyKnapsack,
        KnapsackInstance,
        NeighborInstance,
        NeighborVoting,
        ProgramFamily,
    )
    from certune.guarantees import Guarantee
    from certune.online import Dispersion, OnlineTuner, Regret, dispersion
    from certune.pfaffian.bounds import PdimBound, SampleSize, pdim_bound, sample_size
    from certune.pfaffian.structure import GJStructure, HomogeneousStructure, PiecewiseStructure
    from certune.space import LogReal, ParameterSpace, Real, Segment, Simplex
    from certune.tuning import (
        BoxCertificate,
        BoxVerificationReport,
        Certificate,
        Evaluation,
        HeldOutEvaluation,
        LineTuningResult,
        Progress,
        SearchProgress,
        SpaceTuningResult,
        Status,
        TuningResult,
        VerificationReport,
        cell_map,
        tune,
        verify,
    )

    __version__: str
else:
    # Hidden from type checkers: with a module __getattr__ they would accept any misspelt name.
    _SUBMODULES = ("datasets", "guarantees", "online", "pfaffian", "testing")
    _NAMES_BY_MODULE = {
        "certune.box": ("Box",),
        "certune.dual": (
            "CellMap",
            "PiecewiseFunction",
            "PiecewisePolynomial",
            "mean",
        ),
        "certune.errors": (
            "CertificateError",
            "CertuneError",
            "InputError",
            "ParameterError",
            "UndecidedError",
        ),
        "certune.estimators": (
            "HarmonicClassifier",
            "LinkageClustering",
            "RegularizedLogisticPath",
        ),
        "certune.families.graph_ssl": (
            "HarmonicLabeling",
            "LabelingInstance",
        ),
        "certune.families.linkage": (
            "ClusteringInstance",
            "Linkage",
        ),
        "certune.families.logistic": (
            "ClassificationInstance",
            "RegularizedLogistic",
        ),
        "certune.families.programs": (
            "GreedyKnapsack",
            "KnapsackInstance",
            "NeighborInstance",
            "NeighborVoting",
            "ProgramFamily",
        ),
        "certune.guarantees": ("Guarantee",),
        "certune.online": (
            "Dispersion",
            "OnlineTuner",
            "Regret",
            "dispersion",
        ),
        "certune.pfaffian.bounds": (
            "PdimBound",
            "SampleSize",
            "pdim_bound",
            "sample_size",
        ),
        "certune.pfaffian.structure": (
            "GJStructure",
            "HomogeneousStructure",
            "PiecewiseStructure",
        ),
        "certune.space": (
            "LogReal",
            "ParameterSpace",
            "Real",
            "Segment",
            "Simplex",
        ),
        "certune.tuning": (
            "BoxCertificate",
            "BoxVerificationReport",
            "Certificate",
            "Evaluation",
            "HeldOutEvaluation",
            "LineTuningResult",
            "Progress",
            "SearchProgress",
            "SpaceTuningResult",
            "Status",
            "TuningResult",
            "VerificationReport",
            "cell_map",
            "tune",
            "verify",
        ),
    }
    _MODULE_OF = {name: module for module, names in _NAMES_BY_MODULE.items() for name in names}

    def __getattr__(name):
        import importlib

        if name == "__version__":
            from importlib.metadata import version

            value = version("certune")
        elif name in _SUBMODULES:
            value = importlib.import_module(f"certune.{name}")
        elif name in _MODULE_OF:
            value = getattr(importlib.import_module(_MODULE_OF[name]), name)
        else:
            raise AttributeError(f"module 'certune' has no attribute {name!r}")
        globals()[name] = value
        return value

    def __dir__():
        return sorted({*globals(), *__all__})
