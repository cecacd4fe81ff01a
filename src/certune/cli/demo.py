"""``certune demo``: the demonstration, as a command."""

from __future__ import annotations

from pathlib import Path

import click

from certune.cli.refusals import refusing


@click.command(epilog="\b\nExamples:\n  certune demo --output demo/")
@click.option(
    "--instances",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    help="Number of instances to tune on, and of held-out ones.",
)
@click.option("--output", type=click.Path(file_okay=False, path_type=Path),
              default=Path("certune-demo"), show_default=True,
              help="Folder for report, picture and certificate.")  # fmt: skip
@refusing
def demo(instances: int, output: Path) -> None:
    """Tune a linkage on handwritten digits, and write its report."""
    from certune.demo import main

    main(["--instances", str(instances), "--output", str(output)])
