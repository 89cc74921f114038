"""The pinball loss."""

from __future__ import annotations

from typing import Any, final

import numpy as np

from swordplay.core import arguments
from swordplay.core.types import Array
from swordplay.parts.losses.linear import LinearLoss


@final
class PinballLoss(LinearLoss):
    r"""What a quantile pays: its expectation is smallest where the target lies below with a chance
    of ``level``.

    .. math:: f(x) = \max\{\tau\,(y - \langle a, x \rangle),\; (1 - \tau)\,(\langle a, x \rangle -
        y)\}

    It has a kink, where the gradient is taken as 0, and no smoothness.

    Parameters
    ----------
    features, target
        a, shape ``(d,)``, and y.
    level
        τ in (0, 1): 0.5 for a median, 0.9 for a value that nine of ten targets stay below.

    Examples
    --------
    >>> loss = PinballLoss([1.0], target=3.0, level=0.9)
    >>> float(loss.value([1.0])), float(loss.value([4.0])), loss.gradient([1.0])
    (1.8, 0.09999999999999998, array([-0.9]))

    References
    ----------
    Koenker and Bassett (1978).
    """

    __slots__ = ("level",)
    curvature = np.inf
    level: float

    def __init__(self, features: Any, target: Any, level: float = 0.5) -> None:
        super().__init__(features, target)
        self.level = arguments.fraction("level", level)

    @property
    # because the other losses of a linear prediction are smooth
    def smoothness(self) -> None:  # type: ignore[override]
        """None: the slope jumps at the kink."""
        return None

    def phi(self, prediction: Array) -> Array:
        """τ times what the prediction falls short by, or 1 - τ times what it exceeds by."""
        short = np.asarray(self.target - prediction)
        return np.asarray(np.maximum(self.level * short, (self.level - 1.0) * short))

    def slope(self, prediction: Array) -> Array:
        """-τ below the target, 1 - τ above it, 0 at it."""
        short = np.asarray(self.target - prediction)
        return np.where(short > 0.0, -self.level, np.where(short < 0.0, 1.0 - self.level, 0.0))
