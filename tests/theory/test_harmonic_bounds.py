"""The inequalities of docs/theory/harmonic-labeling.md, at random graphs and complex points."""

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import acb, acb_mat, ctx, fmpq

import certune as ct
from certune.families.graph_ssl.balls import ball_labels
from certune.families.graph_ssl.certificate import Certifier, _Local, image
from certune.families.graph_ssl.chebyshev import chebyshev_nodes
from certune.families.graph_ssl.course import make_course
from certune.families.graph_ssl.exponents import Exponents
from certune.families.graph_ssl.harmonic import soft_labels
from certune.families.graph_ssl.interpolation import Interpolator
from certune.families.graph_ssl.solver import PointSolver, error_bound

RNG = np.random.default_rng(0)


def laplacian_solution(weights, n_free, right):
    """Plain complex linear algebra: harmonic function with the last points labelled 0 and 1."""
    matrix = np.diag(weights[:n_free].sum(axis=1)) - weights[:n_free, :n_free]
    return np.linalg.solve(matrix, weights[:n_free, n_free:] @ right)


def graph_and_course(instance, kind):
    courses = {
        "bandwidth": ((0.0, 1.0), [(0.6, 0.0), (0.4, 0.0)]),
        "weights": ((0.5, 0.0), [(1.0, -1.0), (0.0, 1.0)]),
        "both": ((0.3, 0.5), [(0.8, -0.6), (0.2, 0.6)]),
    }
    ends = {"bandwidth": (0.15, 2.0), "weights": (0.0, 1.0), "both": (0.0, 1.0)}
    graph = ct.HarmonicLabeling().graph(instance)
    return graph, make_course(*courses[kind], *ends[kind])


def two_metrics(seed, n_per_class=12):
    return ct.datasets.random_labeling(
        1, n_per_class=n_per_class, metrics=("sqeuclidean", "cityblock"), random_state=seed
    )[0]


@pytest.mark.parametrize("kind", ["bandwidth", "weights", "both"])
@pytest.mark.parametrize("seed", range(3))
def test_growth_bound_holds_on_the_ellipse(kind, seed):
    """|f(z)| <= M at random complex points, by complex LU (small ellipses, moderate weights)."""
    rng = np.random.default_rng(seed)
    graph, course = graph_and_course(two_metrics(seed), kind)
    solver, exponents = PointSolver(graph), Exponents(graph, course)
    certifier = Certifier(graph, course, exponents, solver, np.arange(graph.n_nodes))
    low, high = course.ends
    class_right = np.eye(graph.n_classes)[graph.class_of]
    n = graph.n_nodes
    checked = 0
    for _ in range(6):
        centre = float(rng.uniform(low, min(high, 8.0)))
        local = _Local(certifier, centre)
        for size in (0.02, 0.1, 0.4, 1.0):
            real, imaginary = 1.2 * size * abs(centre) + 0.01, size * abs(centre) + 0.01
            ellipse = local.ellipse(real, imaginary)
            growth = local.log_growth(ellipse)
            if growth == math.inf:
                continue
            for angle in rng.uniform(0, 2 * np.pi, 8):
                z = centre + real * np.cos(angle) + 1j * imaginary * np.sin(angle)
                pairs = list(zip(course.first, course.second, strict=True))
                a, b = z**course.first_power, z**course.second_power
                rates = [float(u) * a + float(v) * b for u, v in pairs]
                w = np.exp(-sum(r * d for r, d in zip(rates, graph.between, strict=True)))
                w_labelled = np.exp(
                    -sum(r * d for r, d in zip(rates, graph.to_labelled, strict=True))
                )
                np.fill_diagonal(w, 0)
                matrix = np.diag(w.sum(axis=1) + w_labelled.sum(axis=1)) - w
                soft = np.linalg.solve(matrix, w_labelled @ class_right)
                residual = np.linalg.cond(matrix) * 1e-15
                assert np.abs(soft).max() <= math.exp(growth) * (1 + residual) + residual
                checked += 1
    assert checked > 50 and n > 10


