"""Findings as text for a terminal: the verdict, then small tables."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from certune.report.findings import Findings
from certune.report.online_findings import OnlineFindings
from certune.report.online_verdict import online_verdict
from certune.report.verdict import Answer, alike, shown, verdict

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

# Columns of text in a terminal that is narrower than this, and in a file at most.
NARROWEST, WIDEST = 20, 2000

MARKS = {"good": "[green]✓[/]", "plain": "[blue]·[/]", "warning": "[yellow]![/]"}


def print_findings(console: Console, findings: Findings, *, instances: bool = False) -> None:
    """Print the verdict and the tables.

    Parameters
    ----------
    console : rich Console
        Where to print.
    findings : Findings
        What to print.
    instances : bool
        Whether every instance gets a row.
    """
    from rich.markup import escape

    colour = "green" if findings.proved else "yellow"
    console.print(f"[bold]{escape(findings.title)}[/]  [bold {colour}]{findings.status}[/]\n")
    _print_answers(console, verdict(findings))
    _print_table(console, _settings(findings))
    if instances:
        console.print()
        _print_table(console, _instances(findings))


def print_online_findings(
    console: Console, findings: OnlineFindings, *, rounds: bool = False
) -> None:
    """Print the verdict on an online run.

    Parameters
    ----------
    console : rich Console
        Where to print.
    findings : OnlineFindings
        What to print.
    rounds : bool
        Whether every round gets a row.
    """
    from rich.markup import escape

    console.print(f"[bold]{escape(findings.title)}[/]\n")
    _print_answers(console, online_verdict(findings))
    if rounds:
        _print_table(console, _rounds(findings))


def _print_answers(console: Console, answers: Sequence[Answer]) -> None:
    """Print each question on a line, and its answer below it."""
    from rich.markup import escape

    for answer in answers:
        console.print(f"{MARKS[answer.tone]} [bold]{escape(answer.question)}[/]")
        for line in textwrap.wrap(
            answer.text, max(console.width - 2, NARROWEST), break_on_hyphens=False
        ):
            console.print(f"  {escape(line)}", highlight=False)
    console.print()


def _print_table(console: Console, table: Table) -> None:
    """Print a table; a file or a pipe has no width at which it must be cut."""
    width = console.width
    if not console.is_terminal:
        wide = console.options.update(max_width=WIDEST)
        console.width = max(width, console.measure(table, options=wide).maximum)
    console.print(table)
    console.width = width


def _rounds(findings: OnlineFindings) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in ("round", "instance", findings.axis.name, findings.score, "best for it"):
        table.add_column(name, justify="left" if name == "instance" else "right")
    for number, row in enumerate(findings.rounds, 1):
        numbers = (shown(row.place, 6), shown(row.score), shown(row.best))
        table.add_row(str(number), row.name or row.fingerprint[:12], *numbers)
    return table


def _settings(findings: Findings) -> Table:
    from rich.table import Table

    held = findings.held_out
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(findings.measure)
    n_tuning = f"{findings.n_instances} {'folds' if findings.shared_rows else 'tuning'}"
    table.add_column(n_tuning, justify="right")
    if held is not None:
        several = not findings.shared_rows or len(held.instances) > 1
        table.add_column(f"{len(held.instances)} " * several + "held out", justify="right")
    rows = [("tuned", findings.best_value, None if held is None else held.value)]
    rows += [
        (name, value, None if held is None else held.defaults.get(name))
        for name, value in findings.defaults.items()
    ]
    written = alike(value for _, *values in rows for value in values)
    for name, value, other in rows:
        table.add_row(name, written(value), *([written(other)] if held is not None else []))
    return table


def _instances(findings: Findings) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("instance")
    for name in ("tuned", *findings.defaults, "best for it"):
        table.add_column(name, justify="right", overflow="fold")
    written = alike(
        value
        for row in findings.instances
        for value in (row.tuned, row.attainable, *row.defaults.values())
    )
    for row in findings.instances:
        scores = [written(row.defaults.get(name)) for name in findings.defaults]
        attainable = "" if row.attainable is None else written(row.attainable)
        table.add_row(row.name, written(row.tuned), *scores, attainable)
    return table
