"""Linked kernels: parts of the kernels that call them."""

import ast
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numba import njit

import certune.kernels
from certune.kernels.linking import linked

LINKED = {"linked", "borrowing", "lending", "inlined"}


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


@linked
def at(numbers, i):
    return numbers[i]


@njit
def before(numbers, first):
    rest = numbers[first:]
    return at(rest, -1), rest[-1]


def test_indices_count_from_the_start():
    assert before(np.arange(5.0), 2) == (1.0, 4.0)


@njit
def last(numbers):
    return numbers[-1]


@linked
def last_by_another(numbers):
    return last(numbers)


@njit
def last_through_linked(numbers):
    return last_by_another(numbers[:3])


def test_kernels_that_linked_ones_call_keep_their_indices():
    assert last_through_linked(np.arange(5.0)) == 2.0


VIEWS = """
import numpy as np
from numba import njit
from certune.kernels.linking import linked

@linked
def first_bits(numbers):
    return numbers.view(np.int64)[0]

@njit
def kernel(numbers):
    return first_bits(numbers)

@njit
def narrow(numbers):
    return numbers.view(np.float32)

kernel(np.ones(4))
print(narrow(np.arange(32.0).reshape(4, 8)[:, :4]).shape)
"""


def test_what_numba_compiles_for_linked_kernels_keeps_its_indices():
    command = [sys.executable, "-c", VIEWS]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "(4, 8)"


def linked_kernels():
    for path in sorted(Path(certune.kernels.__path__[0]).glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef):
                names = {ast.unparse(decorator).split("(")[0] for decorator in node.decorator_list}
                if names & LINKED:
                    yield path.stem, node


def test_no_linked_kernel_counts_from_the_end():
    kernels = list(linked_kernels())
    assert len(kernels) > 200
    wrong = [
        f"{module}.{kernel.name}: {ast.unparse(node)}"
        for module, kernel in kernels
        for node in ast.walk(kernel)
        if isinstance(node, ast.Subscript)
        and any(isinstance(part, ast.USub) for part in ast.walk(node.slice))
        and not isinstance(node.slice, ast.Slice)
    ]
    assert wrong == []
