"""From a scenario to a result: make the family, read the data, hold some back, tune."""

from __future__ import annotations

import glob
import importlib
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from certune.aggregates import Mean, Minimum, aggregate_of
from certune.cli.families import FAMILIES, tunes_height
from certune.cli.scenario import Scenario
from certune.cli.spoken_warnings import warnings_in_words
from certune.data.csv_file import read_csv
from certune.data.doors import Purposes, files_of, instances_of, samples_from_files, samples_of
from certune.data.tasks import TASKS, Sample
from certune.errors import InputError, ParameterError
from certune.stages import stage
from certune.suggestions import suggested

if TYPE_CHECKING:
    from certune.families.base import Family
    from certune.report.findings import Findings
    from certune.tuning import Choice, ChoiceResult, TuningResult

TASK_OF_FAMILY = {name: command.task for name, command in FAMILIES.items()}
# Options of the scenario that belong to the instances of a task.
TASK_OPTIONS = {
    "clustering": ("metrics", "standardize", "k"),
    "labeling": ("metrics", "standardize", "cv"),
    "classification": ("cv",),
    "regression": ("cv",),
}


# Columns of which one varies so many times as much as another should be put on one scale.
UNEVEN = 1000.0


@dataclass(frozen=True)
class Problem:
    """A family with the instances to tune on and those that are held out.

    ``shared_rows`` says that instances are folds of the same rows; ``columns`` are the names of
    their features, where they have any; ``held_out_groups`` has the table of each held-out fold.
    """

    family: Family | Choice
    tuning: list[Any]
    held_out: list[Any]
    shared_rows: bool = False
    columns: tuple[str, ...] = ()
    held_out_groups: tuple[str, ...] = ()


@dataclass(frozen=True)
class Outcome:
    """What a run gave."""

    result: TuningResult | ChoiceResult
    findings: Findings


def hint_of_scales(scenario: Scenario, problem: Problem) -> str:
    """Return what to do where the scales of columns decide for the algorithm, if they do.

    Distances and penalties see little of a column that varies a thousand times less than another.
    """
    if scenario.family_name not in ("linkage", "labeling", "logistic"):
        return ""
    if scenario.data.get("standardize") or scenario.family.get("standardize"):
        return ""
    first = problem.tuning[0]
    features = getattr(first, "X" if scenario.family_name == "logistic" else "points", None)
    if not isinstance(features, np.ndarray) or features.shape[1:] != (len(problem.columns),):
        return ""
    spreads = features.std(axis=0)
    varying = np.flatnonzero(spreads)
    if not varying.size or spreads.max() < UNEVEN * spreads[varying].min():
        return ""
    least = varying[spreads[varying].argmin()]
    ratio = float(f"{spreads.max() / spreads[least]:.1g}")
    return (
        f"column {problem.columns[spreads.argmax()]!r} varies about {ratio:,.0f} times as much as "
        f"{problem.columns[least]!r}: --standardize puts all columns on one scale"
    )


def make_family(scenario: Scenario, instances: Sequence[Any] = ()) -> Family | Choice:
    """Return the family of a scenario, one of certune or ``module:attribute``.

    What it takes from the data needs instances; without them its options are checked.
    """
    name = scenario.family_name
    options = {key: value for key, value in scenario.family.items() if key != "name"}
    if ":" in name:
        if options:
            raise ParameterError(
                f"{name} is a family of your own and has its options in Python, got "
                f"{', '.join(options)}"
            )
        return _imported_family(name)
    if name not in FAMILIES:
        raise ParameterError(
            f"there is no family {name!r}{suggested(name, FAMILIES, 'there are')}; "
            "a family of your own is written module:attribute"
        )
    command = FAMILIES[name]
    for key in options:
        if key not in command.options:
            raise ParameterError(f"{name} has no option {key!r}{suggested(key, command.options)}")
    if name == "linkage" and tunes_height(options) and scenario.data.get("k"):
        raise ParameterError(
            "--k has no meaning where the height of the cut is tuned: it decides how many clusters "
            "there are"
        )
    if name == "linkage" and options.get("weights") == "tune":
        options["n_metrics"] = len(scenario.data.get("distances") or ["euclidean"])
    if name == "regression" and options.get("metric") == "squared-error":
        options.setdefault("max_error", _worst_error(instances))
    return command.make(options)


