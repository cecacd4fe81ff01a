"""scikit-learn's cross-validated linear models, tuned exactly instead of on a grid.

Change the import line and the program runs: ``from certune.linear_model import
LogisticRegressionCV``. Constructor arguments and fitted attributes are those of scikit-learn; a
grid is taken for the range that it spans, and the best setting of the whole range comes with a
proof.
"""

from __future__ import annotations

from certune.linear_model.logistic import LogisticRegressionCV
from certune.linear_model.regression import ElasticNetCV, LassoCV, RidgeCV

__all__ = ["ElasticNetCV", "LassoCV", "LogisticRegressionCV", "RidgeCV"]
