"""The part of the conformance suite about bounds on boxes of parameters."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from certune.box import Box
from certune.families.base import Family
from certune.testing.failures import Failures
from certune.tuning.instances import instance_name

# Boxes that are tried for every instance, and how often each is halved at most.
N_BOXES, MOST_HALVINGS = 10, 14
# Settings that are drawn until one belongs to the stratum of a box.
N_TRIALS = 100


def check_boxes(
    family: Family, instances: Sequence[Any], rng: np.random.Generator, failures: Failures
) -> None:
    """Compare bounds on random boxes, larger and smaller ones, with plain runs inside them."""
    strata = family.strata()
    for number, instance in enumerate(instances):
        where = instance_name(instance, number)
        for _ in range(N_BOXES):
            box = strata[rng.integers(len(strata))]
            bound = family.bound_on_box(instance, box)
            for _ in range(int(rng.integers(MOST_HALVINGS)) if box.edges else 0):
                failures.expect(
                    len(bound.importance) == len(box.edges),
                    f"importance of a bound on {where}",
                    f"{len(box.edges)} numbers",
                    bound.importance,
                )
                edge = box.edges[int(np.argmax(bound.importance))]
                box = box.split(edge)[rng.integers(2)]
                bound = family.bound_on_box(instance, box, bound.reuse)
            params = None if box.is_empty else random_setting(box, rng)
            if params is None:
                continue
            value, slack = family.run_exact(instance, params), Fraction(family.tolerance)
            failures.expect(
                bound.lower - slack <= value <= bound.upper + slack,
                f"run_exact on {where} inside a box",
                f"a value from {bound.lower} to {bound.upper}",
                value,
                at=params,
            )


def random_setting(box: Box, rng: np.random.Generator) -> dict[str, Any] | None:
    """Draw a setting inside a box; None if it was missed in several trials."""
    stratum = box.stratum
    for _ in range(N_TRIALS):
        params: dict[str, Any] = {}
        ends = [end for (end,) in box.parts[-1]] if stratum.rays else [1.0]
        scale = float(rng.uniform(ends[0], ends[-1]))
        for name, part in zip(box.names, box.parts, strict=False):
            shares = rng.dirichlet(np.ones(len(part))) if len(part) > 1 else np.ones(1)
            point = (scale * (shares @ np.array(part))).tolist()
            params[name] = point[0] if len(point) == 1 and len(part[0]) == 1 else tuple(point)
        if not stratum.side:
            return params
        total = math.fsum([*stratum.constants, *params.values()])
        if (total >= 0.0) == (stratum.side > 0):
            return params
    return None
