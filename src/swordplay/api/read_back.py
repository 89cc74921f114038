"""Predictions out of the file they were written to, in their own types."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet


def read_back(path: str, schema: Any) -> Any:
    """The pyarrow table that was written.

    Parameters
    ----------
    path
        CSV, NDJSON or Parquet.
    schema
        Of the table.
    """
    with open(path, "rb") as file:
        start = file.read(4)
    if start == b"PAR1":
        return pyarrow.parquet.read_table(path)
    types = {field.name: field.type for field in schema}
    if (
        path.lower()
        .removesuffix(".gz")
        .removesuffix(".zst")
        .endswith((".ndjson", ".jsonl", ".json"))
    ):
        return pyarrow.json.read_json(
            path, parse_options=pyarrow.json.ParseOptions(explicit_schema=pa.schema(schema))
        )
    options = pyarrow.csv.ConvertOptions(
        column_types=types, null_values=[""], strings_can_be_null=True
    )
    return pyarrow.csv.read_csv(path, convert_options=options)
