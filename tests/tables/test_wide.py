"""Tables with very many columns: the work grows with their number, and limits are said in words."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from swordplay.tables import TableError, open_table
from swordplay.tables.frame_encoder import FrameEncoder
from swordplay.tables.schema import MAX_COLUMNS, ColumnRequest


def calls_of(function: Any) -> int:
    """How many calls of Python and C functions a function makes."""
    count = 0

    def profile(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(profile)
    try:
        function()
    finally:
        sys.setprofile(None)
    return count


def write(folder: Path, width: int, kind: str) -> Path:
    names = [*(f"x{i}" for i in range(width - 1)), "y"]
    values = np.arange(3 * width).reshape(3, width) % 7 + 0.5
    path = folder / f"{width}.{kind}"
    if kind == "parquet":
        pq.write_table(pa.table(dict(zip(names, values.T, strict=True))), path)
    else:
        lines = [",".join(names), *(",".join(map(str, row)) for row in values.tolist())]
        path.write_text("\n".join(lines) + "\n")
    return path


def read(path: Path) -> int:
    with open_table(path) as table:
        return sum(batch.rows.num_rows for batch in table.batches())


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_four_times_the_columns_take_four_times_the_work(kind: str, tmp_path: Path) -> None:
    paths = [write(tmp_path, width, kind) for width in (200, 800)]
    read(paths[0])  # imports
    few, many = (calls_of(lambda path=path: read(path)) for path in paths)
    assert many < 5 * few


class CountedNames(list[str]):
    """Names that count how many of them are compared, sliced or searched."""

    seen = 0

    def __contains__(self, name: object) -> bool:
        self.seen += len(self)
        return super().__contains__(name)

    def __getitem__(self, place: Any) -> Any:
        self.seen += len(range(*place.indices(len(self)))) if isinstance(place, slice) else 1
        return super().__getitem__(place)

    def __iter__(self) -> Iterator[str]:
        self.seen += len(self)
        return super().__iter__()


def test_names_are_looked_up_in_constant_time() -> None:
    names = CountedNames(f"x{i}" for i in range(5_000))
    ColumnRequest("x7", drop=names[:100]).check_names("t", names)
    assert names.seen < 10 * len(names)


def test_a_frame_is_encoded_with_work_in_proportion_to_its_columns() -> None:
    def encode(width: int) -> None:
        table = pa.table({f"x{i}": np.arange(3.0) for i in range(width)})
        FrameEncoder.begin(table).learn(table)

    encode(3)  # imports
    few, many = calls_of(lambda: encode(200)), calls_of(lambda: encode(800))
    assert many < 5 * few


def test_a_header_of_more_than_128_kib_is_read(tmp_path: Path) -> None:
    """The csv module ends a field at 128 KiB: cut by semicolons this header is one field, and no
    quote is open.
    """
    path = write(tmp_path, 45_000, "csv")
    with open_table(path, keep=["x0"]) as table:
        assert table.schema.names == ["x0", "y"]
        assert sum(len(batch.rows) for batch in table.batches()) == 3


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "x" * 200_000 + "\n1\n2\n",
            "line 1: the first 131,072 characters hold none of the delimiters",
        ),
        (
            'x,"' + ",z" * 100_000 + "\n1,2\n",
            "line 1: a quote is opened in this row and never closed",
        ),
    ],
)
def test_a_long_first_line_is_described_as_it_is(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(text)
    with pytest.raises(TableError, match=said):
        open_table(path, target=None)


def test_too_many_columns_are_refused_with_the_limit_and_the_remedy(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    header = ",".join(f"x{i}" for i in range(MAX_COLUMNS + 1))
    path.write_text(f"{header}\n" + ",".join("1" * (MAX_COLUMNS + 1)) + "\n")
    with pytest.raises(
        TableError,
        match=r"t\.csv has 100,001 columns to read, and at most 100,000 are read\. Choose some",
    ):
        open_table(path, target="x0")


def test_a_row_that_never_ends_is_no_open_quote(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("swordplay.tables.text.LONGEST_RECORD", 1 << 20)
    monkeypatch.setattr("swordplay.tables.reading.LONGEST_RECORD", 1 << 20)
    path = tmp_path / "t.csv"
    path.write_text("x" * (9 << 20))
    with pytest.raises(TableError, match="line 1: this row is longer than 1 MiB, the limit"):
        open_table(path, target=None)
