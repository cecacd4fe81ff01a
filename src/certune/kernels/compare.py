"""Which of two cluster pairs is nearer, on a whole interval: three-valued, never guessed.

`compare` first looks at Bernstein coefficients (the float filter: the two models differ by more
than their error bound), then at what is already known on this branch, then at exact identity
(equal multisets of pair distances, decided by the fixed tie rule).  What remains is a root, a
question to the exact layer, or an interval that is too wide and must be cut.

``kind`` is always the kind in terms of values (`frames.kind_of_values`).
"""

from __future__ import annotations

from certune.kernels.borrowing import borrowing
from certune.kernels.frames import AVERAGE, ENDS
from certune.kernels.records import below_record, transform_record
from certune.kernels.series import DEGREE, MINIMUM, MINMAX, UNIT

NEARER = 1  # the first pair wins everywhere on the interval
FARTHER = -1  # the second pair wins everywhere
CROSSING = 0  # the order changes; the zone holds every change
TOO_WIDE = 2  # not decided on this interval; cut it
HOPELESS = 4  # the exact layer gave up: report the interval as undecided


@borrowing
def tie_prefers(x, y, z):
    """Tie rule: does (x, y) win over (x, z)? Arguments are highest member indices.

    Among tied pairs the lexicographically smallest sorted pair of highest member indices wins;
    unlike "lowest index", this rule is reducible, so greedy and nearest-neighbour chain agree.
    """
    low_y = min(x, y)
    low_z = min(x, z)
    if low_y != low_z:
        return low_y < low_z
    return max(x, y) < max(x, z)


@borrowing
def lower_value(frame, form, kind, k, x, z):
    """Lower coefficient k of the linkage value of slots (x, z); for ENDS k = 0, 1 is the end."""
    if form == AVERAGE:
        return frame[x, z, k]
    if form == ENDS:
        if kind == MINMAX:
            return frame[x, z, k] + frame[x, z, 4 + k]
        return frame[x, z, k] if kind == MINIMUM else frame[x, z, 4 + k]
    if kind == MINMAX:
        return frame[x, z, k] + frame[x, z, DEGREE + k]
    return frame[x, z, k]


@borrowing
def upper_value(frame, form, kind, k, x, z):
    """Upper coefficient of the linkage value of slots (x, z)."""
    if form == AVERAGE or form == ENDS:
        return lower_value(frame, form, kind, k, x, z)
    if kind == MINMAX:
        return frame[x, z, 2 * DEGREE + k] + frame[x, z, 3 * DEGREE + k]
    return frame[x, z, DEGREE + k]


@borrowing
def set_bars(frame, form, kind, sign, x, y, error, bars):
    """Set what the values of (x, z) must exceed, or stay below if sign < 0, for the next ones."""
    factor = (1.0 + error) / (1.0 - error) * (1.0 + 16.0 * UNIT)
    for k in range(2 if form == ENDS else DEGREE):
        if sign > 0:
            bars[k] = upper_value(frame, form, kind, k, x, y) * factor
        else:
            bars[k] = lower_value(frame, form, kind, k, x, y) / factor


@borrowing
def next_doubtful_average(bits, bar_bits, flip, start, active, begin, n_active):
    """Find the next slot z such that (x, y) is not proved nearer than (x, z).

    Returns its position in ``active``, from ``begin`` on, or ``n_active`` if there is none;
    ``start`` is where the row of x starts.

    Averages are compared as integers: positive numbers have the order of their bits; ``flip`` is
    -1 if larger values are nearer.  Few array arguments: each costs an atomic reference count.
    """
    i = begin
    while i < n_active and below_record(bits, start + active[i] * DEGREE, bar_bits, flip) == 0:
        i += 1
    return i


@borrowing
def next_doubtful_end(flat, low, high, kind, sign, start, active, begin, n_active):
    """Do the same for ENDS, whose bars are ``low`` and ``high``."""
    side = 1.0 if sign > 0 else -1.0
    low *= side
    high *= side
    i = begin
    if kind == MINMAX:
        while i < n_active:
            at = start + active[i] * 8
            if (
                side * (flat[at] + flat[at + 4]) < low
                or side * (flat[at + 1] + flat[at + 5]) < high
            ):
                break
            i += 1
    else:
        lane = start if kind == MINIMUM else start + 4
        while i < n_active:
            at = lane + active[i] * 8
            if side * flat[at] < low or side * flat[at + 1] < high:
                break
            i += 1
    return i


