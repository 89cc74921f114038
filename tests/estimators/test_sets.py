"""Prediction sets of the classifier: mass above by hand, coverage, files old and new."""

import numpy as np
import pandas as pd
import pytest

from swordplay.estimators.class_probabilities import of_true_labels, probability_above
from swordplay.river import SwordClassifier as RiverClassifier
from swordplay.sklearn import SwordClassifier


def world(rows, seed=0, classes=4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 3))
    turn = np.arange(rows)[:, None] / 500
    scores = X @ rng.normal(size=(3, classes)) * np.cos(turn + np.arange(classes)) + rng.gumbel(
        size=(rows, classes)
    )
    return X, np.array(["a", "b", "c", "d", "e"])[scores.argmax(axis=1)]


def held(sets, classes, y):
    return sets[np.arange(len(y)), np.searchsorted(classes, y)]


def test_mass_above_by_hand_and_by_its_definition():
    rng = np.random.default_rng(0)
    p = rng.integers(1, 5, size=(200, 6)) / 10.0  # many ties
    for row, above in zip(p, probability_above(p), strict=True):
        np.testing.assert_allclose(above, [row[row > own].sum() for own in row])
    labels = rng.integers(6, size=200)
    assert of_true_labels(probability_above(p), labels).tolist() == [
        row[k] for row, k in zip(probability_above(p), labels, strict=True)
    ]
    assert probability_above(np.array([[0.5, 0.3, 0.2]])).tolist() == [[0.0, 0.5, 0.8]]
    two = rng.dirichlet([1.0, 1.0], size=500)
    two[:5] = 0.5, 0.5
    with_a_third = np.hstack([two, np.zeros((500, 1))])  # sorted, and the same bits
    assert np.array_equal(probability_above(two), probability_above(with_a_third)[:, :2])


@pytest.mark.parametrize("level", [0.8, 0.9, 0.95])
def test_sets_hold_their_level_and_leave_the_model_alone(level):
    X, y = world(5000)
    model, plain = SwordClassifier(), SwordClassifier()
    labels, sets = model.predict_set_then_learn(X, y, level=level)
    assert np.array_equal(labels, plain.predict_then_learn(X, y))
    assert sets.shape == (5000, 4)
    assert sets.any(axis=1).all()  # the most probable label is always there
    assert held(sets, model.classes_, y).mean() == pytest.approx(level, abs=0.003)
    assert sets.sum(axis=1).mean() < 3.6  # and not all of them


def test_every_window_is_held_to_its_level():
    X, y = world(3000, seed=3)
    y[1000:1500] = "e"  # a label that nobody has seen, all of a sudden
    model = SwordClassifier()
    _, sets = model.predict_set_then_learn(X, y)
    balance = np.concatenate([[0.0], np.cumsum(~held(sets, model.classes_, y) - 0.1)])
    assert (balance - np.minimum.accumulate(balance)).max() <= 20.0 + 1e-9


def test_after_fit_and_for_the_next_row():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(4000, 2))
    y = (X[:, 0] + rng.logistic(size=4000) > 0).astype(int)
    model = SwordClassifier().fit(X[:2000], y[:2000])
    assert held(
        model.predict_set(X[2000:], level=0.9), model.classes_, y[2000:]
    ).mean() == pytest.approx(0.9, abs=0.03)
    model.partial_fit(X[2000:2100], y[2000:2100])
    asked = model.predict_set(X[2100:2101])
    assert np.array_equal(model.predict_set_then_learn(X[2100:2101], y[2100:2101])[1], asked)
    fresh = SwordClassifier().partial_fit(X[:3], y[:3], classes=[0, 1])
    assert fresh.predict_set(X[:5]).all()  # nothing is known: all labels


def test_what_is_no_level_is_refused():
    X, y = world(50)
    model = SwordClassifier().fit(X, y)
    for level in (0.0, 1.5, "0.9"):
        with pytest.raises((ValueError, TypeError), match="level"):
            model.predict_set(X, level=level)
        with pytest.raises((ValueError, TypeError), match="level"):
            model.predict_set_then_learn(X, y, level=level)


