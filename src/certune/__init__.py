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
    "ClusteringInstance",
    "Evaluation",
    "InputError",
    "Linkage",
    "LinkageClustering",
    "LogReal",
    "ParameterError",
    "ParameterSpace",
    "PiecewiseFunction",
    "Progress",
    "Real",
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
    "mean",
    "testing",
    "tune",
    "verify",
]

if TYPE_CHECKING:
    from certune import datasets, testing
    from certune.box import Box
    from certune.dual import CellMap, PiecewiseFunction, mean
    from certune.errors import (
        CertificateError,
        CertuneError,
        InputError,
        ParameterError,
        UndecidedError,
    )
    from certune.estimators import LinkageClustering
    from certune.families.linkage import ClusteringInstance, Linkage
    from certune.space import LogReal, ParameterSpace, Real, Segment, Simplex
    from certune.tuning import (
        BoxCertificate,
        BoxVerificationReport,
        Certificate,
        Evaluation,
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
    _SUBMODULES = ("datasets", "testing")
    _NAMES_BY_MODULE = {
        "certune.box": ("Box",),
        "certune.dual": ("CellMap", "PiecewiseFunction", "mean"),
        "certune.errors": (
            "CertificateError",
            "CertuneError",
            "InputError",
            "ParameterError",
            "UndecidedError",
        ),
        "certune.estimators": ("LinkageClustering",),
        "certune.families.linkage": ("ClusteringInstance", "Linkage"),
        "certune.space": ("LogReal", "ParameterSpace", "Real", "Segment", "Simplex"),
        "certune.tuning": (
            "BoxCertificate",
            "BoxVerificationReport",
            "Certificate",
            "Evaluation",
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
