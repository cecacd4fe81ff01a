"""Lines on which many comparisons tie at one place: what lies beside the place is decided."""

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

import certune as ct
from certune.exact import radicals
from certune.families.linkage import identities, orders, revision, sweeping
from certune.families.linkage.comparison import Comparison
from certune.families.linkage.lines import Line
from certune.families.linkage.senses import courses_along

TWO = ("euclidean", "cityblock")


def instance_of(points, metrics=TWO, k=3):
    points = np.asarray(points, dtype=float)
    return ct.ClusteringInstance(points, target=np.arange(len(points)) % 3, k=k, metrics=metrics)


def product_line(start, stop):
    family = ct.Linkage("product", alpha=[(-4, 4), (-4, 4)])
    names = family.alpha_names
    start, stop = (dict(zip(names, map(float, end), strict=True)) for end in (start, stop))
    return family, ct.Segment(start, stop)


def undecided(function):
    return sum(high - low for low, high in function.undecided)


def check(family, instance, segment=None, open_width=1e-10):
    """The function is decided up to a small width and agrees with the plain algorithm."""
    function = family.dual(instance, along=segment)
    assert undecided(function) < open_width
    segment = segment or family.space.default_segment()
    rng = np.random.default_rng(0)
    places = [*rng.uniform(function.low, function.high, 12), *function.starts, *function.stops]
    compared = 0
    for t in map(float, places):
        value = function.value_at(t)
        if value is not None and segment.is_exact_at(t):
            assert value == family.run_exact(instance, segment.at(t))
            compared += 1
    assert compared > 0
    return function


CROSSING_TWICE = [
    [5, 0],
    [1, 7],
    [3, 0],
    [2, 3],
    [5, 0],
    [7, 5],
    [2, 3],
    [5, 1],
    [2, 0],
    [0, 2],
    [2, 1],
    [7, 1],
    [5, 4],
    [0, 2],
    [2, 4],
    [4, 2],
    [3, 5],
    [1, 3],
    [3, 5],
]

LINE_OF_ONE = [[-0.6], [1.4], [-1.6], [0.9], [1.3], [-0.4], [-0.7], [0.5], [1.2], [2.2]]


@pytest.mark.parametrize(
    ("start", "stop"),
    [
        ((3, -1), (-1, -2)),  # the exponents 3 - 4 t and -1 - t sum to 0 at t = 2/5
        ((0, -2), (0, 3)),  # both vanish at t = 2/5
        ((-2, 1), (3, 1)),  # the sum is 0 at t = 1/5
    ],
)
def test_sum_of_exponents_that_is_0_between_two_floats(start, stop):
    """In one dimension all metrics agree and every comparison ties where the sum is 0."""
    family, segment = product_line(start, stop)
    check(family, instance_of(LINE_OF_ONE), segment, open_width=1e-15)


def test_exponents_of_sum_0_that_vanish_between_two_floats():
    """2 - 3 t and -2 + 3 t: every product is 1 at t = 2/3."""
    family, segment = product_line((2, -2), (-1, 1))
    points = [[0.9, 0.9], [0.3, 0.1], [0.2, 0.0], [0.3, 0.6], [0.5, 0.9]]
    check(family, instance_of(points, k=2), segment, open_width=1e-15)


@pytest.mark.parametrize(
    ("points", "metrics"),
    [
        (np.outer([3, 17, 8, 28, 1, 20, 12, 25, 6, 14, 29, 10], [0.1, 0.2]), TWO),
        (np.random.default_rng(3).integers(0, 2, (20, 6)), ("hamming", "euclidean")),
    ],
    ids=["points on a line", "binary data"],
)
def test_products_whose_values_nearly_agree_at_one_place(points, metrics):
    """Euclidean and cityblock distances have one ratio, hamming is euclidean squared."""
    check(ct.Linkage("product", alpha=[(-2, 3), 1.0]), instance_of(points, metrics))


