"""The log of events: what was accepted, in its order, on the disk before anybody is told so.

SQLite with a write-ahead log and ``synchronous=FULL``: a commit returns when the bytes are on the disk, so that an event that
was acknowledged survives the death of the process, of the system, and a power cut (as far as the disk keeps what it says).
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from typing import NamedTuple, final

from swordplay.base.files import sync_folder
from swordplay.serving.refusals import Refusal

FORMAT = 1
"""Of the tables below; another one is refused."""
PAGE = 4096
"""Bytes of a page of the file."""
SMALLEST = 16
"""Pages that a log may have at the least, empty tables included."""
LONGEST_WAL = 64 * 2**20
"""Bytes that the write-ahead log keeps after a burst."""
FULL = "there is no room left on the disk for the log of events. Nothing was changed. Make room, then send it again."
TABLE = """CREATE TABLE IF NOT EXISTS events (
    number INTEGER PRIMARY KEY,  -- 1, 2, 3, ... without a gap
    action TEXT NOT NULL,        -- ask, tell, drop, declare
    model TEXT NOT NULL,
    target TEXT NOT NULL,        -- what the model predicts if it is new
    lines INTEGER NOT NULL,      -- whether the body is a row a line
    body BLOB NOT NULL           -- as it was sent
)"""


class Event(NamedTuple):
    """Something that a client wants done, as it was sent."""

    action: str
    """``"ask"``, ``"tell"``, ``"drop"`` or ``"declare"``."""
    model: str
    target: str
    """What the model predicts if this is its first use: a server may be started with another default later."""
    body: bytes
    lines: bool = False
    """Whether the body is NDJSON."""


class LogError(ValueError):
    """A log that cannot be used; says why, and what to do."""


@final
class Log:
    """Events in a file, numbered from 1.

    Used by one thread at a time.

    Parameters
    ----------
    path
        Of the file; made if it is not there.
    most
        Bytes that it may have; 0 for as many as the disk holds.
    """

    def __init__(self, path: str, most: int = 0) -> None:
        self.path = path
        try:
            self._file = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=0.0)
            self._file.execute(f"PRAGMA page_size={PAGE}")
            self._file.execute("PRAGMA journal_mode=WAL")
            self._file.execute("PRAGMA synchronous=FULL")
            self._file.execute(f"PRAGMA journal_size_limit={LONGEST_WAL}")
            version = self._file.execute("PRAGMA user_version").fetchone()[0]
            if version not in (0, FORMAT):
                raise LogError(
                    f"the log {path!r} has format {version}, and this version reads {FORMAT}. Use the newer version."
                )
            self._file.execute(TABLE)
            self._file.execute(f"PRAGMA user_version={FORMAT}")
            pages = max(SMALLEST, most // PAGE) if most else 2**31 - 2
            self._file.execute(f"PRAGMA max_page_count={pages}")
            last = self._file.execute("SELECT max(number) FROM events").fetchone()[0]
        except sqlite3.Error as error:
            raise LogError(f"the log {path!r} cannot be used: {error}. Restore it, or serve from another folder.") from error
        sync_folder(path)
        self.last: int = last or 0
        """Number of the newest event."""

    def append(self, events: Sequence[Event]) -> None:
        """Write events; all of them are on the disk when this returns, or none is.

        Raises
        ------
        Refusal
            507 if the disk is full, 503 if it does not work.
        """
        values = [value for number, event in enumerate(events, start=self.last + 1) for value in (number, *_row(event))]
        # One statement is one transaction, and waits for Python's lock once: row by row it would wait for each of them.
        places = ", ".join(["(?, ?, ?, ?, ?, ?)"] * len(events))
        try:
            self._file.execute(f"INSERT INTO events VALUES {places}", values)
        except sqlite3.Error as error:
            self._undo()
            if error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_FULL:
                raise Refusal(507, FULL) from error
            raise Refusal(
                503, f"the log of events cannot be written ({error.sqlite_errorname}). Nothing was changed."
            ) from error
        self.last += len(events)

    def after(self, number: int) -> Iterator[tuple[int, Event]]:
        """Events behind a number, in their order.

        Raises
        ------
        LogError
            If one is missing.
        """
        wanted = number
        found = self._file.execute(
            "SELECT number, action, model, target, lines, body FROM events WHERE number > ? ORDER BY number", (number,)
        )
        for place, action, model, target, lines, body in found:
            wanted += 1
            if place != wanted:
                raise LogError(f"the log {self.path!r} lacks event {wanted}. Restore it, or serve from another folder.")
            yield place, Event(action, model, target, bytes(body), bool(lines))

    def first(self) -> int | None:
        """Number of the oldest event that is kept."""
        found: int | None = self._file.execute("SELECT min(number) FROM events").fetchone()[0]
        return found

    def start_behind(self, number: int) -> None:
        """Let the next event be the one behind ``number``, if the log is empty: all before it are in a checkpoint."""
        self.last = max(self.last, number)

    def forget(self, number: int) -> None:
        """Remove the events up to a number; the room that they took is used again."""
        try:
            self._file.execute("DELETE FROM events WHERE number <= ?", (number,))
        except sqlite3.Error:  # on a full disk: next time
            self._undo()

    def size(self) -> int:
        """Bytes on the disk."""
        files = (self.path, f"{self.path}-wal")
        return sum(os.path.getsize(file) for file in files if os.path.exists(file))

    def close(self) -> None:
        """Close the file; what is in it stays."""
        self._file.close()

    def _undo(self) -> None:
        if self._file.in_transaction:
            self._file.execute("ROLLBACK")


def _row(event: Event) -> tuple[str, str, str, int, bytes]:
    return event.action, event.model, event.target, int(event.lines), event.body
