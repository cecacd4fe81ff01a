"""Cluster trees of linkage along a segment of parameters: search, pruning, finish.

Values of pairs of points are given by their functions along the segment (`PairFunctions`), those
of clusters by a kind. Arrays are checked here and in the core; all have n rows for n points.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from certune._core import linkage as core
from certune.deadline import current_stop
from certune.kernels.arrays import Flags, Integers, Reals, flags, integers, reals

Codes = npt.NDArray[np.uint64]
Marks = npt.NDArray[np.uint8]

UNIT = 2.0**-53  # largest relative error of one rounding

# Modes: exp(A + t B), exp(alpha(t) A) with A the logarithm of a fixed distance, and (A + t B)
# to the power alpha(t), a moving distance.
AFFINE, POWER, MOVING = 0, 1, 2
# Kinds: what the value of two clusters is, in terms of their pairs of points.
MEAN, MINMAX, MINIMUM, MAXIMUM, ENERGY = 0, 1, 2, 3, 4
K_MEANS, K_MEDIAN, K_CENTER, CUT, RULER = 0, 1, 2, 3, 4
PLAIN_CUTS = CUT, RULER

# Questions to the exact layer: on an interval, at a point, just inside one of its ends, and about a
# zone that models cannot narrow any more.
ON_INTERVAL, AT_POINT, AT_LOW_END, AT_HIGH_END, NARROW_ZONE = 0, 1, 2, 3, 4
# Its answers beside the orders -1, 0 and 1: not known, and nothing will be known any more.
UNKNOWN, HOPELESS = 2, 4

# (kind of question, low, high, expected order, marks 1, 2, 3 at the members of x, y, z) to the
# order of (x, y) against (x, z), or (low, high, order before) of the zone where it changes once.
# If there are marks 4, at the members of w, the second pair is (w, z).
Answering = Callable[[int, float, float, int, Marks], int | tuple[float, float, int]]


class Layers(NamedTuple):
    """What decides the comparisons that models cannot tell.

    Attributes
    ----------
    answer : callable
        The exact layer. What it raises ends the search and is raised again.
    near_alpha : (float, float, float), optional
        alpha at t = 0 as a sum of two floats, and its slope: near ties are decided with twice the
        digits of floats before the exact layer is asked. For powers of one distance, whose bits
        are the codes of the pairs, logarithms up to 640, and means, min-max or energies.
    """

    answer: Answering
    near_alpha: tuple[float, float, float] | None = None


@dataclass(frozen=True, eq=False)
class PairFunctions:
    """Functions of the pairs of points along a segment.

    Attributes
    ----------
    mode : int
        AFFINE, POWER or MOVING.
    first, second : float64 arrays of shape (n, n)
        A and B, symmetric.
    power : (float, float)
        alpha at t = 0 and its slope; for AFFINE ones only its sign counts.
    input_error : float
        Bound of the error of the logarithm of a value that stems from rounded inputs.
    codes : uint64 array of shape (n, n)
        Pairs with the same code have the same function.
    ordered : bool
        Whether codes are ordered like values, at every parameter.
    twins : int64 array of shape (n,), optional
        Points with the same number are identical; by default none are.
    box_cox : bool
        Whether powers are compared in their Box-Cox form near exponents of 0.
    """

    mode: int
    first: Reals
    second: Reals
    power: tuple[float, float]
    input_error: float
    codes: Codes
    ordered: bool
    twins: Integers | None = None
    box_cox: bool = True

    def with_codes(self, codes: Codes) -> PairFunctions:
        """Return the same functions with other codes."""
        return self if codes is self.codes else replace(self, codes=codes)

    @cached_property
    def bound(self) -> core.PairFunctions:
        """The same as the core takes them, checked once."""
        low, high = self.power
        twins = np.arange(len(self.first)) if self.twins is None else self.twins
        return core.PairFunctions(
            self.mode,
            reals(self.first),
            reals(self.second),
            (float(low), float(high)),
            float(self.input_error),
            (np.ascontiguousarray(self.codes, dtype=np.uint64), bool(self.ordered)),
            integers(twins),
            bool(self.box_cox),
        )


class Merges(NamedTuple):
    """Merges that hold for every parameter, and the clusters that they leave.

    Attributes
    ----------
    labels : int64 array of shape (n,)
        Clusters, numbered from 0.
    left, right : int64 arrays of shape (2 n - 1,)
        Children of the nodes n, ..., n + n_made - 1; the points are nodes 0, ..., n - 1.
    n_made : int
        Number of merges.
    """

    labels: Integers
    left: Integers
    right: Integers
    n_made: int


class Pruning(NamedTuple):
    """What trees are pruned to.

    Attributes
    ----------
    objective : int
        K_MEANS, K_MEDIAN or K_CENTER for the clusters of lowest cost, CUT for those before the last
        k - 1 merges, RULER for those before the merge of the points 0 and 1.
    reference : int64 array of shape (n, n)
        Fixed-point reference distances; for k-means their squares. Not looked at for plain cuts.
    k : int
        Number of clusters.
    """

    objective: int
    reference: Integers
    k: int


class Values(NamedTuple):
    """Values of clusters along a segment.

    Attributes
    ----------
    kind : int
        MEAN, MINMAX, MINIMUM, MAXIMUM or ENERGY.
    pairs : PairFunctions
        Values of pairs of points.
    offset : float
        What A of AFFINE functions has in common.
    span : float
        Spread of the logarithms of values. At a point, negative if smaller values are nearer.
    """

    kind: int
    pairs: PairFunctions
    offset: float
    span: float


class Leaves(NamedTuple):
    """What a search has found.

    Attributes
    ----------
    intervals : float64 array of shape (m, 2)
        Leaves; they overlap where an order of two cluster pairs changes.
    info : int64 array of shape (m, 3)
        Splits at the low and the high end of a leaf (-1: an edge), its partition (-1: undecided).
    splits : float64 array of shape (s, 6)
        Low and high end of the zone of a change, orders left and right of it, and the splits at the
        ends of the interval that is split (-1: an edge).
    split_marks : uint8 array of shape (s, n)
        1, 2, 3 at the members of x, y, z whose order changes, and 4 at those of w if it is that of
        (x, y) and (w, z).
    partitions : int64 array of shape (r, n)
        Labels, numbered in the order of their lowest member index.
    """

    intervals: Reals
    info: Integers
    splits: Reals
    split_marks: Marks
    partitions: Integers


def contract(kind: int, ends: tuple[Reals, Reals], margin: float, merges: Merges) -> Merges:
    """Merge what is nearest at every parameter, by more than a margin.

    Every distance between the two clusters is smaller than every distance from them to any other
    cluster (for min-max linkage of fixed distances: the smallest and the largest one both are).
    Two clusters are left in any case. O(n^2), and O(n) for each neighbour of a merge.

    Parameters
    ----------
    kind : int
        MEAN, MINMAX, MINIMUM or MAXIMUM.
    ends : two float64 arrays of shape (n, n)
        What orders the pairs at the two ends of the segment, smaller is nearer at both; the same
        array twice if the order does not move.
    margin : float
        Differences up to this are not told.
    merges : Merges
        Those of identical points.

    Returns
    -------
    Merges
        Those and the ones that were made.
    """
    low = reals(ends[0])
    high = low if ends[1] is ends[0] else reals(ends[1])
    labels, left, right = (np.array(values, dtype=np.int64) for values in merges[:3])
    n_made = core.contract(kind, (low, high), margin, (labels, left, right), current_stop())
    return Merges(labels, left, right, n_made)


def panel_edges(
    pairs: PairFunctions, labels: Integers, low: float, high: float, tolerance: float
) -> Reals:
    """Edges of panels on [low, high] on which models have at most a relative error.

    Where the error of the inputs exceeds half the tolerance, it is twice that error instead. A
    panel around a zero of alpha is centred there; the others have equal widths on each side, as
    long as they are few.
    """
    bound = pairs.bound
    return core.panel_edges(bound, integers(labels), (low, high), tolerance, current_stop())


def search(
    values: Values,
    merges: Merges,
    pruning: Pruning,
    panels: tuple[Reals, Flags],
    wide_zone: float,
    layers: Layers,
) -> Leaves:
    """Every cluster tree along the panels, depth first.

    Parameters
    ----------
    values, merges, pruning : Values, Merges, Pruning
        What is searched; at least two clusters are left.
    panels : float64 array of shape (p, 2), bool array of shape (p, 2)
        Low and high end of each panel, and whether values may tie exactly at that end, so that
        the order just inside may be asked for.
    wide_zone : float
        A zone that fills more than this share of its interval asks for better models.
    layers : Layers
        What decides where models cannot.
    """
    bounds, may_tie = panels
    found = core.search(
        _problem(values, merges, pruning),
        reals(bounds),
        flags(may_tie),
        wide_zone,
        layers.answer,
        layers.near_alpha,
        current_stop(),
    )
    return Leaves(*found)


class Meeting(NamedTuple):
    """Values that meet at an end of the course, where an exponent vanishes.

    Attributes
    ----------
    codes : uint64 array of shape (n, n) or (0, 0)
        Equal only if values are equal there; empty if nothing is known to meet.
    exact : bool
        Whether codes are the values themselves, as integers, up to a common factor.
    """

    codes: Codes
    exact: bool


def follow(
    values: Values,
    merges: Merges,
    pruning: Pruning,
    panels: tuple[Reals, Flags],
    meetings: tuple[Meeting, Meeting],
) -> tuple[Leaves, Reals, int]:
    """Follow the tree along the panels, which touch each other, and mend it where it changes.

    Arguments as for `search`; extremes of moving distances, energies and plain cuts cannot be
    followed. ``meetings`` belong to the two ends of the course.

    Returns
    -------
    leaves : Leaves
        As of a search.
    windows : float64 array of shape (w, 2)
        Intervals that are left to a search: ties, and changes that coincide.
    n_trees : int
        Number of trees outside of them.
    """
    bounds, may_tie = panels
    found, windows, n_trees = core.follow(
        _problem(values, merges, pruning),
        reals(bounds),
        flags(may_tie),
        (_codes_of(meetings[0]), _codes_of(meetings[1])),
        current_stop(),
    )
    return Leaves(*found), windows, n_trees


def _codes_of(meeting: Meeting) -> tuple[Codes, bool]:
    return np.ascontiguousarray(meeting.codes, dtype=np.uint64), bool(meeting.exact)


def solve_at(
    values: Values,
    merges: Merges,
    pruning: Pruning,
    at: tuple[float, Reals, float],
    layers: Layers,
) -> tuple[Integers, Integers, Integers] | None:
    """Tree (left, right) and labels at one parameter; None if a comparison stayed undecided.

    ``at`` is the parameter, the values of the pairs of points there (float64 array of shape (n, n))
    and their relative error, which covers the averages that merges make of them.
    """
    t, numbers, error = at
    problem = _problem(values, merges, pruning)
    return core.solve_at(
        problem, t, reals(numbers), error, layers.answer, layers.near_alpha, current_stop()
    )


def _problem(values: Values, merges: Merges, pruning: Pruning) -> core.Problem:
    return core.Problem(
        values.kind,
        values.pairs.bound,
        (float(values.offset), float(values.span)),
        (
            integers(merges.labels),
            integers(merges.left),
            integers(merges.right),
            int(merges.n_made),
        ),
        (pruning.objective, integers(pruning.reference), int(pruning.k)),
    )


def polish(
    kind: int, pairs: PairFunctions, splits: Reals, split_marks: Marks, which: Integers
) -> Flags:
    """Make the zones of some splits as narrow as can be, in place; returns which were proved.

    A zone of width 0 says that there is no change: one order lasts.
    """
    marks = np.ascontiguousarray(split_marks, dtype=np.uint8)
    found = core.polish(kind, pairs.bound, splits, marks, integers(which), current_stop())
    return found.astype(np.bool_)


def may_tie(kind: int, pairs: PairFunctions, marks: Marks, t: float) -> bool:
    """Tell whether two cluster pairs could be exactly equally near at t; False is a proof."""
    own = np.ascontiguousarray(marks, dtype=np.uint8)
    return core.may_tie(kind, pairs.bound, own, t, current_stop())


def ranked_leaves(
    leaves: tuple[Reals, Integers, Reals], ranks: Integers, highest: int, ranges: Reals
) -> tuple[Reals, Reals, Integers, Integers]:
    """Intervals of the leaves, cut by their splits, and the ranks that each of them can have.

    Parameters
    ----------
    leaves : intervals, info and splits of `Leaves`
        What was found.
    ranks : int64 array
        Of the partitions. A leaf without one can have any, up to ``highest``.
    ranges : float64 array of shape (r, 2)
        Disjoint; what lies outside of them is left out.

    Returns
    -------
    low, high, least, most
        Arguments of `envelope`.
    """
    intervals, info, splits = leaves
    own = reals(intervals), integers(info), reals(splits)
    return core.ranked_leaves(own, integers(ranks), highest, reals(ranges))


def envelope(
    low: Reals, high: Reals, least: Integers, most: Integers
) -> tuple[Reals, Integers, Integers]:
    """Pointwise smallest and largest rank over overlapping intervals.

    Returns the ends of the intervals, sorted, and between neighbours the smallest ``least`` and
    largest ``most`` of those that cover it (-1 if none does).
    """
    return core.envelope(reals(low), reals(high), integers(least), integers(most))


def unsettled_splits(splits: Reals, cover: tuple[Reals, Integers, Integers]) -> Integers:
    """Indices of the splits whose zone meets a place where the rank is not settled.

    ``cover`` is the result of `envelope`.
    """
    positions, bottom, top = cover
    return core.unsettled_splits(reals(splits), (reals(positions), integers(bottom), integers(top)))


def joined(
    cover: tuple[Reals, Integers, Integers], special: Reals
) -> tuple[Reals, Reals, Integers, Integers]:
    """Join neighbours of the same settled rank, and neighbours that are not settled.

    The latter stay apart at ``special`` positions (ascending), where the utility can be found out.
    Returns, for each joined interval, its ends and its smallest and largest rank.
    """
    positions, bottom, top = cover
    return core.joined((reals(positions), integers(bottom), integers(top)), reals(special))


def prune(pruning: Pruning, left: Integers, right: Integers) -> Integers:
    """Labels of the best prunings of finished trees, numbered by lowest member index.

    Row t of ``left`` and ``right`` (int64, (trees, 2 n - 1)) has the children of the nodes n, ...,
    2 n - 2 of a tree, children before parents; earlier entries are not read. Row t of the result
    (trees, n) has its labels. Of prunings that cost the same, the one that gives the left child
    fewer clusters counts. O(n + k^2) for every merge that is not among the first ones of the tree
    before as well.
    """
    objective, reference, k = pruning
    own = integers(reference), integers(left), integers(right)
    return core.prune(objective, *own, k, current_stop())


def merge_values(kind: int, values: Reals, left: Integers, right: Integers) -> Reals:
    """What each merge of a finished tree makes of the values (n, n) of its pairs of points.

    ``left`` and ``right`` are rows of those of `prune`. Plain floats, within 2 n roundings for
    means. O(n^2).
    """
    return core.merge_values(kind, reals(values), integers(left), integers(right))


def heaviest_matching(weights: Integers) -> int:
    """Largest sum of one entry in each row of a table, no two of them in the same column.

    The table has at least as many columns as rows. O(rows^2 columns).
    """
    return core.heaviest_matching(integers(weights))


def matched_points(target: Integers, partitions: Integers) -> Integers:
    """Largest numbers of points that a matching of clusters to classes gets right.

    Parameters
    ----------
    target : int64 array of shape (n,)
        Codes 0, 1, ... of the classes.
    partitions : int64 array of shape (r, n)
        Codes 0, 1, ... of the clusters in each of r partitions.

    Returns
    -------
    int64 array of shape (r,)
        Clusters or classes that are left over count as wrong.
    """
    return core.matched_points(integers(target), integers(partitions), current_stop())
