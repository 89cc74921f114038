"""``swordplay.track``: what the command does, from Python, on data frames and files."""

from swordplay.frames.result import TrackResult
from swordplay.frames.track import track

__all__ = ["TrackResult", "track"]
