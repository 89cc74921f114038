"""What writing a table means, whatever its format, and the two outputs of text: files and
streams.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from types import TracebackType
from typing import NamedTuple, Self

import pyarrow as pa

from swordplay.tables.partial import Partial, fingerprint_of, not_ours, reported
from swordplay.tables.row_text import Encoder


class OutputPosition(NamedTuple):
    """What of an output is safe on disk.

    Strings and whole numbers only, as :class:`~swordplay.tables.Position`.
    """

    format: str
    """``csv``, ``ndjson`` or ``parquet``."""
    offset: int
    """Bytes of the partial file that count; what lies beyond is cut off on resuming."""
    rows: int
    """Rows in them."""
    fingerprint: str
    """BLAKE2 of all of them: a file of somebody else, or one that was edited, is neither cut nor
    continued.
    """


class Output(ABC):
    """A table that is being written.

    Use it in a ``with`` statement, and call :meth:`finish` when all rows are in.

    Until then the rows are in ``PATH.partial``. Leaving without :meth:`finish` removes that file,
    unless :meth:`sync` was called: then it is kept, to be resumed from.
    """

    name: str
    """What messages call the output: its path, or ``standard output``."""
    rows: int
    """Rows written so far, those before the position included."""

    @abstractmethod
    def write(self, rows: pa.RecordBatch) -> None:
        """Append rows; on standard output they are flushed."""

    @abstractmethod
    def sync(self) -> OutputPosition:
        """Bring everything down to the disk.

        The position to resume from, should the process die later.
        """

    @abstractmethod
    def finish(self) -> None:
        """Give the file its name. Nothing can be written after that."""

    @abstractmethod
    def keep(self) -> None:
        """Let go of the file, and leave the rows that are in as ``PATH.partial``, in the format
        of the output.
        """

    @abstractmethod
    def close(self) -> None:
        """Let go of the file; the ``with`` statement does it."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class TextOutput(Output):
    """A file of text.

    Parameters
    ----------
    path
        Its final name.
    format, header, encoder
        How rows are written.
    position
        Where to go on, or None for the beginning.
    """

    def __init__(
        self,
        path: str,
        format: str,
        header: bytes,
        encoder: Encoder,
        position: OutputPosition | None,
    ) -> None:
        self.name, self._format, self._encoder = path, format, encoder
        self.rows = position.rows if position else 0
        if position and not os.path.exists(f"{path}.partial") and os.path.exists(path):
            _take_up(path, position)
        self._file = (
            Partial(path, position.offset, position.fingerprint) if position else Partial(path)
        )
        if not self._file.offset:
            self._file.append(header)

    def write(self, rows: pa.RecordBatch) -> None:
        """Append lines."""
        self._file.append(self._encoder(rows))
        self.rows += len(rows)

    def sync(self) -> OutputPosition:
        """Lines down to the disk."""
        self._file.sync()
        return OutputPosition(self._format, self._file.offset, self.rows, self._file.fingerprint())

    def finish(self) -> None:
        """Give the file its name."""
        self._file.publish()

    def keep(self) -> None:
        """Leave the lines there."""
        self._file.sync()
        self._file.close()

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()


def _take_up(path: str, position: OutputPosition) -> None:
    """Go on with a file that was finished since: it becomes partial again."""
    with reported(path):
        with open(path, "rb") as file:
            if (
                os.path.islink(path)
                or fingerprint_of(file, position.offset) != position.fingerprint
            ):
                raise not_ours(path)
        os.replace(path, f"{path}.partial")


class StreamOutput(Output):
    """Standard output, a pipe or a device: rows are gone as soon as they are written, and resuming
    appends.

    Parameters
    ----------
    name, descriptor
        Of the stream, which is closed at the end.
    format, header, encoder
        How rows are written.
    position
        Where to go on (without a second header), or None for the beginning.
    """

    def __init__(
        self,
        name: str,
        descriptor: int,
        format: str,
        header: bytes,
        encoder: Encoder,
        position: OutputPosition | None,
    ) -> None:
        self.name, self._format, self._encoder = name, format, encoder
        self._file = os.fdopen(descriptor, "wb", buffering=0)
        self.rows, self._offset = (position.rows, position.offset) if position else (0, 0)
        if not self._offset:
            self._append(header)

    def _append(self, data: bytes) -> None:
        with reported(self.name):
            view = memoryview(data)
            while len(view):
                view = view[self._file.write(view) :]
        self._offset += len(data)

    def write(self, rows: pa.RecordBatch) -> None:
        """Send lines."""
        self._append(self._encoder(rows))
        self.rows += len(rows)

    def sync(self) -> OutputPosition:
        """What was sent; nobody can take it back."""
        return OutputPosition(self._format, self._offset, self.rows, "")

    def finish(self) -> None:
        """Nothing to do."""

    def keep(self) -> None:
        """What was sent is sent."""
        self.close()

    def close(self) -> None:
        """Let go of the stream."""
        self._file.close()
