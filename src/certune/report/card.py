"""Cards for notebooks: a title and a few rows, in the colours of the notebook."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable

STYLE = (
    "border:1px solid currentColor;border-radius:8px;padding:.5em .9em;max-width:52em;"
    "font-family:system-ui,sans-serif"
)


def card(title: str, rows: Iterable[tuple[str, str]]) -> str:
    """Return a card as HTML.

    Parameters
    ----------
    title : str
        Its headline.
    rows : iterable of (str, str)
        What is said, and the words for it.
    """
    body = "".join(
        '<tr><th scope="row" style="text-align:left;vertical-align:top;padding-right:1em">'
        f'{html.escape(label)}</th><td style="text-align:left">{html.escape(text)}</td></tr>'
        for label, text in rows
    )
    return (
        f'<div style="{STYLE}"><strong>{html.escape(title)}</strong>'
        f'<table style="margin:.3em 0">{body}</table></div>'
    )


def rows_of(text: str) -> list[tuple[str, str]]:
    """Return the rows of a summary whose labels end with two or more spaces."""
    rows: list[tuple[str, str]] = []
    for line in text.splitlines():
        label, *words = re.split(r"\s{2,}", line, maxsplit=1)
        rows.append((label, words[0]) if words else ("", label))
    return rows
