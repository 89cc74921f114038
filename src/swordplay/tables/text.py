"""Tables of text, block by block: cut at the last complete record, parse, and only if that fails
look for the bad rows.
"""

from __future__ import annotations

import functools
import re
import shlex
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from swordplay.core.arguments import short_repr
from swordplay.tables.digests import TextDigest
from swordplay.tables.errors import TableError
from swordplay.tables.parsers import failing_entries
from swordplay.tables.records import count_lines, newlines
from swordplay.tables.source import Source
from swordplay.tables.table import Batch, Position, Refusal, Table, not_resumable
from swordplay.tables.text_format import Fault, Format, ended

HEAD_BYTES = 1 << 22
"""Beginning of a file that decides on the types, whatever the block size.

Of a pipe it is what there is.
"""
LONGEST_RECORD = 1 << 26
"""Bytes of the longest record that is read."""
NULL_TEXT = re.compile(r"(?!-?inf)(?:[^\d'\"]{1,16}|#[^'\"]{1,16})", re.IGNORECASE)
"""Short texts without digits, or with a # in front: among other values they may mean "missing".

An infinity does not.
"""
TOTAL_LABEL = re.compile(
    r"(?:.*\b)?(?:(?:sub)?totals?|sum|averages?|mean|sources?|notes?|gesamt|summe|quelle)\b.*",
    re.IGNORECASE,
)
"""Labels of rows below a table that sum it up or say where it comes from."""


class TextTable(Table):
    """A table of text.

    Parameters
    ----------
    source
        Its bytes, from ``position`` on.
    format
        How rows are written.
    position
        Where the source stands.
    digest
        Of the text in front of ``position``; None if no position has to be resumed from.
    skip
        Whether bad rows are left out; otherwise the first one is an error.
    block_size
        Bytes to ask for at a time.
    """

    def __init__(
        self,
        source: Source,
        format: Format,
        position: Position,
        digest: TextDigest | None,
        *,
        skip: bool,
        block_size: int,
    ) -> None:
        self.name, self.schema, self.remarks = source.name, format.schema, []
        self._source, self._format, self._position, self._digest = source, format, position, digest
        self._skip, self._block_size = skip, block_size
        self.start, self.live = position, source.live
        self._text = position.offset  # bytes of text that were read

    @property
    def size(self) -> int | None:
        """Bytes of the file."""
        return self._source.raw.size

    @property
    def consumed(self) -> int:
        """Bytes of the file that were read."""
        return self._source.raw.consumed

    @property
    def refused(self) -> int:
        """Bad rows so far."""
        return self._position.refused

    def share(self, position: Position) -> float | None:
        """The bytes of text that are done, of all.

        Of compressed text about, by how well what was read is compressed.
        """
        if not self.size:
            return None
        text = self.size if self._source.plain else self.size * self._text / max(self.consumed, 1)
        return min(1.0, position.offset / max(text, 1.0))

    def close(self) -> None:
        """Let go of the input."""
        self._source.close()

    def batches(self) -> Iterator[Batch]:
        """The rows that are left, block by block."""
        carry = b""
        while data := self._source.read(self._block_size):
            block = carry + data
            self._text += len(data)
            end = self._format.cut(block)
            carry = block[end:]
            if end:
                yield from self._batch(block[:end], end)
            if len(carry) > LONGEST_RECORD:
                fault = endless if self._format.unclosed(carry) else too_long
                raise fault(self.name, self._position.line)
        if self._source.raw.closed:  # from outside: what is left is not the end
            return
        if self._format.unclosed(carry):
            raise endless(self.name, self._position.line)
        if carry:
            yield from self._batch(ended(carry), len(carry))

    def _batch(self, block: bytes, size: int) -> Iterator[Batch]:
        """Complete records as a batch.

        In ``"stop"``, the good rows before the first bad one and then the error.
        """
        first = self._position.row + 1
        if self._format.overlooks(block):
            self._join(block)
        try:
            rows = self._format.parse(block)
        except pa.ArrowInvalid:
            rows, kept, refusals = self._anew(block)
        else:
            kept, refusals = np.arange(len(rows)), []
        if refusals and not self._skip:
            start = int(self._format.split(block)[0][refusals[0].row - first])
            if start:
                yield from self._batch(block[:start], start)
            raise bad_row(self.name, refusals[0])
        position_at = not_resumable
        if self._digest is not None:
            position_at = functools.partial(
                self._position_at, self._position, self._digest.copy(), block[:size], refusals
            )
        self._advance(block, size, len(kept) + len(refusals), len(refusals))
        if len(kept) or refusals:
            yield Batch(rows, first + kept, self._position, tuple(refusals), position_at)

    def _position_at(
        self, at: Position, digest: TextDigest, block: bytes, refusals: Sequence[Refusal], row: int
    ) -> Position:
        """The position after a row of a block that begins at the position ``at``, where the
        digest is ``digest``.
        """
        if row <= at.row:
            return at
        end = int(self._format.split(ended(block))[1][row - at.row - 1])
        digest = digest.copy()
        digest.add(block[:end])
        return at._replace(
            offset=at.offset + min(end, len(block)),
            row=row,
            line=at.line + count_lines(block[:end]),
            refused=at.refused + sum(one.row <= row for one in refusals),
            **digest.digests._asdict(),
        )

    def _anew(self, block: bytes) -> tuple[pa.RecordBatch, NDArray[np.int64], list[Refusal]]:
        """The good rows once new columns have joined, which they are, and the bad ones."""
        if self._format.grows and self._join(block):
            try:
                rows = self._format.parse(block)
            except pa.ArrowInvalid:
                pass
            else:
                return rows, np.arange(len(rows)), []
        return self._sift(block)

    def _join(self, block: bytes) -> bool:
        """Let columns join that have their first value here, before the first bad row if that
        one ends the reading.
        """
        starts, ends = self._format.split(block)
        records = [block[a:b] for a, b in zip(starts, ends, strict=True)]
        bad = self._format.faults(records)
        stop = len(records) if self._skip or not bad else min(bad)
        wider = self._format.joined(
            [record for i, record in enumerate(records[:stop]) if i not in bad]
        )
        if wider is None:
            return False
        self._format, self.schema = wider, wider.schema
        self._position = self._position._replace(layout=wider.describe())
        return True

    def _advance(self, block: bytes, size: int, rows: int, refused: int) -> None:
        at = self._position
        if self._digest is not None:
            self._digest.add(block[:size])
            at = at._replace(**self._digest.digests._asdict())
        self._position = at._replace(
            offset=at.offset + size,
            row=at.row + rows,
            line=at.line + count_lines(block),
            refused=at.refused + refused,
        )

    def _sift(self, block: bytes) -> tuple[pa.RecordBatch, NDArray[np.int64], list[Refusal]]:
        """The good rows, which they are, and the bad ones."""
        starts, ends = self._format.split(block)
        records = [block[a:b] for a, b in zip(starts, ends, strict=True)]
        found = self._format.faults(records)
        kept = [i for i in range(len(records)) if i not in found]
        try:
            rows = self._parse(records, kept)
        except pa.ArrowInvalid:  # objections that pyarrow alone has
            found |= self._objections(records, kept)
            kept = [i for i in kept if i not in found]
            rows = self._parse(records, kept)
        lines = self._position.line + 1 + np.searchsorted(newlines(block), starts)
        row = self._position.row + 1
        return (
            rows,
            np.array(kept, np.int64),
            [refusal(row + i, int(lines[i]), found[i]) for i in sorted(found)],
        )

    def _parse(self, records: list[bytes], kept: Sequence[int]) -> pa.RecordBatch:
        return self._format.parse(b"".join(records[i] for i in kept))

    def _objections(self, records: list[bytes], kept: list[int]) -> dict[int, Fault]:
        """What pyarrow says about each record that it refuses."""
        reasons: dict[int, str] = {}

        def attempt(start: int, stop: int) -> NDArray[np.bool_]:
            try:
                self._parse(records, kept[start:stop])
            except pa.ArrowInvalid as error:
                reasons[start] = (
                    "cannot be read "
                    f"({short_repr(str(error))[1:-1]})"  # the last one is about this record alone
                )
                raise
            return np.zeros(stop - start, bool)

        bad = np.flatnonzero(failing_entries(len(kept), attempt))
        return {
            kept[i]: Fault(None, records[kept[i]].decode().strip(), reasons[int(i)]) for i in bad
        }


