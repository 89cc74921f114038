"""A tracker is a plain loop that predicts each row before it learns it, whatever the batches,
and whoever saves it.
"""

from __future__ import annotations

import json
import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from swordplay.core import checkpoint
from swordplay.estimators.class_model import ClassModel
from swordplay.estimators.linear_model import LinearModel
from swordplay.estimators.model_settings import LARGEST
from swordplay.tracking import Settings, Tracker, TrackingError
from swordplay.tracking.stretches import MOST
from swordplay.tracking.tally import LAST_ROWS
from swordplay.tracking.task import FEWEST_NAMES, MOST_CLASSES, recognise, too_many
from tolerances import ROUNDING
from tracking.worlds import TASKS, column, tracked, world


def numeric(rows=400, seed=0, classes=0):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(rows, 3)) * [1.0, 100.0, 0.01]
    score = features @ [1.0, 0.01, 100.0] * np.cos(np.arange(rows) / 50)
    target = (
        score + 7.0
        if not classes
        else np.searchsorted(np.quantile(score, np.arange(1, classes) / classes), score)
    )
    return (
        features,
        target.astype(float),
        pa.record_batch([*features.T.copy(), target.astype(float)], names=["a", "b", "c", "y"]),
    )


@pytest.mark.parametrize("loss", ["squared", "huber"])
def test_regression_is_a_plain_loop(loss):
    features, targets, batch = numeric()
    model, total, predictions, running = LinearModel(3, loss=loss), 0.0, [], []
    for t, (row, target) in enumerate(zip(features, targets, strict=True)):
        predictions.append(model.predict(row[None])[0])
        model.predict_then_learn(row[None], np.array([target]))
        if t:
            total += (predictions[-1] - target) ** 2
            running.append(math.sqrt(total / t))
    _, found = tracked(batch, Settings("y", loss=loss), [len(batch)])
    assert found["prediction"][0].as_py() is None
    np.testing.assert_allclose(column(found, "prediction")[1:], predictions[1:], rtol=ROUNDING)
    np.testing.assert_allclose(
        column(found, "loss")[1:],
        (predictions[1:] - targets[1:]) ** 2,
        rtol=ROUNDING,
        atol=ROUNDING,
    )
    np.testing.assert_allclose(column(found, "running_error")[1:], running, rtol=ROUNDING)
    np.testing.assert_array_equal(column(found, "truth"), targets)
    assert found["row"].to_pylist() == list(range(1, len(batch) + 1))


@pytest.mark.parametrize("classes", [2, 3])
def test_classification_is_a_plain_loop(classes):
    features, targets, batch = numeric(classes=classes)
    model, seen = ClassModel(lambda: LinearModel(3, loss="logistic")), []
    mistakes, predictions, probabilities, losses, running = 0, [None], [None], [None], [None]
    for t, (row, target) in enumerate(zip(features, targets, strict=True)):
        if t:
            chances = model.predict(row[None])[0]
            predictions.append(seen[int(chances.argmax())])
            probabilities.append(chances.max())
            losses.append(-math.log(chances[seen.index(target)] if target in seen else 1 / (t + 1)))
            mistakes += predictions[-1] != target
            running.append(mistakes / t)
        if target not in seen:
            seen.append(target)
            model.grow(len(seen))
        model.predict_then_learn(row[None], np.array([seen.index(target)]))
    tracker, found = tracked(batch, Settings("y"), [len(batch)])
    assert tracker.task == ("binary" if classes == 2 else "multi-class")
    assert found["prediction"].to_pylist() == predictions
    np.testing.assert_allclose(column(found, "probability")[1:], probabilities[1:], rtol=ROUNDING)
    np.testing.assert_allclose(column(found, "loss")[1:], losses[1:], rtol=ROUNDING, atol=ROUNDING)
    np.testing.assert_allclose(column(found, "running_error")[1:], running[1:], rtol=ROUNDING)


def test_baselines_of_a_regression():
    _, targets, batch = numeric()
    tracker, _ = tracked(batch, Settings("y"), [100])
    errors, _ = tracker.errors()
    means = np.array([targets[:t].mean() for t in range(1, len(targets))])
    assert errors["no change"] == pytest.approx(
        math.sqrt(np.mean(np.diff(targets) ** 2)), rel=ROUNDING
    )
    assert errors["running mean"] == pytest.approx(
        math.sqrt(np.mean((means - targets[1:]) ** 2)), rel=ROUNDING
    )
    assert list(errors) == ["swordplay", "no change", "running mean", "best step size"]


