"""Many keys: interleaved rows, folders that are saved and opened, new keys from a trained model,
keys that expire.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from worlds.reference_cases import Cases


def panel(
    count: int = 4000, keys: int = 30, columns: int = 3, *, seed: int = 100
) -> tuple[Any, Any, Any]:
    """Rows of keys in a seeded order; some keys are rare."""
    rng = np.random.default_rng(seed)
    key = np.array([f"key {k:03d}" for k in np.minimum(rng.geometric(2.0 / keys, count), keys)])
    X = rng.normal(size=(count, columns)) * [1.0, 100.0, 0.01][:columns]
    side = np.array([1.0 if name[-1] in "02468" else -1.0 for name in key])
    y = (
        5 * side
        + side * X[:, 0]
        + np.cos(np.arange(count) / 700) * X[:, 1] / 100
        + 0.2 * rng.normal(size=count)
    )
    return key, X, y


def regression(settings: Mapping[str, Any], folder: Path) -> Mapping[str, Any]:
    """Learned in three parts, with a folder between them, and asked."""
    from swordplay.keyed import Keyed

    key, X, y = panel()
    model = Keyed(**settings)
    first = model.predict_then_learn(key[:1500], X[:1500], y[:1500], now=1)
    model.save(folder / "keys")
    model = Keyed.load(folder / "keys")
    second = model.predict_then_learn(key[1500:2500], X[1500:2500], y[1500:2500], now=2)
    model.save(folder / "keys")
    third = model.predict_then_learn(key[2500:3900], X[2500:3900], y[2500:3900], now=4)
    ahead = model.predict(key[3900:], X[3900:])
    known = model.keys()
    one = model.model("key 002")
    model.expire(1)
    return {
        "first": first,
        "second": second,
        "third": third,
        "ahead": ahead,
        "keys": known,
        "left": len(model.keys()),
        "coef": one.coef_,
        "intercept": one.intercept_,
        "certificate": one.certificate_,
        "weights": one.weights_,
        "then": one.predict_then_learn(X[:50], y[:50]),
    }


def classification(kinds: int, settings: Mapping[str, Any], folder: Path) -> Mapping[str, Any]:
    """Two or more classes, as labels and probabilities."""
    from swordplay.keyed import Keyed

    key, X, y = panel(2500, 12, seed=101)
    labels = np.array(["low", "middle", "high"])[
        np.digitize(y, [0.0] if kinds == 2 else [-4.0, 4.0])
    ]
    model = Keyed("classification", classes=sorted(set(labels)), **settings)
    said = model.predict_proba_then_learn(key[:1200], X[:1200], labels[:1200])
    model.save(folder / "keys")
    model = Keyed.load(folder / "keys")
    model.predict_then_learn(key[1200:2400], X[1200:2400], labels[1200:2400])
    one = model.model("key 001")
    return {
        "said": said,
        "ahead": model.predict_proba(key[2400:], X[2400:]),
        "one": one.predict_proba(X[:30]),
    }


def started(settings: Mapping[str, Any], _folder: Path) -> Mapping[str, Any]:
    """New keys begin as a model that was trained on other rows."""
    from swordplay.keyed import Keyed
    from swordplay.sklearn import SwordRegressor

    key, X, y = panel(1200, 40, seed=102)
    start = SwordRegressor(**settings)
    start.partial_fit(X[:400], y[:400])
    model = Keyed(start=start, **settings)
    return {
        "said": model.predict_then_learn(key[400:], X[400:], y[400:]),
        "one": model.model("key 003").coef_,
    }


def frames(settings: Mapping[str, Any], _folder: Path) -> Mapping[str, Any]:
    """Columns by name, that of a key being whole numbers."""
    import pandas as pd

    from swordplay.keyed import Keyed

    key, X, y = panel(1000, 8, seed=103)
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    number = np.array([int(name[4:]) for name in key])
    model = Keyed(**settings)
    return {
        "said": model.predict_then_learn(number, table, y),
        "ahead": model.predict(number[:40], table[:40]),
    }


CHEAP: dict[str, Any] = {"lags": 0, "curves": None}
"""Models of first order."""

CASES: Cases = {
    "regression": partial(regression, CHEAP),
    "regression, huber": partial(regression, CHEAP | {"loss": "huber"}),
    "regression, lags of 2, one thread": partial(regression, CHEAP | {"lags": 2, "threads": 1}),
    "classification, 2 classes": partial(classification, 2, CHEAP),
    "classification, 3 classes": partial(classification, 3, CHEAP),
    "from a trained model": partial(started, CHEAP),
    "frames": partial(frames, CHEAP | {"lags": 2}),
    "whole models, regression": partial(regression, {}),
    "whole models, regression, huber": partial(regression, {"loss": "huber"}),
    "whole models, classification, 2 classes": partial(classification, 2, {}),
    "whole models, classification, 3 classes": partial(classification, 3, {}),
    "whole models, from a trained model": partial(started, {}),
    "whole models, frames": partial(frames, {"lags": 2}),
}
