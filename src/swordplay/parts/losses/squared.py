"""The squared loss."""

from __future__ import annotations

from typing import final

import numpy as np

from swordplay.core.types import Array
from swordplay.parts.losses.linear import LinearLoss


@final
class SquaredLoss(LinearLoss):
    r"""Half the squared error of a linear prediction.

    .. math:: f(x) = \tfrac12 (\langle a, x \rangle - y)^2, \qquad L = \|a\|^2

    Examples
    --------
    >>> loss = SquaredLoss([1.0, 2.0], target=3.0)
    >>> float(loss.value([1.0, 0.0])), loss.gradient([1.0, 0.0])
    (2.0, array([-2., -4.]))
    """

    __slots__ = ()
    curvature = 1.0

    def phi(self, prediction: Array) -> Array:
        """Half the squared residual."""
        return np.asarray(0.5 * np.square(prediction - self.target))

    def slope(self, prediction: Array) -> Array:
        """The residual z - y."""
        return np.asarray(prediction - self.target)
