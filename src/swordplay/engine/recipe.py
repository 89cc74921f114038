"""From the parts of a learner to the numbers of the engine, or a reason why not."""

from __future__ import annotations

import math
from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np

from swordplay.core.arguments import short_repr
from swordplay.core.types import Matrix, Vector
from swordplay.engine import layout
from swordplay.engine.layout import SETTING
from swordplay.parts.domains import Ball, Box, Simplex
from swordplay.parts.experts import AdaGradNorm, Constant, OEGDExperts, OGDExperts
from swordplay.parts.metas import (
    Composition,
    LastGradientOptimism,
    LearnedOptimism,
    NullOptimism,
    VariationOptimism,
)
from swordplay.parts.rates import Doubling, Fixed, SelfConfident

LOSSES = {
    "squared": layout.SQUARED,
    "logistic": layout.LOGISTIC,
    "huber": layout.HUBER,
    "pinball": layout.PINBALL,
}
WITH_A_NUMBER = ("huber", "pinball")
"""Losses that have a threshold or a level."""

LARGEST_STEP = 1e60
"""Step sizes beyond this would overflow the engine's squares."""
REFRESH = 1024
"""Rounds after which the norms, updated by differences, are measured afresh: their error stays
near 1e-13.
"""
SMALLEST_SCALE = {np.dtype(np.float64): 1e-60, np.dtype(np.float32): 1e-12}
"""Lazy scales are renewed below this: entries grow as 1/scale, and their squares must not
overflow.
"""
LARGEST_EXPLICIT = 64
"""On a simplex or a box each expert's point is projected by itself: quicker than numpy up to
about here.
"""


class NotCompilable(ValueError):
    """The engine cannot play this learner; the readable one can."""


class Recipe(NamedTuple):
    """All that the engine needs to know of a learner."""

    config: Vector
    """The numbers of ``layout.SETTING``."""
    steps: Vector
    """Step sizes or multipliers of the experts that start, in the learner's order, shape
    ``(N,)``.
    """
    extra: Vector
    """1 for extra-gradient experts, 0 for gradient descent, shape ``(N,)``."""
    prior: Vector
    frame: Matrix
    """The centre and, for a box, the upper corner, shape ``(2, d)``."""
    on_ball: bool
    weighed: bool
    """Whether there is a meta."""
    rate: float
    """The meta's first rate."""
    level: float
    """Its first guess, where it guesses."""
    trust: float
    """The optimism's first trust."""
    keeps_dual_sum: bool
    """Whether S is kept (``certificate_sum``)."""


def recipe(
    parts: Composition, loss: str, threshold: float = 1.0, dtype: Any = np.float64
) -> Recipe:
    """Translate the parts of a learner.

    Raises
    ------
    NotCompilable
        If a part is not one that the engine knows.
    """
    if loss not in LOSSES:
        raise NotCompilable(
            f"loss must be one of {sorted(LOSSES)} for the engine, got {short_repr(loss)}."
        )
    config = np.zeros(len(SETTING))
    config[SETTING.loss], config[SETTING.decay] = LOSSES[loss], 1.0
    config[SETTING.threshold] = (
        threshold if loss in WITH_A_NUMBER else 1.0
    )  # else one make would look like two
    config[SETTING.diameter] = parts.domain.diameter
    config[SETTING.shared_gradient], config[SETTING.grows], config[SETTING.uses_domain_scale] = (
        parts.shared_gradient,
        parts.grows,
        parts.uses_domain_scale,
    )
    config[SETTING.refresh_rounds], config[SETTING.min_scale] = (
        REFRESH,
        SMALLEST_SCALE[np.dtype(dtype)],
    )
    if type(parts.domain) not in (Ball, Simplex, Box):
        raise _unknown_domain(parts.domain)  # a subclass may project as it likes
    frame, on_ball = _frame(parts.domain, config)
    config[SETTING.diameter_per_size] = config[SETTING.diameter] / config[SETTING.domain_size]
    steps, extra = _experts(parts, config)
    prior = (
        np.full(4, 0.25) if parts.uses_domain_scale else parts.prior
    )  # a capped expert has another one beside it from the start
    rate = parts.rate.start(parts.constants, float(-np.log(prior.min())))
    _rate(parts.rate, config, parts)
    _optimism(parts.optimism, config)
    config[SETTING.movement_charge] = parts.movement_charge
    _require_one_gradient(parts, config, bool(on_ball and extra.all()))
    trust = parts.optimism.start(1).trust
    return Recipe(
        config,
        steps,
        extra,
        prior,
        frame,
        on_ball,
        parts.has_meta,
        rate.value,
        rate.level,
        trust,
        parts.keeps_dual_sum,
    )


def _experts(parts: Composition, config: Vector) -> tuple[Vector, Vector]:
    steps, extra = [], []
    for kind in parts.experts:
        if not isinstance(kind, OGDExperts | OEGDExperts):
            raise NotCompilable(
                f"experts of type {type(kind).__name__} are not known to the engine."
            )
        sizes = _steps(kind.steps, config)
        steps.append(sizes)
        extra.append(np.full(len(sizes), float(isinstance(kind, OEGDExperts))))
    return np.concatenate(steps), np.concatenate(extra)


