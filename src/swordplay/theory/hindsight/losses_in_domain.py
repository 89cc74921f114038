"""Losses of a stream as functions of a domain's own coordinates, one class for each family.

:class:`DomainCoordinates` describes the domain in coordinates in which its centre is the origin,
distances are the same and the domain has full dimension. :func:`losses_in_coordinates` rewrites all
losses of a stream as functions of these coordinates, in the most specific family that fits all of
them: :class:`ResidualLosses` (squared and Huber), :class:`LogisticLosses`,
:class:`QuadraticLosses`, or :class:`BlackBoxLosses`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import singledispatch
from typing import Any, NamedTuple, Protocol

import numpy as np

from swordplay.core import arguments
from swordplay.core.types import Array, Domain, Loss, Matrix, Vector
from swordplay.parts.domains import Ball, Box, Simplex, reach
from swordplay.parts.losses import (
    HuberLoss,
    LinearLoss,
    LogisticLoss,
    SquaredLoss,
    WeightedLoss,
    gradient_of,
)
from swordplay.parts.streams import LinearStream
from swordplay.theory.variation_quadratic import Quadratic, as_quadratic

FLAT_SIDE = 1e-13
"""Sides of a box shorter than this fraction of its longest side are treated as flat.

Coordinates along them would consist of rounding error.
"""
UPPER, LOWER = 0, 1
"""Columns of the slacks and multipliers of bounded slopes: for the upper and the lower limit."""
DIFFERENCE_STEP = 1e-4
"""Step of the finite differences for a Hessian, as a fraction of the domain's inner radius."""


@dataclass(frozen=True)
class DomainCoordinates:
    r"""The domain as :math:`X = \{c + Bw : \|w\| \le r, \; Gw \le g\}`, B with orthonormal columns.

    The distance between two points is that between their coordinates w, so path lengths are the
    same in both.

    Attributes
    ----------
    domain
        X itself.
    basis
        B, shape ``(d, n)``, with n the dimension of the domain's affine hull.
    radius
        r; infinite if half-spaces alone bound the domain.
    normals, offsets
        G, shape ``(m, n)``, and g > 0, shape ``(m,)``.
    describes_domain_exactly
        Whether ball and half-spaces are exactly the domain. For domains known only by a projection
        and a support function the ball merely encloses the domain.
    """

    domain: Domain
    basis: Matrix
    radius: float
    normals: Matrix
    offsets: Vector
    describes_domain_exactly: bool = True

    @property
    def dim(self) -> int:
        """n, the number of coordinates."""
        return int(self.basis.shape[1])

    @property
    def inner_radius(self) -> float:
        """Distance from the centre to the nearest boundary."""
        lengths = np.sqrt(np.einsum("ij,ij->i", self.normals, self.normals))
        return min(self.radius, float((self.offsets / lengths).min(initial=np.inf)))

    def to_coordinates(self, points: Array) -> Array:
        """Coordinates w of points x."""
        return np.asarray((points - self.domain.center) @ self.basis)

    def to_points(self, coordinates: Array) -> Array:
        """Points x of coordinates w, projected onto the domain to remove rounding error."""
        return self.domain.project(self.domain.center + coordinates @ self.basis.T)

    def project(self, coordinates: Array) -> Array:
        """Coordinates of the nearest points of the domain."""
        return self.to_coordinates(self.to_points(coordinates))

    def support(self, directions: Array) -> Array:
        """Largest inner product of each direction with coordinates of the domain, ``(...,)``."""
        # max <v, w> over the coordinates w = max <Bv, x - c> over the points x
        domain_directions = directions @ self.basis.T
        return self.domain.support(domain_directions) - domain_directions @ self.domain.center


@singledispatch
def coordinates_of(domain: Domain) -> DomainCoordinates:
    """Coordinates of a ball, box or simplex; for other domains, of a ball that encloses them."""
    d = domain.dim
    return DomainCoordinates(
        domain,
        basis=np.eye(d),
        radius=reach(domain),
        normals=np.empty((0, d)),
        offsets=np.empty(0),
        describes_domain_exactly=False,
    )


@coordinates_of.register
def _(domain: Ball) -> DomainCoordinates:
    d = domain.dim
    return DomainCoordinates(
        domain,
        basis=np.eye(d),
        radius=domain.radius,
        normals=np.empty((0, d)),
        offsets=np.empty(0),
    )


