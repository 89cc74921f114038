"""What a messy table is, and short ways to write one down."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq


class Messy(NamedTuple):
    """A file and its meaning."""

    content: str | bytes
    kinds: dict[str, str] = {}  # because nobody writes into it  # noqa: RUF012
    """Type of each column that is checked: number, truth, word, date, zoned (a date with a
    zone), time.
    """
    values: dict[str, list[Any]] = {}  # classes of cases, never changed  # noqa: RUF012
    """All values of some columns."""
    how: dict[str, str] = {}  # classes of cases, never changed  # noqa: RUF012
    """How columns are said to be written; nothing is said about the others."""
    remarks: tuple[str, ...] = ()
    """Parts of the remarks, one each, in any order; there are no others."""
    refused: tuple[tuple[int, str, str], ...] = ()
    """Row, value and part of the reason of bad rows."""
    error: tuple[str, ...] = ()
    """Parts of the message, where the table cannot be read."""
    options: dict[str, Any] = {}  # classes of cases, never changed  # noqa: RUF012
    suffix: str = "csv"


def column(*texts: str, name: str = "x") -> str:
    """A CSV of one messy column beside a plain one."""
    return f"{name},y\n" + "".join(
        '"{}",{}\n'.format(text.replace('"', '""'), i) for i, text in enumerate(texts)
    )


def number(*texts: str, means: list[float | None], how: str = "", **more: Any) -> Messy:
    return Messy(column(*texts), {"x": "number"}, {"x": means}, {"x": how} if how else {}, **more)


def date(
    *texts: str, means: list[datetime | None], how: str, name: str = "day", **more: Any
) -> Messy:
    return Messy(column(*texts, name=name), {name: "date"}, {name: means}, {name: how}, **more)


def word(*texts: str, name: str = "x", **more: Any) -> Messy:
    return Messy(column(*texts, name=name), {name: "word"}, {name: list(texts)}, **more)


def parquet(**columns: Any) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(columns), sink)
    return sink.getvalue().to_pybytes()


def ndjson(*rows: dict[str, Any]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


JANUARY, FEBRUARY = datetime(2012, 1, 31), datetime(2012, 2, 1)
BOTH: list[datetime | None] = [JANUARY, FEBRUARY]
LATE: list[datetime | None] = [datetime(2012, 1, 31, 14, 30), datetime(2012, 2, 1, 0, 5)]
