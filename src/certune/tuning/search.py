"""Exact tuning: the front door, and the search over one free parameter.

The utility of each instance is an exact function of the parameter: piecewise constant, or smooth
on pieces up to a stated error. Their average is the quantity to maximise, so its maximum is the
global optimum on the instances (empirical risk minimisation), and the bounds of all other pieces
are the proof.
Several parameters are tuned by :mod:`certune.tuning.space.search`.
"""

from __future__ import annotations

import contextvars
import math
import numbers
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from fractions import Fraction
from typing import Any, overload

from certune.aggregates import Aggregate, Criterion
from certune.checks import as_n_jobs, as_positive_seconds, skips_errors
from certune.displays import SILENCE
from certune.dual import DualFunction
from certune.errors import NothingFinishedError, ParameterError, TuningError
from certune.families.base import Family
from certune.stages import stage
from certune.tuning.choice.choice import Choice, Slices
from certune.tuning.choice.result import ChoiceResult
from certune.tuning.choice.search import tune_choice
from certune.tuning.instances import checked_family, checked_instances
from certune.tuning.line.result import LineTuningResult
from certune.tuning.line.run import LineRun
from certune.tuning.outcome.result import TuningResult
from certune.tuning.space.search import SpaceOptions, check_search_options, tune_space
from certune.tuning.status import Status
from certune.tuning.work.cost import forecast, learn_costs, warn_of_memory, warn_of_time
from certune.tuning.work.log import RunLog, header
from certune.tuning.work.progress import Callback
from certune.tuning.work.run_store import opened_store
from certune.tuning.work.search_steps import opened_steps
from certune.tuning.work.workplace import RunOptions, with_result


