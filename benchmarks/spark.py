"""A learner per key on a local Spark: ``python -m benchmarks.spark [--keys 10000] [--rows 1000]
[--batches 10] ...``.

The same rows go through the engine alone (one thread, arrays in memory), through ``track_table``
and through ``track_stream`` with a Parquet file source and a Parquet sink. What Spark and its way
to Python cost is the difference.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.machine import description
from benchmarks.many import cores

DIM = 10
FEATURES = [f"x{j}" for j in range(DIM)]
GROWN = 33
"""Rows after which a key's state has its final size."""
FILES = 2
"""Per micro-batch: one for each core that reads."""


def write(folder: Path, keys: int, rows: int, batches: int, active: float = 1.0) -> None:
    """Files of rows in the order of time, keys interleaved.

    Each key's target drifts in its own way.

    In the first batch every key grows up; after it only a share of the keys has rows.
    """
    rng = np.random.default_rng(0)
    truth = rng.normal(size=(keys, DIM))
    names = np.array([f"sensor-{k:07d}" for k in range(keys)])
    done = 0
    for batch in range(batches):
        per = rows // batches if batch else max(rows // batches, GROWN)
        for part in range(FILES):
            here = np.arange(part, keys, FILES)
            if batch and active < 1.0:
                here = np.sort(rng.choice(here, max(1, round(active * len(here))), replace=False))
            who = np.tile(here, per)
            order = np.repeat(np.arange(done, done + per), len(here))
            features = rng.normal(size=(len(who), DIM))
            truth[here] += 0.1 * rng.normal(size=(len(here), DIM))
            target = np.einsum("ij,ij->i", features, truth[who]) + 0.1 * rng.normal(size=len(who))
            columns = [
                pa.array(names[who]),
                pa.array(order),
                *(pa.array(column) for column in features.T),
                pa.array(target),
            ]
            pq.write_table(
                pa.table(columns, names=["key", "t", *FEATURES, "y"]),
                folder / f"{batch:05d}-{part}.parquet",
            )
        done += per


