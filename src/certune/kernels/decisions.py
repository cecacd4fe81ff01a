"""One comparison of cluster pairs, decided by everything there is.

First the models, on the part of the frame's interval that is looked at; then what is settled on
this branch; then identity of the two functions; then the exact layer.  What is left changes its
order inside the interval, or needs a narrower one.
"""

from __future__ import annotations

from certune.kernels.borrowing import borrowing
from certune.kernels.compare import (
    CROSSING,
    FARTHER,
    HOPELESS,
    NEARER,
    TOO_WIDE,
    evidence,
    locate,
    narrow_evidence,
    sign_at_end,
    tie_prefers,
    verdict,
)
from certune.kernels.ends import locate_ends, narrow_ends
from certune.kernels.frames import AVERAGE, ENDS
from certune.kernels.identities import (
    TIED,
    identical,
    known_order,
    remember,
    same_average_comparison,
)
from certune.kernels.polish import may_tie
from certune.kernels.pruning import label_members
from certune.kernels.records import call
from certune.kernels.series import MEAN

MAX_DEPTH = 256
ASK_BELOW = 1e-9  # models this accurate that cannot tell two values apart suggest a tie
NARROW = 2.0**-42  # relative width of intervals that are cut no further
WIDE_IN_NARROW = 0.05  # share of such an interval that a zone may have without a question
IDENTITY, AT_POINT, AT_LOW_END, AT_HIGH_END, NARROW_ZONE = 0, 1, 2, 3, 4  # kinds of questions
CROSSES = 3  # answer: the order changes once; the question became the zone and the order before it


@borrowing
def mark_members(members, marks, x, y, z, head, tail, nxt):
    """Write 1, 2, 3 at the members of the three clusters."""
    members[:] = 0
    for value, slot in ((1, x), (2, y), (3, z)):
        label_members(marks[slot], head, tail, nxt, value, members)


@borrowing
def _ask(exact, kind, interval, zone, rows, tree, x, y, z):
    """Put a question to the exact layer and return its answer.

    The question has the kind, the interval and, at an end, the order proved elsewhere: there only
    the zone is in question.
    """
    low = interval[0]
    high = interval[1]
    question = exact.question
    question[0] = kind
    question[1] = low
    question[2] = high
    if kind == AT_LOW_END:
        question[2] = min(high, low + 1.01 * zone[1] * (high - low))
        question[3] = zone[3]
    elif kind == AT_HIGH_END:
        question[1] = max(low, low + (1.01 * zone[0] - 0.01) * (high - low))
        question[3] = zone[2]
    mark_members(exact.members, rows.marks, x, y, z, tree.head, tree.tail, tree.nxt)
    return call(exact.oracle)


@borrowing
def _keep(settled, bits, model, rows, x, y, z, answer):
    """Remember an answer on this branch, if there is room."""
    count = settled.used[0]
    if count < settled.forced.shape[0] - MAX_DEPTH:
        remember(
            settled.forced,
            settled.codes,
            count,
            bits,
            model.form,
            model.kind,
            model.sign,
            rows.marks,
            x,
            y,
            z,
            answer,
        )
        settled.used[0] = count + 1


@borrowing
def _same_comparison(settled, rows, tree, pairs, x, y, z):
    """Look for a settled comparison of averages that is the same function."""
    return same_average_comparison(
        settled.forced,
        settled.codes,
        settled.used[0],
        rows.marks,
        x,
        y,
        z,
        tree.size,
        tree.head,
        tree.tail,
        tree.nxt,
        pairs.codes,
    )


@borrowing
def _weigh(frame, model, interval, power, x, y, z, nearer, farther, work):
    """Compare (x, y) with (x, z) on the interval by the models alone."""
    form = model.form
    kind = model.kind
    sign = model.sign
    error = model.error
    largest = evidence(frame, form, kind, sign, x, y, z, error, nearer, farther)
    code = verdict(nearer, farther)
    if not (model.cut_low or model.cut_high) or code == NEARER or code == FARTHER:
        return code
    if form == AVERAGE:
        narrow_evidence(nearer, farther, largest, model.window, work)
        return verdict(nearer, farther)
    for end in range(2):
        if model.cut_low if end == 0 else model.cut_high:
            narrow_ends(
                frame,
                kind,
                sign,
                x,
                y,
                z,
                error,
                power,
                interval[end],
                model.box_cox,
                model.centre,
                end,
                nearer,
                farther,
            )
    return verdict(nearer, farther)


