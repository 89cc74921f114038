"""Files that cannot be used, each with the essence of what is said: which file, where in it, and
what to do.
"""

from __future__ import annotations

import gzip
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from swordplay.tables import TableError, open_table


class Bad(NamedTuple):
    """A file, how it is opened, and words that the message must have."""

    file: str
    content: bytes
    says: tuple[str, ...]
    options: dict[str, Any] = {}  # because nobody writes into it  # noqa: RUF012


ROWS = b"x,y\n1,2\n3,4\n"


def parquet(**columns: Any) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(columns), sink)
    return sink.getvalue().to_pybytes()


WHOLE = parquet(x=[float(i) for i in range(500)], y=[0.5] * 500)
PACKED = gzip.compress(
    b"x,y\n" + b"".join(b"%d,%d\n" % (i * 7919 % 1000, i) for i in range(5000)), mtime=0
)
ZSTD = pa.compress(ROWS * 50, codec="zstd", asbytes=True)

BAD = {
    # the whole file
    "empty": Bad("e.csv", b"", ("e.csv is empty", "header and rows")),
    "only spaces": Bad("e.csv", b" \r\n\n  ", ("e.csv is empty",)),
    "only a byte-order mark": Bad("e.csv", b"\xef\xbb\xbf", ("e.csv is empty",)),
    "empty gzip": Bad("e.csv.gz", gzip.compress(b"", mtime=0), ("e.csv.gz is empty",)),
    "header only": Bad("h.csv", b"x,y\n", ("h.csv has a header (x, y) and no rows",)),
    "header only, unterminated": Bad("h.csv", b"x,y", ("h.csv has a header (x, y) and no rows",)),
    "one line without names": Bad("h.csv", b"junk\n", ("no column 'y'", "There are: junk")),
    "empty NDJSON": Bad("e.ndjson", b"\n\n", ("e.ndjson is empty",)),
    "zip": Bad(
        "a.csv",
        b"PK\x03\x04aaaa",
        ("a.csv is a zip archive or an Excel workbook", "save the sheet as CSV"),
    ),
    "bzip2": Bad("a.csv", b"BZh91AY", ("compressed with bzip2", "bunzip2")),
    "xz": Bad("a.csv", b"\xfd7zXZ\x00", ("compressed with xz", "unxz")),
    "feather": Bad("a.csv", b"ARROW1\0\0", ("an Arrow (Feather) file", "Parquet")),
    "HDF5": Bad("a.h5", b"\x89HDF\r\n\x1a\n", ("an HDF5 file",)),
    "SQLite": Bad("a.db", b"SQLite format 3\0", ("an SQLite database", "Export")),
    "PDF": Bad("a.pdf", b"%PDF-1.7", ("a PDF document",)),
    "zero bytes": Bad("a.csv", b"x,y\n1,\0\0\0\n", ("a.csv is not text", "zero bytes")),
    "UTF-16": Bad("u.csv", "x,y\n1,2\n".encode("utf-16"), ("u.csv is UTF-16", "--encoding utf-16")),
    "unknown encoding": Bad(
        "u.csv", ROWS, ("encoding 'klingon' is unknown", "latin-1"), {"encoding": "klingon"}
    ),
    "codec that is no encoding": Bad(
        "u.csv", ROWS, ("encoding 'hex' is unknown",), {"encoding": "hex"}
    ),
    "not the encoding given": Bad(
        "u.csv", b"x,y\n1,\xff\n", ("u.csv is not ascii", "--encoding"), {"encoding": "ascii"}
    ),
    "gzip cut short": Bad("g.csv.gz", PACKED[:9000], ("g.csv.gz is cut short", "Fetch it again")),
    "gzip cut at its checksum": Bad("g.csv.gz", PACKED[:-4], ("g.csv.gz is cut short",)),
    "gzip damaged": Bad(
        "g.csv.gz", PACKED[:5000] + b"\xaa" * 50 + PACKED[5050:], ("g.csv.gz is damaged",)
    ),
    "gzip with rubbish behind": Bad("g.csv.gz", PACKED + b"rubbish", ("g.csv.gz is damaged",)),
    "zstd cut short": Bad("z.csv.zst", ZSTD[:-3], ("z.csv.zst is cut short",)),
    # names
    "no such column": Bad(
        "n.csv",
        b"x,price\n1,2\n",
        ("n.csv has no column 'prize'", "Did you mean 'price'?"),
        {"target": "prize"},
    ),
    "column in other case": Bad(
        "n.csv",
        b"x,Price\n1,2\n",
        ("no column 'price'", "Did you mean 'Price'?"),
        {"target": "price"},
    ),
    "nothing like it": Bad("n.csv", b"x,price\n1,2\n", ("no column 'y'", "There are: x, price")),
    "no such column to drop": Bad(
        "n.csv", ROWS, ("no column 'z'", "There are: x, y"), {"drop": ["z"]}
    ),
    "two of a name": Bad(
        "n.csv", b"x,a,x,y\n1,2,3,4\n", ("n.csv: columns 1 and 3 are both called 'x'", "Rename")
    ),
    "header not UTF-8": Bad(
        "n.csv", b"pr\xe9nom,y\n1,2\n", ("n.csv, line 1", "0xe9", "--encoding latin-1")
    ),
    "header never closed": Bad(
        "n.csv", b'"x,y\n' + b"1,2\n" * 99, ("n.csv, line 1", "a quote is opened", "never closed")
    ),
    # rows of CSV
    "too few fields": Bad(
        "r.csv",
        b"x,y\n1,2\n3\n4,5\n",
        ("r.csv, line 3 (row 2)", "'3' has 1 field where the header has 2", "--on-bad skip"),
    ),
    "too many fields": Bad(
        "r.csv",
        b"x,y\n1,2\n3,4,5\n",
        ("r.csv, line 3 (row 2)", "has 3 fields where the header has 2"),
    ),
    "all rows ragged": Bad(
        "r.csv", b"x,y\n1,2,3\n4,5,6\n", ("r.csv, line 2 (row 1)", "has 3 fields")
    ),
    "decimal comma between commas": Bad(
        "r.csv", b"x,y\n1,5,2\n", ("r.csv, line 2", "has 3 fields")
    ),
    "blank before": Bad("r.csv", b"\n\nx,y\n\n1,2\n\n3\n", ("r.csv, line 7 (row 2)",)),
    "text among numbers": Bad(
        "t.csv",
        b"x,y\n1,2\n2,3\nabc,4\n",
        ("t.csv, line 4 (row 3), column 'x': 'abc' is not a finite number",),
    ),
    "inf": Bad(
        "t.csv",
        b"x,y\n1,2\ninf,3\n2,4\n",
        ("t.csv, line 3 (row 2), column 'x': 'inf' is not a finite number",),
    ),
    "-Infinity": Bad(
        "t.csv",
        b"x,y\n1,2\n1,-Infinity\n2,4\n",
        ("line 3 (row 2), column 'y': '-Infinity' is not a finite number",),
    ),
    "1e999": Bad(
        "t.csv",
        b"x,y\n1,2\n1e999,3\n2,4\n",
        ("line 3 (row 2), column 'x': '1e999' is not a finite number",),
    ),
    "1_000": Bad(
        "t.csv", b"x,y\n1,2\n1_000,3\n2,4\n", ("column 'x': '1_000' is not a finite number",)
    ),
    "not a truth": Bad(
        "t.csv",
        b"x,y\ntrue,2\nfalse,3\nmaybe,4\n",
        ("line 4 (row 3), column 'x': 'maybe' is not true or false",),
    ),
    "not a date": Bad(
        "t.csv",
        b"x,y\n2024-01-01,2\n2024-02-30,3\n2024-01-03,4\n",
        ("line 3", "'2024-02-30' is not a date", "2024-05-17"),
    ),
    "date without its zone": Bad(
        "t.csv",
        b"x,y\n2024-01-01T00:00Z,2\n2024-01-01T01:00Z,3\n2024-01-01T02:00,4\n",
        ("line 4", "column 'x'", "is not a date"),
    ),
    "after a field of two lines": Bad(
        "t.csv", b'x,y\n"a\nb",2\n"c\nd",3\n"e",x\n', ("t.csv, line 6 (row 3), column 'y': 'x'",)
    ),
    "after carriage returns": Bad(
        "t.csv", b"x,y\r1,2\r3,4\r5,x\r", ("t.csv, line 4 (row 3), column 'y': 'x'",)
    ),
    "after CRLF": Bad(
        "t.csv", b"x,y\r\n1,2\r\n3,4\r\n5,x\r\n", ("t.csv, line 4 (row 3), column 'y': 'x'",)
    ),
    "not UTF-8": Bad(
        "t.csv",
        b"x,y\nab,2\ncaf\xe9,3\n",
        ("t.csv, line 3 (row 2)", "not UTF-8 at byte 4", "0xe9", "--encoding latin-1"),
    ),
    "quote never closed": Bad(
        "q.csv", b'x,y\na,2\n"b,3\nc,4\n', ("q.csv, line 3", "a quote is opened", "never closed")
    ),
    "first quote never closed": Bad(
        "q.csv", b'x,y\n"b,3\nc,4\n', ("q.csv, line 2", "never closed")
    ),
    "semicolons": Bad(
        "s.csv",
        b"x;y\n1,5;2\nabc;3\n2,5;1\n",
        ("s.csv, line 3 (row 2), column 'x': 'abc' is not a finite number",),
    ),
    # NDJSON
    "broken line": Bad(
        "b.ndjson",
        b'{"x": 1, "y": 2}\n{"x": 1, "y"\n',
        ("b.ndjson, line 2 (row 2)", "is not JSON (at character 13)"),
    ),
    "first line broken": Bad("b.ndjson", b"{x: 1}\n", ("b.ndjson, line 1 (row 1)", "is not JSON")),
    "array": Bad(
        "b.json", b'[{"y": 1}]\n', ("b.json is JSON, but not one object a line", "jq -c '.[]'")
    ),
    "null": Bad("b.ndjson", b"null\n", ("b.ndjson, line 1", "'null' is not an object")),
    "null among objects": Bad(
        "b.ndjson", b'{"y": 1}\nnull\n', ("b.ndjson, line 2", "'null' is not an object")
    ),
    "two objects a line": Bad(
        "b.ndjson", b'{"y": 1}\n{"y": 1} {"y": 2}\n', ("b.ndjson, line 2 (row 2)", "is not JSON")
    ),
    "pretty-printed": Bad(
        "b.json", b'{\n  "y": 1\n}\n', ("b.json is JSON, but not one object a line", "jq -c .")
    ),
    "key twice": Bad(
        "b.ndjson", b'{"y": 1}\n{"y": 1, "y": 2}\n', ("b.ndjson, line 2 (row 2)", "twice")
    ),
    "nested target": Bad(
        "b.ndjson",
        b'{"x": 1, "y": {"a": 1}}\n',
        ("column 'y' holds nested values", '{"a": 1}', "--target"),
    ),
    "nested column asked for": Bad(
        "b.ndjson",
        b'{"x": [1, 2], "y": 1}\n',
        ("column 'x' holds nested values", "--drop x"),
        {"keep": ["x"]},
    ),
    "list among numbers": Bad(
        "b.ndjson",
        b'{"y": 1}\n{"y": 2}\n{"y": [3]}\n',
        ("line 3 (row 3), column 'y': '[3]' is not a finite number",),
    ),
    "string among numbers": Bad(
        "b.ndjson",
        b'{"y": 1}\n{"y": 2}\n{"y": "3"}\n',
        ("""line 3 (row 3), column 'y': '"3"' is not a finite""",),
    ),
    "Infinity": Bad(
        "b.ndjson",
        b'{"y": 1}\n{"y": Infinity}\n',
        ("line 2 (row 2), column 'y': 'Infinity' is not a finite number",),
    ),
    "number too big": Bad(
        "b.ndjson", b'{"y": 1}\n{"y": 1e999}\n', ("line 2 (row 2)", "column 'y'")
    ),
    "truth among words": Bad(
        "b.ndjson",
        b'{"y": "a"}\n{"y": "b"}\n{"y": true}\n',
        ("line 3 (row 3), column 'y': 'true' is not a word",),
    ),
    "half a surrogate": Bad(
        "b.ndjson", b'{"y": "a"}\n{"y": "\\ud800"}\n', ("b.ndjson, line 2 (row 2)", "surrogate")
    ),
    "NDJSON not UTF-8": Bad(
        "b.ndjson",
        b'{"y": "a"}\n{"y": "\xe9"}\n',
        ("b.ndjson, line 2 (row 2)", "not UTF-8", "--encoding latin-1"),
    ),
    "no such key": Bad(
        "b.ndjson", b'{"x": 1, "yy": 2}\n', ("b.ndjson has no column 'y'", "There are: x, yy")
    ),
    # Parquet
    "Parquet cut short": Bad(
        "p.parquet",
        WHOLE[:-100],
        ("p.parquet is not a whole Parquet file", "Fetch or write it again"),
    ),
    "four bytes of Parquet": Bad("p.parquet", b"PAR1", ("p.parquet is not a whole Parquet file",)),
    "Parquet by name only": Bad("p.parquet", ROWS, ("p.parquet is not a Parquet file", "--format")),
    "Parquet in gzip": Bad(
        "p.parquet.gz",
        gzip.compress(WHOLE, mtime=0),
        ("p.parquet.gz is Parquet packed with gzip", "Unpack it first"),
    ),
    "Parquet without rows": Bad(
        "p.parquet",
        parquet(x=pa.array([], pa.int64()), y=pa.array([], pa.int64())),
        ("columns (x, y) and no rows",),
    ),
    "Parquet without the column": Bad(
        "p.parquet", parquet(x=[1.0], yy=[2.0]), ("p.parquet has no column 'y'", "There are: x, yy")
    ),
    "Parquet with lists to predict": Bad(
        "p.parquet",
        parquet(x=[2.0], y=[[1.0]]),
        ("column 'y' holds values of type list", "--target"),
    ),
    "Parquet with bytes asked for": Bad(
        "p.parquet",
        parquet(x=[b"a"], y=[2.0]),
        ("column 'x' holds values of type binary", "--drop x"),
        {"keep": ["x"]},
    ),
    "infinity in Parquet": Bad(
        "p.parquet",
        parquet(x=[1.0, float("inf")], y=[1.0, 2.0]),
        ("p.parquet (row 2), column 'x': 'inf' is not a",),
    ),
    "damage within Parquet": Bad(
        "p.parquet", WHOLE[:40] + b"\xee" * 1500 + WHOLE[1540:], ("p.parquet is damaged", "row 1")
    ),
}


