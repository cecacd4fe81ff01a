"""Where several answers are right together, from what is certain of each."""

from __future__ import annotations

from collections.abc import Sequence

from certune.dual.maximum import joined
from certune.families.logistic.accuracy import Intervals, Parts


def all_of(answers: Sequence[Parts], low: float, high: float) -> Parts:
    """Return where all answers are certainly 1, and where one of them is certainly 0.

    Parameters
    ----------
    answers : sequence of list of (float, float, int)
        Of each, intervals in order with the answer there, 0 or 1.
    low, high : float
        The range.
    """
    whole = (low, high)
    moving = [parts for parts in answers if not (len(parts) == 1 and parts[0][:2] == whole)]
    settled = [parts[0][2] for parts in answers if len(parts) == 1 and parts[0][:2] == whole]
    if 0 in settled:
        return [(low, high, 0)]
    ones: Intervals = [whole]
    zeros: Intervals = []
    for parts in moving:
        ones = _common(ones, [(start, stop) for start, stop, answer in parts if answer])
        zeros += [(start, stop) for start, stop, answer in parts if not answer]
    wrong = joined(sorted(zeros))
    return sorted([(*part, 1) for part in ones] + [(*part, 0) for part in wrong])


def _common(first: Intervals, second: Intervals) -> Intervals:
    """Return the intersections of two lists of intervals, each in order."""
    found: Intervals = []
    i = j = 0
    while i < len(first) and j < len(second):
        start, stop = max(first[i][0], second[j][0]), min(first[i][1], second[j][1])
        if start <= stop:
            found.append((start, stop))
        if first[i][1] < second[j][1]:
            i += 1
        else:
            j += 1
    return found
