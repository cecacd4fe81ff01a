"""What several tests of families watch."""

import pytest

from certune.families.linkage import sweeping


@pytest.fixture
def asked(monkeypatch):
    """The questions that linkage sweeps ask the exact layer."""
    questions = []
    original = sweeping.Comparison
    monkeypatch.setattr(
        sweeping, "Comparison", lambda *data: questions.append(data) or original(*data)
    )
    return questions
