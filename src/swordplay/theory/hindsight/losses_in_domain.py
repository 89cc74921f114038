"""Families of losses side by side: of residuals, logistic, quadratic, and of any make.

A domain in coordinates of its own: the centre is the origin, distances are kept, and no
direction is flat.

What the solver asks of the losses of a stream, side by side, as functions of a domain's own
coordinates.

The losses of a stream in a domain's own coordinates, in the most telling family that fits
them all.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import singledispatch
from typing import Any, Protocol

import numpy as np

from swordplay.core import arguments
from swordplay.core.types import Array, Domain, Loss, Matrix, Vector
from swordplay.parts.domains import Ball, Box, Simplex, reach
from swordplay.parts.losses import HuberLoss, LinearLoss, LogisticLoss, SquaredLoss, WeightedLoss
from swordplay.parts.streams import LinearStream
from swordplay.theory.hindsight.descent import require_dim
from swordplay.theory.variation_quadratic import Quadratic, as_quadratic

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
            "Check that loss."
        )
    return value


def _no_matrices(features: Matrix) -> Array:
    return np.empty((0, features.shape[1], features.shape[1]))


def _x_log_x(x: Vector) -> Vector:
    return np.asarray(x * np.log(np.where(x > 0.0, x, 1.0)))


FLAT = 1e-13
"""Sides of a box that are shorter than this share of the longest one count as flat: what happens
across them is rounding.
"""


@dataclass(frozen=True)
class Frame:
    r"""The domain as :math:`X = \{c + Bw : \|w\| \le r, \.

    Gw \le g\}` with orthonormal columns in B.

    Distances between points are those between their coordinates w, so path lengths are the same in
    both.

    Attributes
    ----------
    domain
        X itself.
    basis
        B, shape ``(d, n)``, n the dimension of the domain's affine hull.
    radius
        r, infinite if walls alone hold the domain.
    normals, distances
        G, shape ``(m, n)``, and g > 0, shape ``(m,)``.
    whole
        Whether radius and walls are all there is to the domain, or only a ball around a stranger's.
    """

    domain: Domain
    basis: Matrix
    radius: float
    normals: Matrix
    distances: Vector
    whole: bool = True

    @property
    def dim(self) -> int:
        """n, the number of coordinates."""
        return int(self.basis.shape[1])

    @property
    def depth(self) -> float:
        """Distance from the centre to the nearest boundary."""
        lengths = np.sqrt(np.einsum("ij,ij->i", self.normals, self.normals))
        return min(self.radius, float((self.distances / lengths).min(initial=np.inf)))

    def inward(self, points: Array) -> Array:
        """Coordinates w of points x."""
        return np.asarray((points - self.domain.center) @ self.basis)

    def outward(self, coordinates: Array) -> Array:
        """Points x of coordinates w, moved into the domain where rounding left them outside."""
        return self.domain.project(self.domain.center + coordinates @ self.basis.T)

    def support(self, directions: Array) -> Array:
        """Largest inner product of each direction with coordinates of the domain, shape
        ``(...,)``.
        """
        ambient = directions @ self.basis.T
        return self.domain.support(ambient) - ambient @ self.domain.center


@singledispatch
def frame_of(domain: Domain) -> Frame:
    """The coordinates of a domain; of a stranger's only a ball around it is known."""
    d = domain.dim
    return Frame(domain, np.eye(d), reach(domain), np.empty((0, d)), np.empty(0), whole=False)


@frame_of.register
def _(domain: Ball) -> Frame:
    d = domain.dim
    return Frame(domain, np.eye(d), domain.radius, np.empty((0, d)), np.empty(0))


@frame_of.register
def _(domain: Box) -> Frame:
    sides = domain.upper - domain.lower
    wide = sides > FLAT * sides.max()
    half, axes = sides[wide] / 2, np.eye(int(wide.sum()))
    return Frame(
        domain,
        np.eye(domain.dim)[:, wide],
        np.inf,
        np.vstack([axes, -axes]),
        np.concatenate([half, half]),
    )


@frame_of.register
def _(domain: Simplex) -> Frame:
    d = domain.dim
    # An orthonormal basis of the vectors whose entries sum to 0: all columns but the one along (1,
    # ..., 1).
    basis = np.linalg.qr(np.column_stack([np.ones(d), np.eye(d)[:, : d - 1]]))[0][:, 1:]
    return Frame(domain, basis, np.inf, -basis, np.full(d, domain.total / d))


class Rounds(Protocol):
    r"""T convex losses :math:`f_t(w)` of coordinates w, shape ``(n,)`` each."""

    @property
    def features(self) -> Matrix:
        """Directions along which the losses bend, shape ``(T, n)``.

        Zero where :meth:`curvature` says it all.
        """
        ...

    @property
    def capped(self) -> SlopedRows | None:
        """The rows of the rounds where some have capped slopes, as Huber's and logistic losses
        have; else None.
        """
        ...

    @property
    def affine(self) -> bool:
        """Whether the gradients are affine, so that a Newton step is exact."""
        ...

    def values(self, points: Matrix) -> Vector:
        """f_t at coordinates of shape ``(T, n)``; shape ``(T,)``."""
        ...

    def gradients(self, points: Matrix) -> Matrix:
        """Gradients there, shape ``(T, n)``."""
        ...

    def curvature(self, points: Matrix) -> tuple[Vector, Array]:
        r"""The Hessians :math:`h_t a_t a_t^\top + M_t`: h, shape ``(T,)``, and M, shape ``(T, n,
        n)`` or ``(0, n, n)``.
        """
        ...


