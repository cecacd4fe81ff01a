"""Families written as programs, held to plain execution and to independent algorithms."""

import math
import random
from fractions import Fraction

import numpy as np
import pytest

import certune as ct
from certune.errors import InputError, ParameterError
from certune.families.content import content_hash
from certune.families.programs import LinkageProgram, figure_utility
from certune.families.reach import reach
from certune.pfaffian import exp, program

SPACE = ct.Real("a", 0, 1)


def knapsack(n_items, seed, largest=1000):
    rng = random.Random(seed)
    values = [rng.randint(1, largest) for _ in range(n_items)]
    sizes = [rng.randint(1, largest) for _ in range(n_items)]
    return ct.KnapsackInstance(values, sizes, sum(sizes) // 3)


def greedy_in_floats(instance, rho):
    """The plain algorithm, by logarithms of scores in floats; good away from breakpoints."""
    scores = [
        math.log(v) - rho * math.log(s)
        for v, s in zip(instance.values, instance.sizes, strict=True)
    ]
    room, total = instance.capacity, Fraction(0)
    for i in sorted(range(len(scores)), key=lambda i: (-scores[i], i)):
        if instance.sizes[i] <= room:
            room -= instance.sizes[i]
            total += instance.values[i]
    return total / instance.bound


def breakpoints_of_orders(instance, low, high):
    """All rho at which two scores are equal: log(v_i / v_j) / log(s_i / s_j)."""
    found = []
    items = list(zip(instance.values, instance.sizes, strict=True))
    for i, (v, s) in enumerate(items):
        for w, r in items[:i]:
            if s != r:
                rho = math.log(v / w) / math.log(s / r)
                if low <= rho <= high:
                    found.append(rho)
    return np.sort(found)


def test_knapsack_equals_plain_execution_at_thousands_of_parameters():
    instance = knapsack(40, 3)
    family = ct.GreedyKnapsack(rho=(0, 3))
    dual = family.dual(instance)
    changes = breakpoints_of_orders(instance, 0, 3)
    rng = np.random.default_rng(0)
    # Half at random, half close to places where two items change order.
    near = rng.choice(changes, 1000) + rng.choice([-1, 1], 1000) * 10.0 ** rng.uniform(-9, -3, 1000)
    for rho in np.clip(np.concatenate((rng.uniform(0, 3, 1000), near)), 0, 3).tolist():
        if np.abs(changes - rho).min() > 1e-11:
            assert dual.value_at(rho) == greedy_in_floats(instance, rho)


def test_integers_of_numpy_are_taken_as_they_are():
    values, sizes = np.array([60, 100, 120, 30]), np.array([10, 20, 30, 4])
    of_numpy = ct.KnapsackInstance(values, sizes, np.int64(50))
    plain = ct.KnapsackInstance(values.tolist(), sizes.tolist(), 50)
    family = ct.GreedyKnapsack()
    assert family.dual(of_numpy) == family.dual(plain)


def test_knapsack_breakpoints_are_places_where_two_scores_are_equal():
    instance = knapsack(40, 3)
    dual = ct.GreedyKnapsack(rho=(0, 3)).dual(instance)
    changes = breakpoints_of_orders(instance, 0, 3)
    assert dual.n_pieces > 5
    assert not len(dual.undecided)
    for low, high in dual.breakpoints:
        assert high - low <= 1e-12
        assert np.abs(changes - low).min() < 1e-9


def test_knapsack_with_a_hundred_items_is_exact():
    instance = knapsack(100, 1)
    family = ct.GreedyKnapsack(rho=(0, 3))
    dual = family.dual(instance)
    assert not len(dual.undecided)
    changes = breakpoints_of_orders(instance, 0, 3)
    rng = np.random.default_rng(1)
    for rho in rng.uniform(0, 3, 300).tolist():
        if np.abs(changes - rho).min() > 1e-11:
            assert dual.value_at(rho) == greedy_in_floats(instance, rho)
    # beside every breakpoint the plain program agrees as well, on both sides
    for low, high in dual.breakpoints[::8].tolist():
        assert family.run_exact(instance, low) == dual.value_at(low)
        assert family.run_exact(instance, high) == dual.value_at(high)


def test_items_that_tie_for_every_parameter():
    instance = ct.KnapsackInstance((4, 4, 4, 9), (2, 2, 2, 3), 5)
    family = ct.GreedyKnapsack(rho=(0, 3))
    assert family.solve(instance, 0.5) == [3, 0]
    # 9 / 3^rho = 4 / 2^rho at rho = 2: 9/9 = 4/4 exactly, where the lower index comes first
    dual = family.dual(instance)
    assert dual.value_at(2.0) == family.run_exact(instance, 2.0)
    assert family.solve(instance, 2.0) == [0, 1]
    assert family.solve(instance, math.nextafter(2, 0)) == [3, 0]
    assert dual.value_at(math.nextafter(2, 0)) == Fraction(13) / instance.bound


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (((), (), 1), "as many values"),
        (((1, 2), (1,), 1), "as many values"),
        (((1,), (0,), 1), "> 0"),
        (((1,), (1,), math.nan), "> 0"),
        ((("x",), (1,), 1), "> 0"),
    ],
)
def test_bad_knapsacks_are_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        ct.KnapsackInstance(*arguments)


