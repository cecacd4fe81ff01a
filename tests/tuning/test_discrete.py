"""Integer and categorical parameters: exact optima over all settings, against brute force."""

import random
from fractions import Fraction

import pytest

import certune as ct
from certune.errors import CertificateError, InputError, ParameterError
from certune.testing import StepFamily, check_family


def votes(instance, parameters):
    """Vote of the k nearest points, whose weights fall with the distance."""
    points, labels, query, truth = instance
    k, rule = parameters["k"], parameters["rule"]
    assert type(k) is int and type(rule) is str
    nearest = sorted(range(len(points)), key=lambda i: abs(points[i] - query))[:k]
    weight = sum(
        labels[i] * ct.pfaffian.exp(-parameters["a"] * abs(points[i] - query)) for i in nearest
    )
    ahead = weight >= 1 if rule == "strict" else 2 * weight >= 1
    return int(ahead == bool(truth))


def instance(seed):
    rng = random.Random(seed)
    points = tuple(rng.randint(0, 400) / 37 for _ in range(5))
    return points, tuple(rng.randint(0, 1) for _ in points), rng.randint(0, 9), rng.randint(0, 1)


SPACE = ct.ParameterSpace(
    (ct.Integer("k", 1, 3), ct.Real("a", 0, 2), ct.Categorical("rule", ("strict", "loose")))
)
FAMILY = ct.ProgramFamily(votes, SPACE, baselines={"one": {"k": 1, "a": 1.0, "rule": "loose"}})
INSTANCES = [instance(seed) for seed in range(7)]


@pytest.fixture(scope="module")
def result():
    return ct.tune(FAMILY, INSTANCES, progress=False)


def test_the_optimum_is_that_of_all_settings(result):
    reached = max(
        sum(FAMILY.run_exact(item, {"k": k, "a": step / 40, "rule": rule}) for item in INSTANCES)
        for k in (1, 2, 3)
        for rule in ("strict", "loose")
        for step in range(81)
    )
    best = result.best_params
    assert result.status is ct.Status.OPTIMAL
    assert list(best) == ["k", "a", "rule"] and type(best["k"]) is int
    assert result.best_value_exact == Fraction(reached, len(INSTANCES))
    assert sum(FAMILY.run_exact(item, best) for item in INSTANCES) == reached


def test_defaults_of_all_settings_are_compared(result):
    default = {"k": 1, "a": 1.0, "rule": "loose"}
    runs = [FAMILY.run_exact(item, default) for item in INSTANCES]
    assert result.baselines == {"one": float(sum(runs) / len(runs))}
    assert "baselines         one" in str(result)


def test_one_certificate_proves_all_slices(result, tmp_path):
    result.certificate.save(tmp_path / "certificate.json")
    report = ct.verify(tmp_path / "certificate.json", FAMILY, INSTANCES)
    assert report.optimal and len(report.reports) == 6
    other = ct.ProgramFamily(
        votes, ct.ParameterSpace((ct.Integer("k", 1, 4), *SPACE.parameters[1:]))
    )
    with pytest.raises(CertificateError, match="other alternatives"):
        ct.verify(result.certificate, other, INSTANCES)


def test_results_and_reports_show_the_setting(result, tmp_path):
    text = str(result)
    assert f"k = {result.best_params['k']}" in text and "other setting" in text
    result.report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert f"k = {result.best_params['k']}, rule = {result.best_params['rule']}" in page
    assert "the best of 6 settings" in page


def is_setting(instance, parameters):
    return int(tuple(parameters.values())[1:] == instance)


@pytest.mark.parametrize(
    ("kinds", "best"),
    [
        ((ct.Categorical("c", (1, "1")),), (1,)),
        ((ct.Categorical("c", ("True", True)),), ("True",)),
        (
            (ct.Categorical("c", ("x", "x, d = y")), ct.Categorical("d", ("y, d = z", "z"))),
            ("x", "y, d = z"),
        ),
    ],
)
def test_settings_that_look_alike_are_all_tuned(kinds, best):
    family = ct.ProgramFamily(is_setting, ct.ParameterSpace((ct.Real("a", 0, 1), *kinds)))
    tuned = ct.tune(family, [best], progress=False)
    assert tuned.best_value == 1 and tuple(tuned.best_params.values())[1:] == best
    assert len(family.slices()) == 2 ** len(kinds)
    assert ct.verify(tuned.certificate, family, [best]).optimal


