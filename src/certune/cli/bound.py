"""``certune bound``: pseudo-dimension and number of instances, as a table or as JSON.

Each subcommand turns sizes into a structure that is proved for every instance of those sizes; what
is printed is what `certune.pdim_bound` and `certune.sample_size` say about it.
"""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec

import click

from certune.errors import CertuneError

if TYPE_CHECKING:
    from certune.pfaffian.structure import (
        GJStructure,
        HomogeneousStructure,
        PiecewiseStructure,
        Structure,
    )

P = ParamSpec("P")
POSITIVE = click.IntRange(min=1)
COUNT = click.IntRange(min=0)


def reports(build: Callable[P, Structure]) -> Callable[..., None]:
    """Turn a function that builds a structure into a command that reports its bounds."""

    @click.option("--epsilon", type=float, default=0.1, show_default=True, help="Accuracy.")
    @click.option(
        "--delta", type=float, default=0.05, show_default=True, help="Probability of failure."
    )
    @click.option(
        "--range", "utility_range", type=float, default=1.0, show_default=True,
        help="Length of the interval that contains all utilities.",
    )  # fmt: skip
    @click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
    @wraps(build)
    def command(*args: Any, **options: Any) -> None:
        targets = {name: options.pop(name) for name in ("epsilon", "delta", "utility_range")}
        as_json = options.pop("as_json")
        try:
            report = report_on(build(*args, **options), **targets)
        except CertuneError as error:
            raise click.ClickException(str(error)) from None
        click.echo(json.dumps(report, indent=2) if as_json else table_of(report), nl=as_json)

    return command


def report_on(
    structure: Structure, epsilon: float, delta: float, utility_range: float
) -> dict[str, Any]:
    """Return the bounds for a structure as plain data.

    Parameters
    ----------
    structure : PiecewiseStructure, GJStructure or HomogeneousStructure
        Proved counts.
    epsilon, delta, utility_range : float
        As in `certune.sample_size`.
    """
    from certune.pfaffian.bounds import pdim_bound, sample_size

    dimension = pdim_bound(structure)
    size = sample_size(structure, epsilon, delta, utility_range)
    return {
        "structure": structure.name or type(structure).__name__,
        "counts_from": structure.source,
        "assumptions": list(structure.assumptions),
        "epsilon": epsilon,
        "delta": delta,
        "utility_range": utility_range,
        "pseudo_dimension": dimension.dimension,
        "n_instances": size.n_instances,
        "pdim_bounds": _rows(dimension),
        "sample_sizes": _rows(size),
    }


def _rows(record: Any) -> list[dict[str, Any]]:
    rows = [record.to_dict(), *(other.to_dict() for other in record.others)]
    return [{name: value for name, value in row.items() if name != "others"} for row in rows]


def table_of(report: dict[str, Any]) -> str:
    """Return a report as text: one table of dimensions, one of instance counts."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    dimensions = Table(title="pseudo-dimension at most", title_justify="left")
    sizes = Table(
        title=f"instances for epsilon = {report['epsilon']:g}, delta = {report['delta']:g}, "
        f"utilities in an interval of length {report['utility_range']:g}",
        title_justify="left",
    )
    for table, rows, number in (
        (dimensions, report["pdim_bounds"], "dimension"),
        (sizes, report["sample_sizes"], "n_instances"),
    ):
        table.add_column("bound", justify="right", no_wrap=True)
        table.add_column("from", no_wrap=True)
        table.add_column("result")
        table.add_column("remark")
        for row in rows:
            cells = row["provenance"], row["label"], row["note"]
            table.add_row(_readable(row[number]), *map(escape, cells))
    console = Console(width=100, highlight=False)
    with console.capture() as captured:
        console.print(f"{report['structure']}; counts: {report['counts_from']}", markup=False)
        for assumption in report["assumptions"]:
            console.print(f"  assuming: {assumption}", markup=False)
        console.print(dimensions)
        console.print(sizes)
    return captured.get()


def _readable(number: int) -> str:
    if number < 10**9:
        return f"{number:,}"
    digits = str(number)
    return f"{digits[0]}.{digits[1:4]}e{len(digits) - 1}"


class _Bounds(click.Group):
    """The commands, and ``module:family`` for a program of one's own."""

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        known = super().get_command(context, name)
        return _of_program(name) if known is None and ":" in name else known


@click.group(cls=_Bounds, short_help="How many instances tuning needs, in the worst case.")
def bound() -> None:
    """Worst-case bounds: how complex is a family, how many instances does tuning need?

    MODULE:FAMILY in place of a command is a ProgramFamily of your own:
    certune bound mymodule:family --size 50
    """


def _of_program(target: str) -> click.Command:
    @click.command(target, help=f"The program family {target}.")
    @click.option("--size", type=POSITIVE, required=True, help="Size of an instance.")
    @click.option(
        "--example", help="MODULE:FUNCTION that returns an instance of a size; by default "
        "`example` of the module of the family.",
    )  # fmt: skip
    @click.option("--fixed", multiple=True, help="Part of an instance that belongs to its shape.")
    @click.option("--limit", type=POSITIVE, default=5000, show_default=True, help="Most paths.")
    @reports
    def command(
        size: int, example: str | None, fixed: tuple[str, ...], limit: int
    ) -> PiecewiseStructure:
        from certune.families.programs import ProgramFamily

        family = _imported(target)
        if not isinstance(family, ProgramFamily):
            raise click.UsageError(
                f"{target} must be a certune.ProgramFamily, got a {type(family).__name__}"
            )
        make = _imported(example or f"{target.split(':')[0]}:example")
        if not callable(make):
            raise click.UsageError(
                f"--example must name a function of the size of an instance, got {make!r}"
            )
        return ProgramFamily.structure(family, make, size=size, fixed=fixed, limit=limit)

    return command


