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

from swordplay.tables import infer, parsers, schema
from swordplay.tables.errors import TableError
from swordplay.tables.infer import ColumnDecision
from swordplay.tables.parsers import BOOL, DATES, DOUBLE, NULL_MARKS, NULL_TEXTS, STRING
from swordplay.tables.records import newlines, pieces
from swordplay.tables.schema import EMPTY, ColumnRequest, TableSchema, plain_parser
from swordplay.tables.table import HEAD_ROWS
from swordplay.tables.text import bad_row, refusal
from swordplay.tables.text_format import MARK, Fault, TextHead, ended, is_utf8, not_utf8

BLANK = b" \t\r\n"
"""What JSON allows between values."""
KEY = re.compile(rb'"((?:[^"\\]|\\.)*)"[ \t]*:')
"""Whatever may be a key."""
NESTED = "nested"
LARGEST_DOUBLE = float(np.finfo(float).max)
KINDS: dict[type, Any] = {
    bool: BOOL,
    int: DOUBLE,
    float: DOUBLE,
    str: STRING,
    list: NESTED,
    dict: NESTED,
}
"""What a JSON value is, by its type in Python."""


class NdjsonFormat:
    """How an NDJSON table is written, and its blocks as rows.

    Parameters
    ----------
    columns
        Keys and types.
    grows
        Whether keys that are not in the layout join; otherwise they are passed over.
    """

    name = "ndjson"

    def __init__(self, columns: TableSchema, grows: bool = False) -> None:
        self.columns, self.grows = columns, grows
        self.schema = columns.arrow
        self._nothing = nothing(columns.missing)
        self._unworded = [field.name for field in columns.stored_arrow if field.type != STRING]
        # With keys that are left out every row holds one that pyarrow does not expect: then we look
        # for new ones ourselves.
        self._strict = grows and None not in columns.types
        behaviour = "error" if self._strict else "ignore"
        self._parsing = pyarrow.json.ParseOptions(
            explicit_schema=columns.stored_arrow, unexpected_field_behavior=behaviour
        )
        self._keys = {
            json.dumps(name, ensure_ascii=ascii)[1:-1].encode()
            for name in columns.names
            for ascii in (True, False)
        }

    def describe(self) -> str:
        """The columns, for a position."""
        return self.columns.to_json(**({"grows": "yes"} if self.grows else {}))

    @classmethod
    def described(cls, text: str) -> NdjsonFormat:
        """The way back from :meth:`describe`."""
        columns, details = TableSchema.from_json(text)
        return cls(columns, "grows" in details)

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
        if self.columns.missing:
            rows = pa.RecordBatch.from_arrays(
                list(map(self.columns.null_missing, rows.columns)), schema=rows.schema
            )
        rows, bad = self.columns.parse(rows)
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
        return parsers.without_nan(table.combine_chunks().to_batches()[0])

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
        """Whether lines hold keys that are not in the columns, and :meth:`parse` passes over
        them.
        """
        if not self.grows or self._strict or self._keys.issuperset(KEY.findall(block)):
            return False
        names = set(self.columns.names)
        rows = (_object(line) for line in block.split(b"\n") if line.strip(BLANK) and is_utf8(line))
        return any(isinstance(row, dict) and not names.issuperset(row) for row in rows)

    def joined(self, records: list[bytes]) -> NdjsonFormat | None:
        """The format with the keys that have their first value in these lines, which must be good.

        None if there are none.
        """
        known = dict(zip(self.columns.names, self.columns.types, strict=True))
        done = {name for name, kind in known.items() if kind != EMPTY}
        rows = [row for row in map(_object, records) if isinstance(row, dict)]
        news = [{name: value for name, value in row.items() if name not in done} for row in rows]
        kinds: dict[str, pa.DataType | None] = {
            name: EMPTY for row in news for name in row if name not in known
        }
        kinds |= schema.late_column_types(
            ({n: v for n, v in row.items() if v is not None} for row in news), _type_of, _fits
        )
        return NdjsonFormat(self.columns.with_columns(kinds), self.grows) if kinds else None

    def _misfits(self, field: pa.Field, rows: dict[int, dict[str, Any]]) -> dict[int, Fault]:
        """Rows whose value is not of the column's type."""
        parser = self.columns.parsers.get(field.name)
        plain = STRING if field.type in DATES else field.type
        stored = plain if parser is None else self.columns.stored[field.name]
        found, words, others = {}, {}, {}
        reason = f"is not {self.columns.expected_value(field.name, field.type)}"
        for i, row in rows.items():
            value = row.get(field.name)
            if value is None or (field.name in self._unworded and self._is_nothing(value)):
                continue
            if KINDS[type(value)] != stored or (stored == DOUBLE and abs(value) > LARGEST_DOUBLE):
                found[i] = Fault(field.name, json.dumps(value, ensure_ascii=False), reason)
            elif stored is STRING:
                words[i] = value
            else:
                others[i] = value
        if parser is None and stored is not STRING:
            return found
        plainly = (
            map(float, others.values()) if stored == DOUBLE else others.values()
        )  # rounded, if they are long
        values = (
            self.columns.null_missing(pa.array(words.values(), STRING))
            if stored is STRING
            else pa.array(plainly, stored)
        )
        bad = (
            parsers.plain_misfits(values, field.type)
            if parser is None
            else parser.parse(values).bad
        )
        texts = words if stored is STRING else others
        return found | {
            i: Fault(field.name, str(texts[i]), reason)
            for i, wrong in zip(texts, bad, strict=True)
            if wrong
        }


