"""Linkage clustering whose tree is cut at a tunable height, where the number of clusters is open.

Merges at or above the height are undone, as scikit-learn does with its ``distance_threshold``. With
a fixed linkage the utility is a piecewise constant function of the height and changes at heights of
merges only. Where the exponent moves, a ruler beside the points makes the cut one of `Linkage`.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from certune.box import Box
from certune.checks import as_float_or_nan, is_one_of
from certune.deadline import check_time
from certune.dual import PiecewiseFunction
from certune.errors import InputError, ParameterError, UndecidedError
from certune.families.base import BoxBound, Family, Params
from certune.families.floats import last_float
from certune.families.linkage.boxes import Reuse
from certune.families.linkage.company import named_by_knowledge
from certune.families.linkage.course import Course, make_course
from certune.families.linkage.cut_heights import CutHeights, CutTree
from certune.families.linkage.family import Linkage
from certune.families.linkage.heights import tree_at
from certune.families.linkage.instance import ClusteringInstance
from certune.families.linkage.parameters import LinkageParameters
from certune.families.linkage.ruler import N_ENDS, RulerLinkage, Scale, with_ruler
from certune.families.linkage.structure import TunedLinkage, linkage_structure
from certune.families.linkage.sweeping import solve_at
from certune.families.linkage.tree import ClusterTree
from certune.families.linkage.utility import Utility, utility_from
from certune.families.reach import reach
from certune.kernels.linkage import CUT, Pruning
from certune.pfaffian.structure import (
    LARGEST_SIZE,
    LineCount,
    PiecewiseStructure,
    PredicateCount,
    whole_number,
)
from certune.scores import Score
from certune.space import ParameterSpace, Real, Segment

IntArray = NDArray[np.int64]

# Above this share of the highest merge scipy's dendrograms are drawn in one colour.
USUAL_SHARE = 0.7
SCORED_AT_ONCE = 256


class ThresholdLinkage(Family):
    """Linkage clustering cut at a tuned height, for data whose number of clusters is not known.

    Parameters
    ----------
    kind : {"energy", "power-mean", "min-max"}
        Which linkage, see :class:`certune.Linkage`.
    alpha : float or pair, default 2.0
        Its exponent: ``"energy"`` with 2 is Ward's method, ``"power-mean"`` with -inf, 1 and inf
        single, average and complete linkage. A range (low, high) is tuned together with the height,
        on instances of one metric.
    cut_height : pair, optional
        Range (low, high) of the height, from 0 on, in units of the distances. May be left out if
        it is relative: (0, 1). Above 0 where alpha is tuned, too.
    relative : bool, default False
        Whether the height is a share of that of the last merge, which does not depend on the
        scale of the distances. With a fixed alpha only: tune a :class:`certune.Choice` of several.
    weights : array, optional
        Weights of several metrics, where alpha is fixed; uniform if None.
    utility : {"hamming", "adjusted-rand", "normalized-mutual-info"} or callable
        As in :class:`certune.Linkage`.

    Notes
    -----
    Merges at or above the height are undone, as with ``distance_threshold`` of
    :class:`sklearn.cluster.AgglomerativeClustering`. Heights are those of `solve`: linkage values
    in units of the distances, energies to the power of one over alpha (those of scipy for Ward's
    method), min-max linkage as the mean of its two powers. The numbers of clusters that instances
    have are not looked at.

    Examples
    --------
    >>> import certune as ct
    >>> instance = ct.ClusteringInstance(
    ...     points=[[0.0], [1.0], [2.0], [7.0], [8.0]], target=[0, 0, 0, 1, 1]
    ... )
    >>> ct.ThresholdLinkage("power-mean", alpha=1.0, cut_height=(0.5, 10.0)).dual(instance)
    PiecewiseFunction(cut_height in [0.5, 10.0], 4 pieces, max 1.0)
    """

    def __init__(
        self,
        kind: str = "energy",
        alpha: float = 2.0,
        cut_height: Any = None,
        relative: bool = False,
        weights: ArrayLike | None = None,
        utility: Any = "hamming",
    ) -> None:
        if is_one_of(kind, ["product"]):
            raise ParameterError(
                "product linkage has no heights in units of one distance: take kind 'energy', "
                "'power-mean' or 'min-max', or ct.Linkage('product', ...) with the number of "
                "clusters"
            )
        if isinstance(weights, str):
            raise ParameterError(
                f"weights must be numbers where the height is tuned, got {weights!r}"
            )
        if not isinstance(relative, (bool, np.bool_)):
            raise ParameterError(f"relative must be True or False, got {relative!r}")
        self._parameters = LinkageParameters.checked(kind, alpha, weights, None)
        self._linkage = Linkage(kind, alpha, weights, objective="cut", utility=utility)
        self.relative = bool(relative)
        self._range = _range(cut_height, self.relative)
        self._alphas = self._parameters.ranges.get("alpha")
        if self._alphas is not None:
            self._check_range_of_alpha(alpha)

    def _check_range_of_alpha(self, given: Any) -> None:
        if self.relative:
            raise ParameterError(
                f"alpha must be one number where the height is relative, got {given!r}: tune "
                "heights in units of the distances together with alpha, or "
                "ct.Choice({'alpha 1': ct.ThresholdLinkage(alpha=1.0, relative=True), ...})"
            )
        if self._linkage.weights is not None:
            raise ParameterError(
                f"alpha must be one number where metrics have weights, got {given!r}: tune "
                "ct.Choice({'alpha 1': ct.ThresholdLinkage(alpha=1.0, weights=...), ...})"
            )
        if self._range[0] <= 0.0:
            raise ParameterError(
                "cut_height must be a range of heights above 0 where alpha is a range, got "
                f"{self._range}: at 0 no points are joined, at any alpha"
            )

    @property
    def kind(self) -> str:
        """Which family of linkages."""
        return self._linkage.kind

    @property
    def utility(self) -> Utility:
        """What clusters are scored by."""
        return self._linkage.utility

    @cached_property
    def space(self) -> ParameterSpace:
        """The height and its range, behind alpha if that is tuned, too."""
        height = Real("cut_height", *self._range)
        tuned = self._linkage.space.parameters if self._alphas is not None else ()
        return ParameterSpace((*tuned, height))

    @property
    def fixed_params(self) -> dict[str, Any]:
        """The exponent if it is one number, and the weights if they were given."""
        return self._linkage.fixed_params

    def limits(self, name: str) -> tuple[float, float]:
        """Return the heights or the exponents that there are."""
        return (0.0, math.inf) if name == "cut_height" else self._linkage.limits(name)

    def __repr__(self) -> str:
        weights = self._linkage.weights
        alpha = self.fixed_params.get("alpha", self._alphas)
        infinite = isinstance(alpha, float) and math.isinf(alpha)
        shown = f"float('{alpha}')" if infinite else f"{alpha}"
        parts = [repr(self.kind), f"alpha={shown}"]
        parts.append(f"cut_height={self._range}")
        if self.relative:
            parts.append("relative=True")
        if weights is not None:
            parts.append(f"weights={weights!r}")
        return f"ThresholdLinkage({', '.join(parts)}, utility={self.utility.name!r})"

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
        return self._linkage.utility_range

    @property
    def baselines(self) -> dict[str, dict[str, Any]]:
        """The share at which scipy's dendrograms change their colours; no height is usual."""
        return {"0.7 of the top": {"cut_height": USUAL_SHARE}} if self.relative else {}

    def company(self, instance: ClusteringInstance) -> dict[str, Fraction | None]:
        """Utilities of what people take, by names that say who is told the number of clusters."""
        family = Linkage("power-mean", 1.0, self._linkage.weights, utility=self.utility)
        return {
            named_by_knowledge(name): utility for name, utility in family.company(instance).items()
        }

    def instance_sizes(self, instance: Any) -> tuple[int, ...]:
        """Numbers of points, metrics and clusters, as far as there are any."""
        return self._linkage.instance_sizes(instance)

    @property
    def keeps_distances(self) -> bool:
        """Instances hold the distances of all pairs of points."""
        return True

    def check_instance(self, instance: Any) -> None:
        """Raise `InputError` if the instance does not fit this family."""
        self._linkage.check_instance(instance)
        if self._alphas is not None and instance.n_metrics > 1:
            raise InputError(
                f"{instance.name or 'the instance'} has {instance.n_metrics} metrics, but alpha "
                "and the height are tuned together on one: make instances of one metric, or tune "
                "ct.Choice({'alpha 1': ct.ThresholdLinkage(alpha=1.0, ...), ...})"
            )

    def instance_fingerprint(self, instance: Any) -> str:
        """Hash of the instance's content."""
        return self._linkage.instance_fingerprint(instance)

    def structure(self, n: int) -> PiecewiseStructure:
        """Structure of the utility, proved for every instance of n points.

        With a fixed alpha the tree is fixed, and each of its n - 1 merges is compared with the
        height once. With a range it is that of plain cuts of n + 2 points in two metrics, whose
        weights are tuned.

        Parameters
        ----------
        n : int
            Number of points of an instance, at least 2.
        """
        if self._alphas is not None:
            return self._structure_of_both(whole_number("n", n, 1, LARGEST_SIZE - N_ENDS))
        n_merges = whole_number("n", n, 2, LARGEST_SIZE) - 1
        return PiecewiseStructure(
            n_piece_forms=n,
            n_boundaries=n_merges,
            chain_length=0,
            chain_degree=0,
            function_degree=1,
            n_parameters=1,
            piecewise_constant=True,
            predicates=(
                PredicateCount(
                    n_parameters=1,
                    n_predicates=n_merges,
                    chain_length=0,
                    chain_degree=0,
                    function_degree=1,
                    name="one comparison of each merge",
                ),
            ),
            line=LineCount(n_breakpoints=n_merges),
            name=f"{self.kind} linkage cut at a height, {n} points",
            source="docs/theory/structures.md",
            assumptions=("the exponent and the weights of the metrics are fixed",),
        )

    def _structure_of_both(self, n: int) -> PiecewiseStructure:
        tuned = TunedLinkage(self.kind, 2, 1, True, self.utility == utility_from("hamming"), True)
        return replace(
            linkage_structure(tuned, n + N_ENDS),
            name=f"{self.kind} linkage cut at a height, {n} points, d = 2",
        )

    def structure_of(self, instances: Sequence[Any]) -> PiecewiseStructure | None:
        """Structure for every instance with no more points than the given ones."""
        n = max(instance.n_points for instance in instances)
        if n < 2 and self._alphas is None:
            return None
        structure = self.structure(n)
        size = f"no instance has more than {n} points"
        return replace(structure, assumptions=(*structure.assumptions, size))

    def _setting(self, params: Params) -> tuple[dict[str, Any], float]:
        """The exponent, checked, and the height of a setting."""
        if self._alphas is None:
            return self._parameters.fixed_exponents, _height(params)
        if not isinstance(params, Mapping) or set(params) != {"alpha", "cut_height"}:
            given = sorted(map(str, params)) if isinstance(params, Mapping) else repr(params)
            raise ParameterError(f"the parameters are 'alpha' and 'cut_height', got {given}")
        values = self._parameters.values({"alpha": params["alpha"]}, 1)
        return values, _height(params["cut_height"])

    def _grown(
        self, instance: ClusteringInstance, exponent: Mapping[str, Any]
    ) -> tuple[Course, IntArray, IntArray]:
        """The tree: children of its nodes, and the setting at which it was grown."""
        line = self._parameters.line_at(instance.n_metrics, exponent)
        course = make_course(instance, line, 0.0, 0.0)
        left, right, _ = solve_at(course, Pruning(CUT, np.empty((0, 0), dtype=np.int64), 1))
        return course, left, right

    def _cut_tree(
        self, grown: tuple[Course, IntArray, IntArray], ends: tuple[float, ...] = ()
    ) -> CutTree:
        return CutTree(CutHeights(*grown, self.relative), ends)

    def solve(self, instance: ClusteringInstance, params: Params) -> ClusterTree:
        """Cluster tree and the clusters below one height.

        Parameters
        ----------
        instance : ClusteringInstance
            The points; a target is not needed.
        params : mapping or float
            The height, and alpha if that is tuned, too.

        Returns
        -------
        ClusterTree
            The tree (scipy's and scikit-learn's conventions) and the labels below the height. Its
            heights are in units of the distances.
        """
        self._linkage.check_points(instance)
        exponent, height = self._setting(params)
        grown = self._grown(instance, exponent)
        return tree_at(*grown, self._cut_tree(grown).labels_below(height))

    def run_exact(self, instance: ClusteringInstance, params: Params) -> Fraction:
        """Utility at one setting, as an exact rational number."""
        self.check_instance(instance)
        exponent, height = self._setting(params)
        labels = self._cut_tree(self._grown(instance, exponent)).labels_below(height)
        return self.utility.score(instance.target, labels)

    def dual(self, instance: ClusteringInstance, along: Segment | None = None) -> PiecewiseFunction:
        """Utility as an exact function of the height, or of the position on a segment.

        Parameters
        ----------
        instance : ClusteringInstance
            Points or distances with a target clustering.
        along : Segment, optional
            A part of the range of cut_height, by default all of it; with a range of alpha any
            straight line.

        Returns
        -------
        PiecewiseFunction
            Where only the height moves, pieces end at the last float that is no higher than a
            merge.
        """
        self.check_instance(instance)
        segment = self.space.default_segment() if along is None else along
        if not isinstance(segment, Segment):
            raise ParameterError(
                f"along must be a Segment(start, stop) of {', '.join(self.space.names)}, got "
                f"{along!r}"
            )
        (exponent, first), (_, last) = map(
            self._setting, map(segment.at, (segment.low, segment.high))
        )
        if segment.direction.get("alpha", 0.0) != 0.0:
            return self._dual_by_ruler(instance, segment, (first, last))
        ends = first, last
        tree = self._cut_tree(self._grown(instance, exponent), ends)

        def level(t: float) -> int | None:
            return tree.level(_height_in(segment.at(t)))

        def same_level(own: int | None, t: float) -> bool:
            return level(t) == own

        stretches: list[tuple[float, float, int]] = []
        t = segment.low
        while t <= segment.high:
            check_time()
            own = level(t)
            stop = last_float(t, segment.high, partial(same_level, own))
            if own is not None:
                stretches.append((t, stop, own))
            elif t == segment.low or stop == segment.high:
                raise UndecidedError(
                    f"whether a merge is below one of the heights {ends} could not be decided"
                )
            t = math.nextafter(stop, math.inf)
        return self._scored(instance, tree, stretches, segment.name)

    def _dual_by_ruler(
        self, instance: ClusteringInstance, along: Segment, heights: tuple[float, float]
    ) -> PiecewiseFunction:
        """Utility along a line on which alpha moves; ``heights`` are those of its ends."""
        if min(heights) <= 0.0:
            raise ParameterError(
                f"cut_height must be above 0 along a line on which alpha moves, got {heights}"
            )
        if along.direction["cut_height"] == 0.0:
            start, slope = ({"alpha": end["alpha"]} for end in (along.origin, along.direction))
            line = Segment.line(start, slope, along.low, along.high)
            return self._ruled(False).dual(with_ruler(instance, heights[:1]), line)
        scale = Scale(min(heights), max(heights))
        ruled = with_ruler(instance, scale.lengths)
        return self._ruled(True).dual_of_heights(ruled, scale, along)

    def _ruled(self, moves: bool) -> RulerLinkage:
        return RulerLinkage(self.kind, self._alphas, moves, self.utility)

    @property
    def bounds_boxes(self) -> bool:
        """Whether there are two parameters, and so `bound_on_box`."""
        return self._alphas is not None

    @cached_property
    def _scale(self) -> Scale:
        return Scale(*self._range)

    @cached_property
    def _space_of_ruler(self) -> ParameterSpace:
        return self._ruled(True).space

    def box_start(self, instance: ClusteringInstance) -> Reuse:
        """Prepare an instance for boxes: see `certune.families.base.Family.box_start`."""
        self.check_instance(instance)
        return self._ruled(True).box_start(with_ruler(instance, self._scale.lengths))

    def bound_on_box(
        self, instance: ClusteringInstance, box: Box, reuse: Reuse | None = None
    ) -> BoxBound:
        """Bound the utility on a box of alpha and heights.

        See `certune.families.base.Family.bound_on_box`.
        """
        known = self.box_start(instance) if reuse is None else reuse
        return known.problem.bound(self._scale.box(self._space_of_ruler, box), known)

    def _scored(
        self,
        instance: ClusteringInstance,
        tree: CutTree,
        stretches: list[tuple[float, float, int]],
        name: str,
    ) -> PiecewiseFunction:
        """The function of levels on stretches; those of one utility are joined."""
        lowest, highest = (pick(level for *_, level in stretches) for pick in (min, max))
        values: list[Fraction] = []
        for first in range(lowest, highest + 1, SCORED_AT_ONCE):
            rows = tree.partitions(first, min(first + SCORED_AT_ONCE - 1, highest))
            numerators, denominator = self.utility.scores(instance.target, rows)
            values += [Fraction(numerator, denominator) for numerator in numerators]
        pieces: list[tuple[float, float, Fraction]] = []
        bounds: list[tuple[Fraction, Fraction]] = []
        before = stretches[0][2]
        for start, stop, level in stretches:
            value = values[level - lowest]
            levels = tree.levels_between(*sorted((before, level)))
            between = [self.utility.low, self.utility.high]
            if levels is not None:
                between = [values[own - lowest] for own in levels]
            if pieces and min(between) == max(between):
                pieces[-1] = pieces[-1][0], stop, value
            else:
                bounds.append((min(between), max(between)))
                pieces.append((start, stop, value))
            before = level
        starts, stops, heights = zip(*pieces, strict=True)
        lower, upper = zip(*bounds, strict=True)
        return PiecewiseFunction.from_values(starts, stops, heights, lower[1:], upper[1:], name)


def _range(cut_height: Any, relative: bool) -> tuple[float, float]:
    if cut_height is None and relative:
        return 0.0, 1.0
    try:
        low, high = map(as_float_or_nan, cut_height)
    except (TypeError, ValueError):
        low, high = math.nan, math.nan
    if not 0.0 <= low < high < math.inf:
        raise ParameterError(
            "cut_height must be a range (low, high) of heights from 0 on, in units of the "
            f"distances, got {cut_height!r}; relative=True tunes a share of the highest merge "
            "instead"
        )
    return low, high


def _height_in(setting: Mapping[str, Any]) -> float:
    height: float = setting["cut_height"]
    return height


def _height(params: Params) -> float:
    value: Any = params
    if isinstance(params, Mapping):
        if set(params) != {"cut_height"}:
            raise ParameterError(f"the parameter is 'cut_height', got {sorted(map(str, params))}")
        value = params["cut_height"]
    try:
        number = math.nan if isinstance(value, (str, bool)) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not 0.0 <= number < math.inf:
        raise ParameterError(f"cut_height must be a number from 0 on, got {value!r}")
    return number
