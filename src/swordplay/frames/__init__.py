"""``swordplay.track``: what the command does, from Python, on data frames and files."""

from swordplay.extras import needing as _needing

with _needing("swordplay.track", "cli", "pyarrow"):
    from swordplay.frames.result import TrackResult
    from swordplay.frames.track import track

__all__ = ["TrackResult", "track"]
