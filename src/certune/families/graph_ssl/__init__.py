"""Graph-based semi-supervised learning: the harmonic method, exact in the bandwidth."""

from __future__ import annotations

from certune.families.graph_ssl.family import HarmonicLabeling
from certune.families.graph_ssl.instance import LabelingInstance
from certune.families.graph_ssl.labeling import Labeling

__all__ = ["HarmonicLabeling", "Labeling", "LabelingInstance"]
