"""States in pages: only those of keys that have learned are written.

Rows that wait, keys that are forgotten, states opened.
"""

import datetime
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("pyspark")

from spark.test_rows import batch
from spark.worlds import FEATURES, MODEL, alone, world
from swordplay.estimators.linear_model import LinearModel
from swordplay.spark import functions, open_state, processors
from swordplay.spark.pages import MAX_KEYS, KeyPage, Pages
from swordplay.spark.plan import QueryPlan

pytestmark = pytest.mark.xdist_group("spark")  # one process compiles, and the others need not


class Value:
    """Spark's state of one value, as Spark would keep it in one place."""

    def __init__(self):
        self.value = None

    def get(self):
        return self.value

    def update(self, value):
        self.value = value


class Map:
    """The same by name."""

    def __init__(self):
        self.all, self.written = {}, 0

    def getValue(self, key):
        return self.all.get(key)

    def containsKey(self, key):
        return key in self.all

    def updateValue(self, key, value):
        self.all[key], self.written = value, self.written + len(value[1])

    def removeKey(self, key):
        del self.all[key]


class Handle:
    def __init__(self):
        self.pages, self.map = Value(), Map()

    def getValueState(self, name, schema):
        return self.pages

    def getMapState(self, name, *schemas):
        return self.map


def plan(**more):
    return QueryPlan(
        tuple(FEATURES),
        "squared",
        0,
        "auto",
        buckets=1,
        **({"level": 0.9} | more),
    )


def run(frame, settings, handle=None):
    """Answers of a bucket, micro-batch by micro-batch, each by a processor of its own as after a
    restart.
    """
    handle, answers = handle or Handle(), []
    for _, part in frame.groupby("batch"):
        tracker = processors.BucketProcessor(settings)
        tracker.init(handle)
        packet = batch(part, settings).serialize().to_pybytes()
        answers += list(
            tracker.handleInputRows((0,), iter([pd.DataFrame({"rows": [packet]})]), None)
        )
    return handle, pd.concat(answers, ignore_index=True)


def in_order(answers):
    return answers.sort_values(["key", "order"], ignore_index=True)


def test_pages_are_split_and_every_key_is_on_one():
    pages, keys = Pages(), [f"key {k}" for k in range(1000)]
    parts = pages.split(KeyPage(0, 0), keys)
    assert set(parts) == pages.all
    assert sorted(key for some in parts.values() for key in some) == sorted(keys)
    assert max(map(len, parts.values())) <= MAX_KEYS == 32
    again = Pages(pages.to_bytes())
    assert again.all == pages.all
    assert {page: sorted(some) for page, some in again.of(keys).items()} == {
        p: sorted(k) for p, k in parts.items() if k
    }
    assert len({page.name for page in pages.all}) == len(pages.all)


def test_the_answers_are_those_of_each_key_alone():
    rows = world(150, 6, seed=3)
    handle, answers = run(rows, plan())
    found = rows.merge(
        answers.rename(columns={"order": "at"}), on=["key", "at"], validate="one_to_one"
    )
    assert np.array_equal(found["prediction"], alone(rows))
    assert len(handle.map.all) > 4


def test_few_rows_write_few_pages():
    rows = world(600, 2, seed=4)
    handle, _ = run(rows, plan())
    whole, before = sum(len(value) for _, value in handle.map.all.values()), handle.map.written
    late = rows.head(1).assign(at=10**6, batch=9)
    run(late, plan(), handle)
    assert 0 < handle.map.written - before <= whole / 8


def test_rows_wait_for_earlier_ones():
    """Delivered up to 4 units late, and learned in their order all the same.

    The newest ones still wait at the end.
    """
    rng = np.random.default_rng(6)
    frame = pd.DataFrame(rng.normal(size=(400, 4)), columns=[*FEATURES, "y"]).assign(
        at=np.arange(400), key="k"
    )
    frame["key"] = [f"key {k}" for k in rng.integers(0, 5, 400)]
    frame["batch"] = (frame["at"] + rng.integers(0, 5, 400)) // 7
    frame = frame.sort_values("batch", kind="stable", ignore_index=True)
    _, hasty = run(frame, plan(level=None))
    assert hasty["error"].notna().sum() > 5
    handle, patient = run(frame, plan(level=None, delay=6))
    assert patient["error"].isna().all()
    assert sorted(set(frame["at"]) - set(patient["order"])) == list(range(394, 400))
    found = frame.merge(
        patient.rename(columns={"order": "at"}), on=["key", "at"], validate="one_to_one"
    )
    assert np.array_equal(found["prediction"], alone(frame[frame["at"] < 394]))
    asked = frame.tail(1).assign(at=500, y=np.nan, batch=99)
    _, answer = run(asked, plan(level=None, delay=6), handle)
    assert answer["order"].tolist()[-1] == 500  # who only asks does not wait


