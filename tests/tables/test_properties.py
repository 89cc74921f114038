"""Whatever is written is read back, whatever the blocks, and from wherever one goes on."""

from __future__ import annotations

import csv
import io
import json
import math
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from swordplay.tables import Batch, TableError, open_table
from swordplay.tables.csv_scan import scan
from swordplay.tables.records import boundaries, count_lines, newlines

TRICKY = st.sampled_from("\",;|\t\n\r '\\aé語😀\u2028\ufeff1.-e")
TEXT = st.text(
    TRICKY | st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8
)
NAMES = st.lists(
    TEXT.map(lambda text: "".join(c for c in text if c not in ",;|\t").strip())
    .filter(bool)
    .map(lambda text: "n" + text),
    min_size=1,
    max_size=5,
    unique=True,
)
WORDS = TEXT.map(lambda text: "~" + text) | st.just(
    ""
)  # a tilde, so that no word is taken for a number or for missing
NUMBERS = (st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(10**20), 10**20)).map(
    repr
) | st.just("")
BLOCKS = st.integers(1, 64) | st.sampled_from([1024, 1 << 22])


@st.composite
def csv_files(draw: st.DrawFn) -> tuple[bytes, list[dict[str, Any]]]:
    """A file as Python writes it, and its rows as they have to come back."""
    names = draw(NAMES)
    kinds = [draw(st.sampled_from([WORDS, NUMBERS])) for _ in names]
    cells = draw(st.lists(st.tuples(*kinds), min_size=1, max_size=12))
    text = io.StringIO(newline="")
    delimiter = draw(
        st.sampled_from(",;\t|" if len(names) > 1 else ",")
    )  # one column shows nothing of its delimiter
    ending = draw(st.sampled_from(["\n", "\r\n", "\r"]))
    # Python leaves newlines unquoted that are not its line terminator.
    letters = set("".join([*names, *(cell for row in cells for cell in row)]))
    safe = ending == "\r\n" or not letters & ({"\r", "\n"} - {ending})
    quoting = csv.QUOTE_MINIMAL if safe and draw(st.booleans()) else csv.QUOTE_ALL
    csv.writer(text, delimiter=delimiter, lineterminator=ending, quoting=quoting).writerows(
        [names, *cells]
    )
    content = draw(st.sampled_from([b"", b"\xef\xbb\xbf"])) + text.getvalue().encode()
    meant = [dict(zip(names, map(value, row, kinds), strict=True)) for row in cells]
    return content[: len(content) - len(ending) * draw(st.booleans())], meant


def value(text: str, kind: Any) -> str | float | None:
    return None if text == "" else text if kind is WORDS else float(text)


def read(content: bytes, name: str = "a.csv", **options: Any) -> list[Batch]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, name)
        path.write_bytes(content)
        with open_table(path, target=None, **options) as table:
            return list(table.batches())


def rows(batches: list[Batch]) -> list[dict[str, Any]]:
    return [row for batch in batches for row in batch.rows.to_pylist()]


@given(csv_files(), BLOCKS)
def test_csv_is_read_back(file: tuple[bytes, list[dict[str, Any]]], block_size: int) -> None:
    content, meant = file
    batches = read(content, block_size=block_size)
    assert [list(row.values()) for row in rows(batches)] == [list(row.values()) for row in meant]
    assert list(rows(batches)[0]) == list(meant[0])
    assert [number for batch in batches for number in batch.numbers] == list(
        range(1, len(meant) + 1)
    )
    assert batches[-1].position.offset == len(content)
    assert batches[-1].position.line == len(newlines(content)) + (
        not content.endswith((b"\n", b"\r"))
    )


@given(csv_files(), BLOCKS, BLOCKS, st.randoms(use_true_random=False))
def test_csv_goes_on_from_any_position(file: Any, first: int, second: int, random: Any) -> None:
    content, meant = file
    batch = random.choice(read(content, block_size=first, resumable=True))
    done = int(batch.numbers[-1])
    rest = read(content, block_size=second, position=batch.position)
    assert [list(row.values()) for row in rows(rest)] == [
        list(row.values()) for row in meant[done:]
    ]


JSON_VALUES = (
    st.none() | st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**60), 2**60)
)
JSON_ROWS = st.fixed_dictionaries(
    {
        "n": JSON_VALUES,
        "w": st.none() | TEXT.map(lambda text: "~" + text),
        "t": st.none() | st.booleans(),
    }
)


@given(
    st.lists(JSON_ROWS, min_size=1, max_size=12),
    st.booleans(),
    st.sampled_from(["\n", "\r\n", "\n\n"]),
    BLOCKS,
    st.data(),
)
def test_ndjson_is_read_back(
    table: list[dict[str, Any]], ascii_only: bool, ending: str, block_size: int, data: st.DataObject
) -> None:
    content = "".join(json.dumps(row, ensure_ascii=ascii_only) + ending for row in table).encode()
    batches = read(content, "a.ndjson", block_size=block_size, resumable=True)
    for name in ("w", "t"):
        assert [row[name] for row in rows(batches)] == [row[name] for row in table]
    assert [row["n"] for row in rows(batches)] == [
        None if row["n"] is None else float(row["n"]) for row in table
    ]
    batch = data.draw(st.sampled_from(batches))
    rest = read(content, "a.ndjson", block_size=data.draw(BLOCKS), position=batch.position)
    assert rows(rest) == rows(batches)[int(batch.numbers[-1]) :]


