"""Second-order experts of three classes or more: whole or row by row, saved, damaged, and worth
their while.
"""

import numpy as np
import pytest

from swordplay.estimators.class_model import ClassModel
from swordplay.estimators.class_probabilities import ClassLayers
from swordplay.estimators.linear_model import LinearModel
from swordplay.estimators.second_order_layer import SecondOrderLayer

AUTO = {"loss": "logistic", "lags": "auto", "curves": "auto"}


def table(rows=240, seed=0):
    """Three rings, the third of which comes late; some entries are missing."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 3))
    labels = np.digitize(np.hypot(X[:, 0], X[:, 1]), [0.8, 1.5])
    labels[:60] = np.minimum(labels[:60], 1)
    return X, labels


def make(classes=3):
    return ClassModel(lambda: LinearModel(3, **AUTO), classes)


def bits(model):
    return {name: np.asarray(value).tobytes() for name, value in model.state().items()}


def test_rows_one_by_one_give_the_bits_of_whole_tables():
    X, labels = table()
    X[::9, 1] = np.nan
    whole, single = make(), make()
    chances = whole.predict_then_learn(X, labels)
    for t, label in enumerate(labels.tolist()):
        np.testing.assert_allclose(single.predict(X[t][None])[0], chances[t], atol=1e-12)
        single.predict_then_learn(X[t][None], np.array([label]))
    assert bits(whole) == bits(single)
    assert sorted(whole.calibration.layers.by_class) == [0, 1, 2]
    again = make()
    again.load_state(whole.state())
    np.testing.assert_array_equal(
        again.predict_then_learn(X, labels), whole.predict_then_learn(X, labels)
    )


def test_each_is_the_layer_of_two_classes_without_lags():
    X, labels = table()
    layers, scores = (
        ClassLayers(3, intercept=True, curves=16),
        np.random.default_rng(1).normal(size=(240, 3)),
    )
    answer = layers.learn(X, labels, None, scores, np.empty((0, 0)))
    for k in range(3):
        first = int((labels == k).argmax())  # before its first row a class has none
        alone = SecondOrderLayer(3, logistic=True, intercept=True, lags=0)
        truths = (labels[first:] == k).astype(float)
        wanted = alone.learn(
            X[first:], truths, None, scores[first:, k].copy(), np.ones((240 - first, 2))
        )
        np.testing.assert_array_equal(answer[first:, k], wanted)
        np.testing.assert_array_equal(answer[:first, k], scores[:first, k])


def test_curves_tell_rings_apart():
    X, labels = table(3000)
    straight = ClassModel(lambda: LinearModel(3, loss="logistic"), 3)
    wrong = [
        np.mean(model.predict_then_learn(X, labels).argmax(axis=1)[1000:] != labels[1000:])
        for model in (make(), straight)
    ]
    assert wrong[0] < 0.5 * wrong[1]


def test_columns_may_join_and_too_many_classes_or_columns_do_without():
    X, labels = table()
    model = make()
    model.predict_then_learn(X, labels)
    model.widen(5)
    wide = np.hstack([X, np.ones((240, 2))])
    assert np.isfinite(model.predict_then_learn(wide, labels)).all()
    assert {layer.dim for layer in model.calibration.layers.by_class.values()} == {5}
    model.grow(17)
    assert model.calibration.layers is None
    assert np.isfinite(model.predict_then_learn(wide, labels)).all()
    other = make()
    other.widen(65)
    assert other.calibration.layers is None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("layers", 2),
        ("layers", 4),
        ("layer.7.lag_behind", np.zeros(5)),
        ("layer.1.lag_behind", np.full(5, 15.0)),
    ],
)
def test_damaged_layers_are_refused(name, value):
    X, labels = table()
    model = make()
    model.predict_then_learn(X, labels)
    with pytest.raises(ValueError, match="state"):
        make().load_state(model.state() | {f"calibration.{name}": value})
