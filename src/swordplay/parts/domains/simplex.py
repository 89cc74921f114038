"""The probability simplex: weights of a portfolio or of forecasts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from swordplay.core import arguments
from swordplay.core.types import Array, Vector


class Simplex:
    r"""Non-negative coordinates with a given sum.

    .. math:: X = \{x \ge 0 : \textstyle\sum_j x_j = s\}, \qquad D = \sqrt{2}\, s

    Parameters
    ----------
    dim
        Number of coordinates d >= 2.
    total
        s > 0.

    Examples
    --------
    >>> Simplex(3).project([1.0, 1.0, -5.0])
    array([0.5, 0.5, 0. ])
    """

    def __init__(self, dim: int, total: float = 1.0) -> None:
        self.dim = arguments.dimension("dim", dim, least=2)
        self.total = arguments.safe_size("total", total)
        self.center: Vector = np.full(self.dim, self.total / self.dim)
        self.center.flags.writeable = False

    def __repr__(self) -> str:
        return f"Simplex({self.dim}, total={self.total})"

    @property
    def diameter(self) -> float:
        """D, the distance between two corners."""
        return float(np.sqrt(2.0) * self.total)

    def project(self, points: Array) -> Array:
        r""":math:`\arg\min_{z \in X} \|z - x\| = \max\{x - \theta, 0\}` with the θ that makes the
        sum right.

        References
        ----------
        Duchi, Shalev-Shwartz, Singer, Chandra (2008), "Efficient projections onto the l1-ball".
        """
        points = arguments.points("points", points, self.dim)
        if not np.isfinite(points).all():
            arguments.check_finite("points", points)
        # The projection ignores a shift of all coordinates; from the largest down nothing cancels.
        shifted = points - points.max(axis=-1, keepdims=True)
        descending = -np.sort(-shifted, axis=-1)
        excess = np.cumsum(descending, axis=-1) - self.total
        ranks = np.arange(1, self.dim + 1)
        kept = (descending - excess / ranks > 0).sum(
            axis=-1, keepdims=True
        )  # at least 1: the largest
        threshold = np.take_along_axis(excess, kept - 1, axis=-1) / kept
        return np.asarray(np.maximum(shifted - threshold, 0.0))

    def contains(self, points: Array, atol: float = 1e-9) -> NDArray[np.bool_]:
        """Whether no coordinate is below ``-atol`` and the sum is within ``d * atol`` of the
        total.
        """
        points = arguments.points("points", points, self.dim)
        fits = np.abs(points.sum(axis=-1) - self.total) <= self.dim * atol
        return np.asarray((points >= -atol).all(axis=-1) & fits)

    def support(self, directions: Array) -> Array:
        r""":math:`\max_{x \in X} \langle a, x \rangle = s \max_j a_j`, for each direction."""
        directions = arguments.points("directions", directions, self.dim)
        return np.asarray(self.total * directions.max(axis=-1))
