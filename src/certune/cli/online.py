"""``certune online``: a learner over a folder or a stream of instances, stopped and continued.

An instance is a table (CSV) or a file of arrays (``.npz``, without pickled objects).  The state of
the run is a file to which each finished round is appended; running the same command again continues
it.
"""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from certune.cli.families import chosen_family, family_options
from certune.cli.refusals import WrittenPath, in_options
from certune.cli.sections import SectionedCommand
from certune.cli.tables import settings_of_tables, table_settings
from certune.errors import CertuneError, InputError
from certune.stages import stage

if TYPE_CHECKING:
    from certune.families.base import Family
    from certune.online import OnlineTuner, Round

Reader = Callable[[Path], Any]


EPILOG = """\b
Examples:
  certune online data/ --target label --state run.state --report run.html
  certune online instances/ --state arrays.state --learner semi-bandit
  certune report run.state
"""


@click.command(cls=SectionedCommand, short_help="Tune while instances arrive.", epilog=EPILOG)
@click.argument("source")
@click.option("--state", type=WrittenPath(dir_okay=False, path_type=Path), required=True,
              help="File that keeps the run; an existing one is continued.")  # fmt: skip
@settings_of_tables
@family_options
@click.option("--learner", help="exponential-weights, semi-bandit, fixed-share or random-grid; by "
              "default random-grid for the log-loss and exponential-weights else.")  # fmt: skip
@click.option("--horizon", type=int, help="Number of rounds, if known.")
@click.option("--schedule", help="Step sizes: horizon, doubling, anytime or adaptive.")
@click.option("--shifts", type=int, help="Expected moves of the best parameter (fixed-share).")
@click.option(
    "--seed",
    type=int,
    help="Seed of a new run. A continued one keeps its own, and another one is refused.",
)
@click.option("--rounds", type=click.IntRange(min=1), help="Stop after so many rounds in all.")
@click.option("--plot", type=WrittenPath(file_okay=False, path_type=Path),
              help="Folder for pictures of the regret and of the density.")  # fmt: skip
@click.option("--report", "page", type=WrittenPath(dir_okay=False, path_type=Path),
              help="Page to write at the end: regret, what was played, dispersion.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line, and a last one.")
def online(
    source: str,
    state: Path,
    family_name: str,
    learner: str | None,
    rounds: int | None,
    plot: Path | None,
    page: Path | None,
    as_json: bool,
    seed: int | None,
    **options: Any,
) -> None:
    """Tune an algorithm while instances arrive, with vanishing regret.

    SOURCE is a folder of files, taken in the order of their names, or - for a stream: one path a
    line on stdin. Each file is a round: a CSV file, whose column --target has the labels (families
    other than linkage learn from its rows but the first of --cv folds, and are judged on that), or
    an .npz file of arrays. That holds, for linkage, points (or distances), target and, if it is not
    the number of targets, k; for labeling, points (or distances), labeled and truth; for logistic
    and linear regression, X, y, X_val and y_val. Ctrl-C stops at once, and at most the round under
    way is lost; the same command continues with the files that were not used yet (a stream goes on
    where the caller does).
    """
    from certune.cli.running import read_single
    from certune.cli.scenario import Scenario
    from certune.online import OnlineTuner

    try:
        tables = table_settings(options)
        if family_name != "logistic":
            # Distances are computed from the data; logistic regression scales by its own rows.
            tables["standardize"] = options.pop("standardize", None)
        family = chosen_family(family_name, options)
        read = partial(read_single, Scenario({"name": family_name}, tables))
        learner = learner or _default_learner(family)
        with stage(f"reading {state.name}"):
            opened = OnlineTuner(family, random_state=seed, learner=learner, state=state, **options)
        with opened as tuner:
            if tuner.n_rounds:
                click.echo(f"continuing after round {tuner.n_rounds}", err=True)
            paths = _paths(source, tuner, read)
            interrupted = _run(tuner, paths, read, rounds, as_json)
            if tuner.n_rounds or not interrupted:
                _report(tuner, as_json)
            if plot is not None and tuner.n_rounds:
                _make_folder(plot)
                with stage("drawing pictures"):
                    tuner.plot_regret(plot / "regret.png")
                    tuner.plot_density(plot / "density.png")
            if page is not None and tuner.n_rounds:
                command_line = shlex.join(["certune", *sys.argv[1:]])
                with stage("writing the report"):
                    tuner.report(page, title=_title(family_name, source), command=command_line)
                click.echo(f"written: {page}", err=as_json)
    except CertuneError as error:
        raise click.ClickException(in_options(str(error))) from None
    if interrupted:
        sys.exit(130)


