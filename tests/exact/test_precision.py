"""Threads do not compute with the precision of others."""

import sys
import threading
from fractions import Fraction
from pathlib import Path

import flint
import pytest

import certune as ct
from certune.exact import Radicals

SOURCES = Path(ct.__file__).parent
NUMBER = Radicals((1, -2, 1), ((Fraction(2),), (Fraction(3),), (Fraction(5),)), (Fraction(1, 7),))


@pytest.fixture
def many_switches():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def computed(precision):
    """The ball with so many bits, exactly; what is printed depends on the precision then."""
    ball = NUMBER.enclose(precision)
    return ball.mid().man_exp(), ball.rad().man_exp()


def test_threads_compute_with_their_own_precision(many_switches):
    bits = [64, 3000, 100, 1000]
    alone = [computed(precision) for precision in bits]
    before, wrong = flint.ctx.prec, []

    def work(precision, expected):
        for _ in range(300):
            if computed(precision) != expected:
                wrong.append(precision)

    threads = [threading.Thread(target=work, args=each) for each in zip(bits, alone, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and flint.ctx.prec == before


def test_nothing_sets_the_precision_without_the_lock():
    without = [
        f"{path.relative_to(SOURCES)}: {line.strip()}"
        for path in SOURCES.rglob("*.py")
        for line in path.read_text(encoding="utf-8").splitlines()
        if "workprec(" in line and "with PRECISION_LOCK, " not in line
    ]
    assert without == []


@pytest.mark.parametrize(
    ("family", "instance"),
    [
        (ct.HarmonicLabeling(sigma=(0.1, 10)), ct.datasets.random_labeling(4)[3]),
        (ct.Linkage("energy", alpha=(0.5, 2)), ct.datasets.random_clustering(1)[0]),
        (ct.ThresholdLinkage("power-mean", 1.0, relative=True), ct.datasets.grid_clustering(1)[0]),
    ],
    ids=["labeling", "linkage", "heights"],
)
def test_the_precision_that_others_have_set_does_not_matter(family, instance):
    expected = family.dual(instance)
    with flint.ctx.workprec(8):
        assert family.dual(instance) == expected
