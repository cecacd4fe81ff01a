"""Records of pairs of nodes of a tree: filled from those of their parts when they are needed."""

from __future__ import annotations

import numpy as np

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
            records.has_known[a] = True
            records.has_known[b] = True
    return 8 * key


@borrowing
def set_chord(records, sign, a, b):
    """Fill the chord of two nodes from their record."""
    at = place_of(records, a, b)
    for key in (a * records.width + b, b * records.width + a):
        records.chords[2 * key] = sign * records.flat[at]
        records.chords[2 * key + 1] = sign * records.flat[at + DEGREE - 1]


@borrowing
def on_chord(records, key, share):
    """Value of the chord of a pair at a share of the panel, NaN if it is not filled."""
    return (1.0 - share) * records.chords[2 * key] + share * records.chords[2 * key + 1]


@borrowing
def blend_chords(chords, width, node, p, q, weight_p, weight_q, others, n_others):
    """Fill the chords of a node with others from those of its parts, where these have some."""
    row = 2 * node * width
    row_p = 2 * p * width
    row_q = 2 * q * width
    for i in range(n_others):
        c = 2 * others[i]
        start = weight_p * chords[row_p + c] + weight_q * chords[row_q + c]
        end = weight_p * chords[row_p + c + 1] + weight_q * chords[row_q + c + 1]
        chords[row + c] = start
        chords[row + c + 1] = end
        there = c * width + 2 * node
        chords[there] = start
        chords[there + 1] = end


@borrowing
def forget(records, node, dense, filled):
    """The records of a node are those of other members from now on; ``filled`` is work space."""
    width = records.width
    if not dense or records.has_known[node]:
        records.has_known[node] = False
        for other in range(node):
            records.known[other * width + node] = 0
        records.known[node * width + node + 1 : (node + 1) * width] = 0
    if dense:
        chords = records.chords
        row = 2 * node * width
        count = 0
        for other in range(width):
            filled[count] = other
            count += not np.isnan(chords[row + 2 * other])
        for i in range(count):
            chords[row + 2 * filled[i]] = np.nan
            chords[2 * (filled[i] * width + node)] = np.nan