def test_baselines_of_a_classification():
    _, targets, batch = numeric(classes=3)
    tracker, _ = tracked(batch, Settings("y"), [100])
    errors, _ = tracker.errors()
    # Of several classes that are equally frequent, the one that appeared first.
    order = list(dict.fromkeys(targets))
    majority = [
        max(order, key=lambda label, t=t: (targets[:t] == label).sum())
        for t in range(1, len(targets))
    ]
    assert errors["no change"] == pytest.approx(np.mean(targets[1:] != targets[:-1]), rel=ROUNDING)
    assert errors["majority class"] == pytest.approx(np.mean(targets[1:] != majority), rel=ROUNDING)


@pytest.mark.parametrize("task", TASKS)
@settings(max_examples=5)
@given(st.data())
def test_neither_batches_nor_saves_leave_a_trace(task, data):
    batch = world(task, 150, seed=data.draw(st.integers(0, 3)))
    chosen = Settings("y", lags=data.draw(st.integers(0, 2)))
    sizes = data.draw(st.lists(st.integers(1, 60), min_size=1, max_size=8))
    whole, expected = tracked(batch, chosen, [len(batch)])
    cut, found = tracked(batch, chosen, sizes, save=True)
    assert found.combine_chunks().equals(expected)
    assert checkpoint.dumps(cut.state(), kind="t") == checkpoint.dumps(whole.state(), kind="t")


@pytest.mark.parametrize("task", TASKS)
def test_long_runs_in_pieces(task):
    """Long enough for stretches to be merged."""
    batch = world(task, 20 * MOST, seed=4, missing=0.02)
    _, expected = tracked(batch, Settings("y"), [len(batch)])
    _, found = tracked(batch, Settings("y"), [1, 5000, 3, 3333], save=True)
    assert found.combine_chunks().equals(expected)


@pytest.mark.parametrize("task", TASKS)
def test_the_future_is_not_looked_at(task):
    batch, other = world(task, 200, seed=1), world(task, 200, seed=2)
    mixed = (
        pa.Table.from_batches([batch.slice(0, 100), other.slice(100)])
        .combine_chunks()
        .to_batches()[0]
    )
    tracker = Tracker.begin(Settings("y", lags=1), batch)
    numbers = np.arange(1, 201)
    found = tracker.track(mixed, numbers).predictions
    _, expected = tracked(batch, Settings("y", lags=1), [200])
    columns = [
        name for name in found.schema.names if name not in ("truth", "loss", "running_error")
    ]
    assert (
        found.slice(0, 100).select(columns).to_pylist()
        == expected.slice(0, 100).select(columns).to_pylist()
    )
    assert (
        found.slice(101).select(columns).to_pylist()
        != expected.slice(101).select(columns).to_pylist()
    )


@pytest.mark.parametrize("task", TASKS)
def test_rows_without_a_target_are_predicted_and_teach_nothing(task):
    batch = world(task, 200, seed=3, missing=0.2)
    known = batch["y"].is_valid().to_numpy(zero_copy_only=False)
    tracker, found = tracked(batch, Settings("y"), [200])
    first = int(known.argmax())
    assert found["prediction"].null_count == first + 1
    assert found["loss"].is_null().to_pylist() == (~known | (np.arange(200) == first)).tolist()
    assert tracker.unlabelled == int((~known).sum()) > 20
    learned = batch.filter(pa.array(known))
    other, expected = tracked(learned, Settings("y"), [200])
    assert other.contestants.models.keys() == tracker.contestants.models.keys()
    assert (
        found.filter(pa.array(known))
        .drop_columns(["row"])
        .combine_chunks()
        .equals(expected.drop_columns(["row"]))
    )


def test_late_classes_are_never_foreseen():
    batch = world("multi-class", 300, seed=5, missing=0.0)
    _, found = tracked(batch, Settings("y"), [300])
    predictions, truths = found["prediction"].to_pylist(), found["truth"].to_pylist()
    for label in ("low", "middle", "high"):
        assert label not in predictions[: truths.index(label) + 1]
        assert label in predictions


