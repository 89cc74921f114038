"""The shipped streams and those that come with river, and three forecasters for each."""

from __future__ import annotations

from datetime import datetime
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from swordplay import datasets


class Stream(NamedTuple):
    """Rows in time order and forecasts that were each made before their truth was known."""

    name: str
    rows: Any
    truths: Any
    forecasts: dict[str, Any]


def tables() -> dict[str, tuple[Any, Any]]:
    """Columns and targets by name."""
    found = {name: (data.features, data.targets) for name, data in _shipped().items()}
    electricity = datasets.electricity()
    for target in ("nswdemand", "nswprice", "transfer"):
        place = electricity.names.index(target)
        found[f"electricity, {target}"] = (
            np.delete(electricity.features, place, axis=1),
            electricity.features[:, place],
        )
    river = import_module("river.datasets")
    for name in ("TrumpApproval", "WaterFlow", "SP500Stocks", "ChickWeights"):
        pairs = list(getattr(river, name)())
        rows = [[_number(value) for value in features.values()] for features, _ in pairs]
        found[name] = np.array(rows), np.array([float(target) for _, target in pairs])
    return {
        name: (np.ascontiguousarray(rows, dtype=np.float64), np.array(truths))
        for name, (rows, truths) in found.items()
    }


def _shipped() -> dict[str, Any]:
    return {"bikes": datasets.bikesharing(), "sulfur": datasets.sulfur()}


def _number(value: Any) -> float:
    return value.timestamp() if isinstance(value, datetime) else float(value)


def ours(rows: Any, truths: Any) -> Any:
    """SwordRegressor as it comes."""
    return import_module("swordplay.sklearn").SwordRegressor().predict_then_learn(rows, truths)


def last_value(rows: Any, truths: Any) -> Any:
    """The last truth again."""
    return np.concatenate([[0.0], truths[:-1]])


def river_model(rows: Any, truths: Any) -> Any:
    """river's scaler and its passive-aggressive regression.

    Its plain linear regression explodes on three of the streams.
    """
    scaler, linear = import_module("river.preprocessing"), import_module("river.linear_model")
    model = scaler.StandardScaler() | linear.PARegressor()
    said = []
    for row, truth in zip(rows.tolist(), truths.tolist(), strict=True):
        features = dict(enumerate(row))
        said.append(model.predict_one(features))
        model.learn_one(features, truth)
    return np.array(said)


FORECASTERS = {"SwordRegressor": ours, "last value": last_value, "river": river_model}


def streams(names: tuple[str, ...] | None = None) -> list[Stream]:
    """All of them, or those of the names."""
    return [
        Stream(
            name,
            rows,
            truths,
            {who: forecast(rows, truths) for who, forecast in FORECASTERS.items()},
        )
        for name, (rows, truths) in tables().items()
        if names is None or name in names
    ]
