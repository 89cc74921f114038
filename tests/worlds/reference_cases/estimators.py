"""Estimators for scikit-learn: every parameter, every way to learn, frames, sparse rows,
intervals and sets.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from worlds.reference_cases import Cases
from worlds.reference_cases.rows import Rows, frame, labels, numbers

SHOWN = (
    "coef_",
    "intercept_",
    "lag_coef_",
    "weights_",
    "step_sizes_",
    "effective_step_size_",
    "certificate_",
    "coef_names_",
    "classes_",
)


def shown(model: Any) -> dict[str, Any]:
    """What a model says of itself; attributes that this kind has not are left out."""
    found = {}
    for name in SHOWN:
        try:
            found[name] = getattr(model, name)
        except (AttributeError, NotImplementedError):
            continue
    if hasattr(model, "certificate"):
        found["certificate of 2"] = model.certificate(2.0)
    if hasattr(model, "summary"):
        found["numbers of the summary"] = summary_numbers(model.summary())
    return {name: value for name, value in found.items() if value is not None}


def summary_numbers(text: str) -> list[float]:
    """Numbers in a text, in their order; the words around them may change."""
    import re

    return sorted(
        float(number) for number in re.findall(r"(?<![\w.])-?\d+\.\d+(?:e[+-]?\d+)?", text)
    )


def _answers(model: Any, X: Any) -> dict[str, Any]:
    found = {"predict": model.predict(X)}
    if hasattr(model, "predict_proba"):
        found["probabilities"] = model.predict_proba(X)
    return found


def _then_learn(model: Any, X: Any, y: Any) -> Any:
    return (
        model.predict_proba_then_learn(X, y)
        if hasattr(model, "predict_proba")
        else model.predict_then_learn(X, y)
    )


def stream(make: Any, rows: Any, folder: Path) -> Mapping[str, Any]:
    """Predicted and learned in two calls with a save and a load between them, then a block to
    come.
    """
    X, y = rows()
    model, half, rest = make(), len(y) // 2, len(y) - 20
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # remarks on columns of frames
        first = _then_learn(model, X[:half], y[:half])
        model.save(folder / "model.ckpt")
        model = type(model).load(folder / "model.ckpt")
        second = _then_learn(model, X[half:rest], y[half:rest])
        return {"first": first, "second": second, **_answers(model, X[rest:]), **shown(model)}


def partial_fits(make: Any, rows: Any, _folder: Path) -> Mapping[str, Any]:
    """Learned by `partial_fit`, in batches of many sizes and with weights, then predicted."""
    X, y = rows()
    model, rng, first = make(), np.random.default_rng(73), 0
    classes = {"classes": np.unique(y)} if hasattr(model, "predict_proba") else {}
    while first < len(y) - 20:
        last = min(first + int(rng.choice([1, 2, 7, 60, 200])), len(y) - 20)
        weights = rng.choice([0.0, 1.0, 2.5], last - first) if rng.random() < 0.5 else None
        model.partial_fit(X[first:last], y[first:last], sample_weight=weights, **classes)
        classes, first = {}, last
    return {**_answers(model, X[-20:]), **shown(model), "score": model.score(X[-20:], y[-20:])}


def fitted(make: Any, rows: Any, _folder: Path) -> Mapping[str, Any]:
    """`fit` and a block to come, then some rows more."""
    X, y = rows()
    model, split = make(), len(y) * 2 // 3
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X[:split], y[:split])
        found = {"after fit": _answers(model, X[split:]), **shown(model)}
        found["then"] = _then_learn(model, X[split:], y[split:])
    return found


def with_intervals(make: Any, rows: Any, _folder: Path) -> Mapping[str, Any]:
    """Intervals of two levels beside the predictions, one asked for late."""
    X, y = rows()
    model, half = make(), len(y) // 2
    predictions, intervals = model.predict_interval_then_learn(X[:half], y[:half], level=0.9)
    more, narrower = model.predict_interval_then_learn(X[half:-20], y[half:-20], level=0.5)
    ahead = model.predict_interval(X[-20:], level=0.9)
    return {
        "predictions": predictions,
        "more": more,
        "intervals": intervals,
        "narrower": narrower,
        "ahead": ahead,
    }


def intervals_after_fit(make: Any, rows: Any, _folder: Path) -> Mapping[str, Any]:
    """Intervals of a block to come, by the last residuals."""
    X, y = rows()
    model = make().fit(X[:-50], y[:-50])
    return {
        "predictions": model.predict(X[-50:]),
        "intervals": model.predict_interval(X[-50:], level=0.8),
    }


def with_sets(rows: Any, _folder: Path) -> Mapping[str, Any]:
    """Sets of labels."""
    from swordplay.sklearn import SwordClassifier

    X, y = rows()
    model = SwordClassifier()
    best, sets = model.predict_set_then_learn(X[:-20], y[:-20], level=0.9)
    return {"best": best, "sets": sets, "ahead": model.predict_set(X[-20:], level=0.8)}


def _regressor(**settings: Any) -> Any:
    def make() -> Any:
        from swordplay.sklearn import SwordRegressor

        return SwordRegressor(**settings)

    return make


def _classifier(**settings: Any) -> Any:
    def make() -> Any:
        from swordplay.sklearn import SwordClassifier

        return SwordClassifier(**settings)

    return make


def aggregated(settings: Mapping[str, Any], folder: Path) -> Mapping[str, Any]:
    """A mixture of forecasters that take turns in being right; one of them is wild now and then."""
    from swordplay.sklearn import SwordAggregator

    rng = np.random.default_rng(74)
    truth = np.cumsum(rng.normal(size=800))
    forecasts = truth[:, None] + rng.normal(size=(800, 4)) * np.array([0.5, 1.0, 2.0, 0.7])
    forecasts[400:, 0] += 5.0
    forecasts[::111, 3] = 1e5
    model = SwordAggregator(**settings)
    first = model.predict_then_learn(forecasts[:500], truth[:500])
    model.save(folder / "mixture.ckpt")
    model = type(model).load(folder / "mixture.ckpt")
    second, intervals = model.predict_interval_then_learn(forecasts[500:], truth[500:], level=0.9)
    return {
        "first": first,
        "second": second,
        "intervals": intervals,
        "weights": model.weights_,
        "step": model.effective_step_size_,
    }


def shipped(name: str, make: Any, count: int, _folder: Path) -> Mapping[str, Any]:
    """The first rows of a stream that comes with the package."""
    data = dataset(name)
    model = make()
    return {"answers": _then_learn(model, data.X[:count], data.y[:count]), **shown(model)}


def dataset(name: str) -> Rows:
    """A shipped stream; its module moves once."""
    try:
        from swordplay import datasets
    except ImportError:
        from swordplay import datasets
    data = getattr(datasets, name)()
    return Rows(data.features, data.targets)


def sparse_rows() -> Rows:
    """Rows of mostly zeros, as scipy has them."""
    from scipy.sparse import csr_matrix

    rng = np.random.default_rng(75)
    X = rng.normal(size=(300, 30)) * (rng.random((300, 30)) < 0.1)
    return Rows(csr_matrix(X), X[:, 0] - 2 * X[:, 1] + 0.1 * rng.normal(size=300))


def with_missing_encoded() -> Rows:
    """Strings of a plain `read_csv`: dates, percentages, gaps."""
    table, y = frame(300, seed=76)
    return Rows(table.assign(when=table["when"].dt.strftime("%d/%m/%Y %H:%M")), y)


def prequential(_folder: Path) -> Mapping[str, Any]:
    """Prequential predictions, scores and splits, also of a pipeline's last step."""
    from sklearn.model_selection import cross_val_score

    from swordplay.sklearn import (
        PrequentialSplit,
        SwordRegressor,
        make_prequential_scorer,
        prequential_predict,
        prequential_score,
    )

    X, y = numbers(300)
    split = PrequentialSplit(4, block=40)
    return {
        "predictions": prequential_predict(SwordRegressor(), X, y),
        "score": prequential_score(SwordRegressor(), X, y, scoring="neg_mean_absolute_error"),
        "splits": [len(part) for pair in split.split(X) for part in pair],
        "crossed": cross_val_score(
            SwordRegressor(curves=None),
            X,
            y,
            cv=split,
            scoring=make_prequential_scorer("neg_mean_squared_error"),
        ),
    }


