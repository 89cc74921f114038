"""Tables in memory: the four kinds of values, batches, places to go on from, and what is
refused.
"""

from __future__ import annotations

import datetime
import hashlib
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from swordplay.tables import Position, Refusal, TableError, open_table
from swordplay.tables.digests import digest
from swordplay.tables.memory import MemoryTable
from swordplay.tables.schema import ColumnRequest

DAY = datetime.date(2024, 5, 17)
MOMENT = datetime.datetime(2024, 5, 17, 13, 45, tzinfo=datetime.UTC)


def everything(count: int = 7) -> pa.Table:
    """A table with a column of every type that can be used."""
    return pa.table(
        {
            "whole": pa.array(range(count), pa.int32()),
            "half": pa.array([k / 2 for k in range(count)], pa.float32()),
            "exact": pa.array([Decimal(k) for k in range(count)], pa.decimal128(10, 2)),
            "nothing": pa.nulls(count),
            "truth": [k % 2 == 0 for k in range(count)],
            "word": pa.array(
                [None if k == 2 else f"w{k}" for k in range(count)], pa.large_string()
            ),
            "coded": pa.array(["a" if k % 2 else "b" for k in range(count)]).dictionary_encode(),
            "day": [DAY + datetime.timedelta(k) for k in range(count)],
            "moment": pa.array([MOMENT] * count, pa.timestamp("ns", "Europe/Berlin")),
            "y": [float("nan") if k == 1 else float(k) for k in range(count)],
        }
    )


def opened(
    rows: pa.Table, position: Position | None = None, *, skip: bool = False, **options: object
) -> MemoryTable:
    # mypy takes each of the options for any of the arguments.
    return MemoryTable(
        rows, "the frame", ColumnRequest("y"), position, skip=skip, resumable=True, **options
    )  # type: ignore[arg-type]


def test_columns_become_what_those_of_a_parquet_file_become(tmp_path) -> None:
    rows = everything()
    pyarrow.parquet.write_table(rows, tmp_path / "t.parquet")
    with open_table(tmp_path / "t.parquet") as file, opened(rows) as table:
        assert table.schema == file.schema
        ours, theirs = list(table.batches()), list(file.batches())
    assert ours[0].rows.equals(theirs[0].rows)
    assert ours[0].numbers.tolist() == theirs[0].numbers.tolist() == [1, 2, 3, 4, 5, 6, 7]
    assert ours[0].rows.column("y").null_count == 1  # NaN is missing


@settings(max_examples=25)
@given(st.integers(1, 40), st.integers(1, 45), st.integers(1, 45), st.integers(1, 10))
def test_going_on_from_any_place_gives_the_rows_that_are_left(
    count: int, first: int, then: int, chunk: int
) -> None:
    rows = pa.Table.from_batches(everything(count).to_batches(max_chunksize=chunk))
    done, places = [], []
    with opened(rows, batch_rows=first) as table:
        for batch in table.batches():
            done += batch.numbers.tolist()
            places.append(batch.position)
        assert table.consumed == table.size == rows.nbytes
    assert done == list(range(1, count + 1))
    for place in places:
        with opened(everything(count), Position(**place._asdict()), batch_rows=then) as table:
            left = [number for batch in table.batches() for number in batch.numbers.tolist()]
        assert left == list(range(place.row + 1, count + 1))


def test_a_table_may_grow_and_must_begin_as_before() -> None:
    with opened(everything(5)) as table:
        place = list(table.batches())[-1].position
    with opened(everything(9), place) as table:
        assert table.remarks == []
        assert [batch.numbers.tolist() for batch in table.batches()] == [[6, 7, 8, 9]]
    changed = everything(9).set_column(0, "whole", pa.array([0, 1, 2, 3, 9, 5, 6, 7, 8]))
    for other in (
        changed,
        everything(4),
        everything(9).rename_columns([*"abcdefghi", "y"]),
        everything(9).drop(["truth"]),
    ):
        with pytest.raises(
            TableError,
            match=r"the frame is not the input that this state was saved with.*\n.*--force",
        ):
            opened(other, place)


