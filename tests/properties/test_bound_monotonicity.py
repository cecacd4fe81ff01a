"""More of anything never makes a bound smaller; less accuracy never needs more instances."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

import certune as ct

structures = st.builds(
    ct.GJStructure,
    chain_length=st.integers(0, 12),
    chain_degree=st.integers(1, 8),
    function_degree=st.integers(1, 8),
    n_predicates=st.integers(1, 10**6),
    n_parameters=st.integers(1, 5),
    source=st.just("drawn"),
)
counts = st.sampled_from(
    ["chain_length", "chain_degree", "function_degree", "n_predicates", "n_parameters"]
)


def dimensions(structure):
    best = ct.pdim_bound(structure)
    return {row.label: row.value for row in (best, *best.others)}


@given(structures, counts, st.integers(1, 5))
def test_every_bound_grows_with_every_count(structure, count, more):
    larger = replace(structure, **{count: getattr(structure, count) + more})
    before, after = dimensions(structure), dimensions(larger)
    for label in before.keys() & after.keys():
        if (structure.chain_length == 0) == (larger.chain_length == 0):
            assert before[label] <= after[label], label
    assert before["R4"] <= after["R4"]


@settings(max_examples=30)
@given(
    structures,
    st.floats(0.01, 0.9), st.floats(1.0, 2.0), st.floats(0.001, 0.4), st.floats(1.0, 2.0),
)  # fmt: skip
def test_sample_sizes_shrink_with_epsilon_and_delta(structure, epsilon, wider, delta, laxer):
    def size(e, d):
        return ct.sample_size(structure, e, d).n_instances

    base = size(epsilon, delta)
    assert size(epsilon * wider, delta) <= base
    assert size(epsilon, delta * laxer) <= base


@settings(max_examples=20)
@given(st.sampled_from(["min-max", "power-mean"]), st.integers(3, 40), st.integers(2, 4))
def test_linkage_bounds_grow_with_points_and_metrics(kind, n, n_metrics):
    def dimension(points, metrics):
        family = ct.Linkage(kind, weights="tune", n_metrics=metrics)
        return ct.pdim_bound(family.structure(points)).dimension

    base = dimension(n, n_metrics)
    assert base <= dimension(n + 1, n_metrics)
    assert base <= dimension(n, n_metrics + 1)
    assert ct.pdim_bound(ct.Linkage(kind).structure(n)).dimension <= base