def test_targets_keep_their_type():
    for task, kind in (("regression", "double"), ("binary", "bool"), ("multi-class", "string")):
        tracker, found = tracked(world(task, 60, seed=6), Settings("y"), [60])
        assert (
            str(found.schema.field("prediction").type)
            == str(found.schema.field("truth").type)
            == kind
        )
        assert found.schema.equals(tracker.schema)


def test_huge_targets_are_refused():
    _, _, batch = numeric(rows=50)
    broken = batch.set_column(
        3, "y", pa.array(np.where(np.arange(50) == 20, -10 * LARGEST, batch["y"].to_numpy()))
    )
    tracker = Tracker.begin(Settings("y"), batch)
    found = tracker.track(broken, np.arange(101, 151))
    assert [(one.row, one.column, one.value) for one in found.refusals] == [(121, "y", "-1e+61")]
    assert 121 not in found.predictions["row"].to_pylist()
    assert tracker.refused == 1
    _, expected = tracked(batch.filter(pa.array(np.arange(50) != 20)), Settings("y"), [50])
    assert found.predictions["prediction"].equals(expected["prediction"].combine_chunks())


def test_too_many_classes():
    labels = [f"c{k % (MOST_CLASSES + 2)}" for k in range(2 * MOST_CLASSES)]
    batch = pa.record_batch({"x": np.zeros(len(labels)), "y": labels})
    for said in (Settings("y"), Settings("y", task="multi-class")):
        with pytest.raises(TrackingError, match="different words"):
            Tracker.begin(said, batch)
    for sizes in ([len(batch)], [1], [MOST_CLASSES + 1, 7]):
        tracker, first, refused = (
            Tracker.begin(Settings("y"), batch.slice(0, FEWEST_NAMES - 1)),
            0,
            [],
        )
        while first < len(batch):
            size = sizes.pop(0) if len(sizes) > 1 else sizes[0]
            refused += tracker.track(
                batch.slice(first, size), np.arange(first, len(batch))[:size] + 1
            ).refusals
            first += size
        assert [(one.row, one.value) for one in refused] == [(101, "c100"), (102, "c101")]
        assert (
            "is one class more than 100; if it is an amount, say --task regression"
            in refused[0].reason
        )
        assert len(tracker.contestants.models) == MOST_CLASSES


def test_words_that_name_rows_are_no_classes():
    """The advice is not to try the one thing that cannot work."""
    names = pa.array([f"item {k}" for k in range(FEWEST_NAMES)])
    assert recognise("y", names.slice(1)).task == "multi-class"
    for task in (None, "regression"):
        with pytest.raises(
            TrackingError, match="20 different words in 20 rows, such as 'item 0'"
        ) as caught:
            recognise("y", names, task)
        assert "--task" not in str(caught.value)
    numbers = pa.array(np.arange(MOST_CLASSES + 1.0))
    with pytest.raises(TrackingError, match="Use --task regression if they are amounts"):
        raise too_many("y", numbers[0].as_py())


@pytest.mark.parametrize("task", TASKS)
def test_without_any_column_there_are_still_predictions(task):
    batch = world(task, 100, seed=7).select(["name", "y"])
    tracker, found = tracked(batch, Settings("y"), [30])
    assert tracker.encoder.width == 0
    assert np.isfinite(column(found, "loss")[~np.isnan(column(found, "loss"))]).all()
    assert tracker.predictions.scored > 50


