"""Families of losses side by side: of residuals, logistic, quadratic, and of any make."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from swordplay.core import arguments
from swordplay.core.types import Array, Loss, Matrix, Vector
from swordplay.theory.hindsight.frame import Frame

NUDGE = 1e-4
"""Of the way to the boundary: how far apart the gradients are asked for that make a stranger's
Hessian.
"""


class LoneRows:
    """A row a round: what rows and rounds then share."""

    features: Matrix
    shifts: Vector

    def residuals(self, points: Matrix) -> Vector:
        """How far the predictions are off, shape ``(T,)``."""
        return np.asarray(np.einsum("ij,ij->i", self.features, points) + self.shifts)

    def spread(self, points: Matrix) -> Matrix:
        """As they are."""
        return points

    def gather(self, rows: Matrix) -> Matrix:
        """As they are."""
        return rows

    def stacked(self, bends: Vector) -> tuple[Vector, Array]:
        """As they are."""
        return bends, _no_matrices(self.features)


@dataclass(frozen=True)
class ResidualRounds(LoneRows):
    r"""Squared and Huber losses :math:`\omega_t h_{\delta_t}(\langle a_t, w \rangle + s_t)`.

    Squared where δ is infinite.
    """

    features: Matrix
    shifts: Vector
    weights: Vector
    thresholds: Vector
    constants: Vector
    """Added to the losses."""

    @classmethod
    def within(
        cls, reach: float, features: Matrix, shifts: Vector, weights: Vector, thresholds: Vector
    ) -> ResidualRounds:
        """The same losses on points no farther than ``reach`` from the origin, with residuals that
        are not needlessly large.

        A Huber loss whose residual stays beyond its threshold is linear there, and its residual may
        as well begin at the threshold, with a constant to make up for it. What a method has to
        balance is then of the size of the domain.
        """
        too_far = (
            np.abs(shifts) - thresholds - reach * np.sqrt(np.einsum("ij,ij->i", features, features))
        )
        far = too_far > 0.0
        excess = np.where(far, too_far, 0.0)
        constants = weights * np.where(far, thresholds, 0.0) * excess
        return cls(features, shifts - np.sign(shifts) * excess, weights, thresholds, constants)

    @property
    def capped(self) -> ResidualRounds | None:
        """Itself, if any threshold is finite."""
        return self if np.isfinite(self.thresholds).any() else None

    affine = True  # between caps, which an interior-point method keeps apart

    def values(self, points: Matrix) -> Vector:
        """ω c (r - c/2) with the clipped residual c."""
        r = self.residuals(points)
        clipped = np.clip(r, -self.thresholds, self.thresholds)
        return np.asarray(self.weights * clipped * (r - 0.5 * clipped) + self.constants)

    def gradients(self, points: Matrix) -> Matrix:
        """ω times the clipped residual, along the features."""
        clipped = np.clip(self.residuals(points), -self.thresholds, self.thresholds)
        return (self.weights * clipped)[:, None] * self.features

    def curvature(self, points: Matrix) -> tuple[Vector, Array]:
        """ω where the residual is not clipped."""
        near = np.abs(self.residuals(points)) <= self.thresholds
        return np.where(near, self.weights, 0.0), _no_matrices(self.features)

    @property
    def caps(self) -> tuple[Any, Vector, Vector]:
        """±ωδ where δ is finite."""
        where = np.flatnonzero(np.isfinite(self.thresholds))
        largest = self.weights[where] * self.thresholds[where]
        return where, -largest, largest

    def uncapped(self) -> Vector:
        """ω."""
        return self.weights

    def at_slopes(self, slacks: Matrix) -> tuple[Vector, Vector]:
        """Slope over ω."""
        weights = self.weights[np.isfinite(self.thresholds)]
        return 0.5 * (slacks[:, 1] - slacks[:, 0]) / weights, 1.0 / weights

    def conjugates(self, slopes: Vector) -> Vector:
        """ϖ^2 / (2 ω), less the constant."""
        return np.asarray(0.5 * slopes**2 / self.weights - self.constants)


@dataclass(frozen=True)
class LogisticRounds(LoneRows):
    r"""Logistic losses :math:`\omega_t \log(1 + e^{m_t})` of :math:`m_t = \langle a_t, w \rangle
    + s_t`, signs included.
    """

    features: Matrix
    shifts: Vector
    weights: Vector
    affine = False

    @property
    def capped(self) -> LogisticRounds:
        """Itself: slopes lie between 0 and ω, and on steep rows they all but jump from one to
        the other.
        """
        return self

    def values(self, points: Matrix) -> Vector:
        """Exact for margins of any size."""
        return np.asarray(self.weights * np.logaddexp(0.0, self.residuals(points)))

    def gradients(self, points: Matrix) -> Matrix:
        """ω / (1 + exp(-m)), along the features."""
        return (self.weights * self._shares(points))[:, None] * self.features

    def curvature(self, points: Matrix) -> tuple[Vector, Array]:
        """ω p (1 - p)."""
        p = self._shares(points)
        return self.weights * p * (1.0 - p), _no_matrices(self.features)

    @property
    def caps(self) -> tuple[Any, Vector, Vector]:
        """0 and ω."""
        return np.arange(len(self.weights)), np.zeros_like(self.weights), self.weights

    def uncapped(self) -> Vector:
        """All are capped."""
        return self.weights

    def at_slopes(self, slacks: Matrix) -> tuple[Vector, Vector]:
        """The log odds of ϖ to ω - ϖ."""
        return np.log(slacks[:, 1]) - np.log(slacks[:, 0]), (1.0 / slacks).sum(axis=1)

    def conjugates(self, slopes: Vector) -> Vector:
        """ω (p ln p + (1 - p) ln(1 - p)) with p = ϖ/ω: minus ω times the entropy."""
        p = np.clip(slopes / self.weights, 0.0, 1.0)
        return np.asarray(self.weights * (_x_log_x(p) + _x_log_x(1.0 - p)))

    def _shares(self, points: Matrix) -> Vector:
        return np.asarray(np.exp(-np.logaddexp(0.0, -self.residuals(points))))


@dataclass(frozen=True)
class QuadraticRounds:
    """Quadratics w'Mw/2 - b'w + c with M of shape ``(T, n, n)``."""

    matrices: Array
    vectors: Matrix
    constants: Vector
    capped = None
    affine = True

    @property
    def features(self) -> Matrix:
        """None: the matrices say it all."""
        return np.zeros_like(self.vectors)

    def values(self, points: Matrix) -> Vector:
        """From value and gradient alike: (M w - 2 b)'w / 2 + c."""
        return np.asarray(
            0.5 * np.einsum("ij,ij->i", self.gradients(points) - self.vectors, points)
            + self.constants
        )

    def gradients(self, points: Matrix) -> Matrix:
        """M w - b."""
        return np.asarray((self.matrices @ points[:, :, None])[..., 0] - self.vectors)

    def curvature(self, points: Matrix) -> tuple[Vector, Array]:
        """M."""
        return np.zeros(len(self.vectors)), self.matrices


