"""Many keys in bulk: what they say is what a tracker for each key says, wherever batches end and
runs stop.
"""

import json
import math

import numpy as np
import pyarrow as pa
import pytest

from swordplay.intervals import SwordIntervals
from swordplay.keyed import key_table
from swordplay.keyed.key_table import KeyTable
from swordplay.keyed.record_layout import KeyModel
from swordplay.tracking import bulk, bulk_kernel, trackers
from swordplay.tracking.band import judged
from swordplay.tracking.bulk import BulkTracker, fits
from swordplay.tracking.key_index import KeyIndex
from swordplay.tracking.keyed import KeyedTracker
from swordplay.tracking.settings import Settings

pytestmark = pytest.mark.xdist_group("keyed")


def table(seed, count=900, keys=12, unlabelled=0.0, gaps=0.0, dated=False):
    """Interleaved rows of two columns of keys, three columns of numbers and one of truths.

    Dates, some late, some copies.
    """
    rng = np.random.default_rng(seed)
    shop, part = rng.integers(0, keys, count), rng.integers(0, 2, count)
    numbers = rng.normal(size=(count, 3)) * [1.0, 50.0, 0.1] + [0.0, 1e5, 1.0]
    target = numbers[:, 0] * (shop - 3.0) + rng.standard_t(2, count)
    names = pa.array([None if k == 3 else f"shop {k}" for k in shop])
    columns = {
        "shop": names,
        "part": pa.array(part.astype(float)),
        **{f"x{j}": pa.array(numbers[:, j], mask=rng.random(count) < gaps) for j in range(3)},
        **({"day": days(rng, count)} if dated else {}),
        "open": pa.array(rng.random(count) < 0.3),
        "y": pa.array(target, mask=rng.random(count) < unlabelled),
    }
    rows = pa.record_batch(list(columns.values()), names=list(columns))
    if dated:  # every tenth row is that of before once more, whatever its key
        places = np.arange(count)
        places[::10] = np.maximum(places[::10] - 1, 0)
        rows = rows.take(pa.array(places))
    return rows


def days(rng, count):
    """Dates with hours; some are missing, some go back."""
    hours = np.arange(count) - rng.integers(0, 200, count) * (rng.random(count) < 0.2)
    return pa.array((hours * 3_600_000_000).astype("datetime64[us]"), mask=rng.random(count) < 0.05)


def tracked(tracker, batch, edges, resume=False):
    """Predictions of a table that comes in batches."""
    parts = []
    for a, b in zip([0, *edges], [*edges, len(batch)], strict=True):
        parts.append(tracker.track(batch.slice(a, b - a), np.arange(a + 1, b + 1)).predictions)
        if resume:
            tracker = trackers.resumed(tracker.state())
            assert isinstance(tracker, BulkTracker)
    return tracker, pa.Table.from_batches(parts)


@pytest.mark.parametrize("key", [("shop",), ("shop", "part")])
@pytest.mark.parametrize(
    "model", [{"lags": "auto", "curves": "auto"}, {"lags": 2, "curves": "auto"}, {}, {"lags": 2}]
)
@pytest.mark.parametrize(("unlabelled", "gaps"), [(0.0, 0.0), (0.2, 0.1)])
def test_the_same_as_a_tracker_for_each_key(key, model, unlabelled, gaps):
    batch, settings = table(1, unlabelled=unlabelled, gaps=gaps), Settings("y", key=key, **model)
    bulk = trackers.begin(settings, batch.slice(0, 300))
    assert isinstance(bulk, BulkTracker)
    each = KeyedTracker.begin(settings, batch.slice(0, 300))
    bulk, said = tracked(bulk, batch, [300, 301, 640])
    each, expected = tracked(each, batch, [500])
    assert said.schema == expected.schema
    for name in said.schema.names[:-2]:
        assert said.column(name).equals(expected.column(name)), name
    for name in ("loss", "running_error"):
        mine, theirs = (one.column(name).to_numpy() for one in (said, expected))
        np.testing.assert_allclose(mine, theirs, rtol=1e-12)
    assert (bulk.rows, bulk.unlabelled, bulk.refused) == (each.rows, each.unlabelled, each.refused)
    mine, theirs = bulk.story("here"), each.story("here")
    assert (mine.rows, mine.keys, mine.ahead) == (theirs.rows, theirs.keys, theirs.ahead)
    assert [line.key for line in mine.best] == [line.key for line in theirs.best]
    assert mine.errors == pytest.approx(theirs.errors, rel=1e-12)
    for one, other in zip(bulk.lines(), each.lines(), strict=True):
        assert (one.key, one.rows) == (other.key, other.rows)
        assert one.errors == pytest.approx(other.errors, rel=1e-12)
    assert bulk.effective_step_size == pytest.approx(each.effective_step_size, rel=1e-9)
    assert math.isnan(bulk.errors()[1])


