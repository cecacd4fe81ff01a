"""What doors make of the arrays they are given."""

import numpy as np
import pytest

from certune.kernels.arrays import flags, integers, reals


def test_good_arrays_are_not_copied():
    for convert, dtype in ((reals, np.float64), (integers, np.int64), (flags, np.bool_)):
        array = np.ones((3, 2), dtype)
        assert convert(array) is array
        strided = np.ones((6, 4), dtype)[::2, ::2]
        assert convert(strided).flags.c_contiguous and convert(strided).shape == (3, 2)


def test_narrower_numbers_and_empty_lists_are_taken():
    assert reals([1, 2]).dtype == np.float64 and reals(np.float32([1.5])).tolist() == [1.5]
    assert integers(np.int8([1, -1])).tolist() == [1, -1]
    assert integers([]).dtype == np.int64 and flags([]).dtype == np.bool_


@pytest.mark.parametrize(
    ("convert", "values"),
    [(reals, [1j]), (reals, ["1"]), (integers, [0.5]), (flags, [1, 0]), (reals, 1.0)],
)
def test_other_things_are_refused(convert, values):
    with pytest.raises(TypeError, match="expected"):
        convert(values)
