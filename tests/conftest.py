"""Settings of all tests: which of them are slow, and no time limits on single examples."""

import os
from pathlib import Path

import hypothesis
import pytest

ROOT = Path(__file__).parent
# Left out by `make quick`: comparisons with independent oracles on many instances, and whole runs.
SLOW = (
    "conformance",
    "examples",
    "online/test_learners.py",
    "online/test_regret.py",
    "online/test_smooth.py",
    "oracles",
    "reference_problems",
    "test_demo.py",
    "test_examples.py",
    "test_tutorials.py",
    "tuning/test_space_generalization.py",
    "tuning/test_space_search.py",
    "tuning/test_tune.py",
)

# How long an example takes depends on the machine and what else it does.
hypothesis.settings.register_profile("untimed", deadline=None)
hypothesis.settings.load_profile("untimed")


# What runs cost here is nobody's business but the tests' own.
os.environ["CERTUNE_CACHE_DIR"] = ""


def pytest_collection_modifyitems(items):
    slow = tuple(ROOT / name for name in SLOW)
    for item in items:
        if any(item.path == path or path in item.path.parents for path in slow):
            item.add_marker(pytest.mark.slow)
