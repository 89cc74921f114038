"""A loss that counts for more, or for less."""

from __future__ import annotations

from typing import Any, final

import numpy as np

from swordplay.core import arguments
from swordplay.core.types import Array, Loss


@final
class WeightedLoss:
    r"""A loss times a positive weight.

    .. math:: f(x) = \omega f_0(x), \qquad L = \omega L_0

    With :math:`\omega = 1/L_0` every loss has smoothness 1, and one pool of step sizes serves
    rounds of any size.

    Parameters
    ----------
    loss
        :math:`f_0`.
    weight
        :math:`\omega > 0`.
    """

    def __init__(self, loss: Loss, weight: Any) -> None:
        self.loss = loss
        self.weight = arguments.positive("weight", weight)

    def __repr__(self) -> str:
        return f"WeightedLoss({self.loss!r}, weight={self.weight})"

    @property
    def smoothness(self) -> float | None:
        """L, or None where the loss's own is unknown."""
        return None if self.loss.smoothness is None else self.weight * self.loss.smoothness

    def value(self, points: Array) -> Array:
        """f at points of shape ``(..., d)``; shape ``(...,)``."""
        return np.asarray(self.weight * self.loss.value(points))

    def gradient(self, points: Array) -> Array:
        """Gradients at points of shape ``(..., d)``; the same shape."""
        return np.asarray(self.weight * self.loss.gradient(points))
