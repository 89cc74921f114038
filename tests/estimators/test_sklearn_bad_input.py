"""Bad input to the scikit-learn estimators: refused with nothing changed, or tolerated."""

import copy
import re

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from estimators.bad_input import AFTER, BEFORE, CASES, GRACE, NAMES, REFUSED, cases, degraded, world
from swordplay.core import arguments, checkpoint
from swordplay.estimators.model_settings import LARGEST
from swordplay.estimators.sklearn_base import MAX_SPARSE_COLUMNS, MAX_WEIGHT
from swordplay.sklearn import SwordAggregator, SwordClassifier, SwordRegressor
from tolerances import ROUNDING

TASKS = {"regression": SwordRegressor, "classification": SwordClassifier}


def frame(rows):
    return pd.DataFrame(rows, columns=list(rows[0]))


@pytest.fixture(scope="module", params=TASKS)
def lived(request):
    """An estimator that has seen good rows, the good rows to come, and what it loses on them
    undisturbed.
    """
    task = request.param
    rows, targets = world(BEFORE + 1 + AFTER, task)
    estimator = TASKS[task]()
    estimator.fit(frame(rows[:BEFORE]), targets[:BEFORE])
    twin = copy.deepcopy(estimator)
    losses_of(twin, frame(rows[BEFORE : BEFORE + 1]), targets[BEFORE : BEFORE + 1])
    return (
        task,
        estimator,
        rows[BEFORE:],
        targets[BEFORE:],
        losses_of(twin, frame(rows[BEFORE + 1 :]), targets[BEFORE + 1 :]),
    )


def losses_of(estimator, X, y):
    """Absolute errors, or minus the logarithm of the truth's probability, each before its row is
    learned.
    """
    if isinstance(estimator, SwordClassifier):
        chances = estimator.predict_proba_then_learn(X, y)
        assert np.isfinite(chances).all()
        return -np.log(chances[np.arange(len(y)), y])
    predictions = estimator.predict_then_learn(X, y)
    assert np.isfinite(predictions).all()
    return np.abs(predictions - y)


def everything(estimator):
    """All that an estimator is, as bytes."""
    kept = {name: repr(value) for name, value in vars(estimator).items() if name != "model_"}
    return kept, checkpoint.dumps(estimator.model_.state(), kind="x")


@pytest.mark.filterwarnings("ignore:.*converting a masked element to nan")  # which is then refused
@pytest.mark.filterwarnings(
    "ignore:X does not have valid feature names"
)  # before it is refused for having none
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_table(case, lived):
    task, estimator, rows, targets, undisturbed = lived
    if case not in cases(task):
        pytest.skip("of the other task")
    estimator = copy.deepcopy(estimator)
    row, target = case.spoil(rows[0], targets[0].item())
    before = everything(estimator)
    if case.sklearn == REFUSED:
        with pytest.raises((ValueError, TypeError, OverflowError)):
            estimator.partial_fit(frame([row]), [target])
        if list(row) == list(NAMES):  # among good rows it is refused with all of them
            with pytest.raises((ValueError, TypeError, OverflowError)):
                estimator.partial_fit(frame([*rows[1:4], row]), [*targets[1:4].tolist(), target])
        assert everything(estimator) == before
        return
    estimator.partial_fit(frame([row]), [target])
    assert everything(estimator) != before
    assert degraded(losses_of(estimator, frame(rows[1:]), targets[1:]), undisturbed) <= GRACE


def test_there_are_enough_cases():
    for task in TASKS:
        assert len(cases(task)) >= 50


