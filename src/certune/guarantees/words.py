"""A guarantee in words: what a reader should take home, then the table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from certune.guarantees.records import counted

if TYPE_CHECKING:
    from certune.guarantees.guarantee import Guarantee


def guarantee_in_words(guarantee: Guarantee) -> str:
    """Return the text of a guarantee."""
    confidence = f"{100 * (1 - guarantee.delta):.6g} % confidence"
    tuning = counted(guarantee.n_instances, "tuning instance")
    lines = [f"on {tuning}: {guarantee.tuning_value:.4f}"]
    if guarantee.vacuous:
        lines += [
            f"on a new instance: no bound says anything at {confidence}.",
            "Too few instances for a proof; that does not mean that the setting is poor.",
        ]
        if guarantee.n_held_out == 0:
            lines.append("Held-out instances are the cheapest remedy: pass held_out=instances.")
        else:
            lines.append("More held-out instances are the cheapest remedy.")
    else:
        lines.append(
            f"on a new instance, expect at least {guarantee.expected_utility:.4f} "
            f"({confidence}, {guarantee.tightest.name})"
        )
    if guarantee.best_possible < guarantee.utility_range[1]:
        lines.append(f"no setting can be expected to reach over {guarantee.best_possible:.4f}")
    simple = guarantee.simple
    if simple is not None and not simple.bound.vacuous:
        lines.append(
            f"the simple setting {simple.coordinate:.6g} has {simple.tuning_value:.4f} on the "
            f"tuning instances; they alone promise {simple.expected_utility:.4f} on a new one"
        )
    width = max(len(bound.name) for bound in guarantee.bounds)
    lines.append(f"{'bound':<{width}}  optimism  utility >=  from")
    for bound in guarantee.bounds:
        utility = "vacuous" if bound.vacuous else f"{bound.expected_utility:.4f}"
        note = f" ({bound.note})" if bound.note else ""
        lines.append(
            f"{bound.name:<{width}}  {bound.value:8.4g}  {utility:>10}  {bound.evidence}{note}"
        )
    lines += [f"assumes: {assumption}" for assumption in guarantee.assumptions]
    lines += [f"not used: {reason}" for reason in guarantee.omitted]
    lines += [f"note: {note}" for note in guarantee.notes]
    return "\n".join(lines)
