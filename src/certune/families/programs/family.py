"""Any program as a family: its exact dual by certified tracing along a segment.

A Pfaffian GJ program (``def:paffian-gj-algorithm``) that returns a utility is all that is needed:
`ProgramFamily` runs it exactly at a point, sweeps it along a segment, and hands the result to
`certune.tune` like any other family.
"""

from __future__ import annotations

import copy
import dataclasses
import hashlib
import itertools
import math
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from typing import Any

from certune.box import Box
from certune.checks import as_float_or_nan, as_list
from certune.dual import PiecewiseFunction, PiecewisePolynomial
from certune.dual.integers import rounded_down, rounded_up
from certune.errors import InputError, ParameterError, UndecidedError
from certune.families.base import LONGEST_WORD, BoxBound, Family, Params
from certune.families.content import content_hash
from certune.families.programs.boxes import BoxProblem, Reuse
from certune.families.programs.curves import Bounds, bounds_between, smooth_dual
from certune.families.programs.structure import (
    ProgramShape,
    check_counts,
    given_up_after,
    structure_of_settings,
    structure_of_slices,
)
from certune.families.reach import reach
from certune.pfaffian.expressions.definedness import NO_VALUE, UndefinedError
from certune.pfaffian.expressions.evaluation import nearest_float
from certune.pfaffian.expressions.expression import Expression, as_expression
from certune.pfaffian.programs.domains import along as parameters_along
from certune.pfaffian.programs.following import followed
from certune.pfaffian.programs.program import (
    Parameters,
    Program,
    exact_number,
    run_at_point,
    run_on_floats,
)
from certune.pfaffian.programs.sweep import Piece, Sweep, sweep
from certune.pfaffian.programs.trace import Trace, trace
from certune.pfaffian.structure import PiecewiseStructure
from certune.space import Categorical, Integer, Parameter, ParameterSpace, Real, Segment

# The smallest tolerance, relative to the largest utility, that polynomials with float
# coefficients and degree 20 can keep.
FINEST = 2.0**-40
# Paths that a guarantee follows on its own to prove a structure.
_FEW_PATHS = 300
# Families that tuning over discrete parameters takes the best of.
_MOST_SLICES = 1000
# The precision of balls belongs to the whole process, so that threads take turns.
_ONE_AT_A_TIME = threading.RLock()


