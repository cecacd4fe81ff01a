"""Adversaries: endless streams of instances, from friendly to hopeless.

Whether regret can vanish depends on who chooses the instances.  The streams here work for every
family, given functions that make one instance: `independent` and `drifting` draw from samplers,
such as the ones of `certune.datasets`; `halving` is the undispersed adversary, against which no
learner has vanishing regret, and the functions ``threshold_...`` make instances for it.  The
smoothed adversaries ``smoothed_...`` choose instances freely, but what they choose is perturbed:
`smoothed_clustering` is the one of ``thm:linkage-dispersion``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import repeat
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from certune.errors import InputError, ParameterError
from certune.families.graph_ssl.instance import LabelingInstance
from certune.families.linkage.instance import ClusteringInstance
from certune.families.logistic.instance import ClassificationInstance

FloatArray = npt.NDArray[np.float64]
Instance = TypeVar("Instance")
RandomState = int | np.random.Generator | None
# Powers of 2 with this exponent are floats.
LARGEST_EXPONENT = 1000
Chosen = npt.ArrayLike | Iterator[npt.ArrayLike]


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
    if len(samples) < 2 or not (isinstance(n_rounds, (int, np.integer)) and n_rounds >= 1):
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
    if not -math.inf < low < high < math.inf:
        raise ParameterError(f"halving needs finite ends low < high, got {low!r} and {high!r}")
    rng = np.random.default_rng(random_state)
    while True:
        middle = 0.5 * low + 0.5 * high
        if not low < middle < high:
            return
        below = bool(rng.random() < 0.5)
        yield make(middle, below)
        low, high = (low, middle) if below else (middle, high)


def smoothed_clustering(
    base: Chosen, target: npt.ArrayLike, density: float, random_state: RandomState = None
) -> Iterator[ClusteringInstance]:
    """The smoothed adversary of clustering: chosen distances, each perturbed independently.

    Every distance of every instance is uniform on an interval of length 1/density that starts at
    the chosen one, so that its density is at most kappa = `density` as ``thm:linkage-dispersion``
    and ``thm:linkage-dispersion-geometric`` ask for.

    Parameters
    ----------
    base : array-like (n, n) or (L, n, n), or iterator of such arrays
        The chosen distances: symmetric, positive off the diagonal; one matrix for each metric. An
        adversary that chooses anew in every round is an iterator, and the stream ends with it.
    target : array-like (n,)
        True clusters.
    density : float
        kappa, positive.
    random_state : int, numpy Generator or None
        Source of randomness.
    """
    rng = np.random.default_rng(random_state)
    for chosen in _choices(base, density):
        yield ClusteringInstance(distances=_perturbed(chosen, density, rng), target=target)


def smoothed_labeling(
    base: Chosen,
    labeled: npt.ArrayLike,
    truth: npt.ArrayLike,
    density: float,
    random_state: RandomState = None,
) -> Iterator[LabelingInstance]:
    """The smoothed adversary of graph labelling: chosen distances, each perturbed independently.

    Parameters
    ----------
    base : array-like (n, n) or (L, n, n), or iterator of such arrays
        The chosen distances, as for `smoothed_clustering`; the weight of an edge is
        exp(-distance / sigma^2).
    labeled : array-like
        Indices of the labelled points.
    truth : array-like (n,)
        True labels.
    density : float
        kappa, positive: the density of every distance is at most this.
    random_state : int, numpy Generator or None
        Source of randomness.
    """
    rng = np.random.default_rng(random_state)
    for chosen in _choices(base, density):
        distances = _perturbed(chosen, density, rng)
        yield LabelingInstance(distances=distances, labeled=labeled, truth=truth)


def smoothed_classification(
    base: ClassificationInstance | Iterator[ClassificationInstance],
    density: float,
    random_state: RandomState = None,
) -> Iterator[ClassificationInstance]:
    """The smoothed adversary of classification: chosen data, each feature of each point perturbed.

    Every feature is uniform on an interval of length 1/density around the chosen one.

    Parameters
    ----------
    base : ClassificationInstance or iterator of them
        The chosen training and validation data; an iterator chooses anew in every round.
    density : float
        kappa, positive: the density of every feature is at most this.
    random_state : int, numpy Generator or None
        Source of randomness.
    """
    _check_density(density)
    rng = np.random.default_rng(random_state)
    chosen = repeat(base) if isinstance(base, ClassificationInstance) else base
    for instance in chosen:
        X, X_val = (
            features + (rng.random(features.shape) - 0.5) / density
            for features in (instance.X, instance.X_val)
        )
        yield ClassificationInstance(X, instance.y, X_val, instance.y_val)


def _check_density(density: float) -> None:
    if not 0 < density < np.inf:
        raise ParameterError(f"density must be positive and finite, got {density!r}")


def _choices(base: Chosen, density: float) -> Iterator[FloatArray]:
    """Yield the chosen distances of each round as an array of matrices."""
    _check_density(density)
    for chosen in base if isinstance(base, Iterator) else repeat(base):
        try:
            matrices = np.atleast_3d(np.asarray(chosen, dtype=np.float64).T).T
        except (TypeError, ValueError):
            matrices = np.empty(0)
        if matrices.ndim != 3 or matrices.shape[1] != matrices.shape[2]:
            raise InputError(
                "the chosen distances must be a square matrix, or one for each metric; got shape "
                f"{np.shape(chosen)} of {type(chosen).__name__}"
            )
        yield matrices


def _perturbed(chosen: FloatArray, density: float, rng: np.random.Generator) -> FloatArray:
    above = np.triu_indices(chosen.shape[-1], 1)
    distances = np.zeros_like(chosen)
    for matrix, start in zip(distances, chosen, strict=True):
        matrix[above] = start[above] + rng.random(len(above[0])) / density
        matrix += matrix.T
    return distances


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
    if not 0 < abs(alpha) <= LARGEST_EXPONENT:
        raise ParameterError(
            f"alpha must not be 0, and at most {LARGEST_EXPONENT} in size; got {alpha!r}"
        )
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


def threshold_labeling(sigma: float, below: bool) -> LabelingInstance:
    """Return an instance whose one unlabelled point changes its label at one bandwidth.

    A labelled point of the first class is at distance 1 from it and two of the second class are at
    distance 1 + sigma^2 ln 2. With bandwidth s the second class wins if
    2 exp(-sigma^2 ln 2 / s^2) >= 1, that is, for s >= `sigma`. The utility is 1 on the better side
    and 0 on the other.

    Parameters
    ----------
    sigma : float
        Where the label changes, positive.
    below : bool
        Whether smaller bandwidths are the better ones.

    Examples
    --------
    >>> from certune.families.graph_ssl import HarmonicLabeling
    >>> HarmonicLabeling(sigma=(0.5, 2.0)).dual(threshold_labeling(1.25, below=True)).values
    array([1., 0.])
    """
    if not 0 < sigma < math.inf:
        raise ParameterError(f"sigma must be positive and finite, got {sigma!r}")
    distances = np.ones((4, 4)) - np.eye(4)
    distances[3, 1] = distances[3, 2] = 1.0 + sigma**2 * math.log(2.0)
    distances[1, 3] = distances[2, 3] = distances[3, 1]
    truth = [0, 1, 1, 0 if below else 1]
    return LabelingInstance(distances=distances, labeled=[0, 1, 2], truth=truth)


def threshold_classification(lam: float, below: bool) -> ClassificationInstance:
    """Return an instance whose validation point changes its side at one l2 penalty.

    There are two features, with training points at +-1 on the first axis and at +-3 on the second,
    labelled by the sign of their coordinate. Each coefficient b depends on the distance s of its
    points alone: s / (1 + exp(s b)) = 4 lam b, and their quotient falls from 3 to 1/3 as lam grows.
    The validation point lies where both contributions cancel at `lam`. The accuracy is 1 on the
    better side and 0 on the other.

    Parameters
    ----------
    lam : float
        Where the answer changes, positive.
    below : bool
        Whether smaller penalties are the better ones.

    Examples
    --------
    >>> from certune.families.logistic import RegularizedLogistic
    >>> family = RegularizedLogistic("l2", lam=(0.01, 1.0), metric="accuracy")
    >>> family.dual(threshold_classification(0.1, below=True)).values
    array([1., 0.])
    """
    if not 0 < lam < math.inf:
        raise ParameterError(f"lam must be positive and finite, got {lam!r}")
    near, far = (_coefficient(distance, lam) for distance in (1.0, 3.0))
    X = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 3.0], [0.0, -3.0]])
    y = [1, -1, 1, -1]
    # Positive for smaller penalties, under which the near points have the larger coefficient.
    return ClassificationInstance(X, y, [[far, -near]], [1 if below else -1])


def _coefficient(distance: float, lam: float) -> float:
    """Solve distance / (1 + exp(distance b)) = 4 lam b by halving; the sides cross once."""
    low, high = 0.0, distance / (8.0 * lam)
    while True:
        middle = 0.5 * low + 0.5 * high
        if not low < middle < high:
            return middle
        if distance / (1.0 + math.exp(min(distance * middle, 700.0))) > 4.0 * lam * middle:
            low = middle
        else:
            high = middle
