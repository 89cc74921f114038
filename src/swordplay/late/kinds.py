"""The estimators that can learn late, by what they predict and by the kind that their files
have.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Mapping
from typing import Any

from swordplay.core import arguments
from swordplay.estimators.deferred_rows import DeferredRows, DictDeferredRows
from swordplay.estimators.model_settings import AUTO
from swordplay.estimators.value_types import KINDS

MODELS = {"regression": "DictRegressor", "classification": "DictClassifier"}
"""Those that can be had by what they predict: they take rows by name, and need nothing but numpy
and numba.
"""
ROOMS = {
    "DictRegressor": "dict_models",
    "DictClassifier": "dict_models",
    "SwordRegressor": "sklearn_regressors",
    "SwordClassifier": "sklearn_classifier",
    "SwordAggregator": "sklearn_regressors",
    "river.SwordRegressor": "river",
    "river.SwordClassifier": "river",
}
"""Where they are, by kind; imported when one is needed."""


def estimator(kind: Any) -> Any:
    """The class of a kind."""
    if kind not in ROOMS:
        raise ValueError(
            f"the estimator is {arguments.short_repr(kind)}, and should be one of "
            f"{', '.join(ROOMS)}."
        )
    return getattr(
        importlib.import_module(f"swordplay.estimators.{ROOMS[kind]}"), kind.rpartition(".")[2]
    )


def askable(model: Any) -> DeferredRows:
    """An estimator as it is asked; a new one for what it is to predict."""
    if isinstance(model, str) and model in MODELS:
        model = estimator(MODELS[model])()
    asked = getattr(model, "askable", None)
    if asked is None or isinstance(model, type):
        raise TypeError(
            "model must be an estimator of swordplay.sklearn or swordplay.river, or "
            f"{' or '.join(map(repr, MODELS))}, "
            f"got {arguments.short_repr(model)} ({type(model).__name__})."
        )
    return asked()  # type: ignore[no-any-return]  # asked of anything by its name


def declare(asks: DeferredRows, columns: Mapping[str, str]) -> None:
    """Say what columns hold before their first values come."""
    if not isinstance(asks, DictDeferredRows):
        raise ValueError(
            "columns are for rows by name: leave columns out, or use an estimator that takes these."
        )
    if not isinstance(columns, Mapping):
        raise TypeError(
            f"columns must say what columns hold, such as {{'day': 'date'}}, got "
            f"{arguments.short_repr(columns)}."
        )
    for name, kind in columns.items():
        if type(name) is not str or not isinstance(kind, str) or kind not in KINDS:
            raise ValueError(
                f"columns must say one of {', '.join(KINDS)} of a name, got "
                f"{arguments.short_repr({name: kind})}."
            )
    asks.rows.kinds.update(columns)


def truths(asks: DeferredRows, ys: list[Any]) -> list[Any]:
    """Answers made clean, each as :meth:`DeferredRows.truth` does it.

    Those that are plainly right are not looked at one by one.
    """
    plain = not asks.of_classes and len(ys) > 1 and set(map(type, ys)) == {float}
    if (
        plain
        and math.isfinite(sum(ys))
        and min(ys) >= -arguments.LARGEST_INPUT
        and max(ys) <= arguments.LARGEST_INPUT
    ):
        return ys
    found = list(map(asks.truth, ys))
    asks.agree(found)
    return found


def lags(model: Any) -> int:
    """How many of the last targets join the columns of the first-order model of an estimator."""
    found = getattr(model, "lags", 0)
    return 0 if found == AUTO else int(found)
