"""A guarantee in words: what a reader should take home, then the table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from certune.guarantees.records import counted

if TYPE_CHECKING:
    from certune.guarantees.guarantee import Guarantee


def guarantee_in_words(guarantee: Guarantee) -> str:
    """Return the text of a guarantee."""
    confidence = f"{100 * (1 - guarantee.delta):.6g}% confidence"
    tuning = counted(guarantee.n_instances, "tuning instance")
    score = guarantee.score
    at_least, sign = score.expected_words
    lines = [f"on {tuning}: {_shown(guarantee, guarantee.tuning_value)}"]
    if score.name != "utility":
        lines[0] += f", {score}"
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
            f"on a new instance, expect {at_least} {_shown(guarantee, guarantee.expected_utility)} "
            f"({confidence}, {guarantee.tightest.name})"
        )
    if guarantee.best_possible < guarantee.utility_range[1]:
        beyond = "over" if score.greater_is_better else "below"
        limit = _shown(guarantee, guarantee.best_possible)
        lines.append(f"no setting can be expected to reach {beyond} {limit}")
    simple = guarantee.simple
    if simple is not None and not simple.bound.vacuous:
        lines.append(
            f"the simple setting {simple.coordinate:.6g} has "
            f"{_shown(guarantee, simple.tuning_value)} on the tuning instances; they alone promise "
            f"{_shown(guarantee, simple.expected_utility)} on a new one"
        )
    width = max(len(bound.name) for bound in guarantee.bounds)
    heading = f"{score.name} {sign}"
    lines.append(f"{'bound':<{width}}  optimism  {heading:>10}  from")
    for bound in guarantee.bounds:
        expected = "vacuous" if bound.vacuous else _shown(guarantee, bound.expected_utility)
        note = f" ({bound.note})" if bound.note else ""
        lines.append(
            f"{bound.name:<{width}}  {bound.value:8.4g}  {expected:>{max(10, len(heading))}}  "
            f"{bound.evidence}{note}"
        )
    lines += [f"assumes: {assumption}" for assumption in guarantee.assumptions]
    lines += [f"not used: {reason}" for reason in guarantee.omitted]
    lines += [f"note: {note}" for note in guarantee.notes]
    return "\n".join(lines)


def _shown(guarantee: Guarantee, utility: float) -> str:
    """Return a utility as people know it: the score that it stands for."""
    return f"{guarantee.score.of(utility):.4f}"
