"""NDJSON: one flat object a line."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.json
from numpy.typing import NDArray

from swordplay.tables import columns, deciding, joining
from swordplay.tables.columns import Choice
from swordplay.tables.deciding import Decision
from swordplay.tables.earlier import plainly
from swordplay.tables.errors import TableError
from swordplay.tables.joining import EMPTY
from swordplay.tables.layout import Layout
from swordplay.tables.readings.reading import DATES, MARKS, MISSING, NUMBER, TRUTH, WORD
from swordplay.tables.records import newlines, pieces
from swordplay.tables.table import HEAD_ROWS
from swordplay.tables.text import bad_row, refusal
from swordplay.tables.text_format import MARK, Fault, Head, ended, is_utf8, not_utf8

BLANK = b" \t\r\n"
"""What JSON allows between values."""
KEY = re.compile(rb'"((?:[^"\\]|\\.)*)"[ \t]*:')
"""Whatever may be a key."""
NESTED = "nested"
LARGEST_DOUBLE = float(np.finfo(float).max)
KINDS: dict[type, Any] = {
    bool: TRUTH,
    int: NUMBER,
    float: NUMBER,
    str: WORD,
    list: NESTED,
    dict: NESTED,
}
"""What a JSON value is, by its type in Python."""


class Lines:
    """How an NDJSON table is written, and its blocks as rows.

    Parameters
    ----------
    layout
        Keys and types.
    grows
        Whether keys that are not in the layout join; otherwise they are passed over.
    """

    name = "ndjson"

    def __init__(self, layout: Layout, grows: bool = False) -> None:
        self.layout, self.grows = layout, grows
        self.schema = layout.schema
        self._nothing = nothing(layout.missing)
        self._unworded = [field.name for field in layout.input if field.type != WORD]
        # With keys that are left out every row holds one that pyarrow does not expect: then we look
        # for new ones ourselves.
        self._strict = grows and None not in layout.types
        behaviour = "error" if self._strict else "ignore"
        self._parsing = pyarrow.json.ParseOptions(
            explicit_schema=layout.input, unexpected_field_behavior=behaviour
        )
        self._keys = {
            json.dumps(name, ensure_ascii=ascii)[1:-1].encode()
            for name in layout.names
            for ascii in (True, False)
        }

    def describe(self) -> str:
        """The layout, for a position."""
        return self.layout.text(**({"grows": "yes"} if self.grows else {}))

    @classmethod
    def described(cls, text: str) -> Lines:
        """The way back from :meth:`describe`."""
        layout, details = Layout.read(text)
        return cls(layout, "grows" in details)

    def cut(self, block: bytes) -> int:
        """End of the last complete line; 0 where there is none."""
        return block.rfind(b"\n") + 1

    def unclosed(self, block: bytes) -> bool:
        """Never: a newline always ends a record."""
        return False

    def split(self, block: bytes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Starts and ends of the lines that are not empty, without what they are indented by."""
        ends = np.flatnonzero(np.frombuffer(block, np.uint8) == ord("\n")) + 1
        return pieces(block, ends, BLANK)

    def parse(self, block: bytes) -> pa.RecordBatch:
        """Complete lines as rows.

        ``ArrowInvalid`` if one of them is bad, and also if one is empty or indented.
        """
        if not block:
            return pa.RecordBatch.from_pylist([], self.schema)
        try:
            rows = self._read(block)
        except pa.ArrowInvalid:
            rows = self._read(self._without_marks(block))
        if self.layout.missing:
            rows = pa.RecordBatch.from_arrays(
                list(map(self.layout.known, rows.columns)), schema=rows.schema
            )
        rows, bad = self.layout.converted(rows)
        if bad:
            raise pa.ArrowInvalid(f"values of {', '.join(bad)} do not fit")
        return rows

    def _read(self, block: bytes) -> pa.RecordBatch:
        """Complete lines as they are stored."""
        # pyarrow takes objects wherever they begin, crashes on a leading null and does not look at
        # the encoding.
        lines = block.count(b"\n")
        if block.count(b"\n{") + block.startswith(b"{") != lines or not (
            block.isascii() or is_utf8(block)
        ):
            raise pa.ArrowInvalid("not one object a line")
        reading = pyarrow.json.ReadOptions(use_threads=False, block_size=len(block) + 1)
        table = pyarrow.json.read_json(pa.BufferReader(block), reading, self._parsing)
        if len(table) != lines:
            raise pa.ArrowInvalid("not one object a line")
        return columns.finite(table.combine_chunks().to_batches()[0])

    def _without_marks(self, block: bytes) -> bytes:
        """The same lines with null for strings such as ``"-"`` or ``"NA"`` that stand for
        nothing beside all but words.
        """
        if not is_utf8(block):
            return block
        return b"".join(map(self._without_marks_in, block.splitlines(keepends=True)))

    def _without_marks_in(self, line: bytes) -> bytes:
        try:
            row = json.loads(line, object_pairs_hook=_no_key_twice)
        except (ValueError, RecursionError):
            return line
        marked = [
            name
            for name in self._unworded
            if isinstance(row, dict) and self._is_nothing(row.get(name))
        ]
        return json.dumps(row | dict.fromkeys(marked)).encode() + b"\n" if marked else line

    def _is_nothing(self, value: Any) -> bool:
        return isinstance(value, str) and value.strip() in self._nothing

    def faults(self, records: list[bytes]) -> dict[int, Fault]:
        """What is wrong with which line, by number."""
        found = not_utf8(records)
        rows: dict[int, dict[str, Any]] = {}
        for i, record in enumerate(records):
            if i not in found:
                row = _object(record)
                if isinstance(row, Fault):
                    found[i] = row
                else:
                    rows[i] = row
        for field in self.schema:
            if field.type != EMPTY:
                found = self._misfits(field, rows) | found
        return found

    def overlooks(self, block: bytes) -> bool:
        """Whether lines hold keys that are not in the layout, and :meth:`parse` passes over
        them.
        """
        if not self.grows or self._strict or self._keys.issuperset(KEY.findall(block)):
            return False
        names = set(self.layout.names)
        rows = (_object(line) for line in block.split(b"\n") if line.strip(BLANK) and is_utf8(line))
        return any(isinstance(row, dict) and not names.issuperset(row) for row in rows)

    def joined(self, records: list[bytes]) -> Lines | None:
        """The format with the keys that have their first value in these lines, which must be good.

        None if there are none.
        """
        known = dict(zip(self.layout.names, self.layout.types, strict=True))
        done = {name for name, kind in known.items() if kind != EMPTY}
        rows = [row for row in map(_object, records) if isinstance(row, dict)]
        news = [{name: value for name, value in row.items() if name not in done} for row in rows]
        kinds: dict[str, pa.DataType | None] = {
            name: EMPTY for row in news for name in row if name not in known
        }
        kinds |= joining.joined(
            ({n: v for n, v in row.items() if v is not None} for row in news), _kind_of, _fits
        )
        return Lines(self.layout.joined(kinds), self.grows) if kinds else None

    def _misfits(self, field: pa.Field, rows: dict[int, dict[str, Any]]) -> dict[int, Fault]:
        """Rows whose value is not of the column's type."""
        reading = self.layout.readings.get(field.name)
        plain = WORD if field.type in DATES else field.type
        stored = plain if reading is None else self.layout.stored[field.name]
        found, words, others = {}, {}, {}
        reason = f"is not {columns.meaning(field.type) if reading is None else reading.expected}"
        for i, row in rows.items():
            value = row.get(field.name)
            if value is None or (field.name in self._unworded and self._is_nothing(value)):
                continue
            if KINDS[type(value)] != stored or (stored == NUMBER and abs(value) > LARGEST_DOUBLE):
                found[i] = Fault(field.name, json.dumps(value, ensure_ascii=False), reason)
            elif stored is WORD:
                words[i] = value
            else:
                others[i] = value
        if reading is None and stored is not WORD:
            return found
        plainly = (
            map(float, others.values()) if stored == NUMBER else others.values()
        )  # rounded, if they are long
        values = (
            self.layout.known(pa.array(words.values(), WORD))
            if stored is WORD
            else pa.array(plainly, stored)
        )
        bad = (
            columns.misfits(values, field.type) if reading is None else reading.convert(values).bad
        )
        texts = words if stored is WORD else others
        return found | {
            i: Fault(field.name, str(texts[i]), reason)
            for i, wrong in zip(texts, bad, strict=True)
            if wrong
        }


