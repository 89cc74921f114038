"""A folder that holds the state of many keys, each readable without the others: whole or as it was,
whenever one is killed.

One file of SQLite: pages, an index of the keys, and transactions that are rolled back after a crash
are what it is known for. A row is a key, when it learned last, its state, and a checksum of all of
these; a table beside holds what all keys share. A save is one transaction, which writes the keys
that have learned since the last one and nothing else.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple, NoReturn, final

from swordplay.core.checkpoint import CheckpointError, CheckpointMissing

FILE = "keys.sqlite"
FORMAT = 1
"""Version of what is written."""
PAGE = 512
"""Bytes of a page, the fewest there may be: a state of some thousand bytes fills its pages and
shares hardly any, so that the
least is written again, once to the journal and once to the file."""
PATIENCE = 60.0
"""Seconds to wait for somebody else who is saving."""
EVER = -(2**63)
"""The time before all times."""
Key = str | int
TABLES = f"""
PRAGMA user_version = {FORMAT};
CREATE TABLE about (name TEXT PRIMARY KEY, value BLOB NOT NULL);
CREATE TABLE keys (key PRIMARY KEY NOT NULL, seen INTEGER NOT NULL, sum INTEGER NOT NULL, state BLOB NOT NULL);
"""  # noqa: E501


class Row(NamedTuple):
    """One key."""

    key: Key
    seen: int
    """When it learned last."""
    state: bytes


@final
class Folder:
    """The keys in a folder, and what they share.

    Parameters
    ----------
    path
        Of the folder.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        self.file = os.path.join(self.path, FILE)
        self.stamp = ""
        """Changes with every save: by it one knows that somebody else has saved since."""

    def open(self) -> dict[str, bytes]:
        """What the keys share, by name.

        Raises
        ------
        CheckpointMissing, CheckpointError
            If there are no keys, or they cannot be read.
        """
        with self._reading() as base:
            about = dict(base.execute("SELECT name, value FROM about"))
        self.stamp = about.pop("stamp", b"").decode()
        return about

    def read(self, keys: Iterable[Key]) -> Iterator[Row]:
        """The states of those keys that are there."""
        with self._reading() as base:
            self._require_stamp(base)
            for key in keys:
                for row in base.execute(
                    "SELECT key, seen, sum, state FROM keys WHERE key = ?", (key,)
                ):
                    yield self._checked(*row)

    def read_all(self) -> Iterator[Row]:
        """The states of all keys, those first that joined first."""
        with self._reading() as base:
            self._require_stamp(base)
            for row in base.execute("SELECT key, seen, sum, state FROM keys ORDER BY rowid"):
                yield self._checked(*row)

    def first(self, count: int) -> tuple[int, list[Row]]:
        """Bytes of the longest state of the first hundred (0 if there is none), and those of the
        first few that are whole.
        """
        with self._reading() as base:
            # The length within, or the states themselves would be read.
            (longest,) = base.execute(
                "SELECT max(size) FROM (SELECT length(state) AS size FROM keys LIMIT 100)"
            ).fetchone()
            found = base.execute(
                "SELECT key, seen, sum, state FROM keys LIMIT ?", (count,)
            ).fetchall()
        rows = [
            (Row(key, seen, state), checksum)
            for key, seen, checksum, state in found
            if _is_row(key, seen, state)
        ]
        return int(longest or 0), [row for row, checksum in rows if _sum(row) == checksum]

    def names(self, since: int) -> list[Key]:
        """Keys that have learned at this time or later, those first that joined first.

        Their states are not read.
        """
        with self._reading() as base:
            self._require_stamp(base)
            # The index of the keys has the number of the row too: the table itself is read only
            # where times matter.
            found = base.execute(
                "SELECT rowid, key FROM keys" + ("" if since == EVER else f" WHERE seen >= {since}")
            )
            return [key for _, key in sorted(found)]

    def write(self, about: Mapping[str, bytes], rows: Iterable[Row], *, since: int | None) -> None:
        """Save rows in one transaction: all of them, or none.

        Parameters
        ----------
        about
            What the keys share.
        rows
            Keys that are new or have learned; they take the place of their earlier states.
        since
            Keys that have not learned since are forgotten; none if ``EVER``. None to forget all:
            they are somebody else's.
        """
        os.makedirs(self.path, mode=0o700, exist_ok=True)  # states hold what they learned from
        with contextlib.suppress(OSError):  # it is there, or SQLite says what is wrong
            os.close(os.open(self.file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        stamp = secrets.token_hex(8)
        with self._connected(f"file:{_quoted(self.file)}?mode=rwc") as base:
            base.execute(f"PRAGMA page_size = {PAGE}")
            base.execute("PRAGMA synchronous = FULL")
            base.execute("BEGIN IMMEDIATE")
            try:
                if not self._is_made(base):
                    for statement in TABLES.strip().split(";\n"):
                        base.execute(statement)
                elif since is not None:
                    self._require_stamp(base)
                if since is None:
                    base.execute("DELETE FROM keys")
                    base.execute("DELETE FROM about")
                elif since != EVER:
                    base.execute("DELETE FROM keys WHERE seen < ?", (since,))
                base.executemany(
                    "INSERT INTO keys VALUES (?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET seen = "
                    "excluded.seen, sum = excluded.sum, state = excluded.state",
                    ((row.key, row.seen, _sum(row), row.state) for row in rows),
                )
                shared = {**about, "stamp": stamp.encode()}
                base.executemany("INSERT OR REPLACE INTO about VALUES (?, ?)", shared.items())
                base.execute("COMMIT")
            except BaseException:
                base.execute("ROLLBACK")
                raise
        self.stamp = stamp

    def _require_stamp(self, base: sqlite3.Connection) -> None:
        found = base.execute("SELECT value FROM about WHERE name = 'stamp'").fetchone()
        if found is None or found[0].decode() != self.stamp:
            raise CheckpointError(
                f"the keys in {self.path!r} were saved by somebody else since they were opened "
                "here. Load them again, or save to another folder."
            )

    def _checked(self, key: Key, seen: int, checksum: int, state: bytes) -> Row:
        if not _is_row(key, seen, state) or _sum(Row(key, seen, state)) != checksum:
            self._refuse(f"hold a state of key {key!r} that is damaged")
        return Row(key, seen, state)

    def _is_made(self, base: sqlite3.Connection) -> bool:
        (version,) = base.execute("PRAGMA user_version").fetchone()
        if version not in (0, FORMAT):
            self._refuse(
                f"have format {version}, and this version of swordplay reads {FORMAT}",
                "Go on with a newer version",
            )
        return bool(version)

    def _refuse(self, what: str, remedy: str = "Go back to a copy of the folder") -> NoReturn:
        raise CheckpointError(f"the keys in {self.path!r} {what}. {remedy}.")

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        if not os.path.isfile(self.file):
            raise CheckpointMissing(
                f"there are no keys in the folder {self.path!r}: it has no {FILE}. Check the "
                "path, or save some."
            )
        # A transaction that was cut short is rolled back by whoever opens the file next: that
        # writes.
        with self._connected(f"file:{_quoted(self.file)}?mode=rw") as base:
            if not self._is_made(base):
                raise CheckpointMissing(
                    f"there are no keys in the folder {self.path!r}: nothing was saved. Check the "
                    "path."
                )
            yield base

    @contextmanager
    def _connected(self, address: str) -> Iterator[sqlite3.Connection]:
        try:
            base = sqlite3.connect(address, uri=True, isolation_level=None, timeout=PATIENCE)
            try:
                yield base
            finally:
                base.close()
        except sqlite3.Error as error:
            raise CheckpointError(
                f"the keys in {self.path!r} could not be read or written: {error}. Give a folder "
                "that you may write to, with space left; if it is damaged, go back to a copy."
            ) from error


def _is_row(key: object, seen: object, state: object) -> bool:
    return type(key) in (str, int) and type(seen) is int and type(state) is bytes


def _sum(row: Row) -> int:
    return zlib.crc32(row.state, zlib.crc32(f"{row.key!r} {row.seen}".encode()))


def _quoted(path: str) -> str:
    from urllib.parse import quote

    return quote(os.path.abspath(path))
