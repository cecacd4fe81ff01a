"""Linked kernels: parts of the kernels that call them."""

import numpy as np
import pytest
from numba import njit

from certune.kernels.linking import linked


@linked
def root(number):
    if number < 0.0:
        raise ValueError("negative")
    return np.sqrt(number)


@linked
def sum_of_roots(numbers, twice):
    total = 0.0
    for number in numbers:
        total += root(number)
    return 2.0 * total if twice else total


@njit
def both(numbers):
    return sum_of_roots(numbers, True), sum_of_roots(numbers, False)


def test_kernels_call_linked_ones():
    assert both(np.array([1.0, 4.0, 9.0])) == (12.0, 6.0)


def test_constants_do_not_multiply_linked_kernels():
    both(np.ones(2))
    assert len(sum_of_roots.signatures) == 1


def test_errors_pass_through():
    with pytest.raises(ValueError, match="negative"):
        both(np.array([1.0, -1.0]))


def test_python_can_call_them():
    assert sum_of_roots(np.array([4.0, 9.0]), True) == 10.0
    assert root(16.0) == 4.0


def test_they_have_no_machine_code_of_their_own():
    both(np.ones(2))
    (result,) = sum_of_roots.overloads.values()
    assert result.library.get_pointer_to_function(result.fndesc.llvm_func_name) == 0
