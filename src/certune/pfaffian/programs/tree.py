"""Computation trees of programs.

A tree T(x, r) has a comparison at each inner node and a value at each leaf.  It is kept as a flat
list of nodes, because the trees of programs with long loops are deep.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from certune.pfaffian.expressions.expression import Expression
from certune.pfaffian.programs.decisions import Relation


class Condition(NamedTuple):
    """A comparison on a path: predicate number, relation to 0, and whether it holds."""

    predicate: int
    relation: Relation
    holds: bool


@dataclass(frozen=True)
class Path:
    """One way through a program.

    Parameters
    ----------
    conditions : tuple of Condition
        Its branches from the root on; comparisons with one possible outcome are left out.
    value : Expression
        What the program returns.
    witness : dict of name to Fraction or None
        A point of the domain proved to take this path; None if the path could neither be proved
        reachable nor unreachable.
    """

    conditions: tuple[Condition, ...]
    value: Expression
    witness: dict[str, object] | None

    @property
    def is_reachable(self) -> bool | None:
        """True if proved reachable, None if that is open."""
        return True if self.witness is not None else None


@dataclass(frozen=True)
class Node:
    """A node of a tree: a comparison with two children, or a leaf with a value.

    Parameters
    ----------
    predicate : int or None
        Number of the predicate; None for leaves.
    relation : Relation or None
        Its relation to 0.
    if_true, if_false : int or None
        Numbers of the child nodes; None for leaves and where a trace was cut off.
    value : Expression or None
        Value of a leaf.
    """

    predicate: int | None = None
    relation: Relation | None = None
    if_true: int | None = None
    if_false: int | None = None
    value: Expression | None = None


@dataclass(frozen=True)
class Tree:
    """A computation tree; node 0 is the root.

    Parameters
    ----------
    nodes : tuple of Node
        The nodes, children after their parents.
    predicates : tuple of Expression
        The functions that the inner nodes compare with 0.
    """

    nodes: tuple[Node, ...]
    predicates: tuple[Expression, ...]

    @classmethod
    def of_paths(cls, paths: Sequence[Path], predicates: tuple[Expression, ...]) -> Tree:
        """Join paths that share their first conditions."""
        nodes: list[Node] = [Node()]
        for path in paths:
            position = 0
            for condition in path.conditions:
                node = nodes[position]
                child = node.if_true if condition.holds else node.if_false
                if child is None:
                    child = len(nodes)
                    nodes.append(Node())
                side = (child, node.if_false) if condition.holds else (node.if_true, child)
                nodes[position] = Node(condition.predicate, condition.relation, *side)
                position = child
            nodes[position] = Node(value=path.value)
        return cls(tuple(nodes), predicates)

    @property
    def depth(self) -> int:
        """Largest number of comparisons on a path."""
        return max((depth for depth, _, _ in self.walk()), default=0)

    def walk(self) -> Iterator[tuple[int, str, Node | None]]:
        """Yield (depth, label of the edge, node) in depth-first order, None where cut off."""
        stack: list[tuple[int, str, int | None]] = [(0, "", 0)]
        while stack:
            depth, label, number = stack.pop()
            node = None if number is None else self.nodes[number]
            yield depth, label, node
            if node is not None and node.predicate is not None:
                stack.append((depth + 1, "no", node.if_false))
                stack.append((depth + 1, "yes", node.if_true))

    def label(self, node: Node | None) -> str:
        """Return what is written on a node."""
        if node is None:
            return "..."
        if node.predicate is None:
            return f"return {node.value}"
        assert node.relation is not None
        return f"{self.predicates[node.predicate]} {node.relation.symbol} 0?"

    def to_text(self) -> str:
        """Return the tree as indented text."""
        return "\n".join(
            "  " * depth + (f"{edge}: " if edge else "") + self.label(node)
            for depth, edge, node in self.walk()
        )
