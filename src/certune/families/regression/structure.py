"""How complex the error of a regularised regression can be as a function of alpha.

Counts hold for every instance with so many columns; proofs are in
``docs/theory/regression-path.md``. They give pseudo-dimensions of the order of the number of
columns, which is what Balcan, Nguyen and Sharma (2023, "New bounds for hyperparameter tuning of
regression problems across instances") prove for the elastic net, with matching lower bounds.
"""

from __future__ import annotations

from certune.pfaffian.structure import LineCount, PiecewiseStructure, whole_number

SOURCE = "docs/theory/regression-path.md"


def regression_structure(
    penalty: str,
    n_features: int,
    n_left_out: int | None = None,
    tunes_ratio: bool = False,
    positive: bool = False,
) -> PiecewiseStructure:
    """Return the structure of the squared error.

    Parameters
    ----------
    penalty : {"l2", "l1", "elastic-net"}
        The penalty.
    n_features : int
        Number p of columns.
    n_left_out : int, optional
        For leave-one-out with the l2 penalty, the number of points.
    tunes_ratio : bool, default=False
        Whether the ratio of the elastic net is a parameter too.
    positive : bool, default=False
        Whether coefficients must not be negative, so that they have one sign at most.
    """
    p = whole_number("n_features", n_features, 1)
    if penalty == "l2":
        # The error is N / D with a fixed D > 0 of degree 2 p, or 2 p n for leave-one-out.
        degree = 2 * p * (1 if n_left_out is None else whole_number("n_left_out", n_left_out, 2))
        return _structure(f"ridge regression, {p} columns", 1, 0, degree, LineCount(
            n_breakpoints=0, n_level_crossings=degree
        ))  # fmt: skip
    patterns = 2**p if positive else 3**p
    if penalty == "l1":
        # Each pattern of signs is optimal on one interval, and never together with its negative.
        n_pieces = patterns if positive else (patterns + 1) // 2
        line = LineCount(n_breakpoints=n_pieces - 1, n_level_crossings=2)
        return _structure(f"lasso, {p} columns", patterns, 2 * p * patterns, 2, line)
    # Conditions of a pattern are at most 2 p polynomials of degree p + 1.
    if tunes_ratio:
        # Polynomials in both penalties' weights, which the two parameters stand for.
        name = f"elastic net with its ratio, {p} columns"
        return _structure(name, patterns, 2 * p * patterns, 2 * p, None, n_parameters=2)
    line = LineCount(n_breakpoints=2 * p * (p + 1) * patterns, n_level_crossings=2 * p)
    return _structure(f"elastic net, {p} columns", patterns, 2 * p * patterns, 2 * p + 1, line)


def _structure(
    name: str,
    n_forms: int,
    n_boundaries: int,
    degree: int,
    line: LineCount | None,
    n_parameters: int = 1,
) -> PiecewiseStructure:
    return PiecewiseStructure(
        n_piece_forms=n_forms,
        n_boundaries=n_boundaries,
        chain_length=0,
        chain_degree=0,
        function_degree=degree,
        n_parameters=n_parameters,
        line=line,
        name=name,
        source=SOURCE,
        assumptions=("solutions are unique",) if n_boundaries else (),
    )
