"""Second-order experts of the estimators: beside plain Python, whole or row by row, saved,
damaged, ill-conditioned.
"""

import pickle

import numpy as np
import pytest

import swordplay.river
import swordplay.sklearn
from estimators.naive_second_order import NaiveLayer
from swordplay import checkpoint, datasets
from swordplay.estimators.coefficients import mixture_weights
from swordplay.estimators.linear_model import LinearModel
from swordplay.estimators.second_order_layer import SecondOrderLayer
from swordplay.sklearn import SwordClassifier, SwordRegressor

AUTO = {"lags": "auto", "curves": "auto"}


def table(rows=300, dim=4, seed=0):
    """A target that leans on its own past, and labels of it."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(rows, dim)) * [1.0, 10.0, 0.1, 1.0] + 3.0, np.zeros(rows)
    for t in range(1, rows):
        y[t] = 0.8 * y[t - 1] + X[t, 0] - 0.03 * X[t, 1] + 0.1 * rng.normal()
    return X, y, (y > np.median(y)).astype(float)


@pytest.mark.parametrize("logistic", [False, True], ids=["numbers", "labels"])
def test_beside_plain_python(logistic):
    X, y, labels = table()
    target = labels if logistic else y
    rng = np.random.default_rng(1)
    first = 4 * labels - 2 + rng.normal(size=len(y)) if logistic else y + rng.normal(size=len(y))
    layer = SecondOrderLayer(4, logistic=logistic, intercept=True, lags=None)
    naive = NaiveLayer(4, logistic, layer.state()["features"])
    answer = layer.learn(X, target, None, first, np.ones((len(y), 2)))
    wanted = [naive.row(row, one, goal) for row, one, goal in zip(X, first, target, strict=True)]
    np.testing.assert_allclose(answer, wanted, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(
        layer.state()["coefficients"], np.array([one.theta for one in naive.experts]).T, atol=1e-7
    )
    np.testing.assert_allclose(
        layer.state()["curved_coefficients"],
        np.array([one.theta for one in naive.benders]).T,
        atol=1e-7,
    )


def bent(rows=700):
    """A target along a kink, for which curves pay from the first rows on."""
    X = np.random.default_rng(5).normal(size=(rows, 3))
    return X, X[:, 1] + 2.0 * np.abs(X[:, 0]) + 0.01 * X[:, 2]


@pytest.mark.parametrize("logistic", [False, True], ids=["numbers", "labels"])
def test_while_curves_pay_beside_plain_python(logistic):
    """Whoever corrects learns in every fourth round of numbers and in every second of labels
    from round 500 on.
    """
    X, y = bent()
    target, first = ((y > 1.5).astype(float), X[:, 1]) if logistic else (y, X[:, 1] + 0.3)
    layer = SecondOrderLayer(3, logistic=logistic, intercept=True, lags=None)
    naive, seen = NaiveLayer(3, logistic, layer.state()["features"]), []
    for row, one, goal in zip(X, first, target, strict=True):
        before = layer.state()
        said = layer.learn(row[None], np.array([goal]), None, np.array([one]), np.ones((1, 2)))[0]
        assert said == pytest.approx(naive.row(row, one, goal), rel=1e-6, abs=1e-6)
        after = layer.state()
        same = [
            np.array_equal(before[name], after[name])
            for name in ("curved_coefficients", "correcting_variances")
        ]
        seen.append((int(before["counters"][1]), *same))
    rested = [active for active, *same in seen if active > 0 and all(same)]
    assert rested == [
        active for active in range(500, seen[-1][0] + 1) if active % (2 if logistic else 4)
    ]


def test_batches_and_rows_leave_the_same_bits_while_curves_pay():
    X, y = bent()
    whole, rows = LinearModel(3, **AUTO), LinearModel(3, **AUTO)
    whole.predict_then_learn(X, y)
    for row, goal in zip(X, y.tolist(), strict=True):
        rows.predict_then_learn(row[None], np.array([goal]))
    one, other = whole.state(), rows.state()
    assert all(np.asarray(one[name]).tobytes() == np.asarray(other[name]).tobytes() for name in one)


@pytest.mark.parametrize("lags", ["auto", 0, 2])
def test_whole_tables_and_single_rows_leave_the_same_bits(lags):
    X, y, labels = table()
    for make, target in ((SwordRegressor, y), (SwordClassifier, labels.astype(int))):
        whole, parts = make(lags=lags, curves="auto"), make(lags=lags, curves="auto")
        whole.predict_then_learn(X, target)
        given = {} if make is SwordRegressor else {"classes": [0, 1]}
        parts.partial_fit(X[:7], target[:7], **given)
        for t in range(7, 300):
            parts.partial_fit(X[t : t + 1], target[t : t + 1])
        one, other = whole.model_.state(), parts.model_.state()
        assert one.keys() == other.keys()
        assert all(
            np.asarray(one[name]).tobytes() == np.asarray(other[name]).tobytes() for name in one
        )
        assert any(name.startswith("second.") for name in one)


@pytest.mark.parametrize("lags", ["auto", 1])
def test_river_learns_the_same(lags):
    X, y, _ = table()
    ours, theirs = (
        SwordRegressor(lags=lags, curves="auto"),
        swordplay.river.SwordRegressor(lags=lags, curves="auto"),
    )
    said = ours.predict_then_learn(X, y)
    for t in range(300):
        features = dict(enumerate(X[t]))
        if t > 8:
            assert theirs.predict_one(features) == pytest.approx(said[t], rel=1e-9)
        theirs.learn_one(features, y[t])
    assert list(theirs.coefficients.values()) == pytest.approx(ours.coef_.tolist())
    np.testing.assert_allclose(theirs.lag_coef_, ours.lag_coef_)
    assert theirs.certificate_ == pytest.approx(ours.certificate_)


@pytest.mark.parametrize("lags", ["auto", 0, 2])
def test_coefficients_are_the_whole_prediction_but_for_curves_and_doubt(lags):
    X, y, labels = table()
    model = SwordRegressor(lags=lags, curves="auto").partial_fit(X, y)
    model.model_.second_order._parts()["curved_coefficients"][:] = 0.0
    row = X[:1] + 0.1
    last = model.lag_coef_ @ y[::-1][: len(model.lag_coef_)]
    assert model.predict(row)[0] == pytest.approx(
        float(row[0] @ model.coef_ + last + model.intercept_)
    )
    assert len(model.lag_coef_) == (3 if lags == "auto" else lags)
    two = SwordClassifier(lags=lags, curves="auto").partial_fit(X, labels, classes=[0, 1])
    assert two.coef_.shape == (1, 4)
    two.model_.second_order._parts()["curved_coefficients"][:] = 0.0
    if lags == 0:  # rows far from all others are doubted, and these are not
        said = two.decision_function(row)[0]
        assert said == pytest.approx(float(row[0] @ two.coef_[0] + two.intercept_[0]), rel=0.1)


@pytest.mark.parametrize("make", [SwordRegressor, SwordClassifier])
def test_saved_pickled_and_loaded_models_go_on(make, tmp_path):
    X, y, labels = table()
    target = y if make is SwordRegressor else labels.astype(int)
    model = make(**AUTO)
    model.predict_then_learn(X[:200], target[:200])
    model.save(tmp_path / "model")
    twins = [make.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))]
    wanted = model.predict_then_learn(X[200:], target[200:])
    for twin in twins:
        np.testing.assert_array_equal(twin.predict_then_learn(X[200:], target[200:]), wanted)


def test_a_file_without_the_parameter_is_first_order_only(tmp_path):
    X, y, _ = table()
    model = SwordRegressor(lags=0, curves=None).partial_fit(X, y)
    model.save(tmp_path / "file")
    assert "parameter.curves" not in checkpoint.load(tmp_path / "file", kind="SwordRegressor")
    old = SwordRegressor.load(tmp_path / "file")
    assert old.curves is None
    np.testing.assert_array_equal(old.predict_then_learn(X, y), model.predict_then_learn(X, y))


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("coefficients", lambda old: old[:-1]),
        ("variances", lambda old: old - 2.0),
        ("discounts", lambda old: old + 1.0),
        ("lag_behind", lambda old: old + 15.0),
        ("columns", lambda old: old * np.nan),
        ("columns", lambda old: -old),
        ("loss_sums", lambda old: old - 1e9),
        ("counters", lambda old: old * np.inf),
        ("counters", lambda old: np.append(old[:-1], 0.0)),
        ("target_range", lambda old: old * 1e64),
        ("target_range", lambda old: old[::-1]),
    ],
)
def test_a_damaged_layer_is_refused(name, change):
    X, y, _ = table()
    model = LinearModel(4, **AUTO)
    model.predict_then_learn(X, y)
    state = model.state()
    with np.errstate(invalid="ignore"):
        state[f"second.{name}"] = change(state[f"second.{name}"])
    with pytest.raises(ValueError, match="second"):
        LinearModel(4, **AUTO).load_state(state)


def test_columns_that_join_late_leave_the_others_as_they_are():
    X, y, _ = table()
    late = X.copy()
    late[:150, 3] = 0.0
    straight = {
        "logistic": False,
        "intercept": True,
        "lags": None,
        "curves": 0,
    }  # curves are of the columns of the first row
    whole, grown = SecondOrderLayer(4, **straight), SecondOrderLayer(3, **straight)
    whole.learn(late, y, None, y, np.ones((300, 2)))
    grown.learn(late[:150, :3].copy(), y[:150], None, y[:150], np.ones((150, 2)))
    grown.widened(4)
    grown.learn(late[150:], y[150:], None, y[150:], np.ones((150, 2)))
    one, other = whole.state(), grown.state()
    assert all(np.array_equal(one[name], other[name]) for name in one)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_without_columns_there_is_the_past_and_no_curve(loss):
    X, y, labels = table()
    target = labels if loss == "logistic" else y
    model = LinearModel(0, loss=loss, **AUTO)
    said = model.predict_then_learn(X[:200, :0].copy(), target[:200])
    chances = 1 / (1 + np.exp(-said)) if loss == "logistic" else said
    mean = np.cumsum(target[:199]) / np.arange(1, 200)
    assert np.mean((chances[1:] - target[1:200]) ** 2) < 0.8 * np.mean((mean - target[1:200]) ** 2)
    assert model.second_order.state()["features"].shape == (0, 5)
    for width in (0, 2):  # saved as it began, and when columns have joined
        model.widen(width)
        again = LinearModel(width, loss=loss, **AUTO)
        again.load_state(model.state())
        rest = X[200:, :width].copy(), target[200:]
        np.testing.assert_array_equal(
            again.predict_then_learn(*rest), model.predict_then_learn(*rest)
        )


def test_wide_tables_and_three_classes_do_without():
    rng = np.random.default_rng(0)
    assert LinearModel(64, **AUTO).second_order is not None
    assert LinearModel(65, **AUTO).second_order is None
    model = LinearModel(64, **AUTO)
    model.widen(65)
    assert model.second_order is None
    X, labels = rng.normal(size=(60, 2)), np.arange(60) % 3
    many, plain = SwordClassifier(**AUTO), SwordClassifier(lags=0, curves=None)
    for one in (many, plain):
        one.partial_fit(X[:30], labels[:30] % 2, classes=[0, 1])
    assert many.model_.second_order is not None
    for one in (many, plain):
        one.predict_proba_then_learn(X, labels)
    assert many.model_.second_order is None
    assert plain.model_.calibration is None
    np.testing.assert_array_equal(many.decision_function(X), plain.decision_function(X))


def test_rows_behind_the_first_are_predicted_without_lags():
    """Their last targets are not known: a row alone follows the last one learned, and rows
    behind it do not.
    """
    X, y, _ = table()
    model = SwordRegressor(**AUTO).partial_fit(X, y)
    alone, together = model.predict(X[:1])[0], model.predict(X[:2])
    assert together[0] == alone
    assert together[1] != model.predict(X[1:2])[0]
    np.testing.assert_array_equal(model.predict(X[[0, 1, 2]])[1:], model.predict(X[[5, 1, 2]])[1:])
    fitted = SwordRegressor(**AUTO).fit(X, y)
    np.testing.assert_array_equal(fitted.predict(X[:5])[::-1], fitted.predict(X[:5][::-1]))


def test_the_certificate_is_that_of_the_predictions():
    """Loss of the predictions less loss of the first-order ones, from the plan of each round, by
    hand.
    """
    X, y, labels = table()
    for loss, target in (("squared", y), ("logistic", labels)):
        plain, mixed, plans = LinearModel(4, loss=loss), LinearModel(4, loss=loss, **AUTO), []
        first = plain.predict_then_learn(
            X,
            target,
            None,
            lambda scratch, _, plans=plans: plans.append(scratch.rounds[:, 3:5].copy()),
        )
        said = mixed.predict_then_learn(X, target)
        weight, threshold = np.concatenate(plans).T

        def losses(score, loss=loss, target=target, threshold=threshold):
            if loss == "logistic":
                return np.logaddexp(0.0, -(2 * target - 1) * score)
            off = np.abs(target - score)
            return np.where(off <= threshold, off**2 / 2, threshold * (off - threshold / 2))

        assert mixed.gain == pytest.approx(float(weight @ (losses(said) - losses(first))))
        assert mixed.head.certificate() == plain.head.certificate()


@pytest.mark.parametrize(
    "parameter", [{"lags": "some"}, {"lags": -1}, {"curves": "some"}, {"curves": 3}, {"lags": 1.5}]
)
def test_what_makes_no_sense_is_refused(parameter):
    X, y, labels = table(20)
    name = next(iter(parameter))
    with pytest.raises((ValueError, TypeError), match=name):
        SwordRegressor(**parameter).fit(X, y)
    with pytest.raises((ValueError, TypeError), match=name):
        SwordClassifier(**parameter).fit(X, labels)
    with pytest.raises((ValueError, TypeError), match=name):
        swordplay.river.SwordRegressor(**parameter)


def worlds():
    rng = np.random.default_rng(3)
    base = rng.normal(size=(4000, 3))
    near = np.column_stack([base[:, 0], base[:, 0] + 0.0045 * base[:, 1], base[:, 2]])
    noise = 0.1 * rng.normal(size=4000)
    yield "correlation 0.99999", near, near @ [1.0, -1.0, 0.5] + noise
    yield "equal columns", base[:, [0, 0, 1]], base @ [1.0, 0.5, 0.0] + noise
    yield "scales", base * [1e-8, 1.0, 1e8], base @ [1.0, 1.0, 1.0] + noise
    yield "far from zero", base + 1e7, base @ [1.0, 1.0, 1.0] + noise
    still = np.repeat(base, 30, axis=0)[:105_000] + 0.1 * rng.normal(size=(105_000, 3))
    still[:100_000, 2] = 7.0
    yield "still for 1e5 rows", still, still @ [1.0, -1.0, 1.0] + 0.1 * rng.normal(size=105_000)
    outliers = base.copy()
    outliers[::500] *= 1e12
    yield "outliers", outliers, base @ [1.0, 1.0, 1.0] + noise
    spikes = base @ [1.0, 1.0, 1.0] + noise
    spikes[::400] = 1e9
    yield "wild targets", base, spikes


WORLDS = {name: (X, y) for name, X, y in worlds()}


@pytest.mark.parametrize("name", WORLDS)
def test_never_much_worse_than_first_order(name):
    X, y = WORLDS[name]
    X, good = np.ascontiguousarray(X), np.abs(y) < 1e8
    with_, without = (
        SwordRegressor(lags=lags, curves=curves) for lags, curves in (("auto", "auto"), (0, None))
    )
    ours, plain = (model.predict_then_learn(X, y)[good] - y[good] for model in (with_, without))
    assert np.isfinite(ours).all()
    assert np.sqrt(np.mean(ours[1:] ** 2)) <= 1.02 * np.sqrt(np.mean(plain[1:] ** 2))


def test_shipped_streams_show_it():
    sulfur, electricity = datasets.sulfur(), datasets.electricity()
    off = (
        SwordRegressor(**AUTO).predict_then_learn(sulfur.features, sulfur.targets) - sulfur.targets
    )
    assert np.sqrt(np.mean(off[1:] ** 2)) <= 0.0145
    said = SwordClassifier(**AUTO).predict_then_learn(electricity.features, electricity.targets)
    assert np.mean(said != electricity.targets) <= 0.081


@pytest.mark.parametrize("lags", ["auto", 2, 0])
def test_a_model_that_is_told_at_once_is_the_estimator_alone(lags):
    from swordplay.late import LateModel

    X, y, labels = table(60)
    for make, target in ((SwordRegressor, y), (SwordClassifier, labels.astype(int))):
        late, plain = LateModel(make(lags=lags), level=None), make(lags=lags)
        for row, goal in zip(X, target.tolist(), strict=True):
            late.tell(late.ask(row), goal)
            plain.predict_then_learn(row[None], np.array([goal]))
        one, other = late.model.model_.state(), plain.model_.state()
        assert all(
            np.asarray(one[name]).tobytes() == np.asarray(other[name]).tobytes() for name in other
        )


def test_rows_that_were_asked_just_now_leave_the_same_bits():
    X, y, _ = table()
    one, other = (SecondOrderLayer(4, logistic=False, intercept=True, lags=None) for _ in range(2))
    for t in range(60):
        row, goal, first = X[t : t + 1], y[t : t + 1], y[t : t + 1] + 0.1
        notes = one.forecast(row, first)[1]
        one.learn(row, goal, None, first, np.ones((1, 2)), notes=notes)
        other.learn(row, goal, None, first, np.ones((1, 2)))
    assert all(np.array_equal(one.state()[name], other.state()[name]) for name in one.state())


def test_late_answers_are_learned_with_the_last_targets_of_then():
    X, y, _ = table()
    late, twin = (SecondOrderLayer(4, logistic=False, intercept=True, lags=None) for _ in range(2))
    for layer in (late, twin):
        layer.learn(X[:100], y[:100], None, y[:100] + 0.1, np.ones((100, 2)))
    noted = late.forecast(X[100:101], y[100:101] + 0.1)[1]
    then = late.state()["recent"]
    for layer in (late, twin):
        layer.learn(X[101:110], y[101:110], None, y[101:110] + 0.1, np.ones((9, 2)))
    now, behind, top = (
        late.state()[name] for name in ("recent", "lag_behind", "corrected_lag_behind")
    )
    late.learn(X[100:101], y[100:101], None, y[100:101] + 0.1, np.ones((1, 2)), notes=noted)
    twin._parts()["recent"][:] = then
    twin.learn(X[100:101], y[100:101], None, y[100:101] + 0.1, np.ones((1, 2)))
    np.testing.assert_array_equal(late.state()["coefficients"], twin.state()["coefficients"])
    np.testing.assert_array_equal(late.state()["recent"][1:3], now[:2])
    assert late.state()["recent"][3] == pytest.approx(
        late.state()["recent"][0] - noted[0, 7]
    )  # the steadiest without lags
    target = late.state()["recent"][0]
    count = int(noted[0, 0])
    assert count == len(top) == 9
    for before, said, name in (
        (behind, noted[0, 5:11], "lag_behind"),
        (top, noted[0, 11:], "corrected_lag_behind"),
    ):
        losses = (
            target - said
        ) ** 2  # what was said then is judged, of the forecasts and of their mixtures
        sums = late.state()["loss_sums" if name == "lag_behind" else "corrected_loss_sums"]
        wanted = 0.998 * before + 0.1 * losses / (sums[:-1].min() / sums[-1])
        np.testing.assert_allclose(late.state()[name], np.minimum(wanted - wanted.min(), 14.0))


def test_curves_show_on_two_interleaved_crescents():
    rng = np.random.default_rng(0)
    angle, side = rng.uniform(0, np.pi, 3000), rng.integers(0, 2, 3000)
    X = np.column_stack([np.cos(angle), np.sin(angle)]) * np.where(side, -1, 1)[:, None] + side[
        :, None
    ] * [1.0, 0.5]
    X += 0.1 * rng.normal(size=X.shape)
    wrong = [
        np.mean(model.predict_then_learn(X, side)[500:] != side[500:])
        for model in map(SwordClassifier, (32.0,))
    ]
    straight = SwordClassifier(lags=0, curves=None).predict_then_learn(X, side)
    assert wrong[0] < 0.04 < np.mean(straight[500:] != side[500:])
    model = SwordClassifier(curves="rich").partial_fit(X, side, classes=[0, 1])
    assert (
        np.mean(model.predict(X[-500:]) != side[-500:]) < 0.04
    )  # rows that do not follow are bent, too
    assert model.model_.second_order.curves == 64


@pytest.mark.parametrize(("logistic", "edge"), [(False, -0.1), (True, 7.0)])
def test_curves_that_do_not_help_are_evaluated_seldom(logistic, edge):
    from swordplay.compile import uncompiled
    from swordplay.engine.second_order import features, layout

    layer = SecondOrderLayer(2, logistic=logistic, intercept=True, lags=None)
    book = layout.parts_of(layer._numbers, layer._settings, 6)
    asked = uncompiled(features.active_corrected)
    book.corrected_lag_behind[:5], book.corrected_lag_behind[5:] = 0.5, 0.5 + edge
    for active, count in ((499, 9), (500, 5), (503, 5), (504, 9)):
        book.counters[layout.COUNTER.active] = active
        assert asked(book, logistic) == count
    book.counters[layout.COUNTER.active], book.corrected_lag_behind[8] = 503, 0.49 + edge
    assert asked(book, logistic) == 9


def test_who_is_not_asked_keeps_his_distance():
    from swordplay.compile import uncompiled
    from swordplay.engine.second_order import mixing

    behind = np.array(
        [0.0, 1.0, 0.3, 0.0, 13.9]
    )  # two of three were judged from 0.2 and more; the third leads by 0.1
    uncompiled(mixing.keep_unscored)(behind, 2, 0.2)
    np.testing.assert_allclose(behind, [0.2, 1.2, 0.3, 0.0, 13.9])


@pytest.mark.parametrize("make", [SwordRegressor, SwordClassifier])
def test_tables_with_words_grow_and_are_saved(make, tmp_path):
    import pandas as pd

    X, y, labels = table(120)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(
        town=np.where(np.arange(120) < 60, "Bern", "Ulm")
    )
    target = y if make is SwordRegressor else labels.astype(int)
    whole, parts = make(encode=True, **AUTO), make(encode=True, **AUTO)
    whole.predict_then_learn(frame, target)
    for first in range(0, 120, 40):
        parts.predict_then_learn(frame[first : first + 40], target[first : first + 40])
    one, other = whole.model_.state(), parts.model_.state()
    assert all(np.asarray(one[name]).tobytes() == np.asarray(other[name]).tobytes() for name in one)
    whole.save(tmp_path / "file")
    later = make.load(tmp_path / "file")
    np.testing.assert_array_equal(later.predict(frame), whole.predict(frame))
    assert whole.coef_.shape[-1] == len(whole.coef_names_) == 6


def test_the_summary_says_whom_it_follows():
    X, y, _ = table()
    model = SwordRegressor(**AUTO).partial_fit(X, y)
    weights = mixture_weights(model.model_.second_order)
    assert list(weights) == ["first order", "second order", "second order with lags", "no change"]
    assert sum(weights.values()) == pytest.approx(1.0)
    assert weights["second order with lags"] > 0.9
    assert (
        f"{100 * weights['second order with lags']:.0f} % second order with lags" in model.summary()
    )
    assert "mixture" not in SwordRegressor(curves=None).partial_fit(X, y).summary()
    assert set(mixture_weights(SwordRegressor(lags=0).partial_fit(X, y).model_.second_order)) == {
        "first order",
        "second order",
    }


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_a_missing_entry_lies_where_its_column_lies_now(loss):
    """A column far from where it began: its missing entries are as good as ones at its centre,
    whole or row by row.
    """
    X, y, labels = table(400)
    X[:, 1] += np.linspace(0.0, 2000.0, 400)
    target = labels if loss == "logistic" else y
    holed = X.copy()
    holed[200::7, 1] = np.nan
    whole, rows = (LinearModel(4, loss=loss, **AUTO) for _ in range(2))
    whole.predict_then_learn(holed, target)
    for row, goal in zip(holed, target.tolist(), strict=True):
        said = rows.predict(row[None])[0]
        assert said == pytest.approx(rows.predict(row[None])[0])
        rows.predict_then_learn(row[None], np.array([goal]))
    one, other = whole.state(), rows.state()
    assert all(np.asarray(one[name]).tobytes() == np.asarray(other[name]).tobytes() for name in one)
    gap = holed[-1:].copy()
    gap[0, 1] = np.nan
    put = gap.copy()
    put[0, 1] = whole.columns.places[0][1]
    layer = whole.second_order
    first = np.zeros(1)
    assert (
        layer.predict(gap, first, 1, np.array([whole.columns.places[0]]))[0]
        == layer.predict(put, first, 1)[0]
    )
    assert whole.predict(gap)[0] == pytest.approx(whole.predict(put)[0])
    before = layer.state()["columns"]
    whole.predict_then_learn(gap, target[-1:])
    np.testing.assert_array_equal(layer.state()["columns"], before)  # the basis stays where it is


def test_a_column_without_any_value_says_nothing():
    X, y, _ = table(60)
    X[:, 2] = np.nan
    with_, without = LinearModel(4, **AUTO), LinearModel(4, **AUTO)
    said = with_.predict_then_learn(X, y)
    X[:, 2] = 0.0
    np.testing.assert_array_equal(said, without.predict_then_learn(X, y))


def test_what_is_cut_by_hand():
    from swordplay.compile import uncompiled
    from swordplay.engine.second_order import mixing, newton

    ends = np.array([-1.0, 3.0])
    assert [uncompiled(mixing.clip_forecast)(value, ends) for value in (10.0, -10.0, 2.0)] == [
        5.0,
        -3.0,
        2.0,
    ]
    assert [uncompiled(mixing.clip_target)(value, ends) for value in (100.0, -100.0)] == [7.0, -5.0]
    uncompiled(mixing.update_range)(ends, 0.0)
    assert ends.tolist() == [-1.0 + 4.0 / 4096.0, 3.0 - 4.0 / 4096.0]
    group, notes = np.full((newton.rows_of(1), 4), 0.1), np.zeros((4, 4))  # usual residuals of 0.1
    notes[newton.LEVERAGE] = [4.0, 0.5, 0.0, 1.0]
    uncompiled(newton.squared_residuals)(group, 1, 5.0, 1.0, notes)
    assert notes[newton.RESIDUAL].tolist() == [1.0] * 4
    assert notes[newton.CURVATURE].tolist() == [0.25, 1.0, 1.0, 1.0]
    np.testing.assert_allclose(group[3], 0.1 + (2.0 - 0.1) / 128.0)


def test_experts_with_lags_know_the_last_error():
    rng = np.random.default_rng(7)
    rows = rng.normal(size=(160, 3))
    model = SwordRegressor().partial_fit(rows, rows @ [1.0, -2.0, 0.5])
    assert model.model_.second_order.competes
    assert len(model.state()["model.second.recent"]) == 4
