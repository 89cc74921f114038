"""``swordplay.track``: what the command does, from Python, on data frames and files."""

from swordplay.base.extras import needing as _needing

with _needing("swordplay.track", "cli", "pyarrow"):
    from swordplay.application.frames.result import TrackResult
    from swordplay.application.frames.track import track

__all__ = ["TrackResult", "track"]