def test_idle_keys_are_forgotten():
    rng = np.random.default_rng(7)
    rows = pd.DataFrame(rng.normal(size=(40, 4)), columns=[*FEATURES, "y"]).assign(
        key="busy", at=np.arange(40) * 10
    )
    rows.loc[[0, 1, 39], "key"] = "idle"
    _, answers = run(rows.assign(batch=np.arange(40)), plan(forget=100))
    fresh = LinearModel(len(FEATURES), **MODEL).predict_then_learn(
        rows[FEATURES].to_numpy()[39:], rows["y"].to_numpy()[39:]
    )
    assert answers["prediction"].tolist()[-1] == fresh[0] == 0.0
    _, kept = run(rows.assign(batch=np.arange(40)), plan())
    assert kept["prediction"].tolist()[-1] != 0.0


def test_a_bucket_names_the_setting_that_has_changed():
    """Data may be read before the settings are, and in another task: whoever refuses first says
    what has changed.
    """
    rows, first = (
        world(5, 2, seed=8, most=9),
        plan(frozen=(("classes", "null"), ("target", '"y"'))),
    )
    handle, _ = run(rows, first)
    before = dict(handle.map.all), handle.pages.value
    for changed in (
        {"frozen": (("classes", "null"), ("target", '"z"'))},
        {"frozen": first.frozen[:1], "loss": "huber"},
    ):
        with pytest.raises(
            ValueError,
            match=r'saved with other settings: target was "y" and is ("z"|None)\. Start the query',
        ):
            run(rows, replace(first, **changed), handle)
        assert (handle.map.all, handle.pages.value) == before
    run(rows.assign(at=rows["at"] + 10**6), first, handle)
    assert handle.map.all[processors.SETTINGS_KEY,] == (
        4,
        b'{"classes": "null", "target": "\\"y\\""}',
    )


def test_a_state_opened_is_an_ordinary_estimator():
    rows = world(5, 6, seed=8, most=9)
    handle, _ = run(rows, plan())
    learned = {}
    for (name,), (fmt, blob) in handle.map.all.items():
        assert ":" in name or (name, fmt) == (processors.SETTINGS_KEY, 4)  # which holds no learner
        learned |= open_state(fmt, blob, features=FEATURES)
    for key, mine in rows.sort_values("at").groupby("key"):
        model = LinearModel(len(FEATURES), **MODEL)
        model.predict_then_learn(mine[FEATURES].to_numpy(copy=True), mine["y"].to_numpy())
        assert np.array_equal(
            learned[key].predict(mine[FEATURES]), model.predict(mine[FEATURES].to_numpy(copy=True))
        )
    with pytest.raises(ValueError, match="fmt must be 1, as for all values with models, got 3"):
        open_state(3, blob, features=FEATURES)
    fmt, blob = next(page for (name,), page in handle.map.all.items() if ":" in name)
    with pytest.raises(ValueError, match="damaged"):
        open_state(fmt, blob, features=FEATURES[:2])


def test_spans_of_time_are_in_units_of_the_order():
    from pyspark.sql import types

    def span(kind, value):
        return functions._span("delay", value, SimpleNamespace(order="at", types={"at": kind}))

    assert span(types.TimestampType(), datetime.timedelta(seconds=2)) == 2_000_000
    assert span(types.TimestampNTZType(), datetime.timedelta(seconds=2)) == 2_000_000
    assert span(types.DateType(), datetime.timedelta(days=3)) == 3
    assert span(types.LongType(), 5) == 5
    with pytest.raises(
        TypeError, match="delay must be a whole number where 'at' holds whole numbers"
    ):
        span(types.LongType(), datetime.timedelta(days=3))


def test_many_more_partitions_than_buckets_are_warned_of():
    session = SimpleNamespace(conf={"spark.sql.shuffle.partitions": "200"})
    with pytest.warns(UserWarning, match=r"shuffle.partitions is 200, and there are 64 buckets"):
        functions._warn_of_partitions(session, 64)
    functions._warn_of_partitions(session, 100)
