"""Elimination without subtraction, settling of polynomials, bottlenecks: against brute force."""

import itertools

import numpy as np
import pytest

import certune as ct
from certune.deadline import TimeIsUp, until
from certune.families.graph_ssl.chebyshev import halving_matrix
from certune.kernels.graph import (
    OPEN,
    Edges,
    Elimination,
    Joined,
    ModelErrors,
    RateBox,
    bounds_by_neighbours,
    chained_growth,
    chebyshev_coefficients,
    class_energies,
    conflicts,
    crossing_sum,
    dominant_classes,
    eliminate,
    exponents_at,
    fill_weights,
    gates,
    inverse_diagonal,
    joined_groups,
    leak_sums,
    log_conductances,
    margins,
    path_below,
    path_maxima,
    phase_links,
    ranges_of_strong,
    ranked_tree,
    rule_out,
    settle,
    soft_models,
    solve_grounded,
    spanning_tree,
    substitute,
    tail_of_margins,
    transition_shares,
)

RNG = np.random.default_rng(0)


def random_graph(n, n_classes):
    weights = np.triu(RNG.random((n, n)), 1)
    classes = RNG.random((n, n_classes))
    full = weights + weights.T
    laplacian = np.diag(full.sum(axis=1) + classes.sum(axis=1)) - full
    return weights, classes, laplacian


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8, 13])
def test_elimination_solves_the_laplacian(n):
    weights, classes, laplacian = random_graph(n, 3)
    right = classes.copy()
    work = Elimination(weights, classes, np.zeros(n))
    assert eliminate(work)
    expected = np.linalg.solve(laplacian, right)
    np.testing.assert_allclose(substitute(work), expected, rtol=1e-12)
    inverse = np.linalg.inv(laplacian)
    np.testing.assert_allclose(inverse_diagonal(work), np.diag(inverse), rtol=1e-12)
    vectors = RNG.normal(size=(n, 2))
    solution = solve_grounded(work, vectors)
    np.testing.assert_allclose(solution, np.linalg.solve(laplacian, vectors), rtol=1e-10)
    # Energy of class c: conductance to the others = sum of its weights minus what returns.
    energies = right.sum(axis=0) - np.einsum("ic,ic->c", right, expected)
    np.testing.assert_allclose(class_energies(work), energies, rtol=1e-10)


def test_a_node_without_weight_is_reported():
    assert not eliminate(Elimination(np.zeros((2, 2)), np.array([[1.0], [0.0]]), np.zeros(2)))


def test_tree_and_bottlenecks_by_enumeration():
    """The largest exponent on the tree path is the smallest over all paths."""
    n, n_labelled = 5, 2
    between = RNG.random((n, n))
    between = np.triu(between, 1) + np.triu(between, 1).T
    to_labelled = RNG.random((n, n_labelled))
    everything = Joined(np.ones((n, n), bool), np.ones((n, n_labelled), bool))
    exponents = between, to_labelled
    largest = path_maxima(exponents, spanning_tree(exponents, everything))
    joined = np.zeros((n + 1, n + 1))
    joined[:n, :n] = between
    joined[:n, n] = joined[n, :n] = to_labelled.min(axis=1)
    for i, j in itertools.combinations(range(n + 1), 2):
        others = [k for k in range(n + 1) if k not in (i, j)]
        paths = (
            (i, *middle, j)
            for size in range(len(others) + 1)
            for middle in itertools.permutations(others, size)
        )
        best = min(max(joined[a, b] for a, b in itertools.pairwise(path)) for path in paths)
        assert largest[i, j] == best


def tree_path(i, j, parent, depth):
    """Tree edges, known by their lower nodes, between two nodes."""
    found = []
    while i != j:
        if depth[i] < depth[j]:
            i, j = j, i
        found.append(i)
        i = parent[i]
    return found


