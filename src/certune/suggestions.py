"""What to say of a name that is not known: the one that was probably meant, and those there are."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

MOST_SHOWN = 12


def suggested(name: str, known: Iterable[str], shown: int = MOST_SHOWN) -> str:
    """Return the end of a message about a name that is not among the known ones.

    Parameters
    ----------
    name : str
        The name.
    known : iterable of str
        Those there are.
    shown : int
        How many of them are listed; with 0 only the one that was probably meant.

    Examples
    --------
    >>> print("no column 'lable'" + suggested("lable", ["x", "label"]))
    no column 'lable'; did you mean 'label'? it has 'x', 'label'
    """
    names = list(known)
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    if not close:
        lower = {other.strip().lower(): other for other in names}
        close = [lower[name.strip().lower()]] if name.strip().lower() in lower else []
    hint = f"; did you mean {close[0]!r}?" if close else ":"
    if not shown:
        return hint if close else "; dir() lists the names there are"
    listed = ", ".join(map(repr, names[:shown])) + (", ..." if len(names) > shown else "")
    return f"{hint} it has {listed}" if names else ""
