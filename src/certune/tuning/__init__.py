"""Exact tuning: the best setting for a set of instances, and a proof that there is no better."""

from __future__ import annotations

from certune.tuning.box_certificate import BoxCertificate
from certune.tuning.box_verification import BoxVerificationReport
from certune.tuning.cell_map import cell_map
from certune.tuning.certificate import Certificate
from certune.tuning.choice import Choice
from certune.tuning.choice_certificate import ChoiceCertificate
from certune.tuning.choice_result import ChoiceResult
from certune.tuning.choice_search import ChoiceProgress
from certune.tuning.choice_verification import ChoiceVerificationReport
from certune.tuning.cost import CostEstimate, estimate_cost
from certune.tuning.evaluation import Evaluation
from certune.tuning.held_out import HeldOutEvaluation
from certune.tuning.line_result import LineTuningResult
from certune.tuning.progress import Progress, SearchProgress
from certune.tuning.result import TuningResult
from certune.tuning.schedules import Schedule, ScheduleResult, best_schedule
from certune.tuning.search import tune
from certune.tuning.space_result import SpaceTuningResult
from certune.tuning.status import Status
from certune.tuning.stored_run import StoredRun, StoredSearch, load
from certune.tuning.stream import tune_stream
from certune.tuning.stream_result import StoredStream, StreamResult
from certune.tuning.verification import VerificationReport, verify

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
