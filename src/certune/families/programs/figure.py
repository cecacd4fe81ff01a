"""The example of the paper's figure on piecewise structure (``fig:piecewise``).

Three boundary functions cut the plane of two parameters into 7 regions, on which the utility takes
only 4 forms.  The caption lists boundaries, forms and a chain, not which region has which form;
here the three regions inside the circle have a form each, and the 4 regions outside share one, so
that the two forms with a square root and a logarithm are only used where they are defined.

The chain of the caption has 5 functions and carries everything but ``log(a2)``, which needs the
two functions 1/a2 and log(a2) more.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from certune.pfaffian.chains.chain import Chain
from certune.pfaffian.expressions.expression import Expression, parameters
from certune.pfaffian.expressions.functions import exp, log, sqrt

FIGURE_DOMAIN = {"a1": (0.1, 10.0), "a2": (0.1, 10.0)}
"""The part of the plane that is looked at; roots and logarithms need positive parameters."""


def figure_boundaries() -> tuple[Expression, Expression, Expression]:
    """Return the boundary functions: a parabola, a circle and an exponential curve."""
    a1, a2 = parameters("a1 a2")
    return a1**2 / 2 - a2, (a1 - 5) ** 2 + (a2 - 5) ** 2 - 16, a1 - exp(a2)


def figure_utility(instance: Any, values: Mapping[str, Any]) -> Any:
    """Return the utility; a program that needs no instance."""
    a1, a2 = values["a1"], values["a2"]
    if (a1 - 5) ** 2 + (a2 - 5) ** 2 - 16 >= 0:
        return exp(-(a1**2 + a2**2) / 5)
    if a1 - exp(a2) >= 0:
        return log(a2) + 2
    if a1**2 / 2 - a2 >= 0:
        return sqrt(a1**2 + a2**2 + exp(sqrt(a1) / 10))
    return a1 + a2 / 2


def figure_chain() -> Chain:
    """Return the chain of the caption, with its derivatives stated and verified."""
    a1, a2, f1, f2, f3, f4, f5 = parameters("a1 a2 f1 f2 f3 f4 f5")
    root = sqrt(a1)
    norm = a1**2 + a2**2 + exp(root / 10)
    return Chain(
        {
            "f1": exp(a2),
            "f2": exp(-(a1**2 + a2**2) / 5),
            "f3": 1 / root,
            "f4": exp(root / 10),
            "f5": 1 / sqrt(norm),
        },
        {
            "f1": {"a2": f1},
            "f2": {"a1": -Fraction(2, 5) * a1 * f2, "a2": -Fraction(2, 5) * a2 * f2},
            "f3": {"a1": -Fraction(1, 2) * f3**3},
            "f4": {"a1": Fraction(1, 20) * f3 * f4},
            "f5": {
                "a1": -Fraction(1, 2) * f5**3 * (2 * a1 + Fraction(1, 20) * f3 * f4),
                "a2": -a2 * f5**3,
            },
        },
    )
