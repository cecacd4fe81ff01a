"""The report: one HTML file that works offline, made of findings and of nothing else.

First the verdict in words, then pictures, then tables, then what repeats and proves the run. Charts
are drawn by the embedded Apache ECharts (``assets``); every number in them also stands in a table.
"""

from __future__ import annotations

import html
import json
from collections.abc import Iterable, Sequence
from importlib.resources import files
from os import PathLike
from typing import Any

from certune.files import write_whole
from certune.report.findings import Findings
from certune.report.tables import table_of_instances
from certune.report.verdict import shown, shown_estimate, shown_params, verdict

POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"


def write_report(path: str | PathLike[str], findings: Findings) -> None:
    """Write the report of findings to a file; an existing one is replaced, whole.

    Parameters
    ----------
    path : path
        The HTML file.
    findings : Findings
        What to report.
    """
    write_whole(path, page_of(findings).encode())


def page_of(findings: Findings) -> str:
    """Return the page."""
    tone = "good" if findings.proved else "warning"
    sections = [
        _verdict(findings),
        _landscape(findings),
        _strip(findings),
        _cells(findings),
        _portrait(findings),
        _held_out(findings),
        _expectation(findings),
        _history(findings),
        _instances(findings),
        _proof(findings),
        _repeat(findings),
    ]
    body = "\n".join(section for section in sections if section)
    table = json.dumps(table_of_instances(findings))
    return f"""<!DOCTYPE html>
<html lang="en" data-theme="light">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<title>{_text(findings.title)}: certune report</title>
<style>
{_asset("report.css")}
</style>
</head>
<body>
<header>
<div><h1>{_text(findings.title)}</h1>
<p class="soft"><span class="status {tone}">{_text(findings.status)}</span>
{len(findings.instances)} instances, {findings.elapsed:.1f} s, {_text(findings.created)}</p></div>
<button id="theme" type="button" class="screen">Dark</button>
</header>
<main>
<noscript><p>Pictures need JavaScript; all numbers are in the tables.</p></noscript>
{body}
</main>
<footer>Made by certune {_text(findings.environment.get("certune", ""))}. This page loads nothing
from anywhere. Charts by Apache ECharts (Apache-2.0).</footer>
<div id="spoken" class="hidden" aria-live="polite"></div>
<script type="application/json" id="findings">{_embedded(findings.to_json())}</script>
<script type="application/json" id="table">{_embedded(table)}</script>
<script>{_asset("echarts.min.js")}</script>
<script>{_asset("report.js")}</script>
</body>
</html>
"""


def _asset(name: str) -> str:
    return (files("certune.report") / "assets" / name).read_text(encoding="utf-8")


def _embedded(text: str) -> str:
    """JSON that cannot end the script element it stands in."""
    return text.replace("<", "\\u003c")


def _text(value: object) -> str:
    return html.escape(str(value))


def _verdict(findings: Findings) -> str:
    items = []
    for answer in verdict(findings):
        source = f'<p class="source">{_text(answer.source)}</p>' if answer.source else ""
        items.append(
            f'<li class="{answer.tone}"><h3>{_text(answer.question)}</h3>'
            f"<p>{_text(answer.text)}</p>{source}</li>"
        )
    return (
        '<section aria-labelledby="verdict-title"><h2 id="verdict-title">Verdict</h2>'
        f'<ul class="verdict">{"".join(items)}</ul></section>'
    )


def _figure(
    identity: str, label: str, caption: str, *, low: bool = False, key: bool = False
) -> str:
    focus = ' tabindex="0"' if key else ""
    return (
        f'<figure><div id="{identity}" class="chart{" low" * low}" role="img"{focus} '
        f'aria-label="{_text(label)}"></div><figcaption>{_text(caption)}</figcaption></figure>'
    )


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _expected(findings: Findings) -> str:
    """What of new instances an interval is about."""
    is_mean = findings.measure == f"mean {findings.score}"
    return f"Expected {findings.score}" if is_mean else _capital(findings.measure)


