"""Chains: the paper's examples, verification, and how small the automatic ones are."""

import random
from fractions import Fraction

import pytest

from certune.errors import InputError, ParameterError, UndecidedError
from certune.families.programs.figure import figure_boundaries, figure_chain
from certune.pfaffian import Chain, chain_of, constant, exp, log, parameters, sqrt
from certune.pfaffian.chains.construction import ChainBuilder

a, b, alpha, beta = parameters("a b alpha beta")
f, g, h = parameters("f g h")


def test_example_1_of_the_paper():
    # f(a) = (e^a)^2 + a^3 on the chain (a, e^a): q = 1, M = 1, Delta = 3
    assert (exp(a) ** 2 + a**3).complexity == (1, 1, 3)
    assert (exp(2 * a) + a**3).complexity == (1, 1, 3)


def example_2(factor):
    """1/d, ln d, d^alpha with d = 3 a + 2 b; the derivative of the power with a given factor."""
    d = 3 * a + 2 * b
    return Chain(
        {"f": 1 / d, "g": log(d), "h": d**alpha},
        {
            "f": {"a": -3 * f**2, "b": -2 * f**2},
            "g": {"a": 3 * f, "b": 2 * f},
            "h": {"alpha": g * h, "a": 3 * factor * f * h, "b": 2 * factor * f * h},
        },
    )


def test_example_2_of_the_paper_corrected():
    d = 3 * a + 2 * b
    form = chain_of([1 / d, log(d), d**alpha])
    form.chain.verify()
    # q = 3; M = 3 from d(d^alpha)/db = alpha * 2 * f * h; all three functions have degree 1
    assert form.complexity == (3, 3, 1)
    stated = example_2(alpha)
    assert (stated.length, stated.degree) == (3, 3)


def test_example_2_as_printed_is_refused():
    with pytest.raises(
        InputError, match=r"derivative of h .* with respect to a is .*alpha.* not 3\*f\*h"
    ):
        example_2(1)


def test_the_chain_of_the_figure():
    chain = figure_chain()
    # 1/sqrt(n) has the derivative -(2 a1 + f3 f4 / 20) f5^3 / 2: degree 5
    assert (chain.length, chain.degree) == (5, 5)
    a1, a2 = parameters("a1 a2")
    root = sqrt(a1**2 + a2**2 + exp(sqrt(a1) / 10))
    on_it = [*figure_boundaries(), a1 + a2 / 2, exp(-(a1**2 + a2**2) / 5), root]
    assert chain_of(on_it).complexity == (5, 5, 3)
    # log(a2) + 2 is not on it: it brings 1/a2 and log(a2) along
    assert chain_of([*on_it, log(a2) + 2]).complexity == (7, 5, 3)


def test_a_wrong_constant_is_refused_with_both_derivatives():
    with pytest.raises(InputError) as error:
        Chain({"f": exp(2 * a)}, {"f": {"a": f}})
    assert "is 2*exp(2*a), not f" in str(error.value)


def test_a_missing_derivative_counts_as_zero_and_is_refused():
    with pytest.raises(InputError, match="with respect to b is .* not 0"):
        Chain({"f": exp(a * b)}, {"f": {"a": b * f}})


def test_a_wrong_one_that_is_right_at_many_places_is_refused():
    # 10**-30 is far below any float comparison
    wrong = f + Fraction(1, 10**30)
    with pytest.raises(InputError, match="derivative of f"):
        Chain({"f": exp(a)}, {"f": {"a": wrong}})


def test_misuse_is_named():
    with pytest.raises(InputError, match="later"):
        Chain({"f": log(a), "g": 1 / a}, {"f": {"a": g}, "g": {"a": -(g**2)}})
    with pytest.raises(InputError, match="not a polynomial"):
        Chain({"f": log(a)}, {"f": {"a": 1 / a}})
    with pytest.raises(InputError, match="names a function of the chain and a parameter"):
        Chain({"a": exp(a)}, {"a": {"a": a}})
    with pytest.raises(InputError, match="not one of f"):
        Chain({"f": exp(a)}, {"g": {"a": f}})
    with pytest.raises(InputError, match="parameters of the chain are a"):
        Chain({"f": exp(a)}, {"f": {"b": f}})


def test_shared_subexpressions_count_once():
    assert (exp(a) + exp(a) * a + exp(a) ** 2).complexity.chain_length == 1
    assert chain_of([exp(a), 3 * exp(a) - 1, exp(a) ** 4]).chain.length == 1


def test_products_and_sums_stay_on_the_chain():
    first, second = exp(a), 1 / (1 + b)
    assert chain_of([first, second]).chain.length == 2
    assert (first * second + first - second**3).complexity == (2, 2, 3)


def test_one_joint_reciprocal_is_taken_when_it_gives_the_smaller_bound():
    linear = [beta + 1, beta + 2, beta + 3, beta + 4]
    total = sum((1 / d for d in linear[1:]), 1 / linear[0])
    form = chain_of([total])
    form.chain.verify()
    # 1/(d1 d2 d3 d4): f' = -(d1 d2 d3 d4)' f^2 has degree 3 + 2, lowered by no relation
    assert form.complexity.chain_length == 1
    assert form.complexity.chain_degree == 5


