"""The proofs cite results that exist, and structures point to pages that exist."""

import re
from pathlib import Path

import pytest

import certune as ct
from certune.pfaffian.bounds.applications import harmonic_labeling_structure

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs" / "theory").glob("*.md"))
PAPER_LABELS = set((ROOT / "tests" / "architecture" / "paper_labels.txt").read_text().split())
LABEL = re.compile(
    r"`((?:thm-apx|thm|lem|lm|def|sec|alg|cor|eqn|fig|appx|apx|app):[A-Za-z0-9:_-]+)`"
)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_cited_labels_exist(page):
    assert set(LABEL.findall(page.read_text())) <= PAPER_LABELS


@pytest.mark.parametrize("number", range(1, 8))
def test_every_certune_result_has_a_section(number):
    assert f"\n## R{number}. " in (ROOT / "docs" / "theory" / "bounds.md").read_text()


def test_structures_name_their_proof():
    for structure in (ct.Linkage().structure(5), harmonic_labeling_structure(3, 2)):
        assert (ROOT / structure.source).is_file()
