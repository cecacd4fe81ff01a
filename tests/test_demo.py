"""The demonstration runs, and leaves files that can be checked."""

import pytest

import certune as ct
from certune.demo import main


def test_demo_writes_what_it_promises(tmp_path, capfd):
    main(["--instances", "2", "--output", str(tmp_path / "new" / "folder")])
    out, err = capfd.readouterr()
    assert "certificate verified: optimality on 2 instances" in out
    words = " ".join(out.split())
    assert "Is it proved? Yes." in words and "2 held-out instances" in words
    assert err.startswith("certune: exact tuning of Linkage(") and "OPTIMAL" in err
    folder = tmp_path / "new" / "folder"
    written = sorted(path.name for path in folder.iterdir())
    assert written == ["certificate.json", "landscape.png", "report.html"]
    assert all(str(folder / name) in out for name in written)
    page = (folder / "report.html").read_text()
    assert 'id="landscape"' in page and "<td>ward</td>" in page
    instances = ct.datasets.digits_clustering(2)
    family = ct.Linkage("energy", alpha=(0.1, 4.0), objective="cut")
    certificate = ct.Certificate.load(folder / "certificate.json")
    assert ct.verify(certificate, family, instances).optimal


@pytest.mark.parametrize("arguments", [["--instances", "0"], ["--instances", "x"], ["--size", "3"]])
def test_bad_arguments_end_with_a_message(arguments, capfd):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2 and "usage: python -m certune.demo" in capfd.readouterr().err
