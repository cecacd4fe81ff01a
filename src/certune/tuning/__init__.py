"""Exact tuning: the best setting for a set of instances, and a proof that there is no better."""

from __future__ import annotations

from certune.tuning.choice.choice import Choice
from certune.tuning.choice.result import ChoiceResult
from certune.tuning.choice.search import ChoiceProgress
from certune.tuning.line.result import LineTuningResult
from certune.tuning.outcome.evaluation import Evaluation
from certune.tuning.outcome.held_out import HeldOutEvaluation
from certune.tuning.outcome.result import TuningResult
from certune.tuning.proof.box_certificate import BoxCertificate
from certune.tuning.proof.box_verification import BoxVerificationReport
from certune.tuning.proof.certificate import Certificate
from certune.tuning.proof.choice_certificate import ChoiceCertificate
from certune.tuning.proof.choice_verification import ChoiceVerificationReport
from certune.tuning.proof.verification import VerificationReport, verify
from certune.tuning.schedules import Schedule, ScheduleResult, best_schedule
from certune.tuning.search import tune
from certune.tuning.space.cell_map import cell_map
from certune.tuning.space.result import SpaceTuningResult
from certune.tuning.status import Status
from certune.tuning.stored_run import StoredRun, StoredSearch, load
from certune.tuning.stream.result import StoredStream, StreamResult
from certune.tuning.stream.search import tune_stream
from certune.tuning.work.cost import CostEstimate, estimate_cost
from certune.tuning.work.progress import Progress, SearchProgress

__all__ = [
    "BoxCertificate",
    "BoxVerificationReport",
    "Certificate",
    "Choice",
    "ChoiceCertificate",
    "ChoiceProgress",
    "ChoiceResult",
    "ChoiceVerificationReport",
    "CostEstimate",
    "Evaluation",
    "HeldOutEvaluation",
    "LineTuningResult",
    "Progress",
    "Schedule",
    "ScheduleResult",
    "SearchProgress",
    "SpaceTuningResult",
    "Status",
    "StoredRun",
    "StoredSearch",
    "StoredStream",
    "StreamResult",
    "TuningResult",
    "VerificationReport",
    "best_schedule",
    "cell_map",
    "estimate_cost",
    "load",
    "tune",
    "tune_stream",
    "verify",
]
