"""What a learner was told about its losses, what it has seen of them, and whether the two agree."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from swordplay.core import arguments
from swordplay.core.state import COUNT, Field, check
from swordplay.core.types import Array, Gradient, Loss, Matrix, State, Vector

SLACK = 1e-9
"""How far a number that was seen may pass one that was told, relatively: rounding."""
PREFIX = "seen."
"""Of the entries of a saved file that hold what was seen."""


class Told(NamedTuple):
    """The constants that a learner's theorem is made of; None or False where it does without."""

    horizon: int | None = None
    """T: no more rounds are played."""
    gradient_bound: float | None = None
    """G: no gradient is longer."""
    smoothness: float | None = None
    """L: no loss is less smooth."""
    nonnegative: bool = False
    """Whether no loss may be negative."""


class Seen(NamedTuple):
    """Extremes of the losses that were watched."""

    rounds: int = 0
    """How many were watched."""
    gradient: float = 0.0
    """Norm of the longest gradient, where the learner and its experts stood."""
    smoothness: float = 0.0
    """Largest smoothness of a loss; infinite once a loss did not know its own."""
    lowest: float = math.inf
    """Smallest loss of a decision."""

    def more(self, rounds: int, gradient: float, smoothness: float, lowest: float) -> Seen:
        """With some rounds more."""
        return Seen(
            self.rounds + rounds,
            max(self.gradient, gradient),
            max(self.smoothness, smoothness),
            min(self.lowest, lowest),
        )

    def entries(self) -> State:
        """As entries of a saved file."""
        return {f"{PREFIX}{name}": value for name, value in self._asdict().items()}


def split(saved: Mapping[str, Any]) -> tuple[State, Seen]:
    """A saved state without what was seen, and that; a file of an earlier version has seen nothing.

    Raises
    ------
    ValueError
        If an entry is missing, or holds what nobody can have seen.
    """
    rest = {name: value for name, value in saved.items() if not str(name).startswith(PREFIX)}
    found = {
        str(name).removeprefix(PREFIX): value
        for name, value in saved.items()
        if str(name).startswith(PREFIX)
    }
    if not found:
        return rest, Seen()
    if found.keys() != set(Seen._fields):
        raise ValueError(
            f"state must hold all of {[PREFIX + name for name in Seen._fields]}, got "
            f"{sorted(found)} of them."
        )
    anything = Field(-math.inf, math.inf)
    ranges = {
        "rounds": COUNT,
        "gradient": Field(0.0, math.inf),
        "smoothness": Field(0.0, math.inf),
        "lowest": anything,
    }
    for name, value in found.items():
        if np.ndim(value):
            raise ValueError(
                f"state[{PREFIX + name!r}] must be one number, got {arguments.short_repr(value)}. "
                "Load "
                "another state."
            )
        check(PREFIX + name, value, ranges[name])
    return rest, Seen(int(found["rounds"]), *(float(found[name]) for name in Seen._fields[1:]))