def session(folder: Path) -> Any:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {
        "spark.ui.enabled": "false",
        "spark.local.dir": str(folder / "local"),
        "spark.sql.shuffle.partitions": str(cores()),
        "spark.driver.memory": "4g",
        "spark.sql.streaming.stateStore.providerClass": (
            "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
        ),
        "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
        "spark.sql.streaming.numRecentProgressUpdates": "100000",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
    }
    builder = SparkSession.builder.master(f"local[{cores()}]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


@contextmanager
def clock(report: dict[str, float], name: str) -> Iterator[None]:
    start = time.perf_counter()
    yield
    report[name] = time.perf_counter() - start


def processors() -> dict[str, float]:
    """Seconds of processor time used by our child processes, and by those that have ended
    before, by kind.
    """
    parents, used = dict[int, int](), dict[int, tuple[float, float]]()
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended meanwhile
            name, _, rest = entry.read_text().partition("(")[2].rpartition(")")
            fields = rest.split()
            pid = int(entry.parent.name)
            parents[pid] = int(fields[1])
            own, ended = (
                sum(map(int, fields[k : k + 2])) / os.sysconf("SC_CLK_TCK") for k in (11, 13)
            )
            used[pid] = (
                (own, ended) if name == "java" else (0.0, own + ended)
            )  # what has ended under Java was Python
    total = {"Java": 0.0, "Python": 0.0}
    for pid, times in used.items():
        above = parents.get(pid)
        while above is not None and above != os.getpid():
            above = parents.get(above)
        if above is not None:
            for kind, seconds in zip(total, times, strict=True):
                total[kind] += seconds
    return total


def engine_alone(folder: Path) -> dict[str, float]:
    """Processor time of the work beside Spark: check, sort, learn; state to bytes and back."""
    from swordplay.spark.plan import QueryPlan
    from swordplay.spark.rows import track

    plan = QueryPlan(tuple(FEATURES), "squared", 0, "auto", 1)
    table = plan.table()
    times = {"play": 0.0, "dump": 0.0, "load": 0.0, "rows": 0.0}
    for number, file in enumerate(sorted(folder.glob("*.parquet"))):
        batch = (
            pq.read_table(file).rename_columns(plan.schema.names).combine_chunks().to_batches()[0]
        )
        if number == 0:
            # The kernel is compiled, or read from disk.
            track(batch.slice(0, 1), plan, plan.table(), lambda keys: None)
        start = time.process_time()
        track(batch, plan, table, lambda keys: None)
        times["play"] += time.process_time() - start
        times["rows"] += len(batch)
    start = time.process_time()
    data = table.to_bytes()
    times["dump"] = time.process_time() - start
    again = plan.table()
    start = time.process_time()
    again.from_bytes([(list(table.numbers), data)])
    times["load"] = time.process_time() - start
    times["bytes"] = len(data) / len(table)
    return times


def stream(
    spark: Any, source: Path, folder: Path, options: argparse.Namespace
) -> tuple[list[dict[str, Any]], dict[str, float]]:
    """Progress reports of the micro-batches, and the processor time of those after the first."""
    from swordplay.spark import track_stream

    rows = (
        spark.readStream.schema(spark.read.parquet(str(source)).schema)
        .option("maxFilesPerTrigger", FILES)
        .option("latestFirst", "false")
        .parquet(str(source))
    )
    tracked = track_stream(
        rows,
        key="key",
        features=FEATURES,
        target="y",
        order="t",
        buckets=options.buckets,
    )
    writer = tracked.writeStream.format("parquet").option("path", str(folder / "out"))
    query = (
        writer.option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    while query.isActive and not query.recentProgress:
        time.sleep(0.05)
    before = processors()
    query.awaitTermination()
    used = {kind: seconds - before[kind] for kind, seconds in processors().items()}
    return [progress for progress in query.recentProgress if progress["numInputRows"]], used


def table(spark: Any, source: Path, folder: Path) -> None:
    from swordplay.spark import track_table

    tracked = track_table(
        spark.read.parquet(str(source)), key="key", features=FEATURES, target="y", order="t"
    )
    tracked.write.parquet(str(folder / "table"))


def size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def print_report(
    options: argparse.Namespace,
    alone: dict[str, float],
    report: dict[str, float],
    progress: list[dict[str, Any]],
    used: dict[str, float],
    disk: int,
) -> None:
    rows = sum(entry["numInputRows"] for entry in progress)
    share = progress[-1]["numInputRows"]
    seconds = [entry["durationMs"]["triggerExecution"] / 1e3 for entry in progress]
    usual, later = (
        float(np.mean(seconds[1:] or seconds)),
        max(1, rows - progress[0]["numInputRows"]),
    )
    lines = {
        "keys, rows, d": f"{options.keys:,} keys x {options.rows:,} rows, d = {DIM}",
        "micro-batches": f"{len(progress)}, the last of {share:,.0f} rows",
        "buckets": str(options.buckets),
        "engine alone, one thread": f"{alone['play'] / alone['rows'] * 1e6:.2f} us a row "
        "(check, sort, learn)",
        "state to bytes": f"{alone['dump'] / options.keys * 1e6:.1f} us a key",
        "state from bytes": f"{alone['load'] / options.keys * 1e6:.1f} us a key",
        "state of a key": f"{alone['bytes']:,.0f} bytes",
        "start of Spark": f"{report['session']:.1f} s",
        "first micro-batch": f"{seconds[0]:.1f} s (starts the workers)",
        "the others": f"{usual:.2f} s each, {usual / share * 1e6:.2f} us a row, "
        f"{share / usual:,.0f} "
        "rows a second",
        "their processor time": ", ".join(
            f"{kind} {seconds / later * 1e6:.2f} us a row" for kind, seconds in used.items()
        ),
        "checkpoint on disk": f"{disk / 2**20:.0f} MB",
    }
    for what in ("stream", "table"):
        if what in report:
            lines[f"{what}, everything"] = (
                f"{report[what]:.1f} s, {report[what] / rows * 1e6:.2f} us a row"
            )
    lines |= {
        f"last batch: {name}": f"{value} ms" for name, value in progress[-1]["durationMs"].items()
    }
    for name, value in lines.items():
        print(f"{name:28} {value}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keys", type=int, default=10_000)
    parser.add_argument("--rows", type=int, default=1_000, help="per key")
    parser.add_argument("--batches", type=int, default=10)
    parser.add_argument(
        "--active",
        type=float,
        default=1.0,
        help="share of the keys that have rows after the first batch",
    )
    parser.add_argument("--buckets", type=int, default=64)
    parser.add_argument("--skip-table", action="store_true")
    options = parser.parse_args()
    for name, value in description().items():
        print(f"{name:28} {value}")
    with tempfile.TemporaryDirectory() as name:
        folder, source, report = Path(name), Path(name, "in"), dict[str, float]()
        source.mkdir()
        write(source, options.keys, options.rows, options.batches, options.active)
        alone = engine_alone(source)
        with clock(report, "session"):
            spark = session(folder)
        with clock(report, "stream"):
            progress, used = stream(spark, source, folder, options)
        if not options.skip_table:
            with clock(report, "table"):
                table(spark, source, folder)
        print_report(options, alone, report, progress, used, size(folder / "checkpoint"))
        spark.stop()


if __name__ == "__main__":
    main()
