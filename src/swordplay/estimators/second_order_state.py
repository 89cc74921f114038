"""What the saved state of a second-order layer may hold: kernels trust their numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from swordplay.core.state import DAMAGED, Range, require
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
ANYTHING = Range(-VAST, VAST)
FARTHEST = 1e63
"""Targets are at most 1e60, scaled or not; their range reaches somewhat farther.

Predictions are cut to it.
"""
ALLOWED = {
    "known": ANYTHING,
    "factors": Range(-LARGEST_FACTOR, LARGEST_FACTOR),
    "recent": Range(
        -2.0 * FARTHEST, 2.0 * FARTHEST
    ),  # targets, and by how much the last one was missed
    "ends": Range(-FARTHEST, FARTHEST),
    "columns": Range(-LARGEST, 2.0 * LARGEST),
    "behind": Range(0.0, 14.0),
    "top_behind": Range(0.0, 14.0),
    "sums": Range(0.0, np.inf),
    "top_sums": Range(0.0, np.inf),
    "variances": Range(0.0, 1.0),
    "discounts": Range(0.5, 1.0),
    "residuals": Range(0.0, VAST),
}
"""What a saved state may hold, by the name of its part.

Others are any numbers that are not vast.
"""


def check(saved: Mapping[str, Any], parts: Mapping[str, Any]) -> State:
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
        require(
            f"second.{name}",
            found,
            ALLOWED.get(name.removeprefix("correcting_").removeprefix("bending_"), ANYTHING),
        )
        answer[name] = found
    require("second.ends", np.diff(answer["ends"]), Range(0.0, 2.0 * FARTHEST))
    require("second.columns", answer["columns"][COUNT], Range(0.0, WARM_UP, whole=True))
    require(
        "second.shapes",
        answer["shapes"][:, :2],
        Range(0.0, answer["columns"].shape[1] - 2.0, whole=True),
    )
    require("second.shapes", answer["shapes"][:, 2:], Range(-STEEPEST, STEEPEST))
    require("second.known", answer["known"][KNOWN.pace :], Range(1.0, SLOWEST, whole=True))
    spreads = answer["columns"][SPREAD]
    require("second.columns", spreads[spreads != 0.0], Range(LEAST_SPREAD, 2.0 * LARGEST))
    return answer
