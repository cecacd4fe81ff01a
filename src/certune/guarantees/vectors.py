"""How many utility vectors does a sample have? The count in Massart's lemma.

Over all settings t, which are floats, the vectors (u_1(t), ..., u_N(t)) are finitely many. Where
functions are only bounded, in gaps with a float inside, the vector lies in a box; its corners are
counted in its place. Equal functions have equal entries, so that one of them is looked at. All
vectors then lie in the convex hull of those counted, and a convex hull has the Rademacher
complexity of its corners (``docs/theory/guarantees.md``).
"""

from __future__ import annotations

from itertools import product

from certune.guarantees.refinement import JointRefinement

# Boxes with more open functions than this count 2^k corners without looking for repetitions.
MOST_OPEN = 8


class _Vector:
    """A vector that knows a number of its own: equal contents, and only those, share it.

    The entries are the leaves of a binary tree. A node is numbered by the numbers of its two
    children, so that changing an entry renumbers the path to the root: O(log N).
    """

    def __init__(self, entries: list[int]) -> None:
        self._n_leaves = 1 << max(len(entries) - 1, 0).bit_length()
        self._numbers: dict[tuple[int, int], int] = {}
        self._nodes = [0] * self._n_leaves + entries + [0] * (self._n_leaves - len(entries))
        for node in range(self._n_leaves - 1, 0, -1):
            self._renumber(node)

    def _renumber(self, node: int) -> None:
        children = (self._nodes[2 * node], self._nodes[2 * node + 1])
        self._nodes[node] = self._numbers.setdefault(children, len(self._numbers))

    def __setitem__(self, index: int, entry: int) -> None:
        node = self._n_leaves + index
        if self._nodes[node] == entry:
            return
        self._nodes[node] = entry
        while node > 1:
            node //= 2
            self._renumber(node)

    @property
    def number(self) -> int:
        """Number of the whole vector; a single entry is its own number."""
        return self._nodes[1]


def count_utility_vectors(refinement: JointRefinement) -> int:
    """Return the number of distinct utility vectors of a sample, corners of open boxes included.

    It is an upper bound of the number over all floats t, and that number if no gap has a float
    inside.

    O(B log N) for B breakpoints of N functions, if not more than a few of them are open at the
    same place.

    Parameters
    ----------
    refinement : JointRefinement
        The utility functions of the sample.

    Returns
    -------
    int
        The number of points whose convex hull contains the utility vector of every setting.

    Examples
    --------
    >>> from certune.dual import PiecewiseFunction
    >>> from certune.guarantees.refinement import refine
    >>> step = PiecewiseFunction([0, 0.5], [0.25, 1], [1, 0], [0], [1], 1)
    >>> count_utility_vectors(refine([step, step * 2]))
    4
    """
    functions = refinement.distinct
    vector = _Vector([int(function.numerators[0]) for function in functions])
    seen, extra = {vector.number}, 0
    piece = [0] * len(functions)
    # A dict keeps the order of opening, so that corners are enumerated in a fixed order.
    opened: dict[int, tuple[int, int]] = {}
    state = 0
    for index, direction, complete in zip(
        *(array.tolist() for array in refinement.events), strict=True
    ):
        function = functions[index]
        if direction > 0:
            gap = piece[index]
            opened[index] = (int(function.gap_lower[gap]), int(function.gap_upper[gap]))
        else:
            piece[index] += 1
            del opened[index]
            vector[index] = int(function.numerators[piece[index]])
        if not complete:
            continue
        state += 1
        if not refinement.is_setting[state]:
            continue
        if len(opened) > MOST_OPEN:
            extra += 1 << len(opened)
            continue
        for corner in product(*opened.values()):
            for which, value in zip(opened, corner, strict=True):
                vector[which] = value
            seen.add(vector.number)
    return len(seen) + extra
