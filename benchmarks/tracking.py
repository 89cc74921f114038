"""How fast `swordplay track` is: `python -m benchmarks.tracking --rows 10000000`.

Makes a drifting table of ten numeric columns, tracks it in a process of its own from CSV (or
Parquet, NDJSON) to Parquet, and prints rows per second from the start of the process to its end,
the processor time of its parts, and its memory over time.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv, parquet

from benchmarks import machine

COLUMNS = 10
BLOCK = 250_000
"""Rows that are made at a time."""
GLANCE = 0.25
"""Seconds between two looks at the memory."""


def make(path: Path, rows: int, seed: int = 0) -> None:
    """A table whose coefficients turn slowly: nine features and a target, with six decimals in
    text.
    """
    rng = np.random.default_rng(seed)
    names = [*(f"x{k}" for k in range(1, COLUMNS)), "y"]
    schema = pa.schema([(name, pa.float64()) for name in names])
    with _writer(path, schema) as writer:
        for first in range(0, rows, BLOCK):
            count = min(BLOCK, rows - first)
            features = rng.normal(size=(count, COLUMNS - 1)).round(6)
            angles = 2e-6 * np.arange(first, first + count)[:, None] + np.arange(COLUMNS - 1)
            target = ((features * np.sin(angles)).sum(axis=1) + rng.normal(size=count)).round(6)
            writer.write(pa.record_batch([*features.T.copy(), target], schema=schema))


class _Lines:
    """NDJSON, which pyarrow does not write."""

    def __init__(self, path: Path) -> None:
        self.file = path.open("w")

    def write(self, batch: pa.RecordBatch) -> None:
        self.file.writelines(f"{json.dumps(row)}\n" for row in batch.to_pylist())

    def __enter__(self) -> _Lines:
        return self

    def __exit__(self, *error: object) -> None:
        self.file.close()


def _writer(path: Path, schema: pa.Schema) -> csv.CSVWriter | parquet.ParquetWriter | _Lines:
    if path.suffix == ".csv":
        return csv.CSVWriter(path, schema)
    return parquet.ParquetWriter(path, schema) if path.suffix == ".parquet" else _Lines(path)


def track(path: Path, output: Path, *options: str) -> tuple[dict[str, float], list[float]]:
    """Seconds and the errors of a run, and its memory in MB over time."""
    command = [
        sys.executable,
        "-m",
        "swordplay",
        "track",
        str(path),
        "--target",
        "y",
        "--json",
        "--quiet",
        "--force",
    ]
    began = time.perf_counter()
    memory = []
    with subprocess.Popen(
        [*command, "-o", str(output), *options], stdout=subprocess.PIPE, text=True
    ) as process:
        while process.poll() is None:
            memory.append(_resident(process.pid))
            time.sleep(GLANCE)
        assert process.stdout is not None
        answer = json.loads(process.stdout.read())
    if process.returncode:
        raise SystemExit(process.returncode)
    return {"seconds": time.perf_counter() - began, **answer["errors"]}, [
        size for size in memory if size
    ]


def with_bytecode(folder: Path) -> dict[str, str]:
    """An environment whose bytecode is kept in a folder, as an installation has it.

    One of developers may forbid that.
    """
    own = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**own, "PYTHONPYCACHEPREFIX": str(folder / "bytecode")}


def run(
    path: Path, folder: Path, options: Sequence[str] = (), **environment: str
) -> tuple[float, float, float]:
    """Seconds of a process that tracks a table, those that it counts itself, and those of
    processors.
    """
    command = [
        sys.executable,
        "-m",
        "swordplay",
        "track",
        str(path),
        "--target",
        "y",
        "--json",
        "--quiet",
        "--force",
        *options,
    ]
    began, before = time.perf_counter(), os.times()
    done = subprocess.run(
        [*command, "-o", str(folder / "said.parquet")],
        env=with_bytecode(folder) | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    seconds, after = time.perf_counter() - began, os.times()
    used = (
        after.children_user + after.children_system - before.children_user - before.children_system
    )
    return seconds, float(json.loads(done.stdout)["seconds"]), used


def _resident(process: int) -> float:
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS")), 0.0)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=lambda text: int(float(text)), default=1_000_000)
    parser.add_argument("--format", choices=["csv", "parquet", "ndjson"], default="csv")
    parser.add_argument("--output", choices=["csv", "parquet", "ndjson"], default="parquet")
    parser.add_argument("--state", action="store_true", help="save checkpoints on the way")
    parser.add_argument(
        "--folder",
        type=Path,
        help="where the table is made, and kept; a temporary one unless given",
    )
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.folder or Path(temporary)
        path = folder / f"table-{arguments.rows}.{arguments.format}"
        if not path.exists():
            make(path, arguments.rows)
        options = ["--state", str(Path(temporary) / "state")] if arguments.state else []
        before = os.times()
        figures, memory = track(path, Path(temporary) / f"predictions.{arguments.output}", *options)
        after = os.times()
        processor = (
            after.children_user
            + after.children_system
            - before.children_user
            - before.children_system
        )
        size = path.stat().st_size
    seconds = figures.pop("seconds")
    half = len(memory) // 2
    print(f"{machine.description()['processor']}; load when it ended {os.getloadavg()[0]:.1f}")
    print(
        f"{arguments.rows:,} rows x {COLUMNS} columns, {size / 1e6:,.0f} MB of {arguments.format} "
        f"to {arguments.output}"
    )
    print(
        f"{seconds:.1f} s: {arguments.rows / seconds:,.0f} rows/s; "
        f"{processor / arguments.rows * 1e6:.2f} µs of processor a row"
    )
    halves = (
        f"{max(memory[:half]):.0f} MB in the first half, {max(memory[half:]):.0f} MB in the second"
    )
    print(f"memory at most {max(memory):.0f} MB; {halves}")
    print(", ".join(f"{name} {error:.4g}" for name, error in figures.items()))


if __name__ == "__main__":
    main()
