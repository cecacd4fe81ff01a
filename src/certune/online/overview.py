"""What there is to say about an online run, from a tuner or from its file alone."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from certune.errors import CertuneError, InputError
from certune.online.dispersion import Dispersion, default_widths, measured
from certune.online.learner import Learner
from certune.online.ledger import Ledger, shown_positions
from certune.online.lines import Line
from certune.online.options import Options
from certune.online.randomness import RoundRandomness
from certune.online.rounds import restored
from certune.online.state import ABOUT, FORMAT
from certune.report.collecting import created_now, environment, plain_params
from certune.report.curves import Curve, curve_of
from certune.report.findings import Axis
from certune.report.online_findings import (
    DensityFinding,
    DispersionFinding,
    OnlineFindings,
    RegretPoint,
    RoundFinding,
)
from certune.runs.journal import Journal
from certune.scores import Score
from certune.space import Segment

FloatArray = npt.NDArray[np.float64]

# The probability that the most likely part of the range is asked to hold.
MOST_LIKELY = 0.9
SHOWN_DIGITS = 4


@dataclass(frozen=True)
class Overview:
    """An online run as it stands.

    Attributes
    ----------
    family, fingerprint : str
        The family in words, and the hash of its content.
    score : Score
        What utilities mean.
    utility_range : tuple of float
        Smallest and largest utility.
    lines : tuple of Line
        Where it plays.
    options : Options
        How it learns.
    seed : int
        Seed of its random numbers.
    learner, ledger : Learner and Ledger
        What it has learned, and its books.
    """

    family: str
    fingerprint: str
    score: Score
    utility_range: tuple[float, float]
    lines: tuple[Line, ...]
    options: Options
    seed: int
    learner: Learner
    ledger: Ledger

    @classmethod
    def of_state(cls, path: str | os.PathLike[str]) -> Self:
        """Read a run from its file, without the family; the run may go on meanwhile.

        Raises
        ------
        InputError
            If the file is no state with a finished round, or is damaged.
        """
        header, *records = Journal.stored(path) or [None]
        if not isinstance(header, dict) or header.get("format") != FORMAT:
            raise InputError(f"{path} is not the state of an online run ({FORMAT})")
        if header.get(ABOUT) is None:
            raise InputError(
                f"{path} was made before states said what their run is about: run the command "
                "certune online that made it once more, with --report"
            )
        try:
            made = cls._begun(header)
        except (CertuneError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise InputError(f"{path} has a damaged header: {error}") from None
        if not records:
            raise InputError(f"{path} has no finished round yet: there is nothing to report")
        for record in records:
            try:
                made._repeat(record)
            except InputError as error:
                raise InputError(f"{path} {error}; restore it from a backup") from None
        return made

    @classmethod
    def _begun(cls, header: dict[str, Any]) -> Self:
        about = header[ABOUT]
        low, high = map(float, about["utility_range"])
        lines = tuple(
            Line(Segment.line(*segment), bool(logarithmic))
            for segment, logarithmic in zip(header["lines"], about["logarithmic"], strict=True)
        )
        options = Options(**header["options"])
        return cls(
            str(about["family"]),
            str(header["family"]),
            Score(*about["score"]),
            (low, high),
            lines,
            options,
            int(header["seed"]),
            options.make(lines, (low, high)),
            Ledger(lines, high - low),
        )

    def _repeat(self, record: Any) -> None:
        number = self.ledger.n_rounds + 1
        asked = 0
        if self.learner.asks:
            rng = RoundRandomness(self.seed).generator(number, RoundRandomness.QUESTIONS)
            asked = self.learner.questions(rng).size
        finished = restored(record, number, self.lines, self.learner.takes_smooth, asked)
        self.ledger.enter(finished, self.learner.learn(finished.observed(self.lines)))
        self.ledger.mark(self.learner)

    def findings(self, title: str = "", command: str = "") -> OnlineFindings:
        """Return what a report says.

        Parameters
        ----------
        title : str, optional
            Headline.
        command : str, optional
            Command line that repeats the run.
        """
        n_rounds = self.ledger.n_rounds
        now = self.ledger.regret(self.learner)
        totals = self.ledger.totals()
        chosen = max(range(len(totals)), key=lambda i: totals[i].max_exact)
        line, total = self.lines[chosen], totals[chosen]
        segment = line.segment
        low, high = self.utility_range
        return OnlineFindings(
            title=title or f"Online tuning, {n_rounds} round{'s' * (n_rounds != 1)}",
            family=self.family,
            family_fingerprint=self.fingerprint,
            learner=self.options.learner,
            options={
                name: value
                for name, value in self.options.to_dict().items()
                if value is not None and name != "learner"
            },
            seed=str(self.seed),
            score=self.score.name,
            greater_is_better=self.score.greater_is_better,
            span=high - low,
            n_rounds=n_rounds,
            earned=self._mean(float(now.earned_bounds[0])),
            best_fixed=self._mean(float(now.best_bounds[1])),
            regret=now.value,
            regret_error=now.uncertainty,
            curve=tuple(
                RegretPoint(point.n_rounds, point.value, point.expected, point.bound)
                for point in self.ledger.curve(self.learner)
            ),
            axis=Axis(segment.name, float(segment.low), float(segment.high), line.logarithmic),
            line=chosen,
            n_lines=len(self.lines),
            fixed_params=plain_params(
                {
                    name: value
                    for name, value in segment.at(segment.low).items()
                    if name != segment.name
                }
            ),
            landscape=self._landscape(total, line),
            region=tuple((float(a), float(b)) for a, b in total.argmax()),
            rounds=tuple(
                RoundFinding(
                    item.name,
                    item.fingerprint,
                    item.line,
                    float(self.lines[item.line].coordinate(item.position)),
                    float(self.score.of(item.utility)),
                    float(self.score.of(item.best)),
                )
                for item in self.ledger.played
            ),
            density=self._density(chosen),
            concentration=self._concentration(),
            next_params=plain_params(self._next()),
            dispersion=_dispersion_finding(
                measured(
                    self.ledger.discontinuities(),
                    default_widths(max(item.length for item in self.lines)),
                )
            ),
            environment=environment(),
            command=command,
            created=created_now(),
        )

    def _mean(self, total: float) -> float:
        return float(self.score.of(total / self.ledger.n_rounds))

    def _next(self) -> dict[str, Any]:
        rng = RoundRandomness(self.seed).generator(self.ledger.n_rounds + 1, RoundRandomness.DRAW)
        number, position = self.learner.draw(rng)
        line = self.lines[number]
        return line.segment.at(line.coordinate(position))

    def _landscape(self, total: Any, line: Line) -> Curve:
        curve = curve_of(total, logarithmic=line.logarithmic, n_places=400)
        values = tuple(None if value is None else self._mean(value) for value in curve.values)
        return Curve(curve.places, values, curve.steps)

    def _density(self, chosen: int) -> DensityFinding:
        line = self.lines[chosen]
        rounds, densities = self.ledger.densities(self.learner, chosen)
        relative = densities * sum(item.length for item in self.lines)
        return DensityFinding(
            tuple(rounds),
            tuple(float(line.coordinate(x)) for x in shown_positions(line).tolist()),
            tuple(
                tuple(float(f"{value:.{SHOWN_DIGITS}g}") for value in row)
                for row in relative.tolist()
            ),
        )

    def _concentration(self) -> float:
        """Return the share of all positions that holds most of the next draw's probability."""
        parts, lengths = [], []
        for number, line in enumerate(self.lines):
            positions = shown_positions(line)
            parts.append(self.learner.density(number, positions))
            lengths.append(np.full(positions.size, line.length / positions.size))
        density, length = np.concatenate(parts), np.concatenate(lengths)
        order = np.argsort(-density, kind="stable")
        mass = np.cumsum((density * length)[order])
        needed = int(np.searchsorted(mass, MOST_LIKELY * mass[-1])) + 1
        return float(min(1.0, length[order][:needed].sum() / length.sum()))


def _dispersion_finding(found: Dispersion) -> DispersionFinding:
    return DispersionFinding(
        tuple(map(int, found.sizes)),
        tuple(map(float, found.widths)),
        tuple(tuple(map(int, row)) for row in found.at_most),
        None if math.isnan(found.exponent) else found.exponent,
        found.verdict.name,
        found.verdict.value,
        found.reason,
    )
