"""The report: one HTML file that works offline, made of findings and of nothing else.

First the verdict in words, then pictures, then tables, then what repeats and proves the run. Charts
are drawn by the embedded Apache ECharts (``assets``); every number in them also stands in a table.
"""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike

from certune.files import write_whole
from certune.report.findings import Findings
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
from certune.report.tables import table_of_instances
from certune.report.verdict import (
    alike,
    count_of,
    held_out_words,
    key_figures,
    shown,
    shown_estimate,
    shown_params,
    verdict,
)

# So many instances of a fold are told by name.
NAMES_OF_FOLD = 1
# A map of which more than this share is open is no picture of anything.
MOST_OPEN_OF_MAP = 0.5


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
        verdict_section(verdict(findings), key_figures(findings)),
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
    about = (
        f'<span class="status {tone}">{text_of(findings.status)}</span> '
        f"{count_of(findings.n_instances, findings.noun)}, {findings.elapsed:.1f} s, "
        f"{text_of(findings.created)}"
    )
    return framed(
        Frame(findings.title, about, findings.environment.get("certune", ""), "report.js"),
        [section for section in sections if section],
        findings.to_json(),
        table_of_instances(findings),
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
        f"Exact {findings.measure} of {count_of(findings.n_finished, findings.noun)}{line}. "
        f"Shaded: the optimal set{' and the widest plateau' * (findings.n_free == 1)}. Hover for "
        "values, drag the slider or pinch to zoom, click a name to hide it."
    )
    note = ""
    if findings.n_free > 2:
        note = (
            "<p>How much each parameter matters is integrated exactly for two free parameters; for "
            f"{findings.n_free} it is not stated, since a share from samples would be a guess.</p>"
        )
    figure = figure_of("landscape", label, caption, key=True)
    return f"<section><h2>Landscape</h2>{figure}{note}</section>"


def _strip(findings: Findings) -> str:
    if not any(item.curve for item in findings.instances):
        return ""
    label = (
        f"One row for each {findings.noun}, coloured by its {findings.score}; the same "
        f"numbers are in the table of {findings.noun}s"
    )
    values = [
        value
        for item in findings.instances
        for value in (item.curve.values if item.curve else ())
        if value is not None
    ]
    worst, best = (min(values), max(values)) if findings.greater_is_better else (
        max(values), min(values)
    )  # fmt: skip
    caption = (
        f"{_capital(findings.score)} of every {findings.noun}, from {shown(worst)} (dark) to "
        f"{shown(best)} (bright), brighter is better. A click shows the function in the landscape."
    )
    return f"""<section><h2>{_capital(findings.noun)}s</h2>
<div class="controls"><label for="order">Order</label>
<select id="order"><option value="given">as given</option><option value="tuned">best first</option>
<option value="missed">largest shortfall first</option>
<option value="name">by name</option></select>
<button id="all" type="button">Show or hide all in the landscape</button></div>
{figure_of("strip", label, caption)}
</section>"""


def _cells(findings: Findings) -> str:
    if findings.cells is None:
        return ""
    title, open_share = "<h2>Map of two parameters</h2>", findings.cells.open_share
    if open_share > MOST_OPEN_OF_MAP:
        return (
            f"<section>{title}<p>Too little of the map was known in the time of a report: "
            "certune.cell_map(family, instances) takes the time that it needs, and "
            "report(path, cells=) shows it.</p></section>"
        )
    names = findings.cells.names
    label = f"Map of the {findings.measure} over {names[0]} and {names[1]}"
    caption = (
        f"{_capital(findings.measure)}, brighter is better; framed: the optimum. Pale slivers are "
        "known between bounds."
    )
    picture = figure_of("cells", label, caption)
    if not findings.importance:
        return (
            f"<section>{title}{picture}<p>How much each parameter matters is not stated: "
            f"{100 * open_share:.2g}% of the map are known between bounds only.</p></section>"
        )
    shares = [(row["name"], f"{100 * row['share']:.3g}%") for row in findings.importance]
    table = table_markup("Share of the variance", ("parameter", "share"), shares)
    bars = figure_of(
        "importance",
        "Share of the landscape's variance of each parameter; the table has the numbers",
        "How much each parameter matters: exact variance of the landscape, no sampling.",
        low=True,
    )
    return f"<section>{title}{picture}<h3>Importance</h3>{bars}{table}</section>"


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
        "The largest coefficients; the line marks the best setting.",
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
    if "cut" in portrait:
        caption += " Merges at or above the line are undone: the line is the height of the cut."
    told = f"{caption} Shown is {portrait['instance']}, whose score is nearest to the mean."
    figure = figure_of("portrait", label.format(instance=portrait["instance"]), told)
    return f"<section><h2>{title} at the optimum</h2>{figure}</section>"


