"""What reading a table means, whatever its format: batches of rows, each with the place after
it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import NamedTuple, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

HEAD_ROWS = 10_000
"""First rows of a table by which its columns, their types and the task are decided, if they are
there at once.
"""


class Position(NamedTuple):
    """Where to go on in the input after a batch; strings and whole numbers only.

    ``position._asdict()`` fits into a checkpoint, and ``Position(**saved)`` is the way back.
    """

    format: str
    """``csv``, ``ndjson``, ``parquet`` or ``memory``."""
    layout: str
    """Names and types of the columns and how they are written (JSON), so that resuming never
    guesses anew.
    """
    offset: int
    """Bytes of the (uncompressed, UTF-8) text that are done.

    0 for Parquet and tables in memory, where the row says it all.
    """
    row: int
    """Rows that are done, bad ones included."""
    line: int
    """Lines that are done, the header included; 0 for Parquet."""
    refused: int
    """Bad rows so far."""
    fingerprint: str
    """SHA-256 of everything that is done, by which a changed input is refused.

    Empty unless the table was opened resumable.
    """
    start: int = 0
    """Bytes of the text in front of the first row; 0 for Parquet and tables in memory."""
    prefix_digests: str = ""
    """Digests of prefixes of what is done (:mod:`digests`), by which the first change is
    located.
    """


class Refusal(NamedTuple):
    """A bad row that was left out."""

    row: int
    """Its number in the input; the first row of data is 1."""
    line: int | None
    """The line on which it begins, where the format has lines; the first line of the file is 1."""
    column: str | None
    """The column that is at fault, where it is one."""
    value: str
    """What stands there, shortened."""
    reason: str
    """Why it cannot be used, such as ``is not a number``."""


def not_resumable(row: int) -> Position:
    """The position after a row of a table that was not opened resumable: an error."""
    raise ValueError(
        f"the position after row {row} is not known: the table was not opened with resumable=True."
    )


class Batch(NamedTuple):
    """Some consecutive rows of the input without the bad ones."""

    rows: pa.RecordBatch
    """The good rows, in the table's schema; may be empty where all rows were bad."""
    numbers: NDArray[np.int64]
    """Their numbers in the input, bad rows counted; the first row of data is 1."""
    position: Position
    """Where to go on after this batch."""
    refusals: tuple[Refusal, ...]
    """The bad rows among them (``on_bad="skip"``)."""
    position_at: Callable[[int], Position] = not_resumable
    """The position after one of the rows, by its number."""


class Table(ABC):
    """A table that is being read, once, from its position to its end.

    Use it in a ``with`` statement.

    Columns are of five kinds: numbers (``float64``), truths (``bool``), words (``string``), dates
    (``timestamp`` in microseconds or, where the values ask for it, nanoseconds; in UTC where they
    have a zone) and times of the day (``time64`` in microseconds). What is missing is null; numbers
    are finite or null.
    """

    name: str
    """What messages call the input: its path, or ``standard input``."""
    schema: pa.Schema
    """Decided from the head of the input, or taken from the position."""
    remarks: list[str]
    """Sentences for the user about what was recognised; empty when going on from a position."""

    start: Position | None = None
    """Where the reading begins, so that a run can be saved before its first batch is done.

    None where it cannot go on.
    """
    live: bool = False
    """Whether more may come later, as of a pipe."""

    def share(self, position: Position) -> float | None:
        """How much of the input is done at a position of it, from 0 to 1.

        None where nobody knows.
        """
        return None

    @property
    @abstractmethod
    def refused(self) -> int:
        """Bad rows so far, those before the position included."""

    @property
    @abstractmethod
    def size(self) -> int | None:
        """Bytes of the input, for progress; None where nobody knows."""

    @property
    @abstractmethod
    def consumed(self) -> int:
        """Bytes of the input that were read so far (as they lie on disk, so compressed ones
        where they are).
        """

    @abstractmethod
    def batches(self) -> Iterator[Batch]:
        """The rows that are left, in order; to be called once."""

    @abstractmethod
    def close(self) -> None:
        """Let go of the input.

        May be called from another thread, where a wait for a pipe then ends within 0.2 s.
        """

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
