"""A state as bytes and as a file: what was saved comes back bit by bit, or not at all.

No pickle and no code on load; any change to the bytes is an error; a file is replaced whole or not
at all.
"""

from swordplay.core.checkpoint.encoding import (
    FORMAT,
    CheckpointError,
    CheckpointMissing,
    dumps,
    loads,
)
from swordplay.core.checkpoint.files import load, save

__all__ = ["FORMAT", "CheckpointError", "CheckpointMissing", "dumps", "load", "loads", "save"]
