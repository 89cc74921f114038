"""Intervals of the estimators: coverage, the model they leave alone, files old and new, and what
is refused.
"""

import copy
import pickle

import numpy as np
import pytest

from swordplay.core import checkpoint
from swordplay.estimators.level_intervals import MAX_COLUMNS, MAX_PAIRS, LevelIntervals
from swordplay.intervals import SwordIntervals
from swordplay.sklearn import SwordAggregator, SwordRegressor


def world(rows, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 3))
    turn = np.arange(rows) / 400
    return X, 5.0 + np.cos(turn) * X[:, 0] + np.exp(X[:, 1]) * 0.3 * rng.normal(size=rows)


def coverage(bounds, y):
    return float(np.mean((bounds[:, 0] <= y) & (y <= bounds[:, 1])))


def same_model(one, other):
    mine, theirs = one.model_.state(), other.model_.state()
    return all(
        np.array_equal(mine[name], theirs[name], equal_nan=not isinstance(mine[name], str))
        for name in mine
    )


@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
def test_intervals_hold_their_level_and_leave_the_model_alone(level):
    X, y = world(6000)
    model, plain = SwordRegressor(), SwordRegressor()
    predictions, intervals = model.predict_interval_then_learn(X, y, level=level)
    assert np.array_equal(predictions, plain.predict_then_learn(X, y))
    assert same_model(model, plain)
    assert intervals.shape == (6000, 2)
    assert coverage(intervals, y) == pytest.approx(level, abs=0.002)
    assert np.array_equal(intervals, SwordIntervals(level).interval_then_learn(predictions, y, X))


def test_in_batches_the_same_and_row_by_row_too():
    X, y = world(300)
    whole, parts = SwordRegressor(), SwordRegressor()
    _, intervals = whole.predict_interval_then_learn(X, y)
    pieces = [
        parts.predict_interval_then_learn(X[a:b], y[a:b])[1]
        for a, b in [(0, 1), (1, 2), (2, 150), (150, 300)]
    ]
    assert np.array_equal(np.concatenate(pieces), intervals)
    assert np.array_equal(parts.predict_interval(X[:5]), whole.predict_interval(X[:5]))


def test_predict_interval_is_what_the_next_row_would_be_given():
    X, y = world(500)
    model = SwordRegressor()
    model.predict_interval_then_learn(X[:499], y[:499])
    asked = model.predict_interval(X[499:])
    assert np.array_equal(model.predict_interval_then_learn(X[499:], y[499:])[1], asked)


def test_rows_learned_without_asking_are_a_beginning_and_later_ones_are_followed():
    X, y = world(3000)
    model = SwordRegressor().partial_fit(X[:1500], y[:1500])
    _, first = model.predict_interval_then_learn(X[1500:1600], y[1500:1600], level=0.9)
    assert np.isfinite(first).all()
    model.partial_fit(X[1600:2000], y[1600:2000])  # the level that was asked for goes on learning
    assert model._intervals.by_level[0.9].rows == MAX_PAIRS + 500
    _, rest = model.predict_interval_then_learn(X[2000:], y[2000:])
    assert coverage(rest, y[2000:]) == pytest.approx(0.9, abs=0.02)


def test_after_fit_a_block_of_rows_to_come_is_covered():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(4000, 2))
    y = X[:, 0] + rng.normal(size=4000)
    model = SwordRegressor().fit(X[:2000], y[:2000])
    for level in (0.5, 0.8, 0.9, 0.95):
        assert coverage(model.predict_interval(X[2000:], level=level), y[2000:]) == pytest.approx(
            level, abs=0.03
        )
    sizes = np.sort(np.abs(model._intervals.pairs[:, 1] - model._intervals.pairs[:, 0]))
    half = np.diff(model.predict_interval(X[:3], level=0.9))[:, 0] / 2
    np.testing.assert_allclose(half, sizes[int(np.ceil(0.9 * 1001)) - 1])
    assert np.isinf(SwordRegressor().fit(X[:5], y[:5]).predict_interval(X[:2])).all()


def test_several_levels_at_once():
    X, y = world(1000)
    _, intervals = SwordRegressor().predict_interval_then_learn(X, y, level=(0.5, 0.9))
    assert intervals.shape == (1000, 2, 2)
    assert (intervals[:, 1, 0] <= intervals[:, 0, 0]).all()
    assert SwordRegressor().fit(X, y).predict_interval(X[:4], level=[0.5, 0.9]).shape == (4, 2, 2)


