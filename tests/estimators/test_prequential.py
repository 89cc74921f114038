"""The splitter and the scorers of streams, in scikit-learn's own tools and beside the loop that
anyone would write.
"""

import pickle

import numpy as np
import pandas
import pytest
from sklearn.base import clone
from sklearn.linear_model import Ridge, SGDClassifier, SGDRegressor
from sklearn.metrics import accuracy_score, log_loss, mean_absolute_error, r2_score, roc_auc_score
from sklearn.model_selection import GridSearchCV, TimeSeriesSplit, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from swordplay.sklearn import (
    PrequentialSplit,
    SwordClassifier,
    SwordRegressor,
    make_prequential_scorer,
    prequential_predict,
    prequential_score,
)


def stream(rows=360, seed=0):
    """Rows, and targets whose coefficients turn round."""
    rng = np.random.default_rng(seed)
    X, angle = rng.normal(size=(rows, 3)), np.arange(rows) / 60
    return X, 5 + 3 * np.cos(angle) * X[:, 0] + np.sin(angle) * X[:, 1] + 0.2 * rng.normal(
        size=rows
    )


def told(model, X, y, method="predict"):
    """What a model that goes on learning says of each row: the loop that anyone would write."""
    said = []
    for t in range(len(y)):
        said.append(getattr(model, method)(X[t : t + 1])[0])
        model.partial_fit(X[t : t + 1], y[t : t + 1])
    return np.array(said)


class TestSplit:
    @pytest.mark.parametrize(
        ("split", "rows", "blocks"),
        [
            (PrequentialSplit(), 12, [(2, 4), (4, 6), (6, 8), (8, 10), (10, 12)]),
            (PrequentialSplit(3), 9, [(2, 4), (4, 6), (6, 9)]),
            (PrequentialSplit(2, start=1), 4, [(1, 2), (2, 4)]),
            (PrequentialSplit(block=4), 10, [(4, 8), (8, 10)]),
            (PrequentialSplit(block=4, start=1), 6, [(1, 5), (5, 6)]),
            (PrequentialSplit(block=100, start=5), 10, [(5, 10)]),
        ],
        ids=repr,
    )
    def test_blocks_by_hand(self, split, rows, blocks):
        found = list(split.split(np.zeros((rows, 2))))
        assert [(test[0], test[-1] + 1) for _, test in found] == blocks
        for train, test in found:
            np.testing.assert_array_equal(
                train, np.arange(test[0])
            )  # all the rows before, and none after
            np.testing.assert_array_equal(test, np.arange(test[0], test[-1] + 1))
        assert split.get_n_splits(np.zeros((rows, 2))) == len(blocks)

    def test_it_is_that_of_scikit_learn_where_the_parts_are_equal(self):
        X = np.zeros(60)
        for ours, theirs in zip(
            PrequentialSplit(5).split(X), TimeSeriesSplit(5).split(X), strict=True
        ):
            for one, other in zip(ours, theirs, strict=True):
                np.testing.assert_array_equal(one, other)

    def test_what_it_refuses(self):
        for split, rows in (
            (PrequentialSplit(5), 5),
            (PrequentialSplit(block=3), 3),
            (PrequentialSplit(start=7), 7),
        ):
            with pytest.raises(
                ValueError, match=f"X has {rows} rows, too few for PrequentialSplit"
            ):
                next(split.split(np.zeros(rows)))
        with pytest.raises(ValueError, match="X must be given"):
            PrequentialSplit(block=3).get_n_splits()
        assert PrequentialSplit(3).get_n_splits() == 3
        for wrong in ({"n_splits": 0}, {"block": 0}, {"start": 0}):
            with pytest.raises(ValueError, match=f"{next(iter(wrong))} must be at least 1"):
                PrequentialSplit(**wrong)
        with pytest.raises(TypeError, match="block must be a whole number"):
            PrequentialSplit(block=1.5)


