"""The scikit-learn estimators: the library's own checks, and what we promise beyond them."""

import os
import pickle
import subprocess
import sys

import numpy as np
import pandas
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import SGDRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from swordplay.core.checkpoint import CheckpointError
from swordplay.estimators.linear_model import LinearModel
from swordplay.sklearn import SwordAggregator, SwordClassifier, SwordRegressor
from tolerances import FIRST_ORDER, ROUNDING, SCALED_FORECASTS, TWIN

KINDS = [SwordRegressor, SwordClassifier, SwordAggregator]


@parametrize_with_checks([kind() for kind in KINDS])
def test_checks_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.deep
def test_none_of_them_is_skipped():
    """With the one switch that scipy wants for the last of them, which has to be set before it
    is imported.
    """
    code = (
        "from sklearn.utils.estimator_checks import check_estimator\n"
        "from swordplay.sklearn import SwordAggregator, SwordClassifier, SwordRegressor\n"
        "for kind in (SwordAggregator, SwordClassifier, SwordRegressor):\n"
        "    print({result['status'] for result in check_estimator(kind(), on_skip=None)})\n"
    )
    environment = os.environ | {"SCIPY_ARRAY_API": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    assert done.stdout.splitlines() == ["{'passed'}"] * 3, done.stderr


def drifting(rows=600, seed=0):
    """Rows, and targets whose coefficients turn round slowly."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 3)) * [1.0, 100.0, 0.01] + [0.0, 1000.0, 0.0]
    angle = np.arange(rows) / 200
    y = (
        50
        + 7 * np.cos(angle) * X[:, 0]
        + 0.07 * np.sin(angle) * (X[:, 1] - 1000)
        + rng.normal(size=rows)
    )
    return X, y


def targets_for(estimator, y):
    return np.digitize(y, [45.0, 55.0]) if isinstance(estimator, SwordClassifier) else y


def same(one, other):
    """Whether two fitted estimators hold the same bits."""
    ours, theirs = one.model_.state(), other.model_.state()
    return ours.keys() == theirs.keys() and all(
        np.array_equal(ours[k], theirs[k], equal_nan=not isinstance(ours[k], str)) for k in ours
    )


VARIANTS = [
    SwordRegressor(),
    SwordRegressor(loss="huber", lags=2),
    SwordRegressor(standardize=False, intercept=False),
    SwordClassifier(),
    SwordClassifier(lags=1),
    SwordAggregator(),
]


@pytest.fixture(params=VARIANTS, ids=repr)
def estimator(request):
    return clone(request.param)


def first_call(estimator, y):
    return {"classes": [0, 1, 2]} if isinstance(estimator, SwordClassifier) else {}


def test_batches_of_any_size_give_the_same_model(estimator):
    X, y = drifting()
    y = targets_for(estimator, y)
    whole = clone(estimator).fit(X, y)
    for size in (1, 7, 250):
        parts = clone(estimator)
        for first in range(0, len(y), size):
            parts.partial_fit(
                X[first : first + size], y[first : first + size], **first_call(estimator, y)
            )
        assert same(parts, whole)
    assert same(estimator.fit(X[::-1], y[::-1]).fit(X, y), whole)  # fit forgets


def test_predict_then_learn_is_the_loop_that_anyone_would_write(estimator):
    X, y = drifting(120)
    y = targets_for(estimator, y)
    looped = clone(estimator)
    looped.partial_fit(X[:40], y[:40], **first_call(estimator, y))
    estimator.partial_fit(X[:40], y[:40], **first_call(estimator, y))
    one_by_one = []
    for t in range(40, 120):
        one_by_one.append(looped.predict(X[t : t + 1])[0])
        looped.partial_fit(X[t : t + 1], y[t : t + 1])
    np.testing.assert_allclose(estimator.predict_then_learn(X[40:], y[40:]), one_by_one, rtol=TWIN)
    assert same(estimator, looped)


def test_it_is_the_engine_and_nothing_else():
    X, y = drifting()
    plain = SwordRegressor(lags=0, curves=None)
    np.testing.assert_array_equal(
        plain.predict_then_learn(X, y), LinearModel(3).predict_then_learn(X, y)
    )
    auto = {"lags": "auto", "curves": "auto"}
    np.testing.assert_array_equal(
        SwordRegressor().predict_then_learn(X, y), LinearModel(3, **auto).predict_then_learn(X, y)
    )


def test_sparse_rows_are_the_dense_ones(estimator, monkeypatch):
    monkeypatch.setattr("swordplay.estimators.sklearn_base.CHUNK_NUMBERS", 300)  # several chunks
    X, y = drifting(400)
    X[np.random.default_rng(1).random(X.shape) < 0.7] = 0.0
    y = targets_for(estimator, y)
    dense = clone(estimator).fit(X, y)
    for kind in (sparse.csr_array, sparse.csc_array, sparse.coo_array):
        assert same(clone(estimator).fit(kind(X), y), dense)
    estimator.fit(sparse.csr_matrix(X), y)
    np.testing.assert_array_equal(estimator.predict(sparse.csr_array(X)), dense.predict(X))


def test_rows_of_weight_0_are_predicted_and_not_learned(estimator):
    X, y = drifting()
    y = targets_for(estimator, y)
    weights = np.random.default_rng(3).integers(0, 2, size=len(y)) * 1.0
    kept = weights > 0
    without = clone(estimator).partial_fit(X[kept], y[kept], **first_call(estimator, y))
    assert same(
        clone(estimator).partial_fit(X, y, sample_weight=weights, **first_call(estimator, y)),
        without,
    )
    estimator.partial_fit(X[:1], y[:1], sample_weight=[1.0], **first_call(estimator, y))
    before = estimator.predict(X)
    np.testing.assert_allclose(
        estimator.predict_then_learn(X, y, sample_weight=np.zeros(len(y))), before, rtol=TWIN
    )


def test_weights_of_1_are_no_weights_and_others_matter(estimator):
    X, y = drifting()
    y = targets_for(estimator, y)
    plain = clone(estimator).fit(X, y)
    ones, halves = (
        clone(estimator).partial_fit(
            X, y, sample_weight=np.full(len(y), w), **first_call(estimator, y)
        )
        for w in (1.0, 0.5)
    )
    assert same(ones, plain)
    assert not same(halves, plain)


def test_a_weight_multiplies_the_loss():
    """A row moves the coefficients in proportion to its weight, as long as the weight is small."""
    X, y = drifting(60)
    moved = []
    for weight in (1e-12, 1e-5, 2e-5):
        model = (
            SwordRegressor().fit(X[:-1], y[:-1]).partial_fit(X[-1:], y[-1:], sample_weight=[weight])
        )
        moved.append(model.coef_)
    assert np.abs(moved[1] - moved[0]).max() > 0
    np.testing.assert_allclose(moved[2] - moved[0], 2 * (moved[1] - moved[0]), rtol=FIRST_ORDER)


def test_coefficients_are_in_the_units_of_the_raw_columns():
    X, y = drifting()
    model = SwordRegressor(clip=50.0, lags=0, curves=None).fit(X, y)  # nothing is clipped
    np.testing.assert_allclose(X @ model.coef_ + model.intercept_, model.predict(X), rtol=TWIN)
    lagged = SwordRegressor(clip=50.0, lags=2, curves=None).fit(X, y)
    recent = lagged.lag_coef_ @ [y[-1], y[-2]]
    np.testing.assert_allclose(
        X @ lagged.coef_ + lagged.intercept_ + recent, lagged.predict(X), rtol=TWIN
    )
    labels = np.digitize(y, [45.0, 55.0])
    for wanted in (labels, labels > 0):
        classifier = SwordClassifier(clip=50.0, lags=0, curves=None).fit(X, wanted)
        scores = np.squeeze(X @ classifier.coef_.T + classifier.intercept_)
        np.testing.assert_allclose(
            scores, classifier.decision_function(X), atol=TWIN * np.abs(scores).max()
        )


def test_columns_that_never_moved_have_no_coefficient():
    X, y = drifting()
    X[:, 1] = 4.0
    model = SwordRegressor().fit(X, y)
    assert model.coef_[1] == 0.0
    assert np.isfinite(model.intercept_)


def test_classes_that_join_late():
    X, y = drifting()
    labels = np.array(["low", "middle", "top"])[np.digitize(y, [45.0, 55.0])]
    early = labels != "low"
    model = SwordClassifier().partial_fit(X[early], labels[early], classes=["top", "middle"])
    assert model.classes_.tolist() == ["middle", "top"]
    with pytest.raises(ValueError, match="'low'"):
        model.partial_fit(X, labels)
    known = model.predict_proba(X[:5])
    model.predict_then_learn(X, labels)
    assert model.classes_.tolist() == ["middle", "top", "low"]  # no column moves
    assert known.shape == (5, 2)
    chances = model.predict_proba(X)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0, rtol=ROUNDING)
    assert (model.predict(X[-200:]) == labels[-200:]).mean() > 0.6
    declared = SwordClassifier().partial_fit(X, y > 50, classes=[False, True])
    with pytest.raises(ValueError, match="of one kind"):
        declared.predict_then_learn(X, labels)


def test_a_class_joins_by_declaration():
    X, y = drifting()
    labels = np.digitize(y, [45.0, 55.0])
    model = SwordClassifier().fit(X, labels > 0).partial_fit(X, labels, classes=[0, 1, 2])
    assert model.classes_.tolist() == [0, 1, 2]


def test_the_first_partial_fit_wants_classes():
    X, y = drifting()
    with pytest.raises(ValueError, match="classes must be given"):
        SwordClassifier().partial_fit(X, y > 50)


def test_chances_beat_the_frequencies_of_the_classes():
    X, y = drifting(3000)
    labels = np.digitize(y, [45.0, 55.0])
    chances = SwordClassifier().predict_proba_then_learn(X, labels)
    frequency = np.bincount(labels) / len(labels)
    ours = -np.log(chances[np.arange(len(y)), labels])[100:].mean()
    assert ours < 0.8 * -(frequency * np.log(frequency)).sum()


@pytest.mark.parametrize("strings", [False, True])
def test_a_checkpoint_goes_on_bit_by_bit(estimator, strings, tmp_path):
    X, y = drifting()
    y = targets_for(estimator, y)
    if strings and isinstance(estimator, SwordClassifier):
        y = np.array(["low", "middle", "top"], dtype=object)[y]
    estimator.fit(X[:300], y[:300])
    estimator.save(tmp_path / "kept")
    again = type(estimator).load(tmp_path / "kept")
    pickled = pickle.loads(pickle.dumps(estimator))
    assert again.get_params() == estimator.get_params()
    for other in (again, pickled):
        np.testing.assert_array_equal(other.predict(X), estimator.predict(X))
    ahead = estimator.predict_then_learn(X[300:], y[300:])
    for other in (again, pickled):
        np.testing.assert_array_equal(other.predict_then_learn(X[300:], y[300:]), ahead)
        assert same(other, estimator)


def test_a_checkpoint_keeps_names_and_the_unfitted(tmp_path):
    X, y = drifting()
    table = pandas.DataFrame(X, columns=["left", "middle", "right"])
    SwordRegressor(radius=5.0).fit(table, y).save(tmp_path / "kept")
    again = SwordRegressor.load(tmp_path / "kept")
    assert again.feature_names_in_.tolist() == ["left", "middle", "right"]
    assert again.predict(table).shape == y.shape
    with pytest.raises(ValueError, match="feature names"):
        again.predict(table.rename(columns={"left": "port"}))
    SwordRegressor(radius=5.0).save(tmp_path / "fresh")
    fresh = SwordRegressor.load(tmp_path / "fresh")
    assert vars(fresh) == SwordRegressor(radius=5.0).get_params()


def test_a_checkpoint_of_another_kind_is_refused(tmp_path):
    X, y = drifting()
    SwordRegressor().fit(X, y).save(tmp_path / "kept")
    with pytest.raises(CheckpointError, match="SwordRegressor"):
        SwordClassifier.load(tmp_path / "kept")


def test_it_explains_itself():
    X, y = drifting()
    model = SwordRegressor(lags=0, curves=None).fit(X, y)
    assert model.weights_.shape == model.step_sizes_.shape
    assert model.weights_.sum() == pytest.approx(1.0)
    assert model.step_sizes_.min() <= model.effective_step_size_ <= model.step_sizes_.max()
    assert 0 < model.certificate_ <= model.certificate(10.0)
    text = model.summary()
    assert text.startswith("SwordRegressor after 600 rows of 3 columns")
    assert f"{model.effective_step_size_:.2g}" in text
    assert f"{model.certificate_:.3g}" in text
    labels = np.digitize(y, [45.0, 55.0])
    several = SwordClassifier().fit(X, labels)
    assert several.weights_.shape == (3, len(model.weights_))
    assert several.effective_step_size_.shape == several.certificate_.shape == (3,)
    assert several.summary().count("model of") == 3
    assert "model of" not in SwordClassifier().fit(X, labels > 0).summary()


def test_a_faster_world_has_a_larger_step():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(4000, 2))
    noise = rng.normal(size=4000)
    calm = SwordRegressor().fit(X, X[:, 0] + noise)
    signs = np.repeat(rng.choice([-1.0, 1.0], size=200), 20)
    restless = SwordRegressor().fit(X, 5 * signs * X[:, 0] + 0.01 * noise)
    assert restless.effective_step_size_ > 4 * calm.effective_step_size_


def test_it_works_at_the_end_of_a_pipeline():
    X, y = drifting()
    pipe = make_pipeline(StandardScaler(), SwordRegressor()).fit(X[:300], y[:300])
    assert pipe.score(X[250:300], y[250:300]) > 0.5
    predictions = pipe[-1].predict_then_learn(pipe[:-1].transform(X[300:]), y[300:])
    peer = make_pipeline(StandardScaler(), SGDRegressor(random_state=0)).fit(X[:300], y[:300])
    assert np.mean((predictions - y[300:]) ** 2) < np.mean((peer.predict(X[300:]) - y[300:]) ** 2)


def test_lags_follow_a_walk():
    rng = np.random.default_rng(6)
    y = rng.normal(size=3000).cumsum()
    X = rng.normal(size=(3000, 2))
    errors = {k: SwordRegressor(lags=k).predict_then_learn(X, y)[200:] - y[200:] for k in (0, 1)}
    no_change = np.diff(y)[199:]
    assert np.sqrt(np.mean(errors[1] ** 2)) < 1.1 * np.sqrt(np.mean(no_change**2))
    assert np.sqrt(np.mean(errors[0] ** 2)) > 1.2 * np.sqrt(np.mean(no_change**2))


class TestAggregator:
    def forecasts(self, rows=2000):
        """Three forecasts; the best of them changes half-way."""
        rng = np.random.default_rng(7)
        truth = 100 + 20 * np.sin(np.arange(rows) / 30)
        noise = np.array([[1.0, 5.0, 8.0]] * (rows // 2) + [[5.0, 1.0, 8.0]] * (rows // 2))
        return truth[:, None] + noise * rng.normal(size=(rows, 3)), truth

    def test_weights_lie_on_the_simplex_and_follow_the_best(self):
        X, y = self.forecasts()
        model = SwordAggregator().partial_fit(X[:1000], y[:1000])
        assert model.weights_.argmax() == 0
        model.partial_fit(X[1000:], y[1000:])
        assert model.weights_.argmax() == 1
        assert model.weights_.min() >= 0
        assert model.weights_.sum() == pytest.approx(1.0)

    def test_it_beats_every_fixed_combination_where_the_best_changes(self):
        X, y = self.forecasts()
        ours = np.mean((SwordAggregator().predict_then_learn(X, y) - y) ** 2)
        grid = np.stack(np.meshgrid(np.linspace(0, 1, 21), np.linspace(0, 1, 21)), axis=-1).reshape(
            -1, 2
        )
        grid = grid[grid.sum(axis=1) <= 1]
        fixed = np.column_stack([grid, 1 - grid.sum(axis=1)])
        assert ours < 0.8 * np.mean((fixed @ X.T - y) ** 2, axis=1).min()

    def test_units_do_not_matter(self):
        X, y = self.forecasts()
        plain = SwordAggregator().predict_then_learn(X, y)
        for unit, level in ((1e-9, 0.0), (1e9, 0.0), (1.0, 1e3)):
            other = SwordAggregator().predict_then_learn(unit * (X + level), unit * (y + level))
            np.testing.assert_allclose(other / unit - level, plain, rtol=SCALED_FORECASTS)

    def test_one_forecast_is_repeated_and_many_are_refused(self):
        X, y = self.forecasts()
        one = SwordAggregator().fit(X[:, :1], y)
        np.testing.assert_allclose(one.predict(X[:, :1]), X[:, 0], rtol=ROUNDING)
        assert one.weights_.tolist() == [1.0]
        with pytest.raises(ValueError, match="at most 64"):
            SwordAggregator().fit(np.zeros((3, 65)), [1.0, 2.0, 3.0])

    def test_forecasts_that_agree_teach_nothing(self):
        same_for_all = np.repeat(np.arange(50.0)[:, None], 3, axis=1)
        model = SwordAggregator().fit(same_for_all, np.arange(50.0) + 3)
        np.testing.assert_allclose(model.weights_, 1 / 3, rtol=ROUNDING)


@pytest.mark.parametrize("how", ["fit", "partial_fit", "predict_then_learn"])
def test_the_certificate_is_infinite_while_squares_of_targets_underflow(how):
    """Its sums were 0, and it was below 0 for targets of 1e-160, with a regret above 0."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    y = X @ [1.0, -2.0, 0.5]
    for size in (1e-160, 1e-170, 1e-300):
        model = SwordRegressor()
        getattr(model, how)(X, size * y)
        assert model.certificate_ == np.inf
        assert "regret at most inf" in model.summary()
        usual = SwordRegressor().partial_fit(X, y).partial_fit(X, size * y)
        assert 0 < usual.certificate_ < np.inf
    assert SwordRegressor().fit(X, 0.0 * y).certificate_ == 0.0


def test_features_whose_squares_underflow_are_learned():
    """They are scaled, and the loss of each row is divided by its smoothness."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = X @ [1.0, -2.0, 0.5]
    model = SwordRegressor().fit(1e-170 * X, y)
    assert np.abs(model.predict(1e-170 * X) - y).max() < 0.1
    assert model.certificate_ > 0