GOOD = np.random.default_rng(1).normal(size=(30, 4))
GOOD_TARGETS = (GOOD[:, 0] > 0).astype(int)
SHAPES = {
    "one dimension": (GOOD[0], GOOD_TARGETS[:1]),
    "three dimensions": (GOOD[None], GOOD_TARGETS),
    "no rows": (GOOD[:0], GOOD_TARGETS[:0]),
    "no columns": (GOOD[:, :0], GOOD_TARGETS),
    "too few columns": (GOOD[:, :3], GOOD_TARGETS),
    "too many columns": (np.hstack([GOOD, GOOD]), GOOD_TARGETS),
    "fewer targets than rows": (GOOD, GOOD_TARGETS[:-1]),
    "a table of targets": (GOOD, np.column_stack([GOOD_TARGETS] * 2)),
    "no targets": (GOOD, None),
    "ragged lists": ([[1.0, 2.0, 3.0, 4.0], [1.0]], [0, 1]),
    "a number": (1.0, 1.0),
    "None": (None, GOOD_TARGETS),
    "an array of strings": (GOOD.astype(str), GOOD_TARGETS),
    "complex": (GOOD + 1j, GOOD_TARGETS),
    "objects": (np.full((30, 4), object()), GOOD_TARGETS),
    "sparse with NaN": (sparse.csr_array(np.where(GOOD > 1, np.nan, 0.0)), GOOD_TARGETS),
    "sparse and huge": (sparse.csr_array(np.where(GOOD > 1, 1e200, 0.0)), GOOD_TARGETS),
}
WEIGHTS = {
    "negative": -np.ones(30),
    "NaN": np.full(30, np.nan),
    "infinite": np.full(30, np.inf),
    "huge": np.full(30, 10 * MAX_WEIGHT),
    "too few": np.ones(29),
    "a table": np.ones((30, 2)),
    "strings": np.array(["1"] * 30),
}


@pytest.fixture(
    params=[SwordRegressor, SwordClassifier, SwordAggregator], ids=lambda kind: kind.__name__
)
def fitted(request):
    return request.param().fit(GOOD, GOOD_TARGETS)


@pytest.mark.parametrize("case", SHAPES)
@pytest.mark.parametrize("method", ["partial_fit", "predict_then_learn", "fit"])
def test_shapes_and_types_that_are_refused(case, method, fitted):
    X, y = SHAPES[case]
    if method == "fit" and case in ("too few columns", "too many columns"):
        X = GOOD[:0]  # fit takes any number of columns, but no empty table
    before = everything(fitted)
    with pytest.raises((ValueError, TypeError)):
        getattr(fitted, method)(X, y)
    assert everything(fitted) == before


@pytest.mark.parametrize("case", WEIGHTS)
def test_weights_that_are_refused(case, fitted):
    before = everything(fitted)
    with pytest.raises(ValueError, match="sample_weight"):
        fitted.partial_fit(GOOD, GOOD_TARGETS, sample_weight=WEIGHTS[case])
    assert everything(fitted) == before


def test_plain_arrays_take_the_same_way_as_the_others(fitted):
    """Rows that are clean are not checked twice.

    Those that are not get the same words as a list would.
    """
    for spoiled in (np.nan, np.inf, 10 * LARGEST):
        bad = GOOD.copy()
        bad[3, 2] = spoiled
        messages = []
        for X in (bad, bad.tolist(), np.asfortranarray(bad)):
            for call in (
                lambda X=X: fitted.partial_fit(X, GOOD_TARGETS),
                lambda X=X: fitted.predict(X),
            ):
                with pytest.raises(ValueError, match="X") as caught:
                    call()
                messages.append(str(caught.value))
        assert len(set(messages)) == 1


@pytest.mark.parametrize("spoiled", [np.nan, np.inf, 10 * LARGEST])
@pytest.mark.parametrize("kind", [SwordRegressor, SwordAggregator])
def test_targets_in_plain_arrays_are_checked(kind, spoiled):
    fitted = kind().fit(GOOD, GOOD_TARGETS)
    targets = GOOD_TARGETS.astype(float)
    targets[-1] = spoiled
    before = everything(fitted)
    with pytest.raises(ValueError, match="y"):
        fitted.partial_fit(GOOD, targets)
    assert everything(fitted) == before


