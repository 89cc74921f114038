"""The bytes of an input: files, pipes and standard input.

Gzip, zstd and other encodings taken off.
"""

from __future__ import annotations

import codecs
import io
import os
import select
import stat
import time
from typing import Any

import pyarrow as pa

from swordplay.core.arguments import short_repr
from swordplay.tables.errors import TableError, unreadable

WAIT = 0.2
"""Seconds for which more of a live pipe is gathered once something has come.

Also how soon a closed source is noticed.
"""
MAGIC = 4
"""Bytes by which a format makes itself known; no table is shorter."""
STANDARD_INPUT = "standard input"
"""What messages call it."""
CODECS = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
STRANGERS = {
    b"PK\x03\x04": ("a zip archive or an Excel workbook", "Unpack it, or save the sheet as CSV"),
    b"BZh": ("compressed with bzip2", "Unpack it with bunzip2"),
    b"\xfd7zX": ("compressed with xz", "Unpack it with unxz"),
    b"ARRO": ("an Arrow (Feather) file", "Save it as Parquet"),
    b"\x89HDF": ("an HDF5 file", "Save the table as Parquet or CSV"),
    b"SQLi": ("an SQLite database", "Export the table as CSV"),
    b"%PDF": ("a PDF document", "Export the table as CSV"),
}
"""What people take for a table, by how it begins: what it is, and the way to a table."""


class Raw(io.RawIOBase):
    """A descriptor as it is; of a pipe whatever arrives within :data:`WAIT` of the first byte."""

    def __init__(self, name: str, descriptor: int) -> None:
        status = os.fstat(descriptor)
        self.live = not stat.S_ISREG(status.st_mode)
        self.size = (
            None if self.live else status.st_size - os.lseek(descriptor, 0, os.SEEK_CUR)
        )  # a shell may have read some
        self.consumed = 0
        self._descriptor = descriptor
        if stat.S_ISDIR(status.st_mode):
            self.close()
            raise unreadable(name, IsADirectoryError())

    def readable(self) -> bool:
        """True: ``io`` asks this before it reads."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer as far as it goes; 0 at the end."""
        view, filled, until = memoryview(buffer).cast("B"), 0, None
        while filled < len(view) and not self.closed:
            if self.live and not self._ready(until):
                break
            try:
                count = os.readv(self._descriptor, [view[filled:]])
            except OSError:
                if self.closed:  # by another thread, on purpose
                    break
                raise
            if not count:
                break
            filled += count
            until = until or time.monotonic() + WAIT
        self.consumed += filled
        return filled

    def _ready(self, until: float | None) -> bool:
        """Whether there is something to read before ``until``.

        Without a limit, wait for as long as nobody closes us.
        """
        while not self.closed:
            left = WAIT if until is None else max(0.0, until - time.monotonic())
            if select.select([self._descriptor], [], [], left)[0]:
                return True
            if until is not None:
                return False
        return False

    def close(self) -> None:
        """Let go of the descriptor."""
        if not self.closed:
            super().close()
            os.close(self._descriptor)


def is_live(path: str) -> bool:
    """Whether more may come later: ``"-"`` where standard input is no file, and pipes that have
    a name.
    """
    try:
        mode = (os.fstat(0) if path == "-" else os.stat(path)).st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