SOUP = st.lists(
    st.sampled_from(
        [
            b'"',
            b'""',
            b",",
            b"\n",
            b"\r",
            b"\r\n",
            b"1",
            b"2,3\n",
            b"x",
            b" ",
            b"\xff",
            b"\xc3\xa9",
            b"inf",
            b";",
        ]
    ),
    max_size=40,
)


@given(SOUP.map(b"".join), BLOCKS)
def test_rubbish_is_refused_row_by_row_whatever_the_blocks(rubbish: bytes, block_size: int) -> None:
    """Good and bad rows, their numbers, lines and reasons are the same.

    Pyarrow never objects to what was found good.
    """
    content = b"a,b\n" + b"1,2\n" * 60 + rubbish  # so many that both columns are numbers
    outcomes = []
    for size in (block_size, 1 << 22):
        try:
            batches = read(content, block_size=size, on_bad="skip")
        except TableError as error:
            outcomes.append(str(error).split("a.csv")[1])
            continue
        refusals = [refusal for batch in batches for refusal in batch.refusals]
        assert not [refusal for refusal in refusals if "cannot be read" in refusal.reason]
        numbers = [int(number) for batch in batches for number in batch.numbers]
        assert sorted(numbers + [refusal.row for refusal in refusals]) == list(
            range(1, batches[-1].position.row + 1)
        )
        assert all(
            value is None or math.isfinite(value) for row in rows(batches) for value in row.values()
        )
        outcomes.append(str((rows(batches), numbers, refusals)))
    assert outcomes[0] == outcomes[1]
    assert ("never closed" in outcomes[0]) == plain_boundaries(content)[2]


GOOD_LINES = [
    b'{"a": 1, "b": "x"}',
    b'{"a": 2}',
    b"{}",
    b"",
    b"  ",
    b'{"a": NaN}',
    b'{"b": null}',
    b' {"b": "\xc3\xa9"}\r',
]
BAD_LINES = [
    b"null",
    b"[]",
    b"7",
    b'"a"',
    b'{"a"',
    b'{"a": "1"}',
    b'{"a": 1} null',
    b'{"a": 1}{"a": 2}',
    b'{"a": 1, "a": 2}',
    b'{"a": [1]}',
    b'{"c": [{"d": 1}], "a": 5}',
    b'{"b": "\\ud800"}',
    b'{"a": 1e999}',
    b'{"a": -Infinity}',
    b'{"b": 3}',
    b'{"a": 01}',
    b'{"a": true}',
    b'{"b": "\xff"}',
    b'{"b": "a\tb"}',
    b"\x0b{}",
]


@given(st.lists(st.sampled_from(GOOD_LINES + BAD_LINES), max_size=10), BLOCKS)
def test_ndjson_rubbish_is_refused_line_by_line(lines: list[bytes], block_size: int) -> None:
    content = b"\n".join([b'{"a": 1, "b": "x", "c": 0}'] * 12 + lines)
    outcomes = []
    for size in (block_size, 1 << 22):
        batches = read(content, "a.ndjson", block_size=size, on_bad="skip")
        refusals = [refusal for batch in batches for refusal in batch.refusals]
        numbers = [int(number) for batch in batches for number in batch.numbers]
        assert len(refusals) == sum(line in BAD_LINES for line in lines)
        assert len(numbers) == 12 + sum(line in GOOD_LINES and bool(line.strip()) for line in lines)
        outcomes.append((rows(batches), numbers, refusals))
    assert outcomes[0] == outcomes[1]


def plain_boundaries(text: bytes) -> tuple[list[int], list[int], bool]:
    """Records one character at a time, as a person would cut them."""
    ends, fields, commas, state, i = [], [], 0, "start", 0
    while i < len(text):
        c, after = text[i : i + 1], text[i + 1 : i + 2]
        i += 1
        if state == "quoted":
            if c == b'"' and after == b'"':
                i += 1
            elif c == b'"':
                state = "field"
        elif c in b"\r\n":
            i += c == b"\r" and after == b"\n"
            ends.append(i)
            fields.append(commas + 1)
            commas, state = 0, "start"
        elif c == b",":
            commas, state = commas + 1, "start"
        else:
            state = "quoted" if c == b'"' and state == "start" else "field"
    return ends, fields, state == "quoted"


@given(SOUP.map(b"".join))
def test_boundaries(text: bytes) -> None:
    """Compiled, uncompiled and without quotes: all are what a person would do."""
    ends, fields, quoted = boundaries(text, ",")
    assert (ends.tolist(), fields.tolist(), quoted) == plain_boundaries(text)
    room = np.empty(len(text), np.int64), np.empty(len(text), np.int64)
    count, quoted = getattr(scan, "py_func", scan)(np.frombuffer(text, np.uint8), ord(","), *room)
    assert (room[0][:count].tolist(), room[1][:count].tolist(), quoted) == plain_boundaries(text)
    assert count_lines(text) == len(newlines(text))


@pytest.mark.parametrize("skip", ["stop", "skip"])
@pytest.mark.parametrize("ending", ["\n", "\n\n"])
def test_a_whole_number_that_a_double_rounds_comes_late_in_ndjson(ending: str, skip: str) -> None:
    """Beside a column that is empty, and behind an empty line, so that lines are looked at one
    by one.
    """
    table = [{"n": None, "w": None}] * 9 + [{"n": 2**53 + 1, "w": None}, {"n": 7, "w": None}]
    content = "".join(json.dumps(row) + ending for row in table).encode()
    found = rows(read(content, "a.ndjson", block_size=2, on_bad=skip))
    assert [row["n"] for row in found[-2:]] == [2.0**53, 7.0]
