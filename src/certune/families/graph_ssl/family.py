"""The harmonic method on a graph whose bandwidth is tuned (``sec:graph-based-SSL``).

Points are joined by edges of weight ``exp(-delta / sigma**2)``, where delta is a weighted sum of
metrics.  Soft labels are harmonic: each unlabelled point has the mean of its neighbours; the class
with the largest soft label wins.  The share of unlabelled points that are right (of those whose
truth is known) is a piecewise constant function of sigma and of the weights (``thm:pdim-graph-1``).
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from certune.box import Box
from certune.dual import PiecewiseFunction
from certune.errors import InputError, ParameterError
from certune.families.base import BoxBound, Family, Params
from certune.families.graph_ssl.boxes import BoxProblem, Reuse
from certune.families.graph_ssl.course import line_of, make_course
from certune.families.graph_ssl.graph import Graph, graph_of, weighted_sum
from certune.families.graph_ssl.harmonic import (
    Decisions,
    check_size,
    soft_labels,
    tie_winner,
    true_classes,
    winners,
)
from certune.families.graph_ssl.instance import LabelingInstance
from certune.families.graph_ssl.labeling import Labeling
from certune.families.graph_ssl.parameters import (
    bandwidth,
    bandwidth_or_range,
    count_or_none,
    flag,
    setting,
)
from certune.families.graph_ssl.sweeping import accuracy_along
from certune.families.graph_ssl.symmetry import Symmetry
from certune.families.metrics import FloatArray, checked_weights, tunes_weights
from certune.pfaffian.bounds.applications import harmonic_labeling_structure
from certune.pfaffian.structure import PiecewiseStructure
from certune.scores import Score
from certune.space import LogReal, ParameterSpace, Segment, Simplex

SKLEARN_GAMMA = 20.0
LARGEST_DISTANCE = 1e100
# How far the default range of sigma reaches beyond the distances of the data.
WIDER = 4.0


def _median(distances: FloatArray) -> float:
    """The median of some distances, 1 if it is 0 or there are none."""
    median = float(np.median(distances)) if distances.size else 0.0
    return median if median > 0 else 1.0


class HarmonicLabeling(Family):
    """Semi-supervised labelling with harmonic functions, tuned over the bandwidth.

    Parameters
    ----------
    sigma : pair or float, default (0.1, 10.0)
        Range (low, high) of the bandwidth, or a number to fix it; positive.
    weights : None, array or "tune"
        Weights of the metrics in the combined distance: uniform if None.
    n_metrics : int, optional
        Number of metrics; needed if ``weights="tune"``.
    n_neighbors : int, optional
        Join each point to this many nearest points only (nearest in the weighted metric, in the
        uniform one if the weights are tuned; all points as near as the last one are joined too). By
        default all points are joined.
    certified : bool, default True
        Whether `dual` proves that it misses nothing. If False it is a few times faster: breakpoints
        are found by adaptive interpolation, which can overlook a pair of them that lies close
        together, and `certune.tune` says that its result is not proved.

    Notes
    -----
    With two classes a point gets the second one, in sorted order, if its soft label is at least one
    half, as in the paper; with more classes the one with the largest soft label, and the lowest of
    several largest ones. Ties that hold for every bandwidth because the graph is symmetric are
    recognised; where other classes agree to thousands of bits, `solve` says so, `run` raises an
    `UndecidedError`, and a dual has an undecided interval. Points that no label can reach along the
    edges of a neighbour graph have the same soft label for each class, and get the class that wins
    ties.

    Examples
    --------
    >>> import certune as ct
    >>> instance = ct.LabelingInstance(
    ...     points=[[0.0], [1.0], [2.2], [3.0], [4.5]], labeled=[0, 4], truth=[0, 0, 0, 1, 1]
    ... )
    >>> family = ct.HarmonicLabeling(sigma=(0.2, 5.0))
    >>> family.solve(instance, 1.0).labels
    array([0, 0, 0, 0, 1])
    >>> family.dual(instance)
    PiecewiseFunction(sigma in [0.2, 5.0], 2 pieces, max 1.0)
    """

    def __init__(
        self,
        sigma: Any = (0.1, 10.0),
        weights: ArrayLike | str | None = None,
        n_metrics: int | None = None,
        n_neighbors: int | None = None,
        certified: bool = True,
    ) -> None:
        self._sigma = bandwidth_or_range(sigma)
        n_metrics = count_or_none("n_metrics", n_metrics)
        self.n_neighbors = count_or_none("n_neighbors", n_neighbors)
        self.certified = flag("certified", certified)
        self.weights: tuple[float, ...] | None = None
        self._tunes_weights = tunes_weights(weights, n_metrics)
        self.n_metrics = n_metrics
        if weights is not None and not self._tunes_weights:
            self.weights = checked_weights(weights, n_metrics)
            self.n_metrics = len(self.weights)
        parameters: list[LogReal | Simplex] = []
        if isinstance(self._sigma, tuple):
            parameters.append(LogReal("sigma", *self._sigma))
        if self._tunes_weights:
            parameters.append(Simplex("weights", n_metrics or 1))
        self._space = ParameterSpace(tuple(parameters)) if parameters else None

    @classmethod
    def for_instances(cls, instances: Sequence[LabelingInstance], **options: Any) -> Self:
        """A family whose range of sigma is taken from the data.

        It begins where a point gives its nearest neighbour, at the median of such distances, the
        weight exp(-16), and ends where points at the median distance have the weight exp(-1/16):
        below it every point follows its strongest path, above it all points count alike.

        Parameters
        ----------
        instances : sequence of LabelingInstance
            Instances to be tuned on, at least one.
        **options
            Other parameters of the family.

        Examples
        --------
        >>> import certune as ct
        >>> instance = ct.LabelingInstance(
        ...     points=[[0.0], [1.0], [2.0], [4.0], [5.0]], labeled=[0, 4], truth=[0, 0, 0, 1, 1]
        ... )
        >>> ct.HarmonicLabeling.for_instances([instance])
        HarmonicLabeling(sigma=(0.25, 10.198039027185569))
        """
        listed = list(instances)
        if not listed:
            raise InputError("got no instance; expected at least one to take the range from")
        family = cls(**options)
        if "sigma" in options:
            raise ParameterError(
                f"sigma is taken from the instances, got sigma={options['sigma']!r}: leave it out, "
                "or make the family with HarmonicLabeling(sigma=...)"
            )
        nearest, medians = [], []
        for instance in listed:
            family._check_structure(instance)
            metric = weighted_sum(np.array(family._reference(instance)), instance.distances)
            apart = np.where(metric > 0, metric, np.inf).min(axis=1)
            nearest.append(_median(apart[np.isfinite(apart)]))
            medians.append(_median(metric[np.triu_indices(instance.n_points, 1)]))
        low, high = math.sqrt(min(nearest)) / WIDER, math.sqrt(max(medians)) * WIDER
        return cls(sigma=(low, max(high, 2 * low)), **options)

    @property
    def space(self) -> ParameterSpace:
        """The free parameters and their ranges."""
        if self._space is None:
            raise ParameterError(
                f"{self!r} has no free parameter; give sigma as a range (low, high) or "
                "weights='tune'"
            )
        return self._space

    @property
    def sigma(self) -> tuple[float, float] | float:
        """Range of the bandwidth, or its fixed value."""
        return self._sigma

    @property
    def fixed_params(self) -> dict[str, Any]:
        """The parameters that are not tuned, by name."""
        fixed: dict[str, Any] = {}
        if not isinstance(self._sigma, tuple):
            fixed["sigma"] = self._sigma
        if self.weights is not None:
            fixed["weights"] = self.weights
        return fixed

    @property
    def proves_duals(self) -> bool:
        """Whether `dual` is proved; False if the family is not certified."""
        return self.certified

    def __repr__(self) -> str:
        sigma = self._sigma if isinstance(self._sigma, tuple) else repr(self._sigma)
        parts = [f"sigma={sigma}"]
        weights: Any = "tune" if self._tunes_weights else self.weights
        if weights is not None:
            parts.append(f"weights={weights!r}")
        if self.n_metrics is not None and self.weights is None:
            parts.append(f"n_metrics={self.n_metrics}")
        if self.n_neighbors is not None:
            parts.append(f"n_neighbors={self.n_neighbors}")
        if not self.certified:
            parts.append("certified=False")
        return f"HarmonicLabeling({', '.join(parts)})"

    @property
    def fingerprint(self) -> str:
        """Hash of everything that defines the family."""
        return hashlib.sha256(repr(self).encode()).hexdigest()

    @property
    def score(self) -> Score:
        """Share of the points with a known truth that get their label."""
        return Score("accuracy")

    @property
    def baselines(self) -> dict[str, dict[str, Any]]:
        """The default of scikit-learn's label propagation: exp(-20 delta)."""
        return {"scikit-learn": {"sigma": SKLEARN_GAMMA**-0.5, **self._uniform_weights()}}

    def instance_baselines(self, instance: Any) -> dict[str, dict[str, Any]]:
        """The bandwidth at which the median distance of an instance has the weight 1/e.

        It is 1 if the median distance is 0 or there is one point only.
        """
        self._check_structure(instance)
        metric = weighted_sum(np.array(self._reference(instance)), instance.distances)
        sigma = math.sqrt(_median(metric[np.triu_indices(instance.n_points, 1)]))
        return {"median distance": {"sigma": sigma, **self._uniform_weights()}}

    def _uniform_weights(self) -> dict[str, Any]:
        n = self.n_metrics or 1
        return {"weights": (1.0 / n,) * n} if self._tunes_weights else {}

    def instance_sizes(self, instance: Any) -> tuple[int, ...]:
        """Numbers of points, metrics and clusters, as far as there are any."""
        return instance.sizes if isinstance(instance, LabelingInstance) else ()

    @property
    def keeps_distances(self) -> bool:
        """Instances hold the distances of all pairs of points."""
        return True

    def check_instance(self, instance: Any) -> None:
        """Raise `InputError` if the instance does not fit this family."""
        self._check_structure(instance)
        name = instance.name or "the instance"
        if instance.truth is None:
            raise InputError(f"{name} has no truth; pass truth= to measure a utility")
        if len(instance.scored) == 0:
            raise InputError(
                f"all {instance.n_points} points of {name} are labelled, so that there is nothing "
                "to predict: leave some out of labeled="
            )

    def _check_structure(self, instance: Any) -> None:
        if not isinstance(instance, LabelingInstance):
            raise InputError(
                f"expected a LabelingInstance, got {type(instance).__name__}; make one with "
                "certune.LabelingInstance(points=..., labeled=..., truth=...)"
            )
        instance.check_metrics(self.n_metrics)
        largest = float(instance.distances.max(initial=0.0))
        if largest > LARGEST_DISTANCE:
            raise InputError(
                f"distances of {instance.name or 'the instance'} reach {largest:.3g}; expected at "
                f"most {LARGEST_DISTANCE:.0e}: change the unit of length"
            )

    def structure(
        self, n_unlabeled: int, n_labeled: int, n_metrics: int | None = None
    ) -> PiecewiseStructure:
        """Pfaffian structure of the accuracy, proved for every instance of a size.

        Parameters
        ----------
        n_unlabeled, n_labeled : int
            Numbers of points without and with a given label.
        n_metrics : int, optional
            Number of metrics of an instance, if the family does not say.

        Returns
        -------
        PiecewiseStructure
            Counts for `certune.pdim_bound` and `certune.sample_size`, for two classes and graphs
            that join all points.

        Examples
        --------
        >>> import certune as ct
        >>> ct.pdim_bound(ct.HarmonicLabeling().structure(n_unlabeled=90, n_labeled=10)).dimension
        610
        """
        if self.n_neighbors is not None:
            raise ParameterError(
                "counts are proved for graphs that join all points, got "
                f"n_neighbors={self.n_neighbors}; use a family without n_neighbors"
            )
        if n_metrics is not None and self.n_metrics not in (None, n_metrics):
            raise ParameterError(
                f"the family was made for {self.n_metrics} metric(s), got n_metrics={n_metrics}"
            )
        return harmonic_labeling_structure(
            n_unlabeled,
            n_labeled,
            self.n_metrics or n_metrics or 1,
            tuned_weights=self._tunes_weights,
        )

    def structure_of(self, instances: Sequence[Any]) -> PiecewiseStructure | None:
        """Structure for every instance with no more points and metrics than the given ones.

        All counts grow with the numbers of points. None for neighbour graphs and for more than
        two classes, about which nothing is proved.
        """
        for instance in instances:
            self._check_structure(instance)
        if not instances:
            raise InputError("got no instance; expected at least one to take the sizes from")
        if self.n_neighbors is not None or any(len(i.class_names) > 2 for i in instances):
            return None
        n_labeled = max(len(instance.labeled) for instance in instances)
        n_unlabeled = max(instance.n_points - len(instance.labeled) for instance in instances)
        structure = self.structure(n_unlabeled, n_labeled, instances[0].n_metrics)
        size = (
            f"no instance has more than {n_unlabeled} points without and {n_labeled} with a label"
        )
        return replace(structure, assumptions=(*structure.assumptions, size))

    def instance_fingerprint(self, instance: Any) -> str:
        """Hash of the instance's content."""
        return str(instance.fingerprint)

    def _reference(self, instance: LabelingInstance) -> tuple[float, ...]:
        """Weights in which neighbours are chosen, which no parameter changes."""
        return self.weights or (1.0 / instance.n_metrics,) * instance.n_metrics

    def graph(self, instance: LabelingInstance) -> Graph:
        """The graph on which labels are propagated, without weights."""
        return graph_of(instance, self.n_neighbors, np.array(self._reference(instance)))

    def _values(
        self, instance: LabelingInstance, params: Params
    ) -> tuple[float, tuple[float, ...]]:
        """Bandwidth and weights, checked; any positive sigma is allowed, not only the range."""
        values = setting(params, self._space.names if self._space else ())
        sigma = bandwidth(values["sigma"]) if "sigma" in values else self._sigma
        assert not isinstance(sigma, tuple)
        given = values.get("weights", self._reference(instance))
        return sigma, checked_weights(given, instance.n_metrics)

    def _rates(self, instance: LabelingInstance, params: Params) -> list[Fraction]:
        sigma, weights = self._values(instance, params)
        return [Fraction(weight) / Fraction(sigma) ** 2 for weight in weights]

    def solve(self, instance: LabelingInstance, params: Params) -> Labeling:
        """Soft and hard labels at one parameter.

        Parameters
        ----------
        instance : LabelingInstance
            The points; a truth is not needed, and all may be labelled.
        params : mapping or float
            Parameter values; sigma may be any positive number.

        Returns
        -------
        Labeling
            Labels of all points.
        """
        self._check_structure(instance)
        rates, graph = self._rates(instance, params), self.graph(instance)
        names = np.array(instance.class_names)
        soft = np.full((instance.n_points, graph.n_classes), 1.0 / graph.n_classes)
        columns = np.full(instance.n_points, tie_winner(range(graph.n_classes), graph.n_classes))
        soft[instance.labeled] = np.eye(graph.n_classes)[graph.class_of]
        columns[instance.labeled] = graph.class_of
        reached = np.zeros(instance.n_points, dtype=np.bool_)
        reached[instance.labeled] = reached[graph.points] = True
        undecided = np.zeros(instance.n_points, dtype=np.bool_)
        if graph.n_nodes:
            soft[graph.points] = soft_labels(graph, rates)[0][graph.place]
            decisions = winners(graph, rates, Symmetry(graph, rates))
            columns[graph.points] = decisions.classes[graph.place]
            undecided[graph.points] = decisions.undecided[graph.place]
        labels = names[graph.classes[columns]]
        return Labeling(labels, soft, names[graph.classes], reached, undecided)

    def run_exact(self, instance: LabelingInstance, params: Params) -> Fraction:
        """Share of the scored points that get their true label, as an exact rational number.

        Raises
        ------
        UndecidedError
            If two classes agree to thousands of bits, so that a label is not known.
        """
        self.check_instance(instance)
        rates, graph = self._rates(instance, params), self.graph(instance)
        true, n_always_right = true_classes(instance, graph)
        right = n_always_right
        if graph.n_nodes:
            decisions = winners(graph, rates, Symmetry(graph, rates))
            right += decisions.count_right(graph.place, true, f"the setting {params!r}")
        return Fraction(right, len(instance.scored))

    def dual(self, instance: LabelingInstance, along: Segment | None = None) -> PiecewiseFunction:
        """Utility as a function of the position on a segment of the parameter space.

        Parameters
        ----------
        instance : LabelingInstance
            Points or distances with labels and truth.
        along : Segment, optional
            Any straight line: the bandwidth alone, weights with sigma fixed, or both together. By
            default the one free parameter.

        Returns
        -------
        PiecewiseFunction
            ``dual(t)`` is the utility at ``along.at(t)``; breakpoints are enclosures, proved to be
            all if the family is certified.

        Raises
        ------
        UndecidedError
            If a label is not decided at an end of the segment; inside, that is a gap.
        """
        return self._along(instance, along, polished=True)

    def outline(self, instance: LabelingInstance, along: Segment) -> PiecewiseFunction:
        """Utility along a segment as doubles prove it; see `certune.families.base.Family.outline`.

        Breakpoints at which soft labels cross slowly have wider enclosures than in `dual`, which
        narrows them in ball arithmetic: most of the time that a large graph takes.
        """
        return self._along(instance, along, polished=False)

    @property
    def has_outline(self) -> bool:
        """Without ball arithmetic functions of large graphs take a fraction of the time."""
        return True

    def _along(
        self, instance: LabelingInstance, along: Segment | None, polished: bool
    ) -> PiecewiseFunction:
        self.check_instance(instance)
        segment = self.space.default_segment() if along is None else along
        if not isinstance(segment, Segment):
            raise ParameterError(
                f"along must be a Segment(start, stop) of parameters, got {along!r}"
            )
        graph = self.graph(instance)
        for t in (segment.low, segment.high):
            check_size(graph, self._rates(instance, segment.at(t)))
        line = line_of(segment, self._sigma, self._reference(instance))
        moves = line[0][1] != 0 or any(slope != 0 for _, slope in line[1])
        if graph.n_nodes == 0 or graph.n_classes == 1 or not moves:
            value = self.run_exact(instance, segment.at(segment.low))
            return PiecewiseFunction.constant(segment.low, segment.high, value, segment.name)
        course = make_course(*line, segment.low, segment.high)
        fixed = all(slope == 0 for _, slope in line[1])
        symmetry = Symmetry(graph, [Fraction(weight) for weight, _ in line[1]] if fixed else None)

        def winners_at(t: float) -> Decisions:
            rates = self._rates(instance, segment.at(t))
            return winners(graph, rates, symmetry if fixed else Symmetry(graph, rates))

        options = winners_at, self.certified, segment.name, polished
        return accuracy_along(graph, course, symmetry, instance, *options)

    @property
    def releases_lock(self) -> bool:
        """Kernels do, and they are most of the work."""
        return True

    @property
    def bounds_boxes(self) -> bool:
        """Soft labels have models on boxes; faces of the space need proved functions as well."""
        return self.certified

    def box_start(self, instance: LabelingInstance) -> Reuse:
        """Prepare an instance for boxes: see `certune.families.base.Family.box_start`."""
        self.check_instance(instance)
        graph = self.graph(instance)
        fixed = {"weights": self._reference(instance), "sigma": self._sigma}
        truths = true_classes(instance, graph)
        return BoxProblem(graph, *truths, len(instance.scored), fixed).start

    def bound_on_box(
        self, instance: LabelingInstance, box: Box, reuse: Reuse | None = None
    ) -> BoxBound:
        """Bound the utility on a box, from linear models of all soft labels.

        See `certune.families.base.Family.bound_on_box`; ``docs/theory/harmonic-boxes.md`` has the
        proof.
        """
        known = self.box_start(instance) if reuse is None else reuse
        return known.problem.bound(box, known)
