"""``certune tune``: from files to a result, a certificate and a report."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from certune.cli.families import EITHER_OR, FAMILIES, given_settings, settings_of_families
from certune.cli.refusals import WrittenPath, refusing
from certune.cli.scenario import Scenario, read_scenario
from certune.cli.sections import SectionedCommand
from certune.cli.tables import settings_of_tables, table_settings
from certune.errors import InputError, ParameterError
from certune.stages import stage

if TYPE_CHECKING:
    from certune.cli.running import Problem

EPILOG = """\b
Examples:
  certune tune linkage data/*.csv --target label --holdout 0.25 --out run/
  certune tune linkage all.csv --group site --target label --timeout 60
  certune tune logistic train.csv --target y --cv 5 --metric log-loss
  certune tune regression houses.csv --target price --penalty l1
  certune tune labeling points.csv --target label --sigma 0.2 5
  certune tune linkage data/*.csv --target label --aggregate cvar:0.1
  certune tune linkage data/*.csv --target label --cut-height 0.5 20
  certune tune mymodule:family data/
  certune tune run/scenario.toml --out again/
"""


def completed_families(context: Any, parameter: Any, incomplete: str) -> list[str]:
    """Return the names of families, for the completion of shells."""
    return [name for name in FAMILIES if name.startswith(incomplete)]


@click.command(
    cls=SectionedCommand,
    short_help="Find the best setting for your data, with a proof.",
    epilog=EPILOG,
)
@click.argument("family", shell_complete=completed_families)
@click.argument("data", nargs=-1, type=click.Path())
@click.option("--group", help="Column that divides the rows into instances.")
@click.option(
    "--task",
    type=click.Choice(["clustering", "labeling", "classification", "regression"]),
    help="How tables become instances of a family of your own.",
)
@settings_of_tables
@settings_of_families
@click.option(
    "--holdout",
    type=click.FloatRange(0, 1, max_open=True),
    help="Share of the instances (or rows) to hold back and judge the result on.",
)
@click.option("--seed", type=int, help="Seed of what is held back; 0 by default.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    help="Seconds; afterwards the best setting so far, with a bound.",
)
@click.option(
    "--aggregate",
    help="What to maximise over the instances: mean (default), min (the worst), quantile:q (what "
    "all but a share q reach) or cvar:q (mean of the worst share q), such as cvar:0.1.",
)
@click.option("--gap", type=click.FloatRange(min=0), help="Gap at which to stop.")
@click.option("--jobs", "-j", type=int, help="Parallel workers; -1 for all processors.")
@click.option(
    "--out",
    type=WrittenPath(file_okay=False, path_type=Path),
    help="Folder for the report, the certificate, the scenario and the numbers.",
)
@click.option("--overwrite", is_flag=True, help="Replace the run that is in the folder.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
@click.option("--quiet", "-q", is_flag=True, help="No log on stderr.")  # fmt: skip
@refusing
def tune(
    family: str,
    data: tuple[str, ...],
    out: Path | None,
    overwrite: bool,
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Find the best setting of an algorithm for your data, with a proof.

    FAMILY is linkage, labeling, logistic, regression, a family of your own as module:attribute, or
    a scenario file (.toml). DATA are CSV files, folders or patterns, or .npz files of arrays. For
    linkage every file is an instance, or every value of --group; for the others, every fold.
    """
    with stage("loading the families", quiet):
        from certune.cli.run_folder import begin_run
        from certune.cli.running import read_problem

    scenario = scenario_from(family, data, options).settled()
    # What cannot be read is refused before a folder is made.
    problem = read_problem(scenario, quiet)
    if out is not None:
        begin_run(out, scenario, overwrite)
    carry_out(scenario, problem, out, as_json, quiet)


@click.command(
    short_help="Continue a run that was stopped, or reached its time limit.",
    epilog="\b\nExamples:\n  certune resume run/ --timeout 60",
)
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), help="Seconds from now on.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
@click.option("--quiet", "-q", is_flag=True, help="No log on stderr.")
@refusing
def resume(run: Path, timeout: float | None, as_json: bool, quiet: bool) -> None:
    """Continue a run that was stopped or killed, or that reached its time limit.

    Functions that are finished are taken from the run directory.
    """
    with stage("loading the families", quiet):
        from certune.cli.run_folder import SCENARIO
        from certune.cli.running import read_problem

    if not (run / SCENARIO).is_file():
        raise InputError(
            f"{run} has no {SCENARIO}: there is nothing to continue; make a run with certune tune "
            f"... --out {run}"
        )
    stored = read_scenario(run / SCENARIO)
    limits = {key: value for key, value in stored.run.items() if key != "timeout"}
    given = {} if timeout is None else {"timeout": timeout}
    scenario = Scenario(stored.family, stored.data, stored.split, {**limits, **given})
    carry_out(scenario, read_problem(scenario, quiet), run, as_json, quiet)


def carry_out(
    scenario: Scenario, problem: Problem, out: Path | None, as_json: bool, quiet: bool
) -> None:
    """Tune, write the files of the run, and print what was found."""
    from certune.cli.run_folder import summary_of, write_run
    from certune.cli.running import hint_of_scales, run_scenario

    hint = hint_of_scales(scenario, problem)
    if hint and not quiet:
        click.echo(f"hint: {hint}", err=True)
    command = shlex.join(["certune", *sys.argv[1:]])
    try:
        outcome = run_scenario(scenario, problem, quiet=quiet, command=command, folder=out)
    except KeyboardInterrupt:
        if out is not None:
            resumed = f"certune resume {shlex.quote(str(out))}"
            click.echo(f"what is finished is kept, to go on: {resumed}", err=True)
        raise
    written = [] if out is None else write_run(out, scenario, outcome.result, outcome.findings)
    if as_json:
        summary = summary_of(outcome.findings)
        click.echo(json.dumps({**summary, "files": [str(path) for path in written]}))
        return
    from rich.console import Console

    from certune.report.text import print_findings

    print_findings(Console(emoji=False), outcome.findings)
    if out is not None:
        click.echo(f"\nwritten to {out}: {', '.join(path.name for path in written)}")
        click.echo(f"look at it with: certune open {shlex.quote(str(out))}")


def scenario_from(family: str, data: tuple[str, ...], options: dict[str, Any]) -> Scenario:
    """Return the scenario that a command line means; options go before what a file says."""
    settings = given_settings(options)
    standardize = settings.get("standardize")
    if standardize and family not in ("logistic",):
        # Distances are computed from the data; logistic regression scales by its own training rows.
        del settings["standardize"]
        options["standardize"] = True
    given = {
        "data": {
            **table_settings(options),
            **{key: options.get(key) for key in ("group", "standardize", "task")},
        },
        "split": {key: options.get(key) for key in ("holdout", "seed")},
        "run": {key: options.get(key) for key in ("timeout", "gap", "jobs", "aggregate")},
    }  # fmt: skip
    sections = {
        name: {key: value for key, value in values.items() if value is not None}
        for name, values in given.items()
    }
    if family.endswith(".toml"):
        return _over_file(read_scenario(Path(family)), data, settings, sections)
    if not data:
        raise ParameterError(
            f"say which files to tune on: certune tune {family} data/*.csv --target NAME"
        )
    ranges = {
        key: list(value) if isinstance(value, tuple) else value for key, value in settings.items()
    }
    return Scenario(
        {"name": family, **ranges},
        {"files": list(data), **sections["data"]},
        sections["split"],
        sections["run"],
    )


def _over_file(
    stored: Scenario,
    data: tuple[str, ...],
    settings: dict[str, Any],
    sections: dict[str, dict[str, Any]],
) -> Scenario:
    files = {"files": list(data)} if data else {}
    left_out: set[str] = set()
    for one, other in EITHER_OR:
        for given, replaced in ((one, other), (other, one)):
            if any(key in settings for key in given):
                left_out.update(replaced)
    family = {key: value for key, value in stored.family.items() if key not in left_out}
    return Scenario(
        {**family, **settings},
        {**stored.data, **files, **sections["data"]},
        {**stored.split, **sections["split"]},
        {**stored.run, **sections["run"]},
    )
