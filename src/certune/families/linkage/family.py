"""Linkage clustering with a tunable merge rule: the families M1, M2 and M3 of ``sec:linkage``.

Agglomerative clustering joins, again and again, the two nearest clusters; the tree is then pruned
to k clusters.  What "nearest" means is the parameter:

* ``"min-max"`` (M1): ``(min d^alpha + max d^alpha)^(1/alpha)``,
* ``"power-mean"`` (M2): ``(mean d^alpha)^(1/alpha)``, with single, average and complete linkage at
  alpha = -inf, 1, inf,
* ``"product"`` (M3): ``(mean prod_l delta_l^alpha_l)^(1/sum alpha)``,

where d is a weighted sum of metrics (``sec:linkage``, ``thm:pdim-clustering-1`` to
``thm:pdim-clustering-3``).  The utility is a piecewise constant function of the parameters.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from certune.box import Box
from certune.dual import PiecewiseFunction
from certune.errors import InputError, ParameterError
from certune.families.base import BoxBound, Family, Params
from certune.families.linkage.assembly import assemble
from certune.families.linkage.boxes import BoxProblem, Reuse
from certune.families.linkage.course import Course, Line, make_course
from certune.families.linkage.heights import merge_heights
from certune.families.linkage.instance import ClusteringInstance
from certune.families.linkage.objective import Objective
from certune.families.linkage.strata import product_strata
from certune.families.linkage.structure import TunedLinkage, linkage_structure
from certune.families.linkage.sweeping import Pruning, solve_at
from certune.families.linkage.tree import ClusterTree, sorted_tree
from certune.families.linkage.utility import Utility, utility_from
from certune.families.metrics import checked_weights
from certune.pfaffian.structure import PiecewiseStructure, whole_number
from certune.space import ParameterSpace, Real, Segment, Simplex

KINDS = ("min-max", "power-mean", "product")

Range = tuple[float, float]


class Linkage(Family):
    """Linkage clustering whose merge rule is tuned.

    Parameters
    ----------
    kind : {"power-mean", "min-max", "product"}
        Which family of linkages.
    alpha : pair or float, or a sequence of them
        Range (low, high) of the exponent, or a number to fix it. For ``"product"`` one entry per
        metric.
    weights : None, array or "tune"
        Weights of the metrics in the combined distance (not for ``"product"``): uniform if None.
    n_metrics : int, optional
        Number of metrics; needed if ``weights="tune"``.
    objective : {"k-median", "k-means", "k-center"}
        What the pruning into k clusters minimises, in a fixed reference metric (the mean of the
        instance's metrics), so that equal trees always give equal clusters.
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

    def __init__(
        self,
        kind: str = "power-mean",
        alpha: Any = (-10.0, 10.0),
        weights: ArrayLike | str | None = None,
        n_metrics: int | None = None,
        objective: str = "k-median",
        utility: Any = "hamming",
    ) -> None:
        if kind not in KINDS:
            raise ParameterError(
                f"unknown kind of linkage {kind!r}; expected one of {', '.join(map(repr, KINDS))}"
            )
        if n_metrics is not None and (
            isinstance(n_metrics, bool) or not isinstance(n_metrics, int)
        ):
            raise ParameterError(f"n_metrics must be a whole number, got {n_metrics!r}")
        self.kind = kind
        self.objective = Objective(objective)
        self.utility: Utility = utility_from(utility)
        self.weights: tuple[float, ...] | None = None
        self._tunes_weights = False
        if kind == "product":
            if weights is not None:
                raise ParameterError(
                    "product linkage has one exponent per metric and no weights; leave weights=None"
                )
            self._alphas = _product_alphas(alpha)
            self.n_metrics: int | None = len(self._alphas)
            if n_metrics not in (None, self.n_metrics):
                raise ParameterError(
                    f"alpha has {self.n_metrics} entries but n_metrics is {n_metrics}"
                )
        else:
            self._alphas = (_alpha(alpha),)
            self._set_weights(weights, n_metrics)
        self._space = self._make_space()

    def _set_weights(self, weights: ArrayLike | str | None, n_metrics: int | None) -> None:
        self.n_metrics = n_metrics
        if isinstance(weights, str):
            if weights != "tune":
                raise ParameterError(f"weights must be None, numbers or 'tune', got {weights!r}")
            if n_metrics is None or n_metrics < 2:
                raise ParameterError(
                    "weights='tune' needs n_metrics, the number of metrics of the instances "
                    f"(at least 2); got {n_metrics}"
                )
            self._tunes_weights = True
        elif weights is not None:
            self.weights = checked_weights(weights)
            if n_metrics not in (None, len(self.weights)):
                raise ParameterError(
                    f"{len(self.weights)} weights given but n_metrics is {n_metrics}"
                )
            self.n_metrics = len(self.weights)

    def _make_space(self) -> ParameterSpace | None:
        parameters: list[Real | Simplex] = []
        for name, alpha in zip(self.alpha_names, self._alphas, strict=True):
            if isinstance(alpha, tuple):
                parameters.append(Real(name, *alpha, limits=self.kind != "product"))
        if self._tunes_weights:
            assert self.n_metrics is not None
            parameters.append(Simplex("weights", self.n_metrics))
        return ParameterSpace(tuple(parameters)) if parameters else None

    @property
    def alpha_names(self) -> tuple[str, ...]:
        """Names of the exponents, fixed ones included."""
        if self.kind == "product":
            return tuple(f"alpha_{i}" for i in range(len(self._alphas)))
        return ("alpha",)

    @property
    def space(self) -> ParameterSpace:
        """The free parameters and their ranges."""
        if self._space is None:
            raise ParameterError(
                f"{self!r} has no free parameter; give alpha as a range (low, high) or "
                "weights='tune'"
            )
        return self._space

    def __repr__(self) -> str:
        alphas = [list(a) if isinstance(a, tuple) else a for a in self._alphas]
        weights: Any = "tune" if self._tunes_weights else self.weights
        parts = [repr(self.kind), f"alpha={alphas if self.kind == 'product' else alphas[0]}"]
        if weights is not None:
            parts.append(f"weights={weights!r}")
        parts += [f"objective={self.objective.name!r}", f"utility={self.utility.name!r}"]
        return f"Linkage({', '.join(parts)})"

    @property
    def fingerprint(self) -> str:
        """Hash of everything that defines the family.

        A user's utility function counts by its name and compiled code.
        """
        digest = hashlib.sha256(f"{self!r} n_metrics={self.n_metrics}".encode())
        code = getattr(self.utility.function, "__code__", None)
        if code is not None:
            constants = [c for c in code.co_consts if isinstance(c, (int, float, str))]
            digest.update(code.co_code + repr(constants).encode())
        return digest.hexdigest()

    @property
    def fixed_params(self) -> dict[str, Any]:
        """The parameters that are not tuned, by name."""
        fixed: dict[str, Any] = {
            name: alpha
            for name, alpha in zip(self.alpha_names, self._alphas, strict=True)
            if not isinstance(alpha, tuple)
        }
        if self.weights is not None:
            fixed["weights"] = self.weights
        return fixed

    @property
    def utility_range(self) -> tuple[float, float]:
        """Smallest and largest value of the utility."""
        return float(self.utility.low), float(self.utility.high)

    @property
    def baselines(self) -> dict[str, dict[str, Any]]:
        """Single, average and complete linkage.

        With weights to tune the metrics count equally. Product linkage uses every metric equally,
        for which there is no finite single or complete linkage: only ``"average"`` is given.
        """
        if self.kind == "product":
            share = 1.0 / len(self._alphas)
            return {"average": dict.fromkeys(self.alpha_names, share)}
        weights: dict[str, Any] = {}
        if self._tunes_weights:
            assert self.n_metrics is not None
            weights["weights"] = (1.0 / self.n_metrics,) * self.n_metrics
        middle = {"average": 1.0} if self.kind == "power-mean" else {"half-sum": 1.0}
        settings = {"single": -math.inf, **middle, "complete": math.inf}
        return {name: {"alpha": alpha, **weights} for name, alpha in settings.items()}

    def check_instance(self, instance: Any) -> None:
        """Raise `InputError` if the instance does not fit this family."""
        self._check_type(instance)
        name = instance.name or "the instance"
        if instance.target is None:
            raise InputError(f"{name} has no target clustering; pass target= to measure a utility")
        instance.check_metrics(self.n_metrics)
        _ = instance.distances

    @staticmethod
    def _check_type(instance: Any) -> None:
        if not isinstance(instance, ClusteringInstance):
            raise InputError(
                f"expected a ClusteringInstance, got {type(instance).__name__}; "
                "make one with certune.ClusteringInstance(points=..., target=...)"
            )

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
            tuned_weights=self._tunes_weights,
            hamming=self.utility == utility_from("hamming"),
        )
        return linkage_structure(tuned, whole_number("n", n, 3))

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

    def _line(
        self, instance: ClusteringInstance, start: Mapping[str, Any], slope: Mapping[str, Any]
    ) -> Line:
        alphas = tuple(
            (float(start.get(name, fixed)), float(slope.get(name, 0.0)))
            for name, fixed in zip(self.alpha_names, self._alphas, strict=True)
        )
        if self.kind == "product":
            return Line(self.kind, alphas, ())
        n_metrics = instance.n_metrics
        given = start.get("weights", self.weights or (1.0 / n_metrics,) * n_metrics)
        slopes = slope.get("weights", (0.0,) * n_metrics)
        return Line(
            self.kind,
            alphas,
            tuple((float(w), float(s)) for w, s in zip(given, slopes, strict=True)),
        )

    def _values(self, instance: ClusteringInstance, params: Params) -> dict[str, Any]:
        """Parameter values by name, checked; any real alpha is allowed, not only the range."""
        names = [*self.alpha_names, *([] if self.kind == "product" else ["weights"])]
        if not isinstance(params, Mapping):
            free = [
                n
                for n, a in zip(self.alpha_names, self._alphas, strict=True)
                if isinstance(a, tuple)
            ]
            if self._tunes_weights or len(free) != 1:
                raise ParameterError(
                    f"got {params!r}; expected a mapping with the free parameters "
                    f"{self.space.names}"
                )
            params = {free[0]: params}
        unknown = set(params) - set(names)
        if unknown:
            raise ParameterError(f"unknown parameter {sorted(unknown)[0]!r}; expected {names}")
        values: dict[str, Any] = {}
        for name, fixed in zip(self.alpha_names, self._alphas, strict=True):
            value = params.get(name, None if isinstance(fixed, tuple) else fixed)
            values[name] = _real(name, value)
        if "weights" in params:
            values["weights"] = checked_weights(params["weights"], instance.n_metrics)
        elif self._tunes_weights:
            raise ParameterError("parameter 'weights' is free and must be given")
        return values

    def _course_at(self, instance: ClusteringInstance, params: Params) -> Course:
        values = self._values(instance, params)
        line = self._line(instance, values, {})
        if line.infinite and self.kind == "product":
            line, metric = _limit_of_product(line)
            weights = tuple((float(i == metric), 0.0) for i in range(instance.n_metrics))
            line = Line("power-mean", line.alpha, weights)
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
        self._check_type(instance)
        instance.check_metrics(self.n_metrics)
        course = self._course_at(instance, params)
        left, right, labels = solve_at(course, self._pruning(instance))
        return sorted_tree(left, right, merge_heights(course, left, right), labels)

    def run_exact(self, instance: ClusteringInstance, params: Params) -> Fraction:
        """Utility at one parameter, as an exact rational number."""
        self.check_instance(instance)
        _, _, labels = solve_at(self._course_at(instance, params), self._pruning(instance))
        return self.utility.score(instance.target, labels.copy())

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
        line = self._line(instance, segment.origin, segment.direction)

        def value_at(t: float) -> Fraction:
            return self.run_exact(instance, segment.at(t))

        if instance.n_distinct <= 2 or instance.k == instance.n_points or not line.moves:
            value = value_at(segment.low)
            return PiecewiseFunction.constant(segment.low, segment.high, value, name=name)
        courses, special = _courses(instance, line, segment.low, segment.high)
        return assemble(
            courses,
            self._pruning(instance),
            lambda partitions: self.utility.scores(instance.target, partitions),
            value_at,
            (self.utility.low, self.utility.high),
            special,
            name,
        )

    @property
    def bounds_boxes(self) -> bool:
        """Linkage values have models on boxes of parameters."""
        return True

    def strata(self) -> list[Box]:
        """Return boxes that together hold every setting; product linkage is cut at ties."""
        if self.kind != "product":
            return Box.strata(self.space)
        fixed = {name: float(value) for name, value in self.fixed_params.items()}
        return product_strata(self.space, self.alpha_names, fixed)

    def bound_on_box(
        self, instance: ClusteringInstance, box: Box, reuse: Reuse | None = None
    ) -> BoxBound:
        """Bound the utility on a box, from every cluster tree that the box can have.

        See `certune.families.base.Family.bound_on_box`; ``docs/theory/branch-and-bound.md`` has
        the proof.
        """
        if reuse is None:
            self.check_instance(instance)
            fixed = {n: float(v) for n, v in self.fixed_params.items() if n != "weights"}
            weights = self.weights or (1.0 / instance.n_metrics,) * instance.n_metrics
            problem = BoxProblem(
                instance,
                self.kind,
                self.alpha_names,
                fixed,
                weights,
                self._pruning(instance),
                self.utility,
            )
            reuse = problem.start
        return reuse.problem.bound(box, reuse)


