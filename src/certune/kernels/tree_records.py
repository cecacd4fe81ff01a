"""Records of pairs of nodes of a tree: filled from those of their parts when they are needed."""

from __future__ import annotations

from certune.kernels.borrowing import borrowing
from certune.kernels.ends import union_of_ends
from certune.kernels.frames import AVERAGE
from certune.kernels.pair_keys import key_of
from certune.kernels.records import add_records, blend_records

FEW = 128  # pairs of members whose records are added up at once
PARTNERS = 64  # of a node that are remembered


@borrowing
def place_of(records, a, b):
    """Where the record of two nodes starts."""
    return 8 * key_of(a, b)


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
    """Record of two nodes from those of their members."""
    sums = records.sums
    count = 0
    for i in range(forest.size[a]):
        x = forest.first[forest.members[a, i]]
        for j in range(forest.size[b]):
            z = forest.first[forest.members[b, j]]
            places[count] = 8 * key_of(x, z)
            count += 1
    sums[:] = 0.0
    add_records(records.flat, places, count, sums, 0)
    blend_records(sums, 0, 0, 1.0 / count, 0.0, records.flat, at, at)


@borrowing
def _set_known(records, a, b):
    """The record of two nodes is filled in a dense panel."""
    records.known[key_of(a, b)] = 1
    for node, other in ((a, b), (b, a)):
        count = records.n_partners[node]
        if count < PARTNERS:
            records.partners[node, count] = other
        records.n_partners[node] = count + 1


@borrowing
def _ensure_dense(panel, records, forest, a, b, stack):
    """Fill a record from those of large parts that are known, and of few members at the end.

    What lies between is kept: parts last longer than the clusters that they make up.
    """
    known = records.known
    places = stack[stack.size - FEW :]
    stack[0] = a
    stack[1] = b
    depth = 1
    while depth > 0:
        a = stack[2 * depth - 2]
        b = stack[2 * depth - 1]
        place = key_of(a, b)
        if forest.size[a] * forest.size[b] <= FEW:
            _sum_up(records, forest, a, b, 8 * place, places)
            _set_known(records, a, b)
            depth -= 1
            continue
        if a < forest.n_first or (b >= forest.n_first and forest.size[a] < forest.size[b]):
            a, b = b, a
        x = forest.left[a]
        y = forest.right[a]
        key_x = key_of(x, b)
        key_y = key_of(y, b)
        if known[key_x] and known[key_y]:
            total = forest.size[a]
            combine(
                panel,
                records,
                8 * key_x,
                8 * key_y,
                forest.size[x] / total,
                forest.size[y] / total,
                8 * place,
            )
            _set_known(records, a, b)
            depth -= 1
            continue
        stack[2 * depth] = y if known[key_x] else x
        stack[2 * depth + 1] = b
        depth += 1


@borrowing
def ensure(panel, records, forest, a, b, stack):
    """Fill the record of two disjoint nodes, from those of their parts."""
    known = records.known
    key = key_of(a, b)
    if known[key]:
        return 8 * key
    if panel.dense:
        _ensure_dense(panel, records, forest, a, b, stack)
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
            other = key_of(part, b)
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
            place = key_of(a, b)
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
    known = records.known
    count = records.n_partners[node]
    if dense and count <= PARTNERS:
        for i in range(count):
            other = records.partners[node, i]
            known[key_of(other, node)] = 0
    else:
        known[key_of(node, 0) : key_of(node, 0) + node] = 0
        for other in range(node + 1, records.width):
            known[key_of(other, node)] = 0
    records.n_partners[node] = 0
