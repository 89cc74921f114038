"""A real Spark on this machine: what it says is what each key's learner says alone."""

import contextlib
import datetime
import os
import signal
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("pyspark")

from pyspark.errors import StreamingQueryException

from spark import local
from spark.test_intervals import around
from spark.test_rows import bad_rows
from spark.worlds import FEATURES, MODEL, alone, matched, world, write
from swordplay.estimators.class_model import ClassModel
from swordplay.estimators.linear_model import LinearModel
from swordplay.spark.rows import LATE
from tolerances import TWIN

pytestmark = pytest.mark.xdist_group("spark")

NAMES = {"key": "key", "features": FEATURES, "target": "y", "order": "at"}
PATIENCE = 180.0
"""Seconds that a query may take to notice that its workers are dead, on a machine that does
other things too.
"""


@pytest.fixture(scope="module")
def swordplay_spark(spark):
    import swordplay.spark

    return swordplay.spark


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """60 keys over 5 micro-batches, rows that cannot be learned in the last one, and the folder
    they are in.
    """
    frame, folder = world(60, 5, seed=4).astype({"at": "Int64"}), tmp_path_factory.mktemp("rows")
    assert (
        frame.groupby("key")["batch"].min().nunique() == 5
    )  # in every micro-batch somebody comes late
    foul, reasons = bad_rows()
    write(pd.concat([frame, foul.assign(batch=4)]), folder / "in")
    return frame, folder / "in", reasons


def assert_alone(answers, frame, **settings):
    """Predictions and intervals are those that each key has alone."""
    found = matched(answers, frame)
    assert found["error"].isna().all()
    assert np.array_equal(found["prediction"], alone(frame, **settings))
    assert np.array_equal(found["y"], frame["y"])
    told = found.rename(columns={"at": "order", "y": "target"})
    np.testing.assert_array_equal(told[["lower", "upper"]], around(told))


def kill_workers(spark, query, checkpoint):
    """Kill all workers (-9), from the moment when a second micro-batch begins until the query
    gives up.
    """
    java = spark._jvm.java.lang.ProcessHandle.current().pid()
    deadline = time.monotonic() + PATIENCE
    while query.isActive and time.monotonic() < deadline:
        offsets = checkpoint / "offsets"
        if offsets.exists() and sum(name.isdigit() for name in os.listdir(offsets)) >= 2:
            for daemon in children(java):
                for worker in children(daemon):
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(worker, signal.SIGKILL)
        time.sleep(0.05)
    with pytest.raises(StreamingQueryException):
        query.awaitTermination()


