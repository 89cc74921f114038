"""How rows are written as text: what a format of text has to know, and what all of them share."""

from __future__ import annotations

from typing import NamedTuple, Protocol, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

MARK = b"\xef\xbb\xbf"
"""The byte-order mark of UTF-8, which some programs put before the first letter."""


class Fault(NamedTuple):
    """What is wrong with a record."""

    column: str | None
    value: str
    reason: str


class TextHead:
    """The beginning of a text, and what is learned from it.

    Parameters
    ----------
    name
        Of the input.
    data
        Its first bytes.
    ended
        Whether that is all there is.
    """

    def __init__(self, name: str, data: bytes, ended: bool = True) -> None:
        self.name, self.data, self.ended = name, data, ended
        self.remarks: list[str] = []
        self.size = self.lines = 0

    def take(self, size: int, lines: int) -> None:
        """So much is the header, and done."""
        self.size, self.lines = size, lines


class Format(Protocol):
    """How rows are written: CSV or NDJSON."""

    name: str
    schema: pa.Schema
    grows: bool
    """Whether columns may join, as they have had no value so far."""

    def describe(self) -> str:
        """What a position has to remember."""
        ...

    def cut(self, block: bytes) -> int:
        """End of the last complete record; 0 where there is none."""
        ...

    def unclosed(self, block: bytes) -> bool:
        """Whether the block ends within a record that newlines do not end."""
        ...

    def split(self, block: bytes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Starts and ends of the records that are not empty, in a block of complete ones."""
        ...

    def parse(self, block: bytes) -> pa.RecordBatch:
        """Complete records as rows; ``ArrowInvalid`` if one of them is bad."""
        ...

    def faults(self, records: list[bytes]) -> dict[int, Fault]:
        """What is wrong with which record, by number.

        Columns that have had no value so far fit everything.
        """
        ...

    def overlooks(self, block: bytes) -> bool:
        """Whether there are columns in complete records which :meth:`parse` passes over, and
        which might join.
        """
        ...

    def joined(self, records: list[bytes]) -> Self | None:
        """The same with the columns that have their first value in these good records.

        None if there are none.
        """
        ...


def not_utf8(records: list[bytes]) -> dict[int, Fault]:
    """Records that are not UTF-8."""
    found: dict[int, Fault] = {}
    for i, record in enumerate(records):
        try:
            record.decode()
        except UnicodeDecodeError as error:
            reason = (
                f"is not UTF-8 at byte {error.start + 1} of the row "
                f"(0x{record[error.start]:02x}); try --encoding latin-1"
            )
            found[i] = Fault(None, record.decode("latin-1").strip("\r\n"), reason)
    return found


def without_mark(data: bytes) -> bytes:
    """Text without its byte-order mark."""
    return data.removeprefix(MARK)


def ended(block: bytes) -> bytes:
    """The last block of a file, with the newline that may be missing."""
    return block if block.endswith(b"\n") else block + b"\n"


def is_utf8(block: bytes) -> bool:
    """Whether bytes are text."""
    try:
        block.decode()
    except UnicodeDecodeError:
        return False
    return True