def test_change_of_order_at_the_very_end_of_an_interval():
    """Zones there have no width after rounding, and a part that is a single point is not split."""
    points = np.outer([10, 4, 1, 20, 32, 13, 32, 19, 24, 0, 13, 20, 3], [0.1, 0.2])
    check(ct.Linkage("product", alpha=[(-2, 3), 1.0]), instance_of(points, k=2))


def test_two_changes_of_order_in_one_zone():
    """The zone reaches both ends of its interval: cityblock ties at exponent 0, and once more."""
    check(
        ct.Linkage("product", alpha=[(-2, 3), 1.0]),
        instance_of(0.1 * np.array(CROSSING_TWICE), k=4),
    )


def test_tie_at_the_end_of_a_weight_line():
    """At weight 0 only cityblock counts, in which many distances of rounded points agree."""
    points = [
        [-1.7, 0.6],
        [-0.1, -1.3],
        [0.2, 0.5],
        [-0.3, 1.9],
        [-0.1, -0.1],
        [0.8, -0.2],
        [-0.7, -2.0],
        [-0.3, -0.7],
        [0.9, -0.3],
    ]
    family = ct.Linkage("min-max", alpha=-1.0, weights="tune", n_metrics=2)
    for k in (2, 3):
        check(family, instance_of(points, k=k), open_width=1e-15)


TENTHS = [
    [1, 0],
    [4, 10],
    [9, 0],
    [2, 2],
    [3, 4],
    [8, 9],
    [7, 3],
    [3, 0],
    [10, 6],
    [7, 2],
    [0, 1],
]


def test_orders_that_contradict_each_other_have_no_leaf(monkeypatch):
    """Two near ties cross a third distance together: one of four branches has a circle."""
    leaves = []
    original = revision.sweep_course

    def watched(*arguments, **options):
        found = original(*arguments, **options)
        leaves.extend(found)
        return found

    monkeypatch.setattr(revision, "sweep_course", watched)
    family = ct.Linkage("power-mean", alpha=-3.0, weights="tune", n_metrics=2)
    check(family, instance_of(0.1 * np.array(TENTHS)))
    assert sum(int((each.info[:, 2] < 0).sum()) for each in leaves) < 20


def test_leaves_beside_contradictions_reach_as_far_as_they_do():
    """Many orders of a grid change at t = 12/17; some of their combinations have no leaf."""
    grid = np.stack(np.meshgrid(range(6), range(4)), -1).reshape(-1, 2)[:21]
    family, segment = product_line((2, 3.5), (0.75, -2.25))
    check(family, instance_of(grid, ("chebyshev", "sqeuclidean")), segment)


def test_what_ties_everywhere_is_swept_once(monkeypatch):
    """Points on a line and exponents of sum 0: all values agree up to rounding along the line."""
    intervals = {}
    original = sweeping.order_on

    def watched(course, question, low, high, *rest):
        intervals.setdefault(question.marks.tobytes(), set()).add((low, high))
        return original(course, question, low, high, *rest)

    monkeypatch.setattr(sweeping, "order_on", watched)
    tested = []
    exactly = identities.power_products
    monkeypatch.setattr(
        identities, "power_products", lambda *data: tested.append(data) or exactly(*data)
    )
    family, segment = product_line((1, -1), (3, -3))
    points = np.outer(np.random.default_rng(5).normal(size=10), [1.0, 2.0])
    family.dual(instance_of(points), along=segment)
    assert len(intervals) > 50
    assert max(map(len, intervals.values())) <= 4
    assert len(tested) < 10  # balls tell most values apart


def test_long_exponents_are_tested_for_zero_last(monkeypatch):
    """(1 + 2^-200) ** e times 1 against 1 times 1, with an exponent e of 50 bits."""
    one, more = Fraction(1), 1 + Fraction(1, 1 << 200)
    number = radicals.Radicals((1, -1), ((more, one), (one, one)), (Fraction(0.1), one))
    monkeypatch.setattr(radicals, "is_zero", lambda number: pytest.fail("not needed"))
    assert radicals.sign_of_radicals(number) == 1


