"""Estimators that were saved in mid-stream by the version before scalers were shared, and what they
went on to say.

``python earlier_files.py FOLDER`` writes both for every world: NAME.ckpt, saved after the first
half of its rows, and NAME-told.ckpt, the predictions of the second half and what was known at its
end.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import swordplay.river
import swordplay.sklearn
from swordplay import checkpoint

ROWS, HALF = 160, 80
KIND = "what earlier estimators said"


class World(NamedTuple):
    """An estimator, and how it plays rows from one to before another.

    Returns what it says of them.
    """

    make: Callable[[], Any]
    play: Callable[[Any, int, int], Any]


def table(columns: int, seed: int = 0) -> Any:
    """Rows whose columns lie in different places."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(ROWS, columns)) * (1.0 + np.arange(columns)) + 10.0 * np.arange(columns)


X = table(3)
SCORES = (X - 10.0 * np.arange(3)) @ np.array(
    [[1.0, -1.0, 0.3], [0.2, 0.1, -1.0], [0.5, 0.5, 0.1]]
).T
THREE = SCORES.argmax(axis=1)
LATE = np.where(
    np.arange(ROWS) < 20,
    THREE % 2,
    np.where((np.arange(ROWS) > 40) & (np.arange(ROWS) % 7 == 0), 3, THREE),
)
"""Two classes; a third one from row 20 on, a fourth from row 42 on."""
TARGETS = SCORES[:, 0] + 100.0


def classes(labels: Any, declared: Any) -> Callable[[Any, int, int], Any]:
    """Declared classes are all known from the start.

    Without any, each batch of ten rows lets new ones in.
    """

    def play(estimator: Any, first: int, stop: int) -> Any:
        said = []
        for at in range(first, stop, 10):
            part = slice(at, at + 10)
            if declared is not None and not at:
                estimator.partial_fit(X[part], labels[part], classes=declared)
                said.append(estimator.decision_function(X[part]))
            else:
                said.append(estimator.predict_proba_then_learn(X[part], labels[part]))
        return np.concatenate([part.ravel() for part in said])

    return play


def values(estimator: Any, first: int, stop: int) -> Any:
    """Predictions of a regression whose rows have weights."""
    weights = 0.5 + (np.arange(ROWS) % 3)
    return estimator.predict_then_learn(
        X[first:stop], TARGETS[first:stop], sample_weight=weights[first:stop]
    )


def named(labels: Any) -> Callable[[Any, int, int], Any]:
    """Rows with names, of which a new one joins now and then."""

    def play(estimator: Any, first: int, stop: int) -> Any:
        for t in range(first, stop):
            row = {"a": float(X[t, 0]), "b": float(X[t, 1]), f"late {t // 25}": float(X[t, 2])}
            estimator.learn_one(row, labels[t].item())
        return np.empty(0)

    return play


WORLDS = {
    "sklearn-three-classes": World(swordplay.sklearn.SwordClassifier, classes(THREE, np.arange(3))),
    "sklearn-never-seen": World(
        swordplay.sklearn.SwordClassifier, classes(2 * THREE, np.arange(6))
    ),
    "sklearn-late-classes": World(swordplay.sklearn.SwordClassifier, classes(LATE, None)),
    "sklearn-late-classes-lags": World(
        lambda: swordplay.sklearn.SwordClassifier(lags=2), classes(LATE, None)
    ),
    "sklearn-three-classes-lags": World(
        lambda: swordplay.sklearn.SwordClassifier(lags=2), classes(THREE, np.arange(3))
    ),
    "sklearn-two-classes-raw": World(
        lambda: swordplay.sklearn.SwordClassifier(standardize=False, intercept=False),
        classes(THREE % 2, np.arange(2)),
    ),
    "sklearn-regressor": World(swordplay.sklearn.SwordRegressor, values),
    "sklearn-regressor-lags": World(
        lambda: swordplay.sklearn.SwordRegressor("huber", lags=3), values
    ),
    "sklearn-regressor-raw": World(
        lambda: swordplay.sklearn.SwordRegressor(standardize=False), values
    ),
    "river-two-classes": World(swordplay.river.SwordClassifier, named(THREE == 1)),
    "river-late-classes": World(swordplay.river.SwordClassifier, named(LATE)),
    "river-late-classes-lags": World(lambda: swordplay.river.SwordClassifier(lags=1), named(LATE)),
    "river-regressor": World(swordplay.river.SwordRegressor, named(TARGETS)),
    "river-regressor-lags": World(lambda: swordplay.river.SwordRegressor(lags=2), named(TARGETS)),
}


def told(estimator: Any) -> dict[str, Any]:
    """What an estimator knows and would say next, to the last bit."""
    known = {name: np.asarray(getattr(estimator, name)) for name in ("weights_", "step_sizes_")}
    if "river" not in type(estimator).__module__:
        ask = getattr(estimator, "decision_function", estimator.predict)
        return known | {
            "coef_": estimator.coef_,
            "intercept_": np.asarray(estimator.intercept_),
            "next": ask(X[:20]),
        }
    coefficients, intercepts = estimator.coefficients, estimator.intercept_
    if isinstance(intercepts, dict):
        return known | {
            "coef_": np.array([[*one.values()] for one in coefficients.values()]),
            "intercept_": np.array([*intercepts.values()]),
        }
    asked = [{"a": float(row[0]), "b": float(row[1])} for row in X[:20]]
    return known | {
        "coef_": np.array([*coefficients.values()]),
        "intercept_": np.asarray(intercepts),
        "next": np.array([estimator.predict_one(row) for row in asked]),
    }


def main(folder: Path) -> None:
    """Write both files of every world."""
    for name, world in WORLDS.items():
        estimator = world.make()
        world.play(estimator, 0, HALF)
        estimator.save(folder / f"{name}.ckpt")
        said = world.play(estimator, HALF, ROWS)
        checkpoint.save(folder / f"{name}-told.ckpt", told(estimator) | {"said": said}, kind=KIND)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
