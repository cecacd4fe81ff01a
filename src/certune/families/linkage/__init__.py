"""Linkage clustering: instances, the family, and what its output is."""

from certune.families.linkage.family import Linkage
from certune.families.linkage.instance import ClusteringInstance
from certune.families.linkage.threshold import ThresholdLinkage
from certune.families.linkage.tree import ClusterTree
from certune.families.linkage.utility import Utility

__all__ = ["ClusterTree", "ClusteringInstance", "Linkage", "ThresholdLinkage", "Utility"]
