"""Adversaries: endless streams of instances, from friendly to hopeless.

Whether regret can vanish depends on who chooses the instances.  The streams here work for every
family, given functions that make one instance: `independent` and `drifting` draw from samplers,
such as the ones of `certune.datasets`; `halving` is the undispersed adversary, against which no
learner has vanishing regret.  For clustering, `smoothed_clustering` is the adversary of
``thm:linkage-dispersion``, and `threshold_clustering` makes instances for `halving`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from certune.errors import ParameterError
from certune.families.linkage.instance import ClusteringInstance

FloatArray = npt.NDArray[np.float64]
Instance = TypeVar("Instance")
RandomState = int | np.random.Generator | None


def independent(
    sample: Callable[[np.random.Generator], Instance], random_state: RandomState = None
) -> Iterator[Instance]:
    """Draw instances independently from one sampler.

    Parameters
    ----------
    sample : callable
        Makes an instance from a numpy Generator.
    random_state : int, numpy Generator or None
        Source of randomness.

    Examples
    --------
    >>> from itertools import islice
    >>> list(islice(independent(lambda rng: int(rng.integers(10)), 0), 3))
    [8, 6, 5]
    """
    rng = np.random.default_rng(random_state)
    while True:
        yield sample(rng)


def drifting(
    samples: Sequence[Callable[[np.random.Generator], Instance]],
    n_rounds: int,
    random_state: RandomState = None,
) -> Iterator[Instance]:
    """Move evenly from the first sampler to the last, then stay there.

    Parameters
    ----------
    samples : sequence of callable
        At least two functions that make an instance from a numpy Generator. Between two of them
        the stream mixes, with a probability of the later one that grows linearly.
    n_rounds : int
        Rounds until the last sampler is reached.
    random_state : int, numpy Generator or None
        Source of randomness.

    Examples
    --------
    >>> from itertools import islice
    >>> stream = drifting([lambda rng: "early", lambda rng: "late"], 2, 0)
    >>> [next(stream), *islice(stream, 1, 3)]
    ['early', 'late', 'late']
    """
    if len(samples) < 2 or n_rounds < 1:
        raise ParameterError(
            f"drifting needs at least two samplers and one round, got {len(samples)} and "
            f"{n_rounds!r}"
        )
    rng = np.random.default_rng(random_state)
    number = 0
    while True:
        place = min(number / n_rounds, 1.0) * (len(samples) - 1)
        chosen = min(int(place + rng.random()), len(samples) - 1)
        yield samples[chosen](rng)
        number += 1


def halving(
    low: float,
    high: float,
    make: Callable[[float, bool], Instance],
    random_state: RandomState = None,
) -> Iterator[Instance]:
    """Pile up all discontinuities around one point that nobody can know beforehand.

    In each round a fair coin says which half of the remaining interval is better; the utility
    changes in its middle. The best fixed parameter is on the better side every time, while any
    learner is so every other time: its regret is linear. Floating-point numbers have an end, so
    that the stream stops when the interval has no number inside; 53 rounds or so for an interval
    away from 0.

    Parameters
    ----------
    low, high : float
        The first interval.
    make : callable
        ``make(threshold, below)`` returns an instance whose utility is larger for parameters below
        the threshold if `below` is true, and for parameters above it otherwise.
    random_state : int, numpy Generator or None
        Source of randomness.
    """
    rng = np.random.default_rng(random_state)
    while True:
        middle = 0.5 * low + 0.5 * high
        if not low < middle < high:
            return
        below = bool(rng.random() < 0.5)
        yield make(middle, below)
        low, high = (low, middle) if below else (middle, high)


def smoothed_clustering(
    base: npt.ArrayLike,
    target: npt.ArrayLike,
    density: float,
    random_state: RandomState = None,
) -> Iterator[ClusteringInstance]:
    """The smoothed adversary: chosen distances, each perturbed independently.

    Every distance of every instance is uniform on an interval of length 1/density that starts at
    the chosen one, so that its density is at most kappa = `density` as ``thm:linkage-dispersion``
    and ``thm:linkage-dispersion-geometric`` ask for.

    Parameters
    ----------
    base : array-like (n, n) or (L, n, n)
        The chosen distances: symmetric, positive off the diagonal; one matrix for each metric.
    target : array-like (n,)
        True clusters.
    density : float
        kappa, positive.
    random_state : int, numpy Generator or None
        Source of randomness.
    """
    if not 0 < density < np.inf:
        raise ParameterError(f"density must be positive and finite, got {density!r}")
    chosen = np.atleast_3d(np.asarray(base, dtype=np.float64).T).T
    rng = np.random.default_rng(random_state)
    above = np.triu_indices(chosen.shape[-1], 1)
    while True:
        distances = np.zeros_like(chosen)
        for matrix, start in zip(distances, chosen, strict=True):
            matrix[above] = start[above] + rng.random(len(above[0])) / density
            matrix += matrix.T
        yield ClusteringInstance(distances=distances, target=target)


def threshold_clustering(alpha: float, below: bool) -> ClusteringInstance:
    """Return an instance whose best linkage changes at one exponent, for the adversary `halving`.

    Two points, at distances 1 and 2 from a group of three, compete with a single point for that
    group. The single point is at the power mean of 1 and 2 with exponent `alpha` from it, so that
    the group joins the two for exponents below `alpha` and the single point above, under power-mean
    linkage as well as under min-max linkage. The utility is 1 on the better side and 1/2 on the
    other.

    Parameters
    ----------
    alpha : float
        Where the clustering changes, not 0.
    below : bool
        Whether smaller exponents are the better ones.

    Examples
    --------
    >>> from certune.families.linkage import Linkage
    >>> Linkage("power-mean", alpha=(1, 4)).dual(threshold_clustering(2.5, below=True)).values
    array([1. , 0.5])
    """
    pair, group, single = [0, 1], [2, 3, 4], 5
    distances = np.full((6, 6), 4.0)
    distances[0, group], distances[1, group] = 1.0, 2.0
    distances[single, group] = (0.5 + 0.5 * 2.0**alpha) ** (1.0 / alpha)
    distances[0, 1] = distances[2, 3] = distances[2, 4] = distances[3, 4] = 0.125
    symmetric = np.minimum(distances, distances.T)
    np.fill_diagonal(symmetric, 0.0)
    target = np.ones(6, dtype=np.int64)
    target[[*pair, *group] if below else pair] = 0
    return ClusteringInstance(distances=symmetric, target=target)