def _require_one_gradient(parts: Composition, config: Vector, fits: bool) -> None:
    """A meta that charges for moving, and a guess of the last gradient, are known together: as
    Sword++ on a ball has them.
    """
    charged = parts.movement_charge > 0.0
    if charged != (config[SETTING.optimism_rule] == layout.LAST) or (
        charged and (config[SETTING.adaptive_steps] or not parts.shared_gradient)
    ):
        raise NotCompilable(
            "charges for moving and the guess that the last gradient comes back are known to the "
            "engine together."
        )
    if charged and not fits:
        raise NotCompilable(
            "a meta that charges for moving is known to the engine on a Ball, over extra-gradient "
            "experts."
        )


@singledispatch
def _frame(domain: Any, config: Vector) -> tuple[Matrix, bool]:
    raise _unknown_domain(domain)


def _unknown_domain(domain: Any) -> NotCompilable:
    name = type(domain).__name__
    return NotCompilable(
        f"a domain of type {name} is not known to the engine: it plays on Ball, Simplex and Box."
    )


@_frame.register
def _(domain: Ball, config: Vector) -> tuple[Matrix, bool]:
    config[SETTING.domain_size], config[SETTING.has_center] = domain.radius, domain.center.any()
    return np.stack([domain.center, domain.center]), True


@_frame.register
def _(domain: Simplex, config: Vector) -> tuple[Matrix, bool]:
    _require_few(domain.dim)
    config[SETTING.domain], config[SETTING.domain_size] = layout.SIMPLEX, domain.total
    return np.stack([domain.center, domain.center]), False


@_frame.register
def _(domain: Box, config: Vector) -> tuple[Matrix, bool]:
    _require_few(domain.dim)
    config[SETTING.domain], config[SETTING.domain_size] = (
        layout.BOX,
        float(np.linalg.norm(np.maximum(abs(domain.lower), abs(domain.upper)))),
    )
    return np.stack([domain.lower, domain.upper]), False


def _require_few(dim: int) -> None:
    if dim > LARGEST_EXPLICIT:
        raise NotCompilable(
            f"domain has {dim} coordinates; off the ball the engine takes at most "
            f"{LARGEST_EXPLICIT}."
        )


@singledispatch
def _steps(steps: Any, config: Vector) -> Vector:
    raise NotCompilable(f"steps of type {type(steps).__name__} are not known to the engine.")


@_steps.register
def _(steps: Constant, config: Vector) -> Vector:
    if steps.step_sizes.max() > LARGEST_STEP:
        raise NotCompilable(
            f"a step size of {steps.step_sizes.max()} is beyond what the engine's squares can hold."
        )
    return steps.step_sizes


@_steps.register
def _(steps: AdaGradNorm, config: Vector) -> Vector:
    config[SETTING.adaptive_steps] = 1
    return np.array([0.5, 1.0]) if config[SETTING.uses_domain_scale] else np.full(1, 0.5)


@singledispatch
def _rate(rate: Any, config: Vector, parts: Composition) -> None:
    raise NotCompilable(
        f"a learning rate of type {type(rate).__name__} is not known to the engine."
    )


@_rate.register
def _(rate: Fixed, config: Vector, parts: Composition) -> None:
    config[SETTING.rate_rule] = layout.FIXED


@_rate.register
def _(rate: SelfConfident, config: Vector, parts: Composition) -> None:
    config[SETTING.rate_rule], config[SETTING.rate_factor], config[SETTING.rate_floor] = (
        layout.SELF_CONFIDENT,
        rate.factor,
        rate.floor,
    )
    config[SETTING.decay], config[SETTING.rate_cap] = (
        rate.decay,
        math.inf if rate.cap is None else rate.cap,
    )
    if rate.offset is None:
        config[SETTING.rate_offset] = (
            parts.constants.diameter * float(parts.constants.gradient_bound or 0.0)
        ) ** 2
    else:
        config[SETTING.rate_offset] = rate.offset


@_rate.register
def _(rate: Doubling, config: Vector, parts: Composition) -> None:
    config[SETTING.rate_rule], config[SETTING.rate_cap] = (
        layout.DOUBLING,
        math.inf if rate.cap is None else rate.cap,
    )


@singledispatch
def _optimism(optimism: Any, config: Vector) -> None:
    raise NotCompilable(f"optimism of type {type(optimism).__name__} is not known to the engine.")


@_optimism.register
def _(optimism: NullOptimism, config: Vector) -> None:
    config[SETTING.optimism_rule] = layout.NO_OPTIMISM


@_optimism.register
def _(optimism: VariationOptimism, config: Vector) -> None:
    config[SETTING.optimism_rule] = layout.REPLAYED


@_optimism.register
def _(optimism: LearnedOptimism, config: Vector) -> None:
    config[SETTING.optimism_rule], config[SETTING.trust_rate] = layout.LEARNED, optimism.rate


@_optimism.register
def _(optimism: LastGradientOptimism, config: Vector) -> None:
    config[SETTING.optimism_rule] = layout.LAST