def everything(path: Path | str, **options: Any) -> list[dict[str, Any]]:
    with open_table(path, **options) as table:
        return [row for batch in table.batches() for row in batch.rows.to_pylist()]


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD)
def test_the_message_says_where_and_what_to_do(bad: Bad, tmp_path: Path) -> None:
    path = tmp_path / bad.file
    path.write_bytes(bad.content)
    with pytest.raises(TableError) as caught:
        everything(path, **bad.options)
    message = str(caught.value)
    for words in bad.says:
        assert words in message
    assert message.count("\n") <= 1
    assert all(len(line) < 400 for line in message.splitlines())
    assert bad.file in message or "encoding" in message


@pytest.mark.parametrize("block_size", [1, 7, 64])
@pytest.mark.parametrize("name", [name for name, bad in BAD.items() if "(row " in str(bad.says)])
def test_the_place_does_not_depend_on_blocks(name: str, block_size: int, tmp_path: Path) -> None:
    path = tmp_path / BAD[name].file
    path.write_bytes(BAD[name].content)
    messages = []
    for size in (block_size, 1 << 22):
        with pytest.raises(TableError) as caught:
            everything(path, block_size=size, **BAD[name].options)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]


SKIPPED = {
    "too few fields": [1, 3],
    "too many fields": [1],
    "text among numbers": [1, 2],
    "1e999": [1, 3],
    "not a truth": [1, 2],
    "not a date": [1, 3],
    "after a field of two lines": [1, 2],
    "not UTF-8": [1],
    "broken line": [1],
    "null among objects": [1],
    "two objects a line": [1],
    "key twice": [1],
    "list among numbers": [1, 2],
    "Infinity": [1],
    "half a surrogate": [1],
    "NDJSON not UTF-8": [1],
    "infinity in Parquet": [1],
}


