"""How many fruitless questions the exact layer is asked at one place."""

import math

from certune.families.linkage.sweeping import _Patience


def test_patience_is_that_of_a_place():
    patience = _Patience()
    for _ in range(_Patience.MOST_AT_PLACE):
        assert patience.lasts(0.0, 1.0)
        patience.failed(0.0, 1.0)
    assert not patience.lasts(0.0, 1.0)
    assert not patience.lasts(0.5, 2.0)
    assert patience.lasts(1.0, 2.0)  # they only touch
    for _ in range(_Patience.MORE_WHEN_HALVED):
        assert patience.lasts(0.0, 0.5)
        patience.failed(0.0, 0.5)
    assert not patience.lasts(0.0, 0.5)
    assert patience.lasts(0.5, 1.0)  # the failures were left of it
    assert not patience.ended
    for place in range(_Patience.MOST_IN_ALL):
        patience.failed(2.0 * place, 2.0 * place + 1.0)
    assert patience.ended


def test_patience_at_a_point():
    patience = _Patience()
    for _ in range(_Patience.MOST_AT_PLACE):
        assert patience.lasts(0.5, 0.5)
        patience.failed(0.5, 0.5)
    assert not patience.lasts(0.5, 0.5)
    assert patience.lasts(math.nextafter(0.5, 1), math.nextafter(0.5, 1))
