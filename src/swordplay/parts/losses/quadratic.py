"""The general convex quadratic."""

from __future__ import annotations

from typing import Any, final

import numpy as np

from swordplay.core import arguments
from swordplay.core.types import Array

PSD_TOLERANCE = 1e-10
"""Eigenvalues this far below zero, relative to the largest, are rounding and not curvature."""


@final
class QuadraticLoss:
    r"""A convex quadratic.

    .. math:: f(x) = \tfrac12 x^\top A x - b^\top x + c, \qquad \nabla f(x) = A x - b, \qquad L =
        \lambda_{\max}(A)

    Parameters
    ----------
    matrix
        A, shape ``(d, d)``, symmetric and positive semi-definite.
    vector
        b, shape ``(d,)``.
    constant
        c.
    """

    def __init__(self, matrix: Any, vector: Any, constant: float = 0.0) -> None:
        self.vector = arguments.vector("vector", vector).copy()
        self.matrix = arguments.array("matrix", matrix, ndim=2).copy()
        self.constant = arguments.real("constant", constant)
        if self.matrix.shape != (self.dim, self.dim):
            raise ValueError(
                f"matrix must have shape ({self.dim}, {self.dim}) to go with vector, got "
                f"{self.matrix.shape}."
            )
        if not np.allclose(self.matrix, self.matrix.T, rtol=1e-10, atol=0.0):
            raise ValueError(
                "matrix must be symmetric. Give (A + A.T) / 2: the values of the function are the "
                "same."
            )
        spectrum = np.linalg.eigvalsh(self.matrix)
        if spectrum[0] < -PSD_TOLERANCE * max(abs(spectrum[-1]), abs(spectrum[0])):
            raise ValueError(
                f"matrix must be positive semi-definite, got an eigenvalue of {spectrum[0]}: not "
                "convex."
            )
        self.smoothness = max(float(spectrum[-1]), 0.0)
        """L, the largest eigenvalue of A."""

    def __repr__(self) -> str:
        return f"QuadraticLoss(dim={self.dim}, smoothness={self.smoothness:.6g})"

    @property
    def dim(self) -> int:
        """Number of coordinates d."""
        return len(self.vector)

    def value(self, points: Array) -> Array:
        """f at points of shape ``(..., d)``; shape ``(...,)``."""
        points = arguments.points("points", points, self.dim)
        curved = np.einsum("...i,...i->...", points @ self.matrix, points)
        return np.asarray(0.5 * curved - points @ self.vector + self.constant)

    def gradient(self, points: Array) -> Array:
        """A x - b at points of shape ``(..., d)``; the same shape."""
        points = arguments.points("points", points, self.dim)
        return np.asarray(points @ self.matrix - self.vector)