@coordinates_of.register
def _(domain: Box) -> DomainCoordinates:
    sides = domain.upper - domain.lower
    is_wide = sides > FLAT_SIDE * sides.max()
    half_sides, axes = sides[is_wide] / 2, np.eye(int(is_wide.sum()))
    return DomainCoordinates(
        domain,
        basis=np.eye(domain.dim)[:, is_wide],
        radius=np.inf,
        normals=np.vstack([axes, -axes]),
        offsets=np.concatenate([half_sides, half_sides]),
    )


@coordinates_of.register
def _(domain: Simplex) -> DomainCoordinates:
    d = domain.dim
    # QR of [1, e_1, ..., e_{d-1}]: the first column of Q is along (1, ..., 1), the other columns
    # are an orthonormal basis of the vectors whose entries sum to 0.
    basis = np.linalg.qr(np.column_stack([np.ones(d), np.eye(d)[:, : d - 1]]))[0][:, 1:]
    # Entry i of c + Bw is at least 0: -(Bw)_i <= c_i = total / d.
    return DomainCoordinates(
        domain, basis, radius=np.inf, normals=-basis, offsets=np.full(d, domain.total / d)
    )


class Curvature(NamedTuple):
    r"""The Hessians :math:`h_t a_t a_t^\top + M_t` of T losses with features a."""

    feature_weights: Vector
    """h, shape ``(T,)``."""
    matrices: Array
    """M, shape ``(T, n, n)``, or ``(0, n, n)`` if all are 0."""


class Losses(Protocol):
    r"""T convex losses :math:`f_t(w)` of coordinates w, shape ``(n,)`` each."""

    @property
    def features(self) -> Matrix:
        """a of the Hessians, shape ``(T, n)``; 0 where the matrices are the whole Hessians."""
        ...

    @property
    def slope_limited_rows(self) -> SlopeLimitedRows | None:
        """The losses f(<a, w> + s) with bounded f' (Huber, logistic), or None if no f' is bounded.

        The interior-point method treats them by their slopes.
        """
        ...

    @property
    def has_affine_gradients(self) -> bool:
        """Whether all gradients are affine in the point, so that one Newton step is exact.

        Rows with bounded slopes do not count: the interior-point method gives their slopes
        variables of their own.
        """
        ...

    def values(self, points: Matrix) -> Vector:
        """f_t at its own point: shape ``(T, n)`` to shape ``(T,)``."""
        ...

    def gradients(self, points: Matrix) -> Matrix:
        """Gradient of each loss at its own point, shape ``(T, n)``."""
        ...

    def curvature(self, points: Matrix) -> Curvature:
        """Hessian of each loss at its own point."""
        ...


class SlopeInverse(NamedTuple):
    """Residuals as functions of bounded slopes, the inverse of f'."""

    residuals: Vector
    """Residual at which f' has the slope, shape ``(C,)``."""
    derivatives: Vector
    """Derivative of each residual by its slope, shape ``(C,)``."""


class SlopeLimitedRows(Protocol):
    r"""R losses :math:`f(r)` of residuals :math:`r = \langle a, w \rangle + s`.

    C of the R rows have bounded slopes f'. The interior-point method treats these slopes as
    variables. It stores each slope as two slacks, shape ``(C, 2)``: upper limit minus slope in the
    column UPPER, slope minus lower limit in LOWER. Stored as one number, a slope close to a limit
    would lose its slack to rounding. A round may have several rows. In formulas ϖ is a slope.
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
    def slope_limits(self) -> tuple[Any, Vector, Vector]:
        """Indices of the rows with bounded slopes, and their lower and upper limits, ``(C,)``."""
        ...

    @property
    def secant_curvatures(self) -> Vector:
        """f' / r of the rows with unbounded slopes; any numbers for the other rows; ``(R,)``."""
        ...

    def residuals(self, points: Matrix) -> Vector:
        """r, shape ``(R,)``."""
        ...

    def invert_slopes(self, slacks: Matrix) -> SlopeInverse:
        """The inverse of f' at the bounded slopes that have these slacks."""
        ...

    def conjugates(self, slopes: Vector) -> Vector:
        r"""Convex conjugates :math:`\sup_r \varpi r - f(r)`, shape ``(R,)``."""
        ...

    def spread_to_rows(self, points: Matrix) -> Matrix:
        """Repeat the comparator of each round for all of its rows: ``(T, n)`` to ``(R, n)``."""
        ...

    def sum_rows(self, rows: Matrix) -> Matrix:
        """Sum vectors of rows over the rows of each round: ``(R, n)`` to ``(T, n)``."""
        ...

    def curvature_of(self, second_derivatives: Vector) -> Curvature:
        """Curvature of the rounds for given second derivatives f'' of the rows, ``(R,)``."""
        ...