class SlopedRows(Protocol):
    r"""Losses :math:`f(r)` of residuals :math:`r = \langle a, w \rangle + s` whose capped slopes
    are variables of their own.

    A slope is given by its slacks, its distances from the cap above and from the one below, shape
    ``(C, 2)``: next to a cap they are smaller than what the slope itself rounds by.
    """

    @property
    def features(self) -> Matrix:
        """a, shape ``(R, n)``."""
        ...

    @property
    def shifts(self) -> Vector:
        """s, shape ``(R,)``."""
        ...

    @property
    def caps(self) -> tuple[Any, Vector, Vector]:
        """Which rows are capped, and their smallest and largest slopes, shape ``(C,)`` each."""
        ...

    def residuals(self, points: Matrix) -> Vector:
        """r, shape ``(R,)``."""
        ...

    def uncapped(self) -> Vector:
        """Slope over residual, shape ``(R,)``; of capped rows it does not matter."""
        ...

    def at_slopes(self, slacks: Matrix) -> tuple[Vector, Vector]:
        """The residuals that have these slopes, and the derivative of a residual by its slope.

        Capped rows only.
        """
        ...

    def conjugates(self, slopes: Vector) -> Vector:
        r""":math:`\sup_r \varpi r - f(r)`, shape ``(R,)``."""
        ...

    def spread(self, points: Matrix) -> Matrix:
        """Every row's comparator, shape ``(R, n)``, from those of the rounds, shape ``(T, n)``."""
        ...

    def gather(self, rows: Matrix) -> Matrix:
        """Sums over the rows of each round, shape ``(T, n)``."""
        ...

    def stacked(self, bends: Vector) -> tuple[Vector, Array]:
        """The rounds' curvature (as :meth:`Rounds.curvature`) for rows that bend so much."""
        ...


def rounds_of(stream: Iterable[Loss], frame: Frame) -> Rounds:
    """The losses of a finite stream in a domain's coordinates.

    The most telling form that fits them all.
    """
    if isinstance(stream, LinearStream) and stream.loss != "pinball":
        require_dim(stream.dim, frame.domain)
        rows = stream.features.toarray() if stream.sparse else stream.features
        threshold = stream.threshold if stream.loss == "huber" else np.inf
        plenty = np.ones(len(stream))
        return _of_arrays(
            stream.family,
            np.asarray(rows, dtype=np.float64),
            stream.targets,
            plenty,
            threshold * plenty,
            frame,
        )
    losses = list(stream)
    bare = [_unweighted(loss) for loss in losses]
    for family in ((SquaredLoss, HuberLoss), (LogisticLoss,)):
        if losses and all(isinstance(loss, family) for loss, _ in bare):
            return _of_rows(family[0], bare, frame)
    forms = [(as_quadratic(loss), weight) for loss, weight in bare]
    if losses and all(form is not None for form, _ in forms):
        return _of_quadratics(forms, frame)
    for loss in losses:
        arguments.gradient_of(loss)
    return StrangeRounds(losses, frame)


def _of_rows(family: type[LinearLoss], bare: Sequence[tuple[Any, float]], frame: Frame) -> Rounds:
    for loss, _ in bare:
        require_dim(loss.dim, frame.domain)
    features = np.array([loss.features for loss, _ in bare])
    targets, weights = (
        np.array([loss.target for loss, _ in bare]),
        np.array([weight for _, weight in bare]),
    )
    thresholds = np.array(
        [loss.threshold if isinstance(loss, HuberLoss) else np.inf for loss, _ in bare]
    )
    return _of_arrays(family, features, targets, weights, thresholds, frame)


def _of_arrays(
    family: type[LinearLoss],
    features: Matrix,
    targets: Vector,
    weights: Vector,
    thresholds: Vector,
    frame: Frame,
) -> Rounds:
    at_center = features @ frame.domain.center
    features = np.ascontiguousarray(features @ frame.basis)
    if family is LogisticLoss:
        signs = 1.0 - 2.0 * targets
        return LogisticRounds(signs[:, None] * features, signs * at_center, weights)
    return ResidualRounds.within(
        frame.domain.diameter, features, at_center - targets, weights, thresholds
    )


def _of_quadratics(forms: Sequence[tuple[Any, float]], frame: Frame) -> QuadraticRounds:
    quadratics: list[tuple[Quadratic, float]] = list(forms)
    for form, _ in quadratics:
        require_dim(len(form.vector), frame.domain)
    weights = np.array([weight for _, weight in quadratics])
    M = weights[:, None, None] * np.array([form.matrix for form, _ in quadratics])
    b = weights[:, None] * np.array([form.vector for form, _ in quadratics])
    c = weights * np.array([form.constant for form, _ in quadratics])
    center, basis = frame.domain.center, frame.basis
    pull = M @ center
    constants = c - b @ center + 0.5 * (pull @ center)
    return QuadraticRounds(np.ascontiguousarray(basis.T @ M @ basis), (b - pull) @ basis, constants)


def _unweighted(loss: Loss) -> tuple[Loss, float]:
    """The loss under any number of weights, and their product."""
    if not isinstance(loss, WeightedLoss):
        return loss, 1.0
    inside, weight = _unweighted(loss.loss)
    return inside, loss.weight * weight