@dataclass(frozen=True)
class StrangeRounds:
    """Any smooth losses: values and gradients are asked for one by one, Hessians made of
    differences of gradients.
    """

    losses: Sequence[Loss]
    frame: Frame
    features: Matrix = field(init=False)
    capped = None
    affine = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "features", np.zeros((len(self.losses), self.frame.dim)))

    def values(self, points: Matrix) -> Vector:
        """Loss by loss."""
        pairs = zip(self.losses, self.frame.outward(points), strict=True)
        return np.array([_finite_value(loss, x) for loss, x in pairs])

    def gradients(self, points: Matrix) -> Matrix:
        """Loss by loss, in the coordinates of the frame."""
        pairs = zip(self.losses, self.frame.outward(points), strict=True)
        return np.array([arguments.gradient_of(loss)(x) for loss, x in pairs]) @ self.frame.basis

    def curvature(self, points: Matrix) -> tuple[Vector, Array]:
        """Central differences a little inwards, so that no loss is asked outside the domain.

        Made positive.
        """
        nudge, n = NUDGE * self.frame.depth, self.frame.dim
        around = np.concatenate([nudge * np.eye(n), -nudge * np.eye(n)])
        matrices = np.empty((len(self.losses), n, n))
        for t, (loss, w) in enumerate(zip(self.losses, (1.0 - NUDGE) * points, strict=True)):
            asked = arguments.gradient_of(loss)(self.frame.outward(w + around)) @ self.frame.basis
            matrices[t] = (asked[:n] - asked[n:]) / (2.0 * nudge)
        return np.zeros(len(self.losses)), positive(matrices)


def positive(matrices: Array) -> Array:
    """The nearest symmetric matrices without negative eigenvalues."""
    values, vectors = np.linalg.eigh(0.5 * (matrices + np.swapaxes(matrices, 1, 2)))
    return np.asarray((vectors * np.maximum(values, 0.0)[:, None, :]) @ np.swapaxes(vectors, 1, 2))


def _finite_value(loss: Loss, point: Vector) -> float:
    value = float(loss.value(point))
    if not np.isfinite(value):
        raise ValueError(
            f"loss.value must be finite, got {value} at {arguments.short_repr(point.tolist())}. "
            "Check "
            "that loss."
        )
    return value


def _no_matrices(features: Matrix) -> Array:
    return np.empty((0, features.shape[1], features.shape[1]))


def _x_log_x(x: Vector) -> Vector:
    return np.asarray(x * np.log(np.where(x > 0.0, x, 1.0)))