def refusal(row: int, line: int | None, fault: Fault) -> Refusal:
    """A fault and its place."""
    return Refusal(row, line, fault.column, short_repr(fault.value)[1:-1], fault.reason)


def bad_row(name: str, bad: Refusal) -> TableError:
    """The error for a bad row."""
    line = "" if bad.line is None else f", line {bad.line}"
    column = "" if bad.column is None else f", column {bad.column!r}"
    remedy = "Correct the row, or leave such rows out with --on-bad skip."
    if bad.column is not None and TOTAL_LABEL.fullmatch(bad.value):
        remedy = "It looks like a row that is no data. Leave such rows out with --on-bad skip."
    elif bad.column is not None and NULL_TEXT.fullmatch(bad.value):
        quoted = f'"{bad.value}"' if "," in bad.value else bad.value
        remedy += f" If it stands for nothing, say --missing {shlex.quote(quoted)}."
    return TableError(
        f"{name}{line} (row {bad.row}){column}: '{bad.value}' {bad.reason}.\n{remedy}"
    )


def endless(name: str, lines: int) -> TableError:
    """The error for a record without end, after so many lines."""
    return TableError(
        f"{name}, line {lines + 1}: a quote is opened in this row and never closed. Close it, or "
        "remove it."
    )


def too_long(name: str, lines: int) -> TableError:
    """The error for a record of more bytes than are read, after so many lines."""
    return TableError(
        f"{name}, line {lines + 1}: this row is longer than {LONGEST_RECORD >> 20} MiB, the limit. "
        "Check how its lines end, or leave columns out."
    )