class TestScores:
    def test_cross_val_score_is_the_hand_written_loop_exactly(self):
        X, y = stream()
        scores = cross_val_score(
            SwordRegressor(), X, y, cv=PrequentialSplit(5), scoring=prequential_score
        )
        model = SwordRegressor()
        model.partial_fit(X[:60], y[:60])
        said = model.predict_then_learn(X[60:], y[60:])
        by_hand = [
            r2_score(y[first : first + 60], said[first - 60 : first])
            for first in range(60, 360, 60)
        ]
        assert scores.tolist() == by_hand
        looped = told(SwordRegressor().partial_fit(X[:60], y[:60]), X[60:], y[60:])
        np.testing.assert_allclose(said, looped, rtol=1e-10)

    def test_it_shows_what_the_stream_is_worth(self):
        X, y = stream()
        streamed = cross_val_score(
            SwordRegressor(), X, y, cv=PrequentialSplit(5), scoring=prequential_score
        )
        in_blocks = cross_val_score(SwordRegressor(), X, y, cv=PrequentialSplit(5))
        assert streamed.mean() > in_blocks.mean() + 0.3

    @pytest.mark.parametrize(
        ("peer", "method", "name", "score"),
        [
            (
                SGDRegressor(random_state=0),
                "predict",
                "neg_mean_absolute_error",
                lambda y, s: -mean_absolute_error(y, s),
            ),
            (SGDClassifier(random_state=0), "predict", None, accuracy_score),
            (SGDClassifier(random_state=0), "decision_function", "roc_auc", roc_auc_score),
            (
                SGDClassifier(loss="log_loss", random_state=0),
                "predict_proba",
                "neg_log_loss",
                lambda y, s: -log_loss(y, s),
            ),
            (
                SwordRegressor(),
                "predict",
                "neg_mean_absolute_error",
                lambda y, s: -mean_absolute_error(y, s),
            ),
            (SwordClassifier(), "predict", None, accuracy_score),
            (SwordClassifier(), "decision_function", "roc_auc", roc_auc_score),
            (SwordClassifier(), "predict_proba", "neg_log_loss", lambda y, s: -log_loss(y, s)),
        ],
        ids=lambda one: one if isinstance(one, str) else type(one).__name__,
    )
    @pytest.mark.parametrize("piped", [False, True])
    def test_peers_and_pipelines(self, peer, method, name, score, piped):
        X, y = stream(150)
        y = (
            y > 5
            if hasattr(peer, "predict_proba") or method == "decision_function" or name is None
            else y
        )
        model = (make_pipeline(StandardScaler(), clone(peer)) if piped else clone(peer)).fit(
            X[:100], y[:100]
        )
        before = pickle.dumps(model)
        rows = model[0].transform(X) if piped else X
        last = clone(peer).fit(rows[:100], y[:100])
        wanted = told(last, rows[100:], y[100:], method)
        if isinstance(
            peer, SwordRegressor | SwordClassifier
        ):  # its first prediction after fit would be that for a block
            last = clone(peer).predict_then_learn(rows[:100], y[:100])
            last = clone(peer)
            last.predict_then_learn(rows[:100], y[:100])
            wanted = told(last, rows[100:], y[100:], method)
        np.testing.assert_allclose(
            prequential_predict(model, X[100:], y[100:], method=method), wanted, rtol=1e-8
        )
        assert prequential_score(model, X[100:], y[100:], scoring=name) == pytest.approx(
            score(y[100:], wanted)
        )
        assert pickle.dumps(model) == before

    def test_scikit_learns_tools_take_them(self):
        X, y = stream(150)
        frame = pandas.DataFrame(X, columns=["a", "b", "c"], index=np.arange(150) * 7)
        found = cross_validate(
            SwordRegressor(),
            frame,
            pandas.Series(y, index=frame.index),
            cv=PrequentialSplit(block=50),
            scoring={
                "r2": prequential_score,
                "mae": make_prequential_scorer("neg_mean_absolute_error"),
            },
            n_jobs=1,
        )
        said = SwordRegressor().predict_then_learn(X, y)
        assert found["test_mae"].tolist() == [
            -mean_absolute_error(y[k : k + 50], said[k : k + 50]) for k in (50, 100)
        ]
        search = GridSearchCV(
            SwordRegressor(), {"lags": [0, 1]}, cv=PrequentialSplit(3), scoring=prequential_score
        )
        walk = np.random.default_rng(1).normal(size=150).cumsum()
        assert search.fit(X, walk).best_params_ == {"lags": 1}
        again = pickle.loads(pickle.dumps(make_prequential_scorer("neg_mean_absolute_error")))
        model = SwordRegressor().fit(X[:50], y[:50])
        assert again(model, X[50:], y[50:]) == -mean_absolute_error(y[50:], said[50:])

    def test_frames_go_row_by_row_to_peers(self):
        X, y = stream(120)
        frame, series = (
            pandas.DataFrame(X, columns=["a", "b", "c"], index=np.arange(120) * 7),
            pandas.Series(y, index=range(5, 125)),
        )
        peer = SGDRegressor(random_state=0).fit(frame[:60], y[:60])
        arrays = SGDRegressor(random_state=0).fit(X[:60], y[:60])
        np.testing.assert_array_equal(
            prequential_predict(peer, frame[60:], series[60:]),
            prequential_predict(arrays, X[60:], y[60:]),
        )

    def test_labels_that_join_in_a_block(self):
        X, y = stream()
        labels = np.where(np.arange(360) < 200, np.digitize(y, [5.0]), np.digitize(y, [4.0, 6.0]))
        assert set(labels[:200]) == {0, 1}
        model = SwordClassifier().fit(X[:180], labels[:180])
        chances = prequential_predict(model, X[180:], labels[180:], method="predict_proba")
        assert chances.shape == (180, 3)
        wanted = -log_loss(labels[180:], chances)
        assert prequential_score(model, X[180:], labels[180:], "neg_log_loss") == pytest.approx(
            wanted
        )
        assert prequential_score(SwordClassifier(), X, labels) > 0.5  # fresh

    def test_what_they_refuse(self):
        X, y = stream(60)
        with pytest.raises(TypeError, match=r"Ridge has no partial_fit.*PrequentialSplit"):
            prequential_score(Ridge().fit(X, y), X, y)
        with pytest.raises(ValueError, match="each of the 60 rows of X, got 59"):
            prequential_predict(SwordRegressor().fit(X, y), X, y[1:])
        with pytest.raises(ValueError, match="scoring"):
            prequential_score(SwordRegressor().fit(X, y), X, y, scoring="no such score")