def children(parent):
    """Processes that one has started and that go on."""
    found = []
    for task in Path(f"/proc/{parent}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            found += map(int, task.read_text().split())
    return found


def test_a_stream_whose_workers_are_killed_says_what_each_key_says_alone(
    spark, swordplay_spark, rows, tmp_path
):
    """Rows that cannot be learned come out with a reason."""
    frame, source, reasons = rows
    tracked = swordplay_spark.track_stream(
        local.rows_of(spark, source), **NAMES, buckets=local.BUCKETS
    )
    kill_workers(spark, local.start(tracked, tmp_path), tmp_path / "checkpoint")
    local.run(tracked, tmp_path)
    assert sum(name.isdigit() for name in os.listdir(tmp_path / "checkpoint" / "commits")) == 5
    streamed = spark.read.parquet(str(tmp_path / "out"))
    assert (
        streamed.where("error is not null and prediction is not null").count() == 0
    )  # null, and not NaN
    answers = streamed.toPandas()
    assert sorted(answers["error"].dropna()) == sorted(reasons)
    assert_alone(answers[answers["error"].isna()], frame)


def test_a_table_says_the_same(spark, swordplay_spark, rows):
    """A row is late only if it repeats another: the one of order 0, late in a stream, comes
    first, and counts.
    """
    frame, source, reasons = rows
    spark.conf.set(
        "spark.sql.execution.arrow.maxRecordsPerBatch", 50
    )  # so that keys go on in the next batch
    try:
        answers = swordplay_spark.track_table(
            spark.read.parquet(str(source)), **NAMES, lags=2
        ).toPandas()
    finally:
        spark.conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")
    assert sorted(answers["error"].dropna()) == sorted(
        reason for reason in reasons if reason != LATE
    )
    others = answers[answers["error"].isna() & (answers["key"] != "key 0")].reset_index(drop=True)
    assert_alone(others, frame[frame["key"] != "key 0"].reset_index(drop=True), lags=2)


def test_several_keys_kept_columns_times_without_a_zone_and_rows_without_a_target(
    spark, swordplay_spark, tmp_path
):
    frame = world(6, 3, seed=6, most=9)
    frame["region"], frame["shop"] = frame["key"].str[-1], frame["key"].str[-1].astype(int) + 7
    frame["time"] = pd.Timestamp("2024-03-31 01:59:59.123456") + pd.to_timedelta(
        frame["at"], unit="h"
    )
    frame["note"], frame["seen"] = (
        'a "b" ' + frame["key"],
        frame["time"] + pd.Timedelta(microseconds=1),
    )
    asked = frame[frame["batch"] == 2].head(3)
    rows = pd.concat([frame, asked], ignore_index=True)
    rows.loc[len(frame) :, ["y", "note"]] = [np.nan, None]
    write(rows, tmp_path / "in")
    names = {
        "key": ["region", "shop"],
        "features": FEATURES,
        "target": "y",
        "order": "time",
        "keep": ["note", "seen"],
    }
    assert (
        spark.read.parquet(str(tmp_path / "in")).schema["time"].dataType.simpleString()
        == "timestamp_ntz"
    )
    local.run(
        swordplay_spark.track_stream(local.rows_of(spark, tmp_path / "in"), **names, buckets=2),
        tmp_path,
    )
    streamed = spark.read.parquet(str(tmp_path / "out"))
    assert streamed.columns[:3] == ["region", "shop", "time"]
    assert dict(streamed.dtypes)["shop"] == "bigint"
    assert dict(streamed.dtypes)["time"] == "timestamp_ntz"
    answers = streamed.toPandas()
    assert answers["error"].isna().all()
    answers["key"] = "key " + answers["region"]
    learned = answers[answers["y"].notna()].merge(
        frame[["key", "time", "at"]], on=["key", "time"], validate="one_to_one"
    )
    found = matched(learned, frame)
    assert np.array_equal(found["prediction"], alone(frame))
    assert found["note"].tolist() == frame["note"].tolist()
    assert (found["seen"] == frame["seen"]).all()
    rest = answers[answers["y"].isna()].merge(learned, on=["key", "time"], validate="one_to_one")
    assert len(rest) == 3
    assert (
        np.abs(rest["prediction_x"] - rest["prediction_y"]).max()
        <= TWIN * np.abs(rest["prediction_y"]).max()
    )
    assert rest["note_x"].isna().all()


LABELS = ["no", "perhaps", "yes"]


def labelled(seed, count, first=0):
    """Whole numbers for keys, times for orders, text for labels, decimals and truth values for
    features.
    """
    rng, start = np.random.default_rng(seed), datetime.datetime(2024, 3, 1, tzinfo=datetime.UTC)
    features = rng.integers(-50, 50, (count, 2)) / 8  # exact in decimals
    times = [start + datetime.timedelta(seconds=k) for k in range(count)]
    frame = pd.DataFrame({"key": first + rng.integers(-3, 3, count), "at": times})
    frame["x0"], frame["x1"], frame["x2"] = features[:, 0], features[:, 1], rng.random(count) < 0.2
    frame["y"] = np.array(LABELS)[np.digitize(features[:, 0] + rng.normal(size=count), [-1.0, 1.0])]
    return frame


@pytest.fixture(scope="module")
def classified(spark, swordplay_spark, tmp_path_factory):
    """Rows with classes, the folder in which they were tracked, and a way to go on there with
    other settings.
    """
    frame, folder = labelled(0, 240), tmp_path_factory.mktemp("classes")
    write(frame.assign(batch=np.arange(len(frame)) // 120), folder / "in")

    def run(**settings):
        stream = local.rows_of(spark, folder / "in").selectExpr(
            "key", "at", "x0", "cast(x1 as decimal(9, 3)) x1", "x2", "y"
        )
        options = {"classes": LABELS, "buckets": 2} | settings
        local.run(swordplay_spark.track_stream(stream, **NAMES, **options), folder)

    run()
    return frame, folder, run


def test_classes_and_other_types(spark, classified):
    frame, folder, _ = classified
    answers = spark.read.parquet(str(folder / "out"))
    assert answers.dtypes == [
        ("key", "bigint"),
        ("at", "timestamp"),
        ("y", "string"),
        ("prediction", "string"),
        ("probabilities", "array<double>"),
        ("error", "string"),
    ]
    found = answers.toPandas().sort_values("at")
    assert found["error"].isna().all()
    for key, mine in frame.groupby("key"):
        model = ClassModel(lambda: LinearModel(3, loss="logistic", **MODEL), 3)
        places = np.array([LABELS.index(label) for label in mine["y"]])
        expected = model.predict_then_learn(mine[FEATURES].to_numpy(dtype=float), places)
        said = found[found["key"] == key]
        assert np.abs(np.stack(said["probabilities"]) - expected).max() <= TWIN
        assert said["prediction"].tolist() == [LABELS[k] for k in expected.argmax(axis=1)]
        assert said["y"].tolist() == mine["y"].tolist()


def test_other_settings_are_refused_though_all_keys_are_new(spark, classified):
    """Every key of the second start is new.

    Whoever is asked first refuses: the settings, or a bucket that was there before.
    """
    frame, folder, run = classified
    write(labelled(1, 40, first=100).assign(batch=0), folder / "in", first=2)
    with pytest.raises(
        StreamingQueryException, match=r"was saved with other settings: classes was .* and is "
    ):
        run(classes=["yes", "no", "perhaps"])
    assert spark.read.parquet(str(folder / "out")).count() == len(
        frame
    )  # nothing of the refused start is there


NUMBERS = "n long, error double, x0 double, x1 double, x2 double, y double"
COLUMNS = f"key string, at int, {NUMBERS}, list array<int>"
REFUSED = [
    ({"key": "kee"}, ValueError, "key names the column 'kee'"),
    ({"features": ["x0", "x9"]}, ValueError, "features names the column 'x9'"),
    ({"features": "x0"}, TypeError, "features must be a list"),
    ({"features": []}, TypeError, "features must be a list"),
    ({"features": ["x0", "x0"]}, ValueError, r"got \['x0'\] more than once"),
    ({"features": ["x0", "y"]}, ValueError, r"got \['y'\] more than once"),
    ({"key": "at"}, ValueError, r"got \['at'\] more than once"),
    ({"target": "error"}, ValueError, r"got \['error'\]. Rename it"),
    ({"features": ["x0", "list"]}, TypeError, "must hold numbers"),
    ({"target": "key", "key": "n"}, TypeError, r"give classes=\[...\]"),
    ({"key": "nothing"}, TypeError, "column of void"),
    ({"key": "x0", "features": ["x1"]}, TypeError, "column of double"),
    ({"order": "x0", "features": ["x1"]}, TypeError, "order 'x0' must hold a timestamp"),
    ({"order": "list"}, TypeError, "order .list. must hold a timestamp"),
    ({"loss": "logistic"}, ValueError, "loss must be"),
    ({"classes": ["a"], "target": "key", "key": "n"}, ValueError, "two or more different"),
    ({"classes": ["a", "b"]}, TypeError, "column of double"),
    ({"lags": -1}, ValueError, "lags must be at least 0"),
    ({"level": 1.5}, ValueError, "level must lie between 0 and 1, got 1.5"),
    ({"level": "high"}, TypeError, "level must be a real number"),
]
REFUSED_IN_STREAMS = [
    ({"buckets": 0}, ValueError, "buckets must be at least 1"),
    ({"buckets": 2**21}, ValueError, "buckets must be at most"),
]


@pytest.fixture(scope="module")
def frames(spark, tmp_path_factory):
    """A table and a stream of the same columns, without rows."""
    stream = spark.readStream.schema(COLUMNS).parquet(str(tmp_path_factory.mktemp("empty")))
    return [
        frame.selectExpr("*", "null as nothing")
        for frame in (spark.createDataFrame([], COLUMNS), stream)
    ]


@pytest.mark.parametrize(("change", "error", "words"), REFUSED)
def test_arguments_that_make_no_sense_are_refused_before_anything_starts(
    swordplay_spark, frames, change, error, words
):
    table, stream = frames
    with pytest.raises(error, match=words):
        swordplay_spark.track_table(table, **(NAMES | change))
    with pytest.raises(error, match=words):
        swordplay_spark.track_stream(stream, **(NAMES | change))


@pytest.mark.parametrize(("change", "error", "words"), REFUSED_IN_STREAMS)
def test_settings_of_a_stream_are_refused_before_it_starts(
    swordplay_spark, frames, change, error, words
):
    with pytest.raises(error, match=words):
        swordplay_spark.track_stream(frames[1], **(NAMES | change))


def test_tables_and_streams_are_not_taken_for_each_other(swordplay_spark, frames):
    table, stream = frames
    with pytest.raises(ValueError, match="use track_table"):
        swordplay_spark.track_stream(table, **NAMES)
    with pytest.raises(ValueError, match="use track_stream"):
        swordplay_spark.track_table(stream, **NAMES)


def test_the_state_store_must_be_one_that_python_can_use(spark, swordplay_spark, frames):
    name = "spark.sql.streaming.stateStore.providerClass"
    spark.conf.set(
        name, "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"
    )
    try:
        with pytest.raises(ValueError, match=r"spark\.conf\.set"):
            swordplay_spark.track_stream(frames[1], **NAMES)
    finally:
        spark.conf.set(name, local.ROCKS)
