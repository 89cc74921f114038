"""Estimators for scikit-learn: the extra ``sklearn``."""

from swordplay.estimators.sklearn import SwordAggregator, SwordClassifier, SwordRegressor

__all__ = ["SwordAggregator", "SwordClassifier", "SwordRegressor"]
