"""The best schedule over all orders of solvers and all switching times, exactly.

Between two runtimes of a solver the cost of a schedule only grows with its time, so that some
optimum has every switching time at 0 or at a runtime of its solver. For two solvers the costs at
all these times are one sum with moving limits; for more, the times of the first solver are tried
one after the other, those left out whose bound, the best of the remaining solvers on every
problem, is no better than what was found. All sums are those of integers.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from certune.cards import Carded
from certune.checks import as_list
from certune.deadline import check_time
from certune.errors import InputError, ParameterError
from certune.families.schedules.family import (
    PENALTY,
    checked_cutoff,
    penalised_time,
    schedule_structure,
)
from certune.families.schedules.instance import RuntimeInstance
from certune.guarantees.bounded_mean import METHODS
from certune.guarantees.guarantee import Guarantee, make_guarantee
from certune.guarantees.records import Tuned

Integers = NDArray[Any]
"""Numbers without rounding: int64, or Python's integers where these could overflow."""

_LARGEST = 2**62


@dataclass(frozen=True)
class Schedule:
    """Solvers in order, and the seconds of all but the last, which has what is left.

    Attributes
    ----------
    solvers : tuple of str
        The solvers.
    times : tuple of Fraction
        Their seconds; one fewer.
    """

    solvers: tuple[str, ...]
    times: tuple[Fraction, ...]

    def __str__(self) -> str:
        parts = [
            f"{solver} for {float(time):g} s, then "
            for solver, time in zip(self.solvers, self.times, strict=False)
            if time
        ]
        return "".join(parts) + self.solvers[-1]


@dataclass(frozen=True, repr=False)
class ScheduleResult(Carded):
    """The best schedule on a set of problems.

    Attributes
    ----------
    schedule : Schedule
        The first of the best ones.
    par10 : Fraction
        Its mean PAR10; no order and no times of so many solvers have a smaller one.
    cutoff : Fraction
        Seconds until a problem counts as not solved.
    n_orders : int
        Orders of solvers among which it is the best.
    single_best : tuple of (str, Fraction)
        The solver with the smallest mean PAR10 on its own.
    best_per_problem : Fraction
        Mean PAR10 of the best solver on every problem, which no schedule can reach.
    """

    schedule: Schedule
    par10: Fraction
    cutoff: Fraction
    n_orders: int
    single_best: tuple[str, Fraction]
    best_per_problem: Fraction
    _instances: tuple[RuntimeInstance, ...] = field(repr=False)

    def evaluate(self, instances: Sequence[RuntimeInstance]) -> list[Fraction]:
        """Return the PAR10 of the schedule on each of other problems."""
        return [
            penalised_time(self.schedule.solvers, self.cutoff, each, self.schedule.times)
            for each in instances
        ]

    def guarantee(
        self, delta: float = 0.05, held_out: Sequence[RuntimeInstance] | None = None
    ) -> Guarantee:
        """What the schedule will cost on new problems, with probability 1 - delta.

        Parameters
        ----------
        delta : float
            Probability that it does not hold.
        held_out : sequence of RuntimeInstance, optional
            Problems that took no part in tuning; without them the worst case over all schedules
            of all orders counts, with delta shared among the orders.

        Returns
        -------
        Guarantee
            In utilities 1 - PAR10 / (10 cutoff); `par10_of` turns these into seconds.
        """
        worst = PENALTY * self.cutoff
        value = 1 - self.par10 / worst
        tuned = Tuned(value, len(self._instances), Fraction(0), Fraction(1))
        if held_out is not None:
            utilities = [1 - cost / worst for cost in self.evaluate(held_out)]
            return make_guarantee(tuned, value, delta=delta, held_out=utilities, kinds=METHODS)
        return make_guarantee(
            tuned,
            value,
            delta=delta / self.n_orders,
            structure=schedule_structure(len(self.schedule.solvers)),
            kinds=["worst-case"],
            notes=(f"delta is shared among {self.n_orders} orders of solvers",),
        )

    def par10_of(self, utility: float) -> float:
        """Return the PAR10 in seconds that a utility stands for."""
        return PENALTY * float(self.cutoff) * (1.0 - utility)

    def __str__(self) -> str:
        solver, alone = self.single_best
        return (
            f"{self.schedule}: PAR10 {float(self.par10):.6g} s, the best of {self.n_orders} orders "
            f"and all times on {len(self._instances)} problems; {solver} alone "
            f"{float(alone):.6g} s, the best solver of every problem "
            f"{float(self.best_per_problem):.6g} s"
        )