def encoder(missing: str, _folder: Path) -> Mapping[str, Any]:
    """Columns that `TableEncoder` makes of a frame."""
    from swordplay.sklearn import TableEncoder

    table, _ = frame(200)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = TableEncoder(missing=missing)
        first = model.fit_transform(table[:150])
        second = model.transform(table[150:])
    return {
        "names": model.get_feature_names_out(),
        "first": np.asarray(first, float),
        "second": np.asarray(second, float),
    }


REGRESSORS: dict[str, dict[str, Any]] = {
    "as it comes": {},
    "first order": {"lags": 0, "curves": None},
    "lags of 3": {"lags": 3},
    "lags of 2, linear": {"lags": 2, "curves": None},
    "rich curves": {"curves": "rich"},
    "huber": {"loss": "huber"},
    "huber, first order": {"loss": "huber", "lags": 0, "curves": None},
    "small, short memory": {"radius": 2.0, "memory": 100.0, "clip": 3.0},
    "unscaled": {"standardize": False, "intercept": False, "lags": 0, "curves": None},
}
CLASSIFIERS: dict[str, dict[str, Any]] = {
    "as it comes": {},
    "first order": {"lags": 0, "curves": None},
    "small, short memory": {"radius": 4.0, "memory": 200.0},
}

CASES: Cases = {}
for _name, _settings in REGRESSORS.items():
    CASES[f"regressor, {_name}"] = partial(stream, _regressor(**_settings), numbers)