def test_wide_sparse_rows_are_refused_in_words():
    wide = sparse.csr_array((3, MAX_SPARSE_COLUMNS + 1))
    with pytest.raises(ValueError, match="TruncatedSVD"):
        SwordRegressor().fit(wide, [1.0, 2.0, 3.0])


def test_a_refused_first_call_leaves_nothing_behind():
    for estimator in (SwordRegressor(), SwordClassifier()):
        with pytest.raises(ValueError, match="X"):
            estimator.fit(frame([dict.fromkeys(NAMES, np.nan)] * 3), [0, 1, 0])
        assert vars(estimator) == estimator.get_params()


@pytest.mark.parametrize("magnitude", [1e6, 1e20])
@pytest.mark.parametrize("spoiled", ["forecast", "target"])
def test_an_outlier_among_forecasts_is_shrugged_off(magnitude, spoiled):
    rng = np.random.default_rng(2)
    truth = 10 * np.sin(np.arange(BEFORE + 1 + AFTER) / 24) + 50
    forecasts = truth[:, None] + rng.normal(size=(len(truth), 3)) * [1.0, 2.0, 4.0]
    bad, wrong = forecasts.copy(), truth.copy()
    if spoiled == "forecast":
        bad[BEFORE, 0] = magnitude
    else:
        wrong[BEFORE] = magnitude
    undisturbed = losses_of(SwordAggregator(), forecasts, truth)[BEFORE + 1 :]
    assert degraded(losses_of(SwordAggregator(), bad, wrong)[BEFORE + 1 :], undisturbed) <= GRACE


@pytest.mark.parametrize(
    "settings",
    [
        {"radius": -1.0},
        {"radius": "big"},
        {"radius": 2e30},
        {"clip": 1e31},
        {"memory": 0},
        {"clip": np.nan},
        {"lags": -1},
    ],
)
def test_settings_that_make_no_sense(settings):
    for kind in TASKS.values():
        with pytest.raises((ValueError, TypeError), match=next(iter(settings))):
            kind(**settings).fit(GOOD, GOOD_TARGETS)


@pytest.mark.parametrize("kind", [SwordRegressor, SwordAggregator])
def test_losses_that_there_are_not(kind):
    with pytest.raises(ValueError, match="loss must be"):
        kind(loss="absolute").fit(GOOD, GOOD_TARGETS)


def test_whatever_is_finite_gives_finite_predictions():
    """Any magnitudes up to the largest, any settings, any weights: no error, no NaN, no warning."""
    rng = np.random.default_rng(11)
    for _ in range(300):
        rows, dim = int(rng.integers(1, 60)), int(rng.integers(1, 6))
        X, y = anything(rng, (rows, dim)), anything(rng, rows)
        labels = rng.integers(0, int(rng.integers(1, 4)), size=rows)
        weights = rng.choice([0.0, 1e-6, 1.0, MAX_WEIGHT], size=rows) if rng.integers(2) else None
        settings = {
            "standardize": bool(rng.integers(2)),
            "intercept": bool(rng.integers(2)),
            "lags": int(rng.integers(3)),
            "radius": float(rng.choice([1.0, 32.0, 1000.0])),
        }
        for estimator in (
            SwordRegressor(**settings),
            SwordRegressor(loss="huber", **settings),
            SwordAggregator(),
        ):
            assert np.isfinite(estimator.predict_then_learn(X, y, weights)).all()
            assert np.isfinite(estimator.predict(X)).all()
        classifier = SwordClassifier(**settings)
        for chances in (
            classifier.predict_proba_then_learn(X, labels, weights),
            classifier.predict_proba(X),
        ):
            np.testing.assert_allclose(chances.sum(axis=1), 1.0, rtol=ROUNDING)


def anything(rng, shape):
    """Zeros, numbers of order 1, and numbers of any magnitude that is allowed."""
    size = np.where(rng.random(shape) < 0.5, 1.0, 10.0 ** rng.uniform(-60, 60, size=shape))
    return np.clip(
        np.where(rng.random(shape) < 0.2, 0.0, size) * rng.normal(size=shape), -LARGEST, LARGEST
    )


