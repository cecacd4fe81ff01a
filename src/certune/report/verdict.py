"""The verdict in words: what people ask first of a tuning run, and what the findings answer.

Plateau before point: where the optimum is narrow, the setting that is recommended is the centre of
the widest plateau that loses at most a hundredth of the score's range.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
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
        near = shown(findings.robust_loss, 2)
        figures.append(KeyFigure(_percent(share), f"of the range is within {near} of the best"))
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


def alike(values: Iterable[float | None], digits: int = 4) -> Callable[[float | None], str]:
    """Return how numbers that stand in one column are written: with equally many decimals.

    Parameters
    ----------
    values : iterable of float
        The numbers; what is unknown is None.
    digits : int
        Digits of most of them, at least, if so many are needed.
    """
    known = [value for value in values if value is not None and math.isfinite(value)]
    sizes = sorted(abs(value) for value in known if value)
    largest = sizes[-1] if sizes else 0.0
    small = max(sizes[len(sizes) // 4], 0.01 * largest) if sizes else 1.0
    most = digits - math.ceil(math.log10(small))
    needed = [len(f"{value:.{max(0, most)}f}".rstrip("0").partition(".")[2]) for value in known]
    decimals = max(needed, default=0)

    def written(value: float | None) -> str:
        if value is None or not math.isfinite(value) or largest >= 10**9 or decimals > 9:
            return shown(value, digits)
        return f"{round(value, decimals) + 0.0:.{decimals}f}"

    return written


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
            f"spike, better by only {shown(loss, 2)}.",
            "good",
            "plateau: all settings that lose at most a hundredth of the score's range",
        )
    return Answer(
        "What should I use?",
        f"{shown_params(findings.best_params)}: {findings.measure} "
        f"{shown(findings.best_value)} over {count_of(findings.n_instances, findings.noun)}"
        f"{_unfinished(findings)}.",
        "good",
    )


def _unfinished(findings: Findings) -> str:
    """What a score counts that is not known yet."""
    missing = findings.n_instances - findings.n_finished
    if missing <= 0:
        return ""
    return f", the {missing} without a result counted as worst"


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
        verb = "is" if len(equal) == 1 else "are"
        text = f"Not at all: {_enumerated(equal)} {verb} just as good ({shown(value)}).{rest}"
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
    remedy = "Use that" if is_other else "Use it, or widen the range"
    text = (
        f"It is worse: {name}, {what}, reaches {shown(value)} on the tuning {findings.noun}s, "
        f"better by {shown(-gain, 3)}. {remedy}.{rest}"
    )
    return Answer(question, text, "warning")


def _held_out(findings: Findings) -> Answer:
    held = findings.held_out
    unseen = "rows" if findings.shared_rows else "instances"
    question = f"Does it hold up on new {unseen}?"
    if held is None:
        found = findings.cross_validation
        if found is None and findings.shared_rows:
            return Answer(
                question,
                "Unknown: the folds share their rows, so all of them took part in tuning. "
                "Hold some out with --holdout 0.25.",
                "plain",
            )
        if found is None and findings.n_streamed:
            return Answer(
                question,
                "Unknown: a stream is read once, and all of it took part in tuning. Hold some "
                "instances out, and run the setting on them with family.run.",
                "warning",
            )
        if found is None and findings.n_instances == 1:
            return Answer(
                question,
                "Unknown: there was only one instance. Give more of them, and hold some out with "
                "--holdout 0.25.",
                "warning",
            )
        if found is None:
            return Answer(
                question,
                "Unknown: no instances were held out. Hold some out with --holdout 0.25, or pass "
                "others to result.evaluate.",
                "warning",
            )
        return Answer(
            question,
            f"Not measured: no instances were held out. By cross-validation, new ones have a "
            f"{findings.measure} of {shown_estimate(found)}{_of_winner(findings)}.",
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
            f"; {best[0]} scores {shown(held.defaults[best[0]])}"
        )  # fmt: skip
        what = held.groups[0] if held.groups else held.instances[0].name
        if held.groups or not findings.shared_rows:
            what = f"the held-out {'table' if held.groups else 'instance'} {what}"
        return Answer(
            question,
            f"On {what} {it} scores {shown(held.value)}{against}. "
            "A single measurement says nothing about the spread.",
            "plain",
        )
    where = count_of(n, "held-out table" if held.groups else "held-out instance")
    if held.groups:
        where += f", {len(held.instances)} folds,"
    text = (
        f"On {where} {it} scores {shown(held.value)}; its expected score is "
        f"between {shown(held.interval[0])} and {shown(held.interval[1])} (95%)."
    )
    compared = {item.name: item for item in held.comparisons}
    if best is None or best[0] not in compared:
        return Answer(question, text, "plain", "betting confidence interval")
    against_best = compared[best[0]]
    advantage = f"Advantage over {against_best.name}: {against_best.difference:+.3g} "
    advantage += f"[{against_best.low:+.3g}, {against_best.high:+.3g}]"
    if against_best.low > 0:
        return Answer(question, f"Yes. {text} {advantage}.", "good", "paired betting interval")
    if against_best.high < 0:
        told = f"No: the default is better there. {text} {advantage}. Use {against_best.name}."
        return Answer(question, told, "warning", "paired betting interval")
    hint = f": {n} are too few, hold out more" if n < FEW_HELD_OUT else ""
    as_good = " On these the default does at least as well." if against_best.difference <= 0 else ""
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
    if shown(widest[0], 5) == shown(widest[1], 5):
        wide = f"The optimum is at {shown(widest[0], 5)}"
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
    about = f"be about {shown(found.optimism, 2)} worse" if found.optimism > 0 else "hold up"
    text = f"By cross-validation, the tuned score will {about} on new instances"
    text += _of_winner(findings)
    # The estimate is a bound, and may promise less than what has been seen already.
    too_good = found.optimism > findings.needed_epsilon
    if too_good and estimates and estimates[0]["n_instances"] > findings.n_instances:
        text += (
            f"; an estimated {estimates[0]['n_instances']:,} would bring that below "
            f"{shown(findings.needed_epsilon, 2)}"
        )
    if found.optimism > findings.robust_loss:
        tone, conclusion = "plain", ". More instances would help."
    elif findings.n_instances < FEW_TUNING:
        few = count_of(findings.n_instances, "instance")
        tone, conclusion = "plain", f". But {few} tell little: use more."
    else:
        tone, conclusion = "good", ". More instances would change little."
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


def _enumerated(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def count_of(number: int, noun: str) -> str:
    """Return a number with its noun: "1 instance", "2 instances"."""
    return f"{number} {noun}{'s' * (number != 1)}"


def _percent(share: float) -> str:
    if 0 < share < 0.001:
        return "less than 0.1%"
    return f"{100 * share:.3g}%"
