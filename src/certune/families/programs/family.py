"""Any program as a family: its exact dual by certified tracing along a segment.

A Pfaffian GJ program (``def:paffian-gj-algorithm``) that returns a utility is all that is needed:
`ProgramFamily` runs it exactly at a point, sweeps it along a segment, and hands the result to
`certune.tune` like any other family.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from certune.dual import PiecewiseFunction
from certune.errors import InputError, ParameterError
from certune.families.base import Family, Params
from certune.families.programs.content import content_hash, program_hash
from certune.pfaffian.domains import along as parameters_along
from certune.pfaffian.expressions import Expression, as_expression
from certune.pfaffian.programs import Program, lifted
from certune.pfaffian.sweep import Piece, Sweep, sweep
from certune.pfaffian.trace import Trace, trace
from certune.space import ParameterSpace, Real, Segment, Simplex


class ProgramFamily(Family):
    """A parameterised algorithm given as a program.

    Parameters
    ----------
    program : callable
        ``program(instance, parameters)`` in ordinary Python: arithmetic, `certune.pfaffian`
        functions and comparisons on the parameters, returning the utility. It must be
        deterministic, and importable by name if several processes are used.
    space : ParameterSpace, Real or Simplex
        The parameters and their ranges.
    utility_range : pair of numbers, default (0, 1)
        Smallest and largest utility.
    baselines : mapping of name to parameters, optional
        Default settings to compare with.
    solver : callable, optional
        A program like `program` that returns the algorithm's output, for `solve`; by default
        that is the utility.
    check : callable, optional
        Raises `InputError` for an instance that does not fit.

    Notes
    -----
    Instances are numbers, strings, arrays, or tuples and dataclasses of these, or have a string
    attribute ``fingerprint``.

    Examples
    --------
    >>> import certune as ct
    >>> def reaches(x, parameters):
    ...     return 1 if ct.pfaffian.exp(parameters["a"]) >= x else 0
    >>> family = ct.ProgramFamily(reaches, ct.Real("a", 0, 1))
    >>> family.dual(2).breakpoints.round(6)
    array([[0.693147, 0.693147]])
    """

    def __init__(
        self,
        program: Program,
        space: ParameterSpace | Real | Simplex,
        *,
        utility_range: tuple[Any, Any] = (0, 1),
        baselines: Mapping[str, Mapping[str, Any]] | None = None,
        solver: Program | None = None,
        check: Callable[[Any], None] | None = None,
    ) -> None:
        if not callable(program):
            raise ParameterError(
                f"program must be a function of (instance, parameters), got {program!r}"
            )
        self.program = program
        self._space = space if isinstance(space, ParameterSpace) else ParameterSpace((space,))
        low, high = (as_expression(end).value for end in utility_range)
        if low is None or high is None or low > high:
            raise ParameterError(
                f"utility_range must be two numbers, the smaller first, got {utility_range!r}"
            )
        self._low, self._high = low, high
        self._baselines = {name: dict(params) for name, params in (baselines or {}).items()}
        for params in self._baselines.values():
            self._space.validate(params)
        self._solver = solver
        self._check = check

    def __repr__(self) -> str:
        name = getattr(self.program, "__qualname__", repr(self.program))
        return f"ProgramFamily({name}, {', '.join(self._space.names)})"

    @property
    def space(self) -> ParameterSpace:
        """The free parameters and their ranges."""
        return self._space

    @property
    def fingerprint(self) -> str:
        """Hash of the compiled program, the space and the utility range."""
        content = f"{program_hash(self.program)} {self._space!r} {self._low} {self._high}"
        return hashlib.sha256(content.encode()).hexdigest()

    @property
    def utility_range(self) -> tuple[float, float]:
        """Smallest and largest utility that any instance can have."""
        return float(self._low), float(self._high)

    @property
    def baselines(self) -> dict[str, dict[str, Any]]:
        """Default settings by name."""
        return {name: dict(params) for name, params in self._baselines.items()}

    def check_instance(self, instance: Any) -> None:
        """Raise `InputError` if the instance does not fit this family."""
        if self._check is not None:
            self._check(instance)
        content_hash(instance)

    def instance_fingerprint(self, instance: Any) -> str:
        """Hash of the instance's content."""
        return content_hash(instance)

    def run_exact(self, instance: Any, params: Params) -> Fraction:
        """Utility at one parameter, as an exact rational number."""
        values = lifted(self._space.validate(params))
        return self._utility(as_expression(self.program(instance, values)))

    def solve(self, instance: Any, params: Params) -> Any:
        """Output of the solver at one parameter; the utility if there is no solver."""
        if self._solver is None:
            return self.run_exact(instance, params)
        return self._solver(instance, lifted(self._space.validate(params)))

    def trace(self, instance: Any, domain: Any = None, **options: Any) -> Trace:
        """Return the computation tree of an instance; see `certune.pfaffian.trace`.

        Parameters
        ----------
        instance : object
            A problem instance.
        domain : Segment, ParameterSpace or mapping, optional
            Where to trace, by default the whole parameter space.
        **options
            ``limit`` and ``boxes`` of `certune.pfaffian.trace`.
        """
        return trace(self.program, instance, self._space if domain is None else domain, **options)

    def dual(self, instance: Any, along: Segment | None = None) -> PiecewiseFunction:
        """Utility as an exact function of the position on a segment.

        Parameters
        ----------
        instance : object
            A problem instance.
        along : Segment, optional
            A straight line in the parameter space; by default the one free parameter.

        Raises
        ------
        InputError
            If the utility is not constant on each piece; use `pieces` for such programs.
        """
        segment = self._segment(along)
        found = self._sweep(instance, segment)
        lower, upper = [], []
        for gap in found.gaps:
            values = [self._low, self._high] if gap is None else [self._utility(v) for v in gap]
            lower.append(min(values))
            upper.append(max(values))
        return PiecewiseFunction.from_values(
            [piece.start for piece in found.pieces],
            [piece.stop for piece in found.pieces],
            [self._utility(piece.value) for piece in found.pieces],
            lower,
            upper,
            name=segment.name,
        )

    def pieces(self, instance: Any, along: Segment | None = None) -> tuple[Piece, ...]:
        """Intervals of a segment and the form of the utility on each.

        Parameters
        ----------
        instance : object
            A problem instance.
        along : Segment, optional
            A straight line in the parameter space; by default the one free parameter.

        Returns
        -------
        tuple of Piece
            Start, stop and value, an expression in the coordinate of the segment. Between two
            pieces lies a gap that contains a change.
        """
        found = self._sweep(instance, self._segment(along))
        joined = [found.pieces[0]]
        for gap, piece in zip(found.gaps, found.pieces[1:], strict=True):
            if gap is not None and set(gap) == {piece.value} and joined[-1].value is piece.value:
                joined[-1] = Piece(joined[-1].start, piece.stop, piece.value)
            else:
                joined.append(piece)
        return tuple(joined)

    def _segment(self, along: Segment | None) -> Segment:
        segment = self._space.default_segment() if along is None else along
        if not isinstance(segment, Segment):
            raise ParameterError(
                f"along must be a Segment(start, stop) of parameters, got {along!r}"
            )
        for t in (segment.low, segment.high):
            self._space.validate(segment.at(t))
        return segment

    def _sweep(self, instance: Any, segment: Segment) -> Sweep:
        self.check_instance(instance)
        name = segment.name
        moving = parameters_along(segment)

        def run(t: Expression) -> Any:
            values = {key: _at(value, name, t) for key, value in moving.items()}
            return self.program(instance, values)

        return sweep(run, name, segment.low, segment.high)

    def _utility(self, value: Expression) -> Fraction:
        if value.value is None:
            if value.parameters:
                raise InputError(
                    f"the utility {value} of {self!r} is not constant between breakpoints; "
                    "`pieces` gives the intervals and the form of the utility on each"
                )
            raise InputError(
                f"the utility {value} of {self!r} is not a rational number; return an int, a "
                "Fraction, or a float that the program rounds to"
            )
        if not self._low <= value.value <= self._high:
            raise InputError(
                f"the utility {value} of {self!r} lies outside of the utility range "
                f"[{self._low}, {self._high}]; pass utility_range="
            )
        return value.value


def _at(value: Any, name: str, t: Expression) -> Any:
    if t.name == name:
        return value
    if isinstance(value, tuple):
        return tuple(entry.substitute({name: t}) for entry in value)
    return value.substitute({name: t})
