"""Families and instances on the command line: options that make them, arrays that files have."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from certune.errors import ParameterError
from certune.suggestions import suggested

if TYPE_CHECKING:
    from certune.families.base import Family

# Those of certune.families.logistic and regression, which take long to import.
METRICS = ("log-loss", "accuracy", "balanced-accuracy", "roc-auc", "brier", "r2", "squared-error")


@dataclass(frozen=True)
class FamilyCommand:
    """How the command line makes a family and reads its instances.

    Attributes
    ----------
    options : tuple of str
        Names of the options that belong to it.
    defaults : callable
        Returns the options that count where nothing else is said, in view of those that were given.
    build : callable
        Makes the family from all of them.
    task : str
        What its instances are for; see `certune.data.array_files`.
    """

    options: tuple[str, ...]
    defaults: Callable[[Mapping[str, Any]], dict[str, Any]]
    build: Callable[[dict[str, Any]], Family]
    task: str

    def settled(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return all options: those that were given, and the defaults of the others."""
        return {**self.defaults(given), **given}

    def make(self, given: Mapping[str, Any]) -> Family:
        """Make the family from the options that were given."""
        return self.build(self.settled(given))

    def read_instance(self, path: Path) -> Any:
        """Return the instance of a file of arrays (``.npz``, without pickled objects)."""
        from certune.data.array_files import read_instance

        return read_instance(path, self.task)


# Trees that are cut at a height: how they are grown, as scipy and scikit-learn name it.
METHODS: Mapping[str, tuple[str, float]] = {
    "ward": ("energy", 2.0),
    "average": ("power-mean", 1.0),
    "complete": ("power-mean", math.inf),
    "single": ("power-mean", -math.inf),
}
BY_HEIGHT = ("cut_height", "relative", "method")
BY_NUMBER = ("kind", "alpha", "objective", "other_alpha", "weights")
# Options that say the same in two ways: where one of a group is given, those of the other are not.
EITHER_OR: Sequence[tuple[Sequence[str], Sequence[str]]] = (
    (("C",), ("lam",)),
    (BY_HEIGHT, BY_NUMBER),
)


def tunes_height(options: Mapping[str, Any]) -> bool:
    """Whether these options of linkage tune the height of a cut, for any number of clusters."""
    return "cut_height" in options or bool(options.get("relative"))


def _linkage_defaults(given: Mapping[str, Any]) -> dict[str, Any]:
    """Energies with a plain cut, which have Ward's method in them."""
    if tunes_height(given):
        whole = {"cut_height": [0.0, 1.0]} if given.get("relative") else {}
        return {"method": "ward", **whole}
    kind = given.get("kind", "energy")
    if kind == "energy":
        return {"kind": kind, "alpha": [0.1, 4.0], "objective": "cut"}
    return {"kind": kind, "alpha": [-10.0, 10.0], "objective": "k-median"}


def _linkage(options: dict[str, Any]) -> Family:
    from certune.families.linkage import Linkage

    if tunes_height(options):
        return _linkage_by_height(options)
    if "method" in options:
        raise ParameterError(
            "--method is for trees that are cut at a tuned height: add --cut-height LOW HIGH or "
            "--relative, or name the linkages with --kind"
        )
    kind, objective = options["kind"], options["objective"]
    alpha = tuple(options["alpha"])
    others, weights = options.get("other_alpha", ()), options.get("weights")
    if kind == "product":
        if weights:
            raise ParameterError("--weights is for --kind power-mean, min-max and energy")
        return Linkage(kind, alpha=[alpha, *others], objective=objective)
    if others:
        raise ParameterError("--other-alpha is for --kind product, which has several exponents")
    n_metrics = options.get("n_metrics")
    return Linkage(kind, alpha, weights=weights, n_metrics=n_metrics, objective=objective)


def _linkage_by_height(options: dict[str, Any]) -> Family:
    from certune.families.linkage import ThresholdLinkage

    for key in BY_NUMBER:
        if key in options:
            raise ParameterError(
                "where the height of the cut is tuned, the tree is that of one --method "
                f"({', '.join(METHODS)}): leave out {option_of(key)}"
            )
    method = options["method"]
    if method not in METHODS:
        raise ParameterError(f"there is no method {method!r}{suggested(method, METHODS)}")
    return ThresholdLinkage(
        *METHODS[method], options["cut_height"], relative=options.get("relative", False)
    )


def _labeling_defaults(given: Mapping[str, Any]) -> dict[str, Any]:
    return {"sigma": [0.1, 10.0]}


def _labeling(options: dict[str, Any]) -> Family:
    from certune.families.graph_ssl import HarmonicLabeling

    return HarmonicLabeling(**options)


def _logistic_defaults(given: Mapping[str, Any]) -> dict[str, Any]:
    strength = {} if "C" in given else {"lam": [0.0001, 10.0]}
    return {"penalty": "l2", **strength, "metric": "log-loss"}


def _logistic(options: dict[str, Any]) -> Family:
    from certune.families.logistic import RegularizedLogistic

    return RegularizedLogistic(**options)


def _regression_defaults(given: Mapping[str, Any]) -> dict[str, Any]:
    return {"penalty": "l2", "alpha": [0.001, 1000.0], "metric": "r2"}


def _regression(options: dict[str, Any]) -> Family:
    from certune.families.regression import RegularizedRegression

    return RegularizedRegression(**options)


