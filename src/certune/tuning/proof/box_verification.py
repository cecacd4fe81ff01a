"""Checking the certificate of a search over several parameters.

Nothing that the search found on the way is used: the boxes are made from the cuts, every bound is
proved again from the instances alone, on smaller boxes if need be, and plain runs inside every box
must not exceed it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from certune.aggregates import Criterion
from certune.box import Box
from certune.dual import aggregated
from certune.errors import CertificateError, ParameterError
from certune.families.base import BoxBound, Family
from certune.space import Simplex
from certune.tuning.instances import instance_name
from certune.tuning.proof.box_certificate import BoxCertificate
from certune.tuning.proof.proofs import check_plain_run, demand, proving
from certune.tuning.proof.report import Verified
from certune.tuning.schema import shown
from certune.tuning.space.upper_values import UpperValue

# A bound that is not proved on a box at once may be proved on its parts, halved this often, and
# so many times for each box of the certificate, so that time grows with its size only.
MOST_HALVINGS = 24
PARTS_PER_BOX = 64
FEWEST_PARTS = 4096


@dataclass
class Budget:
    """How many boxes may still be halved."""

    left: int

    def take(self) -> bool:
        """Use one; return whether there was one."""
        self.left -= 1
        return self.left >= 0


@dataclass(frozen=True, repr=False, kw_only=True)
class BoxVerificationReport(Verified):
    """What :func:`certune.verify` has checked; it exists only if everything was right.

    Attributes
    ----------
    n_instances : int
        Number of instances.
    n_boxes : int
        Boxes that cover the space and whose bounds were proved again.
    n_runs : int
        Plain runs that agreed.
    """

    n_boxes: int
    n_runs: int

    def __str__(self) -> str:
        return (
            f"{self._confirmed()}; {self.n_boxes} boxes proved again, {self.n_runs} plain runs "
            f"agree, {self.elapsed:.1f} s"
        )


def verify_boxes(
    certificate: BoxCertificate, family: Family, instances: list[Any]
) -> BoxVerificationReport:
    """Check every claim; origin and instances are checked. See :func:`certune.verify`."""
    started = time.perf_counter()
    best, tolerance = _checked_setting(certificate, family), Fraction(family.tolerance)
    goal = _Goal(family, instances, certificate.criterion)
    reached = goal.reached(best)
    demand(
        abs(reached - certificate.best_value) <= tolerance,
        f"The claimed best value {shown(certificate.best_value)} is not what runs give at "
        f"{best}: {reached}.",
    )
    largest = Fraction(family.utility_range[1])
    bounds = [certificate.best_value]
    n_boxes, n_runs = 0, len(instances)
    if not certificate.cuts:
        bounds.append(largest)
    else:
        budget = Budget(FEWEST_PARTS + PARTS_PER_BOX * len(certificate.uppers))
        for boxes, upper in certificate.leaves_within(family):
            n_boxes += 1
            n_runs += _check_leaf(boxes, upper, goal, budget)
            bounds.append(min(upper, largest))
    demand(
        certificate.upper_bound == max(bounds),
        f"The claimed upper bound {shown(certificate.upper_bound)} does not follow from the boxes, "
        f"which give {shown(max(bounds))}.",
    )
    return BoxVerificationReport(
        n_instances=len(instances),
        n_boxes=n_boxes,
        n_runs=n_runs,
        best_value=certificate.best_value,
        upper_bound=certificate.upper_bound,
        tolerance=family.tolerance,
        elapsed=time.perf_counter() - started,
        aggregate=certificate.criterion.words(family.score.name),
        score=family.score,
    )


@dataclass(frozen=True)
class _Goal:
    """What was maximised, on which instances."""

    family: Family
    instances: list[Any]
    criterion: Criterion

    @cached_property
    def starts(self) -> list[Any]:
        """What bounds on boxes need of each instance, prepared once; nothing of the search."""
        return [self.family.box_start(item) for item in self.instances]

    @property
    def words(self) -> str:
        """What was maximised, in words."""
        return self.criterion.words("utility")

    def bounds(self, box: Box) -> list[BoxBound]:
        """Return bounds of all instances on a box, from the instances alone."""
        with proving(f"the {self.words} on {box!r}"):
            pairs = zip(self.instances, self.starts, strict=True)
            return [self.family.bound_on_box(item, box, start) for item, start in pairs]

    def reached(self, params: Mapping[str, Any]) -> Fraction:
        """Return what plain runs give at a setting."""
        family = self.family
        with proving(f"the {self.words} at {params}"):
            utilities = [family.run_exact(item, params) for item in self.instances]
        for number, (item, reached) in enumerate(zip(self.instances, utilities, strict=True)):
            check_plain_run(family, item, params, reached, instance_name(item, number))
        return self.criterion.value(utilities)


def _checked_setting(certificate: BoxCertificate, family: Family) -> dict[str, Any]:
    """Return the best setting, which must lie in the boxes: in the space, without its limits."""
    try:
        setting = dict(family.space.validate(certificate.best_params))
    except ParameterError as error:
        raise CertificateError(f"The best setting is not in the space: {error}") from error
    for item in family.space.parameters:
        value: Any = setting[item.name]
        demand(
            isinstance(item, Simplex) or item.low <= value <= item.high,
            f"The best setting is not in the range of {item!r}, got {value!r}.",
        )
    return setting


def _check_leaf(boxes: tuple[Box, ...], upper: Fraction, goal: _Goal, budget: Budget) -> int:
    """Prove the bound of the last of nested boxes again; returns the number of plain runs."""
    family, instances, what = goal.family, goal.instances, goal.words
    box = boxes[-1]
    largest = Fraction(family.utility_range[1])
    if upper >= largest or box.is_empty:
        return 0
    reached = goal.reached(box.centre)
    demand(
        reached <= upper + Fraction(family.tolerance),
        f"The certificate bounds the {what} on {box!r} by {shown(upper)}, but runs at its "
        f"centre give {reached}.",
    )
    if box.n_free <= 1:
        if box.n_free == 1:
            with proving(f"the {what} on {box!r}"):
                duals = [family.dual(item, box.segment) for item in instances]
            landscape = aggregated(duals, goal.criterion)
            demand(
                landscape.upper_bound_exact <= upper,
                f"The certificate bounds the {what} on {box!r} by {shown(upper)}, but it "
                f"reaches {landscape.upper_bound_exact}.",
            )
        return len(instances)
    pending = [(box, 0)]
    while pending:
        part, depth = pending.pop()
        if part.is_empty:
            continue
        bounds = goal.bounds(part)
        known = UpperValue.of(goal.criterion, bounds)
        proved = known.value
        if proved <= upper:
            continue
        open_bounds = [bound for bound in bounds if known.counts(bound)]
        scores = [sum(b.importance[i] for b in open_bounds) for i in range(len(part.edges))]
        edge = part.edges[max(range(len(scores)), key=scores.__getitem__)]
        if not (depth < MOST_HALVINGS and part.can_split(edge) and budget.take()):
            demand(
                _holds_around(boxes, upper, goal, budget),
                f"The certificate bounds the {what} on {part!r} by {shown(upper)}, but only "
                f"{proved} can be proved there.",
            )
            break
        pending += [(half, depth + 1) for half in part.split(edge)]
    return len(instances)


def _holds_around(boxes: tuple[Box, ...], upper: Fraction, goal: _Goal, budget: Budget) -> bool:
    """Tell whether a bound of the last of nested boxes follows from all of them together.

    A search keeps the smallest bound of each instance that it has found on a box or around it. With
    roundings a larger box can have a slightly smaller one.
    """
    uppers = [Fraction(goal.family.utility_range[1])] * len(goal.instances)
    for box in reversed(boxes):
        if not budget.take():
            return False
        found = goal.bounds(box)
        uppers = [min(bound.upper, least) for bound, least in zip(found, uppers, strict=True)]
        narrowed = [replace(bound, upper=least) for bound, least in zip(found, uppers, strict=True)]
        if UpperValue.of(goal.criterion, narrowed).value <= upper:
            return True
    return False
