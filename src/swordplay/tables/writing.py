"""Open an output, whatever its format."""

from __future__ import annotations

import os
import stat

import pyarrow as pa

from swordplay.core.arguments import short_repr
from swordplay.tables.errors import TableError
from swordplay.tables.output import Output, OutputPosition, StreamOutput, TextOutput
from swordplay.tables.partial import not_ours, reported
from swordplay.tables.row_groups import ParquetOutput, SpooledParquet
from swordplay.tables.row_text import Encoder, csv_header, csv_rows, ndjson_rows

ENDINGS = {".csv": "csv", ".ndjson": "ndjson", ".jsonl": "ndjson", ".parquet": "parquet"}


def open_output(
    path: str | os.PathLike[str],
    schema: pa.Schema,
    *,
    format: str | None = None,
    position: OutputPosition | None = None,
    overwrite: bool = False,
    resumable: bool = False,
) -> Output:
    """Open a CSV, NDJSON or Parquet file for writing.

    Parameters
    ----------
    path
        Where the finished file will be (``.csv``, ``.ndjson``, ``.jsonl`` or ``.parquet``), or
        ``"-"`` for standard output.
    schema
        Columns; rows have to come in exactly this schema.
    format
        ``"csv"``, ``"ndjson"`` or ``"parquet"``; from the name where it is not given, and CSV on
        standard output.
    position
        What :meth:`Output.sync` of an earlier run returned: go on after it. If the file was
        finished since, it is taken up again and cut there.
    overwrite
        Replace an existing file (at the end, in one step); otherwise an existing file is refused.
    resumable
        Whether :meth:`Output.sync` will be called. Parquet, which cannot be appended to, is then
        written by way of a plain file beside it.

    Raises
    ------
    TableError
        Here or while writing: one line with the file, the reason and the remedy.
    """
    name = os.fspath(path)
    if format not in (None, *ENDINGS.values()):
        raise ValueError(f"format must be one of csv, ndjson, parquet, got {short_repr(format)}.")
    stream = name == "-" or is_stream(name)
    chosen = format or ENDINGS.get(os.path.splitext(name)[1].lower()) or ("csv" if stream else None)
    if chosen is None:
        raise TableError(
            f"{name}: the format of the output is not clear. End its name in .csv, .ndjson or "
            ".parquet."
        )
    if position is not None and position.format != chosen:
        raise not_ours(name)
    if stream:
        return _stream(name, schema, chosen, position)
    if os.path.isdir(name):
        raise TableError(f"{name} is a folder. Give the path of a file to write.")
    if position is None and not overwrite and os.path.exists(name):
        raise TableError(f"{name} exists already. Choose another name, or replace it with --force.")
    if chosen == "parquet":
        return (
            SpooledParquet(name, schema, position)
            if resumable or position
            else ParquetOutput(name, schema)
        )
    return TextOutput(name, chosen, *_text(chosen, schema), position)


def _text(format: str, schema: pa.Schema) -> tuple[bytes, Encoder]:
    """What such a file begins with, and how its rows are written."""
    return (csv_header(schema), csv_rows) if format == "csv" else (b"", ndjson_rows)


def _stream(name: str, schema: pa.Schema, format: str, position: OutputPosition | None) -> Output:
    shown_name = "standard output" if name == "-" else name
    if format == "parquet":
        raise TableError(
            f"{shown_name}: Parquet cannot be written to a stream. Give a file, or choose CSV or "
            "NDJSON."
        )
    with reported(shown_name):
        descriptor = os.dup(1) if name == "-" else os.open(name, os.O_WRONLY)
    return StreamOutput(shown_name, descriptor, format, *_text(format, schema), position)


def is_stream(path: str) -> bool:
    """Whether there is something that is neither a file nor a folder, such as a pipe or
    ``/dev/null``.
    """
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))
