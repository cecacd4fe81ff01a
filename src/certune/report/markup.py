"""Parts that pages are made of: the frame that works offline, figures, tables, escaped text."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from certune.report.verdict import Answer, KeyFigure

POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"


@dataclass(frozen=True)
class Frame:
    """What stands around the sections of a page.

    Attributes
    ----------
    title : str
        Headline.
    about : str
        Markup of the line below it.
    version : str
        Version of certune that made the findings.
    script : str
        Name of the asset that draws the pictures.
    """

    title: str
    about: str
    version: str
    script: str


@dataclass(frozen=True)
class Repetition:
    """What repeats a run.

    Attributes
    ----------
    family, fingerprint : str
        The family and the hash of its content.
    command, code : str
        A command line and lines of Python, or nothing.
    environment : mapping of str to str
        Versions.
    prints : sequence of (str, str)
        Names of the instances, and the hashes of their content.
    """

    family: str
    fingerprint: str
    command: str
    code: str
    environment: Mapping[str, str]
    prints: Sequence[tuple[str, str]]


def framed(frame: Frame, sections: Sequence[str], findings: str, table: str) -> str:
    """Return a page that loads nothing from anywhere.

    Parameters
    ----------
    frame : Frame
        What stands around the sections.
    sections : sequence of str
        Markup of the sections.
    findings : str
        JSON that the pictures are drawn from.
    table : str
        CSV that can be saved.
    """
    body = "\n".join(sections)
    return f"""<!DOCTYPE html>
<html lang="en" data-theme="light">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<title>{text_of(frame.title)}: certune report</title>
<style>
{_asset("report.css")}
</style>
</head>
<body>
<header>
<div><h1>{text_of(frame.title)}</h1>
<p class="soft">{frame.about}</p></div>
<button id="theme" type="button" class="screen">Dark</button>
</header>
<main>
<noscript><p>Pictures need JavaScript; all numbers are in the tables.</p></noscript>
{body}
</main>
<footer>Made by certune {text_of(frame.version)}. This page loads nothing
from anywhere. Charts by Apache ECharts (Apache-2.0).</footer>
<div id="spoken" class="hidden" aria-live="polite"></div>
<script type="application/json" id="findings">{_embedded(findings)}</script>
<script type="application/json" id="table">{_embedded(json.dumps(table))}</script>
<script>{_asset("echarts.min.js")}</script>
<script>{_asset("common.js")}</script>
<script>{_asset(frame.script)}</script>
</body>
</html>
"""


def _asset(name: str) -> str:
    return (files("certune.report") / "assets" / name).read_text(encoding="utf-8")


def _embedded(text: str) -> str:
    """JSON that cannot end the script element it stands in."""
    return text.replace("<", "\\u003c")


def text_of(value: object) -> str:
    """Return text as markup."""
    return html.escape(str(value))


def figure_of(
    identity: str, label: str, caption: str, *, low: bool = False, key: bool = False
) -> str:
    """Return a place for a picture, with what screen readers say and what stands below it."""
    focus = ' tabindex="0"' if key else ""
    return (
        f'<figure><div id="{identity}" class="chart{" low" * low}" role="img"{focus} '
        f'aria-label="{text_of(label)}"></div><figcaption>{text_of(caption)}</figcaption></figure>'
    )


def table_markup(
    caption: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    sortable: bool = False,
    text: Sequence[str] = (),
) -> str:
    """Return a table that scrolls by itself where it is too wide.

    Parameters
    ----------
    caption : str
        What the table shows.
    columns : sequence of str
        Titles.
    rows : iterable of sequence
        Cells.
    sortable : bool
        Whether pressing a title sorts.
    text : sequence of str
        Titles of columns of words, which may be wrapped.
    """

    def title(name: str) -> str:
        shown_name = (
            f'<button type="button">{text_of(name)}</button>' if sortable else text_of(name)
        )
        return f'<th scope="col"{" class=text" if name in text else ""}>{shown_name}</th>'

    head = "".join(map(title, columns))
    body = "".join(
        "<tr>"
        + "".join(
            f"<td{' class=text' if name in text else ''}>{text_of(cell)}</td>"
            for name, cell in zip(columns, row, strict=True)
        )
        + "</tr>"
        for row in rows
    )
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{text_of(caption)}"><table>'
        f"<caption>{text_of(caption)}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table></div>"
    )


def _with_options(text: str) -> str:
    """Text in which the options of the command line are never torn at their dashes."""
    return re.sub(r"(?<!\S)--[a-z][a-z-]*(?: \d[\d.]*\d)?", r"<code>\g<0></code>", text_of(text))


def _listing(text: str) -> str:
    """Code that can be reached by keys, since it scrolls where it is too wide."""
    return f'<pre tabindex="0"><code>{text_of(text)}</code></pre>'


def verdict_section(answers: Iterable[Answer], figures: Iterable[KeyFigure]) -> str:
    """Return the section with the numbers that are read first, questions and answers."""
    items = []
    for answer in answers:
        source = f'<p class="source">{text_of(answer.source)}</p>' if answer.source else ""
        items.append(
            f'<li class="{answer.tone}"><h3>{text_of(answer.question)}</h3>'
            f"<p>{_with_options(answer.text)}</p>{source}</li>"
        )
    first = "".join(
        f"<div><dt>{text_of(figure.words)}</dt><dd>{text_of(figure.value)}</dd></div>"
        for figure in figures
    )
    return (
        '<section aria-labelledby="verdict-title"><h2 id="verdict-title" class="hidden">Verdict'
        f'</h2><dl class="key">{first}</dl>'
        f'<ul class="verdict">{"".join(items)}</ul></section>'
    )


def repeat_section(what: Repetition, table: tuple[str, str]) -> str:
    """Return the section that says how to repeat a run, with data to save.

    Parameters
    ----------
    what : Repetition
        What repeats it.
    table : (str, str)
        File name of the table of the page, and the words on its button.
    """
    blocks = ""
    if what.command:
        blocks += f"<h3>Command</h3>{_listing(what.command)}"
    if what.code:
        blocks += f"<h3>Python</h3>{_listing(what.code)}"
    versions = table_markup("Versions", ("package", "version"), what.environment.items())
    prints = table_markup("SHA-256 of every instance", ("instance", "fingerprint"), what.prints)
    return f"""<section><h2>Repeat it</h2>
<p class="controls"><button id="save-json" type="button">Save the findings (JSON)</button>
<button id="save-csv" type="button" data-file="{table[0]}">{text_of(table[1])}</button></p>
<p>Family <code>{text_of(what.family)}</code></p>{blocks}
<details><summary>Versions</summary>{versions}</details>
<details><summary>Fingerprints of the data</summary>
<p>Family <code>{text_of(what.fingerprint)}</code></p>
{prints}</details></section>"""