class OneRowPerRound:
    """Base class of losses of which each round is one row of features."""

    features: Matrix
    shifts: Vector

    def residuals(self, points: Matrix) -> Vector:
        r""":math:`\langle a_t, w_t \rangle + s_t`, shape ``(T,)``."""
        return np.asarray(np.einsum("ij,ij->i", self.features, points) + self.shifts)

    def spread_to_rows(self, points: Matrix) -> Matrix:
        """The points themselves: each round has one row."""
        return points

    def sum_rows(self, rows: Matrix) -> Matrix:
        """The rows themselves: each round has one row."""
        return rows

    def curvature_of(self, second_derivatives: Vector) -> Curvature:
        """The second derivatives as weights of the features."""
        return Curvature(second_derivatives, _no_matrices(self.features))


@dataclass(frozen=True)
class ResidualLosses(OneRowPerRound):
    r"""Squared and Huber losses :math:`\omega_t h_{\delta_t}(r_t)`, squared where δ is infinite.

    .. math:: r_t = \langle a_t, w \rangle + s_t, \qquad h_\delta(r) = \tfrac12 c^2 + c (r - c)
        \text{ with } c = \min(\max(r, -\delta), \delta)

    Attributes
    ----------
    features, shifts
        a, shape ``(T, n)``, and s, shape ``(T,)``.
    weights, thresholds
        ω and δ, shape ``(T,)``.
    constants
        Numbers added to the losses, shape ``(T,)``.
    """

    features: Matrix
    shifts: Vector
    weights: Vector
    thresholds: Vector
    constants: Vector

    @classmethod
    def within_ball(
        cls, radius: float, features: Matrix, shifts: Vector, weights: Vector, thresholds: Vector
    ) -> ResidualLosses:
        """The losses on a ball around the origin, with shifts no larger than the ball requires.

        A Huber loss whose residual is beyond the threshold everywhere in the ball is linear there.
        Its shift is reduced until the residual just reaches the threshold, and a constant makes up
        for the difference. This keeps residuals in proportion to the ball.
        """
        # In the ball |r| >= |s| - R |a|. The excess of this over the threshold is not needed.
        least_excess = (
            np.abs(shifts)
            - thresholds
            - radius * np.sqrt(np.einsum("ij,ij->i", features, features))
        )
        is_linear = least_excess > 0.0
        shift_excess = np.where(is_linear, least_excess, 0.0)
        constants = weights * np.where(is_linear, thresholds, 0.0) * shift_excess
        return cls(
            features, shifts - np.sign(shifts) * shift_excess, weights, thresholds, constants
        )

    @property
    def slope_limited_rows(self) -> ResidualLosses | None:
        """These losses, if any threshold is finite."""
        return self if np.isfinite(self.thresholds).any() else None

    has_affine_gradients = True  # between the thresholds

    def values(self, points: Matrix) -> Vector:
        """ω c (r - c/2) with the clipped residual c."""
        r = self.residuals(points)
        clipped = np.clip(r, -self.thresholds, self.thresholds)
        return np.asarray(self.weights * clipped * (r - 0.5 * clipped) + self.constants)

    def gradients(self, points: Matrix) -> Matrix:
        """ω c a with the clipped residual c."""
        clipped = np.clip(self.residuals(points), -self.thresholds, self.thresholds)
        return (self.weights * clipped)[:, None] * self.features

    def curvature(self, points: Matrix) -> Curvature:
        """ω where the residual is not clipped, else 0."""
        is_unclipped = np.abs(self.residuals(points)) <= self.thresholds
        return Curvature(np.where(is_unclipped, self.weights, 0.0), _no_matrices(self.features))

    @property
    def slope_limits(self) -> tuple[Any, Vector, Vector]:
        """±ωδ where δ is finite."""
        limited_indices = np.flatnonzero(np.isfinite(self.thresholds))
        upper_limits = self.weights[limited_indices] * self.thresholds[limited_indices]
        return limited_indices, -upper_limits, upper_limits

    @property
    def secant_curvatures(self) -> Vector:
        """ω."""
        return self.weights

    def invert_slopes(self, slacks: Matrix) -> SlopeInverse:
        """Residuals ϖ / ω with the derivatives 1 / ω, for slopes ϖ."""
        weights = self.weights[np.isfinite(self.thresholds)]
        slopes = 0.5 * (slacks[:, LOWER] - slacks[:, UPPER])  # the limits are -ωδ and ωδ
        return SlopeInverse(slopes / weights, 1.0 / weights)

    def conjugates(self, slopes: Vector) -> Vector:
        """ϖ^2 / (2 ω) minus the constant, with ϖ the slopes."""
        return np.asarray(0.5 * slopes**2 / self.weights - self.constants)


