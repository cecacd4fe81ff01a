"""A schedule of solvers whose switching times are tuned.

Solver 1 gets t1 seconds, solver 2 then t2 seconds, and so on; the last one has what is left of the
cutoff. The cost is PAR10: the time until the problem is solved, ten times the cutoff if it is not.
It is piecewise linear in the times, and increases between the runtimes of the solvers, so that an
optimum has switching times among these.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from certune.checks import as_fraction, as_list
from certune.errors import InputError, ParameterError
from certune.families.programs.family import ProgramFamily
from certune.families.schedules.instance import RuntimeInstance
from certune.pfaffian.structure import LineCount, PiecewiseStructure, PredicateCount, whole_number
from certune.space import ParameterSpace, Real

PENALTY = 10
"""A problem that is not solved counts as so many cutoffs: the 10 of PAR10."""


def penalised_time(
    solvers: Sequence[str], cutoff: Fraction, instance: RuntimeInstance, times: Sequence[Any]
) -> Any:
    """Return the PAR10 of a schedule on one problem; times are numbers or expressions."""
    elapsed: Any = Fraction(0)
    for number, solver in enumerate(solvers):
        seconds = instance.seconds(solver)
        is_last = number == len(solvers) - 1
        if seconds is not None and elapsed + seconds <= cutoff:
            if is_last or times[number] >= seconds:
                return elapsed + seconds
        if not is_last:
            elapsed = elapsed + times[number]
    return PENALTY * cutoff


def checked_cutoff(cutoff: Any) -> Fraction:
    """Return a cutoff as an exact number, or raise `ParameterError`."""
    try:
        exact = as_fraction(cutoff)
    except (TypeError, ValueError, OverflowError):
        exact = Fraction(0)
    if not 0 < exact <= sys.float_info.max:
        raise ParameterError(f"cutoff must be a number of seconds > 0, got {cutoff!r}")
    return exact


class _Utility:
    """One minus the share of the worst PAR10; an object, so that it can be sent to processes."""

    def __init__(self, solvers: tuple[str, ...], cutoff: Fraction) -> None:
        self._solvers, self._cutoff = solvers, cutoff

    def __call__(self, instance: RuntimeInstance, parameters: Mapping[str, Any]) -> Any:
        times = [parameters[f"t{number + 1}"] for number in range(len(self._solvers) - 1)]
        cost = penalised_time(self._solvers, self._cutoff, instance, times)
        return 1 - cost / (PENALTY * self._cutoff)


class SolverSchedule(ProgramFamily):
    """Solvers one after the other; when to switch is tuned.

    Parameters
    ----------
    solvers : sequence of str
        Two or more solvers, in order.
    cutoff : number
        Seconds until a problem counts as not solved.

    Notes
    -----
    The parameters t1, t2, ... are the seconds of all solvers but the last, each in [0, cutoff].
    The utility is 1 - PAR10 / (10 cutoff). `certune.best_schedule` finds the best schedule over
    all orders of solvers.

    Examples
    --------
    >>> import certune as ct
    >>> runs = [ct.RuntimeInstance({"A": a, "B": b}) for a, b in ((1, 90), (2, 80), (None, 30))]
    >>> family = ct.SolverSchedule(("A", "B"), cutoff=100)
    >>> family.run(runs[2], {"t1": 20})  # 20 s of A, then 30 s of B
    0.95
    >>> result = ct.tune(family, runs, progress=False)
    >>> round(result.best_params["t1"], 6), round(family.par10(result.best_value), 6)
    (2.0, 11.666667)
    """

    def __init__(self, solvers: Sequence[str], cutoff: Any) -> None:
        names = tuple(map(str, as_list("solvers", solvers)))
        if len(names) < 2 or len(set(names)) < len(names):
            raise ParameterError(
                f"solvers must be at least two different names, in order, got {solvers!r}"
            )
        self.solvers, self.cutoff = names, checked_cutoff(cutoff)
        high = float(self.cutoff)
        times = tuple(Real(f"t{number + 1}", 0.0, high) for number in range(len(names) - 1))
        super().__init__(
            _Utility(names, self.cutoff),
            ParameterSpace(times),
            tolerance=1e-9,
            baselines={f"{names[-1]} alone": {each.name: 0.0 for each in times}},
            check=self._check_runs,
        )

    def __repr__(self) -> str:
        return f"SolverSchedule({self.solvers!r}, cutoff={float(self.cutoff):g})"

    def _check_runs(self, instance: Any) -> None:
        if not isinstance(instance, RuntimeInstance):
            raise InputError(
                f"expected a RuntimeInstance, got {type(instance).__name__}; make one with "
                "certune.RuntimeInstance({'solver': seconds, ...})"
            )
        for solver in self.solvers:
            instance.seconds(solver)

    def par10(self, utility: float) -> float:
        """Return the PAR10 in seconds that a utility stands for."""
        return PENALTY * float(self.cutoff) * (1.0 - utility)

    def structure(self) -> PiecewiseStructure:  # type: ignore[override]
        """Structure of the utility, proved for every problem and all runtimes.

        With m switching times, branches compare t_i with a runtime and sums of the first times
        with the cutoff, and a threshold adds one comparison for each of the m sums: 3 m linear
        predicates. One time has 2 breakpoints and passes a level once on each piece.
        """
        return schedule_structure(len(self.solvers))

    def structure_of(self, instances: Sequence[Any]) -> PiecewiseStructure:
        """Structure for every problem; its size does not matter."""
        return replace(self.structure(), assumptions=())


def schedule_structure(size: int) -> PiecewiseStructure:
    """Return the structure of schedules with so many solvers in a fixed order."""
    times = whole_number("size", size, 2) - 1
    predicates = PredicateCount(
        n_parameters=times,
        n_predicates=3 * times,
        chain_length=0,
        chain_degree=0,
        function_degree=1,
        name="sums of times",
    )
    return PiecewiseStructure(
        n_piece_forms=times + 2,
        n_boundaries=2 * times,
        chain_length=0,
        chain_degree=0,
        function_degree=1,
        n_parameters=times,
        predicates=(predicates,),
        line=LineCount(n_breakpoints=2, n_level_crossings=1) if times == 1 else None,
        name=f"schedules of {size} solvers in a fixed order",
        source="docs/theory/structures.md",
    )
