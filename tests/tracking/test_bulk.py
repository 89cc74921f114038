"""Many keys in bulk: what they say is what a tracker for each key says, wherever batches end and runs stop."""

import json
import math

import numpy as np
import pyarrow as pa
import pytest

from swordplay.application.tracking import trackers
from swordplay.application.tracking.bulk import BulkTracker, fits
from swordplay.application.tracking.keyed import KeyedTracker
from swordplay.application.tracking.settings import Settings

pytestmark = pytest.mark.xdist_group("keyed")


def table(seed, count=900, keys=12, unlabelled=0.0, gaps=0.0):
    """Interleaved rows of two columns of keys, three columns of numbers and one of truths."""
    rng = np.random.default_rng(seed)
    shop, part = rng.integers(0, keys, count), rng.integers(0, 2, count)
    numbers = rng.normal(size=(count, 3)) * [1.0, 50.0, 0.1] + [0.0, 1e5, 1.0]
    target = numbers[:, 0] * (shop - 3.0) + rng.standard_t(2, count)
    names = pa.array([None if k == 3 else f"shop {k}" for k in shop])
    columns = {
        "shop": names,
        "part": pa.array(part.astype(float)),
        **{f"x{j}": pa.array(numbers[:, j], mask=rng.random(count) < gaps) for j in range(3)},
        "open": pa.array(rng.random(count) < 0.3),
        "y": pa.array(target, mask=rng.random(count) < unlabelled),
    }
    return pa.record_batch(list(columns.values()), names=list(columns))


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
@pytest.mark.parametrize("lags", [0, 2])
@pytest.mark.parametrize(("unlabelled", "gaps"), [(0.0, 0.0), (0.2, 0.1)])
def test_the_same_as_a_tracker_for_each_key(key, lags, unlabelled, gaps):
    batch, settings = table(1, unlabelled=unlabelled, gaps=gaps), Settings("y", key=key, lags=lags)
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


@pytest.mark.parametrize("resume", [False, True])
def test_it_does_not_matter_where_batches_end_or_runs_stop(resume):
    batch, settings = table(2, unlabelled=0.1, gaps=0.1), Settings("y", key=("shop",), lags=1)
    whole, said = tracked(trackers.begin(settings, batch), batch, [])
    for seed in range(3):
        edges = np.sort(np.random.default_rng(seed).choice(900, 7, replace=False)).tolist()
        other, again = tracked(trackers.begin(settings, batch), batch, edges, resume)
        assert again.combine_chunks().equals(said.combine_chunks())
        mine, theirs = whole.state(), other.state()
        assert mine.keys() == theirs.keys()
        assert all(np.array_equal(mine[name], theirs[name]) for name in mine), "every bit of the state"


def test_tables_that_need_more_have_a_tracker_for_each_key():
    batch = table(3)
    words = batch.append_column("word", pa.array(["a", "b", "c"] * 300))
    dated = batch.append_column("day", pa.array(np.arange(900).astype("datetime64[D]").astype("datetime64[us]")))
    classes = batch.set_column(batch.num_columns - 1, "y", pa.array(["yes", "no", "no"] * 300))
    for one, settings in (
        (words, Settings("y", key=("shop",))),
        (dated, Settings("y", key=("shop",))),
        (classes, Settings("y", key=("shop",))),
    ):
        assert isinstance(trackers.begin(settings, one), KeyedTracker)
    assert not fits(KeyedTracker.begin(Settings("y", key=("shop",)), words))


def test_more_keys_than_there_could_be_trackers():
    count = 12_000
    rows = {"k": np.arange(count).astype(float), "x": np.ones(count), "y": np.arange(count).astype(float) / 7}
    batch = pa.record_batch([pa.array(np.tile(values, 2)) for values in rows.values()], names=list(rows))
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
    tracker, _ = tracked(trackers.begin(Settings("y", key=("shop",)), table(5)), table(5), [])
    saved = tracker.state()
    bad = {
        "bulk.sums": -saved["bulk.sums"],
        "bulk.counts": saved["bulk.counts"][1:],
        "bulk.totals": np.full_like(saved["bulk.totals"], np.nan),
        "bulk.group": saved["bulk.group"][:-1],
        "bulk.keys": json.dumps(["a"]),
        "rows": -1,
    }
    for name, value in bad.items():
        with pytest.raises(ValueError, match=r"."):
            trackers.resumed(saved | {name: value})
