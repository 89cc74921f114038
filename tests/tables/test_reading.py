"""Tables that can be used: formats, types, what is missing, what is remarked upon, and going on
from a position.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import threading
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from swordplay.core import checkpoint
from swordplay.tables import Position, TableError, open_table


def written(folder: Path, name: str, content: bytes | str) -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def rows(path: Path | str, **options: Any) -> list[dict[str, Any]]:
    with open_table(path, **options) as table:
        return [row for batch in table.batches() for row in batch.rows.to_pylist()]


def opened(path: Path, **options: Any) -> tuple[dict[str, str], list[str]]:
    """Types and remarks."""
    with open_table(path, **options) as table:
        return {field.name: str(field.type) for field in table.schema}, table.remarks


PLAIN = "x,y\n1,2.5\n-3,4\n"
MEANT = [{"x": 1.0, "y": 2.5}, {"x": -3.0, "y": 4.0}]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", PLAIN),
        ("a.csv", PLAIN.rstrip("\n")),
        ("a.csv", PLAIN.replace("\n", "\r\n")),
        ("a.csv", PLAIN.replace("\n", "\r")),
        ("a.csv", "\ufeff" + PLAIN),
        ("a.csv", "\r\n\n" + PLAIN + "\n\n"),
        ("a.csv", PLAIN.replace(",", ";")),
        ("a.csv", PLAIN.replace(",", ";").replace(".", ",")),
        ("a.tsv", PLAIN.replace(",", "\t")),
        ("a.txt", PLAIN.replace(",", "|")),
        ("a.csv", ' x , y\n "1", 2.5\n-3 ,+4\n'.replace(' "1"', '"1"')),
        ("anything", PLAIN),
        ("anything.gz", gzip.compress(PLAIN.encode(), mtime=0)),
        ("a.csv", gzip.compress(PLAIN.encode(), mtime=0)),
        ("a.csv.gz", PLAIN),
        (
            "a.csv.gz",
            gzip.compress(PLAIN[:7].encode(), mtime=0) + gzip.compress(PLAIN[7:].encode(), mtime=0),
        ),
        ("a.csv.zst", pa.compress(PLAIN.encode(), codec="zstd", asbytes=True)),
        ("a.ndjson", '{"x": 1, "y": 2.5}\n{"y": 4, "x": -3}\n'),
        ("a.jsonl", '\ufeff{"x": 1, "y": 2.5}\r\n\r\n  {"y": 4, "x": -3.0}'),
        ("anything", '{"x": 1, "y": 2.5}\n{"y": 4, "x": -3}'),
        ("a.ndjson.gz", gzip.compress(b'{"x": 1, "y": 2.5}\n{"y": 4, "x": -3}', mtime=0)),
    ],
)
@pytest.mark.parametrize("block_size", [1, 5, 1 << 22])
def test_the_same_table(name: str, content: bytes | str, block_size: int, tmp_path: Path) -> None:
    assert rows(written(tmp_path, name, content), block_size=block_size) == MEANT


@pytest.mark.parametrize(
    "encoding", ["latin-1", "cp1252", "utf-16", "utf-16-le", "utf-32", "shift-jis"]
)
def test_encodings(encoding: str, tmp_path: Path) -> None:
    word = "ア" if encoding == "shift-jis" else "é"
    path = written(tmp_path, "a.csv", f"naïve,y\n{word},1\n".replace("ï", "i").encode(encoding))
    assert rows(path, encoding=encoding, block_size=1) == [{"naive": word, "y": 1.0}]


def test_kinds_of_columns(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        "a.csv",
        "int,real,truth,word,day,moment,zoned,fine,mixed,y\n"
        "1,1e3,true,a,2024-05-17,2024-05-17 13:45,2024-05-17T13:45:00Z,2024-05-17 "
        "13:45:00.123456789,1,0\n"
        "2,.5,FALSE,b,1999-12-31,1999-12-31T23:59:59.5,1999-12-31T23:59:59+01:00,1999-12-31,A7,1\n",
    )
    types, remarks = opened(path)
    assert types == {
        "int": "double",
        "real": "double",
        "truth": "bool",
        "word": "string",
        "day": "timestamp[us]",
        "moment": "timestamp[us]",
        "zoned": "timestamp[us, tz=UTC]",
        "fine": "timestamp[ns]",
        "mixed": "string",
        "y": "double",
    }
    assert remarks == []
    second = rows(path)[1]
    assert second["truth"] is False
    assert second["day"] == datetime(1999, 12, 31)
    assert second["moment"] == datetime(1999, 12, 31, 23, 59, 59, 500_000)
    assert second["zoned"] == datetime(1999, 12, 31, 22, 59, 59, tzinfo=UTC)


@pytest.mark.parametrize(
    "text", ["", " ", "NA", " NA", "nan", "NaN", "NaN ", "null", "None", "N/A", "?", '""', "<NA>"]
)
def test_missing_is_not_bad(text: str, tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", f"x,w,d,t,y\n1,a,2024-01-01,true,2\n{text},{text},,,{text}\n")
    values = rows(path)[1]
    assert values["x"] is values["d"] is values["t"] is values["y"] is None
    assert values["w"] is None or text == "NaN "  # only numbers are stripped


def test_missing_in_ndjson(tmp_path: Path) -> None:
    path = written(
        tmp_path, "a.ndjson", '{"x": 1, "w": "a", "y": 2}\n{"w": null, "y": NaN}\n{}\n{"x": 3}\n'
    )
    assert rows(path)[1:] == [{"x": None, "w": None, "y": None}] * 2 + [
        {"x": 3.0, "w": None, "y": None}
    ]


def test_keys_after_the_head_are_passed_over(tmp_path: Path) -> None:
    path = written(tmp_path, "a.ndjson", '{"y": 1}\n' * 10_000 + '{"y": 2, "late": [7]}\n')
    assert rows(path)[-1] == {"y": 2.0}


def test_parquet_kinds(tmp_path: Path) -> None:
    moments = [datetime(2024, 5, 17, 13, 45), None]
    table = pa.table(
        {
            "i8": pa.array([1, None], pa.int8()),
            "u64": pa.array([2, 3], pa.uint64()),
            "f32": pa.array([0.5, float("nan")], pa.float32()),
            "half": pa.array(np.array([0.5, 1.5], np.float16)),
            "money": pa.array([1, 2], pa.int64()).cast(pa.decimal128(30, 2)),
            "truth": [True, None],
            "word": pa.array(["a", None], pa.large_string()),
            "category": pa.array(["b", "b"]).dictionary_encode(),
            "day": pa.array(moments, pa.timestamp("s")).cast(pa.date32()),
            "ms": pa.array(moments, pa.timestamp("ms")),
            "zoned": pa.array(moments, pa.timestamp("ns", "Europe/Berlin")),
            "nothing": pa.nulls(2),
            "y": [1, 2],
        }
    )
    pq.write_table(table, tmp_path / "a.parquet")
    with open_table(tmp_path / "a.parquet") as opened_table:
        types = [str(kind) for kind in opened_table.schema.types]
        (batch,) = opened_table.batches()
    numbers, dates = ["double"] * 5, ["timestamp[us]", "timestamp[us]", "timestamp[ns, tz=UTC]"]
    assert types == [*numbers, "bool", "string", "string", *dates, "double", "double"]
    first, second = batch.rows.to_pylist()
    assert [first[name] for name in ("i8", "u64", "f32", "half", "money")] == [
        1.0,
        2.0,
        0.5,
        0.5,
        1.0,
    ]
    assert first["category"] == "b"
    assert first["ms"] == moments[0]
    # A cell may be anything; this one is a moment.
    assert first["zoned"].to_pydatetime() == moments[0].replace(tzinfo=UTC)  # type: ignore[union-attr]
    missing = [
        second[name] for name in ("i8", "f32", "truth", "word", "day", "ms", "zoned", "nothing")
    ]
    assert missing == [None] * len(missing)


@pytest.mark.parametrize(
    ("content", "essence"),
    [
        ("1.5,2,y\n1,2,3\n", None),
        (
            "1.5,2\n1,2\n",
            "(1.5, 2) holds data and no names: columns are called 'column 1' to 'column 2'",
        ),
        (
            "0,1\n1.5,2\n",
            "(0, 1) is taken for the header, but holds only numbers. If it is data, say --header "
            "no",
        ),
        ("x;y\n1;2\n", "separated by semicolons"),
        ("x\ty\n1\t2\n", "separated by tabs"),
        ("x|y\n1|2\n", "separated by vertical bars"),
        ("x;y\n1,5;2\n", "decimal comma"),
        ("id,y\n9007199254740993,1\n", "Column 'id' holds whole numbers beyond 2^53"),
        ("id,y\n90071992547409930000,1\n", "Column 'id' holds whole numbers beyond 2^53"),
        ("x,y\n9007199254740991,1e300\n", None),
        ("x,y\n,1\nNA,2\n", "Column 'x' is empty at the beginning"),
        (",y\n0,1\n", "'column 1'"),
    ],
)
def test_remarks(content: str, essence: str | None, tmp_path: Path) -> None:
    remarks = opened(written(tmp_path, "a.csv", content), target=None)[1]
    assert (essence is None and not remarks) or (
        essence is not None and essence in " ".join(remarks)
    )


def test_remarks_on_other_formats(tmp_path: Path) -> None:
    path = written(tmp_path, "a.ndjson", '{"id": 9007199254740993, "x": null, "y": 1}\n')
    said = " ".join(opened(path)[1])
    assert "Column 'id' holds whole numbers beyond 2^53" in said
    assert "Column 'x' is empty" in said
    pq.write_table(pa.table({"id": [9007199254740993], "y": [1]}), tmp_path / "a.parquet")
    assert opened(tmp_path / "a.parquet")[1] == [
        "Column 'id' holds" + said.split("Column 'id' holds")[1].split(" Column")[0]
    ]


def test_names_without_a_name_and_quoted(tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", '"a ""b"",\nc",,y\n1,2,3\n')
    assert rows(path) == [{'a "b",\nc': 1.0, "column 2": 2.0, "y": 3.0}]


@pytest.mark.parametrize("name", ["a.csv", "a.ndjson", "a.parquet"])
def test_dropped_columns_are_not_even_looked_at(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    if name == "a.csv":
        path.write_text("x,z,y\n1,2,3\n4,5,6\n7,oops,9\n")
    elif name == "a.ndjson":
        path.write_text(
            '{"x": 1, "z": [2], "y": 3}\n{"x": 4, "z": {}, "y": 6}\n{"x": 7, "z": 8, "y": 9}\n'
        )
    else:
        pq.write_table(pa.table({"x": [1, 4, 7], "z": [[2], [5], [8]], "y": [3, 6, 9]}), path)
    with open_table(path, drop=["z"]) as table:
        assert table.schema.names == ["x", "y"]
        (batch,) = table.batches()
    assert [row["y"] for row in batch.rows.to_pylist()] == [3.0, 6.0, 9.0]


def test_types_are_decided_by_most_of_the_head_and_then_fixed(tmp_path: Path) -> None:
    body = "".join(f"{i},{i % 7}\n" for i in range(12_000))
    path = written(tmp_path, "a.csv", "x,y\n" + body + "late,1\n")
    assert opened(path)[0]["x"] == "double"
    with pytest.raises(
        TableError, match=r"line 12002 \(row 12001\), column 'x': 'late' is not a finite number"
    ):
        rows(path)
    mostly = written(tmp_path, "b.csv", "x,y\n" + "a,1\n" * 60 + "5,1\n" * 59)
    assert opened(mostly)[0]["x"] == "string"


def test_size_and_consumed(tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", "x,y\n" + "1,2\n" * 1000)
    with open_table(path, block_size=100) as table:
        assert table.size == path.stat().st_size
        seen = [table.consumed for _ in table.batches()]
    assert seen == sorted(seen)
    assert seen[-1] == table.size
    packed = written(tmp_path, "a.csv.gz", gzip.compress(path.read_bytes(), mtime=0))
    with open_table(packed) as table:
        for _ in table.batches():
            pass
        assert table.consumed == table.size == packed.stat().st_size


def sources(folder: Path, count: int) -> list[Path]:
    """The same rows in every format."""
    table = pa.table(
        {
            "x": [i / 7 for i in range(count)],
            "w": [f'say "{i}",\n' for i in range(count)],
            "y": list(range(count)),
        }
    )
    text = io.StringIO()
    text.write("x,w,y\n")
    for row in table.to_pylist():
        text.write('{x!r},"{w}",{y}\n'.format(**row | {"w": row["w"].replace('"', '""')}))
    lines = "".join(json.dumps(row) + "\n" for row in table.to_pylist())
    pq.write_table(table, folder / "a.parquet", row_group_size=97)
    return [
        written(folder, "a.csv", text.getvalue()),
        written(folder, "a.csv.gz", gzip.compress(text.getvalue().encode(), mtime=0)),
        written(
            folder, "a.csv.zst", pa.compress(text.getvalue().encode(), codec="zstd", asbytes=True)
        ),
        written(folder, "b.csv", text.getvalue().encode("utf-16")),
        written(folder, "a.ndjson", lines),
        folder / "a.parquet",
    ]


@pytest.mark.parametrize("which", range(6))
def test_every_position_is_a_place_to_go_on(which: int, tmp_path: Path) -> None:
    path = sources(tmp_path, 500)[which]
    options: dict[str, Any] = {
        "block_size": 2000,
        "encoding": "utf-16" if path.name == "b.csv" else "utf-8",
    }
    with open_table(path, resumable=True, **options) as table:
        batches = list(table.batches())
    whole = [row for batch in batches for row in batch.rows.to_pylist()]
    assert len(whole) == 500
    assert len(batches) > 5 or path.suffix == ".parquet"
    for batch in batches:
        saved = checkpoint.loads(
            checkpoint.dumps(batch.position._asdict(), kind="position"), kind="position"
        )
        done = int(batch.numbers[-1])
        with open_table(path, position=Position(**saved), **options | {"block_size": 777}) as table:
            rest = list(table.batches())
            assert table.schema == batches[0].rows.schema
        assert [row for more in rest for row in more.rows.to_pylist()] == whole[done:]
        assert [number for more in rest for number in more.numbers] == list(range(done + 1, 501))
        if rest:
            assert rest[-1].position == batches[-1].position


def test_parquet_positions_within_row_groups(tmp_path: Path) -> None:
    path = sources(tmp_path, 500)[-1]
    with open_table(path, resumable=True) as table:
        assert table.start is not None
        start = table.start
        (batch,) = table.batches()
    for done in (0, 1, 96, 97, 98, 300, 499, 500):
        with open_table(path, position=batch.position_at(done) if done else start) as table:
            assert [n for more in table.batches() for n in more.numbers] == list(
                range(done + 1, 501)
            )


@pytest.mark.parametrize("which", range(6))
def test_another_input_is_refused(which: int, tmp_path: Path) -> None:
    path = sources(tmp_path, 300)[which]
    options: dict[str, Any] = {"encoding": "utf-16" if path.name == "b.csv" else "utf-8"}
    with open_table(path, resumable=True, **options) as table:
        last = list(table.batches())[-1].position
    other = tmp_path / "other"
    other.mkdir()
    sources(other, 200)  # the same beginning, but shorter
    with pytest.raises(
        TableError,
        match=r"has changed since.*row [12]\d\d is the first that may differ, and 300.*ends before",
    ):
        rows(other / path.name, position=last, **options)
    changed = written(tmp_path, "changed.csv", "x,w,y\n9,9,9\n")
    with pytest.raises(
        TableError, match=r"not the input that this state was saved with|not a Parquet file"
    ):
        rows(changed, position=last)


def test_a_file_that_has_grown_is_read_on(tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", PLAIN)
    with open_table(path, resumable=True) as table:
        last = list(table.batches())[-1].position
    assert rows(path, position=last) == []
    with path.open("a") as file:
        file.write("5,6\n")
    with open_table(path, position=last) as table:
        (batch,) = table.batches()
    assert batch.rows.to_pylist() == [{"x": 5.0, "y": 6.0}]
    assert batch.numbers.tolist() == [3]
    assert batch.position.line == 4


def test_format_of_the_position(tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", PLAIN)
    with open_table(path, resumable=True) as table:
        (batch,) = table.batches()
    with pytest.raises(TableError, match="Give the same format"):
        open_table(path, format="ndjson", position=batch.position)


class Pipe:
    """A named pipe and somebody who writes to it."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "pipe"
        os.mkfifo(self.path)
        self.descriptor = os.open(self.path, os.O_RDWR)

    def write(self, data: bytes) -> None:
        os.write(self.descriptor, data)


