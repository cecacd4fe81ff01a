"""How rows of tables become instances: options that ``tune`` and ``online`` share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

LISTS = ("features", "categorical", "distances")
SETTINGS = ("target", *LISTS, "k", "cv", "encoding", "delimiter")

_OPTIONS = [
    click.option(
        "--target",
        help="Column with the true cluster, class or value of every row; for labeling, empty cells "
        "are labels that are not known.",
    ),
    click.option(
        "--features",
        multiple=True,
        metavar="COLUMN",
        help="Columns to use, once for each or with commas; by default all others.",
    ),
    click.option(
        "--categorical",
        multiple=True,
        metavar="COLUMN",
        help="Columns whose numbers are codes of categories.",
    ),
    click.option(
        "--distance",
        "distances",
        multiple=True,
        metavar="NAME",
        help="Distance of points, for linkage and labeling; several make several metrics.",
    ),
    click.option(
        "--cv",
        type=click.IntRange(min=2),
        help="Number of folds of logistic and linear regression and of labeling; 5 by default.",
    ),
    click.option(
        "--k", type=click.IntRange(min=1), help="Number of clusters; by default that of the labels."
    ),
    click.option("--encoding", help="Encoding of the files, if it is not UTF-8 or UTF-16."),
    click.option("--delimiter", help="Character between fields, if it is not recognised."),
]


def settings_of_tables(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say how tables are read to a command."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def table_settings(options: dict[str, Any]) -> dict[str, Any]:
    """Take the options of tables out of all options; those not given are None."""
    given = {key: options.pop(key, None) for key in SETTINGS}
    return {key: _listed(value) if key in LISTS else value for key, value in given.items()}


def _listed(values: tuple[str, ...] | None) -> list[str] | None:
    names = [name.strip() for value in values or () for name in value.split(",") if name.strip()]
    return names or None