def neighbours(seed, n_queries=12, n_labelled=25):
    rng = np.random.default_rng(seed)
    points, queries = rng.normal(size=(n_labelled, 2)), rng.normal(size=(n_queries, 2))
    labels = points[:, 0] + 0.7 * rng.normal(size=n_labelled) > 0
    distances = np.linalg.norm(queries[:, None] - points[None], axis=2)
    return ct.NeighborInstance(distances, labels, queries[:, 0] > 0)


def accuracy_in_floats(instance, gamma, k):
    right = 0
    for row, truth in zip(instance.distances, instance.truth, strict=True):
        votes = {}
        for i in np.argsort(row, kind="stable")[:k]:
            label = instance.labels[i]
            votes[label] = votes.get(label, 0.0) + math.exp(-gamma * row[i])
        right += max(votes, key=votes.get) == truth
    return Fraction(int(right), len(instance.truth))


def test_neighbours_equal_a_vote_in_floats():
    family = ct.NeighborVoting(gamma=(0, 8), n_neighbors=6)
    n_pieces = 0
    for seed in range(3):
        instance = neighbours(seed)
        dual = family.dual(instance)
        n_pieces += dual.n_pieces
        for gamma in np.random.default_rng(seed).uniform(0, 8, 300).tolist():
            if np.abs(dual.breakpoints - gamma).min(initial=1.0) > 1e-9:
                assert dual.value_at(gamma) == accuracy_in_floats(instance, gamma, 6)
    assert n_pieces > 5


@pytest.mark.parametrize("kind", ["min-max", "power-mean"])
@pytest.mark.parametrize("seed", [0, 1])
def test_a_linkage_program_agrees_with_the_kernels(kind, seed):
    instance = ct.datasets.random_clustering(1, n_clusters=2, n_per_cluster=3, random_state=seed)[0]
    slow = ct.ProgramFamily(LinkageProgram(kind), ct.Real("alpha", -6, 6))
    fast = ct.Linkage(kind, alpha=(-6, 6))
    by_program, by_kernels = slow.dual(instance), fast.dual(instance)
    assert by_program.numerators.tolist() == by_kernels.numerators.tolist()
    assert by_program.denominator == by_kernels.denominator
    # both enclose the same change, so the enclosures overlap
    for (a, b), (c, d) in zip(by_program.breakpoints, by_kernels.breakpoints, strict=True):
        assert a <= d and c <= b
    for alpha in (-2.0, 0.0, 1.0, 0.37):
        assert slow.run_exact(instance, alpha) == fast.run_exact(instance, alpha)


def test_trees_of_the_linkage_program_change_where_those_of_the_kernels_do():
    instance = ct.datasets.random_clustering(1, n_clusters=2, n_per_cluster=3, random_state=5)[0]
    merges = program(lambda i, p: hash(tuple(LinkageProgram().merges(i, p["alpha"]))))
    for alpha in np.random.default_rng(0).uniform(-5, 5, 20).tolist():
        tree = ct.Linkage("power-mean", alpha=(-5, 5)).solve(instance, alpha)
        sizes = sorted(len(a) + len(b) for a, b in LinkageProgram().merges(instance, _exact(alpha)))
        assert sizes == sorted(int(size) for size in _subtree_sizes(tree, 6))
    assert merges(instance, {"alpha": 1.0}) == merges(instance, {"alpha": 1.0})


def _exact(value):
    from certune.pfaffian import constant

    return constant(value)


def _subtree_sizes(tree, n_points):
    sizes = [1] * n_points
    for left, right in tree.children.tolist():
        sizes.append(sizes[left] + sizes[right])
    return sizes[n_points:]


def test_tuning_a_program():
    family = ct.GreedyKnapsack(rho=(0, 3))
    instances = [knapsack(15, seed) for seed in range(4)]
    result = ct.tune(family, instances)
    assert result.status is ct.Status.OPTIMAL
    runs = [family.run_exact(instance, result.best_params) for instance in instances]
    assert sum(runs) / 4 == result.landscape.max_exact
    rng = np.random.default_rng(0)
    for rho in rng.uniform(0, 3, 50):
        assert sum(family.run_exact(instance, rho) for instance in instances) / 4 <= sum(runs) / 4
    assert set(result.baselines) == {"by value", "by density"}


