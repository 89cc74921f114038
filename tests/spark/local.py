"""A Spark of one machine, and a program to kill: ``python local.py FOLDER LAYOUT`` tracks all rows in FOLDER/in."""

import os
import sys
from pathlib import Path

BUCKETS = 8
PARTITIONS = 2
ROCKS = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def session(folder, **more):
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "OFF",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.local.dir": str(folder),
        "spark.sql.shuffle.partitions": str(PARTITIONS),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.streaming.stateStore.providerClass": ROCKS,
        **more,
    }
    builder = SparkSession.builder.master("local[2]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def rows_of(spark, folder):
    """The files in a folder as a stream, a micro-batch each, oldest first."""
    schema = spark.read.parquet(str(folder)).schema
    return spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder))


def run(tracked, folder):
    """Let a query take all that is there, into Parquet files; returns the query."""
    writer = tracked.writeStream.format("parquet").option("path", str(Path(folder, "out")))
    query = writer.option("checkpointLocation", str(Path(folder, "checkpoint"))).trigger(availableNow=True).start()
    query.awaitTermination()
    return query


if __name__ == "__main__":
    from swordplay.spark import track_stream

    home = Path(sys.argv[1])
    changelog = {"spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true"}
    spark = session(home / "scratch", **changelog)
    stream = rows_of(spark, home / "in")
    features = [name for name in stream.columns if name.startswith("x")]
    tracked = track_stream(stream, key="key", features=features, target="y", order="at", buckets=BUCKETS, layout=sys.argv[2])
    run(tracked, home)
    spark.stop()
