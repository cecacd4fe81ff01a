"""Genie: single linkage that has to join small clusters while sizes are too unequal."""

from __future__ import annotations

from certune.families.genie.family import GenieClustering

__all__ = ["GenieClustering"]
