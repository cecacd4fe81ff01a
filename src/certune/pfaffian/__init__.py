"""Pfaffian functions, their chains, and the programs that compute with them.

Expressions in parameters (`parameters`, arithmetic, `exp`, `log`, ...) know their value in floats
and in balls, their derivatives and their Pfaffian chain.  Programs written in ordinary Python on
them are traced into computation trees.
"""

from __future__ import annotations

from certune.pfaffian.chains.chain import Chain, ChainFunction, Complexity
from certune.pfaffian.chains.construction import ChainForm, chain_of
from certune.pfaffian.expressions.declared import (
    PfaffianFunction,
    declare,
    erf,
    log_sum_exp,
    normal_cdf,
    tan,
)
from certune.pfaffian.expressions.expression import (
    Expression,
    apply,
    constant,
    parameter,
    parameters,
)
from certune.pfaffian.expressions.functions import (
    atan,
    exp,
    log,
    power,
    sigmoid,
    softplus,
    sqrt,
    tanh,
)
from certune.pfaffian.expressions.normal_form import is_zero
from certune.pfaffian.expressions.polynomials import Polynomial
from certune.pfaffian.expressions.vectors import Vector, vector
from certune.pfaffian.programs.program import argmax, argsort, program
from certune.pfaffian.programs.trace import BranchLimitError, ObservedComplexity, Trace, trace
from certune.pfaffian.signs.arrangement import Arrangement, count_regions

__all__ = [
    "Arrangement",
    "BranchLimitError",
    "Chain",
    "ChainForm",
    "ChainFunction",
    "Complexity",
    "Expression",
    "ObservedComplexity",
    "PfaffianFunction",
    "Polynomial",
    "Trace",
    "Vector",
    "apply",
    "argmax",
    "argsort",
    "atan",
    "chain_of",
    "constant",
    "count_regions",
    "declare",
    "erf",
    "exp",
    "is_zero",
    "log",
    "log_sum_exp",
    "normal_cdf",
    "parameter",
    "parameters",
    "power",
    "program",
    "sigmoid",
    "softplus",
    "sqrt",
    "tan",
    "tanh",
    "trace",
    "vector",
]
