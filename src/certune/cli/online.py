"""``certune online``: a learner over a folder or a stream of instances, stopped and continued.

An instance is a file of arrays (``.npz``, without pickled objects).  The state of the run is a file
to which each finished round is appended; running the same command again continues it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from certune.errors import CertuneError, InputError

if TYPE_CHECKING:
    from certune.families.linkage import ClusteringInstance
    from certune.online import OnlineTuner, Round

ARRAYS = ("points", "distances", "target", "k")


@click.command()
@click.argument("source")
@click.option("--state", type=click.Path(dir_okay=False, path_type=Path), required=True,
              help="File that keeps the run; an existing one is continued.")  # fmt: skip
@click.option("--kind", type=click.Choice(["power-mean", "min-max"]), default="power-mean",
              show_default=True, help="Which linkages.")  # fmt: skip
@click.option("--alpha", type=float, nargs=2, default=(-10.0, 10.0), show_default=True,
              help="Range of the exponent.")  # fmt: skip
@click.option("--learner", default="exponential-weights", show_default=True,
              help="exponential-weights, semi-bandit, fixed-share or random-grid.")  # fmt: skip
@click.option("--horizon", type=int, help="Number of rounds, if known.")
@click.option("--schedule", help="Step sizes: horizon, doubling or anytime.")
@click.option("--shifts", type=int, help="Expected moves of the best parameter (fixed-share).")
@click.option("--seed", type=int, help="Seed of a new run; a continued one keeps its own.")
@click.option("--rounds", type=click.IntRange(min=1), help="Stop after so many rounds in all.")
@click.option("--plot", type=click.Path(file_okay=False, path_type=Path),
              help="Folder for pictures of the regret and of the density.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line, and a last one.")
def online(
    source: str,
    state: Path,
    kind: str,
    alpha: tuple[float, float],
    rounds: int | None,
    plot: Path | None,
    as_json: bool,
    seed: int | None,
    **options: Any,
) -> None:
    """Tune linkage while instances arrive, with vanishing regret.

    SOURCE is a folder of .npz files, taken in the order of their names, or - for a stream: one path
    a line on stdin. A file holds the arrays points (or distances), target and, if it is not the
    number of targets, k. Ctrl-C stops at once, and at most the round under way is lost; the same
    command continues with the files that were not used yet (a stream goes on where the caller
    does).
    """
    from certune.families.linkage import Linkage
    from certune.online import OnlineTuner

    try:
        family = Linkage(kind, alpha=alpha)
        with OnlineTuner(family, random_state=seed, state=state, **options) as tuner:
            if tuner.n_rounds:
                click.echo(f"continuing after round {tuner.n_rounds}", err=True)
            interrupted = _run(tuner, _paths(source, tuner), rounds, as_json)
            _report(tuner, as_json)
            if plot is not None and tuner.n_rounds:
                plot.mkdir(parents=True, exist_ok=True)
                tuner.plot_regret(plot / "regret.png")
                tuner.plot_density(plot / "density.png")
    except CertuneError as error:
        raise click.ClickException(str(error)) from None
    if interrupted:
        sys.exit(130)


def _run(tuner: OnlineTuner, paths: Iterator[Path], limit: int | None, as_json: bool) -> bool:
    """Play rounds until the paths end or the limit is reached; return whether Ctrl-C came."""
    try:
        while limit is None or tuner.n_rounds < limit:
            path = next(paths, None)
            if path is None:
                return False
            finished = tuner.update(read_instance(path))
            if as_json:
                click.echo(json.dumps(_row(finished, path)))
            else:
                click.echo(f"round {finished.number}: {path.name} {finished.utility:.4g}", err=True)
    except KeyboardInterrupt:
        click.echo(f"stopped after round {tuner.n_rounds}; run the same command again", err=True)
        return True
    return False


def _paths(source: str, tuner: OnlineTuner) -> Iterator[Path]:
    if source == "-":
        yield from (Path(line.strip()) for line in sys.stdin if line.strip())
        return
    folder = Path(source)
    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder; pass one with .npz files, or - for a stream")
    paths = sorted(folder.glob("*.npz"))
    if len(paths) < tuner.n_rounds:
        raise InputError(
            f"{folder} has {len(paths)} instances, fewer than the {tuner.n_rounds} rounds of the "
            "state; use the folder that the state was made with"
        )
    if tuner.n_rounds:
        path = paths[tuner.n_rounds - 1]
        if read_instance(path).fingerprint != tuner.instances[-1]:
            raise InputError(
                f"{path} is not the instance of round {tuner.n_rounds} of the state; new files "
                "must come after the old ones in the order of names"
            )
    yield from paths[tuner.n_rounds :]


def read_instance(path: Path) -> ClusteringInstance:
    """Return the clustering instance of a file of arrays.

    Parameters
    ----------
    path : Path
        An ``.npz`` file with the arrays points or distances, target and optionally k.
    """
    from certune.families.linkage import ClusteringInstance

    try:
        with np.load(path, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
    except (OSError, ValueError, EOFError) as error:
        raise InputError(f"{path} is not a readable .npz file of arrays: {error}") from None
    unknown = sorted(set(arrays) - set(ARRAYS))
    if unknown or "target" not in arrays:
        raise InputError(f"{path} must hold arrays among {ARRAYS} with target, got {list(arrays)}")
    if "k" in arrays:
        arrays["k"] = arrays["k"].item()
    try:
        return ClusteringInstance(**arrays, name=path.stem)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def _row(finished: Round, path: Path) -> dict[str, Any]:
    return {
        "round": finished.number,
        "instance": path.name,
        "params": finished.params,
        "utility": finished.utility,
    }


def _report(tuner: OnlineTuner, as_json: bool) -> None:
    if tuner.n_rounds == 0:
        click.echo("no round was played: there is no instance", err=True)
        return
    regret = tuner.regret()
    following = tuner.propose()
    if as_json:
        summary = {
            "rounds": regret.n_rounds,
            "regret": regret.value,
            "average_regret": regret.average,
            "bound": regret.bound,
            "next_params": following,
        }
        click.echo(json.dumps(summary))
    else:
        click.echo(str(regret))
        shown = ", ".join(f"{name} = {value:.6g}" for name, value in following.items())
        click.echo(f"for the next instance: {shown}")