def best_schedule(
    instances: Sequence[RuntimeInstance], cutoff: Any, size: int = 2
) -> ScheduleResult:
    """Return the schedule with the smallest mean PAR10 over all orders and all switching times.

    Parameters
    ----------
    instances : sequence of RuntimeInstance
        Recorded runs of the same solvers on every problem.
    cutoff : number
        Seconds until a problem counts as not solved.
    size : int, default 2
        Number of solvers of a schedule. Times of 0 are allowed, so that more cannot be worse.

    Examples
    --------
    >>> import certune as ct
    >>> runs = [ct.RuntimeInstance({"A": a, "B": b}) for a, b in ((1, 90), (2, 80), (None, 30))]
    >>> print(ct.best_schedule(runs, cutoff=100).schedule)
    A for 2 s, then B
    """
    problems = _checked(instances)
    solvers = problems[0].solvers
    if not isinstance(size, int) or isinstance(size, bool) or not 2 <= size <= len(solvers):
        raise ParameterError(
            f"size must be an integer from 2 to the number of solvers, {len(solvers)}, got {size!r}"
        )
    table = _Table.of(problems, solvers, checked_cutoff(cutoff))
    found = table.best(size)
    alone = table.alone()
    single = min(range(len(solvers)), key=lambda number: alone[number])
    return ScheduleResult(
        Schedule(
            tuple(solvers[number] for number in found.order),
            tuple(Fraction(time, table.scale) for time in found.times),
        ),
        table.mean(found.cost),
        checked_cutoff(cutoff),
        math.perm(len(solvers), size),
        (solvers[single], table.mean(alone[single])),
        table.mean(table.at_best(range(len(solvers)))),
        tuple(problems),
    )


def _checked(instances: Any) -> list[RuntimeInstance]:
    problems = as_list("instances", instances)
    for number, each in enumerate(problems):
        if not isinstance(each, RuntimeInstance):
            raise InputError(
                f"instance {number} is a {type(each).__name__}, expected a RuntimeInstance"
            )
        if set(each.solvers) != set(problems[0].solvers):
            raise InputError(
                f"instance {number} has runs of {', '.join(each.solvers)}, the first one of "
                f"{', '.join(problems[0].solvers)}; every problem needs runs of the same solvers"
            )
    if not problems:
        raise InputError("best_schedule needs at least one problem, got none")
    return problems


class _Found(NamedTuple):
    cost: int
    order: tuple[int, ...]
    times: tuple[int, ...]


