"""Counting regions of the plane with proof."""

import pytest

from certune.errors import InputError, ParameterError, UndecidedError
from certune.families.programs.figure import FIGURE_DOMAIN, figure_boundaries
from certune.pfaffian import count_regions, exp, parameters

x, y, z = parameters("x y z")
SQUARE = {"x": (-3.0, 3.1), "y": (-3.0, 3.2)}


@pytest.mark.parametrize(
    ("functions", "n_regions"),
    [
        ([], 1),
        ([x - 10], 1),  # does not meet the square
        ([x - y / 3], 2),
        ([x**2 + y**2 - 1], 2),
        ([x**2 + y**2 - 1, x**2 + y**2 - 2], 3),  # nested circles
        ([x**2 + y**2 - 1, (x - 1) ** 2 + y**2 - 1], 4),  # crossing circles
        ([x**2 + y**2 - 1, (x - 1) ** 2 + y**2 - 1, y - x - 1 / 8], 8),
        ([x - y / 3, x + y / 3 - 1 / 8, y - 1 / 7 * x - 1], 7),  # three lines in general position
        ([y - exp(x), y + exp(x)], 3),
    ],
    ids=str,
)
def test_known_arrangements(functions, n_regions):
    assert count_regions(functions, SQUARE).n_regions == n_regions


def test_the_figure_of_the_paper_has_seven_regions():
    found = count_regions(figure_boundaries(), FIGURE_DOMAIN)
    # The circle crosses each of the other two curves twice, and each of those ends twice on the
    # boundary: 4 crossings + 4 / 2 + 1 component = 7.
    assert (found.n_crossings, found.n_boundary_points, found.n_components) == (4, 4, 1)
    assert found.n_regions == 7


def test_touching_curves_are_undecided():
    with pytest.raises(UndecidedError, match="told apart"):
        count_regions([x**2 + y**2 - 1, x - 1], SQUARE)


def test_misuse():
    with pytest.raises(ParameterError, match="two parameters"):
        count_regions([x], {"x": (0, 1)})
    with pytest.raises(InputError, match="depends on more"):
        count_regions([x + z], SQUARE)
