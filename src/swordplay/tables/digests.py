"""Running digests of what was read from a table, which tell whether the table is still the same,
and where it differs.

Beside the digest of everything that was read, digests of its prefixes are kept, at places whose
distance grows in proportion: 16 for each doubling. Their number is logarithmic in the size of the
input, and a change is located to a sixteenth of what lies before it.
"""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Iterable
from typing import NamedTuple, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from swordplay.tables.parsers import DOUBLE, STRING

PLACES_PER_DOUBLING = 16
PREFIX_DIGITS = 12
"""Hexadecimal digits of a digest of a prefix.

They only locate a change; whether there is one is decided by all 64 digits.
"""
LEAST_BYTES, LEAST_ROWS = 4, 8
"""Smallest distance between two places, in text and in tables of typed columns."""
PIECE_ROWS = 1 << 12
"""Rows that are digested together at most."""


class Digests(NamedTuple):
    """What a position keeps of everything that was read before it."""

    fingerprint: str
    """SHA-256."""
    prefix_digests: str
    """The first :data:`PREFIX_DIGITS` digits of the digest at each place, one after the other."""


def next_place(done: int, least: int) -> int:
    """The first place behind ``done`` bytes or rows.

    >>> next_place(0, 4), next_place(130, 4), next_place(1000, 4)
    (4, 136, 1024)
    """
    step = max(least, (1 << done.bit_length()) // (2 * PLACES_PER_DOUBLING))
    return (done // step + 1) * step


def agreed_place(found: str, expected: str, least: int) -> int:
    """The last place at which two series of prefix digests still agree; 0 if they do at none."""
    place = 0
    for first in range(0, min(len(found), len(expected)), PREFIX_DIGITS):
        if found[first : first + PREFIX_DIGITS] != expected[first : first + PREFIX_DIGITS]:
            break
        place = next_place(place, least)
    return place


@final
class TextDigest:
    """Digest of a text; nothing depends on how the text comes in blocks.

    Parameters
    ----------
    head
        The text in front of the first row. It belongs to the digest, and is not counted.
    """

    def __init__(self, head: bytes = b"") -> None:
        self.count = 0
        """Bytes behind the head."""
        self._hash, self._prefixes = hashlib.sha256(head), list[str]()
        self._next = next_place(0, LEAST_BYTES)

    def copy(self) -> TextDigest:
        """An independent digest that goes on from here."""
        found = copy.copy(self)
        found._hash, found._prefixes = self._hash.copy(), self._prefixes.copy()
        return found

    def add(self, text: bytes) -> None:
        """Go on with more text."""
        view = memoryview(text)
        while len(view) >= self._next - self.count:
            part = view[: self._next - self.count]
            self._hash.update(part)
            self._prefixes.append(self._hash.hexdigest()[:PREFIX_DIGITS])
            view, self.count = view[len(part) :], self._next
            self._next = next_place(self.count, LEAST_BYTES)
        self._hash.update(view)
        self.count += len(view)

    @property
    def digests(self) -> Digests:
        """Of the text so far."""
        return Digests(self._hash.hexdigest(), "".join(self._prefixes))


@final
class RowDigest:
    """Digest of rows in typed columns.

    Nothing depends on how the rows come in batches or lie in memory.

    Rows are digested in pieces whose ends depend on row numbers alone.
    """

    def __init__(self) -> None:
        self.count = 0
        """Rows so far."""
        self._hash, self._prefixes = hashlib.sha256(), list[str]()
        self._pending = list[pa.RecordBatch]()  # the rows of a piece that is not complete
        self._piece_end = self._next = next_place(0, LEAST_ROWS)

    def copy(self) -> RowDigest:
        """An independent digest that goes on from here."""
        found = copy.copy(self)
        found._hash, found._prefixes, found._pending = (
            self._hash.copy(),
            self._prefixes.copy(),
            self._pending.copy(),
        )
        return found

    def add(self, rows: pa.RecordBatch) -> None:
        """Go on with more rows; all of them in the same columns."""
        while len(rows):
            part = rows[: self._piece_end - self.count]
            rows = rows[len(part) :]
            self._pending.append(part)
            self.count += len(part)
            if self.count == self._piece_end:
                self._hash.update(digest(piece(self._pending)).encode())
                self._pending = []
                if self.count == self._next:
                    self._prefixes.append(self._hash.hexdigest()[:PREFIX_DIGITS])
                    self._next = next_place(self.count, LEAST_ROWS)
                # Places are multiples of powers of two, and so they are among the ends of pieces.
                self._piece_end = min(self._next, self.count + PIECE_ROWS)

    @property
    def digests(self) -> Digests:
        """Of the rows so far."""
        found = self._hash.copy()
        if self._pending:
            found.update(digest(piece(self._pending)).encode())
        return Digests(found.hexdigest(), "".join(self._prefixes))


def digest(rows: pa.RecordBatch) -> str:
    """SHA-256 of names and values of rows, however they lie in memory."""
    found = hashlib.sha256(
        json.dumps([[field.name, str(field.type)] for field in rows.schema]).encode()
    )
    for column in rows.columns:
        found.update(np.packbits(column.is_null().to_numpy(zero_copy_only=False)).data)
        if column.type == STRING:
            found.update(
                np.ascontiguousarray(
                    pc.binary_length(column).fill_null(0).to_numpy(zero_copy_only=False)
                ).data
            )
            found.update(_letters(column.fill_null("")))
        else:
            plain = (
                column
                if column.type == DOUBLE
                else column.cast(pa.int8() if column.type == pa.bool_() else pa.int64())
            )
            found.update(
                np.ascontiguousarray(plain.fill_null(0).to_numpy(zero_copy_only=False)).data
            )
    return found.hexdigest()


def _letters(words: pa.StringArray) -> bytes:
    """All words one after the other."""
    _, places, letters = words.buffers()
    if letters is None:
        return b""
    ends = np.frombuffer(places, np.int32)[words.offset : words.offset + len(words) + 1]
    return letters.slice(int(ends[0]), int(ends[-1] - ends[0])).to_pybytes() if len(words) else b""


def piece(batches: Iterable[pa.RecordBatch] | pa.Table) -> pa.RecordBatch:
    """Rows in one piece."""
    rows = batches if isinstance(batches, pa.Table) else pa.Table.from_batches(list(batches))
    return pa.RecordBatch.from_arrays(
        [_joined(column) for column in rows.combine_chunks().columns], schema=rows.schema
    )


def _joined(column: pa.ChunkedArray) -> pa.Array:
    """A column in one piece; of several dictionaries one is made."""
    if column.num_chunks == 1:
        return column.chunk(0)
    return (
        pa.concat_arrays(column.unify_dictionaries().chunks)
        if column.num_chunks
        else pa.array([], column.type)
    )
