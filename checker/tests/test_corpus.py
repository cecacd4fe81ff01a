"""What `ct.verify` accepts is accepted; what was changed so that it is false is not."""

import hashlib
import json
from pathlib import Path

import corpus
import pytest
from certune_check.__main__ import main

import certune as ct

CASES = {name: rest for name, *rest in (*corpus.linkages(), *corpus.programs())}


@pytest.mark.parametrize("name", CASES)
def test_certificates_that_verify_accepts_are_accepted(name, tmp_path, capsys):
    case = corpus.made(name, *CASES[name])
    ct.verify(case.certificate, case.family, case.instances)
    assert main(case.saved(tmp_path)) == 0
    assert "accepted: best mean utility" in capsys.readouterr().out


@pytest.mark.parametrize(("name", "family", "instances"), [*corpus.discrete(), *corpus.choices()])
def test_certificates_of_alternatives_are_accepted(name, family, instances, tmp_path, capsys):
    case = corpus.made(name, family, instances)
    ct.verify(case.certificate, case.family, case.instances)
    (tmp_path / "program.py").write_text(corpus.PROGRAM)
    own = [] if name == "kinds" else ["--function", f"{tmp_path / 'program.py'}:{name}"]
    arguments = [*case.saved(tmp_path), *own]
    assert main(arguments) == 0
    assert "accepted: best mean utility" in capsys.readouterr().out

    def rejected(change):
        content = json.loads(json.dumps(case.content))
        change(content)
        content["checksum"] = sealed(content)
        (tmp_path / "certificate.json").write_text(json.dumps(content))
        return main(arguments) == 1

    assert rejected(lambda content: content.update(best_value="2"))
    assert rejected(lambda content: content.update(upper_bound="1/7"))
    assert rejected(lambda content: content.update(best_alternative="none"))
    assert rejected(lambda content: content["family"]["alternatives"].append("none"))
    assert rejected(lambda content: content["proofs"].append(content["proofs"][0]))
    assert rejected(lambda content: content["instance_fingerprints"].reverse())
    assert rejected(lambda content: content.update(proofs=[["a"]]))
    assert rejected(lambda content: content.update(proofs=[3]))

    def another_value(content):
        proof = next(proof for _, proof in content["proofs"] if proof is not None)
        proof["duals"][0]["numerators"][0] ^= 1
        forged(proof)
        proof["checksum"] = sealed(proof)

    assert rejected(another_value)
    if name == "kinds":
        return
    place = 0 if case.content["proofs"][0][1] is not None else 1
    for settings in ({}, [], {"k": 7}, {"a": 1.0, "k": 1}, None):

        def other_settings(content, settings=settings):
            proof = content["proofs"][place][1]
            proof["family"]["settings" if "settings" in proof["family"] else "steps"] = settings
            proof["checksum"] = sealed(proof)

        assert rejected(other_settings)


def sealed(content):
    """The checksum that belongs to a content."""
    rest = {name: value for name, value in content.items() if name != "checksum"}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def test_other_aggregates_than_means_cannot_be_checked(tmp_path, capsys):
    instances = [corpus.scattered(7, seed) for seed in range(2)]
    certificate = ct.tune(ct.Linkage(), instances, aggregate="min", progress=False).certificate
    case = corpus.Case("min", None, instances, certificate, {})
    assert main(case.saved(tmp_path)) == 2
    assert "only means without weights" in capsys.readouterr().err


def resealed(case, change, folder):
    """The certificate with another content and the checksum that belongs to it."""
    arguments = case.saved(folder)
    content = json.loads(json.dumps(case.content))
    change(content)
    content["checksum"] = ct.Certificate.unsealed(content).content_checksum
    (folder / "certificate.json").write_text(json.dumps(content))
    return arguments


def forged(content):
    """Claims that follow from the changed functions."""
    from certune.dual.codec import from_json

    duals = [from_json(dual) for dual in content["duals"]]
    landscape = ct.mean(duals)
    content["best_value"] = str(landscape.max_exact)
    content["best_region"] = [list(pair) for pair in landscape.argmax()]
    content["best_point"] = landscape.best_point
    content["upper_bound"] = str(landscape.upper_bound_exact)


def higher_value(content):
    dual = content["duals"][0]
    dual["numerators"][0] += 1
    forged(content)


def longer_piece(content):
    dual = content["duals"][0]
    dual["stops"][0] = dual["starts"][1]
    dual["starts"][1] += 1e-9
    forged(content)


def tighter_gap(content):
    dual = content["duals"][0]
    dual["gap_lower"][0] = dual["gap_upper"][0] = dual["numerators"][0]
    dual["stops"][0] -= 1e-3
    dual["starts"][1] += 1e-3
    forged(content)


def other_objective(content):
    content["family"]["objective"] = "k-center"


def no_weights(content):
    content["family"]["weights"] = -0.0


def vanishing_weights(content):
    content["family"]["weights"] = [0.0]


def smaller_range(content):
    content["family"]["alpha"] = [[-6.0, 5.0]]


def other_best_value(content):
    content["best_value"] = "1"


def other_bound(content):
    content["upper_bound"] = "1"


def other_region(content):
    content["best_region"][0][0] += 1e-6


def other_instance(content):
    content["instance_fingerprints"][0] = "0" * 64


@pytest.mark.parametrize(
    "change",
    [
        higher_value, longer_piece, tighter_gap, other_objective, smaller_range, other_best_value,
        other_bound, other_region, other_instance, no_weights, vanishing_weights,
    ],
)  # fmt: skip
def test_false_claims_are_rejected(change, tmp_path, capsys):
    family = ct.Linkage("power-mean", alpha=(-6, 6), objective="k-means")
    instances = [corpus.scattered(9, seed) for seed in (1, 9)]
    case = corpus.made("forged", family, instances)
    assert all(len(dual["starts"]) > 1 for dual in case.content["duals"])
    assert main(resealed(case, change, tmp_path)) == 1
    assert capsys.readouterr().out.startswith("rejected: ")


def test_instances_that_are_not_covered_count_with_the_largest_utility(tmp_path):
    case = corpus.made("two", *CASES["knapsack"])

    def fewer(content):
        del content["duals"][1:]
        forged(content)
        bound = (ct.mean([case.certificate.duals[0]]).upper_bound_exact + 1) / 2
        content["upper_bound"] = str(bound)

    assert main(resealed(case, fewer, tmp_path)) == 0


@pytest.mark.parametrize(
    ("name", "option", "value"),
    [("dbscan", "min_samples", 0), ("threshold", "min_precision", -1)],
)
def test_options_that_no_program_of_the_shelf_has_are_refuted(
    tmp_path, capsys, name, option, value
):
    certificate, data = map(Path, corpus.made(name, *CASES[name]).saved(tmp_path))
    content = json.loads(certificate.read_text())
    kept = content["family"]["options"][option]
    content["family"]["options"][option] = type(kept)(value)
    content["checksum"] = sealed(content)
    certificate.write_text(json.dumps(content))
    assert main([str(certificate), str(data)]) == 1
    assert f"{option} = {value} is" in capsys.readouterr().out
