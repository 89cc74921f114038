"""What a run tells while it is under way, and when it has ended."""

from __future__ import annotations

from typing import NamedTuple

from swordplay.application.tracking.trackers import AnyTracker
from swordplay.data.tables import Refusal


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
    """Over all runs of the job."""
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