def test_a_saved_classifier_goes_on_with_its_sets(tmp_path):
    X, y = world(400)
    model = SwordClassifier()
    model.predict_set_then_learn(X[:300], y[:300])
    model.save(tmp_path / "new.ckpt")
    other = SwordClassifier.load(tmp_path / "new.ckpt")
    expected = model.predict_set_then_learn(X[300:], y[300:])[1]
    assert np.array_equal(other.predict_set_then_learn(X[300:], y[300:])[1], expected)


def streamed(X, y, level=0.9):
    """The sets that river's classifier gives row by row, each before its row is learned.

    None where the label was new.
    """
    model, sets = RiverClassifier(), []
    for row, label in zip(X.tolist(), y.tolist(), strict=True):
        x = dict(enumerate(row))
        sets.append(model.predict_set_one(x, level) if label in model.classes_ else None)
        if sets[-1] is not None:
            assert sets[-1] == model.predict_set_one(x, level)  # asking changes nothing
            assert model.predict_one(x) in sets[-1]
        model.learn_one(x, label)
    return model, sets


def test_river_gives_the_same_sets_in_its_own_clothes():
    X, y = world(1500)
    _, sets = streamed(X, y)
    known = [k for k, found in enumerate(sets) if found is not None]
    held = np.array([y[k] in sets[k] for k in known])
    assert len(known) == 1496
    assert held.mean() == pytest.approx(0.9, abs=0.01)
    balance = np.concatenate([[0.0], np.cumsum(~held - 0.1)])
    assert (balance - np.minimum.accumulate(balance)).max() <= 20.0 + 1e-9
    # Four classes are known from the first row on in scikit-learn's clothes: beyond the first rows
    # the sets hardly differ.
    theirs = SwordClassifier().predict_set_then_learn(X, y)[1].sum(axis=1)
    assert np.mean([len(sets[k]) for k in known if k > 300]) == pytest.approx(
        theirs[301:].mean(), rel=0.05
    )


def test_river_learns_many_rows_as_it_learns_them_one_by_one():
    X, y = world(400, seed=2)
    y[150] = "e"  # a label that is new among others
    single, _ = streamed(X, y)
    many = RiverClassifier()
    many.predict_set_one({0: 0.0})
    frame = pd.DataFrame(X)
    for part in (slice(0, 1), slice(1, 3), slice(3, 400)):
        many.learn_many(frame[part], pd.Series(y[part]))
    assert list(single._intervals.by_level) == list(many._intervals.by_level) == [0.9]
    for (
        name,
        value,
    ) in (
        single._intervals.state().items()
    ):  # probabilities of one row and of many differ in their last bits
        if not name.startswith("intervals.0.settings."):
            np.testing.assert_allclose(
                many._intervals.state()[name], value, rtol=1e-9, atol=1e-12, err_msg=name
            )
    sets = many.predict_set_many(frame[:20])
    assert list(sets.columns) == many.classes_
    assert [set(sets.columns[row]) for row in sets.to_numpy()] == [
        single.predict_set_one(dict(enumerate(row))) for row in X[:20]
    ]


def test_a_river_model_goes_on_with_its_sets(tmp_path):
    X, y = world(300)
    model, _ = streamed(X[:200], y[:200])
    model.save(tmp_path / "model.ckpt")
    other = RiverClassifier.load(tmp_path / "model.ckpt")
    for row, label in zip(X[200:].tolist(), y[200:].tolist(), strict=True):
        x = dict(enumerate(row))
        assert other.predict_set_one(x) == model.predict_set_one(x)
        for each in (model, other):
            each.learn_one(x, label)


def test_before_anything_is_known_a_set_holds_all_labels():
    fresh = RiverClassifier()
    assert fresh.predict_set_one({"a": 1.0}) == {False, True}
    assert fresh.predict_set_many(pd.DataFrame({"a": [1.0, 2.0]})).to_numpy().all()
    with pytest.raises(ValueError, match="level must lie between 0 and 1"):
        fresh.predict_set_one({"a": 1.0}, level=1.5)
    with pytest.raises(TypeError, match="level must be a real number"):
        fresh.predict_set_many(pd.DataFrame({"a": [1.0]}), level="0.9")
