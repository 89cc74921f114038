"""What ``predict`` answers by after ``fit``: the parts beside outside judges and plain loops,
and what users see of it.
"""

import numpy as np
import pandas
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import minimize
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.linear_model import HuberRegressor, LogisticRegression, Ridge
from sklearn.model_selection import KFold, TimeSeriesSplit, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from swordplay.core.checkpoint import CheckpointError, load, save
from swordplay.estimators import batch_fit, batch_solvers
from swordplay.estimators.batch_fit import (
    CUTS,
    BatchCoefficients,
    Candidate,
    clear_winner,
    least_penalty,
)
from swordplay.estimators.batch_solvers import (
    SEGMENTS,
    LeastSquares,
    LogOdds,
    Solver,
    TableScaling,
    measure_columns,
    newton,
    project_on_ball,
    table_scaling,
)
from swordplay.estimators.column_scaler import ColumnStats
from swordplay.sklearn import SwordAggregator, SwordClassifier, SwordRegressor
from tolerances import ROUNDING, TWIN

FIRST_ORDER = {"lags": 0, "curves": None}
"""A model whose coefficients are all of it."""


def table(rows=400, seed=0):
    """Rows of four columns of several sizes, targets and noise: nothing drifts."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 4)) * [1.0, 100.0, 0.01, 3.0] + [0.0, 1000.0, 0.0, -5.0]
    return X, 50 + X @ [2.0, 0.03, 100.0, -1.0] + rng.normal(size=rows)


def turning(rows=1200, seed=1):
    """Coefficients that turn round twice in the table."""
    rng = np.random.default_rng(seed)
    X, angle = rng.normal(size=(rows, 2)), 4 * np.pi * np.arange(rows) / rows
    return X, 3 * np.cos(angle) * X[:, 0] + 3 * np.sin(angle) * X[:, 1] + 0.1 * rng.normal(
        size=rows
    )


def plain(columns, *, clip=10.0, intercept=True):
    return TableScaling(np.zeros(columns), np.ones(columns), clip, intercept)


class TestScaling:
    @settings(max_examples=50)
    @given(st.lists(st.sampled_from([0.0, 1.0, 2.0, -3.0, 7.5, 1e6]), min_size=1, max_size=32))
    def test_columns_are_measured_as_a_stream_measures_its_first_rows(self, values):
        column, scaler = np.array(values)[:, None], ColumnStats(1, clip=5.0)
        scaler.scale_and_update(column)
        centers, spreads = measure_columns(column, 5.0)
        assert centers[0] == scaler.places[0][0]
        np.testing.assert_allclose(spreads[0], scaler.places[1][0], rtol=ROUNDING)

    def test_by_hand(self):
        scaling = TableScaling(np.array([1.0, 0.0]), np.array([2.0, 0.0]), 3.0, True)
        np.testing.assert_array_equal(
            scaling.scale(np.array([[5.0, 9.0], [-99.0, 0.0]])), [[2.0, 0.0, 1.0], [-3.0, 0.0, 1.0]]
        )
        assert scaling._replace(has_intercept=0).scale(np.ones((1, 2))).tolist() == [[0.0, 0.0]]

    def test_what_is_missing_counts_as_usual(self):
        centers, spreads = measure_columns(
            np.array([[1.0, np.nan], [np.nan, np.nan], [3.0, np.nan]]), 5.0
        )
        assert (centers.tolist(), spreads.tolist()) == ([2.0, 0.0], [1.0, 0.0])
        assert TableScaling(centers, spreads, 5.0, False).scale(
            np.array([[np.nan, 7.0], [4.0, np.nan]])
        ).tolist() == [[0, 0], [2, 0]]

    def test_of_a_model(self):
        X, y = table()
        X[:, 3] = 4.0
        X[77, 3] = 6.0  # 77 is no multiple of 2, and every second row is measured
        model = SwordRegressor(clip=3.0, lags=2).fit(X, y).model_
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(batch_solvers, "MEASURED_ROWS", 200)
            scaling = table_scaling(model.columns, len(model.recent), X)
        centers, spreads = measure_columns(X[::2], 3.0)
        assert scaling.clip == 6.0
        np.testing.assert_array_equal(scaling.centers[:3], centers[:3])
        np.testing.assert_array_equal(scaling.spreads[:3], spreads[:3])
        assert scaling.spreads[3] == model.columns.places[1][5] > 0.0  # two lags stand before it
        raw = SwordRegressor(standardize=False, intercept=False).fit(X, y).model_
        scaling = table_scaling(raw.columns, 0, X)
        np.testing.assert_allclose(scaling.spreads, np.sqrt(np.mean(X**2, axis=0)), rtol=ROUNDING)
        assert (scaling.centers.any(), scaling.clip, scaling.has_intercept) == (
            False,
            np.inf,
            False,
        )


class TestSolvers:
    def test_least_squares_is_ridge(self):
        X, y = table()
        Z = (X - X.mean(axis=0)) / X.std(axis=0)
        solver = LeastSquares(Z, plain(4), y, "squared", 1e9)
        for low, high, penalty in ((0, 16, 1e-3), (4, 6, 1.0)):
            rows = slice(solver.edges[low], solver.edges[high])
            judge = Ridge(alpha=penalty * len(Z[rows])).fit(Z[rows], y[rows])
            ours = solver.solve(low, high, penalty)[0]
            np.testing.assert_allclose(ours[:4], judge.coef_, rtol=TWIN)
            np.testing.assert_allclose(ours[4] + solver.level, judge.intercept_, rtol=TWIN)

    def test_targets_are_clipped_at_ten_spreads(self):
        X, y = table()
        Z = (X - X.mean(axis=0)) / X.std(axis=0)
        y[7] = 1e50
        center, spread = measure_columns(y[:, None], 10.0)
        clipped = np.minimum(y, center[0] + 10.0 * spread[0])
        ours = LeastSquares(Z, plain(4), y, "squared", 1e9).solve(0, 16, 1e-3)[0]
        np.testing.assert_allclose(
            ours[:4], Ridge(alpha=0.4).fit(Z, clipped).coef_, rtol=1e-8
        )  # 1e50 costs digits

    def test_huber_regression_minimises_its_loss(self):
        X, y = table()
        Z = (X - X.mean(axis=0)) / X.std(axis=0)
        y[::9] += 40.0
        solver = LeastSquares(Z, plain(4), y, "huber", 1e9)

        def total(x):
            far = np.abs(Z @ x[:4] + x[4] - solver.targets)
            near = np.minimum(far, solver.threshold)
            return np.sum(near * (2 * far - near)) + 1e-2 * len(y) * np.sum(x[:4] ** 2)

        ours = solver.finish(0, 1e-2)[0]
        judge = minimize(total, np.zeros(5), method="BFGS", options={"gtol": 1e-6}).x
        np.testing.assert_allclose(ours, judge, atol=1e-3 * np.abs(judge).max())
        assert solver.threshold == pytest.approx(measure_columns(y[:, None], 10.0)[1][0])

    def test_losses_by_hand(self):
        y = np.array([0.0, 1.0, 2.0, 3.0] * 10)
        solver = LeastSquares(np.zeros((40, 1)), plain(1), y, "huber", 1.0)
        threshold = solver.threshold
        scores = np.array([[0.5 * threshold], [1.0 + 3.0 * threshold]])
        assert solver.loss(scores, 0, 2) == pytest.approx((0.125 + 2.5) * threshold**2 / 2)
        two = LogOdds(np.zeros((4, 1)), plain(1), np.array([0, 1, 1, 0]), 2, 1.0)
        assert two.loss(np.log([[3.0], [3.0]]), 0, 2) == pytest.approx(-np.log([0.25, 0.75]).mean())
        assert two.loss(np.array([[1e9], [50.0]]), 0, 2) == pytest.approx(-np.log(1e-15) / 2)
        three = LogOdds(np.zeros((4, 1)), plain(1), np.array([0, 2, 1, 0]), 3, 1.0)
        odds = np.array([[0.5, 0.25, 0.25], [0.9, 0.9, 0.2]])
        assert three.loss(np.log(odds / (1 - odds)), 0, 2) == pytest.approx(
            -np.log([0.5, 0.1]).mean()
        )

    def test_log_odds_are_those_of_scikit_learn(self):
        X, y = load_breast_cancer(return_X_y=True)
        Z = np.clip((X - X.mean(axis=0)) / X.std(axis=0), -10, 10)
        ours = LogOdds(Z, plain(30), y, 2, 1e9).finish(0, 1e-2)[0]
        judge = LogisticRegression(C=1 / (1e-2 * len(Z)), solver="newton-cholesky", tol=1e-10).fit(
            Z, y
        )
        np.testing.assert_allclose(ours[:30], judge.coef_[0], atol=1e-3)
        np.testing.assert_allclose(ours[30], judge.intercept_[0], atol=1e-3)

    def test_newton_arrives_from_far_away(self):
        X, y = table(100)
        Z, truths = np.column_stack([X[:, 0], np.ones(100)]), (y > 85) * 1.0
        near, far = (
            newton(Z, truths, np.full(2, 0.1), np.array(start), 1e-12)
            for start in ([0.0, 0.0], [300.0, -500.0])
        )
        np.testing.assert_allclose(far, near, atol=1e-5)

    def test_a_class_that_never_came_has_finite_odds(self):
        solver = LogOdds(np.zeros((160, 1)), plain(1), np.zeros(160, dtype=int), 3, 32.0)
        coefficients = solver.finish(0, 1e-3)
        assert coefficients[2, 1] == pytest.approx(-9.28, abs=0.01)  # e^b = 1e-5 (-b)

    def test_long_tables_are_thinned(self, monkeypatch):
        X, y = table(4000)
        Z, labels = (X - X.mean(axis=0)) / X.std(axis=0), (y > 85).astype(int)
        monkeypatch.setattr(batch_solvers, "MAX_NUMBERS", 5 * 1000)
        monkeypatch.setattr(batch_solvers, "TRIAL_ROWS", 500)
        solver, few = (
            LogOdds(Z, plain(4), labels, 2, 1e9),
            LogOdds(Z[::4], plain(4), labels[::4], 2, 1e9),
        )
        np.testing.assert_allclose(solver.finish(0, 1e-2), few.finish(0, 1e-2), rtol=1e-4)

    def test_coefficients_stay_in_the_ball(self):
        np.testing.assert_allclose(
            project_on_ball(1.0, np.array([[3.0, 4.0], [0.3, 0.4], [0.0, 0.0]])),
            [[0.6, 0.8], [0.3, 0.4], [0, 0]],
        )
        X, y = table()
        tight = (
            SwordRegressor(radius=0.1, **FIRST_ORDER).fit(X, y)._batch
        )  # other experts are in no ball: they answer
        assert np.linalg.norm(tight.coefficients) <= 0.1 * measure_columns(y[:, None], 10.0)[1][
            0
        ] * (1 + ROUNDING)


class TestChoice:
    def test_the_lightest_of_the_good_penalties(self):
        assert least_penalty(np.array([1.0, 1.04, 1.06])) == 1
        assert least_penalty(np.array([3.0, 1.0, 1.0501])) == 1
        assert least_penalty(np.array([0.0, 0.0, 0.0])) == 2

    def test_others_must_be_clearly_better(self):
        usual = np.array([1.0, 1.0, 1.0, 1.0])
        assert clear_winner(usual, np.array([[0.81], [0.81], [0.81], [0.81]])) is None
        assert clear_winner(usual, np.array([[0.79], [0.79], [0.79], [0.79]])) == 0
        assert (
            clear_winner(usual, np.array([[1.09, 1.11], [0.5, 0.1], [0.5, 0.1], [0.5, 0.1]])) == 0
        )
        assert clear_winner(usual, np.array([[0.7, 0.6], [0.7, 0.6], [0.7, 0.6], [0.7, 0.6]])) == 1
        assert clear_winner(np.zeros(4), np.zeros((4, 1))) is None

    def test_constants(self):
        assert (SEGMENTS, CUTS, batch_fit.VALIDATION_SEGMENTS, batch_fit.WINDOWS) == (
            16,
            (6, 8, 10, 12, 14),
            2,
            (8, 4, 2),
        )
        assert batch_fit.PENALTIES == (1.0, 0.1, 0.01, 0.001, 0.00001)
        assert (batch_solvers.MEASURED_ROWS, batch_solvers.MAD_TO_SPREAD) == (4096, 1.4826)
        assert (batch_solvers.TRIAL_ROWS, batch_solvers.MAX_NUMBERS) == (4096, 8_388_608)
        assert (
            batch_solvers.HUBER_STEPS,
            batch_solvers.NEWTON_STEPS,
            batch_solvers.MIN_NEWTON_SHARE,
        ) == (
            30,
            30,
            1e-4,
        )
        assert (
            batch_solvers.TRIAL_GAIN,
            batch_solvers.FINAL_GAIN,
            batch_solvers.HUBER_TOLERANCE,
        ) == (
            1e-3,
            1e-9,
            1e-6,
        )
        assert (batch_fit.MIN_ROWS, batch_fit.DEFAULT_PENALTY, batch_fit.MAX_WIDTH) == (
            32,
            0.01,
            256,
        )

    def test_it_is_the_loop_that_anyone_would_write(self, monkeypatch):
        """A table that breaks in the middle: the choice, worked out with scikit-learn's ridge
        and plain slices.
        """
        rng = np.random.default_rng(3)
        X = rng.normal(size=(800, 3))
        y = np.where(np.arange(800) < 350, 1.0, -1.0) * (X @ [1.0, 2.0, 3.0]) + 0.1 * rng.normal(
            size=800
        )
        model = SwordRegressor().fit(X, y)
        Z = model._batch.scaling.scale(X)[:, :3]

        def said(first, last, penalty, rows):
            return (
                Ridge(alpha=penalty * (last - first))
                .fit(Z[first:last], y[first:last])
                .predict(Z[rows])
            )

        def losses(segments, penalty):
            cuts = [(50 * cut, slice(50 * cut, 50 * cut + 100)) for cut in CUTS]
            return np.array(
                [
                    np.mean((said(max(0, c - 50 * segments), c, penalty, r) - y[r]) ** 2) / 2
                    for c, r in cuts
                ]
            )

        whole = np.array([losses(16, penalty).mean() for penalty in batch_fit.PENALTIES])
        penalty = batch_fit.PENALTIES[max(k for k in range(5) if whole[k] <= 1.05 * whole.min())]
        usual, shorter = losses(16, penalty), [losses(s, penalty) for s in (8, 4, 2)]
        good = [
            s
            for s, it in zip((8, 4, 2), shorter, strict=True)
            if it.mean() < 0.8 * usual.mean() and (it <= 1.1 * usual).all()
        ]
        best = min(good, key=lambda s: losses(s, penalty).mean())
        seen = []
        finish = LeastSquares.finish

        def noted(solver, low, penalty):
            seen.append((low, penalty))
            return finish(solver, low, penalty)

        monkeypatch.setattr(LeastSquares, "finish", noted)
        SwordRegressor().fit(X, y)
        assert seen == [(16 - best, penalty)]
        np.testing.assert_allclose(
            model.predict(X), said(800 - 50 * best, 800, penalty, slice(None)), rtol=1e-8
        )

    def test_a_past_that_lacks_a_class_is_no_candidate(self):
        labels = np.array([0, 1] * 70 + [1] * 20)
        solver = LogOdds(np.zeros((160, 1)), plain(1), labels, 2, 1.0)
        assert [solver.is_representative(low) for low in (0, 12, 14)] == [True, True, False]
        assert LeastSquares(
            np.zeros((160, 1)), plain(1), labels * 1.0, "squared", 1.0
        ).is_representative(15)

    @pytest.mark.parametrize(("complete_until", "chosen"), [(14, None), (12, 12), (8, 8), (0, 0)])
    def test_the_stream_is_a_candidate_if_its_last_eighth_lacks_nothing(
        self, complete_until, chosen
    ):
        """Pasts are the better the shorter they are, and the stream is better than all of them."""

        class Made(Solver):
            def solve(self, low, high, penalty, start):
                return np.array([[float(high - low)]])

            def finish(self, low, penalty):
                return np.array([[float(SEGMENTS - low)]])

            def is_representative(self, low):
                return low <= complete_until

            def validation_loss(self, coefficients, low, high):
                return 2.0 ** coefficients[0, 0]

            def loss(self, scores, first, last):
                raise NotImplementedError

        made = batch_fit.choose(Made(np.zeros((160, 1)), plain(1)), np.zeros(5))
        assert (made and made.rows) == (chosen if chosen is None else 160 - 10 * chosen)

    @pytest.mark.parametrize("data", [load_iris, load_breast_cancer])
    def test_tables_that_are_sorted_by_their_labels(self, data):
        X, y = data(return_X_y=True)
        order = np.argsort(y, kind="stable")
        X, y = X[order], y[order]
        assert (
            cross_val_score(SwordClassifier(), X, y).mean() > 0.9
        )  # by the stream's own decision: 0.67 for iris

    def test_tables_that_are_sorted_by_their_targets(self):
        X, y = load_diabetes(return_X_y=True)
        order = np.argsort(y)
        for turn in (order, order[::-1]):
            assert (
                cross_val_score(
                    SwordRegressor(), X[turn], y[turn], cv=KFold(3, shuffle=True, random_state=0)
                ).mean()
                > 0.4
            )
            solver = LeastSquares(X[turn], plain(10), y[turn], "squared", 1.0)
            assert not solver.is_representative(0)
            assert LeastSquares(
                X[order], plain(10), np.append(y[turn][1:], y[turn][0]), "squared", 1.0
            ).is_representative(0)

    def test_pasts(self):
        assert Candidate(8, 1.0).first_segment(10) == 2
        assert Candidate(16, 1.0).first_segment(10) == 0


class TestWhatUsersSee:
    @pytest.mark.parametrize("seed", [0, 1])
    def test_a_table_that_stands_still_is_as_good_as_ridge(self, seed):
        X, y = load_diabetes(return_X_y=True)
        order = np.random.default_rng(seed).permutation(len(y))
        X, y = X[order], y[order]
        for cv in (TimeSeriesSplit(5), KFold(5, shuffle=True, random_state=seed)):
            ours, ridge = (
                cross_val_score(model, X, y, cv=cv)
                for model in (SwordRegressor(), Ridge(alpha=0.1))
            )
            assert ours.mean() > ridge.mean() - 0.02
        assert SwordRegressor().fit(X, y).score(X, y) > 0.5  # ridge: 0.518

    def test_classes_are_as_good_as_logistic_regression(self):
        X, y = load_breast_cancer(return_X_y=True)
        judge = make_pipeline(StandardScaler(), LogisticRegression())
        for scoring, room in (("accuracy", 0.02), ("neg_log_loss", 0.03)):
            ours, theirs = (
                cross_val_score(m, X, y, cv=KFold(3, shuffle=True, random_state=0), scoring=scoring)
                for m in (SwordClassifier(), judge)
            )
            assert ours.mean() > theirs.mean() - room
        X, y = load_iris(return_X_y=True)
        assert (
            cross_val_score(
                SwordClassifier(), X, y, cv=KFold(3, shuffle=True, random_state=0)
            ).mean()
            > 0.9
        )

    def test_a_table_that_drifts_is_better_than_ridge(self):
        X, y = turning()
        ours, ridge = (
            cross_val_score(model, X, y, cv=TimeSeriesSplit(5))
            for model in (SwordRegressor(), Ridge())
        )
        assert ours.mean() > ridge.mean() + 0.2

    def test_where_the_stream_is_best_it_answers(self):
        rng = np.random.default_rng(4)
        X = rng.normal(size=(1600, 2))
        y = (X * (rng.normal(size=(1600, 2)).cumsum(axis=0) / 5)).sum(axis=1) + 0.1 * rng.normal(
            size=1600
        )
        model = SwordRegressor().fit(X, y)
        assert model._batch is None
        np.testing.assert_array_equal(model.predict(X), model.model_.predict(X, following=0))

    def test_the_model_is_that_of_partial_fit_and_learning_more_ends_the_batch(self):
        X, y = table()
        fitted, streamed = (
            SwordRegressor().fit(X[:300], y[:300]),
            SwordRegressor().partial_fit(X[:300], y[:300]),
        )
        assert fitted._batch is not None
        assert streamed._batch is None
        assert not np.array_equal(fitted.predict(X), streamed.predict(X))
        for learn in (SwordRegressor.partial_fit, SwordRegressor.predict_then_learn):
            one, other = (
                SwordRegressor().fit(X[:300], y[:300]),
                SwordRegressor().partial_fit(X[:300], y[:300]),
            )
            learn(one, X[300:301], y[300:301])
            learn(other, X[300:301], y[300:301])
            np.testing.assert_array_equal(one.predict(X), other.predict(X))
            np.testing.assert_array_equal(one.coef_, other.coef_)

    @pytest.mark.parametrize("kind", [SwordRegressor, SwordClassifier])
    def test_a_parameter_that_was_changed_is_noticed(self, kind):
        X, y = table()
        model = kind().fit(X, y if kind is SwordRegressor else y > 85).set_params(clip=3.0)
        for ask in (lambda: model.predict(X), lambda: model.coef_):
            with pytest.raises(ValueError, match=r"clip was 5\.0 when learning began"):
                ask()

    def test_the_summary_says_what_answers(self):
        X, y = table()
        model = SwordRegressor().fit(X, y)
        rows, penalty = model._batch.rows, model._batch.penalty
        assert rows == 400
        assert penalty in batch_fit.PENALTIES
        assert (
            f"for a batch of rows, from the last {rows:,} rows, ridge penalty {penalty:g}"
            in model.summary()
        )
        assert "for a batch" not in model.partial_fit(X, y).summary()

    def test_what_is_refused_leaves_the_coefficients(self):
        X, y = table()
        model = SwordRegressor().fit(X, y)
        before = model.predict(X)
        with pytest.raises(ValueError, match="NaN"):
            model.partial_fit(X[:1], [np.nan])
        np.testing.assert_array_equal(model.predict(X), before)

    @pytest.mark.parametrize(
        "model",
        [
            SwordRegressor(),
            SwordRegressor(loss="huber", lags=2),
            SwordClassifier(),
            SwordClassifier(intercept=False),
        ],
        ids=repr,
    )
    def test_a_checkpoint_keeps_the_coefficients(self, model, tmp_path):
        X, y = table()
        y = np.digitize(y, [82.0, 88.0]) if isinstance(model, SwordClassifier) else y
        model = type(model)(**model.get_params()).fit(X, y)
        assert model._batch is not None
        model.save(tmp_path / "kept")
        again = type(model).load(tmp_path / "kept")
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
        np.testing.assert_array_equal(again.coef_, model.coef_)
        model.partial_fit(X[:1], y[:1]).save(tmp_path / "later")
        assert type(model).load(tmp_path / "later")._batch is None

    @pytest.mark.parametrize(
        ("name", "value", "why"),
        [
            ("scaling.centers", np.zeros(3), "shape"),
            ("coefficients", np.full((1, 5), np.nan), "from -1e.68 to 1e.68, got nan"),
            ("coefficients", np.full((1, 5), 2e68), "from -1e.68 to 1e.68, got 2e.68"),
            ("scaling.centers", np.full(4, -2e60), "from -1e.60 to 1e.60, got -2e.60"),
            ("level", np.inf, "from -1e.60 to 1e.60, got inf"),
            ("scaling.spreads", np.full(4, -1.0), "from 0 to 2e.60, got -1"),
            ("scaling.spreads", np.array([1.0, 2e-308, 1.0, 0.0]), "nearly 0"),
            ("scaling.clip", -1.0, "from 0 to inf, got -1"),
            ("scaling.clip", np.nan, "from 0 to inf, got nan"),
            ("penalty", np.inf, "from 0 to 1.79769e.308, got inf"),
            ("rows", 2.5, "whole numbers"),
            ("rows", "many", "numbers"),
            ("scaling.has_intercept", 0, "must be 1, as the model says"),
        ],
    )
    def test_spoilt_coefficients_are_refused(self, name, value, why, tmp_path):
        SwordRegressor().fit(*table()).save(tmp_path / "kept")
        save(
            tmp_path / "spoilt",
            load(tmp_path / "kept", kind="SwordRegressor") | {f"batch.{name}": value},
            kind="SwordRegressor",
        )
        with pytest.raises(CheckpointError, match=rf"batch\.{name}.*{why}"):
            SwordRegressor.load(tmp_path / "spoilt")

    def test_sparse_rows_are_the_dense_ones(self):
        X, y = table()
        X[np.random.default_rng(1).random(X.shape) < 0.6] = 0.0
        for model, wanted in (
            (SwordRegressor(), y),
            (SwordRegressor(loss="huber"), y),
            (SwordClassifier(), np.digitize(y, [82, 88])),
        ):
            dense = model.fit(X, wanted).predict(X)
            np.testing.assert_array_equal(model.fit(sparse.csr_array(X), wanted).predict(X), dense)

    def test_lags_do_not_help_a_batch_and_are_left_out(self):
        X, y = table()
        model = SwordRegressor(lags=2).fit(X, y)
        assert model.lag_coef_.tolist() == [0.0, 0.0]
        np.testing.assert_allclose(
            model.predict(X), SwordRegressor().fit(X, y).predict(X), rtol=TWIN
        )

    @pytest.mark.parametrize("value", [1e6, 1e20])
    def test_an_outlier_spoils_no_batch(self, value):
        X, y = table()
        clean = SwordRegressor().fit(X, y).score(X, y)
        for where in (0, 200):
            rows, targets = X.copy(), y.copy()
            rows[where, 1], targets[where + 3] = value, -value
            for loss in ("squared", "huber"):
                assert SwordRegressor(loss=loss).fit(rows, targets).score(X, y) > clean - 0.1

    def test_short_and_constant_tables(self):
        X, y = table(20)
        for rows in (1, 2, 5, 20):
            assert np.isfinite(SwordRegressor().fit(X[:rows], y[:rows]).predict(X)).all()
        assert (SwordRegressor().fit(X, np.full(20, 7.0)).predict(X) == 7.0).all()
        still = SwordRegressor().fit(np.ones((100, 2)), np.arange(100.0) % 5)
        np.testing.assert_allclose(still.predict(np.ones((3, 2))), 2.0, rtol=TWIN)
        assert SwordClassifier().fit(X, np.zeros(20, dtype=int))._batch is None
        assert SwordAggregator().fit(X, y)._batch is None

    def test_tables_that_are_too_wide_are_answered_by_the_stream(self, monkeypatch):
        X, y = table(60)
        for widest, found in ((5, True), (4, False)):  # four columns and the intercept
            for room in ("sklearn_regressors", "sklearn_classifier"):
                monkeypatch.setattr(f"swordplay.estimators.{room}.MAX_WIDTH", widest)
            assert (SwordRegressor().fit(X, y)._batch is not None) == found
            assert (SwordClassifier().fit(X, y > 85)._batch is not None) == found

    @pytest.mark.parametrize("kind", [SwordRegressor, SwordClassifier])
    def test_frames_with_words_and_missing_values(self, kind, tmp_path):
        X, y = table()
        frame = pandas.DataFrame(X, columns=list("abcd"))
        frame["town"] = np.where(
            np.arange(400) % 3 == 0, "Bern", np.where(np.arange(400) < 300, "Basel", "Chur")
        )
        y = y + 9.0 * (frame["town"] == "Bern").to_numpy()
        frame.loc[::7, "a"] = np.nan
        wanted = y if kind is SwordRegressor else y > np.median(y)
        model = kind(encode=True).fit(frame, wanted)
        assert model._batch is not None
        assert model.score(frame, wanted) > 0.8
        assert model.coef_.shape[-1] == len(model.coef_names_)
        model.save(tmp_path / "kept")
        np.testing.assert_array_equal(
            kind.load(tmp_path / "kept").predict(frame), model.predict(frame)
        )
        raw = kind(encode=True, standardize=False).fit(frame, wanted)
        assert np.isfinite(
            raw.decision_function(frame) if kind is SwordClassifier else raw.predict(frame)
        ).all()

    def test_huge_numbers_without_scaling(self):
        X, y = table()
        for model in (SwordRegressor(standardize=False), SwordRegressor()):
            assert np.isfinite(
                model.fit(1e59 * X / np.abs(X).max(), 1e59 * y / np.abs(y).max()).predict(X)
            ).all()

    def test_huber_is_near_that_of_scikit_learn(self):
        X, y = table()
        y[::10] += 60.0
        ours = SwordRegressor(loss="huber").fit(X, y).predict(X)
        theirs = make_pipeline(StandardScaler(), HuberRegressor()).fit(X, y).predict(X)
        assert np.sqrt(np.mean((ours - theirs) ** 2)) < 0.5 * np.std(y)


class TestCoefficients:
    @pytest.mark.parametrize("streamed", [False, True])
    def test_they_are_the_whole_prediction_of_rows_that_are_not_clipped(self, streamed):
        X, y = table()
        for params in ({}, {"intercept": False}, {"standardize": False}):
            model = SwordRegressor(clip=50.0, **params, **(FIRST_ORDER if streamed else {}))
            model = model.partial_fit(X, y) if streamed else model.fit(X, y)
            np.testing.assert_allclose(
                X @ model.coef_ + model.intercept_, model.predict(X), rtol=1e-9
            )

    @pytest.mark.parametrize("classes", [2, 3])
    def test_of_classes(self, classes):
        X, y = table()
        model = SwordClassifier(clip=50.0).fit(X, np.digitize(y, [82.0, 88.0][: classes - 1]))
        scores = model.decision_function(X)
        np.testing.assert_allclose(
            np.squeeze(X @ model.coef_.T + model.intercept_),
            scores,
            atol=1e-9 * np.abs(scores).max(),
        )

    def test_of_a_class_whose_model_was_turned(self):
        """From two classes to three, the first one's model goes on telling the chances against
        it.
        """
        X, y = table()
        labels = np.digitize(y, [82.0, 88.0])
        two = labels < 2
        model = SwordClassifier(clip=50.0, curves=None).partial_fit(
            X[two], labels[two], classes=[0, 1]
        )
        model.partial_fit(X, labels, classes=[0, 1, 2])
        scores, chances = model.decision_function(X), model.predict_proba(X)
        np.testing.assert_allclose(
            X @ model.coef_.T + model.intercept_, scores, atol=1e-9 * np.abs(scores).max()
        )
        np.testing.assert_array_equal(scores.argmax(axis=1), chances.argmax(axis=1))


def test_coefficients_by_hand():
    scaling = TableScaling(np.array([1.0, 2.0]), np.array([2.0, 0.0]), 5.0, True)
    made = BatchCoefficients(scaling, np.array([[3.0, 7.0, 0.5]]), 10.0, 7, 0.5)
    assert made.scores(np.array([[5.0, 1e9], [1e9, 0.0]])).tolist() == [[16.5], [25.5]]
    coefficients, intercepts = made.in_raw_units()
    assert (coefficients.tolist(), intercepts.tolist()) == ([[1.5, 0.0]], [9.0])
