"""Harmonic labels on weighted graphs: solving, settling, proving, bounding.

A graph has n nodes to be labelled and labelled points of several classes. The weight of an edge is
exp(-exponent), an exponent the sum of the edge's lengths in L metrics times rates. All labelled
points together are the ground, which has the number n.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from certune._core import graph as core
from certune.deadline import current_stop
from certune.kernels.arrays import Flags, Integers, Reals, flags, integers, reals

# In a zone: more than two classes, or no monotone difference.
OPEN = core.OPEN
# Exponents of edges above exp(-STRONG) may change by a limited amount only on a box with models.
STRONG = core.STRONG

Exponents = tuple[Reals, Reals]
"""Values of edges: float64 arrays (n, n) among nodes and (n, n_labelled) to labelled points."""


class Joined(NamedTuple):
    """Which edges exist.

    Attributes
    ----------
    nodes : bool array of shape (n, n)
        Symmetric.
    labelled : bool array of shape (n, n_labelled)
    """

    nodes: Flags
    labelled: Flags


class Edges(NamedTuple):
    """A graph with the lengths of its edges.

    Attributes
    ----------
    between : float64 array of shape (L, n, n)
        Lengths among nodes in L metrics.
    to_labelled : float64 array of shape (L, n, n_labelled)
        Lengths from nodes to labelled points.
    joined : Joined
    class_of : int64 array of shape (n_labelled,)
        Classes of the labelled points, below n_classes.
    n_classes : int
    """

    between: Reals
    to_labelled: Reals
    joined: Joined
    class_of: Integers
    n_classes: int


class Elimination(NamedTuple):
    """Work arrays: the weights of a graph, and after :func:`eliminate` what it has left.

    They are changed in place and must be contiguous arrays of float64.

    Attributes
    ----------
    weights : float64 array of shape (n, n)
        Above the diagonal: row k has the weights at node k when it is taken away.
    classes : float64 array of shape (n, n_classes)
        Weights to all labelled points of a class together.
    sums : float64 array of shape (n,)
        Sums of the weights at node k.
    """

    weights: Reals
    classes: Reals
    sums: Reals

    @classmethod
    def room_for(cls, n: int, n_classes: int) -> Elimination:
        """Return arrays of zeros."""
        return cls(np.zeros((n, n)), np.zeros((n, n_classes)), np.zeros(n))


def _edges(edges: Edges) -> core.Edges:
    return (
        reals(edges.between),
        reals(edges.to_labelled),
        flags(edges.joined.nodes),
        flags(edges.joined.labelled),
        integers(edges.class_of),
        edges.n_classes,
    )


def _pair(values: tuple[npt.ArrayLike, npt.ArrayLike]) -> tuple[Reals, Reals]:
    return reals(values[0]), reals(values[1])


def _flags(joined: tuple[npt.ArrayLike, npt.ArrayLike]) -> tuple[Flags, Flags]:
    return flags(joined[0]), flags(joined[1])


def fill_weights(edges: Edges, rates: tuple[Reals, Reals], shift: float, work: Elimination) -> None:
    """Fill in weights exp(shift - exponent), within 8 units of roundoff.

    Exponents below -700 are taken as -700: callers choose the shift so that this does not matter.

    Parameters
    ----------
    edges : Edges
    rates : pair of float64 arrays of shape (L,)
        Rates, each an unevaluated sum of two doubles.
    shift : float
    work : Elimination
        Its weights and classes are overwritten; only above the diagonal are weights meant.
    """
    core.fill_weights(_edges(edges), _pair(rates), shift, work, current_stop())


def eliminate(work: Elimination) -> bool:
    """Eliminate all nodes without subtraction, in place; False if some node has no weight left.

    Every block of four nodes changes the remaining graph by at most 22 units of roundoff,
    relatively. O(n^3).
    """
    return core.eliminate(work, current_stop())


def substitute(done: Elimination) -> Reals:
    """Return harmonic functions (n, n_classes), 1 on one class and 0 on the others, in O(n^2).

    After :func:`eliminate`; adds at most 6 units of roundoff for each node.
    """
    return core.substitute(done, current_stop())


def transition_shares(edges: Edges, rates: tuple[Reals, Reals]) -> Reals:
    """Return shares (n, n + n_classes) of a node's weight among later nodes and the classes.

    As :func:`eliminate` and a division of every row by its sum, with numbers that have an exponent
    of their own, at about twenty times the cost. Exponents may be as large as 1e12; shares below
    the range of doubles are 0.
    """
    return core.transition_shares(_edges(edges), _pair(rates), current_stop())


def solve_grounded(done: Elimination, right: npt.ArrayLike) -> Reals:
    """Solve the grounded Laplacian system for right-hand sides of shape (n, m).

    After :func:`eliminate`. Each entry is within a small multiple of what the moduli of the
    right-hand side would give.
    """
    solution = reals(right).copy()
    core.solve_grounded(done, solution, current_stop())
    return solution


def inverse_diagonal(done: Elimination) -> Reals:
    """Return the diagonal (n,) of the inverse of the grounded Laplacian, without subtraction."""
    return core.inverse_diagonal(done, current_stop())


def class_energies(done: Elimination) -> Reals:
    """Return the Dirichlet energies (n_classes,) of the harmonic functions."""
    return core.class_energies(done, current_stop())


def chebyshev_coefficients(values: npt.ArrayLike) -> Reals:
    """Return Chebyshev coefficients (columns, N + 1) of interpolants at ``cos(pi j / N)``.

    Parameters
    ----------
    values : float64 array of shape (N + 1, columns)
        Numbers in [0, 1]; coefficients are then within 16 units of roundoff.
    """
    return core.chebyshev_coefficients(reals(values), current_stop())


def settle(
    series: npt.ArrayLike, admitted: npt.ArrayLike, errors: npt.ArrayLike, halving: npt.ArrayLike
) -> tuple[Integers, Reals]:
    """Cut [-1, 1] into parts on which the largest of several polynomials is proved, and zones.

    Parameters
    ----------
    series : float64 array of shape (n, n_classes, N + 1)
        Chebyshev coefficients of the classes of every node.
    admitted : bool array of shape (n, n_classes)
        Other classes never win.
    errors : float64 array of shape (n,)
        Bounds of the error of every value.
    halving : float64 array of shape (N + 1, N + 1)
        Takes coefficients on [-1, 1] to those on [-1, 0], rounded once.

    Returns
    -------
    info : int64 array of shape (n_leaves, 3)
        Node, winner and rival, equal where the winner is proved; in a zone it is one of both, or
        any admitted class if both are `OPEN`.
    ends : float64 array of shape (n_leaves, 2)
        Of every node from -1 to 1, in order.
    """
    return core.settle(
        reals(series), flags(admitted), reals(errors), reals(halving), current_stop()
    )


SpanningTree = core.SpanningTree
"""Minimum spanning tree grown from the ground: `order`, `parent`, `via`, `depth` of the nodes.