@dataclass(frozen=True)
class _Table:
    """Runtimes as integers, one row a solver; what is not solved within the cutoff lies behind it.

    Parameters
    ----------
    runtimes : array
        In units of 1 / scale seconds.
    cutoff, scale : int
        The cutoff in these units, and the units of a second.
    """

    runtimes: Integers
    cutoff: int
    scale: int

    @classmethod
    def of(
        cls, problems: Sequence[RuntimeInstance], solvers: Sequence[str], cutoff: Fraction
    ) -> _Table:
        rows = [[each.seconds(solver) for each in problems] for solver in solvers]
        times = [time for row in rows for time in row if time is not None and time <= cutoff]
        scale = math.lcm(cutoff.denominator, *(time.denominator for time in times))
        limit = int(cutoff * scale)
        # Sums of all costs, and products of times with counts, must stay below this.
        fits = PENALTY * limit * (len(problems) + 1) * 4 < _LARGEST
        whole = [
            [limit + 1 if time is None or time > cutoff else int(time * scale) for time in row]
            for row in rows
        ]
        return cls(np.array(whole, dtype=np.int64 if fits else object), limit, scale)

    @property
    def penalty(self) -> int:
        return PENALTY * self.cutoff

    def mean(self, cost: int) -> Fraction:
        return Fraction(int(cost), self.scale * self.runtimes.shape[1])

    def alone(self) -> list[int]:
        """Cost of each solver alone."""
        costs = np.where(self.runtimes <= self.cutoff, self.runtimes, self.penalty)
        return [int(cost) for cost in costs.sum(axis=1)]

    def at_best(self, solvers: Sequence[int]) -> int:
        """Cost if the best of some solvers runs on every problem."""
        everybody = np.arange(self.runtimes.shape[1])
        return int(self._best_costs(solvers, everybody, np.zeros(1, dtype=np.int64)).sum())

    def best(self, size: int) -> _Found:
        """Return the best order and times; of equally good ones the first."""
        best: _Found | None = None
        everybody = np.arange(self.runtimes.shape[1])
        orders = itertools.permutations(range(len(self.runtimes)), size)
        bounds = {
            chosen: self.at_best(chosen)
            for chosen in itertools.combinations(range(len(self.runtimes)), size)
        }
        # Promising sets of solvers first, so that the others are left out by their bound.
        for order in sorted(orders, key=lambda order: (bounds[tuple(sorted(order))], order)):
            if best is not None and bounds[tuple(sorted(order))] > best.cost:
                break
            limit = None if best is None else best.cost
            for cost, times in self._improvements(order, everybody, 0, limit):
                found = _Found(cost, order, times)
                if best is None or found < best:
                    best = found
        assert best is not None
        return best

    def _improvements(
        self, order: tuple[int, ...], left: Integers, elapsed: int, limit: int | None
    ) -> Iterator[tuple[int, tuple[int, ...]]]:
        """Yield costs on the problems that are left, each at most the limit and the last one."""
        check_time()
        times = self._times(order[0], left, elapsed)
        if len(order) == 2:
            costs = self._pair_costs(order[0], order[1], left, elapsed, times)
            number = int(np.argmin(costs))
            if limit is None or costs[number] <= limit:
                yield int(costs[number]), (int(times[number]),)
            return
        first = self.runtimes[order[0]][left]
        bounds = self._first_bounds(order, left, elapsed, times)
        for number in np.argsort(bounds, kind="stable"):
            if limit is not None and bounds[number] > limit:
                return
            time = int(times[number])
            solved = first <= time
            done = int((elapsed + first[solved]).sum())
            rest = None if limit is None else limit - done
            for cost, later in self._improvements(order[1:], left[~solved], elapsed + time, rest):
                limit = done + cost
                yield limit, (time, *later)

    def _times(self, solver: int, left: Integers, elapsed: int) -> Integers:
        """Candidates of the time of a solver: 0, and its runtimes that end before the cutoff."""
        own = self.runtimes[solver][left]
        return np.unique(np.concatenate([own[own <= self.cutoff - elapsed], own[:0], [0]]))

    def _pair_costs(
        self, first: int, second: int, left: Integers, elapsed: int, times: Integers
    ) -> Integers:
        """Costs of two solvers at every candidate of the time of the first.

        A problem costs elapsed + a from time a on, and before that elapsed + t + b up to the time
        t = cutoff - elapsed - b, and the penalty behind it: sums over three ranges of candidates.
        """
        a, b = self.runtimes[first][left], self.runtimes[second][left]
        room = self.cutoff - elapsed
        solved_from = np.where(a <= room, np.searchsorted(times, a), len(times))
        second_until = np.searchsorted(times, room - b, side="right")
        second_until = np.where(b <= room, np.minimum(second_until, solved_from), 0)
        fixed = np.zeros(len(times) + 1, dtype=self.runtimes.dtype)
        count = np.zeros(len(times) + 1, dtype=self.runtimes.dtype)
        np.add.at(fixed, 0, int((elapsed + b)[second_until > 0].sum()))
        np.subtract.at(fixed, second_until, np.where(second_until > 0, elapsed + b, 0))
        np.add.at(count, 0, int((second_until > 0).sum()))
        np.subtract.at(count, second_until, (second_until > 0).astype(int))
        np.add.at(fixed, second_until, self.penalty)
        np.subtract.at(fixed, solved_from, self.penalty)
        np.add.at(fixed, solved_from, elapsed + a)
        fixed[len(times)] = 0
        return np.asarray(np.cumsum(fixed[:-1]) + np.cumsum(count[:-1]) * times)

    def _first_bounds(
        self, order: tuple[int, ...], left: Integers, elapsed: int, times: Integers
    ) -> Integers:
        """Bound the costs for each time of the first solver: what is left is solved at best."""
        own = self.runtimes[order[0]][left]
        later = self._best_costs(order[1:], left, elapsed + times)
        solved = own[None, :] <= times[:, None]
        costs = np.where(solved, elapsed + own[None, :], later)
        return np.asarray(costs.sum(axis=1))

    def _best_costs(self, solvers: Sequence[int], left: Integers, starts: Integers) -> Integers:
        """Costs if from each start (rows) the best of some solvers runs on every problem."""
        ends = starts[:, None] + self.runtimes[list(solvers)][:, left].min(axis=0)[None, :]
        return np.asarray(np.where(ends <= self.cutoff, ends, self.penalty))
