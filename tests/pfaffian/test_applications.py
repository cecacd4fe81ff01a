"""Structures of graph labelling and logistic regression: their counts, from first principles."""

import numpy as np
import pytest

from certune.errors import ParameterError
from certune.pfaffian.bounds.applications import (
    harmonic_labeling_structure,
    logistic_surrogate_structure,
)


@pytest.mark.parametrize(("unlabeled", "labeled"), [(1, 1), (3, 1), (4, 2), (5, 3)])
def test_forests_are_counted_by_the_determinant(unlabeled, labeled):
    # With all weights 1, det(D_UU - W_UU) is the number of forests rooted in the labelled points.
    n = unlabeled + labeled
    laplacian = n * np.eye(unlabeled) - np.ones((unlabeled, unlabeled))
    forests = round(np.linalg.det(laplacian))
    line = harmonic_labeling_structure(unlabeled, labeled).line
    assert line.n_breakpoints == unlabeled * (forests - 1)


def test_predicates_are_polynomials_in_the_counted_weights():
    # f_u >= 1/2 as numerator - det/2 >= 0: homogeneous of degree |U| in the weights, and weights
    # between labelled points do not enter.
    rng = np.random.default_rng(0)
    weights = np.triu(rng.random((5, 5)), 1)
    weights += weights.T
    labels = np.array([1.0, 0.0])

    def predicates(w):
        laplacian = np.diag(w[:3].sum(axis=1)) - w[:3, :3]
        determinant = np.linalg.det(laplacian)
        return np.linalg.solve(laplacian, w[:3, 3:] @ labels) * determinant - determinant / 2

    structure = harmonic_labeling_structure(3, 2, 2, tuned_weights=True)
    count = structure.predicates[0]
    assert np.allclose(predicates(2 * weights), 2**count.function_degree * predicates(weights))
    entering = 0
    for i in range(5):
        for j in range(i):
            changed = weights.copy()
            changed[i, j] = changed[j, i] = weights[i, j] + 1
            entering += not np.allclose(predicates(changed), predicates(weights))
    assert entering == count.chain_length == 3 + 6
    assert (count.n_predicates, count.n_parameters, count.chain_degree) == (3, 2, 1)


def test_labels_change_no_more_often_than_proved():
    rng = np.random.default_rng(1)
    unlabeled, labeled = 3, 2
    tau = np.linspace(0.0, 30.0, 30_001)
    for _ in range(20):
        delta = np.triu(rng.random((5, 5)), 1)
        delta += delta.T
        w = np.exp(-tau[:, None, None] * delta) * (1 - np.eye(5))
        laplacian = np.einsum("tij,jk->tik", w, np.ones((5, 1)))[:, :3] * np.eye(3) - w[:, :3, :3]
        f = np.linalg.solve(laplacian, w[:, :3, 3:] @ np.array([[1.0], [0.0]]))[..., 0]
        changes = np.count_nonzero(np.diff(f >= 0.5, axis=0))
        assert changes <= harmonic_labeling_structure(unlabeled, labeled).line.n_breakpoints


def test_validation_loss_on_a_segment_crosses_a_level_twice_at_most():
    rng = np.random.default_rng(2)
    lam = np.linspace(0, 1, 5001)
    for _ in range(50):
        slope, offset = rng.normal(size=(2, 7)) * 5
        loss = np.log1p(np.exp(np.outer(lam, slope) + offset)).sum(axis=1)
        level = rng.uniform(loss.min(), loss.max())
        crossings = np.count_nonzero(np.diff(loss >= level))
        assert crossings <= logistic_surrogate_structure(9, 7, (1, 2), 1).n_level_crossings


def test_path_segments_are_counted_exactly():
    # Lengths 3/4: exactly three steps of 1/4, two and a half of 0.3, almost four of 0.2.
    assert logistic_surrogate_structure(9, 7, (0.25, 1.0), 0.25).n_regions == 3
    assert logistic_surrogate_structure(9, 7, (0.25, 1.0), 0.3).n_regions == 3
    assert logistic_surrogate_structure(9, 7, (0.25, 1.0), 0.2).n_regions == 4


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: harmonic_labeling_structure(0, 1), "n_unlabeled must be"),
        (lambda: harmonic_labeling_structure(3, 0), "n_labeled must be"),
        (lambda: harmonic_labeling_structure(3, 1, 1, tuned_weights=True), "n_metrics >= 2"),
        (lambda: logistic_surrogate_structure(3, 1, (2, 1), 0.1), "low < high"),
        (lambda: logistic_surrogate_structure(3, 1, (1, 2), 0), "step must be positive"),
    ],
)
def test_bad_sizes_are_refused(call, message):
    with pytest.raises(ParameterError, match=message):
        call()
