"""Declared constants of a game, checked losses, and whether the losses satisfy the constants."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from swordplay.core import arguments
from swordplay.core.state import ROUND_COUNT_RANGE, Field, check
from swordplay.core.types import Array, Loss, Matrix, State, Vector
from swordplay.parts.losses import checked_answer

CONSTANT_TOLERANCE = 1e-9
"""Relative rounding error allowed between an observed extreme and a declared constant."""
EXTREMES_PREFIX = "seen."
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
    gradient_norm: float = 0.0
    """Largest norm of a gradient at the decisions and the points of the experts."""
    smoothness: float = 0.0
    """Largest smoothness of a loss; infinite if that of any loss is unknown."""
    lowest: float = math.inf
    """Smallest loss of a decision."""

    def merged(self, other: LossExtremes) -> LossExtremes:
        """Return the extremes of the losses of both records."""
        return LossExtremes(
            self.rounds + other.rounds,
            max(self.gradient_norm, other.gradient_norm),
            max(self.smoothness, other.smoothness),
            min(self.lowest, other.lowest),
        )

    def entries(self) -> State:
        """Return the extremes as entries of a saved file."""
        return {f"{EXTREMES_PREFIX}{name}": value for name, value in self._asdict().items()}


def split_extremes(saved: Mapping[str, Any]) -> tuple[State, LossExtremes]:
    """Split a saved state into the learner's own entries and the observed extremes.

    If the state holds no extremes (:meth:`Learner.state` returns none), those of 0 rounds are
    returned.

    Raises
    ------
    ValueError
        If an extreme is missing or impossible.
    """
    entries = {
        name: value for name, value in saved.items() if not str(name).startswith(EXTREMES_PREFIX)
    }
    saved_extremes = {
        str(name).removeprefix(EXTREMES_PREFIX): value
        for name, value in saved.items()
        if str(name).startswith(EXTREMES_PREFIX)
    }
    if not saved_extremes:
        return entries, LossExtremes()
    if saved_extremes.keys() != set(LossExtremes._fields):
        raise ValueError(
            f"state must hold all of "
            f"{[EXTREMES_PREFIX + name for name in LossExtremes._fields]}, got "
            f"{sorted(saved_extremes)} of them."
        )
    ranges = {
        "rounds": ROUND_COUNT_RANGE,
        "gradient_norm": Field(low=0.0, high=math.inf),
        "smoothness": Field(low=0.0, high=math.inf),
        "lowest": Field(low=-math.inf, high=math.inf),
    }
    for name, value in saved_extremes.items():
        if np.ndim(value):
            raise ValueError(
                f"state[{EXTREMES_PREFIX + name!r}] must be one number, got "
                f"{arguments.short_repr(value)}. Load another state."
            )
        check(EXTREMES_PREFIX + name, value, ranges[name])
    extremes = (float(saved_extremes[name]) for name in LossExtremes._fields[1:])
    return entries, LossExtremes(int(saved_extremes["rounds"]), *extremes)


class ObservedLoss:
    """The loss of one round, which checks each value and gradient and stores their extremes.

    Parameters
    ----------
    loss
        The loss that the learner observes.
    """

    def __init__(self, loss: Loss) -> None:
        self._loss = loss
        self.max_squared_norm = 0.0
        """Largest squared norm of the gradients of this round."""
        self.largest_entry = 0.0
        """Largest magnitude of an entry of a gradient: above 0 also where squares underflow."""

    def gradient(self, points: Array) -> Array:
        """Return the gradients at points of shape ``(..., d)``, in an array of that shape."""
        gradients = checked_answer(self._loss, "gradient", points)
        squares = np.einsum("...i,...i->...", gradients, gradients)
        self.max_squared_norm = max(self.max_squared_norm, float(squares.max()))
        self.largest_entry = max(self.largest_entry, float(np.abs(gradients).max()))
        return gradients

    def value(self, points: Array, largest: float = sys.float_info.max) -> Array:
        """Return the loss at points of shape ``(..., d)``; shape ``(...,)``.

        Values beyond ``largest`` in magnitude are refused. Learners that add values up give
        ``largest``, so that the sums do not overflow.
        """
        return checked_answer(self._loss, "value", points, largest)

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
            math.sqrt(self.max_squared_norm),
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
    """Whether the observed losses satisfy the constants in a learner's theorem.

    Attributes
    ----------
    told
        The declared constants: those that the learner was made with.
    seen
        The extremes of the losses that the learner has observed.
    rounds
        Number of rounds played, with observed losses or without.
    """

    told: DeclaredConstants
    seen: LossExtremes
    rounds: int

    @property
    def broken(self) -> tuple[str, ...]:
        """One message for each declared constant that an observed loss violates."""
        declared, seen, messages = self.told, self.seen, []
        if declared.horizon is not None and self.rounds > declared.horizon:
            messages.append(
                f"horizon={declared.horizon} was declared, but {self.rounds} rounds were played"
            )
        slack = 1 + CONSTANT_TOLERANCE
        if (
            declared.gradient_bound is not None
            and seen.gradient_norm > declared.gradient_bound * slack
        ):
            messages.append(
                f"gradient_bound={declared.gradient_bound:g} was declared, but a gradient of norm "
                f"{seen.gradient_norm:g} was observed"
            )
        if (
            declared.smoothness is not None
            and declared.smoothness * slack < seen.smoothness < math.inf
        ):
            messages.append(
                f"smoothness={declared.smoothness:g} was declared, but a loss of smoothness "
                f"{seen.smoothness:g} was observed"
            )
        if declared.nonnegative and seen.lowest < 0:
            messages.append(
                f"losses were declared nonnegative, but a loss of {seen.lowest:g} was observed"
            )
        return tuple(messages)

    @property
    def hold(self) -> bool:
        """Whether no observed loss violates a declared constant."""
        return not self.broken

    @property
    def unknown(self) -> tuple[str, ...]:
        """One message for each assumption that could not be checked in all rounds."""
        messages = []
        if unobserved := self.rounds - self.seen.rounds:
            messages.append(f"the losses of {unobserved} of {self.rounds} rounds were not observed")
        if self.told.smoothness is not None and math.isinf(self.seen.smoothness):
            messages.append("the smoothness of a loss is unknown")
        return tuple(messages)

    def require(self, claim: str) -> None:
        """Raise an error if any assumption is broken: the claim depends on all of them.

        Raises
        ------
        ValueError
            If an assumption is broken; names the claim, the broken assumptions and the remedy.
        """
        if self.broken:
            raise ValueError(
                f"{claim} does not hold: {'; '.join(self.broken)}. Make the learner with "
                "constants that hold, or use learner.certificate, which needs none of them."
            )

    def __repr__(self) -> str:
        verdict = "hold" if self.hold else "broken: " + "; ".join(self.broken)
        return f"Assumptions({verdict}, observed {self.seen.rounds} of {self.rounds} rounds)"
