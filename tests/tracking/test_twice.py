"""Rows that come twice: what is predicted, judged and learned is what a model does that is asked
and told by hand.
"""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest

from swordplay.late import LateModel
from swordplay.late.kinds import MODELS, estimator
from swordplay.report.story import write_story
from swordplay.tracking import Settings, TrackingError, trackers
from swordplay.tracking import twice as room
from swordplay.tracking.twice_rows import ids_of
from tracking.worlds import twice, world

ROWS = 160
USED = ("x", "z", "flag", "when", "colour")


def settings(task=None, **more):
    return Settings("y", task, id=("name",), twice=True, level=0.9, **more)


def tracked(batch, said, cuts, *, save=False):
    """A tracker, and its answers for batches that end at these rows."""
    tracker, parts, numbers = trackers.begin(said, batch), [], np.arange(1, len(batch) + 1)
    for first, stop in zip([0, *cuts], [*cuts, len(batch)], strict=True):
        parts.append(tracker.track(batch.slice(first, stop - first), numbers[first:stop]))
        if save:
            tracker = trackers.resumed(tracker.state())
    return (
        tracker,
        pa.Table.from_batches([one.predictions for one in parts]),
        [row for one in parts for row in one.refusals],
    )


@pytest.mark.parametrize(
    "made",
    [{"lags": 0, "curves": None}, {"lags": "auto", "curves": "auto"}],
    ids=["linear", "auto"],
)
@pytest.mark.parametrize("task", ["regression", "binary", "multi-class"])
def test_it_is_a_model_that_is_asked_and_told(task, made):
    rows = world(task, ROWS, seed=5)
    batch = twice(rows, delay=15)
    tracker, answers, refusals = tracked(batch, settings(task, **made), [40, 41, 200])
    kinds = {"x": "number", "z": "number", "flag": "number", "when": "date", "colour": "word"}
    fresh = estimator(MODELS["regression" if task == "regression" else "classification"])(**made)
    model, asked = LateModel(fresh, columns=kinds), {}
    for row, answer in zip(batch.to_pylist(), answers.to_pylist(), strict=True):
        if row["y"] is None:
            ticket = asked[row["name"]] = model.ask({name: row[name] for name in USED}, row["name"])
            assert answer["truth"] is answer["loss"] is None
        else:
            ticket = asked[row["name"]]
            assert model.tell(row["name"], row["y"]) == answer["loss"]
        assert answer["prediction"] == ticket.prediction
        if ticket.lower is not None and math.isfinite(ticket.lower):
            assert answer["lower"] == ticket.lower
    assert refusals == []
    assert tracker.model.score == model.score
    assert (
        tracker.story("a").pending
        == model.score.pending
        == sum(one is None for one in rows.column("y").to_pylist())
    )


def test_baselines_know_what_was_known_when_the_row_was_new():
    names, ys = ["a", "b", "c", "a", "b", "c"], [None, None, None, 4.0, 6.0, 8.0]
    more = {"name": [*names, "d", "e", "d"], "y": [*ys, None, 1.0, 9.0], "x": [1.0] * 9}
    tracker, _, _ = tracked(pa.record_batch(more), settings("regression"), [])
    # d was asked when 4, 6, 8 were told: no change says 8, the mean is 6. e came at once, after the
    # same three.
    assert tracker.score.judged == 2
    assert tracker.score.sums["no change"] == (8.0 - 1.0) ** 2 + (8.0 - 9.0) ** 2
    assert tracker.score.sums["mean or majority"] == (6.0 - 1.0) ** 2 + (6.0 - 9.0) ** 2
    assert tracker.errors()[0]["running mean"] == math.sqrt((25.0 + 9.0) / 2)