def _worst_error(instances: Sequence[Any]) -> float:
    """Return a squared error that is as bad as any: twice the largest variance of targets."""
    return max((2.0 * float(np.var(item.y)) for item in instances), default=0.0) or 1.0


def read_problem(scenario: Scenario, quiet: bool = False) -> Problem:
    """Read the data of a scenario and hold instances back.

    Raises
    ------
    InputError
        For data that cannot be used; the message names file, line and column.
    """
    with stage(f"reading {_titled(scenario.data['files'])}", quiet):
        problem = _read_problem(scenario)
    return replace(problem, family=make_family(scenario, problem.tuning))


def _read_problem(scenario: Scenario) -> Problem:
    family = make_family(scenario)
    files = files_of(scenario.data["files"])
    holdout, seed = scenario.split.get("holdout") or 0.0, int(scenario.split.get("seed") or 0)
    if not 0 <= holdout < 1:
        raise ParameterError(f"holdout must be a share from 0 to below 1, got {holdout}")
    reader = _own_reader(scenario)
    if reader is not None or all(path.suffix == ".npz" for path in files):
        read = reader or FAMILIES[scenario.family_name].read_instance
        instances = [_read_by(read, path) for path in files]
        kept, held = _divided(len(instances), holdout, seed)
        return Problem(family, [instances[i] for i in kept], [instances[i] for i in held])
    return _from_tables(scenario, family, files, holdout, seed)


def run_scenario(
    scenario: Scenario,
    problem: Problem,
    *,
    quiet: bool,
    command: str,
    folder: Path | None = None,
) -> Outcome:
    """Tune, evaluate on what was held out, and collect the findings.

    What is finished is kept in the folder, so that the run can be continued.
    """
    from certune.report.collecting import findings_of
    from certune.tuning import tune
    from certune.tuning.choice.result import ChoiceResult
    from certune.tuning.space.cell_map import map_for_report

    history: list[tuple[float, float, float]] = []

    def keep(state: Any) -> None:
        if not history or state.elapsed > history[-1][0] + 0.02 * state.elapsed:
            history.append((state.elapsed, state.best_value, state.upper_bound))

    limits = scenario.run
    with warnings_in_words(quiet):
        result = tune(
            problem.family,
            problem.tuning,
            timeout=limits.get("timeout"),
            gap=float(limits.get("gap") or 0.0),
            n_jobs=int(limits.get("jobs") or 1),
            random_state=int(scenario.split.get("seed") or 0),
            callbacks=[keep],
            progress=False if quiet else None,
            run_dir=folder,
            aggregate=aggregate_of(limits.get("aggregate") or "mean"),
        )
    history.append((result.elapsed, result.best_value, result.upper_bound))
    held_out = None
    if problem.held_out:
        with stage(f"judging on {len(problem.held_out)} held-out instances", quiet):
            held_out = result.evaluate(problem.held_out)
    winner = result.best if isinstance(result, ChoiceResult) else result
    with stage("folds, learning curve and guarantees", quiet):
        findings = findings_of(
            result,
            held_out,
            title=f"{scenario.family_name}: {_titled(scenario.data['files'])}",
            cells=map_for_report(winner.family, winner.instances, result.criterion),
            history=history,
            shared_rows=problem.shared_rows,
            held_out_groups=problem.held_out_groups,
            command=command,
            code=code_of(scenario, problem.family),
            columns=problem.columns,
        )
    return Outcome(result, findings)


def _titled(files: Sequence[str]) -> str:
    # A pattern alone does not say whose files they are.
    names = ["/".join(Path(name).parts[-2 if glob.has_magic(name) else -1 :]) for name in files]
    return ", ".join(names) if len(names) <= 3 else f"{len(names)} files"


def code_of(scenario: Scenario, family: Family | Choice) -> str:
    """Return a few lines of Python that do the same."""
    data = scenario.data
    given = {key: data[key] for key in ("target", "group", "features", "categorical")
             if data.get(key)}  # fmt: skip
    task = task_of(scenario) if ":" not in scenario.family_name or data.get("task") else None
    options = _task_options(scenario, task) if task else {}
    arguments = [repr(list(data["files"]))] + [f"{k}={v!r}" for k, v in given.items()]
    if task:
        arguments += [f"task={task!r}"] + [f"{key}={value!r}" for key, value in options.items()]
    source = f"ct.from_csv({', '.join(arguments)})" if task else "[...]  # your instances"
    made, imported = f"ct.{family!r}", ""
    if ":" in scenario.family_name:
        module, attribute = scenario.family_name.split(":", 1)
        is_made = callable(getattr(_imported_module(module), attribute))
        made, imported = f"{module}.{attribute}{'()' if is_made else ''}", f"import {module}"
    holdout = scenario.split.get("holdout")
    note = f"# without what the command held back, a share of {holdout:g}" if holdout else ""
    lines = (
        "import certune as ct",
        imported,
        note,
        f"instances = {source}",
        f"family = {made}",
        f"result = ct.tune(family, instances{_aggregate_code(scenario)})",
        "print(result)",
    )
    return "\n".join(line for line in lines if line)


