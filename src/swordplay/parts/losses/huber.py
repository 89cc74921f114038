"""The Huber loss."""

from __future__ import annotations

from typing import Any, final

import numpy as np

from swordplay.core import arguments
from swordplay.core.types import Array, Vector
from swordplay.parts.losses.linear import LinearLoss


@final
class HuberLoss(LinearLoss):
    r"""Squared for small residuals, linear beyond a threshold: outliers pull with bounded force.

    .. math:: f(x) = h(\langle a, x \rangle - y), \quad
        h(r) = \tfrac12 r^2 \text{ if } |r| \le \delta, \text{ else } \delta |r| - \tfrac12
        \delta^2, \qquad L = \|a\|^2

    Parameters
    ----------
    features, target
        a, shape ``(d,)``, and y.
    threshold
        δ > 0: the largest residual that counts in full.
    """

    __slots__ = ("threshold",)
    curvature = 1.0
    threshold: float

    def __init__(self, features: Any, target: Any, threshold: float = 1.0) -> None:
        super().__init__(features, target)
        self.threshold = arguments.positive("threshold", threshold)

    def phi(self, prediction: Array) -> Array:
        """h of the residual, written with the clipped residual c: c (r - c/2)."""
        residual: Vector = np.asarray(prediction - self.target)
        clipped = np.clip(residual, -self.threshold, self.threshold)
        return np.asarray(clipped * (residual - 0.5 * clipped))

    def slope(self, prediction: Array) -> Array:
        """The residual, clipped at the threshold."""
        return np.asarray(np.clip(prediction - self.target, -self.threshold, self.threshold))
