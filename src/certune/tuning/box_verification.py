"""Checking the certificate of a search over several parameters.

Nothing that the search found on the way is used: the boxes are made from the cuts, every bound is
proved again from the instances alone, on smaller boxes if need be, and plain runs inside every box
must not exceed it.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from certune.box import Box
from certune.dual import mean
from certune.families.base import Family
from certune.tuning.box_certificate import BoxCertificate
from certune.tuning.instances import instance_name
from certune.tuning.proofs import demand

# A bound that is not proved on a box at once may be proved on its parts, halved this often.
MOST_HALVINGS = 24


@dataclass(frozen=True)
class BoxVerificationReport:
    """What :func:`certune.verify` has checked; it exists only if everything was right.

    Attributes
    ----------
    n_instances : int
        Number of instances.
    n_boxes : int
        Boxes that cover the space and whose bounds were proved again.
    n_runs : int
        Plain runs that agreed.
    best_value, upper_bound : Fraction
        The confirmed claims.
    elapsed : float
        Seconds.
    """

    n_instances: int
    n_boxes: int
    n_runs: int
    best_value: Fraction
    upper_bound: Fraction
    elapsed: float

    @property
    def optimal(self) -> bool:
        """Whether the certificate proves that nothing is better."""
        return self.best_value == self.upper_bound

    def __str__(self) -> str:
        proved = "optimality" if self.optimal else f"the upper bound {float(self.upper_bound):.6g}"
        return (
            f"certificate verified: {proved} on {self.n_instances} instances, best mean utility "
            f"{float(self.best_value):.6g}; {self.n_boxes} boxes proved again, {self.n_runs} plain "
            f"runs agree, {self.elapsed:.1f} s"
        )


def verify_boxes(
    certificate: BoxCertificate, family: Family, instances: list[Any]
) -> BoxVerificationReport:
    """Check every claim; the instances are checked. See :func:`certune.verify`."""
    started = time.perf_counter()
    _check_origin(certificate, family, instances)
    utilities = [family.run_exact(item, certificate.best_params) for item in instances]
    reached = sum(utilities, Fraction(0)) / len(instances)
    demand(
        reached == certificate.best_value,
        f"The claimed best value {certificate.best_value} is not what runs give at "
        f"{certificate.best_params}: {reached}.",
    )
    largest = Fraction(family.utility_range[1])
    bounds = [certificate.best_value]
    n_boxes, n_runs = 0, len(instances)
    if not certificate.cuts:
        bounds.append(largest)
    else:
        for box, upper in certificate.leaves(family):
            n_boxes += 1
            n_runs += _check_leaf(box, upper, family, instances)
            bounds.append(min(upper, largest))
    demand(
        certificate.upper_bound == max(bounds),
        f"The claimed upper bound {certificate.upper_bound} does not follow from the boxes, which "
        f"give {max(bounds)}.",
    )
    return BoxVerificationReport(
        n_instances=len(instances),
        n_boxes=n_boxes,
        n_runs=n_runs,
        best_value=certificate.best_value,
        upper_bound=certificate.upper_bound,
        elapsed=time.perf_counter() - started,
    )


def _check_origin(certificate: BoxCertificate, family: Family, instances: list[Any]) -> None:
    demand(
        certificate.checksum == certificate.content_checksum,
        f"The checksum {certificate.checksum!r} does not belong to the content, which has "
        f"{certificate.content_checksum!r}: the certificate was changed.",
    )
    demand(
        certificate.family_fingerprint == family.fingerprint,
        f"The certificate is about another family than {family!r}.",
    )
    stored = certificate.instance_fingerprints
    demand(
        len(stored) == len(instances),
        f"The certificate is about {len(stored)} instances, got {len(instances)}.",
    )
    for number, (fingerprint, instance) in enumerate(zip(stored, instances, strict=True)):
        demand(
            fingerprint == family.instance_fingerprint(instance),
            f"{instance_name(instance, number)} is not the instance of the certificate at place "
            f"{number}: it was changed, or the order is another one.",
        )


def _check_leaf(box: Box, upper: Fraction, family: Family, instances: list[Any]) -> int:
    """Prove the bound of a box again; returns the number of plain runs."""
    largest = Fraction(family.utility_range[1])
    if upper >= largest or box.is_empty:
        return 0
    total = sum((family.run_exact(item, box.centre) for item in instances), Fraction(0))
    demand(
        total <= (upper + Fraction(family.tolerance)) * len(instances),
        f"The certificate bounds the mean utility on {box!r} by {upper}, but runs at its centre "
        f"give {total / len(instances)}.",
    )
    if box.n_free <= 1:
        if box.n_free == 1:
            landscape = mean([family.dual(item, box.segment) for item in instances])
            demand(
                landscape.upper_bound_exact <= upper,
                f"The certificate bounds the mean utility on {box!r} by {upper}, but it reaches "
                f"{landscape.upper_bound_exact}.",
            )
        return len(instances)
    pending = [(box, 0)]
    while pending:
        part, depth = pending.pop()
        if part.is_empty:
            continue
        bounds = [family.bound_on_box(item, part) for item in instances]
        proved = sum((bound.upper for bound in bounds), Fraction(0)) / len(instances)
        if proved <= upper:
            continue
        open_bounds = [bound for bound in bounds if not bound.settled]
        scores = [sum(b.importance[i] for b in open_bounds) for i in range(len(part.edges))]
        edge = part.edges[max(range(len(scores)), key=scores.__getitem__)]
        demand(
            depth < MOST_HALVINGS and part.can_split(edge),
            f"The certificate bounds the mean utility on {part!r} by {upper}, but only {proved} "
            "can be proved there.",
        )
        pending += [(half, depth + 1) for half in part.split(edge)]
    return len(instances)