def around(answers, key, level):
    """The intervals that each key alone would have around its predictions, in the order of the
    answers.
    """
    frame = answers.to_pandas()
    found = np.full((len(frame), 2), np.nan)
    for _, mine in frame[frame["prediction"].notna()].groupby(list(key), dropna=False):
        one = SwordIntervals(level)
        for place, row in mine.iterrows():
            truth = row["truth"]
            bounds = (
                one.intervals([row["prediction"]])
                if np.isnan(truth)
                else one.interval_then_learn([row["prediction"]], [truth])
            )
            found[place] = np.where(np.isfinite(bounds), bounds, np.nan)
    return found


@pytest.mark.parametrize("key", [("shop",), ("shop", "part")])
def test_intervals_are_those_of_each_key_alone(monkeypatch, key):
    monkeypatch.setattr("swordplay.keyed.key_table.MIN_THREAD_ROWS", 50)
    batch, settings = table(6, unlabelled=0.1, gaps=0.1), Settings("y", key=key, level=0.8)
    bulk, said = tracked(trackers.begin(settings, batch), batch, [300, 301, 640], resume=True)
    assert said.schema == KeyedTracker.begin(settings, batch).schema
    expected = around(said, key, 0.8)
    np.testing.assert_array_equal(
        np.column_stack([said[name].to_numpy() for name in ("lower", "upper")]), expected
    )
    without = tracked(trackers.begin(settings._replace(level=None), batch), batch, [])[1]
    assert without["prediction"].equals(said["prediction"])
    truth = said["truth"].to_numpy()
    judged = ~np.isnan(said["loss"].to_numpy())
    inside = ~((truth < expected[:, 0]) | (truth > expected[:, 1]))[
        judged
    ]  # where there are no ends, everything is inside
    told = bulk.story("here").intervals
    assert (told.level, told.coverage) == (0.8, inside.mean())
    assert told.mean_width == pytest.approx(
        np.nanmean((expected[:, 1] - expected[:, 0])[judged]), rel=1e-12
    )
    assert told.unbounded == np.isnan(expected[judged, 0]).sum()


@pytest.mark.parametrize("gaps", [0.0, 0.1])
def test_dates_are_columns_and_tell_the_order_within_each_key(gaps):
    batch, settings = table(7, gaps=gaps, dated=True), Settings("y", key=("shop",))
    bulk, each = trackers.begin(settings, batch), KeyedTracker.begin(settings, batch)
    assert isinstance(bulk, BulkTracker)
    bulk, said = tracked(bulk, batch, [7, 300, 301, 640], resume=True)
    each, expected = tracked(each, batch, [500])
    assert said.column("prediction").equals(expected.column("prediction"))
    assert said.column("day").equals(expected.column("day"))
    assert bulk.remarks() == each.remarks() != ()


@pytest.mark.parametrize("resume", [False, True])
def test_it_does_not_matter_where_batches_end_or_runs_stop(resume):
    batch, settings = (
        table(2, unlabelled=0.1, gaps=0.1, dated=True),
        Settings("y", key=("shop",), lags="auto", curves="auto", level=0.9),
    )
    whole, said = tracked(trackers.begin(settings, batch), batch, [])
    for seed in range(3):
        edges = np.sort(np.random.default_rng(seed).choice(900, 7, replace=False)).tolist()
        other, again = tracked(trackers.begin(settings, batch), batch, edges, resume)
        assert again.combine_chunks().equals(said.combine_chunks())
        mine, theirs = whole.state(), other.state()
        assert mine.keys() == theirs.keys()
        assert all(np.array_equal(mine[name], theirs[name]) for name in mine), (
            "every bit of the state"
        )


def test_tables_that_need_more_have_a_tracker_for_each_key():
    batch = table(3)
    words = batch.append_column("word", pa.array(["a", "b", "c"] * 300))
    classes = batch.set_column(batch.num_columns - 1, "y", pa.array(["yes", "no", "no"] * 300))
    for one, settings in (
        (words, Settings("y", key=("shop",))),
        (classes, Settings("y", key=("shop",))),
    ):
        assert isinstance(trackers.begin(settings, one), KeyedTracker)
    slow = KeyedTracker.begin(Settings("y", key=("shop",)), words)
    assert (fits(slow), bulk.slow(slow)) == (False, ["word"])


def test_more_keys_than_there_could_be_trackers():
    count = 12_000
    rows = {
        "k": np.arange(count).astype(float),
        "x": np.ones(count),
        "y": np.arange(count).astype(float) / 7,
    }
    batch = pa.record_batch(
        [pa.array(np.tile(values, 2)) for values in rows.values()], names=list(rows)
    )
    tracker, said = tracked(trackers.begin(Settings("y", key=("k",)), batch), batch, [])
    assert tracker.story("here").keys == count
    assert said.column("prediction").null_count == count  # the first row of each


