"""``SqliteStore``: the states of many keys in a folder, each readable without the others.

The folder holds one SQLite file. A row of its table is a key, the time when it learned last, its
state, and a checksum of these three; a second table holds what all keys share. A save is one
transaction, which writes the keys that have learned since the last save and nothing else: killed at
any moment, the folder holds what it held before or all of the new.
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
"""Version of the file."""
PAGE_BYTES = 512
"""The smallest page of SQLite: states of some thousand bytes share hardly any page, so that a save
writes little beside the keys that have learned, once to the journal and once to the file."""
BUSY_SECONDS = 60.0
"""How long to wait for another process that is saving."""
ALWAYS = -(2**63)
"""The time before all times."""
SAMPLE = 100
"""Keys whose longest state tells how large states are."""
Key = str | int
TABLES = (
    f"PRAGMA user_version = {FORMAT}",
    "CREATE TABLE about (name TEXT PRIMARY KEY, value BLOB NOT NULL)",
    "CREATE TABLE keys (key PRIMARY KEY NOT NULL, seen INTEGER NOT NULL, sum INTEGER NOT NULL, "
    "state BLOB NOT NULL)",
)


class StoredKey(NamedTuple):
    """One key."""

    key: Key
    seen: int
    """When it learned last."""
    state: bytes


@final
class SqliteStore:
    """The keys in a folder, and what they share.

    Parameters
    ----------
    path
        The folder.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        self.file = os.path.join(self.path, FILE)
        self.version_tag = ""
        """Changes with every save, so that a save by another process is noticed."""

    def open(self) -> dict[str, bytes]:
        """Return what the keys share, by name.

        Raises
        ------
        CheckpointMissing, CheckpointError
            If there are no keys, or they cannot be read.
        """
        with self._reading() as base:
            about = dict(base.execute("SELECT name, value FROM about"))
        self.version_tag = about.pop("stamp", b"").decode()
        return about

    def read(self, keys: Iterable[Key]) -> Iterator[StoredKey]:
        """Read the states of those of these keys that are in the folder."""
        with self._reading() as base:
            self._require_version_tag(base)
            for key in keys:
                for row in base.execute(
                    "SELECT key, seen, sum, state FROM keys WHERE key = ?", (key,)
                ):
                    yield self._checked(*row)

    def read_all(self) -> Iterator[StoredKey]:
        """Read the states of all keys, in the order in which they joined."""
        with self._reading() as base:
            self._require_version_tag(base)
            for row in base.execute("SELECT key, seen, sum, state FROM keys ORDER BY rowid"):
                yield self._checked(*row)

    def sample(self, count: int) -> tuple[int, list[StoredKey]]:
        """Read some keys, to check what the folder says about all of them.

        Returns
        -------
        longest
            Bytes of the longest of ``SAMPLE`` states; 0 if there is none.
        keys
            Those of the first ``count`` keys that are not damaged.
        """
        with self._reading() as base:
            # The lengths are computed by SQLite: the states themselves are not read.
            (longest,) = base.execute(
                f"SELECT max(size) FROM (SELECT length(state) AS size FROM keys LIMIT {SAMPLE})"
            ).fetchone()
            found = base.execute(
                "SELECT key, seen, sum, state FROM keys LIMIT ?", (count,)
            ).fetchall()
        rows = [
            (StoredKey(key, seen, state), checksum)
            for key, seen, checksum, state in found
            if _has_types(key, seen, state)
        ]
        return int(longest or 0), [row for row, checksum in rows if _checksum(row) == checksum]

    def keys(self, since: int) -> list[Key]:
        """The keys that have learned at this time or later, in the order in which they joined."""
        with self._reading() as base:
            self._require_version_tag(base)
            # The index over the keys holds the row numbers, too: the table is read only where
            # times matter.
            found = base.execute(
                "SELECT rowid, key FROM keys"
                + ("" if since == ALWAYS else f" WHERE seen >= {since}")
            )
            return [key for _, key in sorted(found)]

    def write(
        self, about: Mapping[str, bytes], rows: Iterable[StoredKey], *, since: int | None
    ) -> None:
        """Save keys in one transaction: all of them, or none.

        Parameters
        ----------
        about
            What the keys share.
        rows
            Keys that are new or have learned; they replace their earlier states.
        since
            Keys that have learned nothing since are deleted; none if ``ALWAYS``. None deletes all,
            which are those of another program.
        """
        os.makedirs(self.path, mode=0o700, exist_ok=True)  # states contain data of the rows
        with contextlib.suppress(OSError):  # if the file exists; SQLite reports all other reasons
            os.close(os.open(self.file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        version_tag = secrets.token_hex(8)
        with self._connected(f"file:{_quoted(self.file)}?mode=rwc") as base:
            base.execute(f"PRAGMA page_size = {PAGE_BYTES}")
            base.execute("PRAGMA synchronous = FULL")
            base.execute("BEGIN IMMEDIATE")
            try:
                if not self._has_tables(base):
                    for statement in TABLES:
                        base.execute(statement)
                elif since is not None:
                    self._require_version_tag(base)
                if since is None:
                    base.execute("DELETE FROM keys")
                    base.execute("DELETE FROM about")
                elif since != ALWAYS:
                    base.execute("DELETE FROM keys WHERE seen < ?", (since,))
                base.executemany(
                    "INSERT INTO keys VALUES (?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET seen = "
                    "excluded.seen, sum = excluded.sum, state = excluded.state",
                    ((row.key, row.seen, _checksum(row), row.state) for row in rows),
                )
                shared = {**about, "stamp": version_tag.encode()}
                base.executemany("INSERT OR REPLACE INTO about VALUES (?, ?)", shared.items())
                base.execute("COMMIT")
            except BaseException:
                base.execute("ROLLBACK")
                raise
        self.version_tag = version_tag

    def _require_version_tag(self, base: sqlite3.Connection) -> None:
        found = base.execute("SELECT value FROM about WHERE name = 'stamp'").fetchone()
        if found is None or found[0].decode() != self.version_tag:
            raise CheckpointError(
                f"the keys in {self.path!r} were saved by another program since they were opened "
                "here. Load them again, or save to another folder."
            )

    def _checked(self, key: Key, seen: int, checksum: int, state: bytes) -> StoredKey:
        if not _has_types(key, seen, state) or _checksum(StoredKey(key, seen, state)) != checksum:
            self._refuse(f"hold a state of key {key!r} that is damaged")
        return StoredKey(key, seen, state)

    def _has_tables(self, base: sqlite3.Connection) -> bool:
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
        # Opened for writing: the next reader rolls back a transaction that was cut short.
        with self._connected(f"file:{_quoted(self.file)}?mode=rw") as base:
            if not self._has_tables(base):
                raise CheckpointMissing(
                    f"there are no keys in the folder {self.path!r}: nothing was saved. Check the "
                    "path."
                )
            yield base

    @contextmanager
    def _connected(self, address: str) -> Iterator[sqlite3.Connection]:
        try:
            base = sqlite3.connect(address, uri=True, isolation_level=None, timeout=BUSY_SECONDS)
            try:
                yield base
            finally:
                base.close()
        except sqlite3.Error as error:
            raise CheckpointError(
                f"the keys in {self.path!r} could not be read or written: {error}. Give a folder "
                "that you may write to, with space left; if it is damaged, go back to a copy."
            ) from error


def _has_types(key: object, seen: object, state: object) -> bool:
    return type(key) in (str, int) and type(seen) is int and type(state) is bytes


def _checksum(row: StoredKey) -> int:
    return zlib.crc32(row.state, zlib.crc32(f"{row.key!r} {row.seen}".encode()))


def _quoted(path: str) -> str:
    from urllib.parse import quote

    return quote(os.path.abspath(path))
