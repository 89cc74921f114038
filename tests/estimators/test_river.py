"""The estimators for river: river's own checks, features and classes that come and go, and copies
that continue exactly.
"""

import copy
import gc
import pickle
import random
import types
from functools import cache

import numpy as np
import pandas as pd
import pytest
from river import (
    base,
    checks,
    compose,
    datasets,
    evaluate,
    linear_model,
    metrics,
    multiclass,
    preprocessing,
)

from swordplay.core.checkpoint import CheckpointError, CheckpointMissing
from swordplay.river import SwordClassifier, SwordRegressor
from tolerances import DRIVEN, LAST_BIT, ROUNDING

MODELS = {
    "regressor": SwordRegressor(),
    "regressor, huber, lags": SwordRegressor(loss="huber", lags=2),
    "regressor, raw": SwordRegressor(standardize=False, intercept=False),
    "classifier": SwordClassifier(),
    "classifier, lags": SwordClassifier(lags=1, radius=8.0, memory=500),
    "classifier, raw": SwordClassifier(standardize=False, intercept=False),
}
REGRESSORS = [name for name in MODELS if name.startswith("regressor")]
WALKED_NO_FURTHER = (type, types.ModuleType, types.FunctionType)
"""What river does not look into (``_raw_memory_usage``)."""
every_model = pytest.mark.parametrize("name", MODELS)


def conformance():
    for name, model in MODELS.items():
        for k, check in enumerate(checks.yield_checks(model)):
            marks = () if name in ("regressor", "classifier") else pytest.mark.deep
            yield pytest.param(model, check, id=f"{name}-{k}-{check.__name__}", marks=marks)


@pytest.mark.parametrize(("model", "check"), list(conformance()))
def test_river_finds_nothing_wrong(model, check):
    assert not model._unit_test_skips()
    random.seed(0)
    check(model.clone())


@every_model
def test_what_river_measures_is_the_model_and_not_the_compiler(name):
    """River walks from object to object.

    In numba some references are to objects that are gone, and then it fails.
    """
    model = learned(name, stream(name, 20))
    pending, seen = [model], {}
    while pending:
        told = [
            one
            for one in pending
            if id(one) not in seen and not issubclass(type(one), WALKED_NO_FURTHER)
        ]
        seen |= {id(one): one for one in told}
        pending = gc.get_referents(*told)
    assert {type(one).__module__.partition(".")[0] for one in seen.values()} & {
        "numba",
        "llvmlite",
        "weakref",
    } == set()
    assert model._raw_memory_usage < 1_000_000


def stream(name, count=300):
    """Rows of which features appear and vanish, and targets or labels of which some come late."""
    rng = np.random.default_rng(11)
    for t in range(count):
        x = {f"f{k}": float(v) for k, v in enumerate(rng.normal(size=6))}
        score = x["f0"] - 2.0 * x["f3"]
        if t < 100:
            del x["f4"], x["f0"]
        if 200 <= t < 250:
            del x["f3"]
        if t == 120:
            x["only once"] = 7
        yield x, score if name in REGRESSORS else "abc"[(score > 0) + (score > 1.5 and t > 150)]


def learned(name, rows):
    model = MODELS[name].clone()
    for x, y in rows:
        model.learn_one(x, y)
    return model


@cache
def taught(name, count=300):
    """A model after so many rows, made once: for those who only look at it."""
    return learned(name, stream(name, count))


def bits(model):
    """Everything that the next row needs, down to the last bit."""
    state = {} if model._model is None else model._model.state()
    labels = model.classes_ if isinstance(model, base.Classifier) else None
    return (
        {key: np.asarray(value).tobytes() for key, value in state.items()},
        list(model._columns.column_of.items()),
        labels,
    )


@every_model
def test_batches_give_the_bits_of_single_rows(name):
    rows = list(stream(name))
    single, batches = taught(name), MODELS[name].clone()
    start = 0
    while start < len(rows):
        stop = start
        while stop < min(len(rows), start + 37) and rows[stop][0].keys() == rows[start][0].keys():
            stop += 1
        xs, ys = zip(*rows[start:stop], strict=True)
        batches.learn_many(pd.DataFrame(xs), pd.Series(ys))
        start = stop
    assert bits(batches) == bits(single)


