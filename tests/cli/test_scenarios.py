"""Scenario files: written for the data at hand, checked with key and line."""

import json

import numpy as np
import pytest

RIGHT = """\
[family]
name = "linkage"
alpha = [0.5, 3]

[data]
files = ["data/*.csv"]
target = "label"

[split]
holdout = 0.25
"""


@pytest.mark.parametrize(
    ("family", "data", "target"),
    [
        ("linkage", "data", "label"),
        ("logistic", "train.csv", "y"),
        ("labeling", "points.csv", "label"),
        ("regression", "houses.csv", "price"),
    ],
)
def test_what_init_writes_can_be_checked_and_tuned(run, place, family, data, target):
    run("init", data, "--family", family)
    text = (place / "scenario.toml").read_text()
    assert f'target = "{target}"' in text and "# columns: " in text
    assert "is right" in run("check", "scenario.toml").stdout
    assert json.loads(run("tune", "scenario.toml", "--json", "-q").stdout)["proved"]
    assert "exists" in run("init", data, exit_code=1).stderr


@pytest.mark.parametrize(("family", "known"), [("labeling", 4), ("logistic", 3)])
def test_init_takes_as_many_folds_as_the_rarest_class_allows(run, place, family, known):
    rng = np.random.default_rng(0)
    labels = ["a"] * 12 + ["b"] * known
    unknown = [""] * 9 if family == "labeling" else []
    lines = [f"{x:.3f},{label}" for label in labels + unknown for x in [rng.normal()]]
    (place / "few.csv").write_text("\n".join(["x,label", *lines]) + "\n")
    run("init", "few.csv", "--family", family)
    assert f"cv = {known}  # the rarest class" in (place / "scenario.toml").read_text()
    assert "is right" in run("check", "scenario.toml").stdout


@pytest.mark.parametrize(("family", "known"), [("labeling", 3), ("logistic", 4)])
def test_init_looks_at_all_files(run, place, family, known):
    rng = np.random.default_rng(0)
    (place / "many").mkdir()
    for name, rare in {"a": 12, "b": known, "c": 7}.items():
        lines = [f"{rng.normal():.3f},{label}" for label in ["u"] * 12 + ["v"] * rare]
        (place / "many" / f"{name}.csv").write_text("\n".join(["x,label", *lines]) + "\n")
    run("init", "many", "--family", family)
    text = (place / "scenario.toml").read_text()
    assert f"cv = {known}  # the rarest class, 'v' of b.csv, has no more rows" in text
    assert f"3 files with {12 + known} to 24 rows" in text and "; 2 classes" in text
    assert "is right" in run("check", "scenario.toml").stdout


def test_init_refuses_files_without_the_target(run, place):
    (place / "data" / "d5.csv").write_text("x,y,lable\n1,2,a\n3,4,b\n")
    said = run("init", "data", exit_code=1).stderr
    assert "d5.csv has no column 'label'; did you mean 'lable'?" in said
    assert not (place / "scenario.toml").exists()


def test_init_takes_the_target_that_is_named(run, place):
    run("init", "data", "--target", "x")
    assert 'target = "x"' in (place / "scenario.toml").read_text()


def test_init_takes_a_target_that_has_classes_and_a_group(run, place):
    rng = np.random.default_rng(0)
    lines = [
        f"site {n % 5},{rng.normal():.4f},{rng.normal():.4f},{'abc'[n % 3]}" for n in range(60)
    ]
    (place / "sites.csv").write_text("\n".join(["site,x,y,kind", *lines]) + "\n")
    run("init", "sites.csv")
    text = (place / "scenario.toml").read_text()
    assert 'target = "kind"' in text and 'group = "a column"' in text and "holdout" not in text
    run("init", "sites.csv", "--group", "site", "--overwrite")
    text = (place / "scenario.toml").read_text()
    assert 'group = "site"  # 5 instances' in text and "holdout = 0.25" in text
    assert "4 instances to tune on, 1 held out" in run("check", "scenario.toml").stdout
    run("init", "sites.csv", "--family", "regression", "--overwrite")
    assert 'target = "y"' in (place / "scenario.toml").read_text()
    assert (
        "no column 'sit'"
        in run("init", "sites.csv", "--group", "sit", "--to", "s.toml", exit_code=1).stderr
    )


def test_numbers_that_do_not_repeat_are_no_clusters(run, place):
    rng = np.random.default_rng(0)
    lines = [f"{rng.normal():.4f},{rng.normal():.4f}" for _ in range(30)]
    (place / "flat.csv").write_text("\n".join(["x,y", *lines]) + "\n")
    said = run("tune", "linkage", "flat.csv", "--target", "y", exit_code=1).stderr
    assert "column 'y' has 30 different numbers in 30 rows" in said


def test_init_says_which_class_is_too_rare_for_folds(run, place):
    (place / "few.csv").write_text("x,label\n1,a\n2,a\n3,a\n4,b\n")
    run("init", "few.csv", "--family", "labeling")
    assert "cv = 2  # class 'b' has 1 row" in (place / "scenario.toml").read_text()


def test_names_of_two_lines_stay_in_their_comment(run, place):
    (place / "odd.csv").write_text('"x\ny",label\n1,a\n2,a\n3,b\n4,b\n')
    run("init", "odd.csv", "--family", "labeling")
    assert "is right" in run("check", "scenario.toml").stdout


def test_options_go_before_the_file(run, place):
    (place / "s.toml").write_text(RIGHT)
    summary = json.loads(run("tune", "s.toml", "--holdout", "0.5", "--json", "-q").stdout)
    assert summary["held_out"]["n_instances"] == 4


MISTAKES = {
    ("linkage", "linkag"): "line 2: there is no family 'linkag'; did you mean 'linkage'?",
    ("alpha =", "alfa ="): "line 3: [family] has no key 'alfa'; did you mean 'alpha'?",
    ("[0.5, 3]", "3"): "line 3: alpha must be a range [low, high], got 3",
    ("[0.5, 3]", "[1, 2, 3]"): "line 3: alpha must be a range",
    ("[split]", "[splits]"): "line 9: there is no section [splits]; did you mean 'split'?",
    ("holdout = 0.25", 'holdout = "much"'): "line 10: holdout must be a number",
    ("holdout = 0.25", "holdout = 1.5"): "holdout must be a share",
    ("holdout = 0.25", "seed = -1"): "line 10: seed must be a whole number from 0",
    ("holdout = 0.25", "seed = 0.5"): "line 10: seed must be a whole number from 0",
    ("files = ", "file = "): "line 6: [data] has no key 'file'; did you mean 'files'?",
    ('files = ["data/*.csv"]', ""): "[data] must have files",
    ('["data/*.csv"]', '"data/*.csv"'): "line 6: files must be a list of texts",
    ('target = "label"', "target = label"): "is not a TOML file",
    ('"label"', '"lable"'): "did you mean 'label'",
    ("data/*.csv", "dta/*.csv"): "no file matches",
    ("alpha = [0.5, 3]", "lam = [1, 2]"): "linkage has no option 'lam'",
    ("[family]\nname", "family = 3\n[other]\nname"): "there is no section [other]",
}


@pytest.mark.parametrize("change", MISTAKES, ids=str)
def test_a_mistake_is_named_with_its_line(run, place, change):
    text = RIGHT.replace(*change)
    assert text != RIGHT
    (place / "s.toml").write_text(text)
    assert MISTAKES[change] in " ".join(run("check", "s.toml", exit_code=1).stderr.split())
