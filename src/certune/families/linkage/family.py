"""Linkage clustering with a tunable merge rule: M1, M2 and M3 of ``sec:linkage``, and energies.

Agglomerative clustering joins, again and again, the two nearest clusters; the tree is then pruned
to k clusters, or cut where k are left.  What "nearest" means is the parameter:

* ``"min-max"`` (M1): ``(min d^alpha + max d^alpha)^(1/alpha)``,
* ``"power-mean"`` (M2): ``(mean d^alpha)^(1/alpha)``, with single, average and complete linkage at
  alpha = -inf, 1, inf,
* ``"product"`` (M3): ``(mean prod_l delta_l^alpha_l)^(1/sum alpha)``,
* ``"energy"``: ``|A||B|/(|A|+|B|) (2 m(A,B) - m(A,A) - m(B,B))`` with m the mean of d^alpha,
  alpha > 0, which is Ward's method at alpha = 2,

where d is a weighted sum of metrics (``sec:linkage``, ``thm:pdim-clustering-1`` to
``thm:pdim-clustering-3``; the paper has no energies).  The utility is a piecewise constant function
of the parameters.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from certune.box import Box
from certune.dual import PiecewiseFunction
from certune.errors import InputError, ParameterError
from certune.families.base import LONGEST_WORD, BoxBound, Family, Params, PlaneCut
from certune.families.linkage.assembly import Looking, assemble
from certune.families.linkage.balancing import other_coordinate
from certune.families.linkage.boxes import BoxProblem, Reuse
from certune.families.linkage.closeness import close_up
from certune.families.linkage.company import by_points, plain_cuts
from certune.families.linkage.course import Course, course_at, make_course
from certune.families.linkage.heights import tree_at
from certune.families.linkage.instance import ClusteringInstance
from certune.families.linkage.lines import Line, simplified
from certune.families.linkage.objective import Objective
from certune.families.linkage.parameters import LinkageParameters
from certune.families.linkage.senses import courses_along
from certune.families.linkage.strata import product_strata
from certune.families.linkage.structure import TunedLinkage, linkage_structure
from certune.families.linkage.sweeping import Engine, solve_at
from certune.families.linkage.tree import ClusterTree
from certune.families.linkage.utility import Utility, utility_from
from certune.families.reach import reach
from certune.kernels.linkage import Pruning
from certune.pfaffian.structure import LARGEST_SIZE, PiecewiseStructure, whole_number
from certune.scores import Score
from certune.space import ParameterSpace, Segment


class Linkage(Family):
    """Linkage clustering whose merge rule is tuned.

    Parameters
    ----------
    kind : {"power-mean", "min-max", "product", "energy"}
        Which family of linkages. ``"energy"`` has Ward's method (alpha = 2) in it and is the one
        to try first; the others are those of the paper.
    alpha : pair or float, or a sequence of them
        Range (low, high) of the exponent, or a number to fix it. For ``"product"`` one entry per
        metric; for ``"energy"`` positive, for example (0.1, 4).
    weights : None, array or "tune"
        Weights of the metrics in the combined distance (not for ``"product"``): uniform if None.
    n_metrics : int, optional
        Number of metrics; needed if ``weights="tune"``.
    objective : {"k-median", "k-means", "k-center", "cut"}
        What the pruning into k clusters minimises, in a fixed reference metric (the mean of the
        instance's metrics), so that equal trees always give equal clusters. ``"cut"`` undoes the
        last k - 1 merges instead, as scipy and scikit-learn do.
    utility : str, callable or Utility
        ``"hamming"`` (share of points in the right cluster under the best matching),
        ``"adjusted-rand"``, ``"normalized-mutual-info"``, or a function
        ``f(target, labels) -> float``.

    Notes
    -----
    Ties are broken by a fixed rule: among equally near pairs of clusters, the lexicographically
    smallest sorted pair of highest member indices is joined. Identical points are joined first.
    At alpha = 0 the linkages are their limits (geometric means); product linkage with exponents
    that sum to 0 takes the limit from positive sums. Where the sum changes sign along a segment the
    order of all clusters turns round: there `dual` follows the exact line, while parameters that
    were rounded to floats may lie on its other side.

    Examples
    --------
    >>> import certune as ct
    >>> instance = ct.datasets.random_clustering(1, random_state=0)[0]
    >>> family = ct.Linkage("power-mean", alpha=(-5, 5))
    >>> dual = family.dual(instance)
    >>> dual(1.0) == family.run(instance, {"alpha": 1.0})
    True
    """

    # How trees along a line are found: followed, which is faster, or searched. Results are equal.
    _engine: Engine = "follow"

    def __init__(
        self,
        kind: str = "power-mean",
        alpha: Any = (-10.0, 10.0),
        weights: ArrayLike | str | None = None,
        n_metrics: int | None = None,
        objective: str = "k-median",
        utility: Any = "hamming",
    ) -> None:
        self._parameters = LinkageParameters.checked(kind, alpha, weights, n_metrics)
        self.objective = Objective(objective)
        self.utility: Utility = utility_from(utility)

    @property
    def kind(self) -> str:
        """Which family of linkages."""
        return self._parameters.kind

    @property
    def weights(self) -> tuple[float, ...] | None:
        """The fixed weights of the metrics, if they were given."""
        return self._parameters.weights

    @property
    def n_metrics(self) -> int | None:
        """Number of metrics, if it is known."""
        return self._parameters.n_metrics

    @property
    def alpha_names(self) -> tuple[str, ...]:
        """Names of the exponents, fixed ones included."""
        return self._parameters.alpha_names

    @property
    def space(self) -> ParameterSpace:
        """The free parameters and their ranges."""
        space = self._parameters.space
        if space is None:
            raise ParameterError(
                f"{self!r} has no free parameter; give alpha as a range (low, high) or "
                "weights='tune'"
            )
        return space

    def __repr__(self) -> str:
        alphas = [list(a) if isinstance(a, tuple) else a for a in self._parameters.alphas]
        weights: Any = "tune" if self._parameters.tunes_weights else self.weights
        parts = [repr(self.kind), f"alpha={alphas if self.kind == 'product' else alphas[0]}"]
        if weights is not None:
            parts.append(f"weights={weights!r}")
        parts += [f"objective={self.objective.name!r}", f"utility={self.utility.name!r}"]
        return f"Linkage({', '.join(parts)})"

    @property
    def fingerprint(self) -> str:
        """Hash of everything that defines the family.

        A user's utility function counts by everything that it can reach.
        """
        content = f"{self!r} n_metrics={self.n_metrics} {reach(self.utility).digest}"
        return hashlib.sha256(content.encode()).hexdigest()

    @property
    def fingerprint_doubts(self) -> tuple[str, ...]:
        """What the utility reaches and the fingerprint cannot tell."""
        return reach(self.utility).doubts

    @property
    def description(self) -> dict[str, Any]:
        """What defines the family, as JSON data; a user's utility function by its name."""
        weights = list(self.weights) if self.weights is not None else None
        return {
            "family": "Linkage",
            "kind": self.kind,
            "alpha": [list(a) if isinstance(a, tuple) else str(a) for a in self._parameters.alphas],
            "weights": "tune" if self._parameters.tunes_weights else weights,
            "n_metrics": self.n_metrics,
            "objective": self.objective.name,
            "utility": self.utility.name[:LONGEST_WORD],
            "utility_range": list(self.utility_range),
        }

    @property
    def fixed_params(self) -> dict[str, Any]:
        """The parameters that are not tuned, by name."""
        fixed: dict[str, Any] = dict(self._parameters.fixed_exponents)
        if self.weights is not None:
            fixed["weights"] = self.weights
        return fixed

    @property
    def score(self) -> Score:
        """The utility by the name that people know."""
        return self.utility.measure

    @property
    def utility_range(self) -> tuple[float, float]:
        """Smallest and largest value of the utility."""
        return float(self.utility.low), float(self.utility.high)

    def limits(self, name: str) -> tuple[float, float]:
        """Return between which values a parameter has a meaning; exponents of energies are > 0."""
        return (0.0, math.inf) if self.kind == "energy" else (-math.inf, math.inf)

    @property
    def baselines(self) -> dict[str, dict[str, Any]]:
        """Single, average and complete linkage; Ward's method (alpha = 2) among energies.

        With weights to tune the metrics count equally. Product linkage uses every metric equally,
        for which there is no finite single or complete linkage: only ``"average"`` is given.
        """
        return self._parameters.baselines

    def company(self, instance: ClusteringInstance) -> dict[str, Fraction | None]:
        """Utilities of what people take: linkages with a plain cut, k-means.

        Genie and HDBSCAN are asked where the packages genieclust and hdbscan are installed. With
        weights to tune the metrics count equally. Linkages that are among the `baselines`
        already are left out.
        """
        distances = instance.distances[0]
        if instance.n_metrics > 1:
            weights = self._parameters.weights_of(instance.n_metrics)
            distances = np.tensordot(np.array(weights), instance.distances, axes=1)
        labels: dict[str, NDArray[np.int64] | None] = {
            **plain_cuts(distances, instance.k),
            **by_points(instance),
        }
        known = self.baselines if self.objective.name == "cut" else {}
        wanted = {
            name: own for name, own in labels.items() if name.removesuffix(" (cut)") not in known
        }
        partitions = [own for own in wanted.values() if own is not None]
        numerators, denominator = self.utility.scores(instance.target, np.array(partitions))
        scores = iter(numerators)
        return {
            name: None if own is None else Fraction(next(scores), denominator)
            for name, own in wanted.items()
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
        self.check_points(instance)
        name = instance.name or "the instance"
        if instance.target is None:
            raise InputError(f"{name} has no target clustering; pass target= to measure a utility")
        _ = instance.distances

    def check_points(self, instance: Any) -> None:
        """Raise `InputError` if the instance cannot even be clustered."""
        if not isinstance(instance, ClusteringInstance):
            raise InputError(
                f"expected a ClusteringInstance, got {type(instance).__name__}; "
                "make one with certune.ClusteringInstance(points=..., target=...)"
            )
        instance.check_metrics(self.n_metrics)

    def structure(self, n: int, n_metrics: int | None = None) -> PiecewiseStructure:
        """Pfaffian structure of the utility, proved for every instance of n points.

        Parameters
        ----------
        n : int
            Number of points of an instance, at least 3 (fewer have just one tree).
        n_metrics : int, optional
            Number of metrics of an instance, if the family does not say.

        Returns
        -------
        PiecewiseStructure
            Counts for `certune.pdim_bound` and `certune.sample_size`.

        Examples
        --------
        >>> import certune as ct
        >>> family = ct.Linkage("min-max", weights="tune", n_metrics=3)
        >>> [count.chain_length for count in family.structure(n=100).predicates]
        [10, 7]
        """
        if n_metrics is not None and self.n_metrics not in (None, n_metrics):
            raise ParameterError(
                f"the family was made for {self.n_metrics} metric(s), got n_metrics={n_metrics}"
            )
        tuned = TunedLinkage(
            kind=self.kind,
            n_metrics=self.n_metrics or whole_number("n_metrics", n_metrics or 1, 1),
            n_exponents=sum(p.n_free for p in self.space.parameters if p.name != "weights"),
            tuned_weights=self._parameters.tunes_weights,
            hamming=self.utility == utility_from("hamming"),
            plain_cut=self.objective.name == "cut",
        )
        return linkage_structure(tuned, whole_number("n", n, 3, LARGEST_SIZE))

    def structure_of(self, instances: Sequence[Any]) -> PiecewiseStructure | None:
        """Structure for every instance with no more points and metrics than the given ones.

        All counts grow with the number of points and of metrics. None if no instance has three
        points, since there is only one tree then.
        """
        n = max(instance.n_points for instance in instances)
        if n < 3:
            return None
        n_metrics = max(instance.n_metrics for instance in instances)
        structure = self.structure(n, n_metrics)
        size = f"no instance has more than {n} points or {n_metrics} metric(s)"
        return replace(structure, assumptions=(*structure.assumptions, size))

    def instance_fingerprint(self, instance: Any) -> str:
        """Hash of the instance's content."""
        return str(instance.fingerprint)

    def _values(self, instance: ClusteringInstance, params: Params) -> dict[str, Any]:
        if not isinstance(params, Mapping):
            free = list(self._parameters.ranges)
            if self._parameters.tunes_weights or len(free) != 1:
                raise ParameterError(
                    f"got {params!r}; expected a mapping with the free parameters "
                    f"{self.space.names}"
                )
            params = {free[0]: params}
        return self._parameters.values(params, instance.n_metrics)

    def _course_at(self, instance: ClusteringInstance, params: Params) -> Course:
        values = self._values(instance, params)
        line = self._parameters.line_at(instance.n_metrics, values)
        return make_course(instance, line, 0.0, 0.0)

    def _pruning(self, instance: ClusteringInstance) -> Pruning:
        name = self.objective.name
        if name not in instance.references:
            instance.references[name] = self.objective.reference_matrix(instance)
        return Pruning(self.objective.code, instance.references[name], instance.k)

    def solve(self, instance: ClusteringInstance, params: Params) -> ClusterTree:
        """Cluster tree and clusters at one parameter.

        Parameters
        ----------
        instance : ClusteringInstance
            The points; a target is not needed.
        params : mapping or float
            Parameter values; alpha may be any real number or ±inf.

        Returns
        -------
        ClusterTree
            The tree (scipy's and scikit-learn's conventions) and the labels of its best pruning.
        """
        self.check_points(instance)
        course = self._course_at(instance, params)
        return tree_at(course, *solve_at(course, self._pruning(instance)))

    def run_exact(self, instance: ClusteringInstance, params: Params) -> Fraction:
        """Utility at one parameter, as an exact rational number."""
        self.check_instance(instance)
        return self._run_at(self._course_at(instance, params))

    def _run_at(self, course: Course) -> Fraction:
        _, _, labels = solve_at(course, self._pruning(course.instance))
        [numerator], denominator = self.utility.scores(course.instance.target, labels[None])
        return Fraction(numerator, denominator)

    def dual(self, instance: ClusteringInstance, along: Segment | None = None) -> PiecewiseFunction:
        """Utility as an exact function of the position on a segment of the parameter space.

        Parameters
        ----------
        instance : ClusteringInstance
            Points or distances with a target clustering.
        along : Segment, optional
            Any straight line: alpha alone, one weight with alpha fixed, alpha and weights
            together, a line in the exponents of product linkage. By default the one free
            parameter.

        Returns
        -------
        PiecewiseFunction
            ``dual(t)`` is the utility at ``along.at(t)``; breakpoints are enclosures.
        """
        self.check_instance(instance)
        segment = self.space.default_segment() if along is None else along
        if not isinstance(segment, Segment):
            raise ParameterError(
                f"along must be a Segment(start, stop) of parameters, got {along!r}"
            )
        name = segment.name
        for t in (segment.low, segment.high):
            self._values(instance, segment.at(t))
        line = self._parameters.line(instance.n_metrics, segment.origin, segment.direction)

        def value_at(t: float | Fraction) -> Fraction:
            if not line.product:
                return self.run_exact(instance, segment.at(float(t)))
            place = Fraction(t)
            exponents = line.exponents(place)
            if not any(exponents):
                return self.run_exact(instance, dict.fromkeys(segment.origin, 0.0))
            course = self._course_at(instance, segment.at(float(t)))
            if course.line.exponents(course.position) != exponents:
                # They were rounded; next to a tie that counts.
                course = course_at(instance, line, place)
            return self._run_at(course)

        return self._dual_along(instance, line, (segment.low, segment.high), value_at, name)

    def _dual_along(
        self,
        instance: ClusteringInstance,
        line: Line,
        ends: tuple[float, float],
        value_at: Callable[[float | Fraction], Fraction],
        name: str,
    ) -> PiecewiseFunction:
        """Utility along a line; ``value_at`` is the plain algorithm at one place of it."""
        if instance.n_distinct <= 2 or instance.k == instance.n_points or not line.moves:
            return PiecewiseFunction.constant(*ends, value_at(ends[0]), name=name)
        other = other_coordinate(instance, line, *ends)
        if other is None:
            looking = Looking(self._engine, self._closer_look(instance, line, name), name)
            return self._dual_on(instance, line, ends, value_at, looking)

        def value_at_place(s: float | Fraction) -> Fraction:
            t = simplified(other.place(s))
            if isinstance(t, float):
                return value_at(t)
            return self._run_at(make_course(instance, other.at(s), 0.0, 0.0))

        looking = Looking(self._engine, name=name)
        function = self._dual_on(instance, other.line, (0.0, other.length), value_at_place, looking)
        return other.carried_back(function, name)

    def _closer_look(
        self, instance: ClusteringInstance, line: Line, name: str
    ) -> Callable[[float, float], PiecewiseFunction | None] | None:
        """What finds the utility on a narrow window, if near ties there can be told apart."""
        fixed = not any(slope for _, slope in line.weights)
        if line.product or line.infinite or not fixed or instance.n_metrics > 1:
            return None
        return lambda low, high: self._closely(instance, line, low, high, name)

    def _dual_on(
        self,
        instance: ClusteringInstance,
        line: Line,
        ends: tuple[float, float],
        value_at: Callable[[float | Fraction], Fraction],
        looking: Looking,
    ) -> PiecewiseFunction:
        """Utility along a line that moves; ``value_at`` is the plain algorithm at one place."""
        courses, special = courses_along(instance, line, *ends)
        return assemble(
            courses,
            self._pruning(instance),
            lambda partitions: self.utility.scores(instance.target, partitions),
            value_at,
            (self.utility.low, self.utility.high),
            special,
            looking,
        )

    def _closely(
        self, instance: ClusteringInstance, line: Line, low: float, high: float, name: str
    ) -> PiecewiseFunction | None:
        """Utility on a narrow window of a line on which alpha alone moves."""
        view = close_up(line, low, high)
        if view is None:
            return None

        def value_at(s: float | Fraction) -> Fraction:
            return self._run_at(make_course(instance, view.at(s), 0.0, 0.0))

        looking = Looking("search", name=name)
        function = self._dual_on(instance, view.line, view.ends, value_at, looking)
        return view.carried_back(function, name)

    @property
    def releases_lock(self) -> bool:
        """Kernels do, and they are most of the work."""
        return True

    @property
    def bounds_boxes(self) -> bool:
        """Linkage values have models on boxes of parameters."""
        return True

    def strata(self) -> list[Box]:
        """Return boxes that together hold every setting; product linkage is cut at ties."""
        if self.kind != "product":
            return Box.strata(self.space)
        return product_strata(self.space, self.alpha_names, self._parameters.fixed_exponents)

    def cuts_on_box(self, box: Box, axes: tuple[int, int], reuse: Reuse) -> PlaneCut | None:
        """Return the open comparisons of the decision tree of a box, if it has one."""
        return reuse.problem.cuts(box, axes, reuse)

    def box_start(self, instance: ClusteringInstance) -> Reuse:
        """Prepare an instance for boxes: see `certune.families.base.Family.box_start`."""
        self.check_instance(instance)
        problem = BoxProblem(
            instance,
            self.kind,
            self.alpha_names,
            self._parameters.fixed_exponents,
            self._parameters.weights_of(instance.n_metrics),
            self._pruning(instance),
            self.utility,
        )
        return problem.start

    def bound_on_box(
        self, instance: ClusteringInstance, box: Box, reuse: Reuse | None = None
    ) -> BoxBound:
        """Bound the utility on a box, from every cluster tree that the box can have.

        See `certune.families.base.Family.bound_on_box`; ``docs/theory/branch-and-bound.md`` has
        the proof.
        """
        known = self.box_start(instance) if reuse is None else reuse
        return known.problem.bound(box, known)