FAMILIES: Mapping[str, FamilyCommand] = {
    "linkage": FamilyCommand(
        (*BY_NUMBER, *BY_HEIGHT),
        _linkage_defaults,
        _linkage,
        "clustering",
    ),
    "labeling": FamilyCommand(
        ("sigma", "n_neighbors"),
        _labeling_defaults,
        _labeling,
        "labeling",
    ),
    "logistic": FamilyCommand(
        ("penalty", "lam", "C", "metric", "standardize"),
        _logistic_defaults,
        _logistic,
        "classification",
    ),
    "regression": FamilyCommand(
        ("penalty", "alpha", "l1_ratio", "metric", "max_error", "positive"),
        _regression_defaults,
        _regression,
        "regression",
    ),
}


def _number_or_range(context: Any, parameter: Any, value: str | None) -> float | list[float] | None:
    """Return a number, or the two ends of a range that is written LOW:HIGH."""
    if value is None:
        return None
    try:
        ends = [float(part) for part in value.split(":")]
    except ValueError:
        ends = []
    if len(ends) not in (1, 2):
        raise click.BadParameter(f"expected a number or a range such as 0.1:1, got {value!r}")
    return ends[0] if len(ends) == 1 else ends


_FAMILY_OPTION = click.option(
    "--family", "family_name", type=click.Choice(list(FAMILIES)), default="linkage",
    show_default=True, help="Which algorithms.",
)  # fmt: skip
_OPTIONS = [
    click.option("--kind", type=click.Choice(["power-mean", "min-max", "product", "energy"]),
                 help="Which linkages; energy by default, which has Ward's method in it."),
    click.option("--alpha", type=float, nargs=2, metavar="LOW HIGH",
                 help="Range of the exponent of linkage (0.1 to 4 by default for energy, -10 to 10 "
                 "else) or of the weight of the penalty of regression (0.001 to 1000)."),
    click.option("--objective", type=click.Choice(["k-median", "k-means", "k-center", "cut"]),
                 help="How trees become clusters: plain cut (default for energy) or best pruning "
                 "(k-median is the default else)."),
    click.option("--other-alpha", type=float, multiple=True,
                 help="Fixed exponent of a further metric of product linkage; once for each."),
    click.option("--weights", type=click.Choice(["tune"]),
                 help="Tune the weights of several distances of linkage as well."),
    click.option("--cut-height", type=float, nargs=2, metavar="LOW HIGH",
                 help="Where the number of clusters is not known: range of the height at which "
                 "trees of linkage are cut, like distance_threshold in scikit-learn."),
    click.option("--relative", is_flag=True, default=None,
                 help="The height is a share of that of the last merge; 0 to 1 by default."),
    click.option("--method", type=click.Choice(list(METHODS)),
                 help="Which tree is cut at that height; ward by default."),
    click.option("--sigma", type=float, nargs=2, metavar="LOW HIGH",
                 help="Range of the bandwidth of labeling; 0.1 to 10 by default."),
    click.option("--neighbors", "n_neighbors", type=int,
                 help="Join each point of labeling to so many nearest ones only."),
    click.option("--penalty", type=click.Choice(["l1", "l2", "elastic-net"]),
                 help="Penalty of logistic or linear regression; l2 by default."),
    click.option("--l1-ratio", callback=_number_or_range, metavar="NUMBER|LOW:HIGH",
                 help="Share of the l1 penalty in the elastic net, 0.5 by default; LOW:HIGH, such "
                 "as 0.1:1, to tune it as well."),
    click.option("--positive", is_flag=True, default=None,
                 help="Coefficients of the lasso or of the elastic net must not be negative."),
    click.option("--max-error", type=float,
                 help="A squared error that is as bad as any; by default twice the variance of the "
                 "targets."),
    click.option("--lam", type=float, nargs=2, metavar="LOW HIGH",
                 help="Range of the weight of the penalty of logistic regression; 0.0001 to 10 by "
                 "default."),
    click.option("--C", "C", type=float, nargs=2, metavar="LOW HIGH",
                 help="Range of scikit-learn's C, instead of --lam."),
    click.option("--metric", type=click.Choice(METRICS),
                 help="Score of logistic regression, log-loss by default, or of linear "
                 "regression, r2."),
    click.option("--standardize", is_flag=True, default=None,
                 help="Shift and scale the columns, for linkage, labeling and logistic "
                 "regression."),
]  # fmt: skip


def option_of(key: str) -> str:
    """Return the option that gives a setting of a family."""
    return "--neighbors" if key == "n_neighbors" else f"--{key.replace('_', '-')}"


def family_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that choose a family to a command."""
    return _FAMILY_OPTION(settings_of_families(command))


def settings_of_families(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that a family can have to a command."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def given_settings(options: dict[str, Any]) -> dict[str, Any]:
    """Take the settings of families out of all options and return those that were given."""
    known = dict.fromkeys(option for other in FAMILIES.values() for option in other.options)
    given = {key: options.pop(key, None) for key in known}
    return {key: value for key, value in given.items() if value not in (None, ())}


def chosen_family(name: str, options: dict[str, Any]) -> Family:
    """Take the options of a family out of all options and return it.

    Raises
    ------
    click.UsageError
        If an option of another family was given.
    """
    command = FAMILIES[name]
    given = given_settings(options)
    for key in given:
        if key not in command.options:
            raise click.UsageError(f"{option_of(key)} does not belong to --family {name}")
    return command.make(given)
