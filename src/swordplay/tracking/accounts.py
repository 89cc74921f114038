"""What a run tells while it is under way, and when it has ended."""

from __future__ import annotations

from typing import NamedTuple

from swordplay.tables import Position, Refusal, Table
from swordplay.tracking.trackers import AnyTracker


class Progress(NamedTuple):
    """How far a run is."""

    tracker: AnyTracker
    rows: int
    """Rows of the input that are done,"""
    share: float | None
    """and how much of it that is, from 0 to 1, where that is known."""
    refused: int
    resumed: int
    """Rows that an earlier run had done."""
    remarks: tuple[str, ...]
    """What was noticed about the input; more may come."""
    refusals: tuple[Refusal, ...]
    """The first few rows that were refused."""


class Outcome(NamedTuple):
    """How a run ended."""

    tracker: AnyTracker
    refused: int
    seconds: float
    """Over all runs of the job, without those that went by while kernels were compiled."""
    remarks: tuple[str, ...]
    """What was noticed about the input."""
    resumed: int
    """Rows that an earlier run had done."""
    news: int
    """Rows done by this one."""
    stopped: bool
    """Whether it was told to stop before the end."""
    refusals: tuple[Refusal, ...] = ()
    """The first few rows that were refused."""
    partial: str | None = None
    """Where the predictions are that a stopped run without a state has left."""
    compiling: float = 0.0
    """Seconds that went by while kernels were compiled, which the first run of an installation
    has to do.
    """


def share_done(
    table: Table, at: Position | None, ahead: Position | None, rows: int
) -> float | None:
    """How much of a table is learned, from 0 to 1; None where nobody knows.

    Parameters
    ----------
    table
        What is read.
    at
        The end of the last batch that is done.
    ahead
        The end of the batch that is under way, if one is: its rows are taken for equally long.
    rows
        Rows that are done.
    """
    share = None if at is None else table.share(at)
    if at is None or ahead is None or share is None:
        return share
    beyond = table.share(ahead)
    return share + ((beyond or share) - share) * (rows - at.row) / max(ahead.row - at.row, 1)
