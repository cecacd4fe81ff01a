"""Component and intersection counts: the errata's counterexamples, and real zero sets."""

import itertools
from math import comb, log2

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from certune.errors import ParameterError
from certune.pfaffian.bounds.components import (
    corollary_components,
    intersection_count,
    khovanskii_components,
    khovanskii_components_as_printed,
    vc_from_components,
    warren_cells,
)


def test_printed_component_count_can_be_negative():
    # d = 3, r = 1, Delta = 1, M = 2: S = 7 and the bracket is (1-3+1) 7 - (1-3) = -5; q = 1.
    assert khovanskii_components_as_printed(1, 3, 1, 2, 1) == -5 * 7**2


def test_corollary_fails_with_a_chain_of_length_dq_and_holds_with_rq():
    # d = 3, q = 1, Delta = 1, M = 2, r = 1, S = 7: with a chain of length dq = 3 the count is
    # 2^3 7^2 (3 * 7 - 2)^3, more than the corollary's 2^3 27^3; with length rq = 1 it is 7^2 * 19.
    long_chain = khovanskii_components(1, 3, 3, 2, 1)
    own_chain = khovanskii_components(1, 3, 1, 2, 1)
    corollary = corollary_components(3, 1, 2, 1)
    assert long_chain.value == 2_688_728 and corollary.value == 157_464
    assert own_chain.value == 7**2 * 19 == 931


@given(
    d=st.integers(1, 5), q=st.integers(1, 6), m=st.integers(1, 6), degree=st.integers(1, 5),
    data=st.data(),
)  # fmt: skip
def test_corollary_covers_every_system(d, q, m, degree, data):
    r = data.draw(st.integers(0, d))
    system = khovanskii_components(r, d, r * q, m, degree)
    assert system.log2 <= corollary_components(d, q, m, degree).log2


def test_corollary_refuses_polynomials():
    # d = 3, r = 2, Delta = 2: Delta^r S^(d-r) = 4 3 = 12, more than Delta^d = 8.
    assert khovanskii_components(2, 3, 0, 0, 2).value == 12
    with pytest.raises(ParameterError, match="warren_cells"):
        corollary_components(3, 0, 0, 2)


def test_intersection_count_by_hand():
    # q = 2, M = 1, degrees (1, 2): 2^1 * 2 * (2 * 1 + 3 - 2 + 1)^2 = 4 * 16.
    assert intersection_count([1, 2], 2, 1).value == 64
    # Polynomials: Bezout.
    assert intersection_count([3, 4], 0, 0).value == 12


@pytest.mark.parametrize("seed", range(5))
def test_real_zeros_of_exponential_polynomials(seed):
    # sum of c_i exp(b_i t) + c t: chain of 3 exponentials (q = 3, M = 1), degree 1, one unknown.
    rng = np.random.default_rng(seed)
    t = np.linspace(-6, 6, 40_001)
    values = rng.normal(size=3) @ np.exp(np.outer(rng.normal(size=3), t)) + rng.normal() * t
    zeros = int(np.count_nonzero(np.diff(np.sign(values))))
    assert zeros <= intersection_count([1], 3, 1).value


def sign_patterns_of_lines(n, rng):
    """Sign patterns of n random lines in the plane, by a point in each cell (vertices jittered)."""
    a, b, c = rng.normal(size=(3, n))
    points = []
    for i, j in itertools.combinations(range(n), 2):
        vertex = np.linalg.solve([[a[i], b[i]], [a[j], b[j]]], [-c[i], -c[j]])
        for k in range(64):
            angle = 2 * np.pi * (k + 0.5) / 64
            points.append(vertex + 1e-6 * np.array([np.cos(angle), np.sin(angle)]))
    x, y = np.array(points).T
    signs = np.sign(np.outer(x, a) + np.outer(y, b) + c)
    return {tuple(row) for row in signs}


@pytest.mark.parametrize("n", [2, 4, 6])
def test_lines_attain_the_cell_count(n):
    # q = 0, Delta = 1, d = 2: S = 1 and B_r = 1, so that the cells number 1 + n + C(n, 2).
    patterns = sign_patterns_of_lines(n, np.random.default_rng(n))
    counted = sum(comb(n, r) * khovanskii_components(r, 2, 0, 0, 1).value for r in range(3))
    assert len(patterns) == counted <= warren_cells(n, 2, 1).value


def test_vc_from_components():
    components = corollary_components(3, 27, 3, 1)
    bound = vc_from_components(components, 6565, 3)
    assert bound.value == pytest.approx(2 * components.log2 + 3 * (16 + 2 * log2(6565)))
    assert int(bound.value) == 7441


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: khovanskii_components(4, 3, 1, 1, 1), "must not exceed n_parameters, got 4 > 3"),
        (lambda: khovanskii_components(1, 3, 1, 0, 1), "chain_degree must be a whole number >= 1"),
        (lambda: khovanskii_components(1, 3, 1, 1, 0), "function_degree must be"),
        (lambda: khovanskii_components(1, 3, 1.5, 1, 1), "chain_length must be .* got 1.5"),
        (lambda: intersection_count([], 1, 1), "degrees must name"),
        (lambda: warren_cells(2, 3, 1), "n_functions must be a whole number >= 3"),
    ],
)
def test_bad_counts_are_refused(call, message):
    with pytest.raises(ParameterError, match=message):
        call()