@dataclass(frozen=True)
class LogisticLosses(OneRowPerRound):
    r"""Logistic losses :math:`\omega_t \log(1 + e^{r_t})`.

    .. math:: r_t = \langle a_t, w \rangle + s_t

    Features and shifts of rounds with label 1 are multiplied by -1.

    Attributes
    ----------
    features, shifts, weights
        a, shape ``(T, n)``, s and ω, shape ``(T,)``.
    """

    features: Matrix
    shifts: Vector
    weights: Vector
    has_affine_gradients = False

    @property
    def slope_limited_rows(self) -> LogisticLosses:
        """These losses: the slopes lie between 0 and ω."""
        return self

    def values(self, points: Matrix) -> Vector:
        """ω log(1 + exp(r)), without overflow."""
        return np.asarray(self.weights * np.logaddexp(0.0, self.residuals(points)))

    def gradients(self, points: Matrix) -> Matrix:
        """ω p a with p = 1 / (1 + exp(-r))."""
        return (self.weights * self._probabilities(points))[:, None] * self.features

    def curvature(self, points: Matrix) -> Curvature:
        """ω p (1 - p)."""
        p = self._probabilities(points)
        return Curvature(self.weights * p * (1.0 - p), _no_matrices(self.features))

    @property
    def slope_limits(self) -> tuple[Any, Vector, Vector]:
        """0 and ω, for all rows."""
        return np.arange(len(self.weights)), np.zeros_like(self.weights), self.weights

    @property
    def secant_curvatures(self) -> Vector:
        """Not used, as all slopes are bounded."""
        return self.weights

    def invert_slopes(self, slacks: Matrix) -> SlopeInverse:
        """Residuals log(ϖ / (ω - ϖ)) with the derivatives 1 / ϖ + 1 / (ω - ϖ), for slopes ϖ."""
        # The limits are 0 and ω: the slacks are ω - ϖ and ϖ.
        residuals = np.log(slacks[:, LOWER]) - np.log(slacks[:, UPPER])
        return SlopeInverse(residuals, (1.0 / slacks).sum(axis=1))

    def conjugates(self, slopes: Vector) -> Vector:
        """ω (p log p + (1 - p) log(1 - p)) with p = ϖ / ω and ϖ the slopes."""
        p = np.clip(slopes / self.weights, 0.0, 1.0)
        return np.asarray(self.weights * (_x_log_x(p) + _x_log_x(1.0 - p)))

    def _probabilities(self, points: Matrix) -> Vector:
        """1 / (1 + exp(-r)), without overflow."""
        return np.asarray(np.exp(-np.logaddexp(0.0, -self.residuals(points))))


@dataclass(frozen=True)
class QuadraticLosses:
    """Quadratic losses w'Mw/2 - b'w + c.

    Attributes
    ----------
    matrices, vectors, constants
        M, b and c, shapes ``(T, n, n)``, ``(T, n)`` and ``(T,)``.
    """

    matrices: Array
    vectors: Matrix
    constants: Vector
    slope_limited_rows = None
    has_affine_gradients = True

    @property
    def features(self) -> Matrix:
        """0: the matrices are the whole Hessians."""
        return np.zeros_like(self.vectors)

    def values(self, points: Matrix) -> Vector:
        """w'Mw/2 - b'w + c, computed from the gradient as (Mw - 2b)'w/2 + c."""
        return np.asarray(
            0.5 * np.einsum("ij,ij->i", self.gradients(points) - self.vectors, points)
            + self.constants
        )

    def gradients(self, points: Matrix) -> Matrix:
        """M w - b."""
        return np.asarray((self.matrices @ points[:, :, None])[..., 0] - self.vectors)

    def curvature(self, points: Matrix) -> Curvature:
        """M."""
        return Curvature(np.zeros(len(self.vectors)), self.matrices)