def _held_out(findings: Findings) -> str:
    held = findings.held_out
    if held is None:
        return ""
    # One measurement, as of rows that were held back, says nothing about the spread.
    n_independent = len(held.groups or held.instances)
    several = n_independent > 1
    written = alike(
        [findings.best_value, held.value, *findings.defaults.values(), *held.defaults.values()]
    )
    rows = [("tuned", written(findings.best_value), written(held.value), "")]
    compared = {item.name: item for item in held.comparisons}
    for name, value in findings.defaults.items():
        item = compared.get(name)
        told = "" if item is None else f"{item.difference:+.3g}" if not several else (
            f"{item.difference:+.3g} [{item.low:+.3g}, {item.high:+.3g}]"
        )  # fmt: skip
        rows.append((name, written(value), written(held.defaults.get(name)), told))
    columns = (
        "setting",
        f"{findings.n_instances} tuning {findings.noun}s",
        held_out_words(findings) if findings.shared_rows else f"{len(held.instances)} held out",
        "advantage of the tuned setting" + " (95%)" * several,
    )
    interval = ""
    if held.interval is not None and several:
        interval = (
            f"<p>{text_of(_expected(findings))} of the tuned setting on new instances: between "
            f"{shown(held.interval[0])} and {shown(held.interval[1])} (95% confidence, from "
            f"{n_independent} held-out {'tables' if held.groups else 'instances'}).</p>"
        )
    figure = "" if not (held.comparisons and several) else figure_of(
        "held-out",
        "Advantage of the tuned setting over each default on held-out instances, with intervals; "
        "the table has the numbers",
        "Paired differences on what was held out; all intervals hold together with 95% confidence.",
        low=True,
    )  # fmt: skip
    notes = "".join(f"<p>Note: {text_of(note)}.</p>" for note in held.notes)
    table = table_markup(_capital(findings.measure), columns, rows)
    unseen = "rows" if findings.shared_rows else "instances"
    return f"<section><h2>Held-out {unseen}</h2>{interval}{table}{figure}{notes}</section>"


