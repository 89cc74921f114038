"""Make or resume the tracker of a table: of one series, or of one series for each key."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

from swordplay.tracking.bulk import BulkTracker, fits
from swordplay.tracking.keyed import KeyedTracker
from swordplay.tracking.settings import Settings
from swordplay.tracking.tracker import Tracker

AnyTracker = Tracker | KeyedTracker | BulkTracker


def begin(settings: Settings, head: Any) -> AnyTracker:
    """Make the tracker of a table from its first rows, a pyarrow record batch."""
    if not settings.key:
        return Tracker.begin(settings, head)
    keyed = KeyedTracker.begin(settings, head)
    return BulkTracker(keyed) if fits(keyed) else keyed


def resumed(saved: Mapping[str, Any]) -> AnyTracker:
    """Restore a tracker from its state; it goes on bit for bit as the saved one would have."""
    if "bulk.keys" in saved:
        return BulkTracker.resumed(saved)
    return KeyedTracker.resumed(saved) if "keys" in saved else Tracker.resumed(saved)


def prepare(settings: Settings) -> None:
    """Import the kernels that the first rows need, while these rows are still being read."""
    for name in (
        () if settings.key else ("ladder", *(("curved.rounds",) if settings.curves else ()))
    ):
        importlib.import_module(f"swordplay.engine.{name}")