@pytest.mark.parametrize("block_size", [1, 9, 1 << 22])
@pytest.mark.parametrize("name", SKIPPED)
def test_bad_rows_are_left_out_and_told(name: str, block_size: int, tmp_path: Path) -> None:
    path = tmp_path / BAD[name].file
    path.write_bytes(BAD[name].content)
    with open_table(path, on_bad="skip", block_size=block_size) as table:
        batches = list(table.batches())
    assert [number for batch in batches for number in batch.numbers] == SKIPPED[name]
    assert sum(len(batch.rows) for batch in batches) == len(SKIPPED[name])
    refusals = [refusal for batch in batches for refusal in batch.refusals]
    (refusal,) = refusals
    with pytest.raises(TableError) as caught:
        everything(path)
    assert f"(row {refusal.row})" in str(caught.value)
    assert refusal.line is None or f", line {refusal.line} " in str(caught.value)
    assert f"'{refusal.value}' {refusal.reason}." in str(caught.value)
    assert batches[-1].position.refused == table.refused == 1


def test_rows_before_the_bad_one_are_handed_out_first(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b"x,y\n1,2\n\n3,4\nx,5\n6,7\n")
    seen = []
    with open_table(path, resumable=True) as table, pytest.raises(TableError, match="line 5"):
        seen.extend(batch for batch in table.batches())
    assert [row["x"] for batch in seen for row in batch.rows.to_pylist()] == [1.0, 3.0]
    path.write_bytes(path.read_bytes().replace(b"x,5", b"9,5"))
    with open_table(
        path, position=seen[-1].position
    ) as table:  # going on after the correction loses and doubles nothing
        assert [row["x"] for batch in table.batches() for row in batch.rows.to_pylist()] == [
            9.0,
            6.0,
        ]