def test_the_aggregator_has_them_too():
    _, y = world(2000)
    forecasts = np.column_stack([y + 0.5, y - 0.5, y * 0.0]) + np.random.default_rng(0).normal(
        size=(2000, 3)
    )
    predictions, intervals = SwordAggregator().predict_interval_then_learn(forecasts, y)
    assert predictions.shape == (2000,)
    assert coverage(intervals, y) == pytest.approx(0.9, abs=0.005)


def test_sparse_and_wide_rows_are_taken_without_their_columns():
    sparse = pytest.importorskip("scipy.sparse")
    X, y = world(400)
    _, dense = SwordRegressor().predict_interval_then_learn(X, y)
    _, without = SwordRegressor().predict_interval_then_learn(sparse.csr_matrix(X), y)
    assert not np.array_equal(dense, without)
    wide = np.random.default_rng(0).normal(size=(50, MAX_COLUMNS + 1))
    model = SwordRegressor()
    model.predict_interval_then_learn(wide, y[:50])
    assert model._intervals.by_level[0.9].columns == 0


def test_frames_whose_columns_grow():
    pd = pytest.importorskip("pandas")
    X, y = world(300)
    towns = np.where(np.arange(300) < 150, "Bern", np.where(np.arange(300) % 2, "Zug", "Chur"))
    frame = pd.DataFrame({"a": X[:, 0], "town": towns})
    model = SwordRegressor(encode=True)
    for part in (slice(0, 100), slice(100, 200), slice(200, 300)):
        _, intervals = model.predict_interval_then_learn(frame[part], y[part])
        assert intervals.shape == (100, 2)
    assert model.predict_interval(frame[:7]).shape == (7, 2)


def test_rows_of_weight_0_teach_the_intervals_nothing():
    X, y = world(200)
    model, plain = SwordRegressor(), SwordRegressor()
    for each in (model, plain):
        each.predict_interval_then_learn(X[:100], y[:100])
    weights = np.ones(100)
    weights[::2] = 0.0
    wild = np.where(weights == 0.0, 1e6, y[100:])
    model.partial_fit(X[100:], wild, sample_weight=weights)
    assert model._intervals.by_level[0.9].rows == 150
    assert np.abs(model._intervals.pairs).max() < 1e3


@pytest.mark.parametrize("level", [0.0, 1.0, 90, float("nan"), "0.9"])
def test_what_is_no_level_is_refused_before_anything_is_learned(level):
    X, y = world(50)
    model = SwordRegressor().partial_fit(X[:20], y[:20])
    before = copy.deepcopy(model)
    with pytest.raises((ValueError, TypeError), match="level"):
        model.predict_interval_then_learn(X[20:], y[20:], level=level)
    with pytest.raises((ValueError, TypeError), match="level"):
        model.predict_interval(X, level=level)
    assert same_model(model, before)
    fitted = SwordRegressor().fit(X, y)
    with pytest.raises((ValueError, TypeError), match="level"):
        fitted.predict_interval(X, level=level)


def test_targets_near_the_largest_allowed_do_no_harm():
    X, y = world(200)
    _, intervals = SwordRegressor().predict_interval_then_learn(X, 1e59 * y)
    assert not np.isnan(intervals).any()


def test_a_saved_estimator_goes_on_with_its_intervals(tmp_path):
    X, y = world(400)
    model = SwordRegressor()
    model.predict_interval_then_learn(X[:200], y[:200])
    model.predict_interval(X[:3], level=(0.5, 0.8))
    model.save(tmp_path / "model.ckpt")
    other = SwordRegressor.load(tmp_path / "model.ckpt")
    again = pickle.loads(pickle.dumps(model))
    for level in (0.9, (0.5, 0.8), 0.7):
        expected = model.predict_interval_then_learn(X[200:300], y[200:300], level)[1]
        assert np.array_equal(
            other.predict_interval_then_learn(X[200:300], y[200:300], level)[1], expected
        )
        assert np.array_equal(
            again.predict_interval_then_learn(X[200:300], y[200:300], level)[1], expected
        )