def _landscape(findings: Findings) -> str:
    axis = findings.axis
    label = (
        f"{_capital(findings.measure)} as a function of {axis.name} from {shown(axis.low)} to "
        f"{shown(axis.high)}; best {shown(findings.best_value)} at "
        f"{shown_params(findings.best_params)}. Arrow keys walk over the pieces."
    )
    line = "" if findings.n_free == 1 else ", along a line through the best setting"
    caption = (
        f"Exact {findings.measure} of {findings.n_finished} instances{line}. Shaded: the "
        "optimal set, and the widest plateau. Hover for values, drag the slider or pinch to zoom, "
        "press a name to hide it."
    )
    return f"<section><h2>Landscape</h2>{_figure('landscape', label, caption, key=True)}</section>"


def _strip(findings: Findings) -> str:
    if not any(item.curve for item in findings.instances):
        return ""
    label = (
        f"One row for each instance, coloured by its {findings.score}; the same numbers are in the "
        "table of instances"
    )
    caption = (
        f"{findings.score} of every instance; brighter is better. A click shows the function in "
        "the landscape."
    )
    return f"""<section><h2>Instances</h2>
<div class="controls"><label for="order">Order</label>
<select id="order"><option value="given">as given</option><option value="tuned">best first</option>
<option value="missed">most is missed first</option><option value="name">by name</option></select>
<button id="all" type="button">Show or hide all in the landscape</button></div>
{_figure("strip", label, caption)}
</section>"""


def _cells(findings: Findings) -> str:
    if findings.cells is None:
        return ""
    names = findings.cells.names
    label = f"Map of the mean {findings.score} over {names[0]} and {names[1]}"
    caption = (
        f"Mean {findings.score}, brighter is better; framed: the optimum. Pale slivers are known "
        "between bounds."
    )
    shares = [(row["name"], f"{100 * row['share']:.3g} %") for row in findings.importance]
    table = _table("Share of the variance", ("parameter", "share"), shares)
    bars = _figure(
        "importance",
        "Share of the landscape's variance of each parameter; the table has the numbers",
        "How much each parameter matters: exact variance of the landscape, no sampling.",
        low=True,
    )
    return (
        f"<section><h2>Map of two parameters</h2>{_figure('cells', label, caption)}"
        f"<h3>Importance</h3>{bars}{table}</section>"
    )


PORTRAITS = {
    "dendrogram": (
        "The tree",
        "Dendrogram of {instance} at the best setting",
        "Merges by their linkage value; colours are the clusters that were found, and the dots "
        "below are the true ones.",
    ),
    "path": (
        "The coefficients",
        "Coefficients of the model of {instance} as functions of the parameter",
        "Coefficients of the largest columns; the line marks the best setting.",
    ),
    "graph": (
        "The graph",
        "Points of {instance} with their predicted classes at the best setting",
        "Large points had their label given; crosses are wrong. Each point is drawn with its two "
        "heaviest edges.",
    ),
}


def _portrait(findings: Findings) -> str:
    portrait = findings.portrait
    if portrait is None:
        return ""
    title, label, caption = PORTRAITS[portrait["kind"]]
    told = f"{caption} {portrait['instance']} is typical: its score is nearest to the mean."
    figure = _figure("portrait", label.format(instance=portrait["instance"]), told)
    return f"<section><h2>{title} at the optimum</h2>{figure}</section>"


