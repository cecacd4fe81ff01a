"""Cards for notebooks: a title, a few rows and perhaps a curve, in the colours of the notebook."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence

STYLE = (
    "border:1px solid currentColor;border-radius:8px;padding:.5em .9em;max-width:52em;"
    "font-family:system-ui,sans-serif"
)


CURVE_WIDTH, CURVE_HEIGHT = 320, 60


class Carded:
    """A value that is one line in a shell and a card in a notebook, both made of its text."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {' '.join(str(self).strip().splitlines()[0].split())}>"

    def _repr_html_(self) -> str:
        words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(self).__name__).capitalize()
        return card(words, rows_of(str(self)))


def card(title: str, rows: Iterable[Sequence[str]], picture: str = "") -> str:
    """Return a card as HTML.

    Parameters
    ----------
    title : str
        Its headline.
    rows : iterable of sequence of str
        What is said, and the words for it, in one cell or several; a sentence stands alone.
    picture : str, optional
        Markup of a picture below the title.
    """
    given = [list(row) for row in rows]
    most = max(map(len, given), default=1)
    body = "".join(f"<tr>{_cells(row, most)}</tr>" for row in given)
    return (
        f'<div style="{STYLE}"><strong>{html.escape(title)}</strong>{picture}'
        f'<table style="margin:.3em 0">{body}</table></div>'
    )


def _cells(row: Sequence[str], most: int) -> str:
    """Return the cells of a row, of which the last reaches to the end of the widest row."""
    style = "text-align:left;vertical-align:top;padding-right:1em"
    *before, last = [html.escape(text) for text in row]
    cells = [f'<td style="{style}">{text}</td>' for text in before]
    if before:
        cells[0] = f'<th scope="row" style="{style};white-space:nowrap">{before[0]}</th>'
    span = most - len(before)
    cells.append(f'<td style="{style}"{f" colspan={span}" if span > 1 else ""}>{last}</td>')
    return "".join(cells)


def rows_of(text: str) -> list[list[str]]:
    """Return the rows of a summary, whose cells are divided by two or more spaces."""
    return [re.split(r"\s{2,}", line.rstrip()) for line in text.splitlines()]


def curve(values: Sequence[float]) -> str:
    """Return a small picture of a function by its values at even places; NaN leaves a gap."""
    known = [value for value in values if value == value]
    if len(known) < 2:
        return ""
    low, high = min(known), max(known)
    scale = (CURVE_HEIGHT - 4) / ((high - low) or 1.0)
    step = CURVE_WIDTH / (len(values) - 1)
    lines, current = [], []
    for place, value in enumerate([*values, float("nan")]):
        if value == value:
            current.append(f"{place * step:.1f},{CURVE_HEIGHT - 2 - (value - low) * scale:.1f}")
        elif current:
            lines.append(f'<polyline fill="none" stroke="#0072B2" points="{" ".join(current)}"/>')
            current = []
    return (
        f'<svg width="{CURVE_WIDTH}" height="{CURVE_HEIGHT}" role="img" style="display:block" '
        f'aria-label="from {low:.4g} to {high:.4g}">{"".join(lines)}</svg>'
    )
