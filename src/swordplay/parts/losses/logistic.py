"""The logistic loss."""

from __future__ import annotations

from typing import Any, final

import numpy as np

from swordplay.core.types import Array
from swordplay.parts.losses.linear import LinearLoss


@final
class LogisticLoss(LinearLoss):
    r"""Minus the log-likelihood of a label under a linear log-odds.

    .. math:: f(x) = \log(1 + e^{-s \langle a, x \rangle}), \quad s = 2y - 1, \qquad L = \tfrac14
        \|a\|^2

    Parameters
    ----------
    features
        a, shape ``(d,)``.
    target
        The label y, 0 or 1.

    Examples
    --------
    >>> loss = LogisticLoss([1.0], target=1)
    >>> float(loss.value([-1e6])), float(loss.value([1e6]))
    (1000000.0, 0.0)
    """

    __slots__ = ()
    curvature = 0.25

    def __init__(self, features: Any, target: Any) -> None:
        super().__init__(features, float(target) if isinstance(target, bool | np.bool_) else target)
        if self.target not in (0.0, 1.0):
            raise ValueError(
                f"target must be 0 or 1 for the logistic loss, got {self.target}. Encode the two "
                "labels as 0 and 1."
            )

    def phi(self, prediction: Array) -> Array:
        """log(1 + exp(-s z)), exact for margins of any size."""
        return np.asarray(np.logaddexp(0.0, -self._sign * prediction))

    def slope(self, prediction: Array) -> Array:
        """-s / (1 + exp(s z)), by way of the logarithm so that nothing overflows."""
        return np.asarray(-self._sign * np.exp(-np.logaddexp(0.0, self._sign * prediction)))

    @property
    def _sign(self) -> float:
        return 2.0 * self.target - 1.0