def test_defaults_in_other_slices_than_the_best_are_compared():
    space = ct.ParameterSpace((ct.Real("a", 0, 1), ct.Categorical("c", (1, 2))))
    defaults = {f"c = {c}": {"a": 0.5, "c": c} for c in (1, 2)}
    family = ct.ProgramFamily(is_setting, space, baselines=defaults)
    tuned = ct.tune(family, [(2,)], progress=False)
    assert tuned.baselines == {"c = 1": 0.0, "c = 2": 1.0}
    assert tuned.evaluate([(1,), (2,)]).baselines == {"c = 1": 0.5, "c = 2": 0.5}


def test_a_folder_of_slices_says_how_it_is_read(tmp_path):
    family = ct.ProgramFamily(
        is_setting, ct.ParameterSpace((ct.Real("a", 0, 1), ct.Categorical("c", (1, 2))))
    )
    ct.tune(family, [(2,)], progress=False, run_dir=tmp_path / "run")
    with pytest.raises(InputError, match="several alternatives"):
        ct.load(tmp_path / "run")


def test_slices_are_families():
    slices = FAMILY.slices()
    assert list(slices)[0] == "k = 1, rule = strict"
    assert slices["k = 1, rule = loose"].baselines == {"one": {"a": 1.0}}
    assert slices["k = 1, rule = strict"].baselines == {}
    assert len({item.fingerprint for item in (FAMILY, *slices.values())}) == 7
    assert "k = 1" in repr(slices["k = 1, rule = loose"])
    check_family(slices["k = 2, rule = loose"], INSTANCES[:2], n_points=5)


def hump(x, parameters):
    return Fraction(1, 1 + (parameters["d"] - x) ** 2)


def test_integers_alone_are_steps_along_a_line():
    family = ct.ProgramFamily(hump, ct.Integer("d", -3, 9), baselines={"zero": {"d": 0}})
    found = ct.tune(family, [2, 5, 5], progress=False)
    assert found.best_params == {"d": 5} and found.best_value_exact == Fraction(7, 10)
    assert found.baselines["zero"] == float((Fraction(1, 5) + 2 * Fraction(1, 26)) / 3)
    assert family.dual(4).breakpoints.mean(axis=1).tolist() == [k + 0.5 for k in range(-3, 9)]
    assert ct.verify(found.certificate, family, [2, 5, 5]).optimal
    check_family(family, [1, 4], n_points=5)


def word(x, parameters):
    return Fraction({"up": 1, "down": 3, "left": 2}[parameters["way"]] + x, 9)


def test_words_alone():
    family = ct.ProgramFamily(word, ct.Categorical("way", ("up", "down", "left")))
    found = ct.tune(family, [0, 1], progress=False)
    assert found.best_params == {"way": "down"} and found.best_value_exact == Fraction(7, 18)
    assert family.run_exact(1, {"way": "left"}) == Fraction(1, 3)
    assert family.run_plain(1, {"way": "left"})[0] == pytest.approx(1 / 3)


def walk(steps, decisions):
    scores = [a + b * decisions.parameters["t"] for a, b in steps]
    return Fraction(decisions.choose(scores) + decisions.parameters["bonus"], 9)


def test_decisions_take_integers():
    space = ct.ParameterSpace((ct.Real("t", 0, 1), ct.Integer("bonus", 0, 2)))
    family = ct.DecisionFamily(walk, space)
    found = ct.tune(family, [((1, 0), (0, 2), (0.25, 1))], progress=False)
    assert found.best_params["bonus"] == 2 and found.best_value_exact == Fraction(3, 9)
    with pytest.raises(ParameterError, match="need a real one"):
        ct.tune(ct.DecisionFamily(walk, ct.Integer("bonus", 0, 2)), [((1, 0),)])


