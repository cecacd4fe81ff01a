"""A small self-contained HTML page: a headline, a picture, tables.

One file that can be opened offline and sent around; it loads nothing from anywhere.
"""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
img { width: 100%; height: auto; background: white; border-radius: 6px; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .9rem; border-bottom: 1px solid #8886; text-align: right; }
th:first-child, td:first-child { text-align: left; }
""".strip()


@dataclass(frozen=True)
class Table:
    """A table of text.

    Attributes
    ----------
    title : str
        Shown above the table.
    columns : sequence of str
        Column titles.
    rows : sequence of sequence of str
        The cells.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]

    def __str__(self) -> str:
        """Return the table as aligned text."""
        cells = [list(self.columns), *(list(row) for row in self.rows)]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = [
            "  ".join(
                [row[0].ljust(widths[0])]
                + [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
            )
            for row in cells
        ]
        lines.insert(1, "-" * len(lines[0]))
        return "\n".join([self.title, *lines])


def write_page(
    path: str | PathLike[str],
    title: str,
    paragraphs: Sequence[str],
    figure: Figure,
    caption: str,
    tables: Sequence[Table],
) -> None:
    """Write a page with the picture inside it.

    Parameters
    ----------
    path : path
        The HTML file; an existing one is replaced.
    title : str
        Headline.
    paragraphs : sequence of str
        Text below the headline; line breaks are kept.
    figure : matplotlib Figure
        The picture.
    caption : str
        What the picture shows, also read out in its place.
    tables : sequence of Table
        Shown below the picture.
    """
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=160)
    data = base64.b64encode(picture.getvalue()).decode("ascii")
    text = "\n".join(
        f"<p>{html.escape(paragraph).replace(chr(10), '<br>')}</p>" for paragraph in paragraphs
    )
    page = f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{html.escape(title)}</title>
<style>
{STYLE}
</style>
</head>
<body>
<h1>{html.escape(title)}</h1>
{text}
<figure style="margin: 0">
<img alt="{html.escape(caption)}" src="data:image/png;base64,{data}">
<figcaption>{html.escape(caption)}</figcaption>
</figure>
{"".join(map(_table, tables))}
</body>
</html>
"""
    Path(path).write_text(page, encoding="utf-8")


def _table(table: Table) -> str:
    head = "".join(f"<th>{html.escape(title)}</th>" for title in table.columns)
    rows = "\n".join(
        "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>"
        for row in table.rows
    )
    return (
        f'<h2>{html.escape(table.title)}</h2>\n<div class="wide"><table>\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody></table></div>\n"
    )