class ProgramFamily(Family):
    """A parameterised algorithm given as a program.

    Parameters
    ----------
    program : callable
        ``program(instance, parameters)`` in ordinary Python: arithmetic, `certune.pfaffian`
        functions and comparisons on the parameters, returning the utility. It must be
        deterministic, and importable by name if several processes are used.
    space : ParameterSpace, Real, Integer, Categorical or Simplex
        The parameters and their ranges. The program is given expressions for real parameters and
        weights, Python's own numbers and words for the others.
    utility_range : pair of numbers, default (0, 1)
        Smallest and largest utility.
    tolerance : float, default 0
        For a utility that varies on pieces or is irrational: how far runs and duals may be from
        it, such as 1e-10; duals are then polynomials on pieces with a proved error. With 0 every
        utility must be a rational number that is constant on each piece.
    baselines : mapping of name to parameters, optional
        Default settings to compare with.
    solver : callable, optional
        A program like `program` that returns the algorithm's output, for `solve`; by default
        that is the utility.
    check : callable, optional
        Raises `InputError` for an instance that does not fit.
    structure : callable, optional
        Returns the `PiecewiseStructure` that you vouch for, for all instances of the size of the
        given one; for programs whose structure cannot be found (see `structure`).

    Notes
    -----
    Instances are numbers, strings, arrays, or tuples and dataclasses of these, or have a string
    attribute ``fingerprint``.

    Where a varying utility jumps, two proofs can only be compared up to the jump within its
    bracket, and `certune.verify` refuses the certificate; `certune.tune` proves the optimum.

    Examples
    --------
    >>> import certune as ct
    >>> def reaches(x, parameters):
    ...     return 1 if ct.pfaffian.exp(parameters["a"]) >= x else 0
    >>> family = ct.ProgramFamily(reaches, ct.Real("a", 0, 1))
    >>> family.dual(2).breakpoints.round(6)
    array([[0.693147, 0.693147]])

    A utility that varies:

    >>> def hill(x, parameters):
    ...     return x * parameters["a"] * ct.pfaffian.exp(-x * parameters["a"])
    >>> dual = ct.ProgramFamily(hill, ct.Real("a", 0, 1), tolerance=1e-10).dual(2)
    >>> round(dual.best_point, 4), round(dual.max(), 9)  # 1 / e at a = 1 / 2
    (0.5, 0.367879441)
    """

    def __init__(
        self,
        program: Program,
        space: ParameterSpace | Parameter,
        *,
        utility_range: tuple[Any, Any] = (0, 1),
        tolerance: float = 0.0,
        baselines: Mapping[str, Mapping[str, Any]] | None = None,
        solver: Program | None = None,
        check: Callable[[Any], None] | None = None,
        structure: Callable[[Any], PiecewiseStructure] | None = None,
    ) -> None:
        if not callable(program):
            raise ParameterError(
                f"program must be a function of (instance, parameters), got {program!r}"
            )
        self.program = program
        self._space = space if isinstance(space, ParameterSpace) else ParameterSpace((space,))
        self._low, self._high = low, high = _checked_range(utility_range)
        self._tolerance = _checked_tolerance(tolerance, max(1.0, float(abs(low)), float(abs(high))))
        self._baselines = _checked_baselines(baselines, self._space)
        self._solver = solver
        self._check = check
        if structure is not None and not callable(structure):
            raise ParameterError(
                "structure must be a function of an instance that returns a PiecewiseStructure, "
                f"got {structure!r}"
            )
        self._stated_structure = structure
        # What a slice has in place of discrete parameters: settings, and one along a line.
        self._settings: dict[str, Any] = {}
        self._stepped: Integer | Categorical | None = None
        # The whole family of a slice, and its defaults that lie in other slices.
        self._elsewhere: tuple[ProgramFamily, dict[str, dict[str, Any]]] | None = None

    def __repr__(self) -> str:
        name = getattr(self.program, "__qualname__", repr(self.program))
        settings = [f"{key} = {value!r}" for key, value in self._settings.items()]
        return f"ProgramFamily({', '.join([name, *self._space.names, *settings])})"

    @property
    def space(self) -> ParameterSpace:
        """The free parameters and their ranges."""
        return self._space

    @property
    def fingerprint(self) -> str:
        """Hash of what the program reaches, the space, the utility range and the tolerance."""
        content = f"{reach(self.program).digest} {self._space!r} {self._low} {self._high}"
        if self._tolerance:
            content += f" {self._tolerance!r}"
        if self._settings or self._stepped:
            content += f" {self._settings!r} {self._stepped!r}"
        return hashlib.sha256(content.encode()).hexdigest()

    @property
    def fingerprint_doubts(self) -> tuple[str, ...]:
        """What the program reaches and the fingerprint cannot tell."""
        return reach(self.program).doubts

    @property
    def description(self) -> dict[str, Any]:
        """The name of the program, its options if it is a dataclass, and what it returns.

        And of a slice the discrete parameters: those that are set, and one that goes in steps.
        """
        name = getattr(self.program, "__qualname__", type(self.program).__qualname__)
        told: dict[str, Any] = {
            "family": type(self).__name__,
            "program": name[:LONGEST_WORD],
            "options": _options(self.program),
            "utility_range": list(self.utility_range),
            "tolerance": self._tolerance,
        }
        if self._settings:
            told["settings"] = {key: _as_data(value) for key, value in self._settings.items()}
        if isinstance(self._stepped, Integer):
            told["steps"] = [self._stepped.name, int(self._stepped.low), int(self._stepped.high)]
        elif self._stepped is not None:
            told["steps"] = [self._stepped.name, [_as_data(own) for own in self._stepped.values]]
        return told

    @property
    def utility_range(self) -> tuple[float, float]:
        """Smallest and largest utility that any instance can have."""
        return float(self._low), float(self._high)

    @property
    def tolerance(self) -> float:
        """How much runs and duals may differ; 0 if utilities are rational numbers."""
        return self._tolerance

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

    def _afresh(self, instance: Any, parameters: Mapping[str, Any]) -> Any:
        """Run the program at a point, from its beginning."""
        return self._at_setting(self.program, instance, parameters)

    def _follow(self, instance: Any, parameters: Mapping[str, Any]) -> Any:
        """Run the program for whoever decides its comparisons now."""
        return self._at_setting(self.program, instance, parameters)

    def _at_setting(
        self, program: Callable[..., Any], instance: Any, parameters: Mapping[str, Any]
    ) -> Any:
        """Run a program; where it has no value, the error knows the discrete setting."""
        return followed(lambda given: self._set_and_run(program, instance, given), parameters)

    def _set_and_run(
        self, program: Callable[..., Any], instance: Any, parameters: Mapping[str, Any]
    ) -> Any:
        completed = self._completed(parameters)
        try:
            return program(instance, completed)
        except NO_VALUE as error:
            discrete = [item.name for item in self._space.discrete] + list(self._settings)
            if self._stepped is not None:
                discrete.append(self._stepped.name)
            error.settings = {name: completed[name] for name in discrete}  # type: ignore[union-attr]
            raise

    def _completed(self, parameters: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return what the program is given: discrete parameters as Python's own values.

        Along a line a discrete parameter is the number next to the coordinate, by branches; halves
        go up.
        """
        if not (self._settings or self._stepped or self._space.discrete):
            return parameters
        stepped = (*self._space.discrete, *([self._stepped] if self._stepped else []))
        values = Parameters(parameters) | self._settings
        for item in stepped:
            if isinstance(item, Integer):
                values[item.name] = _next_whole(parameters[item.name])
            elif item is self._stepped:
                values[item.name] = item.values[_next_whole(parameters[item.name])]
            else:
                values[item.name] = _setting(item, parameters[item.name])
        return Parameters(values)

    def slices(self) -> dict[str, Family]:
        """Return the program at every setting of its discrete parameters, by the setting in words.

        If it has no other parameters, the last one stays: along a line, in steps.

        Examples
        --------
        >>> import certune as ct
        >>> def near(x, parameters):
        ...     return 1 if abs(x - parameters["k"] * parameters["a"]) <= 1 else 0
        >>> space = ct.ParameterSpace((ct.Integer("k", 1, 3), ct.Real("a", 0, 1)))
        >>> list(ct.ProgramFamily(near, space).slices())
        ['k = 1', 'k = 2', 'k = 3']
        """
        discrete = list(self._space.discrete)
        if not discrete:
            return {}
        others = [item for item in self._space.parameters if item not in discrete]
        stepped = None if others else discrete.pop()
        if stepped is not None:
            others = [Real(stepped.name, stepped.low, stepped.high)]
        count = math.prod(item.size for item in discrete)
        if count > _MOST_SLICES:
            raise ParameterError(
                f"the discrete parameters of {self!r} have {count} settings together, more than "
                f"{_MOST_SLICES}; choose shorter ranges"
            )
        every = [
            {item.name: value for item, value in zip(discrete, values, strict=True)}
            for values in itertools.product(*(item.values for item in discrete))
        ]
        # Settings such as 1 and "1" look alike in plain words; a setting without a name of its own
        # would be lost. Python's own spelling tells all of them apart.
        names = [_words(settings, str) for settings in every]
        if len(set(names)) < count:
            names = [_words(settings, repr) for settings in every]
        free = ParameterSpace(tuple(others))
        return {
            name or f"{others[0].name}, all settings": self._slice(free, settings, stepped)
            for name, settings in zip(names, every, strict=True)
        }

    def _slice(
        self,
        space: ParameterSpace,
        settings: dict[str, Any],
        stepped: Integer | Categorical | None,
    ) -> ProgramFamily:
        made = copy.copy(self)
        made._space, made._settings, made._stepped = space, settings, stepped
        made._baselines = {}
        elsewhere: dict[str, dict[str, Any]] = {}
        for name, params in self._baselines.items():
            values = {key: value for key, value in params.items() if key not in settings}
            if isinstance(stepped, Categorical):
                values[stepped.name] = stepped.values.index(values[stepped.name])
            if all(params[key] == value for key, value in settings.items()):
                made._baselines[name] = values
            else:
                elsewhere[name] = params
        made._elsewhere = (self, elsewhere) if elsewhere else None
        return made

    def company(self, instance: Any) -> dict[str, Fraction | None]:
        """Utilities of the defaults of the whole family that lie in other slices than this one."""
        if self._elsewhere is None:
            return {}
        whole, defaults = self._elsewhere
        found: dict[str, Fraction | None] = {}
        for name, params in defaults.items():
            try:
                found[name] = whole.run_exact(instance, params)
            except UndecidedError:
                found[name] = None
        return found

    def setting_of(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return the setting of the whole family that a point of this slice stands for."""
        values = {**params, **self._settings}
        if self._stepped is not None:
            number = _next_whole(Fraction(params[self._stepped.name]))
            is_whole = isinstance(self._stepped, Integer)
            values[self._stepped.name] = number if is_whole else self._stepped.values[number]
        return values

    def run_exact(self, instance: Any, params: Params) -> Fraction:
        """Utility at one parameter, as an exact rational number.

        With a positive tolerance, an irrational utility is rounded to the nearest float.
        """
        values = self._space.validate(params)
        with _ONE_AT_A_TIME:
            utility = exact_number(run_at_point(self._afresh, instance, values))
            if self._tolerance and utility.value is None and not utility.parameters:
                return self._within_range(utility, Fraction(nearest_float(utility)))
            return self._utility(utility)

    def solve(self, instance: Any, params: Params) -> Any:
        """Output of the solver at one parameter; the utility if there is no solver."""
        if self._solver is None:
            return self.run_exact(instance, params)
        solver = self._solver

        def run(instance: Any, parameters: Mapping[str, Any]) -> Any:
            return self._at_setting(solver, instance, parameters)

        return run_at_point(run, instance, self._space.validate(params))

    def run_plain(self, instance: Any, params: Params) -> tuple[float, float] | None:
        """Utility of the program on plain floats, with an estimate of its rounding error.

        See `certune.families.base.Family.run_plain`.
        """
        found = run_on_floats(self._afresh, instance, self._space.validate(params))
        return None if found is None else (float(found), found.error)

    def trace(self, instance: Any, domain: Any = None, **options: Any) -> Trace:
        """Return the computation tree of an instance; see `certune.pfaffian.programs.trace`.

        Parameters
        ----------
        instance : object
            A problem instance.
        domain : Segment, ParameterSpace or mapping, optional
            Where to trace, by default the whole parameter space.
        **options
            ``limit``, ``boxes``, ``timeout`` and ``progress`` of `certune.pfaffian.programs.trace`.
        """
        self._refuse_discrete("a trace")
        return trace(self._follow, instance, self._space if domain is None else domain, **options)

    def _refuse_discrete(self, what: str) -> None:
        if self._space.discrete:
            names = ", ".join(repr(item.name) for item in self._space.discrete)
            raise ParameterError(
                f"{what} needs real parameters, and {names} of {self!r} have separate settings; "
                "family.slices() has a family for each of these"
            )

    def structure(
        self,
        example: Any,
        *,
        size: int | None = None,
        fixed: Sequence[str] = (),
        limit: int = 5000,
        timeout: float | None = None,
        progress: bool | None = None,
    ) -> PiecewiseStructure:
        """Counts that are proved for every instance of the shape of an example.

        The numbers of the example become symbols, and the program is followed along every branch
        that some instance of that shape can take (``docs/theory/structures.md``).

        Parameters
        ----------
        example : object or callable
            An instance; with `size`, a function that returns an instance of a given size.
        size : int, optional
            The size to extend the counts to, from three small ones; that larger instances make no
            other comparisons is then an assumption, and stated as one.
        fixed : sequence of str, optional
            Parts of an instance whose numbers belong to the shape, such as labels: names of fields
            or keys, or ``x0``, ``x1``, ... for the parts of a tuple.
        limit : int, default 5000
            Largest number of paths that are followed.
        timeout : float, optional
            Seconds after which it gives up.
        progress : bool, optional
            Whether to say on stderr every two seconds how far it is; by default it does.

        Returns
        -------
        PiecewiseStructure
            For `certune.pdim_bound` and `certune.sample_size`. Discrete parameters count as the
            union of their settings.

        Examples
        --------
        >>> import certune as ct
        >>> def nearer(points, parameters):
        ...     first, second = (abs(parameters["a"] - point) for point in points)
        ...     return 1 if first <= second else 0
        >>> family = ct.ProgramFamily(nearer, ct.Real("a", 0, 1))
        >>> structure = family.structure((0.25, 0.5))
        >>> structure.n_boundaries, ct.pdim_bound(structure).dimension
        (6, 6)
        """
        if self._stated_structure is not None and size is None:
            return self._stated_structure(example)
        if self._n_settings is not None:
            return structure_of_settings(self._name, self._n_settings)
        parts = self._program_slices() if self._space.discrete else [self]
        with given_up_after(timeout):
            found = [
                part._shape(tuple(fixed), limit, progress is False).structure(example, size)
                for part in parts
            ]
        return structure_of_slices(self._name, found) if self._space.discrete else found[0]

    @property
    def _n_settings(self) -> int | None:
        """How many settings there are, None if a parameter is not discrete."""
        if self._stepped is not None:
            return self._stepped.size
        discrete = self._space.discrete
        if len(discrete) < len(self._space.parameters):
            return None
        return math.prod(item.size for item in discrete)

    @property
    def _name(self) -> str:
        return str(getattr(self.program, "__name__", type(self.program).__name__))

    def _program_slices(self) -> list[ProgramFamily]:
        return [part for part in self.slices().values() if isinstance(part, ProgramFamily)]

    def _shape(self, fixed: tuple[str, ...], limit: int, is_silent: bool = True) -> ProgramShape:
        return ProgramShape(self._afresh, self._name, self._space, fixed, limit, is_silent)

    def structure_of(self, instances: Sequence[Any]) -> PiecewiseStructure | None:
        """Counts for all instances of the shape of the given ones, if they have one shape.

        The stated structure, or one that few paths prove; None if neither is known.
        """
        if self._stated_structure is not None:
            stated = [self._stated_structure(instance) for instance in instances]
            return max(stated, key=lambda each: (each.n_boundaries, each.n_piece_forms))
        if self._n_settings is not None:
            return structure_of_settings(self._name, self._n_settings)
        if not self._space.discrete:
            return self._shape((), _FEW_PATHS).structure_of(instances)
        found = []
        for part in self._program_slices():
            own = part.structure_of(instances)
            if own is None:
                return None
            found.append(own)
        return structure_of_slices(self._name, found)

    def check_structure(self, instances: Sequence[Any], **options: Any) -> None:
        """Hold the structure of each instance against its trace.

        Parameters
        ----------
        instances : sequence
            Problem instances.
        **options
            Those of `structure` and `trace`.

        Raises
        ------
        InputError
            If an instance compares more, or more complicated, functions than its structure says.
        """
        of_trace = {key: options.pop(key) for key in ("boxes",) if key in options}
        if self._stated_structure is None and self._n_settings is not None:
            return  # nothing can exceed the number of settings
        parts = self._program_slices() if self._space.discrete else [self]
        for number, instance in enumerate(instances):
            for part in parts:
                check_counts(
                    number, part.structure(instance, **options), part.trace(instance, **of_trace)
                )

    def dual(
        self, instance: Any, along: Segment | None = None
    ) -> PiecewiseFunction | PiecewisePolynomial:
        """Utility as an exact function of the position on a segment.

        Parameters
        ----------
        instance : object
            A problem instance.
        along : Segment, optional
            A straight line in the parameter space; by default the one free parameter.

        Returns
        -------
        PiecewiseFunction or PiecewisePolynomial
            Polynomials with a proved error if the family has a positive tolerance.

        Raises
        ------
        InputError
            If the utility is not constant on each piece and the tolerance is 0.
        UndecidedError
            If a varying utility has no proved bounds around some point.
        CertificateError
            If the program gives something else on plain floats, since it asks for their type.
        """
        with _ONE_AT_A_TIME:
            segment = self._segment(along)
            found = self._dual(instance, segment)
            self._check_pieces(instance, segment, found)
            return found

    def _check_pieces(
        self, instance: Any, segment: Segment, found: PiecewiseFunction | PiecewisePolynomial
    ) -> None:
        """Hold the first, the middle and the last piece against the program on plain floats."""
        last = len(found.starts) - 1
        for number in sorted({0, last // 2, last}):
            t = segment.exact_point(float(found.starts[number]), float(found.stops[number]))
            if t is None:
                continue
            lower, upper = found.enclose_exact(t)
            if upper - lower <= self.tolerance:
                params: dict[str, Any] = dict(segment.at(t))
                for item in self._space.discrete:
                    if isinstance(item, Integer):
                        params[item.name] = _next_whole(Fraction(params[item.name]))
                with suppress(UndefinedError):
                    self.check_on_floats(instance, params, (lower + upper) / 2)

    def _dual(self, instance: Any, segment: Segment) -> PiecewiseFunction | PiecewisePolynomial:
        found = self._sweep(instance, segment)
        if self._tolerance:
            return self._smooth_dual(found, segment.name)
        lower, upper = [], []
        known: dict[int, Fraction] = {}  # by the addresses of expressions, which `found` keeps

        def utility(value: Expression) -> Fraction:
            number = known.get(id(value))
            if number is None:
                number = known[id(value)] = self._utility(value)
            return number

        for gap, has_hole in zip(found.gaps, found.holes, strict=True):
            values = [self._low, self._high] if gap is None else [utility(v) for v in gap]
            if has_hole:
                values += _apart(min(values), max(values), self._low, self._high)
            lower.append(min(values))
            upper.append(max(values))
        return PiecewiseFunction.from_values(
            [piece.start for piece in found.pieces],
            [piece.stop for piece in found.pieces],
            [utility(piece.value) for piece in found.pieces],
            lower,
            upper,
            name=segment.name,
        )

    @property
    def bounds_boxes(self) -> bool:
        """Programs can be followed on boxes."""
        return True

    def box_start(self, instance: Any) -> Reuse:
        """Prepare an instance for boxes: see `certune.families.base.Family.box_start`."""
        self.check_instance(instance)
        exact = None if self._tolerance else self._utility
        return BoxProblem(self._follow, instance, self._low, self._high, exact).start

    def bound_on_box(self, instance: Any, box: Box, reuse: Reuse | None = None) -> BoxBound:
        """Bound the utility on a box, from every path that the program can take there.

        See `certune.families.base.Family.bound_on_box`; ``docs/theory/branch-and-bound.md`` has
        the proof.
        """
        known = self.box_start(instance) if reuse is None else reuse
        with _ONE_AT_A_TIME:
            return known.problem.bound(box, known)

    def _smooth_dual(self, found: Sweep, name: str) -> PiecewisePolynomial:
        pieces, gaps = _joined(found)
        bounds = [
            self._gap_bounds(gap, name, before.stop, after.start)
            for gap, before, after in zip(gaps, pieces[:-1], pieces[1:], strict=True)
        ]
        dual = smooth_dual(pieces, bounds, name, self._tolerance)
        reached = -(-dual).max_exact, dual.max_exact
        slack = Fraction(self._tolerance)
        if reached[0] < self._low - slack or reached[1] > self._high + slack:
            raise InputError(
                f"the utility of {self!r} reaches from {float(reached[0])!r} to "
                f"{float(reached[1])!r} for {name} in [{dual.low!r}, {dual.high!r}], outside of "
                f"the utility range [{self._low}, {self._high}]; pass utility_range="
            )
        return dual

    def _gap_bounds(
        self, values: tuple[Expression, ...] | None, name: str, low: float, high: float
    ) -> Bounds:
        bounds = None if values is None else bounds_between(values, name, low, high)
        low_end, high_end = rounded_down(self._low), rounded_up(self._high)
        if bounds is None:
            return low_end, high_end
        lower, upper = (min(max(end, low_end), high_end) for end in bounds)
        return lower, upper

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
        return tuple(_joined(found)[0])

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
            if t.name == name:
                return self._follow(instance, Parameters(moving))
            values = {key: _at(value, name, t) for key, value in moving.items()}
            return self._follow(instance, Parameters(values))

        return sweep(run, name, segment.low, segment.high)

    def _utility(self, value: Expression) -> Fraction:
        if value.value is None:
            if value.parameters:
                raise InputError(
                    f"the utility {value} of {self!r} is not constant between breakpoints; pass "
                    "tolerance=1e-10 for a dual with so small a proved error; `pieces` gives the "
                    "intervals and the form of the utility on each"
                )
            raise InputError(
                f"the utility {value} of {self!r} is not a rational number; return an int, a "
                "Fraction, or a float that the program rounds to, or pass tolerance=1e-10"
            )
        return self._within_range(value, value.value)

    def _within_range(self, value: Expression, number: Fraction) -> Fraction:
        """Return `number`, what is known of `value`, or raise if it is out of the range."""
        slack = 0 if value.value is not None else Fraction(self._tolerance)
        if not self._low - slack <= number <= self._high + slack:
            raise InputError(
                f"the utility {value} of {self!r} lies outside of the utility range "
                f"[{self._low}, {self._high}]; pass utility_range="
            )
        return min(max(number, self._low), self._high)


def _next_whole(number: Any) -> Any:
    """Return the whole number next to a number; halves go up."""
    return math.floor(number + Fraction(1, 2))


def _words(settings: Mapping[str, Any], spelled: Callable[[Any], str]) -> str:
    return ", ".join(f"{name} = {spelled(value)}" for name, value in settings.items())


def _setting(item: Categorical, given: Any) -> Any:
    """Return one of the values of a parameter, which may have become an expression or a float."""
    number = given.value if isinstance(given, Expression) else given
    return item.validate(number)


def _as_data(setting: str | float) -> Any:
    """Return a setting as JSON data, which has no infinite numbers."""
    is_infinite = isinstance(setting, float) and math.isinf(setting)
    return {"float": repr(setting)} if is_infinite else setting


def _options(program: Program) -> dict[str, str]:
    """Return the numbers and words that a program has as fields, if they are short."""
    options: dict[str, Any] = {}
    if dataclasses.is_dataclass(program) and not isinstance(program, type):
        options = {
            field.name: getattr(program, field.name) for field in dataclasses.fields(program)
        }
    return {
        name: str(value)
        for name, value in options.items()
        if (isinstance(value, str) and len(value) <= LONGEST_WORD)
        or (isinstance(value, (int, float, Fraction)) and _is_short(value))
    }


def _is_short(number: float | Fraction) -> bool:
    if isinstance(number, float):
        return True
    return max(map(abs, number.as_integer_ratio())).bit_length() <= LONGEST_WORD


def _checked_baselines(baselines: Any, space: ParameterSpace) -> dict[str, dict[str, Any]]:
    """Return copies of settings of a space by name, or raise `ParameterError`."""
    if baselines is None:
        return {}
    settings = baselines.values() if isinstance(baselines, Mapping) else [None]
    if not all(isinstance(params, Mapping) for params in settings):
        raise ParameterError(
            "baselines must be settings by name, such as "
            f"{{'default': {{{space.names[0]!r}: ...}}}}, got {baselines!r}"
        )
    for params in settings:
        space.validate(params)
    return {name: dict(params) for name, params in baselines.items()}


def _checked_range(utility_range: Any) -> tuple[Fraction, Fraction]:
    """Return the ends of a range of utilities exactly, or raise `ParameterError`."""
    expected = f"utility_range must be two numbers, the smaller first, got {utility_range!r}"
    ends = as_list("utility_range", utility_range, "pass two numbers (low, high)")
    if len(ends) != 2:
        raise ParameterError(expected)
    low, high = (as_expression(end).value for end in ends)
    if low is None or high is None or low > high:
        raise ParameterError(expected)
    if max(abs(low), abs(high)) > sys.float_info.max:
        raise ParameterError("utility_range must be two numbers within the range of floats")
    return low, high


def _checked_tolerance(tolerance: Any, largest: float) -> float:
    """Return the tolerance as a float, 0 or large enough for utilities up to `largest`."""
    number = as_float_or_nan(tolerance)
    if not (number == 0 or FINEST * largest <= number < math.inf):
        raise ParameterError(
            "tolerance must be 0, for utilities that are rational numbers, or a number >= "
            f"{FINEST * largest:.2g}, for utilities up to {largest:.6g}, got {tolerance!r}"
        )
    return number


def _apart(lower: Fraction, upper: Fraction, low: Fraction, high: Fraction) -> list[Fraction]:
    """Return a bound more for a gap with a hole, so that no value is stated at the hole.

    A lower bound costs no proof of an optimum, and is taken if there is room.
    """
    if lower < upper:
        return []
    return [low if low < lower else high]


def _joined(found: Sweep) -> tuple[list[Piece], list[tuple[Expression, ...] | None]]:
    """Return pieces and gaps, without the gaps in which the form of the utility stays the same."""
    pieces = [found.pieces[0]]
    gaps: list[tuple[Expression, ...] | None] = []
    for gap, has_hole, piece in zip(found.gaps, found.holes, found.pieces[1:], strict=True):
        same = gap is not None and set(gap) == {piece.value} and pieces[-1].value is piece.value
        if same and not has_hole:
            pieces[-1] = Piece(pieces[-1].start, piece.stop, piece.value)
        else:
            pieces.append(piece)
            gaps.append(gap)
    return pieces, gaps


def _at(value: Any, name: str, t: Expression) -> Any:
    if isinstance(value, tuple):
        return tuple(entry.substitute({name: t}) for entry in value)
    return value.substitute({name: t})
