"""Choose a parameter before each instance, learn from it afterwards: `OnlineTuner`.

The setting of ``sec:online-learning``: instances arrive one after the other, the parameter is
chosen before the instance is seen, and its utility for every parameter is known afterwards.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from certune.cards import Carded
from certune.dual import DualFunction, PiecewiseFunction
from certune.errors import InputError, ParameterError
from certune.families.base import Family
from certune.online.interpolation import checked_answers, middles
from certune.online.ledger import Ledger, shown_positions
from certune.online.lines import lines_of
from certune.online.options import Options
from certune.online.overview import Overview
from certune.online.randomness import RoundRandomness
from certune.online.regret import Regret
from certune.online.rounds import Round, restored
from certune.online.state import State, header
from certune.online.steps import coarsened
from certune.report.online import density_figure, regret_figure
from certune.space import Segment
from certune.space.values import shown_setting

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from certune.report.online_findings import OnlineFindings

FloatArray = npt.NDArray[np.float64]
Surrogate = Callable[[Any, FloatArray], npt.ArrayLike]


class OnlineTuner(Carded):
    """Tune a family while its instances arrive one after the other.

    Parameters
    ----------
    family : Family
        The algorithm.
    horizon : int, optional
        Number of rounds, if known.
    random_state : int, numpy Generator or None
        Source of randomness. Each round draws from a stream of its own, so that a continued run
        equals an uninterrupted one.
    learner : {"exponential-weights", "semi-bandit", "fixed-share", "random-grid"}
        How to learn. "exponential-weights" uses the whole utility function of each instance;
        "semi-bandit" only the piece that contains the parameter played; "fixed-share" follows a
        best parameter that moves; "random-grid" evaluates utilities at random points, for smooth
        ones such as the log-loss of `certune.RegularizedLogistic` (``thm:logistic-dispersion``).
    schedule : {None, "horizon", "doubling", "anytime", "adaptive"}
        Step sizes; by default "horizon" if there is one and "adaptive" otherwise.
    shifts : int, optional
        Expected number of moves of the best parameter, for "fixed-share".
    along : Segment or list of Segment, optional
        Where to play: different segments within the family's space. Needed for several free
        parameters, see `certune.online.cover`.
    surrogate : callable, optional
        For "random-grid": ``surrogate(instance, values)`` returns the utilities at values of the
        parameter; by default those of the family's own function. The regret counts true utilities
        either way, and its bound includes the distance between the two.
    resolution : float, optional
        Gaps are widened to multiples of this length of the segment's coordinate, which bounds the
        memory of an endless stream by the number of multiples. All statements stay true; regret
        becomes an interval, at most D(T, resolution) utilities wide. By default nothing is widened
        and regret is exact. For piecewise constant utilities.
    state : path, optional
        File that keeps the state. Each finished round is appended to it; if the file exists, the
        run continues where it ended. It must have been made with the same family, surrogate,
        options and seed (None takes that of the file); functions are the same if everything that
        they can reach is. A file without a finished round is replaced.

    Notes
    -----
    A round costs O(k log n) for k pieces of a new function and n pieces in all, besides the exact
    function itself. In a gap of a function, where the value is only bounded, the density takes the
    middle of the bounds; a parameter that was played inside a gap is run to know what it earned.
    Utilities that are smooth between breakpoints are known up to their stated errors, and the
    regret up to their sum.

    Examples
    --------
    >>> from certune.testing import StepFamily, StepInstance
    >>> tuner = OnlineTuner(StepFamily(), horizon=100, random_state=0)
    >>> for _ in range(100):
    ...     params = tuner.propose()
    ...     finished = tuner.update(StepInstance((0.75,), (0, 1)))
    >>> tuner.regret().best_bounds[0], tuner.regret().average < 0.1
    (Fraction(100, 1), True)
    """

    def __init__(
        self,
        family: Family,
        horizon: int | None = None,
        random_state: int | np.random.Generator | None = None,
        *,
        learner: str = "exponential-weights",
        schedule: str | None = None,
        shifts: int | None = None,
        along: Segment | Sequence[Segment] | None = None,
        surrogate: Surrogate | None = None,
        resolution: float | None = None,
        state: str | os.PathLike[str] | None = None,
    ) -> None:
        if not isinstance(family, Family):
            raise ParameterError(
                f"expected a Family such as certune.Linkage(), got {family!r}: pass a family first"
            )
        self.family = family
        self.options = Options(learner, horizon, schedule, shifts, resolution)
        self.lines = lines_of(family.space, along)
        if surrogate is not None and (learner != "random-grid" or not callable(surrogate)):
            raise ParameterError(
                "a surrogate is a function, for the learner 'random-grid'; got "
                f"surrogate={surrogate!r} and learner={learner!r}"
            )
        self._surrogate = surrogate
        self._randomness = RoundRandomness(random_state)
        self._state: State | None = None
        self._start()
        if state is not None:
            self._state = State(state, self._header(), keeps_seed=random_state is None)
            try:
                self._randomness = RoundRandomness(self._state.seed)
                self._replay(self._state)
            except BaseException:
                self._state.close()
                raise

    def _start(self) -> None:
        low, high = self.family.utility_range
        self.learner = self.options.make(self.lines, (low, high))
        self._ledger = Ledger(self.lines, high - low)
        self._proposal: tuple[int, float] | None = None
        self.instances: list[str] = []
        self._is_interrupted = False

    def _header(self) -> dict[str, Any]:
        return header(
            self.family,
            self.options.to_dict(),
            self.lines,
            self._surrogate,
            self._randomness.seed,
        )

    def _replay(self, state: State) -> None:
        for record in state.records():
            n_answers = self._questions().size if self.learner.asks else 0
            number, smooth = self._ledger.n_rounds + 1, self.learner.takes_smooth
            try:
                finished = restored(record, number, self.lines, smooth, n_answers)
            except InputError as error:
                raise state.error(str(error)) from None
            self._take_in(finished)

    def _settle(self) -> None:
        """Take back a round that was interrupted after the learner had begun to change."""
        if not self._is_interrupted:
            return
        if self._state is None:
            raise InputError(
                "an update was interrupted while it learned, and half of a round cannot be taken "
                "back; start a new run (one with state= goes on after the last finished round)"
            )
        self._state.undo()
        self._start()
        self._is_interrupted = True
        self._replay(self._state)
        self._is_interrupted = False

    @property
    def n_rounds(self) -> int:
        """Number of finished rounds. One that `update` did not return from is none."""
        self._settle()
        return self._ledger.n_rounds

    @property
    def n_pieces(self) -> int:
        """Number of pieces of the learner's density: what memory grows with."""
        return self.learner.n_pieces

    def propose(self) -> dict[str, Any]:
        """Return the parameters for the next instance.

        The answer stays the same until `update` is called. O(log n) for n pieces.
        """
        line, position = self._played()
        segment = self.lines[line].segment
        return segment.at(self.lines[line].coordinate(position))

    def _played(self) -> tuple[int, float]:
        self._settle()
        if self._proposal is None:
            rng = self._randomness.generator(self.n_rounds + 1, RoundRandomness.DRAW)
            self._proposal = self.learner.draw(rng)
        return self._proposal

    def update(
        self,
        instance: Any = None,
        dual: DualFunction | Sequence[DualFunction] | None = None,
    ) -> Round:
        """Finish a round: learn from the instance for which the parameters were proposed.

        Parameters
        ----------
        instance : object, optional
            An instance of the family.
        dual : DualFunction or sequence of them, optional
            Its utility along the line (along every line), if that has been computed already. Then
            the instance may be left out.

        Returns
        -------
        Round
            What was played and earned.
        """
        if instance is None and dual is None:
            raise InputError("update needs an instance, or its exact function as dual=")
        if instance is not None:
            self.family.check_instance(instance)
        duals = self._duals(instance, dual)
        line, position = self._played()
        points, values = self._answers(instance, duals[0])
        finished = Round(
            number=self.n_rounds + 1,
            params=self.propose(),
            line=line,
            position=position,
            utility_bounds=self._earned(instance, duals[line]),
            instance="" if instance is None else self.family.instance_fingerprint(instance),
            duals=tuple(self._widened(function) for function in duals),
            points=points,
            values=values,
            name=str(getattr(instance, "name", None) or ""),
        )
        self._is_interrupted = True
        try:
            if self._state is not None:
                self._append(self._state, finished)
            self._take_in(finished)
            if self._state is not None:
                self._state.finish()
            self._is_interrupted = False
        except BaseException:
            if self._is_interrupted and self._state is not None:
                self._state.undo()
            raise
        return finished

    def _append(self, state: State, finished: Round) -> None:
        try:
            state.append(finished.to_record())
        except InputError:
            self._is_interrupted = False
            raise

    def _take_in(self, finished: Round) -> None:
        expected = self.learner.learn(finished.observed(self.lines))
        self._ledger.enter(finished, expected)
        self._ledger.mark(self.learner)
        self.instances.append(finished.instance)
        self._proposal = None

    def _duals(self, instance: Any, dual: Any) -> list[DualFunction]:
        if dual is None:
            dual = [self.family.dual(instance, along=line.segment) for line in self.lines]
        duals = list(dual) if isinstance(dual, Sequence) else [dual]
        domains = [(line.segment.low, line.segment.high) for line in self.lines]
        if not all(isinstance(function, DualFunction) for function in duals) or domains != [
            (function.low, function.high) for function in duals
        ]:
            raise InputError(
                f"dual must be one function for each of the domains {domains!r}, got {dual!r}"
            )
        if not all(isinstance(function, PiecewiseFunction) for function in duals):
            self.options.check_smooth(self.learner.takes_smooth, self.family)
        return duals

    def _widened(self, dual: DualFunction) -> DualFunction:
        resolution = self.options.resolution
        if resolution is None or not isinstance(dual, PiecewiseFunction):
            return dual
        return coarsened(dual, resolution)

    def _earned(self, instance: Any, dual: DualFunction) -> tuple[Fraction, Fraction]:
        line, position = self._played()
        lower, upper = dual.enclose_exact(self.lines[line].coordinate(position))
        error = Fraction(self.family.tolerance)
        if upper - lower > 2 * error and instance is not None:
            value = self.family.run_exact(instance, self.propose())
            return max(lower, value - error), min(upper, value + error)
        return lower, upper

    def _answers(self, instance: Any, dual: DualFunction) -> tuple[FloatArray, FloatArray]:
        if not self.learner.asks:
            return np.empty(0), np.empty(0)
        points = self._questions()
        coordinates = np.array([self.lines[0].coordinate(x) for x in points.tolist()])
        if self._surrogate is None:
            return points, np.clip(middles(dual, coordinates), *self.family.utility_range)
        if instance is None:
            raise InputError("a surrogate needs the instance itself; pass it to update")
        values = checked_answers(self._surrogate(instance, coordinates), points.size)
        # Within the range of utilities, which can only bring them closer to the true ones.
        return points, np.clip(values, *self.family.utility_range)

    def _questions(self) -> FloatArray:
        number = self._ledger.n_rounds + 1
        return self.learner.questions(self._randomness.generator(number, RoundRandomness.QUESTIONS))

    def regret(self) -> Regret:
        """Return the exact regret against the best fixed parameter in hindsight, and its bound.

        Along several lines the best fixed parameter is that of the lines; what it can lose against
        the whole space is said by `certune.online.cover_error`.
        """
        self._need_a_round()
        return self._ledger.regret(self.learner)

    def regret_curve(self) -> list[Regret]:
        """Return the regret at rounds that grow by a fifth, and now."""
        self._need_a_round()
        return self._ledger.curve(self.learner)

    def landscapes(self) -> list[DualFunction]:
        """Return the exact total utility of every fixed parameter, along every line."""
        self._need_a_round()
        return self._ledger.totals()

    def plot_regret(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Draw the average regret through time with the curve of ``thm:dispersion-no-regret``.

        Parameters
        ----------
        path : path, optional
            Also write the figure to this file; the suffix decides on the format.
        """
        curve = self.regret_curve()
        expected = [regret.expected for regret in curve if regret.expected is not None]
        bounds = [regret.bound for regret in curve if regret.bound is not None]
        return regret_figure(
            [regret.n_rounds for regret in curve],
            [regret.value for regret in curve],
            expected if len(expected) == len(curve) else None,
            bounds if len(bounds) == len(curve) else None,
            title=f"Regret of {self.options.learner}, {self.n_rounds} rounds",
            path=path,
        )

    def plot_density(self, path: str | os.PathLike[str] | None = None, line: int = 0) -> Figure:
        """Draw how the density along a line has changed through time.

        Parameters
        ----------
        path : path, optional
            Also write the figure to this file; the suffix decides on the format.
        line : int, default=0
            Which line.
        """
        self._need_a_round()
        if line not in range(len(self.lines)):
            raise ParameterError(f"line must be 0 to {len(self.lines) - 1}, got {line!r}")
        drawn = self.lines[line]
        rounds, densities = self._ledger.densities(self.learner, line)
        positions = [drawn.coordinate(position) for position in shown_positions(drawn).tolist()]
        length = sum(item.length for item in self.lines)
        return density_figure(
            rounds,
            np.array(positions),
            densities * length,
            drawn.segment.name,
            logarithmic=drawn.logarithmic,
            best=self.landscapes()[line].widest_plateau(0),
            title=f"Density of {drawn.segment.name}, {self.n_rounds} rounds",
            path=path,
        )

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        title: str = "",
        command: str = "",
    ) -> None:
        """Write a report: one page that works offline, with the verdict in words first.

        Regret with its bound, what was played, how the density moved, and whether the functions
        are dispersed, which learning needs.

        Parameters
        ----------
        path : path
            The HTML file; an existing one is replaced.
        title : str, optional
            Headline.
        command : str, optional
            Command line that repeats the run.
        """
        from certune.report.online_page import write_online_report

        write_online_report(path, self.findings(title=title, command=command))

    def findings(self, *, title: str = "", command: str = "") -> OnlineFindings:
        """Return what a report says, as plain data.

        Parameters
        ----------
        title : str, optional
            Headline.
        command : str, optional
            Command line that repeats the run.
        """
        self._need_a_round()
        overview = Overview(
            repr(self.family),
            self.family.fingerprint,
            self.family.score,
            self.family.utility_range,
            self.lines,
            self.options,
            self._randomness.seed,
            self.learner,
            self._ledger,
        )
        return overview.findings(title, command)

    def _need_a_round(self) -> None:
        if self.n_rounds == 0:
            raise InputError("there is no finished round yet: call propose and update first")

    def __str__(self) -> str:
        if self.n_rounds == 0:
            return f"no round yet of {self.options.learner} for {self.family!r}"
        regret = str(self.regret()).removeprefix("regret ")
        return (
            f"rounds    {self.n_rounds} of {self.options.learner}\n"
            f"family    {self.family!r}\nregret    {regret}\n"
            f"next      {shown_setting(self.propose())}"
        )

    def close(self) -> None:
        """Let go of the state file. Each finished round is in it already."""
        if self._state is not None:
            self._state.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
