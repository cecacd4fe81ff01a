"""The part of the conformance suite about bounds on boxes of parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from certune.box import Box
from certune.families.base import Family
from certune.testing.failures import Failures
from certune.tuning.instances import instance_name

# Boxes that are tried for every instance, and how often each is halved at most.
N_BOXES, MOST_HALVINGS = 10, 14


def check_boxes(
    family: Family, instances: Sequence[Any], rng: np.random.Generator, failures: Failures
) -> None:
    """Compare bounds on random boxes, larger and smaller ones, with plain runs inside them."""
    strata = Box.strata(family.space)
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
            params = random_setting(box, rng)
            value = family.run_exact(instance, params)
            failures.expect(
                bound.lower <= value <= bound.upper,
                f"run_exact on {where} inside a box",
                f"a value from {bound.lower} to {bound.upper}",
                value,
                at=params,
            )


def random_setting(box: Box, rng: np.random.Generator) -> dict[str, Any]:
    """Draw a setting inside a box."""
    params: dict[str, Any] = {}
    for name, part in zip(box.names, box.parts, strict=True):
        shares = rng.dirichlet(np.ones(len(part))) if len(part) > 1 else np.ones(1)
        point = (shares @ np.array(part)).tolist()
        params[name] = point[0] if len(point) == 1 and len(part[0]) == 1 else tuple(point)
    return params
