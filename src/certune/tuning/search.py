"""Exact tuning: the front door, and the search over one free parameter.

The utility of each instance is an exact function of the parameter: piecewise constant, or smooth
on pieces up to a stated error. Their average is the quantity to maximise, so its maximum is the
global optimum on the instances (empirical risk minimisation), and the bounds of all other pieces
are the proof.
Several parameters are tuned by :mod:`certune.tuning.space_search`.
"""

from __future__ import annotations

import contextvars
import math
import numbers
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

from certune.errors import NothingFinishedError, ParameterError
from certune.families.base import Family
from certune.space import Segment
from certune.tuning.compilation import leave_compilation_out
from certune.tuning.instances import checked_family, checked_instances
from certune.tuning.line_run import LineRun
from certune.tuning.log import RunLog, header
from certune.tuning.progress import Callback
from certune.tuning.result import TuningResult
from certune.tuning.space_search import SpaceOptions, check_search_options, tune_space
from certune.tuning.status import Status
from certune.tuning.workplace import RunOptions, with_result


def tune(
    family: Family,
    instances: Iterable[Any],
    *,
    method: str = "auto",
    gap: float = 0.0,
    timeout: float | None = None,
    max_nodes: int | None = None,
    n_jobs: int | None = 1,
    random_state: int = 0,
    callbacks: Sequence[Callback] = (),
    progress: bool | None = None,
) -> TuningResult:
    """Find the setting with the best mean utility over instances, and prove that it is best.

    Parameters
    ----------
    family : Family
        The algorithm, with one or several free parameters.
    instances : iterable
        Problem instances of the family, at least one.
    method : {"auto", "branch-and-bound", "line-search"}
        What to do with several parameters. Branch and bound proves the optimum, or a gap;
        ``"line-search"`` only looks for good settings, along lines; ``"auto"`` is branch and bound
        if the family has bounds on boxes. One parameter is always followed exactly.
    gap : float, default=0
        Branch and bound ends when no setting can be better by more than this.
    timeout : float, optional
        Seconds, after which the run ends, also in the middle of an instance; preparation on
        first use does not count. Instances without a function count as perfect in the bound. The
        best setting so far is run on them in the tenth of a second that follows; those that are
        left count with the lowest utility in its value.
    max_nodes : int, optional
        Branch and bound ends once it has looked at this many boxes, which it takes a few at a time.
    n_jobs : int or None, default=1
        Number of parallel workers, as in joblib: -1 for all processors, None for what
        ``joblib.parallel_config`` says. They are threads where the family leaves the interpreter
        lock to others, and otherwise processes, once these are worth their start; a backend that
        ``joblib.parallel_config`` names is used as it is. The result does not depend on it.
    random_state : int, default=0
        Seed of the random lines, for several parameters.
    callbacks : sequence of callable
        Each is called with a :class:`Progress` after every finished instance, in the order of the
        instances, or for several parameters with a :class:`SearchProgress` after every few boxes.
        If one returns True, tuning stops.
    progress : bool, optional
        Whether to log to stderr; by default only if the run takes longer than two seconds.

    Returns
    -------
    TuningResult
        The optimum; for several parameters a :class:`SpaceTuningResult`. After a time limit,
        Ctrl-C, SIGTERM or a stop by a callback: the best setting known, with a valid upper bound.
        A second signal, a second later or more, ends the program as ever.

    Raises
    ------
    InputError
        If there is no instance, or one does not fit the family; before any work starts.
    ParameterError
        If the family has no free parameter, or an option is not admissible.
    TuningError
        If work on an instance fails, which it names, or a callback does, or a worker process is
        lost twice. Its attribute ``result`` has what was finished by then.
    NothingFinishedError
        If the time limit is reached before the function of any instance is finished.

    Notes
    -----
    One exact function for each instance, and O(B log B) for their mean with B breakpoints in all.

    Examples
    --------
    >>> from certune.testing import StepFamily, StepInstance
    >>> instances = [StepInstance((0.25,), (0, 1)), StepInstance((0.75,), (1, 0))]
    >>> result = tune(StepFamily(), instances)
    >>> result.status.name, result.best_value, result.best_region
    ('OPTIMAL', 1.0, [(0.25, 0.7499999999999999)])
    """
    space = checked_family(family).space
    _check_options(timeout, n_jobs, callbacks, progress)
    check_search_options(family, method, gap, max_nodes, random_state)
    listed = checked_instances(family, instances)
    if space.n_free == 0:
        raise ParameterError(
            f"tune needs a free parameter, but {family!r} has none: give one a range."
        )
    leave_compilation_out()
    seconds = math.inf if timeout is None else float(timeout)
    options = RunOptions(n_jobs, tuple(callbacks), progress, seconds)
    # In a context of its own: however the run ends, no stop of it is left behind.
    context = contextvars.copy_context()
    if space.n_free == 1:
        return context.run(_tune_line, family, listed, space.default_segment(), options)
    by_lines = method == "line-search" or not family.bounds_boxes
    search = SpaceOptions(by_lines, Fraction(gap), max_nodes, random_state)
    return context.run(tune_space, family, listed, search, options)


def _tune_line(
    family: Family, instances: list[Any], segment: Segment, options: RunOptions
) -> TuningResult:
    heading = header(family, len(instances), family.space, segment)
    log = RunLog(heading, options.progress, score=family.score)
    with log, options.workplace(family) as place:
        run = LineRun(family, instances, segment)
        try:
            status = run.collect(place.crew, options.callbacks, log)
            if run.finished:
                result = run.result(status, place.crew if status is None else place.last_crew())
                log.summary(lambda: str(result))
                return result
        except BaseException as error:
            if run.finished:
                with_result(error, lambda: run.result(Status.FAILED, place.last_crew()))
            raise
    if status is Status.TIME_LIMIT:
        raise NothingFinishedError(
            "The time limit was reached before the function of any of the "
            f"{len(instances)} instances was finished: allow more time, or tune a part of them."
        )
    place.watch.pass_on()


def _is_number(value: object, kind: type) -> bool:
    return isinstance(value, kind) and not isinstance(value, bool)


def _check_options(timeout: Any, n_jobs: Any, callbacks: object, progress: object) -> None:
    if timeout is not None and not (_is_number(timeout, numbers.Real) and timeout > 0):
        raise ParameterError(f"timeout must be a positive number of seconds, got {timeout!r}.")
    if n_jobs is not None and not (_is_number(n_jobs, numbers.Integral) and n_jobs != 0):
        raise ParameterError(
            f"n_jobs must be a positive integer, -1 for all processors or None, got {n_jobs!r}."
        )
    if not isinstance(callbacks, Iterable) or not all(callable(item) for item in callbacks):
        raise ParameterError(f"callbacks must be a list of functions, got {callbacks!r}.")
    if progress not in (None, True, False):
        raise ParameterError(f"progress must be True, False or None, got {progress!r}.")
