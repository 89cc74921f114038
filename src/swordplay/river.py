"""Estimators for river: the extra ``river``."""

from swordplay.core.extras import require_extra as _require_extra

with _require_extra("swordplay.river", "river", "river", "pandas", "narwhals"):
    from swordplay.estimators.river import SwordClassifier, SwordRegressor

__all__ = ["SwordClassifier", "SwordRegressor"]
