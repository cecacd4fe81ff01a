"""A sample of the campaign in benchmarks/checker_mutations.py."""

import sys
from pathlib import Path


def test_no_false_claim_is_accepted(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    import checker_mutations

    outcomes = checker_mutations.campaign(40, seed=2024)
    rejected = sum(number for name, number in outcomes.items() if name.endswith("rejected"))
    assert rejected > 20
    sys.modules.pop("checker_mutations")
