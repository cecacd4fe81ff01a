"""Runs on disk: journals, locks that name their owner, and stores of finished functions."""

from __future__ import annotations

from certune.runs.directory import RunDirectory
from certune.runs.journal import Journal
from certune.runs.lock import Lock

__all__ = ["Journal", "Lock", "RunDirectory"]