def test_groups_of_tree_edges_by_walking_paths():
    n, n_labelled = 9, 3
    points, centres = RNG.random((n, 2)), RNG.random((n_labelled, 2))
    between = 9 * ((points[:, None] - points[None]) ** 2).sum(axis=-1)
    to_labelled = 9 * ((points[:, None] - centres[None]) ** 2).sum(axis=-1)
    edges = Joined(~np.eye(n, dtype=bool), np.ones((n, n_labelled), bool))
    exponents = between, to_labelled
    tree = spanning_tree(exponents, edges)
    ranked = ranked_tree(tree, exponents)
    parent, depth = tree.parent, tree.depth
    lengths, rank_of, ranks = ranked.lengths, ranked.rank_of, ranked.path_rank
    assert (rank_of == np.argsort(np.argsort(lengths))).all()
    for i in range(n):
        own = to_labelled[i, tree.via[i]] if parent[i] == n else between[i, parent[i]]
        assert lengths[i] == own
    links = phase_links(exponents, edges, ranked)
    expected = np.zeros((n, n))
    group_of = RNG.integers(3, size=n)
    below = path_below(exponents, ranked, group_of)
    one_group = path_below(exponents, ranked, np.zeros(n, dtype=int))
    assert (one_group == -np.inf).all()
    for i, j in itertools.combinations(range(n + 1), 2):
        path = tree_path(i, j, parent, depth)
        top = max(rank_of[k] for k in path)
        assert ranks[i, j] == top
        others = [lengths[k] for k in path if group_of[rank_of[k]] != group_of[top]]
        assert below[i, j] >= max(others, default=-np.inf)
        assert below[i, j] <= max(lengths[k] for k in path)
        exponents = to_labelled[i].tolist() if j == n else [between[i, j]]
        for k in path:
            if rank_of[k] != top:
                expected[top, rank_of[k]] += sum(np.exp(lengths[k] - e) for e in exponents)
    np.testing.assert_allclose(links, expected, rtol=1e-12)


