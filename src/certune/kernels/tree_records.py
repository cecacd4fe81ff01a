"""Records of pairs of nodes of a tree: filled from those of their parts when they are needed."""

from __future__ import annotations

from certune.kernels.borrowing import borrowing
from certune.kernels.ends import union_of_ends
from certune.kernels.frames import AVERAGE
from certune.kernels.records import LANES, add_records, blend_records


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
def _sum_up(records, forest, a, b, at, places):
    """Record of two nodes from those of their members: over those of one, then of the other."""
    flat = records.flat
    width = records.width
    sums = records.sums
    sums[:LANES] = 0.0
    for i in range(forest.size[a]):
        x = forest.first[forest.members[a, i]]
        for j in range(forest.size[b]):
            z = forest.first[forest.members[b, j]]
            places[j] = 8 * (x * width + z if x < z else z * width + x)
        sums[LANES:] = 0.0
        add_records(flat, places, forest.size[b], sums, LANES)
        blend_records(sums, 0, LANES, 1.0, 1.0, sums, 0, 0)
    share = 1.0 / (forest.size[a] * forest.size[b])
    blend_records(sums, 0, 0, share, 0.0, flat, at, at)


@borrowing
def ensure(panel, records, forest, a, b, stack):
    """Fill the record of two disjoint nodes, from those of their parts."""
    width = records.width
    known = records.known
    key = a * width + b if a < b else b * width + a
    if known[key]:
        return 8 * key
    if panel.dense:
        _sum_up(records, forest, a, b, 8 * key, stack)
        known[key] = 1
        records.has_known[a] = True
        records.has_known[b] = True
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
def forget(records, node, dense):
    """The records of a node are those of other members from now on."""
    width = records.width
    if dense and not records.has_known[node]:
        return
    records.has_known[node] = False
    for other in range(node):
        records.known[other * width + node] = 0
    records.known[node * width + node + 1 : (node + 1) * width] = 0