def recognise(head: Head, choice: Choice) -> Lines:
    """Columns and types of a file, from its head."""
    mark = len(MARK) * head.data.startswith(MARK)
    body = head.data[mark:]
    body = ended(body) if head.ended else body
    starts, ends = Lines(Layout((), ())).split(body)
    records = [body[a:b] for a, b in zip(starts[:HEAD_ROWS], ends[:HEAD_ROWS], strict=True)]
    if not records:
        raise TableError(f"{head.name} holds no rows. Give a file with data.")
    found = not_utf8(records)
    readings = [found.get(i) or _object(record) for i, record in enumerate(records)]
    rows = [reading for reading in readings if isinstance(reading, dict)]
    if not rows and (records[0].startswith(b"[") or records[0].strip(BLANK) == b"{"):
        raise TableError(
            f"{head.name} is JSON, but not one object a line. Turn it into lines with jq -c . or "
            "jq -c '.[]'."
        )
    if not rows:
        line = 1 + len(newlines(body[: starts[0]]))
        raise bad_row(
            head.name,
            refusal(1, line, next(reading for reading in readings if isinstance(reading, Fault))),
        )
    names = tuple(dict.fromkeys([*(name for row in rows for name in row), *choice.expected]))
    columns.require(head.name, names, choice)
    decisions = {
        name: _decided(head, name, [row.get(name) for row in rows], choice) for name in names
    }
    stored = {name: kind for name, (_, kind) in decisions.items() if kind is not None}
    layout = deciding.layout(
        head.name, names, [one for one, _ in decisions.values()], choice, head.remarks, stored
    )
    head.take(mark, 0)
    return Lines(layout, grows=choice.keep is None and choice.others)


