"""Costs of clusters seen before: along a sweep most trees share most of their clusters.

The cost of a union takes the product of the two sizes, looking it up takes their sum.  Entries
are found by a hash of the member set and checked member by member, so a result never depends on
luck.  The memory is one flat array: the numbers used, the cells (a power of 2), the cells with
offsets of entries, then entries ``hash, size, cost, pair sum, size members, size point sums``.
"""

from __future__ import annotations

import numpy as np

from certune.kernels.borrowing import borrowing
from certune.kernels.linking import linked
from certune.kernels.pruning import merged_cost

LARGEST_MEMORY = 1 << 22  # numbers; what does not fit is computed again


@linked
def point_hashes(n_nodes, n):
    """Hash of every point; a node has the sum of the hashes of its members."""
    hashes = np.zeros(n_nodes, np.int64)
    state = np.uint64(0x9E3779B97F4A7C15)
    for p in range(n):
        state += np.uint64(0x9E3779B97F4A7C15)
        x = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        hashes[p] = np.int64((x ^ (x >> np.uint64(31))) >> np.uint64(1))
    return hashes


@linked
def new_memory(n):
    """Make an empty memory for n points."""
    cells = 1024
    while cells < 16 * n:
        cells *= 2
    memory = np.empty(min(LARGEST_MEMORY, 2 + cells + 64 * n * n), np.int64)
    memory[: 2 + cells] = 0
    memory[0] = 2 + cells
    memory[1] = cells
    return memory


@borrowing
def recalled_cost(
    objective,
    reference,
    head,
    tail,
    nxt,
    size,
    a,
    b,
    point_sum,
    pair_sum,
    scratch,
    hashes,
    node,
    memory,
):
    """`pruning.merged_cost` with a memory; ``node`` is the union, whose hash is filled."""
    code = hashes[a] + hashes[b]
    hashes[node] = code
    count = size[a] + size[b]
    if size[a] * size[b] <= 4 * count:
        return merged_cost(
            objective, reference, head, tail, nxt, size, a, b, point_sum, pair_sum, scratch
        )
    mask = memory[1] - 1
    cell = 2 + (code & mask)
    probes = 0
    while memory[cell] != 0 and probes < 16:
        entry = memory[cell]
        if memory[entry] == code and memory[entry + 1] == count:
            members = memory[entry + 4 : entry + 4 + count]
            if _same_members(members, a, b, head, tail, nxt, size, scratch):
                sums = memory[entry + 4 + count : entry + 4 + 2 * count]
                for i in range(count):
                    point_sum[members[i]] = sums[i]
                return memory[entry + 2], memory[entry + 3]
        cell = 2 + ((cell - 1) & mask)
        probes += 1
    cost, total = merged_cost(
        objective, reference, head, tail, nxt, size, a, b, point_sum, pair_sum, scratch
    )
    entry = memory[0]
    if probes < 16 and entry + 4 + 2 * count <= memory.size:
        memory[0] = entry + 4 + 2 * count
        memory[cell] = entry
        memory[entry] = code
        memory[entry + 1] = count
        memory[entry + 2] = cost
        memory[entry + 3] = total
        i = entry + 4
        for part in (a, b):
            p = head[part]
            while True:
                memory[i] = p
                memory[i + count] = point_sum[p]
                i += 1
                if p == tail[part]:
                    break
                p = nxt[p]
    return cost, total


@borrowing
def _same_members(members, a, b, head, tail, nxt, size, scratch):
    """Are these the members of a and b? Equal sizes are known; marks the members in ``scratch``."""
    for i in range(members.size):
        scratch[members[i]] = -1
    found = 0
    for part in (a, b):
        p = head[part]
        while True:
            if scratch[p] == -1:
                scratch[p] = 0
                found += 1
            if p == tail[part]:
                break
            p = nxt[p]
    return found == members.size
