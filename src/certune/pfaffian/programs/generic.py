"""What a program compares on any instance of a shape: counts that are proved, not observed.

The numbers of an example become symbols, and the program is run along every branch that the
symbols leave open. Comparisons of instance numbers alone say nothing about the parameters: both
outcomes are followed, and nothing is counted. What is compared with parameters in it are the
predicates of ``thm:pfaffian-gj-algorithm`` for every instance of that shape at once, whatever its
numbers are. Branches that no instance takes only make the counts larger.

Predicates that differ by the indices of the instance numbers alone have one *form*; how many there
are of a form grows with the size as a binomial coefficient, which extends counts of small shapes.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from certune.deadline import TimeIsUp, check_time
from certune.errors import CertuneError, InputError
from certune.pfaffian.chains.chain import Complexity
from certune.pfaffian.chains.construction import chain_of_predicates
from certune.pfaffian.expressions.definedness import NO_VALUE
from certune.pfaffian.expressions.expression import Expression, parameter
from certune.pfaffian.expressions.operations import ADD, DIVIDE, MULTIPLY
from certune.pfaffian.programs.decisions import (
    Oracle,
    Relation,
    decide_constants,
    deciding,
)
from certune.pfaffian.programs.program import Parameters, Program, exact_number
from certune.pfaffian.programs.words import Words

_ALL_SIGNS = frozenset((-1, 0, 1))
_NUMBERS = (int, float, Fraction, np.integer, np.floating)


class GenericLimitError(CertuneError):
    """A program has more paths on instances of a shape than may be followed."""


@dataclass(frozen=True)
class Shape:
    """All instances with the shape of an example.

    Attributes
    ----------
    instance : object
        The example with symbols in the place of numbers.
    positive : frozenset of str
        Symbols of numbers that are assumed to be positive.
    positive_parts : tuple of str
        The parts of an instance that they make up.
    outline : tuple
        Names of all symbols, and what else there is: the same for instances of one shape.
    """

    instance: Any
    positive: frozenset[str]
    positive_parts: tuple[str, ...]
    outline: tuple[Any, ...]

    def is_positive(self, node: Expression) -> bool:
        """Tell whether the structure of an expression shows that it is positive."""
        if node.name is not None:
            return node.name in self.positive
        if node.operation in (ADD, MULTIPLY, DIVIDE):
            return all(self.is_positive(argument) for argument in node.arguments)
        return node.least > 0


def shape_of(example: Any, fixed: Iterable[str] = ()) -> Shape:
    """Return the shape of an example: all instances that differ from it by their numbers.

    A part whose numbers are all positive in the example is assumed to be positive.

    Parameters
    ----------
    example : object
        Numbers, arrays, and tuples, lists, dictionaries or dataclasses of them. Strings and bools
        belong to the shape.
    fixed : iterable of str
        Parts whose numbers belong to the shape too, such as labels and indices: names of fields and
        keys, ``x0``, ``x1``, ... for the parts of a tuple of arrays and numbers.
    """
    symbols = _Symbols(frozenset(fixed))
    instance = symbols.of(example, "x", is_top=True)
    parts: dict[str, list[str]] = {}
    for name in symbols.numbers:
        parts.setdefault(name.split("[")[0], []).append(name)
    positive = [
        part for part, names in parts.items() if all(symbols.numbers[name] > 0 for name in names)
    ]
    return Shape(
        instance,
        frozenset(name for part in positive for name in parts[part]),
        tuple(positive),
        (tuple(symbols.numbers), tuple(symbols.rest)),
    )


class _Symbols:
    def __init__(self, fixed: frozenset[str]) -> None:
        self._fixed = fixed
        self.numbers: dict[str, Any] = {}
        self.rest: list[tuple[str, str]] = []

    def _symbol(self, name: str, value: Any) -> Expression:
        self.numbers[name] = value
        return parameter(name)

    def of(self, value: Any, name: str, *, is_top: bool = False) -> Any:
        is_word = value is None or isinstance(value, (str, bytes, bool, np.bool_))
        is_other = isinstance(value, np.ndarray) and value.dtype.kind not in "iuf"
        if name in self._fixed or is_word or is_other:
            self.rest.append((name, repr(value.tolist() if is_other else value)))
            return value
        if isinstance(value, np.ndarray):
            made = np.empty(value.shape, dtype=object)
            for place in np.ndindex(value.shape):
                shown = name
                for index in place:
                    shown = _indexed(shown, index)
                made[place] = self._symbol(shown, value[place])
            return made
        if isinstance(value, _NUMBERS):
            return self._symbol(name, value)
        if isinstance(value, Mapping):
            return {key: self.of(part, str(key)) for key, part in value.items()}
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return self._record(value)
        if isinstance(value, (tuple, list)):
            # An instance that is a sequence of numbers is an array, any other has parts.
            has_parts = is_top and not all(isinstance(part, _NUMBERS) for part in value)
            parts = [
                self.of(part, f"{name}{i}" if has_parts else _indexed(name, i))
                for i, part in enumerate(value)
            ]
            return tuple(parts) if isinstance(value, tuple) else parts
        raise InputError(
            f"the part {name!r} of the example is a {type(value).__name__}; a structure is proved "
            "for examples of numbers, arrays, and tuples, lists, dictionaries or dataclasses of "
            "them"
        )

    def _record(self, value: Any) -> Any:
        # Checks of the constructor are about numbers, and are not asked.
        made = object.__new__(type(value))
        for field in dataclasses.fields(value):
            part = self.of(getattr(value, field.name), field.name)
            object.__setattr__(made, field.name, part)
        return made


def _indexed(name: str, index: int) -> str:
    return f"{name[:-1]},{index}]" if name.endswith("]") else f"{name}[{index}]"


@dataclass(frozen=True)
class GenericCounts:
    """What a program can compare and return on any instance of a shape.

    Attributes
    ----------
    forms : dict of str to int
        Predicates up to the indices of instance numbers, and how many there are of each.
    values : int or None
        Number of different results; None if that of larger sizes is not known.
    moving_values : int
        Number of different results that vary with the parameters.
    longest, whole : Complexity
        Largest chain length and degrees of one predicate or varying result, and of a chain for all.
    n_paths : int
        Paths that were followed.
    """

    forms: dict[str, int]
    values: int | None
    moving_values: int
    longest: Complexity
    whole: Complexity
    n_paths: int

    @property
    def n_predicates(self) -> int:
        """Number K of different predicates."""
        return sum(self.forms.values())


def generic_counts(
    program: Program,
    shape: Shape,
    parameters: Mapping[str, Any],
    *,
    limit: int = 5000,
    is_silent: bool = True,
) -> GenericCounts:
    """Follow a program along every branch that some instance may take.

    Parameters
    ----------
    program : callable
        A function of (instance, parameters).
    shape : Shape
        What is known about the instances.
    parameters : mapping of name to Expression or tuple of Expression
        The tuned parameters.
    limit : int
        Largest number of paths.
    is_silent : bool
        Whether not to say on stderr every two seconds how far it is.

    Raises
    ------
    GenericLimitError
        If there are more paths.
    InputError
        If the program needs the value of an instance number, so that the shape does not say what
        it does.
    """
    names = {name for value in parameters.values() for name in _names(value)}
    predicates: dict[Expression, None] = {}
    values: dict[Expression, None] = {}
    pending: list[list[bool]] = [[]]
    n_paths = 0
    tell = Words(
        lambda: f"structure: {n_paths} paths followed, {len(pending)} branches left", is_silent
    )
    while pending:
        check_time()
        tell()
        n_paths += 1
        if n_paths + len(pending) > limit:
            raise GenericLimitError(
                f"instances of this shape can take more than {limit} paths through the program; "
                "take a smaller example, or state the counts: ProgramFamily(..., structure=...)"
            )
        prefix = pending.pop()
        start = len(prefix)
        oracle = _AnyInstance(shape, names, predicates, prefix)
        try:
            with deciding(oracle):
                output = program(shape.instance, Parameters(parameters))
            values[exact_number(output)] = None
        except NO_VALUE:
            pass  # no point of the domain of such an instance
        except TimeIsUp:
            raise
        except Exception as error:  # whatever a program does that expects numbers
            if _is_about_fractions(error):
                raise InputError(
                    "the program makes a Fraction of instance numbers, which have no values here: "
                    "write a / b in its place, which is as exact (a float next to a quotient of "
                    "whole numbers counts as that quotient)"
                ) from error
            raise InputError(
                "the program needs the value of an instance number, so that the shape of an "
                f"instance does not say what it does: {error}; name the parts that belong to the "
                "shape (fixed=...), or state the counts: ProgramFamily(..., structure=...)"
            ) from error
        pending += [oracle.path[:i] + [False] for i in range(start, oracle.n_open)]
    return _counted(tuple(predicates), tuple(values), names, n_paths)


def _names(value: Any) -> list[str]:
    entries = value if isinstance(value, tuple) else (value,)
    return [name for entry in entries for name in entry.parameters]


class _AnyInstance(Oracle):
    """Takes the outcomes of a prefix, and then the first one of every open comparison."""

    def __init__(
        self,
        shape: Shape,
        names: set[str],
        predicates: dict[Expression, None],
        prefix: list[bool],
    ) -> None:
        self._shape, self._names, self._predicates = shape, names, predicates
        self._signs: dict[Expression, frozenset[int]] = {}
        self.path = prefix
        self.n_open = 0

    def decide(self, first: Expression, relation: Relation, second: Expression) -> bool:
        if not (first.parameters or second.parameters):
            return decide_constants(first, relation, second)
        difference, opposite = first - second, second - first
        if opposite in self._predicates or opposite in self._signs:
            difference, relation = opposite, relation.mirrored
        if not difference.parameters:
            return relation.holds(difference.sign() or 0)
        if self._names.isdisjoint(difference.parameters):
            if self._shape.is_positive(difference):
                return relation.holds(1)
        else:
            self._predicates[difference] = None
        possible = self._signs.get(difference, _ALL_SIGNS)
        holding = possible & relation.signs
        if not holding or holding == possible:
            return bool(holding)
        if self.n_open == len(self.path):
            self.path.append(True)
        outcome = self.path[self.n_open]
        self.n_open += 1
        self._signs[difference] = holding if outcome else possible - holding
        return outcome


def _counted(
    predicates: Sequence[Expression], values: Sequence[Expression], names: set[str], n_paths: int
) -> GenericCounts:
    moving = [value for value in values if not names.isdisjoint(value.parameters)]
    numbers = _in_general_position((*predicates, *moving), names)
    compared, returned = (
        [node for node in (each.substitute(numbers) for each in nodes) if node.parameters]
        for nodes in (predicates, moving)
    )
    each = [chain_of_predicates([node]).complexity for node in compared]
    each += [node.complexity for node in returned]
    largest = Complexity(
        max((c.chain_length for c in each), default=0),
        max((c.chain_degree for c in each), default=0),
        max((c.function_degree for c in each), default=1),
    )
    whole = chain_of_predicates(compared, returned).complexity if each else largest
    forms = Counter(form_of(predicate, names) for predicate in predicates)
    return GenericCounts(dict(forms), len(values), len(moving), largest, whole, n_paths)


def _in_general_position(nodes: Sequence[Expression], names: set[str]) -> dict[str, Fraction]:
    """Return numbers for the symbols of an instance that have no relations with each other.

    A chain is built from the structure of an expression, so that its length and degrees are those
    for all instance numbers; special ones only let terms vanish or coincide.
    """
    symbols = sorted({name for node in nodes for name in node.parameters} - names)
    return {name: Fraction(prime, 7) for name, prime in zip(symbols, _primes(), strict=False)}


def _primes() -> Iterator[int]:
    """Yield the primes from 11 on."""
    number = 11
    while True:
        if all(number % divisor for divisor in range(3, math.isqrt(number) + 1, 2)):
            yield number
        number += 2


def _is_about_fractions(error: BaseException) -> bool:
    """Has Python's own Fraction refused what it was given?"""
    if not isinstance(error, TypeError):
        return False
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    return place is not None and place.tb_frame.f_code is Fraction.__new__.__code__


