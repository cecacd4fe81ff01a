"""Findings, the verdict in words, and the page that is made of them."""

import itertools
import json
import re
from dataclasses import replace
from fractions import Fraction
from html.parser import HTMLParser

import numpy as np
import pytest

import certune as ct
from certune.report import Findings, findings_of, verdict, write_report
from certune.report.collecting import are_folds, importance_of
from certune.report.findings import CellsFinding
from certune.report.page import page_of
from certune.report.verdict import alike, edges_touched, is_spike, key_figures, wider_range
from certune.testing import StepFamily, StepInstance


def steps(*pairs):
    return [
        StepInstance(places, tuple(map(Fraction, values)), name=f"i{n}")
        for n, (places, values) in enumerate(pairs)
    ]


@pytest.fixture(scope="module")
def plain():
    instances = ct.datasets.random_clustering(8, n_clusters=3, n_per_cluster=5, spread=0.4)
    result = ct.tune(ct.Linkage(alpha=(-3, 3)), instances[:6])
    return result, findings_of(result, result.evaluate(instances[6:]), command="certune x <y>")


def said(findings, question):
    return next(answer for answer in verdict(findings) if question in answer.question)


def test_findings_are_those_of_the_result(plain):
    result, findings = plain
    assert findings.best_value == result.best_value and findings.bound == result.upper_bound
    assert findings.defaults == result.baselines
    for item, dual in zip(findings.instances, result.duals, strict=True):
        assert item.attainable == dual.max()
        # The drawn steps are the function itself, in the middle of each.
        ends = itertools.pairwise(item.curve.places)
        for (low, high), value in zip(ends, item.curve.values, strict=True):
            assert dual((low + high) / 2) == value


def test_findings_survive_a_file(plain):
    findings = plain[1]
    text = findings.to_json()
    assert Findings.from_json(text).to_json() == text
    for damaged in (
        text[:-20],
        "[]",
        "{}",
        text.replace("findings 1", "findings 9"),
        text.replace('"axis"', '"axes"'),
    ):
        with pytest.raises(ct.InputError):
            Findings.from_json(damaged)


