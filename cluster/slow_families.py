"""Families that are slow, or kill the process that works for them, and their instances."""

import os
import signal
import time

import numpy as np

from certune.testing import StepFamily, StepInstance


def steps(count):
    """Draw step functions."""
    instances = []
    for number in range(count):
        rng = np.random.default_rng(number)
        places = tuple(np.sort(rng.uniform(0.01, 0.99, 3)).tolist())
        values = tuple(int(value) for value in rng.integers(0, 2, 4))
        instances.append(StepInstance(places, values, name=f"number {number}"))
    return instances


class Slow(StepFamily):
    """Takes a moment for every function, and says who has it in work."""

    fingerprint = StepFamily.fingerprint

    def dual(self, instance, along=None):
        time.sleep(0.05)
        return super().dual(instance, along)


class Deadly(Slow):
    """Kills the process that works on one instance: the first time, or always."""

    fingerprint = StepFamily.fingerprint

    def __init__(self, victim, marker):
        super().__init__()
        object.__setattr__(self, "victim", victim)
        object.__setattr__(self, "marker", marker)

    def dual(self, instance, along=None):
        if instance.name == self.victim and not (self.marker and self.marker.exists()):
            if self.marker:
                self.marker.write_text(str(os.getpid()))
            os.kill(os.getpid(), signal.SIGKILL)
        return super().dual(instance, along)
