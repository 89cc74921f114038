"""A real Spark on this machine: what it says is what each key's learner says alone."""

import datetime

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("pyspark")

from pyspark.errors import StreamingQueryException

from spark import local
from spark.test_bands import around
from spark.test_rows import bad_rows
from spark.worlds import FEATURES, alone, matched, world, write
from swordplay.estimators.classes import OneModelPerClass
from swordplay.estimators.model import LinearModel
from tolerances import PACKED_SINGLE, TWIN

pytestmark = pytest.mark.xdist_group("spark")

NAMES = {"key": "key", "features": FEATURES, "target": "y", "order": "at"}


@pytest.fixture(scope="module")
def swordplay_spark(spark):
    import swordplay.spark

    return swordplay.spark


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """200 keys over 8 micro-batches, and the folder they are in."""
    frame, folder = world(200, 8, seed=1), tmp_path_factory.mktemp("rows")
    assert frame.groupby("key")["batch"].min().nunique() == 8  # in every micro-batch somebody comes late
    write(frame, folder / "in")
    return frame, folder / "in"


@pytest.mark.parametrize("layout", ["paged", pytest.param("map", marks=pytest.mark.deep)])
def test_a_stream_says_what_each_key_says_alone(spark, swordplay_spark, rows, tmp_path, layout):
    frame, source = rows
    stream = local.rows_of(spark, source)
    query = local.run(swordplay_spark.track_stream(stream, **NAMES, buckets=local.BUCKETS, layout=layout), tmp_path)
    assert sum(progress["numInputRows"] > 0 for progress in query.recentProgress) == 8
    found = matched(spark.read.parquet(str(tmp_path / "out")).toPandas(), frame)
    assert found["error"].isna().all()
    assert np.abs(found["prediction"] - alone(frame)).max() <= TWIN
    assert np.array_equal(found["y"], frame["y"])
    answers = found.rename(columns={"at": "order", "y": "target"})
    np.testing.assert_array_equal(answers[["lower", "upper"]], around(answers))


def test_a_table_says_the_same(spark, swordplay_spark, rows):
    frame, source = rows
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", 100)  # so that keys go on in the next batch
    try:
        answers = swordplay_spark.track_table(spark.read.parquet(str(source)), **NAMES, lags=2).toPandas()
    finally:
        spark.conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")
    found = matched(answers, frame)
    assert found["error"].isna().all()
    assert np.abs(found["prediction"] - alone(frame, lags=2)).max() <= TWIN
    answers = found.rename(columns={"at": "order", "y": "target"})
    np.testing.assert_array_equal(answers[["lower", "upper"]], around(answers))


def test_several_keys_kept_columns_times_without_a_zone_and_rows_without_a_target(spark, swordplay_spark, tmp_path):
    frame = world(6, 3, seed=6, most=9)
    frame["region"], frame["shop"] = frame["key"].str[-1], frame["key"].str[-1].astype(int) + 7
    frame["time"] = pd.Timestamp("2024-03-31 01:59:59.123456") + pd.to_timedelta(frame["at"], unit="h")
    frame["note"], frame["seen"] = 'a "b" ' + frame["key"], frame["time"] + pd.Timedelta(microseconds=1)
    asked = frame[frame["batch"] == 2].head(3)
    rows = pd.concat([frame, asked], ignore_index=True)
    rows.loc[len(frame) :, ["y", "note"]] = [np.nan, None]
    write(rows, tmp_path / "in")
    names = {"key": ["region", "shop"], "features": FEATURES, "target": "y", "order": "time", "keep": ["note", "seen"]}
    assert spark.read.parquet(str(tmp_path / "in")).schema["time"].dataType.simpleString() == "timestamp_ntz"
    local.run(swordplay_spark.track_stream(local.rows_of(spark, tmp_path / "in"), **names, buckets=2), tmp_path)
    streamed = spark.read.parquet(str(tmp_path / "out"))
    assert streamed.columns[:3] == ["region", "shop", "time"]
    assert dict(streamed.dtypes)["shop"] == "bigint"
    assert dict(streamed.dtypes)["time"] == "timestamp_ntz"
    answers = streamed.toPandas()
    assert answers["error"].isna().all()
    answers["key"] = "key " + answers["region"]
    learned = answers[answers["y"].notna()].merge(frame[["key", "time", "at"]], on=["key", "time"], validate="one_to_one")
    found = matched(learned, frame)
    assert np.array_equal(found["prediction"], alone(frame))
    assert found["note"].tolist() == frame["note"].tolist()
    assert (found["seen"] == frame["seen"]).all()
    rest = answers[answers["y"].isna()].merge(learned, on=["key", "time"], validate="one_to_one")
    assert len(rest) == 3
    assert np.abs(rest["prediction_x"] - rest["prediction_y"]).max() <= TWIN * np.abs(rest["prediction_y"]).max()
    assert rest["note_x"].isna().all()


@pytest.mark.deep
def test_single_precision_is_near(spark, swordplay_spark, tmp_path):
    frame = world(20, 3, seed=5, most=40)
    write(frame, tmp_path / "in")
    stream = local.rows_of(spark, tmp_path / "in")
    tracked = swordplay_spark.track_stream(stream, **NAMES, buckets=2, precision="float32", loss="huber")
    local.run(tracked, tmp_path)
    found = matched(spark.read.parquet(str(tmp_path / "out")).toPandas(), frame)
    gap = np.abs(found["prediction"] - alone(frame, loss="huber")).max()
    assert 0.0 < gap <= PACKED_SINGLE * np.abs(frame["y"]).max()


