"""Instances and families that tests of tuning share."""

import time
from fractions import Fraction

import numpy as np
import pytest

from certune.testing import StepFamily, StepInstance


@pytest.fixture(scope="session")
def random_instances():
    """Draw steps on a coarse grid, so that instances share thresholds and optima tie."""

    def draw(n_instances, seed=0, n_steps=4):
        rng = np.random.default_rng(seed)
        instances = []
        for number in range(n_instances):
            steps = np.sort(rng.choice(np.arange(1, 32), n_steps, replace=False)) / 32
            values = tuple(Fraction(int(top), 7) for top in rng.integers(0, 8, n_steps + 1))
            instances.append(StepInstance(tuple(steps.tolist()), values, name=f"steps-{number}"))
        return instances

    return draw


@pytest.fixture
def slow_family():
    """Make a family that takes a moment for each exact function, not for runs."""

    # Worker processes receive a local class by value; they could not import this module.
    class SlowFamily(StepFamily):
        def dual(self, instance, along=None):
            time.sleep(0.05)
            return super().dual(instance, along)

    return SlowFamily()
