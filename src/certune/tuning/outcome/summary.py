"""A result as a few lines of text, for the end of the log and for ``print``."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from certune.space.values import shown_setting

if TYPE_CHECKING:
    from certune.scores import Score
    from certune.tuning.choice.result import ChoiceResult
    from certune.tuning.line.result import LineTuningResult
    from certune.tuning.outcome.result import TuningResult
    from certune.tuning.space.result import SpaceTuningResult

INTERVALS_SHOWN = 3
FAILURES_SHOWN = 5
SLICES_SHOWN = 8
LONGEST_DENOMINATOR = 10**6


Row = tuple[str, str]


def summary_of_line(result: LineTuningResult) -> str:
    """Return the summary of a result for one parameter."""
    n_finished, n_instances = len(result.duals), len(result.instance_names)
    rows = [
        *_optimum(result),
        ("best parameter", shown_setting(result.best_params)),
        ("optimal set", _intervals(result)),
        ("", _near_plateaus(result)),
        ("robust parameter", _robust(result)),
        *_baselines(result, result.family.score),
        ("undecided", _undecided(result)),
        ("instances", f"{n_finished} of {n_instances} finished, {result.elapsed:.1f} s"),
        *_failures(result),
    ]
    return _aligned(rows)


def _failures(result: LineTuningResult) -> list[Row]:
    """Which instances were left out, and why."""
    names = result.instance_names
    rows = [("failed", f"{names[place]}: {why}") for place, why in result.failures.items()]
    more = len(rows) - FAILURES_SHOWN
    return [*rows[:FAILURES_SHOWN], *([("", f"and {more} more")] if more > 0 else [])]


def summary_of_choice(result: ChoiceResult) -> str:
    """Return the summary of a result for a choice."""
    score = result.choice.score
    gap = f"{result.gap:.6g}" if result.gap else "0 (exact)"
    fraction = _fraction(score.of(result.best_value_exact))
    words = result.criterion.words(str(score))
    is_sliced = "choice" not in result.best_params
    ranked = sorted(result.alternatives.items(), key=lambda pair: -pair[1].upper_bound_exact)
    named = ranked if is_sliced else result.alternatives.items()
    others = [
        ("other setting" if is_sliced else "alternative", f"{name}: {item}")
        for name, item in named
        if name != result.best_alternative
    ]
    if is_sliced and len(others) > SLICES_SHOWN:
        others[SLICES_SHOWN:] = [("", f"and {len(others) - SLICES_SHOWN} more, with lower bounds")]
    best = (
        ("best parameters", shown_setting(result.best_params))
        if is_sliced
        else ("best choice", f"{result.best_alternative}, {shown_setting(result.best.best_params)}")
    )
    rows = [
        ("status", str(result.status)),
        ("best value", f"{result.best_score:.6g}{fraction}, {words}"),
        (score.bound_name, f"{result.score_bound:.6g}, gap {gap}"),
        best,
        *_baselines(result, score),
        *others,
        (
            "functions",
            f"{result.n_computed} of {result.n_functions} computed, {result.elapsed:.1f} s",
        ),
    ]
    return _aligned(rows)


def summary_of_space(result: SpaceTuningResult) -> str:
    """Return the summary of a result for several parameters."""
    effort = (
        f"{len(result.instance_names)} instances, {result.n_nodes} boxes, {result.n_lines} lines, "
        f"{result.elapsed:.1f} s"
    )
    rows = [
        *_optimum(result),
        ("best parameters", shown_setting(result.best_params)),
        *_baselines(result, result.family.score),
        ("search", effort),
    ]
    return _aligned(rows)


def _aligned(rows: Sequence[Row]) -> str:
    return "\n".join(f"{label:<17} {text}" for label, text in rows if text)


def _optimum(result: TuningResult) -> list[Row]:
    gap = f"{result.gap:.6g}" if result.gap else "0 (exact)"
    score = result.family.score
    fraction = _fraction(score.of(result.best_value_exact))
    return [
        ("status", str(result.status)),
        ("best value", f"{result.best_score:.6g}{fraction}, {result.criterion.words(str(score))}"),
        (score.bound_name, f"{result.score_bound:.6g}, gap {gap}"),
    ]


def _baselines(result: TuningResult | ChoiceResult, score: Score) -> list[Row]:
    scores = {name: score.of(value) for name, value in result.baselines.items()}
    reached = ", ".join(f"{name} {value:.6g}" for name, value in scores.items())
    return [("baselines", reached), ("", _better_baseline(result))]


def _robust(result: LineTuningResult) -> str:
    shown = shown_setting(result.robust_params)
    if result.robust_params == result.best_params:
        return shown
    worth = result.family.score.of(result.robust_value)
    return f"{shown}: {worth:.6g}, the middle of the widest near-optimal interval"


def _better_baseline(result: TuningResult | ChoiceResult) -> str:
    better = [name for name, value in result.baselines.items() if value > result.best_value]
    equal = [name for name, value in result.baselines.items() if value == result.best_value]
    if better:
        return (
            f"note: a default is better: {', '.join(better)}; it lies outside the range or family"
        )
    return f"note: a default is as good: {', '.join(equal)}" if equal else ""


def _near_plateaus(result: LineTuningResult) -> str:
    near, best = result.near_best_region, result.best_region
    if near == best:
        return ""
    return (
        f"note: {len(near)} intervals are best up to rounding (2**-40): if utilities are floats, "
        "return fractions.Fraction(right, n) to tell them apart"
    )


def _undecided(result: LineTuningResult) -> str:
    """Undecided intervals, which cannot hold a better value when the gap is 0."""
    count = len(result.landscape.undecided)
    return f"{count} interval{'s' if count > 1 else ''}" if count else "nothing"


def _fraction(value: Fraction) -> str:
    return f" = {value}" if 1 < value.denominator <= LONGEST_DENOMINATOR else ""


def _intervals(result: LineTuningResult) -> str:
    region = sorted(result.best_region, key=lambda ends: ends[0] - ends[1])
    shown = [f"[{low:.8g}, {high:.8g}]" for low, high in region[:INTERVALS_SHOWN]]
    more = len(region) - len(shown)
    return f"{result.landscape.name} in " + ", ".join(shown) + (f" and {more} more" * (more > 0))
