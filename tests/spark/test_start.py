"""A stream that begins with what its keys have learned from a table, and windows behind a
stream.
"""

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("pyspark")

from spark import local
from spark.test_pages import Handle, plan, run
from spark.test_rows import tracked
from spark.test_stream import NAMES
from spark.worlds import FEATURES, MODEL, alone, matched, world, write
from swordplay.estimators.linear_model import LinearModel
from swordplay.spark import learn_table, open_state, processors, track_stream
from swordplay.spark.plan import setting_changes

pytestmark = pytest.mark.xdist_group("spark")


@pytest.fixture(scope="module")
def learned(spark, tmp_path_factory):
    """Rows, what keys know after the first two batches of them, and the folder of the others."""
    frame, folder = world(12, 4, seed=11, most=30), tmp_path_factory.mktemp("learned")
    before, after = frame[frame["batch"] < 2], frame[frame["batch"] >= 2]
    assert set(after["key"]) - set(before["key"])  # somebody new
    write(before, folder / "before")
    write(after, folder / "in")
    learn_table(spark.read.parquet(str(folder / "before")), **NAMES).write.parquet(
        str(folder / "states")
    )
    return frame, folder, spark.read.parquet(str(folder / "states"))


def test_a_table_leaves_the_learners_of_its_keys(learned):
    frame, _, states = learned
    before = frame[frame["batch"] < 2].sort_values("at")
    rows = states.collect()
    assert sorted(row["key"] for row in rows) == sorted(before["key"].unique())
    for row in rows:
        mine, model = before[before["key"] == row["key"]], LinearModel(len(FEATURES), **MODEL)
        model.predict_then_learn(mine[FEATURES].to_numpy(copy=True), mine["y"].to_numpy())
        [opened] = open_state(row["fmt"], row["blob"], features=FEATURES, key=row["key"]).values()
        assert np.array_equal(
            opened.predict(mine[FEATURES]), model.predict(mine[FEATURES].to_numpy(copy=True))
        )


def test_a_stream_goes_on_where_a_table_has_ended(spark, learned, tmp_path):
    """Its first batch begins with what was learned.

    The second start, which is not told of it, goes on from its own state.
    """
    frame, _, states = learned
    after = frame[frame["batch"] >= 2]
    write(after[after["batch"] == 2], tmp_path / "in")
    local.run(
        track_stream(local.rows_of(spark, tmp_path / "in"), **NAMES, buckets=3, start=states),
        tmp_path,
    )
    write(after[after["batch"] == 3], tmp_path / "in")
    local.run(track_stream(local.rows_of(spark, tmp_path / "in"), **NAMES, buckets=3), tmp_path)
    expected = pd.Series(alone(frame), index=frame.index)[after.index].to_numpy()
    found = matched(spark.read.parquet(str(tmp_path / "out")).toPandas(), after)
    assert found["error"].isna().all()
    assert np.array_equal(found["prediction"], expected)


def test_what_was_learned_with_other_settings_is_refused(spark, learned):
    _, folder, states = learned
    stream = local.rows_of(spark, folder / "in")
    with pytest.raises(
        ValueError, match='start was learned with other settings: lags was "auto" and is 1'
    ):
        track_stream(stream, **NAMES, start=states, lags=1)
    with pytest.raises(
        ValueError, match=r'features was \["x0", "x1", "x2"\] and is \["x1", "x0", "x2"\]'
    ):
        track_stream(stream, **(NAMES | {"features": ["x1", "x0", "x2"]}), start=states)
    with pytest.raises(TypeError, match="start must be a frame that learn_table has made, got"):
        track_stream(stream, **NAMES, start=stream)
    with pytest.raises(TypeError, match="start must be a frame that learn_table has made, got 3"):
        track_stream(stream, **NAMES, start=3)


def test_keys_begin_with_their_states():
    rows = world(70, 4, seed=12, most=9)
    first, rest = rows[rows["batch"] < 2], rows[rows["batch"] >= 2]
    settings = plan(frozen=(("lags", "0"), ("buckets", "1")))
    of_table = settings.portable()
    table = of_table.table()
    for _, part in first.groupby("batch"):
        tracked(part, table, of_table)
    states = pd.DataFrame({"key": list(table.numbers), "fmt": processors.KEYS_FORMAT})
    states["blob"] = [table.to_bytes([table.numbers[key]]) for key in states["key"]]
    handle, tracker = Handle(), processors.BucketProcessor(settings)
    tracker.init(handle)
    for some in (states[:40], states[40:]):  # Spark may hand them over in pieces
        tracker.handleInitialState((0,), some, None)
    _, answers = run(rest, settings, handle)
    found = rest.merge(
        answers.rename(columns={"order": "at"}), on=["key", "at"], validate="one_to_one"
    )
    assert np.array_equal(found["prediction"], pd.Series(alone(rows), index=rows.index)[rest.index])
    with pytest.raises(ValueError, match=r"start holds the key 'key .*' more than once"):
        tracker.handleInitialState((0,), states, None)
    foreign = plan(frozen=(("lags", "1"),)).portable().table()
    foreign.add(["stranger"])
    with pytest.raises(ValueError, match="other settings"):
        tracker.handleInitialState(
            (0,), states.head(1).assign(key="stranger", blob=foreign.to_bytes()), None
        )


def test_a_start_that_comes_too_late_is_refused_and_one_that_is_left_out_later_is_not():
    plain = {"key": '"a"'}
    assert setting_changes(plain, plain | {"start": "given"}) == [
        "start was not given, and is given now that keys have begun without it"
    ]
    assert setting_changes(plain | {"start": "given"}, plain) == []
    assert setting_changes(plain | {"start": "given"}, plain | {"start": "given"}) == []


@pytest.mark.deep
def test_windows_behind_a_stream_close_by_the_watermark_of_its_predictions(spark, tmp_path):
    """Windows are told once, when no row of theirs can come."""
    from pyspark.sql import functions

    frame = world(5, 3, seed=13, most=40)
    frame["time"] = pd.Timestamp("2024-05-01", tz="UTC") + pd.to_timedelta(
        frame["at"] + 1000 * frame["batch"], unit="min"
    )
    write(frame, tmp_path / "in")
    stream, names = local.rows_of(spark, tmp_path / "in"), NAMES | {"order": "time"}
    with pytest.warns(
        UserWarning, match="df has a watermark on 'time'.*call withWatermark on what it returns"
    ):
        track_stream(stream.withWatermark("time", "5 minutes"), **names)
    answers = track_stream(stream, **names, buckets=2).withWatermark("time", "5 minutes")
    sums = functions.count("*").alias("rows"), functions.sum("prediction").alias("said")
    hours = answers.groupBy(functions.window("time", "1 hour")).agg(*sums)
    local.run(hours.select("window.start", "rows", "said"), tmp_path)
    found = spark.read.parquet(str(tmp_path / "out")).toPandas().sort_values("start")
    times = frame["time"].dt.tz_localize(None)
    expected = (
        frame.assign(said=alone(frame)).groupby(times.dt.floor("h"))["said"].agg(["size", "sum"])
    )
    closed = expected[expected.index < (times.max() - pd.Timedelta(minutes=5)).floor("h")]
    assert len(closed) > 3
    assert found["start"].tolist() == closed.index.tolist()
    assert found["rows"].tolist() == closed["size"].tolist()
    np.testing.assert_allclose(found["said"], closed["sum"])
