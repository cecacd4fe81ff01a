"""A demonstration: ``python -m certune.demo``.

It tunes a linkage over clusterings of handwritten digits, compares the optimum with single, average
and complete linkage on these and on held-out instances, has the certificate checked, and writes a
picture, the certificate and a small report.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from certune import datasets
from certune.families.linkage import Linkage
from certune.report import Table, write_page
from certune.tuning import Certificate, Evaluation, TuningResult, tune, verify

CAPTION = (
    "Exact mean utility as a function of alpha, with the optimal set and the default linkages; "
    "below, one row for each instance."
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the demonstration.

    Parameters
    ----------
    arguments : sequence of str, optional
        Command-line arguments; by default those of the process.
    """
    options = _parsed(arguments)
    folder: Path = options.output
    folder.mkdir(parents=True, exist_ok=True)
    drawn = datasets.digits_clustering(n_instances=2 * options.instances, random_state=0)
    tuning, held_out = drawn[: options.instances], drawn[options.instances :]
    family = Linkage("power-mean", alpha=(-10.0, 10.0))

    result = tune(family, tuning, progress=True)
    table = comparison(result, result.evaluate(held_out))
    print(f"\n{table}\n")

    result.certificate.save(folder / "certificate.json")
    stored = Certificate.load(folder / "certificate.json")
    report = str(verify(stored, family, tuning))
    print(f"{report}\n")

    figure = result.plot_landscape(folder / "landscape.png")
    title = "Exact tuning of a linkage on handwritten digits"
    write_page(folder / "report.html", title, [str(result), report], figure, CAPTION, [table])
    for name in ("report.html", "landscape.png", "certificate.json"):
        print(f"written: {folder / name}")


def comparison(result: TuningResult, held_out: Evaluation) -> Table:
    """Return the table of the optimum against the defaults.

    Parameters
    ----------
    result : TuningResult
        The tuned family.
    held_out : Evaluation
        Its best setting on instances that were not used for tuning.
    """
    rows = [
        ("tuned (proved optimal)" if not result.gap else "tuned", result.best_value, held_out.value)
    ]
    rows += [(name, result.baselines[name], held_out.baselines[name]) for name in result.baselines]
    return Table(
        title="Mean utility (share of points in the right cluster)",
        columns=(
            "linkage",
            f"{len(result.instance_names)} tuning instances",
            f"{held_out.n_instances} held-out instances",
        ),
        rows=[(name, f"{train:.4f}", f"{test:.4f}") for name, train, test in rows],
    )


def _parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m certune.demo", description=__doc__)
    parser.add_argument(
        "--instances", type=_positive, default=20, metavar="N",
        help="number of instances to tune on, and of held-out ones (default: 20)",
    )  # fmt: skip
    parser.add_argument(
        "--output", type=Path, default=Path("certune-demo"), metavar="DIR",
        help="folder for the report, the picture and the certificate (default: certune-demo)",
    )  # fmt: skip
    return parser.parse_args(arguments)


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, got {number}")
    return number


if __name__ == "__main__":
    main()
