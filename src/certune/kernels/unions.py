"""Unions of two clusters in a repair: the node that a union becomes, and its records."""

from __future__ import annotations

from certune.kernels.borrowing import borrowing
from certune.kernels.chords import blend_row, blend_some, set_bars
from certune.kernels.pair_keys import key_of
from certune.kernels.tree_records import combine, forget


@borrowing
def _same_members(forest, work, p, q, node):
    """Has the node the members of p and q together? Equal sizes are known."""
    mark = work.mark
    members = forest.members
    for i in range(forest.size[node]):
        mark[members[node, i]] = 1
    found = 0
    for part in (p, q):
        for i in range(forest.size[part]):
            found += mark[members[part, i]]
    for i in range(forest.size[node]):
        mark[members[node, i]] = 0
    return found == forest.size[node]


@borrowing
def new_node(records, dense, forest, work, p, q, n_queue):
    """Node of the union of p and q, which is an old one if it has the same members.

    Returns the node, -1 if there is none left for it, and whether the old tree does not have it at
    this stage.
    """
    if forest.highest[p] > forest.highest[q]:
        p, q = q, p
    code = forest.hashes[p] + forest.hashes[q]
    size = forest.size[p] + forest.size[q]
    node = -1
    n_equal = 0
    for i in range(n_queue):
        n_equal += work.codes[i] == code
    for i in range(n_queue if n_equal > 0 else 0):
        if work.codes[i] == code:
            old = work.queue[i]
            # A node that was given other members has another hash by now.
            if not work.formed[old] and forest.hashes[old] == code and forest.size[old] == size:
                if _same_members(forest, work, p, q, old):
                    node = old
                    break
    is_new = node < 0
    if is_new:
        spare = forest.spare
        last = spare.size - 1
        if spare[last] > 0:
            spare[last] -= 1
            node = spare[spare[last]]
        else:
            for i in range(n_queue):
                old = work.queue[i]
                if not work.formed[old] and work.dropped[old]:
                    node = old
                    break
        if node < 0:
            return node, is_new
        forget(records, node, dense)
        forest.hashes[node] = code
        forest.size[node] = size
        forest.version[node] += 1
        members = forest.members[node]
        at = 0
        for part in (p, q):
            others = forest.members[part]
            for i in range(forest.size[part]):
                members[at + i] = others[i]
            at += forest.size[part]
        work.born[node] = True
    forest.left[node] = p
    forest.right[node] = q
    forest.highest[node] = forest.highest[q]
    work.changed[node] = True
    if not is_new:
        above = forest.until[node] - (forest.n_first - 1 - n_queue)
        is_new = above < n_queue and work.dropped[work.queue[above]]
        if not work.dropped[node]:
            work.is_early[node] = True
            work.early[work.n_early[0]] = node
            work.n_early[0] += 1
    return node, is_new


@borrowing
def _deepen(panel, work, node, p, q):
    """A node has chords blended from those of p and q; bars allow for the deepest of all."""
    work.depth[node] = max(work.depth[node], 1 + work.depth[p], 1 + work.depth[q])
    deepest = work.depth.size - 1
    if work.depth[node] > work.depth[deepest]:
        work.depth[deepest] = work.depth[node]
        set_bars(panel, work.bars, work.depth[node])


@borrowing
def fill_row(panel, records, forest, work, node, keep):
    """Fill the records of a node that was just made; in dense panels its chords instead.

    With ``keep`` it keeps those with clusters that are not alive, which the old tree has later.
    """
    p = forest.left[node]
    q = forest.right[node]
    total = forest.size[node]
    weight_p = forest.size[p] / total
    weight_q = forest.size[q] / total
    if panel.dense:
        if not keep:
            work.depth[node] = 0
        _deepen(panel, work, node, p, q)
        if keep:
            blend_some(records, node, p, q, weight_p, weight_q, work.alive, work.n_alive[0])
        else:
            blend_row(
                records, work.crowd, node, p, q, weight_p, weight_q, work.alive, work.n_alive[0]
            )
        return
    known = records.known
    for i in range(work.n_alive[0]):
        c = work.alive[i]
        if c == node:
            continue
        key = key_of(node, c)
        key_p = key_of(p, c)
        key_q = key_of(q, c)
        if not known[key] and known[key_p] and known[key_q]:
            combine(panel, records, 8 * key_p, 8 * key_q, weight_p, weight_q, 8 * key)
            known[key] = 1


@borrowing
def fill_fresh(panel, records, forest, work, node):
    """Fill the chords of a kept node with clusters that the old tree did not have beside it."""
    p = forest.left[node]
    q = forest.right[node]
    weight_p = forest.size[p] / forest.size[node]
    weight_q = forest.size[q] / forest.size[node]
    _deepen(panel, work, node, p, q)
    blend_some(records, node, p, q, weight_p, weight_q, work.fresh, work.n_fresh[0])
    blend_some(records, node, p, q, weight_p, weight_q, work.early, work.n_early[0])