def far_points(seed):
    """Two blobs with labels, and points far away, alone and in a pair."""
    rng = np.random.default_rng(seed)
    blobs = np.concatenate([rng.normal(0, 0.3, (8, 2)), rng.normal(1.2, 0.3, (8, 2))])
    far = np.array([[6.0, 0.0], [-5.0, 3.0], [-5.0, 3.2], [0.0, 9.0]])
    points = np.concatenate([blobs, far])
    return ct.LabelingInstance(
        points=points, labeled=[0, 1, 8, 9], truth=[0] * 8 + [1] * 8 + [0] * 4
    )


def complex_soft(graph, course, z):
    """Largest soft label at a complex coordinate, by elimination in complex balls."""
    with ctx.workprec(400 + int(220 * z.real)):
        z = acb(z.real, z.imag)
        a, b = z**course.first_power, z**course.second_power
        rates = [
            acb(fmpq(u.numerator, u.denominator)) * a + acb(fmpq(v.numerator, v.denominator)) * b
            for u, v in zip(course.first, course.second, strict=True)
        ]

        def weight(lengths):
            return (-sum((r * d for r, d in zip(rates, lengths, strict=True)), acb(0))).exp()

        n, n_labelled = graph.n_nodes, len(graph.class_of)
        matrix = [[acb(0)] * n for _ in range(n)]
        right = [[acb(0)] * graph.n_classes for _ in range(n)]
        for i in range(n):
            for j in range(n):
                if i != j:
                    w = weight(graph.between[:, i, j].tolist())
                    matrix[i][j] -= w
                    matrix[i][i] += w
            for j in range(n_labelled):
                w = weight(graph.to_labelled[:, i, j].tolist())
                matrix[i][i] += w
                right[i][graph.class_of[j]] += w
        solution = acb_mat(matrix).solve(acb_mat(right))
        return max(float(abs(entry).upper()) for entry in solution.entries())


@pytest.mark.parametrize("seed", range(2))
def test_growth_bound_holds_with_weak_edges_groups_and_chains(seed):
    """Small bandwidths and outliers, where every part of the bound is needed and used."""
    rng = np.random.default_rng(seed)
    graph = ct.HarmonicLabeling().graph(far_points(seed))
    course = make_course((0.0, 1.0), [(1.0, 0.0)], 0.1, 2.0)
    nodes = np.arange(graph.n_nodes)
    certifier = Certifier(graph, course, Exponents(graph, course), PointSolver(graph), nodes)
    n_groups, tightest, checked = 0, math.inf, 0
    for centre in (4.0, 12.0, 30.0):
        local = _Local(certifier, centre)
        for height in (0.1, 0.8, 2.5, 7.0):
            ellipse = local.ellipse(1.1 * height, height)
            growth = local.log_growth(ellipse)
            if growth == math.inf:
                continue
            n_groups = max(n_groups, int(local._group.max()) + 1)
            for angle in (np.pi / 2, *rng.uniform(0, np.pi, 2)):
                z = complex(centre + 1.1 * height * np.cos(angle), height * np.sin(angle))
                largest = complex_soft(graph, course, z)
                assert largest <= math.exp(growth)
                tightest = min(tightest, math.exp(growth) / largest)
                checked += 1
    assert n_groups > 2 and checked >= 15
    assert tightest < 200  # the bound is of the right size, not just large


@pytest.mark.parametrize("seed", [0, 2])
def test_a_far_point_needs_no_more_nodes_than_those_it_hangs_on(seed):
    """Energies bound it badly, its neighbours well."""
    graph = ct.HarmonicLabeling().graph(far_points(seed))
    course = make_course((0.0, 1.0), [(1.0, 0.0)], 0.1, 2.0)
    exponents, solver = Exponents(graph, course), PointSolver(graph)

    def degree(node):
        certifier = Certifier(graph, course, exponents, solver, np.array([node]))
        return certifier.plan(20.0, 22.0, math.log(2.0**-9)).degree

    assert degree(graph.n_nodes - 1) <= max(map(degree, range(3))) + 1


