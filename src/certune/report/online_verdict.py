"""The verdict on an online run in words: what to play, what learning cost, what to expect."""

from __future__ import annotations

from certune.report.online_findings import OnlineFindings
from certune.report.verdict import Answer, KeyFigure, shown, shown_params

FEW_ROUNDS = 30


def online_verdict(findings: OnlineFindings) -> list[Answer]:
    """Return the answers, the most important first."""
    return [
        _next(findings),
        _regret(findings),
        _fixed(findings),
        _bound(findings),
        _learning(findings),
        _dispersion(findings),
    ]


def _next(findings: OnlineFindings) -> Answer:
    return Answer(
        "What should I use for the next instance?",
        f"{shown_params(findings.next_params)}: drawn at random, on purpose, from what "
        f"{findings.n_rounds} round{'s' * (findings.n_rounds != 1)} taught. It stays the same "
        "until the next instance is learned.",
        "good",
    )


def online_key_figures(findings: OnlineFindings) -> list[KeyFigure]:
    """Return the numbers of the verdict, the most important first."""
    return [
        KeyFigure(shown(findings.earned), f"mean {findings.score}, earned"),
        KeyFigure(shown(findings.best_fixed), "best fixed setting, in hindsight"),
        KeyFigure(shown(findings.average_regret, 3), "regret a round"),
        KeyFigure(
            f"{shown(100 * findings.concentration, 3)}%", "of the range gets 90% of the draws"
        ),
    ]


def _regret(findings: OnlineFindings) -> Answer:
    error = f", known up to {shown(findings.regret_error, 2)}" if findings.regret_error else ""
    return Answer(
        "What did learning cost?",
        f"{shown(findings.average_regret, 3)} a round: the mean {findings.score} is "
        f"{shown(findings.earned)}, and the best fixed setting, known only in hindsight, has "
        f"{shown(findings.best_fixed)}. The regret, {shown(findings.regret)} in all, is "
        f"{'exact' if not findings.regret_error else 'computed'}{error}.",
        "plain",
        "regret against the best fixed setting in hindsight, from exact functions",
    )


def _fixed(findings: OnlineFindings) -> Answer:
    axis = findings.axis
    widest = max(findings.region, key=lambda ends: axis.share(*ends))
    others = len(findings.region) - 1
    more = f", and {others} further interval{'s' * (others != 1)}" if others else ""
    where = f" with {shown_params(findings.fixed_params)}" if findings.fixed_params else ""
    return Answer(
        "Which fixed setting was best so far?",
        f"{axis.name} in [{shown(widest[0], 5)}, {shown(widest[1], 5)}]{more}{where}: mean "
        f"{findings.score} {shown(findings.best_fixed)} over the {findings.n_rounds} instances.",
        "plain",
        "" if findings.n_lines == 1 else f"best of {findings.n_lines} lines through the space",
    )


def _bound(findings: OnlineFindings) -> Answer:
    question, bound = "What does theory promise?", findings.curve[-1].bound
    if bound is None:
        return Answer(question, "This learner has no bound with constants.", "plain")
    most = findings.span * findings.n_rounds
    if bound >= most * (1 - 1e-12):
        return Answer(
            question,
            f"Nothing yet: {findings.n_rounds} rounds are too few for the bound to say more than "
            f"that a round costs at most {shown(findings.span)}.",
            "plain",
            "thm:dispersion-no-regret with the observed dispersion and all constants",
        )
    told = (
        f"An expected regret of at most {shown(bound)}, {shown(bound / findings.n_rounds, 3)} a "
        f"round; it was {shown(findings.regret)}."
    )
    return Answer(
        question,
        told,
        "good",
        "thm:dispersion-no-regret with the observed dispersion and all constants",
    )


def _learning(findings: OnlineFindings) -> Answer:
    share = 100 * findings.concentration
    settled = findings.concentration < 0.5
    told = (
        f"The next setting comes with 90% probability from {shown(share, 3)}% of the range; "
        "before the first round it was 90%."
    )
    if settled:
        return Answer("Has it learned?", f"Yes. {told}", "good")
    return Answer("Has it learned?", f"Little so far. {told}", "plain")


def _dispersion(findings: OnlineFindings) -> Answer:
    found = findings.dispersion
    tone = {"DISPERSED": "good", "CONCENTRATED": "warning"}.get(found.verdict, "plain")
    words = f"{found.words[:1].upper()}{found.words[1:]}"
    return Answer(
        "Can these functions be learned?",
        f"{words}.",
        tone,
        f"dispersion, D(T, w) functions change in the worst window of width w: {found.reason} "
        "(thm:dispersion-no-regret)",
    )