def test_a_column_that_appears_late_is_named_and_left_out():
    batch = table(4)
    tracker = trackers.begin(Settings("y", key=("shop",)), batch.slice(0, 300))
    late = batch.slice(300).append_column("late", pa.array([None] * 5 + [1.0] * 595))
    told = tracker.track(late, np.arange(301, 901)).remarks
    assert told == ("Column 'late' appears at row 306, too late to join: it is left out.",)
    assert tracker.track(late, np.arange(901, 1501)).remarks == ()
    assert trackers.resumed(tracker.state()).late == ["late"]


def test_damaged_states_are_refused():
    rows = table(5, dated=True)
    tracker, _ = tracked(trackers.begin(Settings("y", key=("shop",), level=0.9), rows), rows, [])
    saved = tracker.state()
    bad = {
        "bulk.sums": -saved["bulk.sums"],
        "bulk.counts": saved["bulk.counts"][1:],
        "bulk.totals": np.full_like(saved["bulk.totals"], np.nan),
        "bulk.table": saved["bulk.table"][:-8],
        "bulk.keys": json.dumps(["a"]),
        "rows": -1,
        "bulk.figures": -saved["bulk.figures"] - 1.0,
        "bulk.apart": saved["bulk.apart"] + 2,
        "order": "{}",
    }
    for name, value in bad.items():
        with pytest.raises(ValueError, match=r"."):
            trackers.resumed(saved | {name: value})
    trackers.resumed(saved)


def test_how_many_rows_are_played_at_once_does_not_show(monkeypatch):
    batch, settings = table(8, unlabelled=0.1), Settings("y", key=("shop",), level=0.8)
    _, expected = tracked(trackers.begin(settings, batch), batch, [300])
    monkeypatch.setattr("swordplay.keyed.key_table.CALL_ROWS", 7)
    _, said = tracked(trackers.begin(settings, batch), batch, [300])
    assert said.equals(expected)
    assert list(key_table.call_parts(np.array([0, 3, 5, 20, 21, 24]), 0, 5)) == [
        (0, 2),
        (2, 3),
        (3, 5),
    ]
    assert list(key_table.call_parts(np.array([0, 3, 5, 20, 21, 24]), 1, 2)) == [(1, 2)]


@pytest.mark.parametrize("kind", [pa.string(), pa.float64()])
def test_keys_have_numbers_in_the_order_in_which_they_appear(kind):
    """Batch by batch, some with missing ones and some without, by Arrow and by Python."""
    rng = np.random.default_rng(9)
    keys_of, seen = KeyTable(KeyModel(1, "squared")), {}
    known = KeyIndex(keys_of)
    for turn in range(12):
        values = [
            None if turn % 3 == 2 and k % 5 == 0 else k
            for k in rng.integers(0, 4 * (turn + 1), 30).tolist()
        ]
        keys = pa.array(values).cast(kind)
        if turn == 7:
            known = KeyIndex(keys_of)  # as after a stop
        for key in keys.to_pylist():
            seen.setdefault(key, len(seen))
        assert known.numbers([keys]).tolist() == [seen[key] for key in keys.to_pylist()]
    assert keys_of.numbers == seen


@pytest.mark.parametrize("keys", [1, 7, 300])
def test_rows_are_sorted_by_key_as_a_stable_sort_does_it(keys):
    whose = np.random.default_rng(keys).integers(0, keys, 1000)
    places = np.empty(1000, dtype=np.int64)
    bulk_kernel.sort_by_key(whose, np.zeros(keys, dtype=np.int64), places)
    assert places.tolist() == np.argsort(whose, kind="stable").tolist()


def test_intervals_are_judged_in_the_kernel_as_those_of_one_series():
    rng = np.random.default_rng(0)
    whose, targets, found = (
        rng.integers(0, 5, 400),
        rng.normal(size=400).round(1),
        np.sort(rng.normal(size=(400, 2)).round(1)),
    )
    found[::7, 0], found[::5, 1], found[3::9, 1] = -np.inf, np.inf, found[3::9, 0]
    figures, expected = np.zeros((5, 3)), np.zeros((5, 3))
    bulk_kernel.hold(whose, targets, found, figures)
    np.add.at(expected, whose, judged(found, targets))
    assert figures.tolist() == expected.tolist()


def test_rows_are_encoded_in_slices_and_room_is_used_again(monkeypatch):
    batch, settings = table(4, 200, gaps=0.2, dated=True), Settings("y", key=("shop",))
    found = []
    for slice_ in (1 << 13, 7):
        monkeypatch.setattr(bulk, "ENCODED_ROWS", slice_)
        tracker, said = tracked(trackers.begin(settings, batch), batch, [120, 150])
        found.append((said, tracker.encoder.state()))
        assert len(tracker._room) == 120
    assert found[0] == found[1]
