"""Probabilities of many classes: beside plain Python, whole or row by row, saved, late, and
never much worse.
"""

import math

import numpy as np
import pytest

import swordplay.river
from swordplay.estimators.class_probabilities import ClassCalibration
from swordplay.late import LateModel
from swordplay.sklearn import SwordClassifier


def table(rows=400, dim=3, classes=4, seed=0):
    rng = np.random.default_rng(seed)
    X, labels = rng.normal(size=(rows, dim)), np.zeros(rows, dtype=int)
    centers = rng.normal(size=(classes, dim))
    for t in range(1, rows):
        scores = X[t] @ centers.T * 2 + 2.0 * (np.arange(classes) == labels[t - 1])
        labels[t] = rng.choice(classes, p=np.exp(scores) / np.exp(scores).sum())
    return X, labels


def naive(scores, labels):
    """One number at a time; A of two numbers as a matrix, never forgetting its ridge."""
    behind, sharp, bend, theta, A, last, answers = (
        np.zeros(3),
        1.0,
        10.0,
        np.array([1.0, 0.0]),
        10.0 * np.eye(2),
        -1,
        [],
    )
    for row, label in zip(scores, labels, strict=True):
        p = 1 / (1 + np.exp(-row))
        logs = np.maximum(np.log(p / p.sum()), -20)
        here = (np.arange(len(row)) == last).astype(float)
        said = [np.exp(logs), np.exp(sharp * logs), np.exp(theta[0] * logs + theta[1] * here)]
        said = [one / one.sum() for one in said]
        n = 3 if last >= 0 else 2
        w = np.array([0.5] + [0.5 / (n - 1)] * (n - 1)) * np.exp(-behind[:n])
        answers.append(w @ np.array(said[:n]) / w.sum())
        behind = 0.998 * behind + 0.3 * np.array(
            [-math.log(max(one[label], math.exp(-20))) for one in said]
        )
        behind = np.minimum(behind - behind.min(), 14)
        mean = said[1] @ logs
        bend = bend + (10.0 - bend) / 2000 + said[1] @ logs**2 - mean**2
        sharp = min(max(sharp - min(max((mean - logs[label]) / bend, -0.5), 0.5), 1 / 8), 8)
        if last >= 0:
            F = np.stack([logs, here], axis=1)
            f = said[2] @ F
            A = A + (10.0 * np.eye(2) - A) / 2000 + F.T @ (said[2][:, None] * F) - np.outer(f, f)
            theta = theta - np.clip(np.linalg.solve(A, f - F[label]), -0.5, 0.5)
            theta = np.clip(theta, [1 / 8, -10], [8, 10])
        last = label
    return np.array(answers), sharp, theta


def test_beside_plain_python():
    _, labels = table()
    rng = np.random.default_rng(1)
    scores = 0.5 * rng.normal(size=(400, 4)) + 0.5 * np.eye(4)[labels]
    tempered = ClassCalibration()
    answer = tempered.learn(scores, labels, None)
    wanted, sharp, theta = naive(scores, labels)
    np.testing.assert_allclose(answer, wanted, rtol=1e-9)
    assert tempered.temperature == pytest.approx(1 / sharp)
    np.testing.assert_allclose(tempered.state()["numbers"][6:8], theta, rtol=1e-9)
    np.testing.assert_allclose(answer.sum(axis=1), 1.0)


def test_whole_tables_single_rows_and_river_say_the_same():
    X, labels = table()
    whole, parts, theirs = SwordClassifier(), SwordClassifier(), swordplay.river.SwordClassifier()
    said = whole.partial_fit(X[:10], labels[:10], classes=range(4)).predict_proba_then_learn(
        X[10:], labels[10:]
    )
    parts.partial_fit(X[:10], labels[:10], classes=range(4))
    for t in range(10, 400):
        np.testing.assert_allclose(parts.predict_proba(X[t : t + 1])[0], said[t - 10], rtol=1e-12)
        parts.partial_fit(X[t : t + 1], labels[t : t + 1])
    one, other = whole.model_.state(), parts.model_.state()
    assert all(np.asarray(one[name]).tobytes() == np.asarray(other[name]).tobytes() for name in one)
    assert "calibration.numbers" in one
    for row, label in zip(X.tolist(), labels.tolist(), strict=True):
        theirs.learn_one(dict(enumerate(row)), label)
    chances = theirs.predict_proba_one(dict(enumerate(X[0])))
    assert sum(chances.values()) == pytest.approx(1.0)


def test_it_is_saved_and_refused_if_damaged(tmp_path):
    X, labels = table()
    model = SwordClassifier()
    model.predict_then_learn(X[:200], labels[:200])
    model.save(tmp_path / "model")
    twin = SwordClassifier.load(tmp_path / "model")
    wanted = model.predict_proba_then_learn(X[200:], labels[200:])
    np.testing.assert_array_equal(twin.predict_proba_then_learn(X[200:], labels[200:]), wanted)
    for place, value in ((0, 4.0), (1, -1.0), (4, 9.0), (5, 0.0), (7, np.nan)):
        numbers = model.model_.calibration.state()["numbers"]
        numbers[place] = value
        with pytest.raises(ValueError, match="calibration"):
            ClassCalibration.from_parts({"calibration": {"numbers": numbers}}, 4, None)
    with pytest.raises(ValueError, match="shape"):
        ClassCalibration.from_parts({"calibration": {"numbers": np.zeros(3)}}, 4, None)


def test_a_model_that_is_told_at_once_is_the_estimator_alone():
    X, labels = table(80)
    late, plain = LateModel(SwordClassifier()), SwordClassifier()
    for row, label in zip(X, labels.tolist(), strict=True):
        late.tell(late.ask(row), label)
        plain.predict_then_learn(row[None], np.array([label]))
    one, other = late.model.model_.state(), plain.model_.state()
    assert all(
        np.asarray(one[name]).tobytes() == np.asarray(other[name]).tobytes() for name in other
    )


def test_late_labels_are_learned_with_the_last_label_of_then():
    scores = np.array([[1.0, 0.0, -1.0]])
    one, other = ClassCalibration(), ClassCalibration()
    one.learn(scores, np.array([2]), None)
    noted = one.notes(1)
    one.learn(scores, np.array([1]), None)
    one.learn(scores, np.array([0]), None, notes=noted)
    other.learn(scores, np.array([2]), None)
    other.learn(scores, np.array([1]), None)
    other._numbers[0] = 2.0  # the last label when the row was asked
    other.learn(scores, np.array([0]), None)
    np.testing.assert_array_equal(one.state()["numbers"], other.state()["numbers"])


@pytest.mark.parametrize("seed", range(3))
def test_it_harms_nowhere(seed):
    """Log loss beside that of first order: with something to learn, with nothing, and where
    labels are noise.
    """
    rng = np.random.default_rng(seed)
    X, labels = table(1500, seed=seed)
    for target in (labels, rng.permutation(labels), rng.integers(0, 6, 1500)):
        classes = np.arange(target.max() + 1)
        losses = []
        for settings in ({}, {"lags": 0, "curves": None}):
            model = SwordClassifier(**settings).partial_fit(X[:1], target[:1], classes=classes)
            said = model.predict_proba_then_learn(X[1:], target[1:])
            losses.append(-np.log(said[np.arange(1499), target[1:]]).mean())
        assert losses[0] <= 1.01 * losses[1]
