"""Tables as files, in every format that is read."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pyarrow as pa
from pyarrow import parquet

FORMATS = ("csv", "parquet", "ndjson")


def write(path: Path, batch: pa.RecordBatch) -> Path:
    """Write a table in the format of its name."""
    rows = [{name: _plain(value) for name, value in row.items()} for row in batch.to_pylist()]
    if path.suffix == ".parquet":
        parquet.write_table(pa.Table.from_batches([batch]), path, row_group_size=500)
    elif path.suffix == ".ndjson":
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    else:
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, batch.schema.names, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
    return path


def _plain(value: object) -> object:
    return value.isoformat() if hasattr(value, "isoformat") else value
