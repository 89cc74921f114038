"""Estimators for scikit-learn: the extra ``swordplay[sklearn]``."""

from swordplay.estimators.sklearn import SwordAggregator, SwordClassifier, SwordRegressor, TableEncoder

__all__ = ["SwordAggregator", "SwordClassifier", "SwordRegressor", "TableEncoder"]
