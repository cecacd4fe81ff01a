"""Findings as text for a terminal: the verdict, then small tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from certune.report.findings import Findings
from certune.report.online_findings import OnlineFindings
from certune.report.online_verdict import online_verdict
from certune.report.verdict import Answer, shown, verdict

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

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

    console.print(f"[bold]{escape(findings.title)}[/]  {findings.status}")
    console.print(_answers(verdict(findings)))
    console.print(_settings(findings))
    if instances:
        console.print(_instances(findings))


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

    console.print(f"[bold]{escape(findings.title)}[/]")
    console.print(_answers(online_verdict(findings)))
    if rounds:
        console.print(_rounds(findings))


def _answers(answers: Sequence[Answer]) -> Table:
    from rich.markup import escape
    from rich.table import Table

    grid = Table.grid(padding=(0, 1))
    grid.add_column(width=1)
    grid.add_column(ratio=1)
    for answer in answers:
        text = f"[bold]{escape(answer.question)}[/] {escape(answer.text)}"
        grid.add_row(MARKS[answer.tone], text)
    return grid


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
    table.add_column(f"{findings.n_instances} tuning", justify="right")
    if held is not None:
        table.add_column(f"{len(held.instances)} held out", justify="right")
    rows = [("tuned", findings.best_value, None if held is None else held.value)]
    rows += [
        (name, value, None if held is None else held.defaults.get(name))
        for name, value in findings.defaults.items()
    ]
    for name, value, other in rows:
        table.add_row(name, shown(value), *([shown(other)] if held is not None else []))
    return table


def _instances(findings: Findings) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("instance")
    for name in ("tuned", *findings.defaults, "attainable"):
        table.add_column(name, justify="right")
    for row in findings.instances:
        scores = [shown(row.defaults.get(name)) for name in findings.defaults]
        attainable = "" if row.attainable is None else shown(row.attainable)
        table.add_row(row.name, shown(row.tuned), *scores, attainable)
    return table