@every_model
def test_predictions_of_batches_are_those_of_single_rows(name):
    model = taught(name)
    xs = [x for x, _ in stream(name) if len(x) == 6]
    frame = pd.DataFrame(xs, index=[f"row {t}" for t in range(len(xs))])
    before = bits(model)
    many = model.predict_many(frame)
    assert many.tolist() == [model.predict_one(x) for x in xs]
    assert many.index.equals(frame.index)
    assert many.nunique() > 1
    if name not in REGRESSORS:
        table = model.predict_proba_many(frame)
        assert table.columns.tolist() == model.classes_
        assert sorted(model.classes_) == ["a", "b", "c"]
        expected = pd.DataFrame([model.predict_proba_one(x) for x in xs], index=frame.index)
        np.testing.assert_allclose(table, expected[table.columns], rtol=10 * LAST_BIT)
        np.testing.assert_allclose(table.sum(axis=1), 1.0, rtol=ROUNDING)
    assert bits(model) == before


@every_model
def test_the_order_of_features_changes_no_bit(name):
    rng = random.Random(3)
    shuffled = [
        ({key: x[key] for key in rng.sample(sorted(x), len(x))}, y) for x, y in stream(name)
    ]
    assert bits(learned(name, shuffled)) == bits(taught(name))


@every_model
def test_an_empty_batch_changes_nothing(name):
    model = learned(name, stream(name, 10))
    before = bits(model)
    model.learn_many(pd.DataFrame({"new": []}), pd.Series([], dtype=float))
    assert bits(model) == before
    assert len(model.predict_many(pd.DataFrame({"f0": []}))) == 0


@every_model
@pytest.mark.parametrize("way", ["pickle", "deepcopy", "checkpoint", "clone with attributes"])
def test_a_copy_goes_on_bit_by_bit(name, way, tmp_path):
    rows = list(stream(name))
    for done in (0, 130, 300):
        model = taught(name, done)
        if way == "checkpoint":
            model.save(tmp_path / "model")
            twin = type(model).load(tmp_path / "model")
        else:
            ways = {"pickle": lambda m: pickle.loads(pickle.dumps(m)), "deepcopy": copy.deepcopy}
            twin = ways.get(way, lambda m: m.clone(include_attributes=True))(model)
        assert twin._get_params() == model._get_params()
        assert bits(twin) == bits(model)
        for x, y in rows[done:]:
            twin.learn_one(x, y)
        assert bits(twin) == bits(taught(name))
        assert done == len(rows) or bits(twin) != bits(model)


def test_a_checkpoint_of_somebody_else_is_refused(tmp_path):
    path = tmp_path / "model"
    with pytest.raises(CheckpointMissing):
        SwordRegressor.load(path)
    learned("regressor", stream("regressor", 20)).save(path)
    with pytest.raises(CheckpointError, match="kind"):
        SwordClassifier.load(path)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(CheckpointError, match="truncated"):
        SwordRegressor.load(path)


def test_names_of_every_kind_come_back(tmp_path):
    names = ["f", 3, 2.5, None, ("new", "york"), (1, ("a", 2))]
    model = SwordRegressor()
    for t in range(40):
        model.learn_one(
            {name: float((t * (k + 2)) % 7) for k, name in enumerate(names)}, float(t % 7)
        )
    model.save(tmp_path / "model")
    twin = SwordRegressor.load(tmp_path / "model")
    assert twin._columns.column_of == model._columns.column_of
    assert set(twin._columns.column_of) == set(names)
    model.learn_one({b"bytes": 1.0}, 1.0)
    with pytest.raises(TypeError, match="checkpoint holds names"):
        model.save(tmp_path / "model")
    assert bits(SwordRegressor.load(tmp_path / "model")) == bits(twin)  # what was there still is


# ---------------------------------------------------------------------- classes


