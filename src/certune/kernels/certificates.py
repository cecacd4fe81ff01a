"""From when on a comparison of two cluster pairs may fail: certificates with an end.

On a panel the order of the pairs (x, y) and (x, z) is looked at from one point on, to the right.
The answer is that the first pair stays nearer, or the zone in which the order changes next, or that
the second pair is nearer from the start, or that nothing is certain there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from certune.kernels.borrowing import borrowing
from certune.kernels.compare import (
    CROSSING,
    FARTHER,
    NEARER,
    TOO_WIDE,
    evidence,
    locate,
    positive,
    sign_at_end,
    verdict,
)
from certune.kernels.ends import end_value, locate_ends, narrow_ends
from certune.kernels.frames import AVERAGE
from certune.kernels.records import (
    below_scaled,
    blend_records,
    dot_record,
    move_record,
    transform_record,
)
from certune.kernels.series import DEGREE, MINIMUM, MINMAX, UNIT

Floats = NDArray[np.float64]

HOLDS = 0  # the first pair is nearer up to the end of the panel
FAILS = 1  # ... up to a zone, behind which the second one is
AGAIN = 2  # ... up to a point at which one has to look again
WRONG = 3  # the second pair is nearer from the start
UNCLEAR = 4  # not decided at the start
LOCATED = 5  # code of a proof whose first failure is in a zone as narrow as can be

FINEST = 12  # halvings of the rest of a panel before a comparison is unclear


class Panel(NamedTuple):
    """How the records of a panel are to be read."""

    form: int
    kind: int  # in terms of values, see `frames.kind_of_values`
    sign: int
    error: float
    low: float
    high: float
    start: float  # the part of it that is looked at; all of it unless changes are dense
    stop: float
    box_cox: bool
    centre: float
    power: Floats
    flip: int  # 0, or -1 if larger values are nearer
    factor: float  # a rival that exceeds (stays below) a value times this is farther
    inner_factor: float  # the same for restricted records
    dense: bool  # is it so narrow that records are close to their chords?
    # A rival whose key exceeds a key times this plus that is farther, see `certune.kernels.chords`.
    key_factor: float
    key_offset: float


class Desk(NamedTuple):
    """Work space of one comparison."""

    pair: Floats  # (1, 3, 8): the records of the two pairs at 1 and 2
    bits: NDArray[np.int64]  # the same as integers
    flat: Floats  # the same, flat
    bar: Floats  # for ENDS: (low, high)
    nearer: Floats
    farther: Floats
    zone: Floats
    stack: Floats
    window: Floats  # flat (8, 8) matrix that restricts coefficients to a panel's rest
    window_from: Floats  # where that rest begins
    restricted: Floats  # two records restricted by it


@borrowing
def share_of(panel, t):
    """Where t lies in the panel, in [0, 1]."""
    return min(1.0, max(0.0, (t - panel.low) / (panel.high - panel.low)))


@borrowing
def part_of(panel, t):
    """Where t lies in the part of the panel that is looked at, in [0, 1]."""
    return min(1.0, max(0.0, (t - panel.start) / (panel.stop - panel.start)))


@borrowing
def set_bar(panel, flat, at, bar):
    """Set what values of a farther rival exceed, or stay below if sign < 0 (ENDS)."""
    for end in range(2):
        bar[end] = end_of(panel.kind, flat, at + end) * panel.factor


@borrowing
def end_of(kind, flat, at):
    """Value of a record at one end of the panel (ENDS; the high end is one lane further)."""
    if kind == MINMAX:
        return flat[at] + flat[at + 4]
    return flat[at] if kind == MINIMUM else flat[at + 4]


@borrowing
def value_at(panel, flat, at, share, basis):
    """Value of a record near a share of the panel, for guesses; smaller is nearer."""
    if panel.form == AVERAGE:
        if share == 0.0:
            return panel.sign * flat[at]
        return panel.sign * dot_record(flat, at, basis)
    if share == 0.0 or share == 1.0:
        return panel.sign * end_of(panel.kind, flat, at + int(share))
    alpha = panel.power[0] + panel.power[1] * (panel.low + share * (panel.high - panel.low))
    return panel.sign * _value(panel, flat, at, alpha)


@borrowing
def set_basis(share, basis):
    """Write the Bernstein polynomials at a share of the panel."""
    basis[:] = 0.0
    basis[0] = 1.0
    for degree in range(1, DEGREE):
        for k in range(degree, 0, -1):
            basis[k] = (1.0 - share) * basis[k] + share * basis[k - 1]
        basis[0] *= 1.0 - share


@borrowing
def _restrict(coefficients, low, high, guard):
    """Restrict Bernstein coefficients to [low, high] in [0, 1], less the rounding of that."""
    if high < 1.0:
        for r in range(1, DEGREE):
            for k in range(DEGREE - 1, r - 1, -1):
                coefficients[k] = (1.0 - high) * coefficients[k - 1] + high * coefficients[k]
    share = low / high
    for r in range(1, DEGREE):
        for k in range(DEGREE - r):
            coefficients[k] = (1.0 - share) * coefficients[k] + share * coefficients[k + 1]
    for k in range(DEGREE):
        coefficients[k] -= guard


@borrowing
def set_window(panel, t, desk):
    """Prepare the restriction of coefficients to the rest of the panel from t on."""
    if desk.window_from[0] == t:
        return
    desk.window_from[0] = t
    share = share_of(panel, t)
    window = desk.window
    window[:] = 0.0
    for source in range(DEGREE):
        window[source * DEGREE + source] = 1.0
    # De Casteljau's algorithm on all unit vectors at once.
    for r in range(1, DEGREE):
        for k in range(DEGREE - r):
            for source in range(DEGREE):
                at = source * DEGREE + k
                window[at] = (1.0 - share) * window[at] + share * window[at + 1]


@borrowing
def restrict_to_rest(panel, flat, at, t, desk, target):
    """Put a record, restricted to the panel from t on, on the desk.

    Convex combinations of positive numbers: the relative error grows by 8 DEGREE roundings at most.
    """
    if t > panel.low:
        transform_record(flat, at, desk.window, desk.restricted, target, target)
    else:
        move_record(flat, at, desk.restricted, target)


@borrowing
def until_average(panel, flat, rival, t, limit, desk):
    """Until where the pair of the desk's first record is nearer than that of ``rival``, from t on.

    Infinite if to the panel's end or beyond ``limit``; -inf if not for certain nearer at t.  The
    polynomial lies above the lower convex hull of its control points; its first zero is the answer.
    """
    restrict_to_rest(panel, flat, rival, t, desk, DEGREE)
    restricted = desk.restricted
    if below_scaled(restricted, DEGREE, 0, panel.inner_factor, panel.flip) == 0:
        return np.inf
    error = panel.error + 8.0 * (DEGREE + 1) * UNIT
    work = desk.nearer
    if panel.sign > 0:
        blend_records(restricted, DEGREE, 0, 1.0 - error, -1.0 - error, work, 0, 0)
    else:
        blend_records(restricted, 0, DEGREE, 1.0 - error, -1.0 - error, work, 0, 0)
    if not work[0] > 0.0:
        return -np.inf
    steepest = 0.0
    for k in range(DEGREE - 1):
        steepest = max(steepest, work[k] - work[k + 1])
    rest = panel.high - t
    if work[0] * rest > (DEGREE - 1) * steepest * (limit - t) * (1.0 + 2.0**-40):
        return np.inf
    i = 0
    while i < DEGREE - 1:
        slope = np.inf
        following = i
        for k in range(i + 1, DEGREE):
            here = (work[k] - work[i]) / (k - i)
            if here < slope:
                slope = here
                following = k
        if work[following] <= 0.0:
            share = (i - work[i] / slope) / (DEGREE - 1)
            return t + share * (1.0 - 2.0**-40) * rest
        i = following
    return np.inf


@borrowing
def _order_at(panel, flat, near, rival, t):
    """Order that the values at t prove: 1, -1, or 0 if none (ENDS)."""
    alpha = panel.power[0] + panel.power[1] * t
    first = _value(panel, flat, near, alpha)
    second = _value(panel, flat, rival, alpha)
    difference = panel.sign * (second - first)
    bound = (panel.error + 4.0 * UNIT) * (first + second)
    return 1 if difference > bound else -1 if difference < -bound else 0


@borrowing
def _value(panel, flat, at, alpha):
    small = end_value(alpha, panel.box_cox, panel.centre, flat[at + 2])
    large = end_value(alpha, panel.box_cox, panel.centre, flat[at + 6])
    if panel.kind == MINMAX:
        return small + large
    return min(small, large) if panel.kind == MINIMUM else max(small, large)


@borrowing
def until_ends(panel, flat, near, rival, t, reach, tries, bar):
    """Do the same for ENDS, where there is one root at most: try ``reach``, then earlier."""
    below = panel.sign * (end_of(panel.kind, flat, rival) - bar[0]) > 0.0
    above = panel.sign * (end_of(panel.kind, flat, rival + 1) - bar[1]) > 0.0
    if below and above:
        return np.inf
    if not below:
        return np.inf if above and _order_at(panel, flat, near, rival, t) > 0 else -np.inf
    for _ in range(tries):
        if _order_at(panel, flat, near, rival, reach) > 0:
            return reach
        reach = t + 0.25 * (reach - t)
    return -np.inf


@borrowing
def judge(panel, flat, near, rival, t, desk):
    """Compare the pair of record ``near`` with that of record ``rival`` from t to ``panel.stop``.

    Returns a code and the zone (low, high); for AGAIN its low end, for UNCLEAR its high end count.
    """
    nearer = desk.nearer
    farther = desk.farther
    zone = desk.zone
    move_record(flat, near, desk.flat, 8)
    move_record(flat, rival, desk.flat, 16)
    pair = desk.pair
    form = panel.form
    kind = panel.kind
    sign = panel.sign
    largest = evidence(pair, form, kind, sign, 0, 1, 2, panel.error, nearer, farther)
    code = verdict(nearer, farther)
    inside = t > panel.low or panel.stop < panel.high
    if inside and code != NEARER and code != FARTHER:
        if form == AVERAGE:
            # Twice seven levels of convex combinations, at most four roundings each, of numbers up
            # to ``largest``; 64 are charged.
            guard = 64.0 * UNIT * largest
            low = share_of(panel, t)
            high = share_of(panel, panel.stop)
            _restrict(nearer, low, high, guard)
            _restrict(farther, low, high, guard)
        else:
            narrow_ends(
                pair,
                kind,
                sign,
                0,
                1,
                2,
                panel.error,
                panel.power,
                t,
                panel.box_cox,
                panel.centre,
                0,
                nearer,
                farther,
            )
        code = verdict(nearer, farther)
    rest = panel.stop - t
    if code == CROSSING:
        if form == AVERAGE:
            code = locate(nearer, farther, zone, desk.stack)
        else:
            code = locate_ends(
                pair,
                kind,
                sign,
                0,
                1,
                2,
                panel.error,
                panel.power,
                t,
                rest,
                panel.box_cox,
                panel.centre,
                sign_at_end(nearer, farther, 0),
                sign_at_end(nearer, farther, 1),
                zone,
            )
    if code == NEARER:
        return HOLDS, panel.stop, panel.stop
    if code == FARTHER:
        return WRONG, t, t
    if code == TOO_WIDE:
        if form == AVERAGE and nearer[0] > 0.0:
            part = 0.5
            for _ in range(FINEST):
                if positive(nearer, 0.0, part, desk.stack.shape[0] - 2, desk.stack):
                    return AGAIN, t + part * rest, panel.stop
                part *= 0.5
        return (WRONG if farther[0] > 0.0 else UNCLEAR), t, panel.stop
    low = t + zone[0] * rest
    high = min(panel.stop, t + zone[1] * rest)
    if zone[0] <= 0.0:
        return UNCLEAR, t, high
    if zone[2] < 0.0:
        return WRONG, t, t
    return (AGAIN if zone[1] >= 1.0 else FAILS), low, high