def _kind_of(value: Any) -> pa.DataType | None:
    """What a key becomes with this first value; None if that cannot be used."""
    kind = KINDS[type(value)]
    return (
        None if kind == NESTED else columns.vote(pa.array([value]), DATES) if kind == WORD else kind
    )


def _fits(value: Any, kind: pa.DataType) -> bool:
    """Whether a later value does."""
    if KINDS[type(value)] == WORD and kind in DATES:
        return joining.text_fits(value, kind)
    return bool(KINDS[type(value)] == kind)


def complete(head: bytes) -> bool:
    """Whether a head has at least one line."""
    return b"\n" in head.lstrip()


def _decided(
    head: Head, name: str, values: list[Any], choice: Choice
) -> tuple[Decision, pa.DataType | None]:
    """What is made of a key, by what most of its values are; and what these are."""
    if choice.leaves_out(name):
        return deciding.LEFT_OUT, None
    telling = [
        value
        for value in values
        if not isinstance(value, str) or value.strip() not in nothing(choice.missing)
    ]
    kinds = Counter(KINDS[type(value)] for value in telling if value is not None)
    kinds = kinds or Counter(KINDS[type(value)] for value in values if value is not None)
    if not kinds and name in choice.before:
        return deciding.unseen(choice.before[name])
    if not kinds:
        head.remarks.append(columns.empty(name))
        return Decision(EMPTY), None
    kind = kinds.most_common(1)[0][0]
    known = [value for value in values if KINDS.get(type(value)) == kind]
    if kind == NESTED:
        example = json.dumps(known[0])
        return deciding.nested(name, f"nested values such as {shown_json(example)}", choice), None
    if kind == WORD:
        texts = Layout((), (), missing=choice.missing).known(pa.array(known, WORD))
        return _of_texts(name, texts, choice), WORD
    if kind == TRUTH:
        return deciding.of_others_stored(name, pa.array(known, TRUTH), TRUTH, choice), TRUTH
    if any(type(value) is int and abs(value) >= columns.LARGEST_EXACT for value in known):
        head.remarks.append(columns.rounded(name))
    # A whole number may be larger than a double; its row is refused when it is read.
    numbers = [
        float(max(-LARGEST_DOUBLE, min(one, LARGEST_DOUBLE))) if type(one) is int else one
        for one in known
    ]
    return deciding.of_numbers_stored(name, pa.array(numbers, NUMBER), choice), NUMBER


def _of_texts(name: str, texts: pa.Array, choice: Choice) -> Decision:
    """Strings; of those that are written plainly, pyarrow reads only dates."""
    made = deciding.of_texts(name, texts, choice)
    if made.type in (None, WORD, *DATES) or made.reading is not None:
        return made
    return made._replace(reading=plainly(made.type, "."))


def shown_json(text: str, limit: int = 60) -> str:
    """JSON, shortened."""
    return text if len(text) <= limit else text[: limit - 3] + "..."


def _object(record: bytes) -> dict[str, Any] | Fault:
    """The object of a line, or why it is none."""
    text = record.decode().strip(BLANK.decode())
    try:
        row = json.loads(text)
        if "\\u" in text:
            json.dumps(row, ensure_ascii=False).encode()  # half a surrogate pair is no character
    except UnicodeEncodeError:
        return Fault(None, text, "holds half of a surrogate pair")
    except (ValueError, RecursionError) as error:
        where = f" (at character {error.colno})" if isinstance(error, json.JSONDecodeError) else ""
        return Fault(None, text, f"is not JSON{where}")
    return (
        row
        if isinstance(row, dict)
        else Fault(None, text, 'is not an object such as {"x": 1, "y": 2}')
    )


def _no_key_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object; one that says something twice is none."""
    row = dict(pairs)
    if len(row) < len(pairs):
        raise ValueError("a key appears twice")
    return row


def nothing(missing: tuple[str, ...]) -> frozenset[str]:
    """Strings that stand for nothing beside numbers, truths and dates."""
    return frozenset((*MISSING, *MARKS, *missing))