def _aggregate_code(scenario: Scenario) -> str:
    aggregate = aggregate_of(scenario.run.get("aggregate") or "mean")
    if isinstance(aggregate, Mean):
        return ""
    name = '"min"' if isinstance(aggregate, Minimum) else f"ct.{aggregate!r}"
    return f", aggregate={name}"


def task_of(scenario: Scenario) -> str:
    """Return the task whose instances the family takes."""
    task = scenario.data.get("task") or TASK_OF_FAMILY.get(scenario.family_name)
    if task is None:
        raise ParameterError(
            f"{scenario.family_name}: say how files become instances, by a function "
            "read_instance(path) in the module, or by --task clustering, labeling, "
            "classification or regression"
        )
    if task not in TASKS:
        raise ParameterError(f"there is no task {task!r}{suggested(task, TASKS)}")
    return str(task)


def _task_options(scenario: Scenario, task: str) -> dict[str, Any]:
    data = scenario.data
    values = {
        "metrics": tuple(data["distances"]) if data.get("distances") else None,
        "standardize": data.get("standardize"),
        "k": data.get("k"),
        "cv": data.get("cv"),
    }
    given = {key: value for key, value in values.items() if value is not None}
    for key in given:
        if key not in TASK_OPTIONS[task]:
            shown = "distances" if key == "metrics" else key
            raise ParameterError(f"{shown} has no meaning for {task}: leave it out")
    return given


def purposes_of(scenario: Scenario, path: Path) -> Purposes:
    """Return what the columns of its tables are for; raise if none has the labels."""
    data = scenario.data
    if not data.get("target"):
        raise ParameterError(
            f"say which column of {path} has the labels: --target NAME (target = in a file)"
        )
    return Purposes(
        data["target"], data.get("group"), data.get("features"), data.get("categorical") or ()
    )


def read_single(scenario: Scenario, path: Path) -> Any:
    """Return one instance of a file of arrays, or of a table.

    For tasks that divide their rows it is the first fold.
    """
    if path.suffix == ".npz":
        return FAMILIES[scenario.family_name].read_instance(path)
    data, task = scenario.data, task_of(scenario)
    purposes = purposes_of(scenario, path)
    tables = [read_csv(path, data.get("encoding"), data.get("delimiter"))]
    samples = samples_of(tables, [path.stem], purposes)
    return instances_of(samples, task, _task_options(scenario, task))[0]


def _from_tables(
    scenario: Scenario, family: Family | Choice, files: Sequence[Path], holdout: float, seed: int
) -> Problem:
    data, task = scenario.data, task_of(scenario)
    purposes = purposes_of(scenario, files[0])
    options = _task_options(scenario, task)
    samples = samples_from_files(files, purposes, data.get("encoding"), data.get("delimiter"))
    columns = samples[0].columns
    if not holdout:
        tuning = instances_of(samples, task, options)
        return Problem(family, tuning, [], task != "clustering", columns)
    if len(samples) > 1:
        kept, held = _divided(len(samples), holdout, seed)
        tuning = instances_of([samples[i] for i in kept], task, options)
        judged = [(samples[i].name, instances_of([samples[i]], task, options)) for i in held]
        is_folds = task != "clustering"
        groups = tuple(name for name, items in judged for _ in items) if is_folds else ()
        judged_instances = [item for _, items in judged for item in items]
        return Problem(family, tuning, judged_instances, is_folds, columns, groups)
    if task == "labeling":
        return _held_out_labels(family, samples[0], options, holdout, seed)
    if task not in ("classification", "regression"):
        raise InputError(
            f"{files[0]} is a single instance, of which none can be held out: pass several files, "
            "name a column of groups with --group, or leave out --holdout"
        )
    return _held_out_rows(family, samples[0], task, options, holdout, seed)


