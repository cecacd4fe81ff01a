"""Learning from many utility functions: windows over their jumps, weights, weighted sums."""

from __future__ import annotations

from typing import NamedTuple

import numpy.typing as npt

from certune._core import learning as core
from certune.deadline import current_stop
from certune.kernels.arrays import Integers, Reals, flags, integers, reals


class OwnedEnds(NamedTuple):
    """Ends of intervals in ascending order, and the number of the function that each belongs to.

    Attributes
    ----------
    places : float64 array of shape (n_ends,)
        Sorted.
    owners : int64 array of shape (n_ends,)
        Numbers from 0 to n_owners - 1.
    """

    places: npt.ArrayLike
    owners: npt.ArrayLike


def fullest_window(
    entries: OwnedEnds, exits: OwnedEnds, n_owners: int, width: float, closed: bool
) -> tuple[int, float]:
    """Return the largest number of owners that one position of a window meets, and where.

    Discontinuity i is met by the window [x, x + width] for x from ``entry - width`` to ``exit``.
    The comparison of the two is exact, rounding of the sum included.

    Parameters
    ----------
    entries, exits : OwnedEnds
        Each sorted on its own; both hold the same discontinuities.
    n_owners : int
        Number of functions.
    width : float
        Width of the window.
    closed : bool
        Whether the ends of the intervals of positions belong to them.

    Returns
    -------
    count : int
        Largest number of different owners.
    exit : float
        An end of the interval of positions at which the count is reached: the window can start
        there (closed) or just before (open). NaN if there is none.
    """
    return core.fullest_window(
        (reals(entries[0]), integers(entries[1])),
        (reals(exits[0]), integers(exits[1])),
        n_owners,
        width,
        closed,
        current_stop(),
    )


class StepWeights:
    """Weights exp(rate * f) on one interval, f a sum of step functions, in a search tree.

    An insertion costs O(log n) expected and touches no other piece. Masses are sums of positive
    terms relative to the largest weight, so that nothing overflows; their relative error is about
    1e-16 times the number of functions added, because jumps are summed in floats.

    Parameters
    ----------
    low, high : float
        The interval.
    rate : float
        Finite.
    """

    def __init__(self, low: float, high: float, rate: float) -> None:
        self._core = core.StepWeights(low, high, rate)

    @property
    def n_pieces(self) -> int:
        """Number of pieces."""
        return self._core.n_pieces

    @property
    def rate(self) -> float:
        """The factor in the exponent. Setting it costs O(n)."""
        return self._core.rate

    @rate.setter
    def rate(self, rate: float) -> None:
        if rate != self._core.rate:
            self._core.set_rate(rate)

    @property
    def top(self) -> float:
        """The largest value of f."""
        return self._core.top

    @property
    def mass(self) -> float:
        """The integral of exp(rate * (f - top))."""
        return self._core.mass

    def add(self, edges: npt.ArrayLike, values: npt.ArrayLike) -> None:
        """Add a step function: ``values[i]`` between edges i - 1 and i. O(k log n)."""
        self._core.add(reals(edges), reals(values))

    def take_in(
        self, edges: npt.ArrayLike, lower: npt.ArrayLike, upper: npt.ArrayLike
    ) -> tuple[float, float]:
        """Return bounds of the mean of a bounded step function, then add its middle."""
        return self._core.take_in(reals(edges), reals(lower), reals(upper))

    def masses(self, edges: npt.ArrayLike) -> Reals:
        """Integrate exp(rate * (f - top)) over the cells between sorted edges. O(k log n)."""
        return self._core.cell_masses(reals(edges))

    def draw(self, which: float, where: float) -> float:
        """Return the point of the piece at quantile `which`, at the share `where` of its width.

        Both are in [0, 1). O(log n).
        """
        return self._core.draw(which, where)

    def function(self) -> tuple[Reals, Reals]:
        """Return the left ends of the pieces and the values of f. O(n)."""
        return self._core.pieces()


class Optima(NamedTuple):
    """Optima of weighted sums of step functions, see :meth:`JointSteps.weighted_optima`.

    Attributes
    ----------
    values : int64 array of shape (n_rows,)
        Best decided value.
    starts, stops : float64 arrays of shape (n_rows,)
        The widest interval on which it is attained.
    n_candidates : int64 array of shape (n_rows,)
        Number of pieces of the sum that may attain the value: if values are rounded, the answer is
        certain only if there is just one.
    hits_lower, hits_upper : int64 arrays of shape (n_states,)
        In how many rows each state certainly, or possibly, attains the best decided value.
    """

    values: Integers
    starts: Reals
    stops: Reals
    n_candidates: Integers
    hits_lower: Integers
    hits_upper: Integers


class JointSteps:
    """Step functions with integer values on one list of events, ordered along the parameter.

    Event e changes what is known of function ``function[e]`` by its steps, and opens (+1) or closes
    (-1) a gap of it; ``complete[e]`` says that no further event belongs to the same place, and a
    new state begins. Before the first event is state 0. Sums are exact as long as they fit into 64
    bits, which the caller sees to. A weighted sum costs one pass over the events.

    Parameters
    ----------
    first : pair of int64 arrays of shape (n_functions,)
        Lower and upper bounds of the functions in state 0.
    function : int64 array of shape (n_events,)
        Numbers from 0 to n_functions - 1.
    steps : pair of int64 arrays of shape (n_events,)
        Changes of the lower and upper bounds.
    opening : int64 array of shape (n_events,)
        +1 or -1.
    complete : bool array of shape (n_events,)
        There is one state more than true flags.
    """

    def __init__(
        self,
        first: tuple[npt.ArrayLike, npt.ArrayLike],
        function: npt.ArrayLike,
        steps: tuple[npt.ArrayLike, npt.ArrayLike],
        opening: npt.ArrayLike,
        complete: npt.ArrayLike,
    ) -> None:
        self._core = core.JointSteps(
            (integers(first[0]), integers(first[1])),
            integers(function),
            (integers(steps[0]), integers(steps[1])),
            integers(opening),
            flags(complete),
        )

    def signed_suprema(
        self, is_setting: npt.ArrayLike, weights: npt.ArrayLike
    ) -> tuple[Integers, Integers]:
        """Bound the supremum of ``sum_i weights[row, i] u_i`` for each row of weights of any sign.

        Parameters
        ----------
        is_setting : bool array of shape (n_states,)
            States that count; state 0 always does.
        weights : int64 array of shape (n_rows, n_functions)
            In a state in which u_i is only bounded, the sum lies between those of the ends.

        Returns
        -------
        lower, upper : int64 arrays of shape (n_rows,)
        """
        return self._core.signed_suprema(flags(is_setting), integers(weights), current_stop())

    def weighted_optima(self, begins: npt.ArrayLike, high: float, weights: npt.ArrayLike) -> Optima:
        """Maximise ``sum_i weights[row, i] u_i`` for each row of weights >= 0.

        Parameters
        ----------
        begins : float64 array of shape (n_states,)
            Left ends of the states.
        high : float
            Right end of the last one.
        weights : int64 array of shape (n_rows, n_functions)
        """
        found = self._core.weighted_optima(reals(begins), high, integers(weights), current_stop())
        return Optima(*found)
