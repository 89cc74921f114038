"""Checks of the numbers of a saved learner, before kernels compute with them.

The number of experts is used as an index of memory, and a number that is not finite would spread to
all others. Ranges of single numbers are declared in ``layout``; here are the rules over several.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from swordplay.core.state import DAMAGED, Field, check
from swordplay.core.types import Matrix, Vector
from swordplay.engine.layout import (
    BOX,
    CONFIG,
    EXPERT,
    LIVE,
    SLACK,
    VAST,
    fields,
    kept_names,
)
from swordplay.engine.recipe import Recipe
from swordplay.engine.saved import Numbers
from swordplay.parts.experts.step_sizes import AVERAGED_ROUNDS

TINIEST = 1e-300
"""Squares below this have lost their digits."""
LONGEST_SQUARE = 1e151
"""Squares of gradients of saved learners: rounds with squares beyond 1e150 are not played."""
SIGNED = Field(-VAST, VAST)
ROW, HEADINGS = Field(-1e81, 1e81), Field(-1e79, 1e79)
"""Entries of rows, and of S of a certificate: their squares are summed, and the sums are at most
``VAST``.
"""
MOST_EXPERTS = 128
"""Of a pool that grows: one that has played for 2^53 rounds has 56."""


def range_of(places: Any, name: str) -> Field:
    """The declared range of a number of ``EXPERT``, ``LIVE`` or ``CONFIG``."""
    number = fields(places)[name]
    return Field(number.low, number.high, number.whole)


def round_range(name: str) -> Field:
    """The declared range of a number that changes each round."""
    return range_of(LIVE, name)


def expert_range(name: str) -> Field:
    """The declared range of a number of an expert."""
    return range_of(EXPERT, name)


def require_sane(recipe: Recipe, frame: Matrix, saved: Numbers, reach: float | None = None) -> None:
    """Refuse numbers that no game of this learner leads to; their shapes fit already.

    Parameters
    ----------
    recipe
        What the learner is made of.
    frame
        Centre (or lower corner) and upper corner of its domain, shape ``(2, d)``.
    saved
        What was read.
    reach
        On a ball, how far from the centre points may lie: a ball that shrank leaves them outside
        for a while; 0 if the next round is played on a point. The present size unless given.

    Raises
    ------
    ValueError
        Names the number and where it stands.
    """
    experts, now, settings = saved.experts, saved.round, saved.settings
    for name in kept_names(LIVE):
        check(f"round.{name}", now[name], range_of(LIVE, name))
    for name in kept_names(EXPERT):
        check(f"experts.{name}", experts[name], range_of(EXPERT, name))
    for name in kept_names(CONFIG):
        check(f"settings.{name}", settings[name], range_of(CONFIG, name))
    check("last", saved.last, ROW)
    for name, values, allowed in (
        ("points", saved.points, SIGNED),
        ("heading", saved.heading, HEADINGS),
    ):
        if values is not None:
            check(name, values, allowed)
    size = settings["size"]
    steepest = float(max(abs(now["candidate"]), np.abs(experts["replay"]).max()))
    check(
        "squared gradients",
        steepest * steepest * float(now["last_norm"]),
        Field(0.0, LONGEST_SQUARE),
    )
    if settings["capped"] == 1.0:
        _require_gauge(now, experts["energy"])
    # A guess that is doubled never falls below the first one; other levels begin at 0.
    check("round.level", now["level"], Field(recipe.level * (1.0 - SLACK), VAST))
    _equal("a diameter", settings["diameter"], recipe.config[CONFIG.diameter_per_size] * size)
    _equal("a norm of the last row", now["last_norm"], saved.last @ saved.last)
    _equal("weights", experts["weight"].sum(), 1.0)
    _equal("corners of the domain", saved.frame, frame)
    losses = experts["cumulative"]
    if not abs(now["smallest"] - losses.min()) <= SLACK * np.abs(losses).max():
        raise ValueError(
            f"state['smallest'] must be the least loss {losses.min():g}, got {now['smallest']:g}. "
            f"{DAMAGED}"
        )
    _require_pool(recipe, now["rounds"], experts, settings["capped"] == 1.0)
    _require_inside(recipe, saved, size if reach is None else max(reach, size) if reach else 0.0)


def _equal(name: str, found: Any, wanted: Any) -> None:
    with np.errstate(all="ignore"):
        right = np.abs(found - wanted) <= TINIEST + SLACK * np.abs(wanted)
    if not right.all():
        raise ValueError(f"state has {name} that do not follow from its other numbers. {DAMAGED}")


def _require_gauge(now: Mapping[str, float], energy: Vector) -> None:
    """What was measured leads to steps that are numbers: 1 / eta is 2 L m for the capped,
    root(energy) / (c W) for others.
    """
    rho, span = max(1.0, float(now["caution"])), float(now["span"])
    most = VAST / (2.0 * max(rho, AVERAGED_ROUNDS, float(now["patience"])))
    check("round.smoothness", now["smoothness"], Field(0.0, most))
    if span != 0.0:
        least = 2.0 * rho**2 * math.sqrt(max(1.0, float(energy.max()))) / VAST
        check("round.span", span, Field(least, math.inf))


def _require_pool(recipe: Recipe, rounds: float, saved: dict[str, Vector], capped: bool) -> None:
    """The experts that a learner of this make has after so many rounds.

    Two of each kind from the start if one is capped.
    """
    experts, steps = len(saved["weight"]), recipe.steps
    if recipe.config[CONFIG.grows]:
        pairs = experts // 2
        least = (4 if capped else 1) if rounds == 0 else 1 + 2 * rounds
        if (
            experts % 2
            or experts > MOST_EXPERTS
            or 4.0 ** (pairs - 1) < least
            or (pairs > 1 and 4.0 ** (pairs - 2) >= least)
        ):
            raise ValueError(f"state has {experts} experts after {rounds:g} rounds. {DAMAGED}")
        steps = np.repeat(0.5 * 2.0 ** np.arange(pairs), 2)
    else:
        _equal("priors", saved["log_prior"], np.log(recipe.prior))
    _equal("step sizes", saved["step"], steps)


def _require_inside(recipe: Recipe, saved: Numbers, reach: float) -> None:
    """Points within the domain."""
    experts, points = saved.experts, saved.points.astype(np.float64)
    if not recipe.on_ball:
        if recipe.config[CONFIG.domain] == BOX:
            inside = (points >= recipe.frame[0] - SLACK * reach) & (
                points <= recipe.frame[1] + SLACK * reach
            )
        else:
            inside = (points >= -SLACK * reach) & (
                abs(points.sum(axis=1, keepdims=True) - reach) <= SLACK * reach
            )
        farthest = 0.0 if inside.all() else np.inf
    else:
        with np.errstate(
            over="ignore", invalid="ignore"
        ):  # points whose squares are no numbers lie outside
            base = experts["scale"] * (
                points + np.multiply.outer(saved.last, experts["coefficient"])
            )
            ahead = experts["alpha"] * base - np.multiply.outer(saved.last, experts["gamma"])
            farthest = float(
                np.sqrt([(where * where).sum(axis=0) for where in (base, ahead)]).max()
            )
    if not farthest <= reach * (1.0 + SLACK):
        raise ValueError(f"state has points outside the domain. {DAMAGED}")
