"""A checkpoint is taken up with the settings of its first start, or not at all."""

import inspect
import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

pytest.importorskip("pyspark")

from spark.worlds import FEATURES, world, write
from swordplay.spark import learn_table, processors, track_stream, track_table
from swordplay.spark.plan import QueryPlan, check_settings

pytestmark = pytest.mark.xdist_group("spark")

NAMES = {
    "key": "key",
    "features": FEATURES,
    "target": "label",
    "order": "at",
    "classes": ["no", "yes"],
    "buckets": 2,
}
CHANGES = {
    "classes": {"classes": ["yes", "no"]},
    "target": {"target": "other"},
    "key": {"key": "place"},
    "order": {"order": "later"},
    "features": {"features": ["x1", "x0", "x2"]},
    "buckets": {"buckets": 64},
    "lags": {"lags": 1},
    "curves": {"curves": None},
    "type of order": {"order": "day"},
}


def labelled(seed, prefix):
    """Rows with two labels, two names of keys and two orders; all keys begin with a prefix."""
    frame = world(6, 1, seed=seed, most=9)
    frame["key"] = prefix + frame["key"]
    frame["label"], frame["other"] = (
        np.where(frame["y"] > 0, "yes", "no"),
        np.where(frame["x0"] > 0, "yes", "no"),
    )
    return frame.assign(
        place=frame["key"].str[-1], later=frame["at"] + 5, day=pd.Timestamp("2024-01-01", tz="UTC")
    )


def test_every_setting_is_frozen(spark, tmp_path):
    """What was silently wrong: labels that swap their places, keys that start again, states that
    nobody can read.
    """
    from swordplay.spark.columns import Columns
    from swordplay.spark.functions import _plan

    write(labelled(1, ""), tmp_path / "in")
    frame = spark.read.parquet(str(tmp_path / "in"))

    def frozen(key, features, target, order, classes, **options):
        usual = {"loss": "squared", "lags": "auto", "curves": "auto", "level": 0.9, "buckets": 64}
        columns = Columns(frame, key, features, target, order, classes)
        return dict(_plan(columns, **(usual | options)).frozen)

    first = frozen(**NAMES)
    for name, change in CHANGES.items():
        with pytest.raises(ValueError, match=f"{name} was .* and is .*as it was started first"):
            check_settings(first, frozen(**(NAMES | change)))
    check_settings(first, frozen(**NAMES, level=0.5))


@pytest.mark.parametrize("function", [track_stream, track_table, learn_table])
def test_every_option_has_a_default_and_is_documented(function):
    parameters = inspect.signature(function).parameters
    required = ["df", "key", "features", "target", "order"]
    assert [name for name in parameters if parameters[name].default is inspect._empty] == required
    documented = function.__doc__.partition("Returns")[0]
    assert [name for name in parameters if name not in documented] == []
    with pytest.raises(TypeError, match=r"got an unexpected keyword argument 'lag'"):
        function(None, key="a", features=["b"], target="c", order="d", lag=1)


def test_every_setting_that_differs_is_named():
    saved = {"key": '"a"', "classes": '["no", "yes"]', "lags": "0"}
    check_settings(saved, dict(saved))
    with pytest.raises(
        ValueError,
        match=r'classes was \["no", "yes"\] and is \["yes", "no"\]; lags was 0 and is 1\. Start',
    ):
        check_settings(saved, saved | {"classes": '["yes", "no"]', "lags": "1"})


PLAN = QueryPlan(
    tuple(FEATURES),
    "squared",
    0,
    0,
    buckets=4,
    frozen=(("key", '"key"'),),
)


def test_states_of_other_settings_are_refused():
    other = QueryPlan(**(vars(PLAN) | {"frozen": (("key", '"place"'),)}))
    without = QueryPlan(**(vars(PLAN) | {"frozen": ()}))
    for plan, is_accepted in ((PLAN, True), (other, False), (without, False)):
        table = plan.table()
        table.add(["one"])
        saved = table.to_bytes()
        if is_accepted:
            PLAN.table().from_bytes([(["one"], saved)])
        else:
            with pytest.raises(ValueError, match="saved with other settings"):
                PLAN.table().from_bytes([(["one"], saved)])


def rows(count, key):
    frame = {
        "bucket": np.arange(count, dtype=np.int32) % 3,
        "key": [key] * count,
        "order": np.arange(count),
    }
    table = pd.DataFrame(frame | {f"x{j}": 0.5 for j in range(len(FEATURES))} | {"target": 1.0})
    return pa.RecordBatch.from_pandas(table, preserve_index=False)


def test_long_keys_are_sent_on_in_smaller_packets_and_none_is_lost(monkeypatch):
    monkeypatch.setattr(processors, "PACKET_BYTES", 10_000)
    batches = [rows(7, "k" * 1000) for _ in range(5)]
    sent = list(processors.packets(PLAN)(iter(batches)))
    assert len(sent) > 1
    numbers = [number for packet in sent for number in packet.column("bucket").to_pylist()]
    assert numbers.count(processors.SETTINGS_BUCKET) == len(
        sent
    )  # so that the settings are looked at in every micro-batch
    found = [
        pa.ipc.read_record_batch(pa.py_buffer(data.as_py()), PLAN.schema)
        for packet in sent
        for number, data in zip(
            packet.column("bucket").to_pylist(), packet.column("rows"), strict=True
        )
        if number != processors.SETTINGS_BUCKET
    ]
    assert sum(map(len, found)) == 35


def test_keys_have_room_for_more_than_two_gigabytes():
    """Offsets of 32 bits made a second chunk of rows, which nobody looked at."""
    assert PLAN.schema.field("key").type == pa.large_string()
    many = pa.Table.from_batches([rows(5, "one"), rows(3, "two")]).drop_columns("bucket")
    whole = processors.one_batch(many, PLAN)
    assert len(whole) == 8
    assert len(processors.one_batch(many.slice(0, 0), PLAN)) == 0


@pytest.mark.deep
def test_more_than_two_gigabytes_of_keys_stay_together():
    part = rows(3, "k" * 500_000_000).drop_columns(["bucket"])
    assert len(processors.one_batch(pa.Table.from_batches([part, part]), PLAN)) == 6


def test_settings_in_the_checkpoint_are_plain_text():
    assert json.loads(json.dumps(dict(PLAN.frozen))) == {"key": '"key"'}
