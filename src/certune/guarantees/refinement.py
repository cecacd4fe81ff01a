"""The joint refinement: all utility functions of a sample, cut at all their breakpoints at once.

Between two neighbouring breakpoints of any instance every utility is constant, so that the
vectors (u_1(t), ..., u_N(t)) of all settings t form a finite list. What the sample says about
settings that were not even tried is a computation on this list: the complexity of the class on
the sample, and the optimum of any re-weighted sample.

Settings are floats. Where a change is enclosed by two neighbouring floats there is no setting in
between, and nothing to be undecided about. Equal functions, as of an instance that was drawn
twice, are kept once: what is not decided about one of them is the same for all.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from certune.dual import PiecewiseFunction, sum_of
from certune.dual.integers import INT64_LIMIT, FloatArray, IntArray, magnitude
from certune.errors import InputError, ParameterError
from certune.kernels.learning import JointSteps

BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Optima:
    """Optimum of each of many re-weighted samples.

    Attributes
    ----------
    starts, stops : ndarray of float
        The widest interval on which the best value is attained, as
        ``PiecewiseFunction.widest_plateau(0)`` gives it.
    values : ndarray of float
        Best weighted mean of the utilities.
    n_optimal, n_maybe_optimal : ndarray of int
        For each state of the refinement, in how many samples it certainly, or possibly, attains
        the best value.
    """

    starts: FloatArray
    stops: FloatArray
    values: FloatArray
    n_optimal: IntArray
    n_maybe_optimal: IntArray

    @property
    def centres(self) -> FloatArray:
        """Centre of each interval, the setting that tuning would choose."""
        return np.clip(0.5 * self.starts + 0.5 * self.stops, self.starts, self.stops)


@dataclass(frozen=True, eq=False, repr=False)
class JointRefinement:
    """Functions of one parameter on their common refinement; made by :func:`refine`.

    The domain is a sequence of states: closed intervals (or points) on which every function is
    decided, and open intervals between them in which some function is only bounded. Values are
    integers over `scale`: exact if `is_exact`, otherwise rounded outward.

    Attributes
    ----------
    functions : tuple of PiecewiseFunction
        The functions, over one domain.
    distinct : tuple of PiecewiseFunction
        The different ones among them.
    begins : ndarray of float
        Left ends of the states.
    n_open : ndarray of int
        Number of different functions that are not decided in each state.
    is_setting : ndarray of bool
        Whether a float lies in the state; open intervals between neighbouring floats have none.
    lowest, highest : ndarray of int
        Bounds of each function over the whole domain, times `scale`.
    scale : int
        Common denominator.
    is_exact : bool
        Whether values are exact; they are unless common denominators exceed 64 bits.
    """

    functions: tuple[PiecewiseFunction, ...]
    distinct: tuple[PiecewiseFunction, ...]
    begins: FloatArray
    n_open: IntArray
    is_setting: BoolArray
    lowest: IntArray
    highest: IntArray
    scale: int
    is_exact: bool
    _group: IntArray
    _steps: JointSteps
    _function: IntArray
    _opening: IntArray
    _complete: BoolArray

    @property
    def n_functions(self) -> int:
        """Number of functions."""
        return len(self.functions)

    @property
    def rounding(self) -> int:
        """How much an integer may differ from the scaled value: 0 if exact, else less than 1."""
        return 0 if self.is_exact else 1

    @property
    def doubled_middles(self) -> IntArray:
        """Twice the middle of the range of each function, times `scale`."""
        return self.lowest + self.highest

    @property
    def events(self) -> tuple[IntArray, IntArray, BoolArray]:
        """Distinct function, direction (+1 opens a gap, -1 closes it), whether a state begins."""
        return self._function, self._opening, self._complete

    def signed_suprema(self, signs: npt.NDArray[np.int8]) -> tuple[IntArray, IntArray]:
        """Bound sup_t of sum_i signs[k, i] u_i(t) over floats t, times `scale`, for every row k.

        O(B) a row for B breakpoints in all.

        Parameters
        ----------
        signs : ndarray of int8
            Rows of -1 and +1, one column for each function.
        """
        return self._steps.signed_suprema(self.is_setting, self._grouped(signs))

    def _grouped(self, weights: IntArray) -> IntArray:
        """Sum the weights of equal functions: a column for each distinct one."""
        if len(self.distinct) == len(self.functions):
            return weights.astype(np.int64)
        grouped = np.zeros((len(self.distinct), len(weights)), dtype=np.int64)
        np.add.at(grouped, self._group, weights.T)
        return np.ascontiguousarray(grouped.T)

    def optima(self, weights: npt.NDArray[np.int64]) -> Optima:
        """Maximise sum_i weights[k, i] u_i for every row k, exactly.

        O(B) a row for B breakpoints in all; where rounded values leave a choice, the functions
        themselves are added.

        Parameters
        ----------
        weights : ndarray of int64
            Multiplicities: rows of integers >= 0, each with a sum from 1 to the number of
            functions.
        """
        sums = weights.sum(axis=1)
        if (weights < 0).any() or (sums < 1).any() or (sums > self.n_functions).any():
            raise ParameterError(
                "weights must be counts >= 0 with sums from 1 to the number of functions, "
                f"{self.n_functions}"
            )
        values, starts, stops, n_candidates, *hits = self._steps.weighted_optima(
            self.begins, self.functions[0].high, self._grouped(weights)
        )
        means = values / (sums * float(self.scale))
        optima = Optima(starts, stops, means, *hits)
        if not self.is_exact and (n_candidates > 1).any():
            return self._resolved(weights, optima, n_candidates > 1)
        return optima

    def _resolved(self, weights: IntArray, found: Optima, open_rows: BoolArray) -> Optima:
        """Decide the rows for which rounded values leave a choice, with exact sums."""
        starts, stops, values = found.starts, found.stops, found.values
        settled = self.optima(weights[~open_rows]) if not open_rows.all() else None
        hits = np.zeros((2, self.begins.size), dtype=np.int64)
        if settled is not None:
            hits += np.stack((settled.n_optimal, settled.n_maybe_optimal))
        ends = np.append(self.begins[1:], self.functions[0].high)
        for row in np.flatnonzero(open_rows):
            chosen = np.flatnonzero(weights[row])
            total = sum_of(self.functions[i] * int(weights[row, i]) for i in chosen)
            starts[row], stops[row] = total.widest_plateau(0)
            values[row] = float(total.max_exact / int(weights[row].sum()))
            inside = np.zeros(self.begins.size, dtype=bool)
            for low, high in total.argmax():
                inside |= (self.begins >= low) & (ends <= high)
            hits[0] += inside
            # A state in which some function is open may attain more than is known of it.
            hits[1] += inside | (self.n_open > 0)
        return Optima(starts, stops, values, *hits)


def refine(functions: Sequence[PiecewiseFunction]) -> JointRefinement:
    """Return the joint refinement of functions over one domain. O(B log B) for B breakpoints.

    Parameters
    ----------
    functions : sequence of PiecewiseFunction
        At least one; all have the same domain.

    Examples
    --------
    >>> left = PiecewiseFunction([0, 0.5], [0.25, 1], [1, 0], [0], [1], 1)
    >>> right = PiecewiseFunction([0, 0.75], [0.625, 1], [0, 1], [0], [1], 1)
    >>> refine([left, right]).begins
    array([0.   , 0.25 , 0.5  , 0.625, 0.75 ])
    """
    listed = tuple(functions)
    _check(listed)
    distinct, group = _distinct(listed)
    values, lower, upper, scale, is_exact = _integers(distinct, len(listed))
    counts = [function.n_pieces for function in distinct]
    owner = np.repeat(np.arange(len(distinct)), [count - 1 for count in counts])
    firsts = np.cumsum([0, *counts[:-1]])
    is_first = np.zeros(sum(counts), dtype=bool)
    is_first[firsts] = True
    is_last = np.append(is_first[1:], True)
    opens = np.concatenate([function.stops[:-1] for function in distinct])
    closes = np.concatenate([function.starts[1:] for function in distinct])
    positions = np.concatenate((closes, opens))
    # Gaps are open: at one place closing comes before opening, which a stable sort keeps.
    order = np.argsort(positions, kind="stable")
    positions, opening = positions[order], np.where(order >= closes.size, 1, -1)
    complete = np.ones(order.size, dtype=bool)
    complete[:-1] = (positions[1:] != positions[:-1]) | (opening[1:] != opening[:-1])
    steps = [
        np.concatenate((pieces[~is_first] - gaps, gaps - pieces[~is_last]))[order]
        for pieces, gaps in zip(values, (lower, upper), strict=True)
    ]
    function = np.concatenate((owner, owner))[order]
    first = values[0][firsts], values[1][firsts]
    ranges = [np.split(part, np.cumsum(counts)[:-1]) for part in values]
    gaps = [np.split(part, np.cumsum([c - 1 for c in counts])[:-1]) for part in (lower, upper)]
    lowest = np.array([_least(*both) for both in zip(ranges[0], gaps[0], strict=True)])
    highest = np.array([-_least(-p, -g) for p, g in zip(ranges[1], gaps[1], strict=True)])
    return JointRefinement(
        functions=listed,
        distinct=distinct,
        begins=np.append(listed[0].low, positions[complete]),
        n_open=np.append(0, np.cumsum(opening)[complete]),
        is_setting=_settings(positions[complete], opening[complete]),
        lowest=lowest[group],
        highest=highest[group],
        scale=scale,
        is_exact=is_exact,
        _group=group,
        _steps=JointSteps(first, function, (steps[0], steps[1]), opening, complete),
        _function=function,
        _opening=opening,
        _complete=complete,
    )


def _distinct(
    functions: tuple[PiecewiseFunction, ...],
) -> tuple[tuple[PiecewiseFunction, ...], IntArray]:
    """Return the different functions, in order, and which of them each function is."""
    places: dict[PiecewiseFunction, int] = {}
    group = [places.setdefault(function, len(places)) for function in functions]
    return tuple(places), np.array(group)


def _settings(positions: FloatArray, opening: IntArray) -> BoolArray:
    """Tell which states contain a float: all but open intervals between neighbouring floats."""
    is_setting = np.ones(positions.size + 1, dtype=bool)
    is_open = (opening[:-1] > 0) & (opening[1:] < 0)
    is_setting[1:-1] = ~is_open | (np.nextafter(positions[:-1], np.inf) < positions[1:])
    return is_setting


def _least(pieces: IntArray, gaps: IntArray) -> int:
    return min(int(pieces.min()), int(gaps.min(initial=pieces[0])))


def _check(functions: tuple[Any, ...]) -> None:
    if not functions:
        raise InputError("A sample needs at least one utility function, got none.")
    for function in functions:
        if not isinstance(function, PiecewiseFunction):
            raise InputError(
                "The joint refinement needs piecewise constant functions (PiecewiseFunction), got "
                f"{type(function).__name__}."
            )
        if (function.low, function.high) != (functions[0].low, functions[0].high):
            raise InputError(
                "All functions of a sample need the same domain, got "
                f"[{functions[0].low!r}, {functions[0].high!r}] and "
                f"[{function.low!r}, {function.high!r}]."
            )


def _integers(
    functions: tuple[PiecewiseFunction, ...], n_summands: int
) -> tuple[tuple[IntArray, IntArray], IntArray, IntArray, int, bool]:
    """Values of pieces (lower, upper) and bounds in gaps as int64 over one scale."""
    denominator = math.lcm(*{function.denominator for function in functions})
    largest = max(
        max(map(magnitude, (f.numerators, f.gap_lower, f.gap_upper))) * denominator // f.denominator
        for f in functions
    )
    # Sums of one number from each summand, doubled, shall fit with room for differences.
    room = INT64_LIMIT // (4 * n_summands)
    is_exact = max(largest, 1) <= room and denominator <= room
    size = max(Fraction(largest, denominator), Fraction(1))
    scale = denominator if is_exact else 1 << (math.floor(room / (size + 1)).bit_length() - 1)

    def scaled(parts: list[IntArray], up: bool) -> IntArray:
        rows = []
        for part, function in zip(parts, functions, strict=True):
            if is_exact:
                rows.append(part.astype(np.int64) * (scale // function.denominator))
                continue
            sign = -1 if up else 1
            exact = [sign * (sign * int(top) * scale // function.denominator) for top in part]
            rows.append(np.array(exact, dtype=np.int64))
        return np.concatenate(rows)

    pieces = [function.numerators for function in functions]
    lower, upper = (
        scaled([f.gap_lower for f in functions], False),
        scaled([f.gap_upper for f in functions], True),
    )
    return (scaled(pieces, False), scaled(pieces, True)), lower, upper, scale, is_exact