def figure_family():
    return ct.ProgramFamily(
        figure_utility, ct.ParameterSpace((ct.Real("a1", 0.1, 10), ct.Real("a2", 0.1, 10)))
    )


def test_pieces_of_the_figure_along_a_segment():
    segment = ct.Segment({"a1": 0.5, "a2": 9.0}, {"a1": 9.5, "a2": 0.2})
    family = figure_family()
    pieces = family.pieces(None, segment)
    assert len({piece.value for piece in pieces}) == 4
    run = program(figure_utility)
    for t in np.random.default_rng(0).uniform(0, 1, 100).tolist():
        (piece,) = [piece for piece in pieces if piece.start <= t <= piece.stop]
        exact = {
            name: Fraction(start) + Fraction(t) * Fraction(segment.direction[name])
            for name, start in segment.origin.items()
        }
        assert (piece.value.substitute({"t": t}) - run(None, exact)).sign() == 0


def test_a_utility_that_is_not_constant_says_what_to_use():
    segment = ct.Segment({"a1": 0.5, "a2": 9.0}, {"a1": 9.5, "a2": 0.2})
    with pytest.raises(InputError, match="pass tolerance=1e-10"):
        figure_family().dual(None, segment)


def test_programs_are_checked():
    with pytest.raises(ParameterError, match="program must be a function"):
        ct.ProgramFamily(3, SPACE)
    with pytest.raises(ParameterError, match="utility_range"):
        ct.ProgramFamily(figure_utility, SPACE, utility_range=(1, 0))
    with pytest.raises(InputError, match="utility range"):
        ct.ProgramFamily(lambda x, p: 7, SPACE).dual(None)
    with pytest.raises(InputError, match="not a rational number"):
        ct.ProgramFamily(lambda x, p: exp(1) / 3, SPACE).dual(None)
    with pytest.raises(InputError, match="must return a number"):
        ct.ProgramFamily(lambda x, p: None, SPACE).dual(None)
    with pytest.raises(ParameterError, match="Segment"):
        ct.ProgramFamily(lambda x, p: 1, SPACE).dual(None, along="a")
    with pytest.raises(ParameterError):
        ct.ProgramFamily(lambda x, p: 1, SPACE).run(None, 2.0)


def test_wrong_instances_are_refused():
    with pytest.raises(InputError, match="KnapsackInstance"):
        ct.GreedyKnapsack().dual(neighbours(0))
    with pytest.raises(InputError, match="NeighborInstance"):
        ct.NeighborVoting().dual(knapsack(3, 0))
    with pytest.raises(InputError, match="fingerprint"):
        ct.ProgramFamily(lambda x, p: 1, SPACE).dual(object())


@pytest.mark.parametrize("distances", [[[1.0, math.nan]], [[-1.0, 1.0]], [[1.0]], "x"])
def test_bad_neighbours_are_refused(distances):
    with pytest.raises(InputError, match="distances"):
        ct.NeighborInstance(distances, ["a", "b"], ["a"])


def test_fingerprints_see_content_and_code():
    assert content_hash((1, 2.0, "a")) == content_hash((1, 2.0, "a"))
    different = [(1, 2), (2, 1), [1, 2], (1.0, 2), ((1,), 2), np.array([1, 2]), {"a": 1}, "12"]
    assert len({content_hash(value) for value in different}) == len(different)

    def first(x, p):
        return 1 if p["a"] >= 0.5 else 0

    def second(x, p):
        return 1 if p["a"] >= 0.25 else 0

    assert reach(first).digest != reach(second).digest
    assert reach(program(first)) == reach(first)


def test_trace_of_a_family():
    found = ct.GreedyKnapsack(rho=(0, 1)).trace(ct.KnapsackInstance((3, 2, 4), (1, 2, 3), 3))
    assert len(found.paths) >= 2
    assert found.complexity.chain_length <= 2  # 2^rho and 3^rho


@pytest.mark.parametrize("n_items", [1, 5, 12])
def test_knapsack_changes_no_more_often_than_the_structure_says(n_items):
    family = ct.GreedyKnapsack(rho=(-2, 4))
    instances = ct.datasets.knapsack_problems(3, n_items=n_items, largest=30)
    structure = family.structure_of(instances)
    assert structure.line.n_breakpoints == n_items * (n_items - 1) // 2
    for instance in instances:
        assert len(family.pieces(instance)) - 1 <= structure.line.n_breakpoints
        assert family.dual(instance).n_pieces - 1 <= structure.line.n_breakpoints
    with pytest.raises(ct.ParameterError, match="n_items"):
        family.structure(0)