def _held_out_rows(
    family: Family | Choice,
    sample: Sample,
    task: str,
    options: dict[str, Any],
    holdout: float,
    seed: int,
) -> Problem:
    """Hold rows back: one instance is trained on all rows of tuning and judged on the others."""
    from certune.data.folds import KINDS

    sample.check_known()
    is_regression = task == "regression"
    labels = sample.numbers() if is_regression else np.array(sample.labels.tolist())
    kept, held = _split_rows(sample, labels, not is_regression, holdout, seed)
    part = Sample(
        sample.table.take(kept), sample.features[kept], sample.labels[kept], sample.target,
        sample.name,
    )  # fmt: skip
    judged = KINDS[task](
        sample.features[kept], labels[kept], sample.features[held], labels[held],
        name=f"{len(held)} held-out rows",
    )  # fmt: skip
    return Problem(family, instances_of([part], task, options), [judged], True, sample.columns)


def _held_out_labels(
    family: Family | Choice, sample: Sample, options: dict[str, Any], holdout: float, seed: int
) -> Problem:
    """Hide labels: their rows stay in the graph, and only the last instance is judged on them."""
    known = np.flatnonzero(sample.known())
    labels = np.array([str(label) for label in sample.labels[known].tolist()])
    kept, held = _split_rows(sample, labels, True, holdout, seed)
    hidden = sample.labels.copy()
    hidden[known[held]] = None
    tuning = instances_of([replace(sample, labels=hidden)], "labeling", options)
    named = replace(sample, name=f"{len(held)} held-out labels")
    judged = instances_of([named], "labeling", {**options, "cv": [(kept, held)]})
    return Problem(family, tuning, judged, True, sample.columns)


def _split_rows(
    sample: Sample, labels: Any, stratified: bool, holdout: float, seed: int
) -> tuple[Any, Any]:
    """Return which rows are tuned on and which are held back, in order."""
    from sklearn.model_selection import train_test_split

    try:
        kept, held = train_test_split(
            np.arange(len(labels)), test_size=holdout, random_state=seed,
            stratify=labels if stratified else None,
        )  # fmt: skip
    except ValueError as error:
        raise InputError(f"{sample.table.source}: {holdout:g} of the rows cannot be held "
                         f"back: {error}") from None  # fmt: skip
    return np.sort(kept), np.sort(held)


def _divided(count: int, holdout: float, seed: int) -> tuple[list[int], list[int]]:
    """Return which of so many instances are tuned on and which are held out, at random."""
    if not holdout:
        return list(range(count)), []
    n_held = max(1, round(holdout * count))
    if n_held >= count:
        raise InputError(
            f"{count} instance{'s' * (count != 1)} cannot be divided so that {holdout:g} of them "
            "are held out and some are left: pass more, or leave out --holdout"
        )
    held = set(np.random.default_rng(seed).permutation(count)[:n_held].tolist())
    return [i for i in range(count) if i not in held], sorted(held)


def _imported_module(name: str) -> Any:
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ParameterError(
            f"cannot import the module {name!r}: {error}; it must lie in this folder or be "
            "installed"
        ) from None


def _imported_family(name: str) -> Family | Choice:
    from certune.families.base import Family
    from certune.tuning import Choice

    module_name, attribute = name.split(":", 1)
    module = _imported_module(module_name)
    if not hasattr(module, attribute):
        names = [key for key in vars(module) if not key.startswith("_")]
        raise ParameterError(
            f"the module {module_name!r} has no {attribute!r}{suggested(attribute, names)}"
        )
    found = getattr(module, attribute)
    family = found() if callable(found) else found
    if not isinstance(family, (Family, Choice)):
        raise ParameterError(
            f"{name} must be a certune family or choice, or a function that returns one, got "
            f"{family!r}"
        )
    return family


def _own_reader(scenario: Scenario) -> Any:
    """The function read_instance of the module of a family of one's own, unless a task is named."""
    if ":" not in scenario.family_name or scenario.data.get("task"):
        return None
    return getattr(_imported_module(scenario.family_name.split(":", 1)[0]), "read_instance", None)


def _read_by(read: Any, path: Path) -> Any:
    try:
        return read(path)
    except (InputError, ParameterError) as error:
        text = str(error)
        raise InputError(text if str(path) in text else f"{path}: {text}") from error
