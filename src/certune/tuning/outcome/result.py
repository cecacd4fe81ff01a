"""What tuning gives back: the best setting, how good it is, and how far from any better one."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from os import PathLike
from typing import Any

from certune.aggregates import Criterion
from certune.dual.scales import middle
from certune.errors import ParameterError
from certune.families.base import Family
from certune.stages import stage
from certune.tuning.outcome.evaluation import Evaluation
from certune.tuning.outcome.generalization import Generalization
from certune.tuning.outcome.held_out import HeldOutEvaluation
from certune.tuning.proof.box_certificate import BoxCertificate
from certune.tuning.proof.certificate import Certificate
from certune.tuning.status import Status

# The robust setting may lose this share of the utility range.
ROBUST_SHARE = 0.01


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class TuningResult(Generalization):
    """Result of :func:`certune.tune`: what holds for one free parameter and for several.

    Values are means over all instances, or what else was maximised over them, `criterion`.
    `segment`, `landscape` and `duals` are a line of settings
    and the exact functions along it: with one free parameter, all settings; with several, those of
    a line through the best setting.

    Attributes
    ----------
    family : Family
        The algorithm that was tuned.
    status : Status
        How tuning ended.
    upper_bound_exact : Fraction
        No setting has a larger mean utility over all instances.
    evaluation : Evaluation
        Plain runs of the best setting and of the defaults, instance by instance.
    instances : list
        All instances.
    elapsed : float
        Seconds that tuning took.
    """

    family: Family
    status: Status
    upper_bound_exact: Fraction
    evaluation: Evaluation
    instances: list[Any]
    elapsed: float

    @property
    def best_params(self) -> dict[str, Any]:
        """A best setting.

        The centre of the widest interval of `best_region` where the landscape is piecewise
        constant, and otherwise the point with the largest proved value.
        """
        return dict(self.evaluation.params)

    @property
    def criterion(self) -> Criterion:
        """What was maximised: an aggregate of the utilities, the mean by default, and weights."""
        return self.evaluation.criterion

    @property
    def best_value_exact(self) -> Fraction:
        """Mean utility of `best_params` over all instances, or what else was maximised."""
        return self.evaluation.value_exact

    @property
    def best_value(self) -> float:
        """`best_value_exact`, correctly rounded."""
        return self.evaluation.value

    @property
    @abstractmethod
    def best_region(self) -> list[Any]:
        """Where the mean utility is, or can be, at its maximum: intervals of t, or boxes."""

    @property
    def upper_bound(self) -> float:
        """`upper_bound_exact`, correctly rounded."""
        return float(self.upper_bound_exact)

    @property
    def gap(self) -> float:
        """Difference of upper bound and best value, rounded once; 0 proves the optimum.

        Where utilities are only known up to an error, a run can exceed the bound by that error;
        such a difference counts as 0.
        """
        return max(0.0, float(self.upper_bound_exact - self.best_value_exact))

    @property
    def best_score(self) -> float:
        """Mean score of `best_params`, in the direction in which people read it.

        For utilities without another meaning this is `best_value`; a log-loss is the loss itself,
        of which less is better.
        """
        return float(self.family.score.of(self.best_value_exact))

    @property
    def score_bound(self) -> float:
        """No setting has a better mean score: `upper_bound`, seen as a score."""
        return float(self.family.score.of(self.upper_bound_exact))

    @property
    def baselines(self) -> dict[str, float]:
        """Mean utility of every default setting of the family over all instances, by name."""
        return self.evaluation.baselines

    @property
    def instance_names(self) -> list[str]:
        """Names of all instances."""
        return list(self.evaluation.instance_names)

    @property
    def robust_params(self) -> dict[str, Any]:
        """The setting of ``robust()``, which may lose a hundredth of the utility range.

        Its mean utility over the finished instances is `robust_value`. It may lie far from
        `best_params`: a high peak is often narrow, and the widest interval on which hardly anything
        is lost can be anywhere on the line.
        """
        return self.robust()

    @property
    def robust_value(self) -> float:
        """Mean utility of `robust_params` over the instances that have a function, at least."""
        return float(self.landscape.enclose_exact(self._robust_point(None))[0])

    def robust(self, epsilon: Any = None) -> dict[str, Any]:
        """Return a setting that stays good when the parameter or the data change a little.

        Parameters
        ----------
        epsilon : float, int or Fraction, optional
            How much worse than the best the mean utility may be; by default a hundredth of the
            utility range.

        Returns
        -------
        dict
            The centre of the widest interval on which the landscape stays within `epsilon` of
            its maximum; for a parameter with a logarithmic scale, widest in its logarithm. It may
            lie far from the best setting, whose own peak may be narrow.
        """
        return self.segment.at(self._robust_point(epsilon))

    def _robust_point(self, epsilon: Any) -> float:
        if epsilon is None:
            lowest, highest = self.family.utility_range
            epsilon = ROBUST_SHARE * (highest - lowest)
        low, high = self.landscape.widest_plateau(epsilon, self._scale)
        return middle(low, high, self._scale)

    @property
    def best_estimator(self) -> Any:
        """A scikit-learn estimator with the best setting, not fitted.

        It has the metric and the number of clusters of the instances, which must agree on them.
        """
        from certune.estimators import estimator_for

        return estimator_for(self.family, self.best_params, self.instances)

    @cached_property
    def certificate(self) -> Certificate | BoxCertificate:
        """What :func:`certune.verify` needs to check the claims of this result."""
        return self._made_certificate()

    @abstractmethod
    def _made_certificate(self) -> Certificate | BoxCertificate: ...

    def plot_landscape(self, path: str | PathLike[str] | None = None, ax: Any = None) -> Any:
        """Draw the exact landscape with the optimal set, the defaults and all instances.

        With several parameters, along the line through the best setting, `segment`.

        Parameters
        ----------
        path : path, optional
            Also write the figure to this file; the suffix decides on the format.
        ax : matplotlib Axes, optional
            Draw into these axes, the landscape only.

        Returns
        -------
        matplotlib.figure.Figure
            The figure.
        """
        from certune.report import draw_landscape, landscape_figure

        score = self.family.score
        what = self.criterion.words(score.name)
        title = f"{self.status.name}: best {what} {self.best_score:.6g}"
        if ax is None:
            names = self.instance_names[: len(self.duals)]
            return landscape_figure(
                self.landscape,
                self.duals,
                self.landscape.argmax(),
                self.baselines,
                name=self.landscape.name,
                log_scale=self._is_logarithmic,
                title=title,
                instance_names=names,
                path=path,
                score=score,
                robust=self._robust_point(None),
                criterion=self.criterion,
            )
        if path is not None:
            raise ParameterError("Pass either path or ax: whoever made the axes saves the figure.")
        draw_landscape(
            ax,
            self.landscape,
            self.landscape.argmax(),
            self.baselines,
            log_scale=self._is_logarithmic,
            score=score,
            robust=self._robust_point(None),
            criterion=self.criterion,
        )
        ax.set(xlabel=self.landscape.name, title=title)
        return ax.figure

    @stage("writing the report")
    def report(
        self, path: str | PathLike[str], held_out: Any = None, *, title: str = "", cells: Any = None
    ) -> None:
        """Write a report: one page that works offline, with the verdict in words first.

        Parameters
        ----------
        path : path
            The HTML file; an existing one is replaced.
        held_out : HeldOutEvaluation or iterable of instances, optional
            What `evaluate` returned, or instances that took no part in tuning.
        title : str, optional
            Headline.
        cells : CellMap, optional
            What :func:`certune.cell_map` returned for two parameters, to be drawn as well; by
            default a map that takes a few seconds.
        """
        from certune.report import findings_of, write_report
        from certune.tuning.space.cell_map import map_for_report

        if held_out is not None and not isinstance(held_out, HeldOutEvaluation):
            held_out = self.evaluate(held_out)
        cells = cells or map_for_report(self.family, self.instances, self.criterion)
        write_report(path, findings_of(self, held_out, title=title, cells=cells))

    @property
    def _is_logarithmic(self) -> bool:
        """Whether the coordinate of the segment is a parameter with a logarithmic scale."""
        return self._scale == "log"

    def to_frame(self) -> Any:
        """Return a table of the instances; needs pandas, ``pip install 'certune[frame]'``.

        Returns
        -------
        pandas.DataFrame
            One row for each instance: the score of the best setting (``tuned``) and of every
            default. With one free parameter also the best that any setting reaches on this instance
            alone (``attainable``), and the number of pieces; both are missing for unfinished
            instances.
        """
        frame = self.evaluation.to_frame()
        for name, column in self._columns().items():
            frame[name] = column
        return frame

    def _columns(self) -> dict[str, list[Any]]:
        """What a table of the instances has beside the evaluation."""
        return {}

    def _repr_html_(self) -> str:
        from certune.cards import card, rows_of

        return card(f"{type(self.family).__name__}: {self.status.name}", rows_of(str(self)))

    def __repr__(self) -> str:
        score, reached = self.family.score, f"best_value={self.best_value!r}"
        if not score.is_utility:
            reached = f"best {score.name} {self.best_score!r}"
        return (
            f"TuningResult({self.status.name}, {reached}, "
            f"best_params={self.best_params!r}, gap={self.gap!r})"
        )