def _title(family_name: str, source: str) -> str:
    return f"{family_name}, online" if source == "-" else f"{family_name}, online: {source}"


def _make_folder(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot make the folder {path}: {error.strerror}") from None


def _default_learner(family: Family) -> str:
    # A utility that is only known up to a tolerance is smooth.
    return "random-grid" if family.tolerance > 0 else "exponential-weights"


def _run(
    tuner: OnlineTuner, paths: Iterator[Path], read: Reader, limit: int | None, as_json: bool
) -> bool:
    """Play rounds until the paths end or the limit is reached; return whether Ctrl-C came."""
    try:
        while limit is None or tuner.n_rounds < limit:
            path = next(paths, None)
            if path is None:
                return False
            with stage(f"round {tuner.n_rounds + 1}: {path.name}"):
                finished = tuner.update(read(path))
            if as_json:
                click.echo(json.dumps(_row(finished, path)))
            else:
                click.echo(f"round {finished.number}: {path.name} {finished.utility:.4g}", err=True)
    except KeyboardInterrupt:
        click.echo(f"stopped after round {tuner.n_rounds}; run the same command again", err=True)
        return True
    return False


def _paths(source: str, tuner: OnlineTuner, read: Reader) -> Iterator[Path]:
    if source == "-":
        yield from (Path(line.strip()) for line in sys.stdin if line.strip())
        return
    from certune.data.doors import SUFFIXES, files_with

    folder = Path(source)
    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder; pass one with files, or - for a stream")
    paths = files_with((*SUFFIXES, ".npz"), folder)
    if not paths and not tuner.n_rounds:
        found = sorted(path.name for path in folder.iterdir())
        there = f"it has {', '.join(found[:5])}" if found else "it is empty"
        raise InputError(
            f"the folder {folder} has no CSV or .npz file ({there}); write arrays with numpy.savez"
        )
    kinds = sorted({path.suffix.lower() == ".npz" for path in paths})
    if len(kinds) > 1:
        raise InputError(
            f"the folder {folder} has tables and .npz files, {paths[0].name} among them: keep one "
            "kind in it"
        )
    if len(paths) < tuner.n_rounds:
        raise InputError(
            f"{folder} has {len(paths)} instances, fewer than the {tuner.n_rounds} rounds of the "
            "state; use the folder that the state was made with"
        )
    if tuner.n_rounds:
        path = paths[tuner.n_rounds - 1]
        if tuner.family.instance_fingerprint(read(path)) != tuner.instances[-1]:
            raise InputError(
                f"{path} is not the instance of round {tuner.n_rounds} of the state; new files "
                "must come after the old ones in the order of names"
            )
    yield from paths[tuner.n_rounds :]


def _row(finished: Round, path: Path) -> dict[str, Any]:
    return {
        "round": finished.number,
        "instance": path.name,
        "params": finished.params,
        "utility": finished.utility,
    }


def _report(tuner: OnlineTuner, as_json: bool) -> None:
    if tuner.n_rounds == 0:
        raise InputError("no round was played: no path to an instance came on stdin")
    regret = tuner.regret()
    following = tuner.propose()
    if as_json:
        summary = {
            "rounds": regret.n_rounds,
            "regret": regret.value,
            "average_regret": regret.average,
            "uncertainty": regret.uncertainty,
            "bound": regret.bound,
            "next_params": following,
        }
        click.echo(json.dumps(summary))
    else:
        click.echo(str(regret))
        shown = ", ".join(f"{name} = {value:.6g}" for name, value in following.items())
        click.echo(f"for the next instance: {shown}")
