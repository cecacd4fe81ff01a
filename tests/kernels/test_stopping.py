"""The stop that the compiled core asks: flag, deadline, and the words for both."""

import copy
import math
import pickle
import threading
import time

import pytest

from certune._core import Stop, TimeIsUp
from certune.deadline import check_time, current_stop, until


def test_a_stop_is_set_by_its_deadline_or_by_anybody():
    assert not Stop().is_set()
    assert not Stop(math.inf).is_set() and not Stop(1e300).is_set() and not Stop(3600.0).is_set()
    assert Stop(0.0).is_set() and Stop(-math.inf).is_set()
    soon = Stop(0.01)
    time.sleep(0.02)
    assert soon.is_set()
    stop = Stop()
    thread = threading.Thread(target=stop.set)
    thread.start()
    thread.join()
    assert stop.is_set()
    with pytest.raises(ValueError, match="NaN"):
        Stop(math.nan)


def test_a_set_stop_holds_where_it_was_stated():
    with until(math.inf) as stop:
        assert current_stop() is stop
        check_time()
        stop.set()
        with pytest.raises(TimeIsUp):
            check_time()
    check_time()


def test_the_word_that_time_is_up_travels_between_processes():
    for error in (pickle.loads(pickle.dumps(TimeIsUp())), copy.copy(TimeIsUp())):
        assert type(error) is TimeIsUp
