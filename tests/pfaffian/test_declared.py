"""Declared functions: values, derivatives, series, chains and domains."""

import math
import pickle

import numpy as np
import pytest
from flint import arb
from scipy.special import logsumexp
from scipy.stats import norm

import certune as ct
from certune.errors import InputError, ParameterError
from certune.pfaffian import declare, erf, exp, log_sum_exp, normal_cdf, parameter, tan

A = parameter("a")


@pytest.mark.parametrize(
    ("function", "plain"), [(erf, math.erf), (normal_cdf, norm.cdf), (tan, math.tan)]
)
def test_values_and_slopes(function, plain):
    node = function(A / 2 + 0.25)
    for a in np.linspace(-2, 2, 9):
        assert node.evaluate({"a": a}) == pytest.approx(plain(a / 2 + 0.25), rel=1e-14)
        step = 1e-5
        slope = (plain((a + step) / 2 + 0.25) - plain((a - step) / 2 + 0.25)) / (2 * step)
        assert node.derivative("a").evaluate({"a": a}) == pytest.approx(slope, rel=1e-6)
        inside = arb(node.evaluate({"a": a - 0.05}))
        assert node.enclose({"a": (a - 0.1, a)}).overlaps(inside)


def above(x, parameters):
    return 1 if normal_cdf(parameters["a"]) >= x else 0


def bump(x, parameters):
    return erf(x * parameters["a"]) * exp(-parameters["a"])


def test_breakpoints_are_quantiles():
    family = ct.ProgramFamily(above, ct.Real("a", -3, 3))
    for level in (0.1, 0.4, 0.975):
        (bracket,) = family.dual(level).breakpoints
        assert bracket[0] <= norm.ppf(level) + 1e-12 and bracket[1] >= norm.ppf(level) - 1e-12
        assert family.run(level, 2.5) == 1.0


def test_smooth_utilities_have_power_series():
    family = ct.ProgramFamily(bump, ct.Real("a", 0, 2), tolerance=1e-9)
    dual = family.dual(1.5)
    for a in np.linspace(0, 2, 21):
        assert dual(a) == pytest.approx(math.erf(1.5 * a) * math.exp(-a), abs=1e-9)
    ct.testing.check_family(family, [1.5])


def test_chains():
    assert erf(A).complexity == (2, 2, 1)  # exp(-a^2) and erf
    assert tan(A).complexity == (1, 2, 1)
    assert erf(A).chain.verify() is None
    assert "tan" in tan(A).to_latex() and tan(A).to_text() == "tan(a)"


def test_domains_are_guarded():
    def steep(x, parameters):
        return 1 if tan(parameters["a"]) >= x else 0

    assert ct.ProgramFamily(steep, ct.Real("a", -1, 1.5)).run(1, 0.8) == 1
    with pytest.raises(InputError, match="tan needs a number between"):
        ct.ProgramFamily(steep, ct.Real("a", -1, 2)).dual(1)
    with pytest.raises(InputError, match="no value at a = 2.0"):
        ct.ProgramFamily(steep, ct.Real("a", -1, 2)).run(1, 2.0)


def test_log_sum_exp():
    node = log_sum_exp([A, 2 * A, 1])
    assert node.evaluate({"a": 0.7}) == pytest.approx(logsumexp([0.7, 1.4, 1]))
    with pytest.raises(InputError, match="at least one value"):
        log_sum_exp([])


def test_wrong_declarations_are_refused():
    with pytest.raises(InputError, match="derivative of wrong is .* by its values and"):
        declare("wrong", lambda x, y: y + 0.001, lambda x: x.exp())
    with pytest.raises(InputError, match="must turn a flint.arb into one"):
        declare("broken", lambda x, y: y, lambda x: x.nothing())
    with pytest.raises(ParameterError, match="identifier"):
        declare("two words", lambda x, y: y, lambda x: x.exp())


def test_functions_are_sent_by_name():
    assert pickle.loads(pickle.dumps(erf)) is erf
    family = ct.ProgramFamily(above, ct.Real("a", -3, 3))
    assert family.fingerprint == ct.ProgramFamily(above, ct.Real("a", -3, 3)).fingerprint
    assert not family.fingerprint_doubts
