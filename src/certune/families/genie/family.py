"""Genie clustering with a tunable threshold of inequality."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from certune.checks import as_float_or_nan
from certune.deadline import check_time
from certune.dual import PiecewiseFunction
from certune.errors import InputError, ParameterError
from certune.families.base import Family, Params
from certune.families.floats import last_float
from certune.families.genie.merging import Merged, merge, spanning_edges
from certune.families.linkage.company import by_points, plain_cuts
from certune.families.linkage.instance import ClusteringInstance
from certune.families.linkage.utility import Utility, utility_from
from certune.families.reach import reach
from certune.scores import Score
from certune.space import ParameterSpace, Real, Segment

DEFAULT_THRESHOLD = 0.3


class GenieClustering(Family):
    """Single linkage that joins smallest clusters while sizes are too unequal.

    Parameters
    ----------
    g : pair, default (0.0, 1.0)
        Range (low, high) of the threshold of the Gini index of cluster sizes, within [0, 1]. At 1
        this is single linkage.
    utility : {"hamming", "adjusted-rand", "normalized-mutual-info"} or callable
        As in :class:`certune.Linkage`.

    Notes
    -----
    While the index exceeds g, the shortest edge of the minimum spanning tree at a cluster of the
    smallest size is taken, otherwise the shortest one. Of equally long edges the one with the
    lowest indices counts as shorter. Gini indices are rational numbers, so that the utility is
    known exactly at every g; instances have one metric.

    Examples
    --------
    >>> import certune as ct
    >>> instance = ct.ClusteringInstance(
    ...     points=[[0.0], [1.0], [2.0], [4.0], [5.5], [9.0]], target=[0, 0, 0, 1, 1, 1]
    ... )
    >>> ct.GenieClustering().dual(instance)
    PiecewiseFunction(g in [0.0, 1.0], 2 pieces, max 1.0)
    """

    def __init__(
        self,
        g: Any = (0.0, 1.0),
        utility: str | Utility | Callable[[NDArray[np.int64], NDArray[np.int64]], Any] = "hamming",
    ) -> None:
        self._range = _range(g)
        self.utility = utility_from(utility)
        self._space = ParameterSpace((Real("g", *self._range),))

    @property
    def space(self) -> ParameterSpace:
        """The threshold and its range."""
        return self._space

    def limits(self, name: str) -> tuple[float, float]:
        """Return the values that a Gini index can have."""
        return 0.0, 1.0

    def __repr__(self) -> str:
        return f"GenieClustering(g={self._range}, utility={self.utility.name!r})"

    @property
    def fingerprint(self) -> str:
        """Hash of everything that defines the family."""
        content = f"{self!r} {reach(self.utility).digest}"
        return hashlib.sha256(content.encode()).hexdigest()

    @property
    def fingerprint_doubts(self) -> tuple[str, ...]:
        """What the utility reaches and the fingerprint cannot tell."""
        return reach(self.utility).doubts

    @property
    def score(self) -> Score:
        """The utility by the name that people know."""
        return self.utility.measure

    @property
    def utility_range(self) -> tuple[float, float]:
        """Smallest and largest value of the utility."""
        return float(self.utility.low), float(self.utility.high)

    @property
    def baselines(self) -> dict[str, dict[str, Any]]:
        """The default of the package genieclust, and single linkage."""
        return {"genie": {"g": DEFAULT_THRESHOLD}, "single": {"g": 1.0}}

    def company(self, instance: ClusteringInstance) -> dict[str, Fraction | None]:
        """Utilities of what people take: linkages with a plain cut, k-means; see `Linkage`."""
        labels: dict[str, NDArray[np.int64] | None] = {
            **plain_cuts(instance.distances[0], instance.k),
            **by_points(instance),
        }
        return {
            name: None if own is None else self.utility.score(instance.target, own)
            for name, own in labels.items()
        }

    def instance_sizes(self, instance: Any) -> tuple[int, ...]:
        """Numbers of points, metrics and clusters, as far as there are any."""
        return instance.sizes if isinstance(instance, ClusteringInstance) else ()

    @property
    def keeps_distances(self) -> bool:
        """Instances hold the distances of all pairs of points."""
        return True

    def check_instance(self, instance: Any) -> None:
        """Raise `InputError` if the instance does not fit this family."""
        self._check_structure(instance)
        if instance.target is None:
            name = instance.name or "the instance"
            raise InputError(f"{name} has no target clustering; pass target= to measure a utility")

    @staticmethod
    def _check_structure(instance: Any) -> None:
        if not isinstance(instance, ClusteringInstance):
            raise InputError(
                f"expected a ClusteringInstance, got {type(instance).__name__}; "
                "make one with certune.ClusteringInstance(points=..., target=...)"
            )
        instance.check_metrics(1)

    def instance_fingerprint(self, instance: Any) -> str:
        """Hash of the instance's content."""
        return str(instance.fingerprint)

    def solve(self, instance: ClusteringInstance, params: Params) -> NDArray[np.int64]:
        """Labels of the k clusters at one threshold.

        Parameters
        ----------
        instance : ClusteringInstance
            The points; a target is not needed.
        params : mapping or float
            The threshold.

        Returns
        -------
        int array (n,)
            Clusters, numbered in the order of their lowest member index.
        """
        self._check_structure(instance)
        edges = spanning_edges(instance.distances[0])
        return merge(edges, instance.n_points, instance.k, Fraction(_threshold(params))).labels

    def run_exact(self, instance: ClusteringInstance, params: Params) -> Fraction:
        """Utility at one threshold, as an exact rational number."""
        self.check_instance(instance)
        return self.utility.score(instance.target, self.solve(instance, params))

    def dual(self, instance: ClusteringInstance, along: Segment | None = None) -> PiecewiseFunction:
        """Utility as an exact function of the threshold, or of the position on a segment of it.

        Parameters
        ----------
        instance : ClusteringInstance
            Points or distances with a target clustering.
        along : Segment, optional
            A part of the range of g; by default all of it.

        Returns
        -------
        PiecewiseFunction
            Pieces end at the last float before a breakpoint.
        """
        self.check_instance(instance)
        segment = self.space.default_segment() if along is None else along
        if not isinstance(segment, Segment):
            raise ParameterError(f"along must be a Segment(start, stop) of g, got {along!r}")
        for t in (segment.low, segment.high):
            _threshold(segment.at(t))
        edges = spanning_edges(instance.distances[0])
        starts: list[float] = []
        stops: list[float] = []
        values: list[Fraction] = []
        t = segment.low
        while t <= segment.high:
            check_time()
            merged = merge(edges, instance.n_points, instance.k, _exact(segment, t))
            stop = _last_float(segment, t, merged)
            starts.append(t)
            stops.append(stop)
            values.append(self.utility.score(instance.target, merged.labels))
            t = math.nextafter(stop, math.inf)
        bounds = list(zip(values[:-1], values[1:], strict=True))
        lower, upper = [min(pair) for pair in bounds], [max(pair) for pair in bounds]
        return PiecewiseFunction.from_values(starts, stops, values, lower, upper, segment.name)