def test_before_learning():
    assert SwordRegressor().predict_one({"a": 1.0}) == 0.0
    assert SwordRegressor().predict_many(pd.DataFrame({"a": [1.0, 2.0]})).tolist() == [0.0, 0.0]
    assert SwordClassifier().predict_proba_one({"a": 1.0}) == {False: 0.5, True: 0.5}
    assert SwordClassifier().predict_one({"a": 1.0}) is None
    assert SwordClassifier().predict_many(pd.DataFrame({"a": [1.0, 2.0]})).tolist() == [None, None]
    assert SwordClassifier().predict_proba_many(pd.DataFrame({"a": [1.0]})).to_dict("records") == [
        {False: 0.5, True: 0.5}
    ]
    for model in (SwordRegressor(), SwordClassifier()):
        for told in ("weights_", "step_sizes_", "effective_step_size_", "certificate_"):
            assert not hasattr(model, told)
        with pytest.raises(AttributeError, match="has not learned anything yet"):
            model.summary()


@pytest.mark.parametrize("first", [False, True, np.bool_(True), np.bool_(False)])
def test_truth_values_are_both_known_at_once(first):
    model = SwordClassifier()
    model.learn_one({"a": 1.0}, first)
    for _ in range(3):
        told = model.predict_proba_one({"a": 1.0})
        assert list(told) == [False, True]
        assert all(type(key) is bool for key in told)
        model.learn_one({"a": 1.0}, not first)


def test_a_binary_classifier_serves_as_a_part():
    model = multiclass.OneVsRestClassifier(SwordClassifier())
    score = evaluate.progressive_val_score(
        datasets.ImageSegments().take(400), model, metrics.Accuracy()
    )
    assert score.get() > 0.7


