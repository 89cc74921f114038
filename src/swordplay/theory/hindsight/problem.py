"""One stream, one domain, any penalty: the right method for it, the tolerance, and what cannot
be solved.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from swordplay.core import arguments
from swordplay.core.types import Domain, Loss, Matrix
from swordplay.parts.domains import enclosing_ball
from swordplay.theory.hindsight import coarse, interior, levels, outside
from swordplay.theory.hindsight.cones import inner
from swordplay.theory.hindsight.dual import Answer
from swordplay.theory.hindsight.frame import frame_of
from swordplay.theory.hindsight.round_families import StrangeRounds
from swordplay.theory.hindsight.rounds_of_stream import rounds_of

Progress = Callable[[int, int, str], None]
"""Called with what is done, what is planned, and what is going on."""

TOLERANCE, STRANGE_TOLERANCE = 1e-7, 1e-5
"""Gaps that are asked for unless given, relative to the scale.

The second where only a projection onto the domain is known.
"""
ROUNDING = 1e-13
"""Relative error that sums over the rounds may carry: no gap can be closed below it."""
BENT = 1e-7
"""A loss may lie so far below its tangent, relative to what it changes by over the domain.

More is not rounding.
"""


class OutOfTime(RuntimeError):
    """The seconds that were given are over before the answer is there."""


class Problem:
    r"""Minimise :math:`\sum_t f_t(u_t) + \lambda \sum_t \|u_t - u_{t-1}\|` for any λ.

    Parameters
    ----------
    stream, domain, tolerance
        As in :func:`best_sequence`.
    deadline
        When to give up, by ``time.monotonic()``.

    Attributes
    ----------
    rounds, frame
        The losses, and the coordinates they are functions of.
    scale
        :math:`D \sum_t \|\nabla f_t(c)\|`: the most by which the losses can fall below those of the
        centre.
    target
        The gap that is asked for.
    """

    def __init__(
        self,
        stream: Iterable[Loss],
        domain: Domain,
        tolerance: float | None,
        *,
        deadline: float = math.inf,
    ) -> None:
        self.deadline = deadline
        domain = arguments.domain(domain)
        if not domain.contains(domain.center, atol=1e-9 * domain.diameter):
            raise ValueError(
                "domain.center must lie in the domain, got "
                f"{arguments.short_repr(domain.center.tolist())}."
            )
        self.frame = frame_of(domain)
        usual = TOLERANCE if self.frame.whole or self.frame.dim == 1 else STRANGE_TOLERANCE
        self.tolerance = usual if tolerance is None else arguments.positive("tolerance", tolerance)
        # Inside a stranger's domain one cannot stay on the way: its losses are asked in a ball
        # around it.
        self.rounds = rounds_of(
            stream, self.frame if self.frame.whole else frame_of(enclosing_ball(domain))
        )
        if (count := len(self.rounds.features)) < 1:
            raise ValueError(
                "stream must hold at least one round, got none: there is nothing to minimise."
            )
        self._starts: Any = (
            None  # where the last answer's comparators moved: where the next ones are likely to
        )
        center = np.zeros((count, self.frame.dim))
        gradients = self.rounds.gradients(center)
        self.scale = domain.diameter * float(np.sqrt(inner(gradients, gradients)).sum())
        trials = [
            *(np.tile(pole, (count, 1)) for pole in self._poles[[0, self.frame.dim]]),
            self._uphill(gradients),
        ]
        ends = (self.rounds.gradients(trial) for trial in trials)
        numbers = domain.diameter * max(float(np.abs(end).sum()) for end in ends) + float(
            np.abs(self.rounds.values(center)).sum()
        )
        self.target = self.tolerance * self.scale + ROUNDING * (self.scale + numbers)

    @property
    def steps(self) -> int:
        """T - 1, how often comparators may move."""
        return len(self.rounds.features) - 1

    @property
    def longest(self) -> float:
        """No path is longer: the diameter in every step."""
        return self.frame.domain.diameter * self.steps

    def solve(self, penalty: float, progress: Progress | None = None, share: float = 1.0) -> Answer:
        """The best sequence for a penalty, with its gap within a share of the target.

        :class:`OutOfTime` past the deadline.
        """
        target, progress = share * self.target, self._watched(progress)
        if self.frame.dim == 1:
            answer = levels.minimize(self.rounds, self.frame, penalty, progress)
        elif self.frame.whole and coarse.is_heavy(self.rounds):
            answer = coarse.minimize(
                self.rounds, self.frame, penalty, target, progress, self._starts
            )
            self._starts = coarse.moving(answer.points, self.frame.domain.diameter)
        elif self.frame.whole:
            answer = interior.minimize(self.rounds, self.frame, penalty, target, progress)
        else:
            answer = outside.minimize(self.rounds, self.frame, penalty, target, progress)
        if isinstance(self.rounds, StrangeRounds):
            self._require_convex(self.rounds, answer.points)
        if not answer.gap <= target:
            raise RuntimeError(
                f"hindsight stopped with a certified gap of {answer.gap:.3g} at "
                f"penalty={penalty:.3g}, not within "
                f"tolerance={self.tolerance:g} ({target:.3g}). Give a larger tolerance; or are "
                "the losses not smooth "
                "and convex on the domain?"
            )
        return answer

    def _watched(self, progress: Progress | None) -> Progress:
        """Look at the clock whenever a step is told of."""

        def told(done: int, planned: int, label: str) -> None:
            if time.monotonic() > self.deadline:
                raise OutOfTime(
                    f"hindsight ran out of time ({label}). Give more seconds, fewer rounds or "
                    "fewer columns."
                )
            if progress is not None:
                progress(done, planned, label)

        return told

    def _require_convex(self, rounds: StrangeRounds, points: Matrix) -> None:
        """Refuse a stranger's loss that dips under its own tangent.

        Where there is one, a closed gap means nothing.
        """
        values, gradients = rounds.values(points), rounds.gradients(points)
        slack = BENT * (self.scale / len(points) + np.abs(values))
        poles = (np.broadcast_to(pole, points.shape) for pole in self._poles)
        for trial in (
            0.0 * points,
            np.roll(points, 1, axis=0),
            np.roll(points, -1, axis=0),
            *poles,
        ):
            short = values + inner(gradients, trial - points) - rounds.values(trial)
            if (short > slack).any():
                t = int(np.argmax(short - slack))
                raise RuntimeError(
                    f"the loss of round {t + 1} is not convex: at "
                    f"{arguments.short_repr(self.frame.outward(trial[t]).tolist())} it "
                    f"lies {short[t]:.3g} below its tangent at "
                    f"{arguments.short_repr(self.frame.outward(points[t]).tolist())}. "
                    "Hindsight can only be certified for convex losses."
                )

    def _uphill(self, gradients: Matrix) -> Matrix:
        """For each round the point of the boundary that its gradient points to: steep, if it is
        anywhere.
        """
        largest = np.abs(gradients).max(axis=1, keepdims=True)
        directions = np.divide(
            gradients, largest, out=np.zeros_like(gradients), where=largest > 0.0
        )
        return self.frame.inward(self.frame.outward(self.frame.domain.diameter * directions))

    @property
    def _poles(self) -> Matrix:
        """Points of the boundary along every axis, shape ``(2 n, n)``."""
        axes = self.frame.domain.diameter * np.eye(self.frame.dim)
        return self.frame.inward(self.frame.outward(np.concatenate([axes, -axes])))