class Source:
    """The text of an input as UTF-8 bytes; bytes that were read too far can be given back.

    Parameters
    ----------
    path
        Path, or ``"-"`` for standard input.
    encoding
        Of the text under the compression.
    """

    def __init__(self, path: str, encoding: str = "utf-8") -> None:
        self.name = STANDARD_INPUT if path == "-" else path
        self.encoding = encoding
        decoder = _decoder(encoding)
        try:
            self.raw = Raw(self.name, os.dup(0) if path == "-" else os.open(path, os.O_RDONLY))
        except OSError as error:
            raise unreadable(self.name, error) from error
        self._stream: Any = self.raw
        self._front, self._at = b"", 0
        self._decoder = decoder
        try:
            self._begin()
        except BaseException:
            self.close()
            raise

    def _begin(self) -> None:
        """Look at the first bytes, and put in between whatever they call for."""
        self.magic = self._gather(MAGIC)
        self.codec = next(
            (codec for magic, codec in CODECS.items() if self.magic.startswith(magic)), None
        )
        if self.codec:
            self._stream = pa.CompressedInputStream(
                pa.PythonFile(_Joined(self.magic, self.raw), mode="r"), self.codec
            )
            self._front = b""
            self.magic = self._gather(MAGIC)
        if self._decoder is not None:  # what was looked at has to pass through it as well
            self._front = self._decoded(self._decoder, self._front)

    @property
    def live(self) -> bool:
        """Whether more may come later, as of a pipe."""
        return self.raw.live

    @property
    def plain(self) -> bool:
        """Whether the text is the file, byte by byte."""
        return self.codec is None and self._decoder is None

    def stranger(self) -> TableError | None:
        """What this file is, if it is something well known that is not a table."""
        for magic, (what, remedy) in STRANGERS.items():
            if self.magic.startswith(magic):
                return TableError(f"{self.name} is {what}, not a table. {remedy}.")
        return None

    def read(self, size: int) -> bytes:
        """At most ``size`` bytes of text (a little more after decoding); none at the end."""
        if self._at < len(self._front):
            data = self._front[self._at : self._at + size]
            self._at += len(data)
            return data
        while data := self._take(size):
            if self._decoder is None:
                return data
            if text := self._decoded(self._decoder, data):
                return text
        return b"" if self._decoder is None else self._decoded(self._decoder, b"", final=True)

    def unread(self, data: bytes) -> None:
        """Give back what was read last."""
        self._front, self._at = data + self._front[self._at :], 0

    def close(self) -> None:
        """Let go of the descriptor."""
        self.raw.close()

    def _gather(self, size: int) -> bytes:
        """The first ``size`` bytes, which stay to be read; a pipe is waited for."""
        while len(self._front) < size and (data := self._take(size - len(self._front))):
            self._front += data
        return self._front

    def _take(self, size: int) -> bytes:
        try:
            return bytes(self._stream.read(size) or b"")
        except OSError as error:
            if error.errno is not None:
                raise unreadable(self.name, error) from error
            what = "is cut short" if "Truncated" in str(error) else f"is damaged ({error})"
            raise TableError(
                f"{self.name} {what}: its compressed content does not unpack. Fetch it again."
            ) from error

    def _decoded(
        self, decoder: codecs.IncrementalDecoder, data: bytes, final: bool = False
    ) -> bytes:
        try:
            return decoder.decode(data, final).encode()
        except UnicodeError as error:
            raise TableError(
                f"{self.name} is not {self.encoding} text near byte {self.raw.consumed} "
                f"({getattr(error, 'reason', error)}). "
                "Give the encoding it is in, such as --encoding latin-1."
            ) from error


class _Joined(io.RawIOBase):
    """The bytes that were looked at, then the rest."""

    def __init__(self, first: bytes, rest: Raw) -> None:
        self._first, self._rest = first, rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self._first:
            return self._rest.readinto(buffer)
        view = memoryview(buffer)
        count = min(len(view), len(self._first))
        view[:count], self._first = self._first[:count], self._first[count:]
        return count


def _decoder(encoding: str) -> codecs.IncrementalDecoder | None:
    """What turns the encoding into text; None for UTF-8, which is checked where it matters."""
    try:
        "a".encode(encoding)  # refuses codecs that are not about text
        if codecs.lookup(encoding).name in ("utf-8", "utf-8-sig"):
            return None
        return codecs.getincrementaldecoder(encoding)()
    except (LookupError, TypeError):
        raise TableError(
            f"encoding {short_repr(encoding)} is unknown. Give one such as utf-8, latin-1, cp1252 "
            "or utf-16."
        ) from None
