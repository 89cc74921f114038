"""Many keys on one machine: ``python -m benchmarks.keyed [peers|track|folder] [--keys 200000]
[--rows 50] ...``.

``peers`` gives the same rows, interleaved, to ``swordplay track --key`` and to ``Keyed`` in memory,
with whole models and in the cheap form (``lags=0, curves=None``), to a loop over river models, to
Spark's ``applyInPandas`` with river models, and to ``track_table``. The slow ones get a sample of
the keys, with all their rows: their time a row does not depend on the number of keys.

``track`` is the command alone, with a CSV file (numbers of six decimals) and with Parquet, with and
without intervals.

``folder`` fills a folder with keys and measures what is read and written when one key is opened,
and when a batch of rows of as many keys is learned and saved.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from benchmarks.machine import description

DIM = 10
FEATURES = [f"x{j}" for j in range(DIM)]
AT_ONCE = 5
"""Rows of each key in a row group, in a random order of the keys."""
DECIMALS = 6
"""Of all numbers."""
GATHERED = 500_000
"""Rows that ``Keyed`` is given at once."""


def write(path: Path, keys: int, rows: int) -> None:
    """Interleaved rows, each key's target drifting in its own way."""
    rng = np.random.default_rng(0)
    truth, names = rng.normal(size=(keys, DIM)), np.array([f"sensor-{k:07d}" for k in range(keys)])
    writer: Any = None
    for first in range(0, rows, AT_ONCE):
        count = min(AT_ONCE, rows - first)
        who = np.concatenate([rng.permutation(keys) for _ in range(count)])
        features = rng.normal(size=(len(who), DIM)).round(DECIMALS)
        truth += 0.1 * rng.normal(size=truth.shape)
        target = (
            np.einsum("ij,ij->i", features, truth[who]) + 0.1 * rng.normal(size=len(who))
        ).round(DECIMALS)
        order = np.repeat(np.arange(first, first + count), keys)
        table = pa.table(
            {
                "key": names[who],
                "t": order,
                **{name: features[:, j] for j, name in enumerate(FEATURES)},
                "y": target,
            }
        )
        if path.suffix == ".csv":
            writer = writer or pa.csv.CSVWriter(path, table.schema)
            writer.write_table(table)
        else:
            writer = writer or pq.ParquetWriter(path, table.schema)
            writer.write_table(table, row_group_size=1 << 17)
    if writer is not None:
        writer.close()


def of_some_keys(path: Path, keys: int) -> pa.Table:
    """All rows of the first keys."""
    return pq.read_table(path, filters=[("key", "<", f"sensor-{keys:07d}")])


class Timed:
    """Seconds and seconds of processor time, of this process and of those that it has started
    and that have ended.
    """

    def __enter__(self) -> Timed:
        self._began = (time.perf_counter(), _used())
        return self

    def __exit__(self, *_: object) -> None:
        self.wall, self.used = time.perf_counter() - self._began[0], _used() - self._began[1]


def _used() -> float:
    every = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in every)


def report(name: str, rows: int, timed: Timed, note: str = "") -> None:
    """A line of the table."""
    print(
        f"| {name} | {rows:,} | {timed.wall:.1f} | {rows / timed.wall:,.0f} | "
        f"{timed.used / rows * 1e6:.1f} | {note} |",
        flush=True,
    )


def command(path: Path, folder: Path, *options: str) -> dict[str, Any]:
    """A run of ``swordplay track --key``."""
    program = [
        sys.executable,
        "-m",
        "swordplay",
        "track",
        str(path),
        "--target",
        "y",
        "--key",
        "key",
        "--drop",
        "t",
    ]
    output = ["-o", str(folder / "out.parquet"), "--force", "--quiet", "--json", *options]
    found = subprocess.run([*program, *output], capture_output=True, check=True, text=True)
    answer: dict[str, Any] = json.loads(found.stdout)
    return answer


CHEAP = {"lags": 0, "curves": None}
"""Models of first order."""


def in_memory(path: Path, **settings: Any) -> int:
    """Learn arrays with ``Keyed``; returns the number of rows."""
    from swordplay.keyed import Keyed

    keyed = Keyed(**settings)
    for batch in pq.ParquetFile(path).iter_batches(GATHERED):
        rows = np.column_stack([batch.column(name).to_numpy() for name in FEATURES])
        keyed.predict_then_learn(batch.column("key"), rows, batch.column("y").to_numpy())
    return keyed.clock


