"""Settings that are changed in mid-stream: applied, or refused with the remedy, for every
parameter of every estimator.
"""

import numpy as np
import pandas as pd
import pytest

from swordplay import river, sklearn
from swordplay.estimators.saved_model import parameter_names

X = np.random.default_rng(0).normal(size=(30, 2))
OTHERS = {
    "loss": "huber",
    "radius": 3.0,
    "memory": 50.0,
    "clip": 2.0,
    "standardize": False,
    "intercept": False,
    "lags": 2,
    "encode": True,
    "curves": None,
}
NONSENSE = {
    "loss": "absolute",
    "radius": -1.0,
    "memory": 0.0,
    "clip": float("nan"),
    "lags": -1,
    "curves": "some",
}


def targets(kind):
    return (X[:, 0] > 0).astype(int) if kind.__name__ == "SwordClassifier" else X[:, 0]


CASES = [
    (kind, name)
    for library in (sklearn, river)
    for kind in (getattr(library, one) for one in library.__all__ if one.startswith("Sword"))
    for name in parameter_names(kind)
]


@pytest.mark.parametrize(
    ("kind", "name"), CASES, ids=lambda one: one if isinstance(one, str) else one.__module__
)
def test_every_parameter(kind, name, tmp_path):
    (_river if issubclass(kind, river.SwordRegressor | river.SwordClassifier) else _sklearn)(
        kind, name, tmp_path / "x"
    )


def _sklearn(kind, name, path):
    y = targets(kind)
    for value in (OTHERS[name], NONSENSE.get(name, OTHERS[name])):
        model = kind().fit(X, y)
        before = model.predict(X)
        was = getattr(model, name)
        model.set_params(**{name: value})
        for call in (
            lambda model=model: model.partial_fit(X, y),
            lambda model=model: model.predict(X),
            lambda model=model: model.predict_then_learn(X, y),
            lambda model=model: model.effective_step_size_,
            lambda model=model: model.save(path),
        ):
            with pytest.raises(
                ValueError,
                match=rf"{name} was .* when learning began and is .* now\. Set it back, or",
            ):
                call()
        assert not path.exists()
        model.set_params(**{name: was})
        np.testing.assert_array_equal(model.predict(X), before)
    model.set_params(**{name: OTHERS[name]}).fit(X, y).partial_fit(X, y)
    model.save(path)
    assert getattr(kind.load(path), name) == OTHERS[name]
    np.testing.assert_array_equal(
        model.predict(X), kind(**{name: OTHERS[name]}).fit(X, y).partial_fit(X, y).predict(X)
    )
    path.unlink()


def _river(kind, name, path):
    y = targets(kind).tolist()
    rows = [dict(zip("ab", row, strict=True)) for row in X.tolist()]
    fresh = kind()
    if name in NONSENSE:
        with pytest.raises(ValueError, match=name):
            setattr(fresh, name, NONSENSE[name])
    setattr(fresh, name, OTHERS[name])  # nothing was learned yet: applied
    made, learned = kind(**{name: OTHERS[name]}), kind()
    for x, target in zip(rows, y, strict=True):
        for model in (fresh, made, learned):
            model.learn_one(x, target)
    assert fresh.predict_one(rows[0]) == made.predict_one(rows[0])
    was = getattr(learned, name)
    with pytest.raises(
        ValueError,
        match=rf"{name} is .* and cannot become .* has learned already\. Make a new one with clone",
    ):
        setattr(learned, name, OTHERS[name])
    assert getattr(learned, name) == was
    setattr(learned, name, was)
    learned.save(path)
    assert kind.load(path).predict_one(rows[0]) == learned.predict_one(rows[0])
    assert getattr(learned.clone({name: OTHERS[name]}), name) == OTHERS[name]
    path.unlink()


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["2024-01-01", "2024-01-02"], dtype="M8[D]"),
        np.array([1, 2], dtype="m8[s]"),
        np.array([b"a", b"b"]),
        np.array([(1,), (2,)], dtype=[("a", int)]),
    ],
    ids=lambda labels: str(labels.dtype),
)
def test_labels_that_could_not_be_saved_are_refused_at_once(labels):
    y = labels[(X[:, 0] > 0).astype(int)]
    model = sklearn.SwordClassifier()
    with pytest.raises((ValueError, TypeError)):
        model.fit(X, y)
    assert vars(model) == model.get_params()
    fitted = sklearn.SwordClassifier().fit(X, X[:, 0] > 0)
    for call in (fitted.partial_fit, fitted.predict_then_learn):
        with pytest.raises((ValueError, TypeError)):
            call(X, y)


@pytest.mark.parametrize(
    "labels", [[0, 1], [1.0, 2.0], [True, False], ["a", "b"], ["", "\ud800"]], ids=repr
)
def test_labels_that_are_accepted_can_be_saved(labels, tmp_path):
    y = np.array(labels)[(X[:, 0] > 0).astype(int)]
    for kinds in (y, y.astype(object)) if isinstance(labels[0], str) else (y,):
        model = sklearn.SwordClassifier().fit(X, kinds)
        model.save(tmp_path / "x")
        assert (
            sklearn.SwordClassifier.load(tmp_path / "x").classes_.tolist()
            == model.classes_.tolist()
        )
    other = river.SwordClassifier()
    other.learn_many(pd.DataFrame(X, columns=["a", "b"]), pd.Series(y))
    other.save(tmp_path / "x")
    assert river.SwordClassifier.load(tmp_path / "x").classes_ == other.classes_


def test_an_integer_label_that_json_would_not_read_back():
    model = river.SwordClassifier()
    with pytest.raises(ValueError, match="y must"):
        model.learn_one({"a": 1.0}, 10**700)


def test_labels_are_handed_out_as_copies():
    model = sklearn.SwordClassifier().fit(X, X[:, 0] > 0)
    before = model.predict(X)
    model.classes_[:] = [True, False]
    np.testing.assert_array_equal(model.predict(X), before)
    with pytest.raises(AttributeError):
        model.classes_ = np.array([1, 2])
    assert not hasattr(sklearn.SwordClassifier(), "classes_")
    other = river.SwordClassifier()
    other.learn_one({"a": 1.0}, "x")
    other.classes_.append("y")
    assert other.classes_ == ["x"]


@pytest.mark.parametrize(
    "names", [[1, 2], [1, "a"], [("x", 1), ("y", 2)], [True, "a"], [2.5, None]], ids=repr
)
def test_names_of_any_type(names):
    """A batch gives the same model as its rows one by one."""
    batch, single = river.SwordRegressor(), river.SwordRegressor()
    batch.learn_many(
        pd.DataFrame(X, columns=pd.Index(names, dtype=object, tupleize_cols=False)),
        pd.Series(X[:, 0]),
    )
    for row in X.tolist():
        single.learn_one(dict(zip(names, row, strict=True)), row[0])
    row = dict(zip(names, [0.3, 0.4], strict=True))
    assert batch.predict_one(row) == single.predict_one(row)
