"""Which clusters are alive at a stage of a repair, and which of them the old tree does not have.

Those are *fresh*.  Clusters that come about *early*, before the old tree makes them, need no
proofs of their own (averages of distances are not smaller than the least of them), but chords.
"""

from __future__ import annotations

from certune.kernels.borrowing import borrowing
from certune.kernels.chords import set_alive, set_dead


@borrowing
def enter(slots, work, node, fresh):
    """Add a node to the alive ones."""
    count = work.n_alive[0]
    work.alive[count] = node
    work.place[node] = count
    set_alive(work.absent, work.crowd, slots[node])
    work.n_alive[0] = count + 1
    if fresh:
        freshen(work, node)


@borrowing
def leave(slots, work, node):
    """Take a node out of the alive ones."""
    last = work.n_alive[0] - 1
    place = work.place[node]
    moved = work.alive[last]
    work.alive[place] = moved
    work.place[moved] = place
    work.place[node] = -1
    set_dead(work.absent, work.crowd, slots[node])
    work.n_alive[0] = last
    if work.is_fresh[node]:
        work.is_fresh[node] = False
        work.n_fresh[0] = _without(work.fresh, work.n_fresh[0], node)
    in_time(work, node)


@borrowing
def freshen(work, node):
    """Mark an alive node as one that the old tree does not have at this stage."""
    if not work.is_fresh[node]:
        work.is_fresh[node] = True
        work.fresh[work.n_fresh[0]] = node
        work.n_fresh[0] += 1
        work.nearest[node] = -1


@borrowing
def in_time(work, node):
    """The old tree has made a node by now."""
    if work.is_early[node]:
        work.is_early[node] = False
        work.n_early[0] = _without(work.early, work.n_early[0], node)


@borrowing
def _without(nodes, count, node):
    """Take a node out of a list; returns the new length."""
    kept = 0
    for i in range(count):
        if nodes[i] != node:
            nodes[kept] = nodes[i]
            kept += 1
    return kept
