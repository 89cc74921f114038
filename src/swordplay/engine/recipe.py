"""Translation of a learner's parts into settings of the engine, or why it cannot play them."""

from __future__ import annotations

import math
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
"""Values of ``SETTING.loss`` by the names of the losses."""
LOSSES_WITH_PARAMETER = ("huber", "pinball")
"""Losses that have a threshold or a level."""

LARGEST_STEP = 1e60
"""Largest step size: squares of larger ones would overflow."""
REFRESH_ROUNDS = 1024
"""Rounds between two computations of the norms from the coordinates.

In between, norms are updated by differences; their error stays near 1e-13.
"""
MIN_SCALE = {np.dtype(np.float64): 1e-60, np.dtype(np.float32): 1e-12}
"""Scales are brought back to 1 below this: coordinates are divided by the scale, and their squares
must not overflow."""
LARGEST_EXPLICIT = 64
"""Largest dimension of a simplex or box.

Up to about this, projecting one point after the other is faster than numpy.
"""

SettingValues = dict[str, float]
"""Values of some fields of ``layout.SETTING`` by name."""


class NotCompilable(ValueError):
    """The engine cannot play this learner; the readable learner can."""


class Recipe(NamedTuple):
    """Everything that the engine needs to know of a learner."""

    settings: Vector
    """The numbers of ``layout.SETTING``."""
    step_sizes: Vector
    """Step sizes or multipliers of the first experts, in the learner's order, shape ``(N,)``."""
    extra_gradient: Vector
    """1 for extra-gradient experts, 0 for gradient descent, shape ``(N,)``."""
    prior: Vector
    """Weights before the first round, shape ``(N,)``."""
    frame: Matrix
    """Lower and upper corner of a box; for other domains the centre, twice; shape ``(2, d)``."""
    on_ball: bool
    """Whether the domain is a ball."""
    has_meta: bool
    """Whether a meta weighs the experts; False for a learner with one expert."""
    learning_rate: float
    """Learning rate of the meta in the first round."""
    rate_level: float
    """First guess of a doubling rate, else 0."""
    trust: float
    """Trust of the optimism in the first round."""
    keeps_dual_sum: bool
    """Whether the dual sum S is kept (``dual_sum``)."""


def recipe(
    parts: Composition, loss: str, threshold: float = 1.0, dtype: Any = np.float64
) -> Recipe:
    """Translate the parts of a learner.

    Parameters
    ----------
    parts
        What the learner is made of.
    loss
        ``"squared"``, ``"logistic"``, ``"huber"`` or ``"pinball"``.
    threshold
        Of the Huber loss, or the level of the pinball loss.
    dtype
        Of the coordinates.

    Raises
    ------
    NotCompilable
        If a part is not one that the engine knows.
    """
    if loss not in LOSSES:
        raise NotCompilable(
            f"loss must be one of {sorted(LOSSES)} for the engine, got {short_repr(loss)}."
        )
    values: SettingValues = {
        "loss": LOSSES[loss],
        # 1 where it has no meaning: learners with other thresholds are of one make then
        "threshold": threshold if loss in LOSSES_WITH_PARAMETER else 1.0,
        "diameter": parts.domain.diameter,
        "shared_gradient": parts.shared_gradient,
        "grows": parts.grows,
        "uses_domain_scale": parts.uses_domain_scale,
        "movement_charge": parts.movement_charge,
        "decay": 1.0,
        "refresh_rounds": REFRESH_ROUNDS,
        "min_scale": MIN_SCALE[np.dtype(dtype)],
    }
    frame, of_domain = _domain(parts.domain)
    values |= of_domain
    values["diameter_per_size"] = values["diameter"] / values["domain_size"]
    step_sizes, extra_gradient, of_steps = _experts(parts)
    values |= of_steps
    # capped experts start together with uncapped ones: two of either kind
    prior = np.full(4, 0.25) if parts.uses_domain_scale else parts.prior
    values |= _rate(parts) | _optimism(parts.optimism)
    on_ball = isinstance(parts.domain, Ball)
    _check_movement_charge(parts, values, on_ball and bool(extra_gradient.all()))
    settings = np.zeros(len(SETTING))
    for name, value in values.items():
        settings[getattr(SETTING, name)] = value
    first_rate = parts.rate.start(parts.constants, float(-np.log(prior.min())))
    return Recipe(
        settings=settings,
        step_sizes=step_sizes,
        extra_gradient=extra_gradient,
        prior=prior,
        frame=frame,
        on_ball=on_ball,
        has_meta=parts.has_meta,
        learning_rate=first_rate.value,
        rate_level=first_rate.level,
        trust=parts.optimism.start(1).trust,
        keeps_dual_sum=parts.keeps_dual_sum,
    )


