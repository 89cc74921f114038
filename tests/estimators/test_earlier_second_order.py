"""Estimators saved in mid-stream by the version whose experts with lags were told of no errors:
they go on as they were.
"""

from pathlib import Path

import numpy as np
import pytest

from swordplay.sklearn import SwordClassifier, SwordRegressor

GOLDEN = Path(__file__).parents[1] / "checkpoint" / "golden" / "second_order"
DIGITS = 1e-7
"""What that version said was written down with eight digits."""
rng = np.random.default_rng(7)
X = rng.normal(size=(160, 3))
NUMBERS = X @ [1.0, -2.0, 0.5] + np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=160)


def test_numbers():
    model = SwordRegressor.load(GOLDEN / "regressor.ckpt")
    said = model.predict_then_learn(X[120:], NUMBERS[120:])
    assert said[:3] == pytest.approx([-3.1178969, 3.53265018, 0.11482905], abs=DIGITS)
    assert said[-3:] == pytest.approx([-2.68321224, 2.01581955, -6.56518384], abs=DIGITS)
    assert model.model_.second.errors == 0
    assert (
        model.state()["model.second.known"][4] == 1.0
    )  # whoever corrects learns in every round, as then
    again = SwordRegressor.from_state(model.state())
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert np.isfinite(model.coef_).all()
    assert "160 rows" in model.summary()


def test_labels():
    model = SwordClassifier.load(GOLDEN / "classifier.ckpt")
    assert model.predict_proba(X[120:121])[0, 1] == pytest.approx(0.00220209, abs=DIGITS)
    model.partial_fit(X[120:], NUMBERS[120:] > 0)
    assert model.model_.second.errors == 0


def test_a_new_one_is_told_of_errors():
    model = SwordRegressor().partial_fit(X, NUMBERS)
    assert model.model_.second.errors == 1
    assert len(model.state()["model.second.recent"]) == 4
