"""Where exactly a guess turns into another one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from swordplay.tables import TableError, infer_parser, open_table
from swordplay.tables.csv_header import LONGEST_UNIT, LOOKED_AT
from swordplay.tables.date_parser import is_date_name
from swordplay.tables.parsers import DOUBLE
from swordplay.tables.schema import TableSchema


def kind(name: str, *texts: str) -> str:
    reading = infer_parser(name, pa.array(texts)).parser
    assert reading is not None
    return reading.kind


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("ts", "631151999", "number"),  # the last second of 1989
        ("ts", "631152000", "date"),
        ("ts", "2524607999", "date"),  # the last second of 2049
        ("ts", "2524608000", "number"),
        ("ts", "631152000000", "date"),
        ("ts", "631152000000000", "date"),
        ("ts", "631152000000000000", "date"),
        ("ts", "63115200000", "number"),
        ("price", "631152000", "number"),
        ("day", "18991231", "number"),
        ("day", "19000101", "date"),
        ("day", "20991231", "date"),
        ("day", "21000101", "number"),
        ("day", "20120230", "number"),
        ("price", "20120131", "number"),
    ],
)
def test_numbers_that_are_dates(name: str, text: str, expected: str) -> None:
    assert kind(name, text) == expected


def test_enough_numbers_of_eight_digits() -> None:
    days = [str(20120101 + k) for k in range(10)]
    assert kind("x", *days[:9]) == "number"
    assert kind("x", *days) == "date"
    assert kind("x", *days, "20120132") == "number"


@pytest.mark.parametrize(
    "name",
    [
        "time",
        "Timestamp",
        "created_at",
        "timeStamp",
        "unix_ms",
        "epoch",
        "timestampMs",
        "TS",
        "date of sale",
    ],
)
def test_names_of_dates(name: str) -> None:
    assert is_date_name(name)


@pytest.mark.parametrize(
    "name", ["price", "lat", "timeout", "dated", "format", "daylight", "points", "estimate", ""]
)
def test_names_of_other_things(name: str) -> None:
    assert not is_date_name(name)


def test_codes() -> None:
    assert kind("x", "01234", "12345") == "word"
    assert kind("x", "0123", "1234") == "number"
    assert kind("x", "01234", "123456") == "number"
    assert kind("x", "12345", "23456") == "number"
    assert kind("x", "00000", "00000") == "number"
    assert kind("x", "0.123", "1.234") == "number"


def test_more_than_half_decides() -> None:
    assert kind("x", "$1", "$2", "a", "b") == "word"
    assert kind("x", "$1", "$2", "$3", "a", "b") == "number"
    assert kind("x", "$1", "$2", "$2", "$2", *"abc") == "number"  # of values, not of different ones


def beginning(folder: Path, content: str) -> list[str]:
    path = folder / "a.csv"
    path.write_text(content)
    with open_table(path, target="y") as table:
        list(table.batches())
        return table.schema.names


def test_titles(tmp_path: Path) -> None:
    assert LOOKED_AT == 40
    table = "x,y\n" + "1,2\n" * 60
    assert beginning(tmp_path, "word\n" * 19 + table) == ["x", "y"]
    with pytest.raises(TableError, match="no column 'y'"):
        beginning(tmp_path, "word\n" * 40 + table)


def test_units(tmp_path: Path) -> None:
    assert LONGEST_UNIT == 12
    assert beginning(tmp_path, "x,y\nkg,kilograms/m2\n1,2\n3,4\n") == ["x", "y"]
    with pytest.raises(
        TableError, match=r"line 2 \(row 1\), column 'x': 'kg' is not a finite number"
    ):
        beginning(tmp_path, "x,y\nkg,kilograms/m23\n1,2\n3,4\n")
    with pytest.raises(TableError, match=r"line 2 \(row 1\), column 'x': 'kg'"):
        beginning(tmp_path, "x,y\nkg,5\n1,2\n3,4\n")


def test_a_schema_without_parsers_is_read() -> None:
    layout, rest = TableSchema.from_json(
        '{"names": ["x", "y"], "types": ["double", null], "delimiter": ";"}'
    )
    assert layout == TableSchema(("x", "y"), (DOUBLE, None))
    assert rest == {"delimiter": ";"}
    rows = pa.record_batch({"x": np.arange(3.0)})
    assert layout.parse(rows) == (rows, {})


@pytest.mark.parametrize(
    "text",
    [
        '"nan"',
        "[]",
        "3",
        '{"names": "xy", "types": ["double", null]}',
        '{"names": ["x"], "types": ["double", null]}',
        '{"names": ["x", 2], "types": ["double", null]}',
        '{"names": ["x"], "types": ["double"], "left": [1]}',
        '{"names": ["x"], "types": ["double"], "left": {"x": 1}}',
        '{"names": ["x"], "types": ["double"], "missing": "none"}',
        '{"names": ["x"], "types": ["double"], "stored": 1}',
        '{"names": ["x"], "types": ["double"], "readings": []}',
    ],
)
def test_texts_that_are_no_layouts_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="the layout of a table is"):
        TableSchema.from_json(text)