@dataclass(frozen=True)
class BlackBoxLosses:
    """Smooth losses known only by their values and gradients, each evaluated by itself.

    Attributes
    ----------
    losses
        The losses, as functions of points of the domain.
    coordinates
        The coordinates of the domain.
    features
        0, shape ``(T, n)``: the matrices are the whole Hessians.
    """

    losses: Sequence[Loss]
    coordinates: DomainCoordinates
    features: Matrix = field(init=False)
    slope_limited_rows = None
    has_affine_gradients = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "features", np.zeros((len(self.losses), self.coordinates.dim)))

    def values(self, points: Matrix) -> Vector:
        """f_t at its own point; ValueError if a value is not finite."""
        pairs = zip(self.losses, self.coordinates.to_points(points), strict=True)
        return np.array([_finite_value(loss, x) for loss, x in pairs])

    def gradients(self, points: Matrix) -> Matrix:
        """B' times the gradient of each loss at its own point."""
        pairs = zip(self.losses, self.coordinates.to_points(points), strict=True)
        gradients = np.array([gradient_of(loss)(x) for loss, x in pairs])
        return gradients @ self.coordinates.basis

    def curvature(self, points: Matrix) -> Curvature:
        """Hessians from central differences of gradients, made positive semidefinite.

        The points are moved a little inwards, so that no loss is evaluated outside the domain.
        """
        step, n = DIFFERENCE_STEP * self.coordinates.inner_radius, self.coordinates.dim
        steps = np.concatenate([step * np.eye(n), -step * np.eye(n)])
        matrices = np.empty((len(self.losses), n, n))
        for t, (loss, w) in enumerate(
            zip(self.losses, (1.0 - DIFFERENCE_STEP) * points, strict=True)
        ):
            probes = self.coordinates.to_points(w + steps)
            gradients = gradient_of(loss)(probes) @ self.coordinates.basis
            matrices[t] = (gradients[:n] - gradients[n:]) / (2.0 * step)
        return Curvature(np.zeros(len(self.losses)), nearest_semidefinite(matrices))


def losses_in_coordinates(stream: Iterable[Loss], coordinates: DomainCoordinates) -> Losses:
    """The losses of a finite stream as functions of a domain's coordinates.

    The result is of the most specific family that fits all losses.
    """
    if isinstance(stream, LinearStream) and stream.loss != "pinball":
        require_dim(stream.dim, coordinates.domain)
        rows = stream.features.toarray() if stream.sparse else stream.features
        threshold = stream.threshold if stream.loss == "huber" else np.inf
        ones = np.ones(len(stream))
        return _from_arrays(
            stream.family,
            np.asarray(rows, dtype=np.float64),
            stream.targets,
            ones,
            threshold * ones,
            coordinates,
        )
    losses = list(stream)
    weighted_losses = [_without_weights(loss) for loss in losses]
    # Squared losses are Huber losses with an infinite threshold, so both may be mixed.
    for families in ((SquaredLoss, HuberLoss), (LogisticLoss,)):
        if losses and all(isinstance(loss, families) for loss, _ in weighted_losses):
            return _from_linear_losses(families[0], weighted_losses, coordinates)
    quadratics = [(as_quadratic(loss), weight) for loss, weight in weighted_losses]
    if losses and all(quadratic is not None for quadratic, _ in quadratics):
        return _from_quadratics(quadratics, coordinates)
    for loss in losses:
        gradient_of(loss)  # raises a TypeError if the loss has no gradient
    return BlackBoxLosses(losses, coordinates)