@pytest.fixture
def pipe(tmp_path: Path) -> Any:
    pipe = Pipe(tmp_path)
    yield pipe
    os.close(pipe.descriptor)


@pytest.mark.parametrize(
    "lines",
    [
        [b"x,y\n1,2\n", b"3,4\n5", b",6\n"],
        [b'{"x": 1, "y": 2}\n', b'{"x": 3, "y": 4}\n{', b'"x": 5, "y": 6}\n'],
    ],
)
def test_complete_lines_of_a_live_pipe_are_handed_on(lines: list[bytes], pipe: Pipe) -> None:
    """The pipe is never closed: a reader that waited for its end would hang here."""
    pipe.write(lines[0])
    with open_table(pipe.path) as table:
        assert table.size is None
        batches = table.batches()
        assert next(batches).rows.to_pylist() == [{"x": 1.0, "y": 2.0}]
        pipe.write(lines[1])
        assert next(batches).rows.to_pylist() == [{"x": 3.0, "y": 4.0}]
        pipe.write(lines[2])
        batch = next(batches)
        assert batch.rows.to_pylist() == [{"x": 5.0, "y": 6.0}]
        assert batch.numbers.tolist() == [3]
        batches.close()


def test_a_header_that_comes_in_pieces(pipe: Pipe) -> None:
    def slowly() -> None:
        for piece in (b"\xef", b"\xbb\xbfx", b",y", b"\n1", b",2", b"\n"):
            pipe.write(piece)
            time.sleep(0.01)

    writer = threading.Thread(target=slowly)
    writer.start()
    with open_table(pipe.path) as table:
        assert next(table.batches()).rows.to_pylist() == [{"x": 1.0, "y": 2.0}]
    writer.join()


