"""Exponential weights over an interval, in a search tree that never touches all of its pieces.

The density is proportional to exp(rate * f) for a step function f that grows by one utility
function a round.  f is stored by its jumps: adding a function of k steps inserts or changes k
jumps.  A node of the treap (binary search tree by position, heap by a hash of the node number)
keeps, for its subtree,

* ``TOTAL``: the sum of its jumps,
* ``TOP``: the largest prefix sum S of its jumps,
* ``MASS``: the sum of width * exp(rate * (S - TOP)) over its pieces,

so that a subtree is moved up or down by what stands left of it without being visited.  An insertion
costs O(log n) expected, and no number overflows because masses are relative to the largest weight.

Rows of ``nodes`` are the columns below; row 0 is the left end of the domain.  ``links`` holds the
left and right child, -1 for none, and ``shape`` the root and the number of nodes.
"""

import numpy as np
from numba import njit

POSITION, WIDTH, JUMP, TOTAL, TOP, MASS = range(6)
COLUMNS = 6
# A treap of n nodes is deeper than this with a probability below n * 2**-100 for every n < 2**31.
DEEPEST = 400


@njit(cache=True, nogil=True)
def _priority(node):
    """Hash a node number (splitmix64): the same tree for the same insertions, on any machine."""
    z = np.uint64(node) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@njit(cache=True, nogil=True)
def _refresh(nodes, links, node, rate):
    """Recompute what a node says about its subtree from its children."""
    left, right = links[node, 0], links[node, 1]
    before = nodes[left, TOTAL] if left >= 0 else 0.0
    here = before + nodes[node, JUMP]
    total, top = here, here
    if left >= 0 and nodes[left, TOP] > top:
        top = nodes[left, TOP]
    if right >= 0:
        total += nodes[right, TOTAL]
        if here + nodes[right, TOP] > top:
            top = here + nodes[right, TOP]
    mass = nodes[node, WIDTH] * np.exp(rate * (here - top))
    if left >= 0:
        mass += nodes[left, MASS] * np.exp(rate * (nodes[left, TOP] - top))
    if right >= 0:
        mass += nodes[right, MASS] * np.exp(rate * (here + nodes[right, TOP] - top))
    nodes[node, TOTAL] = total
    nodes[node, TOP] = top
    nodes[node, MASS] = mass


@njit(cache=True, nogil=True)
def refresh_all(nodes, links, shape, rate):
    """Recompute all sums, children first, after a change of the rate. O(n)."""
    pending = np.empty(2 * DEEPEST, dtype=np.int64)
    pending[0] = shape[0]
    size = 1
    while size > 0:
        node = pending[size - 1]
        if node >= 0:
            # A node is met twice: marked on the way down, computed on the way up.
            pending[size - 1] = -node - 1
            for side in range(2):
                if links[node, side] >= 0:
                    pending[size] = links[node, side]
                    size += 1
        else:
            _refresh(nodes, links, -node - 1, rate)
            size -= 1


@njit(cache=True, nogil=True)
def _insert(nodes, links, shape, rate, position, jump, path):
    """Add a jump at a position, by a new node or to the one that is there. O(log n)."""
    depth, node = 0, shape[0]
    before, after = -1, -1
    while node >= 0:
        path[depth] = node
        depth += 1
        if position == nodes[node, POSITION]:
            nodes[node, JUMP] += jump
            for level in range(depth - 1, -1, -1):
                _refresh(nodes, links, path[level], rate)
            return
        if position < nodes[node, POSITION]:
            after = node
            node = links[node, 0]
        else:
            before = node
            node = links[node, 1]
    new = shape[1]
    shape[1] += 1
    # Row 0 lies at the left end and is before every other position.
    end = nodes[before, POSITION] + nodes[before, WIDTH]
    if after >= 0:
        end = nodes[after, POSITION]
    nodes[new, POSITION] = position
    nodes[new, WIDTH] = max(end - position, 0.0)
    nodes[before, WIDTH] = position - nodes[before, POSITION]
    nodes[new, JUMP] = jump
    links[new, 0] = links[new, 1] = -1
    priority = _priority(new)
    while depth > 0 and _priority(path[depth - 1]) < priority:
        parent = path[depth - 1]
        depth -= 1
        if position < nodes[parent, POSITION]:
            links[parent, 0] = links[new, 1]
            links[new, 1] = parent
        else:
            links[parent, 1] = links[new, 0]
            links[new, 0] = parent
        _refresh(nodes, links, parent, rate)
    _refresh(nodes, links, new, rate)
    if depth == 0:
        shape[0] = new
    else:
        parent = path[depth - 1]
        links[parent, 0 if position < nodes[parent, POSITION] else 1] = new
    for level in range(depth - 1, -1, -1):
        _refresh(nodes, links, path[level], rate)


