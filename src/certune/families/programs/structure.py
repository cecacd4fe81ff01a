"""From a program to its bound: the structure that all instances of a shape have."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from certune.deadline import TimeIsUp, now, until
from certune.errors import CertuneError, InputError, ParameterError
from certune.pfaffian.expressions.expression import parameter
from certune.pfaffian.programs.generic import (
    GenericCounts,
    GenericLimitError,
    Shape,
    extended,
    generic_counts,
    shape_of,
)
from certune.pfaffian.programs.program import Program
from certune.pfaffian.programs.trace import Trace
from certune.pfaffian.structure import PiecewiseStructure, PredicateCount
from certune.space import ParameterSpace, Simplex

_SMALLEST = 2
_LARGEST_EXAMPLE = 8
# Instances with more numbers are not looked at unless somebody asks for it.
_MOST_NUMBERS = 200


@dataclass(frozen=True)
class ProgramShape:
    """How the structure of a program is found.

    Parameters
    ----------
    program : callable
        The program.
    name : str
        What it is called.
    space : ParameterSpace
        Its parameters.
    fixed : tuple of str
        Parts of instances whose numbers belong to the shape.
    limit : int
        Largest number of paths.
    is_silent : bool
        Whether not to say how far it is.
    """

    program: Program
    name: str
    space: ParameterSpace
    fixed: tuple[str, ...]
    limit: int
    is_silent: bool = True

    def structure(self, example: Any, size: int | None) -> PiecewiseStructure:
        """Return the structure of all instances of the shape of an example, or of a size."""
        if size is None:
            shape = shape_of(example, self.fixed)
            return self._structure(self._counts(shape), _assumed(shape, ()))
        if not callable(example):
            raise ParameterError(
                "with size=, the example must be a function that returns an instance of a given "
                f"size, got {example!r}"
            )
        return self._at_size(example, size)

    def structure_of(self, instances: Sequence[Any]) -> PiecewiseStructure | None:
        """Return the structure of instances of one shape, None if it is not found."""
        try:
            shapes = [shape_of(instance, self.fixed) for instance in instances]
            if any(len(shape.outline[0]) > _MOST_NUMBERS for shape in shapes):
                return None
            if any(shape.outline != shapes[0].outline for shape in shapes):
                return None
            parts = [set(shape.positive_parts) for shape in shapes]
            if any(each != parts[0] for each in parts):
                return None
            return self._structure(self._counts(shapes[0]), _assumed(shapes[0], ()))
        except CertuneError:
            return None

    def _counts(self, shape: Shape) -> GenericCounts:
        parameters: dict[str, Any] = {
            item.name: tuple(parameter(f"{item.name}[{i}]") for i in range(item.size))
            if isinstance(item, Simplex)
            else parameter(item.name)
            for item in self.space.parameters
        }
        return generic_counts(
            self.program, shape, parameters, limit=self.limit, is_silent=self.is_silent
        )

    def _at_size(self, example: Callable[[int], Any], size: int) -> PiecewiseStructure:
        """Prove counts at the size itself if paths are few, or extend those of small ones."""
        known: dict[int, GenericCounts] = {}
        try:
            for each in range(min(_SMALLEST, size), min(size, _LARGEST_EXAMPLE) + 1):
                known[each] = self._counts(shape_of(example(each), self.fixed))
        except GenericLimitError as error:
            if len(known) < 3:
                raise GenericLimitError(
                    f"size {min(size, _SMALLEST + len(known))} has too many paths already: {error}"
                ) from error
        shape = shape_of(example(max(known)), self.fixed)
        if size in known:
            return self._structure(known[size], _assumed(shape, ()), f" of size {size}")
        first, second, third = sorted(known)[-3:]
        sizes = (first, second, third)
        same = (
            f"instances of size {size} compare functions of the same forms as those of size "
            f"{first} to {third}, in numbers that grow in the same way",
        )
        counts = extended(known.__getitem__, sizes, size)
        return self._structure(counts, _assumed(shape, same), f" of size {size}")

    def _structure(
        self, counts: GenericCounts, assumptions: tuple[str, ...], suffix: str = ""
    ) -> PiecewiseStructure:
        n_predicates = counts.n_predicates + counts.moving_values
        predicates = PredicateCount(
            n_parameters=self.space.n_free,
            n_predicates=n_predicates,
            chain_length=counts.longest.chain_length,
            chain_degree=counts.longest.chain_degree,
            function_degree=max(counts.longest.function_degree, 1),
            three_valued=True,
            name=f"forms: {'; '.join(sorted(counts.forms)[:3])}",
        )
        # Without another count: one form for each pattern of signs.
        n_forms = counts.values if counts.values is not None else 3**counts.n_predicates
        return PiecewiseStructure(
            n_piece_forms=max(n_forms, 1),
            n_boundaries=counts.n_predicates,
            chain_length=counts.whole.chain_length,
            chain_degree=counts.whole.chain_degree,
            function_degree=max(counts.whole.function_degree, 1),
            n_parameters=self.space.n_free,
            piecewise_constant=counts.moving_values == 0,
            predicates=(predicates,),
            name=f"{self.name}, any instance{suffix or ' of the shape of the example'}",
            source=f"{counts.n_paths} paths on symbols, docs/theory/structures.md",
            assumptions=assumptions,
        )


@contextmanager
def given_up_after(timeout: float | None) -> Iterator[None]:
    """Give up the search for a structure after some seconds, None for never."""
    if timeout is None:
        yield
        return
    if not (isinstance(timeout, (int, float)) and timeout > 0):
        raise ParameterError(f"timeout must be a number of seconds > 0, got {timeout!r}")
    with until(now() + timeout):
        try:
            yield
        except TimeIsUp:
            raise GenericLimitError(
                f"after {timeout:g} s not all paths were followed that instances of this shape can "
                "take through the program; take a smaller example, raise the timeout, or state "
                "the counts: ProgramFamily(..., structure=...)"
            ) from None


def structure_of_slices(name: str, slices: Sequence[PiecewiseStructure]) -> PiecewiseStructure:
    """Return the structure of a program from those at every setting of its discrete parameters.

    The settings are numbered, and the number is one parameter more: which slice a point belongs to
    is told by one affine function between two numbers. Sharper is that the settings are the union
    of the slices.
    """
    own = [each.predicates[0] for each in slices]
    union = PredicateCount(
        n_parameters=own[0].n_parameters,
        n_predicates=max(each.n_predicates for each in own),
        chain_length=max(each.chain_length for each in own),
        chain_degree=max(each.chain_degree for each in own),
        function_degree=max(each.function_degree for each in own),
        three_valued=True,
        n_copies=len(slices),
        name=f"{len(slices)} settings of discrete parameters, each with {own[0].name}",
    )
    return PiecewiseStructure(
        n_piece_forms=sum(each.n_piece_forms for each in slices),
        n_boundaries=sum(each.n_boundaries for each in slices) + len(slices) - 1,
        chain_length=sum(each.chain_length for each in slices),
        chain_degree=max(each.chain_degree for each in slices),
        function_degree=max(each.function_degree for each in slices),
        n_parameters=slices[0].n_parameters + (len(slices) > 1),
        piecewise_constant=all(each.piecewise_constant for each in slices),
        predicates=(union,),
        name=f"{name}, {len(slices)} settings of discrete parameters",
        source=slices[0].source,
        assumptions=tuple(dict.fromkeys(each for own in slices for each in own.assumptions)),
    )


def structure_of_settings(name: str, n_settings: int) -> PiecewiseStructure:
    """Return the structure of a program with so many settings, and no other parameters.

    Whatever it computes, there are no more patterns of utilities than settings.
    """
    each = PredicateCount(
        n_parameters=1,
        n_predicates=0,
        chain_length=0,
        chain_degree=0,
        function_degree=1,
        n_copies=n_settings,
        name=f"{n_settings} settings",
    )
    return PiecewiseStructure(
        n_piece_forms=n_settings,
        n_boundaries=n_settings - 1,
        chain_length=0,
        chain_degree=0,
        function_degree=1,
        n_parameters=1,
        piecewise_constant=True,
        predicates=(each,),
        name=f"{name}, {n_settings} settings",
        source="number of settings",
    )


def _assumed(shape: Shape, further: tuple[str, ...]) -> tuple[str, ...]:
    positive = (
        (f"the numbers of {', '.join(shape.positive_parts)} are positive, as in the example",)
        if shape.positive_parts
        else ()
    )
    return (*positive, *further)


def check_counts(number: int, structure: PiecewiseStructure, trace: Trace) -> None:
    """Raise `InputError` if a trace of an instance exceeds the counts of a structure."""
    seen = trace.complexity
    moving = sum(bool(form.parameters) for form in trace.forms)
    pairs = [
        ("boundary functions", seen.n_predicates - moving, structure.n_boundaries),
        ("forms of pieces", seen.n_piece_forms, structure.n_piece_forms),
    ]
    pairs += [
        (f"functions on the chain of a predicate ({each.name})", seen.longest_predicate_chain,
         each.chain_length)
        for each in structure.predicates
    ]  # fmt: skip
    for what, observed, stated in pairs:
        if observed > stated:
            raise InputError(
                f"instance {number} has {observed} {what}, and its structure states {stated}: the "
                "counts are wrong; correct the function that was passed as structure="
            )
    if seen.n_parameters != structure.n_parameters:
        raise InputError(
            f"instance {number} has {seen.n_parameters} parameters, and its structure states "
            f"{structure.n_parameters}"
        )
