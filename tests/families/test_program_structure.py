"""Structures found from programs: against counts by hand and against traces of instances."""

import math
import random
import re
import time
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from click.testing import CliRunner

import certune as ct
from certune.cli import main
from certune.errors import InputError, ParameterError
from certune.pfaffian import argmax, argsort, exp
from certune.pfaffian.programs.generic import GenericLimitError


def packed(instance, parameters):
    values, sizes, capacity = instance
    rho = parameters["rho"]
    total = 0
    for item in argsort([v / s**rho for v, s in zip(values, sizes, strict=True)], descending=True):
        if sizes[item] <= capacity:
            capacity -= sizes[item]
            total += values[item]
    return total / sum(values)


def example(size):
    return tuple(range(1, size + 1)), tuple(range(2, size + 2)), size


FAMILY = ct.ProgramFamily(packed, ct.Real("rho", 0, 3))


def random_problem(rng, size):
    values, sizes = ([rng.randint(1, 99) for _ in range(size)] for _ in range(2))
    return tuple(values), tuple(sizes), sum(sizes) // 2


@pytest.mark.parametrize("size", [2, 3])
def test_all_pairs_are_one_form(size):
    structure = FAMILY.structure(example(size))
    assert structure.n_boundaries == math.comb(size, 2)
    assert structure.piecewise_constant and structure.n_parameters == 1
    assert structure.chain_length == size  # a power of each size
    assert structure.predicates[0].chain_length == 2
    assert "x0[i]/x1[i]**rho - x0[j]/x1[j]**rho" in structure.predicates[0].name
    assert any("positive" in each for each in structure.assumptions)
    # Packings in any order of the items that are taken, of which the values are sums.
    assert structure.n_piece_forms >= 2**size - 1


def test_counts_of_small_sizes_are_extended_and_say_so():
    structure = FAMILY.structure(example, size=60, limit=500)
    assert structure.n_boundaries == 60 * 59 // 2
    assert any("same forms as those of size 2 to 4" in each for each in structure.assumptions)
    by_hand = ct.pdim_bound(ct.GreedyKnapsack().structure(n_items=60)).dimension
    assert by_hand <= ct.pdim_bound(structure).dimension <= 2 * by_hand


def test_observed_counts_stay_below():
    rng = random.Random(0)
    FAMILY.check_structure([random_problem(rng, 3) for _ in range(3)])
    stated = FAMILY.structure(example, size=7, limit=500)
    for _ in range(2):
        trace = FAMILY.trace(random_problem(rng, 5))
        assert trace.complexity.n_predicates <= stated.n_boundaries
        assert trace.complexity.longest_predicate_chain <= stated.predicates[0].chain_length


def vote(instance, parameters):
    """Votes of labelled neighbours, and a threshold; labels belong to the shape."""
    weight = sum(
        label * exp(-parameters["gamma"] * distance)
        for distance, label in zip(instance["distances"], instance["labels"], strict=True)
    )
    return 1 if weight >= instance["bias"] else 0


def test_parts_of_the_shape_and_several_parts():
    instance = {"distances": np.array([1.0, 2.0, 3.5]), "labels": (1, -1, 1), "bias": 0.5}
    family = ct.ProgramFamily(vote, ct.Real("gamma", 0, 5))
    structure = family.structure(instance, fixed=["labels"])
    assert (structure.n_boundaries, structure.n_piece_forms, structure.chain_length) == (1, 2, 3)
    family.check_structure([instance], fixed=["labels"])


@dataclass(frozen=True)
class Pair:
    first: float
    second: float


def mixed(pair, parameters):
    a, b = parameters["w"]
    best = argmax([a * pair.first, b * pair.second, 0])
    return a * b if best == 0 else Fraction(best, 3)


def test_dataclasses_weights_and_varying_results():
    family = ct.ProgramFamily(mixed, ct.Simplex("w", 2), tolerance=1e-9)
    structure = family.structure(Pair(1.0, -2.0))
    assert structure.n_parameters == 1 and not structure.piecewise_constant
    # a first - b second, a first and b second; the result a b meets a threshold too.
    assert structure.n_boundaries == 3 and structure.predicates[0].n_predicates == 4
    assert structure.function_degree == 2 and structure.n_piece_forms == 3


def test_guarantees_use_it():
    family = ct.ProgramFamily(lambda x, p: 1 if p["a"] >= x else 0, ct.Real("a", 0, 1))
    instances = [0.1, 0.2, 0.4, 0.75]
    result = ct.tune(family, instances, progress=False)
    guarantee = result.guarantee(kinds=["worst-case"])
    assert guarantee.bounds and all(
        bound.evidence == "every instance" for bound in guarantee.bounds
    )
    assert family.structure_of([0.1, 0.2]).n_boundaries == 1
    assert FAMILY.structure_of([example(2), example(3)]) is None  # no common shape