def _expectation(findings: Findings) -> str:
    parts = []
    if findings.learning is not None:
        written = alike([*findings.learning.tuning, *findings.learning.held_out])
        parts.append(
            "<h3>Learning curve</h3>"
            + figure_of(
                "learning",
                "Score on the tuning instances and on others for growing numbers of instances; the "
                "table has the numbers",
                "Random subsets are tuned exactly and judged on the other instances.",
                low=True,
            )
            + table_markup(
                "Learning curve",
                ("tuning instances", "on these", "on others"),
                [
                    (n, written(a), written(b))
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
        written = alike(fold[key] for fold in found.folds for key in ("tuning", "value"))
        rows = [
            (
                number,
                shown(fold["setting"]),
                written(fold["tuning"]),
                written(fold["value"]),
                _first_names(fold["left_out"]),
            )
            for number, fold in enumerate(found.folds, 1)
        ]
        parts.append(
            f"<h3>Folds</h3><p>Estimated {text_of(findings.measure)} on new instances: "
            f"{shown_estimate(found)}.</p>"
            + table_markup(
                "Tuned without each fold, judged on it",
                ("fold", findings.axis.name, "on the others", "on the fold", "its instances"),
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


def _first_names(names: Sequence[str]) -> str:
    """Return the first of some names, and how many there are."""
    if len(names) <= NAMES_OF_FOLD:
        return ", ".join(names)
    return f"{', '.join(names[:NAMES_OF_FOLD])} and {len(names) - NAMES_OF_FOLD} more"


def _history(findings: Findings) -> str:
    if len(findings.history) < 2:
        return ""
    rows = [(f"{time:.2f}", shown(best), shown(bound)) for time, best, bound in findings.history]
    figure = figure_of(
        "history",
        "Best score and bound over time; the table has the numbers",
        "Best score so far, and the bound that no setting can pass; unfinished instances count as "
        "perfect.",
        low=True,
    )
    table = table_markup("Over time", ("seconds", "best", "bound"), rows)
    return (
        f"<section><h2>Gap over time</h2>{figure}<details><summary>Table</summary>{table}</details>"
        "</section>"
    )


def _instances(findings: Findings) -> str:
    names, failed = list(findings.defaults), {name for name, _ in findings.failures}
    # Along a line through several parameters nothing is known of the best for one instance.
    alone = any(item.attainable is not None for item in findings.instances)
    rows = []
    written = alike(
        value
        for item in findings.instances
        for value in (item.tuned, item.attainable, *item.defaults.values())
    )
    for item in findings.instances:
        if item.name in failed:
            continue
        own = (
            "" if item.best_at is None else f"[{shown(item.best_at[0])}, {shown(item.best_at[1])}]"
        )
        rows.append(
            (
                item.name,
                written(item.tuned),
                *(written(item.defaults.get(name)) for name in names),
                *(
                    ("" if item.attainable is None else written(item.attainable), own)
                    if alone
                    else ()
                ),
            )
        )
    columns = (findings.noun, "tuned", *names)
    if alone:
        columns += ("best for it alone", f"its best {findings.axis.name}")
    title = f"{_capital(findings.score)} of every {findings.noun}; click a title to sort"
    table = table_markup(title, columns, rows, sortable=True) if rows else ""
    if findings.failures:
        table += table_markup(
            "Left out because they failed: perfect in the bound, of the lowest score in the value",
            ("instance", "why"),
            findings.failures,
        )
    held = ""
    if findings.held_out is not None:
        others = [
            (item.name, written(item.tuned), *(written(item.defaults.get(name)) for name in names))
            for item in findings.held_out.instances
        ]
        unseen = "rows" if findings.shared_rows else "instances"
        held = table_markup(
            f"Held-out {unseen}",
            ("what" if findings.shared_rows else "instance", "tuned", *names),
            others,
            sortable=True,
        )
    if not table and not held:
        return ""
    noun = findings.noun
    return f"<section><h2>{_capital(noun)} by {noun}</h2>{table}{held}</section>"


def _proof(findings: Findings) -> str:
    parts = [
        f"<p>Best {text_of(findings.measure)} {shown(findings.best_value, 8)}, bound "
        f"{shown(findings.bound, 8)}, gap {shown(findings.gap, 3)}; "
        f"{text_of(findings.status_text)}.{_undecided(findings)}</p>"
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
        percent = f"{100 * (1 - findings.guarantee['delta']):.3g}%"
        word = "at least" if findings.greater_is_better else "at most"
        parts.append(
            table_markup(
                f"Expected {findings.score} on a new instance, {word} ({percent} confidence)",
                ("bound", word, "from", "result"),
                rows,
            )
        )
        assumed = "".join(f"<li>{text_of(item)}</li>" for item in findings.guarantee["assumptions"])
        parts.append(f"<details><summary>Assumptions</summary><ul>{assumed}</ul></details>")
    if findings.needed:
        first: dict[str, tuple[str, ...]] = {}
        others = []
        for item in sorted(findings.needed, key=lambda item: item["n_instances"]):
            row = (
                f"{item['n_instances']:,}",
                item["purpose"].replace("epsilon", shown(findings.needed_epsilon)),
                ("estimate, " if item["estimate"] else "") + item["label"],
            )
            if first.setdefault(item["purpose"], row) is not row:
                others.append(row)
        columns = ("instances", "for", "by")
        parts.append(table_markup("Instances needed", columns, [*first.values()], text=columns[1:]))
        if others:
            table = table_markup("By other results", columns, others, text=columns[1:])
            parts.append(
                f"<details><summary>Larger numbers by other results</summary>{table}</details>"
            )
    return f"<section><h2>Proof and guarantees</h2>{''.join(parts)}</section>"


def _undecided(findings: Findings) -> str:
    """What is not known of the landscape, if there is anything."""
    count = findings.undecided
    if not count:
        return ""
    where = count_of(count, "interval")
    return f" On {where} the score is known between bounds only, which the bound covers."


def _repeat(findings: Findings) -> str:
    prints = [(item.name, item.fingerprint) for item in findings.instances]
    if findings.held_out is not None:
        prints += [
            (f"{item.name} (held out)", item.fingerprint) for item in findings.held_out.instances
        ]
    return repeat_section(
        Repetition(
            findings.family,
            findings.family_fingerprint,
            findings.command,
            findings.code,
            findings.environment,
            prints,
        ),
        ("instances.csv", "Save the instances (CSV)"),
    )
