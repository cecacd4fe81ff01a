"""Structures: what has been proved about the dual functions of *every* instance of a size.

A bound on the pseudo-dimension may only rest on counts that hold for all instances.  The classes
of this file carry such counts, and where they were proved.  Counts that were merely seen, on a
trace or on a sample, belong to other types, which `certune.pdim_bound` does not accept.

Letters of the paper: d ``n_parameters``, q ``chain_length``, M ``chain_degree``, Delta
``function_degree``, K ``n_predicates``, k_F ``n_piece_forms``, k_G ``n_boundaries``
(`def:pfaffian-piecewise-structure`, `def:paffian-chain-complexity`).
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from certune.errors import ParameterError

SMALLEST = {
    "n_parameters": 1,
    "n_predicates": 0,
    "chain_length": 0,
    "chain_degree": 0,
    "function_degree": 1,
    "n_piece_forms": 1,
    "n_boundaries": 0,
    "n_copies": 1,
    "n_isolated": 0,
    "n_breakpoints": 0,
    "n_level_crossings": 0,
    "n_regions": 1,
}


def whole_number(name: str, value: object, smallest: int, largest: int | None = None) -> int:
    """Return `value` if it is an int from `smallest` to `largest`, or raise `ParameterError`."""
    if isinstance(value, bool) or not isinstance(value, int) or value < smallest:
        raise ParameterError(f"{name} must be a whole number >= {smallest}, got {value!r}")
    if largest is not None and value > largest:
        raise ParameterError(f"{name} must be a whole number <= {largest}, got {value!r}")
    return value


# Counts of a structure grow like 4^n, and are computed to the last digit.
LARGEST_SIZE = 10**5


def _check(structure: Any) -> None:
    """Raise `ParameterError` unless all counts of a structure are whole and large enough."""
    counts = {field.name: getattr(structure, field.name) for field in fields(structure)}
    for name, value in counts.items():
        if name in SMALLEST and value is not None:
            whole_number(name, value, SMALLEST[name])
    if counts.get("chain_length", 0) > 0 and counts["chain_degree"] < 1:
        raise ParameterError(
            "a chain of positive length has chain_degree >= 1, got "
            f"chain_length={counts['chain_length']} and chain_degree={counts['chain_degree']}"
        )


@dataclass(frozen=True, kw_only=True)
class PredicateCount:
    """Predicates of one instance, each counted with the chain that it needs by itself.

    Parameters
    ----------
    n_parameters : int
        d, after any change of variables.
    n_predicates : int
        K: distinct Pfaffian functions of the parameters whose signs determine, for each threshold,
        whether the utility exceeds it. Constants do not count.
    chain_length, chain_degree : int
        q and M of the longest chain that a *single* predicate needs; defined on all of R^d.
    function_degree : int
        Delta, the largest degree of a predicate on its chain.
    three_valued : bool, default=False
        Whether a predicate that vanishes may lead to an outcome of its own, different from both
        signs (ties resolved by a rule); otherwise only ``>= 0`` is asked.
    n_copies : int, default=1
        The parameter set is the union of so many parts with these counts each.
    n_isolated : int, default=0
        Further single settings outside these parts.
    name : str
        What distinguishes these counts from alternative ones.
    """

    n_parameters: int
    n_predicates: int
    chain_length: int
    chain_degree: int
    function_degree: int
    three_valued: bool = False
    n_copies: int = 1
    n_isolated: int = 0
    name: str = ""

    def __post_init__(self) -> None:
        _check(self)


@dataclass(frozen=True, kw_only=True)
class LineCount:
    """Dual functions of one parameter: how often they can change.

    Parameters
    ----------
    n_breakpoints : int
        P: at most so many points separate the pieces of each dual function. The value at a
        breakpoint itself may be anything.
    n_level_crossings : int, default=0
        Z: on each piece the function passes any fixed level at most so often; 0 if constant.
    """

    n_breakpoints: int
    n_level_crossings: int = 0

    def __post_init__(self) -> None:
        _check(self)


@dataclass(frozen=True, kw_only=True)
class PiecewiseStructure:
    """A Pfaffian piecewise structure, proved for every instance (`thm:piecewise-pfaffian`).

    Parameters
    ----------
    n_piece_forms : int
        k_F: number of forms that the piece functions of one dual can take.
    n_boundaries : int
        k_G: number of boundary functions of one dual.
    chain_length, chain_degree : int
        q and M of the chain of one dual function.
    function_degree : int
        Delta, the largest degree of a piece or boundary function.
    n_parameters : int
        d.
    piecewise_constant : bool, default=False
        Whether all pieces are constant, so that comparing one with a threshold asks nothing about
        the parameters.
    predicates : tuple of PredicateCount
        Sharper descriptions of the same class, alternatives to each other.
    line : LineCount, optional
        What is known if there is only one parameter.
    as_printed : PiecewiseStructure, optional
        The tuple that the paper prints for this class, for comparison.
    name, source : str
        What is described, and where it is proved.
    assumptions : tuple of str
        What instances must satisfy.

    Examples
    --------
    >>> structure = PiecewiseStructure(
    ...     n_piece_forms=2, n_boundaries=3, chain_length=1, chain_degree=1, function_degree=1,
    ...     n_parameters=1, source="example",
    ... )
    >>> structure.n_predicates
    5
    """

    n_piece_forms: int
    n_boundaries: int
    chain_length: int
    chain_degree: int
    function_degree: int
    n_parameters: int
    source: str
    piecewise_constant: bool = False
    predicates: tuple[PredicateCount, ...] = ()
    line: LineCount | None = None
    as_printed: PiecewiseStructure | None = None
    name: str = ""
    assumptions: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _check(self)
        if self.line is not None and any(count.n_parameters != 1 for count in self.predicates):
            raise ParameterError(
                "line counts describe a class with one parameter, but its predicates have "
                f"{[count.n_parameters for count in self.predicates]} parameters"
            )

    @property
    def n_predicates(self) -> int:
        """K = k_F + k_G of `thm:piecewise-pfaffian`."""
        return self.n_piece_forms + self.n_boundaries


@dataclass(frozen=True, kw_only=True)
class GJStructure:
    """Complexity of a Pfaffian GJ algorithm, proved for every instance and every threshold.

    Parameters
    ----------
    chain_length, chain_degree : int
        q and M of the chain of the algorithm (`def:paffian-gj-algorithm`).
    function_degree : int
        Delta, the largest degree of a computed value.
    n_predicates : int
        K, the number of distinct functions in conditional statements.
    n_parameters : int
        d.
    name, source : str
        What is described, and where it is proved.
    """

    chain_length: int
    chain_degree: int
    function_degree: int
    n_predicates: int
    n_parameters: int
    source: str
    name: str = ""
    assumptions: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _check(self)


@dataclass(frozen=True, kw_only=True)
class HomogeneousStructure:
    """Dual functions that share one partition of the parameters (`sec:discontinuity-homogeneous`).

    Parameters
    ----------
    n_regions : int
        Number of regions of the common partition.
    chain_length, chain_degree, function_degree : int
        q, M and Delta of a dual function on one region.
    n_parameters : int
        d.
    n_level_crossings : int, optional
        One parameter only: how often a dual passes a level within a region.
    as_printed : HomogeneousStructure, optional
        The counts that the paper prints for this class.
    name, source : str
        What is described, and where it is proved.
    """

    n_regions: int
    chain_length: int
    chain_degree: int
    function_degree: int
    n_parameters: int
    source: str
    n_level_crossings: int | None = None
    name: str = ""
    assumptions: tuple[str, ...] = ()
    as_printed: HomogeneousStructure | None = None

    def __post_init__(self) -> None:
        _check(self)
        if self.n_level_crossings is not None and self.n_parameters != 1:
            raise ParameterError("level crossings are counted for a single parameter")


Structure = PiecewiseStructure | GJStructure | HomogeneousStructure
