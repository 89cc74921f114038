"""A local Spark, and a program to kill: ``python local.py FOLDER`` tracks the rows of FOLDER/in."""

import os
import sys
from pathlib import Path

BUCKETS = 8
PARTITIONS = 2
ROCKS = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
CHECKPOINTS = "org.apache.spark.sql.execution.streaming.checkpointing"
SHORT = {
    # A JVM that lives for a minute or two: its best compiler would take longer than what it
    # compiles saves.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.python.daemon.module": "spark.daemon",
    # or there would be two daemons
    "spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled": "false",
    # The usual one starts a program of the system (readlink) for every file that it looks at:
    # hundreds in a micro-batch.
    "spark.sql.streaming.checkpointFileManagerClass": f"{CHECKPOINTS}.FileSystemBasedCheckpointFileManager",  # noqa: E501
    "spark.sql.streaming.checkpoint.fileChecksum.enabled": "false",
}
"""For many small queries, one after the other; none of it changes a number."""


def home(folder):
    """Spark as it is installed, but for the archive of PySpark, which every worker would compile
    from its sources anew.
    """
    import pyspark

    installed, folder = Path(pyspark.__file__).parent, Path(folder)
    for entry in installed.iterdir():
        if entry.name != "python":
            (folder / entry.name).symlink_to(entry)
    return str(folder)


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


def start(tracked, folder):
    """Let a query begin to take all that is there, into Parquet files."""
    writer = tracked.writeStream.format("parquet").option("path", str(Path(folder, "out")))
    return (
        writer.option("checkpointLocation", str(Path(folder, "checkpoint")))
        .trigger(availableNow=True)
        .start()
    )


def run(tracked, folder):
    """Let a query take all that is there; returns it."""
    query = start(tracked, folder)
    query.awaitTermination()
    return query


if __name__ == "__main__":
    from swordplay.spark import track_stream

    home = Path(sys.argv[1])
    changelog = {"spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true"}
    spark = session(home / "scratch", **changelog)
    stream = rows_of(spark, home / "in")
    features = [name for name in stream.columns if name.startswith("x")]
    tracked = track_stream(
        stream,
        key="key",
        features=features,
        target="y",
        order="at",
        buckets=BUCKETS,
    )
    run(tracked, home)
    spark.stop()