def _held_out(findings: Findings) -> str:
    held = findings.held_out
    if held is None:
        return ""
    rows = [("tuned", shown(findings.best_value), shown(held.value), "")]
    compared = {item.name: item for item in held.comparisons}
    for name, value in findings.defaults.items():
        item = compared.get(name)
        told = "" if item is None else (
            f"{item.difference:+.3g} [{item.low:+.3g}, {item.high:+.3g}]"
        )  # fmt: skip
        rows.append((name, shown(value), shown(held.defaults.get(name)), told))
    columns = (
        "setting",
        f"{len(findings.instances)} tuning instances",
        f"{len(held.instances)} held out",
        "advantage of the tuned setting (95 %)",
    )
    interval = ""
    if held.interval is not None:
        interval = (
            f"<p>{_text(_expected(findings))} of the tuned setting on new instances: between "
            f"{shown(held.interval[0])} and {shown(held.interval[1])} (95 % confidence, from "
            f"{len(held.instances)} held-out instances).</p>"
        )
    figure = "" if not held.comparisons else _figure(
        "held-out",
        "Advantage of the tuned setting over each default on held-out instances, with intervals; "
        "the table has the numbers",
        "Paired differences on held-out instances; intervals hold together with 95 % confidence.",
        low=True,
    )  # fmt: skip
    notes = "".join(f"<p>Note: {_text(note)}.</p>" for note in held.notes)
    table = _table(_capital(findings.measure), columns, rows)
    return f"<section><h2>Held-out instances</h2>{interval}{table}{figure}{notes}</section>"


def _expectation(findings: Findings) -> str:
    parts = []
    if findings.learning is not None:
        parts.append(
            "<h3>Learning curve</h3>"
            + _figure(
                "learning",
                "Score on the tuning instances and on others for growing numbers of instances; the "
                "table has the numbers",
                "Random subsets are tuned exactly and judged on the other instances.",
                low=True,
            )
            + _table(
                "Learning curve",
                ("tuning instances", "on these", "on others"),
                [
                    (n, shown(a), shown(b))
                    for n, a, b in zip(
                        findings.learning.sizes,
                        findings.learning.tuning,
                        findings.learning.held_out,
                        strict=True,
                    )
                ],
            )
        )
    found = findings.cross_validation
    if found is not None:
        rows = [
            (
                number,
                ", ".join(fold["left_out"][:3]) + (", ..." if len(fold["left_out"]) > 3 else ""),
                shown(fold["setting"]),
                shown(fold["tuning"]),
                shown(fold["value"]),
            )
            for number, fold in enumerate(found.folds, 1)
        ]
        parts.append(
            f"<h3>Folds</h3><p>Estimated {_text(findings.measure)} on new instances: "
            f"{shown_estimate(found)}.</p>"
            + _table(
                "Tuned without each fold, judged on it",
                ("fold", "left out", findings.axis.name, "tuning", "left out"),
                rows,
            )
        )
    if not parts:
        return ""
    columns = "".join(f"<div>{part}</div>" for part in parts)
    return (
        f'<section><h2>What to expect on new instances</h2><div class="grid">{columns}</div>'
        "</section>"
    )


def _history(findings: Findings) -> str:
    if len(findings.history) < 2:
        return ""
    rows = [(f"{time:.2f}", shown(best), shown(bound)) for time, best, bound in findings.history]
    figure = _figure(
        "history",
        "Best score and bound over time; the table has the numbers",
        "Best so far, and the bound that no setting passes; unfinished instances count as perfect.",
        low=True,
    )
    table = _table("Over time", ("seconds", "best", "bound"), rows)
    return (
        f"<section><h2>Gap over time</h2>{figure}<details><summary>Table</summary>{table}</details>"
        "</section>"
    )


def _instances(findings: Findings) -> str:
    names = list(findings.defaults)
    rows = []
    for item in findings.instances:
        own = (
            "" if item.best_at is None else f"[{shown(item.best_at[0])}, {shown(item.best_at[1])}]"
        )
        rows.append(
            (
                item.name,
                shown(item.tuned),
                *(shown(item.defaults.get(name)) for name in names),
                "" if item.attainable is None else shown(item.attainable),
                own,
            )
        )
    columns = ("instance", "tuned", *names, "best for it alone", f"its best {findings.axis.name}")
    table = _table(
        f"{findings.score} of every instance; press a title to sort", columns, rows, sortable=True
    )
    held = ""
    if findings.held_out is not None:
        others = [
            (item.name, shown(item.tuned), *(shown(item.defaults.get(name)) for name in names))
            for item in findings.held_out.instances
        ]
        held = _table("Held-out instances", ("instance", "tuned", *names), others, sortable=True)
    return f"<section><h2>Instance by instance</h2>{table}{held}</section>"