@borrowing
def _inquire(what, bits, model, interval, zone, rows, tree, settled, exact, x, y, z):
    """Let the exact layer compare (x, y) with (x, z); TOO_WIDE if it cannot.

    If the order changes once, ``zone`` says where.
    """
    answer = _ask(exact, what, interval, zone, rows, tree, x, y, z)
    if answer == HOPELESS:
        return HOPELESS
    if answer == 2:
        return TOO_WIDE
    if answer == CROSSES:
        width = interval[1] - interval[0]
        zone[0] = max(0.0, (exact.question[1] - interval[0]) / width)
        zone[1] = min(1.0, (exact.question[2] - interval[0]) / width)
        zone[2] = exact.question[3]
        zone[3] = -exact.question[3]
        return CROSSING
    _keep(settled, bits, model, rows, x, y, z, answer)
    if answer == 0:
        marks = rows.marks
        highest = tree.highest
        wins = tie_prefers(highest[marks[x]], highest[marks[y]], highest[marks[z]])
        return NEARER if wins else FARTHER
    return answer


@borrowing
def settle(
    frame, bits, model, interval, ends, pairs, rows, tree, settled, exact, x, y, z, evidence_arrays
):
    """Compare (x, y) with (x, z) where the bars leave a doubt; see `compare` for the codes."""
    nearer, farther, zone, stack = evidence_arrays
    form = model.form
    kind = model.kind
    sign = model.sign
    marks = rows.marks
    code = _weigh(frame, model, interval, pairs.power, x, y, z, nearer, farther, stack[0])
    if code == NEARER or code == FARTHER:
        return code
    known = known_order(
        settled.forced, settled.codes, settled.used[0], bits, form, kind, sign, marks, x, y, z
    )
    highest = tree.highest
    wins = tie_prefers(highest[marks[x]], highest[marks[y]], highest[marks[z]])
    if known == TIED:
        return NEARER if wins else FARTHER
    if known != 0:
        return known
    if code == TOO_WIDE:
        if identical(
            bits,
            form,
            kind,
            sign,
            marks,
            x,
            y,
            z,
            tree.size,
            tree.head,
            tree.tail,
            tree.nxt,
            pairs.codes,
        ):
            return NEARER if wins else FARTHER
        if model.error > ASK_BELOW and not model.point:
            return TOO_WIDE
        if kind == MEAN:
            known = _same_comparison(settled, rows, tree, pairs, x, y, z)
            if known == TIED:
                return NEARER if wins else FARTHER
            if known != 0:
                return known
        what = AT_POINT if model.point else IDENTITY
        return _inquire(what, bits, model, interval, zone, rows, tree, settled, exact, x, y, z)
    if form == ENDS:
        result = locate_ends(
            frame,
            kind,
            sign,
            x,
            y,
            z,
            model.error,
            pairs.power,
            interval[0],
            interval[1] - interval[0],
            model.box_cox,
            model.centre,
            sign_at_end(nearer, farther, 0),
            sign_at_end(nearer, farther, 1),
            zone,
        )
    else:
        result = locate(nearer, farther, zone, stack)
    if result != CROSSING:
        return result
    if kind == MEAN and (zone[0] <= 0.0 or zone[1] >= 1.0):
        known = _same_comparison(settled, rows, tree, pairs, x, y, z)
        if known == TIED:
            return NEARER if wins else FARTHER
        if known != 0:
            return known
    for end in range(2):
        touches = zone[0] <= 0.0 if end == 0 else zone[1] >= 1.0
        if touches and ends[end]:
            mark_members(exact.members, marks, x, y, z, tree.head, tree.tail, tree.nxt)
            if not may_tie(
                kind,
                pairs.mode,
                pairs.first,
                pairs.second,
                pairs.power,
                exact.members,
                interval[end],
                pairs.input_error,
            ):
                continue
            what = AT_LOW_END if end == 0 else AT_HIGH_END
            answer = _ask(exact, what, interval, zone, rows, tree, x, y, z)
            if answer != 2:
                _keep(settled, bits, model, rows, x, y, z, answer)
                return answer
    narrow = interval[1] - interval[0] <= NARROW * max(1.0, abs(interval[0]))
    if narrow and zone[1] - zone[0] >= WIDE_IN_NARROW and model.error <= ASK_BELOW:
        code = _inquire(
            NARROW_ZONE, bits, model, interval, zone, rows, tree, settled, exact, x, y, z
        )
        return CROSSING if code == TOO_WIDE else code
    return CROSSING