@borrowing
def next_doubtful_enclosure(frame, form, kind, sign, x, bars, active, begin, n_active):
    """Do the same for ENCLOSURE."""
    i = begin
    while i < n_active:
        z = active[i]
        for k in range(DEGREE):
            if sign > 0:
                if not lower_value(frame, form, kind, k, x, z) > bars[k]:
                    return i
            elif not upper_value(frame, form, kind, k, x, z) < bars[k]:
                return i
        i += 1
    return i


@borrowing
def evidence(frame, form, kind, sign, x, y, z, error, nearer, farther):
    """Coefficients whose positivity proves (x, y) nearer, respectively farther, than (x, z).

    Returns a bound of their absolute values.
    """
    largest = 0.0
    for k in range(nearer.size):
        low_y = lower_value(frame, form, kind, k, x, y) * (1.0 - error)
        high_y = upper_value(frame, form, kind, k, x, y) * (1.0 + error)
        low_z = lower_value(frame, form, kind, k, x, z) * (1.0 - error)
        high_z = upper_value(frame, form, kind, k, x, z) * (1.0 + error)
        largest = max(largest, high_y + high_z)
        guard = 4.0 * UNIT * (high_y + high_z)
        if sign > 0:
            nearer[k] = low_z - high_y - guard
            farther[k] = low_y - high_z - guard
        else:
            nearer[k] = low_y - high_z - guard
            farther[k] = low_z - high_y - guard
    return largest


@borrowing
def narrow_evidence(nearer, farther, largest, window, work):
    """Restrict the evidence to a part of the frame's interval (``window``: see `restriction`).

    The entries of the window have at most 42 roundings each and add up to 1 per column, products
    and sums have 15 more: 64 UNIT times the largest coefficient bound the error.
    """
    guard = 64.0 * UNIT * largest
    for side in range(2):
        coefficients = nearer if side == 0 else farther
        transform_record(coefficients, 0, window, work, 0, 0)
        for k in range(DEGREE):
            coefficients[k] = work[k] - guard


@borrowing
def verdict(nearer, farther):
    """Say what the evidence proves.

    Returns NEARER or FARTHER if proved, CROSSING if it is mixed, and TOO_WIDE if nothing at all
    can be told apart.
    """
    all_nearer = True
    all_farther = True
    nothing = True
    for k in range(nearer.size):
        all_nearer = all_nearer and nearer[k] > 0.0
        all_farther = all_farther and farther[k] > 0.0
        nothing = nothing and not (nearer[k] > 0.0 or farther[k] > 0.0)
    if all_nearer:
        return NEARER
    if all_farther:
        return FARTHER
    return TOO_WIDE if nothing else CROSSING


@borrowing
def _value(coefficients, u, work):
    degree = coefficients.size
    for k in range(degree):
        work[k] = coefficients[k]
    for r in range(1, degree):
        for k in range(degree - r):
            work[k] = (1.0 - u) * work[k] + u * work[k + 1]
    return work[0]


@borrowing
def positive(coefficients, low, high, depth, stack):
    """Is the polynomial proved positive on [low, high] of [0, 1]? Subdivides up to ``depth``."""
    degree = coefficients.size
    if low >= high:
        return low > high or _value(coefficients, low, stack[0]) > 0.0
    top = stack[0]
    for k in range(degree):
        top[k] = coefficients[k]
    if high < 1.0:
        for r in range(1, degree):
            for k in range(degree - 1, r - 1, -1):
                top[k] = (1.0 - high) * top[k - 1] + high * top[k]
    if low > 0.0:
        u = low / high
        for r in range(1, degree):
            for k in range(degree - r):
                top[k] = (1.0 - u) * top[k] + u * top[k + 1]
    n = 1
    level = stack[:, degree]
    level[0] = 0.0
    while n > 0:
        row = stack[n - 1]
        if row[0] <= 0.0 or row[degree - 1] <= 0.0:
            return False
        proved = True
        for k in range(degree):
            if row[k] <= 0.0:
                proved = False
        if proved:
            n -= 1
            continue
        if level[n - 1] == depth:
            return False
        level[n - 1] += 1.0
        level[n] = level[n - 1]
        right = stack[n]
        for k in range(degree):
            right[k] = row[k]
        for r in range(1, degree):
            for k in range(degree - r):
                right[k] = 0.5 * (right[k] + right[k + 1])
        for r in range(1, degree):
            for k in range(degree - 1, r - 1, -1):
                row[k] = 0.5 * (row[k - 1] + row[k])
        n += 1
    return True


