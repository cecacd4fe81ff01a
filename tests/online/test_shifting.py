"""The best sequence with few shifts against all sequences of cells, in rational numbers."""

from fractions import Fraction
from itertools import accumulate, pairwise, product

import numpy as np
import pytest

import certune as ct
from certune.online import shifting_regret
from certune.testing import StepFamily, StepInstance

FAMILY = StepFamily()


N_ROUNDS = 4


def instance(rng, n_steps, units, offset=0):
    places = np.sort(rng.choice(8, n_steps, replace=False) + 1) / 16 + offset / 128
    values = rng.integers(0, units + 1, n_steps + 1).tolist()
    return StepInstance(tuple(places.tolist()), tuple(Fraction(value, units) for value in values))


def brute_force(instances):
    """Best totals for every number of shifts, from all sequences of points between 128ths."""
    points = [(2 * i + 1) / 256 for i in range(128)]
    utilities = [[FAMILY.run_exact(item, {"x": x}) for x in points] for item in instances]
    cells = sorted({tuple(column) for column in zip(*utilities, strict=True)})
    best = [Fraction(0)] * N_ROUNDS
    for sequence in product(cells, repeat=N_ROUNDS):
        moves = sum(a is not b for a, b in pairwise(sequence))
        best[moves] = max(best[moves], sum(cell[t] for t, cell in enumerate(sequence)))
    return list(accumulate(best, max))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("large", [False, True], ids=["small", "beyond 64 bits"])
def test_the_best_sequence_equals_brute_force(seed, large):
    rng = np.random.default_rng(seed)
    units = [10**11 + 3, 10**11 + 19] if large else [3, 4]
    # No two functions change at the same place, so that no gaps coincide and totals are exact.
    instances = [instance(rng, 2, units[t % 2], offset=t) for t in range(N_ROUNDS)]
    tuner = ct.OnlineTuner(FAMILY, random_state=seed)
    rounds = [tuner.update(item) for item in instances]
    pairs = zip(instances, rounds, strict=True)
    earned = sum(FAMILY.run_exact(item, finished.params) for item, finished in pairs)
    for shifts, best in enumerate(brute_force(instances)):
        regret = shifting_regret(rounds, shifts)
        assert regret.best_bounds == (best, best) and regret.n_rounds == N_ROUNDS
        assert regret.earned_bounds == (earned, earned)


def test_without_shifts_it_is_the_regret_against_a_fixed_parameter():
    rng = np.random.default_rng(0)
    for along in (None, [ct.Segment.coordinate("x", *ends) for ends in ((0, 0.5), (0.5, 1))]):
        tuner = ct.OnlineTuner(FAMILY, random_state=1, along=along)
        rounds = [tuner.update(instance(rng, 3, 5)) for _ in range(40)]
        fixed, sequence = tuner.regret(), shifting_regret(rounds, 0)
        assert sequence.value_bounds == fixed.value_bounds
        assert shifting_regret(rounds, 39).best_bounds[0] == sum(
            max(dual.max_exact for dual in item.duals) for item in rounds
        )


def test_gaps_give_bounds():
    # One function is open on (1/4, 3/4) between 0 and 1, the other is 1 there and 0 elsewhere.
    wide = ct.PiecewiseFunction([0, 0.75], [0.25, 1], [0, 0], [0], [1], 1, "x")
    tuner = ct.OnlineTuner(FAMILY, random_state=0)
    middle = StepInstance((0.3, 0.7), (0, 1, 0))
    rounds = [tuner.update(dual=wide), tuner.update(middle)]
    assert shifting_regret(rounds, 1).best_bounds == (1, 2)


def test_what_is_no_run_is_refused():
    tuner, other = ct.OnlineTuner(FAMILY, random_state=0), ct.OnlineTuner(StepFamily(0, 2))
    step = StepInstance((0.5,), (0, 1))
    rounds = [tuner.update(step)]
    for given in ([], None, [3], [*rounds, other.update(step)]):
        with pytest.raises(ct.InputError, match="shifting_regret needs"):
            shifting_regret(given, 1)
    for shifts in (-1, 1.5, True, "a"):
        with pytest.raises(ct.ParameterError, match="shifts must be"):
            shifting_regret(rounds, shifts)