for _name in ("as it comes", "first order", "lags of 3"):
    CASES[f"regressor, {_name}: outliers"] = partial(
        stream, _regressor(**REGRESSORS[_name]), partial(numbers, outliers=True)
    )
    CASES[f"regressor, {_name}: partial_fit"] = partial(
        partial_fits, _regressor(**REGRESSORS[_name]), numbers
    )
    CASES[f"regressor, {_name}: fit"] = partial(fitted, _regressor(**REGRESSORS[_name]), numbers)
for _kinds in (2, 3, 5):
    for _name, _settings in CLASSIFIERS.items():
        CASES[f"classifier, {_kinds} classes, {_name}"] = partial(
            stream, _classifier(**_settings), partial(labels, kinds=_kinds)
        )
    CASES[f"classifier, {_kinds} classes: partial_fit"] = partial(
        partial_fits, _classifier(), partial(labels, kinds=_kinds)
    )
    CASES[f"classifier, {_kinds} classes: fit"] = partial(
        fitted, _classifier(), partial(labels, kinds=_kinds)
    )
    CASES[f"classifier, {_kinds} classes: sets"] = partial(with_sets, partial(labels, kinds=_kinds))
CASES["classifier, 2 classes, lags of 2"] = partial(stream, _classifier(lags=2), labels)
CASES["classifier, 20 classes"] = partial(stream, _classifier(), partial(labels, kinds=20))
CASES["regressor, 70 columns"] = partial(stream, _regressor(), partial(numbers, 300, 70))
CASES["regressor, sparse rows"] = partial(stream, _regressor(), sparse_rows)
CASES["regressor, frame"] = partial(stream, _regressor(encode=True), frame)
CASES["regressor, frame of texts"] = partial(stream, _regressor(encode=True), with_missing_encoded)
CASES["regressor, frame: fit"] = partial(fitted, _regressor(encode=True), frame)
CASES["classifier, frame"] = partial(stream, _classifier(encode=True), partial(frame, kind="label"))
CASES["regressor: intervals"] = partial(with_intervals, _regressor(), numbers)
CASES["regressor, huber: intervals"] = partial(
    with_intervals, _regressor(loss="huber"), partial(numbers, outliers=True)
)
CASES["regressor: intervals after fit"] = partial(intervals_after_fit, _regressor(), numbers)
CASES["aggregator"] = partial(aggregated, {})
CASES["aggregator, absolute"] = partial(aggregated, {"loss": "huber", "memory": 200.0})
for _name, _make in (
    ("sulfur", _regressor()),
    ("bikesharing", _regressor(curves="rich")),
    ("electricity", _classifier()),
):
    CASES[f"shipped: {_name}"] = partial(shipped, _name, _make, 3000)
CASES["prequential"] = prequential
CASES["encoder"] = partial(encoder, "mean")
