"""What the arrays of a saved learner may hold.

Kernels take their arrays at their word: the number of experts is a place in memory, and a number that is not finite spoils
all others. So each number is looked at before a saved learner plays. Ranges are wide enough for every game that there is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from swordplay.base.state import COUNT, DAMAGED, Range, require
from swordplay.base.types import Matrix, Vector
from swordplay.engine import layout
from swordplay.engine.layout import CONFIG, LIVE
from swordplay.engine.recipe import Recipe

VAST = 1e160
"""Sums of squared gradients, each below 1e150, over as many rounds as anybody plays."""
SLACK = 1e-6
"""Of sums that are 1, and of points on the edge of their domain: rounding, also of what was kept in single precision."""
TINIEST = 1e-300
"""Squares below this have lost their digits."""
STEEPEST, LONGEST_SQUARE = 1e100, 1e151
"""Slopes of losses, and squares of the gradients that they make: rounds with squares beyond 1e150 are not played."""
SLOPES = Range(-STEEPEST, STEEPEST)
SIGNED, POSITIVE, SHARE = Range(-VAST, VAST), Range(0.0, VAST), Range(0.0, 1.0 + SLACK)

LIVE_RANGES = {
    "rounds": COUNT,
    "experts": Range(1.0, 2.0**16, whole=True),
    "prepared": Range(0.0, 1.0, whole=True),
    "last_norm": POSITIVE,
    "candidate": SLOPES,
    "trust": SHARE,
    "total": Range(0.0, 1e280),
    "level": POSITIVE,
    "rate": Range(0.0, np.inf),
    "norm": POSITIVE,
    "gap": POSITIVE,
    "refresh_at": COUNT,
    "entropy": Range(0.0, 1e3),
    "magnitude": POSITIVE,
    "weight": Range(0.0, 1e60),
}
"""Of ``live``; what is not named here is any number that is not vast. The total is one of squared losses: 1e240 for targets of
1e60."""
ROW_RANGES = {
    layout.STEP: Range(0.0, VAST),
    layout.EXTRA: Range(0.0, 1.0, whole=True),
    layout.LOG_PRIOR: Range(-1e3, 0.0),
    layout.WEIGHT: SHARE,
    layout.ENERGY: POSITIVE,
    layout.REPLAY: SLOPES,
    layout.LEAD: POSITIVE,
    layout.ETA: Range(0.0, np.inf),
    layout.SCALE: Range(1e-60, 1.0),
    layout.UNSCALE: Range(1.0, 1e60 * (1.0 + SLACK)),
    layout.NORM: POSITIVE,
    layout.ALPHA: SHARE,
}
"""Of each kind of number of an expert; the others are any numbers that are not vast."""
SCHEDULED = {"threshold": POSITIVE, "size": Range(0.0, 1e165), "diameter": Range(0.0, 2e165), "refresh": Range(1.0, 1e15, True)}
"""Settings that rounds bring with them."""


def require_sane(recipe: Recipe, frame: Matrix, saved: Mapping[str, Any], reach: float | None = None) -> None:
    """Refuse arrays that no game of this learner leads to; their shapes fit already.

    Parameters
    ----------
    recipe
        What the learner is made of.
    frame
        Centre (or lower corner) and upper corner of its domain, shape ``(2, d)``.
    saved
        The arrays, as ``Memory.compact_state`` gives them.
    reach
        On a ball, how far from the centre points may lie: a ball that shrank leaves them outside for a while; 0 if the next
        round is played on a point. The present size unless given.

    Raises
    ------
    ValueError
        Names the array, the number and where it stands.
    """
    live, rows, config = saved["live"], saved["rows"], saved["config"]
    for name, place in LIVE._asdict().items():
        require(f"live.{name}", live[place], LIVE_RANGES.get(name, SIGNED))
    for row in range(layout.ROWS):
        require(f"rows.{row}", rows[row], ROW_RANGES.get(row, SIGNED))
    for name, allowed in SCHEDULED.items():
        require(f"config.{name}", config[getattr(CONFIG, name)], allowed)
    for name in ("vectors", "coords"):
        require(name, saved[name], SIGNED)
    size, weights = config[CONFIG.size], rows[layout.WEIGHT]
    last = saved["vectors"][layout.LAST]
    steepest = max(abs(live[LIVE.candidate]), np.abs(rows[layout.REPLAY]).max())
    require("squared gradients", steepest * steepest * live[LIVE.last_norm], Range(0.0, LONGEST_SQUARE))
    _equal("config.diameter", config[CONFIG.diameter], config[CONFIG.diameter_per_size] * size)
    _equal("live.last_norm", live[LIVE.last_norm], last @ last)
    _equal("rows of weights", weights.sum(), 1.0)
    _equal("rows of scales", rows[layout.SCALE] * rows[layout.UNSCALE], 1.0)
    _equal("vectors of the domain", saved["vectors"][[layout.CENTER, layout.UPPER]], frame)
    losses = rows[layout.CUMULATIVE]
    if not abs(live[LIVE.smallest] - losses.min()) <= SLACK * np.abs(losses).max():
        raise ValueError(
            f"state['live.smallest'] must be the least loss {losses.min():g}, got {live[LIVE.smallest]:g}. {DAMAGED}"
        )
    _require_pool(recipe, live, rows)
    _require_inside(recipe, saved, size if reach is None else max(reach, size) if reach else 0.0)


def _equal(name: str, found: Any, wanted: Any) -> None:
    if not np.allclose(found, wanted, rtol=SLACK, atol=TINIEST):
        raise ValueError(f"state has {name} that do not follow from its other numbers. {DAMAGED}")


def _require_pool(recipe: Recipe, live: Vector, rows: Matrix) -> None:
    """The experts that a learner of this make has after so many rounds."""
    experts = int(live[LIVE.experts])
    if recipe.config[CONFIG.grows]:
        pairs = experts // 2
        least = 1 if live[LIVE.rounds] == 0 else 1 + 2 * live[LIVE.rounds]
        if experts % 2 or not 4.0 ** (pairs - 1) >= least or (pairs > 1 and 4.0 ** (pairs - 2) >= least):
            raise ValueError(f"state['live.experts'] is {experts} after {live[LIVE.rounds]:g} rounds. {DAMAGED}")
        steps, extra = np.repeat(0.5 * 2.0 ** np.arange(pairs), 2), np.tile([1.0, 0.0], pairs)
    else:
        steps, extra = recipe.steps, recipe.extra
        _equal("priors", rows[layout.LOG_PRIOR], np.log(recipe.prior))
        _equal("an entropy", live[LIVE.entropy], -np.log(recipe.prior.min()))
        if not recipe.config[CONFIG.adaptive]:
            _equal("steps", rows[layout.ETA], recipe.steps)
    _equal("step sizes", rows[layout.STEP], steps)
    _equal("kinds of experts", rows[layout.EXTRA], extra)


def _require_inside(recipe: Recipe, saved: Mapping[str, Any], reach: float) -> None:
    """Points within the domain."""
    rows, points = saved["rows"], saved["coords"].astype(np.float64)
    if not recipe.on_ball:
        if recipe.config[CONFIG.domain] == layout.BOX:
            inside = (points >= recipe.frame[0] - SLACK * reach) & (points <= recipe.frame[1] + SLACK * reach)
        else:
            inside = (points >= -SLACK * reach) & (abs(points.sum(axis=1, keepdims=True) - reach) <= SLACK * reach)
        farthest = 0.0 if inside.all() else np.inf
    else:
        last = saved["vectors"][layout.LAST]
        base = rows[layout.SCALE] * (points + np.multiply.outer(last, rows[layout.COEFFICIENT]))
        ahead = rows[layout.ALPHA] * base - np.multiply.outer(last, rows[layout.GAMMA])
        farthest = max(float(np.sqrt((where * where).sum(axis=0)).max()) for where in (base, ahead))
    if not farthest <= reach * (1.0 + SLACK):
        raise ValueError(f"state has points outside the domain. {DAMAGED}")