def test_a_damaged_file_is_refused(tmp_path):
    X, y = world(100)
    model = SwordRegressor()
    model.predict_interval_then_learn(X, y)
    model.save(tmp_path / "model.ckpt")
    saved = checkpoint.load(tmp_path / "model.ckpt", kind="SwordRegressor")
    for name, value in (
        ("intervals.pairs", np.full((3, 2), np.inf)),
        ("intervals.pairs", np.zeros(5)),
        ("intervals.0.balances", np.array([1e9])),
    ):
        checkpoint.save(tmp_path / "bad.ckpt", saved | {name: value}, kind="SwordRegressor")
        with pytest.raises(checkpoint.CheckpointError, match="does not fit SwordRegressor"):
            SwordRegressor.load(tmp_path / "bad.ckpt")


# river


def rows_of(X):
    return [dict(zip("abc", row, strict=True)) for row in X.tolist()]


def test_river_gives_its_own_interval_and_it_holds_its_level():
    conf = pytest.importorskip("river.conf")
    from swordplay.river import SwordRegressor as River

    X, y = world(3000)
    model, plain, held = River(), River(), 0
    for x, target in zip(rows_of(X), y.tolist(), strict=True):
        interval = model.predict_one(x, with_interval=True)
        assert isinstance(interval, conf.Interval)
        prediction = model.predict_one(x)
        assert prediction == plain.predict_one(x)
        assert prediction in interval
        held += target in interval
        model.learn_one(x, target)
        plain.learn_one(x, target)
    assert held / 3000 == pytest.approx(0.9, abs=0.005)


def test_river_in_batches_new_features_files_and_refusals(tmp_path):
    pd = pytest.importorskip("pandas")
    from swordplay.river import SwordRegressor as River

    X, y = world(300)
    single, batches = River(), River()
    for model in (single, batches):
        assert model.predict_one({"a": 0.0}, with_interval=True).upper == np.inf
    for x, target in zip(rows_of(X[:200]), y[:200].tolist(), strict=True):
        single.learn_one(x, target)
    batches.learn_many(pd.DataFrame(X[:200], columns=list("abc")), pd.Series(y[:200]))
    probe = {"a": 0.1, "b": 0.2, "c": 0.3}
    assert single.predict_one(probe, with_interval=True) == batches.predict_one(
        probe, with_interval=True
    )
    single.save(tmp_path / "river.ckpt")
    loaded = River.load(tmp_path / "river.ckpt")
    for model in (single, loaded):
        model.learn_one(probe | {"new": 5.0}, 4.0)  # a feature that joins
        model.learn_one({"new": 6.0}, 5.0)
    assert single.predict_one(probe, with_interval=True) == loaded.predict_one(
        probe, with_interval=True
    )
    assert (
        single.predict_one(probe, with_interval=True, level=0.5).width
        < single.predict_one(probe, with_interval=True).width
    )
    for level in (1.5, "0.9", None):
        with pytest.raises((TypeError, ValueError), match="level"):
            single.predict_one(probe, with_interval=True, level=level)


@pytest.mark.parametrize("seed", range(3))
def test_the_last_pairs_are_remembered_however_they_come(seed):
    rng, own = np.random.default_rng(seed), LevelIntervals()
    sizes = rng.choice([1, 2, 7, 400, 1500], 30)
    everything = rng.normal(size=(sizes.sum(), 2))
    assert own.pairs.shape == (0, 2)
    for stop, size in zip(np.cumsum(sizes), sizes, strict=True):
        own.learn(*everything[stop - size : stop].T, np.empty((size, 0)))
        np.testing.assert_array_equal(own.pairs, everything[:stop][-MAX_PAIRS:])


def test_intervals_that_were_given_count_when_truths_come_late():
    rng = np.random.default_rng(4)
    rows, predictions, targets = (
        rng.normal(size=(300, 2)),
        rng.normal(size=300),
        rng.normal(size=300),
    )
    own, naive = LevelIntervals(), SwordIntervals(0.8)
    given = np.empty((300, 2))
    for k in range(300):
        given[k] = own.intervals(0.8, predictions[[k]], rows[[k]])[0]
        assert tuple(given[k]) == naive.interval(predictions[k], rows[k])
        if k % 50 == 49:  # fifty truths at once
            part = slice(k - 49, k + 1)
            own.learn_given(
                0.8, predictions[part], targets[part], rows[part], given[part], np.arange(50.0)
            )
            for j in range(k - 49, k + 1):
                naive.learn(predictions[j], targets[j], rows[j], given=given[j], late=j - (k - 49))
    assert own.by_level[0.8].rows == 300
    np.testing.assert_array_equal(own.by_level[0.8].balances, naive.balances)
    np.testing.assert_array_equal(
        own.intervals(0.8, predictions, rows), naive.intervals(predictions, rows)
    )