@pytest.mark.parametrize("task", ["regression", "multi-class"])
def test_batches_and_stops_change_nothing(task):
    batch, rng = twice(world(task, ROWS, seed=6), delay=9), np.random.default_rng(1)
    straight, answers, _ = tracked(batch, settings(task, lags=2), [])
    cuts = sorted(rng.choice(np.arange(1, len(batch)), 7, replace=False).tolist())
    stopped, again, _ = tracked(batch, settings(task, lags=2), cuts, save=True)
    assert again.equals(answers)
    one, other = straight.state(), stopped.state()
    assert one.keys() == other.keys()
    assert all(
        np.array_equal(one[name], other[name], equal_nan=np.asarray(one[name]).dtype.kind == "f")
        for name in one
    )


def test_rows_come_again_or_are_answered_twice_or_have_no_id():
    rows = {
        "name": ["a", "a", "a", "a", "a", None, "b", "b"],
        "y": [None, None, 1.0, 1.0, None, 2.0, 5.0, 5.0],
        "x": [1.0, 9.0, None, None, 1.0, 1.0, 2.0, 2.0],
    }
    batch = pa.record_batch(rows)
    tracker, answers, refusals = tracked(batch, settings("regression"), [])
    assert [(one.row, one.column, one.value) for one in refusals] == [
        (4, "name", "a"),
        (5, "name", "a"),
        (6, "name", ""),
        (8, "name", "b"),
    ]
    assert refusals[0].reason == "was answered before; a new row needs a new id"
    assert answers.column("row").to_pylist() == [1, 2, 3, 7]
    assert (tracker.model.score.asked, tracker.model.score.told) == (2, 2)
    cut = tracked(batch, settings("regression"), [1, 2, 3, 4, 5, 6, 7], save=True)
    assert cut[1].equals(answers)
    assert cut[2] == refusals


def test_those_that_wait_too_long_are_given_up_wherever_batches_end(monkeypatch):
    monkeypatch.setattr(room, "MOST_PENDING", 4)
    monkeypatch.setattr(room, "REMEMBERED", 3)
    batch = twice(world("regression", 60, seed=7, missing=0.4), delay=6)
    straight, answers, refusals = tracked(batch, settings("regression"), [])
    assert straight.dropped > 10
    assert len(straight.answered) == 3
    cut = tracked(batch, settings("regression"), list(range(1, len(batch))), save=True)
    assert cut[1].equals(answers)
    assert cut[2] == refusals
    assert cut[0].dropped == straight.dropped
    assert "given up" in straight.story("a").remarks[0]


def test_it_wants_ids_and_no_keys():
    batch = world("regression", 40, seed=1)
    with pytest.raises(TrackingError, match="--twice needs --id"):
        trackers.begin(Settings("y", twice=True), batch)
    with pytest.raises(TrackingError, match="--twice does not go together with --key"):
        trackers.begin(settings(key=("colour",)), batch)


@pytest.mark.parametrize("damage", ["[[], [], [0, 0, [], null, 0, []]]", "[]", "no"])
def test_damaged_states_are_refused(damage):
    tracker, _, _ = tracked(
        twice(world("regression", 40, seed=1), delay=3), settings("regression"), []
    )
    with pytest.raises(ValueError, match=r"."):
        trackers.resumed(tracker.state() | {"twice": damage})


def test_ids_that_no_ticket_can_have():
    batch = pa.record_batch({"a": ["x" * 300, "line\nbreak", ""], "b": [1.5, 2.0, 3.0]})
    ids = ids_of(batch, ["a"])
    assert [None if one is None else len(one) for one in ids] == [32, 32, None]
    assert ids_of(batch, ["b"]) == ["1.5", "2", "3"]


def test_its_report_says_who_waits(tmp_path):
    tracker, _, _ = tracked(twice(world("binary", 80, seed=3), delay=5), settings("binary"), [])
    write_story(tracker.story("flights.csv"), tmp_path / "page.html", command="swordplay track")
    page = (tmp_path / "page.html").read_text()
    assert f"{tracker.model.score.pending:,} wait" in page
    assert "answers later" in page