@dataclass(frozen=True)
class Assumptions:
    """Whether the theorem of a learner still stands.

    Attributes
    ----------
    told
        What the learner was made with.
    seen
        The extremes of the rounds that were watched.
    rounds
        How many rounds were played in all; of those that were not watched nothing is known.
    """

    told: Told
    seen: Seen
    rounds: int

    @property
    def broken(self) -> tuple[str, ...]:
        """Each assumption that does not hold, in words."""
        told, seen, words = self.told, self.seen, []
        if told.horizon is not None and self.rounds > told.horizon:
            words.append(f"horizon={told.horizon} was told, but {self.rounds} rounds were played")
        if told.gradient_bound is not None and seen.gradient > told.gradient_bound * (1 + SLACK):
            words.append(
                f"gradient_bound={told.gradient_bound:g} was told, but a gradient of norm "
                f"{seen.gradient:g} was seen"
            )
        if (
            told.smoothness is not None
            and told.smoothness * (1 + SLACK) < seen.smoothness < math.inf
        ):
            words.append(
                f"smoothness={told.smoothness:g} was told, but a loss of smoothness "
                f"{seen.smoothness:g} was seen"
            )
        if told.nonnegative and seen.lowest < 0:
            words.append(f"losses were to be nowhere negative, but one of {seen.lowest:g} was seen")
        return tuple(words)

    @property
    def hold(self) -> bool:
        """Whether all that was watched agrees with all that was told."""
        return not self.broken

    @property
    def unknown(self) -> tuple[str, ...]:
        """What nobody can tell, in words."""
        words = []
        if missed := self.rounds - self.seen.rounds:
            words.append(f"{missed} of {self.rounds} rounds were played without being watched")
        if self.told.smoothness is not None and math.isinf(self.seen.smoothness):
            words.append("a loss did not know its own smoothness")
        return tuple(words)

    def require(self, what: str) -> None:
        """Refuse to go on where an assumption is broken.

        Raises
        ------
        ValueError
            Says what does not stand, why, and what to do.
        """
        if self.broken:
            raise ValueError(
                f"{what} does not stand: {'; '.join(self.broken)}. Make the learner with "
                "constants that hold, "
                "or use learner.certificate, which needs none of them."
            )

    def __repr__(self) -> str:
        state = "hold" if self.hold else "broken: " + "; ".join(self.broken)
        return f"Assumptions({state}, watched {self.seen.rounds} of {self.rounds} rounds)"


class WatchedLoss:
    """The gradient field of a loss, and what is seen of it while a learner asks.

    Parameters
    ----------
    loss
        The loss of a round.
    """

    def __init__(self, loss: Loss) -> None:
        self._gradient: Gradient = arguments.gradient_of(loss)
        self._loss = loss
        self._longest = 0.0

    def __call__(self, points: Array) -> Array:
        """Gradients at points of shape ``(..., d)``."""
        gradients = self._gradient(points)
        squares = np.einsum("...i,...i->...", gradients, gradients)
        self._longest = max(self._longest, float(squares.max()))
        return gradients

    @property
    def smoothness(self) -> float:
        """L of the loss; 0 where it does not know its own."""
        return float(self._loss.smoothness or 0.0)

    def value(self, points: Array) -> Array:
        """The loss at points of shape ``(..., d)``.

        Raises
        ------
        ValueError
            If the loss answers anything but a finite number for each point.
        """
        values = np.asarray(self._loss.value(points), dtype=np.float64)
        if values.shape != points.shape[:-1]:
            raise ValueError(
                f"loss.value must return one number a point, shape {points.shape[:-1]}, got "
                f"{values.shape}. Check that loss."
            )
        if not np.isfinite(values).all():
            raise ValueError(
                f"loss.value must be finite, got {values[~np.isfinite(values)].flat[0]}. Check "
                "that loss."
            )
        return values

    def added_to(self, seen: Seen, decision: Vector) -> Seen:
        """What was seen, with this round."""
        smoothness = self._loss.smoothness
        return seen.more(
            1,
            math.sqrt(self._longest),
            math.inf if smoothness is None else float(smoothness),
            float(self._loss.value(decision)),
        )


def smoothness_of(gradient: Gradient) -> float:
    """L of the loss behind a gradient field; 0 where nobody knows."""
    return gradient.smoothness if isinstance(gradient, WatchedLoss) else 0.0


def above_tangent(
    gradient: Gradient, decision: Vector, points: Matrix, advantage: Vector
) -> Vector | float:
    """How far a loss lies above its tangent at the decision, at each point, shape ``(N,)``: never
    below 0.

    Parameters
    ----------
    gradient
        The loss, if it tells its values; of a bare gradient field nobody knows, and the tangent has
        to do.
    decision
        Where the tangent is taken, shape ``(d,)``.
    points
        Shape ``(N, d)``.
    advantage
        <g, decision - point>, g being the gradient at the decision, shape ``(N,)``.
    """
    if not isinstance(gradient, WatchedLoss):
        return 0.0
    values = gradient.value(np.vstack([decision, points]))
    return np.asarray(np.maximum(values[1:] - values[0] + advantage, 0.0))