def test_missing_file_suggests_a_neighbour(tmp_path: Path) -> None:
    (tmp_path / "electricity.csv").write_bytes(ROWS)
    with pytest.raises(
        TableError,
        match=re.escape("elektricity.csv: there is no such file. Did you mean 'electricity.csv'?"),
    ):
        open_table(tmp_path / "elektricity.csv")
    with pytest.raises(TableError, match=r"there is no such file\. Check the path"):
        open_table(tmp_path / "nope.csv")  # the ending alone makes no neighbour
    with pytest.raises(TableError, match=r"there is no such file\. Check the path"):
        open_table(tmp_path / "nowhere" / "a.csv")


def test_folder(tmp_path: Path) -> None:
    with pytest.raises(TableError, match=r"is a folder\. Give the path of one file"):
        open_table(tmp_path)


@pytest.fixture
def as_somebody() -> Any:
    """Without the rights of root, which has all of them."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def locked(tmp_path: Path) -> Path:
    path = tmp_path / "secret.csv"
    path.write_bytes(ROWS)
    path.chmod(0)
    return path


def test_permission_denied(locked: Path, as_somebody: Callable[[], None]) -> None:
    with pytest.raises(TableError, match=r"secret\.csv: permission denied.*chmod"):
        open_table(locked)


def test_parquet_from_a_pipe(tmp_path: Path) -> None:
    read, write = os.pipe()
    os.write(write, WHOLE)
    os.close(write)
    keep = os.dup(0)
    os.dup2(read, 0)
    try:
        with pytest.raises(TableError, match=r"standard input: Parquet cannot be read from a pipe"):
            open_table("-")
    finally:
        os.dup2(keep, 0)
        os.close(keep)
        os.close(read)


@pytest.mark.parametrize("wrong", [{"on_bad": "ignore"}, {"format": "xlsx"}])
def test_arguments(wrong: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(ROWS)
    with pytest.raises(ValueError, match=next(iter(wrong))):
        open_table(tmp_path / "a.csv", **wrong)