def _imported(target: str) -> Any:
    module, _, name = target.partition(":")
    # As `python -m` does: the folder in which the command is run comes first.
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise click.UsageError(
            f"{target} was not found: {error}; expected MODULE:NAME, importable from here"
        ) from None


def _linkage(kind: str) -> None:
    @bound.command(kind, help=f"{kind.capitalize()} linkage on instances of N points.")
    @click.option("--n", type=int, required=True, help="Points of an instance.")
    @click.option("--metrics", type=POSITIVE, default=1, show_default=True, help="Metrics.")
    @click.option(
        "--weights", type=click.Choice(["fixed", "tune"]), default="fixed", show_default=True,
        help="Whether the weights of the metrics are tuned too.",
    )  # fmt: skip
    @reports
    def command(n: int, metrics: int, weights: str) -> PiecewiseStructure:
        from certune.families.linkage import Linkage

        if kind == "product":
            if weights == "tune":
                raise click.UsageError("product linkage has exponents and no weights to tune")
            return Linkage(kind, alpha=[(-10.0, 10.0)] * metrics).structure(n)
        tuned = "tune" if weights == "tune" else None
        return Linkage(kind, (0.1, 4.0), weights=tuned, n_metrics=metrics).structure(n)


for _kind in ("min-max", "power-mean", "product", "energy"):
    _linkage(_kind)


@bound.command("harmonic-labeling")
@click.option("--n", type=POSITIVE, required=True, help="Points of an instance.")
@click.option("--labeled", type=POSITIVE, required=True, help="How many of them are labelled.")
@click.option("--metrics", type=POSITIVE, default=1, show_default=True, help="Metrics.")
@click.option(
    "--weights", type=click.Choice(["fixed", "tune"]), default="fixed", show_default=True,
    help="Whether the weights of the metrics are tuned besides the bandwidth.",
)  # fmt: skip
@reports
def harmonic_labeling(n: int, labeled: int, metrics: int, weights: str) -> PiecewiseStructure:
    """Graph labelling with an RBF kernel."""
    from certune.pfaffian.bounds.applications import harmonic_labeling_structure

    if labeled >= n:
        raise click.UsageError(f"--labeled must be less than --n, got {labeled} of {n}")
    return harmonic_labeling_structure(
        n - labeled, labeled, metrics, tuned_weights=weights == "tune"
    )


@bound.command("logistic")
@click.option("--n", type=POSITIVE, required=True, help="Training samples of an instance.")
@click.option("--validation", type=POSITIVE, help="Validation samples; by default as many.")
@click.option(
    "--lam", type=float, nargs=2, default=(1e-3, 10.0), show_default=True,
    help="Range of the penalty.",
)  # fmt: skip
@click.option("--step", type=float, default=1e-3, show_default=True, help="Step of the path.")
@reports
def logistic(
    n: int, validation: int | None, lam: tuple[float, float], step: float
) -> HomogeneousStructure:
    """Logistic regression, by its piecewise linear path."""
    from certune.pfaffian.bounds.applications import logistic_surrogate_structure

    return logistic_surrogate_structure(n, validation or n, lam, step)


def _chain_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in (
        click.option("--d", type=POSITIVE, required=True, help="Parameters."),
        click.option("--degree", type=POSITIVE, required=True, help="Degree of the functions."),
        click.option("--m", type=COUNT, required=True, help="Pfaffian degree of the chain."),
        click.option("--q", type=COUNT, required=True, help="Length of the chain."),
    ):
        command = option(command)
    return command


@bound.command("gj")
@_chain_options
@click.option("--k", type=COUNT, required=True, help="Distinct predicates.")
@reports
def gj(q: int, m: int, degree: int, d: int, k: int) -> GJStructure:
    """A Pfaffian GJ algorithm, by counts you vouch for."""
    from certune.pfaffian.structure import GJStructure

    return GJStructure(
        chain_length=q,
        chain_degree=m,
        function_degree=degree,
        n_predicates=k,
        n_parameters=d,
        name="Pfaffian GJ algorithm",
        source="given on the command line",
    )


@bound.command("piecewise")
@_chain_options
@click.option("--pieces", type=POSITIVE, required=True, help="Forms of the piece functions.")
@click.option("--boundaries", type=COUNT, required=True, help="Boundary functions.")
@click.option("--constant", is_flag=True, help="All pieces are constant.")
@reports
def piecewise(
    q: int, m: int, degree: int, d: int, pieces: int, boundaries: int, constant: bool
) -> PiecewiseStructure:
    """A piecewise structure, by counts you vouch for."""
    from certune.pfaffian.structure import PiecewiseStructure

    return PiecewiseStructure(
        n_piece_forms=pieces,
        n_boundaries=boundaries,
        chain_length=q,
        chain_degree=m,
        function_degree=degree,
        n_parameters=d,
        piecewise_constant=constant,
        name="Pfaffian piecewise structure",
        source="given on the command line",
    )
