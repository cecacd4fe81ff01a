"""The report of an online run: one HTML file that works offline, made of findings alone."""

from __future__ import annotations

import csv
import io
from os import PathLike

from certune.files import write_whole
from certune.report.markup import (
    Frame,
    Repetition,
    figure_of,
    framed,
    repeat_section,
    table_markup,
    text_of,
    verdict_section,
)
from certune.report.online_findings import OnlineFindings
from certune.report.online_verdict import online_key_figures, online_verdict
from certune.report.verdict import alike, shown

# More rounds than these are in the picture and in the file to save, not in the table.
MOST_ROWS = 500


def write_online_report(path: str | PathLike[str], findings: OnlineFindings) -> None:
    """Write the report of an online run to a file; an existing one is replaced, whole.

    Parameters
    ----------
    path : path
        The HTML file.
    findings : OnlineFindings
        What to report.
    """
    write_whole(path, online_page_of(findings).encode())


def online_page_of(findings: OnlineFindings) -> str:
    """Return the page."""
    about = f"{text_of(findings.learner)}, {findings.n_rounds} rounds, {text_of(findings.created)}"
    return framed(
        Frame(findings.title, about, findings.environment.get("certune", ""), "online.js"),
        [
            verdict_section(online_verdict(findings), online_key_figures(findings)),
            _regret(findings),
            _played(findings),
            _hindsight(findings),
            _density(findings),
            _dispersion(findings),
            _rounds(findings),
            _repeat(findings),
        ],
        findings.to_json(),
        table_of_rounds(findings),
    )


def table_of_rounds(findings: OnlineFindings) -> str:
    """Return a CSV table with a row for each round."""
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(["round", "instance", "line", findings.axis.name, findings.score, "best"])
    for number, row in enumerate(findings.rounds, 1):
        table.writerow([number, row.name, row.line, row.place, row.score, row.best])
    return text.getvalue()


def _regret(findings: OnlineFindings) -> str:
    figure = figure_of(
        "regret",
        "Regret per round against the number of rounds, with its expectation and its bound; the "
        "table has the numbers",
        "Both scales are logarithmic. Expected: free of the luck of single draws. The bound holds "
        "for the expected regret, with all constants.",
    )
    rows = [
        (
            point.n_rounds,
            shown(point.regret),
            shown(point.regret / point.n_rounds, 3),
            shown(point.expected),
            shown(point.bound),
        )
        for point in findings.curve
    ]
    columns = ("rounds", "regret", "a round", "expected", "bound")
    table = table_markup("Regret through time", columns, rows)
    return (
        f"<section><h2>Regret</h2>{figure}<details><summary>Table</summary>{table}</details>"
        "</section>"
    )


def _played(findings: OnlineFindings) -> str:
    name = findings.axis.name
    figure = figure_of(
        "played",
        f"The {name} that was played in every round, coloured by its {findings.score}; the table "
        "of rounds has the numbers",
        f"Brighter is better. Shaded: the best fixed {name} in hindsight.",
    )
    return f"<section><h2>What was played</h2>{figure}</section>"


def _hindsight(findings: OnlineFindings) -> str:
    axis = findings.axis
    label = (
        f"Mean {findings.score} of every fixed {axis.name} over all rounds, from "
        f"{shown(axis.low)} to {shown(axis.high)}; best {shown(findings.best_fixed)}. Arrow keys "
        "walk over the pieces."
    )
    line = "" if findings.n_lines == 1 else f", along the best of {findings.n_lines} lines"
    caption = (
        f"Exact mean {findings.score} of every fixed {axis.name} over the {findings.n_rounds} "
        f"instances{line}; dashed: what was earned. Hover for values, drag the slider to zoom."
    )
    figure = figure_of("landscape", label, caption, key=True)
    return f"<section><h2>In hindsight</h2>{figure}</section>"


def _density(findings: OnlineFindings) -> str:
    figure = figure_of(
        "density",
        f"How likely every {findings.axis.name} was to be played, through time",
        "Density of the next draw, relative to an evenly spread one; brighter is more likely.",
    )
    return f"<section><h2>How it learned</h2>{figure}</section>"


def _dispersion(findings: OnlineFindings) -> str:
    found = findings.dispersion
    figure = figure_of(
        "dispersion",
        "How many functions change in the worst window, against the number of functions, for "
        "windows of several widths; the table has the numbers",
        "Functions that change in the worst window of a width. Learning is possible where narrow "
        "windows hold few of them; the dashed line would be all of them.",
    )
    columns = ("functions", *(f"width {shown(width, 2)}" for width in found.widths))
    rows = [(size, *row) for size, row in zip(found.sizes, found.counts, strict=True)]
    table = table_markup("Functions that change in the worst window", columns, rows)
    return (
        f"<section><h2>Dispersion</h2>{figure}<details><summary>Table</summary>{table}</details>"
        "</section>"
    )


def _rounds(findings: OnlineFindings) -> str:
    name, several = findings.axis.name, findings.n_lines > 1
    first = max(0, findings.n_rounds - MOST_ROWS)
    written = alike(value for row in findings.rounds[first:] for value in (row.score, row.best))
    rows = [
        (
            number,
            row.name or row.fingerprint[:12] or "given as a function",
            *((row.line + 1,) if several else ()),
            shown(row.place, 6),
            written(row.score),
            written(row.best),
        )
        for number, row in enumerate(findings.rounds[first:], first + 1)
    ]
    columns = (
        "round", "instance", *(("line",) if several else ()), name, findings.score, "best for it",
    )  # fmt: skip
    told = f"The last {MOST_ROWS} of {findings.n_rounds} rounds" if first else "Every round"
    table = table_markup(f"{told}; click a title to sort", columns, rows, sortable=True)
    return f"<section><h2>Round by round</h2>{table}</section>"


def _repeat(findings: OnlineFindings) -> str:
    chosen = [("learner", findings.learner), *findings.options.items(), ("seed", findings.seed)]
    options = table_markup("Options of the run", ("option", "value"), chosen)
    prints = [
        (row.name or f"round {number}", row.fingerprint)
        for number, row in enumerate(findings.rounds, 1)
        if row.fingerprint
    ]
    section = repeat_section(
        Repetition(
            findings.family,
            findings.family_fingerprint,
            findings.command,
            "",
            findings.environment,
            prints,
        ),
        ("rounds.csv", "Save the rounds (CSV)"),
    )
    return f"<section><h2>How it was set</h2>{options}</section>\n{section}"
