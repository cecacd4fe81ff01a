"""Walks over the graph of subexpressions, and an order of expressions that never changes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from certune.pfaffian.expressions.expression import Expression


def postorder(roots: Iterable[Expression]) -> list[Expression]:
    """Return all subexpressions, arguments before what they are used in, each once. O(size)."""
    order: list[Expression] = []
    done: set[int] = set()  # by address, which is quicker than a hash: all are alive
    stack = [(root, False) for root in reversed(list(roots))]
    while stack:
        node, ready = stack.pop()
        if ready:
            order.append(node)
        elif id(node) not in done:
            done.add(id(node))
            stack.append((node, True))
            stack.extend((argument, False) for argument in reversed(node.arguments))
    return order


def structural_key(node: Expression) -> tuple[int, str]:
    """Return a key that orders expressions the same way in every process.

    Parameters come first, by name, then functions and constants by a hash of their structure.
    """
    if node.key is None:
        for item in postorder([node]):
            if item.key is None:
                item.key = _key(item)
    assert node.key is not None
    return node.key


def _key(item: Expression) -> tuple[int, str]:
    if item.name is not None:
        return 0, item.name
    content = [str(item.value) if item.operation is None else item.operation.name]
    content += [repr(argument.key) for argument in item.arguments]
    digest = hashlib.blake2b("|".join(content).encode(), digest_size=16).hexdigest()
    return (1 if item.parameters else 2), digest
