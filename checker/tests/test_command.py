"""The command: programs and utilities of users, exit codes, files that are no instances."""

import json
import subprocess
import sys

import corpus
import numpy as np
import pytest
from certune_check.__main__ import main

import certune as ct

PROGRAM = """
from dataclasses import dataclass
from certune.pfaffian import exp

@dataclass(frozen=True)
class Level:
    height: float
    tags: tuple = ()

def reaches(x, parameters):
    height = x.height if isinstance(x, Level) else x
    return 1 if exp(parameters["a"]) >= height else 0

def tenths(x, parameters):
    return 0.8 if parameters["a"] > x else -100.3

def matches(target, labels):
    return float((target == labels).mean())
"""


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return path


def loaded(path):
    import types

    module = types.ModuleType("program")
    sys.modules["program"] = module
    exec(compile(path.read_text(), str(path), "exec"), module.__dict__)
    return module


def test_programs_of_users_are_run_as_they_are(tmp_path, program, capsys):
    module = loaded(program)
    family = ct.ProgramFamily(module.reaches, ct.Real("a", 0, 1))
    levels = [module.Level(1.5, ("x", 1)), module.Level(2.0)]
    case = corpus.made("user", family, levels)
    folder = tmp_path / "out"
    folder.mkdir()
    arguments = case.saved(folder)
    assert main([*arguments, "--function", f"{program}:reaches"]) == 0
    assert "is the function that was tuned" in capsys.readouterr().out
    assert main(arguments) == 2
    assert "--function" in capsys.readouterr().err
    assert main([*arguments, "--function", f"{program}:nothing"]) == 2
    assert "certune" in sys.modules and sys.modules["certune"] is ct


def test_floats_that_stand_for_quotients_are_accepted(tmp_path, program, capsys):
    space, ends = ct.Real("a", 0, 1), {"utility_range": (-101, 1)}
    case = corpus.made("floats", ct.ProgramFamily(loaded(program).tenths, space, **ends), [0.25])
    (tmp_path / "out").mkdir()
    arguments = case.saved(tmp_path / "out")
    assert main([*arguments, "--function", f"{program}:tenths"]) == 0
    assert "digits of the utility below 8.9e-14" in capsys.readouterr().out
    program.write_text(program.read_text().replace("0.8", "0.8000000000001"))
    assert main([*arguments, "--function", f"{program}:tenths"]) == 1


def test_another_program_is_rejected(tmp_path, program, capsys):
    module = loaded(program)
    family = ct.ProgramFamily(module.reaches, ct.Real("a", 0, 1))
    case = corpus.made("user", family, [1.5])
    folder = tmp_path / "out"
    folder.mkdir()
    arguments = case.saved(folder)
    program.write_text(PROGRAM.replace(">= height", ">= height + 0.01"))
    assert main([*arguments, "--function", f"{program}:reaches"]) == 1
    assert "the utility is 0" in capsys.readouterr().out


def test_utilities_of_users(tmp_path, program):
    module = loaded(program)
    family = ct.Linkage(alpha=(-2, 2), utility=module.matches)
    case = corpus.made("utility", family, [corpus.scattered(6, 1)])
    folder = tmp_path / "out"
    folder.mkdir()
    arguments = case.saved(folder)
    assert main([*arguments, "--function", f"{program}:matches"]) == 0
    assert main(arguments) == 2


def test_the_module_is_a_command(tmp_path):
    case = corpus.made("knapsack", *next(iter(corpus.programs()))[1:])
    ran = subprocess.run(
        [sys.executable, "-m", "certune_check", *case.saved(tmp_path)],
        capture_output=True, text=True, env={"PYTHONPATH": ":".join(sys.path)},
    )  # fmt: skip
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.startswith("accepted: ")


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", 1), (b"{", 1), (b"[]", 1), (b'{"format": "x"}', 1), (b"\xff", 1), (b"[" * 10**5, 1),
        (b'{"format": "certune box certificate"}', 2),
        (b'{"format": "certune certificate", "format_version": 99}', 2),
        (b'{"format": "certune certificate", "format_version": 3}', 1),
    ],
)  # fmt: skip
def test_files_that_are_no_certificates(content, code, tmp_path):
    (tmp_path / "c.json").write_bytes(content)
    assert main([str(tmp_path / "c.json"), str(tmp_path)]) == code


