"""Exact tuning: the best setting for a set of instances, and a proof that there is no better."""

from __future__ import annotations

from certune.tuning.certificate import Certificate
from certune.tuning.evaluation import Evaluation
from certune.tuning.held_out import HeldOutEvaluation
from certune.tuning.progress import Progress
from certune.tuning.result import TuningResult
from certune.tuning.search import tune
from certune.tuning.status import Status
from certune.tuning.verification import VerificationReport, verify

__all__ = [
    "Certificate",
    "Evaluation",
    "HeldOutEvaluation",
    "Progress",
    "Status",
    "TuningResult",
    "VerificationReport",
    "tune",
    "verify",
]
