"""Affine conditions on boxes, against elimination of variables in exact arithmetic."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

import certune as ct
from certune.pfaffian import argsort, trace
from certune.pfaffian.signs.affine import Affine
from certune.pfaffian.signs.halfspaces import Halfspace, common_points


def is_empty(rows):
    """Fourier-Motzkin elimination: rows of coefficients, the offset last, and whether strict."""
    n_variables = len(rows[0][0]) - 1 if rows else 0
    for _ in range(n_variables):
        lower = [row for row in rows if row[0][0] > 0]
        upper = [row for row in rows if row[0][0] < 0]
        rows = [(row[1:], strict) for row, strict in rows if row[0] == 0]
        for low, low_strict in lower:
            for high, high_strict in upper:
                both = [a * -high[0] + b * low[0] for a, b in zip(low, high, strict=True)]
                rows.append((both[1:], low_strict or high_strict))
    return any(row[0] < 0 or (row[0] == 0 and strict) for row, strict in rows)


def system(rng, n_variables, n_conditions, homogeneous):
    names = [f"x{k}" for k in range(n_variables)]
    conditions, rows = [], []
    for _ in range(n_conditions):
        slopes = [Fraction(rng.randint(-4, 4), rng.choice([1, 1, 3])) for _ in names]
        slopes[0] = slopes[0] or Fraction(1, 2)
        offset = Fraction(0) if homogeneous else Fraction(rng.randint(-3, 3), rng.choice([1, 2]))
        strict = rng.random() < 0.5
        conditions.append(Halfspace(Affine(offset, dict(zip(names, slopes, strict=True))), strict))
        rows.append(([*slopes, offset], strict))
    ranges = {}
    for place, name in enumerate(names):
        low = rng.choice([-1, 0])
        ranges[name] = (float(low), 1.0)
        unit = [Fraction(int(k == place)) for k in range(n_variables)]
        rows.append(([*unit, Fraction(-low)], False))
        rows.append(([*(-number for number in unit), Fraction(1)], False))
    return conditions, ranges, rows


@pytest.mark.parametrize("homogeneous", [False, True])
@pytest.mark.parametrize("n_variables", [1, 2, 3])
def test_proofs_are_those_of_elimination(n_variables, homogeneous):
    rng = random.Random(10 * n_variables + homogeneous)
    n_empty = n_proved = 0
    for _ in range(60):
        conditions, ranges, rows = system(rng, n_variables, rng.randint(1, 4), homogeneous)
        found, truth = common_points(conditions, ranges), is_empty(rows)
        assert truth or not found.is_empty
        n_empty += truth
        n_proved += found.is_empty
    assert n_proved >= 0.9 * n_empty > 0


def test_points_that_are_found_lie_in_the_box():
    rng = random.Random(7)
    for _ in range(60):
        conditions, ranges, _ = system(rng, 2, 3, False)
        point = common_points(conditions, ranges).point
        if point is not None:
            assert all(low <= point[name] <= high for name, (low, high) in ranges.items())
            for form, _ in conditions:
                value = form.offset + sum(s * Fraction(point[k]) for k, s in form.slopes.items())
                assert value > -1e-9


def encoded(instance, parameters):
    """The order of jobs by weight**a / time**b, as a number."""
    weights, times = instance
    scores = [w ** parameters["a"] / t ** parameters["b"] for w, t in zip(*instance, strict=True)]
    order = argsort(scores, descending=True)
    return sum(job * len(weights) ** place for place, job in enumerate(order))


# Jobs 1 and 3 have equal weights, jobs 0 and 3 equal times, and all scores meet at a = b = 0.
JOBS = ((9, 4, 7, 4, 12), (3, 5, 2, 3, 8))


def test_a_trace_of_scores_in_two_parameters_has_the_orders_that_occur():
    found = trace(encoded, JOBS, {"a": (0, 2), "b": (0, 2)})
    rng = random.Random(0)
    seen = set()
    for _ in range(3000):
        a, b = rng.choice([rng.uniform(0, 2), 0.0]), rng.choice([rng.uniform(0, 2), 0.0])
        scores = [w**a / t**b for w, t in zip(*JOBS, strict=True)]
        order = sorted(range(5), key=lambda job: -scores[job])
        seen.add(sum(job * 5**place for place, job in enumerate(order)))
    assert sorted(int(path.value.value) for path in found.paths) == sorted(seen)
    assert all(path.witness is not None for path in found.paths)


def test_a_linear_classifier_is_tuned_to_a_proof():
    rng = random.Random(3)
    instances = [
        tuple((tuple(rng.gauss(0, 1) for _ in range(3)), rng.randrange(2)) for _ in range(5))
        for _ in range(2)
    ]

    def accuracy(examples, parameters):
        right = 0
        for (first, second, third), label in examples:
            score = first + parameters["v"] * second + parameters["w"] * third
            right += (score > 0) == label
        return Fraction(right, len(examples))

    space = ct.ParameterSpace((ct.Real("v", -2, 2), ct.Real("w", -2, 2)))
    result = ct.tune(ct.ProgramFamily(accuracy, space), instances, progress=False, timeout=60)
    assert result.status is ct.Status.OPTIMAL
    tried = [{"v": rng.uniform(-2, 2), "w": rng.uniform(-2, 2)} for _ in range(500)]
    means = [sum(accuracy(each, at) for each in instances) / 2 for at in tried]
    assert result.best_value == pytest.approx(float(max(means)))