@njit(cache=True, nogil=True)
def add_steps(nodes, links, shape, rate, edges, values):
    """Add a step function: values[0] from the left end on, values[i] from edges[i - 1] on.

    There must be room for as many nodes as there are edges. O(k log n) for k edges.
    """
    path = np.empty(DEEPEST, dtype=np.int64)
    _insert(nodes, links, shape, rate, nodes[0, POSITION], values[0], path)
    for i in range(edges.size):
        jump = values[i + 1] - values[i]
        if jump != 0.0:
            _insert(nodes, links, shape, rate, edges[i], jump, path)


@njit(cache=True, nogil=True)
def _mass_before(nodes, links, shape, rate, position):
    """Mass left of a position, relative to the largest weight of all. O(log n)."""
    node = shape[0]
    top = nodes[node, TOP]
    mass, prefix, beyond = 0.0, 0.0, 0.0
    while node >= 0:
        left = links[node, 0]
        here = prefix + nodes[node, JUMP]
        if left >= 0:
            here += nodes[left, TOTAL]
        if nodes[node, POSITION] < position:
            if left >= 0:
                mass += nodes[left, MASS] * np.exp(rate * (prefix + nodes[left, TOP] - top))
            weight = np.exp(rate * (here - top))
            mass += nodes[node, WIDTH] * weight
            beyond = max(nodes[node, POSITION] + nodes[node, WIDTH] - position, 0.0) * weight
            prefix = here
            node = links[node, 1]
        else:
            node = left
    return max(mass - beyond, 0.0)


@njit(cache=True, nogil=True)
def cell_masses(nodes, links, shape, rate, edges):
    """Masses of the cells between the edges, relative to the largest weight. O(k log n)."""
    masses = np.empty(edges.size + 1)
    done = 0.0
    for i in range(edges.size):
        mass = _mass_before(nodes, links, shape, rate, edges[i])
        masses[i] = max(mass - done, 0.0)
        done = max(mass, done)
    masses[edges.size] = max(nodes[shape[0], MASS] - done, 0.0)
    return masses


@njit(cache=True, nogil=True)
def take_in(nodes, links, shape, rate, edges, lower, upper):
    """Integrate the bounds of a step function against the weights, then add its middle.

    Returns the two integrals, divided by the mass of all. O(k log n).
    """
    low, high = 0.0, 0.0
    masses = cell_masses(nodes, links, shape, rate, edges)
    for i in range(masses.size):
        low += masses[i] * lower[i]
        high += masses[i] * upper[i]
    total = nodes[shape[0], MASS]
    add_steps(nodes, links, shape, rate, edges, 0.5 * (lower + upper))
    return low / total, high / total


@njit(cache=True, nogil=True)
def draw(nodes, links, shape, rate, which, where):
    """Return the point of the piece at quantile `which`, at the share `where` of its width.

    Both are uniform in [0, 1). O(log n).
    """
    node, share = shape[0], which
    while True:
        left, right = links[node, 0], links[node, 1]
        here = nodes[node, JUMP]
        if left >= 0:
            here += nodes[left, TOTAL]
        top = nodes[node, TOP]
        own = nodes[node, WIDTH] * np.exp(rate * (here - top))
        first = 0.0
        if left >= 0:
            first = nodes[left, MASS] * np.exp(rate * (nodes[left, TOP] - top))
        last = 0.0
        if right >= 0:
            last = nodes[right, MASS] * np.exp(rate * (here + nodes[right, TOP] - top))
        target = share * (first + own + last)
        if target < first:
            node, share = left, target / first
        elif target < first + own or last == 0.0:
            return nodes[node, POSITION] + where * nodes[node, WIDTH]
        else:
            node, share = right, (target - first - own) / last


@njit(cache=True, nogil=True)
def pieces(nodes, links, shape):
    """Return the positions and values of the step function from left to right. O(n)."""
    positions, values = np.empty(shape[1]), np.empty(shape[1])
    pending = np.empty(DEEPEST, dtype=np.int64)
    size, count, node, value = 0, 0, shape[0], 0.0
    while size > 0 or node >= 0:
        while node >= 0:
            pending[size] = node
            size += 1
            node = links[node, 0]
        size -= 1
        node = pending[size]
        value += nodes[node, JUMP]
        positions[count] = nodes[node, POSITION]
        values[count] = value
        count += 1
        node = links[node, 1]
    return positions, values