def test_a_stray_label_that_is_let_in_costs_the_other_classes_little():
    rows, labels = world(BEFORE + 1 + AFTER, "classification")
    X = np.array([list(row.values()) for row in rows])
    model, twin = (SwordClassifier().fit(X[:BEFORE], labels[:BEFORE]) for _ in range(2))
    model.predict_then_learn(X[BEFORE : BEFORE + 1], [7])
    twin.predict_then_learn(X[BEFORE : BEFORE + 1], labels[BEFORE : BEFORE + 1])
    after = X[BEFORE + 1 :], labels[BEFORE + 1 :]
    assert degraded(losses_of(model, *after), losses_of(twin, *after)) <= GRACE
    assert model.classes_.tolist() == [0, 1, 7]


WORDS = ["dear", "cheap"] * 50


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (
            pd.Series(WORDS),
            "y must hold numbers, got strings such as 'dear' (Series). Encode or convert them "
            "first.",
        ),
        (
            np.array(WORDS),
            "y must hold numbers, got strings such as 'dear' (ndarray). Encode or convert them "
            "first.",
        ),
        (
            [0.0] * 99 + ["1.5"],
            "y must hold numbers, got strings such as '1.5' (list). Encode or convert them first.",
        ),
        (
            pd.Series(pd.date_range("2024", periods=100)),
            "y must hold numbers, got dates such as '2024-01-01T00:00:00",
        ),
        (
            pd.Series(pd.to_timedelta(range(100))),
            "y must hold numbers, got lengths of time such as '0 nanoseconds' (Series).",
        ),
    ],
)
@pytest.mark.parametrize("encode", [False, True])
def test_targets_that_are_no_numbers_are_told_by_one_of_them(y, message, encode):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        SwordRegressor(encode=encode).fit(pd.DataFrame(np.zeros((100, 2))), y)


def test_targets_of_nothing_are_not_called_too_large():
    with pytest.raises(
        ValueError, match=r"^y must not be missing, got None at index 0\. Leave out such rows\.$"
    ):
        SwordRegressor().fit(np.zeros((100, 2)), pd.Series([None] * 100))


def test_columns_and_weights_that_are_no_numbers_are_told_by_one_of_them():
    rows, targets = np.zeros((100, 2)), np.zeros(100)
    with pytest.raises(
        ValueError, match=r"^X must hold numbers, got strings such as '0\.0' \(ndarray\)\."
    ):
        SwordRegressor().fit(rows.astype(str), targets)
    with pytest.raises(
        ValueError, match=r"^X must hold numbers, got dates such as '1970-01-01' \(ndarray\)\."
    ):
        SwordRegressor().fit(rows.astype("datetime64[D]"), targets)
    with pytest.raises(
        ValueError,
        match=r"^sample_weight must hold numbers, got strings such as 'dear' \(Series\)\.",
    ):
        SwordRegressor().partial_fit(rows, targets, sample_weight=pd.Series(WORDS))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.arange(3), "array([0, 1, 2])"),
        (np.arange(100.0), "ndarray of shape (100,) that begins with 0.0"),
        (pd.Series(WORDS), "Series of shape (100,) that begins with 'dear'"),
        (
            pd.DataFrame({"a": ["x" * 100, "y"]}),
            "DataFrame of shape (2, 1) that begins with '" + "x" * 36 + "...",
        ),
        (pd.DataFrame(), "DataFrame of shape (0, 0)"),
        (sparse.csr_matrix((3, 2)), "csr_matrix of shape (3, 2)"),
        ("a\nb", r"'a\nb'"),
        ("x" * 100, "'" + "x" * 76 + "..."),
    ],
)
def test_a_value_is_shown_in_short(value, text):
    assert arguments.short_repr(value) == text
