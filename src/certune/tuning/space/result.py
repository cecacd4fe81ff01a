"""What tuning of several parameters gives back."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from certune.box import Box
from certune.dual import DualFunction, aggregated
from certune.space import Segment, Simplex
from certune.tuning.outcome.result import TuningResult
from certune.tuning.proof.box_certificate import BoxCertificate, make_box_certificate
from certune.tuning.space.branching import Cover
from certune.tuning.space.generalization import SpaceGeneralization, box_around
from certune.tuning.space.lines import line_through

# A box around the best setting is shrunk at most this often until its utility is proved constant.
MOST_SHRINKINGS = 48


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class SpaceTuningResult(SpaceGeneralization, TuningResult):
    """Result of :func:`certune.tune` for several free parameters.

    `segment`, `landscape` and `duals` are the exact functions along the line through the best
    setting on which the first parameter varies; they are computed when first asked for, as is
    `best_region`. `guarantee`, `cross_validate`, `learning_curve`, `select` and `instances_needed`
    use bounds on a cover of all settings by boxes, `cover`.

    Attributes
    ----------
    n_nodes, n_lines : int
        Boxes that were bounded, and lines that were searched.
    proved_cover : Cover or None
        The boxes that prove the upper bound; None if only lines were searched.
    """

    n_nodes: int
    n_lines: int
    proved_cover: Cover | None

    @cached_property
    def segment(self) -> Segment:
        """The line through the best setting on which the first free parameter varies."""
        space = self.family.space
        for item in space.parameters:
            targets: list[Any] = (
                [tuple(float(i == j) for j in range(item.size)) for i in range(item.size)]
                if isinstance(item, Simplex)
                else [item.low, item.high]
            )
            for target in targets:
                line = line_through(space, self.best_params, {item.name: target})
                if line is not None:
                    return line
        raise AssertionError("a space with free parameters has a line through every point")

    @cached_property
    def duals(self) -> list[DualFunction]:
        """Exact utility of each instance along `segment`."""
        return [self.family.dual(instance, self.segment) for instance in self.instances]

    @cached_property
    def landscape(self) -> DualFunction:
        """Exact mean utility along `segment`, or what else was maximised."""
        return aggregated(self.duals, self.criterion)

    @cached_property
    def best_region(self) -> list[Box]:
        """Boxes on which every setting is proved to reach `best_value`: a part of the optimal set.

        The first one is around the best setting. Empty if no box around it is wide enough to be
        proved constant, or if the family has no bounds on boxes.
        """
        if not self.family.bounds_boxes:
            return []
        for halvings in range(1, MOST_SHRINKINGS):
            box = box_around(self.family, self.best_params, 2.0**-halvings)
            if self._is_optimal(box):
                return [box]
        return []

    @cached_property
    def _box_starts(self) -> list[Any]:
        return [self.family.box_start(instance) for instance in self.instances]

    def _is_optimal(self, box: Box) -> bool:
        slack = Fraction(self.family.tolerance)
        lower = list(self.evaluation.utilities)
        for number, (instance, utility) in enumerate(zip(self.instances, lower, strict=True)):
            bound = self.family.bound_on_box(instance, box, self._box_starts[number])
            lower[number] = min(utility, bound.lower)
            if self.criterion.value(lower) < self.best_value_exact - slack:
                return False
        return True

    def _made_certificate(self) -> BoxCertificate:
        return make_box_certificate(
            self.family,
            [self.family.instance_fingerprint(item) for item in self.instances],
            self.best_params,
            self.best_value_exact,
            self.upper_bound_exact,
            self.proved_cover,
            self.criterion,
        )

    def __str__(self) -> str:
        from certune.tuning.outcome.summary import summary_of_space

        return summary_of_space(self)
