"""A tracker for a table: of one series, or of many that are told apart by a key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from swordplay.application.tracking.keyed import KeyedTracker
from swordplay.application.tracking.settings import Settings
from swordplay.application.tracking.tracker import Tracker

AnyTracker = Tracker | KeyedTracker


def begin(settings: Settings, head: Any) -> AnyTracker:
    """A tracker of a table that begins with these rows, a pyarrow record batch."""
    return KeyedTracker.begin(settings, head) if settings.key else Tracker.begin(settings, head)


def resumed(saved: Mapping[str, Any]) -> AnyTracker:
    """The tracker that was saved, bit by bit."""
    return KeyedTracker.resumed(saved) if "keys" in saved else Tracker.resumed(saved)