@pytest.mark.parametrize(
    "content",
    [
        b"", b"PK", b"[1]", b'{"tuple": 1}', b'{"record": 3}', b'{"fraction": "1/0"}', b'{"x": 1}',
        b'{"array": ["O", [1], [1]]}', b'{"array": ["<f8", [-5, 9], [1]]}', b'{"float": []}',
        b'{"tuple": [' * 200 + b"1" + b"]}" * 200, b"[" * 10**5,
        b'{"mapping": [[{"list": []}, 1]]}',
    ],
)  # fmt: skip
def test_files_that_are_no_instances(content, tmp_path, capsys):
    case = corpus.made("knapsack", *next(iter(corpus.programs()))[1:])
    arguments = case.saved(tmp_path)
    for suffix in (".json", ".npz"):
        bad = tmp_path / f"bad{suffix}"
        bad.write_bytes(content)
        assert main([arguments[0], str(bad)]) in (1, 2)
    assert main([arguments[0], str(tmp_path / "missing.json")]) == 2


def test_the_fingerprint_binds_the_data(tmp_path):
    instance = corpus.scattered(6, 0)
    case = corpus.made("one", ct.Linkage(alpha=(-1, 1)), [instance])
    arguments = case.saved(tmp_path)
    path = tmp_path / "data" / "000000.npz"
    arrays = dict(np.load(path))
    arrays["distances"][0, 0, 1] = arrays["distances"][0, 1, 0] = 2.5
    np.savez(path, **arrays)
    assert main(arguments) == 1


def test_plain_instances_have_the_fingerprints_of_certune(tmp_path):
    from fractions import Fraction

    from certune_check.instances import fingerprint, read_instance

    from certune.families.content import content_hash

    values = [
        1, -3, 2.5, "\u00e9", None, True, (1, [2.0]), {"a": 1, "b": (2,)}, {3, 1}, Fraction(1, 3),
        np.arange(6.0).reshape(2, 3), np.float64(0.1), float("inf"), 10**40,
    ]  # fmt: skip
    for path, value in zip(ct.save_instances(values, tmp_path / "v"), values, strict=True):
        json.loads(path.read_text())
        assert fingerprint(read_instance(path)) == content_hash(value)


def test_instances_may_lie_in_another_order(tmp_path, capsys):
    instances = ct.datasets.random_clustering(3, n_clusters=2, n_per_cluster=4, random_state=1)
    result = ct.tune(ct.Linkage(alpha=(0, 2)), instances)
    result.certificate.save(tmp_path / "certificate.json")
    ct.save_instances([instances[2], instances[0], instances[1]], tmp_path / "in")
    (tmp_path / "in" / "._000000.npz").write_bytes(b"left by macOS")
    assert main([str(tmp_path / "certificate.json"), str(tmp_path / "in")]) == 0
    ct.save_instances([instances[2], instances[0], instances[0]], tmp_path / "twice")
    assert main([str(tmp_path / "certificate.json"), str(tmp_path / "twice")]) == 1
    assert "instance 1 of the certificate is missing, or changed" in capsys.readouterr().out


def test_families_that_are_not_described_cannot_be_checked(tmp_path, capsys):
    instances = ct.datasets.random_clustering(2, n_clusters=2, n_per_cluster=3, random_state=0)
    genie = ct.GenieClustering()
    choice = ct.Choice({"linkage": ct.Linkage(alpha=(-3, 3)), "genie": genie})
    for name, family in (("genie", genie), ("choice", choice)):
        (tmp_path / name).mkdir()
        arguments = corpus.made(name, family, instances).saved(tmp_path / name)
        assert main(arguments) == 2
        assert "cannot be checked: its family is not described" in capsys.readouterr().err


@pytest.mark.parametrize("named", ["mistyped", "empty", "table.csv"])
def test_a_place_without_instances_is_no_refutation(named, tmp_path, capsys):
    case = corpus.made("knapsack", *next(iter(corpus.programs()))[1:])
    certificate, *_ = case.saved(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "table.csv").write_text("a,b\n1,2\n")
    assert main([certificate, str(tmp_path / named)]) == 2
    assert f"{tmp_path / named} is no .npz or .json file" in capsys.readouterr().err