def _from_linear_losses(
    family: type[LinearLoss],
    weighted_losses: Sequence[tuple[Any, float]],
    coordinates: DomainCoordinates,
) -> Losses:
    """Losses of linear predictions, given as pairs of loss and weight."""
    for loss, _ in weighted_losses:
        require_dim(loss.dim, coordinates.domain)
    features = np.array([loss.features for loss, _ in weighted_losses])
    targets = np.array([loss.target for loss, _ in weighted_losses])
    weights = np.array([weight for _, weight in weighted_losses])
    thresholds = np.array(
        [loss.threshold if isinstance(loss, HuberLoss) else np.inf for loss, _ in weighted_losses]
    )
    return _from_arrays(family, features, targets, weights, thresholds, coordinates)


def _from_arrays(
    family: type[LinearLoss],
    features: Matrix,
    targets: Vector,
    weights: Vector,
    thresholds: Vector,
    coordinates: DomainCoordinates,
) -> Losses:
    """Losses of linear predictions <a, c + Bw> = <B'a, w> + <a, c>, given as arrays."""
    center_predictions = features @ coordinates.domain.center
    features = np.ascontiguousarray(features @ coordinates.basis)
    if family is LogisticLoss:
        signs = 1.0 - 2.0 * targets
        return LogisticLosses(signs[:, None] * features, signs * center_predictions, weights)
    return ResidualLosses.within_ball(
        coordinates.domain.diameter, features, center_predictions - targets, weights, thresholds
    )


def _from_quadratics(
    weighted_quadratics: Sequence[tuple[Any, float]], coordinates: DomainCoordinates
) -> QuadraticLosses:
    """Quadratics of x = c + Bw, given as pairs of quadratic and weight."""
    quadratics: list[Quadratic] = [quadratic for quadratic, _ in weighted_quadratics]
    for quadratic in quadratics:
        require_dim(len(quadratic.vector), coordinates.domain)
    weights = np.array([weight for _, weight in weighted_quadratics])
    M = weights[:, None, None] * np.array([quadratic.matrix for quadratic in quadratics])
    b = weights[:, None] * np.array([quadratic.vector for quadratic in quadratics])
    c = weights * np.array([quadratic.constant for quadratic in quadratics])
    center, basis = coordinates.domain.center, coordinates.basis
    M_center = M @ center
    constants = c - b @ center + 0.5 * (M_center @ center)
    return QuadraticLosses(
        np.ascontiguousarray(basis.T @ M @ basis), (b - M_center) @ basis, constants
    )


def nearest_semidefinite(matrices: Array) -> Array:
    """The nearest symmetric matrices without negative eigenvalues, shape ``(T, n, n)``."""
    symmetric = 0.5 * (matrices + np.swapaxes(matrices, 1, 2))
    eigenvalues, vectors = np.linalg.eigh(symmetric)
    nonnegative = np.maximum(eigenvalues, 0.0)
    return np.asarray((vectors * nonnegative[:, None, :]) @ np.swapaxes(vectors, 1, 2))


def require_dim(dim: int, domain: Domain) -> None:
    """Raise ValueError if the domain does not have the dimension of the stream."""
    if dim != domain.dim:
        raise ValueError(
            f"domain must have the stream's dimension {dim}, got {domain!r} of {domain.dim}."
        )


def require_nonempty(rounds: int) -> None:
    """Raise ValueError if the stream is empty."""
    if rounds == 0:
        raise ValueError(
            "stream must hold at least one round, got none: there is nothing to minimise."
        )


def _without_weights(loss: Loss) -> tuple[Loss, float]:
    """The loss inside any number of nested weights, and the product of the weights."""
    if not isinstance(loss, WeightedLoss):
        return loss, 1.0
    unweighted, weight = _without_weights(loss.loss)
    return unweighted, loss.weight * weight


def _finite_value(loss: Loss, point: Vector) -> float:
    """Value of a loss at a point; ValueError if it is not finite."""
    value = float(loss.value(point))
    if not np.isfinite(value):
        raise ValueError(
            f"loss.value must be finite, got {value} at {arguments.short_repr(point.tolist())}. "
            "Check that loss."
        )
    return value


def _no_matrices(features: Matrix) -> Array:
    """The field ``matrices`` of :class:`Curvature` if all matrices are 0."""
    return np.empty((0, features.shape[1], features.shape[1]))


def _x_log_x(x: Vector) -> Vector:
    """x log x, with 0 log 0 = 0."""
    return np.asarray(x * np.log(np.where(x > 0.0, x, 1.0)))