@pytest.mark.parametrize("task", TASKS)
def test_the_story_adds_up(task):
    batch = world(task, 500, seed=8)
    tracker, found = tracked(batch, Settings("y", lags=1), [77])
    story = tracker.story("somewhere.csv", refused=3, seconds=1.5)
    scored = int(np.isfinite(column(found, "loss")).sum())
    assert story.rows == story.course.ends[-1] == scored
    assert (story.source, story.target, story.task, story.refused, story.seconds) == (
        "somewhere.csv",
        "y",
        task,
        3,
        1.5,
    )
    for name, error in story.errors.items():
        mean = story.course.losses[name].sum() / scored
        assert (math.sqrt(mean) if task == "regression" else mean) == pytest.approx(
            error, rel=ROUNDING
        )
    assert story.errors["swordplay"] == pytest.approx(
        column(found, "running_error")[-1], rel=ROUNDING
    )
    assert story.errors["swordplay"] < story.errors["no change"]
    assert story.course.highest.max() == pytest.approx(
        np.nanmax(column(found, "loss")), rel=ROUNDING
    )
    assert story.course.lowest.min() == pytest.approx(
        np.nanmin(column(found, "loss")), rel=ROUNDING
    )
    np.testing.assert_allclose(story.course.weights.sum(axis=1), 1.0, rtol=ROUNDING)
    assert (
        (story.course.effective >= story.step_sizes[0])
        & (story.course.effective <= story.step_sizes[-1])
    ).all()
    assert ((story.course.extra >= 0) & (story.course.extra <= 1)).all()
    assert {one.name: one.kind for one in story.columns} == {
        "x": "number",
        "z": "number",
        "flag": "truth",
        "when": "date",
        "colour": "category",
        "name": "left out",
    }
    assert "swordplay after" in story.summary
    assert "bound" not in story.summary
    assert story.clock == "when"
    assert len(story.last.numbers) == min(scored, LAST_ROWS)
    known = np.isfinite(column(found, "loss"))
    if task == "regression":
        off = (column(found, "prediction") - column(found, "truth"))[known]
        assert story.more["swordplay"] == pytest.approx(np.abs(off).mean(), rel=ROUNDING)
        assert story.residuals.total == scored
        assert story.course.high[:, 2].max() == pytest.approx(off.max(), rel=ROUNDING)
        assert story.course.low[:, 2].min() == pytest.approx(off.min(), rel=ROUNDING)
    else:
        assert story.more["log loss"] == pytest.approx(
            column(found, "loss")[known].mean(), rel=ROUNDING
        )
        assert 1.0 - np.trace(story.confusion) / story.confusion.sum() == pytest.approx(
            story.errors["swordplay"]
        )
        assert story.confusion.sum() == story.sureness.counts.sum() == scored
    json.dumps([story.errors, [list(one) for one in story.worst]], allow_nan=False)


def test_the_worst_rows_are_told_and_lie_apart():
    features, targets, batch = numeric(rows=2000)
    targets = targets.copy()
    targets[[700, 701, 1500]] += [1e4, 2e4, 3e4]
    batch = batch.set_column(3, "y", pa.array(targets))
    tracker, found = tracked(batch, Settings("y"), [999])
    worst = tracker.story("t").worst
    assert worst[0].row == 1501
    assert worst[0].values == {
        name: f"{value:.12g}" for name, value in zip("abc", features[1500], strict=True)
    }
    assert worst[0].truth == f"{targets[1500]:.6g}"
    assert worst[0].loss == column(found, "loss")[1500]
    assert worst[0].at == 1500  # the first row is not among those that were predicted
    assert worst[1].row == 702  # and not its neighbour 701
    rows = sorted(one.row for one in worst)
    assert min(np.diff(rows)) >= 2000 / 200
    assert [one.loss for one in worst] == sorted((one.loss for one in worst), reverse=True)
    assert len(worst) == 20


def test_nothing_learned_is_no_story():
    batch = world("regression", 30, seed=9)
    tracker = Tracker.begin(Settings("y"), batch)
    with pytest.raises(TrackingError, match="nothing was learned"):
        tracker.story("t")


def test_one_row_is_a_short_story():
    batch = world("binary", 30, seed=9, missing=0.0)
    tracker = Tracker.begin(Settings("y"), batch)
    tracker.track(batch.slice(0, 1), np.array([1]))
    story = tracker.story("t")
    assert (story.rows, story.errors, len(story.course.ends), story.worst) == (0, {}, 0, ())


def test_the_command_counts_the_rows_that_decide_as_an_estimator_does():
    """All directions are renewed after width / step rows, and the intercept is one of them."""
    tracker, _ = tracked(numeric(3000)[2], Settings("y"), [3000])
    back = max(1, round(4 / tracker.effective_step_size))
    assert back < 3000
    assert tracker.looks_back == f"the last {back} row{'s' * (back > 1)} or so decide"