def river_model() -> Any:
    from river import linear_model, preprocessing

    return preprocessing.StandardScaler() | linear_model.LinearRegression()


def river_loop(table: pa.Table) -> None:
    """One river model for each key, row by row."""
    from collections import defaultdict

    models: dict[str, Any] = defaultdict(river_model)
    for row in table.select(["key", *FEATURES, "y"]).to_pylist():
        key, target = row.pop("key"), row.pop("y")
        model = models[key]
        model.predict_one(row)
        model.learn_one(row, target)


def river_on_spark(spark: Any, path: Path, folder: Path) -> None:
    """``applyInPandas`` with a river model for each key."""
    import pandas as pd

    features = list(FEATURES)

    def each(rows: pd.DataFrame) -> pd.DataFrame:
        from river import linear_model, preprocessing

        rows, model = (
            rows.sort_values("t"),
            preprocessing.StandardScaler() | linear_model.LinearRegression(),
        )
        said = []
        for row, target in zip(rows[features].to_dict("records"), rows["y"], strict=True):
            said.append(model.predict_one(row))
            model.learn_one(row, target)
        return rows[["key", "t", "y"]].assign(prediction=said)

    tracked = (
        spark.read.parquet(str(path))
        .groupBy("key")
        .applyInPandas(each, "key string, t long, y double, prediction double")
    )
    tracked.write.parquet(str(folder / "river"))


def ours_on_spark(
    spark: Any, path: Path, folder: Path, name: str = "table", **settings: Any
) -> None:
    """``track_table``, with whole models unless ``settings`` say otherwise."""
    from swordplay.spark import track_table

    columns = {"key": "key", "features": FEATURES, "target": "y", "order": "t"}
    tracked = track_table(spark.read.parquet(str(path)), **columns, **settings)
    tracked.write.parquet(str(folder / name))


def cheap_on_spark(spark: Any, path: Path, folder: Path) -> None:
    """``track_table`` with models of first order."""
    ours_on_spark(spark, path, folder, "cheap", **CHEAP)


def peers(options: argparse.Namespace) -> None:
    """The table of the docs."""
    with tempfile.TemporaryDirectory() as name:
        folder, path, few = Path(name), Path(name, "rows.parquet"), Path(name, "few.parquet")
        write(path, options.keys, options.rows)
        sample = of_some_keys(path, options.sample)
        pq.write_table(sample, few)
        print("| | rows | seconds | rows a second | processor us a row | |")
        print("| --- | ---: | ---: | ---: | ---: | --- |")
        command(few, folder)  # compiled, or read from disk
        for what, more in (
            ("`track --key`, with intervals", ()),
            ("`track --key --curves none`, with intervals", ("--curves", "none")),
            ("`track --key --curves none --no-interval`", ("--curves", "none", "--no-interval")),
        ):
            with Timed() as timed:
                answer = command(path, folder, *more)
            report(
                what,
                answer["rows"],
                timed,
                f"RMSE {answer['errors']['swordplay']:.3f}, Parquet to Parquet",
            )
        for what, settings in (("`Keyed()`", {}), ("`Keyed(lags=0, curves=None)`", CHEAP)):
            with Timed() as timed:
                count = in_memory(path, **settings)
            report(what, count, timed, "arrays in memory")
        with Timed() as timed:
            river_loop(sample)
        report("a loop over river models", len(sample), timed, f"{options.sample:,} of the keys")
        if options.spark:
            from benchmarks.spark import session

            spark = session(folder)
            ours_on_spark(spark, few, folder / "warm")  # the workers start
            steps: list[tuple[str, Callable[..., None], Path, int, str]] = [
                ("Spark's `track_table`", ours_on_spark, path, options.keys * options.rows, ""),
                (
                    "Spark's `track_table`, `lags=0, curves=None`",
                    cheap_on_spark,
                    path,
                    options.keys * options.rows,
                    "",
                ),
                (
                    "Spark's `applyInPandas`, river",
                    river_on_spark,
                    few,
                    len(sample),
                    f"{options.sample:,} of the keys",
                ),
            ]
            from benchmarks.spark import processors

            for what, go, source, rows, note in steps:
                before = sum(processors().values())
                with Timed() as timed:
                    go(spark, source, folder)
                timed.used += sum(processors().values()) - before
                report(what, rows, timed, note)
            spark.stop()