def test_closing_ends_the_wait(pipe: Pipe) -> None:
    pipe.write(b"x,y\n1,2\n")
    table = open_table(pipe.path)
    seen: list[int] = []
    reader = threading.Thread(
        target=lambda: seen.extend(len(batch.rows) for batch in table.batches())
    )
    reader.start()
    while not seen:
        time.sleep(0.01)
    pipe.write(b"3,45")  # half a row, of which nobody knows how it goes on
    time.sleep(0.5)
    table.close()
    reader.join(timeout=30)
    assert not reader.is_alive()
    assert seen == [1]


def test_standard_input_and_resuming_it(tmp_path: Path) -> None:
    content = b"x,y\n" + b"".join(b"%d,%d\n" % (i, i) for i in range(50))

    def standard_input(**options: Any) -> Any:
        read, write = os.pipe()
        keep = os.dup(0)
        os.write(write, content)
        os.close(write)
        os.dup2(read, 0)
        os.close(read)
        try:
            with open_table("-", block_size=64, **options) as table:
                assert table.name == "standard input"
                return list(table.batches())
        finally:
            os.dup2(keep, 0)
            os.close(keep)

    batches = standard_input(resumable=True)
    assert [n for batch in batches for n in batch.numbers] == list(range(1, 51))
    again = standard_input(position=batches[2].position)
    assert [n for batch in again for n in batch.numbers] == list(
        range(int(batches[2].numbers[-1]) + 1, 51)
    )


