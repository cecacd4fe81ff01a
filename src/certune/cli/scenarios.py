"""``certune init`` and ``certune check``: write a scenario for the data at hand, and check one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from certune.cli.families import FAMILIES
from certune.cli.refusals import refusing
from certune.cli.scenario import Scenario, read_scenario
from certune.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from certune.data.table import Table

TARGET_NAMES = ("target", "label", "labels", "class", "y", "truth", "species", "diagnosis")
MOST_CLASSES = 30
# So many columns are listed in a comment.
MOST_COLUMNS = 12
FOLDS = 5


@dataclass(frozen=True)
class Found:
    """What one file has: its rows, how many of each class, and into how many groups they fall."""

    path: Path
    n_rows: int
    classes: Counter[str]
    n_groups: int


@click.command(
    short_help="Write a scenario file for your data.",
    epilog="\b\nExamples:\n  certune init data/ --family linkage\n"
    "  certune init train.csv --family logistic --target y --to logistic.toml",
)
@click.argument("data", nargs=-1, required=True, type=click.Path())
@click.option("--family", type=click.Choice(list(FAMILIES)), default="linkage", show_default=True)
@click.option(
    "--target", help="Column with the labels or values; by default the one that looks like it."
)
@click.option("--group", help="Column that divides the rows into instances.")
@click.option(
    "--to",
    "target_file",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("scenario.toml"),
    show_default=True,
    help="File to write.",
)
@click.option("--overwrite", is_flag=True, help="Replace the file.")  # fmt: skip
@refusing
def init(
    data: tuple[str, ...],
    family: str,
    target: str | None,
    group: str | None,
    target_file: Path,
    overwrite: bool,
) -> None:
    """Write a scenario file for your data, with comments on what was found in them."""
    from certune.data.doors import files_of
    from certune.files import write_whole

    if target_file.exists() and not overwrite:
        raise InputError(f"{target_file} exists: name another file with --to, or --overwrite")
    files = files_of(data)
    names, target, found = _looked_at(files, family, target, group)
    folds, note = _folds(family, found)
    scenario = Scenario(
        {"name": family, **_settings(family)},
        {
            "files": [str(item) for item in data],
            **({"group": group} if group else {}),
            "target": target,
            **folds,
        },
        {"holdout": 0.25, "seed": 0} if sum(item.n_groups for item in found) > 3 else {},
        {"timeout": 60},
    )
    columns = ", ".join(names[:MOST_COLUMNS])
    if len(names) > MOST_COLUMNS:
        columns += f" and {len(names) - MOST_COLUMNS} more"
    comments = {
        "family.objective": "if the number of clusters is not known: cut_height = [low, high], or "
        "relative = true, instead of kind, alpha and objective",
        "data.files": f"{len(files)} file{'s' * (len(files) != 1)} with "
        f"{_span([item.n_rows for item in found])} rows"
        + '; group = "a column" makes an instance of each of its values'
        * (family == "linkage" and len(files) == 1 and group is None),
        "data.group": f"{_span([item.n_groups for item in found])} instances",
        "data.target": f"columns: {columns}"
        + (f"; {_span([len(item.classes) for item in found])} classes" * (family != "regression")),
        "data.cv": note,
        "split.holdout": "share of the instances to judge the result on",
        "run.timeout": "seconds",
    }
    write_whole(target_file, scenario.to_toml(target_file.parent, comments).encode())
    click.echo(f"written: {target_file}\nnext: certune check {target_file}")


@click.command(
    short_help="Check a scenario file, and say how long a run takes.",
    epilog="\b\nExamples:\n  certune check scenario.toml",
)
@click.argument("scenario", type=click.Path(path_type=Path))
@refusing
def check(scenario: Path) -> None:
    """Check a scenario file: its keys and values, that its data can be read, and what a run costs.

    Without an earlier run on this machine to go by, it tries a few instances for about two seconds.
    """
    from certune.cli.running import read_problem
    from certune.tuning import Choice, estimate_cost

    stored = read_scenario(scenario)
    problem = read_problem(stored)
    click.echo(f"{scenario} is right: {problem.family!r}")
    n = len(problem.tuning)
    click.echo(f"{n} instance{'s' * (n != 1)} to tune on, {len(problem.held_out)} held out")
    click.echo(f"first: {problem.tuning[0]!r}")
    jobs = int(stored.run.get("jobs") or 1)
    if isinstance(problem.family, Choice):
        for name, family in problem.family.alternatives.items():
            cost = estimate_cost(family, problem.tuning, n_jobs=jobs)
            click.echo(f"{name}, if all of it is needed, takes: {cost}")
        return
    click.echo(f"a run takes: {estimate_cost(problem.family, problem.tuning, n_jobs=jobs)}")


def likely_target(table: Table, family: str) -> str:
    """Return the column that is most likely the target: first by its name, then from the last on.

    It has numbers for a regression, and for the others classes.
    """
    by_name = {name.strip().lower(): name for name in table.columns}
    named = [by_name[name] for name in TARGET_NAMES if name in by_name]
    names = [*named, *reversed(list(table.columns))]
    fits = _has_numbers if family == "regression" else _has_classes
    return next((name for name in names if fits(table.column(name))), names[0])


def _has_numbers(cells: NDArray[Any]) -> bool:
    from certune.data.table import as_numbers

    return bool(as_numbers(cells)[1].all())


def _has_classes(cells: NDArray[Any]) -> bool:
    """Tell whether cells, of which some may be empty, repeat a few words or whole numbers."""
    from certune.data.table import as_numbers

    numbers, numeric = as_numbers(cells)
    if (numbers[numeric] % 1 != 0).any():
        return False
    return 2 <= len(set(map(str, cells.tolist()))) <= MOST_CLASSES


def _settings(family: str) -> dict[str, object]:
    scaled = {"standardize": True} if family == "logistic" else {}
    return {**FAMILIES[family].defaults({}), **scaled}


def _looked_at(
    files: Sequence[Path], family: str, named: str | None, group: str | None
) -> tuple[list[str], str, list[Found]]:
    """Return the columns of the first file, the target, and what every file has of it."""
    from certune.data.csv_file import read_csv
    from certune.data.table import labels_of

    names: list[str] = []
    target, found = "", list[Found]()
    # One file after the other, so that no more than one is in memory.
    for path in files:
        table = read_csv(path)
        if not found:
            names, target = list(table.columns), named or likely_target(table, family)
        (labels,) = labels_of([table], target)
        known = Counter(str(label) for label in labels.tolist() if label is not None)
        n_groups = 1 if group is None else len(set(map(str, table.column(group).tolist())))
        found.append(Found(path, table.n_rows, known, n_groups))
    return names, target, found


def _span(numbers: Sequence[int]) -> str:
    low, high = min(numbers), max(numbers)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _folds(family: str, found: Sequence[Found]) -> tuple[dict[str, int], str]:
    """Return the number of folds that every file can be divided into, and why it is not usual.

    A class must have a row whose label is known in every fold.
    """
    if family == "linkage":
        return {}, ""
    if family == "regression":
        least = min(found, key=lambda item: item.n_rows)
        if least.n_rows >= FOLDS:
            return {"cv": FOLDS}, ""
        return {"cv": max(2, least.n_rows)}, f"{least.path.name} has no more rows"
    rarest = [
        (count, item.path.name, name) for item in found for name, count in item.classes.items()
    ]
    count, place, name = min(rarest, default=(FOLDS, "", ""))
    if count >= FOLDS:
        return {"cv": FOLDS}, ""
    where = f" of {place}" if len(found) > 1 else ""
    if count < 2:
        return {"cv": 2}, (
            f"class {name!r}{where} has 1 row, and folds need 2: label more rows, or leave it out"
        )
    return {"cv": count}, f"the rarest class, {name!r}{where}, has no more rows"
