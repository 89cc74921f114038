"""Estimators for river: the extra ``river``."""

from swordplay.estimators.river import SwordClassifier, SwordRegressor

__all__ = ["SwordClassifier", "SwordRegressor"]