def test_memory_is_bounded_by_blocks_not_by_the_file(tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", "x,y\n" + "1.25,2.5\n" * 1_000_000)
    with open_table(path, block_size=1 << 16) as table:
        before = pa.total_allocated_bytes()
        largest, count = 0, 0
        for batch in table.batches():
            largest = max(largest, pa.total_allocated_bytes() - before)
            count += len(batch.rows)
    assert count == 1_000_000
    assert largest < 1 << 20


@pytest.mark.parametrize(
    ("more", "fits"), [("\n3,4\n", True), ("\r\n3,4\r\n", True), ("5\n3,4\n", False)]
)
def test_a_last_row_that_was_half_written_is_noticed(tmp_path, more, fits):
    path = tmp_path / "growing.csv"
    path.write_bytes(b"x,y\n1,2\n2,3")
    with open_table(path, target="y", resumable=True) as table:
        position = list(table.batches())[-1].position
    path.write_bytes(path.read_bytes() + more.encode())
    if fits:
        with open_table(path, target="y", position=position) as table:
            assert [row for batch in table.batches() for row in batch.rows.to_pylist()] == [
                {"x": 3.0, "y": 4.0}
            ]
    else:
        with pytest.raises(TableError, match="row 2: the row was incomplete"):
            open_table(path, target="y", position=position)


@pytest.mark.parametrize("suffix", ["csv", "ndjson", "parquet"])
def test_only_the_columns_asked_for_are_read(tmp_path, suffix):
    path = tmp_path / f"t.{suffix}"
    if suffix == "csv":
        path.write_text("x,y,z\n1,2,a\n2,3,4\n")
    elif suffix == "ndjson":
        path.write_text('{"x": 1, "y": 2, "z": [1]}\n{"x": 2, "y": 3, "z": {"a": 1}}\n')
    else:
        pq.write_table(pa.table({"x": [1.0, 2.0], "y": [2.0, 3.0], "z": [[1], [2]]}), path)
    for choice in ({"keep": ["x"]}, {"drop": ["z"]}):
        with open_table(path, target="y", **choice) as table:
            assert table.schema.names == ["x", "y"]
            assert sum(len(batch.rows) for batch in table.batches()) == 2
    with pytest.raises(TableError, match="no column 'w'"):
        open_table(path, target="y", keep=["w"])


@pytest.mark.parametrize("which", range(6))
def test_every_row_is_a_place_to_go_on(which: int, tmp_path: Path) -> None:
    """Within batches, too, and with bad rows among them."""
    path = sources(tmp_path, 120)[which]
    if which == 0:
        lines = path.read_text().splitlines(keepends=True)
        path.write_text("".join([*lines[:40], "bad\n", "\n", *lines[40:]]))
    options: dict[str, Any] = {
        "on_bad": "skip",
        "encoding": "utf-16" if path.name == "b.csv" else "utf-8",
    }
    with open_table(path, resumable=True, block_size=1500, **options) as table:
        batches = list(table.batches())
    last = batches[-1].position
    for batch in batches:
        for row in batch.numbers.tolist():
            position = batch.position_at(row)
            assert position.row == row
            with open_table(path, position=position, block_size=1 << 20, **options) as table:
                rest = list(table.batches())
            assert [number for more in rest for number in more.numbers] == [
                number for more in batches for number in more.numbers if number > row
            ]
            assert not rest or rest[-1].position == last


@pytest.mark.parametrize("which", range(6))
@pytest.mark.parametrize("row", [1, 12, 100, 471, 499])
def test_any_change_is_refused_with_the_first_row_that_may_differ(
    which: int, row: int, tmp_path: Path
) -> None:
    path = sources(tmp_path, 500)[which]
    options: dict[str, Any] = {"encoding": "utf-16" if path.name == "b.csv" else "utf-8"}
    with open_table(path, resumable=True, block_size=1500, **options) as table:
        last = list(table.batches())[-1].position
    if path.suffix == ".parquet":
        table = pq.read_table(path)
        values = table["y"].to_pylist()
        values[row - 1] = 777
        pq.write_table(table.set_column(2, "y", pa.array(values)), path)
    else:
        name = path.name
        text = {
            ".gz": lambda data: gzip.decompress(data).decode(),
            ".zst": lambda data: io.TextIOWrapper(
                pa.CompressedInputStream(io.BytesIO(data), "zstd")
            ).read(),
        }.get(path.suffix, lambda data: data.decode(options["encoding"]))(path.read_bytes())
        before, after = (
            (f'"y": {row - 1}}}', '"y": 777}')
            if name.endswith("ndjson")
            else (f'\n",{row - 1}\n', '\n",777\n')
        )
        assert text.count(before) == 1
        path = written(
            tmp_path,
            f"changed{path.suffixes[0]}",
            text.replace(before, after).encode(options["encoding"]),
        )
    with pytest.raises(
        TableError, match=r"begins differently|is the first that may differ, and 500 rows were read"
    ) as error:
        rows(path, position=last, **options)
    if row > 12:
        first = int(str(error.value).split("row ")[1].split(" is the first")[0])
        assert row - row // 8 <= first <= row


def test_a_table_that_is_not_resumable_has_no_positions(tmp_path: Path) -> None:
    for path in sources(tmp_path, 50):
        with open_table(path, encoding="utf-16" if path.name == "b.csv" else "utf-8") as table:
            (batch,) = table.batches()
        with pytest.raises(ValueError, match="resumable=True"):
            batch.position_at(3)
        with pytest.raises(ValueError, match="resumable=True"):
            open_table(path, position=batch.position)
