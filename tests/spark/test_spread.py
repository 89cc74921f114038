"""Buckets go to partitions in turn, and groups are called so that Spark does that."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

pytest.importorskip("pyspark")

from spark.worlds import FEATURES
from swordplay.spark import processors
from swordplay.spark.functions import MAX_BUCKETS
from swordplay.spark.pages import murmur3, partition_key
from swordplay.spark.plan import QueryPlan

pytestmark = pytest.mark.xdist_group("spark")


def test_the_hash_is_the_one_of_spark(spark):
    numbers = spark.range(-300, 300).selectExpr("cast(id * id * id * 7 as int) number")
    said = numbers.selectExpr("number", "hash(number) hash").toPandas()
    assert np.array_equal(murmur3(said["number"]), said["hash"])
    assert murmur3([0, 1, 42]).tolist() == [
        933211791,
        -559580957,
        29417773,
    ]  # as every version of Spark says


def test_every_number_has_one_that_is_hashed_to_it():
    numbers = np.concatenate([np.arange(-1000, 1000), [2**31 - 1, -(2**31)]]).astype(np.int32)
    assert np.array_equal(murmur3(partition_key(numbers)), numbers)
    assert np.array_equal(partition_key(murmur3(numbers)), numbers)


@pytest.mark.parametrize("partitions", [2, 3, 16, 200])
def test_partitions_get_as_many_buckets_each(partitions):
    """By the number itself, as it was, one of 16 partitions gets 8 of 64 buckets instead of 4,
    and one of 64 gets 4.
    """
    shares = np.bincount(murmur3(partition_key(np.arange(64))) % partitions, minlength=partitions)
    assert shares.max() - shares.min() <= 1
    assert [np.bincount(murmur3(np.arange(64)) % some).max() for some in (16, 64)] == [8, 4]


def test_no_bucket_is_called_like_the_one_of_the_settings():
    assert processors.SETTINGS_BUCKET not in partition_key(np.arange(MAX_BUCKETS))


def test_packets_are_for_the_groups_as_they_are_called():
    plan = QueryPlan(tuple(FEATURES), "squared", 0, 0, buckets=4)
    rows = {"bucket": np.arange(8, dtype=np.int32) % 4, "key": ["k"] * 8, "order": np.arange(8)}
    frame = pd.DataFrame(rows | {f"x{j}": 0.5 for j in range(len(FEATURES))} | {"target": 1.0})
    [sent] = processors.packets(plan)(
        iter([pa.RecordBatch.from_pandas(frame, preserve_index=False)])
    )
    expected = partition_key(np.arange(4)).tolist()
    assert sent.column("bucket").to_pylist() == [*expected, processors.SETTINGS_BUCKET]
