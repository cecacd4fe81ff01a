"""Traces of programs: trees, predicates, formulas, limits."""

import random
import sys
from fractions import Fraction

import pytest

import certune as ct
from certune.errors import CertuneError, InputError, ParameterError
from certune.families.programs.figure import FIGURE_DOMAIN, figure_utility
from certune.pfaffian import BranchLimitError, argsort, exp, parameters, program, sqrt, trace


def staircase(n, p):
    """Count the whole numbers up to n that do not exceed a; a loop that depends on both."""
    a, steps = p["a"], 0
    while steps < n and a >= steps + 1:
        steps += 1
    return Fraction(steps, n)


def nested(n, p):
    """A recursion that branches on computed values."""

    def step(value, depth):
        if depth == 0:
            return value
        return (
            step(exp(value) - 1, depth - 1)
            if value >= Fraction(1, 2)
            else step(value * value, depth - 1)
        )

    return step(p["a"], n)


def all_signs(n, p):
    """Every branch is reachable: 2^n paths for n parameters."""
    return sum(1 for i in range(n) if p[f"a{i}"] >= 0)


def test_loops_give_one_path_for_each_length():
    found = trace(staircase, 3, {"a": (0, 2.5)})
    assert [path.value.value for path in found.paths] == [Fraction(2, 3), Fraction(1, 3), 0]
    assert [str(predicate) for predicate in found.predicates] == ["a - 1", "a - 2"]
    assert found.complexity.n_predicates == 2
    assert all(path.is_reachable for path in found.paths)


def test_unreachable_branches_are_pruned():
    # exp maps [1/2, 1] into [0.64, 1.72], so the second test on that side is always true
    found = trace(nested, 2, {"a": (0, 1)})
    assert len(found.paths) == 2
    assert found.complexity.chain_length == 2


def test_text_and_picture_of_a_tree(tmp_path):
    found = trace(staircase, 3, {"a": (0, 2.5)})
    assert found.tree.to_text().splitlines() == [
        "a - 1 >= 0?",
        "  yes: a - 2 >= 0?",
        "    yes: return 2/3",
        "    no: return 1/3",
        "  no: return 0",
    ]
    assert "K = 2" in found.to_text()
    found.draw(tmp_path / "tree.png")
    assert (tmp_path / "tree.png").stat().st_size > 1000
    assert found.tree.depth == 2


def test_the_figure_has_four_forms_and_three_boundaries():
    found = trace(figure_utility, None, FIGURE_DOMAIN)
    assert len(found.predicates) == 3
    assert len(found.forms) == 4
    assert all(path.is_reachable for path in found.paths)
    # three boundaries, and four forms that are compared with a threshold
    assert found.complexity.n_predicates == 7
    assert found.chain.length == 7
    found.chain.verify()


def test_formula_agrees_with_the_program_at_random_points():
    found = trace(figure_utility, None, FIGURE_DOMAIN)
    run, rng = program(figure_utility), random.Random(1)
    for threshold in (Fraction(1, 10), 3):
        formula = found.formula(threshold)
        for _ in range(100):
            point = {name: rng.uniform(*ends) for name, ends in FIGURE_DOMAIN.items()}
            assert formula.holds(point) == bool(run(None, point) >= threshold)


def test_formula_uses_at_least_only():
    def middle(_, p):
        a = p["a"]
        if a == 1:
            return 5
        return 3 if a > 1 else 1 if a < 0 else 2

    formula = trace(middle, None, {"a": (-1, 2)}).formula(3)
    for a, expected in [(1, True), (2, True), (Fraction(1, 2), False), (-1, False)]:
        assert formula.holds({"a": a}) is expected
    assert all("<" not in line for line in str(formula).split())


def test_witnesses_take_their_path():
    found = trace(staircase, 5, {"a": (0, 4.5)})
    for path in found.paths:
        assert program(staircase)(5, path.witness) == path.value.value


def test_predicates_that_differ_by_a_factor_are_one():
    def same(_, p):
        a = p["a"]
        count = 0
        count += 1 if a - 1 >= 0 else 0
        count += 1 if 2 * a >= 2 else 0
        count += 1 if 3 - 3 * a <= 0 else 0
        return count

    found = trace(same, None, {"a": (0, 2)})
    assert len(found.predicates) == 1
    assert sorted(path.value.value for path in found.paths) == [0, 3]


def test_a_branch_limit_carries_what_was_found():
    box = {f"a{i}": (-1, 1) for i in range(6)}
    with pytest.raises(BranchLimitError, match="more than 20 paths") as error:
        trace(all_signs, 6, box, limit=20)
    assert len(error.value.trace.paths) == 20
    assert "..." in error.value.trace.tree.to_text()
    assert len(trace(all_signs, 6, box).paths) == 64


def test_a_segment_is_traced_in_its_coordinate():
    segment = ct.Segment({"a1": 0.5, "a2": 9.0}, {"a1": 9.5, "a2": 0.2})
    found = trace(figure_utility, None, segment)
    assert list(found.ranges) == ["t"]
    assert found.complexity.n_parameters == 1
    assert len(found.forms) == 4


