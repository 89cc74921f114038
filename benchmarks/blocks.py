"""How good `fit` then `predict` is on a block, beside scikit-learn's own: `python -m
benchmarks.blocks`.

For each table: the median and the lowest R² (numbers) or the mean log loss and accuracy (classes)
of `TimeSeriesSplit(5)` and of `KFold(5, shuffle=True)`, and the score on the very rows that were
learned. "next row" is what `predict` says by the stream's own decision, as it does after
`partial_fit`; "stream" predicts each row before learning it, by `PrequentialSplit(5)` with
`prequential_score`. Every table comes along with an installed package; nothing is downloaded.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from river import datasets as streams
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris
from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier, SGDRegressor
from sklearn.model_selection import KFold, TimeSeriesSplit, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from swordplay import datasets
from swordplay.sklearn import PrequentialSplit, SwordClassifier, SwordRegressor, prequential_score


class NextRowRegressor(SwordRegressor):
    """Answers by the stream's own decision, after `fit` as well."""

    def _fit_rows(self, rows: Any, targets: Any) -> None:
        self._learn_rows(rows, targets)


class NextRowClassifier(SwordClassifier):
    """The same for classes."""

    def _fit_rows(self, rows: Any, targets: Any) -> None:
        self._learn_rows(rows, targets)


def shuffled(X: Any, y: Any) -> tuple[Any, Any]:
    order = np.random.default_rng(0).permutation(len(y))
    return np.ascontiguousarray(X[order]), y[order]


def of_river(dataset: Any) -> tuple[Any, Any]:
    rows = [([float(v) for v in x.values() if isinstance(v, int | float)], y) for x, y in dataset]
    return np.array([x for x, _ in rows]), np.array([y for _, y in rows])


def made(kind: str, rows: int = 3000) -> tuple[Any, Any]:
    rng = np.random.default_rng(5)
    X, walk = rng.normal(size=(rows, 5)), rng.normal(size=(rows, 5)).cumsum(axis=0) / 10
    noise, before, after = (
        rng.normal(size=rows),
        [1.0, 2.0, -1.0, 0.0, 0.5],
        [-1.0, 1.0, 1.0, 2.0, 0.5],
    )
    coefficients = (
        walk if kind == "walk" else np.where(np.arange(rows)[:, None] < rows // 2, before, after)
    )
    return X, (X * coefficients).sum(axis=1) + noise


def numbers() -> Iterator[tuple[str, tuple[Any, Any]]]:
    bikes, power = datasets.bikesharing(), datasets.electricity()
    demand = power.names.index("nswdemand")
    yield "diabetes, shuffled", shuffled(*load_diabetes(return_X_y=True))
    yield (
        "cancer's radius, shuffled",
        shuffled(load_breast_cancer().data[:, 3:], load_breast_cancer().data[:, 0]),
    )
    yield "bikes, every 13th hour, shuffled", shuffled(bikes.features[::13], bikes.targets[::13])
    yield (
        "bikes, every 13th hour",
        (np.ascontiguousarray(bikes.features[::13]), bikes.targets[::13]),
    )
    yield "bikes, first 6,000 hours", (bikes.features[:6000], bikes.targets[:6000])
    yield (
        "electricity's demand, 8,000 rows",
        (np.delete(power.features[:8000], demand, axis=1), power.features[:8000, demand]),
    )
    yield "Trump's approval", of_river(streams.TrumpApproval())
    yield "coefficients walk at random", made("walk")
    yield "coefficients break half-way", made("break")


def classes() -> Iterator[tuple[str, tuple[Any, Any]]]:
    power = datasets.electricity()
    yield "iris, shuffled", shuffled(*load_iris(return_X_y=True))
    yield "cancer, shuffled", shuffled(*load_breast_cancer(return_X_y=True))
    yield (
        "digits, 600 shuffled",
        tuple(part[:600] for part in shuffled(*load_digits(return_X_y=True))),
    )  # type: ignore[misc]
    yield "phishing", of_river(streams.Phishing())
    yield "electricity, 8,000 rows", (power.features[:8000], power.targets[:8000].astype(int))


def show(name: str, model: Any, X: Any, y: Any, scorings: tuple[str, ...]) -> None:
    cells = []
    for cv in (TimeSeriesSplit(5), KFold(5, shuffle=True, random_state=0)):
        for scoring in scorings:
            found = cross_val_score(model, X, y, cv=cv, scoring=scoring)
            cells.append(f"{np.median(found):7.3f} ({found.min():6.2f})")
    cells.append(f"{model.fit(X, y).score(X, y):7.3f}")
    print(f"    {name:12}" + " ".join(cells), flush=True)


def main() -> None:
    warnings.simplefilter("ignore")  # of peers that would like more iterations
    print(
        "R2: median (lowest) of TimeSeriesSplit(5) | of KFold(5, shuffle=True) | on the same rows"
    )
    for name, (X, y) in numbers():
        print(f"{name} {X.shape}")
        for model, what in ((Ridge(), "ridge"), (SGDRegressor(random_state=0), "SGD")):
            show(what, make_pipeline(StandardScaler(), model), X, y, ("r2",))
        show("next row", NextRowRegressor(), X, y, ("r2",))
        show("fit", SwordRegressor(), X, y, ("r2",))
        found = cross_val_score(
            SwordRegressor(), X, y, cv=PrequentialSplit(5), scoring=prequential_score
        )
        print(f"    stream      {np.median(found):7.3f} ({found.min():6.2f})")
    print(
        "accuracy and -log loss: median (lowest) of the one | of the other | accuracy on the same "
        "rows"
    )
    for name, (X, y) in classes():
        print(f"{name} {X.shape}")
        peers = (
            (LogisticRegression(max_iter=500), "logistic"),
            (SGDClassifier(loss="log_loss", random_state=0), "SGD"),
        )
        for model, what in peers:
            show(what, make_pipeline(StandardScaler(), model), X, y, ("accuracy", "neg_log_loss"))
        show("next row", NextRowClassifier(), X, y, ("accuracy", "neg_log_loss"))
        show("fit", SwordClassifier(), X, y, ("accuracy", "neg_log_loss"))
        found = cross_val_score(
            SwordClassifier(), X, y, cv=PrequentialSplit(5), scoring=prequential_score
        )
        print(f"    stream      {np.median(found):7.3f} ({found.min():6.2f})")


if __name__ == "__main__":
    main()
