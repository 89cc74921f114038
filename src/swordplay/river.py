"""Estimators for river: the extra ``river``."""

from swordplay.core.extras import needing as _needing

with _needing("swordplay.river", "river", "river", "pandas", "narwhals"):
    from swordplay.estimators.river import SwordClassifier, SwordRegressor

__all__ = ["SwordClassifier", "SwordRegressor"]
