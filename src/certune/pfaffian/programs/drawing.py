"""Pictures of computation trees."""

from __future__ import annotations

from typing import Any

from certune.figures import save_figure
from certune.pfaffian.programs.tree import Tree

_LEAF_WIDTH = 2.3
_LEVEL_HEIGHT = 1.1
_LONGEST_LABEL = 40


def draw_tree(tree: Tree, path: Any = None) -> Any:
    """Draw a computation tree, the root on top; see `Trace.draw`."""
    from matplotlib.figure import Figure

    places = tree_layout(tree)
    n_leaves = sum(node.predicate is None for node in tree.nodes)
    size = (max(4.0, _LEAF_WIDTH * n_leaves), max(2.0, _LEVEL_HEIGHT * (tree.depth + 1)))
    figure = Figure(figsize=size, layout="tight")
    axes = figure.add_subplot()
    axes.set_axis_off()
    for number, node in enumerate(tree.nodes):
        x, y = places[number]
        for child, word in ((node.if_true, "yes"), (node.if_false, "no")):
            if child is not None:
                a, b = places[child]
                axes.plot([x, a], [y, b], color="0.6", linewidth=1, zorder=1)
                axes.text((x + a) / 2, (y + b) / 2, word, fontsize=7, color="0.35", ha="center")
        leaf = node.predicate is None
        label = str(node.value) if leaf else tree.label(node).rstrip("?")
        if len(label) > _LONGEST_LABEL:
            label = label[: _LONGEST_LABEL - 1] + "\N{HORIZONTAL ELLIPSIS}"
        style = {"boxstyle": "round" if leaf else "square"}
        colour = "#dcecd9" if leaf else "#dde6f3"
        axes.text(
            x,
            y,
            label,
            ha="center",
            va="center",
            fontsize=8,
            color="black",
            bbox={**style, "fc": colour},
        )
    axes.set_xlim(-0.7, max(place[0] for place in places) + 0.7)
    axes.set_ylim(-tree.depth - 0.5, 0.5)
    return save_figure(figure, path)


def tree_layout(tree: Tree) -> list[tuple[float, float]]:
    """Return a place for each node: leaves side by side, parents above the middle of theirs."""
    depths = [0] * len(tree.nodes)
    for number, node in enumerate(tree.nodes):
        for child in (node.if_true, node.if_false):
            if child is not None:
                depths[child] = depths[number] + 1
    spans: list[tuple[float, float]] = [(0.0, 0.0)] * len(tree.nodes)
    for position, number in enumerate(_leaves(tree)):
        spans[number] = (float(position), float(position))
    # Children come after their parents.
    for number in reversed(range(len(tree.nodes))):
        node = tree.nodes[number]
        children = [spans[child] for child in (node.if_true, node.if_false) if child is not None]
        if children:
            spans[number] = min(low for low, _ in children), max(high for _, high in children)
    return [
        (0.5 * (low + high), -float(depth))
        for (low, high), depth in zip(spans, depths, strict=True)
    ]


def _leaves(tree: Tree) -> list[int]:
    leaves, stack = [], [0]
    while stack:
        number = stack.pop()
        node = tree.nodes[number]
        if node.predicate is None:
            leaves.append(number)
        stack += [child for child in (node.if_false, node.if_true) if child is not None]
    return leaves