def _courses(
    instance: ClusteringInstance, line: Line, low: float, high: float
) -> tuple[list[Course], list[float]]:
    """Courses on which the order of values has one sense, and points of their own."""
    if not line.product:
        return [make_course(instance, line, low, high)], []
    ray = line.origin_of_ray
    if ray is not None:
        inside = [ray] if low <= ray <= high else []
        return [make_course(instance, line, low, high)], inside
    total, slope = line.total
    if slope == 0 or not low <= -total / slope <= high:
        return [make_course(instance, line, low, high)], []
    flip = -total / slope
    near = float(flip)
    if Fraction(near) == flip:
        before = after = near
        special = [near]
    else:
        before = near if Fraction(near) < flip else math.nextafter(near, -math.inf)
        after = math.nextafter(before, math.inf)
        special = []
    courses = []
    if low < flip:
        courses.append(make_course(instance, line, low, min(after, high)))
    if flip < high:
        courses.append(make_course(instance, line, max(before, low), high))
    return courses, special


def _alpha(alpha: Any) -> Range | float:
    if not isinstance(alpha, (tuple, list, np.ndarray)):
        return _real("alpha", alpha)
    if len(alpha) != 2:
        raise ParameterError(f"alpha must be a number or a range (low, high), got {alpha!r}")
    low, high = (_real("alpha", end) for end in alpha)
    if math.isinf(low) or math.isinf(high):
        raise ParameterError(
            f"the range of alpha must be finite, got {alpha!r}; the limits are single linkage "
            "(alpha=-inf) and complete linkage (alpha=inf), reported as baselines"
        )
    if not low < high:
        raise ParameterError(f"the range of alpha must have low < high, got {alpha!r}")
    return low, high


