"""A demonstration: ``certune demo``, or ``python -m certune.demo``.

It tunes an energy linkage over clusterings of handwritten digits, compares the optimum with Ward's
method and other defaults on these and on held-out instances, has the certificate checked, and
writes the report, a picture and the certificate.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from certune import datasets
from certune.families.linkage import Linkage
from certune.report import findings_of, print_findings, write_report
from certune.tuning import Certificate, tune, verify

CODE = """\
import certune as ct

instances = ct.datasets.digits_clustering(n_instances={count}, random_state=0)
family = ct.Linkage("energy", alpha=(0.1, 4), objective="cut")
result = ct.tune(family, instances[:{tuning}])
print(result)"""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the demonstration.

    Parameters
    ----------
    arguments : sequence of str, optional
        Command-line arguments; by default those of the process.
    """
    from rich.console import Console

    options = _parsed(arguments)
    folder: Path = options.output
    folder.mkdir(parents=True, exist_ok=True)
    drawn = datasets.digits_clustering(n_instances=2 * options.instances, random_state=0)
    tuning, held_out = drawn[: options.instances], drawn[options.instances :]
    family = Linkage("energy", alpha=(0.1, 4.0), objective="cut")
    history: list[tuple[float, float, float]] = []

    result = tune(
        family,
        tuning,
        progress=True,
        callbacks=[lambda state: history.append(
            (state.elapsed, state.best_value, state.upper_bound)
        )],
    )  # fmt: skip
    findings = findings_of(
        result,
        result.evaluate(held_out),
        title="Exact tuning of a linkage on handwritten digits",
        history=history,
        command=f"certune demo --instances {options.instances}",
        code=CODE.format(count=2 * options.instances, tuning=options.instances),
    )
    print()
    print_findings(Console(emoji=False), findings)

    result.certificate.save(folder / "certificate.json")
    stored = Certificate.load(folder / "certificate.json")
    print(f"\n{verify(stored, family, tuning)}\n")

    result.plot_landscape(folder / "landscape.png")
    write_report(folder / "report.html", findings)
    for name in ("report.html", "landscape.png", "certificate.json"):
        print(f"written: {folder / name}")


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