def test_growth_bound_is_infinite_beyond_the_strip():
    graph, course = graph_and_course(two_metrics(1), "bandwidth")
    nodes = np.arange(graph.n_nodes)
    certifier = Certifier(graph, course, Exponents(graph, course), PointSolver(graph), nodes)
    local = _Local(certifier, 1.0)
    assert local.log_growth(local.ellipse(0.1, 0.1)) < math.inf
    assert local.log_growth(local.ellipse(0.1, 1e3)) == math.inf


@pytest.mark.parametrize("power", [0, 1, 2])
def test_image_contains_the_power(power):
    for _ in range(50):
        centre, real, imaginary = RNG.normal(), RNG.random(), RNG.random()
        box = image(power, centre, real, imaginary)
        for _ in range(20):
            z = centre + RNG.uniform(-real, real) + 1j * RNG.uniform(-imaginary, imaginary)
            value = z**power
            assert box.low - 1e-12 <= value.real <= box.high + 1e-12
            assert abs(value.imag) <= box.imaginary + 1e-12
            assert abs(value.real - box.centre) <= box.deviation + 1e-12
            assert abs(value) <= box.size + 1e-12


@pytest.mark.parametrize("kind", ["bandwidth", "weights", "both"])
def test_interpolants_are_as_close_as_proved(kind):
    """Certified panels against ball arithmetic at random points between the nodes."""
    rng = np.random.default_rng(2)
    instance = two_metrics(4, n_per_class=8)
    graph, course = graph_and_course(instance, kind)
    worst = 0.0
    for panel in Interpolator(graph, course).panels(True, *course.ends):
        for local in rng.uniform(-1, 1, 2):
            z = (Fraction(panel.low) + Fraction(panel.high)) / 2 + Fraction(float(local)) * (
                Fraction(panel.high) - Fraction(panel.low)
            ) / 2
            balls = ball_labels(graph, course.rates(z), 200)
            exact = np.array([[float(ball.mid()) for ball in column] for column in balls]).T
            values = np.polynomial.chebyshev.chebval(local, np.moveaxis(panel.series, 2, 0))
            worst = max(worst, np.abs(values - exact).max() / panel.error)
    assert worst < 1.0


def test_a_relative_change_of_weights_moves_soft_labels_by_half_root_n():
    """|delta f| <= eta sqrt(n) / 2 for |log change| <= eta, also when eta is not small."""
    for trial in range(200):
        rng = np.random.default_rng(trial)
        n_free, n = 8, 11
        weights = np.exp(rng.normal(size=(n, n)) * rng.choice([0.1, 1.0, 4.0]))
        weights = np.triu(weights, 1) + np.triu(weights, 1).T
        eta = rng.choice([1e-3, 0.1, 1.0])
        change = rng.choice([-eta, eta], size=(n, n))
        change = np.triu(change, 1) + np.triu(change, 1).T
        right = np.array([0.0, 1.0, 1.0])
        before = laplacian_solution(weights, n_free, right)
        after = laplacian_solution(weights * np.exp(change), n_free, right)
        assert np.abs(after - before).max() <= eta * math.sqrt(n_free) / 2


def test_the_rounding_bound_covers_what_happens():
    instance = ct.datasets.digits_labeling(1, n_per_class=25)[0]
    graph = ct.HarmonicLabeling().graph(instance)
    for sigma in (0.05, 0.2, 1.0):
        rates = [1 / Fraction(sigma) ** 2]
        soft, bound = soft_labels(graph, rates)
        balls = ball_labels(graph, rates, 1500)
        exact = np.array([[float(ball.mid()) for ball in column] for column in balls]).T
        assert np.abs(soft - exact).max() <= bound == error_bound(graph.n_nodes)


def test_nodes_are_cosines():
    nodes = chebyshev_nodes(12, 100)
    expected = [math.cos(math.pi * j / 12) for j in range(13)]
    np.testing.assert_allclose([float(node) for node in nodes], expected, atol=1e-16)
