"""Chords of records, for panels so narrow that records are close to them.

The chord of a pair of clusters is the straight line between its values at both ends of the panel.
Chords of averages are averages of chords, and stay as close to the averages, relatively: two
numbers per pair decide most comparisons.

They are kept as *keys*: the value times the sign of the order, less the smallest of all these.
Keys are not negative, and smaller ones are nearer; single precision is enough for them, since what
all values have in common has been taken away.  The intrinsics below take sixteen pairs at once.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from certune.kernels.borrowing import borrowing
from certune.kernels.records import load, spread, store

ir = cgutils.ir
BLOCK_BITS = 4
BLOCK = 1 << BLOCK_BITS  # pairs
KEY_UNIT = 2.0**-24
LEAST_KEY = 2.0**-120  # more than keys lose where they underflow
_KEYS = ir.VectorType(ir.FloatType(), BLOCK)
_PAIRS = ir.VectorType(ir.FloatType(), 2 * BLOCK)
_BITS = ir.VectorType(ir.IntType(32), BLOCK)
_INDEX = ir.IntType(32)
_INFINITE = np.float32(np.inf)
_FARTHEST = int(_INFINITE.view(np.int32))  # bits of an infinite key


@borrowing
def set_bars(panel, bars, depth):
    """What a farther rival's key exceeds: a key times ``bars[0]`` plus ``bars[1]``.

    The keys of two nodes of that depth have one rounding at the start, three for each merge
    (weight, product, sum), and three at a share of the panel.
    """
    error = (6.0 * depth + 16.0) * KEY_UNIT
    rounding = (1.0 + error) / (1.0 - error) * (1.0 + 2.0**-20)
    bars[0] = panel.key_factor * rounding
    bars[1] = panel.key_offset * rounding + LEAST_KEY


def _both_ends(context, builder, kind, chords, at):
    """Sixteen keys at the start of the panel, and at its end."""
    pairs = load(context, builder, kind, chords, at, _PAIRS)
    return (
        builder.shuffle_vector(
            pairs,
            ir.Constant(_PAIRS, ir.Undefined),
            ir.Constant(_BITS, list(range(end, 2 * BLOCK, 2))),
        )
        for end in range(2)
    )


def _at_share(builder, start, end, rest, share, absent):
    line = builder.fadd(
        builder.fmul(spread(builder, rest, _KEYS), start),
        builder.fmul(spread(builder, share, _KEYS), end),
    )
    return builder.fadd(line, absent)


@intrinsic
def _near_ones(typing_context, chords, at, absent, c, rest, share, bar, end_bar):
    """Bits of those of sixteen rivals that do not clear both bars."""

    def generate(context, builder, signature, arguments):
        array, place, gone, first, r, s, bar_here, bar_there = arguments
        start, end = _both_ends(context, builder, signature.args[0], array, place)
        away = load(context, builder, signature.args[2], gone, first, _KEYS)
        here = _at_share(builder, start, end, r, s, away)
        there = builder.fadd(end, away)
        far = builder.and_(
            builder.fcmp_ordered(">", here, spread(builder, bar_here, _KEYS)),
            builder.fcmp_ordered(">", there, spread(builder, bar_there, _KEYS)),
        )
        near = builder.not_(builder.bitcast(far, ir.IntType(BLOCK)))
        return builder.zext(near, ir.IntType(64))

    i8, f4 = types.int64, types.float32
    return i8(chords, i8, absent, i8, f4, f4, f4, f4), generate


@intrinsic
def _nearest_slot(typing_context, chords, row, absent, crowd, rest, share):
    """Slot of the smallest key of a row at a share of the panel, looking at crowded blocks only.

    Keys have the order of their bits.  The slot is -1 if all keys are infinite.
    """

    def generate(context, builder, signature, arguments):
        array, start, gone, counts, r, s = arguments
        long = ir.IntType(64)
        least = cgutils.alloca_once_value(builder, ir.Constant(_BITS, [_FARTHEST] * BLOCK))
        found = cgutils.alloca_once_value(builder, ir.Constant(_BITS, [-1] * BLOCK))
        crowds = cgutils.create_struct_proxy(signature.args[3])(context, builder, counts)
        lanes = ir.Constant(_BITS, list(range(BLOCK)))
        with cgutils.for_range(builder, crowds.nitems) as loop:
            count = builder.load(builder.gep(crowds.data, [loop.index]))
            with builder.if_then(builder.icmp_signed(">", count, long(0))):
                slot = builder.shl(loop.index, long(BLOCK_BITS))
                place = builder.add(start, builder.shl(slot, long(1)))
                here, there = _both_ends(context, builder, signature.args[0], array, place)
                away = load(context, builder, signature.args[2], gone, slot, _KEYS)
                keys = builder.bitcast(_at_share(builder, here, there, r, s, away), _BITS)
                known = builder.load(least)
                nearer = builder.icmp_signed("<", keys, known)
                builder.store(builder.select(nearer, keys, known), least)
                slots = builder.add(spread(builder, builder.trunc(slot, _INDEX), _BITS), lanes)
                builder.store(builder.select(nearer, slots, builder.load(found)), found)
        known = builder.load(least)
        first = builder.icmp_signed("==", known, spread(builder, _least(builder, known), _BITS))
        none = ir.Constant(_BITS, [2**31 - 1] * BLOCK)
        chosen = _least(builder, builder.select(first, builder.load(found), none))
        return builder.sext(chosen, long)

    i8, f4 = types.int64, types.float32
    return i8(chords, i8, absent, crowd, f4, f4), generate


def _least(builder, bits):
    """Smallest lane of a vector."""
    function = cgutils.get_or_insert_function(
        builder.module, ir.FunctionType(_INDEX, [_BITS]), f"llvm.vector.reduce.smin.v{BLOCK}i32"
    )
    return builder.call(function, [bits])


@intrinsic
def _lowest_bit(typing_context, bits):
    """Place of the lowest bit that is set; there is one."""

    def generate(context, builder, signature, arguments):
        return builder.cttz(arguments[0], ir.IntType(1)(1))

    return types.int64(types.int64), generate


@intrinsic
def _blend(typing_context, chords, i, j, weight_i, weight_j, k):
    """Put the averages of sixteen numbers from i and from j on at k."""

    def generate(context, builder, signature, arguments):
        array, at_i, at_j, w_i, w_j, at_k = arguments
        kind = signature.args[0]
        total = builder.fadd(
            builder.fmul(
                spread(builder, w_i, _KEYS), load(context, builder, kind, array, at_i, _KEYS)
            ),
            builder.fmul(
                spread(builder, w_j, _KEYS), load(context, builder, kind, array, at_j, _KEYS)
            ),
        )
        store(context, builder, total, kind, array, at_k)
        return context.get_dummy_value()

    i8, f4 = types.int64, types.float32
    return types.void(chords, i8, i8, f4, f4, i8), generate


@borrowing
def nobody_alive(absent, crowd):
    """Empty all slots."""
    absent[:] = _INFINITE
    crowd[:] = 0


@borrowing
def set_alive(absent, crowd, slot):
    """The node of a slot is alive from now on."""
    absent[slot] = 0.0
    crowd[slot >> BLOCK_BITS] += 1


@borrowing
def set_dead(absent, crowd, slot):
    """The node of a slot is not alive any more."""
    absent[slot] = _INFINITE
    crowd[slot >> BLOCK_BITS] -= 1


@borrowing
def blend_row(records, crowd, node, p, q, weight_p, weight_q, alive, n_alive):
    """Fill the chords of a union of p and q with all that are alive."""
    weight_p = np.float32(weight_p)
    weight_q = np.float32(weight_q)
    chords = records.chords
    bits = records.chord_bits
    slots = records.slots
    width = records.width
    slot = slots[node]
    row = slot * width
    row_p = 2 * slots[p] * width
    row_q = 2 * slots[q] * width
    for block in range(crowd.size):
        if crowd[block] > 0:
            for at in range(2 * block * BLOCK, 2 * (block + 1) * BLOCK, BLOCK):
                _blend(chords, row_p + at, row_q + at, weight_p, weight_q, 2 * row + at)
    for i in range(n_alive):
        c = slots[alive[i]]
        bits[c * width + slot] = bits[row + c]


@borrowing
def blend_some(records, node, p, q, weight_p, weight_q, others, n_others):
    """Fill the chords of a union of p and q with some others."""
    weight_p = np.float32(weight_p)
    weight_q = np.float32(weight_q)
    chords = records.chords
    slots = records.slots
    width = records.width
    row = 2 * slots[node] * width
    row_p = 2 * slots[p] * width
    row_q = 2 * slots[q] * width
    for i in range(n_others):
        c = 2 * slots[others[i]]
        there = c * width + 2 * slots[node]
        for end in range(2):
            key = weight_p * chords[row_p + c + end] + weight_q * chords[row_q + c + end]
            chords[row + c + end] = key
            chords[there + end] = key


@borrowing
def chord_of(records, a, b):
    """Where the chord of two nodes starts."""
    return 2 * (records.slots[a] * records.width + records.slots[b])


@borrowing
def chord_at(records, a, b, share):
    """Key of two nodes on their chord, at a share of the panel."""
    at = chord_of(records, a, b)
    return (1.0 - share) * records.chords[at] + share * records.chords[at + 1]


@borrowing
def bars_of(records, bars, p, q, share):
    """What the keys of farther rivals exceed at a share of the panel, and at its end."""
    own = chord_of(records, p, q)
    start_bar = bars[0] * records.chords[own] + bars[1]
    end_bar = bars[0] * records.chords[own + 1] + bars[1]
    return (1.0 - share) * start_bar + share * end_bar, end_bar


@borrowing
def nearest_by_chords(records, absent, crowd, x, share):
    """Nearest alive node of x, which is alive, at a share of the panel."""
    slot = records.slots[x]
    row = 2 * slot * records.width
    absent[slot] = _INFINITE
    near = _nearest_slot(
        records.chords, row, absent, crowd, np.float32(1.0 - share), np.float32(share)
    )
    absent[slot] = 0.0
    return -1 if near < 0 else records.node_at[near]


@borrowing
def doubtful_chords(records, absent, crowd, bars, share, p, q, doubtful):
    """List the (row, rival) whose chord does not clear the bars from a share of the panel on.

    Rows are p and q; rivals are all others that are alive.
    """
    here, there = bars_of(records, bars, p, q, share)
    bar = np.float32(here)
    end_bar = np.float32(there)
    end = np.float32(share)
    start = np.float32(1.0 - share)
    chords = records.chords
    slots = records.slots
    width = records.width
    count = 0
    absent[slots[p]] = _INFINITE
    absent[slots[q]] = _INFINITE
    for block in range(crowd.size):
        if crowd[block] == 0:
            continue
        c = block * BLOCK
        for row in (p, q):
            at = 2 * (slots[row] * width + c)
            near = _near_ones(chords, at, absent, c, start, end, bar, end_bar)
            while near != 0:
                doubtful[count, 0] = row
                doubtful[count, 1] = records.node_at[c + _lowest_bit(near)]
                count += 1
                near &= near - 1
    absent[slots[p]] = 0.0
    absent[slots[q]] = 0.0
    return count


@borrowing
def doubtful_among(records, rivals, n_rivals, bars, share, p, q, doubtful):
    """Do the same for some rivals."""
    bar, end_bar = bars_of(records, bars, p, q, share)
    chords = records.chords
    count = 0
    rest = 1.0 - share
    for i in range(n_rivals):
        c = rivals[i]
        if c == p or c == q:
            continue
        for row in (p, q):
            at = chord_of(records, row, c)
            end = chords[at + 1]
            if not (rest * chords[at] + share * end > bar and end > end_bar):
                doubtful[count, 0] = row
                doubtful[count, 1] = c
                count += 1
    return count


@borrowing
def until_chord(panel, chords, bars, share, own, rival):
    """Until where the chord at ``rival`` is farther than that at ``own``, from a share on.

    Infinite if to the panel's end; -inf if not at the start.
    """
    first = chords[rival] - chords[own] * bars[0] - bars[1]
    there = chords[rival + 1] - chords[own + 1] * bars[0] - bars[1]
    here = (1.0 - share) * first + share * there
    if not here > 0.0:
        return -np.inf
    if there > 0.0:
        return np.inf
    part = share + (1.0 - share) * (here / (here - there)) * (1.0 - 2.0**-40)
    return panel.start + part * (panel.stop - panel.start)
