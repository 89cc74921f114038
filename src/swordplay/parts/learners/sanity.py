"""What the entries of a saved learner may hold: a number that no game leads to would spoil all later ones."""

from __future__ import annotations

import math
from typing import Any

from swordplay.base.arguments import LARGEST_GRADIENT
from swordplay.base.state import COUNT, Range, flatten, require

VAST = 1e300
"""Products of the longest gradients with the largest domains, summed over many rounds."""
SIGNED, POSITIVE, SHARE = Range(-VAST, VAST), Range(0.0, VAST), Range(0.0, 1.0)
RANGES = {
    "rounds": COUNT,
    "energy": POSITIVE,
    "inverse_step": POSITIVE,
    "inverse_growth": POSITIVE,
    "inverse_largest": POSITIVE,
    "farthest": POSITIVE,
    "turning": POSITIVE,
    "pull": POSITIVE,
    "log_prior": Range(-1e3, 0.0),
    "cumulative": POSITIVE,
    "weights": SHARE,
    "replay": Range(-LARGEST_GRADIENT, LARGEST_GRADIENT),
    "candidate": Range(-LARGEST_GRADIENT, LARGEST_GRADIENT),
    "total": POSITIVE,
    "level": POSITIVE,
    "value": Range(0.0, math.inf),
    "trust": SHARE,
    "magnitude": POSITIVE,
    "magnitudes": POSITIVE,
    "members": COUNT,
    "passed": POSITIVE,
    "late": COUNT,
    "squares": POSITIVE,
    "posterior": SHARE,
    "rates": Range(0.0, 0.5),
    "unit": POSITIVE,
    "smoothness": Range(0.0, math.inf),
    "span": Range(0.0, math.inf),
}
"""By the last part of an entry's name; others are any numbers that are not vast."""


def require_ranges(state: Any) -> None:
    """Refuse a number outside its range, in words.

    Parameters
    ----------
    state
        The named tuple of a learner.
    """
    for name, value in flatten(state).items():
        require(name, value, RANGES.get(name.rpartition(".")[2], SIGNED))
