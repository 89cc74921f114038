"""What cannot be tracked, and what to do about it."""

from __future__ import annotations


class TrackingError(ValueError):
    """A table, an option or a state that does not go together with the others; says which, why, and the remedy."""
