"""Estimators for scikit-learn: the extra ``sklearn``."""

import importlib as _importlib
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from swordplay.core.extras import require_extra as _require_extra

with _require_extra("swordplay.sklearn", "sklearn", "sklearn"):
    # imported first: from within ours it takes a fifth of a second longer
    import sklearn.base as _base  # noqa: F401

    from swordplay.estimators.sklearn_classifier import SwordClassifier
    from swordplay.estimators.sklearn_regressors import SwordAggregator, SwordRegressor
    from swordplay.estimators.table_encoder import TableEncoder

if _TYPE_CHECKING:
    from swordplay.estimators.prequential import (
        PrequentialSplit,
        make_prequential_scorer,
        prequential_predict,
        prequential_score,
    )

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


def __getattr__(name: str) -> _Any:
    """Import the evaluation functions on first use: they load half of scikit-learn."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(_importlib.import_module("swordplay.estimators.prequential"), name)
