"""Between the states of keys and estimators: a key as an estimator, an estimator as a beginning."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from swordplay.core.arguments import short_repr
from swordplay.core.types import State
from swordplay.estimators.class_model import ClassModel
from swordplay.estimators.labels import dump_classes
from swordplay.estimators.level_intervals import LevelIntervals
from swordplay.estimators.second_order_layer import SecondOrderLayer
from swordplay.keyed.key_bytes import KeyStates
from swordplay.keyed.key_table import NEVER, KeyTable
from swordplay.keyed.record_layout import KeyModel, RecordLayout, WarmUpRows


def estimator_of(
    table: KeyTable, number: int, names: Sequence[str] | None, classes: Any = None
) -> Any:
    """Return a key as a ``SwordRegressor`` or ``SwordClassifier``, which goes on by itself.

    Parameters
    ----------
    table, number
        The table, and the number of the key.
    names
        Of the columns; None where they have none.
    classes
        All labels of a classification.

    Raises
    ------
    ValueError
        If the state of the key is damaged.
    """
    settings = table.settings
    around: State = {"columns": settings.dim} | LevelIntervals().state()
    if names is not None:
        around["names"] = json.dumps(list(names))
    estimator = fresh_estimator(settings)
    if settings.classes:
        counts = table.class_counts[number].astype(np.float64)
        around |= {"classes": dump_classes(np.asarray(classes)), "model.counts": counts}
        _fill_class_model(estimator._resume(around), table, number)
    else:
        model = estimator._resume(around)
        (record, first), *_ = table.records(number)
        table.layout.decode(record, first, model, model.second_order)
    return type(estimator).from_state(estimator.state())  # with all checks of a saved estimator


def fresh_estimator(settings: KeyModel) -> Any:
    """Return an estimator with the settings of the keys."""
    from swordplay.estimators.sklearn_classifier import SwordClassifier
    from swordplay.estimators.sklearn_regressors import SwordRegressor

    if settings.loss == "logistic":
        return SwordClassifier(lags=settings.lags, curves=settings.curves)
    return SwordRegressor(loss=settings.loss, lags=settings.lags, curves=settings.curves)


def _fill_class_model(model: ClassModel, table: KeyTable, number: int) -> None:
    """Write the records of a key into a fresh model of as many classes."""
    counts = table.class_counts[number]
    records = table.records(number)
    layout = table.layout
    if len(records) > 1:
        for label in np.flatnonzero(counts).tolist():
            if label in model._sharing:
                model._give_own_head(label)
    model.counts = counts.astype(np.float64)
    for k, (record, first) in enumerate(records):
        layer = model.second_order
        if len(records) > 1:
            layer = _layer_of_class(model, layout, record, k)
        group, position = model.groups[model.group[k]], int(model.position[k])
        layout.decode(record, first, group, layer, position)
    if model.calibration is not None:
        model.calibration._numbers[:] = table.calibration(number)


def _layer_of_class(
    model: ClassModel, layout: RecordLayout, record: Any, label: int
) -> SecondOrderLayer | None:
    """Make the layer of a class, which it has from its first row on."""
    layers = None if model.calibration is None else model.calibration.layers
    if layers is None or not layout.has_learned(record):
        return None
    layers.by_class[label] = layers._make_layer()
    return layers.by_class[label]


def initial_states(start: Any, settings: KeyModel, layout: RecordLayout) -> KeyStates:
    """Return what an estimator has learned, as the state that every key begins with.

    Parameters
    ----------
    start
        An estimator with the settings of the keys.
    settings, layout
        Of the keys.
    """
    model = start.model_
    calibration = np.empty(0)
    encoded: list[tuple[Any, WarmUpRows]] = []
    if not settings.classes:
        encoded.append(layout.encode(model, model.second_order))
        counts = np.zeros(0)
    else:
        counts = model.counts
        layers = (
            {}
            if model.calibration is None or model.calibration.layers is None
            else (model.calibration.layers.by_class)
        )
        fresh = settings.make()[1]
        for k in range(settings.models):
            group, position = model.groups[model.group[k]], int(model.position[k])
            layer = model.second_order if settings.models == 1 else layers.get(k, fresh)
            encoded.append(layout.encode(group, layer, position))
        if model.calibration is not None:
            calibration = model.calibration.state()["numbers"]
    records = [record[None] for record, _ in encoded]
    warm_up = [first for _, first in encoded]
    one = np.zeros(1, dtype=np.int64)
    needed = any(
        layout.still_needed(record, first, one, one)[0]
        for record, first in zip(records, warm_up, strict=True)
    )
    held = max(1 + int(layout.rows_seen(record)[0]) for record in records) if needed else 0
    return KeyStates(
        last_seen=np.array([NEVER]),
        first_rows=np.array([held]),
        records=records,
        warm_up=warm_up if needed else [WarmUpRows(*(part[:0] for part in w)) for w in warm_up],
        calibrations=calibration[None],
        class_counts=counts.astype(np.int64)[None],
        intervals=np.empty((1, 0)),
    )


def require_start(start: Any, settings: KeyModel) -> Any:
    """Check an estimator that every key is to begin as, and return its classes.

    Returns None for a regression.

    Raises
    ------
    TypeError, ValueError
        If it is none, has learned nothing, or has other settings than the keys.
    """
    like = fresh_estimator(settings)
    kind = type(like).__name__
    if not isinstance(start, type(like)):
        raise TypeError(
            f"start must be a {kind} that has learned, got {short_repr(start)} "
            f"({type(start).__name__})."
        )
    for name, value in like.get_params().items():
        if getattr(start, name) != value:
            raise ValueError(
                f"start must be a {kind} with {name}={value!r}, as the keys have it, got "
                f"{short_repr(getattr(start, name))}."
            )
    if settings.loss != "logistic":
        _ = start.model_
        return None
    model, classes = start.model_, start.classes_
    if len(classes) < 2 or model.first_negated or not np.array_equal(np.unique(classes), classes):
        raise ValueError(
            "start must have known two classes or more from its first row on, got "
            f"{short_repr(classes.tolist())}, which are fewer or have joined late. Declare them "
            "all with its first rows: partial_fit(X, y, classes=[...])."
        )
    return classes