def test_min_max_linkage_has_the_chains_of_the_theory():
    # (d1/d4)^alpha + (d2/d4)^alpha - (d3/d4)^alpha - 1 with d_i linear in beta = (x^2, y^2, 1)
    x, y = parameters("x y")
    weights = [(1, 2, 5), (3, 1, 4), (2, 7, 1), (5, 3, 2)]
    d = [u * x**2 + v * y**2 + w for u, v, w in weights]
    ratios = [(numerator / d[3]) ** alpha for numerator in d[:3]]
    predicate = ratios[0] + ratios[1] - ratios[2] - 1
    # 4 reciprocals, 3 logarithms, 3 powers; alpha * 2 x * (1/d_i) * power has degree 4
    separate = ChainBuilder().form([predicate])
    separate.chain.verify()
    assert separate.complexity == (10, 4, 1)
    # one reciprocal 1/(d1 d2 d3 d4) in place of four: 1/d_1 = d2 d3 d4 f has degree 7
    joint = chain_of([predicate])
    assert joint.complexity == (7, 10, 1)


def test_constants_cost_no_length():
    assert (exp(1) * a + log(2)).complexity == (0, 0, 1)
    assert (sqrt(2) * a**2).complexity == (0, 0, 2)
    assert constant(5).complexity == (0, 0, 0)


def test_latex_of_a_chain():
    text = figure_chain().to_latex()
    assert text.startswith("\\begin{aligned}") and text.count("\\\\") == 4


def test_complexity_does_not_depend_on_history():
    """The same expression, built after others in another order, has the same chain."""
    y, z = parameters("zz_first aa_second")
    one = (sqrt(z + y) / (y + z) + exp(z)).complexity
    y, z = parameters("aa_third zz_fourth")
    assert (sqrt(z + y) / (y + z) + exp(z)).complexity == one


def test_a_constant_may_divide_a_derivative():
    (r,) = parameters("r")
    chain = Chain({"r": 1 / a, "g": log(a) / log(2)}, {"r": {"a": -(r**2)}, "g": {"a": r / log(2)}})
    assert (chain.length, chain.degree) == (2, 2)


def test_bad_chains_are_refused_with_reasons():
    (r,) = parameters("r")
    shifted, cube = 1 / sqrt(-a - 3), {"r": {"a": r**3}}
    with pytest.raises(InputError, match="must be a mapping"):
        Chain([exp(a)], {})
    with pytest.raises(InputError, match="uses 'b', which is neither"):
        Chain({"r": exp(a)}, {"r": {"a": r * b}})
    with pytest.raises(ParameterError, match="range of 'a'"):
        Chain({"r": 1 / a}, {"r": {"a": -r * r}}, {"a": (2,)})
    # The derivative is r^3 / 2; where the function has no value, that cannot be seen.
    with pytest.raises(UndecidedError, match="neither proved nor tested.*pass domain="):
        Chain({"r": shifted}, cube)
    with pytest.raises(InputError, match=r"not r\*\*3"):
        Chain({"r": shifted}, cube, {"a": (-9, -4)})


def votes(rng, n_votes):
    """A weighted vote exp(c - gamma d) with whole distances d, as of neighbours."""
    c, gamma = parameters("c gamma")
    return sum(
        rng.choice((-1, 1)) * exp(rng.randint(1, 3) * c - rng.randint(1, 9) * gamma)
        for _ in range(n_votes)
    )


def test_exponentials_of_a_lattice_are_powers_of_its_steps():
    rng = random.Random(3)
    predicates = [votes(rng, 6) for _ in range(5)]
    form = chain_of(predicates)
    assert form.chain.length == 2 and form.chain.degree == 1
    assert {str(f.function) for f in form.chain.functions} == {"exp(c)", "exp(-gamma)"}
    assert form.chain.verify() is None
    point = {"c": 0.3, "gamma": 0.7}
    for predicate, polynomial in zip(predicates, form.polynomials, strict=True):
        assert polynomial.to_expression().evaluate(point) == pytest.approx(
            predicate.evaluate(point)
        )


def test_steps_in_both_directions_and_fractions():
    a, b = parameters("a b")
    exponents = [(3, -1), (2, 2), (-6, 1), (6, 3), (5, -1), (-4, -1), (1, -3), (-2, 4), (7, 1)]
    nodes = [exp(Fraction(k, 6) * a + n * b) for k, n in exponents]
    form = chain_of(nodes)
    assert form.chain.length == 4  # exp of a/6, -a/6, b and -b
    assert form.chain.verify() is None
    point = {"a": -0.4, "b": 0.9}
    for node, polynomial in zip(nodes, form.polynomials, strict=True):
        assert polynomial.to_expression().evaluate(point) == pytest.approx(node.evaluate(point))
    assert chain_of(nodes[:3]).chain.length == 3  # nothing to gain
