"""What the saved state of a second-order layer may hold: kernels trust their numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from swordplay.base.state import DAMAGED, Range, require
from swordplay.base.types import State
from swordplay.estimators.tuning import LARGEST

VAST = 1e150
STEEPEST = 100.0
"""Waves run no faster, and begin no farther out: they are drawn far below, and cosines are only made of moderate angles."""
ANYTHING = Range(-VAST, VAST)
FARTHEST = 1e63
"""Targets are at most 1e60, scaled or not; their range reaches somewhat farther. Predictions are cut to it."""
ALLOWED = {
    "known": ANYTHING,
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
"""What a saved state may hold, by the name of its part; others are any numbers that are not vast."""


def check(saved: Mapping[str, Any], parts: Mapping[str, Any]) -> State:
    """The parts of a saved layer as arrays, in the shapes that are wanted.

    Raises
    ------
    ValueError
        If a part has another shape, or holds what no rows lead to.
    """
    from swordplay.engine.curved.layout import COUNT, SPREAD, WARM_UP

    answer: State = {}
    for name, part in parts.items():
        found = np.array(saved[name], dtype=np.float64)
        if found.shape != part.shape:
            raise ValueError(f"state[{'second.' + name!r}] must have shape {part.shape}, got {found.shape}. {DAMAGED}")
        require(f"second.{name}", found, ALLOWED.get(name.removeprefix("correcting_").removeprefix("bending_"), ANYTHING))
        answer[name] = found
    require("second.ends", np.diff(answer["ends"]), Range(0.0, 2.0 * FARTHEST))
    require("second.columns", answer["columns"][COUNT], Range(0.0, WARM_UP, whole=True))
    require("second.shapes", answer["shapes"][:, :2], Range(0.0, answer["columns"].shape[1] - 2.0, whole=True))
    require("second.shapes", answer["shapes"][:, 2:], Range(-STEEPEST, STEEPEST))
    require("second.columns", answer["columns"][SPREAD], Range(0.0, 2.0 * LARGEST))
    return answer
