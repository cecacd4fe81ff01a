"""The page of an online run says what the tuner says, and is the same from the state alone."""

import json
import re
from dataclasses import replace

import pytest

import certune as ct
from certune.errors import InputError
from certune.online.overview import Overview
from certune.report.online_page import online_page_of, table_of_rounds
from certune.report.online_verdict import online_verdict
from certune.runs.journal import Journal

FAMILIES = {
    "steps": (
        ct.Linkage("energy", (0.5, 4), objective="cut"),
        ct.datasets.random_clustering(9, n_clusters=3, n_per_cluster=4, spread=0.4),
        {},
    ),
    "smooth": (
        ct.RegularizedLogistic(lam=(0.01, 1), standardize=True),
        ct.datasets.breast_cancer_classification(5, 15, 10),
        {"learner": "random-grid"},
    ),
    "lines": (
        ct.Linkage("power-mean", (0.5, 3), weights="tune", n_metrics=2),
        ct.datasets.digits_clustering(3, n_per_class=3, metrics=("euclidean", "cityblock")),
        {"along": ct.online.cover(
            ct.Linkage("power-mean", (0.5, 3), weights="tune", n_metrics=2).space, 2
        )},
    ),
}  # fmt: skip


@pytest.fixture(params=FAMILIES)
def played(request, tmp_path):
    family, instances, options = FAMILIES[request.param]
    state = tmp_path / "state"
    with ct.OnlineTuner(family, random_state=1, state=state, **options) as tuner:
        for instance in instances:
            tuner.update(instance)
        yield tuner, state


def said(findings, question):
    return next(item for item in online_verdict(findings) if question in item.question).text


def test_findings_are_those_of_the_tuner(played):
    tuner, _ = played
    findings, regret = tuner.findings(), tuner.regret()
    score = tuner.family.score
    assert findings.regret == regret.value and findings.curve[-1].bound == regret.bound
    assert findings.n_rounds == len(findings.rounds) == tuner.n_rounds
    total = sum(row.score for row in findings.rounds) / findings.n_rounds
    assert findings.earned == pytest.approx(total, abs=1e-6)
    assert findings.best_fixed == pytest.approx(
        score.of(max(line.max() for line in tuner.landscapes()) / tuner.n_rounds), abs=1e-6
    )
    proposed = {k: list(v) if isinstance(v, tuple) else v for k, v in tuner.propose().items()}
    assert findings.next_params == proposed
    better = 1 if score.greater_is_better else -1
    assert all(better * (row.best - row.score) >= -1e-9 for row in findings.rounds)
    assert 0 < findings.concentration <= 1
    if not tuner.learner.asks:
        own = tuner.landscapes()[findings.line]
        assert findings.region == tuple(own.argmax())


def test_the_state_alone_gives_the_same_page(played):
    tuner, state = played
    own, stored = tuner.findings(), Overview.of_state(state).findings()
    assert replace(stored, created=own.created) == own


def test_the_page_has_every_number_and_no_markup_of_the_user(played):
    tuner, _ = played
    evil = "<script>alert(1)</script>"
    findings = replace(tuner.findings(), title=evil)
    page = online_page_of(findings)
    assert evil not in page and len(page) < 2e6
    stored = re.search(r'id="findings">(.*?)</script>', page, flags=re.DOTALL)[1]
    assert json.loads(stored)["title"] == evil
    for name in ("regret", "played", "landscape", "density", "dispersion"):
        assert f'id="{name}"' in page
    lines = table_of_rounds(findings).splitlines()
    assert len(lines) == 1 + tuner.n_rounds and lines[0].startswith("round,instance,line,")


def test_words_follow_the_numbers():
    family, instances, _ = FAMILIES["steps"]
    tuner = ct.OnlineTuner(family, random_state=1)
    with pytest.raises(InputError, match="no finished round"):
        tuner.findings()
    tuner.update(instances[0])
    first = tuner.findings()
    assert said(first, "be learned").startswith("Fewer than 30 functions")
    most = replace(first.curve[-1], bound=first.span * first.n_rounds)
    assert "Nothing yet" in said(replace(first, curve=(most,)), "theory")
    point = replace(most, bound=0.125)
    assert "at most 0.125" in said(replace(first, curve=(point,)), "theory")
    assert "no bound" in said(replace(first, curve=(replace(point, bound=None),)), "theory")
    assert said(replace(first, concentration=0.1), "Has it").startswith("Yes")
    assert said(replace(first, concentration=0.8), "Has it").startswith("Little")


def test_a_state_of_before_says_what_to_do(tmp_path):
    family, instances, _ = FAMILIES["steps"]
    with ct.OnlineTuner(family, random_state=1, state=tmp_path / "state") as tuner:
        tuner.update(instances[0])
    header, *_ = Journal.stored(tmp_path / "state")
    del header["about"]
    journal = Journal(tmp_path / "old")
    list(journal.records())
    journal.append(header)
    journal.close()
    with pytest.raises(InputError, match="with --report"):
        Overview.of_state(tmp_path / "old")