def test_gates_by_taking_every_node_away():
    """A node hangs on another one if it does not reach the ground without it."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 14))
        edges = np.triu(rng.random((n, n)) < rng.choice([0.1, 0.2, 0.4]), 1)
        edges |= edges.T
        grounded = rng.random((n, 2)) < 0.15

        def reached(without, n=n, edges=edges, grounded=grounded):
            found = {i for i in range(n) if grounded[i].any() and i != without}
            pending = list(found)
            while pending:
                i = pending.pop()
                new = {j for j in range(n) if edges[i, j] and j != without} - found
                found |= new
                pending += new
            return found

        everything = reached(None)
        gate = gates(Joined(edges, grounded))
        for i in everything:
            others = [v for v in range(n) if v != i and i not in reached(v)]
            # Of all nodes that i hangs on, the first one hangs on no other.
            first = [v for v in others if not any(v not in reached(w) for w in range(n) if w != v)]
            assert [gate[i]] == (first or [i])


def test_joined_groups():
    groups = joined_groups(6, np.array([0, 4, 1]), np.array([2, 5, 2]))
    assert len(set(groups[[0, 1, 2]])) == 1 and groups[4] == groups[5]
    assert len(set(groups)) == 3


def test_coefficients_are_those_of_numpy():
    values = RNG.random((9, 4))
    nodes = np.cos(np.pi * np.arange(9) / 8)
    expected = np.polynomial.chebyshev.chebfit(nodes, values, 8)
    np.testing.assert_allclose(chebyshev_coefficients(values), expected.T, atol=1e-14)


@pytest.mark.parametrize("degree", [2, 5, 30])
def test_halving_is_a_change_of_variable(degree):
    series = RNG.normal(size=degree + 1)
    x = np.linspace(-1, 1, 17)
    direct = np.polynomial.chebyshev.chebval((x - 1) / 2, series)
    halved = np.polynomial.chebyshev.chebval(x, halving_matrix(degree) @ series)
    np.testing.assert_allclose(halved, direct, atol=1e-12)


def test_settled_parts_cover_the_panel_and_are_right():
    """Random polynomials: outside zones the winner is the largest, zones are narrow."""
    degree, error = 20, 1e-12
    for n_classes in (2, 4):
        series = RNG.normal(size=(30, n_classes, degree + 1)) * 0.7 ** np.arange(degree + 1)
        admitted = np.ones((30, n_classes), dtype=bool)
        info, ends = settle(series, admitted, np.full(30, error), halving_matrix(degree))
        for node in range(30):
            own = info[:, 0] == node
            assert ends[own][0, 0] == -1 and ends[own][-1, 1] == 1
            assert (ends[own][1:, 0] == ends[own][:-1, 1]).all()
            for (_, winner, rival), (low, high) in zip(info[own], ends[own], strict=True):
                if winner != rival or winner == OPEN:
                    assert high - low < 1e-9
                    continue
                x = np.linspace(low, high, 9)
                values = np.polynomial.chebyshev.chebval(x, series[node].T)
                assert (values.max(axis=0) - values[winner] <= 1e-13).all()


def test_classes_that_are_not_admitted_never_win():
    series = np.zeros((1, 2, 3))
    series[0, 0, 0] = 1.0
    info, _ = settle(series, np.array([[False, True]]), np.array([0.1]), halving_matrix(2))
    assert info.tolist() == [[0, 1, 1]]


def test_equal_polynomials_are_one_zone():
    info, ends = settle(
        np.full((1, 2, 5), 0.25), np.ones((1, 2), bool), np.array([1e-13]), halving_matrix(4)
    )
    assert info.tolist() == [[0, 0, 1]] and ends.tolist() == [[-1, 1]]


def test_shares_that_underflow_are_not_lost():
    # Four near points pass everything that the label of the first one sends to the sixth point;
    # the exact soft label there is 1.70241e-9 for class "b" (ball arithmetic at 20,000 bits).
    points = [[0.0], [0.05], [0.04], [0.03], [0.02], [3.40], [6.78]]
    instance = ct.LabelingInstance(points, labeled=[0, 6], labels=["a", "b"], truth=list("aaaaaab"))
    family = ct.HarmonicLabeling(sigma=(0.095, 1.0))
    assert family.solve(instance, 0.1).soft[5, 1] == pytest.approx(1.7024e-9, rel=1e-4)
    assert family.run(instance, 0.0975) == 1.0
    assert family.dual(instance).n_pieces == 1


def random_edges(seed, n=7, n_labelled=4, n_metrics=2, n_classes=3):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n + n_labelled, 3))
    lengths = np.stack(
        [(np.abs(points[:, None] - points) ** power).sum(axis=-1) for power in range(1, 3)]
    )[:n_metrics]
    joined = np.triu(rng.random((n, n)) < 0.8, 1)
    return Edges(
        np.ascontiguousarray(lengths[:, :n, :n]),
        np.ascontiguousarray(lengths[:, :n, n:]),
        Joined(joined | joined.T, rng.random((n, n_labelled)) < 0.9),
        np.r_[np.arange(n_classes), rng.integers(0, n_classes, n_labelled - n_classes)],
        n_classes,
    )


def exponents_of(edges, rates):
    return (
        np.tensordot(rates, edges.between, 1),
        np.tensordot(rates, edges.to_labelled, 1),
    )


def plain_soft(edges, rates):
    """Soft labels by a linear system in numpy."""
    among, to = (np.exp(-part) for part in exponents_of(edges, rates))
    among, to = among * edges.joined.nodes, to * edges.joined.labelled
    classes = to @ np.eye(edges.n_classes)[edges.class_of]
    laplacian = np.diag(among.sum(axis=1) + classes.sum(axis=1)) - among
    return np.linalg.solve(laplacian, classes)


@pytest.mark.parametrize("seed", range(6))
def test_weights_and_both_eliminations_give_the_harmonic_functions(seed):
    edges = random_edges(seed)
    rates = np.array([0.7, 0.2])
    doubles = rates, np.array([1e-20, -1e-19])
    work = Elimination.room_for(7, 3)
    fill_weights(edges, doubles, 0.5, work)
    among, to = (np.exp(0.5 - part) for part in exponents_of(edges, rates))
    expected = np.triu(among * edges.joined.nodes, 1)
    np.testing.assert_allclose(np.triu(work.weights, 1), expected, rtol=1e-14)
    by_class = (to * edges.joined.labelled) @ np.eye(3)[edges.class_of]
    np.testing.assert_allclose(work.classes, by_class, rtol=1e-14)
    assert eliminate(work)
    soft = substitute(work)
    np.testing.assert_allclose(soft, plain_soft(edges, rates), rtol=1e-11)
    shares = transition_shares(edges, doubles)
    np.testing.assert_allclose(shares[:, :7], np.triu(work.weights, 1) / work.sums[:, None])
    np.testing.assert_allclose(shares[:, 7:], work.classes / work.sums[:, None])
    wide = Elimination(np.ascontiguousarray(shares[:, :7]), shares[:, 7:].copy(), np.ones(7))
    np.testing.assert_allclose(substitute(wide), soft, rtol=1e-13)


def test_wide_numbers_go_on_where_doubles_end():
    """Two nodes in a row: shares are known in closed form, at exponents of a thousand millions."""
    joined = Joined(np.array([[False, True], [True, False]]), np.ones((2, 2), bool))
    between = np.array([[[0.0, 1.0], [1.0, 0.0]]])
    edges = Edges(between, np.array([[[1.0, 2.0], [3.0, 1.0]]]), joined, np.array([0, 1]), 2)
    shares = transition_shares(edges, (np.array([1e9]), np.zeros(1)))
    np.testing.assert_allclose(shares, [[0, 0.5, 0.5, 0], [0, 0, 1 / 3, 2 / 3]], rtol=1e-15)


@pytest.mark.parametrize("seed", range(6))
def test_sums_over_edges_are_those_of_their_definitions(seed):
    edges = random_edges(seed, n=6)
    n, m = edges.to_labelled.shape[1:]
    corners = [exponents_of(edges, rates) for rates in ([1.0, 0.5], [0.8, 0.9])]
    tree = spanning_tree(corners[0], edges.joined)
    ranked = ranked_tree(tree, corners[0])
    maxima = [path_maxima(corner, tree) for corner in corners]
    pairs = [(i, j) for i in range(n) for j in range(i + 1, n) if edges.joined.nodes[i, j]]
    links = [(i, j) for i in range(n) for j in range(m) if edges.joined.labelled[i, j]]
    found = margins(corners, maxima)
    expected = {
        **{(0, *e): min(c[0][e] - x[e] for c, x in zip(corners, maxima, strict=True))
           for e in pairs},
        **{(1, *e): min(c[1][e] - x[e[0], n] for c, x in zip(corners, maxima, strict=True))
           for e in links},
    }  # fmt: skip
    assert all(found[which][i, j] == value for (which, i, j), value in expected.items())
    tail = tail_of_margins(edges.joined, found)
    for k in range(0, 65, 8):
        assert tail[k] == pytest.approx(
            sum(np.exp(-min(g, 64.5)) for g in expected.values() if g > k), rel=1e-12
        )
    groups = np.random.default_rng(seed).integers(0, 2, n)
    groups[0], cutoff = 1, 1.5
    low, high = ranges_of_strong(
        (corners[0], corners[1]), edges.joined, found, cutoff, ranked, groups
    )
    for group in range(2):
        strong = [
            (which, i, j)
            for (which, i, j), g in expected.items()
            if g <= cutoff and groups[ranked.path_rank[i, n if which else j]] == group
        ]
        for k, corner in enumerate(corners):
            values = [corner[which][i, j] for which, i, j in strong]
            assert low[group, k] == min(values, default=np.inf)
            assert high[group, k] == max(values, default=-np.inf)
    below = path_below(corners[0], ranked, groups)
    exponents = {(w, i, j): corners[0][w][i, j] for w, i, j in expected}
    crossing = sum(np.exp(below[i, n if w else j] - e) for (w, i, j), e in exponents.items())
    assert crossing_sum(corners[0], edges.joined, below) == pytest.approx(crossing, rel=1e-12)
    weak, all_ = leak_sums(corners[0], edges.joined, found, cutoff, maxima[0], below)
    terms = [
        np.exp(0.5 * maxima[0][i, n if w else j] - e)
        for (w, i, j), e in exponents.items()
        if expected[w, i, j] > cutoff
    ]
    assert np.exp(weak) == pytest.approx(sum(terms), rel=1e-12)
    terms = [np.exp(0.5 * below[i, n if w else j] - e) for (w, i, j), e in exponents.items()]
    assert np.exp(all_) == pytest.approx(sum(terms), rel=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_conductances_and_the_chain_of_bounds(seed):
    edges = random_edges(seed, n=6)
    exponents = exponents_of(edges, [1.0, 0.5])
    resistance = path_maxima(exponents, spanning_tree(exponents, edges.joined))[:-1, -1]
    ranked = np.argsort(resistance, kind="stable")
    found = log_conductances(exponents, edges.joined, resistance, ranked)
    among, to = np.exp(-exponents[0]) * edges.joined.nodes, np.exp(-exponents[1])
    to = to * edges.joined.labelled
    for i in range(6):
        outer, inner = ranked[i:], ranked[:i]
        total = to[outer].sum() + among[np.ix_(outer, inner)].sum()
        assert np.exp(found[i]) == pytest.approx(total, rel=1e-12)
    single, factor = np.random.default_rng(seed).uniform(0, 3, 6), -1.0
    bound, expected = np.zeros(7), np.zeros(6)
    for p, u in enumerate(ranked):
        chained = [
            bound[i] + np.logaddexp(0.0, factor + 0.5 * (found[i] + resistance[u]))
            for i in range(p + 1)
        ]
        expected[u] = min(single[u], *chained)
        bound[p + 1] = max(bound[p], expected[u])
    grown = chained_growth(found[None], resistance[None], ranked, single, factor)
    np.testing.assert_allclose(grown, expected, rtol=1e-12)


def complex_soft(edges, rates):
    """Soft labels (n, n_classes) at complex rates, and the complex weights of all edges."""
    lengths = np.concatenate([edges.between, edges.to_labelled], axis=2)
    joined = np.concatenate(edges.joined, axis=1)
    weights = np.where(joined, np.exp(-np.tensordot(rates, lengths, 1)), 0)
    n = len(weights)
    right = weights[:, n:] @ np.eye(edges.n_classes)[edges.class_of]
    return np.linalg.solve(np.diag(weights.sum(axis=1)) - weights[:, :n], right), weights


@pytest.mark.parametrize("seed", range(6))
def test_neighbours_bound_complex_soft_labels(seed):
    rng = np.random.default_rng(seed)
    edges = random_edges(seed)
    n = len(edges.joined.nodes)
    real, imaginary = rng.uniform(0.2, 1.5, 2), rng.uniform(0.0, 0.4, 2)
    soft, weights = complex_soft(edges, real + 1j * imaginary)
    known = np.log(np.maximum(np.abs(soft).max(axis=1), 1.0))
    chosen = np.flatnonzero(np.arange(n) % 3 == 0)
    bounds = known.copy()
    bounds[chosen[0]] = 20.0
    coefficients = tuple((edges.between[k], edges.to_labelled[k]) for k in range(2))

    def found(nodes, low, high, tall):
        box = np.array([[low, high, tall]])
        return bounds_by_neighbours(coefficients, edges.joined, nodes, bounds, 0.0, box)

    own = found(chosen[:1], real, real, imaginary)
    np.testing.assert_array_equal(np.delete(own, chosen[0]), np.delete(bounds, chosen[0]))
    assert known[chosen[0]] - 1e-8 <= own[chosen[0]]
    # The best that the moduli and phases of the weights, over the strongest one, say.
    row = weights[chosen[0]]
    ratios = row / row[np.abs(row).argmax()]
    exponents = np.abs(np.log(np.where(ratios == 0, 1, np.abs(ratios))))
    lengths = np.concatenate([edges.between, edges.to_labelled], axis=2)[:, chosen[0]]
    phases = imaginary @ np.abs(lengths - lengths[:, [np.abs(row).argmax()]])
    total = (np.abs(ratios) * np.cos(np.minimum(phases, np.pi))).sum()
    assert exponents.max() < 600
    size = np.abs(ratios) @ np.exp(np.concatenate([bounds, np.zeros(len(row) - n)]))
    best = np.log(max(1.0, size / total)) if total > 0 else np.inf
    assert own[chosen[0]] <= min(best, 20.0) + 0.05
    # All of them at once, and on a larger box.
    bounds[chosen] = 20.0
    several = found(chosen, real, real, imaginary)
    assert (several >= known - 1e-8).all()
    wide = found(chosen, real - 0.1, real + 0.1, imaginary + 0.1)
    assert (wide >= several).all() and (wide <= bounds).all()


def test_neighbours_say_nothing_where_weights_may_cancel_or_overflow():
    edges = random_edges(0)
    n = len(edges.joined.nodes)
    coefficients = tuple((edges.between[k], edges.to_labelled[k]) for k in range(2))
    bounds = np.full(n, 3.0)
    for low, high, tall in [(1.0, 1.0, 1e3), (-1e4, -1e4, 0.0)]:
        box = np.array([[[low, low], [high, high], [tall, tall]]])
        found = bounds_by_neighbours(coefficients, edges.joined, np.arange(n), bounds, 0.0, box)
        assert (found <= bounds).all()
        assert (found == bounds).any() or low < 0
    # A node that nothing is known of says nothing to its neighbours, but learns from them.
    box = np.array([[[1.0, 1.0], [1.0, 1.0], [0.0, 0.0]]])
    unknown = np.where(np.arange(n) == 2, np.inf, 3.0)
    found = bounds_by_neighbours(coefficients, edges.joined, np.arange(n), unknown, 0.0, box)
    beside = edges.joined.nodes[2]
    assert (found[beside] == 3.0).all() and found[2] < 3.1
    assert (found[~beside] < 3.0).any()
    unknown[:] = np.inf
    found = bounds_by_neighbours(coefficients, edges.joined, np.arange(n), unknown, 0.0, box)
    assert (found == np.inf).all()


@pytest.mark.parametrize("seed", range(6))
def test_models_and_dominance_hold_inside_of_boxes(seed):
    rng = np.random.default_rng(seed)
    edges = random_edges(seed, n_classes=2 + seed % 2)
    n_classes = edges.n_classes
    centre, reach = np.array([0.8, 0.3]), 10.0 ** rng.uniform(-4, -1)
    moves = reach * np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]])
    exponents = exponents_at(edges, np.vstack([centre[None], centre + moves]))
    assert exponents.shape == (5, 7, 11)
    np.testing.assert_allclose(
        exponents[1], np.hstack(exponents_of(edges, centre + moves[0])), rtol=1e-14
    )
    dominant = dominant_classes(edges, exponents, np.arange(7), 1.001)
    work = Elimination.room_for(7, n_classes)
    fill_weights(edges, (centre, np.zeros(2)), 0.0, work)
    assert eliminate(work)
    soft = substitute(work)
    needed = float(exponents[0].max())
    models = soft_models(
        edges, work, soft, RateBox(centre, moves, 0.0, needed), ModelErrors(1e-13, 1e-12, 1e-14)
    )
    assert models.exist and models.spread.shape == (2, 2)
    for _ in range(20):
        share = rng.dirichlet(np.ones(4))
        inside = plain_soft(edges, centre + share @ moves)
        linear = np.tensordot(share, models.values, 1)
        assert (np.abs(linear - inside) <= models.errors + 1e-12).all()
        won = dominant >= 0
        assert (inside[won, dominant[won]] > 0.5).all()


def test_a_class_that_is_near_dominates_far_ones():
    joined = Joined(np.zeros((1, 1), bool), np.ones((1, 2), bool))
    edges = Edges(np.zeros((1, 1, 1)), np.array([[[1.0, 9.0]]]), joined, np.array([1, 0]), 2)
    exponents = exponents_at(edges, np.array([[1.0], [0.5], [2.0]]))
    assert dominant_classes(edges, exponents, [0], 1.001).tolist() == [1]
    assert dominant_classes(edges, 0.0 * exponents, [0], 1.001).tolist() == [-1]


def test_classes_that_lose_everywhere_are_ruled_out():
    values = np.array([[[0.7, 0.2, 0.1]], [[0.4, 0.5, 0.1]]])  # two vertices, one node
    possible = np.ones((1, 3), bool)
    room, close = rule_out(values, np.full((1, 3), 0.01), np.array([0]), possible)
    assert possible.tolist() == [[True, True, False]] and not close[0]
    np.testing.assert_allclose(room, [[0.52, -0.08]], atol=1e-12)
    assert conflicts(np.array([[1.0, -2.0], [-2.0, 1.0], [5.0, 5.0]])) == 1


def doors(edges):
    """A good call of every door: name and positional arguments."""
    n, m = edges.to_labelled.shape[1:]
    k, rates = edges.n_classes, (np.ones(2), np.zeros(2))
    exponents = exponents_of(edges, [1.0, 1.0])
    tree = spanning_tree(exponents, edges.joined)
    ranked, maxima = ranked_tree(tree, exponents), path_maxima(exponents, tree)
    work = Elimination(np.ones((n, n)), np.ones((n, k)), np.ones(n))
    zeros, numbers, joined = np.zeros(n), np.arange(n), edges.joined
    box = RateBox(np.ones(2), np.zeros((4, 2)), 0.0, 1.0)
    table = exponents_at(edges, np.ones((3, 2)))
    return [
        (fill_weights, edges, rates, 0.0, work),
        (eliminate, work),
        (substitute, work),
        (transition_shares, edges, rates),
        (solve_grounded, work, np.zeros((n, 2))),
        (inverse_diagonal, work),
        (class_energies, work),
        (chebyshev_coefficients, np.zeros((5, 2))),
        (settle, np.zeros((n, k, 5)), np.ones((n, k), bool), zeros, halving_matrix(4)),
        (spanning_tree, exponents, joined),
        (gates, joined),
        (path_maxima, exponents, tree),
        (ranked_tree, tree, exponents),
        (margins, [exponents], [maxima]),
        (tail_of_margins, joined, exponents),
        (ranges_of_strong, (exponents, exponents), joined, exponents, 1.0, ranked, numbers),
        (phase_links, exponents, joined, ranked),
        (joined_groups, n, numbers, numbers),
        (path_below, exponents, ranked, numbers),
        (crossing_sum, exponents, joined, maxima),
        (leak_sums, exponents, joined, exponents, 1.0, maxima, maxima),
        (log_conductances, exponents, joined, zeros, numbers),
        (chained_growth, np.zeros((2, n)), np.zeros((2, n)), numbers, zeros, 0.0),
        (
            bounds_by_neighbours,
            (exponents, exponents),
            joined,
            numbers,
            zeros,
            0.0,
            np.ones((2, 3, 2)),
        ),
        (exponents_at, edges, np.ones((3, 2))),
        (dominant_classes, edges, table, numbers, 1.0),
        (soft_models, edges, work, np.zeros((n, k)), box, ModelErrors(0.0, 0.0, 0.0)),
        (rule_out, np.zeros((2, n, k)), np.zeros((n, k)), numbers, np.ones((n, k), bool)),
        (conflicts, np.zeros((3, 4))),
    ]


def spoilt(value):
    """Wrong versions of an argument: other sizes, dimensions, types and numbers."""
    if isinstance(value, np.ndarray):
        yield value[..., None]
        yield np.zeros((0,) * value.ndim, value.dtype)
        yield value.astype(complex)
        if value.ndim and value.size:
            yield np.concatenate([value, value])
            yield value[..., :-1]
        if value.dtype == np.int64:
            yield value + 1000
            yield value - 1000
    elif isinstance(value, (tuple, list)):
        for place, part in enumerate(value):
            for bad in spoilt(part):
                parts = [*value[:place], bad, *value[place + 1 :]]
                yield type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    else:
        yield "nothing"


@pytest.mark.parametrize("which", range(28))
def test_doors_answer_or_refuse_whatever_they_are_given(which):
    """Never a crash: sizes and numbers that do not fit are a ValueError or a TypeError."""
    door, *good = doors(random_edges(0))[which]
    door(*good)
    refused = 0
    for place, value in enumerate(good):
        for bad in spoilt(value):
            try:
                door(*good[:place], bad, *good[place + 1 :])
            except (TypeError, ValueError, AttributeError):
                refused += 1
    assert refused > 0


def test_work_arrays_that_are_not_contiguous_are_refused():
    work = Elimination(np.ones((6, 6))[::2, ::2], np.ones((3, 2)), np.ones(3))
    with pytest.raises(TypeError):
        eliminate(work)
    frozen = np.ones((3, 3))
    frozen.flags.writeable = False
    with pytest.raises(TypeError):
        eliminate(Elimination(frozen, np.ones((3, 2)), np.ones(3)))


def test_long_loops_end_at_the_deadline():
    n = 300
    work = Elimination(np.ones((n, n)), np.ones((n, 2)), np.ones(n))
    for door in (eliminate, substitute, inverse_diagonal):
        with until(-np.inf), pytest.raises(TimeIsUp):
            door(work)
