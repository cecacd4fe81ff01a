"""A setting of several parameters that is good on a whole box around it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from certune.box import Box
from certune.space.values import shown_setting


@dataclass(frozen=True)
class BoxSelection:
    """A setting of several parameters chosen by a rule.

    Attributes
    ----------
    rule : str
        Which rule.
    params : dict
        The setting.
    value_exact : Fraction
        Its mean utility, or what else was maximised.
    box : Box or None
        The box around it that the rule found; None if there is none.
    lower_bound_exact : Fraction
        On the whole box it is at least this.
    tolerance : Fraction
        How much worse than the best setting the rule allows a setting to be.
    """

    rule: str
    params: dict[str, Any]
    value_exact: Fraction
    box: Box | None
    lower_bound_exact: Fraction
    tolerance: Fraction

    @property
    def value(self) -> float:
        """`value_exact`, correctly rounded."""
        return float(self.value_exact)

    def __str__(self) -> str:
        where = "" if self.box is None else " from a box around it"
        return (
            f"{shown_setting(self.params)}: mean utility {self.value:.6g}, chosen by the rule "
            f"{self.rule!r}{where}"
        )