@pytest.mark.parametrize("row", [1, 9, 4000, 9999, 10_000])
def test_any_row_that_has_changed_is_noticed(row: int) -> None:
    values = np.arange(10_000.0)
    with opened(pa.table({"y": values}), batch_rows=777) as table:
        place = list(table.batches())[-1].position
    opened(pa.table({"y": [*values, 1.0]}), place)
    values[row - 1] = -1.0
    with pytest.raises(TableError) as error:
        opened(pa.table({"y": values}), place)
    if row < 9:
        assert "begins differently" in str(error.value)
    else:
        first = int(str(error.value).split("row ")[1].split(" is the first")[0].replace(",", ""))
        assert row - max(8, row // 16) < first <= row


def test_infinite_numbers_are_bad_rows() -> None:
    rows = pa.table({"x": [1.0, np.inf, 3.0, -np.inf], "y": [1.0, 2.0, np.inf, 4.0]})
    with opened(rows, skip=True) as table:
        (batch,) = table.batches()
    assert batch.numbers.tolist() == [1]
    assert batch.refusals == (
        Refusal(2, None, "x", "inf", "is not a finite number"),
        Refusal(3, None, "y", "inf", "is not a finite number"),
        Refusal(4, None, "x", "-inf", "is not a finite number"),
    )
    assert batch.position.refused == table.refused == 3
    with opened(rows) as table:
        batches = table.batches()
        assert next(batches).numbers.tolist() == [1]
        with pytest.raises(
            TableError, match=r"the frame \(row 2\), column 'x': 'inf' is not a finite number"
        ):
            next(batches)


def read(count: int) -> pa.Table:
    """The same rows in the kinds of values, as a table that was sorted holds them."""
    with opened(everything(count)) as table:
        return pa.Table.from_batches([batch.rows for batch in table.batches()])


def test_a_table_that_must_be_the_same_as_a_whole() -> None:
    rows = read(6)
    with opened(rows, batch_rows=4, sorted=True, refused=2) as table:
        first, last = table.batches()
    assert (first.position.refused, last.position.refused) == (2, 2)
    with opened(read(6), first.position, sorted=True) as table:
        (batch,) = table.batches()
        assert (batch.numbers.tolist(), batch.position) == ([5, 6], last.position)
    later = rows.set_column(
        0, "whole", pa.array([0.0, 1.0, 2.0, 3.0, 4.0, 9.0])
    )  # behind the position, which matters here
    for other in (later, read(7)):
        with pytest.raises(TableError, match="something in it has changed"):
            opened(other, first.position, sorted=True)


def test_rows_that_were_sorted_are_not_read_once_more() -> None:
    rows = pa.table({"code": ["1", "2", "3"], "y": [1.0, 2.0, 3.0]})
    assert opened(rows).schema.field("code").type == pa.float64()
    assert opened(rows, sorted=True).schema == rows.schema


def test_closed_tables_hand_out_nothing_more() -> None:
    with opened(everything(6), batch_rows=2) as table:
        batches = table.batches()
        assert next(batches).numbers.tolist() == [1, 2]
        table.close()
        assert list(batches) == []


def test_whole_numbers_that_are_rounded_are_said() -> None:
    rows = pa.table({"id": pa.array([2**60, 1]), "small": pa.array([1, None]), "y": [1.0, 2.0]})
    assert opened(rows).remarks == [
        "Column 'id' holds whole numbers beyond 2^53: they are rounded to 16 digits, so do not "
        "rely on it as an id."
    ]


def test_what_cannot_be_a_table() -> None:
    with pytest.raises(TableError, match=r"the frame has no column 'y'\. There are: x"):
        opened(pa.table({"x": [1]}))
    with pytest.raises(TableError, match=r"the frame has columns \(x, y\) and no rows"):
        opened(pa.table({"x": pa.array([], pa.int64()), "y": pa.array([], pa.int64())}))
    with pytest.raises(
        TableError, match=r"column 'y' holds values of type list.*Choose another column as --target"
    ):
        opened(pa.table({"y": [[1]], "x": [1]}))
    with opened(pa.table({"x": [[1]], "y": [1]})) as table:
        assert table.schema.names == ["y"]
        assert table.remarks == [
            "Left out, as numbers, words and dates are needed: 'x' (holds values of type "
            "list<item: int64>)."
        ]
    with pytest.raises(TableError, match="both called 'y'"):
        opened(pa.Table.from_arrays([pa.array([1]), pa.array([1])], names=["y", "y"]))
    with MemoryTable(
        pa.table({"x": [[1]], "y": [1]}), "the frame", ColumnRequest("y", drop=("x",)), skip=False
    ) as table:
        assert table.schema.names == ["y"]


def test_the_digest_is_of_values_and_not_of_memory() -> None:
    rows = pa.record_batch({"n": [1.0, None, 0.0], "w": ["ab", None, ""], "t": [True, None, False]})
    longer = pa.record_batch(
        {"n": [7.0, 1.0, None, 0.0], "w": ["x", "ab", None, ""], "t": [True, True, None, False]}
    )
    assert digest(rows) == digest(longer.slice(1))
    others = [
        pa.record_batch({"n": [1.0, 0.0, None], "w": ["ab", None, ""], "t": [True, None, False]}),
        pa.record_batch({"n": [1.0, None, 0.0], "w": ["a", None, "b"], "t": [True, None, False]}),
        pa.record_batch({"n": [1.0, None, 0.0], "w": ["ab", "", None], "t": [True, None, False]}),
        pa.record_batch({"n": [1.0, None, 0.0], "w": ["ab", None, ""], "t": [True, False, None]}),
        pa.record_batch({"m": [1.0, None, 0.0], "w": ["ab", None, ""], "t": [True, None, False]}),
    ]
    assert len({digest(one) for one in [rows, *others]}) == 6
    small = pa.record_batch({"y": [1.5, None]})
    by_hand = b'[["y", "double"]]' + b"\x40" + np.array([1.5, 0.0]).tobytes()
    assert digest(small) == hashlib.sha256(by_hand).hexdigest()
