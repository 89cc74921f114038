"""A tracker for a table: of one series, of many that are told apart by a key, or of rows that
come twice.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

from swordplay.tracking.bulk import BulkTracker, fits
from swordplay.tracking.keyed import KeyedTracker
from swordplay.tracking.settings import Settings
from swordplay.tracking.tracker import Tracker
from swordplay.tracking.twice import TwiceTracker

AnyTracker = Tracker | KeyedTracker | BulkTracker | TwiceTracker


def begin(settings: Settings, head: Any) -> AnyTracker:
    """A tracker of a table that begins with these rows, a pyarrow record batch."""
    if settings.twice:
        return TwiceTracker.begin(settings, head)
    if not settings.key:
        return Tracker.begin(settings, head)
    keyed = KeyedTracker.begin(settings, head)
    return BulkTracker(keyed) if fits(keyed) else keyed


def resumed(saved: Mapping[str, Any]) -> AnyTracker:
    """The tracker that was saved, bit by bit."""
    if "twice" in saved:
        return TwiceTracker.resumed(saved)
    if "bulk.keys" in saved:
        return BulkTracker.resumed(saved)
    return KeyedTracker.resumed(saved) if "keys" in saved else Tracker.resumed(saved)


def prepare(settings: Settings) -> None:
    """Import what the first rows need in any case: whoever does so while they are read need not
    do it afterwards.
    """
    for name in (
        () if settings.key else ("ladder", *(("curved.rounds",) if settings.curves else ()))
    ):
        importlib.import_module(f"swordplay.engine.{name}")
