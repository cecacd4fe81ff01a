"""Columns of one category add up to 1: ridge and lasso are proved nevertheless."""

import numpy as np
import pytest

import certune as ct


@pytest.mark.parametrize("penalty", ["l1", "l2"])
def test_columns_of_a_category_do_not_spoil_the_proof(penalty):
    rng = np.random.default_rng(0)
    n = 300
    area, built = rng.uniform(30, 200, n), 1900.0 + rng.integers(0, 120, n)
    city = np.eye(3)[rng.integers(0, 3, n)]
    price = 1000 * area + city @ [1e4, 2e4, 0.0] + 1e4 * rng.normal(size=n)
    rows = np.column_stack((area, built, city))
    family = ct.RegularizedRegression(penalty, alpha=(1e-3, 1e3), metric="r2")
    result = ct.tune(family, ct.folds(rows, price, cv=5, task="regression"))
    assert result.status is ct.Status.OPTIMAL and result.gap < 5e-9
