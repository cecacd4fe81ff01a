"""Ridge, lasso and elastic net against scikit-learn, refits and rational arithmetic."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_diabetes
from sklearn.linear_model import ElasticNet, Lasso, Ridge, enet_path
from sklearn.metrics import r2_score

import certune as ct
from certune.families.regression.centred import CentredData
from certune.families.regression.gram import Gram
from certune.families.regression.net_path import Face, NetPiece, net_path
from certune.families.regression.net_proof import distance_to_minimum, violations
from certune.testing import check_family

X, Y = load_diabetes(return_X_y=True)
X, Y = X[:200], Y[:200]
RNG = np.random.default_rng(0)
W = RNG.uniform(0.5, 2.0, len(Y))
RANGES = {"l2": (1e-4, 1e2), "l1": (1e-3, 4.0), "elastic-net": (1e-4, 1.0)}
TRAIN, TEST = slice(0, 140), slice(140, None)


def reference(penalty, alpha, **options):
    tight = {"tol": 1e-12, "max_iter": 1_000_000}
    if penalty == "l2":
        return Ridge(alpha=alpha, **options)
    if penalty == "l1":
        return Lasso(alpha=alpha, **tight, **options)
    return ElasticNet(alpha=alpha, l1_ratio=0.5, **tight, **options)


def instance_of(weighted):
    weights = {"sample_weight": W[TRAIN], "sample_weight_val": W[TEST]} if weighted else {}
    return ct.RegressionInstance(X[TRAIN], Y[TRAIN], X[TEST], Y[TEST], **weights)


def family_of(penalty, **options):
    options = {"max_error": 12_000.0, "alpha": RANGES[penalty], **options}
    return ct.RegularizedRegression(penalty, **options)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("penalty", sorted(RANGES))
def test_curves_are_those_of_scikit_learn(penalty, fit_intercept, weighted):
    max_error = 12_000.0 if fit_intercept else 100_000.0
    family = family_of(penalty, fit_intercept=fit_intercept, max_error=max_error)
    instance = instance_of(weighted)
    curve = family.dual(instance)
    for alpha in np.geomspace(*RANGES[penalty], 7):
        model = reference(penalty, alpha, fit_intercept=fit_intercept)
        model.fit(X[TRAIN], Y[TRAIN], sample_weight=W[TRAIN] if weighted else None)
        shares = W[TEST] if weighted else None
        error = np.average((Y[TEST] - model.predict(X[TEST])) ** 2, weights=shares)
        assert family.score.of(curve(alpha)) == pytest.approx(error, rel=1e-6)
        assert family.score.of(family.run(instance, alpha)) == pytest.approx(error, rel=1e-6)
        found = family.solve(instance, alpha)
        np.testing.assert_allclose(found.predict(X), model.predict(X), rtol=1e-5)


@pytest.mark.parametrize("penalty", sorted(RANGES))
def test_functions_keep_their_promises(penalty):
    check_family(family_of(penalty), [instance_of(False), instance_of(True)])


def test_coefficient_of_determination():
    family = ct.RegularizedRegression("l2", alpha=(1e-3, 10.0), metric="r2")
    instance = instance_of(True)
    model = Ridge(alpha=0.1).fit(X[TRAIN], Y[TRAIN], sample_weight=W[TRAIN])
    expected = r2_score(Y[TEST], model.predict(X[TEST]), sample_weight=W[TEST])
    assert family.score.of(family.dual(instance)(0.1)) == pytest.approx(expected, abs=1e-9)
    result = ct.tune(family, [instance])
    assert "mean R2" in str(result) and result.best_score == pytest.approx(result.score_bound)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("shape", [(25, 4), (12, 20)])
def test_leave_one_out_equals_refits(shape, fit_intercept, weighted):
    features = RNG.normal(size=shape)
    targets = features[:, 0] + RNG.normal(size=shape[0])
    weights = RNG.uniform(0.5, 2.0, shape[0]) if weighted else np.ones(shape[0])
    instance = ct.RegressionInstance(features, targets, sample_weight=weights if weighted else None)
    family = ct.RegularizedRegression(
        "l2", alpha=(1e-2, 1e2), max_error=100.0, fit_intercept=fit_intercept
    )
    curve = family.dual(instance)
    for alpha in (0.011, 1.0, 70.0):
        errors = []
        for out in range(shape[0]):
            kept = np.arange(shape[0]) != out
            model = Ridge(alpha=alpha, fit_intercept=fit_intercept)
            model.fit(features[kept], targets[kept], sample_weight=weights[kept])
            errors.append((targets[out] - model.predict(features[out : out + 1])[0]) ** 2)
        expected = np.average(errors, weights=weights)
        assert 100.0 - curve(alpha) == pytest.approx(expected, rel=1e-9)
        assert 100.0 - family.run(instance, alpha) == pytest.approx(expected, rel=1e-8)


def solve_exactly(matrix, right):
    """Gauss in rationals."""
    n = len(matrix)
    rows = [
        [*map(Fraction, row), Fraction(value)] for row, value in zip(matrix, right, strict=True)
    ]
    for k in range(n):
        pivot = next(i for i in range(k, n) if rows[i][k] != 0)
        rows[k], rows[pivot] = rows[pivot], rows[k]
        for i in range(n):
            if i != k and rows[i][k]:
                factor = rows[i][k] / rows[k][k]
                rows[i] = [a - factor * b for a, b in zip(rows[i], rows[k], strict=True)]
    return [rows[k][n] / rows[k][k] for k in range(n)]


def test_the_lasso_path_is_right_in_rational_arithmetic():
    features = RNG.integers(-4, 5, size=(12, 4)).astype(float)
    targets = RNG.integers(-9, 10, size=12).astype(float)
    data = CentredData(ct.RegressionInstance(features, targets), fit_intercept=False)
    pieces = net_path(Gram(data), 1.0, 1e-3, 20.0)
    columns = [[Fraction(v) for v in column] for column in features.T.tolist()]
    right = [Fraction(v) for v in targets.tolist()]
    products = [
        [sum(a * b for a, b in zip(c, d, strict=True)) / 12 for d in columns] for c in columns
    ]
    moments = [sum(a * b for a, b in zip(c, right, strict=True)) / 12 for c in columns]
    for piece in pieces:
        alpha = Fraction(0.5 * (piece.low + piece.high))
        active, signs = piece.face.active.tolist(), piece.face.signs.tolist()
        matrix = [[products[i][j] for j in active] for i in active]
        found = solve_exactly(
            matrix, [moments[i] - alpha * int(s) for i, s in zip(active, signs, strict=True)]
        )
        assert all(b * int(s) > 0 for b, s in zip(found, signs, strict=True))
        for j in set(range(4)) - set(active):
            gradient = moments[j] - sum(
                products[j][i] * b for i, b in zip(active, found, strict=True)
            )
            assert abs(gradient) <= alpha
        floats = piece.face.coefficients(np.array([float(alpha)]))[0]
        np.testing.assert_allclose(floats, [float(b) for b in found], rtol=1e-11)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([1.0, 0.9, 0.3]))
@example(126, 1.0)  # the range begins where the first coefficient enters
def test_paths_with_ties_and_copies_are_optimal(seed, ratio):
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(3, 12)), int(rng.integers(1, 9))
    features = rng.integers(-2, 3, size=(n, p)).astype(float)
    features[:, rng.integers(0, p)] = features[:, 0]
    targets = rng.integers(-3, 4, size=n).astype(float)
    data = CentredData(ct.RegressionInstance(features, targets), fit_intercept=bool(seed % 2))
    gram = Gram(data)
    try:
        pieces = net_path(gram, ratio, 0.02, 3.0)
    except ct.UndecidedError:
        # Refused, which only columns that depend on each other may cause.
        assert np.linalg.matrix_rank(data.rows) < p
        return
    assert pieces[0].low == 0.02 and pieces[-1].high == 3.0
    assert all(a.high == b.low for a, b in zip(pieces, pieces[1:], strict=False))
    for alpha in np.geomspace(0.02, 3.0, 9):
        piece = next(piece for piece in pieces if piece.low <= alpha <= piece.high)
        found = np.zeros(p)
        found[piece.face.active] = piece.face.coefficients(np.array([alpha]))[0]
        _, plain, _ = enet_path(
            data.rows, data.targets, l1_ratio=ratio, alphas=[alpha], tol=1e-12, max_iter=100_000
        )
        np.testing.assert_allclose(
            data.rows @ found, data.rows @ plain[:, 0], atol=1e-6 * (1 + np.abs(targets).max())
        )


@pytest.mark.parametrize("ratio", [1.0, 0.7])
def test_ranges_may_end_at_any_event(ratio):
    features = RNG.integers(-4, 5, size=(15, 5)).astype(float)
    targets = RNG.integers(-9, 10, size=15).astype(float)
    gram = Gram(CentredData(ct.RegressionInstance(features, targets), fit_intercept=True))
    whole = net_path(gram, ratio, 1e-3, 50.0)
    assert len(whole) > 4
    for number, piece in enumerate(whole[1:], start=1):
        part = net_path(gram, ratio, 1e-3, piece.low)
        assert part[0].low == 1e-3 and part[-1].high == piece.low
        faces = [sorted(p.face.active.tolist()) for p in part]
        assert faces == [sorted(p.face.active.tolist()) for p in whole[:number]]


def test_more_columns_than_rows():
    features = RNG.normal(size=(40, 120))
    targets = features[:, :3].sum(axis=1) + 0.1 * RNG.normal(size=40)
    instance = ct.RegressionInstance(features[:30], targets[:30], features[30:], targets[30:])
    for penalty in ("l1", "elastic-net", "l2"):
        family = ct.RegularizedRegression(penalty, alpha=(1e-2, 2.0), max_error=20.0)
        curve = family.dual(instance)
        for alpha in (0.02, 0.3):
            model = reference(penalty, alpha).fit(features[:30], targets[:30])
            error = np.mean((targets[30:] - model.predict(features[30:])) ** 2)
            assert 20.0 - curve(alpha) == pytest.approx(error, abs=1e-6)


@pytest.mark.parametrize("penalty", sorted(RANGES))
def test_tuning_finds_what_no_grid_beats_and_its_proof_is_verified(penalty):
    family = family_of(penalty)
    folds = [ct.RegressionInstance(X[k:], Y[k:], X[:k], Y[:k], name=f"first {k}") for k in (60, 70)]
    result = ct.tune(family, folds)
    grid = np.geomspace(*RANGES[penalty], 40)
    means = np.mean([family.dual(fold)(grid) for fold in folds], axis=0)
    assert result.best_value >= means.max() - family.tolerance
    assert result.status.name == "OPTIMAL" and result.gap <= family.tolerance
    assert ct.verify(result.certificate, family, folds).optimal


def distances(gram, piece, alphas):
    """How far the solutions of a face are from coordinate descent to the last digit."""
    for alpha in alphas:
        model = ElasticNet(
            alpha=alpha, l1_ratio=piece.face.ratio, tol=1e-15, max_iter=1_000_000,
            fit_intercept=False,
        ).fit(gram.data.rows, gram.data.targets)  # fmt: skip
        found = np.zeros(gram.sizes.size)
        found[piece.face.active] = piece.face.coefficients(np.array([alpha]))[0]
        yield float(np.linalg.norm(found - model.coef_))


@pytest.mark.parametrize("ratio", [0.1, 0.5, 0.95])
def test_faces_of_the_elastic_net_are_proved_on_whole_intervals(ratio):
    gram = Gram(CentredData.of(instance_of(False), True))
    pieces = [piece for piece in net_path(gram, ratio, 1e-4, 1.0) if piece.high > piece.low]
    assert len(pieces) > 5
    for piece in pieces:
        bound = distance_to_minimum(piece)
        assert bound <= 1e-6
        inside = [float(np.sqrt(piece.low * piece.high))]
        assert max(distances(gram, piece, inside)) <= bound + 1e-6


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6))
def test_a_wrong_face_is_known_to_be_far_from_the_minimum(seed):
    rng = np.random.default_rng(seed)
    gram = Gram(CentredData.of(instance_of(False), True))
    pieces = [piece for piece in net_path(gram, 0.5, 1e-3, 0.5) if piece.high > piece.low]
    piece = pieces[rng.integers(len(pieces))]
    active, signs = piece.face.active, piece.face.signs
    if active.size and rng.random() < 0.5:
        gone = rng.integers(active.size)
        active, signs = np.delete(active, gone), np.delete(signs, gone)
    # Beyond its own range, or without one of its columns.
    low, high = sorted(piece.low * np.exp(rng.uniform(-1.0, 1.0, 2)))
    wrong = NetPiece(low, high, Face(gram, 0.5, active, signs))
    bound = distance_to_minimum(wrong)
    assert max(distances(gram, wrong, np.linspace(low, high, 4))) <= bound * (1 + 1e-6) + 1e-6


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6))
def test_violations_between_samples_are_found(seed):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(12, 4)) * 10.0 ** rng.uniform(-2.0, 2.0, 4)
    targets = rng.normal(size=12)
    gram = Gram(CentredData(ct.RegressionInstance(features, targets), True))
    active = np.flatnonzero(rng.random(4) < 0.6)
    face = Face(gram, rng.uniform(0.05, 0.95), active, rng.choice([-1.0, 1.0], active.size))
    piece = NetPiece(1e-4, 10.0, face)
    found = violations(piece)
    held, to_go = face.slacks(np.geomspace(1e-4, 10.0, 4000))
    scale = 1e-12 * (1.0 + np.abs(gram.targets).max())
    assert (found.gradients >= -to_go.min(axis=0) - scale).all()
    assert (
        found.signs >= -held.min(axis=0, initial=0.0) - scale * (1 + np.abs(held).max(initial=0.0))
    ).all()
    # They are found, not merely bounded: the samples come close.
    assert (found.gradients <= np.maximum(-to_go.min(axis=0), 0.0) * 1.01 + 1e-3 * scale**0.5).all()


@pytest.mark.parametrize("penalty", sorted(RANGES))
def test_counts_stay_below_the_structure(penalty):
    family = family_of(penalty)
    structure = family.structure(n_features=10)
    pieces = family.dual(instance_of(False))
    assert pieces.n_pieces <= structure.line.n_breakpoints + 20
    # Of the order of the number of columns.
    assert 5 <= ct.pdim_bound(structure).dimension <= 35
    assert family.structure_of([instance_of(False)]) == structure


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"penalty": "l3"}, "penalty must be one of"),
        ({}, "needs max_error"),
        ({"max_error": -1.0}, "max_error must be a positive"),
        ({"alpha": (0.0, 1.0), "max_error": 1.0}, "low"),
        ({"alpha": 3, "max_error": 1.0}, "alpha must be a range"),
        ({"penalty": "elastic-net", "l1_ratio": 1.0, "max_error": 1.0}, "between 0 and 1"),
        ({"metric": "mae", "max_error": 1.0}, "metric must be one of"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(ct.ParameterError, match=message):
        ct.RegularizedRegression(**options)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[1.0], [np.nan]], [1.0, 2.0]), "row 1, column 0"),
        (([[1.0], [2.0]], [1.0, np.inf]), "y has the value inf in row 1"),
        (([[1.0], [2.0]], ["a", "b"]), "y must be numbers"),
        (([[1.0], [2.0]], [1.0, 2.0, 3.0]), "one number for each of 2 rows"),
        (([[1.0], [2.0]], [1.0, 2.0], [[1.0]]), "both X_val and y_val"),
        (([[1.0], [2.0]], [1.0, 2.0], [[1.0, 2.0]], [1.0]), "the same columns"),
        (([[1.0]], [1.0]), "at least two rows"),
    ],
)
def test_bad_data_are_refused(arguments, message):
    with pytest.raises(ct.InputError, match=message):
        ct.RegressionInstance(*arguments)


def test_what_is_not_defined_is_refused():
    constant = ct.RegressionInstance(X[:20], Y[:20], X[20:22], [1.0, 1.0], name="fold 4")
    with pytest.raises(ct.InputError, match="R2 is not defined .* fold 4"):
        ct.tune(ct.RegularizedRegression(metric="r2"), [constant])
    with pytest.raises(ct.InputError, match="closed form for penalty='l2' only"):
        ct.tune(family_of("l1"), [ct.RegressionInstance(X, Y)])


@pytest.mark.parametrize("penalty", sorted(RANGES))
def test_the_best_estimator_of_unequal_folds_has_the_tuned_error(penalty):
    folds = ct.folds(X[:101], Y[:101], cv=3, task="regression")
    result = ct.tune(family_of(penalty), folds)
    errors = []
    for fold in folds:
        model = result.best_estimator.fit(fold.X, fold.y)
        errors.append(np.mean((fold.y_val - model.predict(fold.X_val)) ** 2))
    assert len({len(fold.y) for fold in folds}) == 2
    assert np.mean(errors) == pytest.approx(result.best_score, rel=1e-6)


@pytest.mark.parametrize("penalty", ["l1", "elastic-net"])
@pytest.mark.parametrize("share", [1e-4, 1e-7])
def test_weak_penalties_have_a_minimum_where_columns_outnumber_rows(penalty, share):
    """Descent by coordinates does not end here, nor did exchanges that drop any column."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(40, 300))
    targets = rows[:, :10] @ rng.uniform(10.0, 90.0, 10) + 5.0 * rng.normal(size=40)
    instance = ct.RegressionInstance(rows[:32], targets[:32], rows[32:], targets[32:])
    ratio = 1.0 if penalty == "l1" else 0.9
    options = {} if penalty == "l1" else {"l1_ratio": ratio}
    family = ct.RegularizedRegression(penalty, alpha=(1e-6, 1e2), metric="r2", **options)
    alpha = 100.0 * share
    coefficients = family.solve(instance, {"alpha": alpha}).coef
    active = coefficients != 0.0
    centred = rows[:32] - rows[:32].mean(axis=0)
    residuals = targets[:32] - targets[:32].mean() - centred @ coefficients
    pull = centred.T @ residuals / 32 - alpha * (1.0 - ratio) * coefficients
    noise = 1e-11 * np.abs(centred.T @ targets[:32] / 32).max()
    expected = alpha * ratio * np.sign(coefficients[active])
    np.testing.assert_allclose(pull[active], expected, rtol=0.0, atol=noise)
    assert np.abs(pull).max() <= alpha * ratio + noise
