"""Records of pairs of nodes of a tree: filled from those of their parts when they are needed."""

from __future__ import annotations

from certune.kernels.borrowing import borrowing
from certune.kernels.ends import union_of_ends
from certune.kernels.frames import AVERAGE
from certune.kernels.records import blend_records
from certune.kernels.series import DEGREE


@borrowing
def place_of(records, a, b):
    """Where the record of two nodes starts."""
    return 8 * (a * records.width + b if a < b else b * records.width + a)


@borrowing
def combine(panel, records, at_a, at_b, weight_a, weight_b, at):
    """Record of a union with a third cluster from those of its parts."""
    flat = records.flat
    if panel.form == AVERAGE:
        blend_records(flat, at_a, at_b, weight_a, weight_b, flat, at, at)
    else:
        union_of_ends(flat, records.bits, records.ordered, panel.error, at_a, at_b, at, at)


@borrowing
def ensure(panel, records, forest, a, b, stack):
    """Fill the record of two disjoint nodes, from those of their parts."""
    width = records.width
    known = records.known
    key = a * width + b if a < b else b * width + a
    if known[key]:
        return 8 * key
    stack[0] = a
    stack[1] = b
    depth = 1
    while depth > 0:
        a = stack[2 * depth - 2]
        b = stack[2 * depth - 1]
        if forest.stage[a] < forest.stage[b]:
            a, b = b, a
        ready = True
        for side in range(2):
            part = forest.left[a] if side == 0 else forest.right[a]
            other = part * width + b if part < b else b * width + part
            if not known[other]:
                stack[2 * depth] = part
                stack[2 * depth + 1] = b
                depth += 1
                ready = False
                break
        if ready:
            depth -= 1
            x = forest.left[a]
            y = forest.right[a]
            total = forest.size[a]
            place = a * width + b if a < b else b * width + a
            combine(
                panel,
                records,
                place_of(records, x, b),
                place_of(records, y, b),
                forest.size[x] / total,
                forest.size[y] / total,
                8 * place,
            )
            known[place] = 1
    return 8 * key


@borrowing
def set_chord(records, sign, a, b):
    """Fill the chord of two nodes from their record."""
    at = place_of(records, a, b)
    for key in (a * records.width + b, b * records.width + a):
        records.starts[key] = sign * records.flat[at]
        records.ends[key] = sign * records.flat[at + DEGREE - 1]
        records.has_chord[key] = 1


@borrowing
def blend_chords(records, node, p, q, weight_p, weight_q, others, n_others):
    """Fill the chords of a node with others from those of its parts, where these have some."""
    width = records.width
    starts = records.starts
    ends = records.ends
    has_chord = records.has_chord
    for i in range(n_others):
        c = others[i]
        at_p = p * width + c
        at_q = q * width + c
        if c == node or has_chord[at_p] == 0 or has_chord[at_q] == 0:
            continue
        here = node * width + c
        there = c * width + node
        start = weight_p * starts[at_p] + weight_q * starts[at_q]
        end = weight_p * ends[at_p] + weight_q * ends[at_q]
        starts[here] = start
        starts[there] = start
        ends[here] = end
        ends[there] = end
        has_chord[here] = 1
        has_chord[there] = 1


@borrowing
def forget(records, node, dense):
    """The records of a node are those of other members from now on."""
    width = records.width
    for other in range(node):
        records.known[other * width + node] = 0
    records.known[node * width + node + 1 : (node + 1) * width] = 0
    if dense:
        for other in range(width):
            records.has_chord[other * width + node] = 0
        records.has_chord[node * width : (node + 1) * width] = 0