def form_of(predicate: Expression, names: Iterable[str]) -> str:
    """Return a predicate with the indices of instance numbers replaced by letters.

    Of a predicate and its negative the form that sorts first counts.
    """
    known = set(names)

    def renamed(node: Expression) -> str:
        letters: dict[str, str] = {}

        def letter(found: re.Match[str]) -> str:
            if found.group(0) in known:
                return found.group(0)
            shown = (
                letters.setdefault(index, _letter(len(letters)))
                for index in found.group(2).split(",")
            )
            return f"{found.group(1)}[{','.join(shown)}]"

        return re.sub(r"([A-Za-z_]\w*)\[([\d,]+)\]", letter, node.to_text())

    return min(renamed(predicate), renamed(-predicate), key=lambda text: (len(text), text))


def _letter(number: int) -> str:
    return "ijklmnpqrs"[number] if number < 10 else f"i{number}"


def extended(
    counts: Callable[[int], GenericCounts], sizes: tuple[int, int, int], size: int
) -> GenericCounts:
    """Extend counts of three consecutive small sizes to a larger one.

    Every form must be there at all three sizes, and its number be the same multiple of one binomial
    coefficient of the size; chains must be the same.

    Raises
    ------
    InputError
        If that is not so.
    """
    small = [counts(each) for each in sizes]
    if len({frozenset(each.forms) for each in small}) > 1 or len({c.longest for c in small}) > 1:
        raise InputError(
            f"at the sizes {', '.join(map(str, sizes))} the program compares different forms, so "
            f"that nothing is known about size {size}: it sums over all of an instance, or needs "
            "larger examples; state the counts: ProgramFamily(..., structure=...)"
        )
    forms = {}
    for form in small[0].forms:
        number = _extended_count([each.forms[form] for each in small], sizes, size)
        if number is None:
            raise InputError(
                f"the number of predicates of the form {form} at the sizes "
                f"{', '.join(map(str, sizes))} is no multiple of a binomial coefficient; state the "
                "counts: ProgramFamily(..., structure=...)"
            )
        forms[form] = number
    moving = _extended_count([each.moving_values for each in small], sizes, size)
    if moving is None:
        raise InputError(
            f"nothing is known about the number of results at size {size}; state the counts: "
            "ProgramFamily(..., structure=...)"
        )
    total = sum(forms.values()) + moving
    longest = small[0].longest
    whole = Complexity(total * longest.chain_length, longest.chain_degree, longest.function_degree)
    return GenericCounts(forms, None, moving, longest, whole, sum(each.n_paths for each in small))


def _extended_count(found: Sequence[int], sizes: Sequence[int], size: int) -> int | None:
    for order in range(min(sizes) + 1):
        shares = {Fraction(n, math.comb(s, order)) for n, s in zip(found, sizes, strict=True)}
        if len(shares) == 1:
            return math.ceil(shares.pop() * math.comb(size, order))
    return None
