"""``swordplay.track``: what the command does, from Python, on data frames and files."""

from swordplay.core.extras import needing as _needing

with _needing("swordplay.track", "cli", "pyarrow"):
    from swordplay.api.result import TrackResult
    from swordplay.api.track import track

__all__ = ["TrackResult", "track"]
