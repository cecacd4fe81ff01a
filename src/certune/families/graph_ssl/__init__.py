"""Graph-based semi-supervised learning: the harmonic method, exact in the bandwidth."""

from __future__ import annotations

from certune.families.graph_ssl.family import HarmonicLabeling, Labeling
from certune.families.graph_ssl.instance import LabelingInstance

__all__ = ["HarmonicLabeling", "Labeling", "LabelingInstance"]