def test_classes_join_late():
    model = SwordClassifier()
    rng = np.random.default_rng(0)
    centers = {"a": (0.0, 0.0), "b": (4.0, 0.0), "c": (0.0, 4.0), "d": (4.0, 4.0)}
    right = 0
    for t in range(2000):
        label = "abcd"[rng.integers(1 + min(3, t // 400))]
        x = dict(zip("uv", (rng.normal(size=2) + centers[label]).tolist(), strict=True))
        right += t >= 1600 and model.predict_one(x) == label
        model.learn_one(x, label)
        assert sum(model.predict_proba_one(x).values()) == pytest.approx(1.0)
    assert model.classes_ == ["a", "b", "c", "d"]
    assert (
        right / 400 > 0.85
    )  # the best possible: 0.955, a normal variable below 2 in both directions
    assert model.weights_.shape == model.step_sizes_.shape == (4, 28)
    assert model.effective_step_size_.shape == model.certificate_.shape == (4,)


# ---------------------------------------------------------------------- what it says, and how well
# it does


@every_model
def test_it_explains_itself(name):
    model = taught(name)
    assert model.weights_.sum(axis=-1) == pytest.approx(1.0)
    assert np.all(model.effective_step_size_ > 0)
    assert np.all(model.effective_step_size_ <= model.step_sizes_.max())
    assert np.all(model.certificate(1.0) > model.certificate_)
    assert f"{type(model).__name__} after 300 rows" in model.summary()


def test_a_missing_feature_lies_at_its_centre():
    model = SwordRegressor(lags=0, curves=None)
    rng = np.random.default_rng(2)
    for _ in range(3000):
        x = {"a": 5.0 + rng.normal(), "b": -3.0 + rng.normal()}
        model.learn_one(x, 2.0 * x["a"] + x["b"])
    centers = model._model.columns.places[0].tolist()
    center = dict(zip(model._columns.column_of, centers, strict=True))
    assert model.predict_one({"b": -3.0}) == pytest.approx(
        model.predict_one({"a": center["a"], "b": -3.0}), rel=DRIVEN
    )
    assert model.predict_one({}) == pytest.approx(7.0, abs=0.5)
    assert model.predict_one({"a": 6.0, "b": -3.0, "stranger": 1e6}) == model.predict_one(
        {"a": 6.0, "b": -3.0}
    )


def test_rows_without_features_teach_the_usual_target():
    model = SwordRegressor()
    for t in range(200):
        model.learn_one({}, 40.0 + (t % 3))
    assert model.predict_one({}) == pytest.approx(41.0, abs=1.0)
    model.learn_one({"a": 1.0}, 41.0)
    assert model.predict_one({"a": 1.0}) == pytest.approx(41.0, abs=1.0)


def test_it_beats_rivers_own_without_setting():
    def score(model, dataset, metric):
        return evaluate.progressive_val_score(dataset, model, metric).get()

    def scaled(model):
        return compose.Pipeline(preprocessing.StandardScaler(), model)

    trump, phishing = datasets.TrumpApproval(), datasets.Phishing()
    ours = score(SwordRegressor(), trump, metrics.RMSE())
    assert ours < score(scaled(linear_model.LinearRegression()), trump, metrics.RMSE())
    ours = score(SwordClassifier(), phishing, metrics.LogLoss())
    assert ours < score(scaled(linear_model.LogisticRegression()), phishing, metrics.LogLoss())


@pytest.mark.parametrize("klass", [SwordRegressor, SwordClassifier])
@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("radius", 0.0),
        ("radius", "8"),
        ("memory", -1),
        ("clip", np.nan),
        ("lags", -1),
        ("lags", 1.5),
        ("loss", "absolute"),
    ],
)
def test_parameters_that_make_no_sense_are_named(klass, parameter, value):
    with pytest.raises((TypeError, ValueError), match=parameter):
        klass(**{parameter: value})


def test_nothing_is_mutable_and_mutate_says_so():
    with pytest.raises(ValueError, match="not a mutable attribute"):
        SwordRegressor().mutate({"radius": 8.0})


class TestCoefficients:
    def rows(self, count=300):
        rng = np.random.default_rng(8)
        table = rng.normal(size=(count, 2)) * [1.0, 100.0]
        return [
            ({"b": float(b), "a": float(a)}, 7 + 3 * float(a) + 0.02 * float(b)) for a, b in table
        ]

    @pytest.mark.parametrize("lags", [0, 2])
    def test_a_prediction_is_made_of_them(self, lags):
        model, rows = SwordRegressor(clip=50.0, lags=lags, curves=None), self.rows()
        for x, y in rows:
            model.learn_one(x, y)
        assert set(model.coefficients) == {"a", "b"}
        recent = float(model.lag_coef_ @ [y for _, y in reversed(rows)][:lags])
        for x, _ in rows[:20]:
            sum_of_parts = (
                model.intercept_
                + recent
                + sum(model.coefficients[name] * value for name, value in x.items())
            )
            assert model.predict_one(x) == pytest.approx(sum_of_parts)
        if not lags:
            assert model.coefficients == pytest.approx({"a": 3.0, "b": 0.02}, rel=0.05)

    def test_of_classes_also_of_one_that_joined(self):
        two, three = (SwordClassifier(clip=50.0, lags=0, curves=None) for _ in range(2))
        for t, (x, y) in enumerate(self.rows()):
            two.learn_one(x, y > 7)
            three.learn_one(x, "low" if y < 5 else "high" if y < 9 or t < 100 else "top")
        x = {"a": 0.5, "b": 20.0}
        assert list(two.coefficients) == two.classes_[-1:]
        for model in (two, three):
            odds = {
                k: np.exp(-np.logaddexp(0, -model.intercept_[k] - sum(c[n] * x[n] for n in x)))
                for k, c in model.coefficients.items()
            }
            total = sum(odds.values()) if len(odds) > 1 else 1.0
            chances = model.predict_proba_one(x)
            assert {k: chances[k] for k in odds} == pytest.approx(
                {k: v / total for k, v in odds.items()}
            )

    def test_before_anything_was_learned(self):
        for kind in (SwordRegressor, SwordClassifier):
            for what in ("coefficients", "intercept_"):
                with pytest.raises(AttributeError, match="has not learned anything yet"):
                    getattr(kind(), what)


def test_the_first_target_is_the_second_prediction():
    """0.0 is said only before anything was learned, as by river's own regressors.

    One row is enough to know the level.
    """
    rows = list(datasets.TrumpApproval().take(12))
    model, said = SwordRegressor(), []
    for x, y in rows:
        said.append(model.predict_one(x))
        model.learn_one(x, y)
    assert said[:2] == [0.0, rows[0][1]]
    assert (
        max(abs(prediction - y) for prediction, (_, y) in zip(said[1:], rows[1:], strict=True))
        < 0.6
    )
