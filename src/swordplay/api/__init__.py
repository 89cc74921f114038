"""``swordplay.track``: what the command does, from Python, on data frames and files."""

from swordplay.core.extras import require_extra as _require_extra

with _require_extra("swordplay.track", "cli", "pyarrow"):
    from swordplay.api.result import TrackResult
    from swordplay.api.track import track

__all__ = ["TrackResult", "track"]
