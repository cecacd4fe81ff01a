"""Labels at very small bandwidths against leading terms, and at larger ones against many bits.

With whole distances every weight is a power of x = exp(-1 / sigma^2).  Cramer's rule, written out
over all permutations, gives soft labels as quotients of polynomials in x; for small x the lowest
terms decide.  No code is shared with the package.
"""

from itertools import permutations

import numpy as np
import pytest
from flint import arb, arb_mat, ctx, fmpz_poly

import certune as ct

TINY, SMALL, ORDINARY = (0.003, 0.02), 0.12, (0.3, 0.7, 2.0)


def grid_instance(rng):
    """Few points with whole distances: on a line, in the plane, or arbitrary."""
    n = int(rng.integers(4, 10))
    kind = rng.integers(3)
    if kind == 0:
        places = rng.integers(0, 9, n)
        distances = np.abs(np.subtract.outer(places, places)).astype(float)
    elif kind == 1:
        places = rng.integers(0, 3, (n, 2))
        distances = ((places[:, None] - places) ** 2).sum(axis=-1).astype(float)
    else:
        distances = np.zeros((n, n))
        distances[np.triu_indices(n, 1)] = rng.integers(1, 5, n * (n - 1) // 2)
        distances += distances.T
    n_free = int(rng.integers(1, min(4, n - 2) + 1))
    labeled = np.sort(rng.permutation(n)[n_free:])
    labels = rng.integers(0, 4, len(labeled))
    truth = rng.integers(0, 4, n)
    truth[labeled] = labels
    return ct.LabelingInstance(distances=distances, labeled=labeled, labels=labels, truth=truth)


def determinant(matrix):
    total = fmpz_poly([0])
    for order in permutations(range(len(matrix))):
        swaps = sum(a > b for i, a in enumerate(order) for b in order[i + 1 :])
        term = fmpz_poly([(-1) ** swaps])
        for i, j in enumerate(order):
            term *= matrix[i][j]
        total += term
    return total


def system(instance, weight):
    """Grounded Laplacian and the weights to each class, for any kind of number."""
    lengths = instance.distances[0].astype(int).tolist()
    free, classes = instance.unlabeled.tolist(), sorted(set(instance.labels.tolist()))
    codes = dict(zip(instance.labeled.tolist(), instance.labels.tolist(), strict=True))
    zero = weight(0) - weight(0)
    matrix = [
        [
            sum((weight(lengths[i][k]) for k in range(len(lengths)) if k != i), zero)
            if i == j
            else zero - weight(lengths[i][j])
            for j in free
        ]
        for i in free
    ]
    right = [
        [sum((weight(lengths[i][k]) for k, c in codes.items() if c == kind), zero) for i in free]
        for kind in classes
    ]
    return matrix, right, classes


def by_rule(classes, is_less):
    """The winner: the largest, of equal ones the second of two or the first of more."""
    ordered = range(len(classes)) if len(classes) > 2 else reversed(range(len(classes)))
    best = None
    for c in ordered:
        best = c if best is None or is_less(best, c) else best
    return classes[best]


def leading_labels(instance):
    """Classes of the unlabelled points for all bandwidths close to 0."""
    matrix, right, classes = system(instance, lambda d: fmpz_poly([0] * d + [1]))
    labels = []
    for u in range(len(matrix)):
        tops = [
            determinant([[*row[:u], b, *row[u + 1 :]] for row, b in zip(matrix, side, strict=True)])
            for side in right
        ]

        def is_less(c, d, tops=tops):
            return next((a > 0 for a in (tops[d] - tops[c]).coeffs() if a != 0), False)

        labels.append(by_rule(classes, is_less))
    return labels


def ball_winners(instance, sigma, bits):
    """Classes at a bandwidth from a linear system in balls; balls that overlap count as equal."""
    with ctx.workprec(bits):
        tau = 1 / arb(sigma) ** 2
        matrix, right, classes = system(instance, lambda d: (-tau * d).exp())
        soft = arb_mat(matrix).solve(arb_mat(right).transpose())
        return [
            by_rule(classes, lambda c, d, u=u: bool(soft[u, c] < soft[u, d]))
            for u in range(len(matrix))
        ]


def share_right(instance, codes):
    return np.mean(instance.truth[instance.unlabeled] == np.array(codes))


@pytest.mark.parametrize("seed", range(25))
def test_labels_of_points_on_grids(seed):
    instance = grid_instance(np.random.default_rng(seed))
    family = ct.HarmonicLabeling(sigma=(min(TINY), max(ORDINARY)))
    dual = family.dual(instance)
    leading = leading_labels(instance)
    expected = {sigma: leading for sigma in (*TINY, SMALL)}
    # At 0.12 a power of x has 100 bits, and differences come down to x^30 or so.
    assert ball_winners(instance, SMALL, 8000) == leading
    expected |= {sigma: ball_winners(instance, sigma, 2000) for sigma in ORDINARY}
    for sigma, codes in expected.items():
        labeling = family.solve(instance, sigma)
        assert not labeling.undecided.any()
        names = [instance.class_names[code] for code in codes]
        assert labeling.labels[instance.unlabeled].tolist() == names
        assert dual(sigma) == pytest.approx(share_right(instance, codes), abs=1e-12)
    assert len(dual.undecided) == 0


def test_a_lead_of_the_second_order_on_a_line():
    """f_0 - f_2 = -(3/8) x^2 + ... at one point: 1/4 of the points is right, for all sigma."""
    distances = np.abs(np.subtract.outer(np.arange(10.0), np.arange(10.0)))
    instance = ct.LabelingInstance(
        distances=distances,
        labeled=[0, 1, 2, 3, 5, 9],
        labels=[1, 1, 1, 3, 2, 0],
        truth=[1, 1, 1, 3, 0, 2, 2, 0, 1, 0],
    )
    assert share_right(instance, leading_labels(instance)) == 0.25
    result = ct.tune(ct.HarmonicLabeling(sigma=(0.003, 0.5)), [instance], progress=False)
    assert result.status is ct.Status.OPTIMAL
    assert result.best_value == 0.25
    assert result.best_region == [(0.003, 0.5)]