def _exact(segment: Segment, t: float) -> Fraction:
    """The threshold that ``segment.at(t)`` has, as a rational number."""
    return Fraction(_threshold(segment.at(t)))


def _last_float(segment: Segment, t: float, merged: Merged) -> float:
    """The last float of a segment, from t on, at which the merges stay the same.

    Settings are rounded and monotone in t.
    """

    def same(position: float) -> bool:
        threshold = _exact(segment, position)
        above = merged.start is None or merged.start <= threshold
        return above and (merged.stop is None or threshold < merged.stop)

    return last_float(t, segment.high, same)


def _range(g: Any) -> tuple[float, float]:
    try:
        low, high = map(as_float_or_nan, g)
    except (TypeError, ValueError):
        low, high = math.nan, math.nan
    if not 0.0 <= low < high <= 1.0:
        raise ParameterError(f"g must be a range (low, high) within [0, 1], got {g!r}")
    return low, high


def _threshold(params: Params) -> float:
    value: Any = params
    if isinstance(params, Mapping):
        if set(params) != {"g"}:
            raise ParameterError(f"the parameter is 'g', got {sorted(map(str, params))}")
        value = params["g"]
    try:
        number = math.nan if isinstance(value, (str, bool)) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not 0.0 <= number <= 1.0:
        raise ParameterError(f"g must be a number from 0 to 1, got {value!r}")
    return number
