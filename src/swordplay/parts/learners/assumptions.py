"""Declared constants of a game, checked losses, and whether the losses keep to the constants."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from swordplay.core import arguments
from swordplay.core.state import ROUND_COUNT, Field, check
from swordplay.core.types import Array, Loss, Matrix, State, Vector
from swordplay.parts.losses import loss_answer

SLACK = 1e-9
"""Relative rounding error allowed between an observed extreme and a declared constant."""
PREFIX = "seen."
"""Prefix of the entries of a saved file that hold the observed extremes."""


class DeclaredConstants(NamedTuple):
    """Constants that a learner was made with; None or False where it needs none."""

    horizon: int | None = None
    """T: no more rounds are played."""
    gradient_bound: float | None = None
    """G: the largest norm of a gradient on the domain."""
    smoothness: float | None = None
    """L: the largest Lipschitz constant of a gradient."""
    nonnegative: bool = False
    """Whether no loss may be negative."""


class LossExtremes(NamedTuple):
    """Extremes of the losses that were observed."""

    rounds: int = 0
    """Number of observed losses."""
    gradient: float = 0.0
    """Largest norm of a gradient at the decisions and the points of the experts."""
    smoothness: float = 0.0
    """Largest smoothness of a loss; infinite once a loss did not know its own."""
    lowest: float = math.inf
    """Smallest loss of a decision."""

    def merged(self, other: LossExtremes) -> LossExtremes:
        """Return the extremes of the losses of both."""
        return LossExtremes(
            self.rounds + other.rounds,
            max(self.gradient, other.gradient),
            max(self.smoothness, other.smoothness),
            min(self.lowest, other.lowest),
        )

    def entries(self) -> State:
        """Return the extremes as entries of a saved file."""
        return {f"{PREFIX}{name}": value for name, value in self._asdict().items()}


def split(saved: Mapping[str, Any]) -> tuple[State, LossExtremes]:
    """Split a saved state into the learner's own entries and the observed extremes.

    A state without extremes, as :meth:`Learner.state` returns it, gives those of no rounds.

    Raises
    ------
    ValueError
        If an extreme is missing, or is a number that no loss leads to.
    """
    rest = {name: value for name, value in saved.items() if not str(name).startswith(PREFIX)}
    found = {
        str(name).removeprefix(PREFIX): value
        for name, value in saved.items()
        if str(name).startswith(PREFIX)
    }
    if not found:
        return rest, LossExtremes()
    if found.keys() != set(LossExtremes._fields):
        raise ValueError(
            f"state must hold all of {[PREFIX + name for name in LossExtremes._fields]}, got "
            f"{sorted(found)} of them."
        )
    ranges = {
        "rounds": ROUND_COUNT,
        "gradient": Field(0.0, math.inf),
        "smoothness": Field(0.0, math.inf),
        "lowest": Field(-math.inf, math.inf),
    }
    for name, value in found.items():
        if np.ndim(value):
            raise ValueError(
                f"state[{PREFIX + name!r}] must be one number, got {arguments.short_repr(value)}. "
                "Load "
                "another state."
            )
        check(PREFIX + name, value, ranges[name])
    extremes = (float(found[name]) for name in LossExtremes._fields[1:])
    return rest, LossExtremes(int(found["rounds"]), *extremes)


class ObservedLoss:
    """The loss of one round, whose answers are checked and whose extremes are kept.

    Parameters
    ----------
    loss
        The loss that the learner observes.
    """

    def __init__(self, loss: Loss) -> None:
        self._loss = loss
        self.longest = 0.0
        """Largest squared norm of the gradients of this round."""
        self.largest_entry = 0.0
        """Largest magnitude of their entries: above 0 also where the squares underflow."""

    def gradient(self, points: Array) -> Array:
        """Return the gradients at points of shape ``(..., d)``; the same shape."""
        gradients = loss_answer(self._loss, "gradient", points)
        squares = np.einsum("...i,...i->...", gradients, gradients)
        self.longest = max(self.longest, float(squares.max()))
        self.largest_entry = max(self.largest_entry, float(np.abs(gradients).max()))
        return gradients

    def value(self, points: Array, largest: float = sys.float_info.max) -> Array:
        """Return the loss at points of shape ``(..., d)``; shape ``(...,)``.

        A learner that adds values up gives ``largest``, beyond which they are refused.
        """
        return loss_answer(self._loss, "value", points, largest)

    @property
    def smoothness(self) -> float | None:
        """L of the loss; None where it is unknown."""
        smoothness = self._loss.smoothness
        return None if smoothness is None else float(smoothness)

    def extremes(self, decision: Vector) -> LossExtremes:
        """Return the extremes of this round, with the loss of the decision."""
        smoothness = self.smoothness
        return LossExtremes(
            1,
            math.sqrt(self.longest),
            math.inf if smoothness is None else smoothness,
            float(self.value(decision)),
        )


def linearisation_gap(
    loss: ObservedLoss, decision: Vector, points: Matrix, linear_regret: Vector
) -> Vector:
    r"""Return how far a loss lies above its tangent at the decision, at each point.

    .. math:: B_k = \max\{f(x_k) - f(x) - \langle g, x_k - x \rangle, 0\}

    Parameters
    ----------
    loss
        The loss f, which is convex: only rounding makes the difference negative.
    decision
        x, where the tangent touches, shape ``(d,)``.
    points
        :math:`x_k`, shape ``(N, d)``.
    linear_regret
        <g, x - x_k>, g being the gradient at the decision, shape ``(N,)``.
    """
    values = loss.value(np.vstack([decision, points]))
    return np.asarray(np.maximum(values[1:] - values[0] + linear_regret, 0.0))


@dataclass(frozen=True)
class Assumptions:
    """Whether the losses kept to the constants that a learner's theorem is made of.

    Attributes
    ----------
    told
        The constants that the learner was made with.
    seen
        The extremes of the losses that were observed.
    rounds
        Number of rounds played; nothing is known of those that were not observed.
    """

    told: DeclaredConstants
    seen: LossExtremes
    rounds: int

    @property
    def broken(self) -> tuple[str, ...]:
        """One message for each assumption that does not hold."""
        given, seen, words = self.told, self.seen, []
        if given.horizon is not None and self.rounds > given.horizon:
            words.append(f"horizon={given.horizon} was told, but {self.rounds} rounds were played")
        if given.gradient_bound is not None and seen.gradient > given.gradient_bound * (1 + SLACK):
            words.append(
                f"gradient_bound={given.gradient_bound:g} was told, but a gradient of norm "
                f"{seen.gradient:g} was seen"
            )
        if (
            given.smoothness is not None
            and given.smoothness * (1 + SLACK) < seen.smoothness < math.inf
        ):
            words.append(
                f"smoothness={given.smoothness:g} was told, but a loss of smoothness "
                f"{seen.smoothness:g} was seen"
            )
        if given.nonnegative and seen.lowest < 0:
            words.append(f"losses were to be nowhere negative, but one of {seen.lowest:g} was seen")
        return tuple(words)

    @property
    def hold(self) -> bool:
        """Whether all observed losses keep to all declared constants."""
        return not self.broken

    @property
    def unknown(self) -> tuple[str, ...]:
        """One message for each assumption that could not be checked."""
        words = []
        if missed := self.rounds - self.seen.rounds:
            words.append(f"{missed} of {self.rounds} rounds were played without being watched")
        if self.told.smoothness is not None and math.isinf(self.seen.smoothness):
            words.append("a loss did not know its own smoothness")
        return tuple(words)

    def require(self, what: str) -> None:
        """Raise an error if an assumption is broken.

        Raises
        ------
        ValueError
            Names what does not stand, the broken assumptions and the remedy.
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