def _domain(domain: Any) -> tuple[Matrix, SettingValues]:
    """Return the frame of a domain and its settings."""
    # A subclass may project in another way, so that the class itself is compared.
    if type(domain) is Ball:
        frame = np.stack([domain.center, domain.center])
        has_center = float(domain.center.any())
        return frame, {"domain_size": domain.radius, "has_center": has_center}
    if type(domain) not in (Simplex, Box):
        raise NotCompilable(
            f"a domain of type {type(domain).__name__} is not known to the engine: it plays on "
            "Ball, Simplex and Box."
        )
    if domain.dim > LARGEST_EXPLICIT:
        raise NotCompilable(
            f"domain has {domain.dim} coordinates; off the ball the engine takes at most "
            f"{LARGEST_EXPLICIT}."
        )
    if type(domain) is Simplex:
        frame = np.stack([domain.center, domain.center])
        return frame, {"domain": layout.SIMPLEX, "domain_size": domain.total}
    farthest_corner = np.maximum(abs(domain.lower), abs(domain.upper))
    size = float(np.linalg.norm(farthest_corner))
    return np.stack([domain.lower, domain.upper]), {"domain": layout.BOX, "domain_size": size}


def _experts(parts: Composition) -> tuple[Vector, Vector, SettingValues]:
    """Return step sizes and kind of each expert, and the settings of the step rule."""
    step_sizes, extra_gradient = [], []
    is_adaptive = False
    for kind in parts.experts:
        if not isinstance(kind, OGDExperts | OEGDExperts):
            raise NotCompilable(
                f"experts of type {type(kind).__name__} are not known to the engine."
            )
        steps = kind.steps
        if isinstance(steps, Constant):
            sizes = steps.step_sizes
            if sizes.max() > LARGEST_STEP:
                raise NotCompilable(
                    f"a step size of {sizes.max()} is beyond what the engine's squares can hold."
                )
        elif isinstance(steps, AdaGradNorm):
            # multipliers c: 1/2 of the capped expert and 1 of the first one beside it
            sizes = np.array([0.5, 1.0]) if parts.uses_domain_scale else np.full(1, 0.5)
            is_adaptive = True
        else:
            raise NotCompilable(
                f"steps of type {type(steps).__name__} are not known to the engine."
            )
        step_sizes.append(sizes)
        extra_gradient.append(np.full(len(sizes), float(isinstance(kind, OEGDExperts))))
    settings: SettingValues = {"adaptive_steps": is_adaptive}
    return np.concatenate(step_sizes), np.concatenate(extra_gradient), settings


def _rate(parts: Composition) -> SettingValues:
    """Return the settings of the learning rate of the meta."""
    rate = parts.rate
    if isinstance(rate, Fixed):
        return {"rate_rule": layout.FIXED}
    if isinstance(rate, Doubling):
        cap = math.inf if rate.cap is None else rate.cap
        return {"rate_rule": layout.DOUBLING, "rate_cap": cap}
    if not isinstance(rate, SelfConfident):
        raise NotCompilable(
            f"a learning rate of type {type(rate).__name__} is not known to the engine."
        )
    offset = rate.offset
    if offset is None:
        offset = (parts.constants.diameter * float(parts.constants.gradient_bound or 0.0)) ** 2
    return {
        "rate_rule": layout.SELF_CONFIDENT,
        "rate_cap": math.inf if rate.cap is None else rate.cap,
        "rate_offset": offset,
        "rate_factor": rate.factor,
        "rate_floor": rate.floor,
        "decay": rate.decay,
    }


def _optimism(optimism: Any) -> SettingValues:
    """Return the settings of the rule that predicts the next gradient."""
    if isinstance(optimism, NullOptimism):
        return {"optimism_rule": layout.NO_OPTIMISM}
    if isinstance(optimism, VariationOptimism):
        return {"optimism_rule": layout.REPLAYED}
    if isinstance(optimism, LearnedOptimism):
        return {"optimism_rule": layout.LEARNED, "trust_rate": optimism.rate}
    if isinstance(optimism, LastGradientOptimism):
        return {"optimism_rule": layout.LAST}
    raise NotCompilable(f"optimism of type {type(optimism).__name__} is not known to the engine.")


def _check_movement_charge(
    parts: Composition, settings: SettingValues, on_ball_with_extra_gradients: bool
) -> None:
    """Refuse a movement charge or the optimism of the last gradient outside of Sword++."""
    is_charged = parts.movement_charge > 0.0
    expects_last = settings["optimism_rule"] == layout.LAST
    if is_charged != expects_last or (
        is_charged and (settings["adaptive_steps"] or not parts.shared_gradient)
    ):
        raise NotCompilable(
            "charges for moving and the guess that the last gradient comes back are known to the "
            "engine together."
        )
    if is_charged and not on_ball_with_extra_gradients:
        raise NotCompilable(
            "a meta that charges for moving is known to the engine on a Ball, over extra-gradient "
            "experts."
        )
