"""Schedules of solvers: one for some seconds, then the next, judged by recorded runs."""

from __future__ import annotations

from certune.families.schedules.family import SolverSchedule
from certune.families.schedules.instance import RuntimeInstance

__all__ = ["RuntimeInstance", "SolverSchedule"]
