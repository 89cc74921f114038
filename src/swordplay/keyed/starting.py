"""A trained estimator as what every key begins with."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from swordplay.core import checkpoint
from swordplay.core.arguments import short_repr
from swordplay.core.state import add_prefix, strip_prefix
from swordplay.estimators.class_model import ClassModel
from swordplay.estimators.linear_model import LinearModel
from swordplay.estimators.model_settings import LossName

KIND = "start of keys"
"""Of the checkpoint."""


class Start(NamedTuple):
    """What every key begins with."""

    models: tuple[LinearModel, ...]
    """One, or one for each of three classes or more."""
    counts: Any = 0
    """Rows learned of each class."""


def require_start(start: Any, lags: int, loss: LossName) -> tuple[Start, Any]:
    """What an estimator has learned, for every key to begin with, and its classes (None for a
    regression).

    Raises
    ------
    TypeError, ValueError
        If it is none, has learned nothing, or has other settings than the keys.
    """
    from swordplay.estimators.sklearn_classifier import SwordClassifier
    from swordplay.estimators.sklearn_regressors import SwordRegressor

    usual = (
        SwordClassifier(lags=lags, curves=None)
        if loss == "logistic"
        else SwordRegressor(loss=loss, lags=lags, curves=None)
    )
    kind = type(usual).__name__
    if not isinstance(start, type(usual)):
        raise TypeError(
            f"start must be a {kind} that has learned, got {short_repr(start)} "
            f"({type(start).__name__})."
        )
    for name, value in usual.get_params().items():
        if getattr(start, name) != value:
            raise ValueError(
                f"start must be a {kind} with {name}={value!r}, as the keys have it, got "
                f"{short_repr(getattr(start, name))}."
            )
    found = (
        Start((start.model_,))
        if loss != "logistic"
        else _of_classes(start.model_, start.classes_, lags)
    )
    return found, start.classes_ if loss == "logistic" else None


def _of_classes(model: ClassModel, classes: Any, lags: int) -> Start:
    """The heads of a classifier as models of their own."""
    if len(classes) < 2 or model.first_negated or not np.array_equal(np.unique(classes), classes):
        raise ValueError(
            "start must have known two classes or more from its first row on, got "
            f"{short_repr(classes.tolist())}, which are fewer or have joined late. Declare them "
            "all with its first rows: partial_fit(X, y, classes=[...])."
        )
    models = []
    for team, place in zip(model.group.tolist(), model.position.tolist(), strict=True):
        heads = model.groups[team]
        one = LinearModel(heads.dim, loss="logistic", lags=lags)
        one.load_state(
            heads.shared_state() | add_prefix("engine", heads.heads.learners[place].compact_state())
        )
        models.append(one)
    return Start(tuple(models), model.counts.astype(np.int64))


def saved_start(start: Start | None) -> bytes:
    """What every key begins with, as bytes; none if they begin with nothing."""
    if start is None:
        return b""
    first, *others = start.models
    state = first.state() | ({"counts": start.counts} if np.ndim(start.counts) else {})
    for number, model in enumerate(others, 1):
        state |= add_prefix(f"class{number}", model.state())
    return checkpoint.dumps(state, kind=KIND)


def load_start(data: bytes, dim: int, loss: LossName, lags: int, classes: int) -> Start | None:
    """The way back.

    Raises
    ------
    ValueError
        If it is not what keys with these settings begin with.
    """
    if not data:
        return None
    whole = checkpoint.loads(data, kind=KIND)
    counts = np.asarray(whole.get("counts", 0), dtype=np.int64)
    if counts.shape != ((classes,) if classes else ()) or (counts < 0).any():
        raise ValueError(
            f"what keys begin with has counts of shape {counts.shape} for {classes} classes."
        )
    models = []
    for number in range(classes if classes > 2 else 1):
        models.append(LinearModel(dim, loss=loss, lags=lags))
        models[-1].load_state(strip_prefix(f"class{number}", whole) if number else whole)
    return Start(tuple(models), counts if classes else 0)
