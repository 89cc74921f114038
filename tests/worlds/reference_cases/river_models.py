"""Estimators for river: rows by name, one by one and in batches, with columns that come and go
and late targets.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from worlds.reference_cases import Cases
from worlds.reference_cases.estimators import shown
from worlds.reference_cases.rows import dictionaries, labels, numbers


def _numbers_of(answer: Any) -> list[float]:
    """A prediction, or the probabilities of all labels by name."""
    if isinstance(answer, Mapping):
        return [answer[name] for name in sorted(answer, key=str)]
    return [float("nan") if answer is None else float(answer)]


def one_by_one(make: Any, rows: Any, gaps: bool, delay: int, folder: Path) -> Mapping[str, Any]:
    """Each row predicted, and learned so many rows later; saved and loaded half-way."""
    table = rows()
    model, waiting, said = make(), [], []
    for t, (x, y) in enumerate(zip(dictionaries(table, gaps=gaps), table.y.tolist(), strict=True)):
        if t == len(table.y) // 2:
            model.save(folder / "model.ckpt")
            model = type(model).load(folder / "model.ckpt")
        said.extend(
            _numbers_of(
                model.predict_proba_one(x)
                if hasattr(model, "predict_proba_one")
                else model.predict_one(x)
            )
        )
        waiting.append((x, y))
        if len(waiting) > delay:
            model.learn_one(*waiting.pop(0))
    return {"said": said, **_shown(model)}


def in_batches(make: Any, rows: Any, _folder: Path) -> Mapping[str, Any]:
    """Batches of many sizes as pandas frames."""
    import pandas as pd

    table = rows()
    frame = pd.DataFrame(np.asarray(table.X), columns=[f"x{j}" for j in range(table.X.shape[1])])
    y = pd.Series(table.y)
    model, rng, first, said = make(), np.random.default_rng(80), 0, []
    while first < len(y):
        last = min(first + int(rng.choice([1, 3, 50])), len(y))
        many = (
            model.predict_proba_many if hasattr(model, "predict_proba_many") else model.predict_many
        )
        answers = many(frame[first:last])
        order = np.argsort([str(name) for name in getattr(answers, "columns", [])]).astype(int)
        said.append(
            np.asarray(answers, dtype=float)[:, order].ravel()
            if len(order)
            else np.asarray(answers, dtype=float)
        )
        model.learn_many(frame[first:last], y[first:last])
        first = last
    return {"said": np.concatenate(said), **_shown(model)}


def sets(rows: Any, _folder: Path) -> Mapping[str, Any]:
    """Sets of labels, row by row."""
    from swordplay.river import SwordClassifier

    table = rows()
    model, sizes = SwordClassifier(), []
    for x, y in zip(dictionaries(table), table.y.tolist(), strict=True):
        answer = model.predict_set_one(x)
        sizes.append(float(len(answer)) + 100 * float(y in answer))
        model.learn_one(x, y)
    return {"sizes and hits": sizes, **_shown(model)}


def _shown(model: Any) -> dict[str, Any]:
    found = shown(model)
    if hasattr(model, "coefficients"):
        coefficients = model.coefficients
        coefficients = coefficients() if callable(coefficients) else coefficients
        found["coefficients"] = _flat(coefficients)
    return {
        name: _flat(value) if isinstance(value, Mapping) else value for name, value in found.items()
    }


def _flat(value: Any) -> Any:
    return (
        {str(name): _flat(entry) for name, entry in value.items()}
        if isinstance(value, Mapping)
        else value
    )


def _regressor(**settings: Any) -> Any:
    def make() -> Any:
        from swordplay.river import SwordRegressor

        return SwordRegressor(**settings)

    return make


def _classifier(**settings: Any) -> Any:
    def make() -> Any:
        from swordplay.river import SwordClassifier

        return SwordClassifier(**settings)

    return make


CASES: Cases = {}
for _name, _settings in {
    "as it comes": {},
    "first order": {"lags": 0, "curves": None},
    "lags of 2": {"lags": 2},
}.items():
    CASES[f"regressor, {_name}"] = partial(one_by_one, _regressor(**_settings), numbers, False, 0)
    CASES[f"regressor, {_name}: gaps"] = partial(
        one_by_one, _regressor(**_settings), numbers, True, 0
    )
    CASES[f"regressor, {_name}: late targets"] = partial(
        one_by_one, _regressor(**_settings), numbers, False, 10
    )
CASES["regressor, huber: outliers"] = partial(
    one_by_one, _regressor(loss="huber"), partial(numbers, outliers=True), False, 0
)
CASES["regressor: batches"] = partial(in_batches, _regressor(), numbers)
for _kinds in (2, 4):
    _rows = partial(labels, kinds=_kinds)
    CASES[f"classifier, {_kinds} classes"] = partial(one_by_one, _classifier(), _rows, False, 0)
    CASES[f"classifier, {_kinds} classes: gaps"] = partial(
        one_by_one, _classifier(), _rows, True, 3
    )
    CASES[f"classifier, {_kinds} classes, first order"] = partial(
        one_by_one, _classifier(lags=0, curves=None), _rows, False, 0
    )
CASES["classifier, 3 classes: batches"] = partial(
    in_batches, _classifier(), partial(labels, kinds=3)
)
CASES["classifier, 3 classes: sets"] = partial(sets, partial(labels, kinds=3))
