"""What the live page shows, once a second, as server-sent events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from swordplay.serving import learning, replies
from swordplay.serving.keeper import Keeper
from swordplay.serving.series import Series

INTERVAL = 1.0
"""Seconds between two events."""
QUIET = 15
"""Intervals without news after which a line is sent all the same, so that nobody on the way
takes the connection for dead.
"""


def picture(keeper: Keeper, model: str, key: str) -> dict[str, Any]:
    """All that the page shows of one series; little, if there is no such series yet."""
    names = [
        {"model": name, "key": key, "target": keeper.models.kinds[name]}
        for name, key in keeper.models.series
    ]
    series = keeper.models.series.get((model, key))
    about = {"event": keeper.number, "series": names, "model": model, "key": key}
    return about if series is None else about | {"now": told(series)}


def told(series: Series) -> dict[str, Any]:
    """Figures of a series, its course and its last rows."""
    watch = series.watch
    return {
        "target": series.kind,
        "asks": watch.asks,
        "tells": watch.tells,
        "drops": watch.drops,
        "pending": len(series.pending),
        "recent": watch.now(),
        "ever": watch.ever(),
        "step_size": learning.step_size(series.late),
        "points": watch.points,
        "last": watch.last(),
    }


async def stream(keeper: Keeper, model: str, key: str, stop: asyncio.Event) -> AsyncIterator[bytes]:
    """Pictures while anything changes, as a browser's ``EventSource`` reads them, until the
    server stops.
    """
    before, quiet = -1, 0
    while not stop.is_set():
        wanted = (model, key) if model else next(iter(keeper.models.series), ("", ""))
        if keeper.number != before or quiet >= QUIET:
            before, quiet = keeper.number, 0
            yield b"retry: 1000\ndata: " + replies.body(picture(keeper, *wanted)) + b"\n\n"
        quiet += 1
        try:
            async with asyncio.timeout(INTERVAL):
                await stop.wait()
        except TimeoutError:
            pass
    yield b"event: stopped\ndata: {}\n\n"
