"""How much a server takes on: every number that keeps a client, or many, from using up the
machine.
"""

from __future__ import annotations

from typing import NamedTuple

LONGEST_NAME = 200
"""Letters of an id, of a key, of a column's name or of a label."""
LONGEST_MODEL = 64
"""Letters of a model's name."""


class Limits(NamedTuple):
    """What is refused beyond; each is an option of ``swordplay serve``, or stands as it is."""

    body: int = 16 * 2**20
    """Bytes of a request."""
    rows: int = 10_000
    """Rows of a request."""
    columns: int = 1_000
    """Names in a row."""
    series_columns: int = 10_000
    """Columns of a series: a number has one, a date six, a text one for each of its words (51 at
    the most).
    """
    all_columns: int = 500_000
    """Columns of all series together; each takes about 1 to 4 kB of memory."""
    cells: int = 3_000_000
    """Rows of a request times the columns of their series: what is computed for them takes about
    0.1 to 0.3 us each.
    """
    pending: int = 100_000
    """Tickets of a series that wait for their answer."""
    models: int = 100
    """Models of a server."""
    series: int = 1_000
    """Series of a server: models, and the keys within them."""
    remembered: int = 50_000
    """Answered tickets of a server that a repeated request is still recognised by: the newest."""
    waiting: int = 256 * 2**20
    """Bytes of requests that are being read or wait for the disk."""
    connections: int = 1_000
    """Open at once; further ones are answered 503."""
    watchers: int = 50
    """Live pages open at once."""
    seconds: float = 20.0
    """Until the head of a request has to be there, then its body, and until an answer has to be
    taken.
    """
    idle: float = 75.0
    """Seconds that a connection may stay open without a request."""
    behind: int = 20_000
    """Events after which a checkpoint is saved: so many are done again after a crash, at the
    most.
    """
    log: int = 0
    """Bytes of the log of events; 0 for as much as the disk holds."""


UNLIMITED = Limits(rows=2**31, columns=2**31)
"""For events that were accepted: a server may be started with other limits later."""


class Bounds(NamedTuple):
    """The limits that decide what becomes of an event: part of the models' state, so that a log
    means the same for ever.
    """

    pending: int = Limits().pending
    models: int = Limits().models
    series: int = Limits().series
    remembered: int = Limits().remembered
    columns: int = Limits().series_columns
    all_columns: int = Limits().all_columns
    cells: int = Limits().cells


def bounds(limits: Limits) -> Bounds:
    """Those among the limits of a server."""
    return Bounds(
        limits.pending,
        limits.models,
        limits.series,
        limits.remembered,
        limits.series_columns,
        limits.all_columns,
        limits.cells,
    )
