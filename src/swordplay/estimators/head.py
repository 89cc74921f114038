"""One learner behind an estimator: how it is made and loaded, and what it knows."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from swordplay.core.state import DAMAGED
from swordplay.core.types import Vector
from swordplay.engine.compiled_learner import CompiledLearner
from swordplay.estimators.scaler import SLACK, Locator, Scaler
from swordplay.estimators.tuning import FLOOR, SHARPNESS, LossName
from swordplay.parts.domains import Ball
from swordplay.parts.learners import SwordAgeless
from swordplay.parts.learners.certificate import CertificateState, DomainGeometry
from swordplay.parts.metas import Composition
from swordplay.parts.rates import SelfConfident


@functools.lru_cache(maxsize=4)
def _parts(width: int, radius: float, memory: float) -> Composition:
    """What the learner is made of; the same for every class, of which there may be thousands."""
    rate = SelfConfident(offset=0.0, factor=SHARPNESS, floor=FLOOR, memory=memory)
    return SwordAgeless(Ball(width, radius), smoothness=1.0, memory=memory).parts._replace(
        rate=rate
    )


def make(width: int, *, loss: LossName, radius: float, memory: float) -> CompiledLearner:
    """A fresh learner for scaled rows; it is told weight, threshold and radius of each round."""
    return CompiledLearner(
        _parts(width, radius, memory), "logistic" if loss == "logistic" else "huber"
    )


def load(
    engine: CompiledLearner, saved: Mapping[str, Any], reach: float | None, radius: float
) -> None:
    """Go on from a saved state.

    Parameters
    ----------
    engine, saved
        A learner of the same make, and the state.
    reach
        How far out points may lie where the ball changes with the target; None for log-odds,
    radius
        whose ball stays what it is.
    """
    engine.load_compact_state(saved, reach)
    if reach is None and abs(engine.size - radius) > SLACK * radius:
        raise ValueError(
            f"state has a ball of radius {engine.size:g} for a model with the radius {radius:g}. "
            f"{DAMAGED}"
        )


class Head(NamedTuple):
    """One learner, for reading: the scores of a regression or of a class, and the columns that
    it is told of.
    """

    engine: CompiledLearner
    columns: Scaler
    target: Locator
    loss: LossName
    radius: float

    @property
    def rounds(self) -> int:
        """How many rows were learned."""
        return self.engine.rounds

    @property
    def decision(self) -> Vector:
        """Coefficients of the scaled columns, shape ``(w,)``."""
        return self.engine.decision

    @property
    def weights(self) -> Vector:
        """Weight of each expert, shape ``(N,)``."""
        return self.engine.weights

    @property
    def step_sizes(self) -> Vector:
        """Step size of each expert relative to a row's own smoothness, shape ``(N,)``."""
        return self.engine.step_sizes

    @property
    def extra_gradient(self) -> Any:
        """Which experts take extra-gradient steps, shape ``(N,)``."""
        return self.engine.extra_gradient

    @property
    def trust(self) -> float:
        """How much the meta believes that the next gradient will be like the last one, from 0 to
        1.
        """
        return self.engine.trust

    @property
    def effective_step_size(self) -> float:
        """Weighted geometric mean of the step sizes: 1 learns each row by heart, 2^-13 averages
        over thousands.
        """
        return float(np.exp(self.weights @ np.log(self.step_sizes)))

    def certificate(self, path_length: float = 0.0) -> float:
        """Bound on the regret so far, in losses of smoothness 1, against any coefficients that
        travel this far.

        Infinite while the squares of all targets underflow: its sums are made of these squares.
        """
        if not self.target.is_measurable:
            return math.inf
        sums = CertificateState(**self.engine.certificate_sums())
        ball = DomainGeometry.of_ball(self.engine.diameter / 2)
        # On a ball only the norms of the base points matter, so they may lie on a line.
        line = self.engine.base_lengths()[:, None]
        return sums.bound(ball, path_length, line, constant_steps=True)
