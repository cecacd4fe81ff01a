"""What `certune.kernels.kinetic` carries along: the tree, its proofs, records and work space."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from certune.kernels.certificates import Desk
from certune.kernels.meetings import Meetings
from certune.kernels.search_state import Pairs

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]


class Source(NamedTuple):
    """What the records of a panel are built from."""

    kind: int
    form: int
    pairs: Pairs
    offset: float
    span: float
    labels: Integers
    sizes: Floats  # of the first clusters
    smallest: float
    largest: float
    frame: Floats  # for ENDS: their logarithms, and values at the ends of the panel


class Records(NamedTuple):
    """Records of pairs of nodes: that of a and b starts at ``8 key_of(a, b)``."""

    flat: Floats
    bits: Integers
    known: NDArray[np.uint8]  # is the record of the pair filled?
    width: int
    ordered: bool
    # In dense panels: nodes with which a node has filled records, as far as there is room.
    partners: Integers
    n_partners: Integers
    # In dense panels: keys at both ends of the panel of the nodes in slots a and b, at
    # ``2 (a width + b)``.  Those of all nodes that the tree has at the same time are filled.
    chords: NDArray[np.float32]
    slots: Integers  # of nodes
    node_at: Integers  # node of a slot
    sums: Floats  # work space for one record
    chord_bits: Integers  # the same, both ends as one integer


class Forest(NamedTuple):
    """The tree that is followed; nodes below ``n_first`` are the clusters it starts from."""

    n_first: int
    left: Integers
    right: Integers
    size: Integers
    highest: Integers
    hashes: Integers
    members: Integers  # (nodes, points)
    order: Integers  # nodes in the order in which they are made
    stage: Integers  # place of a node in it, -1 for the first clusters
    until: Integers  # stage at which the node is merged
    version: Integers  # changes when a node gets other members
    spare: Integers  # nodes not in use, the number of them last
    first: Integers  # first cluster of a point


class Proofs(NamedTuple):
    """Until when the merge that makes a node is proved."""

    low: Floats  # zone of the first failure, infinite if there is none
    high: Floats
    second: Floats  # where the next failure may begin
    code: Integers  # FAILS, AGAIN or LOCATED
    row: Integers  # the cluster whose nearest changes
    rival: Integers
    rival_version: Integers


class Costs(NamedTuple):
    """Costs of nodes and their best prunings; see `certune.kernels.pruning`."""

    objective: int
    k: int
    cost: Integers
    pair_sum: Integers  # k-means only
    sums: Integers  # (nodes, points): of distances of the members; k-center: the largest of them
    table: Integers
    split: Integers


class Work(NamedTuple):
    """State of one repair."""

    alive: Integers
    place: Integers  # of a node in alive, -1
    n_alive: Integers
    fresh: Integers  # clusters that the old tree does not have at this stage
    n_fresh: Integers
    is_fresh: Flags
    early: Integers  # clusters that the old tree makes later
    n_early: Integers
    is_early: Flags
    nearest: Integers
    bars: Floats  # see `chords.set_bars`
    depth: Integers  # of nodes, and the largest last: merges behind their chords
    absent: NDArray[np.float32]  # per slot: infinite if its node is not alive, else 0
    crowd: Integers  # alive nodes per block of slots
    formed: Flags
    queue: Integers  # the old merges
    codes: Integers  # and their hashes
    stack: Integers
    basis: Floats
    values: Floats
    exponents: Integers
    found: Floats  # low, high, second of the proof under way
    found_at: Integers  # code, row, rival
    forced: Integers  # row, near, rival of the last change (-1: none), sum of their versions
    forced_codes: Integers  # for min-max, of both pairs of that change
    n_wrong: Integers  # guesses that were wrong
    changed: Flags  # has the node other children now?
    born: Flags  # has it other members?
    dropped: Flags  # does the old node not come about any more?
    zone: Floats  # end of the zone of that change; end of what is unclear
    doubtful: Integers  # (doubtful, 2): row, rival
    bounds: Floats  # (candidates, 2): where they may fail first
    candidates: Integers  # (candidates, 4): row, rival, code, how well the failure is located
    mark: Integers  # per point
    heights: Floats  # of nodes
    marks: NDArray[np.uint8]  # per point
    near: Integers  # the two clusters of the proof under way


class Merging(NamedTuple):
    """What decides ties: the codes of all pairs of points, and lists to hand them over."""

    codes: NDArray[np.uint64]
    marks: Integers
    size: Integers
    head: Integers
    tail: Integers
    nxt: Integers


class State(NamedTuple):
    """All that a repair reads and changes."""

    pairs: Pairs
    records: Records
    forest: Forest
    merging: Merging
    desk: Desk
    work: Work
    proofs: Proofs
    meetings: Meetings