`via` is the labelled point through which a node reaches the ground, -1 if its parent is a node;
nodes that do not reach the ground have the parent -1 and are not in the order.
"""

RankedTree = core.RankedTree
"""A tree that reaches all nodes, with its edges in the order of their exponents.

`lengths` and `rank_of` belong to the edge above each node; `path_rank` (n + 1, n + 1) is the
largest rank on the path of two nodes, -1 for a node and itself.
"""


def spanning_tree(exponents: Exponents, joined: Joined) -> SpanningTree:
    """Return the minimum spanning tree of a graph and its ground. O(n^2)."""
    return core.spanning_tree(_pair(exponents), _flags(joined), current_stop())


def gates(joined: Joined) -> Integers:
    """Return, for every node that reaches the ground, the first one that all ways from there pass.

    The node itself if no other separates it from the ground.
    """
    return core.gates(_flags(joined), current_stop())


def path_maxima(exponents: Exponents, tree: SpanningTree) -> Reals:
    """Return the largest exponent (n + 1, n + 1) on the tree path of every two nodes, or -inf."""
    return core.path_maxima(_pair(exponents), tree, current_stop())


def ranked_tree(tree: SpanningTree, exponents: Exponents) -> RankedTree:
    """Sort the edges of a tree that reaches all nodes by their exponents."""
    return core.rank_tree(tree, _pair(exponents), current_stop())


def margins(settings: Sequence[Exponents], maxima: Sequence[Reals]) -> Exponents:
    """Return how much weaker than the tree path between its ends every edge is, at least.

    Exponent minus `path_maxima`, the smallest over all settings; among nodes above the diagonal,
    and infinite elsewhere.
    """
    first = settings[0]
    lowest = np.full(first[0].shape, np.inf), np.full(first[1].shape, np.inf)
    for exponents, largest in zip(settings, maxima, strict=True):
        core.lower_margins(_pair(exponents), reals(largest), lowest, current_stop())
    return lowest


def tail_of_margins(joined: Joined, edge_margins: Exponents) -> Reals:
    """Return for k = 0, ..., 64 the sum of exp(-g) over the edges with a margin g > k."""
    return core.tail_of_margins(_flags(joined), _pair(edge_margins), current_stop())


def ranges_of_strong(
    coefficients: tuple[Exponents, Exponents],
    joined: Joined,
    edge_margins: Exponents,
    cutoff: float,
    tree: RankedTree,
    groups: npt.ArrayLike,
) -> tuple[Reals, Reals]:
    """Return the smallest and largest values (n_groups, 2) of two coefficients over strong edges.

    Parameters
    ----------
    coefficients : pair of Exponents
    joined : Joined
    edge_margins : Exponents
    cutoff : float
        Strong edges have a margin of at most this.
    tree : RankedTree
    groups : int64 array of shape (n,)
        Group of each rank; an edge is in the group of the highest rank on its path.
    """
    return core.ranges_of_strong(
        (_pair(coefficients[0]), _pair(coefficients[1])),
        _flags(joined),
        _pair(edge_margins),
        cutoff,
        tree,
        integers(groups),
        current_stop(),
    )


def phase_links(exponents: Exponents, joined: Joined, tree: RankedTree) -> Reals:
    """Return how much it costs (n, n) if two tree edges, known by ranks, have different phases.

    For every edge of the graph: the longest tree edge on its path against each of the others.
    """
    return core.phase_links(_pair(exponents), _flags(joined), tree, current_stop())


def joined_groups(n: int, first: npt.ArrayLike, second: npt.ArrayLike) -> Integers:
    """Return group numbers of 0, ..., n - 1 if first[k] and second[k] are to be in one group."""
    return core.joined_groups(n, integers(first), integers(second))


def path_below(exponents: Exponents, tree: RankedTree, groups: npt.ArrayLike) -> Reals:
    """Bound (n + 1, n + 1) the exponents, on the path of two nodes, of other groups than the top's.

    ``groups`` belong to ranks; -inf if there is one group only.
    """
    return core.path_below(_pair(exponents), tree, integers(groups), current_stop())


def crossing_sum(exponents: Exponents, joined: Joined, below: Reals) -> float:
    """Return the sum of exp(below - exponent) over all edges; `below` is (n + 1, n + 1)."""
    return core.crossing_sum(_pair(exponents), _flags(joined), reals(below), current_stop())


def leak_sums(
    exponents: Exponents,
    joined: Joined,
    edge_margins: Exponents,
    cutoff: float,
    maxima: Reals,
    below: Reals,
) -> tuple[float, float]:
    """Return logarithms of sums that bound what phases change on the right-hand side.

    Of exp(maxima / 2 - exponent) over edges with a margin above the cutoff, and of
    exp(below / 2 - exponent) over all.
    """
    return core.leak_sums(
        _pair(exponents),
        _flags(joined),
        _pair(edge_margins),
        cutoff,
        reals(maxima),
        reals(below),
        current_stop(),
    )


def log_conductances(
    exponents: Exponents, joined: Joined, resistance: npt.ArrayLike, ranked: npt.ArrayLike
) -> Reals:
    """Return logarithms (n,) of the conductance between the nodes of rank i and above, and others.

    Parameters
    ----------
    exponents : Exponents
    joined : Joined
    resistance : float64 array of shape (n,)
        Largest exponent on the way of a node to the ground.
    ranked : int64 array of shape (n,)
        The nodes by rank.
    """
    return core.log_conductances(
        _pair(exponents), _flags(joined), reals(resistance), integers(ranked), current_stop()
    )


def chained_growth(
    conductances: npt.ArrayLike,
    resistance: npt.ArrayLike,
    ranked: npt.ArrayLike,
    single: npt.ArrayLike,
    log_factor: float,
) -> Reals:
    """Return logarithms (n,) of bounds of all soft labels, found from the ground outwards.

    Parameters
    ----------
    conductances, resistance : float64 arrays of shape (n_corners, n)
        Of `log_conductances`, by rank, and as there, by node.
    ranked : int64 array of shape (n,)
    single : float64 array of shape (n,)
        Bounds of each node without a chain.
    log_factor : float
        A node of rank p is bounded by what bounds all ranks below i, for some i <= p, times
        ``1 + factor sqrt(conductance resistance)``.
    """
    return core.chained_growth(
        reals(conductances),
        reals(resistance),
        integers(ranked),
        reals(single),
        log_factor,
        current_stop(),
    )


def bounds_by_neighbours(
    coefficients: tuple[Exponents, Exponents],
    joined: Joined,
    chosen: npt.ArrayLike,
    bounds: npt.ArrayLike,
    slack: float,
    boxes: npt.ArrayLike,
) -> Reals:
    """Return logarithms (n,) of bounds of soft labels, lower ones where neighbours give them.

    Parameters
    ----------
    coefficients : pair of Exponents
        Exponents are sums of these times two complex powers.
    joined : Joined
    chosen : int64 array
        Nodes that are looked at, in this order, a few times.
    bounds : float64 array of shape (n,)
        Logarithms of bounds that hold on all boxes.
    slack : float
        Room for the rounding of differences of exponents.
    boxes : float64 array of shape (n_boxes, 3, 2)
        Least and largest real part and largest imaginary part of both powers.
    """
    return core.bounds_by_neighbours(
        (_pair(coefficients[0]), _pair(coefficients[1])),
        _flags(joined),
        integers(chosen),
        reals(bounds),
        slack,
        reals(boxes),
        current_stop(),
    )


def exponents_at(edges: Edges, rates: npt.ArrayLike) -> Reals:
    """Return exponents (points, n, n + n_labelled) of all edges at rates (points, L)."""
    return core.exponents_at(_edges(edges), reals(rates), current_stop())


def dominant_classes(
    edges: Edges, exponents: npt.ArrayLike, nodes: npt.ArrayLike, slack: float
) -> Integers:
    """Return the class that has more than half of each soft label on a whole box, or -1.

    Parameters
    ----------
    edges : Edges
    exponents : float64 array of shape (1 + n_vertices, n, n + n_labelled)
        At the centre of the box, which choose paths and cuts, and at its vertices.
    nodes : int64 array of shape (k,)
        The nodes that are asked for.
    slack : float
        Factor that covers the rounding of the exponents.
    """
    return core.dominant_classes(
        _edges(edges), reals(exponents), integers(nodes), slack, current_stop()
    )


class RateBox(NamedTuple):
    """A box of rates.

    Attributes
    ----------
    centre : float64 array of shape (L,)
    moves : float64 array of shape (n_vertices, L)
        Lead from the centre to the vertices.
    shift : float
        Weights at the centre are exp(shift - exponent).
    needed : float
        Range of the exponents of a tree that joins all nodes to labels.
    """

    centre: Reals
    moves: Reals
    shift: float
    needed: float


class ModelErrors(NamedTuple):
    """Bounds of errors that models account for.

    Attributes
    ----------
    soft : float
        Of a soft label at the centre.
    green : float
        Of a Green function, relatively.
    rounding : float
        Of the change of an exponent.
    """

    soft: float
    green: float
    rounding: float


class SoftModels(NamedTuple):
    """Linear models of soft labels on a box.

    Attributes
    ----------
    values : float64 array of shape (n_vertices, n, n_classes)
        At the vertices.
    errors : float64 array of shape (n, n_classes)
        Proved bounds of the distance to the soft labels.
    spread : float64 array of shape (L, L)
        Covariances of the lengths over a random spanning forest.
    exist : bool
        Otherwise the box is too large, and only the spread counts.
    """

    values: Reals
    errors: Reals
    spread: Reals
    exist: bool


def soft_models(
    edges: Edges, done: Elimination, soft: npt.ArrayLike, box: RateBox, errors: ModelErrors
) -> SoftModels:
    """Return linear models of all soft labels on a box.

    Parameters
    ----------
    edges : Edges
    done : Elimination
        What `eliminate` has left at the centre.
    soft : float64 array of shape (n, n_classes)
        Soft labels there.
    box : RateBox
    errors : ModelErrors
    """
    own = reals(box.centre), reals(box.moves), box.shift, box.needed
    return SoftModels(
        *core.soft_models(_edges(edges), done, reals(soft), own, errors, current_stop())
    )


def rule_out(
    values: npt.ArrayLike, errors: npt.ArrayLike, truth: npt.ArrayLike, possible: Flags
) -> tuple[Reals, Flags]:
    """Rule out classes that lose to another one on the whole box.

    Parameters
    ----------
    values : float64 array of shape (n_vertices, n, n_classes)
        Linear functions by their values at the vertices.
    errors : float64 array of shape (n, n_classes)
    truth : int64 array of shape (n,)
        True class of each node, or another number.
    possible : bool array of shape (n, n_classes)
        Contiguous; entries of classes that are ruled out are cleared in place.

    Returns
    -------
    room : float64 array of shape (n, n_vertices)
        How far ahead the true class can be of the rival that is hardest to beat, at the vertices.
    close : bool array of shape (n,)
        Whether two possible classes are close.
    """
    own = reals(values), reals(errors), integers(truth)
    room, close = core.rule_out(*own, possible, current_stop())
    return room, close.view(np.bool_)


def conflicts(room: npt.ArrayLike) -> int:
    """Return the size of a maximal set of disjoint pairs of rows that are nowhere both >= 0.

    Rows of `room` (rows, vertices) are linear functions by their values at the vertices of a box.
    Two exclude each other if a mixture of both is negative at every vertex.
    """
    return core.conflicts(reals(room), current_stop())
