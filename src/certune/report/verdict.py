"""The verdict in words: what people ask first of a tuning run, and what the findings answer.

Plateau before point: where the optimum is narrow, the setting that is recommended is the centre of
the widest plateau that loses at most a hundredth of the score's range.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from certune.report.findings import CrossValidationFinding, Findings

# An optimal set is a spike if it takes less than this share of the range.
NARROW_SHARE = 0.02
# An optimum this near to an end of the range, as a share of it, is at the edge.
EDGE_SHARE = 1e-3
# So few instances say little about others.
FEW_HELD_OUT, FEW_TUNING = 30, 10
# Instances that were left out and are told by name; a table has all of them.
MOST_FAILURES = 3


@dataclass(frozen=True)
class Answer:
    """A question, its answer, and what stands behind the numbers.

    Attributes
    ----------
    question, text : str
        In words.
    tone : {"good", "plain", "warning"}
        How it is shown.
    source : str
        The result or the method behind the numbers.
    """

    question: str
    text: str
    tone: str
    source: str = ""


@dataclass(frozen=True)
class KeyFigure:
    """A number that is read first, and the words below it."""

    value: str
    words: str


def key_figures(findings: Findings) -> list[KeyFigure]:
    """Return the numbers of the verdict, the most important first."""
    figures = [KeyFigure(shown(findings.best_value), findings.measure)]
    if findings.proved:
        gap = f"{findings.gap:.1g}" if findings.gap else "0"
        figures.append(KeyFigure(gap, "gap: proved optimal"))
    else:
        figures.append(KeyFigure(shown(findings.gap, 2), "gap: at most so much is missing"))
    if findings.best_default is not None:
        name, value = findings.best_default
        gain = findings.advantage(value)
        word = "better than" if gain > 0 else "worse than"
        figures.append(
            KeyFigure("equal", f"to {name}, a default")
            if equals_default(findings)
            else KeyFigure(shown(abs(gain), 3), f"{word} {name}")
        )
    if findings.held_out is not None:
        words = f"on {held_out_words(findings)}"
        figures.append(KeyFigure(shown(findings.held_out.value), words))
    if findings.n_free == 1:
        share = findings.axis.share(*findings.plateau)
        figures.append(KeyFigure(_percent(share), "of the range is nearly as good"))
    return figures


def equals_default(findings: Findings) -> bool:
    """Tell whether the best default is as good as the optimum, as far as that is known.

    Scores with an error are equal up to the gap: the end of a range may be a default as well.
    """
    if findings.best_default is None:
        return False
    gain = findings.advantage(findings.best_default[1])
    return gain == 0 or (findings.status == "OPTIMAL" and abs(gain) <= findings.gap)


def held_out_words(findings: Findings) -> str:
    """What was held out: its number, or its name if it is a part of a table."""
    held = findings.held_out
    assert held is not None
    if held.groups:
        return count_of(len(held.groups), "held-out table")
    if findings.shared_rows and len(held.instances) == 1:
        return held.instances[0].name
    return count_of(len(held.instances), f"held-out {findings.noun}")


def verdict(findings: Findings) -> list[Answer]:
    """Return the answers, the most important first."""
    answers = [
        _recommended(findings),
        _proved(findings),
        _better(findings),
        _held_out(findings),
        _plateau(findings),
        _more(findings),
    ]
    return [answer for answer in answers if answer is not None]


def shown(value: float | None, digits: int = 4) -> str:
    """Return a number as people write it."""
    return "unknown" if value is None else f"{value:.{digits}g}"


def shown_params(params: Mapping[str, Any]) -> str:
    """Return a setting in words."""
    parts = []
    for name, value in params.items():
        if isinstance(value, (list, tuple)):
            parts.append(f"{name} = ({', '.join(f'{entry:.5g}' for entry in value)})")
        elif isinstance(value, float):
            parts.append(f"{name} = {value:.6g}")
        else:
            parts.append(f"{name} = {value}")
    return ", ".join(parts)


def is_spike(findings: Findings) -> bool:
    """Tell whether the optimum is narrow, and the widest plateau nearly as good lies elsewhere."""
    if findings.n_free > 1:
        return False
    low, high = findings.plateau
    if any(low <= start and stop <= high for start, stop in findings.region):
        return False
    return max(findings.axis.share(*ends) for ends in findings.region) < NARROW_SHARE


def edges_touched(findings: Findings) -> list[str]:
    """Return which ends of the range the optimum touches: "low", "high".

    An end behind which the parameter has no meaning is none.
    """
    if findings.n_free > 1:
        return []
    axis, touched = findings.axis, []
    if (axis.floor is None or axis.low > axis.floor) and any(
        axis.share(axis.low, low) <= EDGE_SHARE for low, _ in findings.region
    ):
        touched.append("low")
    if (axis.ceiling is None or axis.high < axis.ceiling) and any(
        axis.share(high, axis.high) <= EDGE_SHARE for _, high in findings.region
    ):
        touched.append("high")
    return touched


def wider_range(findings: Findings) -> tuple[float, float]:
    """Return a range to try if the optimum is at the edge.

    Towards an end of what has a meaning it goes nine tenths of the way.
    """
    axis, touched = findings.axis, edges_touched(findings)
    low, high = axis.low, axis.high
    if axis.logarithmic:
        return (low / 100 if "low" in touched else low, high * 100 if "high" in touched else high)
    width = high - low
    lower = low - width if axis.floor is None else axis.floor + (low - axis.floor) / 10
    higher = high + width if axis.ceiling is None else axis.ceiling - (axis.ceiling - high) / 10
    return (lower if "low" in touched else low, higher if "high" in touched else high)


def _recommended(findings: Findings) -> Answer:
    if is_spike(findings):
        loss = findings.advantage(findings.robust_value)
        return Answer(
            "What should I use?",
            f"{shown_params(findings.robust_params)}: the centre of the widest plateau, "
            f"[{shown(findings.plateau[0])}, {shown(findings.plateau[1])}], "
            f"{findings.score} {shown(findings.robust_value)}. The very best, "
            f"{shown_params(findings.best_params)} with {shown(findings.best_value)}, is a narrow "
            f"spike and better by {shown(loss, 2)} only.",
            "good",
            "plateau: all settings that lose at most a hundredth of the score's range",
        )
    return Answer(
        "What should I use?",
        f"{shown_params(findings.best_params)}: {findings.measure} "
        f"{shown(findings.best_value)} over {count_of(findings.n_instances, findings.noun)}.",
        "good",
    )


def _proved(findings: Findings) -> Answer:
    where = _range(findings)
    comparison = "above" if findings.greater_is_better else "below"
    n = count_of(findings.n_instances, findings.noun)
    which = "this" if findings.n_instances == 1 else "these"
    if findings.status == "OPTIMAL":
        within = f" (up to {findings.gap:.1g})" if findings.gap else ""
        return Answer(
            "Is it proved?",
            f"Yes. No setting{where} has a {findings.measure} {comparison} "
            f"{shown(findings.best_value)} on {which} {n}{within}.",
            "good",
            "exact functions of the parameter (thm:piecewise-pfaffian); the certificate can be "
            "checked by certune.verify",
        )
    if findings.status in ("SEARCHED", "UNPROVED"):
        return Answer("Is it proved?", f"No: {findings.status_text}.", "warning")
    failed = ""
    if findings.failures:
        told = "; ".join(f"{name} ({why})" for name, why in findings.failures[:MOST_FAILURES])
        more = len(findings.failures) - MOST_FAILURES
        failed = f" Left out: {told}{f'; and {more} more' if more > 0 else ''}."
    return Answer(
        "Is it proved?",
        f"Up to a gap: {findings.status_text}.{failed} No setting{where} can be {comparison} "
        f"{shown(findings.bound)}; the one found has {shown(findings.best_value)}, so at most "
        f"{shown(findings.gap, 3)} is missing.",
        "good" if findings.status == "GAP_LIMIT" else "warning",
        "an upper bound that holds for all instances, finished or not",
    )


def _better(findings: Findings) -> Answer | None:
    best = findings.best_default
    if best is None:
        return None
    question = "How much better than the defaults?"
    name, value = best
    gain = findings.advantage(value)
    is_equal = equals_default(findings)
    equal = [
        other
        for other, score in findings.defaults.items()
        if score == value or (is_equal and abs(score - value) <= findings.gap)
    ]
    named = equal if is_equal else [name]
    others = _listed({k: v for k, v in findings.defaults.items() if k not in named})
    rest = f" The other defaults: {others}." if others else ""
    if is_equal:
        count = "a default is" if len(equal) == 1 else f"{len(equal)} defaults are"
        text = f"Not at all: {count} as good, {', '.join(equal)} ({shown(value)}).{rest}"
        return Answer(question, text, "plain")
    if gain > 0:
        where = f"the best default, {name} ({shown(value)}), on the tuning {findings.noun}s"
        lost = -findings.advantage(value, findings.robust_value)
        if is_spike(findings) and lost >= 0:
            worse = f"is worse than it by {shown(lost, 2)}" if lost else "is only as good"
            text = (
                f"The spike is better by {shown(gain, 3)} than {where}; the plateau's centre "
                f"{worse}.{rest}"
            )
            return Answer(question, text, "plain")
        if is_spike(findings):
            text = f"By {shown(-lost, 3)} over {where}; the spike by {shown(gain, 3)}.{rest}"
            return Answer(question, text, "good")
        return Answer(question, f"By {shown(gain, 3)} over {where}.{rest}", "good")
    if findings.status != "OPTIMAL" and -gain <= findings.gap:
        text = (
            f"Not known yet: {name} reaches {shown(value)}, and the gap is larger than that.{rest}"
        )
        return Answer(question, text, "warning")
    is_other = name in findings.other_algorithms
    what = "another algorithm" if is_other else "a setting outside the range"
    remedy = "use that" if is_other else "use it, or widen the range"
    text = (
        f"It is not: {name}, {what}, reaches {shown(value)} and is better by {shown(-gain, 3)} on "
        f"the tuning {findings.noun}s: {remedy}.{rest}"
    )
    return Answer(question, text, "warning")


def _held_out(findings: Findings) -> Answer:
    held = findings.held_out
    unseen = "rows" if findings.shared_rows else "instances"
    question = f"Is that clear on {unseen} it has not seen?"
    if held is None:
        found = findings.cross_validation
        if found is None and findings.shared_rows:
            return Answer(
                question,
                "Unknown: the folds share their rows, so that all of them took part in tuning. "
                "Keep rows back with --holdout 0.25.",
                "plain",
            )
        if found is None and findings.n_streamed:
            return Answer(
                question,
                "Unknown: a stream is read once, and all of it took part in tuning. Keep instances "
                "back, and run the setting on them with family.run.",
                "warning",
            )
        if found is None and findings.n_instances == 1:
            return Answer(
                question,
                "Unknown: one instance was all there was. Give more of them, and keep some back "
                "with --holdout 0.25.",
                "warning",
            )
        if found is None:
            return Answer(
                question,
                "Unknown: there are no held-out instances. Keep some back with --holdout 0.25, or "
                "pass others to result.evaluate.",
                "warning",
            )
        return Answer(
            question,
            f"Not measured on held-out instances. Tuning without each fold in turn estimates "
            f"{findings.measure} {shown_estimate(found)} on others{_of_winner(findings)}.",
            "plain",
            "cross-validation over instances, each fold tuned exactly",
        )
    if held.interval is None:
        return Answer(question, "Unknown: some held-out instances were used in tuning.", "warning")
    best = findings.best_default
    it = f"the spike, {shown_params(findings.best_params)}," if is_spike(findings) else "it"
    n = len(held.groups or held.instances)
    if n == 1:
        against = "" if best is None or best[0] not in held.defaults else (
            f", {best[0]} {shown(held.defaults[best[0]])}"
        )  # fmt: skip
        what = held.groups[0] if held.groups else held.instances[0].name
        return Answer(
            question,
            f"On what was held out ({what}) {it} has {shown(held.value)}{against}. "
            "One measurement says nothing about the spread.",
            "plain",
        )
    where = count_of(n, "held-out table" if held.groups else "held-out instance")
    if held.groups:
        where += f", {len(held.instances)} folds,"
    text = (
        f"On {where} {it} has {shown(held.value)}, in expectation "
        f"between {shown(held.interval[0])} and {shown(held.interval[1])} (95 %)."
    )
    compared = {item.name: item for item in held.comparisons}
    if best is None or best[0] not in compared:
        return Answer(question, text, "plain", "betting confidence interval")
    against_best = compared[best[0]]
    advantage = f"Against {against_best.name}: {against_best.difference:+.3g} "
    advantage += f"[{against_best.low:+.3g}, {against_best.high:+.3g}]"
    if against_best.low > 0:
        return Answer(question, f"Yes. {text} {advantage}.", "good", "paired betting interval")
    if against_best.high < 0:
        told = f"No, the default is better there. {text} {advantage}: use {against_best.name}."
        return Answer(question, told, "warning", "paired betting interval")
    hint = f": {n} are few, hold back more" if n < FEW_HELD_OUT else ""
    as_good = " As far as they tell, a default is as good." if against_best.difference <= 0 else ""
    return Answer(
        question,
        f"Not clear{hint}. {text} {advantage}.{as_good}",
        "plain",
        "paired betting interval",
    )


def _plateau(findings: Findings) -> Answer | None:
    if findings.n_free > 1:
        return None
    question = "Is the optimum stable, and inside my range?"
    touched = edges_touched(findings)
    widest = max(findings.region, key=lambda ends: findings.axis.share(*ends))
    share = findings.axis.share(*widest)
    where = f"[{shown(widest[0], 5)}, {shown(widest[1], 5)}]"
    wide = f"The optimal set is {where}, {_percent(share)} of the range"
    if len(findings.region) > 1:
        wide += f", and {count_of(len(findings.region) - 1, 'further interval')}"
    if touched:
        low, high = wider_range(findings)
        ends = " and ".join({"low": "lower", "high": "upper"}[end] for end in touched)
        return Answer(
            question,
            f"{wide}. It touches the {ends} end of the range: try {findings.axis.name} in "
            f"[{shown(low)}, {shown(high)}].",
            "warning",
        )
    plateau = findings.plateau
    near = (
        f"settings in [{shown(plateau[0], 5)}, {shown(plateau[1], 5)}] "
        f"({_percent(findings.axis.share(*plateau))} of the range) are within "
        f"{shown(findings.robust_loss, 2)} of it"
    )
    if is_spike(findings):
        return Answer(question, f"{wide}: a spike. But {near}.", "warning")
    if plateau in findings.region:
        beyond = f"beyond it more than {shown(findings.robust_loss, 2)} is lost"
        if share < NARROW_SHARE:
            narrow = f"{wide}: narrow, and no wider plateau is nearly as good, {beyond}."
            return Answer(question, narrow, "plain")
        return Answer(question, f"{wide}; {beyond}.", "good")
    return Answer(question, f"{wide}; {near}.", "good")


def _more(findings: Findings) -> Answer | None:
    question = "Would more instances help?"
    estimates = [item for item in findings.needed if "optimism" in item["purpose"]]
    found = findings.cross_validation
    if found is None:
        return None
    about = f"about {shown(found.optimism, 2)}" if found.optimism > 0 else "hardly"
    text = f"The tuned score is {about} too good for new instances{_of_winner(findings)}"
    # The estimate is a bound, and may promise less than what has been seen already.
    too_good = found.optimism > findings.needed_epsilon
    if too_good and estimates and estimates[0]["n_instances"] > findings.n_instances:
        text += (
            f"; by estimate, {estimates[0]['n_instances']:,} would bring that below "
            f"{shown(findings.needed_epsilon, 2)}"
        )
    if found.optimism > findings.robust_loss:
        tone, conclusion = "plain", ". More instances would help."
    elif findings.n_instances < FEW_TUNING:
        few = count_of(findings.n_instances, "instance")
        tone, conclusion = "plain", f", by cross-validation; but {few} tell little: use more."
    else:
        tone, conclusion = "good", ": more instances would change little."
    return Answer(question, text + conclusion, tone, "learning curve and Rademacher complexity")


def _range(findings: Findings) -> str:
    if findings.n_alternatives > 1:
        return f" of the {findings.n_alternatives} alternatives"
    if findings.n_free > 1:
        return " in the space"
    axis = findings.axis
    return f" with {axis.name} in [{shown(axis.low)}, {shown(axis.high)}]"


def shown_estimate(found: CrossValidationFinding) -> str:
    """Return what cross-validation estimates, with its standard error if there is one."""
    spread = "" if found.standard_error is None else f" ± {shown(found.standard_error, 2)}"
    return f"{shown(found.value)}{spread}"


def _of_winner(findings: Findings) -> str:
    """What an estimate within the winner leaves out."""
    return " (within the chosen alternative)" if findings.n_alternatives > 1 else ""


def _listed(scores: Mapping[str, float]) -> str:
    return "; ".join(f"{name} {shown(score)}" for name, score in scores.items())


def count_of(number: int, noun: str) -> str:
    """Return a number with its noun: "1 instance", "2 instances"."""
    return f"{number} {noun}{'s' * (number != 1)}"


def _percent(share: float) -> str:
    if 0 < share < 0.001:
        return "less than 0.1 %"
    return f"{100 * share:.3g} %"