def recognise(head: TextHead, request: ColumnRequest) -> NdjsonFormat:
    """Columns and types of a file, from its head."""
    mark = len(MARK) * head.data.startswith(MARK)
    body = head.data[mark:]
    body = ended(body) if head.ended else body
    starts, ends = NdjsonFormat(TableSchema((), ())).split(body)
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
    names = tuple(dict.fromkeys([*(name for row in rows for name in row), *request.expected]))
    request.check_names(head.name, names)
    decisions = {
        name: _decided(head, name, [row.get(name) for row in rows], request) for name in names
    }
    stored = {name: kind for name, (_, kind) in decisions.items() if kind is not None}
    columns = infer.make_schema(
        head.name, names, [one for one, _ in decisions.values()], request, head.remarks, stored
    )
    head.take(mark, 0)
    return NdjsonFormat(columns, grows=request.keep is None and request.others)


def _type_of(value: Any) -> pa.DataType | None:
    """Return the type that a first value gives to its key; None if it cannot be used."""
    kind = KINDS[type(value)]
    if kind == STRING:
        return parsers.commonest_plain_type(pa.array([value]), DATES)
    return None if kind == NESTED else kind


def _fits(value: Any, type_: pa.DataType) -> bool:
    """Whether a later value is of the type of its key."""
    if KINDS[type(value)] == STRING and type_ in DATES:
        return not parsers.plain_misfits(pa.array([value]), type_)[0]
    return bool(KINDS[type(value)] == type_)


def complete(head: bytes) -> bool:
    """Whether a head has at least one line."""
    return b"\n" in head.lstrip()


def _decided(
    head: TextHead, name: str, values: list[Any], request: ColumnRequest
) -> tuple[ColumnDecision, pa.DataType | None]:
    """What is made of a key, by what most of its values are; and what these are."""
    if request.leaves_out(name):
        return infer.LEAVE_OUT, None
    telling = [
        value
        for value in values
        if not isinstance(value, str) or value.strip() not in nothing(request.missing)
    ]
    kinds = Counter(KINDS[type(value)] for value in telling if value is not None)
    kinds = kinds or Counter(KINDS[type(value)] for value in values if value is not None)
    if not kinds and name in request.known:
        return infer.decide_absent(request.known[name])
    if not kinds:
        head.remarks.append(infer.empty_remark(name))
        return ColumnDecision(EMPTY), None
    kind = kinds.most_common(1)[0][0]
    known = [value for value in values if KINDS.get(type(value)) == kind]
    if kind == NESTED:
        example = json.dumps(known[0])
        return infer.decide_nested(
            name, f"nested values such as {shown_json(example)}", request
        ), None
    if kind == STRING:
        texts = TableSchema((), (), missing=request.missing).null_missing(pa.array(known, STRING))
        return _of_texts(name, texts, request), STRING
    if kind == BOOL:
        return infer.decide_stored(name, pa.array(known, BOOL), BOOL, request), BOOL
    if any(type(value) is int and abs(value) >= parsers.LARGEST_EXACT for value in known):
        head.remarks.append(infer.rounding_remark(name))
    # A whole number may be larger than a double; its row is refused when it is read.
    numbers = [
        float(max(-LARGEST_DOUBLE, min(one, LARGEST_DOUBLE))) if type(one) is int else one
        for one in known
    ]
    return infer.decide_stored_numbers(name, pa.array(numbers, DOUBLE), request), DOUBLE


def _of_texts(name: str, texts: pa.Array, request: ColumnRequest) -> ColumnDecision:
    """Strings; of those that are written plainly, pyarrow reads only dates."""
    made = infer.decide_texts(name, texts, request)
    if made.type in (None, STRING, *DATES) or made.parser is not None:
        return made
    return made._replace(parser=plain_parser(made.type, "."))


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
    return frozenset((*NULL_TEXTS, *NULL_MARKS, *missing))
