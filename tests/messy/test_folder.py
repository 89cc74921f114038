"""Messy tables are read as a person reads them; what was made of them is said."""

from __future__ import annotations

import json
import os
import threading
import time
from pathlib import Path

import pytest

from messy.cases import Messy
from messy.folder import FOLDER, PARTS
from messy.numbers import NUMBERS
from swordplay.tables import Batch, Table, TableError, open_table
from swordplay.tables.schema import PARSED_AS

TYPES = {
    "number": "double",
    "truth": "bool",
    "word": "string",
    "date": "timestamp[us]",
    "zoned": "timestamp[us, tz=UTC]",
    "time": "time64[us]",
}


def opened(messy: Messy, folder: Path, **more: object) -> Table:
    path = folder / f"messy.{messy.suffix}"
    path.write_bytes(messy.content.encode() if isinstance(messy.content, str) else messy.content)
    # options by name
    return open_table(path, **{"on_bad": "skip", **messy.options, **more})  # type: ignore[arg-type]


def values(batches: list[Batch], name: str) -> list[object]:
    return [value for batch in batches for value in batch.rows.column(name).to_pylist()]


def test_the_folder_is_large() -> None:
    assert len(FOLDER) == sum(map(len, PARTS)) > 100


@pytest.mark.parametrize("messy", FOLDER.values(), ids=FOLDER)
def test_reading(messy: Messy, tmp_path: Path) -> None:
    if messy.error:
        with pytest.raises(TableError) as caught:
            opened(messy, tmp_path)
        for part in messy.error:
            assert part in str(caught.value)
        return
    with opened(messy, tmp_path) as table:
        batches = list(table.batches())
    found = {name: str(table.schema.field(name).type) for name in messy.kinds}
    assert found == {name: TYPES[kind] for name, kind in messy.kinds.items()}
    for name, meant in messy.values.items():
        assert values(batches, name) == meant
    said = {
        field.name: field.metadata[PARSED_AS].decode() for field in table.schema if field.metadata
    }
    assert said == messy.how
    assert len(table.remarks) == len(messy.remarks), table.remarks
    for part in messy.remarks:
        assert sum(part in remark for remark in table.remarks) == 1, table.remarks
    refusals = [refusal for batch in batches for refusal in batch.refusals]
    assert [(one.row, one.value) for one in refusals] == [
        (row, value) for row, value, _ in messy.refused
    ]
    assert all(
        reason in one.reason for one, (_, _, reason) in zip(refusals, messy.refused, strict=True)
    )
    assert all(batch.rows.schema.equals(table.schema, check_metadata=True) for batch in batches)


@pytest.mark.parametrize("name", [name for name, messy in FOLDER.items() if not messy.error])
def test_going_on_never_guesses_anew(name: str, tmp_path: Path) -> None:
    """After every row: the rest is the same, read in blocks of another size, though the rest
    alone would look different.
    """
    messy = FOLDER[name]
    with opened(messy, tmp_path) as table:
        whole = list(table.batches())
    with opened(messy, tmp_path, block_size=1, resumable=True) as table:
        small = list(table.batches())
    for column in table.schema.names:
        assert values(small, column) == values(whole, column)
    for k, batch in enumerate(small[:-1]):
        json.loads(batch.position.layout)
        with opened(messy, tmp_path, position=batch.position, block_size=1 + k) as table:
            rest = list(table.batches())
        assert table.schema.equals(whole[0].rows.schema, check_metadata=True)
        for column in table.schema.names:
            assert values(rest, column) == values(small[k + 1 :], column)


def test_a_bad_value_is_named_with_line_and_column(tmp_path: Path) -> None:
    with (
        pytest.raises(
            TableError,
            match=r"messy.csv, line 4 \(row 3\), column 'x': 'free' is not a number such as "
            r"\$12.5\.",
        ),
        opened(NUMBERS["not a number among money"], tmp_path, on_bad="stop") as table,
    ):
        list(table.batches())


def test_marks_may_come_late(tmp_path: Path) -> None:
    """The head decides on plain numbers.

    A mark thereafter is missing all the same, and a word is still a bad row.
    """
    rows = [f"{i}.5,2012-01-01,true,w{i % 3}\n" for i in range(10_500)]
    rows[10_400], rows[10_401] = "-,--,.,-\n", "oops,2012-01-01,true,a\n"
    content = "y,day,t,w\n" + "".join(rows)
    with opened(Messy(content), tmp_path, block_size=1 << 12) as table:
        assert [str(kind) for kind in table.schema.types] == [
            "double",
            "timestamp[us]",
            "bool",
            "string",
        ]
        batches = list(table.batches())
    assert [values(batches, name)[10_400] for name in table.schema.names] == [None, None, None, "-"]
    assert [(one.row, one.value) for batch in batches for one in batch.refusals] == [
        (10_402, "oops")
    ]
    assert len(values(batches, "y")) == 10_499


def test_a_title_on_a_live_pipe(tmp_path: Path) -> None:
    """Lines come one by one.

    What is above the names is waited for, and the pipe is never closed.
    """
    path = tmp_path / "pipe"
    os.mkfifo(path)
    descriptor = os.open(path, os.O_RDWR)

    def slowly() -> None:
        for line in (b"Sales\n", b"\n", b"x,price\n", b'"$1,280.50",2\n'):
            os.write(descriptor, line)
            time.sleep(0.3)

    writer = threading.Thread(target=slowly)
    writer.start()
    try:
        with open_table(path, target="price") as table:
            assert next(table.batches()).rows.to_pylist() == [{"x": 1280.5, "price": 2.0}]
        assert table.remarks[0].startswith("Line 1 is no part of the table ('Sales')")
    finally:
        writer.join()
        os.close(descriptor)