@overload
def tune(
    family: Choice,
    instances: Any,
    *,
    method: str = "auto",
    gap: float = 0.0,
    timeout: float | None = None,
    max_nodes: int | None = None,
    n_jobs: int | None = 1,
    random_state: int = 0,
    callbacks: Sequence[Callback] = (),
    progress: bool | None = None,
    run_dir: str | os.PathLike[str] | None = None,
    on_error: str = "raise",
    timeout_per_instance: float | None = None,
    aggregate: str | Aggregate = "mean",
    weights: Iterable[Any] | None = None,
) -> ChoiceResult: ...
@overload
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
    run_dir: str | os.PathLike[str] | None = None,
    on_error: str = "raise",
    timeout_per_instance: float | None = None,
    aggregate: str | Aggregate = "mean",
    weights: Iterable[Any] | None = None,
) -> TuningResult: ...
def tune(
    family: Family | Choice,
    instances: Any,
    *,
    method: str = "auto",
    gap: float = 0.0,
    timeout: float | None = None,
    max_nodes: int | None = None,
    n_jobs: int | None = 1,
    random_state: int = 0,
    callbacks: Sequence[Callback] = (),
    progress: bool | None = None,
    run_dir: str | os.PathLike[str] | None = None,
    on_error: str = "raise",
    timeout_per_instance: float | None = None,
    aggregate: str | Aggregate = "mean",
    weights: Iterable[Any] | None = None,
) -> TuningResult | ChoiceResult:
    """Find the setting with the best mean utility over instances, and prove that it is best.

    Instead of the mean, the worst instance, a quantile or the mean of a tail can be maximised.

    Parameters
    ----------
    family : Family or Choice
        The algorithm, with one or several free parameters; or several of them to choose from.
    instances : iterable
        Problem instances of the family, at least one. For a choice, they must fit all alternatives;
        or a mapping has for each alternative its own form of the same instances.
    method : {"auto", "branch-and-bound", "line-search"}
        What to do with several parameters. Branch and bound proves the optimum, or a gap;
        ``"line-search"`` only looks for good settings, along lines; ``"auto"`` is branch and bound
        if the family has bounds on boxes. One parameter is always followed exactly.
    gap : float, default=0
        Branch and bound ends when no setting can be better by more than this.
    timeout : float, optional
        Seconds, after which the run ends, also in the middle of an instance. Instances without a
        function count as perfect in the bound. The best setting so far is run on them in the tenth
        of a second that follows; those that are left count with the lowest utility in its value.
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
    run_dir : path, optional
        A folder that keeps the run: every finished function, a journal, and the certificate. The
        same call continues a run that was ended in any way, and gives the result that it would
        have had; with more instances, or fewer, only functions that are not there are computed.
        With several free parameters it keeps what came of every setting, line and box, for the
        same instances and `random_state`. :func:`certune.load` reads it without the family.
    on_error : {"raise", "skip"}
        What to do when an instance fails: end with a `TuningError`, or leave it out, with its
        reason in ``result.failures``. An instance that is left out counts as perfect in the bound
        and with the lowest utility in the value. For one free parameter.
    timeout_per_instance : float, optional
        Seconds after which an instance has failed. Code that does not ask for the time, such as a
        program that waits for another one, is interrupted by an exception in the main thread and in
        worker processes; elsewhere it fails when it ends. For one free parameter.
    aggregate : {"mean", "min"} or Quantile or CVaR, default="mean"
        What is maximised over the instances: their mean utility, that of the worst instance, the
        utility that all but a share of the worst reach (:class:`certune.Quantile`), or the mean of
        such a share (:class:`certune.CVaR`). Worst is meant in the direction of the score.
    weights : iterable of number, optional
        A positive weight for each instance; by default all count the same. A float is the decimal
        number that it is written as.

    Returns
    -------
    TuningResult
        The optimum; for several parameters a :class:`SpaceTuningResult`, for a choice, or a family
        with integer or categorical parameters, a :class:`ChoiceResult`. After a time limit,
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
    with SILENCE.conversation(quiet=progress is False):
        if not isinstance(family, Choice) and checked_family(family).space.discrete:
            family = Slices(family)
        if isinstance(family, Choice):
            _check_options(timeout, n_jobs, callbacks, progress)
            limits = _seconds(timeout), _seconds(timeout_per_instance)
            options = RunOptions(n_jobs, tuple(callbacks), progress, *limits)
            return _tune_choice(
                family,
                instances,
                options,
                method=method,
                gap=gap,
                max_nodes=max_nodes,
                random_state=random_state,
                on_error=on_error,
                timeout_per_instance=timeout_per_instance,
                criterion=(aggregate, weights),
                run_dir=run_dir,
            )
        space = checked_family(family).space
        _check_options(timeout, n_jobs, callbacks, progress)
        _check_instance_options(space.n_free, on_error, timeout_per_instance)
        check_search_options(family, method, gap, max_nodes, random_state)
        limits = _seconds(timeout), _seconds(timeout_per_instance)
        with stage("checking the instances"):
            if isinstance(instances, Sequence):
                # Before checks, which compute distances.
                warn_of_memory(forecast(family, instances, n_jobs))
            listed = checked_instances(family, instances)
        criterion = Criterion.checked(aggregate, weights, len(listed))
        if space.n_free == 0:
            raise ParameterError(
                f"tune needs a free parameter, but {family!r} has none: give one a range."
            )
        options = RunOptions(n_jobs, tuple(callbacks), progress, *limits, on_error == "skip")
        # In a context of its own: however the run ends, no stop of it is left behind.
        context = contextvars.copy_context()
        if space.n_free == 1:
            with ExitStack() as stack:
                with stage("reading the run directory"):
                    opened = opened_store(run_dir, family, listed, criterion)
                    store = stack.enter_context(opened)
                    run = LineRun(family, listed, space.default_segment(), store, criterion)
                result = context.run(_tune_line, run, options)
                if store is not None:
                    with stage("writing the certificate"):
                        store.conclude(result)
                return result
        by_lines = method == "line-search" or not family.bounds_boxes
        search = SpaceOptions(criterion, by_lines, Fraction(gap), max_nodes, random_state)
        with ExitStack() as stack:
            with stage("reading the run directory"):
                opened_before = opened_steps(run_dir, family, listed, search)
                steps, conclude = stack.enter_context(opened_before)
            found = context.run(tune_space, family, listed, search, options, steps)
            with stage("writing the certificate"):
                conclude(found)
            return found


def _tune_choice(
    choice: Choice, instances: Any, options: RunOptions, **wishes: Any
) -> ChoiceResult:
    """Check what was asked of a choice, and tune it."""
    n_free = max(family.space.n_free for family in choice.alternatives.values())
    _check_instance_options(n_free, wishes["on_error"], wishes["timeout_per_instance"])
    if wishes["on_error"] != "raise":
        raise ParameterError(
            "on_error='skip' is for a single family: alternatives are compared on the same "
            "instances, of which none may miss."
        )
    searched = [wishes[name] for name in ("method", "gap", "max_nodes", "random_state")]
    with stage("checking the instances"):
        listed = choice.checked_instances(instances)
    aggregate, weights = wishes["criterion"]
    criterion = Criterion.checked(aggregate, weights, len(next(iter(listed.values()))))
    for family in choice.alternatives.values():
        check_search_options(family, *searched)
    method, gap, max_nodes, random_state = searched
    by_lines = method == "line-search"
    search = SpaceOptions(criterion, by_lines, Fraction(gap), max_nodes, random_state)
    context = contextvars.copy_context()
    return context.run(tune_choice, choice, listed, search, options, wishes["run_dir"])


def _seconds(seconds: float | None) -> float:
    return math.inf if seconds is None else float(seconds)


def checked_options(
    n_jobs: int | None,
    timeout: float | None = None,
    on_error: str = "raise",
    timeout_per_instance: float | None = None,
) -> RunOptions:
    """Return the options of a run over one parameter that says nothing while it goes on."""
    _check_options(timeout, n_jobs, (), False)
    _check_instance_options(1, on_error, timeout_per_instance)
    limits = _seconds(timeout), _seconds(timeout_per_instance)
    return RunOptions(n_jobs, (), False, *limits, on_error == "skip")


def tune_again(
    result: LineTuningResult,
    instances: list[Any],
    known: tuple[Mapping[int, DualFunction], Mapping[int, str]],
    names: list[str],
    criterion: Criterion,
    options: RunOptions,
) -> LineTuningResult:
    """Return the result for other instances, of which some have a function or failed already."""
    run = LineRun(result.family, instances, result.segment, None, criterion, names)
    run.finished.update(known[0])
    run.failures.update(known[1])
    return contextvars.copy_context().run(_tune_line, run, options)


def _tune_line(run: LineRun, options: RunOptions) -> LineTuningResult:
    family, instances, segment = run.family, run.instances, run.segment
    heading = header(family, len(instances), segment, run.criterion)
    with stage("estimating what the instances will take"):
        cost = run.expect(options.n_jobs)
    if cost is not None:
        heading += f"\nexpected: {cost}"
        warn_of_time(cost, run.missing, options.timeout, options.timeout_per_instance)
    log = RunLog(heading, options.progress, score=family.score, timeout=options.timeout)
    with log, options.workplace(family) as place:
        try:
            status = run.collect(place.crew, options, log)
            if run.finished:
                result = run.result(status, place.crew if status is None else place.last_crew())
                log.end(result.status)
                learn_costs(family, run.costs())
                return result
        except BaseException as error:
            if run.finished:
                with_result(error, lambda: run.result(Status.FAILED, place.last_crew()))
            raise
    if run.failures and status is None:
        first = min(run.failures)
        raise TuningError(
            f"All {len(instances)} instances failed; the first one, "
            f"{run.names[first]}: {run.failures[first]}"
        )
    if status is Status.TIME_LIMIT:
        n = len(instances)
        which = f"any of the {n} instances" if n > 1 else "the only instance"
        part = "a part of them" if n > 1 else "a part of its points"
        raise NothingFinishedError(
            f"The time limit was reached before the function of {which} was finished: allow more "
            f"time, or tune {part}."
        )
    place.watch.pass_on()


def _is_number(value: object, kind: type) -> bool:
    return isinstance(value, kind) and not isinstance(value, bool)


def _check_instance_options(n_free: int, on_error: object, limit: Any) -> None:
    skips = skips_errors(on_error)
    if limit is not None and not (_is_number(limit, numbers.Real) and limit > 0):
        raise ParameterError(
            f"timeout_per_instance must be a positive number of seconds, got {limit!r}."
        )
    if n_free > 1 and (skips or limit is not None):
        raise ParameterError(
            "on_error and timeout_per_instance are for one free parameter, whose instances are "
            f"finished one by one; here are {n_free}."
        )


def _check_options(timeout: Any, n_jobs: Any, callbacks: object, progress: object) -> None:
    if timeout is not None:
        as_positive_seconds("timeout", timeout)
    as_n_jobs(n_jobs)
    if not isinstance(callbacks, Sequence) or not all(callable(item) for item in callbacks):
        raise ParameterError(f"callbacks must be a list of functions, got {callbacks!r}.")
    if progress is not None and not isinstance(progress, bool):
        raise ParameterError(f"progress must be True, False or None, got {progress!r}.")