class Page(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.identities, self.tags, self.links = [], [], []
        self.open = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.tags.append(tag)
        self.identities += [given["id"]] if "id" in given else []
        self.links += [given[key] for key in ("src", "href") if key in given]
        if tag not in ("meta", "link", "br", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_is_whole_and_loads_nothing(plain, tmp_path):
    write_report(tmp_path / "report.html", plain[1])
    text = (tmp_path / "report.html").read_text()
    page = Page(text)
    assert not page.open and not page.links and "img" not in page.tags
    assert len(set(page.identities)) == len(page.identities)
    # Every place that the script looks for by a fixed name is there.
    assert {"landscape", "strip", "held-out", "order", "all", "theme", "spoken", "findings"} <= set(
        page.identities
    )
    assert len(text) < 2e6 and [path.name for path in tmp_path.iterdir()] == ["report.html"]


def test_names_cannot_break_the_page(plain):
    evil = "</script><script>alert(1)</script>"
    item = replace(plain[1].instances[0], name=evil)
    findings = replace(plain[1], title=evil, instances=(item, *plain[1].instances[1:]))
    text = page_of(findings)
    assert "<script>alert" not in text
    stored = re.search(r'id="findings">(.*?)</script>', text, flags=re.DOTALL)[1]
    assert json.loads(stored)["title"] == evil


def test_words_for_a_proved_optimum_with_held_out_instances(plain):
    result, findings = plain
    assert said(findings, "proved").text.startswith("Yes. No setting with alpha in [-3, 3]")
    assert "2 held-out instances" in said(findings, "hold up").text
    name, value = findings.best_default
    assert value == max(result.baselines.values()) and name in said(findings, "better").text


def test_a_spike_is_told_and_the_plateau_recommended():
    instances = steps(((0.1, 0.5, 0.501, 0.9), (0, 0.795, 0.8, 0.795, 0)))
    far = steps(((0.1, 0.101, 0.4, 0.9), (0, 0.8, 0, 0.795, 0)))
    spike = findings_of(ct.tune(StepFamily(), far))
    assert is_spike(spike) and "narrow spike" in said(spike, "use").text
    assert "a spike" in said(spike, "stable").text
    assert 0.4 < spike.robust_params["x"] < 0.9
    # A narrow optimum inside the widest plateau is no spike.
    assert not is_spike(findings_of(ct.tune(StepFamily(), instances)))


def test_the_edge_of_the_range_is_told():
    findings = findings_of(ct.tune(StepFamily(), steps(((0.9,), (0, 1)))))
    assert edges_touched(findings) == ["high"]
    assert wider_range(findings) == (0.0, 2.0)
    assert said(findings, "stable").tone == "warning" and "[0, 2]" in said(findings, "stable").text


def test_a_wider_range_stays_where_the_parameter_has_a_meaning():
    instances = [ct.ClusteringInstance([[0.0], [0.2], [5.0], [5.1]], target=[0, 0, 1, 1])]
    energies = findings_of(ct.tune(ct.Linkage("energy", (0.5, 4), objective="cut"), instances))
    # Everything is optimal: both ends are touched, and exponents stay positive.
    assert edges_touched(energies) == ["low", "high"]
    assert wider_range(energies) == (0.05, 7.5)
    shares = findings_of(ct.tune(ct.GenieClustering(), instances))
    assert edges_touched(shares) == [] and said(shares, "stable").tone == "good"
    narrower = findings_of(ct.tune(ct.GenieClustering(g=(0.5, 0.9)), instances))
    assert wider_range(narrower) == pytest.approx((0.05, 0.99))


def test_a_bound_that_says_less_than_what_was_seen_is_not_told(plain):
    findings = plain[1]
    estimate = {"n_instances": 1171, "purpose": "optimism", "label": "", "estimate": True}
    for optimism, told in ((0.0, False), (0.03, False), (0.2, True)):
        seen = replace(findings.cross_validation, optimism=optimism)
        changed = replace(findings, cross_validation=seen, needed=(estimate,), needed_epsilon=0.05)
        assert ("1,171" in said(changed, "more").text) == told


def test_importance_of_many_parameters_is_not_guessed(plain):
    assert "it is not stated" in page_of(replace(plain[1], n_free=3))
    assert "it is not stated" not in page_of(plain[1])


def test_an_early_end_is_told():
    result = ct.tune(
        StepFamily(), steps(((0.5,), (0, 1)), ((0.5,), (1, 0))), callbacks=[lambda state: True]
    )
    answer = said(findings_of(result), "proved")
    assert answer.tone == "warning" and "at most 0.5 is missing" in answer.text
    used = said(findings_of(result), "use").text
    assert used.endswith("over 2 instances, the 1 without a result counted as worst.")


def test_folds_of_the_same_rows_promise_nothing(plain):
    findings = findings_of(plain[0], shared_rows=True)
    assert findings.guarantee is None and findings.cross_validation is None
    assert "share their rows" in said(findings, "hold up").text


def test_folds_are_called_folds_and_held_out_rows_rows():
    X, y = np.arange(40.0).reshape(-1, 1) % 7, np.arange(40) % 2
    family = ct.RegularizedLogistic(standardize=True)
    result = ct.tune(family, ct.folds(X[:32], y[:32], cv=4))
    rows = ct.ClassificationInstance(X[:32], y[:32], X[32:], y[32:], name="8 held-out rows")
    findings = findings_of(result, result.evaluate([rows]), shared_rows=True)
    assert "over 4 folds" in said(findings, "use").text
    assert "these 4 folds" in said(findings, "proved").text
    assert "new rows" in said(findings, "hold up").question
    assert "on 8 held-out rows" in [figure.words for figure in key_figures(findings)]
    page = page_of(findings)
    assert "<h2>Folds</h2>" in page and "<h2>Fold by fold</h2>" in page
    assert "4 folds, " in page and "instance by instance" not in page.lower()


def test_a_default_is_equal_up_to_the_gap_among_the_key_figures_too(plain):
    best = plain[1].best_value
    findings = replace(plain[1], gap=1e-8, defaults={"weakest": best + 1e-9, "other": best - 0.1})
    assert said(findings, "better than").text.startswith("Not at all: weakest is just as good")
    assert [(f.value, f.words) for f in key_figures(findings)][2] == (
        "equal",
        "to weakest, a default",
    )
    far = replace(findings, defaults={"weakest": best + 1e-3})
    assert [f.words for f in key_figures(far)][2] == "worse than weakest"


def test_nothing_is_said_of_importance_where_the_map_is_open():
    rectangles = [(0, 0.5, 0, 1), (0.5, 0.8, 0, 1), (0.8, 1, 0, 1)]
    assert importance_of(ct.CellMap(("a", "b"), rectangles, (0, 1, 1), (0, 1, 2))) == ()
    thin = [(0, 0.5, 0, 1), (0.5, 0.95, 0, 1), (0.95, 1, 0, 1)]
    assert importance_of(ct.CellMap(("a", "b"), thin, (0, 1, 1), (0, 1, 2)))


@pytest.mark.parametrize(("width", "drawn"), [(0.3, True), (0.7, False)])
def test_a_map_that_is_open_is_said_to_be(plain, width, drawn):
    outlines = ((0, 0, width, 0, width, 1, 0, 1), (width, 0, 1, 0, 1, 1, width, 1))
    cells = CellsFinding(("a", "b"), outlines, (0.0, 1.0), (1.0, 1.0))
    assert cells.open_share == pytest.approx(width)
    page = page_of(replace(plain[1], cells=cells, importance=()))
    assert ('id="cells"' in page) == drawn and 'id="importance"' not in page
    told = "30% of the map are known between bounds only" if drawn else "Too little of the map"
    assert told in page


def test_a_map_that_takes_too_long_is_said_to_be_missing(monkeypatch, tmp_path):
    metrics = ("euclidean", "cityblock")
    instances = ct.datasets.random_clustering(2, 2, 4, metrics=metrics)
    family = ct.Linkage("power-mean", alpha=(0.5, 4), weights="tune", n_metrics=2)
    result = ct.tune(family, instances)
    monkeypatch.setattr("certune.tuning.space.cell_map.REPORT_SECONDS", -1.0)
    result.report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "Too little of the map was known in the time of a report" in page
    assert 'id="cells"' not in page


def test_options_of_the_command_line_are_not_torn(plain):
    findings = findings_of(plain[0], shared_rows=True)
    assert "with <code>--holdout 0.25</code>." in page_of(findings)


def test_of_the_instances_that_are_needed_the_fewest_come_first(plain):
    needed = tuple(
        {"n_instances": n, "purpose": purpose, "estimate": False, "label": f"R{n}"}
        for n, purpose in ((50, "one"), (10**12, "two"), (70, "two"), (60, "one"))
    )
    page = page_of(replace(plain[1], needed=needed))
    table, others = page.split("Larger numbers by other results")
    assert ">50<" in table and ">70<" in table and ">60<" not in table
    assert ">60<" in others and ">1,000,000,000,000<" in others


def test_importance_is_the_exact_variance_of_the_landscape():
    # f = x0 < 1/2 plus twice x1 < 1/4: variances 1/4 and 4 * 3/16, no interaction.
    rectangles = [(0, 0.5, 0, 0.25), (0.5, 1, 0, 0.25), (0, 0.5, 0.25, 1), (0.5, 1, 0.25, 1)]
    values = (3, 2, 1, 0)
    cells = ct.CellMap(("a", "b"), rectangles, values, values)
    shares = {row["name"]: row["share"] for row in importance_of(cells)}
    assert shares["a"] == pytest.approx(0.25) and shares["b"] == pytest.approx(0.75)
    assert shares["both together"] == pytest.approx(0, abs=1e-12)


def test_importance_of_slanted_cells_is_exact():
    # f = 1 where x > y: the mean over y is x, variance 1/12 of 1/4, and alike for y.
    triangles = [[(0, 0), (1, 0), (1, 1)], [(0, 0), (1, 1), (0.25, 1)], [(0, 0), (0.25, 1), (0, 1)]]
    cells = ct.CellMap(("a", "b"), triangles, (1, 0, 0), (1, 0, 0))
    shares = {row["name"]: row["share"] for row in importance_of(cells)}
    assert shares["a"] == pytest.approx(1 / 3) and shares["b"] == pytest.approx(1 / 3)


def test_two_parameters_have_a_map():
    instances = ct.datasets.random_clustering(2, 3, 4, metrics=("euclidean", "cityblock"))
    family = ct.Linkage(alpha=(0.5, 4), weights="tune", n_metrics=2)
    cells = ct.cell_map(family, instances, resolution=16)
    findings = findings_of(ct.tune(family, instances), cells=cells)
    again = Findings.from_json(findings.to_json())
    assert again.cells.names == ("alpha", "weight of cityblock") and 'id="cells"' in page_of(again)


def test_a_result_writes_its_report(plain, tmp_path):
    result, findings = plain
    held_out = ct.datasets.random_clustering(8, n_clusters=3, n_per_cluster=5, spread=0.4)[6:]
    result.report(tmp_path / "report.html", held_out, title="Mine & yours")
    text = (tmp_path / "report.html").read_text()
    assert "<h1>Mine &amp; yours</h1>" in text and "2 held-out instances" in text
    with pytest.raises(ct.InputError, match="cannot write"):
        result.report(tmp_path / "nowhere" / "report.html")


def test_losses_are_shown_as_losses():
    instances = ct.datasets.breast_cancer_classification(4)
    family = ct.RegularizedLogistic(lam=(1e-4, 1), standardize=True)
    result = ct.tune(family, instances[:3])
    findings = findings_of(result, result.evaluate(instances[3:]))
    assert findings.score == "log-loss" and not findings.greater_is_better
    assert findings.best_value == result.best_score < min(findings.defaults.values())
    assert findings.best_value == pytest.approx(min(findings.landscape.values), abs=1e-4)
    assert "below" in said(findings, "proved").text
    name, value = findings.best_default
    assert findings.advantage(value) > 0


class Fragile(StepFamily):
    """Fails on one instance."""

    def dual(self, instance, along=None):
        if instance.name == "<bad>":
            raise ValueError("no <sensor>")
        return super().dual(instance, along)


def test_instances_that_failed_are_listed_with_their_reason(tmp_path):
    instances = [StepInstance((0.5,), (0, 1), name=name) for name in ("one", "<bad>", "two")]
    result = ct.tune(Fragile(), instances, on_error="skip")
    result.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert page.count("ValueError: no &lt;sensor&gt;") == 2  # in the verdict, and in a table
    found = findings_of(result)
    assert found.failures == (("<bad>", "ValueError: no <sensor>"),)
    assert Findings.from_json(found.to_json()).failures == found.failures
    frame = result.to_frame()
    assert frame.loc["<bad>"].drop("failure").isna().all()
    assert frame.loc["<bad>", "failure"] == "ValueError: no <sensor>"


def test_reports_of_folds_state_nothing_that_needs_independent_instances():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    y = (X[:, 0] + rng.normal(size=40) > 0).astype(int)
    labels = np.where(np.arange(40) < 24, y, -1)
    drawn = [
        ct.ClassificationInstance(X[k::4], y[k::4], X[k + 1 :: 4], y[k + 1 :: 4]) for k in (0, 2)
    ]
    points = [ct.RegressionInstance(X[a], X[a, 0], X[b], X[b, 1]) for a, b in
              ((slice(0, 20), slice(20, 40)), (slice(20, 40), slice(0, 20)))]  # fmt: skip
    for folds in (ct.folds(X, y, cv=3), ct.labeling_folds(X, labels, cv=3), points):
        assert are_folds(folds) and not are_folds(folds[:1])
    assert not are_folds(drawn)
    family = ct.RegularizedLogistic("l2", lam=(1e-3, 1))
    found = findings_of(ct.tune(family, ct.folds(X, y, cv=3), progress=False))
    assert found.shared_rows and found.guarantee is None and found.cross_validation is None
    assert "the folds share their rows" in " ".join(answer.text for answer in verdict(found))
    assert findings_of(ct.tune(family, drawn, progress=False)).guarantee is not None


def test_few_instances_are_called_few_and_all_equal_defaults_named(plain):
    findings = plain[1]
    seen = replace(findings.cross_validation, optimism=0.0)
    few = replace(findings, cross_validation=seen, instances=findings.instances[:3])
    assert "But 3 instances tell little: use more" in said(few, "Would more").text
    many = replace(few, instances=findings.instances[:1] * 10)
    assert "More instances would change little" in said(many, "Would more").text
    equal = dict.fromkeys(("first", "second"), findings.best_value)
    told = said(replace(findings, defaults={**equal, "third": -1.0}), "How much better").text
    assert "first and second are just as good" in told and "The other defaults: third" in told


def test_a_default_within_an_open_gap_is_not_called_better(plain):
    findings = replace(plain[1], defaults={"Ward": plain[1].best_value + 0.1})
    assert "It is worse: Ward" in said(findings, "How much better").text
    open_search = replace(findings, status="TIME_LIMIT", gap=0.2)
    assert "Not known yet: Ward" in said(open_search, "How much better").text


def test_what_is_better_than_the_optimum_is_said(plain):
    high = plain[1].best_value + 0.1
    beaten = replace(plain[1], defaults={"Ward": high}, other_algorithms=())
    told = said(beaten, "How much better").text
    assert "Ward, a setting outside the range, reaches" in told and "widen the range" in told
    told = said(replace(beaten, other_algorithms=("Ward",)), "How much better").text
    assert "Ward, another algorithm, reaches" in told and "Use that" in told
    assert "range" not in told and "better by 0.1." in told


def test_numbers_of_a_column_have_equally_many_decimals():
    for values, told in (
        ((0.875, 0.8611111, 1, None), ["0.8750", "0.8611", "1.0000", "unknown"]),
        ((0.9, 0.95), ["0.90", "0.95"]),
        ((0.5273, 0.5246, 0.3965, -0.00001), ["0.5273", "0.5246", "0.3965", "0.0000"]),
        ((0.07327, 0.0733, 0.5779, 0.1), ["0.07327", "0.07330", "0.57790", "0.10000"]),
        ((0.04099, 0.0666), ["0.04099", "0.06660"]),
        ((2991.8, 5929.88), ["2992", "5930"]),
        ((0, 0.0), ["0", "0"]),
        ((3e-12, 1e-12), ["3e-12", "1e-12"]),
    ):
        assert [*map(alike(values), values)] == told


def test_a_point_is_not_told_as_a_set(plain):
    point = replace(plain[1], region=((0.25, 0.2500001),), plateau=(0.2, 0.3))
    assert said(point, "stable").text.startswith("The optimum is at 0.25")


def test_key_figures_say_better_worse_or_equal(plain):
    best = plain[1].best_value
    for value, told in (
        (best - 0.5, ("0.5", "better than Ward")),
        (best + 0.5, ("0.5", "worse than Ward")),
        (best, ("equal", "to Ward, a default")),
    ):
        figures = key_figures(replace(plain[1], defaults={"Ward": value}))
        assert told in [(figure.value, figure.words) for figure in figures]


def test_reports_know_which_defaults_are_settings():
    instances = ct.datasets.random_clustering(3, n_clusters=3, n_per_cluster=4, spread=0.4)
    family = ct.Linkage("energy", alpha=(0.1, 1.5), objective="cut")
    found = findings_of(ct.tune(family, instances, progress=False))
    assert "k-means" in found.other_algorithms and "single (cut)" in found.other_algorithms
    assert not {*family.baselines} & {*found.other_algorithms}


def test_what_a_spike_gains_is_not_said_of_the_plateau():
    far = steps(((0.1, 0.101, 0.4, 0.9), (0, 0.8, 0, 0.795, 0)), ((0.2,), (0.5, 0.5)))
    result = ct.tune(StepFamily(), far)
    spike = replace(findings_of(result, result.evaluate(steps(((0.5,), (0, 1)), ((0.3,), (0, 1))))))
    assert is_spike(spike)
    between = (spike.best_value + spike.robust_value) / 2
    told = said(replace(spike, defaults={"default": between}), "How much better")
    assert told.tone == "plain"
    assert "The spike is better by" in told.text and "plateau's centre is worse" in told.text
    told = said(replace(spike, defaults={"default": 0.0}), "How much better").text
    assert told.startswith(f"By {spike.robust_value:.3g} over") and "the spike by" in told
    assert "the spike, x = " in said(spike, "hold up").text


def test_a_default_at_the_end_of_the_range_is_as_good_up_to_the_gap(plain):
    near = replace(plain[1], defaults={"weakest penalty": plain[1].best_value + 1e-9}, gap=2e-9)
    assert "Not at all: weakest penalty is just as good" in said(near, "How much better").text


def test_words_for_one_instance_and_for_no_optimism(plain):
    one = replace(plain[1], instances=plain[1].instances[:1], held_out=None, cross_validation=None)
    assert "on this 1 instance" in said(one, "proved").text
    assert "Give more of them" in said(one, "hold up").text
    seen = replace(plain[1].cross_validation, optimism=-0.01)
    told = said(replace(plain[1], cross_validation=seen), "Would more").text
    assert "the tuned score will hold up on new instances" in told


def test_a_narrow_optimum_without_a_wider_plateau_is_called_narrow():
    findings = findings_of(ct.tune(StepFamily(), steps(((0.5, 0.51), (0, 1, 0)))))
    told = said(findings, "stable")
    assert "narrow" in told.text and told.tone == "plain"


def test_the_verdict_of_a_choice_names_the_alternative_and_speaks_of_all(tmp_path):
    instances = ct.datasets.random_clustering(5, n_clusters=2, n_per_cluster=4, spread=0.4)
    choice = ct.Choice({"means": ct.Linkage(alpha=(-2, 2)), "energies": ct.Linkage(
        "energy", alpha=(0.5, 2), objective="cut")})  # fmt: skip
    result = ct.tune(choice, instances, progress=False)
    findings = findings_of(result)
    assert f"choice = {result.best_alternative}" in said(findings, "use").text
    assert "No setting of the 2 alternatives" in said(findings, "proved").text
    assert findings.bound == result.score_bound and findings.gap == result.gap
    assert findings.guarantee["expected"] == result.guarantee().to_dict()["expected_utility"]
    result.report(tmp_path / "report.html")
    assert f"choice = {result.best_alternative}" in (tmp_path / "report.html").read_text()