def test_rows_that_cannot_be_learned_come_out_with_a_reason(spark, swordplay_spark, tmp_path):
    frame = world(10, 3, seed=2).astype({"at": "Int64"})
    foul, reasons = bad_rows()
    write(pd.concat([frame, foul.assign(batch=2)]), tmp_path / "in")
    local.run(swordplay_spark.track_stream(local.rows_of(spark, tmp_path / "in"), **NAMES, buckets=3), tmp_path)
    streamed = spark.read.parquet(str(tmp_path / "out"))
    assert streamed.where("error is not null and prediction is not null").count() == 0  # null, and not NaN
    assert sorted(row["error"] for row in streamed.where("error is not null").collect()) == sorted(reasons)
    found = matched(streamed.where("error is null").toPandas(), frame)
    assert np.abs(found["prediction"] - alone(frame)).max() <= TWIN
    # In a table a row is late only if it repeats another: the one of order 0 comes first, and counts.
    tabled = swordplay_spark.track_table(spark.read.parquet(str(tmp_path / "in")), **NAMES)
    assert tabled.where("error is null").count() == len(frame) + 1


def test_classes_and_other_types(spark, swordplay_spark, tmp_path):
    """Whole numbers for keys, times for orders, text for labels, decimals and truth values for features."""
    rng, start = np.random.default_rng(0), datetime.datetime(2024, 3, 1, tzinfo=datetime.UTC)
    count, labels = 400, ["no", "perhaps", "yes"]
    features = rng.integers(-50, 50, (count, 2)) / 8  # exact in decimals
    frame = pd.DataFrame(
        {"key": rng.integers(-3, 3, count), "at": [start + datetime.timedelta(seconds=k) for k in range(count)]}
    )
    frame["x0"], frame["x1"], frame["x2"] = features[:, 0], features[:, 1], rng.random(count) < 0.2
    frame["y"] = np.array(labels)[np.digitize(features[:, 0] + rng.normal(size=count), [-1.0, 1.0])]
    write(frame.assign(batch=np.arange(count) // 200), tmp_path / "in")
    stream = local.rows_of(spark, tmp_path / "in").selectExpr("key", "at", "x0", "cast(x1 as decimal(9, 3)) x1", "x2", "y")
    local.run(swordplay_spark.track_stream(stream, **NAMES, classes=labels, buckets=2), tmp_path)
    answers = spark.read.parquet(str(tmp_path / "out"))
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
        model = OneModelPerClass(lambda: LinearModel(3, loss="logistic"), 3)
        places = np.array([labels.index(label) for label in mine["y"]])
        expected = model.predict_then_learn(mine[FEATURES].to_numpy(dtype=float), places)
        said = found[found["key"] == key]
        assert np.abs(np.stack(said["probabilities"]) - expected).max() <= TWIN
        assert said["prediction"].tolist() == [labels[k] for k in expected.argmax(axis=1)]
        assert said["y"].tolist() == mine["y"].tolist()


def test_a_query_with_another_layout_does_not_take_up_a_checkpoint(spark, swordplay_spark, tmp_path):
    write(world(5, 1, seed=3), tmp_path / "in")
    local.run(swordplay_spark.track_stream(local.rows_of(spark, tmp_path / "in"), **NAMES, buckets=2), tmp_path)
    write(world(5, 1, seed=4), tmp_path / "in", first=1)
    tracked = swordplay_spark.track_stream(local.rows_of(spark, tmp_path / "in"), **NAMES, buckets=2, layout="map")
    with pytest.raises(StreamingQueryException, match='layout was "paged" and is "map"'):
        local.run(tracked, tmp_path)


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
    ({"layout": "heap"}, ValueError, "layout must be one of"),
    ({"precision": "half"}, ValueError, "precision must be"),
]


@pytest.fixture(scope="module")
def frames(spark, tmp_path_factory):
    """A table and a stream of the same columns, without rows."""
    stream = spark.readStream.schema(COLUMNS).parquet(str(tmp_path_factory.mktemp("empty")))
    return [frame.selectExpr("*", "null as nothing") for frame in (spark.createDataFrame([], COLUMNS), stream)]


@pytest.mark.parametrize(("change", "error", "words"), REFUSED)
def test_arguments_that_make_no_sense_are_refused_before_anything_starts(swordplay_spark, frames, change, error, words):
    table, stream = frames
    with pytest.raises(error, match=words):
        swordplay_spark.track_table(table, **(NAMES | change))
    with pytest.raises(error, match=words):
        swordplay_spark.track_stream(stream, **(NAMES | change))


@pytest.mark.parametrize(("change", "error", "words"), REFUSED_IN_STREAMS)
def test_settings_of_a_stream_are_refused_before_it_starts(swordplay_spark, frames, change, error, words):
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
    spark.conf.set(name, "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider")
    try:
        with pytest.raises(ValueError, match=r"spark\.conf\.set"):
            swordplay_spark.track_stream(frames[1], **NAMES)
    finally:
        spark.conf.set(name, local.ROCKS)