def _product_alphas(alpha: Any) -> tuple[Range | float, ...]:
    default = isinstance(alpha, tuple) and alpha == (-10.0, 10.0)
    if default or not isinstance(alpha, (tuple, list, np.ndarray)) or len(alpha) == 0:
        raise ParameterError(
            "product linkage needs one exponent per metric: alpha=[(low, high) or number, ...]; "
            f"got {alpha!r}"
        )
    return tuple(_alpha(entry) for entry in alpha)


def _real(name: str, value: Any) -> float:
    if value is None:
        raise ParameterError(f"parameter {name!r} is free and must be given")
    try:
        number = math.nan if isinstance(value, (str, bool)) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if math.isnan(number):
        raise ParameterError(f"{name} must be a real number, got {value!r}")
    return number


def _limit_of_product(line: Line) -> tuple[Line, int]:
    """Product linkage with one infinite exponent: single or complete linkage in that metric."""
    infinite = [i for i, (value, _) in enumerate(line.alpha) if math.isinf(value)]
    if len(infinite) > 1 or any(
        value != 0.0 for i, (value, _) in enumerate(line.alpha) if i not in infinite
    ):
        raise ParameterError(
            "product linkage has a limit only for one infinite exponent with all others 0; got "
            f"{tuple(value for value, _ in line.alpha)}"
        )
    return Line("power-mean", (line.alpha[infinite[0]],), ()), infinite[0]