def track(options: argparse.Namespace) -> None:
    """The command alone."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        print("| | rows | seconds | rows a second | processor us a row | |")
        print("| --- | ---: | ---: | ---: | ---: | --- |")
        for ending in ("csv", "parquet"):
            path, few = folder / f"rows.{ending}", folder / f"few.{ending}"
            write(few, 100, 5)
            command(few, folder)  # compiled, or read from disk
            with Timed() as started:
                command(few, folder)
            write(path, options.keys, options.rows)
            for what, more in (("with intervals", ()), ("`--no-interval`", ("--no-interval",))):
                with Timed() as timed:
                    answer = command(path, folder, *more)
                report(
                    f"{ending} to Parquet, {what}",
                    answer["rows"],
                    timed,
                    f"start {started.wall:.1f} s of these",
                )
            path.unlink()


def counted(name: str) -> int:
    """Bytes that this process has read (``rchar``) or written (``wchar``) so far."""
    lines = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    return int(lines[name])


def folder(options: argparse.Namespace) -> None:
    """What a folder of many keys costs."""
    from swordplay.keyed import Keyed

    with tempfile.TemporaryDirectory() as name:
        rng, keyed = np.random.default_rng(0), Keyed()
        for first in range(0, options.keys, options.chunk):
            count = min(options.chunk, options.keys - first)
            if first:
                keyed = Keyed.load(name)  # so that only the new ones are in memory
            who = np.tile(np.arange(first, first + count), options.young)
            rows = rng.normal(size=(len(who), DIM))
            keyed.predict_then_learn(who, rows, rows[:, 0])
            keyed.save(name)
        size = sum(file.stat().st_size for file in Path(name).iterdir())
        each = f"{size / 1e9:.2f} GB, {size / options.keys:,.0f} bytes a key"
        print(f"{options.keys:,} keys, d = {DIM}, {options.young} rows each: {each}", flush=True)
        Keyed.load(name).model(
            options.keys - 1
        )  # imports scikit-learn, which is not what is to be measured
        start, before = time.perf_counter(), counted("rchar")
        opened = Keyed.load(name)
        opened.model(int(options.keys * 0.7))
        print(
            f"opening one key: {(counted('rchar') - before) / 1e3:,.0f} kB read, "
            f"{time.perf_counter() - start:.3f} s"
        )
        who = rng.choice(options.keys, options.batch, replace=False)
        rows = rng.normal(size=(len(who), DIM))
        start, before = time.perf_counter(), counted("rchar")
        opened.predict_then_learn(who, rows, rows[:, 0])
        told = f"{(counted('rchar') - before) / 1e6:.1f} MB read"
        before = counted("wchar")
        opened.save(name)
        seconds = time.perf_counter() - start
        wrote = f"{(counted('wchar') - before) / 1e6:.1f} MB written"
        print(f"{options.batch:,} rows of as many keys: {told}, {wrote}, {seconds:.2f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    jobs = {"peers": peers, "track": track, "folder": folder}
    usual = {"peers": 200_000, "track": 100_000, "folder": 1_000_000}
    parser.add_argument("what", choices=tuple(jobs), nargs="?", default="peers")
    parser.add_argument(
        "--keys",
        type=int,
        default=0,
        help="200,000, 100,000 for the command, a million in a folder",
    )
    parser.add_argument("--rows", type=int, default=50, help="per key")
    parser.add_argument(
        "--sample", type=int, default=2000, help="keys for those who would take hours"
    )
    parser.add_argument("--no-spark", dest="spark", action="store_false")
    parser.add_argument(
        "--chunk",
        type=int,
        default=50_000,
        help="keys that are learned and saved at once, in a folder",
    )
    parser.add_argument("--young", type=int, default=3, help="rows of each key in a folder")
    parser.add_argument(
        "--batch", type=int, default=2000, help="rows to be learned by a folder of keys"
    )
    options = parser.parse_args()
    options.keys = options.keys or usual[options.what]
    for name, value in description().items():
        print(f"{name:28} {value}")
    print(f"{'threads':28} {len(os.sched_getaffinity(0))}")
    jobs[options.what](options)


if __name__ == "__main__":
    main()