def test_what_cannot_be_told_is_refused():
    with pytest.raises(GenericLimitError, match="more than 10 paths"):
        FAMILY.structure(example(3), limit=10)
    family = ct.ProgramFamily(lambda x, p: x[1][x[0]] * (p["a"] > 0), ct.Real("a", 0, 1))
    with pytest.raises(InputError, match="needs the value of an instance number.*fixed="):
        family.structure((1, (2, 3)))
    assert family.structure((1, (2, 3)), fixed=["x0"]).n_boundaries == 1
    with pytest.raises(ParameterError, match="the example must be a function"):
        FAMILY.structure(example(3), size=5)
    with pytest.raises(InputError, match="the part 'x' of the example is a set"):
        FAMILY.structure({1, 2})
    total = ct.ProgramFamily(
        lambda xs, p: 1 if sum(exp(x * p["a"]) for x in xs) >= 1 else 0, ct.Real("a", 0, 1)
    )
    with pytest.raises(InputError, match="compares different forms"):
        total.structure(lambda n: tuple(range(1, n + 1)), size=20)
    assert total.structure((1, 2, 3)).chain_length == 3


def test_stated_counts_are_tested():
    def stated(n_boundaries):
        return ct.PiecewiseStructure(
            n_piece_forms=100, n_boundaries=n_boundaries, chain_length=9, chain_degree=1,
            function_degree=1, n_parameters=1, piecewise_constant=True, source="by hand",
        )  # fmt: skip

    rng = random.Random(1)
    problems = [random_problem(rng, 4) for _ in range(2)]
    right = ct.ProgramFamily(packed, ct.Real("rho", 0, 3), structure=lambda x: stated(10))
    right.check_structure(problems)
    assert right.structure_of(problems).n_boundaries == 10
    wrong = ct.ProgramFamily(packed, ct.Real("rho", 0, 3), structure=lambda x: stated(1))
    with pytest.raises(InputError, match="boundary functions, and its structure states 1"):
        wrong.check_structure(problems)
    with pytest.raises(ParameterError, match="structure must be a function"):
        ct.ProgramFamily(packed, ct.Real("rho", 0, 3), structure=3)