@pytest.mark.parametrize("kind", ["min-max", "power-mean"])
def test_lines_from_alpha_0_are_decided_though_distances_would_be_negative_before_it(kind):
    # Before the start of the line the squared distances have a negative weight.
    segment = ct.Segment(
        {"alpha": 0.0, "weights": (0.0, 1.0)}, {"alpha": 0.375, "weights": (0.625, 0.375)}
    )
    family = ct.Linkage(kind, alpha=(0, 1), weights="tune", n_metrics=2)
    for seed in range(3):
        rng = np.random.default_rng(seed)
        instance = ct.ClusteringInstance(
            10.0 ** rng.uniform(-4, 4, (12, 2)),
            metrics=("sqeuclidean", "chebyshev"),
            target=np.arange(12) % 3,
            k=4,
        )
        dual = family.dual(instance, along=segment)
        assert undecided(dual) < 2e-4  # a share of 1; the distances span 16 orders of magnitude
        for t in rng.uniform(0, 0.02, 10):
            value = dual.value_at(t)
            assert value is None or value == family.run_exact(instance, segment.at(t))


@pytest.mark.parametrize("length", [2.0**-30, 2.0**-48])
def test_short_lines_far_from_the_origin_have_few_panels(length, monkeypatch):
    counts = []
    edges = sweeping._edges

    def counted(*arguments):
        found = edges(*arguments)
        counts.append(len(found))
        return found

    monkeypatch.setattr(sweeping, "_edges", counted)
    grid = np.stack(np.meshgrid(range(4), range(3)), -1).reshape(-1, 2)
    family = ct.Linkage("product", alpha=[(-4, 4)])
    (name,) = family.alpha_names
    segment = ct.Segment({name: -3.5}, {name: -3.5 + length})
    function = check(family, instance_of(grid, ("chebyshev",)), segment)
    assert function.n_pieces == 1
    assert max(counts) <= 3


RAYS = [
    ((-1, 1), (1, -1)),  # sum 0, the origin is t = 1/2
    ((-2, 2), (3, -3)),  # sum 0, the origin is t = 2/5
    ((-2, -1), (3, 1.5)),  # the origin is t = 2/5
    ((-2, 1), (4, -2)),  # the origin is t = 1/3, and the sum turns round there
]


@pytest.mark.parametrize(("start", "stop"), RAYS)
def test_few_comparisons_beside_the_origin_are_exact_questions(start, stop, asked):
    """All products are 1 at the origin, but their logarithms tell them apart beside it."""
    family, segment = product_line(start, stop)
    points = np.random.default_rng(1).normal(size=(30, 3)).round(1)
    family.dual(instance_of(points), along=segment)
    assert len(asked) < 100


@pytest.mark.parametrize(("start", "stop"), RAYS)
@pytest.mark.parametrize("seed", range(6))
def test_lines_through_the_origin(start, stop, seed):
    """Beside the origin the order is that of powers with the direction as exponents."""
    rng = np.random.default_rng(seed)
    points = (rng.integers(0, 4, (11, 2)), rng.integers(0, 2, (11, 5)), rng.normal(size=(11, 1)))
    instance = instance_of(points[seed % 3])
    family, segment = product_line(start, stop)
    function = check(family, instance, segment, open_width=1e-10)
    direction = np.array(list(segment.direction.values()))
    origin = -Fraction(start[0]) / Fraction(direction[0])
    near = float(origin)
    for t in (math.nextafter(near, 0), near, math.nextafter(near, 1)):
        side = (t > origin) - (t < origin)
        params = dict(zip(family.alpha_names, side * 2.0**-52 * direction, strict=True))
        value = function.value_at(t)
        assert value is None or value == family.run_exact(instance, params)
    at_origin = family.run_exact(instance, dict.fromkeys(family.alpha_names, 0.0))
    if near != origin:
        around = function.restrict(math.nextafter(near, 0), math.nextafter(near, 1))
        assert -(-1 * around).upper_bound_exact <= at_origin <= around.upper_bound_exact