def test_domains_are_checked():
    with pytest.raises(ParameterError, match="'a' has separate settings"):
        trace(staircase, 2, ct.ParameterSpace((ct.Integer("a", 1, 2),)))
    with pytest.raises(ParameterError, match="low < high"):
        trace(staircase, 2, {"a": (1, 0)})
    with pytest.raises(ParameterError, match="domain"):
        trace(staircase, 2, "a")


def test_output_must_be_a_number():
    with pytest.raises(InputError, match="must return a number"):
        trace(lambda x, p: "yes", None, {"a": (0, 1)})


def test_observed_counts_are_a_type_of_their_own():
    observed = trace(staircase, 3, {"a": (0, 2.5)}).complexity
    assert type(observed).__name__ == "ObservedComplexity"
    assert not isinstance(observed, tuple)


def test_sorting_is_exact_and_stable():
    a, b = parameters("a b")
    keys = [sqrt(2) * sqrt(3), sqrt(6), 2, Fraction(5, 2)]
    assert argsort(keys) == [2, 0, 1, 3]
    assert argsort(keys, descending=True) == [3, 0, 1, 2]
    found = trace(lambda x, p: argsort([p["a"], p["b"], 0])[0], None, {"a": (-1, 1), "b": (-1, 1)})
    assert {path.value.value for path in found.paths} == {0, 1, 2}


def test_identities_are_no_branches():
    def identities(_, p):
        a = p["a"]
        squares = (a + 1) ** 2 >= a * a + 2 * a + 1
        roots = sqrt(2) * sqrt(3) + a >= sqrt(6) + a
        inverses = exp(a) * exp(-a) == 1
        return 1 if squares and roots and inverses else 0

    (path,) = trace(identities, None, {"a": (-1, 1)}).paths
    assert path.value.value == 1 and path.conditions == ()


def test_comparisons_with_one_outcome_are_no_branches():
    # 35^a + 60^a > 33^a + 60^a for a > 0: the common term is large, the ratio near 1.
    def compared(_, p):
        a = p["a"]
        return 1 if 35**a + 60**a >= 33**a + 60**a else 0

    (path,) = trace(compared, None, {"a": (0.25, 6)}).paths
    assert path.value.value == 1


def test_a_loop_that_need_not_end_stops_at_the_limit():
    def doublings(_, p):
        a, steps = p["a"], 0
        while a < 1:
            a, steps = 2 * a, steps + 1
        return steps

    assert len(trace(doublings, None, {"a": (0.01, 1)}).paths) == 8
    with pytest.raises(BranchLimitError, match="does a loop end") as error:
        trace(doublings, None, {"a": (0, 1)}, limit=30)
    assert error.value.trace.paths == ()


def test_formulas_have_no_truth_value_outside_of_their_domain():
    def guarded(_, p):
        a = p["a"]
        return (1 if 1 / (a - 1) >= 3 else 0) if a > 1 else 0

    formula = trace(guarded, None, {"a": (0, 2)}).formula(1)
    assert [formula.holds({"a": a}) for a in (0, 1, Fraction(5, 4), 2)] == [
        False,
        False,
        True,
        False,
    ]


def test_formulas_with_too_many_clauses_are_refused():
    def differences(n, p):
        return 1 if all(p["a"] != i for i in range(n)) else 0

    assert len(trace(differences, 4, {"a": (-1, 9)}).formula(1).clauses) == 2**4
    found = trace(differences, 25, {"a": (-1, 30)})
    with pytest.raises(CertuneError, match="more than 100000 clauses"):
        found.formula(1)


def test_a_program_is_a_function():
    with pytest.raises(InputError, match="a program is a function"):
        trace(3, None, {"a": (0, 1)})


def test_a_trace_ends_when_its_time_is_up():
    def endless(x, parameters):
        a, b = parameters["a"], parameters["b"]
        taken = 0
        for number in range(1, 400):
            taken += a * a + b * number >= Fraction(number, 7)
        return taken

    with pytest.raises(BranchLimitError, match=r"after 0.3 s .* branches were left") as caught:
        trace(endless, 1, {"a": (0, 3), "b": (0, 3)}, timeout=0.3, limit=10**6)
    assert isinstance(caught.value.trace.paths, tuple)
    with pytest.raises(ParameterError, match="timeout must be"):
        trace(endless, 1, {"a": (0, 3)}, timeout=0)


def crowded(numbers, parameters):
    """More paths than anybody waits for."""
    return sum(
        1 for x in numbers for y in numbers if x * parameters["a"] >= y + parameters["b"] / x
    )


def test_a_long_trace_says_how_far_it_is(capsys, monkeypatch):
    monkeypatch.setattr(sys.modules["certune.pfaffian.programs.words"], "_PERIOD", 0.05)
    domain = {"a": (0.0, 5.0), "b": (0.0, 5.0)}
    with pytest.raises(BranchLimitError, match="after 0.5 s"):
        trace(crowded, range(1, 9), domain, timeout=0.5)
    told = capsys.readouterr().err
    assert "paths and" in told and "branches left" in told
    with pytest.raises(BranchLimitError):
        trace(crowded, range(1, 9), domain, timeout=0.5, progress=False)
    assert capsys.readouterr().err == ""
    with pytest.raises(ParameterError, match="progress must be"):
        trace(crowded, (1, 2), domain, progress="yes")
