"""Limits of a server: the sizes that keep one client, or many, from exhausting the machine."""

from __future__ import annotations

from typing import NamedTuple, Self

MAX_NAME_LENGTH = 200
"""Characters of an id, of a key, of a column's name or of a label."""
MAX_MODEL_NAME_LENGTH = 64
"""Characters."""


class Limits(NamedTuple):
    """Limits of a server; most are options of ``swordplay serve``."""

    body: int = 16 * 2**20
    """Bytes of a request."""
    rows: int = 10_000
    """Rows of a request."""
    columns: int = 1_000
    """Names in a row."""
    series_columns: int = 10_000
    """Columns of a series: one for a number, six for a date, at most 51 for a text."""
    all_columns: int = 500_000
    """Columns of all series together; each takes about 1 to 4 kB of memory."""
    cells: int = 3_000_000
    """Rows of a request times the columns of their series; each takes about 0.1 to 0.3 us."""
    pending: int = 100_000
    """Pending tickets of a series."""
    models: int = 100
    """Models of a server."""
    series: int = 1_000
    """Series of a server; each model has one for each key."""
    remembered: int = 50_000
    """Answered tickets that a server keeps to recognise repeated requests."""
    waiting: int = 256 * 2**20
    """Bytes of all requests that are being received or wait for the disk."""
    connections: int = 1_000
    """Open connections; further ones are answered with 503."""
    watchers: int = 50
    """Open live pages."""
    seconds: float = 20.0
    """Time for a client to send the head of a request, to send its body, and to read a response."""
    idle: float = 75.0
    """Seconds that a connection may stay open without a request."""
    behind: int = 20_000
    """Events after which a checkpoint is saved: at most so many are replayed after a crash."""
    log: int = 0
    """Bytes of the event log; 0 for no limit."""


UNLIMITED = Limits(rows=2**31, columns=2**31)
"""Limits for events that were accepted: a server may be restarted with lower ones."""


class Bounds(NamedTuple):
    """Those of the limits that decide whether an event is accepted.

    They are part of the state of the models, and an event changes them: so a log always leads to
    the same models, whatever the limits are when it is replayed.
    """

    pending: int = Limits().pending
    models: int = Limits().models
    series: int = Limits().series
    remembered: int = Limits().remembered
    columns: int = Limits().series_columns
    all_columns: int = Limits().all_columns
    cells: int = Limits().cells

    @classmethod
    def of(cls, limits: Limits) -> Self:
        """The bounds among the limits of a server."""
        return cls(
            limits.pending,
            limits.models,
            limits.series,
            limits.remembered,
            limits.series_columns,
            limits.all_columns,
            limits.cells,
        )
