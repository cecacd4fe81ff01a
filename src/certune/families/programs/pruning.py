"""Cost-complexity pruning of a decision tree, its price of a leaf tuned.

A branch is replaced by a leaf where that costs no more than ``ccp_alpha`` for each leaf saved, as
in scikit-learn.  The tree is given; what is tuned is how much of it is kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from certune.errors import InputError
from certune.families.programs.family import ProgramFamily
from certune.families.programs.fields import check_type, exact_numbers, over_range, whole_numbers

NO_CHILD = -1


@dataclass(frozen=True, init=False)
class PruningInstance:
    """A grown decision tree and how well each of its nodes would do as a leaf.

    Parameters
    ----------
    left, right : iterable of int
        Children of each node, -1 for leaves; node 0 is the root.
    risks : iterable of numbers
        Impurity of each node times the share of the training data in it; taken exactly.
    correct : iterable of int
        How many validation points reach each node and have its class.
    n_validation : int
        Number of validation points.
    name : str, optional
        Shown in reports.
    """

    left: tuple[int, ...]
    right: tuple[int, ...]
    risks: tuple[Fraction, ...]
    correct: tuple[int, ...]
    n_validation: int
    name: str | None = None

    def __init__(
        self,
        left: Iterable[int],
        right: Iterable[int],
        risks: Iterable[Any],
        correct: Iterable[int],
        n_validation: int,
        name: str | None = None,
    ) -> None:
        content = {
            "left": whole_numbers("left", left),
            "right": whole_numbers("right", right),
            "risks": exact_numbers("risks", risks),
            "correct": whole_numbers("correct", correct),
            "n_validation": whole_numbers("n_validation", [n_validation])[0],
            "name": name,
        }
        for field, value in content.items():
            object.__setattr__(self, field, value)
        size = len(self.risks)
        lengths = {len(self.left), len(self.right), len(self.correct), size}
        # Children come after their parents, so that walks over the tree end.
        ordered = all(
            (one == two == NO_CHILD) or (node < one < size and node < two < size)
            for node, (one, two) in enumerate(zip(self.left, self.right, strict=False))
        )
        if len(lengths) > 1 or not size or not ordered or self.n_validation < 1:
            raise InputError(
                "a tree needs one entry of left, right, risks and correct for each node, children "
                f"after their parents, and a validation point, got lengths {sorted(lengths)} and "
                f"n_validation {n_validation!r}"
            )

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, name: str | None = None
    ) -> PruningInstance:
        """Return the instance of a fitted DecisionTreeClassifier and validation data.

        Parameters
        ----------
        estimator : sklearn.tree.DecisionTreeClassifier
            Fitted with ``ccp_alpha=0``.
        X, y : array-like
            Validation points and their classes.
        name : str, optional
            Shown in reports.
        """
        tree, truth = estimator.tree_, np.asarray(y)
        reached = estimator.decision_path(X).toarray().astype(bool)
        classes = estimator.classes_[tree.value[:, 0, :].argmax(axis=1)]
        weights = tree.weighted_n_node_samples
        return cls(
            tree.children_left.tolist(),
            tree.children_right.tolist(),
            (tree.impurity * weights / weights[0]).tolist(),
            (reached & (truth[:, None] == classes[None, :])).sum(axis=0).tolist(),
            len(truth),
            name,
        )


def pruned(instance: PruningInstance, parameters: Mapping[str, Any]) -> list[int]:
    """Return the leaves of the pruned tree, from left to right."""
    alpha = parameters["ccp_alpha"]
    risks: dict[int, Fraction] = {}
    leaves: dict[int, list[int]] = {}
    for node in reversed(range(len(instance.risks))):
        risks[node], leaves[node] = instance.risks[node], [node]
        one, two = instance.left[node], instance.right[node]
        if one != NO_CHILD:
            kept, risk = leaves[one] + leaves[two], risks[one] + risks[two]
            if not alpha * (len(kept) - 1) >= risks[node] - risk:
                risks[node], leaves[node] = risk, kept
    return leaves[0]


def validation_accuracy(instance: PruningInstance, parameters: Mapping[str, Any]) -> Fraction:
    """Return the share of the validation points that the pruned tree classifies right."""
    leaves = pruned(instance, parameters)
    return Fraction(sum(instance.correct[leaf] for leaf in leaves), instance.n_validation)


class CostComplexityPruning(ProgramFamily):
    """Pruning of a decision tree with a price ``ccp_alpha`` for every leaf.

    Parameters
    ----------
    ccp_alpha : pair of numbers, default (0, 0.1)
        Range of the price.

    Notes
    -----
    The utility is the accuracy on validation data.

    Examples
    --------
    >>> import certune as ct
    >>> stump = ct.PruningInstance((1, -1, -1), (2, -1, -1), (0.5, 0.1, 0.15), (6, 5, 3), 10)
    >>> dual = ct.CostComplexityPruning(ccp_alpha=(0, 1)).dual(stump)
    >>> dual(0.2), dual(0.3)  # a leaf is worth 0.25
    (0.8, 0.6)
    """

    def __init__(self, ccp_alpha: tuple[float, float] = (0.0, 0.1)) -> None:
        space = over_range("ccp_alpha", ccp_alpha)
        super().__init__(
            validation_accuracy,
            space,
            baselines={"no pruning": {"ccp_alpha": 0.0}} if space.low <= 0 <= space.high else None,
            solver=pruned,
            check=partial(check_type, kind=PruningInstance),
        )