def test_orders_near_a_tie_are_proved_on_wide_stretches(asked, monkeypatch):
    """Where sqeuclidean and euclidean distances cancel, all orders change within a rounding."""
    proofs = []
    original = orders._stretches
    monkeypatch.setattr(orders, "_stretches", lambda *data: proofs.append(data) or original(*data))
    family, segment = product_line((-1, 1), (1, 1))
    points = np.random.default_rng(0).normal(size=(24, 2))
    check(family, instance_of(points, ("sqeuclidean", "euclidean")), segment)
    assert len(asked) > 500
    assert len(proofs) < 300


def test_next_to_0_no_point_is_special_for_its_few_digits(monkeypatch):
    """Binary data nearly tie at t = 0; gaps as narrow as roundings lie beside it."""
    swept = []
    original = revision.sweep_course
    monkeypatch.setattr(
        revision, "sweep_course", lambda *data: swept.append(data) or original(*data)
    )
    family, segment = product_line((-2, 1), (3, 1))
    points = np.random.default_rng(0).integers(0, 2, (24, 10))
    check(family, instance_of(points), segment)
    assert len(swept) < 8


@pytest.mark.parametrize("kind", ["min-max", "power-mean"])
@pytest.mark.parametrize("unit", [1e-150, 1e-9, 1e150])
def test_the_unit_of_length_does_not_count(kind, unit, monkeypatch):
    """Multiples of a number agree up to roundings, and their logarithms are large."""
    expansions = []
    original = Comparison._expand
    monkeypatch.setattr(
        Comparison, "_expand", lambda *data: expansions.append(data) or original(*data)
    )
    points = unit * np.arange(9.0)[:, None] * np.ones(2)
    check(ct.Linkage(kind, alpha=(-10, 10)), instance_of(points, ("cityblock",)))
    assert 0 < len(expansions) < 200


def test_windows_that_meet_are_one():
    reach = revision.WINDOW
    assert revision.windows_around([0.0, reach, 0.5, 4.0]) == [
        (-reach, 2 * reach),
        (0.5 - reach, 0.5 + reach),
        (4.0 - 4 * reach, 4.0 + 4 * reach),
    ]


@pytest.mark.parametrize(
    ("start", "stop"),
    [
        ((-1, 1), (1, -1)),  # all products are 1
        ((-2, 2), (3, -3)),
        ((-2, 1), (3, 1)),  # powers of one distance, with an exponent that is 0 at t = 1/5
        ((-1, 1), (1, 1)),  # the same at t = 0
    ],
)
def test_metrics_that_agree_need_no_exact_questions(start, stop, asked):
    family, segment = product_line(start, stop)
    points = 1e-150 * np.random.default_rng(2).normal(size=(20, 1))
    check(family, instance_of(points), segment, open_width=1e-15)
    assert len(asked) < 50


def test_equal_products_of_different_distances_have_one_code():
    """Distances 4 and 2, 9 and 3, 1 and 1 have the product 4 / 2 ** 2 = 9 / 3 ** 2 = 1."""
    distances = np.array(
        [
            [[0, 4, 9, 1], [4, 0, 1, 4], [9, 1, 0, 3], [1, 4, 3, 0]],
            [[0, 2, 3, 1], [2, 0, 2, 4], [3, 2, 0, 2], [1, 4, 2, 0]],
        ],
        dtype=float,
    )
    instance = ct.ClusteringInstance(distances=distances, target=[0, 0, 1, 1], k=2)
    line = Line("product", ((1.0, -1.0), (-2.0, 2.0)), ())
    courses, special = courses_along(instance, line, 0.0, 1.0)
    assert special == [1.0]
    (course,) = courses
    codes = course.codes
    products = distances[0] / np.where(distances[1] == 0, 1, distances[1]) ** 2
    for a, b in combinations(range(4), 2):
        for c, d in combinations(range(4), 2):
            assert (codes[a, b] == codes[c, d]) == (products[a, b] == products[c, d])
    assert codes[0, 1] == codes[0, 2] == codes[0, 3] != codes[1, 3]
    family, segment = product_line((1, -2), (0, 0))
    check(family, instance, segment)
