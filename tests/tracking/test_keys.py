"""Many series in one table: each key is tracked as if it were alone, and all of them go on
wherever they are stopped.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from swordplay.cli import inspection
from swordplay.core import checkpoint
from swordplay.report import write_keys
from swordplay.tables import Batch, Position, TableError
from swordplay.tracking import (
    Job,
    Settings,
    Tracker,
    TrackingError,
    keyed,
    keyed_story,
    pieces,
    run,
)
from swordplay.tracking.keyed import KeyedTracker
from swordplay.tracking.keyed_story import KeyLine
from swordplay.tracking.packing import pack, unpack
from swordplay.tracking.totals import Totals
from tolerances import ROUNDING
from tracking.files import FORMATS, write
from tracking.worlds import TASKS, column, world

COUNT = 3


def keyed_world(task, rows=180, seed=5):
    """Three series of one table, row by row in no particular order, with a key of a word and a
    number; some have no key.
    """
    rng = np.random.default_rng(seed)
    batch = world(task, rows, seed=seed).drop_columns(["name"])
    place = np.minimum(
        rng.integers(0, COUNT, rows), np.arange(rows) // 20
    )  # the third one appears late
    word = pa.array(np.array(["north", "south", "?"])[place], mask=place == 2)
    return batch.add_column(2, "region", word).add_column(
        0, "shop", pa.array(place.astype(float) % 2)
    ), place


SETTINGS = Settings("y", lags=2, key=("region", "shop"), level=0.9)


def tracked(batch, settings, sizes, *, save=False):
    """Track a table in batches of these sizes, the last one as often as needed.

    Saved and loaded between them if asked.
    """
    tracker, parts, first = KeyedTracker.begin(settings, batch), [], 0
    numbers = np.arange(1, len(batch) + 1)
    while first < len(batch):
        size = sizes[min(len(parts), len(sizes) - 1)]
        part = slice(first, min(first + size, len(batch)))
        parts.append(
            tracker.track(batch.slice(first, part.stop - first), numbers[part]).predictions
        )
        first = part.stop
        if save:
            state = checkpoint.loads(checkpoint.dumps(tracker.state(), kind="track"), kind="track")
            tracker = KeyedTracker.resumed(state)
    return tracker, pa.Table.from_batches(parts).combine_chunks()


@pytest.mark.parametrize("task", TASKS)
def test_each_key_is_tracked_as_if_it_were_alone(task):
    batch, place = keyed_world(task)
    tracker, found = tracked(batch, SETTINGS, [len(batch)])
    assert found.schema.names[:3] == ["row", "region", "shop"]
    assert found["row"].to_pylist() == list(range(1, len(batch) + 1))
    for name in ("region", "shop"):
        assert (
            found[name]
            .combine_chunks()
            .equals(pa.chunked_array([batch.column(name)]).combine_chunks())
        )
    for k, line in enumerate(tracker.lines()):
        rows = pa.array(np.flatnonzero(place == k))
        alone = batch.take(rows).drop_columns(["region", "shop"])
        single = Tracker.begin(
            Settings("y", lags=2, task=tracker.recognised.task, level=0.9), alone
        )
        expected = single.track(alone, rows.to_numpy() + 1).predictions
        ours = found.take(rows).drop(["region", "shop", "running_error"])
        assert ours.equals(pa.Table.from_batches([expected]).drop(["running_error"]))
        errors, _ = single.errors()
        assert line.rows == single.recorder.rows
        assert line.errors == pytest.approx(
            {name: errors[name] for name in line.errors}, rel=ROUNDING
        )


@pytest.mark.parametrize("task", TASKS)
def test_the_running_error_is_over_all_keys(task):
    _, found = tracked(keyed_world(task)[0], SETTINGS, [50])
    total, count = 0.0, 0
    for row in found.to_pylist():
        if row["loss"] is not None:
            total += row["loss"] if task == "regression" else row["prediction"] != row["truth"]
            count += 1
        expected = (
            None
            if not count
            else math.sqrt(total / count)
            if task == "regression"
            else total / count
        )
        assert row["running_error"] == (
            None if expected is None else pytest.approx(expected, rel=ROUNDING)
        )


def test_the_baselines_are_those_of_the_same_key():
    batch, place = keyed_world("regression")
    tracker, found = tracked(batch, SETTINGS, [len(batch)])
    truths = column(found, "truth")
    lost = {"no change": 0.0, "running mean": 0.0}
    seen: dict[int, list[float]] = {}
    for k, truth in zip(place, truths, strict=True):
        if not math.isnan(truth):
            before = seen.setdefault(int(k), [])
            if before:
                lost["no change"] += (before[-1] - truth) ** 2
                lost["running mean"] += (sum(before) / len(before) - truth) ** 2
            before.append(truth)
    rows = sum(len(values) - 1 for values in seen.values())
    errors, best = tracker.errors()
    assert list(errors) == ["swordplay", "no change", "running mean"]
    for name, total in lost.items():
        assert errors[name] == pytest.approx(math.sqrt(total / rows), rel=ROUNDING)
    assert errors["swordplay"] == pytest.approx(found["running_error"][-1].as_py(), rel=ROUNDING)
    assert math.isnan(best)
    story = tracker.story("here", refused=2, seconds=1.5)
    assert (story.keys, story.rows, story.refused, story.seconds) == (COUNT, rows, 2, 1.5)
    assert story.unlabelled == int(np.isnan(truths).sum()) == tracker.unlabelled


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize(("sizes", "save"), [([1], False), ([7, 40, 1, 33], True)])
def test_nothing_depends_on_where_batches_end_or_runs_are_stopped(task, sizes, save):
    batch, _ = keyed_world(task)
    straight, expected = tracked(batch, SETTINGS, [len(batch)])
    cut, found = tracked(batch, SETTINGS, sizes, save=save)
    assert found.equals(expected)
    assert checkpoint.dumps(cut.state(), kind="track") == checkpoint.dumps(
        straight.state(), kind="track"
    )
    assert cut.story("x") == straight.story("x")
    assert cut.effective_step_size == straight.effective_step_size


def job(path, **options):
    paths = {
        name: str(value) if name in ("output", "refused", "state") else value
        for name, value in options.items()
    }
    return Job(str(path), SETTINGS, block_size=1 << 11, **paths)


@pytest.mark.parametrize("format", FORMATS)
def test_a_run_that_was_killed_and_stopped_goes_on_byte_by_byte(tmp_path, format):
    path = write(tmp_path / f"table.{format}", keyed_world("regression")[0])
    run(job(path, output=tmp_path / f"whole.{format}"))
    options = {"output": tmp_path / f"cut.{format}", "state": tmp_path / "state", "save_every": 1}
    seen = []

    def die(progress):
        seen.append(progress)
        if len(seen) == 2:
            raise MemoryError  # as good as a kill: nothing is saved any more

    with pytest.raises(MemoryError):
        run(job(path, **options), watch=die)
    while run(job(path, **options), watch=seen.append, told=lambda: len(seen) % 3 == 0).stopped:
        seen.append(None)
    assert (tmp_path / f"cut.{format}").read_bytes() == (tmp_path / f"whole.{format}").read_bytes()
    facts = inspection.describe(str(tmp_path / "state"))
    assert facts["keys"] == "3 of region, shop, a model each"
    with pytest.raises(TrackingError, match="saved with --key region,shop, and now it is no --key"):
        run(job(path, **options)._replace(settings=SETTINGS._replace(key=())))


def test_the_key_is_not_a_feature_even_if_asked_for():
    batch, _ = keyed_world("regression")
    for asked in (
        SETTINGS,
        SETTINGS._replace(features=("x", "region", "z", "flag", "when", "colour")),
        SETTINGS._replace(drop=("shop",)),
    ):
        tracker = KeyedTracker.begin(asked, batch)
        left = {one.name: one.why for one in tracker.plans if one.kind == "left out"}
        assert left == {"shop": "it is the key", "region": "it is the key"}


def test_refused_rows_belong_to_no_key():
    batch, _ = keyed_world("regression")
    y = batch.column("y").to_pylist()
    y[4] = 1e70
    batch = batch.set_column(batch.schema.names.index("y"), "y", pa.array(y))
    tracker = KeyedTracker.begin(SETTINGS, batch)
    found = tracker.track(batch, np.arange(1, len(batch) + 1))
    assert [one.row for one in found.refusals] == [5]
    assert (tracker.refused, tracker.rows, len(found.predictions)) == (
        1,
        len(batch) - 1,
        len(batch) - 1,
    )
    nothing = tracker.track(batch.slice(4, 1), np.array([5]))
    assert (len(nothing.predictions), nothing.predictions.schema) == (0, tracker.schema)


def test_there_are_only_so_many_keys(monkeypatch):
    monkeypatch.setattr(keyed, "MAX_KEYS", 2)
    batch, _ = keyed_world("regression")
    tracker = KeyedTracker.begin(SETTINGS, batch)
    tracker.track(batch.slice(0, 40), np.arange(1, 41))
    before = checkpoint.dumps(tracker.state(), kind="track")
    with pytest.raises(
        TrackingError, match=r"--key region,shop tells more than 2 series apart.*split the table"
    ):
        tracker.track(batch.slice(40), np.arange(41, len(batch) + 1))
    assert before == checkpoint.dumps(tracker.state(), kind="track")


def test_there_are_only_so_many_classes():
    labels = [f"l{k % 99}" for k in range(200)]
    batch = pa.record_batch({"k": ["a", "b"] * 100, "x": np.arange(200.0), "y": labels})
    tracker = KeyedTracker.begin(Settings("y", key=("k",)), batch)
    tracker.track(batch, np.arange(1, 201))
    tracker = KeyedTracker.resumed(tracker.state())
    more = pa.record_batch({"k": ["a", "b"], "x": [0.0, 0.0], "y": ["new", "newer"]})
    refused = tracker.track(more, np.array([201, 202])).refusals
    assert [(one.row, one.value) for one in refused] == [(202, "newer")]
    assert "is one class more than 100" in refused[0].reason
    assert tracker.task == "multi-class"


@pytest.mark.parametrize(
    ("key", "message"),
    [
        (
            ("regoin",),
            r"--key names the column 'regoin', which is not there. Did you mean 'region'\?",
        ),
        (("y",), "--key names the target 'y'"),
        (("when",), "--key names 'when', which holds dates"),
        (("loss",), "--key names 'loss', which is a column of the predictions"),
    ],
)
def test_what_cannot_be_a_key(key, message):
    batch = keyed_world("regression")[0].rename_columns(
        ["shop", "x", "z", "region", "flag", "when", "loss", "y"]
    )
    with pytest.raises(TrackingError, match=message):
        KeyedTracker.begin(Settings("y", key=key), batch)


def test_the_order_of_time_is_looked_at_within_keys():
    batch, place = keyed_world("regression")
    assert tracked(batch, SETTINGS, [50])[0].remarks() == ()
    under = batch.take(pa.array(np.argsort(place, kind="stable")))
    assert tracked(under, SETTINGS, [50])[0].remarks() == ()
    (remark,) = tracked(batch.take(pa.array(np.arange(len(batch))[::-1])), SETTINGS, [50])[
        0
    ].remarks()
    assert (remark.kind, remark.remedy) == ("newest first", "--reverse")
    assert "at 100 % of its changes within a key" in remark.text
    mixed = batch.take(pa.array(np.random.default_rng(0).permutation(len(batch))))
    assert [one.kind for one in tracked(mixed, SETTINGS, [50])[0].remarks()] == ["shuffled"]
    (remark,) = tracked(under, Settings("y", key=("flag", "flag")), [50])[
        0
    ].remarks()  # too little of a key
    assert (remark.kind, remark.remedy) == ("back", "--key")
    assert remark.text.endswith(
        "within a key. If another column tells the parts apart, add it to --key."
    )


def test_best_worst_and_largest_keys():
    rng = np.random.default_rng(0)
    parts = []
    for name, rows, noise in (
        ("easy", 60, 0.0),
        ("fair", 80, 0.5),
        ("hard", 100, 20.0),
        ("tiny", 5, 0.0),
    ):
        x = rng.normal(size=rows)
        parts.append(
            pa.record_batch(
                {"k": [name] * rows, "x": x, "y": 5.0 + 3.0 * x + noise * rng.normal(size=rows)}
            )
        )
    batch = pa.Table.from_batches(parts).combine_chunks().to_batches()[0]
    story = tracked(batch, Settings("y", key=("k",)), [len(batch)])[0].story("here")
    assert [line.name for line in (*story.best, *reversed(story.worst))] == ["easy", "fair", "hard"]
    assert [line.name for line in story.largest] == ["hard", "fair", "easy", "tiny"]
    assert list(story.named) == ["best", "worst", "largest"]
    assert list(replace(story, keys=3).named) == ["best", "worst"]
    assert story.ahead == sum(
        line.errors["swordplay"] < line.errors["no change"] for line in story.largest
    )
    assert KeyLine(("a", None, 2.0, True), 1, {}).name == "a, (missing), 2, True"


def test_how_errors_are_distributed_over_the_keys_and_any_key_on_request(tmp_path):
    lines = [
        KeyLine((f"k{k:02}",), 10, {"swordplay": k / 10.0, "no change": 1.0}) for k in range(1, 21)
    ]
    every = keyed_story.Lines.of(lines)
    assert list(every) == lines
    (tenth, quarter, half, three, nine) = keyed_story._spread(
        every.errors("swordplay"), every.ratios()
    )
    assert (tenth.share, quarter.share, half.share, three.share, nine.share) == keyed_story.SHARES
    assert [one.ratio for one in (tenth, quarter, half, three, nine)] == [
        0.2,
        0.5,
        1.0,
        1.5,
        1.8,
    ]  # of the 2nd, 5th, ... key
    assert keyed_story._spread([], []) == ()
    assert len(keyed_story.Lines.of([])) == len(keyed_story.Lines.of([]).ratios()) == 0
    batch, _ = keyed_world("regression")
    tracker, _ = tracked(batch, SETTINGS, [len(batch)])
    story = tracker.story("here")
    assert len(story.spread) == 5
    some = story.largest[0] if story.largest else story.best[0]
    asked = keyed_story.with_key(story, tracker, tuple(some.name.split(", ")))
    assert asked.asked == (some,)
    assert next(iter(asked.named)) == "asked for"
    write_keys(asked, tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text()
    assert "What was asked for" in page
    assert "How the keys are spread" in page
    with pytest.raises(
        TrackingError,
        match=r"--show-key: no row was predicted of a key 'nowhere'. Give the values of region",
    ):
        keyed_story.with_key(story, tracker, ("nowhere",))


def test_batches_are_put_together_for_keys_in_bulk():
    batch = pa.record_batch({"y": [1.0, 2.0]})
    position = Position("csv", "", 0, 0, 0, 0, "")

    def parts(count):
        return [Batch(batch, np.array([2 * k + 1, 2 * k + 2]), position, ()) for k in range(count)]

    found = list(pieces.larger(iter(parts(5)), lambda: 4, live=False))
    assert [one.numbers.tolist() for one in found] == [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10]]
    one, two = parts(2)
    assert [
        one and len(one.rows)
        for one in pieces.larger(iter([one, None, two]), lambda: 9, live=False)
    ] == [None, 4]
    assert [
        one and len(one.rows) for one in pieces.larger(iter([one, None, two]), lambda: 9, live=True)
    ] == [2, None, 2]

    def broken():
        yield one
        raise TableError("row 3")

    found = pieces.larger(broken(), lambda: 9, live=False)
    assert len(next(found).rows) == 2  # what came before is learned
    with pytest.raises(TableError, match="row 3"):
        next(found)


def test_keys_that_lose_are_said_to(tmp_path):
    """Walks of equal length that nothing tells anything about: repeating the last value is hard
    to beat.
    """
    rng = np.random.default_rng(1)
    steps = rng.choice([-1.0, 1.0], size=(30, 6)).cumsum(axis=0) + 100.0 * rng.random(6)
    names = np.tile([f"k{k}" for k in range(6)], 30)
    batch = pa.record_batch({"k": names, "x": rng.normal(size=180), "y": steps.ravel()})
    story = tracked(batch, Settings("y", key=("k",)), [180])[0].story("here")
    assert story.largest == ()
    assert (
        story.remarks[-1] == "The median key has 29 predicted rows: little data for a model each."
    )
    line = story.best[0]
    assert line.ratio == line.errors["swordplay"] / line.errors["no change"]
    lost = [
        one._replace(errors=dict(one.errors) | {"swordplay": 3.0, "no change": 2.0})
        for one in story.best
    ]
    errors = {"swordplay": 3.0, "no change": 2.0, "running mean": 9.0}
    write_keys(replace(story, ahead=0, best=tuple(lost), errors=errors), tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text()
    for words in (
        "y in here, each k by itself",
        "Worse than repeating the last value: swordplay was off by 3.00 (RMSE) over all keys",
        "in none of 6 keys, not even where it did best",
        "Where it did best, by × no change; 3 of these lose against no change",
        "1.50",
    ):
        assert words in page
    assert "The keys with most rows" not in page


def test_the_ratio_of_keys_without_errors():
    both = [
        KeyLine(("a",), 1, {"swordplay": ours, "no change": theirs})
        for ours, theirs in ((0, 0), (1, 0), (1, 4), (5, 4))
    ]
    assert (
        [line.ratio for line in both]
        == keyed_story.Lines.of(both).ratios().tolist()
        == [1.0, math.inf, 0.25, 1.25]
    )
    assert (keyed_story.LITTLE, keyed_story.FEWEST_ROWS, keyed_story.NAMED) == (50, 10, 5)


def test_the_report_names_the_keys(tmp_path):
    batch, _ = keyed_world("binary")
    story = tracked(batch, SETTINGS, [len(batch)])[0].story("<here>")
    write_keys(story, tmp_path / "r.html", command="swordplay track")
    page = (tmp_path / "r.html").read_text()
    for words in (
        "&lt;here&gt;",
        "over all keys",
        "3 keys",
        "north, 0",
        "(missing), 0",
        "no change",
        "it is the key",
    ):
        assert words in page


def test_nothing_to_learn_is_said():
    batch, _ = keyed_world("regression")
    with pytest.raises(TrackingError, match="no row has a value of the target 'y'"):
        KeyedTracker.begin(SETTINGS, batch).story("here")
    assert KeyedTracker.begin(SETTINGS, batch).errors()[0] == {}
    assert math.isnan(KeyedTracker.begin(SETTINGS, batch).effective_step_size)


VALUES = st.one_of(
    st.integers(-(2**40), 2**40),
    st.floats(allow_nan=False),
    st.booleans(),
    st.text(max_size=5),
    st.lists(st.floats(allow_nan=False), max_size=4).map(np.array),
    st.lists(st.booleans(), min_size=1, max_size=4).map(np.array),
    st.integers(0, 3).map(lambda n: np.arange(2 * n).reshape(2, n)),
)


@settings(max_examples=25)
@given(st.lists(st.dictionaries(st.sampled_from(["a", "b", "c:d", "e"]), VALUES), max_size=5))
def test_states_come_back_from_one_package(states):
    found = unpack(
        checkpoint.loads(checkpoint.dumps(pack(states), kind="track"), kind="track"), len(states)
    )
    assert len(found) == len(states)
    for ours, theirs in zip(found, states, strict=True):
        assert ours.keys() == theirs.keys()
        for name, value in theirs.items():
            assert type(ours[name]) is type(value)
            np.testing.assert_array_equal(ours[name], value)
            assert getattr(ours[name], "dtype", None) == getattr(value, "dtype", None)


def test_totals_have_no_end():
    totals = Totals(("a", "b", "c"))
    assert totals.together(10**9) == 10**9
    assert "figures" not in totals.state()
    totals.open_rungs += np.arange(16.0, 0.0, -1.0)
    assert totals.totals() == ({"a": 0.0, "b": 0.0, "c": 0.0, "best step size": 1.0}, 2.0**-15)


def test_keys_share_what_only_a_single_series_needs():
    batch, _ = keyed_world("regression")
    tracker, _ = tracked(batch, SETTINGS, [60], save=True)
    assert {id(one.tally) for one in tracker.trackers.values()} == {id(tracker.blank.tally)}
    assert not tracker.blank.tally.errors.below.any()
    assert {type(one.recorder) for one in tracker.trackers.values()} == {Totals}