class WholeSteps(StepFamily):
    @property
    def space(self):
        return ct.ParameterSpace((ct.Integer("t", 0, 1),))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: ct.Integer("k", 0.5, 3), "whole numbers up to 2\\*\\*53, got 0.5"),
        (lambda: ct.Integer("k", 3, 3), "low < high"),
        (lambda: ct.Categorical("w", "abc"), "tuple of words"),
        (lambda: ct.Categorical("w", ("a",)), "at least two"),
        (lambda: ct.Categorical("w", ("a", "a")), "different"),
        (lambda: ct.Categorical("w", ("a", None)), "words or numbers"),
        (lambda: ct.Categorical("w", ("a", "b" * 101)), "short name"),
        (lambda: ct.Categorical("w", (1, 10**5000)), "short name"),
        (lambda: ct.Categorical("w", range(10**9)), "use Integer"),
        (lambda: FAMILY.run(INSTANCES[0], {"k": 1.5, "a": 1, "rule": "loose"}), "whole number in"),
        (lambda: FAMILY.run(INSTANCES[0], {"k": 9, "a": 1, "rule": "loose"}), "'k' must be"),
        (lambda: FAMILY.run(INSTANCES[0], {"k": 1, "a": 1, "rule": "x"}), "one of 'strict'"),
        (lambda: FAMILY.trace(INSTANCES[0]), "family.slices"),
        (lambda: FAMILY.dual(INSTANCES[0]), "family.slices"),
        (lambda: ct.tune(WholeSteps(), []), "no slices"),
        (lambda: ct.tune_stream(FAMILY, INSTANCES), "family.slices"),
        (lambda: ct.cell_map(FAMILY, INSTANCES), "family.slices"),
        (lambda: ct.Choice({"votes": FAMILY}), "family.slices"),
        (lambda: ct.online.OnlineTuner(FAMILY), "family.slices"),
        (
            lambda: ct.tune(ct.ProgramFamily(hump, ct.ParameterSpace(
                (ct.Integer("d", 0, 2000), ct.Real("a", 0, 1)))), [1]),
            "2001 settings",
        ),
    ],
)  # fmt: skip
def test_mistakes_are_named(call, words):
    with pytest.raises(ParameterError, match=words):
        call()


@pytest.mark.parametrize(
    ("program", "space", "words"),
    [
        (
            lambda x, p: 1 if ct.pfaffian.log(p["k"] - 2) > p["a"] else 0,
            (ct.Integer("k", 2, 4), ct.Real("a", 0, 1)),
            r"k = 2: .*no value for a from 0\.0 to 1\.0 and k = 2: log needs .* this setting",
        ),
        (
            lambda x, p: 1 / (p["k"] - 2) if p["rule"] == "odd" else 1,
            (ct.Categorical("rule", ("even", "odd")), ct.Integer("k", 1, 3)),
            r"rule = odd: .*no value at k = 2, rule = 'odd': division by zero",
        ),
        (
            lambda x, p: {"first": 0, "last": 1}[p["rule"]] if p["a"] > 0.5 else 0,
            (ct.Categorical("rule", ("first", "last", "middle")), ct.Real("a", 0, 1)),
            r"rule = middle: .*KeyError: 'middle'",
        ),
    ],
)
def test_a_setting_at_which_a_program_fails_is_named(program, space, words):
    family = ct.ProgramFamily(program, ct.ParameterSpace(space), utility_range=(-1, 1))
    with pytest.raises(ct.TuningError, match=words) as caught:
        ct.tune(family, [0], progress=False)
    assert caught.value.instance_name == "instance 0" and caught.value.__cause__ is not None


def test_a_program_may_test_for_a_setting_at_which_it_has_no_value():
    def guarded(x, p):
        return 0 if p["k"] == 2 else 1 / (p["k"] - 2)

    family = ct.ProgramFamily(guarded, ct.Integer("k", 1, 3), utility_range=(-1, 1))
    assert ct.tune(family, [0], progress=False).best_params == {"k": 3}
