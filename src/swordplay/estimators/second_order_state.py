"""What the saved state of a second-order layer may hold: kernels trust their numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from swordplay.core.state import DAMAGED, Field, check
from swordplay.core.types import State
from swordplay.estimators.tuning import LARGEST

VAST = 1e150
LARGEST_FACTOR = 1e100
"""Of the entries of a triangular factor: what is learned on top of one that large can still be
saved.
"""
STEEPEST = 100.0
"""Waves run no faster, and begin no farther out: they are drawn far below, and cosines are only
made of moderate angles.
"""
SLOWEST = 1000.0
"""Rounds from one that is learned to the next: no curve waits longer."""
ANYTHING = Field(-VAST, VAST)
FARTHEST = 1e63
"""Targets are at most 1e60, scaled or not; their range reaches somewhat farther.

Predictions are cut to it.
"""
ALLOWED = {
    "known": ANYTHING,
    "factors": Field(-LARGEST_FACTOR, LARGEST_FACTOR),
    "recent": Field(
        -2.0 * FARTHEST, 2.0 * FARTHEST
    ),  # targets, and by how much the last one was missed
    "ends": Field(-FARTHEST, FARTHEST),
    "columns": Field(-LARGEST, 2.0 * LARGEST),
    "behind": Field(0.0, 14.0),
    "top_behind": Field(0.0, 14.0),
    "sums": Field(0.0, np.inf),
    "top_sums": Field(0.0, np.inf),
    "variances": Field(0.0, 1.0),
    "discounts": Field(0.5, 1.0),
    "residuals": Field(0.0, VAST),
}
"""What a saved state may hold, by the name of its part.

Others are any numbers that are not vast.
"""


def checked_parts(saved: Mapping[str, Any], parts: Mapping[str, Any]) -> State:
    """The parts of a saved layer as arrays, in the shapes that are wanted.

    Raises
    ------
    ValueError
        If a part has another shape, or holds what no rows lead to.
    """
    from swordplay.engine.curved.columns import LEAST_SPREAD
    from swordplay.engine.curved.layout import COUNT, KNOWN, SPREAD, WARM_UP

    answer: State = {}
    for name, part in parts.items():
        found = np.array(saved[name], dtype=np.float64)
        if found.shape != part.shape:
            raise ValueError(
                f"state[{'second.' + name!r}] must have shape {part.shape}, got {found.shape}. "
                f"{DAMAGED}"
            )
        check(
            f"second.{name}",
            found,
            ALLOWED.get(name.removeprefix("correcting_").removeprefix("bending_"), ANYTHING),
        )
        answer[name] = found
    check("second.ends", np.diff(answer["ends"]), Field(0.0, 2.0 * FARTHEST))
    check("second.columns", answer["columns"][COUNT], Field(0.0, WARM_UP, whole=True))
    check(
        "second.shapes",
        answer["shapes"][:, :2],
        Field(0.0, answer["columns"].shape[1] - 2.0, whole=True),
    )
    check("second.shapes", answer["shapes"][:, 2:], Field(-STEEPEST, STEEPEST))
    check("second.known", answer["known"][KNOWN.pace :], Field(1.0, SLOWEST, whole=True))
    spreads = answer["columns"][SPREAD]
    check("second.columns", spreads[spreads != 0.0], Field(LEAST_SPREAD, 2.0 * LARGEST))
    return answer