@borrowing
def sign_at_end(nearer, farther, k):
    """Order that coefficient k of the evidence proves: 1, -1, or 0 if none."""
    if nearer[k] > 0.0:
        return 1
    if farther[k] > 0.0:
        return -1
    return 0


@borrowing
def locate(nearer, farther, zone, stack):
    """Decide the order on [0, 1] from the evidence, or find the zone where it changes.

    Returns a code; for CROSSING, ``zone`` becomes (low, high, order left of it, order right).
    """
    degree = nearer.size
    depth = stack.shape[0] - 2
    left = sign_at_end(nearer, farther, 0)
    right = sign_at_end(nearer, farther, degree - 1)
    if left == 0 and right == 0:
        return TOO_WIDE
    if left == right:
        evidence = nearer if left > 0 else farther
        if positive(evidence, 0.0, 1.0, depth, stack):
            return NEARER if left > 0 else FARTHER
        return TOO_WIDE
    on_left = nearer if left > 0 else farther
    on_right = nearer if right > 0 else farther
    if left != 0 and right != 0:
        low = _last_positive(on_left, stack[0])
        high = 1.0 - _last_positive(on_right[::-1], stack[0])
    elif left != 0:
        low = _last_positive(on_left, stack[0])
        high = 1.0
    else:
        low = 0.0
        high = 1.0 - _last_positive(on_right[::-1], stack[0])
    if low > high:
        low, high = high, low
    margin = max(high - low, 4.0 * UNIT)
    for _ in range(4):
        new_low = max(0.0, low - margin) if left != 0 else 0.0
        new_high = min(1.0, high + margin) if right != 0 else 1.0
        if (left == 0 or positive(on_left, 0.0, new_low, depth, stack)) and (
            right == 0 or positive(on_right, new_high, 1.0, depth, stack)
        ):
            zone[0] = new_low
            zone[1] = new_high
            zone[2] = left if left != 0 else -right
            zone[3] = right if right != 0 else -left
            return CROSSING
        margin *= 8.0
    return TOO_WIDE


@borrowing
def _last_positive(coefficients, scaled):
    """Return a point near the end of the stretch from 0 where the polynomial is positive.

    ``scaled`` is work space.
    """
    top = coefficients.size - 1
    at_low = coefficients[0]
    at_high = coefficients[top]
    if at_high > 0.0:
        return 1.0
    choices = 1.0
    for k in range(top + 1):
        scaled[k] = choices * coefficients[k]
        choices *= (top - k) / (k + 1.0)
    low = 0.0
    high = 1.0
    side = 0
    noise = 4.0 * UNIT * (at_low - at_high)
    for _ in range(60):
        if high - low < 1e-15:
            break
        u = (low * at_high - high * at_low) / (at_high - at_low)
        if not low < u < high:
            u = 0.5 * (low + high)
        value = _scaled_value(scaled, top, u)
        if abs(value) <= noise:
            return u
        if value > 0.0:
            step = u - low
            low = u
            at_low = value
            if side == 1:
                at_high *= 0.5
            side = 1
        else:
            step = high - u
            high = u
            at_high = value
            if side == -1:
                at_low *= 0.5
            side = -1
        if step < 1e-13:
            break
    return low


@borrowing
def _scaled_value(scaled, top, u):
    """Polynomial at u, from Bernstein coefficients times binomial ones, by Horner's rule."""
    rest = 1.0 - u
    value = 0.0
    power = 1.0
    if u <= rest:
        ratio = u / rest
        for k in range(top, -1, -1):
            value = value * ratio + scaled[k]
        for _ in range(top):
            power *= rest
    else:
        ratio = rest / u
        for k in range(top + 1):
            value = value * ratio + scaled[k]
        for _ in range(top):
            power *= u
    return value * power
