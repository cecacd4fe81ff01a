"""What to say of a name that is not known: the one that was probably meant, and those there are."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

MOST_SHOWN = 12


def suggested(name: str, known: Iterable[str], lead: str = "it has") -> str:
    """Return the end of a message about a name that is not among the known ones.

    Examples
    --------
    >>> print("no column 'lable'" + suggested("lable", ["x", "label"]))
    no column 'lable'; did you mean 'label'? it has 'x', 'label'
    >>> print("no family 'link'" + suggested("link", ["tree"], "there are"))
    no family 'link': there are 'tree'
    """
    names = list(known)
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    if not close:
        lower = {other.strip().lower(): other for other in names}
        close = [lower[name.strip().lower()]] if name.strip().lower() in lower else []
    hint = f"; did you mean {close[0]!r}?" if close else ":"
    shown = ", ".join(map(repr, names[:MOST_SHOWN])) + (", ..." if len(names) > MOST_SHOWN else "")
    return f"{hint} {lead} {shown}" if names else ""
