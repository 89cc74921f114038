"""Estimators for scikit-learn: the extra ``swordplay[sklearn]``."""

from swordplay.estimators.sklearn import SwordAggregator, SwordClassifier, SwordRegressor

__all__ = ["SwordAggregator", "SwordClassifier", "SwordRegressor"]