def test_bound_on_the_command_line(tmp_path, monkeypatch):
    (tmp_path / "own_program.py").write_text(
        "import certune as ct\n"
        "def reaches(x, parameters):\n"
        "    return sum(parameters['a'] >= each for each in x) / len(x)\n"
        "family = ct.ProgramFamily(reaches, ct.Real('a', 0, 1))\n"
        "def example(size):\n"
        "    return [0.5] * size\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    found = CliRunner().invoke(main, ["bound", "own_program:family", "--size", "40"])
    assert found.exit_code == 0 and "of size 40" in found.output and "a - x[i]" in found.output
    for arguments, message in (
        (["own_program:nothing", "--size", "4"], "own_program:nothing was not found"),
        (["own_program:reaches", "--size", "4"], "must be a certune.ProgramFamily"),
        (["own_program:family", "--size", "4", "--example", "math:pi"], "must name a function"),
    ):
        found = CliRunner().invoke(main, ["bound", *arguments])
        assert found.exit_code == 2 and message in found.output


def nearer(points, parameters):
    first, second = (abs(parameters["a"] * parameters["k"] - point) for point in points)
    strictly = parameters["rule"] == "strictly"
    return 1 if (first < second if strictly else first <= second) else 0


SETTINGS = (ct.Integer("k", 1, 3), ct.Categorical("rule", ("strictly", "or equal")))
NEARER = ct.ProgramFamily(nearer, ct.ParameterSpace((*SETTINGS, ct.Real("a", 0, 1))))


def test_discrete_parameters_are_the_union_of_their_settings():
    whole = NEARER.structure((0.25, 0.5))
    parts = [part.structure((0.25, 0.5)) for part in NEARER.slices().values()]
    (predicates,) = whole.predicates
    assert len(parts) == predicates.n_copies == 6 and predicates.n_parameters == 1
    assert predicates.n_predicates == max(part.predicates[0].n_predicates for part in parts)
    assert whole.n_boundaries == sum(part.n_boundaries for part in parts) + 5
    assert whole.n_parameters == 2 and whole.assumptions == parts[0].assumptions
    smallest = max(ct.pdim_bound(part).dimension for part in parts)
    assert smallest <= ct.pdim_bound(whole).dimension <= smallest + math.log2(6) + 2
    NEARER.check_structure([(0.25, 0.5), (0.1, 0.9)])
    assert NEARER.structure_of([(0.25, 0.5), (0.1, 0.9)]) == whole


def test_patterns_of_discrete_programs_stay_below_the_count():
    from certune.pfaffian.bounds.growth import PredicateGrowth

    rng = random.Random(0)
    sample = [(rng.random(), rng.random()) for _ in range(6)]
    (predicates,) = NEARER.structure(sample[0]).predicates
    patterns = {
        tuple(nearer(each, {"a": k / 997, "k": n, "rule": rule}) for each in sample)
        for k in range(998)
        for n in (1, 2, 3)
        for rule in ("strictly", "or equal")
    }
    assert 6 < len(patterns) <= float(PredicateGrowth(predicates).count(len(sample)))


@pytest.mark.parametrize(("high", "dimension"), [(3, 2), (8, 3)])
def test_a_finite_number_of_settings_needs_no_trace(high, dimension):
    def refuses(points, parameters):
        raise AssertionError("nobody has to run it")

    family = ct.ProgramFamily(refuses, ct.Integer("k", 0, high))
    structure = family.structure((0.5, 0.25))
    assert ct.pdim_bound(structure).dimension == dimension
    assert family.structure_of([(0.5, 0.25)]) == structure


def test_a_fraction_of_instance_numbers_is_refused_with_the_division_in_its_place():
    def share(instance, parameters):
        values, total = instance
        best = argmax([value ** parameters["a"] for value in values])
        return Fraction(values[best], total)

    family = ct.ProgramFamily(share, ct.Real("a", -1, 1))
    with pytest.raises(InputError, match=r"makes a Fraction of instance numbers.*write a / b"):
        family.structure(((1, 2, 3), 6))


def test_counts_of_weights_are_held_against_traces_over_all_weights():
    def close(instance, parameters):
        rows, goals = instance
        weights = parameters["w"]
        found = [sum(w * x for w, x in zip(weights, row, strict=True)) for row in rows]
        return sum(abs(v - goal) <= 2 for v, goal in zip(found, goals, strict=True)) / len(goals)

    family = ct.ProgramFamily(close, ct.Simplex("w", 3))
    instance = (((0, 9, 4), (7, 1, 3)), (5, 2))
    family.check_structure([instance])
    found = family.trace(instance, progress=False)
    assert found.complexity.n_parameters == 2
    # Every path is one of weights: its point has three that are not negative.
    for path in found.paths:
        first, second = path.witness["w[0]"], path.witness["w[1]"]
        assert min(first, second, 1 - first - second) >= 0
        weights = (first, second, 1 - first - second)
        plain = sum(
            abs(sum(w * x for w, x in zip(weights, row, strict=True)) - goal) <= 2
            for row, goal in zip(*instance, strict=True)
        )
        assert path.value.value == Fraction(plain, 2)


def test_a_comparison_that_all_weights_answer_alike_is_no_branch():
    def inside(_, parameters):
        first, second, third = parameters["w"]
        return 1 if first + second <= 1 and third >= 0 else 0

    found = ct.ProgramFamily(inside, ct.Simplex("w", 3)).trace(0, progress=False)
    assert [path.value.value for path in found.paths] == [1]
    assert found.predicates == ()


def spread(points, parameters):
    """Sums of powers of all distances: every path takes long, and there are very many."""
    distances = [sum(abs(p - q) ** parameters["e"] for q in points) for p in points]
    return argsort(distances)[0] / len(points)


def test_a_structure_says_how_far_it_is_and_keeps_its_time(capsys, monkeypatch):
    monkeypatch.setattr("certune.pfaffian.programs.words._PERIOD", 0.1)
    family = ct.ProgramFamily(spread, ct.Real("e", 0.5, 3))
    began = time.monotonic()
    with pytest.raises(GenericLimitError, match=r"after 1 s not all paths.*raise the timeout"):
        family.structure((1, 2, 4, 8, 9), timeout=1)
    assert time.monotonic() - began < 10
    assert re.search(r"structure: \d+ paths followed, \d+ branches left", capsys.readouterr().err)
    with pytest.raises(GenericLimitError):
        family.structure((1, 2, 4, 8, 9), timeout=0.5, progress=False)
    assert not capsys.readouterr().err
    with pytest.raises(ParameterError, match="seconds > 0"):
        family.structure((1, 2), timeout=0)
