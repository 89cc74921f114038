"""Rows as the bytes of a text file.

Each row by itself, so that it does not matter how rows are cut into batches.
"""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

CSV_PIECE = 1 << 13
"""Rows that pyarrow formats at a time: with its own 1,024 it takes nearly twice as long."""
DAYS = {b"holds": b"days"}
"""Metadata of a column of dates without times: midnight is not written out."""
Encoder = Callable[[pa.RecordBatch], bytes]


def csv_header(schema: pa.Schema) -> bytes:
    """The first line of a CSV file."""
    return csv_rows(pa.RecordBatch.from_pylist([], schema), header=True)


def csv_rows(rows: pa.RecordBatch, header: bool = False) -> bytes:
    """Lines of CSV.

    Numbers with as many digits as it takes to read them back exactly, nothing for null.
    """
    sink = pa.BufferOutputStream()
    rows = _with_dates(rows)
    pyarrow.csv.write_csv(
        rows, sink, pyarrow.csv.WriteOptions(include_header=header, batch_size=CSV_PIECE)
    )
    return bytes(sink.getvalue())


def ndjson_rows(rows: pa.RecordBatch) -> bytes:
    """Lines of NDJSON: one object a row with all columns, null for what is missing or not
    finite.
    """
    if not len(rows):
        return b""
    parts = []
    rows = _with_dates(rows)
    for i, (values, name) in enumerate(zip(rows.columns, rows.schema.names, strict=True)):
        parts += [
            f"{'{' if i == 0 else ', '}{json.dumps(name)}: ",
            pc.fill_null(_json(values), "null"),
        ]
    lines = pc.binary_join_element_wise(*parts, "}\n", "")
    _, ends, text = lines.buffers()
    return bytes(text)[: np.frombuffer(ends, np.int32)[len(lines)]]


def _with_dates(rows: pa.RecordBatch) -> pa.RecordBatch:
    """The same rows with dates as people write them: 2024-05-17 13:45:00, and 2024-05-17 where a
    column holds days.
    """
    for i, field in enumerate(rows.schema):
        if pa.types.is_timestamp(field.type):
            words = pc.replace_substring_regex(
                rows.column(i).cast(pa.string()), r"\.0+(Z?)$", r"\1"
            )
            if field.metadata == DAYS:
                words = pc.replace_substring_regex(words, r" 00:00:00Z?$", "")
            rows = rows.set_column(i, pa.field(field.name, pa.string()), words)
    return rows


def _json(values: pa.Array) -> pa.Array:
    """Each value as JSON."""
    if pa.types.is_floating(values.type):
        return pc.if_else(pc.is_finite(values), values.cast(pa.string()), None)
    if pa.types.is_integer(values.type) or pa.types.is_boolean(values.type):
        return values.cast(pa.string())
    words = values.cast(pa.string()).dictionary_encode()  # few different words stand for many
    quoted = pa.array(
        [json.dumps(word, ensure_ascii=False) for word in words.dictionary.to_pylist()], pa.string()
    )
    return quoted.take(words.indices)
