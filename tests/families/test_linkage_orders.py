"""Near ties of rounded decimals: orders that the exact layer proves, once each."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

import certune as ct
from certune.families.linkage.comparison import UNKNOWN, Comparison
from certune.families.linkage.course import make_course
from certune.families.linkage.lines import Line
from certune.families.linkage.orders import order_on
from certune.families.linkage.points import point_values
from certune.kernels.linkage import UNIT

DECIMALS = 0.1 * np.arange(8.0)[:, None]  # neighbours differ by 0.1 up to the last bits


def random_marks(rng, n):
    marks = np.zeros(n, dtype=np.uint8)
    sizes = rng.integers(1, 3, 3)
    marks[rng.permutation(n)[: sizes.sum()]] = np.repeat([1, 2, 3], sizes)
    return marks


def alpha_line(kind):
    return Line(kind, ((0.0, 1.0),), ((1.0, 0.0),))


@pytest.mark.parametrize("kind", ["min-max", "power-mean"])
def test_an_order_is_known_up_to_alpha_zero_and_across(kind):
    """At alpha = 0 all powers are one; the order there is that of geometric means."""
    rng = np.random.default_rng(0)
    instance = ct.ClusteringInstance(DECIMALS, target=np.arange(8) % 2)
    n_known = 0
    for _ in range(60):
        comparison = Comparison(instance, alpha_line(kind), random_marks(rng, 8))
        for low, high in ((-0.5, 0.0), (0.0, 0.5), (-0.5, 0.25)):
            orders = {comparison.at(t) for t in (*np.linspace(low, high, 9).tolist(), 0.0)}
            found = comparison.on(low, high)
            if found == UNKNOWN:
                assert len(orders) > 1
            else:
                assert orders == {found}
                n_known += 1
    assert n_known > 100


@pytest.mark.parametrize("kind", ["min-max", "power-mean"])
def test_a_remembered_order_is_the_order_at_every_point(kind):
    rng = np.random.default_rng(1)
    instance = ct.ClusteringInstance(DECIMALS, target=np.arange(8) % 2)
    course = make_course(instance, alpha_line(kind), -4.0, 4.0)
    n_changes = 0
    for _ in range(40):
        comparison = Comparison(instance, course.line, random_marks(rng, 8))
        for low, high in np.sort(rng.uniform(-4, 4, (6, 2))).tolist():
            order, zone, _ = order_on(course, comparison, low, high)
            points = [low, high, *rng.uniform(low, high, 5).tolist()]
            if zone is not None:
                n_changes += 1
                assert zone[1] - zone[0] < 1e-13
                assert low < zone[1]
                assert zone[0] < high
                assert comparison.at(max(low, zone[0])) == order
                assert comparison.at(min(high, zone[1])) == -order
            if order != UNKNOWN:
                start, stop = zone or (np.inf, np.inf)
                assert all(comparison.at(t) == order for t in points if t <= start)
                assert all(comparison.at(t) == -order for t in points if t >= stop)
    assert n_changes > 10


def test_an_order_is_proved_once(monkeypatch):
    """Clusters with the same distances share a proof, and so do all intervals of the course."""
    points = np.arange(8.0)[:, None]
    instance = ct.ClusteringInstance(points, target=np.arange(8) % 2)
    course = make_course(instance, alpha_line("power-mean"), -4.0, 4.0)
    asked = []
    original = Comparison.on

    def counted(self, low, high, **ends):
        asked.append((low, high))
        return original(self, low, high, **ends)

    monkeypatch.setattr(Comparison, "on", counted)
    for shift in range(3):
        marks = np.zeros(8, dtype=np.uint8)
        marks[[2 + shift, 1 + shift, 4 + shift]] = (1, 2, 3)
        for low, high in ((-3.0, -2.0), (0.5, 2.0), (1.0, 1.5)):
            comparison = Comparison(instance, course.line, marks)
            assert order_on(course, comparison, low, high)[:2] == (1, None)
    assert asked.count((-4.0, 4.0)) == 1
    assert not set(asked) & {(-3.0, -2.0), (0.5, 2.0), (1.0, 1.5)}


@pytest.mark.parametrize("kind", ["min-max", "power-mean"])
@pytest.mark.parametrize("name", ["decimals", "iris"])
def test_decimals_leave_nothing_open_but_single_points(kind, name):
    points = DECIMALS if name == "decimals" else load_iris().data[::3]
    instance = ct.ClusteringInstance(points, target=np.arange(len(points)) % 3, k=3)
    family = ct.Linkage(kind)
    dual = family.dual(instance)
    assert sum(high - low for low, high in dual.undecided) < 1e-9
    for alpha in np.random.default_rng(2).uniform(-10, 10, 20).tolist():
        value = dual.value_at(alpha)
        assert value is None or value == family.run_exact(instance, alpha)


@pytest.mark.parametrize("kind", ["power-mean", "product"])
def test_values_at_a_point_are_charged_with_the_rounding_of_merges(kind):
    """An average of averages of ... rounds three times a merge, and there are n - 1 of them."""
    points = np.random.default_rng(3).normal(size=(60, 2))
    instance = ct.ClusteringInstance(points, metrics=("euclidean", "cityblock"), k=2)
    alpha = ((0.5, 0.0), (0.5, 0.0))
    weights = ((0.5, 0.0), (0.5, 0.0))
    line = Line(kind, alpha, ()) if kind == "product" else Line(kind, alpha[:1], weights)
    error = point_values(make_course(instance, line, 0.0, 0.0))[2]
    assert 3 * 59 * UNIT <= error < 1e-12