def _proof(findings: Findings) -> str:
    parts = [
        f"<p>Best {_text(findings.measure)} {shown(findings.best_value, 8)}, bound "
        f"{shown(findings.bound, 8)}, gap {shown(findings.gap, 3)}; "
        f"{findings.undecided} undecided intervals. {_text(findings.status_text.capitalize())}.</p>"
    ]
    if findings.guarantee is not None:
        rows = [
            (
                bound["name"],
                "says nothing" if bound["vacuous"] else shown(bound["expected"]),
                bound["evidence"],
                bound["label"],
            )
            for bound in findings.guarantee["bounds"]
        ]
        percent = f"{100 * (1 - findings.guarantee['delta']):.3g} %"
        word = "at least" if findings.greater_is_better else "at most"
        parts.append(
            _table(
                f"Expected {findings.score} on a new instance, {word} ({percent} confidence)",
                ("bound", word, "from", "result"),
                rows,
            )
        )
        assumed = "".join(f"<li>{_text(item)}</li>" for item in findings.guarantee["assumptions"])
        parts.append(f"<details><summary>Assumptions</summary><ul>{assumed}</ul></details>")
    if findings.needed:
        sizes = [
            (
                f"{item['n_instances']:,}",
                item["purpose"].replace("epsilon", shown(findings.needed_epsilon)),
                ("estimate, " if item["estimate"] else "") + item["label"],
            )
            for item in findings.needed
        ]
        parts.append(
            _table("Instances needed", ("instances", "for", "by"), sizes, text=("for", "by"))
        )
    return f"<section><h2>Proof and guarantees</h2>{''.join(parts)}</section>"


def _repeat(findings: Findings) -> str:
    prints = [(item.name, item.fingerprint) for item in findings.instances]
    if findings.held_out is not None:
        prints += [
            (f"{item.name} (held out)", item.fingerprint) for item in findings.held_out.instances
        ]
    blocks = ""
    if findings.command:
        blocks += f"<h3>Command</h3><pre><code>{_text(findings.command)}</code></pre>"
    if findings.code:
        blocks += f"<h3>Python</h3><pre><code>{_text(findings.code)}</code></pre>"
    versions = list(findings.environment.items())
    return f"""<section><h2>Repeat it</h2>
<p class="controls"><button id="save-json" type="button">Save the findings (JSON)</button>
<button id="save-csv" type="button">Save the instances (CSV)</button></p>
<p>Family <code>{_text(findings.family)}</code></p>{blocks}
<details><summary>Versions</summary>{_table("Versions", ("package", "version"), versions)}</details>
<details><summary>Fingerprints of the data</summary>
<p>Family <code>{_text(findings.family_fingerprint)}</code></p>
{_table("SHA-256 of every instance", ("instance", "fingerprint"), prints)}</details></section>"""


def _table(
    caption: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    sortable: bool = False,
    text: Sequence[str] = (),
) -> str:
    def title(name: str) -> str:
        shown_name = f'<button type="button">{_text(name)}</button>' if sortable else _text(name)
        return f'<th scope="col"{" class=text" if name in text else ""}>{shown_name}</th>'

    head = "".join(map(title, columns))
    body = "".join(
        "<tr>"
        + "".join(
            f"<td{' class=text' if name in text else ''}>{_text(cell)}</td>"
            for name, cell in zip(columns, row, strict=True)
        )
        + "</tr>"
        for row in rows
    )
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{_text(caption)}"><table>'
        f"<caption>{_text(caption)}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table></div>"
    )
