"""Algorithms that cannot be traced, but can report: the exact dual of code in any language.

A solver written in C, or a program whose numbers are no Python objects, cannot be followed from
outside. Often its parameters only enter where it chooses among candidates by their scores, as a
branching rule does. Such code hands over the scores as functions of the parameters at each
decision and takes the winner from certune; between two decisions it does what it likes. Its
utility is then a function of the decisions, the parameters on which all decisions stay the same
are the intersection of sign cells of score differences, and the exact function is found by one run
for each piece (``thm:pfaffian-gj-algorithm`` with the scores' differences as predicates).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from certune.checks import as_list
from certune.errors import InputError, ParameterError
from certune.families.base import Family
from certune.families.programs.decision_tree import DecisionTree, Question, Recorder
from certune.families.programs.family import ProgramFamily
from certune.pfaffian.expressions.expression import Expression, as_expression, parameter
from certune.pfaffian.expressions.plain import PlainFloat
from certune.pfaffian.programs.decisions import current_oracle, outside_programs
from certune.pfaffian.programs.following import followed
from certune.pfaffian.programs.program import Parameters, argmax, argsort
from certune.pfaffian.structure import PiecewiseStructure
from certune.space import Parameter, ParameterSpace, Segment, Simplex

# Trees of decisions that are kept, one for each instance.
_MOST_TREES = 64


class Decisions:
    """What an algorithm asks while it runs; it gets one as its second argument.

    Attributes
    ----------
    parameters : mapping of name to Expression
        The parameters, to compute scores with; they have no value to look at.
    """

    def __init__(self, parameters: Mapping[str, Any], recorder: Recorder | None) -> None:
        self.parameters = Parameters(parameters)
        self._recorder = recorder

    def choose(self, scores: Sequence[Any]) -> int:
        """Return the index of the candidate with the largest score, of equal ones the first.

        Parameters
        ----------
        scores : sequence of number or Expression
            One score for each candidate, computed from `parameters`.
        """
        nodes = self._checked(scores)
        if self._recorder is None:
            return argmax(nodes)
        return int(self._recorder.answer(Question("choose", tuple(nodes))))

    def order(self, scores: Sequence[Any]) -> list[int]:
        """Return the candidates by score, the largest first; equal ones keep their order.

        Parameters
        ----------
        scores : sequence of number or Expression
            One score for each candidate, computed from `parameters`.
        """
        nodes = self._checked(scores)
        if self._recorder is None:
            return argsort(nodes, descending=True)
        return list(self._recorder.answer(Question("order", tuple(nodes))))

    def _checked(self, scores: Any) -> list[Any]:
        with _kept_by(self._recorder):
            plain = list(scores) if isinstance(scores, np.ndarray) else as_list("scores", scores)
            if not plain:
                raise InputError(
                    "a decision needs at least one candidate, got an empty list of scores"
                )
            return [_score("scores", index, score) for index, score in enumerate(plain)]

    def choose_linear(
        self, offsets: Sequence[Any], slopes: Sequence[Any], name: str | None = None
    ) -> int:
        """Return the index of the largest ``offset + slope * parameter``, of equal ones the first.

        Parameters
        ----------
        offsets, slopes : sequence of numbers
            One of each for every candidate; floats count as the numbers that they are.
        name : str, optional
            The parameter; not needed if there is only one.
        """
        with _kept_by(self._recorder):
            if name is None and len(self.parameters) != 1:
                raise ParameterError(
                    "choose_linear needs the name of a parameter, one of "
                    f"{', '.join(map(repr, self.parameters))}"
                )
            value = self.parameters[next(iter(self.parameters)) if name is None else name]
            firsts, seconds = _numbers("offsets", offsets), _numbers("slopes", slopes)
            if len(firsts) != len(seconds):
                raise InputError(
                    "a decision needs as many offsets as slopes, got "
                    f"{len(firsts)} and {len(seconds)}"
                )
        return self.choose([a + b * value for a, b in zip(firsts, seconds, strict=True)])


def _numbers(name: str, given: Any) -> list[Any]:
    plain = given.tolist() if isinstance(given, np.ndarray) else as_list(name, given)
    return [_score(name, index, number) for index, number in enumerate(plain)]


@contextmanager
def _kept_by(recorder: Recorder | None) -> Iterator[None]:
    """Keep a bad question, which the code that asks may swallow."""
    try:
        yield
    except Exception as error:
        if recorder is not None and recorder.failure is None:
            recorder.failure = error
        raise


def _score(name: str, index: int, value: Any) -> Any:
    if isinstance(value, PlainFloat):
        return value
    try:
        return as_expression(value)
    except InputError:
        raise InputError(
            f"{name}[{index}] of a decision must be a finite number or an expression in the "
            f"parameters, got {value!r}"
        ) from None


Algorithm = Callable[[Any, Decisions], Any]


class DecisionFamily(ProgramFamily):
    """Any code that takes its decisions from certune: a solver, a binary, another language.

    Parameters
    ----------
    algorithm : callable
        ``algorithm(instance, decisions)`` runs the code and returns the utility. Wherever the
        parameters matter it asks ``decisions.choose(scores)``, ``decisions.order(scores)`` or
        ``decisions.choose_linear(offsets, slopes)``, or compares expressions computed from
        ``decisions.parameters``. It must be deterministic given the answers.
    space : ParameterSpace, Real or Simplex
        The parameters and their ranges.
    utility_range : pair of numbers, default (0, 1)
        Smallest and largest utility.
    tolerance : float, default 0
        As in `certune.ProgramFamily`, for utilities that vary with the parameters.
    baselines : mapping of name to parameters, optional
        Default settings to compare with.
    solver : callable, optional
        Like `algorithm`, but returns the output, for `solve`.
    check : callable, optional
        Raises `InputError` for an instance that does not fit.
    structure : callable, optional
        Returns the `PiecewiseStructure` that you vouch for, for all instances of the size of the
        given one; for code that cannot be run on symbols (see `structure`).

    Notes
    -----
    Runs are remembered by their decisions, so that an exact function takes one run for each piece
    and each tie, and boxes of several parameters only the runs that are new. `run` always runs.
    An exception raised by a method of `decisions` must end the run; code that cannot hand it on
    may swallow it and stop.

    Examples
    --------
    Two candidates at each of three steps; the code only reports scores:

    >>> import certune as ct
    >>> def walk(steps, decisions):
    ...     gained = 0
    ...     for costs, gains in steps:
    ...         gained += gains[decisions.choose_linear(gains, [-cost for cost in costs])]
    ...     return gained / 100
    >>> family = ct.DecisionFamily(walk, ct.Real("price", 0, 10))
    >>> steps = (((1, 5), (3, 11)), ((2, 2), (7, 9)), ((1, 3), (6, 20)))
    >>> dual = family.dual(steps)
    >>> dual.breakpoints.mean(axis=1).round(9).tolist(), [float(v) for v in dual.values]
    ([2.0, 7.0], [0.4, 0.32, 0.18])
    >>> family.n_runs
    3
    """

    def __init__(
        self,
        algorithm: Algorithm,
        space: ParameterSpace | Parameter,
        *,
        utility_range: tuple[Any, Any] = (0, 1),
        tolerance: float = 0.0,
        baselines: Mapping[str, Mapping[str, Any]] | None = None,
        solver: Algorithm | None = None,
        check: Callable[[Any], None] | None = None,
        structure: Callable[[Any], PiecewiseStructure] | None = None,
    ) -> None:
        if not callable(algorithm):
            raise ParameterError(
                f"algorithm must be a function of (instance, decisions), got {algorithm!r}"
            )
        super().__init__(
            algorithm,  # type: ignore[arg-type] # it is called through `_afresh` and `_follow`
            space,
            utility_range=utility_range,
            tolerance=tolerance,
            baselines=baselines,
            solver=None if solver is None else _Afresh(solver),
            check=check,
            structure=structure,
        )
        self._trees: OrderedDict[str, DecisionTree] = OrderedDict()
        self._n_runs_of_dropped = 0

    def __repr__(self) -> str:
        return super().__repr__().replace("ProgramFamily", "DecisionFamily", 1)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_trees": OrderedDict(), "_n_runs_of_dropped": 0}

    @property
    def n_runs(self) -> int:
        """How often exact functions and bounds have run the algorithm so far, in this process."""
        return self._n_runs_of_dropped + sum(tree.n_runs for tree in self._trees.values())

    def _check_pieces(self, instance: Any, segment: Segment, found: Any) -> None:
        """Runs can be slow, and that at the best setting tells as much."""

    def _afresh(self, instance: Any, parameters: Mapping[str, Any]) -> Any:
        return followed(lambda given: self._run(instance, given), parameters)

    def _run(self, instance: Any, parameters: Mapping[str, Any]) -> Any:
        return _Afresh(self.program)(instance, self._completed(parameters))

    def _follow(self, instance: Any, parameters: Mapping[str, Any]) -> Any:
        oracle = current_oracle()
        assert oracle is not None  # whoever follows a program decides for it
        return followed(
            lambda given: self._tree(instance).follow(_flat(given), oracle),
            parameters,
            on_floats=lambda given: self._run(instance, given),
        )

    def slices(self) -> dict[str, Family]:
        """Return the algorithm at every setting of its discrete parameters; see `ProgramFamily`."""
        found = super().slices()
        if found and self.space.n_free == sum(item.n_free for item in self.space.discrete):
            raise ParameterError(
                f"{self!r} has discrete parameters only, and decisions need a real one to depend "
                "on; run the algorithm at each setting, or write it as a ProgramFamily"
            )
        return found

    @outside_programs()
    def _tree(self, instance: Any) -> DecisionTree:
        key = self.instance_fingerprint(instance)
        tree = self._trees.get(key)
        if tree is None:
            symbols = {**_symbols(self.space), **self._settings}
            tree = DecisionTree(
                lambda recorder: self.program(instance, Decisions(symbols, recorder))  # type: ignore[arg-type]
            )
            self._trees[key] = tree
            if len(self._trees) > _MOST_TREES:
                self._n_runs_of_dropped += self._trees.popitem(last=False)[1].n_runs
        else:
            self._trees.move_to_end(key)
        return tree


class _Afresh:
    """An algorithm as a program that is run from its beginning."""

    def __init__(self, algorithm: Callable[..., Any]) -> None:
        self._algorithm = algorithm

    def __call__(self, instance: Any, parameters: Mapping[str, Any]) -> Any:
        return self._algorithm(instance, Decisions(parameters, None))


def _symbols(space: ParameterSpace) -> dict[str, Any]:
    return {
        item.name: tuple(parameter(f"{item.name}[{i}]") for i in range(item.size))
        if isinstance(item, Simplex)
        else parameter(item.name)
        for item in space.parameters
    }


def _flat(parameters: Mapping[str, Any]) -> dict[str, Expression]:
    """Return the entries of all parameters by the names of their symbols."""
    flat: dict[str, Expression] = {}
    for name, value in parameters.items():
        if isinstance(value, tuple):
            flat.update({f"{name}[{i}]": as_expression(entry) for i, entry in enumerate(value)})
        else:
            flat[name] = as_expression(value)
    return flat
