"""Estimators for scikit-learn: the extra ``sklearn``."""

from swordplay.base.extras import needing as _needing

with _needing("swordplay.sklearn", "sklearn", "sklearn"):
    from swordplay.estimators.prequential import (
        PrequentialSplit,
        make_prequential_scorer,
        prequential_predict,
        prequential_score,
    )
    from swordplay.estimators.sklearn import SwordAggregator, SwordClassifier, SwordRegressor, TableEncoder

__all__ = [
    "PrequentialSplit",
    "SwordAggregator",
    "SwordClassifier",
    "SwordRegressor",
    "TableEncoder",
    "make_prequential_scorer",
    "prequential_predict",
    "prequential_score",
]
