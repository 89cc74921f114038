"""The axis-parallel box."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from swordplay.core import arguments
from swordplay.core.types import Array, Vector


class Box:
    r"""All points between two corners.

    .. math:: X = \{x : l_j \le x_j \le u_j\}, \qquad D = \|u - l\|

    Parameters
    ----------
    lower, upper
        The corners l and u, shape ``(d,)``, l <= u in each coordinate and l < u in at least one.

    Examples
    --------
    >>> Box([0.0, 0.0], [1.0, 2.0]).project([-1.0, 5.0])
    array([0., 2.])
    """

    def __init__(self, lower: Any, upper: Any) -> None:
        self.lower: Vector = arguments.vector(
            "lower", np.atleast_1d(arguments.without_mask("lower", lower))
        ).copy()
        self.upper: Vector = arguments.vector(
            "upper", np.atleast_1d(arguments.without_mask("upper", upper)), len(self.lower)
        ).copy()
        crossed = np.flatnonzero(self.lower > self.upper)
        if crossed.size:
            j = int(crossed[0])
            raise ValueError(
                f"lower must not exceed upper, got lower[{j}] = {self.lower[j]} > upper[{j}] = "
                f"{self.upper[j]}. "
                "Swap or correct them."
            )
        self.dim = len(self.lower)
        if (self.lower == self.upper).all():
            raise ValueError(
                f"upper must exceed lower somewhere, got lower = upper = {self.lower}: nothing to "
                "decide."
            )
        self.diameter = arguments.safe_size(
            "upper - lower", float(np.linalg.norm(self.upper / 2 - self.lower / 2)) * 2
        )
        """D, the length of the diagonal."""
        self.center: Vector = self.lower / 2 + self.upper / 2
        for corner in (self.lower, self.upper, self.center):
            corner.flags.writeable = False

    def __repr__(self) -> str:
        return f"Box({self.lower.tolist()}, {self.upper.tolist()})"

    def settings(self) -> Mapping[str, Any]:
        """Both corners: many boxes have one centre and one diameter."""
        return {"lower": self.lower, "upper": self.upper}

    def project(self, points: Array) -> Array:
        r""":math:`\arg\min_{z \in X} \|z - x\|`: clip each coordinate."""
        points = arguments.points("points", points, self.dim)
        if not np.isfinite(points).all():
            arguments.check_finite("points", points)
        return np.clip(points, self.lower, self.upper)

    def contains(self, points: Array, atol: float = 1e-9) -> NDArray[np.bool_]:
        """Whether every coordinate lies between the corners, up to ``atol``."""
        points = arguments.points("points", points, self.dim)
        return np.asarray(
            ((points >= self.lower - atol) & (points <= self.upper + atol)).all(axis=-1)
        )

    def support(self, directions: Array) -> Array:
        r""":math:`\max_{x \in X} \langle a, x \rangle`: the upper corner where a is positive,
        else the lower.
        """
        directions = arguments.points("directions", directions, self.dim)
        return np.asarray(np.maximum(directions * self.lower, directions * self.upper).sum(axis=-1))
