"""Knapsack problems of random items."""

from __future__ import annotations

from certune.datasets.drawing import RandomState, check_count, generator
from certune.errors import InputError
from certune.families.programs.knapsack import KnapsackInstance


def knapsack_problems(
    n_instances: int = 20,
    n_items: int = 100,
    largest: int = 1000,
    fill: float = 0.3,
    random_state: RandomState = 0,
) -> list[KnapsackInstance]:
    """Knapsack problems with values that grow with the sizes of the items, and noise.

    Sizes are uniform from 1 to `largest`; values are uniform from 1 to `largest` plus half the
    size, so that neither the valuable nor the small items are always right.

    Parameters
    ----------
    n_instances : int, default 20
        Number of instances.
    n_items : int, default 100
        Items in each instance.
    largest : int, default 1000
        Largest size, at least 1.
    fill : float, default 0.3
        Capacity as a share of the total size, in (0, 1].
    random_state : int, numpy Generator or None, default 0
        Source of randomness.

    Returns
    -------
    list of KnapsackInstance
        Named like 'knapsack-000'.

    Examples
    --------
    >>> len(knapsack_problems(n_instances=1, n_items=7)[0].values)
    7
    """
    check_count("n_instances", n_instances, 0)
    check_count("n_items", n_items, 1)
    check_count("largest", largest, 1)
    if not 0 < fill <= 1:
        raise InputError(f"fill must lie in (0, 1], got {fill!r}")
    rng = generator(random_state)
    instances = []
    for number in range(n_instances):
        sizes = rng.integers(1, largest, n_items, endpoint=True)
        values = rng.integers(1, largest, n_items, endpoint=True) + sizes // 2
        capacity = max(int(fill * sizes.sum()), 1)
        name = f"knapsack-{number:03d}"
        instances.append(KnapsackInstance(values.tolist(), sizes.tolist(), capacity, name=name))
    return instances
